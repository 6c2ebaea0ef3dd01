"""What the runs do with a time that is in doubt again: which control they ask for, how often."""

import time

import pytest

from gradekeeper.referee.clocks import Finding
from gradekeeper.referee.errors import Unjudgeable
from gradekeeper.referee.judgement import Played
from gradekeeper.referee.play import Case
from gradekeeper.referee.runs import START, Doubt
from unit.referee.test_runs import LIMITS, Told, make_runs, make_unit


class Gold:
    """A control that is told what gold does, and remembers what it was asked for."""

    def __init__(self, *played):
        self.played = iter(played)
        self.asked = []

    def passes(self, group, case, plan, needed):
        self.asked.append(("passes", case, plan, needed))
        return next(self.played)

    def starts(self, group, case, plan, needed):
        self.asked.append(("starts", case, plan, needed))
        return next(self.played)


class Explained(Told):
    """A ticker that finds others in every window."""

    def explains(self, start, end, free):
        return True


def again(runs, unit, what=None, case=None):
    """Let the first test use up its time; returns the case that it had."""
    test = unit.left[0]
    case = case or Case(0, test, {"amount": "7"}, 3, None, 0.5, b"lots")
    now = time.monotonic()
    window = runs._ticker.find(now - 20, now)
    runs._doubts.append(
        Doubt(unit, None if what else test, what or test.id, now - 20, now, window, case)
    )
    runs._later.clear()
    runs._settle()
    return case


def make(ticker, *played):
    runs = make_runs(ticker)
    runs._control = Gold(*played)
    return runs, make_unit(runs)


def test_gold_has_what_the_submission_had():
    runs, unit = make(Told(Finding.FROZEN, 1.0), Played(True, 1.0))
    again(runs, unit)
    assert runs._control.asked == []
    case = again(runs, unit)
    ((how, asked, plan, needed),) = runs._control.asked
    assert (how, asked) == ("passes", case)
    assert plan.test_seconds == LIMITS.test_timeout_seconds * 1.5
    assert needed == pytest.approx(1 / 1.5)
    assert runs._ledger.outcome("g/a") == "T" and runs._hangs


def test_a_start_is_told_by_a_start():
    runs, unit = make(Told(Finding.FROZEN, 1.0), Played(True, 1.0))
    again(runs, unit, START)
    again(runs, unit, START)
    assert [how for how, *_ in runs._control.asked] == ["starts"]
    assert runs._later == [unit]  # a start that is scored costs one of the restarts
    assert runs._restarts == {"g": 1}


def test_what_others_explain_is_tried_once_more_and_not_twice():
    runs, unit = make(Explained(Finding.FROZEN, 1.0), Played(True, 1.0), Played(True, 1.0))
    again(runs, unit)
    again(runs, unit)
    assert runs._later == [unit] and runs._ledger.outcome("g/a") == "N"
    assert unit.stretch == 1.5  # not longer each time
    again(runs, unit)
    assert runs._ledger.outcome("g/a") == "T"


def test_nothing_is_scored_where_gold_cannot_pass():
    runs, unit = make(Told(Finding.FROZEN, 1.0), Played(False, 1.0, calm=False))
    again(runs, unit)
    with pytest.raises(Unjudgeable):
        again(runs, unit)
    assert runs._ledger.outcome("g/a") == "N"


@pytest.mark.parametrize(("used", "outcome"), [(0.1, "T"), (9.0, None), (None, None)])
def test_whose_process_left_its_processor_time_was_not_short_of_it(used, outcome):
    runs, unit = make(Told(Finding.FROZEN, 0.2), Played(True, 0.2))
    again(runs, unit)
    unit.used = used
    if outcome is None:
        with pytest.raises(Unjudgeable):
            again(runs, unit)
    else:
        again(runs, unit)
        assert runs._control.asked[0][3] == 0.0
        assert runs._ledger.outcome("g/a") == outcome
