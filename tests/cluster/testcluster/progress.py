"""Progress lines with the time since the command started."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager


class Progress:
    """Prints one line a step on stderr, so that stdout stays for results."""

    def __init__(self) -> None:
        self._start = time.monotonic()

    @property
    def elapsed(self) -> float:
        """Seconds since the command started."""
        return time.monotonic() - self._start

    def say(self, message: str) -> None:
        """Print ``message`` behind the elapsed seconds."""
        print(f"[{self.elapsed:7.1f}s] {message}", file=sys.stderr, flush=True)

    @contextmanager
    def step(self, what: str) -> Iterator[None]:
        """Say what begins, and how long it took when it ends without an error."""
        self.say(f"{what} …")
        begun = time.monotonic()
        yield
        self.say(f"{what}: done in {time.monotonic() - begun:.1f} s")
