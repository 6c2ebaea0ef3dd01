"""The real suites' expectations: none is vain, and none can be taken out without a grading failing.

No grading runs: outcomes are made up to be just what a scenario's author expects.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gradekeeper.api.reasons import Reason
from gradekeeper.suites.check import (
    find_scenario_problems,
    judge_expectation,
    without_each_glob,
)
from gradekeeper.suites.definition import load_suite
from gradekeeper.suites.trees import Expectation, Scenario, load_scenarios

ROOT = Path(__file__).parents[3]
BILLING = ROOT / "assets" / "suites" / "billing-payment-debug"
TINY = ROOT / "docs" / "examples" / "tiny" / "suite"
SCENARIOS = load_scenarios(BILLING)


def ids_of(folder: Path) -> list[str]:
    return [test_id for test_id, _, _ in load_suite(folder).every_test()]


IDS = ids_of(BILLING)


def judged(expect: Expectation, outcomes: str, scenario: Scenario) -> list[str]:
    return judge_expectation(
        expect,
        decision=scenario.expect.decision.value,
        reason=scenario.expect.reason.value,
        outcomes=outcomes,
        ids=IDS,
    )


@pytest.mark.parametrize("folder", [BILLING, TINY], ids=["billing", "tiny"])
def test_no_expectation_is_vain(folder: Path) -> None:
    expectations = {scenario.name: scenario.expect for scenario in load_scenarios(folder)}
    assert expectations
    assert find_scenario_problems(expectations, ids_of(folder)) == []


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_without_any_glob_what_is_expected_is_a_problem(scenario: Scenario) -> None:
    demands = [scenario.expect.demand(test_id) for test_id in IDS]
    expected = [
        "".join({"pass": "P", "fail": "F", "open": open_}[demand] for demand in demands)
        for open_ in "PF"
    ]
    for outcomes in expected:
        assert judged(scenario.expect, outcomes, scenario) == []
    for said, less in without_each_glob(scenario.expect):
        assert any(judged(less, outcomes, scenario) for outcomes in expected), said


def test_few_tests_are_left_open() -> None:
    """What is open is not held to anything: it needs a reason, which stands beside it."""
    text = (BILLING / "submissions" / "scenarios.yaml").read_text(encoding="utf-8")
    with_open = {scenario.name for scenario in SCENARIOS if scenario.expect.open}
    explained = {
        re.split(r"\s", entry, maxsplit=1)[0]
        for entry in text.split("  - name: ")[1:]
        if re.search(r"\bopen:.* # \w", entry)
    }
    assert with_open == explained
    for scenario in SCENARIOS:
        if scenario.expect.reason is Reason.COMPLETED:
            opened = [one for one in IDS if scenario.expect.demand(one) == "open"]
            assert len(opened) <= 10, scenario.name
