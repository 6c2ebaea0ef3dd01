"""For how long the control waits until what a swept lane left in the kernel has ended."""

import pytest

from gradekeeper.referee.clocks import Ticker
from gradekeeper.referee.control import LOOKS, MOST_LOOKS, settle


class Looks(Ticker):
    """A ticker that is told what each look finds, and whether others are busy."""

    def __init__(self, shares, busy):
        super().__init__()
        self.shares, self.busy = iter(shares), busy
        self.looked = 0

    def watch(self, seconds=2.0):
        self.looked += 1
        return next(self.shares, 0.1)

    def others_are_busy(self, now):
        return self.busy


@pytest.mark.parametrize(
    ("shares", "busy", "looked", "free"),
    [
        ([0.9], False, 1, True),
        ([0.1, 0.2, 0.7], True, 3, True),
        ([], True, LOOKS, False),
        ([], False, MOST_LOOKS, False),
        ([0.1] * LOOKS + [0.9], False, LOOKS + 1, True),
        ([0.1] * LOOKS + [0.9], True, LOOKS, False),
    ],
    ids=[
        "free at once",
        "free in the end",
        "others burn the node",
        "the kernel works for nobody that can be seen",
        "the kernel ends late",
        "others are not waited for",
    ],
)
def test_a_look_follows_another_until_processors_are_free(shares, busy, looked, free):
    ticker = Looks(shares, busy)
    share, when = settle(ticker)
    assert ticker.looked == looked
    assert (when is not None) is free
    assert (share >= 0.65) is free
