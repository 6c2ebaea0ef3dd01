"""Detail logs: what becomes of one, and that no Pod waits for one for long."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import gzip
import hashlib
import random
from collections.abc import AsyncIterator

import pytest

from contract.fake_api import FakeApi, Manifest
from gradekeeper.control import detaillog
from gradekeeper.control.cluster import Cluster
from gradekeeper.control.connection import Connection
from gradekeeper.control.detaillog import Finished, LogKeeper, build_log_secret, pack_log
from gradekeeper.control.metrics import Metrics

NS = "grading"
TEXT = b"".join(b'{"event": "run", "at": %d.25, "text": "ok"}\n' % n for n in range(50))


def finished(number: int = 1) -> Finished:
    return Finished(NS, "one", "uid-1", 1, f"one-abc-{number}", f"pod-{number}")


def noise(lines: int) -> bytes:
    """A log that does not compress well."""
    source = random.Random(7)
    return b"".join(source.randbytes(60).hex().encode() + b"\n" for _ in range(lines))


def test_a_log_is_kept_whole_where_it_fits() -> None:
    secret = build_log_secret(finished(), TEXT, 64 * 1024)
    assert gzip.decompress(base64.b64decode(secret["data"]["log.jsonl.gz"])) == TEXT
    meta = secret["metadata"]
    digest = "sha256:" + hashlib.sha256(TEXT).hexdigest()
    assert meta["annotations"] == {
        "gradekeeper.dev/log-digest": digest,
        "gradekeeper.dev/log-bytes": str(len(TEXT)),
    }
    assert meta["name"] == "one-abc-1-log" and meta["namespace"] == NS
    (owner,) = meta["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["uid"]) == ("GradingJob", "one", "uid-1")
    assert secret["immutable"] is True and secret["type"] == "gradekeeper.dev/detail-log"
    assert build_log_secret(finished(), TEXT, 64 * 1024) == secret, "the same bytes every time"


@pytest.mark.parametrize("lines", [30, 300, 4000])
def test_a_longer_log_is_cut_after_a_line_but_its_digest_is_that_of_the_whole(lines: int) -> None:
    text = noise(lines)
    packed = pack_log(text, 1024)
    assert len(packed) <= 1024
    kept = gzip.decompress(packed)
    assert kept and text.startswith(kept) and kept.endswith(b"\n") and len(kept) < len(text)
    notes = build_log_secret(finished(), text, 1024)["metadata"]["annotations"]
    assert notes["gradekeeper.dev/log-digest"].endswith(hashlib.sha256(text).hexdigest())


def test_a_line_that_alone_is_too_long_is_left_out() -> None:
    assert gzip.decompress(pack_log(noise(100).replace(b"\n", b"") + b"\n", 1024)) == b""


@contextlib.asynccontextmanager
async def a_keeper(api: FakeApi, jobs: set[str]) -> AsyncIterator[tuple[LogKeeper, asyncio.Queue]]:
    """A keeper that runs, and the jobs that it tells of."""
    metrics = Metrics()
    cluster = Cluster(Connection(server=api.url), metrics)
    told: asyncio.Queue[str] = asyncio.Queue()
    keeper = LogKeeper(
        cluster, metrics, max_bytes=4096, has_job=jobs.__contains__, done=told.put_nowait
    )
    running = asyncio.create_task(keeper.work())
    try:
        yield keeper, told
    finally:
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running
        await cluster.close()


def a_pod(api: FakeApi, name: str) -> Manifest:
    return api.create("pods", NS, {"metadata": {"name": name}, "spec": {}})


async def test_the_pod_may_go_once_its_log_is_put_away() -> None:
    async with FakeApi().running() as api, a_keeper(api, {"uid-1"}) as (keeper, told):
        a_pod(api, "one-abc-1")
        api.logs["one-abc-1"] = TEXT
        assert keeper.is_done(finished()) is False
        assert keeper.is_done(finished()) is False, "asked for once"
        assert await told.get() == "uid-1"
        assert keeper.is_done(finished()) is True
        secret = api.get("secrets", NS, "one-abc-1-log")
        assert secret is not None
        assert gzip.decompress(base64.b64decode(secret["data"]["log.jsonl.gz"])) == TEXT
        (read,) = [line for line in api.log if "/log?" in line]
        assert "container=referee" in read and "limitBytes=262144" in read
        assert not [line for line in api.log if "GET" in line and "secrets" in line]
        keeper.forget("pod-1")
        # Another life of the operator finds it there already.
        assert keeper.is_done(finished()) is False
        await told.get()
        assert keeper.is_done(finished()) is True


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/log", 500), ("GET", "/log", 429), ("GET", "/log", 403), ("POST", "/secrets", 403)],
)
async def test_a_log_that_cannot_be_kept_is_lost_and_the_pod_goes(
    method: str, path: str, status: int
) -> None:
    async with FakeApi().running() as api, a_keeper(api, {"uid-1"}) as (keeper, told):
        a_pod(api, "one-abc-1")
        api.fail(method, path, status)
        keeper.is_done(finished())
        await told.get()
        assert keeper.is_done(finished()) is True
        assert api.get("secrets", NS, "one-abc-1-log") is None


async def test_a_node_that_does_not_answer_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(detaillog, "PATIENCE_SECONDS", 0.05)
    async with FakeApi().running() as api, a_keeper(api, {"uid-1"}) as (keeper, told):
        a_pod(api, "one-abc-1")
        hold = api.hold("GET", "/log", after=False)
        keeper.is_done(finished())
        async with asyncio.timeout(5):
            await told.get()
        assert keeper.is_done(finished()) is True
        hold.released.set()


async def test_no_log_is_put_away_for_a_job_that_is_gone() -> None:
    async with FakeApi().running() as api, a_keeper(api, set()) as (keeper, told):
        a_pod(api, "one-abc-1")
        keeper.is_done(finished())
        await told.get()
        assert api.get("secrets", NS, "one-abc-1-log") is None


async def test_too_many_logs_at_once_are_not_read() -> None:
    metrics = Metrics()
    cluster = Cluster(Connection(server="http://127.0.0.1:1"), metrics)
    keeper = LogKeeper(cluster, metrics, max_bytes=4096, has_job=bool, done=bool)
    waiting = [keeper.is_done(finished(number)) for number in range(detaillog.BACKLOG + 1)]
    await cluster.close()
    assert waiting == [False] * detaillog.BACKLOG + [True]
    dropped = metrics.registry.get_sample_value(
        "gradekeeper_detail_logs_total", {"outcome": "dropped"}
    )
    assert dropped == 1.0
