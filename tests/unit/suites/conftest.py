"""The tiny suite as a folder to change, and as a bundle that is built once."""

import io
import zipfile
from pathlib import Path

import pytest

from gradekeeper.suites.bundle import Bundle, build_bundle
from unit.suites.tiny_suite import write_suite


@pytest.fixture
def suite_folder(tmp_path: Path) -> Path:
    return write_suite(tmp_path)


@pytest.fixture(scope="session")
def kit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty jar: the tiny driver uses nothing of the kit."""
    path = tmp_path_factory.mktemp("kit") / "kit.jar"
    buffer = io.BytesIO()
    zipfile.ZipFile(buffer, "w").close()
    path.write_bytes(buffer.getvalue())
    return path


@pytest.fixture(scope="session")
def bundle(tmp_path_factory: pytest.TempPathFactory, kit: Path) -> Bundle:
    """The tiny suite, built once; do not change its files."""
    root = tmp_path_factory.mktemp("built")
    return build_bundle(write_suite(root), root / "bundle", kit=kit)
