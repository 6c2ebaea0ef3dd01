"""Tables of jobs and tests for people."""

from __future__ import annotations

import datetime
import itertools
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from gradekeeper.cli._errors import plain

Job = dict[str, Any]

_WIDE: Final = 120
"""Columns from which a table of jobs shows everything."""
_PIPE: Final = 1000
"""Columns for output that nobody sees as it is."""
_OUTCOMES: Final = {
    "P": ("passed", "green"),
    "F": ("observed something else", "red"),
    "T": ("timed out", "yellow"),
    "X": ("ended early", "red"),
    "V": ("broke the protocol", "magenta"),
    "N": ("did not run", "dim"),
}
_DECISIONS: Final = {"Graded": "green", "Rejected": "red", "Unjudged": "yellow"}


def is_finished(job: Job) -> bool:
    """Whether the job has a verdict."""
    return bool((job.get("status") or {}).get("verdict"))


def build_jobs_table(jobs: Sequence[Job], now: datetime.datetime, *, width: int = _WIDE) -> Table:
    """Build the table of jobs, in the given order.

    Args:
        jobs: GradingJobs.
        now: For their age.
        width: Columns to spare; a narrow table has no suite.
    """
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("JOB", overflow="fold")
    if width >= _WIDE:
        table.add_column("SUITE", overflow="fold")
    table.add_column("DECISION", no_wrap=True)
    table.add_column("PASSED", justify="right", no_wrap=True)
    table.add_column("REASON", no_wrap=True)
    for column in ("ATTEMPTS", "AGE"):
        table.add_column(column, justify="right", no_wrap=True)
    for job in jobs:
        cells = _row(job, now)
        table.add_row(*(cells if width >= _WIDE else [cells[0], *cells[2:]]))
    return table


def print_jobs(jobs: Sequence[Job]) -> None:
    """Print the table of jobs, sorted by name."""
    if not jobs:
        print("No jobs.")
        return
    ordered = sorted(jobs, key=lambda job: str(job["metadata"]["name"]))
    target = console()
    target.print(build_jobs_table(ordered, _now(), width=target.width))


def print_job(job: Job, ids: Sequence[str] | None, *, verified: bool) -> None:
    """Print one job: what it is, its conditions or verdict, its attempts and its tests.

    Args:
        job: The GradingJob.
        ids: Ids of its tests in the order of its outcomes; None if they are not known.
        verified: Whether the verdict's signature was checked.
    """
    status = job.get("status") or {}
    spec = job["spec"]
    verdict = status.get("verdict")
    facts = [
        ("job", f"{job['metadata'].get('namespace', '')}/{job['metadata']['name']}"),
        (
            "suite",
            spec["suiteRef"]["name"] + (f", task {spec['task']}" if spec.get("task") else ""),
        ),
        ("state", f"{_state(job)[0]} ({_state(job)[1]})"),
    ]
    if spec.get("group"):
        facts.append(("group", spec["group"]))
    if verdict is not None:
        if verdict.get("message"):
            facts.append(("message", verdict["message"]))
        if verdict.get("tests"):
            counts = verdict["tests"]
            facts.append(("passed", f"{counts['passed']} of {counts['total']}"))
        note = "verified" if verified else "not verified here; give --key"
        facts.append(("signature", note if status.get("attestation") else "none"))
    for attempt in status.get("attempts") or ():
        where = f" on {attempt['nodeName']}" if attempt.get("nodeName") else ""
        outcome = attempt.get("reason") or "running"
        facts.append((f"attempt {attempt['number']}", f"{attempt['podName']}{where}: {outcome}"))
    width = max(len(name) for name, _ in facts)
    for name, value in facts:
        print(f"{name:{width}}  {plain(value)}")
    outcomes = (verdict or {}).get("outcomes")
    if outcomes:
        print()
        console().print(build_tests_table(outcomes, ids))


