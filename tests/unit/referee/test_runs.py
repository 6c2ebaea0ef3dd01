"""What the runs do with late news from laned, and with times that were used up on a short node."""

import contextlib
import dataclasses
import itertools
import os
import select
import signal
import time

import pytest

from gradekeeper.referee import child
from gradekeeper.referee.bundle import Group, Limits
from gradekeeper.referee.bundle import Test as Hidden
from gradekeeper.referee.clocks import Finding, Sizes, Ticker, Window
from gradekeeper.referee.errors import PlatformError, Unjudgeable
from gradekeeper.referee.judge import Rules
from gradekeeper.referee.lanes import LaneEvent
from gradekeeper.referee.log import DetailLog
from gradekeeper.referee.play import Case
from gradekeeper.referee.result import ENDED_EARLY, TIMED_OUT
from gradekeeper.referee.runs import RUN, SUITE, Choice, Ledger, Runs, Unit, _Run


class Silent:
    """laned where processes never say anything, until `kill`."""

    def __init__(self):
        self.killed = []

    def kill(self, number):
        self.killed.append(number)

    def order(self, order, descriptors):
        pass


class Told(Ticker):
    """A ticker that was told what it saw."""

    def __init__(self, finding=Finding.UNCLEAR, share=0.3):
        super().__init__()
        self.finding, self.share = finding, share
        self.watched = []

    def find(self, start, end, patience=2.0):
        return Window(self.finding)

    def watch(self, seconds=2.0):
        self.watched.append(seconds)
        return self.share


NAMES = "abcdefgh"
LIMITS = Limits(900, 600, 20, 8, 2, 64, 64, 64, 8)


def make_runs(ticker, parallel=2):
    return Runs(
        lane=Silent(),
        limits=dataclasses.replace(LIMITS, parallel=parallel),
        ledger=Ledger({f"g/{name}": 1 for name in NAMES}),
        log=DetailLog(os.open(os.devnull, os.O_WRONLY)),
        ticker=ticker,
        make_order=lambda number, group: None,
        choose=lambda test, draw: Choice({}, 0, None),
        next_order=itertools.count(1),
        detail=None,
    )


def make_unit(runs, latest=700.0):
    """A unit of eight tests, which has begun like its suite."""
    tests = [Hidden(f"g/{name}", "m01", {}, Rules(multiset=False)) for name in NAMES]
    now = time.monotonic()
    runs._deadline, runs._latest = now + LIMITS.suite_timeout_seconds, now + 900 + latest
    return Unit(Group("g", "drivers.D", 1, tests), 0, tests[:], None, now, now + 600)


def hang(runs, unit, test, ago=0.0):
    """Let a test use up the time that it has by now; returns that time."""
    seconds = LIMITS.test_timeout_seconds * unit.stretch
    until = time.monotonic() - ago
    assert runs._doubt(unit, test, test.id, until - seconds, until)
    runs._settle()
    return seconds


@contextlib.contextmanager
def playing(runs, unit):
    """A process in the first test of a unit, and a child that says nothing."""
    case = Case(0, unit.left[0], {}, 0, None, 0.0)
    reading, reporting = child.pipe()
    told, control = child.pipe()
    pid = child.fork()
    if pid == 0:
        signal.pause()
    run = _Run(unit, 1, pid, reading, control, [case], time.monotonic(), False, open=case)
    run.since = run.launched
    try:
        yield run
    finally:
        if not run.child_over:
            runs._child_over(run)
        os.close(reporting)
        os.close(told)


def use_up_run(runs, unit):
    """Let a unit use up its own budget."""
    now = unit.until = time.monotonic()
    assert runs._doubt(unit, None, RUN, unit.since, now)
    runs._settle()


@pytest.fixture
def runs():
    return make_runs(Ticker())


