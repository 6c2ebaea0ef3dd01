"""What the runs do with late news from laned."""

import itertools
import os
import select
import time

import pytest

from gradekeeper.referee import child
from gradekeeper.referee.bundle import Group, Limits
from gradekeeper.referee.bundle import Test as Hidden
from gradekeeper.referee.clocks import Ticker
from gradekeeper.referee.judge import Rules
from gradekeeper.referee.lanes import LaneEvent
from gradekeeper.referee.log import DetailLog
from gradekeeper.referee.runs import Choice, Ledger, Runs, Unit, _Run


class KillsOnly:
    """laned where nothing but `kill` may be asked."""

    def __init__(self):
        self.killed = []

    def kill(self, number):
        self.killed.append(number)


@pytest.fixture
def runs():
    limits = Limits(60, 30, 20, 4, 2, 64, 64, 64, 8)
    return Runs(
        lane=KillsOnly(),
        limits=limits,
        ledger=Ledger({"g/a": 1}),
        log=DetailLog(os.open(os.devnull, os.O_WRONLY)),
        ticker=Ticker(),
        make_order=lambda number, group: None,
        choose=lambda test, draw: Choice({}, 0, None),
        next_order=itertools.count(1),
        detail=None,
    )


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
