"""Schedules: in which order callers of one service arrive, are held, answered and refused.

Pure, and of no language. A schedule is a word of steps:

    0…9  the next caller arrives, once so many of those before it have left
    r    the call that is held longest is answered
    f    the same, but refused: its caller fails and leaves
    w    a write of the caller that was answered goes on; after its last one the caller leaves

Callers are told apart by nothing, so words that differ only in who is who are one. Words are of
code that lets one caller in at a time; other code, right or wrong, is played by the same words
(`gradekeeper.referee.schedule` says how). What a grading plays of a family is not left to chance:
`core` goes to every test, and `covering` is dealt out to the tests and repeats of a group.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

ANSWER, REFUSE, WRITE = "r", "f", "w"
MAX_CALLERS: Final = 4
Situation = tuple[str | int, ...]
"""Of an answer or refusal: (how many wait, how the last one ended, "" if nobody did; the step). Of
an arrival: (how many wait, where the one inside is: 0 nobody, 1 held, 2… at a write; how the last
one ended, "a", how the one inside will end and how the new one will): a race between these two
shows only in what becomes of both."""


@dataclass(frozen=True, slots=True)
class Family:
    """The schedules that make sense for one kind of round.

    Attributes:
        callers: how many there are.
        writes: how many writes a caller does after it was answered.
        ends: in which orders those who get as far as a call are answered (`r`) and refused (`f`);
            whoever is left over leaves without a call.
    """

    callers: int
    writes: int
    ends: tuple[str, ...]


def all_words(family: Family) -> list[str]:
    """Every schedule of a family, each once, in order."""
    words: set[str] = set()
    for ends in family.ends:
        steps = "".join(REFUSE if end == REFUSE else ANSWER + WRITE * family.writes for end in ends)
        words |= set(_interleaved(steps, family.callers, family.writes))
    return sorted(words)


def _interleaved(steps: str, callers: int, writes: int) -> Iterator[str]:
    """Each way to put arrivals between steps, so that nobody is answered who has not arrived."""

    def go(at: int, arrived: int, called: int, left: int, pending: int) -> Iterator[str]:
        if arrived < callers:
            for rest in go(at, arrived + 1, called, left, pending):
                yield str(left) + rest
        if at == len(steps):
            if arrived == callers:
                yield ""
            return
        step = steps[at]
        if step == WRITE:
            pending -= 1
            left += not pending
        elif called == arrived:
            return
        else:
            called += 1
            pending = writes if step == ANSWER else 0
            left += not pending
        for rest in go(at + 1, arrived, called, left, pending):
            yield step + rest

    return go(0, 0, 0, 0, 0)


def situations(word: str, writes: int) -> list[Situation]:
    """What a word's steps meet, but for its writes, where one caller is inside at a time."""
    met: list[Situation] = []
    ends = [step for step in word if step in (ANSWER, REFUSE)]
    arrived = over = waiting = inside = 0
    for step in word:
        last = ends[over - 1] if over else ""
        if step.isdigit():
            holder = ends[over] if inside else ""
            met.append((waiting, inside, last, "a", holder, "".join(ends[arrived : arrived + 1])))
            arrived += 1
            waiting += 1
        elif step == WRITE:
            inside += 1
        else:
            met.append((waiting, last, step))
            inside = 2
        if step == REFUSE or inside == writes + 2:
            over += 1
            inside = 0
        if not inside and waiting:
            # Who needs no end of its own any more goes through.
            waiting, inside = (waiting - 1, 1) if over < len(ends) else (0, 0)
    return met


def covering(words: Sequence[str], writes: int) -> list[str]:
    """Few words that together meet every situation which the words have, greedily chosen."""
    return _cover({word: frozenset(situations(word, writes)) for word in words})


def core(words: Sequence[str], writes: int) -> list[str]:
    """Few words for what every test plays, as far as the words have it.

    A caller arrives after the one before was answered, and refused, while the next one is inside;
    the first is refused while others wait; a caller arrives during a write. Of words alike, that
    with most answers.
    """
    best = sorted(words, key=lambda word: (-word.count(ANSWER), word))
    return _cover({word: core_of(word, writes) for word in best}) or best[:1]


def core_of(word: str, writes: int) -> frozenset[str]:
    """What of the core a word has: "r" and "f" (a caller comes late), "waits", "writing"."""
    found: set[str] = set()
    for waiting, *rest in situations(word, writes):
        match rest:
            case [1, ("r" | "f") as last, "a", *_] if waiting == 0:
                found.add(last)
            case ["", "f"] if waiting:
                found.add("waits")
            case [inside, _, "a", *_] if isinstance(inside, int) and inside > 1:
                found.add("writing")
    return frozenset(found)


def _cover(meets: Mapping[str, frozenset[Any]]) -> list[str]:
    """Words that meet all that any does, greedily; of equals the first."""
    left = set[Any]().union(*meets.values())
    chosen = []
    while left:
        best = max(meets, key=lambda word: len(meets[word] & left))
        chosen.append(best)
        left -= meets[best]
    return chosen


@dataclass(frozen=True, slots=True)
class Share:
    """What one repeat of one test has of a family's schedules.

    Attributes:
        part: which of the repeats that share a test's schedules, from 0.
        parts: how many they are.
        slot: which share of the covering words it has, from 0; None: none.
        slots: how many shares there are in the group.
    """

    part: int
    parts: int
    slot: int | None = None
    slots: int = 1


def share_of(family: Family, share: Share) -> list[str]:
    """What a repeat of a test plays in every grading."""
    words = all_words(family)
    always = core(words, family.writes)[share.part :: share.parts]
    if share.slot is not None:
        always += covering(words, family.writes)[share.slot :: share.slots]
    return list(dict.fromkeys(always))


def draw_words(family: Family, share: Share, *, more: int, rng: random.Random) -> list[str]:
    """What one draw of a repeat plays: its share, and `more` others by lot."""
    always = share_of(family, share)
    others = [word for word in all_words(family) if word not in always]
    return always + rng.sample(others, min(more, len(others)))
