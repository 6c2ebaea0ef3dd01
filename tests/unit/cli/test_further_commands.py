"""Commands that other distributions bring: found by their entry point, loaded when used."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import Result

Run = Callable[..., Result]
MODULE = '''
import typer

app = typer.Typer()


@app.command()
def further(name: str, loud: bool = False) -> None:
    """Say who came."""
    typer.echo(name.upper() if loud else name)
    raise typer.Exit(5 if loud else 0)
'''


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Puts a distribution with these entry points on the path."""
    (tmp_path / "further_commands.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))

    def write(**commands: str) -> None:
        info = tmp_path / "further-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: further\nVersion: 1.0\n")
        lines = "".join(f"{name} = {value}\n" for name, value in commands.items())
        (info / "entry_points.txt").write_text(f"[gradekeeper.commands]\n{lines}")
        importlib.invalidate_caches()

    yield write
    sys.modules.pop("further_commands", None)


def test_a_command_of_another_distribution(run: Run, install: Callable[..., None]) -> None:
    install(further="further_commands:app")

    assert run("keys", "--help").exit_code == 0
    assert "further_commands" not in sys.modules, "it was loaded by a command that is not it"
    assert "Say who came." in run("--help").stdout
    assert run("further", "me").stdout == "me\n"
    loud = run("further", "me", "--loud")
    assert (loud.stdout, loud.exit_code) == ("ME\n", 5)
    wrong = run("further")
    assert (wrong.exit_code, wrong.stdout) == (2, "")
    assert wrong.stderr.startswith("error: Missing argument 'name'. See `")


def test_none_takes_the_place_of_our_own(run: Run, install: Callable[..., None]) -> None:
    install(verify="further_commands:app", suite="further_commands:app")

    assert "Say who came." not in run("--help").stdout
    for name in ("verify", "suite"):
        assert "Say who came." not in run(name, "--help").stdout
    assert "further_commands" not in sys.modules


@pytest.mark.parametrize("value", ["none_such_module:app", "further_commands:none"])
def test_one_that_cannot_be_loaded_says_which(
    run: Run, install: Callable[..., None], value: str
) -> None:
    install(broken=value)

    broken = run("broken")
    assert broken.exit_code == 1
    [line] = broken.stderr.splitlines()
    assert line.startswith(f"error: The command `broken` ({value}) cannot be loaded: ")
    assert run("keys", "--help").exit_code == 0


def test_without_any_an_unknown_command_is_an_error(run: Run) -> None:
    unknown = run("further")
    assert unknown.exit_code == 2
    assert "No such command 'further'" in unknown.stderr
