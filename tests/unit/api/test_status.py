"""Statuses: read leniently, written exactly; conditions move only when their status does."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from pydantic import ValidationError

from gradekeeper.api.reasons import ConditionType, ProgressReason, Reason
from gradekeeper.api.schema import dump, format_time
from gradekeeper.api.status import (
    Condition,
    GradingJobStatus,
    GradingSuiteStatus,
    VerdictStatus,
    find_condition,
    is_true,
    set_condition,
)

NOW = datetime(2026, 1, 1, 12, 0, 0, 123456, tzinfo=UTC)
LATER = NOW + timedelta(minutes=1)


def test_a_new_condition_goes_last() -> None:
    first = set_condition([], ConditionType.ADMITTED, "True", ProgressReason.ADMITTED, "", NOW, 3)
    both = set_condition(
        first, ConditionType.SUCCEEDED, "Unknown", ProgressReason.POD_PENDING, "soon", NOW, 3
    )
    assert [dump(one) for one in both] == [
        {
            "type": "Admitted",
            "status": "True",
            "reason": "Admitted",
            "message": "The job has its suite, its submission and a place.",
            "lastTransitionTime": "2026-01-01T12:00:00.123Z",
            "observedGeneration": 3,
        },
        {
            "type": "Succeeded",
            "status": "Unknown",
            "reason": "PodPending",
            "message": "soon",
            "lastTransitionTime": "2026-01-01T12:00:00.123Z",
            "observedGeneration": 3,
        },
    ]


def test_the_transition_time_follows_the_status_alone() -> None:
    kind = ConditionType.SUCCEEDED
    start = set_condition([], kind, "Unknown", Reason.WAITING_FOR_CAPACITY, "", NOW, 1)
    same = set_condition(start, kind, "Unknown", Reason.UNSCHEDULABLE, "", LATER, 2)
    other = set_condition(same, kind, "True", Reason.COMPLETED, "", LATER, 2)
    assert (same[0].reason, same[0].observed_generation) == ("Unschedulable", 2)
    assert same[0].last_transition_time == start[0].last_transition_time
    assert other[0].last_transition_time == LATER.replace(microsecond=123000)
    assert len(other) == 1


def test_setting_a_condition_twice_changes_nothing() -> None:
    kind = ConditionType.STARTED
    once = set_condition([], kind, "True", ProgressReason.POD_RUNNING, "", NOW, 1)
    assert set_condition(once, kind, "True", ProgressReason.POD_RUNNING, "", LATER, 1) == once


def test_others_keep_their_place() -> None:
    conditions: list[Condition] = []
    for kind in (ConditionType.ADMITTED, ConditionType.STARTED, ConditionType.SUCCEEDED):
        conditions = set_condition(
            conditions, kind, "False", ProgressReason.POD_PENDING, "", NOW, 1
        )
    changed = set_condition(
        conditions, ConditionType.STARTED, "True", ProgressReason.POD_RUNNING, "", LATER, 1
    )
    assert [one.type for one in changed] == ["Admitted", "Started", "Succeeded"]
    assert [one.status for one in changed] == ["False", "True", "False"]
    assert is_true(changed, ConditionType.STARTED)
    assert not is_true(changed, ConditionType.ADMITTED)
    assert not is_true(changed, ConditionType.READY)
    assert find_condition(changed, ConditionType.READY) is None


def test_long_messages_are_cut() -> None:
    found = set_condition(
        [], ConditionType.ADMITTED, "True", ProgressReason.ADMITTED, "m" * 2000, NOW, 1
    )
    assert len(found[0].message) == 1024


def test_fields_of_newer_versions_are_ignored() -> None:
    status = GradingJobStatus.model_validate({"podName": "p", "mood": "fine"})
    assert dump(status) == {"podName": "p", "conditions": [], "attempts": []}
    assert GradingSuiteStatus.model_validate({"mood": "fine"}).conditions == ()


def test_times_are_kept_to_the_millisecond_in_utc() -> None:
    moment = datetime(2026, 1, 1, 14, 0, 0, 123999, tzinfo=timezone(timedelta(hours=2)))
    status = GradingJobStatus(start_time=moment)
    assert dump(status)["startTime"] == "2026-01-01T12:00:00.123Z" == format_time(moment)
    assert GradingJobStatus.model_validate(dump(status)) == status


def test_naive_times_are_refused() -> None:
    with pytest.raises(ValidationError, match="timezone"):
        GradingJobStatus.model_validate({"startTime": "2026-01-01T12:00:00"})


@pytest.mark.parametrize(
    ("verdict", "why"),
    [
        ({"decision": "Unjudged", "reason": "PodLost", "outcomes": "N"}, "carries no tests"),
        ({"decision": "Graded", "reason": "Completed"}, "an outcome for every test"),
        ({"decision": "Graded", "reason": "PodLost"}, "not a reason of Graded"),
        (
            {
                "decision": "Graded",
                "reason": "Completed",
                "outcomes": "PP",
                "tests": {"total": 1, "passed": 1, "failed": 0},
            },
            "an outcome for every test",
        ),
    ],
)
def test_verdicts_that_contradict_themselves(verdict: dict[str, object], why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        VerdictStatus.model_validate(verdict)
