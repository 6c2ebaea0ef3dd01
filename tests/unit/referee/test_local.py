"""Where the local engine looks for the parts of a lane."""

from pathlib import Path

import pytest

from gradekeeper.referee.local import LocalLane, find_lanes

ROOT = Path(__file__).resolve().parents[3]


def test_the_parts_of_a_lane_are_found_from_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GRADEKEEPER_LANES", raising=False)
    assert find_lanes() == ROOT / "build" / "lanes"
    monkeypatch.setenv("GRADEKEEPER_LANES", "elsewhere")
    assert find_lanes() == Path("elsewhere")


@pytest.mark.parametrize("archive", [b"classes", None])
def test_a_lane_sees_the_compilers_class_data_if_there_is_any(
    tmp_path: Path, archive: bytes | None
) -> None:
    lanes, work = tmp_path / "lanes", tmp_path / "work"
    (tmp_path / "jdk" / "bin").mkdir(parents=True)
    (tmp_path / "jdk" / "bin" / "java").touch()
    lanes.mkdir()
    work.mkdir()
    for name in ("laned", "laneprobe", "kit.jar"):
        (lanes / name).touch()
    if archive is not None:
        (lanes / "compiler.jsa").write_bytes(archive)
    lane = LocalLane.from_environment(lanes=lanes, java_home=tmp_path / "jdk")
    command = lane.command(work)
    place = "/opt/gradekeeper/compiler.jsa"
    assert (place in command) == (archive is not None)
    if archive is not None:
        assert Path(command[command.index(place) - 1]).read_bytes() == archive
