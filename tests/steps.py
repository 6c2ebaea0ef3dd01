"""Run make targets one after another and print how long each took, on failure too.

    python3 tests/steps.py --title "make test" setup -- lint unit e2e

Targets before `--` are preparation: the first that fails ends the run. Those after it are checks:
all of them run, so one failure does not hide another. The exit status is 1 if anything failed.
A step also ends at its time limit, with everything it started. Standard library only: this runs
with the system's python3 before any virtual environment exists.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass

LIMIT_SECONDS = 3000.0


@dataclass(frozen=True)
class Step:
    """One target that ran, or did not.

    Attributes:
        name: the make target.
        seconds: how long it took.
        status: exit status; None if it did not run.
    """

    name: str
    seconds: float
    status: int | None

    @property
    def result(self) -> str:
        """One word."""
        if self.status is None:
            return "not run"
        return "ok" if self.status == 0 else f"FAILED ({self.status})"


def run_target(name: str, limit: float) -> Step:
    """Run one target in a process group of its own, without standard input."""
    sys.stdout.write(f"\n== {name}\n")
    sys.stdout.flush()
    started = time.monotonic()
    command = [os.environ.get("MAKE", "make"), "--no-print-directory", name]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
    try:
        status = process.wait(limit)
    except subprocess.TimeoutExpired:
        sys.stdout.write(f"{name}: not finished within {limit:.0f} s\n")
        status = 124
    except KeyboardInterrupt:
        status = 130
    if status in (124, 130):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return Step(name, time.monotonic() - started, status)


def run_all(preparation: list[str], checks: list[str], limit: float) -> list[Step]:
    """Run everything that can be run."""
    steps: list[Step] = []
    broken = False
    for name in preparation:
        steps.append(Step(name, 0.0, None) if broken else run_target(name, limit))
        broken = broken or steps[-1].status != 0
    for name in checks:
        steps.append(Step(name, 0.0, None) if broken else run_target(name, limit))
        broken = broken or steps[-1].status == 130
    return steps


def table(title: str, steps: list[Step]) -> str:
    """The times as text."""
    width = max(len(step.name) for step in [*steps, Step(title, 0, 0)]) + 2
    rows = [f"{s.name:<{width}}{s.seconds:>8.1f} s  {s.result}" for s in steps]
    total = sum(step.seconds for step in steps)
    rows.append(f"{'total':<{width}}{total:>8.1f} s")
    return "\n".join(["", title, "-" * (width + 20), *rows])


def main() -> int:
    """Entry point; returns the exit status."""
    parser = argparse.ArgumentParser(description="Run make targets and time them.")
    parser.add_argument("--title", default="steps")
    parser.add_argument("--limit", type=float, default=LIMIT_SECONDS, help="seconds a step")
    parser.add_argument("preparation", nargs="*")
    given = sys.argv[1:]
    cut = given.index("--") if "--" in given else len(given)
    options = parser.parse_args(given[:cut])
    steps = run_all(options.preparation, given[cut + 1 :], options.limit)
    sys.stdout.write(table(options.title, steps) + "\n")
    failed = sum(step.status not in (0, None) for step in steps)
    passed = sum(step.status == 0 for step in steps)
    skipped = len(steps) - failed - passed
    sys.stdout.write(f"steps: {passed} passed, {failed} failed, {skipped} skipped\n")
    return 1 if failed or skipped else 0


if __name__ == "__main__":
    sys.exit(main())
