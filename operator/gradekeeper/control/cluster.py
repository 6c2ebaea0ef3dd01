"""The engine's adapter to the API server: plain dicts in and out, errors translated.

Knows HTTP and the API's conventions, nothing about grading. It never retries: the engine does.
After a 429 every request waits until the time that the server named, so a storm is not answered
with one.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Mapping
from typing import Any

import aiohttp

from gradekeeper.control.connection import Connection
from gradekeeper.control.errors import (
    ClusterError,
    Conflict,
    Forbidden,
    Gone,
    Invalid,
    NotFound,
    QuotaExceeded,
    Throttled,
    Unavailable,
)
from gradekeeper.control.metrics import Metrics

Manifest = dict[str, Any]
"""An API object as decoded JSON."""

MERGE_PATCH = "application/merge-patch+json"
METADATA_ONLY = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
METADATA_ONLY_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
PAGE = 500
REQUEST_SECONDS = 30.0
MAX_PAUSE_SECONDS = 60.0
LOGS_IN_FLIGHT = 4
"""Reads of logs at the same time, beside all other requests."""


class Cluster:
    """A client of one API server.

    Args:
        connection: where and how.
        metrics: requests and their times are counted there.
        in_flight: requests at the same time.
    """

    def __init__(
        self,
        connection: Connection,
        metrics: Metrics,
        *,
        in_flight: int = 16,
    ) -> None:
        self._connection = connection
        self._metrics = metrics
        self._turns = asyncio.Semaphore(in_flight)
        self._not_before = 0.0
        # aiohttp is there for kopf's watches anyway, and takes a third of httpx's time a request
        # (measured), which is most of what a verdict costs the operator.
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=in_flight + LOGS_IN_FLIGHT, ssl=connection.ssl_context()
            ),
            timeout=aiohttp.ClientTimeout(total=REQUEST_SECONDS),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"User-Agent": "gradekeeper-operator"},
            trust_env=False,
        )
        self._token: str | None = None
        self._token_read = float("-inf")

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()

    async def list_pages(
        self, collection: str, *, label_selector: str = "", metadata_only: bool = False
    ) -> AsyncIterator[tuple[list[Manifest], str]]:
        """List a collection in pages.

        Args:
            collection: path such as `/api/v1/namespaces/x/pods`.
            label_selector: the server's filter, "" for none.
            metadata_only: list metadata alone, which is all that finding a difference needs.

        Yields:
            The page's items and the list's resourceVersion (the same for all pages).
        """
        token = ""
        while True:
            params = {"limit": str(PAGE)}
            if label_selector:
                params["labelSelector"] = label_selector
            if token:
                params["continue"] = token
            accept = METADATA_ONLY_LIST if metadata_only else "application/json"
            page = await self._request("list", "GET", collection, params=params, accept=accept)
            meta = page.get("metadata") or {}
            yield page.get("items") or [], str(meta.get("resourceVersion", ""))
            token = meta.get("continue") or ""
            if not token:
                return

    async def get(self, path: str) -> Manifest:
        """Read one object; raises NotFound."""
        return await self._request("get", "GET", path)

    async def get_metadata(self, path: str) -> Manifest:
        """Read one object's metadata only, from the server's cache.

        The payload never travels. The cache may be a moment old, so "not found" may be too.
        """
        return await self._request(
            "get", "GET", path, params={"resourceVersion": "0"}, accept=METADATA_ONLY
        )

    async def read_log(self, namespace: str, pod: str, container: str, *, most: int) -> bytes:
        """Read a container's log, which the API server fetches from the node.

        It takes no turn from other requests, for a node may take its time; the caller sees to it
        that there are at most `LOGS_IN_FLIGHT` at a time.

        Args:
            namespace: of the Pod.
            pod: name of the Pod.
            container: name of the container.
            most: bytes after which the server cuts.
        """
        path = f"/api/v1/namespaces/{namespace}/pods/{pod}/log"
        params = {"container": container, "limitBytes": str(most)}
        return await self._exchange("log", "GET", path, params=params, accept="*/*")

    async def create(self, collection: str, manifest: Manifest) -> Manifest:
        """Create an object; raises Conflict where the name is taken."""
        return await self._request("create", "POST", collection, body=manifest)

    async def patch_status(self, path: str, resource_version: str, status: Manifest) -> Manifest:
        """Merge into an object's status, only if it is still the given version.

        Raises:
            Conflict: somebody wrote the object meanwhile.
            NotFound: it is gone.
        """
        body = {"metadata": {"resourceVersion": resource_version}, "status": status}
        return await self._request("patch", "PATCH", f"{path}/status", body=body, mime=MERGE_PATCH)

    async def delete(self, path: str, *, uid: str) -> None:
        """Delete the object with exactly this UID; one that is gone already is a success.

        Raises:
            Conflict: another object has that name now.
        """
        body = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": {"uid": uid},
            "propagationPolicy": "Background",
        }
        try:
            await self._request("delete", "DELETE", path, body=body)
        except NotFound:
            return

    async def _request(
        self,
        verb: str,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: Manifest | None = None,
        mime: str = "application/json",
        accept: str = "application/json",
    ) -> Manifest:
        async with self._turns:
            answer = await self._exchange(
                verb, method, path, params=params, body=body, mime=mime, accept=accept
            )
        try:
            document = json.loads(answer)
        except ValueError as error:
            raise Unavailable(f"{method} {path}: the answer is not JSON") from error
        if not isinstance(document, dict):
            raise Unavailable(f"{method} {path}: the answer is not an object")
        return document

    async def _exchange(
        self,
        verb: str,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: Manifest | None = None,
        mime: str = "application/json",
        accept: str = "application/json",
    ) -> bytes:
        """Send one request; returns the body of a successful answer."""
        resource = resource_of(path)
        if (pause := self._not_before - time.monotonic()) > 0:
            await asyncio.sleep(pause)
        headers = {"Accept": accept}
        if (token := self._bearer()) is not None:
            headers["Authorization"] = f"Bearer {token}"
        content = None
        if body is not None:
            content = json.dumps(body, separators=(",", ":")).encode()
            headers["Content-Type"] = mime
        started = time.monotonic()
        try:
            async with self._session.request(
                method,
                self._connection.server + path,
                params=params,
                data=content,
                headers=headers,
                allow_redirects=False,
            ) as response:
                answer = await response.read()
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            self._metrics.api_requests.labels(verb, resource, "unreachable").inc()
            raise Unavailable(f"{method} {path}: {type(error).__name__}") from error
        self._metrics.api_seconds.labels(verb).observe(time.monotonic() - started)
        if 200 <= response.status < 300:
            self._metrics.api_requests.labels(verb, resource, "ok").inc()
            return answer
        translated = translate(method, path, response.status, answer)
        after = response.headers.get("Retry-After", "")
        if isinstance(translated, Throttled):
            translated.retry_after = float(after) if after.isdecimal() else 1.0
            self._not_before = max(
                self._not_before,
                time.monotonic() + min(translated.retry_after, MAX_PAUSE_SECONDS),
            )
        elif response.status == 401:
            self._token_read = float("-inf")
        outcome = type(translated).__name__.lower()
        self._metrics.api_requests.labels(verb, resource, outcome).inc()
        raise translated

    def _bearer(self) -> str | None:
        # The kubelet replaces the token at 80 % of its life; a minute is soon enough.
        now = time.monotonic()
        if now - self._token_read > 60:
            self._token = self._connection.bearer()
            self._token_read = now
        return self._token


def resource_of(path: str) -> str:
    """Return the resource's plural name in an API path, for a metric's label."""
    parts = [part for part in path.split("/") if part]
    parts = parts[2:] if parts[:1] == ["api"] else parts[3:]
    if parts[:1] == ["namespaces"] and len(parts) > 2:
        parts = parts[2:]
    return parts[0] if parts else "root"


def translate(method: str, path: str, status: int, content: bytes) -> ClusterError:
    """Turn an unsuccessful answer into an exception of this package.

    Args:
        method: HTTP method, for the message.
        path: request path, for the message.
        status: HTTP status.
        content: body, a `Status` object where the server is well.
    """
    reason, message = "", ""
    try:
        document = json.loads(content)
        reason, message = str(document.get("reason", "")), str(document.get("message", ""))
    except (ValueError, AttributeError):
        pass
    text = f"{method} {path}: {status} {reason} {message[:300]}".rstrip()
    if status == 429 or (status >= 500 and reason == "TooManyRequests"):
        return Throttled(text, status=status, reason=reason)
    # The second: a quota so new that nobody has counted yet; it passes like a full one.
    if status == 403 and ("exceeded quota" in message or "status unknown for quota" in message):
        return QuotaExceeded(text, status=status, reason=reason)
    kinds: dict[int, type[ClusterError]] = {
        400: Invalid,
        403: Forbidden,
        404: NotFound,
        409: Conflict,
        410: Gone,
        413: Invalid,
        422: Invalid,
    }
    if status in kinds:
        return kinds[status](text, status=status, reason=reason)
    return Unavailable(text, status=status, reason=reason)
