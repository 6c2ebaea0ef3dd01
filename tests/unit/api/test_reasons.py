"""Every reason says what it means and to which decision it belongs."""

from __future__ import annotations

import pytest

from gradekeeper.api.reasons import (
    FINAL_AT_ONCE,
    ConditionType,
    Decision,
    ProgressReason,
    Reason,
    SuiteReason,
    reasons_for,
    reasons_table,
)
from gradekeeper.referee import result


def test_the_design_s_reasons() -> None:
    words = {decision: [str(one) for one in reasons_for(decision)] for decision in Decision}
    assert [str(one) for one in reasons_for(None)] == [
        "WaitingForSubmission",
        "WaitingForCapacity",
        "SuiteNotReady",
        "Unschedulable",
        "Suspended",
    ]
    assert words == {
        Decision.GRADED: ["Completed", "DoesNotCompile", "LaneLost", "RefereeFault"],
        Decision.REJECTED: [
            "SubmissionTooLarge",
            "SubmissionTooManyFiles",
            "SubmissionMalformed",
        ],
        Decision.UNJUDGED: [
            "ImagePullFailed",
            "PodAdmissionFailed",
            "PodCreationRejected",
            "ContainerCreateFailed",
            "PodEvicted",
            "PodPreempted",
            "PodLost",
            "NodeLost",
            "NodeOverloaded",
            "RefereeFailed",
            "ResultMissing",
            "ResultInvalid",
            "IsolationNotEnforced",
            "DeadlineExceeded",
            "QuotaExceeded",
            "SubmissionCorrupt",
            "InvalidJob",
            "Cancelled",
        ],
    }


@pytest.mark.parametrize("enum", [Reason, ProgressReason, SuiteReason])
def test_each_has_one_sentence_of_its_own(
    enum: type[Reason | ProgressReason | SuiteReason],
) -> None:
    sentences = [one.sentence for one in enum]
    assert all(sentence.endswith(".") and sentence[0].isupper() for sentence in sentences)
    assert all(len(sentence) <= 200 for sentence in sentences)
    assert len(set(sentences)) == len(sentences)


def test_a_reason_is_found_by_its_word() -> None:
    assert Reason("LaneLost") is Reason.LANE_LOST
    assert Reason.LANE_LOST == "LaneLost"
    assert Reason.LANE_LOST.decision is Decision.GRADED
    with pytest.raises(ValueError, match="Nonsense"):
        Reason("Nonsense")


def test_what_a_referee_may_say_belongs_to_the_same_decisions() -> None:
    for decision, words in result.REASONS.items():
        assert {Reason(word).decision for word in words} == {Decision(decision)}


def test_final_reasons_are_unjudged() -> None:
    assert FINAL_AT_ONCE == {Reason.INVALID_JOB, Reason.CANCELLED}
    assert {reason.decision for reason in FINAL_AT_ONCE} == {Decision.UNJUDGED}


def test_table_has_a_row_for_each_reason() -> None:
    lines = reasons_table().splitlines()
    assert lines[0] == "| reason | decision | meaning |"
    assert len(lines) == 2 + len(Reason)
    assert "| `Suspended` | none yet | " in reasons_table()
    row = f"| `PodEvicted` | Unjudged | {Reason.POD_EVICTED.sentence} |"
    assert row in lines


def test_condition_types() -> None:
    assert set(ConditionType) == {"Admitted", "Started", "Succeeded", "Verified", "Ready"}
