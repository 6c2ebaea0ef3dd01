"""A child's end of one order: the descriptors of the process in the lane, and the referee's word.

A run ends when the referee says that its process ended, plus whatever is still in the pipe: never
at end of file, which a process in the lane can put off for ever by parking the descriptor.
"""

import os
import select
import time
from typing import Final

MAX_STDERR_HEAD: Final = 4_096
MAX_PENDING: Final = 256 * 1024
"""Bytes for the lane that it does not read; the replies of one test are far fewer."""
_CHUNK: Final = 64 * 1024
EXITED: Final = b"x"
"""What the referee writes into the control pipe once laned reported the exit."""


class Ended(Exception):
    """The process is gone, or its output is, and everything that it said was read."""


class Overflow(Exception):
    """The lane said more than allowed, or does not read what it is told."""


class Channel:
    """Reads a lane's output and error output, and writes its input, without ever blocking.

    Attributes:
        error_head: the first bytes of its error output; the rest is read and dropped.
    """

    def __init__(
        self, *, output: int, errors: int, control: int, feed: int | None, max_bytes: int
    ) -> None:
        self._output = output
        self._errors: int | None = errors
        self._control = control
        self._feed = feed
        self._left = max_bytes
        self._pending = b""
        self._exited = False
        self._at_end = False
        self.error_head = b""
        for descriptor in (output, errors, feed):
            if descriptor is not None:
                os.set_blocking(descriptor, False)

    def write(self, data: bytes) -> None:
        """Send bytes, or keep them until the lane reads.

        Raises:
            Overflow: it does not read.
        """
        self._pending += data
        if len(self._pending) > MAX_PENDING:
            raise Overflow("does not read")
        self._flush()

    def read(self, deadline: float | None) -> bytes | None:
        """The next bytes of the output; None at the deadline (seconds, monotonic).

        Raises:
            Ended: there will be none.
            Overflow: more than `max_bytes` in all.
        """
        while True:
            if self._exited or self._at_end:
                data = self._take()
                if data:
                    return data
                raise Ended
            poll = select.poll()
            poll.register(self._output, select.POLLIN)
            poll.register(self._control, select.POLLIN)
            if self._errors is not None:
                poll.register(self._errors, select.POLLIN)
            if self._pending and self._feed is not None:
                poll.register(self._feed, select.POLLOUT)
            wait = None
            if deadline is not None:
                wait = max(0.0, (deadline - time.monotonic()) * 1000)
            ready = {descriptor for descriptor, _ in poll.poll(wait)}
            if self._control in ready:
                if not os.read(self._control, 16):
                    os._exit(3)  # the referee is gone: nobody waits for this run
                self._exited = True
            if self._errors in ready:
                self._drop_errors()
            if self._feed in ready:
                self._flush()
            if self._output in ready:
                data = self._take()
                if data:
                    return data
            # Whatever else is ready: a flood of errors must not move the deadline.
            if deadline is not None and time.monotonic() >= deadline:
                return None

    def finish_errors(self) -> bytes:
        """What is still in the error output, without waiting, and the head of it all."""
        while self._errors is not None and len(self.error_head) < MAX_STDERR_HEAD:
            before = len(self.error_head)
            self._drop_errors()
            if len(self.error_head) == before:
                break
        return self.error_head

    def _take(self) -> bytes:
        try:
            data = os.read(self._output, _CHUNK)
        except BlockingIOError:
            return b""
        if not data:
            self._at_end = True
        self._left -= len(data)
        if self._left < 0:
            raise Overflow("says too much")
        return data

    def _drop_errors(self) -> None:
        assert self._errors is not None
        try:
            data = os.read(self._errors, _CHUNK)
        except BlockingIOError:
            return
        if not data:
            os.close(self._errors)
            self._errors = None
            return
        room = MAX_STDERR_HEAD - len(self.error_head)
        if room > 0:
            self.error_head += data[:room]

    def _flush(self) -> None:
        if self._feed is None or not self._pending:
            return
        try:
            written = os.write(self._feed, self._pending)
        except BlockingIOError:
            return
        except OSError:
            # It closed its input. What it says, if anything, decides.
            self._feed = None
            self._pending = b""
            return
        self._pending = self._pending[written:]
