"""One compilation as an order of the lane: the compiler's process, and the child that reads it.

Of a submission, or of gold when the node is tried (`control`): both go the very same way.
"""

import os
import select
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gradekeeper.referee import build_ends, child, java17, report
from gradekeeper.referee.bounds import CHILD_PRIVATE_MIB
from gradekeeper.referee.build import MAX_OUTPUT, build_in_child
from gradekeeper.referee.bundle import Suite
from gradekeeper.referee.channel import EXITED, Channel
from gradekeeper.referee.errors import LaneGone
from gradekeeper.referee.job import View
from gradekeeper.referee.lanes import KILL_SECONDS, Lane, LaneEvent, Order
from gradekeeper.referee.log import DetailLog
from gradekeeper.referee.report import ReportError, parse_report

BUILD_BOUNDS: Final = child.Bounds(CHILD_PRIVATE_MIB, cpu_seconds=60, file_mib=32)
GRACE_SECONDS: Final = 5.0
"""By how much the child may overrun the deadline that it keeps itself."""


@dataclass(frozen=True, slots=True)
class Compiler:
    """Compiles the sources of a folder into class files of another one.

    Attributes:
        suite: says how.
        view: how the lane sees its folders; sources are below its `lane`.
        target: gets the class files; the referee's own path, an empty folder.
        limits: rlimits of the order.
        lane: where the compiler runs.
        next_order: numbers of orders.
        log: gets what the compiler says.
    """

    suite: Suite
    view: View
    target: Path
    limits: dict[str, int]
    lane: Lane
    next_order: Iterator[int]
    log: DetailLog

    def compile(self, until: float) -> tuple[str, int, str]:
        """Compile until a moment at most; the lane is to be swept afterwards.

        Args:
            until: monotonic seconds.

        Returns:
            Kind of the child's last report (`report.BUILT`, `BUILD_ERRORS` or `BUILD_VIOLATION`),
            number of class files or errors, and a cause: a sentence of `build_ends` where one is
            true of a violation.

        Raises:
            LaneGone: the lane was lost.
        """
        number = next(self.next_order)
        scratch = f"{self.view.scratch}/b{number}"
        output_r, output_w = child.pipe()
        errors_r, errors_w = child.pipe()
        reading, report_w = child.pipe()
        control_r, control = child.pipe()
        null = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        pid = child.fork()
        if pid == 0:
            self._read_in_child((output_r, errors_r, control_r), report_w, until)
        for descriptor in (output_r, errors_r, report_w, control_r):
            os.close(descriptor)
        order = Order(
            number,
            java17.compiler(self.suite.build, scratch, self.view),
            java17.ENVIRONMENT,
            scratch,
            f"b{number}",
            self.limits,
        )
        try:
            try:
                self.lane.order(order, (null, output_w, errors_w))
            finally:
                for descriptor in (null, output_w, errors_w):
                    os.close(descriptor)
            return self._wait(number, reading, control, until)
        finally:
            os.close(reading)
            os.close(control)
            child.reap(pid, grace=0.2)

    def _wait(self, number: int, reading: int, control: int, until: float) -> tuple[str, int, str]:
        """Wait for the child's report, then for the end of the order."""
        found = (report.BUILD_VIOLATION, 0, "the child that read its output ended")
        ended = False
        why = build_ends.NO_RESULT
        held = b""
        kill_by: float | None = None
        poll = select.poll()
        poll.register(self.lane, select.POLLIN)
        poll.register(reading, select.POLLIN)
        over = False
        while not (over and ended):
            now = time.monotonic()
            if not over and now >= until + GRACE_SECONDS:
                over = True
                poll.unregister(reading)
            if over and not ended and kill_by is None:
                kill_by = now + KILL_SECONDS
                self.lane.kill(number)
            if kill_by is not None and now > kill_by:
                raise LaneGone("laned did not end the compiler", KILL_SECONDS)
            ready = {descriptor for descriptor, _ in poll.poll(100)}
            if reading in ready and not over:
                data = os.read(reading, 65536)
                over = not data
                *lines, held = (held + data).split(b"\n")
                for line in lines:
                    found = self._take(line, found)
                if over:
                    poll.unregister(reading)
            if self.lane.fileno() in ready:
                for event in self.lane.events():
                    if event.id == number and event.verb in ("exit", "refused"):
                        ended = True
                        why = _why_ended(event)
                        try:
                            os.write(control, EXITED)
                        except OSError:
                            pass  # the child is gone as well
        if found == (report.BUILD_VIOLATION, 0, build_ends.NO_RESULT):
            # The child read all that there was to read: how the compiler ended tells why.
            return report.BUILD_VIOLATION, 0, why
        return found

    def _take(self, line: bytes, found: tuple[str, int, str]) -> tuple[str, int, str]:
        try:
            parsed = parse_report(line)
        except ReportError:
            return report.BUILD_VIOLATION, 0, "the child that read its output failed"
        if parsed.kind == report.ERRORS:
            self.log.event("compiler", text=parsed.text)
            return found
        if parsed.kind in (report.BUILT, report.BUILD_ERRORS, report.BUILD_VIOLATION):
            return parsed.kind, parsed.number, parsed.text
        return report.BUILD_VIOLATION, 0, "the child that read its output failed"

    def _read_in_child(
        self, descriptors: tuple[int, int, int], report_to: int, until: float
    ) -> None:
        """Never returns."""
        status = 1
        try:
            child.confine(BUILD_BOUNDS, [*descriptors, report_to])
            output, errors, control = descriptors
            channel = Channel(
                output=output, errors=errors, control=control, feed=None, max_bytes=MAX_OUTPUT
            )
            reserved = java17.reserved_folders([group.driver for group in self.suite.groups])
            build_in_child(channel, report_to, self.target, reserved, until)
            status = 0
        finally:
            os._exit(status)


def _why_ended(event: LaneEvent) -> str:
    """Why a compiler gave no result, by how its process ended."""
    if "signal" in event.fields:
        return build_ends.KILLED
    if event.fields.get("status") == java17.OUT_OF_MEMORY:
        return build_ends.MEMORY
    return build_ends.NO_RESULT
