"""What strangers may have written into objects of a cluster stops no command."""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
import tracemalloc
from typing import Any, cast

import pytest

from gradekeeper.api.status import GradingJobStatus
from gradekeeper.cli._cluster import test_ids as read_test_ids
from gradekeeper.cli._errors import CliError
from gradekeeper.cli._explain import _signature
from gradekeeper.cli._logs import read_event, signed_digest, unpack_log
from gradekeeper.client import GradingClient

DEEP = b"[" * 150_000
DIGITS = b"9" * 5_000
JSON = [
    DEEP,
    b'{"tasks":' + DEEP,
    b'{"tasks":{"":' + DIGITS + b"}}",
    b'{"tasks":{"":["a"]},"tasks":{"":["b"]}}',
    b'{"tasks":{"":[NaN]}}',
    b'{"tasks":{"":["\\ud800"]}}',
    b'{"tasks":{"":7}}',
    b"[]",
    b"\xff",
    b"",
]


class Client:
    def __init__(self, packed: bytes) -> None:
        self.packed = packed

    async def read_index(self, suite: str) -> bytes:
        return self.packed


def ids_of(packed: bytes) -> list[str] | None:
    job = {"spec": {"suiteRef": {"name": "s"}}, "status": {"verdict": {"outcomes": "P"}}}
    return asyncio.run(read_test_ids(cast(GradingClient, Client(packed)), job))


def test_an_index_is_read() -> None:
    assert ids_of(gzip.compress(b'{"tasks":{"":["a/b"]}}')) == ["a/b"]


@pytest.mark.parametrize("text", JSON, ids=range(len(JSON)))
def test_an_index_that_is_none_is_no_index(text: bytes) -> None:
    assert ids_of(gzip.compress(text)) is None


def test_an_index_that_never_ends_costs_its_bound() -> None:
    packed = gzip.compress(bytes(512 << 20), 1)
    tracemalloc.start()
    try:
        assert ids_of(packed) is None
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 64 << 20


def secret(data: object, **notes: str) -> dict[str, Any]:
    annotations = {
        "gradekeeper.dev/log-bytes": "1",
        "gradekeeper.dev/log-digest": "d",
        **notes,
    }
    return {"metadata": {"name": "n", "annotations": annotations}, "data": {"log.gz": data}}


@pytest.mark.parametrize(
    "given",
    [
        secret(base64.b64encode(gzip.compress(bytes(300 << 20), 1)).decode()),
        secret(base64.b64encode(gzip.compress(b"") * 9_999).decode()),
        secret(
            base64.b64encode(gzip.compress(b"")).decode(),
            **{"gradekeeper.dev/log-bytes": "9" * 5_000},
        ),
        secret(7),
        {"metadata": None},
        {},
    ],
    ids=range(6),
)
def test_a_secret_that_is_no_log_is_said_to_be_none(given: dict[str, Any]) -> None:
    with pytest.raises(CliError, match="does not hold a detail log"):
        unpack_log(given)


@pytest.mark.parametrize(
    "line", ["[" * 150_000, '{"event":' + "9" * 5_000 + "}", '{"event":"a","event":"b"}', "\ud800"]
)
def test_a_line_that_is_no_event_is_shown_as_it_is(line: str) -> None:
    assert read_event(line) == {"event": "unreadable", "text": line}


def attested(envelope: object) -> GradingJobStatus:
    text = envelope if isinstance(envelope, bytes) else json.dumps(envelope).encode()
    attestation = base64.b64encode(text).decode()
    return GradingJobStatus.model_construct(attestation=attestation)


def payload(text: bytes) -> dict[str, str]:
    return {"payload": base64.b64encode(text).decode()}


ENVELOPES: list[object] = [
    DEEP[:140_000],
    payload(DEEP[:100_000]),
    payload(b'{"predicate":' + DIGITS + b"}"),
    payload(b'{"predicate":{"log":NaN,"isolation":NaN}}'),
    payload(b'{"predicate":[]}'),
    {"payload": 7},
    {"payload": "x" * 200_000},
    [],
]


@pytest.mark.parametrize("envelope", ENVELOPES, ids=range(len(ENVELOPES)))
def test_an_attestation_that_is_none_says_nothing(envelope: object) -> None:
    status = attested(envelope)
    assert signed_digest(status) is None
    assert len(_signature(status, verified=False)) == 1
