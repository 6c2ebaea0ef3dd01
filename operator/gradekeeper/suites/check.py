"""`suite check`: prove that the suite's expectations tell right from wrong.

Gold passes every pinned draw, also while all processors are busy; null fails each draw of each
discriminating test and passes everything else; what is gold but for one defect fails exactly that
defect's tests; programs without behaviour pass nothing that discriminates; every scenario fails
exactly where `scenarios.yaml` says; and nothing that submitted code can see tells what is expected.
All by the referee's own code, in a local lane.
"""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from gradekeeper.api.reasons import Decision, Reason
from gradekeeper.referee.local import LocalGrading, LocalLane, grade_local
from gradekeeper.referee.result import PASSED
from gradekeeper.suites.bundle import Bundle, Pins, build_bundle, read_pins
from gradekeeper.suites.defects import Defect, find_patch_problems, load_defects
from gradekeeper.suites.definition import load_suite
from gradekeeper.suites.errors import DefinitionError
from gradekeeper.suites.peers import PEERS
from gradekeeper.suites.played import Played, find_played, find_schedule_problems
from gradekeeper.suites.trees import (
    GOLD,
    NULL,
    ONLY,
    Expectation,
    build_submission,
    load_scenarios,
    submission_tree,
)

DEFAULT_LOADED = 1
"""Gradings of gold under load in a quick check."""

_SHORTEST_SECRET = 5
_BUSY = "while True: pass"
_LANE, _DEFECTS, _SCENARIOS, _SCHEDULES = "lane", "defects", "scenarios", "schedules"
Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Checked:
    """One line of the report.

    Attributes:
        name: The submission; or `lane` for what submitted code can see, `defects` and `scenarios`
            for what they claim without being run, `schedules` for what every grading plays.
        draw: The pinned draw that was used; None for a random one.
        passed: How many tests passed, or None if none ran.
        problems: What is not as it must be; empty if all is well.
        seconds: How long it took.
        loaded: Whether all processors were kept busy meanwhile.
    """

    name: str
    draw: int | None
    passed: int | None
    problems: tuple[str, ...]
    seconds: float
    loaded: bool = False


@dataclass(frozen=True, slots=True)
class CheckReport:
    """All lines of a check, and how many schedules each test plays."""

    digest: str
    tests: int
    lines: tuple[Checked, ...]
    played: tuple[Played, ...] = ()

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
        for glob in (*expect.fails, *expect.except_, *expect.open)
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
        demand = expect.demand(test_id)
        if demand == "fail" and outcome == PASSED:
            problems.append(f"{test_id} passes, but must fail")
        elif demand == "pass" and outcome != PASSED:
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


def find_defect_problems(
    defects: Iterable[Defect], ids: Sequence[str], discriminating: Iterable[str]
) -> list[str]:
    """What a suite's defects say of its tests that cannot be, or leave out.

    Args:
        defects: All of the suite; none is no problem.
        ids: Full ids of all tests.
        discriminating: Those that null must fail.

    Returns:
        One sentence for each glob without a test, each test that null passes although a defect
        claims it, and each discriminating test that no defect claims.
    """
    known = list(defects)
    if not known:
        return []
    must = set(discriminating)
    problems = []
    claimed = set()
    for defect in known:
        for glob in defect.fails:
            found = {test_id for test_id in ids if fnmatchcase(test_id, glob)}
            claimed |= found
            if not found:
                problems.append(f"{defect.name}: {glob!r} matches no test")
            problems += [
                f"{defect.name} claims {test_id}, which does not discriminate"
                for test_id in sorted(found - must)
            ]
    return problems + [
        f"no defect claims {test_id}, which discriminates" for test_id in sorted(must - claimed)
    ]


