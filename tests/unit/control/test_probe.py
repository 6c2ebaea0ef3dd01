"""The probe port, and what may be vouched for."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from gradekeeper.control.probe import (
    STALL_SECONDS,
    ProbePort,
    Served,
    ServingRecord,
    load_served,
    save_served,
)

HERE = ("10.0.0.7", 8444)


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def record(clock: Clock) -> ServingRecord:
    made = ServingRecord(*HERE, clock=clock, margin=2.0)
    made.opened()
    return made


@pytest.mark.parametrize(
    ("probed_at", "vouched"),
    [(1_001.9, False), (1_002.0, True), (1_009.0, True), (1_012.0, True), (1_013.0, False)],
)
def test_the_listener_must_have_been_up_before_and_until(
    record: ServingRecord, clock: Clock, probed_at: float, vouched: bool
) -> None:
    clock.now += 10
    assert record.vouches(*HERE, probed_at) is vouched


def test_another_address_or_port_is_not_vouched_for(record: ServingRecord, clock: Clock) -> None:
    clock.now += 10
    assert not record.vouches("10.0.0.8", 8444, 1_005)
    assert not record.vouches("10.0.0.7", 8445, 1_005)
    assert not record.may_vouch("10.0.0.8", 8444)
    assert record.may_vouch(*HERE)


def test_a_late_loop_is_no_gap_but_a_stopped_process_is(
    record: ServingRecord, clock: Clock
) -> None:
    clock.now += STALL_SECONDS
    record.beat()
    assert record.vouches(*HERE, 1_010)
    clock.now += STALL_SECONDS + 1
    record.beat()
    assert not record.vouches(*HERE, 1_045)
    assert record.vouches(*HERE, 1_010), "what was certain stays certain"


def test_a_clock_that_goes_back_ends_the_interval(record: ServingRecord, clock: Clock) -> None:
    clock.now += 20
    record.beat()
    clock.now -= 15
    record.beat()
    assert len(record.intervals()) == 2


def test_a_gap_between_two_processes_is_not_vouched_for(clock: Clock) -> None:
    earlier = [Served(*HERE, 900.0, 950.0)]
    record = ServingRecord(*HERE, earlier=earlier, clock=clock, margin=2.0)
    record.opened()
    clock.now += 10
    assert record.vouches(*HERE, 940.0)
    assert record.vouches(*HERE, 950.0)
    assert not record.vouches(*HERE, 951.0)
    assert not record.vouches(*HERE, 1_001.0)


def test_a_closed_listener_vouches_up_to_its_last_beat(record: ServingRecord, clock: Clock) -> None:
    clock.now += 10
    record.beat()
    record.closed()
    assert record.vouches(*HERE, 1_010.0)
    assert not record.vouches(*HERE, 1_010.5)


def test_the_file_keeps_intervals_and_a_damaged_one_none(tmp_path: Path) -> None:
    path = tmp_path / "served.json"
    assert load_served(path) == []
    served = [Served(*HERE, 1.0, 2.0), Served("::1", 1, 3.0, 4.0)]
    save_served(path, served)
    assert load_served(path) == served
    for damage in ("", "{", "[[1]]", '{"a":1}', "null"):
        path.write_text(damage)
        assert load_served(path) == []


async def test_the_port_accepts_and_closes(tmp_path: Path) -> None:
    state = tmp_path / "served.json"
    record = ServingRecord("127.0.0.1", 0, margin=0.0)
    port = ProbePort(record, state, "127.0.0.1")
    opened = asyncio.Event()
    task = asyncio.create_task(port.run(opened))
    async with asyncio.timeout(5):
        await opened.wait()
        reader, writer = await asyncio.open_connection("127.0.0.1", port.bound_port)
        assert await reader.read() == b""
        writer.close()
        await writer.wait_closed()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert len(load_served(state)) == 1
