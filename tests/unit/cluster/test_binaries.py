"""Which program is taken where several are there."""

from __future__ import annotations

from pathlib import Path

import pytest

from cluster.testcluster import binaries


def program(folder: Path, name: str) -> Path:
    folder.mkdir()
    path = folder / name
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_a_folder_of_links_is_no_source_of_what_they_point_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = program(tmp_path / "theirs", "kubectl")
    ours = tmp_path / "ours"
    ours.mkdir()
    (ours / "kubectl").symlink_to(theirs)
    monkeypatch.setattr(binaries, "SEARCH_PATH", f"{ours}:{theirs.parent}")
    assert binaries.find_program("kubectl") == ours / "kubectl"
    assert binaries.find_program("kubectl", beside=ours) == theirs


def test_a_program_that_is_nowhere_else_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    only = program(tmp_path / "ours", "kubectl")
    monkeypatch.setattr(binaries, "SEARCH_PATH", str(only.parent))
    assert binaries.find_program("kubectl", beside=only.parent) is None
