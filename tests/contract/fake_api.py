"""A small Kubernetes API server on loopback: enough of the protocol to test clients of it.

Real HTTP, real streams. It speaks discovery, list (with pages), watch (history, bookmarks, 410),
create (409), get, merge patch (also of `status`), delete (preconditions, background garbage
collection), Pods' logs, and it can be told to misbehave: `fail`, `cut_watches`, `compact`.

Not there: validation, admission, field selectors, server-side apply.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
import itertools
import json
import uuid
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from aiohttp import web

Manifest = dict[str, Any]


@dataclass(frozen=True)
class Kind:
    """One served kind, namespaced, with a status subresource if it is ours."""

    prefix: str  # "/api/v1" or "/apis/<group>/<version>"
    plural: str
    kind: str

    @property
    def api_version(self) -> str:
        return self.prefix.removeprefix("/apis/").removeprefix("/api/")


GRADING = "/apis/gradekeeper.dev/v1alpha1"
KINDS = (
    Kind(GRADING, "gradingjobs", "GradingJob"),
    Kind(GRADING, "gradingsuites", "GradingSuite"),
    Kind("/api/v1", "configmaps", "ConfigMap"),
    Kind("/api/v1", "pods", "Pod"),
    Kind("/api/v1", "events", "Event"),
    Kind("/api/v1", "secrets", "Secret"),
    # kopf asks whether these exist, and then leaves them alone.
    Kind("/api/v1", "namespaces", "Namespace"),
    Kind("/apis/apiextensions.k8s.io/v1", "customresourcedefinitions", "CustomResourceDefinition"),
)


@dataclass
class Fault:
    """What to answer instead, `times` times, to requests that match."""

    matches: Callable[[web.Request], bool]
    status: int
    times: int
    headers: Mapping[str, str] = field(default_factory=dict)
    after: bool = False  # do the work first, then lose the answer
    message: str = "told to fail"


@dataclass
class Hold:
    """One request that waits, before or after its work, until it is released."""

    matches: Callable[[web.Request], bool]
    after: bool
    skip: int
    reached: asyncio.Event = field(default_factory=asyncio.Event)
    released: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass
class Change:
    version: int
    type: str
    kind: str
    namespace: str
    object: Manifest


class FakeApi:
    """The server's state, and the levers that tests pull."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str, str], Manifest] = {}
        self.requests: Counter[str] = Counter()
        self.log: list[str] = []
        self.token: str | None = None
        self.page_limit: int | None = None
        self.logs: dict[str, bytes] = {}
        """Pod → what its kubelet answers for the log of its container."""
        self._version = itertools.count(100)
        self._latest = 100
        self._oldest = 0
        self._history: deque[Change] = deque()
        self._changed = asyncio.Event()
        self._watches: set[asyncio.Event] = set()
        self._faults: list[Fault] = []
        self._holds: list[Hold] = []
        self._seen = asyncio.Condition()
        self._asked = asyncio.Event()
        self.opened_watches = 0
        self.url = ""

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[FakeApi]:
        app = web.Application(client_max_size=8 * 1024 * 1024)
        app.router.add_route("*", "/{path:.*}", self._handle)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        self.url = f"http://{host}:{port}"
        try:
            yield self
        finally:
            self.cut_watches()
            await runner.cleanup()

    # Levers.

    def fail(
        self,
        method: str,
        path: str,
        status: int,
        *,
        times: int = 1,
        headers: Mapping[str, str] | None = None,
        after: bool = False,
        watch: bool | None = None,
        message: str = "told to fail",
    ) -> None:
        """Answer the next requests whose path contains `path` with an error; 0 cuts the line."""

        def matches(request: web.Request) -> bool:
            return (
                request.method == method
                and path in request.path
                and (watch is None or ("watch" in request.query) == watch)
            )

        self._faults.append(Fault(matches, status, times, headers or {}, after, message))

    def hold(self, method: str, path: str, *, after: bool, skip: int = 0) -> Hold:
        """Stop the next request whose path contains `path` (but for `skip` of them)."""
        hold = Hold(lambda r: r.method == method and path in r.path, after, skip)
        self._holds.append(hold)
        return hold

    def cut_watches(self) -> None:
        """End every open watch without warning."""
        for cut in self._watches:
            cut.set()

    def compact(self) -> None:
        """Forget history: watches from before now get 410."""
        self._history.clear()
        self._oldest = self._latest

    async def wait_for_request(self, text: str, count: int = 1) -> None:
        """Wait until so many requests were seen whose `METHOD path?query` contains the text."""
        async with self._seen:
            await self._seen.wait_for(lambda: sum(text in line for line in self.log) >= count)

    async def wait_until(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds; looked at after each change and each request."""
        while not holds():
            changed = asyncio.ensure_future(self._changed.wait())
            asked = asyncio.ensure_future(self._asked.wait())
            try:
                await asyncio.wait({changed, asked}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                changed.cancel()
                asked.cancel()

    @property
    def changed(self) -> asyncio.Event:
        """Set at the next change of any object."""
        return self._changed

    @property
    def open_watches(self) -> int:
        return len(self._watches)

    # State, also for tests that play the operator.

    def get(self, plural: str, namespace: str, name: str) -> Manifest | None:
        return self.objects.get((plural, namespace, name))

    def create(self, plural: str, namespace: str, obj: Manifest) -> Manifest:
        kind = next(k for k in KINDS if k.plural == plural)
        name = obj["metadata"]["name"]
        if (plural, namespace, name) in self.objects:
            raise _Refused(409, "AlreadyExists", f'{plural} "{name}" already exists')
        obj = copy.deepcopy(obj)
        obj["apiVersion"], obj["kind"] = kind.api_version, kind.kind
        obj["metadata"] |= {
            "namespace": namespace,
            "uid": str(uuid.uuid4()),
            "generation": 1,
            "creationTimestamp": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
        obj.pop("status", None)
        return self._store("ADDED", plural, namespace, obj)

    def patch(
        self, plural: str, namespace: str, name: str, patch: Manifest, *, status: bool = False
    ) -> Manifest:
        old = self._must_get(plural, namespace, name)
        metadata = patch.get("metadata") or {}
        if metadata.get("uid", old["metadata"]["uid"]) != old["metadata"]["uid"]:
            raise _Refused(422, "Invalid", "metadata.uid: Invalid value: field is immutable")
        version = metadata.get("resourceVersion")
        if version is not None and version != old["metadata"]["resourceVersion"]:
            raise _Refused(409, "Conflict", "the object has been modified")
        change = {"status": patch.get("status")} if status else dict(patch)
        if not status:
            change.pop("status", None)
        new = _merge(old, change)
        new["metadata"]["uid"] = old["metadata"]["uid"]
        if new == old:
            return old
        if new.get("spec") != old.get("spec"):
            new["metadata"]["generation"] += 1
        return self._store("MODIFIED", plural, namespace, new)

    def set_status(self, plural: str, namespace: str, name: str, status: Manifest) -> Manifest:
        return self.patch(plural, namespace, name, {"status": status}, status=True)

    def delete(self, plural: str, namespace: str, name: str, *, uid: str | None = None) -> Manifest:
        old = self._must_get(plural, namespace, name)
        if uid is not None and uid != old["metadata"]["uid"]:
            raise _Refused(409, "Conflict", "the UID in the precondition does not match")
        del self.objects[(plural, namespace, name)]
        self._record("DELETED", plural, namespace, old)
        for (other, space, dependent), obj in list(self.objects.items()):
            owners = obj["metadata"].get("ownerReferences") or []
            if space == namespace and any(o["uid"] == old["metadata"]["uid"] for o in owners):
                self.delete(other, space, dependent)
        return old

    def _must_get(self, plural: str, namespace: str, name: str) -> Manifest:
        obj = self.objects.get((plural, namespace, name))
        if obj is None:
            raise _Refused(404, "NotFound", f'{plural} "{name}" not found')
        return obj

    def _store(self, change: str, plural: str, namespace: str, obj: Manifest) -> Manifest:
        self.objects[(plural, namespace, obj["metadata"]["name"])] = obj
        self._record(change, plural, namespace, obj)
        return obj

    def _record(self, change: str, plural: str, namespace: str, obj: Manifest) -> None:
        self._latest = next(self._version) + 1
        obj["metadata"]["resourceVersion"] = str(self._latest)
        self._history.append(Change(self._latest, change, plural, namespace, copy.deepcopy(obj)))
        self._changed.set()
        self._changed = asyncio.Event()

    def touch(self) -> None:
        """Wake everybody who waits for a change."""
        self._changed.set()
        self._changed = asyncio.Event()

    def _mark_asked(self) -> None:
        self._asked.set()
        self._asked = asyncio.Event()

    # HTTP.

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        line = f"{request.method} {request.path_qs}"
        self.requests[request.method] += 1
        async with self._seen:
            self.log.append(line)
            self._seen.notify_all()
        self._mark_asked()
        if self.token is not None and request.headers.get("authorization") != self.token:
            return _status(401, "Unauthorized", "the token is not valid")
        fault = next((f for f in self._faults if f.times and f.matches(request)), None)
        if fault is not None:
            fault.times -= 1
            if fault.after:
                with contextlib.suppress(_Refused):
                    await self._route(request)
            if fault.status == 0:
                assert request.transport is not None
                request.transport.abort()
            return _status(fault.status or 500, "", fault.message, fault.headers)
        hold = self._held(request)
        try:
            if hold is not None and not hold.after:
                hold.reached.set()
                await hold.released.wait()
            answer = await self._route(request)
            if hold is not None and hold.after:
                hold.reached.set()
                await hold.released.wait()
            return answer
        except _Refused as refused:
            return _status(refused.code, refused.reason, refused.message)

    def _held(self, request: web.Request) -> Hold | None:
        for hold in self._holds:
            if hold.matches(request):
                if hold.skip > 0:
                    hold.skip -= 1
                    continue
                self._holds.remove(hold)
                return hold
        return None

    async def _route(self, request: web.Request) -> web.StreamResponse:
        if request.method == "GET" and (found := _discovery(request.path)) is not None:
            return web.json_response(found)
        for kind in KINDS:
            if not request.path.startswith(kind.prefix + "/"):
                continue
            rest = request.path.removeprefix(kind.prefix + "/").split("/")
            namespace = ""
            if rest[0] == "namespaces" and len(rest) >= 3:
                namespace, rest = rest[1], rest[2:]
            if rest[0] != kind.plural:
                continue
            name = rest[1] if len(rest) > 1 else None
            if kind.plural == "pods" and name is not None and rest[2:] == ["log"]:
                self._must_get(kind.plural, namespace, name)
                most = int(request.query.get("limitBytes", "1000000000"))
                return web.Response(body=self.logs.get(name, b"")[:most])
            return await self._verb(request, kind, namespace, name, status=rest[2:] == ["status"])
        raise _Refused(404, "NotFound", "the server could not find the requested resource")

    async def _verb(
        self, request: web.Request, kind: Kind, namespace: str, name: str | None, *, status: bool
    ) -> web.StreamResponse:
        body = await request.json() if request.can_read_body else {}
        match request.method:
            case "GET" if name is not None:
                return web.json_response(self._must_get(kind.plural, namespace, name))
            case "GET" if request.query.get("watch") in ("1", "true"):
                return await self._watch(request, kind, namespace)
            case "GET":
                return web.json_response(self._list(request, kind, namespace))
            case "POST":
                return web.json_response(self.create(kind.plural, namespace, body), status=201)
            case "PATCH" if name is not None:
                return web.json_response(
                    self.patch(kind.plural, namespace, name, body, status=status)
                )
            case "DELETE" if name is not None:
                uid = (body.get("preconditions") or {}).get("uid")
                return web.json_response(self.delete(kind.plural, namespace, name, uid=uid))
        raise _Refused(405, "MethodNotAllowed", request.method)

    def _list(self, request: web.Request, kind: Kind, namespace: str) -> Manifest:
        items = [
            obj
            for (plural, space, _), obj in sorted(self.objects.items())
            if plural == kind.plural
            and namespace in ("", space)
            and _selected(request.query.get("labelSelector"), obj)
        ]
        limit = self.page_limit or int(request.query.get("limit", "0")) or len(items) or 1
        start = int(request.query.get("continue", "0"))
        metadata: Manifest = {"resourceVersion": str(self._latest)}
        if start + limit < len(items):
            metadata["continue"] = str(start + limit)
        return {
            "apiVersion": kind.api_version,
            "kind": f"{kind.kind}List",
            "metadata": metadata,
            "items": items[start : start + limit],
        }

    async def _watch(self, request: web.Request, kind: Kind, namespace: str) -> web.StreamResponse:
        since = int(request.query.get("resourceVersion") or 0)
        response = web.StreamResponse(headers={"content-type": "application/json"})
        await response.prepare(request)
        if since < self._oldest:
            await response.write(
                _line("ERROR", _status_object(410, "Expired", "too old resource version"))
            )
            return response
        cut = asyncio.Event()
        self._watches.add(cut)
        self.opened_watches += 1
        self._mark_asked()
        seconds = float(request.query.get("timeoutSeconds") or 3600)
        try:
            async with asyncio.timeout(seconds):
                while not cut.is_set():
                    changed = self._changed
                    for change in list(self._history):
                        if change.version <= since:
                            continue
                        if (
                            change.kind == kind.plural
                            and namespace in ("", change.namespace)
                            and _selected(request.query.get("labelSelector"), change.object)
                        ):
                            await response.write(_line(change.type, change.object))
                        since = change.version
                    if since < self._oldest:
                        await response.write(
                            _line("ERROR", _status_object(410, "Expired", "compacted"))
                        )
                        return response
                    waits = [asyncio.ensure_future(e.wait()) for e in (changed, cut)]
                    try:
                        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
                    finally:
                        for wait in waits:
                            wait.cancel()
            if request.transport is not None:  # the client may have gone first
                request.transport.abort()
        except TimeoutError:
            if request.query.get("allowWatchBookmarks"):
                mark = {"metadata": {"resourceVersion": str(since)}}
                await response.write(_line("BOOKMARK", mark))
        except ConnectionResetError:
            pass
        finally:
            self._watches.discard(cut)
        return response


class _Refused(Exception):
    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.code, self.reason, self.message = code, reason, message


def _merge(old: Any, patch: Any) -> Any:
    """RFC 7386."""
    if not isinstance(patch, dict):
        return patch
    result = dict(old) if isinstance(old, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = _merge(result.get(key), value)
    return copy.deepcopy(result)


def _selected(selector: str | None, obj: Manifest) -> bool:
    labels = obj["metadata"].get("labels") or {}
    pairs = (part.partition("=") for part in (selector or "").split(",") if part)
    return all(
        labels.get(key.rstrip("=")) == value.lstrip("=") if equals else key in labels
        for key, equals, value in pairs
    )


def _line(kind: str, obj: Manifest) -> bytes:
    # Like Go: characters above ASCII as they are, which includes U+0085.
    return json.dumps({"type": kind, "object": obj}, ensure_ascii=False).encode() + b"\n"


def _status_object(code: int, reason: str, message: str) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "Status",
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": code,
    }


def _status(
    code: int, reason: str, message: str, headers: Mapping[str, str] | None = None
) -> web.Response:
    return web.json_response(
        _status_object(code, reason, message), status=code, headers=headers or {}
    )


def _discovery(path: str) -> Manifest | None:
    """What a client asks first: groups, versions and resources."""
    groups = sorted({k.prefix.split("/")[2] for k in KINDS if k.prefix.startswith("/apis/")})
    match path.rstrip("/"):
        case "/version":
            return {"major": "1", "minor": "34", "gitVersion": "v1.34.0"}
        case "/api":
            return {"kind": "APIVersions", "versions": ["v1"]}
        case "/apis":
            return {
                "kind": "APIGroupList",
                "apiVersion": "v1",
                "groups": [_group(group) for group in groups],
            }
        case prefix if any(k.prefix == prefix for k in KINDS):
            return {
                "kind": "APIResourceList",
                "apiVersion": "v1",
                "groupVersion": prefix.removeprefix("/apis/").removeprefix("/api/"),
                "resources": [
                    resource for k in KINDS if k.prefix == prefix for resource in _resources(k)
                ],
            }
    return None


def _group(group: str) -> Manifest:
    versions = [
        {"groupVersion": k.api_version, "version": k.api_version.split("/")[1]}
        for k in KINDS
        if k.prefix.startswith(f"/apis/{group}/")
    ]
    return {"name": group, "versions": versions[:1], "preferredVersion": versions[0]}


def _resources(kind: Kind) -> list[Manifest]:
    base = {
        "namespaced": True,
        "kind": kind.kind,
        "singularName": kind.kind.lower(),
        "verbs": ["create", "delete", "get", "list", "patch", "update", "watch"],
    }
    return [
        {**base, "name": kind.plural},
        {**base, "name": f"{kind.plural}/status", "verbs": ["get", "patch", "update"]},
    ]
