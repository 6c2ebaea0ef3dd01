"""The API server as an administrator sees it: requests, watches, and a witness of all changes."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

import httpx
from demo.commands import Cluster, Manifest

from gradekeeper.client import load_settings

MERGE = "application/merge-patch+json"
T = TypeVar("T")


class Refused(Exception):
    """The API server said no.

    Attributes:
        status: HTTP status.
        message: what the server said.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status
        self.message = message


class Api:
    """Requests to the cluster in use.

    Args:
        cluster: where.
    """

    def __init__(self, cluster: Cluster) -> None:
        settings = load_settings(
            kubeconfig=cluster.environment.get("KUBECONFIG"), context=cluster.context
        )
        authorization = settings.authorization()
        self._http = httpx.Client(
            base_url=settings.url,
            verify=settings.verify if settings.verify is not None else False,
            headers={"authorization": authorization} if authorization else {},
            timeout=httpx.Timeout(30.0),
            trust_env=False,
        )

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    def request(
        self,
        method: str,
        path: str,
        body: Manifest | None = None,
        *,
        params: Mapping[str, str] | None = None,
        mime: str = "application/json",
    ) -> Manifest:
        """Send one request; returns the object of the answer, raises Refused."""
        content = None if body is None else json.dumps(body).encode()
        headers = {"content-type": mime} if content is not None else {}
        answer = self._http.request(method, path, params=params, content=content, headers=headers)
        if answer.status_code >= 400:
            try:
                message = str(answer.json().get("message", ""))
            except ValueError:
                message = answer.text
            raise Refused(answer.status_code, message)
        document = answer.json()
        assert isinstance(document, dict)
        return document

    def get(self, path: str) -> Manifest:
        """Read one object or list."""
        return self.request("GET", path)

    def create(self, collection: str, body: Manifest, **params: str) -> Manifest:
        """Create an object."""
        return self.request("POST", collection, body, params=params)

    def patch(self, path: str, body: Manifest) -> Manifest:
        """Merge into an object."""
        return self.request("PATCH", path, body, mime=MERGE)

    def delete(self, path: str, *, grace: int | None = None) -> None:
        """Delete an object; one that does not exist is a success."""
        options: Manifest = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if grace is not None:
            options["gracePeriodSeconds"] = grace
        try:
            self.request("DELETE", path, options)
        except Refused as refused:
            if refused.status != 404:
                raise

    def exists(self, path: str) -> bool:
        """Whether an object exists."""
        try:
            self.get(path)
        except Refused as refused:
            if refused.status == 404:
                return False
            raise
        return True

    def lines(self, path: str, params: Mapping[str, str], idle: float) -> Iterator[str]:
        """Lines of a stream until it ends; `idle` seconds without a byte are an httpx error."""
        timeout = httpx.Timeout(30.0, read=idle)
        with self._http.stream("GET", path, params=params, timeout=timeout) as answer:
            if answer.status_code >= 400:
                answer.read()
                raise Refused(answer.status_code, answer.text)
            yield from answer.iter_lines()


class Witness:
    """Watches collections and remembers every object and every version of it that was seen.

    Args:
        api: where.
        collections: paths of collections.
    """

    def __init__(self, api: Api, *collections: str) -> None:
        self._api = api
        self._changed = threading.Condition()
        self._stopped = False
        self.history: dict[str, dict[str, list[Manifest]]] = {path: {} for path in collections}
        """Collection → UID → versions, oldest first."""
        self.live: dict[str, dict[str, Manifest]] = {path: {} for path in collections}
        """Collection → name → the object as it is now."""
        self._synced: set[str] = set()
        self._threads = [
            threading.Thread(target=self._watch, args=(path,), daemon=True) for path in collections
        ]

    def start(self) -> None:
        """Watch from now on; returns when everything that exists was seen."""
        for thread in self._threads:
            thread.start()
        self.wait(lambda: len(self._synced) == len(self._threads) or None, "the first lists", 30)

    def stop(self) -> None:
        """Watch no more."""
        self._stopped = True

    def wait(self, look: Callable[[], T | None], what: str, limit: float = 60.0) -> T:
        """Look after every change until there is something; returns it.

        Raises:
            TimeoutError: nothing within so many seconds.
        """
        deadline = time.monotonic() + limit
        with self._changed:
            while (found := look()) is None:
                left = deadline - time.monotonic()
                if left <= 0:
                    raise TimeoutError(f"not seen within {limit:.0f} s: {what}")
                self._changed.wait(min(left, 1.0))
            return found

    def _watch(self, path: str) -> None:
        while not self._stopped:
            try:
                listed = self._api.get(path)
                self._relist(path, listed["items"])
                params = {
                    "watch": "true",
                    "resourceVersion": listed["metadata"]["resourceVersion"],
                    "timeoutSeconds": "900",
                }
                for line in self._api.lines(path, params, 920.0):
                    if self._stopped:
                        return
                    event = json.loads(line)
                    if event["type"] == "ERROR":
                        break
                    self._take(path, event["type"], event["object"])
            except (httpx.HTTPError, httpx.StreamError, Refused, RuntimeError):
                # A closed client when it is over; a broken stream otherwise, which a list heals.
                time.sleep(0.2)

    def _relist(self, path: str, items: list[Manifest]) -> None:
        names = {item["metadata"]["name"] for item in items}
        with self._changed:
            for gone in self.live[path].keys() - names:
                del self.live[path][gone]
            self._synced.add(path)
            self._changed.notify_all()
        for item in items:
            self._take(path, "ADDED", item)

    def _take(self, path: str, kind: str, item: Manifest) -> None:
        metadata = item["metadata"]
        with self._changed:
            self.history[path].setdefault(metadata["uid"], []).append(item)
            if kind != "DELETED":
                self.live[path][metadata["name"]] = item
            elif self.live[path].get(metadata["name"], item)["metadata"]["uid"] == metadata["uid"]:
                self.live[path].pop(metadata["name"], None)
            self._changed.notify_all()


def condition(item: Manifest, kind: str) -> Manifest:
    """A condition of an object, or an empty one."""
    found = item.get("status", {}).get("conditions") or []
    return next((one for one in found if one["type"] == kind), {})


def container(pod: Manifest, name: str) -> Manifest:
    """The status of a Pod's container, or an empty one."""
    found = pod.get("status", {}).get("containerStatuses") or []
    return next((one for one in found if one["name"] == name), {})


def decode(text: str) -> bytes:
    """Base64, strictly."""
    return base64.b64decode(text, validate=True)
