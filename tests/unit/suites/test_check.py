"""What a scenario's grading must say, as a table, and what an expectation must not leave unsaid."""

import pytest

from gradekeeper.suites.check import (
    Checked,
    CheckReport,
    find_scenario_problems,
    judge_expectation,
)
from gradekeeper.suites.trees import Expectation

IDS = ["a/fix_1", "a/fix_2", "a/guard_1", "b/guard_2"]


def judge(
    outcomes: str | None,
    expect: dict[str, object],
    result: tuple[str, str] = ("Graded", "Completed"),
) -> list[str]:
    return judge_expectation(
        Expectation.model_validate(expect),
        decision=result[0],
        reason=result[1],
        outcomes=outcomes,
        ids=IDS,
    )


@pytest.mark.parametrize(
    ("outcomes", "expect", "problems"),
    [
        ("PPPP", {}, []),
        ("FPPP", {}, ["a/fix_1 fails (F), but must pass"]),
        ("FTPP", {"fails": ["*/fix_*"]}, []),
        ("FPPP", {"fails": ["*/fix_*"]}, ["a/fix_2 passes, but must fail"]),
        ("FPPP", {"fails": ["*/fix_*"], "except": ["a/fix_2"]}, []),
        ("FFPP", {"fails": ["*/fix_*"], "except": ["a/fix_2"]},
         ["a/fix_2 fails (F), but must pass"]),
        ("FFXP", {"fails": ["*/fix_*"]}, ["a/guard_1 fails (X), but must pass"]),
        ("FFXP", {"fails": ["*/fix_*"], "open": ["a/guard_*"]}, []),
        ("FFPP", {"fails": ["*/fix_*"], "open": ["a/guard_*"]}, []),
        ("FFPX", {"fails": ["*/fix_*"], "open": ["a/guard_*"]},
         ["b/guard_2 fails (X), but must pass"]),
        ("FPPP", {"fails": ["*/fix_*"], "open": ["a/fix_2"]}, []),
        ("PFPP", {"fails": ["*/fix_*"], "open": ["a/fix_2"]}, ["a/fix_1 passes, but must fail"]),
        ("FFPP", {"fails": ["*"], "except": ["a/*"], "open": ["a/fix_*"]},
         ["b/guard_2 passes, but must fail"]),
        ("PPPP", {"open": ["c/*"]}, ["'c/*' matches no test"]),
        ("VTXN", {"fails": ["*"]}, []),
        ("PPPP", {"fails": ["c/*"]}, ["'c/*' matches no test"]),
        ("PPP", {}, ["has 3 outcomes for 4 tests"]),
        (None, {}, ["has no outcomes"]),
    ],
)  # fmt: skip
def test_outcomes_against_an_expectation(
    outcomes: str | None, expect: dict[str, object], problems: list[str]
) -> None:
    assert judge(outcomes, expect) == problems


def test_decision_and_reason_count_as_well() -> None:
    broken = ("Graded", "DoesNotCompile")
    assert judge("NNNN", {"fails": ["*"]}, broken) == [
        "is Graded/DoesNotCompile, expected Graded/Completed"
    ]
    assert judge("NNNN", {"fails": ["*"], "reason": "DoesNotCompile"}, broken) == []


@pytest.mark.parametrize(
    ("expect", "problems"),
    [
        ({}, []),
        ({"fails": ["*"]}, []),
        ({"fails": ["*/fix_*"], "except": ["a/fix_2"], "open": ["b/*"]}, []),
        ({"fails": ["*/fix_*"], "open": ["a/fix_2"]}, []),
        ({"fails": ["*/fix_*", "a/fix_1"]}, ["without fails 'a/fix_1' the same would be expected"]),
        ({"fails": ["*/fix_*"], "except": ["b/*"]},
         ["without except 'b/*' the same would be expected"]),
        ({"fails": ["*/fix_*"], "except": ["a/fix_1"], "open": ["a/fix_*"]},
         ["without fails '*/fix_*' the same would be expected",
          "without except 'a/fix_1' the same would be expected"]),
        ({"open": ["b/*", "b/guard_2"]},
         ["without open 'b/*' the same would be expected",
          "without open 'b/guard_2' the same would be expected"]),
        ({"open": ["*"]}, ["leaves all tests open, and so expects nothing"]),
    ],
)  # fmt: skip
def test_what_an_expectation_says_in_vain(expect: dict[str, object], problems: list[str]) -> None:
    found = find_scenario_problems({"own": Expectation.model_validate(expect)}, IDS)
    assert found == [f"own: {problem}" for problem in problems]


def test_a_report_is_ok_only_without_any_problem() -> None:
    good = Checked("gold", 0, 4, (), 1.0)
    assert CheckReport("sha256:0", 4, (good,)).ok
    assert not CheckReport("sha256:0", 4, (good, Checked("null", 0, 4, ("x",), 1.0))).ok
