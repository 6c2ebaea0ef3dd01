"""A real lane, built once, and a real bundle, pinned once."""

import os
import subprocess
from pathlib import Path

import pytest

from gradekeeper.referee.local import LocalLane
from referee.suite_fixture import build_bundle

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def lane(tmp_path_factory):
    """GRADEKEEPER_LANES, or the programs built from lanes/."""
    if "GRADEKEEPER_LANES" not in os.environ:
        folder = tmp_path_factory.mktemp("lanes")
        subprocess.run(
            ["make", "-C", str(ROOT / "lanes"), f"OUT={folder}"],
            check=True,
            timeout=300,
            stdout=subprocess.DEVNULL,
        )
        os.environ["GRADEKEEPER_LANES"] = str(folder)
    return LocalLane.from_environment()


@pytest.fixture(scope="session")
def bundle(lane, tmp_path_factory):
    return build_bundle(tmp_path_factory.mktemp("suite") / "bundle", lane)
