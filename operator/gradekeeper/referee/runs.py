"""The runs of a grading: which process runs which tests, when, how often, and what came of it.

A *unit* is one group in one repeat: its tests run one after another in one process, and in
another one with what is left when that hangs or dies. At most `parallel` run at a time, of which no
more want a processor than there are, as far as that can be told; when one ends, the next begins. So
it goes on, as one batch of laned, until a process ends out of turn or leaves others behind: then
what runs is waited for, the lane is swept, and another batch begins.
Each running process has a child of the referee (`play`) that owns its pipes; this module hears only
the child's report and laned's events, and owns every deadline.

Every expected test starts as "did not run" and becomes "passed" only by passing in every repeat.
"""

import math
import os
import select
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from gradekeeper.referee import child, report
from gradekeeper.referee.bundle import Group, Limits, Test
from gradekeeper.referee.channel import EXITED
from gradekeeper.referee.clocks import (
    BUDGET_WATCH_SECONDS,
    WATCH_SECONDS,
    Finding,
    Ticker,
    Window,
)
from gradekeeper.referee.control import Control, settle
from gradekeeper.referee.errors import LaneGone, PlatformError, Unjudgeable
from gradekeeper.referee.judge import Transcript
from gradekeeper.referee.judgement import (
    Judgement,
    is_idle,
    judge_budget,
    judge_control,
    judge_time,
)
from gradekeeper.referee.lanes import KILL_SECONDS, Lane, LaneEvent, Order
from gradekeeper.referee.log import DetailLog
from gradekeeper.referee.play import KEPT_SHARE, Case, Plan
from gradekeeper.referee.players import starting
from gradekeeper.referee.report import Report, ReportError, parse_report
from gradekeeper.referee.result import (
    ENDED_EARLY,
    FAILED,
    NODE_OVERLOADED,
    NOT_RUN,
    PASSED,
    TIMED_OUT,
    VIOLATED,
)

START_SECONDS: Final = 30.0
"""For a process to start and to say hello."""
GRACE_SECONDS: Final = 5.0
"""By how much a child may overrun a deadline that it keeps itself."""
KEEP_FACTOR: Final = 1.5
KEEP_EXTRA: Final = 0.05
"""A strict case keeps held calls for its longest span so far, times the factor, and so much more
(seconds)."""
LIGHT_SHARE: Final = 0.025
"""Of a test's time: who used less in a whole process has hardly disturbed those beside it."""
MAX_STRICT: Final = 6
"""Strict plays of one test until one of them proves something."""
_KILLS: Final = frozenset(str(number) for number in (1, 2, 9, 15))
_KILLED: Final = frozenset(str(128 + number) for number in (1, 2, 15))
"""Signals that end a process of somebody else, and what a JVM makes of those that it hears of."""
START: Final = "start"
RUN: Final = "run"
SUITE: Final = "suite"


@dataclass(frozen=True, slots=True)
class Choice:
    """What one run of one test gets.

    Attributes:
        inputs: by name.
        draw: position among the test's draws.
        expected: what is right; None: nothing is judged.
        lots: of a `Case`, if it was played before.
    """

    inputs: Mapping[str, str]
    draw: int
    expected: Sequence[Transcript] | None
    lots: bytes | None = None


@dataclass(slots=True)
class Ledger:
    """What is known about every expected test.

    Attributes:
        needed: full id -> how many runs must pass.
    """

    needed: Mapping[str, int]
    _passed: dict[str, int] = field(default_factory=dict)
    _failed: dict[str, str] = field(default_factory=dict)

    def enter(self, test: str, outcome: str) -> None:
        """Note one run's outcome; the first failure stands."""
        if outcome == PASSED:
            self._passed[test] = self._passed.get(test, 0) + 1
        else:
            self._failed.setdefault(test, outcome)

    def overrule(self, test: str, outcome: str) -> None:
        """Set an outcome whatever was noted before: tampering was proven."""
        self._failed[test] = outcome

    def has_failed(self, test: str) -> bool:
        """Whether a run failed: then it is not run again."""
        return test in self._failed

    def outcome(self, test: str) -> str:
        """The outcome so far; "did not run" where passing is not proven in every run."""
        if test in self._failed:
            return self._failed[test]
        return PASSED if self._passed.get(test, 0) >= self.needed[test] else NOT_RUN


