"""The child of the referee that plays one process: its pipes, the fork, and what it may use."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from gradekeeper.referee import child, report
from gradekeeper.referee.bounds import CHILD_PRIVATE_MIB
from gradekeeper.referee.channel import Channel
from gradekeeper.referee.errors import PlatformError
from gradekeeper.referee.observations import MAX_RUN_BYTES
from gradekeeper.referee.play import Plan, play_in_child
from gradekeeper.referee.report import Report

CHILD_BOUNDS: Final = child.Bounds(CHILD_PRIVATE_MIB, cpu_seconds=120, file_mib=64)


@dataclass(frozen=True, slots=True)
class Player:
    """A child that plays.

    Attributes:
        pid: of the child.
        reading: its reports, without waiting.
        control: tells it that its process has ended (`channel.EXITED`).
    """

    pid: int
    reading: int
    control: int


@contextmanager
def starting(plan: Plan, detail: int | None) -> Iterator[tuple[Player, tuple[int, int, int]]]:
    """Start a child that plays a plan.

    Args:
        plan: what it plays.
        detail: gets a line a test; None: none.

    Yields:
        The child, and standard input, output and error of its process, which are closed afterwards.

    Raises:
        PlatformError: no pipe or no process.
    """
    feed_r, feed_w = child.pipe()
    output_r, output_w = child.pipe()
    errors_r, errors_w = child.pipe()
    reading, report_w = child.pipe()
    control_r, control = child.pipe()
    theirs = (feed_w, output_r, errors_r, report_w, control_r)
    try:
        pid = child.fork()
    except PlatformError:
        for descriptor in (*theirs, feed_r, output_w, errors_w, reading, control):
            os.close(descriptor)
        raise
    if pid == 0:
        _play(plan, (output_r, errors_r, control_r, feed_w), report_w, detail)
    for descriptor in theirs:
        os.close(descriptor)
    os.set_blocking(reading, False)
    try:
        yield Player(pid, reading, control), (feed_r, output_w, errors_w)
    finally:
        for descriptor in (feed_r, output_w, errors_w):
            os.close(descriptor)


def _play(
    plan: Plan, descriptors: tuple[int, int, int, int], report_to: int, detail: int | None
) -> None:
    """In the child; never returns."""
    status = 1
    try:
        output, errors, control, feed = descriptors
        keep = [output, errors, control, feed, report_to]
        child.confine(CHILD_BOUNDS, keep if detail is None else [*keep, detail])
        channel = Channel(
            output=output, errors=errors, control=control, feed=feed, max_bytes=MAX_RUN_BYTES
        )
        play_in_child(plan, channel, report_to, detail)
        status = 0
    except BaseException as error:
        # The referee scores a dead child; here only the kind of the failure is of interest.
        os.write(
            report_to,
            report.encode_report(Report(report.ERRORS, text=f"child: {type(error).__name__}")),
        )
    finally:
        os._exit(status)
