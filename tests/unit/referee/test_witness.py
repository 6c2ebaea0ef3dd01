"""What the node's own counters show of others, and what they do not."""

import pytest

from gradekeeper.referee.witness import (
    Counters,
    Outside,
    explains,
    parse_stat,
    read_counters,
    read_outside,
)

STAT = "cpu  100 20 3000 40000 5 6 7 800 0 0\ncpu0 1 1 1 1\nintr 5\n"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (STAT, (1.2, 8.0)),
        ("cpu  100 0 3000 40000\n", (1.0, 0.0)),
        ("cpu  100 0\n", None),
        ("cpu  100 x 3000 40000\n", None),
        ("cpu0 100 0 3000 40000\n", None),
        ("", None),
    ],
    ids=["all columns", "an old kernel", "short", "garbage", "not all processors", "nothing"],
)
def test_the_nodes_counters_are_read(text, found):
    assert parse_stat(text, 0.01) == (pytest.approx(found) if found else None)


def test_this_machines_counters_are_read_and_grow():
    before, _ = read_counters()
    assert before > 0
    while read_counters()[0] <= before:
        pass  # this loop is user time


def moments(user, steal=0.0, own=0.0, every=0.5, count=21):
    """Counters that grow evenly for ten seconds from 100; arguments are processors."""
    return [
        Counters(100 + every * index, *(every * index * rate for rate in (user, steal, own)))
        for index in range(count)
    ]


@pytest.mark.parametrize(
    ("counters", "lane", "steal", "others"),
    [
        (moments(2.0), 1.5, 0.0, 0.5),
        (moments(2.0), 0.0, 0.0, 2.0),
        (moments(1.5), 1.5, 0.0, 0.0),
        (moments(0.3), 1.5, 0.0, 0.0),
        (moments(2.0, own=0.2), 1.5, 0.0, 0.3),
        (moments(0.1, steal=1.2), 1.5, 1.2, 0.0),
        (moments(0.0), 1.5, 0.0, 0.0),
        ([], 1.5, 0.0, 0.0),
        (moments(2.0, count=1), 1.5, 0.0, 0.0),
    ],
    ids=[
        "all busy beside a lane",
        "all busy without a lane",
        "as much as the lane may",
        "idle, or work of the kernel",
        "the referee's own is no other's",
        "the hypervisor",
        "counters that stand still show nothing",
        "none read",
        "one read",
    ],
)
def test_what_others_took_is_told_at_least(counters, lane, steal, others):
    found = read_outside(counters, 101.0, 109.0, lane)
    assert (found.steal, found.others) == pytest.approx((steal, others))


def test_only_the_window_counts():
    counters = moments(0.0) + [Counters(one.at + 10.5, one.user, one.steal) for one in moments(2.0)]
    assert read_outside(counters, 101, 109, 0.0).others == 0.0
    assert read_outside(counters, 111, 119, 0.0).others == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("then", "lane", "node", "now", "expected"),
    [
        (Outside(), 1.5, 2.0, None, False),
        (Outside(others=0.2), 1.5, 2.0, None, False),
        (Outside(others=0.3), 1.5, 2.0, None, True),
        (Outside(steal=0.3), 2.0, 2.0, None, True),
        (Outside(others=10.0), 1.5, 64.0, None, False),
        (Outside(others=40.0), 1.5, 64.0, None, True),
        (Outside(others=0.4), 1.5, 2.0, Outside(others=0.1), True),
        (Outside(others=0.4), 1.5, 2.0, Outside(others=0.4), False),
        (Outside(steal=0.5, others=0.4), 1.5, 2.0, Outside(others=0.4), True),
    ],
    ids=[
        "nothing",
        "little",
        "most of what a lane may not use",
        "steal, where a lane may use all",
        "a busy process on a large node",
        "a busy large node",
        "others rest now",
        "as busy now, when there is enough",
        "as busy now, but for the hypervisor",
    ],
)
def test_others_explain_a_wait_only_where_they_took_more_than_leaves_enough(
    then, lane, node, now, expected
):
    assert explains(then, lane, node, now) is expected
