"""The signing key: made once, never replaced, readable by nobody else."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from gradekeeper.control.errors import Forbidden, Retryable, SettingsError
from gradekeeper.control.keyring import (
    PRIVATE,
    PUBLIC,
    Objects,
    ensure_private_key,
    patiently,
    publish_public_key,
    store,
)
from gradekeeper.verdicts.signing import SigningKey, generate_key

SECRET = "/api/v1/namespaces/own/secrets/key"
CONFIG_MAP = "/api/v1/namespaces/own/configmaps/pub"


class Server:
    """Two objects with versions; a merge patch under a stale version answers 409."""

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, Any]] = {
            path: {"metadata": {"resourceVersion": "1"}} for path in (SECRET, CONFIG_MAP)
        }
        self.patches: list[str] = []
        self.rival: bytes | None = None
        self.forbidden = False

    def __call__(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path
        if self.forbidden:
            return httpx.Response(403, json={"reason": "Forbidden", "message": "no"})
        if path not in self.objects:
            return httpx.Response(404, json={"reason": "NotFound"})
        if request.method == "PATCH":
            if self.rival is not None and path == SECRET:
                self.put(path, PRIVATE, self.rival)
                self.rival = None
            body = json.loads(request.content)
            wanted = body.get("metadata", {}).get("resourceVersion")
            if wanted not in (None, self.objects[path]["metadata"]["resourceVersion"]):
                return httpx.Response(409, json={"reason": "Conflict"})
            self.patches.append(path)
            for name, value in body["data"].items():
                self.set(path, name, value)
        return httpx.Response(200, json=self.objects[path])

    def put(self, path: str, name: str, value: bytes) -> None:
        self.set(path, name, base64.b64encode(value).decode())

    def set(self, path: str, name: str, value: str) -> None:
        found = self.objects[path]
        found["metadata"]["resourceVersion"] += "1"
        found.setdefault("data", {})[name] = value

    @property
    def client(self) -> Objects:
        transport = httpx.MockTransport(self)
        return Objects(httpx.Client(base_url="https://cluster", transport=transport))


def test_the_first_start_makes_a_key_and_later_ones_take_it() -> None:
    server = Server()
    first = ensure_private_key(server.client, SECRET, may_create=True)
    assert SigningKey.from_pem(first).keyid
    assert ensure_private_key(server.client, SECRET, may_create=True) == first
    assert server.patches == [SECRET]


def test_of_two_that_start_together_one_wins() -> None:
    server = Server()
    server.rival, _ = generate_key()
    rival = server.rival
    assert ensure_private_key(server.client, SECRET, may_create=True) == rival
    assert server.patches == []


def test_a_brought_secret_is_never_filled() -> None:
    server = Server()
    with pytest.raises(SettingsError, match=r"no private\.pem"):
        ensure_private_key(server.client, SECRET, may_create=False)
    assert server.patches == []


def test_a_damaged_secret_is_not_replaced() -> None:
    server = Server()
    server.set(SECRET, PRIVATE, "!")
    with pytest.raises(SettingsError, match="not base64"):
        ensure_private_key(server.client, SECRET, may_create=True)
    assert server.patches == []


def test_the_public_key_is_written_only_when_it_differs() -> None:
    server = Server()
    _, public = generate_key()
    publish_public_key(server.client, CONFIG_MAP, public)
    publish_public_key(server.client, CONFIG_MAP, public)
    assert server.objects[CONFIG_MAP]["data"] == {PUBLIC: public.decode()}
    assert server.patches == [CONFIG_MAP]


def test_a_refusal_is_final_and_an_outage_is_not() -> None:
    server = Server()
    server.forbidden = True
    with pytest.raises(Forbidden):
        patiently(lambda: ensure_private_key(server.client, SECRET, may_create=True))
    now = [0.0]
    calls = []

    def fails_twice() -> bytes:
        calls.append(now[0])
        if len(calls) < 3:
            raise Retryable("down")
        return b"key"

    def sleep(seconds: float) -> None:
        now[0] += seconds

    assert patiently(fails_twice, clock=lambda: now[0], pause=sleep) == b"key"
    assert calls == [0.0, 1.0, 2.0]


def test_an_outage_ends_after_a_minute() -> None:
    now = [0.0]

    def down() -> bytes:
        raise Retryable("down")

    def sleep(seconds: float) -> None:
        now[0] += seconds

    with pytest.raises(Retryable):
        patiently(down, clock=lambda: now[0], pause=sleep)
    assert now[0] == 60.0


def test_the_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    out = tmp_path / "private.pem"
    store(b"one", out)
    store(b"two", out)
    assert out.read_bytes() == b"two"
    assert out.stat().st_mode & 0o777 == 0o400
    assert [path.name for path in tmp_path.iterdir()] == ["private.pem"]
