"""What becomes of a used-up time, as tables: what was measured -> what is decided."""

import pytest

from gradekeeper.referee.clocks import Finding, Window
from gradekeeper.referee.judgement import (
    STARTED_SECONDS,
    Judgement,
    Played,
    is_idle,
    judge_budget,
    judge_control,
    judge_silence,
    judge_time,
)

SCORED = Judgement(excused=False)
UNJUDGED = Judgement(excused=True, doubtful=True)


@pytest.mark.parametrize("finding", [Finding.FROZEN, Finding.NODE])
def test_a_finding_beside_the_lane_is_a_reason_to_repeat_and_no_more(finding):
    window = Window(finding, 0.1)
    first = judge_time(window, 1.0, None)
    assert first.excused and not first.doubtful
    assert judge_time(window, 1.0, first.stretch) == UNJUDGED  # the control tells


@pytest.mark.parametrize(
    ("played", "explained", "again", "expected"),
    [
        (Played(True, 1.0), False, False, SCORED),
        (Played(True, 0.5), False, False, SCORED),
        (Played(True, 0.49), False, False, UNJUDGED),
        (Played(True, 0.1), True, False, UNJUDGED),
        (Played(True, 1.0, calm=False), False, False, SCORED),
        (Played(False, 1.0), False, False, SCORED),
        (Played(False, 1.0, calm=False), False, False, UNJUDGED),
        (Played(False, 0.2, calm=False), False, True, UNJUDGED),
        (Played(True, 1.0), True, False, Judgement(excused=True, stretch=2.0)),
        (Played(True, 1.0), True, True, SCORED),
        (Played(False, 1.0, calm=False), True, True, UNJUDGED),
        (Played(False, 1.0, whole=False), False, False, SCORED),
        (Played(False, 1.0, whole=False), True, False, UNJUDGED),
        (Played(False, 0.3, whole=False), False, False, UNJUDGED),
    ],
    ids=[
        "gold passes on a free node",
        "gold passes, and twice the time was enough",
        "gold passes, a right answer might not",
        "gold passes on a node that others burn",
        "gold passes in spite of a freeze",
        "gold fails on a free node: the time is too short for anybody",
        "gold cannot either: frozen, and nothing of the submission is alive",
        "gold cannot either: short",
        "others were busy and are not any more: once more",
        "once more is not twice",
        "tried once more, and gold cannot",
        "no time for gold, nothing outside to be seen",
        "no time for gold, others were busy",
        "no time for gold, and processors are short",
    ],
)
def test_a_doubtful_time_is_judged_by_the_control(played, explained, again, expected):
    assert judge_control(played, 2.0, explained, again) == expected


@pytest.mark.parametrize(
    ("used", "seconds", "share", "idle"),
    [
        (0.15, 18.0, 0.17, True),
        (0.146, 6.26, 0.086, True),
        (0.3, 6.26, 0.086, False),
        (0.9, 18.0, 0.17, False),
        (3.0, 18.0, 0.17, False),
        (1.7, 6.0, 1.0, False),
        (1.4, 6.0, 1.0, True),
        (0.1, 6.0, 0.0, False),
        (None, 18.0, 1.0, False),
    ],
)
def test_who_leaves_processor_time_is_idle(used, seconds, share, idle):
    assert is_idle(used, seconds, share) is idle


@pytest.mark.parametrize("stretched", [1.5, 3.0, 6.0])
def test_a_right_answer_that_was_short_of_processors_is_not_idle(stretched):
    """It waits for 60 % of its time, and does not end for want of a processor in all the rest."""
    share, test = 0.1, 20.0
    used = (stretched - 0.6) * test * share
    assert not is_idle(STARTED_SECONDS + used, stretched * test, share)


@pytest.mark.parametrize(
    ("played", "idle", "expected"),
    [
        (Played(True, 0.1), True, SCORED),
        (Played(True, 0.1), False, UNJUDGED),
        (Played(False, 0.1, calm=False), True, UNJUDGED),
    ],
    ids=["idle, and gold passes", "busy, and gold passes", "idle, and gold cannot either"],
)
def test_who_was_idle_was_not_short_of_processors(played, idle, expected):
    assert judge_control(played, 2.0, False, False, idle) == expected


@pytest.mark.parametrize(
    ("share", "explained", "expected"),
    [
        (1.0, False, SCORED),
        (0.7, False, SCORED),
        (0.6, False, UNJUDGED),
        (1.0, True, UNJUDGED),
    ],
    ids=["free", "enough", "short without the lane", "others were busy"],
)
def test_a_doubtful_budget_is_the_submissions_unless_something_outside_explains_it(
    share, explained, expected
):
    assert judge_budget(share, 1.5, explained) == expected


@pytest.mark.parametrize(("share", "expected"), [(0.65, SCORED), (0.64, UNJUDGED)])
def test_a_budget_that_could_not_be_extended_is_judged_like_one_seen_first(share, expected):
    assert judge_budget(share, 1.0, False) == expected


@pytest.mark.parametrize(
    ("finding", "share", "explained", "nodes"),
    [
        (Finding.CALM, 0.1, True, False),
        (Finding.UNCLEAR, 0.1, True, False),
        (Finding.FROZEN, None, False, False),
        (Finding.FROZEN, 1.0, False, False),
        (Finding.NODE, 0.65, False, False),
        (Finding.NODE, 0.2, False, True),
        (Finding.FROZEN, None, True, True),
        (Finding.FROZEN, 1.0, True, True),
    ],
    ids=[
        "nobody waited",
        "the lane may have been it",
        "frozen, and the lane does not end",
        "frozen, and all is well without the lane",
        "short, and enough without the lane",
        "short without the lane, too",
        "the lane does not end, and others are busy",
        "others were busy",
    ],
)
def test_a_silence_is_the_lanes_unless_something_outside_explains_it(
    finding, share, explained, nodes
):
    assert judge_silence(Window(finding, 0.1), share, explained) is nodes