def test_the_end_of_a_run_is_told_to_no_other_run(runs):
    """laned reports an end after the run's pipes were closed and their numbers given out again."""
    test = Hidden("g/a", "m01", {}, Rules(multiset=False))
    reading, reporting = child.pipe()
    told, control = child.pipe()
    pid = child.fork()
    if pid == 0:
        os._exit(0)
    os.close(reporting)
    unit = Unit(Group("g", "drivers.D", 1, [test]), 0, [test])
    run = _Run(unit, 1, pid, reading, control, [], time.monotonic(), False)
    runs._active[1] = run
    runs._child_over(run)
    assert runs._lane.killed == [1]

    next_told, next_control = child.pipe()
    try:
        # The lowest free numbers are given out first: those that were just closed.
        os.dup2(next_control, control)
        runs._notice(LaneEvent("exit", {"id": "1", "status": "0"}))
        assert run.ended
        assert select.select([next_told], [], [], 0)[0] == []
    finally:
        for descriptor in {told, next_told, next_control, control}:
            os.close(descriptor)


def test_who_hangs_is_excused_once_and_then_has_time_enough():
    runs = make_runs(Told(share=0.3))
    unit = make_unit(runs)
    deadline, until = runs._deadline, unit.until
    first, *others = unit.left[:5]
    spent = [hang(runs, unit, first), hang(runs, unit, first)]
    spent += [hang(runs, unit, test) for test in others]
    assert spent == pytest.approx([20, 100, 100, 100, 100, 100])
    assert runs._deadline - deadline == pytest.approx(100, abs=1)
    assert unit.until - until == pytest.approx(100, abs=1)
    assert [runs._ledger.outcome(f"g/{name}") for name in NAMES] == [*"TTTTTNNN"]


def test_nothing_is_given_back_for_a_test_that_failed_meanwhile():
    runs = make_runs(Told(share=0.3))
    unit = make_unit(runs)
    deadline, until = runs._deadline, unit.until
    first = unit.left[0]
    runs._ledger.enter(first.id, "F")
    hang(runs, unit, first)
    assert first not in unit.left and unit.stretch == 1.0 and runs._later == [unit]
    assert runs._deadline == pytest.approx(deadline, abs=1)
    assert unit.until == pytest.approx(until, abs=1)


def test_no_more_is_given_back_than_an_attempt_may_last():
    runs = make_runs(Told(share=0.3))
    unit = make_unit(runs, latest=30.0)
    until = unit.until
    hang(runs, unit, unit.left[0])
    assert runs._deadline == runs._latest
    assert unit.until - until == pytest.approx(30, abs=1)


def test_a_budget_is_scored_of_who_hangs_where_time_was_enough():
    runs = make_runs(Told(share=0.3))
    unit = make_unit(runs)
    first = unit.left[0]
    hang(runs, unit, first)
    hang(runs, unit, first)
    runs._later.clear()
    use_up_run(runs, unit)
    assert runs._later == [] and runs._ledger.outcome("g/b") == "N"
    runs._deadline = time.monotonic()
    assert not runs._in_budget()


def test_a_run_budget_is_extended_once_on_a_short_node():
    runs = make_runs(Told(share=0.6))
    unit = make_unit(runs, latest=2000.0)
    deadline = runs._deadline
    use_up_run(runs, unit)
    assert runs._later == [unit]
    assert unit.until - time.monotonic() == pytest.approx(1.5 * 600, abs=1)
    assert runs._deadline - deadline == pytest.approx(1.5 * 600, abs=1)
    runs._later.clear()
    use_up_run(runs, unit)
    assert runs._later == [] and runs._ledger.outcome("g/b") == "N"


def test_a_run_budget_that_cannot_be_enough_is_not_judged():
    runs = make_runs(Told(share=0.3))
    unit = make_unit(runs, latest=0.0)
    use_up_run(runs, unit)
    with pytest.raises(Unjudgeable):
        use_up_run(runs, unit)


def test_the_suites_budget_is_extended_once_on_a_short_node():
    runs = make_runs(Told(share=0.6))
    make_unit(runs, latest=675.0)
    runs._deadline -= 900.0
    before = runs._deadline
    runs._latest -= 900.0
    assert runs._in_budget()
    assert runs._deadline == runs._latest == pytest.approx(before + 675)
    runs._deadline = time.monotonic()
    assert not runs._in_budget()  # 1.75 times its time, and 0.6 of a processor


def test_the_suites_budget_that_cannot_be_enough_is_not_judged():
    runs = make_runs(Told(share=0.3))
    runs._deadline = time.monotonic()
    runs._latest = runs._deadline + 1000.0
    assert runs._in_budget()
    runs._deadline = time.monotonic()
    with pytest.raises(Unjudgeable):
        runs._in_budget()


