"""The parts of `make bench` that need no cluster: another design beside ours, and agreement.

`sequential` grades gold by a script of the usual design, written for this comparison: javac twice,
then the 17 JVMs of the billing suite one after another, tests and submission in one process, signed
result lines, and doubles that block for up to a second to see whether another request gets through.
It runs the suite's own drivers, so that both do the same work, and in turn with our gradings.

`repeats` grades the same few submissions again and again, with inputs drawn at random: gold and
repairs that race. Every repetition must say the same of each test.
"""

from __future__ import annotations

import base64
import contextlib
import statistics
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from demo.cases import SUITE_DIR
from demo.commands import ROOT, DemoError
from findings import compare, differing, tally

from gradekeeper.referee.local import LocalLane, grade_local
from gradekeeper.referee.result import PASSED
from gradekeeper.suites.bundle import build_bundle, read_pins
from gradekeeper.suites.definition import Group, load_suite
from gradekeeper.suites.trees import GOLD, Tree, build_submission, submission_tree

SEQUENTIAL: Final = ROOT / "tests" / "bench" / "sequential"
BLOCKING: Final[Mapping[str, str]] = {
    "refunds/fix_overlap_cannot_overdraw": "refund",
    "idempotency/fix_overlapping_retries_charge_once": "charge",
    "webhook_redelivery/guard_overlap_applies_once": "send",
}
"""Test -> double that blocks in it: one in each of the three groups that run three times. The
published suite of this design says that its gold takes about 18 seconds, which leaves room for
three such waits in a round and not for more."""
STORM_DELAY_MS: Final = 5
"""Injected latency of a double in a storm."""
RACING: Final = (
    "refunds-half-fix-races",
    "refunds-save-outside-the-lock",
    "idempotency-lock-around-check-only",
    "webhook-mark-after-apply-no-lock",
)
"""Scenarios that lock something, but not enough."""
Progress = Callable[[str], None]


class Comparison:
    """Gold by the sequential script and by the local engine, in turn.

    Args:
        work: an empty folder.
        lane: of the local engine.
        progress: told what happens.
    """

    def __init__(self, work: Path, lane: LocalLane, progress: Progress) -> None:
        self._work = work
        self._lane = lane
        self._progress = progress
        self._bundle = build_bundle(SUITE_DIR, work / "bundle", kit=lane.kit).path
        self._script: dict[str, list[float]] = {}
        self._ours: list[float] = []

    @classmethod
    @contextlib.contextmanager
    def opened(cls, progress: Progress) -> Iterator[Comparison]:
        """In a folder that is removed in the end."""
        with tempfile.TemporaryDirectory(prefix="gradekeeper-bench-") as work:
            yield cls(Path(work), LocalLane.from_environment(), progress)

    def turn(self) -> None:
        """Grade once by each.

        Raises:
            DemoError: one of both did not pass gold.
        """
        number = len(self._ours) + 1
        self._progress(f"gold by the sequential script, {number}")
        for name, seconds in run_sequential(self._work / f"turn{number}").items():
            self._script.setdefault(name, []).append(seconds)
        self._progress(f"gold by the local engine, {number}")
        started = time.monotonic()
        result = grade_local(self._bundle, GOLD, lane=self._lane).result
        self._ours.append(time.monotonic() - started)
        if not result.outcomes or result.outcomes.strip(PASSED):
            raise DemoError(f"gold did not pass: {result.outcomes} {result.message}")

    def report(self, cluster: float | None) -> dict[str, Any]:
        """Medians, where the script's time went, and ratios; all in seconds, as JSON.

        Args:
            cluster: median of gold through the cluster, if that was measured in turn with these.
        """
        script = {name: round(statistics.median(all_), 3) for name, all_ in self._script.items()}
        ours = statistics.median(self._ours)
        through = {} if cluster is None else {"throughCluster": compare(script["total"], cluster)}
        return {
            "rounds": len(self._ours),
            "sequential": script,
            "gradekeeper": round(ours, 3),
            "ratio": round(script["total"] / ours, 2),
            **through,
        }


