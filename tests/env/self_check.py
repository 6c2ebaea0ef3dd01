"""`gradekeeper-billing self-check` on the cluster: `make self-check`.

    PYTHONPATH=tests:. build/env-venv/bin/python -m env.self_check [SCENARIO…] [OPTIONS]

Installs Gradekeeper and the suite, makes a namespace for boxes, and passes everything on. Outcomes
stay in build/self-check/; the same command goes on where one that was interrupted ended.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from demo import stage
from demo.__main__ import publish
from demo.cases import SUITE_DIR
from demo.commands import BUILD
from verifiers.v1.utils.interrupt import install_interrupt

from env.boxes import Place, open_place

OUT = BUILD / "self-check"
PROGRAM = Path(sys.executable).with_name("gradekeeper-billing")


@dataclass(frozen=True)
class Stage:
    """A cluster with Gradekeeper and the suite, and a place for boxes."""

    place: Place
    image: str
    key: Path

    def command(self, *arguments: str | Path, suite: Path = SUITE_DIR) -> list[str]:
        """The command line; scenarios come first among the arguments."""
        grading = "--task.grading"
        context = self.place.cluster.context
        return [
            *map(str, (PROGRAM, "self-check", *arguments, "--suite", suite)),
            *("--image", self.image),
            *self.place.flags("--runtime", image=self.image, memory=0.5, cpu_request=0.01),
            *(f"{grading}.public-keys", json.dumps([str(self.key)])),
            *(f"{grading}.namespace", stage.NAMESPACE),
            *((f"{grading}.context", context) if context else ()),
        ]

    @property
    def environment(self) -> dict[str, str]:
        """Of the command."""
        return {**self.place.cluster.environment, "GRADEKEEPER_LANES": str(BUILD / "lanes")}


@contextmanager
def open_stage() -> Iterator[Stage]:
    """Install what the self-check needs; the boxes' namespace goes in the end."""
    with open_place() as place:
        stage.OUT.mkdir(parents=True, exist_ok=True)
        publish(place.cluster)
        yield Stage(place, stage.Images.load().lane, stage.verdict_key(place.cluster))


def main(arguments: Sequence[str]) -> int:
    """Run it; returns its exit status. Standard output and error are the command's own."""
    OUT.mkdir(parents=True, exist_ok=True)
    file = OUT / ("local.json" if "--local" in arguments else "kubernetes.json")
    kept = [] if {"--json", "--json-file"} & set(arguments) else ["--json", str(file)]
    install_interrupt()
    with open_stage() as opened:
        command = opened.command(*arguments, *kept)
        with subprocess.Popen(command, env=opened.environment, stdin=subprocess.DEVNULL) as running:
            try:
                return running.wait()
            except KeyboardInterrupt:
                # It takes its boxes away before it ends; a signal that it has got already does
                # nothing more.
                running.terminate()
                return running.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
