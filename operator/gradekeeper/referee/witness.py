"""What the node's own counters say about others than the lane.

`/proc/stat` counts for the whole node and is visible in every container. Two things in it cannot
come from a lane: *steal*, which the hypervisor took, and *user* time beyond what the lane's limit
and the referee's own use account for. System time has no owner in it: the kernel may have worked
for the lane, in threads that no limit of the lane bounds. Nor does a counter that stands still show
anything: a processor with interrupts off counts nothing, and a lane can bring that about.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

STAT: Final = Path("/proc/stat")
EXPLAINED_PROCESSORS: Final = 0.25
"""Less than so much of what others took explains nothing."""
EXPLAINED_SHARE: Final = 0.5
"""Share that others must have of all that the lane may not use, to have been in everybody's way."""


@dataclass(frozen=True, slots=True)
class Counters:
    """The node's counters at one moment. Seconds of processor time since its start.

    Attributes:
        at: monotonic seconds.
        user: of all processes of the node, `nice` included.
        steal: taken by the hypervisor.
        own: used by the referee's own cgroup.
    """

    at: float
    user: float
    steal: float
    own: float = 0.0


@dataclass(frozen=True, slots=True)
class Outside:
    """What others than the lane took at least, on average of a window. Processors.

    Attributes:
        steal: the hypervisor, from the whole node.
        others: user time of other Pods and of the node itself.
    """

    steal: float = 0.0
    others: float = 0.0

    @property
    def taken(self) -> float:
        """Both together."""
        return self.steal + self.others


def parse_stat(text: str, tick: float) -> tuple[float, float] | None:
    """Read (user, steal) in seconds from the content of `/proc/stat`.

    Args:
        text: the content, or its beginning.
        tick: seconds of one unit.

    Returns:
        None where there is no such line; a kernel without a column has 0 in it.
    """
    words = text.partition("\n")[0].split()
    numbers = words[1:]
    if len(numbers) < 4 or words[0] != "cpu" or not all(word.isdigit() for word in numbers):
        return None
    steal = int(numbers[7]) if len(numbers) > 7 else 0
    return (int(numbers[0]) + int(numbers[1])) * tick, steal * tick


def read_counters() -> tuple[float, float]:
    """Read (user, steal) of the node now; zeros, which explain nothing, where that cannot be."""
    try:
        text = STAT.read_text("ascii")
    except (OSError, UnicodeDecodeError):
        return 0.0, 0.0
    return parse_stat(text, 1.0 / os.sysconf("SC_CLK_TCK")) or (0.0, 0.0)


def read_outside(counters: Sequence[Counters], start: float, end: float, lane: float) -> Outside:
    """Tell what others took between two moments. Pure.

    Args:
        counters: in the order in which they were read.
        start: monotonic seconds.
        end: monotonic seconds.
        lane: processors that the lane can have used; 0 while nothing of it runs.

    Returns:
        Nothing where fewer than two were read.
    """
    if not counters:
        return Outside()
    first, last = counters[0], counters[-1]
    for one in counters:
        if one.at <= start:
            first = one
        if one.at >= end:
            last = one
            break
    seconds = last.at - first.at
    if seconds <= 0:
        return Outside()
    user = (last.user - first.user) - (last.own - first.own)
    return Outside(
        steal=max(0.0, (last.steal - first.steal) / seconds),
        others=max(0.0, user / seconds - lane),
    )


def explains(then: Outside, lane: float, node: float, now: Outside | None = None) -> bool:
    """Whether others explain that everybody had to wait in a window. Pure.

    Args:
        then: what they took in the window, at least.
        lane: processors that the lane can have used.
        node: processors that there are.
        now: what they take while there is enough for everybody; None if that was not seen. As much
            as that explains nothing.
    """
    more = then.taken - (now.taken if now is not None else 0.0)
    return more >= max(EXPLAINED_PROCESSORS, EXPLAINED_SHARE * max(0.0, node - lane))
