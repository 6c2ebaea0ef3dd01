"""Specs: strict, frozen, with the CRD's defaults."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from gradekeeper.api.schema import dump, mebibytes, millicores
from gradekeeper.api.spec import Builtin, GradingJobSpec, GradingSuiteSpec, SuiteLimits

DIGEST = "sha256:" + "0" * 64
JOB: dict[str, Any] = {"suiteRef": {"name": "billing"}, "submission": {"builtin": "gold"}}
SUITE: dict[str, Any] = {
    "image": f"docker.io/gradekeeper/billing@{DIGEST}",
    "laneImage": f"docker.io/gradekeeper/java17@{DIGEST}",
    "signature": "e30=",
    "indexRef": {"name": "billing-index"},
    "resources": {
        "referee": {"cpu": "200m", "memory": "192Mi"},
        "lane": {"cpu": "1500m", "memory": "1Gi"},
    },
}


def test_a_job_s_defaults() -> None:
    spec = GradingJobSpec.model_validate(JOB)
    assert spec.submission.builtin is Builtin.GOLD
    assert dump(spec) == {
        "suiteRef": {"name": "billing"},
        "submission": {"builtin": "gold"},
        "task": "",
        "nonce": "",
        "group": "",
        "parameters": {},
        "suspend": False,
        "cancel": False,
        "attemptDeadlineSeconds": 1800,
        "retryLimit": 2,
        "ttlSecondsAfterFinished": 3600,
    }
    assert GradingJobSpec.model_validate(dump(spec)) == spec


def test_a_suite_round_trips() -> None:
    spec = GradingSuiteSpec.model_validate(
        {
            **SUITE,
            "limits": {"heapMiB": 64, "scratchMiB": 8, "fileMiB": 4},
            "tolerations": [{"key": "a", "operator": "Exists", "effect": "NoExecute"}],
        }
    )
    assert (spec.limits.heap_mib, spec.limits.scratch_mib, spec.limits.file_mib) == (64, 8, 4)
    written = dump(spec)
    assert written["limits"]["heapMiB"] == 64
    assert written["tolerations"] == [{"key": "a", "operator": "Exists", "effect": "NoExecute"}]
    assert GradingSuiteSpec.model_validate(written) == spec


def test_limits_left_out_equal_their_defaults() -> None:
    assert SuiteLimits() == SuiteLimits.model_validate({"parallel": 2, "heapMiB": 192})


@pytest.mark.parametrize(
    ("submission", "why"),
    [
        ({}, "exactly one of"),
        ({"builtin": None}, "exactly one of"),
        ({"builtin": "gold", "configMaps": ["a"], "digest": DIGEST}, "exactly one of"),
        ({"builtin": "silver"}, "gold"),
        ({"configMaps": ["a"]}, "digest must be set together"),
        ({"builtin": "gold", "digest": DIGEST}, "digest must be set together"),
        ({"configMaps": [], "digest": DIGEST}, "at least 1 item"),
        ({"configMaps": ["a"] * 2, "digest": DIGEST}, "twice"),
        ({"configMaps": [f"p{n}" for n in range(25)], "digest": DIGEST}, "at most 24 items"),
        ({"configMaps": ["a"], "digest": "sha256:00"}, "pattern"),
        ({"untransportable": {"bytes": 1, "files": 1, "reason": "PodLost"}}, "SubmissionTooLarge"),
        ({"untransportable": {"bytes": -1, "files": 1, "reason": "SubmissionTooLarge"}}, "greater"),
    ],
)
def test_impossible_submissions(submission: dict[str, Any], why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        GradingJobSpec.model_validate({**JOB, "submission": submission})


@pytest.mark.parametrize(
    "change",
    [
        {"prioritty": 1},
        {"nonce": "a\nb"},
        {"nonce": "n" * 129},
        {"task": "a b"},
        {"parameters": {str(n): "" for n in range(33)}},
        {"parameters": {"a": "v" * 254}},
        {"attemptDeadlineSeconds": 9},
        {"retryLimit": 11},
        {"ttlSecondsAfterFinished": -1},
    ],
)
def test_impossible_jobs(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        GradingJobSpec.model_validate({**JOB, **change})


@pytest.mark.parametrize(
    "change",
    [
        {"image": "docker.io/gradekeeper/billing:1"},
        {"laneImage": "docker.io/gradekeeper/java17@sha256:00"},
        {"signature": "not base64!"},
        {"resources": {**SUITE["resources"], "lane": {"cpu": "1.5", "memory": "1Gi"}}},
        {"resources": {**SUITE["resources"], "lane": {"cpu": "1", "memory": "1000M"}}},
        {"limits": {"heapMib": 1}},
        {"limits": {"parallel": 17}},
        {"tolerations": [{"operator": "Like"}]},
    ],
)
def test_impossible_suites(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        GradingSuiteSpec.model_validate({**SUITE, **change})


def test_specs_do_not_change() -> None:
    spec = GradingJobSpec.model_validate(JOB)
    with pytest.raises(ValidationError, match="frozen"):
        spec.cancel = True  # type: ignore[misc]


@pytest.mark.parametrize(("text", "value"), [("1500m", 1500), ("2", 2000)])
def test_millicores(text: str, value: int) -> None:
    assert millicores(text) == value


@pytest.mark.parametrize(("text", "value"), [("192Mi", 192), ("2Gi", 2048)])
def test_mebibytes(text: str, value: int) -> None:
    assert mebibytes(text) == value
