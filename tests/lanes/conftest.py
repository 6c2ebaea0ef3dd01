"""Builds the lane's real programs once and starts a real laned for each test."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from lanes.lane_client import Lane, start_lane

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
TOOLS = ("gcc", "make", "java", "javac", "jar", "bwrap", "setpriv")


@pytest.fixture(scope="session")
def lane_folder() -> Iterator[Path]:
    """What is mounted at /mnt/lane: laned, laneprobe, kit.jar, hostile, kernel and drivers.

    Not under pytest's own folder: that is closed to the uid of a lane.
    """
    missing = [tool for tool in TOOLS if not shutil.which(tool)]
    assert not missing, f"install {missing}; these tests build and run the real programs"
    folder = Path(tempfile.mkdtemp(prefix="gradekeeper-lane-"))
    folder.chmod(0o755)
    try:
        build = ["make", "-C", str(ROOT / "lanes"), f"OUT={folder}"]
        subprocess.run(build, check=True, timeout=300, stdout=subprocess.DEVNULL)
        for program in ("hostile", "kernel"):
            compiler = ["gcc", "-std=gnu11", "-O1", "-static", "-o", str(folder / program)]
            subprocess.run([*compiler, str(HERE / f"{program}.c")], check=True, timeout=60)
        yield folder
    finally:
        shutil.rmtree(folder)


@pytest.fixture
def lane(lane_folder: Path) -> Iterator[Lane]:
    """A laned of its own, hung up on at the end."""
    running = start_lane(lane_folder)
    try:
        yield running
    finally:
        running.close()


@pytest.fixture(scope="session")
def kit(lane_folder: Path) -> Path:
    """The lane folder with the test drivers compiled into drivers/."""
    sources = sorted(str(path) for path in (HERE / "java" / "drivers").glob("*.java"))
    command = ["javac", "--release", "17", "-Xlint:all", "-Werror", "-proc:none"]
    paths = ["-cp", str(lane_folder / "kit.jar"), "-d", str(lane_folder / "drivers")]
    subprocess.run([*command, *paths, *sources], check=True, timeout=120)
    return lane_folder
