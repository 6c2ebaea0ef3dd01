"""An HTTP server on loopback that answers as a test says."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer


@dataclass(frozen=True)
class Asked:
    """One request."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Any


Answer = Callable[[Asked], tuple[int, Mapping[str, object], Mapping[str, str]] | None]
"""Request to (status, JSON, headers); None cuts the line."""


@contextlib.asynccontextmanager
async def answering(answer: Answer) -> AsyncIterator[tuple[str, list[Asked]]]:
    """Serve until left; gives the URL and the requests as they come."""
    asked: list[Asked] = []

    async def handle(request: web.Request) -> web.Response:
        body = await request.json() if request.can_read_body else None
        one = Asked(request.method, request.path, request.query, request.headers, body)
        asked.append(one)
        found = answer(one)
        if found is None:
            assert request.transport is not None
            request.transport.abort()
            return web.Response()
        status, document, headers = found
        return web.json_response(document, status=status, headers=headers)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handle)
    async with TestServer(app) as server:
        yield str(server.make_url("/")).rstrip("/"), asked
