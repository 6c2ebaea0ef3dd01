"""In which order the held calls of scheduled rounds are released.

Pure. A round is `kind:word`; the kind is the driver's. A step of the word is a digit (a caller
arrives: its call of `arrive` is answered), `r` (the call that is held longest is answered), `f`
(refused) or `w` (a write goes on); `suites/schedules.py` makes them. Words are made for code that
lets one caller in at a time. Where other code, right or wrong, gives a step nothing to do, it is
left out, but first whatever may lead to it goes on.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

ARRIVE: Final = "arrive"
"""The double's method that a driver's callers ask first, with the round and their number."""


@dataclass(frozen=True, slots=True)
class Held:
    """A call that is held.

    Attributes:
        number: of the call.
        method: of the double.
        policy: of the call.
        arguments: as they were sent.
    """

    number: int
    method: str
    policy: str
    arguments: Sequence[Any] = ()


@dataclass(frozen=True, slots=True)
class Release:
    """Which held call goes on.

    Attributes:
        place: among those that are held.
        refuse: whether it is refused; None: as its policy says.
        expects: whether something must be heard next, unless the lane ended: where it is not, the
            lane is slow, and not waiting for the next step.
    """

    place: int
    refuse: bool | None
    expects: bool


class Schedule:
    """The rounds of one case.

    Args:
        rounds: the input that the driver plays, `kind:word` and a blank between two.
        writes: the double's methods that are writes.
    """

    def __init__(self, rounds: str, writes: frozenset[str]) -> None:
        self._words = [one.partition(":")[2] for one in rounds.split()]
        self._writes = writes
        self._round = -1
        self._steps = ""
        self._arrived = 0
        self._over = 0

    def is_clear(self, held: Sequence[Held]) -> bool:
        """Whether the next step is that of the only caller who is there, as far as words tell.

        Then nobody else has to have come to rest before it.
        """
        self._turn_to(held)
        step = self._steps[:1]
        inside = [call for call in held if call.method != ARRIVE]
        if step.isdigit():
            return self._arrived == self._over and any(
                call.method == ARRIVE and _integer(call.arguments, 1) == self._arrived
                for call in held
            )
        if len(inside) != 1 or not step or self._arrived != self._over + 1:
            return False
        return (inside[0].method in self._writes) == (step == "w")

    def next(self, held: Sequence[Held]) -> Release | None:
        """Which of the held calls, at least one, is released; None: no round has begun."""
        self._turn_to(held)
        if self._round < 0:
            return None
        arrivals = sorted(
            (place for place, call in enumerate(held) if call.method == ARRIVE),
            key=lambda place: (_integer(held[place].arguments, 1), place),
        )
        writes = [place for place, call in enumerate(held) if call.method in self._writes]
        answers = [
            place
            for place, call in enumerate(held)
            if call.method != ARRIVE and call.method not in self._writes
        ]
        inside = bool(writes or answers)
        while self._steps:
            step = self._steps[0]
            if step.isdigit():
                if arrivals:
                    self._step()
                    return Release(arrivals[0], False, not inside)
                if inside:  # the caller waits for these to leave
                    return Release((writes or answers)[0], False, True)
            elif step == "w":
                if writes:
                    self._step()
                    return Release(writes[0], None, True)
            elif answers:
                self._step()
                return Release(answers[0], step == "f", True)
            elif writes:
                return Release(writes[0], None, True)
            self._step()
        rest = writes or answers or arrivals
        return Release(rest[0], None, True)

    def _step(self) -> None:
        step, self._steps = self._steps[0], self._steps[1:]
        if step.isdigit():
            self._arrived += 1
        elif "w" not in re.split("[rf]", self._steps, maxsplit=1)[0]:
            self._over += 1

    def _turn_to(self, held: Sequence[Held]) -> None:
        """Go to the round whose callers ask to arrive. Earlier ones are over by then."""
        for call in held:
            if call.method == ARRIVE:
                number = _integer(call.arguments, 0)
                if self._round < number < len(self._words):
                    self._round = number
                    self._steps = self._words[number]
                    self._arrived = self._over = 0


def _integer(arguments: Sequence[Any], place: int) -> int:
    """An observed whole number among arguments that a lane sent; 0 where there is none."""
    value = arguments[place] if type(arguments) is list and place < len(arguments) else None
    text = value.get("v") if type(value) is dict and value.get("t") == "int" else None
    return int(text) if type(text) is str and text.isdecimal() and len(text) < 7 else 0
