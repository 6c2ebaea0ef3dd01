"""Reads guides: the files that they show, and the commands that they tell people to run.

A file is a fenced block after a line that is nothing but its path in backticks and a colon. In
`console` blocks a line with `$ ` is a command; the lines below it must begin lines of its output,
white space aside. `sh` blocks need a cluster or a registry: options are checked, nothing runs.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"^`([^`\n]+)`:\n\n```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass
class Step:
    """One command of a guide and what it must print."""

    command: str
    expected: list[str] = field(default_factory=list)


def shown_files(guide: Path) -> dict[str, str]:
    """Path below the root → content, of every file that the guide shows."""
    return dict(_FILE.findall(guide.read_text(encoding="utf-8")))


def blocks(guide: Path, language: str) -> list[str]:
    """The contents of the fenced blocks of a language."""
    found = _BLOCK.findall(guide.read_text(encoding="utf-8"))
    return [text for kind, text in found if kind == language]


def console_steps(guide: Path) -> list[Step]:
    """The commands that run without a cluster, in order."""
    steps: list[Step] = []
    for block in blocks(guide, "console"):
        for line in block.splitlines():
            if line.startswith("$ "):
                steps.append(Step(line[2:]))
            else:
                steps[-1].expected.append(line)
    return steps


def run_step(step: Step, folder: Path, extra: Mapping[str, str]) -> str:
    """Run a command as a reader would, and return what it printed.

    Raises:
        AssertionError: it failed, or printed something else than the guide shows.
    """
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", step.command],
        cwd=folder,
        env={**os.environ, "PATH": path, **extra},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, f"{step.command}\n{done.stdout}{done.stderr}"
    printed = [" ".join(line.split()) for line in done.stdout.splitlines()]
    for line in step.expected:
        wanted = " ".join(line.split())
        assert any(one.startswith(wanted) for one in printed), (
            f"{step.command} does not print {wanted!r}, but\n{done.stdout}"
        )
    return done.stdout


def cluster_commands(guide: Path) -> Iterator[tuple[list[str], set[str]]]:
    """Each `gradekeeper` command of the `sh` blocks: its sub-commands, and its long options."""
    for block in blocks(guide, "sh"):
        for line in block.replace("\\\n", " ").splitlines():
            words = line.split()
            if words[:1] == ["gradekeeper"]:
                names = [words[1], *words[2:3]] if words[1] in ("suite", "keys") else [words[1]]
                yield names, {word for word in words if word.startswith("--")}
