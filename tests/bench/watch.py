"""When the objects of a namespace were first seen in a state."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator
from typing import Any

from demo.commands import Manifest

from gradekeeper.api import names
from gradekeeper.client import Connection

PATIENCE = 300.0


class Watch:
    """Follows Pods or jobs of a namespace and notes when each was first seen in a state.

    Args:
        connection: to the API server.
        path: of the collection.
    """

    def __init__(self, connection: Connection, path: str) -> None:
        self._connection = connection
        self._path = path
        self.seen: dict[str, dict[str, float]] = {}
        """Name → state → monotonic time."""
        self.last: dict[str, Manifest] = {}
        self._changed = asyncio.Condition()

    @classmethod
    def pods(cls, connection: Connection, namespace: str) -> Watch:
        """Of Pods."""
        return cls(connection, f"/api/v1/namespaces/{namespace}/pods")

    @classmethod
    def jobs(cls, connection: Connection, namespace: str) -> Watch:
        """Of grading jobs; these are `created` and `deleted`, and nothing in between."""
        group = f"/apis/{names.API_VERSION}"
        return cls(connection, f"{group}/namespaces/{namespace}/{names.JOBS_PLURAL}")

    async def run(self) -> None:
        """Watch until cancelled."""
        while True:
            listed = await self._connection.request("GET", self._path)
            query = {
                "watch": "true",
                "resourceVersion": str(listed["metadata"]["resourceVersion"]),
                "timeoutSeconds": "600",
            }
            lines = self._connection.lines(self._path, query, idle=660.0)
            async with contextlib.aclosing(lines):
                async for line in lines:
                    await self._take(json.loads(line))

    async def _take(self, event: dict[str, Any]) -> None:
        if event["type"] not in {"ADDED", "MODIFIED", "DELETED"}:
            return
        found = event["object"]
        name = found["metadata"]["name"]
        states = self.seen.setdefault(name, {})
        self.last[name] = found
        now = time.monotonic()
        for state, reached in states_of(found).items():
            if reached:
                states.setdefault(state, now)
        if event["type"] == "DELETED":
            states.setdefault("deleted", now)
        async with self._changed:
            self._changed.notify_all()

    async def until(self, name: str, state: str) -> float:
        """Wait until an object is in a state; returns the monotonic time at which it was seen."""
        async with asyncio.timeout(PATIENCE), self._changed:
            await self._changed.wait_for(lambda: state in self.seen.get(name, {}))
        return self.seen[name][state]


def states_of(found: Manifest) -> dict[str, bool]:
    """Which states a Pod or a job is in."""
    status = found.get("status", {})
    statuses = status.get("containerStatuses") or []
    return {
        "created": True,
        "scheduled": bool(found["spec"].get("nodeName")),
        "running": bool(statuses)
        and all(not {"running", "terminated"}.isdisjoint(one["state"]) for one in statuses),
        "judged": any(
            one["name"] == names.REFEREE and "terminated" in one["state"] for one in statuses
        ),
        "succeeded": status.get("phase") == "Succeeded",
    }


@contextlib.asynccontextmanager
async def running(*watches: Watch) -> AsyncIterator[None]:
    """Watch for as long as the context lasts."""
    tasks = [asyncio.create_task(watch.run()) for watch in watches]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