def run_sequential(work: Path) -> dict[str, float]:
    """One grading of gold by the script; seconds by part.

    Raises:
        DemoError: a test did not pass or said nothing.
    """
    definition = load_suite(SUITE_DIR)
    gold = submission_tree(SUITE_DIR, definition, [GOLD])
    sources = _write(gold, work / "src", definition.build.source_root)
    tests = sorted((SUITE_DIR / "lane").rglob("*.java")) + sorted(SEQUENTIAL.rglob("*.java"))
    groups = [(group, _group_file(group, work)) for group in definition.groups]
    marks = {"javac, twice": 0.0, "JVMs, one after another": 0.0}
    started = time.monotonic()
    _run("javac", "-d", str(work / "app"), *map(str, sources))
    _run("javac", "-cp", str(work / "app"), "-d", str(work / "grader"), *map(str, tests))
    marks["javac, twice"] = time.monotonic() - started
    jvms = 0
    for group, file in groups:
        for _ in range(group.repeats):
            said = _run(
                *("java", "-XX:+DisableAttachMechanism", "-cp", f"{work}/grader:{work}/app"),
                *("Sequential", str(file)),
                stdin=f"key{jvms}\n",
            )
            jvms += 1
            passed = {line.split(" ")[3] for line in said.splitlines() if " PASS " in line}
            if passed != {f"{group.name}/{test.id}" for test in group.tests}:
                raise DemoError(f"{group.name} by the sequential script: {said}")
    total = time.monotonic() - started
    marks["JVMs, one after another"] = total - marks["javac, twice"]
    waits = sum(group.repeats for group, _ in groups for one in BLOCKING if _is_of(one, group))
    return {**marks, "of these: waits for a second request": float(waits), "total": total}


def repeat(count: int, parallel: int, progress: Progress) -> dict[str, Any]:
    """Grade gold, and racing repairs, so many times each.

    Args:
        count: gradings of gold; the racing repairs share as many.
        parallel: gradings at once.
        progress: told what happens.

    Returns:
        What the repeats say of each other, and the seconds that each took.

    Raises:
        LocalError: a grading ended without a result.
    """
    lane = LocalLane.from_environment()
    tests = [name for name, _ in load_suite(SUITE_DIR).tests()[""]]
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="gradekeeper-bench-") as temporary:
        bundle = build_bundle(SUITE_DIR, Path(temporary) / "bundle", kit=lane.kit)
        archives: dict[str, bytes | str] = {GOLD: GOLD}
        archives |= {name: build_submission(SUITE_DIR, name) for name in RACING}
        racing = [RACING[n % len(RACING)] for n in range(count)]
        # Both kinds side by side all the time, so that each also runs beside the other.
        wanted = [name for other in racing for name in (GOLD, other)]

        def grade(name: str) -> tuple[str, str]:
            result = grade_local(bundle.path, archives[name], lane=lane).result
            return name, result.outcomes or f"{result.decision}/{result.reason}"

        found: dict[str, Counter[str]] = {name: Counter() for name in archives}
        with ThreadPoolExecutor(parallel) as pool:
            for done, (name, outcomes) in enumerate(pool.map(grade, wanted), 1):
                answer = only_passes(outcomes)
                found[name][answer] += 1
                progress(f"{done} of {len(wanted)}: {describe(name, answer, found[name], tests)}")
    seconds = time.monotonic() - started
    return {
        "gradings": len(wanted),
        "parallel": parallel,
        "secondsEach": round(seconds * parallel / max(1, len(wanted)), 2),
        **tally(found, GOLD, tests),
    }


def describe(name: str, answer: str, so_far: Counter[str], tests: Sequence[str]) -> str:
    """A grading in a few words, and on which tests it disagrees with the usual answer so far."""
    said = answer if "/" in answer else f"{answer.count(PASSED)} of {len(answer)} tests pass"
    usual = so_far.most_common(1)[0][0]
    on = differing(usual, answer, tests)
    return f"{name}: {said}" + (f"; DISAGREES on {', '.join(on)}" if on else "")


def only_passes(outcomes: str) -> str:
    """Outcomes with every kind of failure alike: a race may end in a wrong value or in a hang."""
    if "/" in outcomes:
        return outcomes
    return "".join(one if one == PASSED else "-" for one in outcomes)


def _is_of(test_id: str, group: Group) -> bool:
    return test_id.startswith(f"{group.name}/")


def _group_file(group: Group, work: Path) -> Path:
    """What the script's runner is told about a group: tests, inputs of the first draw, doubles."""
    pins = read_pins(SUITE_DIR, load_suite(SUITE_DIR))
    lines = [group.driver]
    for test in group.tests:
        full = f"{group.name}/{test.id}"
        lines.append(f"test {full} {test.method}")
        for name, value in pins[full][0]["inputs"].items():
            lines.append(f"input {name} {base64.b64encode(value.encode()).decode()}")
        for method, policies in test.doubles.items():
            blocks = str(BLOCKING.get(full) == method).lower()
            delay = STORM_DELAY_MS if "storm" in test.id else 0
            lines.append(f"double {method} {','.join(policies)} {blocks} {delay}")
    path = work / f"{group.name}.txt"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")
    return path


def _write(tree: Tree, folder: Path, source_root: str) -> list[Path]:
    written = []
    for name, (content, _) in tree.items():
        if name.startswith(source_root) and name.endswith(".java"):
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            written.append(path)
    return written


def _run(*command: str, stdin: str = "") -> str:
    done = subprocess.run(
        command, input=stdin, capture_output=True, text=True, timeout=600, check=False
    )
    if done.returncode != 0:
        raise DemoError(f"{command[0]} failed: {done.stderr[:2000]}")
    return done.stdout
