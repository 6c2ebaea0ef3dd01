"""Events, health and logs: what people and probes see."""

from __future__ import annotations

import asyncio
import json
import logging
from datetime import UTC, datetime

import kopf
import pytest

from gradekeeper.control.cluster import Cluster
from gradekeeper.control.connection import Connection
from gradekeeper.control.handlers import build_settings
from gradekeeper.control.health import HealthServer, Vitals, failing
from gradekeeper.control.logs import JsonFormatter
from gradekeeper.control.metrics import Metrics
from gradekeeper.control.recorder import Note, Recorder, build_event
from unit.control.answering import Asked, answering

NOTE = Note("GradingJob", "grading", "one", "uid-1", "Warning", "PodLost", "Sentence.", "1")
WELL = Vitals(True, 10, 10_000, 1, 0.01)


def test_an_event_says_what_happened_to_whom() -> None:
    event = build_event(NOTE, "gradekeeper.dev/v1alpha1", "host", datetime(2026, 1, 2, tzinfo=UTC))
    assert event["involvedObject"]["uid"] == "uid-1"
    assert (event["type"], event["reason"], event["message"]) == ("Warning", "PodLost", "Sentence.")
    assert event["firstTimestamp"] == "2026-01-02T00:00:00Z"


async def test_the_same_transition_is_posted_once() -> None:
    arrived = asyncio.Event()
    posted: list[Asked] = []

    def answer(request: Asked) -> tuple[int, dict[str, object], dict[str, str]]:
        posted.append(request)
        if len(posted) == 2:
            arrived.set()
        return 201, {}, {}

    async with answering(answer) as (url, _):
        cluster = Cluster(Connection(server=url), Metrics())
        recorder = Recorder(cluster, Metrics(), api_version="v", instance="i")
        for note in (NOTE, NOTE, NOTE._replace(dedup="2")):
            recorder.post(note)
        task = asyncio.create_task(recorder.run())
        async with asyncio.timeout(5):
            await arrived.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await cluster.close()
    assert len(posted) == 2
    assert {request.path for request in posted} == {"/api/v1/namespaces/grading/events"}


@pytest.mark.parametrize(
    ("vitals", "wrong"),
    [
        (WELL, []),
        (Vitals(True, 301, 0, 0, 0), ["relist_age"]),
        (Vitals(True, 0, 0, 301, 0), ["oldest_key_age"]),
        (Vitals(True, 0, 0, 0, 31), ["loop_lag"]),
    ],
    ids=["well", "relist", "queue", "loop"],
)
def test_liveness_is_more_than_an_answer(vitals: Vitals, wrong: list[str]) -> None:
    assert failing(vitals, 300) == wrong


async def test_the_health_port_answers_and_survives_nonsense() -> None:
    vitals = WELL
    server = HealthServer(0, lambda: vitals, Metrics(), 300, "127.0.0.1")
    opened = asyncio.Event()
    task = asyncio.create_task(server.run(opened))

    async def ask(text: bytes) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(text)
        writer.write_eof()
        answer = await reader.read()
        writer.close()
        await writer.wait_closed()
        return answer

    async with asyncio.timeout(10):
        await opened.wait()
        assert (await ask(b"GET /healthz HTTP/1.1\r\n\r\n")).startswith(b"HTTP/1.1 200")
        assert await ask(b"\x00\xff") == b""
        assert (await ask(b"GET /else HTTP/1.1\r\n\r\n")).startswith(b"HTTP/1.1 404")
        assert b"gradekeeper_queue_depth" in await ask(b"GET /metrics HTTP/1.1\r\n\r\n")
        vitals = Vitals(True, 1_000, 0, 0, 0)
        assert (await ask(b"GET /healthz HTTP/1.1\r\n\r\n")).startswith(b"HTTP/1.1 503")
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def test_a_log_line_is_one_json_object() -> None:
    record = logging.LogRecord("x", logging.INFO, "f", 1, "pod_created", None, None)
    record.fields = {"pod": "a\nb", "when": datetime(2026, 1, 2, tzinfo=UTC)}
    line = JsonFormatter().format(record)
    assert "\n" not in line
    assert json.loads(line)["pod"] == "a\nb"


def test_kopf_watches_only_our_pods_and_writes_nothing_of_its_own() -> None:
    settings = build_settings()
    resource = kopf.Resource(group="", version="v1", plural="pods")
    selectors = settings.watching.label_selectors.collect(resource)
    assert selectors == ["app.kubernetes.io/managed-by=gradekeeper"]
    other = kopf.Resource(group="gradekeeper.dev", version="v1alpha1", plural="gradingjobs")
    assert settings.watching.label_selectors.collect(other) == []
    assert settings.posting.enabled is False
    assert settings.queueing.worker_limit is None
    assert settings.scanning.disabled is True
    timeout = settings.watching.server_timeout
    assert type(timeout) is int, "the API server refuses a fraction"
