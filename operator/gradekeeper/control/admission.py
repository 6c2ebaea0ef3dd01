"""How many grading Pods may be in flight, and who is next: oldest first.

A job holds one slot from just before its Pod is created until that attempt is over. Pure data
structure; the engine asks, grants and releases. Holding is keyed by job UID.
"""

from __future__ import annotations

import heapq
from typing import NamedTuple


class Place(NamedTuple):
    """Where a job stands in the line: by creation, then by name to be total."""

    created: float
    name: str
    uid: str


class Slots:
    """Slots for Pods in flight.

    Args:
        limit: the most Pods at a time, at least 1.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._held: set[str] = set()
        self._line: list[Place] = []
        self._waiting: set[str] = set()

    @property
    def in_flight(self) -> int:
        """Slots that are held."""
        return len(self._held)

    @property
    def waiting(self) -> int:
        """Jobs in the line."""
        return len(self._waiting)

    def holds(self, uid: str) -> bool:
        """Whether the job may have a Pod."""
        return uid in self._held

    def hold(self, uid: str) -> None:
        """Count a Pod that already exists, even beyond the limit."""
        self._waiting.discard(uid)
        self._held.add(uid)

    def request(self, place: Place) -> list[str]:
        """Stand in the line; returns the jobs that get a slot now (oldest first)."""
        if place.uid not in self._held and place.uid not in self._waiting:
            self._waiting.add(place.uid)
            heapq.heappush(self._line, place)
        return self._grant()

    def release(self, uid: str) -> list[str]:
        """Give up the slot or the place in the line; returns the jobs that get a slot now."""
        self._held.discard(uid)
        self._waiting.discard(uid)
        return self._grant()

    def _grant(self) -> list[str]:
        granted: list[str] = []
        while self._line and len(self._held) < self.limit:
            place = heapq.heappop(self._line)
            if place.uid in self._waiting:
                self._waiting.discard(place.uid)
                self._held.add(place.uid)
                granted.append(place.uid)
        return granted
