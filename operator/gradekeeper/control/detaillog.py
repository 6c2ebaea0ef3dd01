"""Detail logs of referees: read once their attempt is over, put away before their Pod goes.

A log says what was expected, what was observed and what a submission printed: for maintainers, and
never within reach of whoever may only create jobs. So it becomes a Secret, beside its job and owned
by it. Nothing waits for it: it is read after the verdict is written, by few tasks of its own, and
what cannot be read in a few seconds is lost, with a line in the operator's log that says so.
"""

from __future__ import annotations

import asyncio
import base64
import gzip
import hashlib
import logging
from collections.abc import Callable
from dataclasses import dataclass

from gradekeeper.api.names import (
    ANNOTATION_LOG_BYTES,
    ANNOTATION_LOG_DIGEST,
    API_VERSION,
    JOB_KIND,
    LABEL_ATTEMPT,
    LABEL_JOB,
    LABEL_JOB_UID,
    LABEL_MANAGED_BY,
    LOG_KEY,
    LOG_SECRET_TYPE,
    MANAGED_BY,
    REFEREE,
    log_secret_name,
)
from gradekeeper.control.cluster import Cluster, Manifest
from gradekeeper.control.errors import ClusterError, Conflict
from gradekeeper.control.logs import Log, log
from gradekeeper.control.metrics import Metrics
from gradekeeper.referee.log import MAX_LOG_BYTES

BACKLOG = 128
"""Logs that wait to be read; beyond it a Pod goes without: a node is worth more than a log."""
PATIENCE_SECONDS = 5.0
"""For one log, from the kubelet into its Secret."""


@dataclass(frozen=True, slots=True)
class Finished:
    """An attempt that is over and whose Pod still exists.

    Attributes:
        namespace: of job and Pod.
        job: name of the job.
        job_uid: UID of the job.
        attempt: number of the attempt.
        pod: name of the Pod.
        pod_uid: UID of the Pod.
    """

    namespace: str
    job: str
    job_uid: str
    attempt: int
    pod: str
    pod_uid: str


def pack_log(text: bytes, max_bytes: int) -> bytes:
    """Compress a log, cut after a line so that it fits.

    Args:
        text: the log.
        max_bytes: of the compressed bytes, at least 1,024.
    """
    kept = text
    packed = gzip.compress(kept, mtime=0)
    while len(packed) > max_bytes:
        # A little less than in proportion: the dictionary costs a shorter text more.
        most = len(kept) * max_bytes // len(packed) * 9 // 10
        kept = kept[: kept.rfind(b"\n", 0, most) + 1]
        packed = gzip.compress(kept, mtime=0)
    return packed


def build_log_secret(finished: Finished, text: bytes, max_bytes: int) -> Manifest:
    """Build the Secret that keeps a log for as long as its job exists.

    Args:
        finished: whose log it is.
        text: the whole log as the kubelet had it.
        max_bytes: most compressed bytes.
    """
    packed = pack_log(text, max_bytes)
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": log_secret_name(finished.pod),
            "namespace": finished.namespace,
            "labels": {
                LABEL_MANAGED_BY: MANAGED_BY,
                LABEL_JOB: finished.job,
                LABEL_JOB_UID: finished.job_uid,
                LABEL_ATTEMPT: str(finished.attempt),
            },
            "annotations": {
                ANNOTATION_LOG_DIGEST: "sha256:" + hashlib.sha256(text).hexdigest(),
                ANNOTATION_LOG_BYTES: str(len(text)),
            },
            "ownerReferences": [
                {
                    "apiVersion": API_VERSION,
                    "kind": JOB_KIND,
                    "name": finished.job,
                    "uid": finished.job_uid,
                    "controller": False,
                    "blockOwnerDeletion": False,
                }
            ],
        },
        "type": LOG_SECRET_TYPE,
        "immutable": True,
        "data": {LOG_KEY: base64.b64encode(packed).decode("ascii")},
    }


class LogKeeper:
    """Puts logs away, one after another, and says when a Pod may go.

    Args:
        cluster: adapter to the API server.
        metrics: outcomes are counted there.
        max_bytes: most compressed bytes of a log.
        has_job: job UID -> whether the job still exists; its log would go with it.
        done: called with a job's UID when the Pod of one of its attempts may go.
    """

    def __init__(
        self,
        cluster: Cluster,
        metrics: Metrics,
        *,
        max_bytes: int,
        has_job: Callable[[str], bool],
        done: Callable[[str], None],
    ) -> None:
        self._cluster = cluster
        self._metrics = metrics
        self._max_bytes = max_bytes
        self._has_job = has_job
        self._done = done
        self._line: asyncio.Queue[Finished] = asyncio.Queue(BACKLOG)
        self._finished: dict[str, bool] = {}

    def is_done(self, finished: Finished) -> bool:
        """Whether the Pod may go; the first call asks for its log, and `done` tells the end."""
        known = self._finished.get(finished.pod_uid)
        if known is not None:
            return known
        try:
            self._line.put_nowait(finished)
        except asyncio.QueueFull:
            self._end(finished, "dropped", "too many logs wait to be read")
            self._finished[finished.pod_uid] = True
            return True
        self._finished[finished.pod_uid] = False
        return False

    def forget(self, pod_uid: str) -> None:
        """Forget a Pod that is gone."""
        self._finished.pop(pod_uid, None)

    async def work(self) -> None:
        """Put logs away until cancelled; run at most `LOGS_IN_FLIGHT` of it at a time."""
        while True:
            finished = await self._line.get()
            try:
                outcome, why = await self._keep(finished)
            except Exception as error:
                # A defect costs one log; the Pod must go all the same.
                outcome, why = "lost", repr(error)
            self._end(finished, outcome, why)
            if finished.pod_uid in self._finished:
                self._finished[finished.pod_uid] = True
                self._done(finished.job_uid)

    async def _keep(self, finished: Finished) -> tuple[str, str]:
        """Put one log away; returns the outcome for the metric, and why it failed."""
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                text = await self._cluster.read_log(
                    finished.namespace, finished.pod, REFEREE, most=MAX_LOG_BYTES
                )
                if not self._has_job(finished.job_uid):
                    return "unwanted", ""
                await self._cluster.create(
                    f"/api/v1/namespaces/{finished.namespace}/secrets",
                    build_log_secret(finished, text, self._max_bytes),
                )
        except Conflict:
            return "kept", ""  # by an earlier life of this process
        except ClusterError as error:
            return "lost", str(error)
        except TimeoutError:
            return "lost", f"not within {PATIENCE_SECONDS:g} seconds"
        return "kept", ""

    def _end(self, finished: Finished, outcome: str, why: str) -> None:
        self._metrics.detail_logs.labels(outcome).inc()
        if outcome in ("lost", "dropped"):
            log(
                Log.DETAIL_LOG_LOST,
                level=logging.WARNING,
                namespace=finished.namespace,
                job=finished.job,
                attempt=finished.attempt,
                pod=finished.pod,
                why=why,
            )
