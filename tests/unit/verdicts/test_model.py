"""The tagged union: an Unjudged has no outcomes, by type."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from gradekeeper.api.reasons import Decision, Reason, reasons_for
from gradekeeper.api.status import VerdictStatus
from gradekeeper.referee.result import RefereeResult
from gradekeeper.verdicts.model import (
    Graded,
    Rejected,
    Unjudged,
    VerdictInvalid,
    parse_verdict,
    rejected,
    unjudged,
    verdict_document,
    verdict_from_result,
)

GRADED: dict[str, Any] = {
    "decision": "Graded",
    "reason": "Completed",
    "message": "fine",
    "tests": {"total": 4, "passed": 2, "failed": 2},
    "outcomes": "PFTP",
}


def test_graded_counts_its_outcomes() -> None:
    verdict = parse_verdict(GRADED)
    assert isinstance(verdict, Graded)
    assert (verdict.total, verdict.passed, verdict.failed) == (4, 2, 2)
    assert verdict_document(verdict) == GRADED


def test_unjudged_has_nothing_to_score() -> None:
    verdict = parse_verdict({"decision": "Unjudged", "reason": "PodLost", "message": "gone"})
    assert isinstance(verdict, Unjudged)
    for name in ("outcomes", "tests", "passed", "total", "failed"):
        assert not hasattr(verdict, name)
    assert verdict_document(verdict) == {
        "decision": "Unjudged",
        "reason": "PodLost",
        "message": "gone",
    }


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"decision": "Passed"}, "decision"),
        ({"reason": "PodLost"}, "reason"),
        ({"reason": "Suspended"}, "reason"),
        ({"outcomes": "PFT1"}, "outcomes"),
        ({"outcomes": "PFT"}, "counts do not fit"),
        ({"outcomes": None}, "outcomes"),
        ({"tests": None}, "counts do not fit"),
        ({"tests": {"total": 4, "passed": 3, "failed": 1}}, "counts do not fit"),
        ({"outcomes": "P" * 2049}, "outcomes"),
        ({"message": "m" * 1025}, "message"),
        ({"score": 1.0}, "score"),
        ({"decision": "Unjudged", "reason": "PodLost"}, "outcomes"),
        ({"decision": "Rejected", "reason": "SubmissionTooLarge"}, "no test that ran"),
    ],
)
def test_contradictions(change: dict[str, Any], why: str) -> None:
    with pytest.raises(VerdictInvalid, match=why):
        parse_verdict({**GRADED, **change})


def test_unjudged_with_counts_alone() -> None:
    with pytest.raises(VerdictInvalid, match="counts"):
        parse_verdict(
            {"decision": "Unjudged", "reason": "PodLost", "message": "", "tests": GRADED["tests"]}
        )


@pytest.mark.parametrize("reason", [r for r in Reason if r.decision is not None])
def test_every_reason_fits_its_decision_and_no_other(reason: Reason) -> None:
    for decision in Decision:
        document: dict[str, Any] = {"decision": decision.value, "reason": reason.value}
        if decision is not Decision.UNJUDGED:
            document |= {"outcomes": "N", "tests": {"total": 1, "passed": 0, "failed": 1}}
        if reason in reasons_for(decision):
            assert parse_verdict(document).reason is reason
        else:
            with pytest.raises(VerdictInvalid, match="reason"):
                parse_verdict(document)


def test_rejected_lists_every_test_as_not_run() -> None:
    verdict = rejected(Reason.SUBMISSION_TOO_LARGE, 3)
    assert isinstance(verdict, Rejected)
    assert (verdict.outcomes, verdict.passed, verdict.failed) == ("NNN", 0, 3)
    assert verdict.message == Reason.SUBMISSION_TOO_LARGE.sentence


def test_shortcuts_refuse_reasons_of_another_decision() -> None:
    with pytest.raises(VerdictInvalid):
        rejected(Reason.POD_LOST, 3)
    with pytest.raises(VerdictInvalid):
        unjudged(Reason.LANE_LOST)
    assert unjudged(Reason.POD_LOST).message == Reason.POD_LOST.sentence


def test_verdicts_do_not_change() -> None:
    verdict = parse_verdict(GRADED)
    with pytest.raises(ValidationError, match="frozen"):
        verdict.message = "better"  # type: ignore[misc]


def result(decision: str, reason: str, outcomes: str | None) -> RefereeResult:
    return RefereeResult(
        nonce="n",
        attempt=1,
        suite="",
        submission="",
        task="",
        decision=decision,
        reason=reason,
        message="why",
        outcomes=outcomes,
        isolation=None,
        log="",
    )


def test_a_referee_s_result_becomes_its_verdict() -> None:
    graded = verdict_from_result(result("Graded", "Completed", "PN"))
    assert isinstance(graded, Graded)
    assert (graded.passed, graded.total, graded.message) == (1, 2, "why")
    assert isinstance(verdict_from_result(result("Unjudged", "RefereeFailed", None)), Unjudged)
    with pytest.raises(VerdictInvalid):
        verdict_from_result(result("Graded", "Completed", None))


@pytest.mark.parametrize(
    "verdict",
    [
        parse_verdict(GRADED),
        rejected(Reason.SUBMISSION_MALFORMED, 2),
        unjudged(Reason.NODE_LOST),
    ],
)
def test_documents_are_what_the_status_holds(verdict: Graded | Rejected | Unjudged) -> None:
    document = verdict_document(verdict)
    VerdictStatus.model_validate(document)
    assert parse_verdict(document) == verdict
