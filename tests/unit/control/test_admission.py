"""Slots: never more than the limit, oldest first."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gradekeeper.control.admission import Place, Slots


def place(number: int) -> Place:
    return Place(float(number), f"job-{number}", f"uid-{number}")


def test_the_oldest_is_served_first_whoever_asked_first() -> None:
    slots = Slots(1)
    assert slots.request(place(5)) == ["uid-5"]
    assert slots.request(place(3)) == []
    assert slots.request(place(1)) == []
    assert slots.release("uid-5") == ["uid-1"]
    assert slots.release("uid-1") == ["uid-3"]


def test_who_left_the_line_is_not_served() -> None:
    slots = Slots(1)
    slots.hold("running")
    slots.request(place(1))
    slots.request(place(2))
    assert slots.release("uid-1") == []
    assert slots.release("running") == ["uid-2"]
    assert slots.waiting == 0


def test_existing_pods_count_beyond_the_limit() -> None:
    slots = Slots(1)
    slots.hold("a")
    slots.hold("b")
    assert slots.request(place(1)) == []
    assert slots.release("a") == []
    assert slots.release("b") == ["uid-1"]


@given(st.lists(st.tuples(st.sampled_from("rxh"), st.integers(0, 8)), max_size=60))
def test_slots_never_exceed_the_limit_by_requests(steps: list[tuple[str, int]]) -> None:
    slots = Slots(3)
    forced: set[str] = set()
    for what, number in steps:
        one = place(number)
        match what:
            case "r":
                granted = slots.request(one)
            case "x":
                forced.discard(one.uid)
                granted = slots.release(one.uid)
            case _:
                slots.hold(one.uid)
                forced.add(one.uid)
                granted = []
        assert all(slots.holds(uid) for uid in granted)
        assert slots.in_flight <= max(3, 3 + len(forced))
        assert not granted or slots.in_flight <= 3
        assert slots.waiting == 0 or slots.in_flight >= 3, "nobody waits beside a free slot"