@pytest.mark.parametrize("told", [Told(Finding.CALM), Told(share=0.9)], ids=["calm", "free"])
def test_a_budget_is_scored_where_nobody_is_short(told):
    runs = make_runs(told)
    runs._deadline = time.monotonic()
    runs._latest = runs._deadline + 1000.0
    assert not runs._in_budget() and not runs._in_budget()


@pytest.mark.parametrize("what", [RUN, SUITE])
def test_a_test_that_a_budget_cuts_short_is_judged_by_the_budget(what):
    runs = make_runs(Told(share=0.6))
    unit = make_unit(runs, latest=2000.0)
    first = unit.left[0]
    for outcome in "NT":
        if what == RUN:
            unit.until = time.monotonic()
        else:
            runs._deadline = time.monotonic()
        with playing(runs, unit) as run:
            runs._check_deadlines(run, time.monotonic())
            assert run.doubted
        runs._later.clear()
        runs._settle()
        assert runs._ledger.outcome(first.id) == outcome
        assert unit.stretch == 1.0 and not runs._hangs
        assert runs._later == ([unit] if outcome == "N" else [])


def test_a_hang_that_is_measured_late_is_run_again_once():
    """Another unit ran on meanwhile: the node may have been short, and is not any more."""
    runs = make_runs(Told(share=0.9))
    unit = make_unit(runs)
    first, second = unit.left[:2]
    hang(runs, unit, first, ago=60.0)
    assert runs._later == [unit] and first in unit.left
    hang(runs, unit, first)
    assert runs._ledger.outcome(first.id) == "T"
    hang(runs, unit, second, ago=60.0)
    assert runs._ledger.outcome(second.id) == "T"


def test_an_excused_test_is_not_drawn_anew():
    runs = make_runs(Told(share=0.3))
    unit = make_unit(runs)
    unit.left = unit.left[:2]
    with playing(runs, unit) as run:
        run.open = dataclasses.replace(run.open, inputs={"amount": "7"}, draw=5, lots=b"lots")
        runs._decide(run, TIMED_OUT, "its time was used up")
    runs._settle()
    runs._launch(unit)
    (again,) = runs._active.values()
    runs._abandon()
    assert [(case.inputs, case.draw) for case in again.cases] == [({"amount": "7"}, 5), ({}, 0)]
    first, second = (case.lots for case in again.cases)
    assert first == b"lots" and len(second) == 16


def test_who_gets_no_process_while_the_lane_holds_them_all_starts_after_a_sweep(monkeypatch):
    """A lane may hold every process that the Pod may have; after a sweep it holds none."""
    runs = make_runs(Told())
    unit = make_unit(runs)
    before = len(os.listdir("/proc/self/fd"))

    def refused():
        raise BlockingIOError(11, "Resource temporarily unavailable")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fork", refused)
        runs._launch(unit)
        assert (runs._later, runs._active, runs._orderly) == ([unit], {}, False)
        with pytest.raises(PlatformError):
            runs._launch(unit, alone=True)
    assert len(os.listdir("/proc/self/fd")) == before
    unit.until = 0.0
    runs._begin(runs._later.pop(), alone=True)
    assert unit.launched and unit.until > time.monotonic()
    runs._abandon()


HOLDING = Hidden("h/x", "m01", {"pay": ["hold"]}, Rules(multiset=True))


def make_queue():
    """Three repeats of a group that holds calls, and a group that does not."""
    held = Group("h", "drivers.H", 3, [HOLDING])
    free = Group("f", "drivers.F", 1, [Hidden("f/y", "m01", {}, Rules(multiset=False))])
    units = [Unit(held, repeat, [HOLDING]) for repeat in range(3)]
    return [*units, Unit(free, 0, list(free.tests))]


def taken(runs, queue):
    return [(unit.group.name, unit.repeat) for unit in runs._take_units(queue)]


def begun(runs, units, played=True):
    """Processes of units that take nothing but room, until they are finished."""
    for unit in units:
        number = next(runs._next_order)
        run = _Run(unit, number, 0, -1, -1, [], time.monotonic(), False, played=played)
        runs._active[number] = run
    return list(runs._active.values())


