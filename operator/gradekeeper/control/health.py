"""`/healthz`, `/metrics`, and the heartbeat behind them.

Liveness means: the event loop turns, the lists come through, and no key waits too long. A process
that merely answers HTTP is not alive.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from gradekeeper.control.metrics import Metrics

READ_SECONDS = 5.0
BEAT_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Vitals:
    """What liveness is judged by; all in seconds.

    Attributes:
        synced: whether the first complete list is in.
        relist_age: since the last complete list (or the start).
        watch_age: since the last watch event (or the start); reported, not judged: a quiet
            installation has none.
        oldest_key_age: how long the oldest key has waited or run.
        loop_lag: how late the loop's last beat was.
    """

    synced: bool
    relist_age: float
    watch_age: float
    oldest_key_age: float
    loop_lag: float


def failing(vitals: Vitals, stale_seconds: float) -> list[str]:
    """Return what is wrong, empty if the operator is alive."""
    wrong = []
    if vitals.relist_age > stale_seconds:
        wrong.append("relist_age")
    if vitals.oldest_key_age > stale_seconds:
        wrong.append("oldest_key_age")
    if vitals.loop_lag > stale_seconds / 10:
        wrong.append("loop_lag")
    return wrong


class Heartbeat:
    """Measures how late the event loop runs."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self.lag = 0.0

    async def run(self) -> None:
        """Beat until cancelled."""
        while True:
            expected = time.monotonic() + BEAT_SECONDS
            await asyncio.sleep(BEAT_SECONDS)
            self.lag = max(0.0, time.monotonic() - expected)
            self._metrics.loop_lag_seconds.set(self.lag)


class HealthServer:
    """A minimal HTTP server of two pages.

    Args:
        port: TCP port; 0 lets the system choose.
        vitals: reads the current vitals.
        metrics: what `/metrics` shows.
        stale_seconds: limit for the ages.
        host: address to bind, None for all.
    """

    def __init__(
        self,
        port: int,
        vitals: Callable[[], Vitals],
        metrics: Metrics,
        stale_seconds: float,
        host: str | None = None,
    ) -> None:
        self.port = port
        self._host = host
        self._vitals = vitals
        self._metrics = metrics
        self._stale = stale_seconds

    async def run(self, opened: asyncio.Event | None = None) -> None:
        """Serve until cancelled."""
        server = await asyncio.start_server(self._serve, self._host, self.port)
        self.port = server.sockets[0].getsockname()[1]
        if opened is not None:
            opened.set()
        async with server:
            await server.serve_forever()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(READ_SECONDS):
                request = await reader.readuntil(b"\r\n\r\n")
                status, kind, body = self._answer(request.split(b"\r\n", 1)[0])
                head = (
                    f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: {kind}\r\n"
                    f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
                )
                writer.write(head.encode("ascii") + body)
                await writer.drain()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    def _answer(self, line: bytes) -> tuple[HTTPStatus, str, bytes]:
        match line.split(b" "):
            case [b"GET", b"/metrics", *_]:
                return HTTPStatus.OK, CONTENT_TYPE_LATEST, generate_latest(self._metrics.registry)
            case [b"GET", b"/healthz", *_]:
                vitals = self._vitals()
                wrong = failing(vitals, self._stale)
                report = {
                    "alive": not wrong,
                    "failing": wrong,
                    "synced": vitals.synced,
                    "relistAgeSeconds": round(vitals.relist_age, 1),
                    "watchAgeSeconds": round(vitals.watch_age, 1),
                    "oldestKeyAgeSeconds": round(vitals.oldest_key_age, 1),
                    "loopLagSeconds": round(vitals.loop_lag, 3),
                }
                status = HTTPStatus.SERVICE_UNAVAILABLE if wrong else HTTPStatus.OK
                return status, "application/json", json.dumps(report).encode("ascii")
        return HTTPStatus.NOT_FOUND, "text/plain", b"/healthz or /metrics\n"