def find_scenario_problems(
    expectations: Mapping[str, Expectation], ids: Sequence[str]
) -> list[str]:
    """What scenarios say in vain, or leave unsaid.

    Args:
        expectations: Of the scenarios, by name.
        ids: Full ids of all tests.

    Returns:
        One sentence for each glob without which the same would be expected of every test, and for
        each scenario that expects nothing of any test. Where there is none, taking out any glob
        makes the outcome that is expected a wrong one.
    """
    problems = []
    for name, expect in expectations.items():
        demands = [expect.demand(test_id) for test_id in ids]
        if set(demands) == {"open"}:
            problems.append(f"{name}: leaves all tests open, and so expects nothing")
        problems += [
            f"{name}: without {said} the same would be expected"
            for said, less in without_each_glob(expect)
            if [less.demand(test_id) for test_id in ids] == demands
        ]
    return problems


def without_each_glob(expect: Expectation) -> Iterator[tuple[str, Expectation]]:
    """Each glob that an expectation has, as words, and what is expected without it."""
    for field, told in (("fails", "fails"), ("except_", "except"), ("open", "open")):
        globs = getattr(expect, field)
        for place, glob in enumerate(globs):
            fewer = globs[:place] + globs[place + 1 :]
            yield f"{told} {glob!r}", expect.model_copy(update={field: fewer})


def check(
    folder: Path | str,
    *,
    lane: LocalLane,
    gold: int | None = None,
    loaded: int = DEFAULT_LOADED,
    every_draw: bool = False,
    only: Sequence[str] = (),
    progress: Progress = lambda _: None,
) -> CheckReport:
    """Check a suite.

    Args:
        folder: The suite folder, with pins.
        lane: Where the parts of a lane are on this machine.
        gold: How often gold is graded; default: once with every pinned draw. It starts with those;
            what is more takes draws at random.
        loaded: How often gold is graded, with draws at random, while all processors are busy.
        every_draw: Run defects, peers and scenarios with every pinned draw, not with one at
            random. Null always runs with every draw.
        only: Globs of the report's lines; empty: all. Submissions with one defect are left out
            while the line `defects` has problems.
        progress: Told what happens, one line at a time.

    Raises:
        SuiteError: the suite cannot be built, or `only` names nothing.
        LocalError: the local engine failed; nothing was proven.
    """
    root = Path(folder)
    definition = load_suite(root)
    pins = read_pins(root, definition)
    defects = load_defects(root)
    lines: list[Checked] = []
    with tempfile.TemporaryDirectory(prefix="gradekeeper-check-") as temporary:
        bundle = build_bundle(root, Path(temporary) / "bundle", kit=lane.kit)
        index = json.loads(bundle.index)
        draws = max(len(draws) for draws in pins.values())
        plan = [
            *_builtins(index, draws, draws if gold is None else gold, loaded),
            *_others(root, defects, index, draws if every_draw else 0),
        ]
        unrun = list(_unrun(root, bundle, pins, defects))
        names = dict.fromkeys([*(line.name for line in unrun), *(run.name for run in plan)])
        for glob in only:
            if not any(fnmatchcase(name, glob) for name in names):
                raise DefinitionError(f"nothing is called {glob!r}; there is {', '.join(names)}")
        lines += [line for line in unrun if not only or _among(line.name, only)]
        # Where patches do not fit, a repository with one defect cannot even be made.
        broken = any(line.name == _DEFECTS and line.problems for line in unrun)
        for run in plan:
            if only and not _among(run.name, only):
                continue
            if run.name.startswith(ONLY) and broken:
                continue
            progress(run.told)
            lines.append(_run(root, bundle, lane, run))
    played = tuple(find_played(definition, pins))
    return CheckReport(bundle.digest, len(pins), tuple(lines), played)


@dataclass(frozen=True, slots=True)
class _Run:
    """One grading of a check."""

    name: str
    draw: int | None
    expect: Expectation
    parameters: Mapping[str, str]
    loaded: bool = False

    @property
    def told(self) -> str:
        """The run in a word or two."""
        draw = "" if self.draw is None else f", draw {self.draw}"
        return self.name + draw + (", under load" if self.loaded else "")


