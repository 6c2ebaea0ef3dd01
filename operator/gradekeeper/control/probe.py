"""The port that grading Pods must fail to reach, and the record of when it was open.

A referee proves isolation by a connection that fails. A failure proves nothing if nobody listened,
so the operator vouches for a probe only if its listener was up from before it until after it, at
the very address that the Pod was given. The record of serving can outlive the container in a file;
what was not recorded is not vouched for.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from gradekeeper.control.logs import Log, log

KEEP_SECONDS = 86_400.0
BEAT_SECONDS = 1.0
STALL_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Served:
    """A time during which the listener was up without a break.

    Attributes:
        address: the address at which Pods were told to try it.
        port: the port.
        since: unix seconds.
        until: unix seconds, of the last moment that is certain.
    """

    address: str
    port: int
    since: float
    until: float


class ServingRecord:
    """When the listener served, this process's and earlier ones'.

    Args:
        address: address of this process.
        port: port of this process.
        earlier: what earlier processes recorded.
        clock: unix seconds.
        margin: seconds that the listener must have been up before and after a probe.
    """

    def __init__(
        self,
        address: str,
        port: int,
        *,
        earlier: Iterable[Served] = (),
        clock: Callable[[], float] = time.time,
        margin: float = 2.0,
    ) -> None:
        self.address = address
        self.port = port
        self._clock = clock
        self._margin = margin
        self._earlier = [one for one in earlier if one.until > clock() - KEEP_SECONDS]
        self._since: float | None = None
        self._until = 0.0

    def opened(self) -> None:
        """Note that the listener accepts connections from now on."""
        self._since = self._until = self._clock()

    def beat(self) -> None:
        """Note that the listener is still up; called at least once a second while it is."""
        if self._since is None:
            return
        now = self._clock()
        # While the process lives the kernel completes connections, however late the loop runs. A
        # stall beyond that, or a clock that jumped, leaves a hole that nobody vouches for.
        if not -self._margin <= now - self._until <= STALL_SECONDS:
            self._earlier.append(Served(self.address, self.port, self._since, self._until))
            self._since = now
        self._until = now

    def closed(self) -> None:
        """Note that the listener is down."""
        if self._since is not None:
            self._earlier.append(Served(self.address, self.port, self._since, self._until))
            self._since = None

    def intervals(self) -> list[Served]:
        """Return every recorded interval, the running one last."""
        running = (
            [Served(self.address, self.port, self._since, self._until)]
            if self._since is not None
            else []
        )
        return [*self._earlier, *running]

    def vouches(self, address: str, port: int, probed_at: float) -> bool:
        """Whether the listener was certainly up around `probed_at` (unix seconds).

        The running interval reaches until now, not only until its last beat: the process that
        answers is the one that serves.
        """
        if self._since is not None:
            self.beat()
        for one in self.intervals():
            running = self._since is not None and one.since == self._since
            until = one.until + self._margin if running else one.until
            if (one.address, one.port) == (address, port) and (
                one.since <= probed_at - self._margin and probed_at <= until
            ):
                return True
        return False

    def may_vouch(self, address: str, port: int) -> bool:
        """Whether a Pod that was given this address may still end well: any record of it exists."""
        return any((one.address, one.port) == (address, port) for one in self.intervals())


def load_served(path: Path) -> list[Served]:
    """Read what earlier processes recorded; an absent or damaged file vouches for nothing."""
    try:
        return [
            Served(str(one[0]), int(one[1]), float(one[2]), float(one[3]))
            for one in json.loads(path.read_text(encoding="ascii"))
        ]
    except (OSError, ValueError, TypeError, LookupError):
        return []


def save_served(path: Path, served: Iterable[Served]) -> None:
    """Replace the file in one step."""
    rows = [[one.address, one.port, round(one.since, 3), round(one.until, 3)] for one in served]
    temporary = path.with_suffix(".new")
    temporary.write_text(json.dumps(rows), encoding="ascii")
    os.replace(temporary, path)


class ProbePort:
    """The listener itself: accepts and closes at once.

    Args:
        record: where serving is recorded.
        state: file that outlives the container, or None.
        host: address to bind, "" for all.
    """

    def __init__(self, record: ServingRecord, state: Path | None, host: str | None = None) -> None:
        self._record = record
        self._state = state
        self._host = host
        self.bound_port = record.port
        """The port in use; another than the record's only if that was 0."""

    async def run(self, opened: asyncio.Event | None = None) -> None:
        """Serve until cancelled.

        Raises:
            OSError: the port cannot be bound; without it nothing may be graded.
        """
        server = await asyncio.start_server(_hang_up, self._host, self._record.port, backlog=256)
        self.bound_port = int(server.sockets[0].getsockname()[1])
        self._record.opened()
        log(Log.PROBE_SERVING, port=self._record.port)
        if opened is not None:
            opened.set()
        try:
            async with server:
                while True:
                    self._record.beat()
                    self._save()
                    await asyncio.sleep(BEAT_SECONDS)
        finally:
            self._record.closed()
            self._save()

    def _save(self) -> None:
        if self._state is None:
            return
        try:
            save_served(self._state, self._record.intervals())
        except OSError as error:
            # Losing the record only costs repeated gradings after the next restart.
            log(Log.PROBE_SERVING, level=logging.WARNING, error_kind=type(error).__name__)
            self._state = None


async def _hang_up(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
