"""What a suite's pins play is counted, and what a grading might leave out is found."""

import copy
from pathlib import Path
from typing import Any

import pytest

from gradekeeper.suites.bundle import read_pins
from gradekeeper.suites.definition import load_suite
from gradekeeper.suites.played import find_played, find_schedule_problems

BILLING = Path(__file__).parents[3] / "assets" / "suites" / "billing-payment-debug"
DEFINITION = load_suite(BILLING)
PINS = read_pins(BILLING, DEFINITION)
TEST = "refunds/fix_overlap_keeps_both_in_the_books"


@pytest.fixture
def pins() -> dict[str, Any]:
    return copy.deepcopy(dict(PINS))


def test_every_overlap_test_of_the_billing_suite_has_schedules() -> None:
    played = {one.test_id for one in find_played(DEFINITION, PINS)}
    repeated = {group.name: group for group in DEFINITION.groups if group.repeats > 1}
    overlaps = {
        f"{name}/{test.id}"
        for name, group in repeated.items()
        for test in group.tests
        if any(policy.startswith("hold") for each in test.doubles.values() for policy in each)
    }
    assert len(overlaps) == 15
    assert played == overlaps
    assert find_schedule_problems(DEFINITION, PINS) == []


def test_a_schedule_counts_as_played_in_every_grading_if_each_draw_of_a_repeat_has_it(
    pins: dict[str, Any],
) -> None:
    before = next(one for one in find_played(DEFINITION, pins) if one.test_id == TEST)
    first = next(draw for draw in pins[TEST] if draw["repeat"] == 0)
    lost = first["inputs"]["rounds"].split()[0].partition(":")[2]
    first["inputs"]["rounds"] = first["inputs"]["rounds"].partition(" ")[2]
    after = next(one for one in find_played(DEFINITION, pins) if one.test_id == TEST)
    assert before.always - after.always == {lost}
    assert before.ever == after.ever
    assert f"{len(after.always)} schedules in every grading, {len(after.ever)} of 28" in str(after)


def test_a_gap_is_found(pins: dict[str, Any]) -> None:
    for draw in pins[TEST]:
        draw["inputs"]["rounds"] = ""
    problems = find_schedule_problems(DEFINITION, pins)
    assert f"{TEST} n: not every grading has ['f', 'r', 'waits', 'writing']" in problems
    assert any("situations are not met in every grading" in one for one in problems)


def test_a_schedule_that_does_not_exist_and_a_missing_repeat_are_found(
    pins: dict[str, Any],
) -> None:
    pins[TEST][0]["inputs"]["rounds"] += " n:r0"
    pins["refunds/guard_two_invoices_at_once"] = [
        draw for draw in pins["refunds/guard_two_invoices_at_once"] if draw["repeat"] != 2
    ]
    problems = find_schedule_problems(DEFINITION, pins)
    assert f"{TEST} n: ['r0'] are no schedules of the kind" in problems
    assert "refunds/guard_two_invoices_at_once has no draw for repeat 2" in problems