def _builtins(index: Any, draws: int, gold: int, loaded: int) -> Iterator[_Run]:
    for number in range(gold):
        yield _Run(GOLD, number if number < draws else None, Expectation(), {})
    for _ in range(loaded):
        yield _Run(GOLD, None, Expectation(), {}, loaded=True)
    null = Expectation(fails=tuple(sorted(_discriminating(index))))
    for draw in range(draws):
        yield _Run(NULL, draw, null, {})


def _others(root: Path, defects: Sequence[Defect], index: Any, draws: int) -> Iterator[_Run]:
    every: Sequence[int | None] = range(draws) if draws else [None]
    for defect in defects:
        for draw in every:
            yield _Run(f"{ONLY}{defect.name}", draw, Expectation(fails=defect.fails), {})
    must = _discriminating(index)
    left = {test_id for ids in index["tasks"].values() for test_id in ids} - must
    nothing = Expectation(fails=tuple(sorted(must)), open=tuple(sorted(left)))
    for peer in PEERS:
        for draw in every:
            yield _Run(peer, draw, nothing, {})
    for scenario in load_scenarios(root):
        judged = scenario.expect.reason == Reason.COMPLETED
        for draw in every if judged else [None]:
            yield _Run(scenario.name, draw, scenario.expect, scenario.parameters)


def _discriminating(index: Any) -> set[str]:
    return {
        index["tasks"][task][place]
        for task, places in index["discriminating"].items()
        for place in places
    }


def _unrun(root: Path, bundle: Bundle, pins: Pins, defects: Sequence[Defect]) -> Iterator[Checked]:
    """What can be seen without a grading."""
    definition = load_suite(root)
    yield Checked(_LANE, None, None, tuple(find_leaks(bundle.path, pins)), 0.0)
    if defects:
        base, gold = (
            {name: content for name, (content, _) in submission_tree(root, definition, on).items()}
            for on in ([], [GOLD])
        )
        found = find_patch_problems(base, gold, {one.name: one.hunks for one in defects})
        found += find_defect_problems(
            defects, list(pins), _discriminating(json.loads(bundle.index))
        )
        yield Checked(_DEFECTS, None, None, tuple(found), 0.0)
    if find_played(definition, pins):
        gaps = find_schedule_problems(definition, pins)
        yield Checked(_SCHEDULES, None, None, tuple(gaps), 0.0)
    expectations = {scenario.name: scenario.expect for scenario in load_scenarios(root)}
    if expectations:
        vain = find_scenario_problems(expectations, list(pins))
        yield Checked(_SCENARIOS, None, None, tuple(vain), 0.0)


def _run(root: Path, bundle: Bundle, lane: LocalLane, run: _Run) -> Checked:
    submission = run.name if run.name in (GOLD, NULL) else build_submission(root, run.name)
    tasks = json.loads(bundle.index)["tasks"]
    started = time.monotonic()
    with _busy() if run.loaded else contextlib.nullcontext():
        graded = {
            task: grade_local(
                bundle.path,
                submission,
                lane=lane,
                task=task,
                parameters=run.parameters,
                draw=run.draw,
            )
            for task in tasks
        }
    seconds = time.monotonic() - started
    passed = sum((one.result.outcomes or "").count(PASSED) for one in graded.values())
    problems = _problems(run.expect, graded, tasks)
    return Checked(run.name, run.draw, passed, tuple(problems), seconds, run.loaded)


@contextlib.contextmanager
def _busy() -> Iterator[None]:
    """Keep every processor that this process may use busy with something else."""
    idlers = [
        subprocess.Popen([sys.executable, "-I", "-S", "-c", _BUSY]) for _ in os.sched_getaffinity(0)
    ]
    try:
        yield
    finally:
        for idler in idlers:
            idler.kill()
            idler.wait()


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