def build_tests_table(outcomes: str, ids: Sequence[str] | None) -> Table:
    """Build the table of tests; without ids they are numbered as in the suite's index."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("TEST", overflow="fold")
    table.add_column("OUTCOME", no_wrap=True)
    for number, outcome in enumerate(outcomes):
        sentence, style = _OUTCOMES.get(outcome, (outcome, ""))
        name = ids[number] if ids is not None else f"#{number}"
        table.add_row(Text(plain(name)), Text(plain(sentence), style=style))
    return table


def outcome_word(outcome: str) -> str:
    """What an outcome character means, in a few words."""
    return _OUTCOMES[outcome][0]


def print_local_tests(tests: Sequence[Mapping[str, Any]]) -> None:
    """Print the tests of a local grading by group.

    Args:
        tests: each with `id`, `outcome`, `why` and `seconds`, in the suite's order.
    """
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("TEST", overflow="fold")
    table.add_column("OUTCOME", no_wrap=True)
    table.add_column("SECONDS", justify="right", no_wrap=True)
    table.add_column("WHY", overflow="fold")
    for group, members in itertools.groupby(tests, lambda test: str(test["id"]).partition("/")[0]):
        listed = list(members)
        passed = sum(test["outcome"] == "P" for test in listed)
        table.add_row(Text(plain(group), style="bold"), Text(f"{passed} of {len(listed)} passed"))
        for test in listed:
            word, style = _OUTCOMES[test["outcome"]]
            table.add_row(
                Text("  " + plain(str(test["id"]).partition("/")[2])),
                Text(word, style=style),
                Text(f"{test['seconds']:.2f}" if test["seconds"] else ""),
                Text(plain(test["why"])),
            )
    console().print(table)


class LiveJobs:
    """A table that follows its jobs: redrawn on a terminal, else a line for each change."""

    def __init__(self) -> None:
        self._console = console()
        self._live = (
            Live(console=self._console, auto_refresh=False) if self._console.is_terminal else None
        )
        self._last: dict[str, tuple[str, str]] = {}
        self._jobs: Sequence[Job] = ()

    def __enter__(self) -> LiveJobs:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()
        elif self._jobs:
            self._console.print(build_jobs_table(self._jobs, _now(), width=self._console.width))

    def show(self, jobs: Sequence[Job]) -> None:
        """Show the latest state of all jobs."""
        self._jobs = jobs
        if self._live is not None:
            finished = sum(map(is_finished, jobs))
            line = Text(f"\n{finished} of {len(jobs)} finished", style="dim")
            table = build_jobs_table(jobs, _now(), width=self._console.width)
            self._live.update(Group(table, line), refresh=True)
            return
        for job in jobs:
            name, state = str(job["metadata"]["name"]), _state(job)
            if self._last.get(name) != state:
                self._last[name] = state
                print(f"{plain(name)}: {plain(state[0])} ({plain(state[1])})", flush=True)


def _row(job: Job, now: datetime.datetime) -> list[Text]:
    status = job.get("status") or {}
    decision, reason = _state(job)
    tests = (status.get("verdict") or {}).get("tests")
    return [
        Text(plain(job["metadata"]["name"])),
        Text(plain(job["spec"]["suiteRef"]["name"])),
        Text(plain(decision), style=_DECISIONS.get(decision, "dim")),
        Text(f"{tests['passed']}/{tests['total']}" if tests else ""),
        Text(plain(reason)),
        Text(str(len(status.get("attempts") or ()) or "")),
        Text(_age(job["metadata"].get("creationTimestamp"), now)),
    ]


def _state(job: Job) -> tuple[str, str]:
    """A word and a reason: the decision, or how far the job is."""
    status = job.get("status") or {}
    verdict = status.get("verdict")
    if verdict:
        return str(verdict["decision"]), str(verdict["reason"])
    conditions = {c["type"]: c for c in status.get("conditions") or ()}
    started, admitted = conditions.get("Started"), conditions.get("Admitted")
    if started is not None and started["status"] == "True":
        return "Running", str(started["reason"])
    if admitted is not None and admitted["status"] == "True":
        return "Starting", str((started or admitted)["reason"])
    return "Waiting", str(admitted["reason"]) if admitted is not None else "New"


def _age(created: str | None, now: datetime.datetime) -> str:
    if created is None:
        return ""
    seconds = int((now - datetime.datetime.fromisoformat(created)).total_seconds())
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= 2 * size:
            return f"{seconds // size}{unit}"
    return f"{max(0, seconds)}s"


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


def console() -> Console:
    """The console that tables are printed on."""
    # What is not a terminal has no width: a pipe gets one line a row.
    width = None if sys.stdout.isatty() else _PIPE
    return Console(highlight=False, markup=False, emoji=False, width=width)
