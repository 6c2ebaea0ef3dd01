"""The submissions of the matrix, graded by `gradekeeper grade --local`."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest
from demo.commands import BUILD, Command, DemoError, run

from gradekeeper.api.reasons import Reason

from .submissions import Case

AT_A_TIME = 1
"""No quota bounds a local lane: two of them would be each other's busy neighbours."""
ATTEMPTS = 3
"""As the operator does: what a busy machine cut short is graded again. On the cluster, where quotas
bound the neighbours, one attempt must do."""
UNJUDGED = 3
"""Exit status of a grading that ended Unjudged: a result as well, though never a right one."""


@dataclass(frozen=True)
class LocalRow:
    """What the local engine said about a case."""

    case: str
    decision: str
    reason: str
    outcomes: str
    seconds: float


LOCAL = pytest.StashKey[dict[str, LocalRow]]()
"""By name of the case, for the table."""


class LocalEngine:
    """Grades ahead of the tests that ask for it.

    Args:
        program: the gradekeeper command.
        bundle: of the suite.
        folder: gets the archives and the results.
        rows: gets a row for each case.
    """

    def __init__(
        self, program: Path, bundle: Path, folder: Path, rows: dict[str, LocalRow]
    ) -> None:
        self._program = program
        self._bundle = bundle
        self._folder = folder
        self._rows = rows
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(AT_A_TIME)
        self._results: dict[str, Future[LocalRow]] = {}

    def start(self, cases: Sequence[Case]) -> None:
        """Begin with some cases, in their order."""
        for case in cases:
            self._results[case.name] = self._pool.submit(self._grade, case)

    def stop(self) -> None:
        """Begin with no more, and wait for those that run."""
        self._pool.shutdown(cancel_futures=True)

    def result(self, case: Case) -> LocalRow:
        """Wait for a case; raises DemoError if it was not graded."""
        row = self._results[case.name].result(timeout=240)
        self._rows[case.name] = row
        return row

    def _grade(self, case: Case) -> LocalRow:
        archive = self._folder / f"{case.slug}.tar.gz"
        with self._lock:  # what is shared by archives is built once
            archive.write_bytes(case.archive())
        command: Command = [self._program, "grade", "--local", archive, "--suite", self._bundle]
        command += ["--json", "--lanes", BUILD / "lanes", "--out", archive.with_suffix(".json")]
        for _ in range(ATTEMPTS):
            started = time.monotonic()
            done = run(command, check=False)
            seconds = time.monotonic() - started
            if done.returncode not in (0, UNJUDGED):
                raise DemoError(f"{case.name} was not graded: {done.stderr.strip()}")
            document = json.loads(done.stdout)
            assert document["signed"] is False
            verdict = document["verdict"]
            if verdict["reason"] != Reason.NODE_OVERLOADED:
                break
        outcomes = verdict.get("outcomes", "")
        return LocalRow(case.name, verdict["decision"], verdict["reason"], outcomes, seconds)
