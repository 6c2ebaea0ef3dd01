"""docs/write-a-suite.md, done step by step: what it shows is what there is and what happens."""

import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gradekeeper.cli.main import app
from gradekeeper.referee.local import LocalLane
from guide import ROOT, cluster_commands, console_steps, run_step, shown_files

GUIDE = ROOT / "docs" / "write-a-suite.md"
TINY = Path("docs/examples/tiny")


def test_the_guide_shows_the_example_as_it_is() -> None:
    shown = shown_files(GUIDE)
    assert set(shown) == {
        f"{TINY}/{name}"
        for name in (
            "repository/src/shop/Basket.java",
            "suite/suite.yaml",
            "suite/lane/drivers/Till.java",
            "suite/submissions/scenarios.yaml",
        )
    }
    for path, content in shown.items():
        assert (ROOT / path).read_text() == content, path


def test_gold_differs_from_the_repository_by_the_defect_alone() -> None:
    name = "src/shop/Basket.java"
    before = (ROOT / TINY / "repository" / name).read_text().splitlines()
    after = (ROOT / TINY / "suite/submissions/gold" / name).read_text().splitlines()
    differing = [(a, b) for a, b in zip(before, after, strict=True) if a != b]
    assert differing == [("        cents += centsEach;", "        cents += pieces * centsEach;")]


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_every_command_of_the_guide_does_what_it_says(tmp_path: Path, lane: LocalLane) -> None:
    shutil.copytree(ROOT / TINY, tmp_path / TINY)
    pins = tmp_path / TINY / "suite/referee/pins/basket.json"
    recorded = pins.read_text()
    pins.unlink()
    steps = console_steps(GUIDE)
    commands = [step.command.split()[:3] for step in steps]
    for wanted in (["suite", "pin"], ["suite", "check"], ["grade", "--local"], ["suite", "build"]):
        assert ["gradekeeper", *wanted] in commands
    for step in steps:
        run_step(step, tmp_path, {"GRADEKEEPER_LANES": str(lane.laned.parent)})
    assert pins.read_text() == recorded
    assert (tmp_path / "build/tiny-basket/manifest.json").is_file()


@pytest.mark.parametrize("name", ["write-a-suite.md", "keys.md"])
def test_commands_that_need_a_cluster_have_the_options_that_guides_give(name: str) -> None:
    commands = list(cluster_commands(ROOT / "docs" / name))
    assert bool(commands) == (name == "write-a-suite.md")
    for names, options in commands:
        told = CliRunner().invoke(app, [*names, "--help"], env={"COLUMNS": "300"}).stdout
        for option in options:
            assert option in told, (names, option)
