"""The keyed, coalescing work queue of the operator.

A key is processed by one worker at a time; whatever happens to it meanwhile coalesces into one
more run. Two urgencies: progress of what already runs goes before admission of what is new, so a
burst of submissions cannot delay verdicts. Deadlines are entries of one heap, not timers.

Imports nothing of ours and does no I/O. Not thread-safe: belongs to one event loop.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections import OrderedDict
from collections.abc import Callable, Hashable
from enum import IntEnum
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class Urgency(IntEnum):
    """Which keys are taken first; smaller first."""

    PROGRESS = 0
    """Something that already runs changed."""
    ADMISSION = 1
    """Something new wants to start."""


class KeyedQueue(Generic[K]):
    """A set of keys to process, with delayed additions.

    Args:
        clock: monotonic seconds; injectable for tests.
    """

    def __init__(self, clock: Callable[[], float] | None = None) -> None:
        self._clock = clock or asyncio.get_running_loop().time
        self._ready: tuple[OrderedDict[K, float], ...] = (OrderedDict(), OrderedDict())
        self._running: dict[K, float] = {}
        self._dirty: dict[K, Urgency] = {}
        self._heap: list[tuple[float, int, K]] = []
        self._due: dict[K, float] = {}
        self._ids = itertools.count()
        self._wake = asyncio.Event()
        self._closed = False

    def __len__(self) -> int:
        """Keys that are ready now, delayed ones apart."""
        return sum(len(level) for level in self._ready)

    @property
    def delayed(self) -> int:
        """Keys that wait for their time."""
        return len(self._due)

    @property
    def idle(self) -> bool:
        """Whether nothing is ready and nothing runs (delayed keys apart)."""
        return not self._running and not self._dirty and len(self) == 0

    def oldest_age(self) -> float:
        """Seconds that the oldest ready key has waited, or the longest run lasts; 0 if none."""
        now = self._clock()
        starts = [next(iter(level.values())) for level in self._ready if level]
        starts.extend(self._running.values())
        return max((now - start for start in starts), default=0.0)

    def add(self, key: K, urgency: Urgency = Urgency.PROGRESS) -> None:
        """Ask for one run of `key` from now on; a waiting request is only made more urgent."""
        if key in self._running:
            known = self._dirty.get(key, urgency)
            self._dirty[key] = min(known, urgency)
            return
        for level in Urgency:
            if key in self._ready[level]:
                if urgency < level:
                    since = self._ready[level].pop(key)
                    self._ready[urgency][key] = since
                return
        self._ready[urgency][key] = self._clock()
        self._wake.set()

    def add_after(self, key: K, seconds: float) -> None:
        """Ask for one run of `key` after `seconds`; only the earliest such request is kept."""
        if seconds <= 0:
            self.add(key)
            return
        due = self._clock() + seconds
        known = self._due.get(key)
        if known is not None and known <= due:
            return
        self._due[key] = due
        heapq.heappush(self._heap, (due, next(self._ids), key))
        self._wake.set()

    def forget(self, key: K) -> None:
        """Drop every request for `key` (a run that already started goes on)."""
        for level in self._ready:
            level.pop(key, None)
        self._dirty.pop(key, None)
        self._due.pop(key, None)

    def close(self) -> None:
        """Make every `get` return None from now on."""
        self._closed = True
        self._wake.set()

    async def get(self) -> K | None:
        """Take the next key; `done` must follow. None once the queue is closed."""
        while not self._closed:
            self._promote()
            for level in self._ready:
                if level:
                    key, _ = level.popitem(last=False)
                    self._running[key] = self._clock()
                    return key
            self._wake.clear()
            delay = self._heap[0][0] - self._clock() if self._heap else None
            try:
                async with asyncio.timeout(delay):
                    await self._wake.wait()
            except TimeoutError:
                continue
        self._wake.set()
        return None

    def done(self, key: K) -> None:
        """End the run of `key`; it becomes ready again if it was asked for meanwhile."""
        self._running.pop(key, None)
        urgency = self._dirty.pop(key, None)
        if urgency is not None:
            self.add(key, urgency)

    def _promote(self) -> None:
        now = self._clock()
        while self._heap and self._heap[0][0] <= now:
            due, _, key = heapq.heappop(self._heap)
            if self._due.get(key) == due:
                del self._due[key]
                self.add(key)
