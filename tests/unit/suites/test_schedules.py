"""Schedules: all of them and no other, dealt out so that no grading misses a situation."""

import itertools
import random

import pytest

from gradekeeper.suites.schedules import (
    Family,
    Share,
    all_words,
    core,
    core_of,
    covering,
    draw_words,
    share_of,
    situations,
)

ALL_ENDS = tuple("".join(ends) for ends in itertools.product("rf", repeat=3))
FAMILIES = [
    Family(3, 1, ALL_ENDS),
    Family(3, 1, ("rr", "fr")),
    Family(3, 2, ("r", "fr", "ffr")),
    Family(3, 0, ("r", "fr")),
    Family(2, 1, ("rr", "fr")),
    Family(4, 1, ("rrrr",)),
]


def played_by_a_lock(family: Family) -> set[str]:
    """The same words found in another way: every order of events of callers behind one lock."""
    found = set()

    def go(word: str, waiting: int, inside: int, ends: str, arrived: int, left: int) -> None:
        if arrived == family.callers and not ends and not inside:
            found.add(word)
        if not inside and waiting and ends:
            waiting, inside = waiting - 1, 1
        if arrived < family.callers:
            go(word + str(left), waiting + 1, inside, ends, arrived + 1, left)
        if inside == 1:
            after = 2 if ends[0] == "r" and family.writes else 0
            go(word + ends[0], waiting, after, ends[1:], arrived, left + (not after))
        elif inside > 1:
            after = inside + 1 if inside <= family.writes else 0
            go(word + "w", waiting, after, ends, arrived, left + (not after))

    for ends in family.ends:
        go("", 0, 0, ends, 0, 0)
    return found


@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_every_order_is_there_once_and_no_other(family: Family) -> None:
    words = all_words(family)
    assert len(words) == len(set(words))
    assert set(words) == played_by_a_lock(family)


def test_three_callers_with_a_write_have_sixty_six_schedules() -> None:
    # Every order of the ends: 12 without a refusal among the first two, 7, 9 and 5 with one.
    assert len(all_words(Family(3, 1, ALL_ENDS))) == 2 * (12 + 7 + 9 + 5)
    assert "00rw1rwrw" in all_words(Family(3, 1, ALL_ENDS))


@pytest.mark.parametrize("family", FAMILIES, ids=str)
@pytest.mark.parametrize("slots", [1, 2, 5])
def test_the_shares_of_a_group_meet_every_situation(family: Family, slots: int) -> None:
    words = all_words(family)
    possible = {met for word in words for met in situations(word, family.writes)}
    shares = [share_of(family, Share(0, 1, slot, slots)) for slot in range(slots)]
    met = {met for share in shares for word in share for met in situations(word, family.writes)}
    assert met == possible
    assert len(covering(words, family.writes)) < len(words) or len(words) <= 5


@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_the_parts_of_every_test_have_the_core(family: Family) -> None:
    words = all_words(family)
    possible = set().union(*(core_of(word, family.writes) for word in words))
    parts = [share_of(family, Share(part, 2)) for part in range(2)]
    met = set().union(*(core_of(word, family.writes) for part in parts for word in part))
    assert met == possible
    assert core(words, family.writes)


def test_the_core_is_late_callers_refusals_and_writes() -> None:
    assert core_of("00rw1rwrw", 1) == {"r"}
    assert core_of("00f1rwrw", 1) == {"f", "waits"}
    assert core_of("0r0w1rwrw", 1) == {"writing", "r"}
    assert core_of("0rw1rw2rw", 1) == set()


def test_a_draw_has_its_share_and_others_by_lot() -> None:
    family, share = FAMILIES[0], Share(1, 2, 3, 4)
    always = share_of(family, share)
    drawn = [draw_words(family, share, more=3, rng=random.Random(seed)) for seed in range(20)]
    assert all(words[: len(always)] == always and len(words) == len(always) + 3 for words in drawn)
    assert all(len(set(words)) == len(words) for words in drawn)
    assert len({tuple(words) for words in drawn}) > 10
    every = draw_words(FAMILIES[4], Share(0, 1), more=99, rng=random.Random(0))
    assert sorted(every) == all_words(FAMILIES[4])
