"""Structured logs: one JSON object a line on stderr, and the list of every event name.

Event names are API: operators alert on them. Nothing that a lane printed is ever a value here.
"""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

_LOGGER = logging.getLogger("gradekeeper.control")


class Log(StrEnum):
    """Every event that the operator logs."""

    OPERATOR_STARTED = "operator_started"
    """The process is configured and about to list."""
    OPERATOR_SYNCED = "operator_synced"
    """The first complete list is in the store; reconciling starts."""
    OPERATOR_STOPPED = "operator_stopped"
    """The process ends in an orderly way."""
    POD_CREATED = "pod_created"
    """An attempt's Pod was created."""
    POD_ADOPTED = "pod_adopted"
    """An attempt's Pod already existed, is ours and equal to what we would create."""
    POD_REFUSED = "pod_refused"
    """A Pod of an attempt's name is not ours or not what we asked for."""
    POD_DELETED = "pod_deleted"
    """A Pod of ours was deleted because its attempt is over."""
    DETAIL_LOG_LOST = "detail_log_lost"
    """A referee's detail log could not be put away; its Pod went all the same."""
    ATTEMPT_FAILED = "attempt_failed"
    """An attempt ended by the platform's fault."""
    JOB_WAITING = "job_waiting"
    """A job's status says what it waits for."""
    JOB_STARTED = "job_started"
    """A job's attempt runs."""
    VERDICT_WRITTEN = "verdict_written"
    """A signed verdict is in a job's status."""
    JOB_EXPIRED = "job_expired"
    """A job was deleted at the end of its TTL."""
    SUITE_CHANGED = "suite_changed"
    """A suite's status changed."""
    ADMISSION_JOB_CREATED = "admission_job_created"
    """A built-in job of a suite was created."""
    RELISTED = "relisted"
    """Everything was listed; `healed` counts what the watches had missed."""
    RELIST_FAILED = "relist_failed"
    """A periodic list failed; it is repeated."""
    RECONCILE_CONFLICT = "reconcile_conflict"
    """A write lost against another; the object was read again."""
    RECONCILE_RETRY = "reconcile_retry"
    """The API server could not be used; the key is tried again."""
    RECONCILE_ERROR = "reconcile_error"
    """A defect: an unexpected exception; the key is tried again."""
    OBJECT_UNREADABLE = "object_unreadable"
    """A watched object could not be understood and is ignored."""
    EVENTS_DROPPED = "events_dropped"
    """Kubernetes Events were dropped to spare the API server."""
    PROBE_SERVING = "probe_serving"
    """The port that grading Pods must not reach is open."""


class JsonFormatter(logging.Formatter):
    """Formats a record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record's JSON, with the event's fields at the top level."""
        document: dict[str, Any] = {
            "ts": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "event": record.getMessage(),
        }
        document.update(getattr(record, "fields", {}))
        if record.exc_info:
            document["exception"] = self.formatException(record.exc_info)
        return json.dumps(document, ensure_ascii=False, default=str)


def configure(level: str) -> None:
    """Send all logs of the process to stderr as JSON lines.

    kopf's own are kept from WARNING on: below it repeats what ours say.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for name in ("kopf", "httpx", "httpcore", "asyncio"):
        logging.getLogger(name).setLevel(max(logging.WARNING, logging.getLevelName(level)))


def log(event: Log, *, level: int = logging.INFO, error: bool = False, **fields: object) -> None:
    """Log one event with its fields; `error` adds the exception being handled."""
    _LOGGER.log(level, event.value, extra={"fields": fields}, exc_info=error)
