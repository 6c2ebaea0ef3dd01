"""An API server on loopback that knows Pods, NetworkPolicies and exec, and does as a test says.

For what a real one does only now and then: connections that break, records that lag, refusals.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web

Manifest = dict[str, Any]

RUNNING: Manifest = {
    "phase": "Running",
    "containerStatuses": [{"name": "box", "state": {"running": {}}}],
}


def exit_status(code: int) -> bytes:
    """The frame that ends an exec with this exit code."""
    if code == 0:
        return b"\x03" + json.dumps({"status": "Success"}).encode()
    causes = [{"reason": "ExitCode", "message": str(code)}]
    status = {"status": "Failure", "reason": "NonZeroExitCode", "details": {"causes": causes}}
    return b"\x03" + json.dumps(status).encode()


def refusal(message: str) -> bytes:
    """The frame that ends an exec which was never started."""
    return b"\x03" + json.dumps({"status": "Failure", "message": message}).encode()


Handler = Callable[["FakeApi", list[str], web.WebSocketResponse], Awaitable[None]]


@dataclass
class FakeApi:
    """One server. Tests set `on_exec`, and change `pods` while commands run."""

    kubeconfig: Path
    pods: dict[str, Manifest] = field(default_factory=dict)
    policies: dict[str, Manifest] = field(default_factory=dict)
    commands: list[list[str]] = field(default_factory=list)
    started: Manifest = field(default_factory=lambda: dict(RUNNING))
    refuse: list[tuple[int, Manifest]] = field(default_factory=list)
    refuse_exec: list[int] = field(default_factory=list)
    refuse_delete: list[int] = field(default_factory=list)
    # What is deleted stays until a test removes it, as while its node is busy or silent.
    lingers: bool = False
    deletions: int = 0
    reads: int = 0
    # An exec whose path and query are longer is answered with this status.
    longest_url: int = 1 << 20
    too_long: int = 414
    on_exec: Handler | None = None
    created: asyncio.Event = field(default_factory=asyncio.Event)

    async def __aenter__(self) -> FakeApi:
        app = web.Application()
        pods = "/api/v1/namespaces/boxes/pods"
        policies = "/apis/networking.k8s.io/v1/namespaces/boxes/networkpolicies"
        app.router.add_get(pods + "/{name}/exec", self._exec)
        app.router.add_get(pods, self._list)
        for path, store in ((pods, self.pods), (policies, self.policies)):
            app.router.add_post(path, self._create(store))
            app.router.add_get(path + "/{name}", self._read(store))
            app.router.add_delete(path + "/{name}", self._delete(store))
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        port = self._runner.addresses[0][1]
        context = {"cluster": "c", "user": "u", "namespace": "boxes"}
        self.kubeconfig.write_text(
            json.dumps(
                {
                    "apiVersion": "v1",
                    "kind": "Config",
                    "current-context": "c",
                    "contexts": [{"name": "c", "context": context}],
                    "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
                    "users": [{"name": "u", "user": {"token": "t"}}],
                }
            )
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    def end(self, state: Manifest, **status: Any) -> None:
        """Let all Pods report this state of their container."""
        for pod in self.pods.values():
            statuses = [{"name": "box", "state": state}]
            pod["status"] = {"phase": "Failed", "containerStatuses": statuses, **status}

    def _create(self, store: dict[str, Manifest]) -> Any:
        async def create(request: web.Request) -> web.Response:
            body = await request.json()
            name = body["metadata"]["name"]
            if self.refuse:
                code, status = self.refuse.pop(0)
                return web.json_response(status, status=code)
            if name in store:
                return web.json_response({"reason": "AlreadyExists"}, status=409)
            body["metadata"]["uid"] = f"uid-of-{name}"
            store[name] = body
            self.created.set()
            if body["kind"] == "Pod":
                body["status"] = self.started
            return web.json_response(body, status=201)

        return create

    def _read(self, store: dict[str, Manifest]) -> Any:
        async def read(request: web.Request) -> web.Response:
            self.reads += 1
            found = store.get(request.match_info["name"])
            return web.json_response(found or {"reason": "NotFound"}, status=200 if found else 404)

        return read

    def _delete(self, store: dict[str, Manifest]) -> Any:
        async def delete(request: web.Request) -> web.Response:
            if self.refuse_delete:
                return web.Response(status=self.refuse_delete.pop(0))
            name = request.match_info["name"]
            found = store.get(name)
            self.deletions += 1
            if found and self.lingers:
                found["metadata"]["deletionTimestamp"] = "2026-01-02T03:04:05Z"
            else:
                store.pop(name, None)
            return web.json_response(found or {"reason": "NotFound"}, status=200 if found else 404)

        return delete

    async def _list(self, request: web.Request) -> web.Response:
        assert request.query["labelSelector"]
        return web.json_response({"metadata": {}, "items": list(self.pods.values())})

    async def _exec(self, request: web.Request) -> web.StreamResponse:
        if self.refuse_exec:
            return web.Response(status=self.refuse_exec.pop(0))
        if request.match_info["name"] not in self.pods:
            return web.Response(status=404)
        if len(request.raw_path) > self.longest_url:
            return web.Response(status=self.too_long)
        argv = request.query.getall("command")
        self.commands.append(argv)
        socket = web.WebSocketResponse(protocols=("v5.channel.k8s.io",))
        await socket.prepare(request)
        if self.on_exec is not None:
            await self.on_exec(self, argv, socket)
        else:
            await socket.send_bytes(exit_status(0))
        await socket.close()
        return socket
