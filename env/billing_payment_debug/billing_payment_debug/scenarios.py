"""The suite's scenarios as what an agent does in its box, and what must become of each.

Everything but reading the suite's folder is pure. What is expected is what the folder says; no
distribution of this package has that folder.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from types import MappingProxyType
from typing import Final

from billing_payment_debug import defects, scoring
from billing_payment_debug.inspection import Inspection, compare, digests
from gradekeeper.api.reasons import Decision
from gradekeeper.referee.result import NOT_RUN, PASSED
from gradekeeper.suites import SuiteError
from gradekeeper.suites.check import judge_expectation
from gradekeeper.suites.definition import load_suite
from gradekeeper.suites.trees import (
    GOLD,
    Expectation,
    Scenario,
    Tree,
    archive_tree,
    load_scenarios,
    scenario_tree,
)
from gradekeeper.verdicts.model import Graded, Rejected, rejected

ACTIVE: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        "sampled-untouched": frozenset({"tax", "refunds", "usage_timezone"}),
        "sampled-gold": frozenset({"tax", "refunds", "usage_timezone"}),
        "sampled-breaks-inactive-defect": frozenset({"refunds"}),
    }
)
"""Scenarios that are played in a sampled task -> its active defects. All others are played in a
task with all defects."""

_EPSILON: Final = 1e-9
# The suite's parameters that scenarios set -> fields of the task's configuration.
_PARAMETERS: Final = {
    "testTimeoutSeconds": "test_timeout_seconds",
    "suiteTimeoutSeconds": "suite_timeout_seconds",
}


class ScenarioError(ValueError):
    """There is no such scenario, or it cannot be played in a task; says what to do."""


@dataclass(frozen=True, slots=True)
class Edit:
    """What turns the repository that an agent is given into a scenario's submission.

    Attributes:
        write: Files with other content, or new ones.
        delete: Paths that go.
        links: Symbolic links that are made in the end: path -> target.
    """

    write: Tree
    delete: tuple[str, ...]
    links: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Found:
    """What became of a scenario; without a reward it was not judged, and `error` says why.

    Attributes:
        decision: Of the verdict.
        reason: Of the verdict.
        outcomes: One character a test, in the suite's order.
        reward: Of the rollout.
        error: Why there is no reward.
        seconds: From the box's creation to the reward, all tries together.
        tries: How often it was tried.
    """

    decision: str | None
    reason: str | None
    outcomes: str | None
    reward: float | None
    error: str | None
    seconds: float
    tries: int


@dataclass(frozen=True, slots=True)
class Check:
    """One scenario of the self-check.

    Attributes:
        name: The scenario's, or `gold`.
        active: The defects of the task that it is played in.
        edit: What its agent does.
        settings: Fields of the task's configuration that it changes.
        expect: What its verdict must say.
        tests: All of the suite's, in order.
        rewards: Least and most reward; the same unless `expect` leaves tests open.
        about: Digest of what is graded and how: of two checks with the same digest the outcomes
            are to be the same.
    """

    name: str
    active: frozenset[str]
    edit: Edit
    settings: Mapping[str, int]
    expect: Expectation
    tests: tuple[str, ...]
    rewards: tuple[float, float]
    about: str

    @property
    def open_tests(self) -> frozenset[str]:
        """Tests of which the scenario does not say whether they pass."""
        return frozenset(test for test in self.tests if self.expect.demand(test) == "open")

    def judge(self, found: Found) -> list[str]:
        """Compare what was found with what is expected; one sentence for each difference."""
        if found.reward is None or found.decision is None or found.reason is None:
            return [f"was not judged: {found.error}"]
        problems = judge_expectation(
            self.expect,
            decision=found.decision,
            reason=found.reason,
            outcomes=found.outcomes,
            ids=self.tests,
        )
        least, most = self.rewards
        if not least - _EPSILON <= found.reward <= most + _EPSILON:
            problems.append(f"has the reward {found.reward:.4f}, expected {self.told_rewards}")
        return problems

    def differences(self, one: Found, other: Found) -> list[str]:
        """What two outcomes disagree about, tests that are open left aside.

        Returns:
            A sentence for each difference; `one` comes first in it.
        """
        if one.reward is None or other.reward is None:
            return ["was not judged in both runs"]
        told = []
        mine, theirs = (f"{found.decision}/{found.reason}" for found in (one, other))
        if mine != theirs:
            told.append(f"is {mine}, and {theirs} in the other run")
        left = self.open_tests
        told += [
            f"{test} {_word(mine)}, and {_word(theirs)} in the other run"
            for test, mine, theirs in zip(
                self.tests, one.outcomes or "", other.outcomes or "", strict=True
            )
            if test not in left and (mine == PASSED) != (theirs == PASSED)
        ]
        if not left and abs(one.reward - other.reward) > _EPSILON:
            told.append(f"has the reward {one.reward:.4f}, and {other.reward:.4f} in the other run")
        return told

    @property
    def told_rewards(self) -> str:
        """The expected reward, or both ends of what is expected."""
        return " to ".join(dict.fromkeys(f"{reward:.4f}" for reward in self.rewards))

    def failed_groups(self, found: Found) -> str:
        """The groups with tests that did not pass, in a few words."""
        failed = {group for group, told in self._by_group(found).items() if told.strip(PASSED)}
        whole = [group for group in self._by_group(found) if group not in failed]
        if not failed:
            return "none" if found.outcomes else "-"
        if not whole:
            return "all"
        if len(whole) < len(failed):
            return "all but " + ", ".join(whole)
        return ", ".join(group for group in self._by_group(found) if group in failed)

    def failed_tests(self, found: Found) -> list[str]:
        """Tests that did not pass, each with its character; `group/*` if its tests are alike."""
        told = []
        by_group = self._by_group(found)
        alike = {group for group, outcomes in by_group.items() if len(set(outcomes)) == 1}
        for test, outcome in zip(self.tests, found.outcomes or "", strict=False):
            group = test.partition("/")[0]
            if outcome != PASSED:
                told.append(f"{group}/* {outcome}" if group in alike else f"{test} {outcome}")
        return list(dict.fromkeys(told))

    def _by_group(self, found: Found) -> dict[str, str]:
        groups: dict[str, str] = {}
        for test, outcome in zip(self.tests, found.outcomes or "", strict=False):
            group = test.partition("/")[0]
            groups[group] = groups.get(group, "") + outcome
        return groups


def load_checks(folder: Path, chosen: Sequence[str] = ()) -> list[Check]:
    """Make the checks of a suite folder: gold first, then all scenarios in its order.

    Args:
        folder: The suite folder; a bundle has no scenarios.
        chosen: Globs of names; empty: all.

    Raises:
        ScenarioError: The folder is no such suite, or there is no such scenario.
    """
    try:
        return list(_load(folder, chosen))
    except SuiteError as error:
        raise ScenarioError(str(error)) from None


def _load(folder: Path, chosen: Sequence[str]) -> Iterator[Check]:
    if not (folder / "suite.yaml").is_file():
        raise ScenarioError(
            f"{folder} is no suite folder: it has no suite.yaml. Scenarios come with the source of"
            " the suite, assets/suites/billing-payment-debug of a checkout, and with no wheel"
        )
    definition = load_suite(folder)
    tests = tuple(f"{group.name}/{test.id}" for group in definition.groups for test in group.tests)
    gold = Scenario(
        name=GOLD, simulates="All defects repaired.", overlays=(GOLD,), expect=Expectation()
    )
    scenarios = (gold, *load_scenarios(folder))
    if len(scenarios) == 1:
        raise ScenarioError(f"{folder} has no scenarios")
    names = [scenario.name for scenario in scenarios]
    for glob in chosen:
        if not any(fnmatchcase(name, glob) for name in names):
            raise ScenarioError(f"there is no scenario {glob!r}; there is {', '.join(names)}")
    seeded = defects.task_repo()
    for scenario in scenarios:
        if chosen and not _among(scenario.name, chosen):
            continue
        active = ACTIVE.get(scenario.name, defects.GROUPS)
        given = defects.apply(seeded, defects.GROUPS - active)
        tree = scenario_tree(folder, definition, scenario)
        submitted = {path: content for path, (content, _) in tree.items()}
        archive = archive_tree(tree, scenario.links)
        settings = _settings(scenario)
        yield Check(
            name=scenario.name,
            active=active,
            edit=find_edit(given, tree, scenario.links),
            settings=settings,
            expect=scenario.expect,
            tests=tests,
            rewards=expected_rewards(
                scenario.expect, tests, active, compare(digests(submitted), digests(given))
            ),
            about=_digest(archive, active, settings, tests),
        )


def find_edit(given: Mapping[str, bytes], wanted: Tree, links: Mapping[str, str]) -> Edit:
    """Find what an agent has to change; what is the same is not touched."""
    return Edit(
        write={path: file for path, file in wanted.items() if given.get(path) != file[0]},
        delete=tuple(sorted(given.keys() - wanted.keys())),
        links=links,
    )


def expected_rewards(
    expect: Expectation,
    tests: Sequence[str],
    active: Iterable[str],
    inspection: Inspection,
) -> tuple[float, float]:
    """Score what a scenario's author expects: once with all open tests failed, once passed.

    No test that passes makes a reward smaller, so these are its bounds.
    """
    catalog = defects.catalog()
    least, most = (
        scoring.score(
            _verdict(expect, tests, open_pass=open_pass),
            tests,
            active=[catalog[group] for group in active],
            public_tests_intact=inspection.public_tests_intact,
            main_files_changed=inspection.main_files_changed,
        ).reward
        for open_pass in (False, True)
    )
    return least, most


def _verdict(expect: Expectation, tests: Sequence[str], *, open_pass: bool) -> Graded | Rejected:
    if expect.decision == Decision.REJECTED:
        return rejected(expect.reason, len(tests))
    passing = ("pass", "open") if open_pass else ("pass",)
    outcomes = "".join(PASSED if expect.demand(test) in passing else NOT_RUN for test in tests)
    return Graded.model_validate({"reason": expect.reason, "outcomes": outcomes})


def _settings(scenario: Scenario) -> dict[str, int]:
    unknown = sorted(scenario.parameters.keys() - _PARAMETERS.keys())
    if unknown:
        raise ScenarioError(f"{scenario.name}: no task of this environment sets {unknown[0]}")
    return {_PARAMETERS[name]: int(value) for name, value in scenario.parameters.items()}


def _digest(
    archive: bytes, active: Iterable[str], settings: Mapping[str, int], tests: Sequence[str]
) -> str:
    told = [hashlib.sha256(archive).hexdigest(), sorted(active), sorted(settings.items()), *tests]
    return "sha256:" + hashlib.sha256(json.dumps(told).encode()).hexdigest()


def _among(name: str, globs: Iterable[str]) -> bool:
    return any(fnmatchcase(name, glob) for glob in globs)


def _word(outcome: str) -> str:
    return "passes" if outcome == PASSED else f"fails ({outcome})"
