"""The order of release: as the word says, whatever the code that is played makes of it."""

import itertools
from typing import Any

import pytest

from gradekeeper.referee.schedule import ARRIVE, Held, Schedule
from gradekeeper.suites.schedules import Family, all_words


def integer(value: int) -> dict[str, str]:
    return {"t": "int", "v": str(value)}


class Callers:
    """Three callers of a service that lets `room` of them in at a time, in the order they came."""

    def __init__(self, word: str, room: int, *, writes: int = 1, books_first: bool = False) -> None:
        self.gates = [int(step) for step in word if step.isdigit()]
        self.room = room
        self.stages = ["refund"] + ["save"] * writes
        if books_first:
            self.stages.insert(0, "save")
        self.asked: set[int] = set()
        self.queue: list[int] = []
        self.inside: dict[int, int] = {}
        self.left: list[int] = []
        self.numbers = itertools.count(1)
        self.held: list[tuple[int, Held]] = []
        self.move()

    def move(self) -> None:
        for caller, gate in enumerate(self.gates):
            if caller not in self.asked and len(self.left) >= gate:
                self.asked.add(caller)
                self.hold(caller, ARRIVE, [integer(0), integer(caller)])
        while self.queue and len(self.inside) < self.room:
            caller = self.queue.pop(0)
            self.inside[caller] = 0
            self.hold(caller, self.stages[0], ["x"])

    def hold(self, caller: int, method: str, arguments: list[Any]) -> None:
        self.held.append((caller, Held(next(self.numbers), method, "hold", arguments)))

    def release(self, place: int, refuse: bool | None) -> str:
        caller, call = self.held.pop(place)
        if call.method == ARRIVE:
            self.queue.append(caller)
        else:
            self.inside[caller] += 1
            if refuse or self.inside[caller] == len(self.stages):
                del self.inside[caller]
                self.left.append(caller)
            else:
                self.hold(caller, self.stages[self.inside[caller]], ["x"])
        step = {ARRIVE: "a", "save": "w"}.get(call.method, "f" if refuse else "r")
        self.move()
        return step


def play(word: str, callers: Callers) -> str:
    schedule = Schedule(f"n:{word}", frozenset({"save"}))
    steps = ""
    while callers.held:
        release = schedule.next([call for _, call in callers.held])
        assert release is not None
        steps += callers.release(release.place, release.refuse)
    return steps


@pytest.mark.parametrize("writes", [1, 2])
def test_behind_a_lock_every_word_is_played_step_by_step(writes: int) -> None:
    ends = tuple("".join(each) for each in itertools.product("rf", repeat=3))
    for word in all_words(Family(3, writes, ends)):
        callers = Callers(word, 1, writes=writes)
        assert play(word, callers) == "".join("a" if s.isdigit() else s for s in word)
        assert callers.left == [0, 1, 2]


@pytest.mark.parametrize("books_first", [False, True])
@pytest.mark.parametrize("writes", [0, 1, 3])
def test_other_code_is_played_to_its_end(writes: int, books_first: bool) -> None:
    for word in all_words(Family(3, 1, ("rrr", "frr", "rfr", "ff"))):
        callers = Callers(word, 3, writes=writes, books_first=books_first)
        steps = play(word, callers)
        assert sorted(callers.left) == [0, 1, 2]
        assert steps.count("f") == word.count("f")


def test_a_late_caller_comes_while_the_second_is_inside() -> None:
    callers = Callers("00rw1rwrw", 1)
    schedule = Schedule("n:00rw1rwrw", frozenset({"save"}))
    for _ in range(4):
        release = schedule.next([call for _, call in callers.held])
        assert release is not None
        callers.release(release.place, release.refuse)
    assert callers.left == [0] and list(callers.inside) == [1]
    release = schedule.next([call for _, call in callers.held])
    assert release is not None and callers.held[release.place][0] == 2


def test_nothing_is_scheduled_before_a_round_begins() -> None:
    schedule = Schedule("n:0rw", frozenset())
    assert schedule.next([Held(1, "refund", "hold", ["x"])]) is None
    assert Schedule("", frozenset()).next([Held(1, ARRIVE, "hold", [integer(0)])]) is None


def test_each_round_has_its_own_word() -> None:
    schedule = Schedule("n:0f k:0r", frozenset())
    refused = []
    for number in range(2):
        schedule.next([Held(1, ARRIVE, "hold", [integer(number), integer(0)])])
        release = schedule.next([Held(2, "refund", "hold", ["x"])])
        refused.append(release is not None and release.refuse)
    assert refused == [True, False]


@pytest.mark.parametrize(
    "arguments", [None, [], ["x"], [{"t": "int", "v": "9" * 60}], [{"t": "dec", "v": "1"}, []]]
)
def test_whatever_a_lane_sends_as_a_place_something_is_released(arguments: Any) -> None:
    schedule = Schedule("n:000rwrwrw", frozenset({"save"}))
    held = [Held(number, ARRIVE, "hold", arguments) for number in range(3)]
    while held:
        release = schedule.next(held)
        assert release is not None
        held.pop(release.place)


def test_only_the_step_of_a_caller_alone_needs_no_rest() -> None:
    schedule = Schedule("n:0r0wrw", frozenset({"save"}))
    arrivals = [Held(n, ARRIVE, "hold", [integer(0), integer(n)]) for n in range(2)]
    assert not schedule.is_clear(arrivals[1:])  # the first has not asked yet
    assert schedule.is_clear(arrivals)
    schedule.next(arrivals)
    assert schedule.is_clear([arrivals[1], Held(3, "refund", "hold")])
    schedule.next([arrivals[1], Held(3, "refund", "hold")])
    assert not schedule.is_clear([arrivals[1], Held(4, "save", "hold")])  # the second comes
    schedule.next([arrivals[1], Held(4, "save", "hold")])
    assert not schedule.is_clear([Held(4, "save", "hold")])
