"""What a scenario's grading must say, as a table."""

import pytest

from gradekeeper.suites.check import Checked, CheckReport, judge_expectation
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
        ("FFXP", {"fails": ["*/fix_*"], "others": "any"}, []),
        ("PFXP", {"fails": ["*/fix_*"], "others": "any"}, ["a/fix_1 passes, but must fail"]),
        ("FFXP", {"fails": ["*/fix_*"], "except": ["a/fix_2"], "others": "any"},
         ["a/fix_2 fails (F), but must pass"]),
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


def test_a_report_is_ok_only_without_any_problem() -> None:
    good = Checked("gold", 0, 4, (), 1.0)
    assert CheckReport("sha256:0", 4, (good,)).ok
    assert not CheckReport("sha256:0", 4, (good, Checked("null", 0, 4, ("x",), 1.0))).ok