@dataclass(frozen=True, slots=True)
class Doubt:
    """A time that was used up while processors were short; whose it was shows after a sweep.

    Attributes:
        unit: whose process it was.
        test: what ran when it was used up; None: nothing yet, or nothing any more.
        what: whose time it was: the test's id, `START`, `RUN` or `SUITE`.
        since: monotonic seconds.
        until: monotonic seconds.
        window: what the ticker saw of it.
        case: what the test had; that of its first test, for a start; None for a budget.
    """

    unit: "Unit"
    test: Test | None
    what: str
    since: float
    until: float
    window: Window
    case: Case | None = None


@dataclass(slots=True)
class Unit:
    """One group in one repeat, with what is left of it.

    Attributes:
        group: whose tests.
        repeat: from 0.
        left: tests that have no outcome yet.
        draw: the one to record; None when judging.
        launched: whether it had a process.
        since: start of its first process, monotonic seconds.
        until: end of its own budget, monotonic seconds; the suite's may end before.
        stretch: how many times its time a test or a start gets: more than once as soon as one was
            excused, for all that is left of the unit.
        budget: the same for its own budget; None until it was excused.
        again: whether something of it was tried a third time.
        used: processor seconds of its last process, as laned tells; None if it did not.
        drawn: full id -> what an excused test had, which it gets again: nobody gains another draw,
            nor another order of what is held, by hanging or dying.
        strict: full id -> strict plays so far.
    """

    group: Group
    repeat: int
    left: list[Test]
    draw: int | None = None
    since: float = 0.0
    until: float = 0.0
    launched: bool = False
    stretch: float = 1.0
    budget: float | None = None
    again: bool = False
    used: float | None = None
    drawn: dict[str, Choice] = field(default_factory=dict)
    strict: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class _Run:
    """One process of a unit and the child that plays it."""

    unit: Unit
    order: int
    pid: int
    reading: int
    control: int
    cases: Sequence[Case]
    launched: float
    alone: bool
    held: bytes = b""
    open: Case | None = None
    since: float = 0.0
    doubted: bool = False
    progressed: bool = False
    rerun: bool = False
    ended: bool = False
    kill_by: float | None = None
    child_over: bool = False
    played: bool = False
    hung: bool = False
    killed: bool = False
    early: Test | None = None


OrderMaker = Callable[[int, Group], Order]
Chooser = Callable[[Test, "Unit"], Choice]


