"""Which schedules a suite's pins play, and whether every grading plays what it must. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gradekeeper.suites.definition import Group, SuiteDefinition
from gradekeeper.suites.schedules import Family, all_words, core, core_of, situations


@dataclass(frozen=True, slots=True)
class Played:
    """The schedules of one kind of rounds in one test.

    Attributes:
        test_id: Full id.
        kind: Name of the kind.
        family: Which schedules there are.
        always: Those that are played in every grading, whatever is drawn.
        ever: Those that some draw has.
        covers: Whether the test takes its share of covering the kind.
    """

    test_id: str
    kind: str
    family: Family
    always: frozenset[str]
    ever: frozenset[str]
    covers: bool

    def __str__(self) -> str:
        possible = len(all_words(self.family))
        return (
            f"{self.test_id} {self.kind}: {len(self.always)} schedules in every grading,"
            f" {len(self.ever)} of {possible} in some draw"
        )


def find_played(
    definition: SuiteDefinition, pins: Mapping[str, Sequence[Mapping[str, Any]]]
) -> list[Played]:
    """What each test plays, in the suite's order; nothing of tests without schedules."""
    found = []
    for test_id, group, test in definition.every_test():
        rounds = group.rounds_of(test)
        if rounds is None:
            continue
        name, spec = rounds
        for kind, family in spec.families().items():
            by_repeat = {
                repeat: [
                    _words(draw["inputs"][name], kind)
                    for draw in pins[test_id]
                    if draw["repeat"] == repeat
                ]
                for repeat in range(group.repeats)
            }
            always = [frozenset.intersection(*draws) for draws in by_repeat.values() if draws]
            found.append(
                Played(
                    test_id,
                    kind,
                    family,
                    frozenset().union(*always),
                    frozenset().union(*(one for draws in by_repeat.values() for one in draws)),
                    spec.kinds[kind].covers,
                )
            )
    return found


def find_schedule_problems(
    definition: SuiteDefinition, pins: Mapping[str, Sequence[Mapping[str, Any]]]
) -> list[str]:
    """What a grading might leave out, one sentence each; none if it plays all that it must."""
    played = find_played(definition, pins)
    problems = [
        f"{test_id} has no draw for repeat {repeat}"
        for test_id, group, test in definition.every_test()
        if group.rounds_of(test) is not None
        for repeat in range(group.repeats)
        if not any(draw["repeat"] == repeat for draw in pins[test_id])
    ]
    for one in played:
        words = all_words(one.family)
        unknown = sorted(one.ever - set(words))
        if unknown:
            problems.append(f"{one.test_id} {one.kind}: {unknown} are no schedules of the kind")
        must = _met_core(core(words, one.family.writes), one.family)
        missing = sorted(must - _met_core(one.always, one.family))
        if missing:
            problems.append(f"{one.test_id} {one.kind}: not every grading has {missing}")
    for group in definition.groups:
        problems += _uncovered(group, played)
    return problems


def _uncovered(group: Group, played: Sequence[Played]) -> list[str]:
    """Situations that no test of a group is sure to meet, though one covers the kind."""
    ids = {f"{group.name}/{test.id}" for test in group.tests}
    covering = [one for one in played if one.covers and one.test_id in ids]
    problems = []
    for kind, family in dict.fromkeys((one.kind, one.family) for one in covering):
        possible = {met for word in all_words(family) for met in situations(word, family.writes)}
        met = {
            met
            for one in covering
            if (one.kind, one.family) == (kind, family)
            for word in one.always
            for met in situations(word, family.writes)
        }
        if possible - met:
            problems.append(
                f"{group.name} {kind}: {len(possible - met)} of {len(possible)} situations are not"
                " met in every grading"
            )
    return problems


def _met_core(words: Sequence[str] | frozenset[str], family: Family) -> frozenset[str]:
    return frozenset().union(*(core_of(word, family.writes) for word in words))


def _words(rounds: str, kind: str) -> frozenset[str]:
    """The words of one kind in an input of rounds."""
    pairs = (one.partition(":") for one in rounds.split())
    return frozenset(word for name, _, word in pairs if name == kind)
