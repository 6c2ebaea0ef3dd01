"""Posts Kubernetes Events on transitions: deduplicated, bounded, never in anybody's way.

Messages are the fixed sentences of the reasons. Events are a courtesy to people; losing one loses
nothing, so they are dropped rather than queued without end.
"""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections import OrderedDict
from datetime import UTC, datetime
from typing import Literal, NamedTuple

from gradekeeper.control.cluster import Cluster, Manifest
from gradekeeper.control.errors import ClusterError, Retryable
from gradekeeper.control.logs import Log, log
from gradekeeper.control.metrics import Metrics

COMPONENT = "gradekeeper-operator"
QUEUE = 1_000
REMEMBER = 10_000
PER_SECOND = 20.0
BURST = 100.0


class Note(NamedTuple):
    """One transition worth an Event.

    Attributes:
        kind: kind of the object it is about.
        namespace: its namespace.
        name: its name.
        uid: its UID.
        type: `Normal` or `Warning`.
        reason: CamelCase, of our enums.
        message: a fixed sentence.
        dedup: what makes the transition unique within the object and reason.
    """

    kind: Literal["GradingJob", "GradingSuite"]
    namespace: str
    name: str
    uid: str
    type: Literal["Normal", "Warning"]
    reason: str
    message: str
    dedup: str = ""


def build_event(note: Note, api_version: str, instance: str, now: datetime) -> Manifest:
    """Build the core `v1` Event of a note."""
    stamp = now.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {
            "name": f"{note.name[:200]}.{uuid.uuid4().hex[:16]}",
            "namespace": note.namespace,
        },
        "type": note.type,
        "reason": note.reason,
        "message": note.message[:1024],
        "involvedObject": {
            "apiVersion": api_version,
            "kind": note.kind,
            "namespace": note.namespace,
            "name": note.name,
            "uid": note.uid,
        },
        "firstTimestamp": stamp,
        "lastTimestamp": stamp,
        "count": 1,
        "source": {"component": COMPONENT},
        "reportingComponent": f"gradekeeper.dev/{COMPONENT}",
        "reportingInstance": instance[:128] or COMPONENT,
    }


class Recorder:
    """A bounded queue of notes and the task that posts them.

    Args:
        cluster: where to post; None posts nothing.
        metrics: drops are counted there.
        api_version: of our kinds.
        instance: name of this operator.
    """

    def __init__(
        self, cluster: Cluster | None, metrics: Metrics, *, api_version: str, instance: str
    ) -> None:
        self._cluster = cluster
        self._metrics = metrics
        self._api_version = api_version
        self._instance = instance
        self._notes: asyncio.Queue[Note] = asyncio.Queue(QUEUE)
        self._seen: OrderedDict[tuple[str, str, str], None] = OrderedDict()
        self._tokens = BURST
        self._refilled = time.monotonic()

    def post(self, note: Note) -> None:
        """Queue a note unless the same was queued before."""
        if self._cluster is None:
            return
        identity = (note.uid, note.reason, note.dedup)
        if identity in self._seen:
            return
        self._seen[identity] = None
        if len(self._seen) > REMEMBER:
            self._seen.popitem(last=False)
        try:
            self._notes.put_nowait(note)
        except asyncio.QueueFull:
            self._metrics.events_dropped.inc()

    async def run(self) -> None:
        """Post until cancelled."""
        if self._cluster is None:
            return
        while True:
            note = await self._notes.get()
            await self._turn()
            body = build_event(note, self._api_version, self._instance, datetime.now(UTC))
            try:
                await self._cluster.create(f"/api/v1/namespaces/{note.namespace}/events", body)
            except Retryable:
                self._metrics.events_dropped.inc()
            except ClusterError as error:
                self._metrics.events_dropped.inc()
                log(Log.EVENTS_DROPPED, level=logging.WARNING, status=error.status)

    async def _turn(self) -> None:
        now = time.monotonic()
        self._tokens = min(BURST, self._tokens + (now - self._refilled) * PER_SECOND)
        self._refilled = now
        if self._tokens < 1:
            await asyncio.sleep((1 - self._tokens) / PER_SECOND)
        self._tokens = max(0.0, self._tokens - 1)
