"""One connection to each API server per event loop, shared by all boxes of a process."""

from __future__ import annotations

import asyncio
import functools
import weakref
from typing import Any, ClassVar

import aiohttp

from gradekeeper.client import Connection, NotFoundError, load_settings

Manifest = dict[str, Any]
_Key = tuple[str | None, str | None]


class Cluster:
    """Requests and websockets to one API server. `acquire` and `release` count the users."""

    _all: ClassVar[weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, dict[_Key, Cluster]]] = (
        weakref.WeakKeyDictionary()
    )

    def __init__(self, key: _Key) -> None:
        self._key = key
        self._users = 0
        self._ready = asyncio.Lock()
        self._websockets: aiohttp.ClientSession | None = None
        self.connection = Connection(
            functools.partial(load_settings, kubeconfig=key[0], context=key[1])
        )

    @classmethod
    async def acquire(cls, kubeconfig: str | None, context: str | None) -> Cluster:
        """Return the open cluster of these settings; each call needs one `release`.

        Raises:
            ConfigurationError: There are no usable settings.
        """
        registry = cls._all.setdefault(asyncio.get_running_loop(), {})
        key = (kubeconfig, context)
        shared = registry.setdefault(key, cls(key))
        shared._users += 1
        try:
            async with shared._ready:
                if not shared.connection.is_open:
                    await shared.connection.__aenter__()
        except BaseException:
            await shared.release()
            raise
        return shared

    async def release(self) -> None:
        """Give it back; the last user closes its sockets."""
        self._users -= 1
        if self._users:
            return
        registry = self._all.get(asyncio.get_running_loop(), {})
        if registry.get(self._key) is self:
            del registry[self._key]
        if self._websockets is not None:
            await self._websockets.close()
        await self.connection.aclose()

    @property
    def websockets(self) -> aiohttp.ClientSession:
        """The session of all websockets: each exec holds a connection, and none waits for one."""
        if self._websockets is None:
            self._websockets = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=15),
            )
        return self._websockets

    async def read_pod(self, namespace: str, name: str) -> Manifest | None:
        """Return the Pod, or None if there is none."""
        try:
            return await self.connection.request("GET", pods_path(namespace, name))
        except NotFoundError:
            return None


def pods_path(namespace: str, name: str = "") -> str:
    """Return the API's path of a namespace's Pods, or of one of them."""
    return f"/api/v1/namespaces/{namespace}/pods" + (f"/{name}" if name else "")


def policies_path(namespace: str, name: str = "") -> str:
    """Return the API's path of a namespace's NetworkPolicies, or of one of them."""
    base = f"/apis/networking.k8s.io/v1/namespaces/{namespace}/networkpolicies"
    return base + (f"/{name}" if name else "")
