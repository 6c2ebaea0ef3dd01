"""The shared watch: one stream for everybody, which survives what streams suffer."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest

from contract.fake_api import FakeApi
from contract.stand_in import StandIn, graded
from gradekeeper.client import (
    Connection,
    ForbiddenError,
    GradingClient,
    JobHandle,
    JobRequest,
    Judgement,
    UnavailableError,
)
from gradekeeper.client._hub import JobHub, _Heard
from gradekeeper.verdicts.model import Graded

NS = "grading"
JOBS = "gradingjobs"
LONG = 20.0


async def submitted(client: GradingClient, count: int) -> list[JobHandle]:
    return [
        await client.submit(JobRequest(suite="s", submission=b"x", nonce=f"n{n}"))
        for n in range(count)
    ]


def finish(api: FakeApi, stand_in: StandIn, handle: JobHandle) -> None:
    job = api.get(JOBS, NS, handle.name)
    assert job is not None
    api.set_status(JOBS, NS, handle.name, stand_in.status(job, graded("P")))


def waits(client: GradingClient, handles: list[JobHandle]) -> list[asyncio.Task[Judgement]]:
    return [asyncio.create_task(client.wait(h, patience=LONG)) for h in handles]


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"ADDED","object":' + b"[" * 100_000,
        b'{"type":"ERROR","object":{"code":' + b"9" * 5_000 + b"}}",
        b'{"type":"ADDED","object":{"metadata":[]}}',
        b"\xff",
    ],
)
def test_a_line_that_is_no_event_is_the_servers(line: bytes) -> None:
    hub = JobHub(cast(Connection, None), NS)
    with pytest.raises(UnavailableError, match="what is no event"):
        hub._event(line, _Heard())


async def test_many_waits_share_one_watch_and_do_not_poll(
    client: GradingClient, api: FakeApi, stand_in: StandIn
) -> None:
    handles = await submitted(client, 30)
    tasks = waits(client, handles)
    await api.wait_for_request("watch=1")
    for handle in handles:
        await api.wait_for_request(
            f"GET /apis/gradekeeper.dev/v1alpha1/namespaces/{NS}/{JOBS}/{handle.name}"
        )
    for handle in handles:
        finish(api, stand_in, handle)
    judgements = await asyncio.gather(*tasks)
    assert [j.handle for j in judgements] == handles
    assert sum("watch=1" in line for line in api.log) == 1
    # One list, one watch, and one look at each job: nothing else is read.
    assert api.requests["GET"] == 2 + 30


@pytest.mark.parametrize("trouble", ["cut", "compacted", "refused", "garbage"])
async def test_a_watch_survives(
    client: GradingClient,
    api: FakeApi,
    stand_in: StandIn,
    trouble: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    [handle] = await submitted(client, 1)
    [task] = waits(client, [handle])
    await api.wait_for_request("watch=1")
    match trouble:
        case "cut":
            finish(api, stand_in, handle)
            api.cut_watches()
        case "compacted":
            api.fail("GET", f"/{JOBS}", 0, watch=True)
            api.cut_watches()
            api.create("configmaps", NS, {"metadata": {"name": "moves the version"}})
            finish(api, stand_in, handle)
            api.compact()
        case "refused":
            for status in (500, 503, 429, 0):
                api.fail("GET", f"/{JOBS}", status, watch=True)
            api.cut_watches()
            await api.wait_for_request("watch=1", count=5)
            finish(api, stand_in, handle)
        case "garbage":
            import contract.fake_api as fake

            line = fake._line
            monkeypatch.setattr(fake, "_line", lambda kind, obj: line(kind, obj)[:40] + b"\n")
            finish(api, stand_in, handle)
            await api.wait_for_request("watch=1", count=2)
            monkeypatch.undo()
    assert isinstance((await task).verdict, Graded)
    # Only lost history costs a list; the other streams go on from where they were.
    lists = sum("limit=500" in line for line in api.log)
    assert lists == (2 if trouble == "compacted" else 1)


async def test_a_verdict_during_a_gap_is_seen_by_the_list_after_it(
    client: GradingClient, api: FakeApi, stand_in: StandIn
) -> None:
    [handle] = await submitted(client, 1)
    [task] = waits(client, [handle])
    await api.wait_for_request("watch=1")
    api.fail("GET", f"/{JOBS}", 410, watch=True)
    api.cut_watches()
    finish(api, stand_in, handle)
    api.compact()
    assert isinstance((await task).verdict, Graded)
    assert sum("limit=500" in line for line in api.log) == 2


async def test_a_deletion_during_a_gap_is_seen_by_the_list_after_it(
    client: GradingClient, api: FakeApi
) -> None:
    [handle] = await submitted(client, 1)
    [task] = waits(client, [handle])
    await api.wait_for_request("watch=1")
    api.fail("GET", f"/{JOBS}", 410, watch=True)
    api.cut_watches()
    api.delete(JOBS, NS, handle.name)
    api.compact()
    with pytest.raises(Exception, match="deleted before its verdict"):
        await task


async def test_a_long_list_comes_in_pages(
    client: GradingClient, api: FakeApi, stand_in: StandIn
) -> None:
    api.page_limit = 3
    handles = await submitted(client, 10)
    tasks = waits(client, handles)
    await api.wait_for_request("watch=1")
    assert sum("limit=500" in line for line in api.log) == 4
    for handle in handles:
        finish(api, stand_in, handle)
    await asyncio.gather(*tasks)


async def test_a_missing_right_ends_every_wait_at_once(client: GradingClient, api: FakeApi) -> None:
    handles = await submitted(client, 3)
    api.fail("GET", f"/{JOBS}", 403, times=99, watch=True)
    results = await asyncio.gather(*waits(client, handles), return_exceptions=True)
    assert [type(result) for result in results] == [ForbiddenError] * 3


async def test_the_watch_starts_again_after_it_failed(
    client: GradingClient, api: FakeApi, stand_in: StandIn
) -> None:
    first, second = await submitted(client, 2)
    api.fail("GET", f"/{JOBS}", 403, watch=True)
    with pytest.raises(ForbiddenError):
        await client.wait(first, patience=LONG)
    [task] = waits(client, [second])
    await api.wait_for_request("watch=1", count=2)
    finish(api, stand_in, second)
    assert isinstance((await task).verdict, Graded)


async def test_characters_that_some_call_line_ends_do_not_tear_an_event(
    client: GradingClient, api: FakeApi, stand_in: StandIn
) -> None:
    [handle] = await submitted(client, 1)
    [task] = waits(client, [handle])
    await api.wait_for_request("watch=1")
    api.patch(JOBS, NS, handle.name, {"metadata": {"annotations": {"a": "x\u0085y\u2028z"}}})
    finish(api, stand_in, handle)
    await task
    assert sum("watch=1" in line for line in api.log) == 1


async def test_follow_shows_all_jobs_at_once_and_after_each_change(
    client: GradingClient, api: FakeApi, stand_in: StandIn
) -> None:
    [handle] = await submitted(client, 1)
    seen = []
    async for jobs in client.follow():
        seen.append({name: "status" in job for name, job in jobs.items()})
        if len(seen) == 1:
            await api.wait_for_request("watch=1")
            finish(api, stand_in, handle)
        if seen[-1] == {handle.name: True}:
            break
    assert seen[0] == {handle.name: False}


async def test_an_idle_connection_is_left_open_when_it_was_given(
    connection: Connection, api: FakeApi
) -> None:
    async with GradingClient(connection=connection):
        pass
    assert connection.is_open