class Runs:
    """Runs units on a lane until all are done, the budget is used up, or the lane is lost."""

    def __init__(
        self,
        *,
        lane: Lane,
        limits: Limits,
        ledger: Ledger,
        log: DetailLog,
        ticker: Ticker,
        make_order: OrderMaker,
        choose: Chooser,
        next_order: Iterator[int],
        detail: int | None,
        judging: bool = True,
        control: Control | None = None,
    ) -> None:
        self._lane = lane
        self._limits = limits
        self._ledger = ledger
        self._log = log
        self._ticker = ticker
        self._make_order = make_order
        self._choose = choose
        self._next_order = next_order
        self._detail = detail
        self._judging = judging
        self._control = control
        self._restarts: dict[object, int] = {}
        self._tampered: set[str] = set()
        self._spans: dict[str, float] = {}
        self._active: dict[int, _Run] = {}
        self._later: list[Unit] = []
        self._doubts: list[Doubt] = []
        self._orderly = True
        self._littered = False
        self._apart = False
        self._busy: dict[str, float] = {}
        self._started = time.monotonic()
        self._deadline = self._latest = self._started
        self._budget: float | None = None
        self._over = False
        self._hangs = False

    def run(self, units: Sequence[Unit], deadline: float, latest: float) -> None:
        """Run all units.

        Args:
            units: in the order in which they should spend the budget.
            deadline: of the suite's budget, monotonic seconds.
            latest: the same, whatever is given back for what the node took.

        Raises:
            LaneGone: finished outcomes are in the ledger.
            Unjudgeable: `NodeOverloaded`.
        """
        queue = list(units)
        self._deadline, self._latest = deadline, latest
        try:
            while queue and self._in_budget():
                self._batch(queue)
                self._lane.sweep()
                self._ticker.read()
        finally:
            self._abandon()

    def _shrink(self, unit: Unit) -> bool:
        """Leave out what failed before; whether anything is left."""
        if unit.group.name in self._tampered:
            unit.left = [test for test in unit.left if not test.holds]
        if self._judging:
            unit.left = [test for test in unit.left if not self._ledger.has_failed(test.id)]
        return bool(unit.left)

    def _batch(self, queue: list[Unit]) -> None:
        """Run units of the queue between two sweeps, as long as all goes by plan."""
        self._orderly, self._littered = True, False
        first = self._take_units(queue)
        for unit in first:
            self._begin(unit, alone=len(first) == 1)
        while self._active or self._later or self._doubts:
            if not self._active:
                # What a process left behind in the lane may keep the next one from starting, or
                # take its time: a hang would cost more than its own test.
                self._lane.sweep()
                self._littered = False
                self._settle()
                if not (self._later and self._in_budget()):
                    self._later.clear()
                    return
                self._orderly = False  # nothing beside it, and a sweep after it
                unit = self._later.pop(0)
                if unit.launched:
                    self._launch(unit, alone=True)
                else:
                    self._begin(unit, alone=True)
            self._wait()
            now = time.monotonic()
            for run in list(self._active.values()):
                self._check_deadlines(run, now)
                if run.child_over and run.ended:
                    self._finish(run)
            for unit in self._take_units(queue):
                self._begin(unit)

    def _take_units(self, queue: list[Unit]) -> list[Unit]:
        """Take out of the queue what may start now, in its order."""
        if not self._orderly or time.monotonic() >= self._deadline:
            return []
        most = 1 if self._apart else self._limits.parallel
        if len(self._active) >= most:
            return []
        taken: list[Unit] = []
        # A strict one waits for most of its time, others work: side by side they would all end
        # late, and everything would seem to take its time.
        room = max(2, math.ceil(self._ticker.sizes.processors))
        room -= sum(
            not self._waits(run.unit.group, [case.keep for case in run.cases])
            for run in self._active.values()
        )
        # Whose earlier repeats are not over has to wait if it needs to know their spans.
        unfinished = {run.unit.group.name for run in self._active.values()}
        unfinished |= {unit.group.name for unit in self._later}
        kept: list[Unit] = []
        for unit in queue:
            if not self._shrink(unit):
                continue
            group = unit.group.name
            strict = any(self._is_strict(unit, test) for test in unit.left)
            waits = self._waits(unit.group, [self._keep(unit, test) for test in unit.left])
            full = len(self._active) + len(taken) >= most
            if full or (strict and group in unfinished) or not (waits or room > 0):
                kept.append(unit)
            else:
                taken.append(unit)
                room -= not waits
            unfinished.add(group)
        queue[:] = kept
        return taken

    def _waits(self, group: Group, keeps: Sequence[float]) -> bool:
        """Whether a process wants hardly any processor: it is strict, and its like were quick.

        Who needs most of a test's time must not lose it to those beside it.
        """
        most = LIGHT_SHARE * self._limits.test_timeout_seconds
        return any(keeps) and self._busy.get(group.name, math.inf) <= most

    def _begin(self, unit: Unit, *, alone: bool = False) -> None:
        unit.since = time.monotonic()
        unit.until = unit.since + self._limits.run_timeout_seconds
        self._launch(unit, alone=alone)

    # -- one process ------------------------------------------------------------------------

    def _launch(self, unit: Unit, *, alone: bool = False) -> None:
        """Start a unit's next process; `alone`: after a sweep, with nothing beside it."""
        number = next(self._next_order)
        choices = [
            (test, unit.drawn.get(test.id) or self._choose(test, unit)) for test in unit.left
        ]
        cases = [
            Case(
                position,
                test,
                dict(choice.inputs),
                choice.draw,
                choice.expected,
                self._keep(unit, test),
                choice.lots or os.urandom(16),
            )
            for position, (test, choice) in enumerate(choices)
        ]
        plan = self._plan(unit, cases)
        order = self._make_order(number, unit.group)
        try:
            with starting(plan, self._detail) as (player, descriptors):
                self._active[number] = _Run(
                    unit,
                    number,
                    player.pid,
                    player.reading,
                    player.control,
                    cases,
                    time.monotonic(),
                    alone or self._apart,
                )
                unit.launched = True
                self._lane.order(order, descriptors)
        except PlatformError:
            if alone:
                raise
            # What is alive in the lane may hold all processes that the Pod may have.
            self._log.event("no_process", group=unit.group.name, repeat=unit.repeat)
            self._orderly = False
            self._later.append(unit)

    def _plan(self, unit: Unit, cases: Sequence[Case]) -> Plan:
        return Plan(
            cases=cases,
            start_seconds=START_SECONDS * unit.stretch,
            test_seconds=self._limits.test_timeout_seconds * unit.stretch,
            repeat=unit.repeat,
        )

    def _wait(self) -> None:
        poll = select.poll()
        poll.register(self._lane, select.POLLIN)
        readers = {}
        for run in self._active.values():
            if not run.child_over:
                poll.register(run.reading, select.POLLIN)
                readers[run.reading] = run
        ready = {descriptor for descriptor, _ in poll.poll(100)}
        for descriptor in ready & readers.keys():
            self._hear(readers[descriptor])
        if self._lane.fileno() in ready:
            for event in self._lane.events():
                self._notice(event)

    def _notice(self, event: LaneEvent) -> None:
        run = self._active.get(event.id)
        if run is None or event.verb not in ("exit", "refused"):
            return
        run.ended = True
        run.kill_by = None
        run.killed = event.fields.get("signal") in _KILLS or event.fields.get("status") in _KILLED
        group = run.unit.group.name
        told = event.fields.get("cpu_us")
        busy = int(told or "0") / 1e6
        run.unit.used = busy if told and run.progressed else None
        self._busy[group] = max(self._busy.get(group, 0.0), busy)
        # What it left would be beside whatever begins now.
        self._littered = self._littered or event.fields.get("left", "0") != "0"
        self._orderly = self._orderly and not self._littered
        self._log.event(
            "run_ended",
            group=group,
            repeat=run.unit.repeat,
            **{name: value for name, value in event.fields.items() if name != "id"},
        )
        if run.child_over:
            return  # its pipes are closed, and their numbers may be another run's by now
        try:
            os.write(run.control, EXITED)
        except OSError:
            pass  # the child is gone as well

    def _hear(self, run: _Run) -> None:
        """Take in what the child reports; a line that is none makes it a dead child."""
        try:
            data = os.read(run.reading, 65536)
        except BlockingIOError:
            return
        if not data:
            self._child_over(run)
            return
        *lines, run.held = (run.held + data).split(b"\n")
        try:
            if len(run.held) > report.MAX_REPORT_LINE:
                raise ReportError("a line is too long")
            for line in lines:
                self._take(run, parse_report(line))
        except ReportError:
            self._child_over(run)

    def _take(self, run: _Run, line: Report) -> None:
        if line.kind == report.ERRORS:
            self._log.event("stderr", group=run.unit.group.name, text=line.text)
        elif line.kind == report.STARTED and run.open is None and line.number < len(run.cases):
            run.open = run.cases[line.number]
            run.since = time.monotonic()
            run.progressed = True
        elif line.kind == report.OUTCOME and run.open and run.open.number == line.number:
            self._decide(run, line.outcome, line.text, line.span_ms / 1000)
        elif line.kind == report.LIED and run.open and run.open.number == line.number:
            self._tampering(run.unit.group, line.text)
        elif line.kind == report.PLAYED and run.open is None:
            run.played = True
        else:
            raise ReportError("out of place")

    def _is_strict(self, unit: Unit, test: Test) -> bool:
        """Whether a pass counts only from a strict case: once a test, in its last repeat."""
        return self._judging and test.holds and unit.repeat == unit.group.repeats - 1

    def _keep(self, unit: Unit, test: Test) -> float:
        """For how long a test's held calls are kept: longer than any span that was seen of it.

        Calls that wait for nothing but time to pass arrive while the others are still held, and
        so show the race that they hide. Who waits for the others is not disturbed. 0 where no
        span is known yet, and in cases that are not strict.
        """
        span = self._spans.get(test.id)
        if span is None or not self._is_strict(unit, test):
            return 0.0
        return KEEP_FACTOR * span + KEEP_EXTRA

    def _proves(self, run: _Run, span: float) -> bool:
        """Note the span of a case that passed; whether the pass counts.

        One that must be strict does not if it was not, or if its call after a hold came so late
        that it may have waited for a longer time than any before.
        """
        assert run.open is not None
        test, keep = run.open.test, run.open.keep
        before = self._spans.get(test.id, 0.0)
        self._spans[test.id] = max(before, span)
        if not self._is_strict(run.unit, test) or (0 < keep and span <= keep + before + KEEP_EXTRA):
            return True
        run.unit.strict[test.id] = run.unit.strict.get(test.id, 0) + 1
        return False

    def _decide(
        self, run: _Run, outcome: str, cause: str, span: float = 0.0, budget: str | None = None
    ) -> None:
        """Note the outcome of the open test; `budget`: the one that was used up, not its time."""
        assert run.open is not None
        test = run.open.test
        now = time.monotonic()
        proven = outcome != PASSED or self._proves(run, span)
        if not proven and run.unit.strict[test.id] > MAX_STRICT:
            outcome, cause, proven = TIMED_OUT, "it waits for longer each time", True
        if not proven:
            cause = "to be played strictly"
            run.rerun = True
        elif outcome == TIMED_OUT and self._doubt(
            run.unit,
            test,
            budget or test.id,
            self._since(run.unit, budget) or run.since,
            now,
            run.open,
        ):
            run.doubted = True
            self._keep_draw(run)
            cause = "whose time it was shows after a sweep"
        elif outcome == ENDED_EARLY and not run.alone and test.id not in run.unit.drawn:
            run.early = test
            self._keep_draw(run)
        else:
            # Repeats that run side by side end at the same test: that is one failure, not two.
            ends = outcome not in (PASSED, FAILED)
            run.hung = outcome == TIMED_OUT
            run.rerun = run.rerun or (ends and self._ledger.has_failed(test.id))
            if not (test.holds and run.unit.group.name in self._tampered):
                self._ledger.enter(test.id, outcome)
            run.unit.left.remove(test)
        self._log.event(
            "test",
            test=test.id,
            repeat=run.unit.repeat,
            draw=run.open.draw,
            outcome=outcome,
            cause=cause,
            seconds=round(now - run.since, 3),
            span=span,
            keep=round(run.open.keep, 3),
        )
        run.open = None

    def _keep_draw(self, run: _Run) -> None:
        """Let the open test have the same again when it is played again."""
        assert run.open is not None
        case = run.open
        again = Choice(case.inputs, case.draw, case.expected, case.lots)
        run.unit.drawn[case.test.id] = again

    def _since(self, unit: Unit, budget: str | None) -> float | None:
        return {SUITE: self._started, RUN: unit.since}.get(budget or "")

    def _doubt(
        self,
        unit: Unit,
        test: Test | None,
        what: str,
        since: float,
        now: float,
        case: Case | None = None,
    ) -> bool:
        """Whether it shows after a sweep only whose time was used up; the unit rests until then."""
        window = self._ticker.find(since, now)
        if window.finding is Finding.CALM:
            return False
        self._doubts.append(Doubt(unit, test, what, since, now, window, case))
        return True

    def _settle(self) -> None:
        """Judge the used-up times in doubt, when nothing of the lane runs: after a sweep.

        Raises:
            Unjudgeable: `NodeOverloaded` if one was excused before.
        """
        if not self._doubts:
            return
        doubts, self._doubts = self._doubts, []
        budgets = any(doubt.what == RUN for doubt in doubts)
        before = time.monotonic()
        share = self._watch(BUDGET_WATCH_SECONDS if budgets else WATCH_SECONDS)
        for doubt in doubts:
            unit = doubt.unit
            if doubt.what == SUITE:
                if self._in_budget():
                    self._later.append(unit)
                else:
                    self._score(doubt)
                continue
            span = doubt.since, doubt.until
            if doubt.what == RUN:
                judgement = self._judge_budget(RUN, span, doubt.window, share, unit.budget)
            else:
                stretched = unit.stretch if unit.stretch > 1.0 else None
                judgement = judge_time(doubt.window, share, stretched, before - doubt.until)
                if judgement.doubtful:
                    judgement = self._judge_by_control(doubt, share)
                self._log_judgement(doubt.what, span, doubt.window, share, judgement, unit.repeat)
            if judgement.doubtful:
                raise Unjudgeable(NODE_OVERLOADED, "The node was too slow to judge a timeout.")
            if self._excuse(doubt, judgement) if judgement.excused else self._score(doubt):
                self._later.append(doubt.unit)

    def _watch(self, seconds: float) -> float:
        """Measure the share that there is without the lane, at the node's expense."""
        before = time.monotonic()
        share = self._ticker.watch(seconds)
        self._give(time.monotonic() - before)
        return share

    def _judge_by_control(self, doubt: Doubt, share: float) -> Judgement:
        """Judge what is in doubt again by what gold can do, with nothing of the submission alive.

        Args:
            doubt: of a test or a start.
            share: of a processor that there was right after it, without the lane.

        Raises:
            LaneGone: the lane was lost meanwhile.
        """
        unit, case = doubt.unit, doubt.case
        if self._control is None or case is None:
            return Judgement(excused=True, doubtful=True)
        before = time.monotonic()
        plan = self._plan(unit, [case])
        play = self._control.starts if doubt.what == START else self._control.passes
        seconds = doubt.until - doubt.since
        # Whether it was idle is told by the share that there is, which is known afterwards only.
        perhaps = is_idle(unit.used, seconds, 1.0)
        played = play(unit.group, case, plan, 0.0 if perhaps else 1.0 / unit.stretch)
        self._give(time.monotonic() - before)
        explained = self._ticker.explains(doubt.since, doubt.until, played.free)
        idle = is_idle(unit.used, seconds, min(played.share, share))
        judgement = judge_control(played, unit.stretch, explained, unit.again, idle)
        unit.again = unit.again or judgement.excused
        return judgement

    def _judge_budget(
        self,
        what: str,
        span: tuple[float, float],
        window: Window,
        share: float,
        stretched: float | None,
    ) -> Judgement:
        """Judge a run's or the suite's budget: who hangs with time enough has used it up so."""
        judgement = Judgement(excused=False)
        if not self._hangs:
            judgement = judge_time(window, share, stretched)
        if judgement.doubtful and stretched is not None:
            before = time.monotonic()
            share, free = settle(self._ticker)
            self._give(time.monotonic() - before)
            judgement = judge_budget(share, stretched, self._ticker.explains(*span, free))
        self._log_judgement(what, span, window, share, judgement)
        return judgement

    def _log_judgement(
        self,
        what: str,
        span: tuple[float, float],
        window: Window,
        share: float,
        judgement: Judgement,
        repeat: int | None = None,
    ) -> None:
        self._log.event(
            "timeout",
            what=what,
            repeat=repeat,
            seconds=round(span[1] - span[0], 3),
            finding=window.finding.value,
            share=round(share, 3),
            excused=judgement.excused,
            doubtful=judgement.doubtful,
            stretch=round(judgement.stretch, 2),
        )

    def _excuse(self, doubt: Doubt, judgement: Judgement) -> bool:
        """Give more time, once: the node and not the submission was slow."""
        unit = doubt.unit
        left = max(0.0, unit.until - doubt.until)
        unit.until = time.monotonic() + left
        goes_on = self._shrink(unit)
        if doubt.what == RUN:
            seconds = self._limits.run_timeout_seconds
            given = self._give((judgement.stretch - 1.0) * seconds)
            unit.budget = 1.0 + given / seconds
            unit.until += given
        elif doubt.test is None or doubt.test in unit.left:
            # What the node took is spent by nobody: neither what it took nor what it will.
            unit.stretch = judgement.stretch
            unit.until += self._give((doubt.until - doubt.since) * judgement.stretch)
        return goes_on

    def _give(self, seconds: float) -> float:
        """Give back to the suite's budget what the node took; returns how much of it.

        No more than until the latest end: an attempt has a deadline, and one that ends by it has
        no outcomes at all.
        """
        given = max(0.0, min(seconds, self._latest - self._deadline))
        self._deadline += given
        return given

    def _score(self, doubt: Doubt) -> bool:
        """Hold a used-up time against the submission; whether its unit goes on."""
        unit, test = doubt.unit, doubt.test
        again = False
        self._hangs = self._hangs or (doubt.what not in (RUN, SUITE) and unit.stretch > 1.0)
        if test is not None:
            again = self._ledger.has_failed(test.id)
            if not (test.holds and unit.group.name in self._tampered):
                self._ledger.enter(test.id, TIMED_OUT)
            unit.left.remove(test)
        left = max(0.0, unit.until - doubt.until)
        unit.until = time.monotonic() + left
        return (
            self._shrink(unit) and doubt.what != RUN and left > 0 and (again or self._restart(unit))
        )

    def _tampering(self, group: Group, cause: str) -> None:
        # Only these rest on the lane's word. What moved may also be an honest wait for a lock that
        # has an end: it must not cost the others.
        self._tampered.add(group.name)
        self._log.event("tampering", group=group.name, cause=cause)
        for test in group.tests:
            if test.holds:
                self._ledger.overrule(test.id, VIOLATED)

    def _child_over(self, run: _Run) -> None:
        """The child said all that it will: the process has nothing left to do."""
        run.child_over = True
        child.reap(run.pid)
        os.close(run.reading)
        os.close(run.control)
        if run.open is not None:
            self._decide(run, VIOLATED, "its lines ended the child that parsed them")
        self._kill(run)

    def _kill(self, run: _Run) -> None:
        if not run.ended and run.kill_by is None:
            run.kill_by = time.monotonic() + KILL_SECONDS
            self._lane.kill(run.order)

    def _check_deadlines(self, run: _Run, now: float) -> None:
        if run.kill_by is not None and now > run.kill_by:
            raise LaneGone("laned did not end a process", KILL_SECONDS)
        if run.child_over:
            return
        cause, budget = "", None
        if now >= min(self._deadline, run.unit.until):
            budget = SUITE if now >= self._deadline else RUN
            cause = "the run's time was used up"
        elif run.open is not None:
            # The child adds the time for which it keeps calls to its own deadline.
            share = (1.0 + KEPT_SHARE if run.open.keep else 1.0) * run.unit.stretch
            if now > run.since + share * self._limits.test_timeout_seconds + GRACE_SECONDS:
                cause = "its time was used up"
        elif (
            not run.progressed
            and now > run.launched + START_SECONDS * run.unit.stretch + GRACE_SECONDS
        ):
            cause = "it did not start"
        if cause:
            if run.open is not None:
                self._decide(run, TIMED_OUT, cause, budget=budget)
            os.kill(run.pid, 9)
            self._child_over(run)

    def _finish(self, run: _Run) -> None:
        """A process and its child are gone: go on with what is left of the unit, or do not."""
        del self._active[run.order]
        self._ticker.read()
        unit = run.unit
        self._orderly = self._orderly and run.played
        if run.early is not None:
            if run.killed:
                # Perhaps by a process beside it, which had better cost only its own tests, or for
                # the memory that they use together: the next time it has the lane for itself, and
                # so have all others. It does not happen twice.
                self._apart = True
                self._later.append(unit)
                return
            self._end_early(run)
        if run.doubted or not self._shrink(unit):
            return
        now = time.monotonic()
        if now >= self._deadline:
            self._later.append(unit)  # if the node was short, there is more of the budget
            return
        if now >= unit.until:
            self._log.event("budget_used_up", seconds=round(now - unit.since, 3))
            self._doubt(unit, None, RUN, unit.since, now)
            return
        late = not run.progressed and now - run.launched >= START_SECONDS
        if late and self._doubt(unit, None, START, run.launched, now, run.cases[0]):
            return
        if not run.progressed and not run.alone:
            # Perhaps others kept it from starting: the next time it has the lane for itself.
            self._later.append(unit)
            return
        if not (run.rerun or self._restart(unit)):
            return
        # Who broke off may have been disturbed by those beside it, and soon would be again. A hang
        # is no such thing, and too slow to wait for others with all that is left.
        beside = (run.played or run.hung) and not (self._littered or self._apart)
        if self._active and beside:
            self._launch(unit)
        else:
            self._later.append(unit)

    def _end_early(self, run: _Run) -> None:
        """Note that a process ended by itself in the open test."""
        assert run.early is not None
        test, run.early = run.early, None
        run.rerun = run.rerun or self._ledger.has_failed(test.id)
        if not (test.holds and run.unit.group.name in self._tampered):
            self._ledger.enter(test.id, ENDED_EARLY)
        run.unit.left.remove(test)

    def _restart(self, unit: Unit) -> bool:
        """Take one of the restarts of a group; whether there was one."""
        # A recording wants every draw, whatever another one did.
        key = unit.group.name if self._judging else (unit.group.name, unit.repeat, unit.draw)
        used = self._restarts.get(key, 0)
        if used >= self._limits.restarts_per_group:
            self._log.event("restarts_used_up", group=unit.group.name)
            return False
        self._restarts[key] = used + 1
        return True

    # -- the end ----------------------------------------------------------------------------

    def _in_budget(self) -> bool:
        """Whether the suite's budget lets more run; to be asked after a sweep.

        Extended, once, if the node was short; what is left when it is used up did not run.

        Raises:
            Unjudgeable: `NodeOverloaded` if even so there was not enough.
        """
        while not self._over and time.monotonic() >= self._deadline:
            used = self._deadline - self._started
            self._log.event("budget_used_up", seconds=round(used, 3))
            window = self._ticker.find(self._started, self._deadline)
            calm = window.finding is Finding.CALM
            share = 1.0 if calm else self._watch(BUDGET_WATCH_SECONDS)
            span = self._started, self._deadline
            judgement = self._judge_budget(SUITE, span, window, share, self._budget)
            if judgement.doubtful:
                raise Unjudgeable(NODE_OVERLOADED, "The node was too slow to judge a budget.")
            if judgement.excused:
                seconds = self._limits.suite_timeout_seconds
                given = self._give((judgement.stretch - 1.0) * seconds)
                self._budget = 1.0 + given / seconds
            self._over = not judgement.excused
        return not self._over

    def _abandon(self) -> None:
        """Leave no child behind, whatever ended the runs; what was finished stands."""
        for run in self._active.values():
            if not run.child_over:
                self._hear_last(run)
                child.reap(run.pid, grace=0.0)
                os.close(run.reading)
                os.close(run.control)
            if run.early is not None:
                self._end_early(run)
        self._active.clear()

    def _hear_last(self, run: _Run) -> None:
        """Take in outcomes that the child reported before the lane was lost."""
        try:
            data = run.held + os.read(run.reading, 65536)
            for line in data.split(b"\n")[:-1]:
                self._take(run, parse_report(line))
        except (BlockingIOError, ReportError, Unjudgeable):
            pass
