"""The queue: coalescing, order, delays, one run of a key at a time."""

from __future__ import annotations

import asyncio

from gradekeeper.control.queue import KeyedQueue, Urgency


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


async def take(queue: KeyedQueue[str]) -> str | None:
    async with asyncio.timeout(1):
        return await queue.get()


async def test_requests_for_a_ready_key_coalesce() -> None:
    queue: KeyedQueue[str] = KeyedQueue(Clock())
    queue.add("a")
    queue.add("a")
    assert await take(queue) == "a"
    queue.done("a")
    assert queue.idle


async def test_what_happens_during_a_run_leads_to_exactly_one_more() -> None:
    queue: KeyedQueue[str] = KeyedQueue(Clock())
    queue.add("a")
    await take(queue)
    queue.add("a")
    queue.add("a")
    assert len(queue) == 0, "a key never runs twice at a time"
    queue.done("a")
    assert await take(queue) == "a"
    queue.done("a")
    assert queue.idle


async def test_progress_goes_before_admission_and_both_are_in_order() -> None:
    queue: KeyedQueue[str] = KeyedQueue(Clock())
    for key in ("new-1", "new-2"):
        queue.add(key, Urgency.ADMISSION)
    for key in ("run-1", "run-2"):
        queue.add(key)
    assert [await take(queue) for _ in range(4)] == ["run-1", "run-2", "new-1", "new-2"]


async def test_a_waiting_key_becomes_more_urgent_never_less() -> None:
    queue: KeyedQueue[str] = KeyedQueue(Clock())
    queue.add("other", Urgency.ADMISSION)
    queue.add("a", Urgency.ADMISSION)
    queue.add("a", Urgency.PROGRESS)
    queue.add("a", Urgency.ADMISSION)
    assert await take(queue) == "a"


async def test_of_delays_the_earliest_counts() -> None:
    clock = Clock()
    queue: KeyedQueue[str] = KeyedQueue(clock)
    queue.add_after("a", 10)
    queue.add_after("a", 5)
    queue.add_after("a", 20)
    assert queue.delayed == 1
    clock.now += 5
    assert await take(queue) == "a"
    queue.done("a")
    clock.now += 100
    queue.add("b")
    assert await take(queue) == "b"
    assert len(queue) == 0, "the later requests are gone"


async def test_a_delay_ends_on_a_real_clock() -> None:
    queue: KeyedQueue[str] = KeyedQueue()
    queue.add_after("a", 0.01)
    assert await take(queue) == "a"


async def test_an_earlier_delay_wakes_who_waits_for_a_later_one() -> None:
    queue: KeyedQueue[str] = KeyedQueue()
    queue.add_after("late", 60)
    taking = asyncio.ensure_future(take(queue))
    await asyncio.sleep(0)
    queue.add_after("soon", 0.01)
    assert await taking == "soon"


async def test_the_oldest_age_counts_what_waits_and_what_runs() -> None:
    clock = Clock()
    queue: KeyedQueue[str] = KeyedQueue(clock)
    assert queue.oldest_age() == 0
    queue.add("a")
    clock.now += 7
    assert queue.oldest_age() == 7
    await take(queue)
    clock.now += 3
    assert queue.oldest_age() == 3


async def test_forgetting_drops_every_request() -> None:
    clock = Clock()
    queue: KeyedQueue[str] = KeyedQueue(clock)
    queue.add("a")
    queue.add_after("a", 1)
    queue.forget("a")
    clock.now += 2
    queue.add("b")
    assert await take(queue) == "b"
    assert len(queue) == 0


async def test_closing_ends_every_worker() -> None:
    queue: KeyedQueue[str] = KeyedQueue(Clock())
    workers = [asyncio.ensure_future(take(queue)) for _ in range(3)]
    await asyncio.sleep(0)
    queue.close()
    assert await asyncio.gather(*workers) == [None] * 3
