"""`suite check`: prove that the suite's expectations tell right from wrong.

Gold passes every pinned draw, null fails each draw of each discriminating test and passes
everything else, every scenario fails exactly where `scenarios.yaml` says, and nothing that
submitted code can see tells what is expected. All by the referee's own code, in a local lane.
"""

import json
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from gradekeeper.api.reasons import Decision, Reason
from gradekeeper.referee.local import LocalGrading, LocalLane, grade_local
from gradekeeper.referee.result import PASSED
from gradekeeper.suites.bundle import Bundle, Pins, build_bundle, read_pins
from gradekeeper.suites.definition import load_suite
from gradekeeper.suites.trees import GOLD, NULL, Expectation, build_submission, load_scenarios

_SHORTEST_SECRET = 5
Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Checked:
    """One line of the report.

    Attributes:
        name: `gold`, `null`, a scenario's name, or `lane` for what submitted code can see.
        draw: The pinned draw that was used; None for a random one.
        passed: How many tests passed, or None if none ran.
        problems: What is not as it must be; empty if all is well.
        seconds: How long it took.
    """

    name: str
    draw: int | None
    passed: int | None
    problems: tuple[str, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class CheckReport:
    """All lines of a check."""

    digest: str
    tests: int
    lines: tuple[Checked, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not any(line.problems for line in self.lines)


def judge_expectation(
    expect: Expectation,
    *,
    decision: str,
    reason: str,
    outcomes: str | None,
    ids: Sequence[str],
) -> list[str]:
    """Compare one grading with what a scenario says of it.

    Args:
        expect: What must come out.
        decision: Of the result.
        reason: Of the result.
        outcomes: One character a test, or None.
        ids: The tests, in order.

    Returns:
        One sentence for each difference; none if all is as expected.
    """
    problems = [
        f"{glob!r} matches no test"
        for glob in (*expect.fails, *expect.except_)
        if not any(fnmatchcase(test_id, glob) for test_id in ids)
    ]
    if (decision, reason) != (expect.decision, expect.reason):
        problems.append(
            f"is {decision}/{reason}, expected {expect.decision.value}/{expect.reason.value}"
        )
    if outcomes is None:
        return [*problems, "has no outcomes"]
    if len(outcomes) != len(ids):
        return [*problems, f"has {len(outcomes)} outcomes for {len(ids)} tests"]
    for test_id, outcome in zip(ids, outcomes, strict=True):
        fails = _among(test_id, expect.fails) and not _among(test_id, expect.except_)
        excepted = _among(test_id, expect.except_)
        if fails and outcome == PASSED:
            problems.append(f"{test_id} passes, but must fail")
        elif not fails and outcome != PASSED and (expect.others == "pass" or excepted):
            problems.append(f"{test_id} fails ({outcome}), but must pass")
    return problems


def find_leaks(bundle: Path, pins: Pins) -> list[str]:
    """What below `lane/` of a bundle tells what is expected: a test's id, or a pinned value.

    The drivers' jar is not compressed, so its bytes can be searched as they are. Values shorter
    than five characters are not looked for.
    """
    secrets = {test_id.partition("/")[2]: f"the id of {test_id}" for test_id in pins}
    for test_id, draws in pins.items():
        for draw in draws:
            for transcript in draw["transcripts"]:
                for entry in transcript:
                    for value in _values(entry[2]):
                        if len(value) >= _SHORTEST_SECRET and "#" not in value:
                            secrets.setdefault(value, f"a value that {test_id} expects")
    leaks = []
    for file in sorted(path for path in (bundle / "lane").rglob("*") if path.is_file()):
        content = file.read_bytes()
        leaks += [
            f"{file.relative_to(bundle).as_posix()} contains {value!r}, {what}"
            for value, what in secrets.items()
            if value.encode() in content
        ]
    return leaks


def check(
    folder: Path | str,
    *,
    lane: LocalLane,
    every_draw: bool = False,
    only: Sequence[str] = (),
    progress: Progress = lambda _: None,
) -> CheckReport:
    """Check a suite.

    Args:
        folder: The suite folder, with pins.
        lane: Where the parts of a lane are on this machine.
        every_draw: Run scenarios with every pinned draw, not with one at random. Gold and null
            always run with every draw.
        only: Names of submissions to run; empty: all.
        progress: Told what happens, one line at a time.

    Raises:
        SuiteError: the suite cannot be built.
        LocalError: the local engine failed; nothing was proven.
    """
    root = Path(folder)
    definition = load_suite(root)
    pins = read_pins(root, definition)
    lines: list[Checked] = []
    with tempfile.TemporaryDirectory(prefix="gradekeeper-check-") as temporary:
        bundle = build_bundle(root, Path(temporary) / "bundle", kit=lane.kit)
        if not only:
            lines.append(Checked("lane", None, None, tuple(find_leaks(bundle.path, pins)), 0.0))
        most = max(len(draws) for draws in pins.values())
        for name, draw, expect, parameters in _plan(root, bundle, most, every_draw):
            if only and name not in only:
                continue
            progress(name if draw is None else f"{name}, draw {draw}")
            lines.append(_run(root, bundle, lane, name, draw, expect, parameters))
    return CheckReport(bundle.digest, len(pins), tuple(lines))


def _plan(
    root: Path, bundle: Bundle, draws: int, every_draw: bool
) -> Iterator[tuple[str, int | None, Expectation, Mapping[str, str]]]:
    index = json.loads(bundle.index)
    discriminating = {
        index["tasks"][task][place]
        for task, places in index["discriminating"].items()
        for place in places
    }
    null = Expectation(fails=tuple(sorted(discriminating)))
    for draw in range(draws):
        yield GOLD, draw, Expectation(), {}
    for draw in range(draws):
        yield NULL, draw, null, {}
    for scenario in load_scenarios(root):
        judged = scenario.expect.reason == Reason.COMPLETED
        every = range(draws) if every_draw and judged else [None]
        for one in every:
            yield scenario.name, one, scenario.expect, scenario.parameters


def _run(
    root: Path,
    bundle: Bundle,
    lane: LocalLane,
    name: str,
    draw: int | None,
    expect: Expectation,
    parameters: Mapping[str, str],
) -> Checked:
    started = time.monotonic()
    submission = name if name in (GOLD, NULL) else build_submission(root, name)
    graded = {
        task: grade_local(
            bundle.path, submission, lane=lane, task=task, parameters=parameters, draw=draw
        )
        for task in json.loads(bundle.index)["tasks"]
    }
    problems = _problems(expect, graded, json.loads(bundle.index)["tasks"])
    passed = sum((one.result.outcomes or "").count(PASSED) for one in graded.values())
    return Checked(name, draw, passed, tuple(problems), time.monotonic() - started)


def _problems(
    expect: Expectation, graded: Mapping[str, LocalGrading], tasks: Mapping[str, Sequence[str]]
) -> list[str]:
    """Judge the gradings of all tasks together: a glob may concern one task only."""
    results = {(one.result.decision, one.result.reason) for one in graded.values()}
    unjudged = [
        one.result.message
        for one in graded.values()
        if one.result.decision == Decision.UNJUDGED or one.result.outcomes is None
    ]
    if unjudged:
        return [f"was not judged: {message}" for message in unjudged]
    problems: list[str] = []
    for decision, reason in sorted(results):
        problems = judge_expectation(
            expect,
            decision=decision,
            reason=reason,
            outcomes="".join(graded[task].result.outcomes or "" for task in tasks),
            ids=[test_id for ids in tasks.values() for test_id in ids],
        )
        if problems:
            break
    causes = {test.id: test.cause for one in graded.values() for test in one.tests}
    return [
        f"{problem}: {causes[first]}" if causes.get(first := problem.split(" ")[0]) else problem
        for problem in problems
    ]


def _among(test_id: str, globs: Sequence[str]) -> bool:
    return any(fnmatchcase(test_id, glob) for glob in globs)


def _values(value: Any) -> Iterator[str]:
    """Texts and numbers of an observed value, without the names of types and components."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _values(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key not in ("t", "c"):
                yield from _values(item)
