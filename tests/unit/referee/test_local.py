"""Where the local engine looks for the parts of a lane."""

from pathlib import Path

import pytest

from gradekeeper.referee.local import find_lanes

ROOT = Path(__file__).resolve().parents[3]


def test_the_parts_of_a_lane_are_found_from_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GRADEKEEPER_LANES", raising=False)
    assert find_lanes() == ROOT / "build" / "lanes"
    monkeypatch.setenv("GRADEKEEPER_LANES", "elsewhere")
    assert find_lanes() == Path("elsewhere")
