"""What becomes of a used-up time. Pure: what was measured goes in, a decision comes out.

Nothing that is seen beside a running lane is believed to show that others were in its way: the
kernel works for a lane in ways that no limit of the lane bounds, and what nobody thought of yet
looks like a slow node. So a used-up time in doubt is repeated alone, and if it is in doubt again,
gold plays the same: with nothing of the submission alive, whatever is missing is missing outside.
"""

from dataclasses import dataclass
from typing import Final

from gradekeeper.referee.clocks import ENOUGH_SHARE, Finding, Window

STALE_SECONDS: Final = 5.0
"""What is measured later than so long after a window says too little about it."""
MARGIN: Final = 1.5
"""Who is run again gets so much more time than what it was short of."""
MAX_STRETCH: Final = 6.0
"""At most so many times its time; on a node that would need more it is only tried again."""
STARTED_SECONDS: Final = 0.1
"""Of processor time, which a process takes before its first test."""
IDLE_SHARE: Final = 0.25
"""Of what there was for it. A right answer that is short of processors takes at least 60 % of that:
it waits for anything else for 60 % of its time at most, and has 1.5 times its time at least."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What becomes of a used-up time.

    Attributes:
        excused: it is not held against the submission.
        stretch: if it is run again, how many times its time it gets.
        doubtful: it was run again before, and even so may not have had enough: the control tells.
    """

    excused: bool
    stretch: float = 1.0
    doubtful: bool = False


def judge_time(
    window: Window, share: float, stretched: float | None, late: float = 0.0
) -> Judgement:
    """Judge a used-up time.

    Run again on a node that is short, a submission gets the more time: what it then used up in
    vain was enough, and is scored; so nobody gains by hanging where others are busy.

    Args:
        window: in which it was used up.
        share: what a processor's share was afterwards, with nothing of the lane.
        stretched: by how much the time was stretched already; None if it was not run again yet.
        late: seconds from the window's end to the measuring of `share`.
    """
    finding = window.finding
    # Who is run again is alone, and measured at once.
    known = late <= STALE_SECONDS or stretched is not None
    if finding is Finding.CALM or (finding is Finding.UNCLEAR and share >= ENOUGH_SHARE and known):
        return Judgement(excused=False)
    if stretched is None:
        needed = MARGIN / max(share, 0.01)
        return Judgement(excused=True, stretch=needed if needed <= MAX_STRETCH else MARGIN)
    if finding is not Finding.UNCLEAR:
        # That the node is idle now says nothing of what it left then.
        share = min(share, window.rate)
    if finding is not Finding.FROZEN and stretched * share >= 1.0:
        return Judgement(excused=False)
    return Judgement(excused=True, doubtful=True)


@dataclass(frozen=True, slots=True)
class Played:
    """What the control showed, with nothing of the submission alive.

    Attributes:
        passed: gold did the same in the same time.
        share: of a processor that there was, before and after it; 0 to 1.
        free: monotonic seconds of the last look before it, if that found processors enough.
        calm: nobody was short while it ran, gold itself apart.
        whole: it had all of that time; else the attempt had none left.
    """

    passed: bool
    share: float
    free: float | None = None
    calm: bool = True
    whole: bool = True


def is_idle(used: float | None, seconds: float, share: float) -> bool:
    """Whether a process did not even take the processor time that there was for it.

    Args:
        used: its processor time in seconds, as laned tells; None if that is not known. Whoever
            understates it gains nothing.
        seconds: for which it ran.
        share: of a processor that there was without it.
    """
    return used is not None and used - STARTED_SECONDS < IDLE_SHARE * share * seconds


def judge_control(
    played: Played, stretched: float, explained: bool, again: bool, idle: bool = False
) -> Judgement:
    """Judge a doubtful time by the control.

    Gold that passes shows that the node lets somebody pass; a right answer may need more than gold
    does, so there must have been processors enough besides, or the submission wanted none. Where
    others were busy before and are not any more, it is tried once more under what gold had.

    Args:
        played: the control.
        stretched: how many times its time the submission had.
        explained: whether others explain that there was too little in the submission's window.
        again: whether it was tried once more already.
        idle: whether it left most of the processor time that there was for it.

    Returns:
        Scored; or excused to be tried once more; or doubtful still: nobody can tell.
    """
    enough = played.share * stretched >= 1.0 or (idle and played.passed)
    if not played.whole:
        return Judgement(excused=explained or not enough, doubtful=explained or not enough)
    if not enough or not (played.passed or played.calm):
        return Judgement(excused=True, doubtful=True)
    if explained and not again:
        return Judgement(excused=True, stretch=stretched)
    return Judgement(excused=False)


def judge_budget(share: float, stretched: float, explained: bool) -> Judgement:
    """Judge a doubtful budget of a run or of the suite, for which gold is not played.

    Args:
        share: of a processor that there is, once what the lane left in the kernel has ended.
        stretched: how many times its time it had.
        explained: whether others explain that there was too little.
    """
    # A node that counts as free when it is seen for the first time does so here, too: where looks
    # at it have used up what could be given back, the budget was hardly longer than the suite's.
    unknown = explained or (share < ENOUGH_SHARE and share * stretched < 1.0)
    return Judgement(excused=unknown, doubtful=unknown)


def judge_silence(window: Window, share: float | None, explained: bool) -> bool:
    """Whether a silent laned was the node's doing.

    Args:
        window: of the silence.
        share: of a processor that there is after everything in the lane has ended; None: it has
            not ended.
        explained: whether others explain that laned did not get to run.
    """
    if window.finding not in (Finding.FROZEN, Finding.NODE):
        return False
    return explained or (share is not None and share < ENOUGH_SHARE)
