"""The java17 lane's command lines are those that the lane's own documentation and tests use."""

from pathlib import Path

import pytest

from gradekeeper.referee import java17
from gradekeeper.referee.bundle import BuildRules, Limits
from gradekeeper.referee.job import View

FLAGS = Path(__file__).parents[3] / "lanes" / "java17" / "flags"


def documented(section: str, heap: int) -> list[str]:
    found: dict[str, list[str]] = {}
    for line in FLAGS.read_text().splitlines():
        if line.startswith("["):
            current = found.setdefault(line.strip("[]"), [])
        elif line and not line.startswith("#"):
            current.append(line.replace("{heap}", str(heap)))
    return found[section]


def options(command: list[str]) -> list[str]:
    """The JVM's options, without what differs from order to order."""
    up_to = command.index("-cp")
    return [word for word in command[1:up_to] if not word.startswith("-Djava.io.tmpdir=")]


@pytest.mark.parametrize("heap", [64, 192])
def test_orders_use_the_documented_flags(heap):
    view = View()
    limits = Limits(900, 600, 20, 4, 2, heap, 16, 256, 8)
    build = BuildRules("java17", "src", 120, heap)
    run = list(java17.runner("drivers.A", limits, "/scratch/a", view))
    compile_ = list(java17.compiler(build, "/scratch/a", view))
    assert options(run) == documented("run", heap)
    assert options(compile_) == documented("compile", heap)