@pytest.fixture
def rolling():
    runs = make_runs(Told())
    runs._deadline = time.monotonic() + 900
    return runs


def test_the_next_unit_begins_when_one_ends_but_a_strict_one_knows_the_spans_of_all(rolling):
    queue = make_queue()
    first, second, strict, free = queue
    assert taken(rolling, queue) == [("h", 0), ("h", 1)]
    one, two = begun(rolling, [first, second])
    assert taken(rolling, queue) == [] and queue == [strict, free]
    first.left = []
    rolling._finish(one)
    assert taken(rolling, queue) == [("f", 0)] and queue == [strict]
    begun(rolling, [free])
    second.left = []
    rolling._finish(two)
    assert taken(rolling, queue) == [("h", 2)] and queue == []


def test_others_begin_for_every_processor_and_strict_ones_beside_them():
    ticker = Told()
    runs = make_runs(ticker, parallel=4)
    runs._deadline = time.monotonic() + 900
    queue = make_queue()
    queue += [Unit(queue[3].group, repeat, queue[3].left[:]) for repeat in range(1, 4)]
    assert taken(runs, queue) == [("h", 0), ("h", 1)]
    runs._spans["h/x"], runs._busy["h"] = 0.01, 0.4
    assert taken(runs, queue) == [("h", 2), ("f", 0), ("f", 1)]
    ticker.know(Sizes(lane=2.5, node=8.0))
    assert taken(runs, queue) == [("f", 2), ("f", 3)] and queue == []


def test_strict_ones_that_work_for_long_take_the_place_of_others():
    """With five at a time on two processors, who needs 60 % of a test's time would not get it."""
    runs = make_runs(Told(), parallel=5)
    runs._deadline = time.monotonic() + 900
    (run,) = begun(runs, make_queue()[:1])
    run.child_over = True
    runs._notice(LaneEvent("exit", {"id": "1", "status": "0", "cpu_us": "12000000", "left": "0"}))
    runs._notice(LaneEvent("exit", {"id": "1", "status": "0", "cpu_us": "300000", "left": "0"}))
    runs._active.clear()
    runs._spans["h/x"] = 0.01
    queue = make_queue()[2:]
    queue += [Unit(queue[1].group, repeat, queue[1].left[:]) for repeat in range(1, 4)]
    assert taken(runs, queue) == [("h", 2), ("f", 0)]
    runs._busy["h"] = 0.3
    queue = make_queue()[2:]
    assert taken(runs, [*queue, *make_queue()[3:]]) == [("h", 2), ("f", 0), ("f", 0)]


def test_a_strict_process_leaves_its_processor_to_others(rolling):
    rolling._busy["h"] = 0.4
    queue = make_queue()
    strict, free = queue[2:]
    (run,) = begun(rolling, [strict])
    run.cases = [Case(0, HOLDING, {}, 0, None, keep=0.1)]
    more = [Unit(free.group, repeat, free.left[:]) for repeat in range(5)]
    assert taken(rolling, more) == [("f", 0)]  # of two at a time
    rolling._limits = dataclasses.replace(LIMITS, parallel=8)
    assert taken(rolling, more) == [("f", 1), ("f", 2)]
    run.cases = []
    assert taken(rolling, more) == [("f", 3)]


def test_who_waits_for_another_process_of_his_group_is_not_strict_before(rolling):
    queue = make_queue()
    taken(rolling, queue)
    rolling._later = [Unit(queue[0].group, 1, [HOLDING])]
    assert taken(rolling, queue) == [("f", 0)]


def test_nothing_begins_beside_what_ended_out_of_turn(rolling):
    queue = make_queue()
    first = queue[0]
    taken(rolling, queue)
    (run,) = begun(rolling, [first], played=False)
    first.left = []
    rolling._finish(run)
    assert taken(rolling, queue) == []


def test_nothing_begins_beside_what_a_run_left_behind(rolling):
    queue = make_queue()
    (run, _) = begun(rolling, rolling._take_units(queue))
    run.child_over = True
    rolling._notice(LaneEvent("exit", {"id": str(run.order), "status": "0", "left": "0"}))
    assert rolling._orderly
    rolling._notice(LaneEvent("exit", {"id": str(run.order), "status": "0", "left": "1"}))
    rolling._active.clear()
    assert taken(rolling, queue) == []


