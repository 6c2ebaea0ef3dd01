"""One watch on the jobs of a namespace, shared by everything in the process that waits for one.

A poll a job would be a request a second a rollout; this is one stream, whatever the number. The
hub is level-triggered: a subscriber sees the latest state of its jobs, not each change, and it sees
the latest state again after every gap (a relist after 410, a stream that broke).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import time
from collections.abc import Iterator
from typing import Final

from gradekeeper.api import names
from gradekeeper.client._connection import Connection, Manifest, error_of_status
from gradekeeper.client.errors import (
    ExpiredError,
    GradekeeperError,
    UnavailableError,
)

log = logging.getLogger(__name__)

_PAGE: Final = "500"
_STREAM_SECONDS: Final = 290
_LIVED_SECONDS: Final = 30.0
"""A quiet stream that lived so long was not a failure."""
_IDLE_SECONDS: Final = 320.0
"""Longer than a stream lives: a silent stream is ended by the server, a dead peer by keepalive."""


def jobs_path(namespace: str, name: str | None = None) -> str:
    """Path of the jobs of a namespace, or of one of them."""
    base = f"/apis/{names.API_VERSION}/namespaces/{namespace}/{names.JOBS_PLURAL}"
    return base if name is None else f"{base}/{name}"


class Subscription:
    """The latest state of some jobs.

    Attributes:
        jobs: Latest state by name; a job that is gone is absent.
        gone: Names of jobs that were deleted, or that a list did not show.
    """

    def __init__(self, name: str | None) -> None:
        self.name = name
        self.jobs: dict[str, Manifest] = {}
        self.gone: set[str] = set()
        self._news = asyncio.Event()
        self._failure: GradekeeperError | None = None

    async def changed(self) -> None:
        """Wait until something changed since the last call.

        Raises:
            GradekeeperError: The watch cannot go on, such as for a missing right.
        """
        await self._news.wait()
        self._news.clear()
        if self._failure is not None:
            raise self._failure

    def wants(self, name: str) -> bool:
        """Whether this subscription is about the job of that name."""
        return self.name is None or self.name == name

    def offer(self, job: Manifest) -> None:
        """Add a state that was read apart from the watch; what the watch said wins."""
        if self.jobs.setdefault(_name(job), job) is job:
            self._news.set()

    def put(self, job: Manifest) -> None:
        """Set the latest state of a job."""
        name = _name(job)
        self.jobs[name] = job
        self.gone.discard(name)
        self._news.set()

    def drop(self, name: str) -> None:
        """Note that a job is gone."""
        self.jobs.pop(name, None)
        self.gone.add(name)
        self._news.set()

    def fail(self, error: GradekeeperError) -> None:
        """End the subscription with an error."""
        self._failure = error
        self._news.set()


class JobHub:
    """The shared watch. It runs from the first subscription until `aclose`.

    Args:
        connection: An open connection.
        namespace: Whose jobs to watch.
    """

    def __init__(self, connection: Connection, namespace: str) -> None:
        self._connection = connection
        self._namespace = namespace
        self._subscriptions: list[Subscription] = []
        self._task: asyncio.Task[None] | None = None

    @contextlib.contextmanager
    def subscribe(self, name: str | None = None) -> Iterator[Subscription]:
        """Follow one job, or all of the namespace.

        The watch may have started long before: read the current state after subscribing and give
        it to `Subscription.offer`.
        """
        subscription = Subscription(name)
        self._subscriptions.append(subscription)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run(), name=f"watch {self._namespace}")
        try:
            yield subscription
        finally:
            self._subscriptions.remove(subscription)

    async def aclose(self) -> None:
        """Stop the watch. Calling it again does nothing."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def _run(self) -> None:
        failures = 0
        version: str | None = None
        while True:
            heard = _Heard()
            started = time.monotonic()
            try:
                if version is None:
                    version = await self._list()
                version = await self._watch(version, heard)
            except ExpiredError as error:
                log.info("Watch of %s: %s Listing again.", self._namespace, error)
                version = None
            except UnavailableError as error:
                log.warning("Watch of %s: %s Trying again.", self._namespace, error)
                version = heard.version or version
            except GradekeeperError as error:
                for subscription in self._subscriptions:
                    subscription.fail(error)
                return
            except Exception as error:  # nobody may be left waiting for a watch that died
                log.exception("Watch of %s stopped", self._namespace)
                failure = GradekeeperError(f"The watch of {self._namespace} stopped: {error!r}.")
                for subscription in self._subscriptions:
                    subscription.fail(failure)
                return
            lived = heard.version is not None or time.monotonic() - started > _LIVED_SECONDS
            failures = 0 if lived else failures + 1
            if failures:
                await asyncio.sleep(self._connection.backoff.delay(failures))

    async def _list(self) -> str:
        """List all jobs, tell the subscribers, and return the version from which to watch."""
        before = list(self._subscriptions)
        seen: set[str] = set()
        params = {"limit": _PAGE}
        while True:
            page = await self._connection.request(
                "GET", jobs_path(self._namespace), params=params, retry_for=0.0
            )
            for job in page.get("items") or []:
                seen.add(_name(job))
                self._put(job)
            metadata = page.get("metadata") or {}
            if not metadata.get("continue"):
                break
            params = {"limit": _PAGE, "continue": metadata["continue"]}
        # Only who subscribed before the list began: a younger job may be missing from it.
        for subscription in before:
            known = {subscription.name} if subscription.name else set(subscription.jobs)
            for name in known - seen:
                if name is not None:
                    subscription.drop(name)
        return str(metadata.get("resourceVersion") or "0")

    async def _watch(self, version: str, heard: _Heard) -> str:
        params = {
            "watch": "1",
            "allowWatchBookmarks": "true",
            "resourceVersion": version,
            "timeoutSeconds": str(_STREAM_SECONDS),
        }
        lines = self._connection.lines(jobs_path(self._namespace), params, idle=_IDLE_SECONDS)
        async with contextlib.aclosing(lines):
            async for line in lines:
                self._event(line, heard)
        return heard.version or version

    def _event(self, line: bytes, heard: _Heard) -> None:
        try:
            event = json.loads(line)
            kind, job = event["type"], event["object"]
            if kind == "ERROR":
                raise error_of_status(job, int(job.get("code") or 500), "watch")
            version = str(job["metadata"]["resourceVersion"])
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            # A stream that was cut in the middle of a line ends like this.
            raise UnavailableError(f"The watch sent what is no event: {error!r}.") from error
        if kind == "DELETED":
            for subscription in self._wanting(_name(job)):
                subscription.drop(_name(job))
        elif kind in ("ADDED", "MODIFIED"):
            self._put(job)
        heard.version = version

    def _put(self, job: Manifest) -> None:
        for subscription in self._wanting(_name(job)):
            subscription.put(job)

    def _wanting(self, name: str) -> list[Subscription]:
        return [subscription for subscription in self._subscriptions if subscription.wants(name)]


class _Heard:
    """The version of the last event of one stream; None before the first."""

    def __init__(self) -> None:
        self.version: str | None = None


def _name(job: Manifest) -> str:
    return str(job["metadata"]["name"])