@pytest.mark.parametrize(
    ("left", "how", "beside"),
    [
        ("0", {"played": True, "rerun": True}, True),
        ("0", {"hung": True}, True),
        ("0", {}, False),
        ("1", {"hung": True}, False),
    ],
    ids=["to be strict", "hung", "broken off", "left something"],
)
def test_what_broke_off_or_left_something_goes_on_alone(left, how, beside):
    runs = make_runs(Told())
    unit, other = make_unit(runs), make_unit(runs)
    begun(runs, [other])
    (_, run) = begun(runs, [unit], played=False)
    for name, value in {"child_over": True, "progressed": True, **how}.items():
        setattr(run, name, value)
    runs._notice(LaneEvent("exit", {"id": str(run.order), "status": "1", "left": left}))
    launched = []
    runs._launch = lambda unit, alone=False: launched.append(unit)
    runs._finish(run)
    assert (launched, runs._later) == (([unit], []) if beside else ([], [unit]))


def ended_early(runs, unit, alone=False, **fields):
    """Let a process of a unit end in its first test, as laned tells."""
    with playing(runs, unit) as run:
        run.open = dataclasses.replace(run.open, inputs={"amount": "7"}, draw=5, lots=b"lots")
        run.alone = alone
        runs._active[1] = run
        run.progressed = True
        runs._decide(run, ENDED_EARLY, "it ended")
        os.kill(run.pid, signal.SIGKILL)
        runs._child_over(run)
        runs._notice(LaneEvent("exit", {"id": "1", "left": "0", **fields}))
        runs._finish(run)


@pytest.mark.parametrize("fields", [{"signal": "9"}, {"signal": "15"}, {"status": "143"}], ids=str)
def test_who_was_killed_beside_others_is_run_again_alone_with_the_same_draw(fields):
    runs = make_runs(Told())
    unit = make_unit(runs)
    first = unit.left[0]
    ended_early(runs, unit, **fields)
    assert runs._later == [unit] and first in unit.left and not runs._restarts
    assert unit.drawn[first.id] == Choice({"amount": "7"}, 5, None, b"lots")
    runs._orderly = True
    assert len(runs._take_units([make_unit(runs), make_unit(runs)])) == 1  # and whatever follows
    runs._later.clear()
    ended_early(runs, unit, alone=True, signal="9")
    assert runs._ledger.outcome(first.id) == ENDED_EARLY and first not in unit.left


def test_who_is_killed_beside_others_again_is_not_excused():
    runs = make_runs(Told())
    unit = make_unit(runs)
    ended_early(runs, unit, signal="9")
    ended_early(runs, unit, signal="9")
    assert runs._ledger.outcome("g/a") == ENDED_EARLY


def test_a_death_whose_cause_is_never_told_is_one():
    runs = make_runs(Told())
    unit = make_unit(runs)
    with playing(runs, unit) as run:
        runs._active[1] = run
        runs._decide(run, ENDED_EARLY, "it ended")
        runs._child_over(run)
    runs._abandon()
    assert runs._ledger.outcome("g/a") == ENDED_EARLY


@pytest.mark.parametrize("fields", [{"status": "0"}, {"signal": "11"}], ids=["exit", "crash"])
def test_who_ends_by_himself_is_scored_at_once(fields):
    runs = make_runs(Told())
    unit = make_unit(runs)
    ended_early(runs, unit, **fields)
    assert runs._ledger.outcome("g/a") == ENDED_EARLY
    assert runs._restarts == {"g": 1}


def test_nothing_begins_when_the_budget_is_used_up(rolling):
    rolling._deadline = time.monotonic()
    assert taken(rolling, make_queue()) == []


def test_a_budget_is_watched_for_longer_than_a_test():
    ticker = Told(share=0.3)
    runs = make_runs(ticker)
    unit = make_unit(runs)
    hang(runs, unit, unit.left[0])
    use_up_run(runs, unit)
    runs._deadline = time.monotonic()
    runs._in_budget()
    assert ticker.watched == [2.0, 8.0, 8.0]
