"""Nonces, names and the objects that a client creates."""

from __future__ import annotations

import base64
import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradekeeper.api import names
from gradekeeper.api.reasons import Reason
from gradekeeper.api.spec import Builtin, GradingJobSpec, Submission, Untransportable
from gradekeeper.client import JobHandle, JobRequest, derive_nonce
from gradekeeper.client import _pack as pack
from gradekeeper.client import _request as req

SECRET = b"0123456789abcdef"


@given(st.text(), st.text(), st.integers(0, 10**6), st.integers(0, 10**6))
def test_nonces_differ_exactly_when_rollout_or_trial_do(
    one: str, two: str, first: int, second: int
) -> None:
    same = derive_nonce(SECRET, one, first) == derive_nonce(SECRET, two, second)
    assert same == ((one, first) == (two, second))


def test_a_nonce_is_stable_across_releases() -> None:
    # A restarted trainer with a newer client must find its jobs.
    # Computed with openssl from the bytes of ["gradekeeper.nonce/v1", "r-17", 0].
    expected = "34a2a88b90a5006e1fc92d5315dd9adaf43f1d6ec187fea08550f4c3f4cfe235"
    assert derive_nonce(SECRET, "r-17") == expected
    assert derive_nonce(SECRET, "r-17") != derive_nonce(b"fedcba9876543210", "r-17")


def test_short_secrets_and_negative_trials_are_refused() -> None:
    with pytest.raises(ValueError, match="16 bytes"):
        derive_nonce(b"short", "r")
    with pytest.raises(ValueError, match="counted from 0"):
        derive_nonce(SECRET, "r", -1)


def test_a_job_carries_exactly_what_was_asked() -> None:
    request = JobRequest(
        suite="billing",
        submission=b"bytes",
        nonce="n",
        task="t",
        group="g",
        parameters={"a": "1"},
        attempt_deadline=60,
        retry_limit=0,
        ttl=5,
    )
    spec = req.build_spec(request, "job", archive=b"bytes", parts=2, claim=None)
    assert req.build_job("job", "ns", spec) == {
        "apiVersion": "gradekeeper.dev/v1alpha1",
        "kind": "GradingJob",
        "metadata": {"name": "job", "namespace": "ns"},
        "spec": {
            "suiteRef": {"name": "billing"},
            "task": "t",
            "submission": {
                "configMaps": ["job-part-00", "job-part-01"],
                "digest": "sha256:" + hashlib.sha256(b"bytes").hexdigest(),
            },
            "nonce": "n",
            "group": "g",
            "parameters": {"a": "1"},
            "suspend": False,
            "cancel": False,
            "attemptDeadlineSeconds": 60,
            "retryLimit": 0,
            "ttlSecondsAfterFinished": 5,
        },
    }


def test_a_part_is_immutable_labelled_and_owned_but_not_controlled() -> None:
    assert req.build_part(handle(), 3, b"\0data") == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "job-part-03",
            "namespace": "ns",
            "labels": {"gradekeeper.dev/job": "job"},
            "ownerReferences": [
                {
                    "apiVersion": "gradekeeper.dev/v1alpha1",
                    "kind": "GradingJob",
                    "name": "job",
                    "uid": "u1",
                    "controller": False,
                    "blockOwnerDeletion": False,
                }
            ],
        },
        "immutable": True,
        "binaryData": {"part": base64.b64encode(b"\0data").decode()},
    }


def test_the_largest_part_fits_into_a_config_map() -> None:
    # The API server counts keys and decoded values against 1 MiB.
    assert pack.PART_BYTES + len(names.PART_KEY) <= 1024 * 1024
    # And a job may name as many parts as we ever make, and not one more.
    parts = tuple(f"p{n}" for n in range(pack.MAX_PARTS))
    Submission(config_maps=parts, digest="sha256:" + "0" * 64)
    with pytest.raises(ValueError, match="at most 24"):
        Submission(config_maps=(*parts, "more"), digest="sha256:" + "0" * 64)


def test_a_claims_digest_is_that_of_its_canonical_json() -> None:
    claim = Untransportable(bytes=9, files=2, reason=Reason.SUBMISSION_TOO_LARGE)
    spec = spec_of(untransportable=claim)
    text = json.dumps(
        {"bytes": 9, "files": 2, "reason": "SubmissionTooLarge"}, separators=(",", ":")
    )
    assert req.expected_digest(spec) == "sha256:" + hashlib.sha256(text.encode()).hexdigest()
    assert req.expected_digest(spec_of(builtin=Builtin.GOLD)) is None


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, []),
        ({"task": "x"}, ["task"]),
        ({"nonce": "x"}, ["nonce"]),
        ({"group": "x"}, ["group"]),
        ({"parameters": {"a": "2"}}, ["parameters"]),
        ({"suite_ref": {"name": "x"}}, ["suite"]),
        ({"submission": {"builtin": "null"}}, ["submission"]),
        ({"suspend": True, "cancel": True, "ttl_seconds_after_finished": 1}, []),
        ({"attempt_deadline_seconds": 11, "retry_limit": 9}, []),
    ],
)
def test_what_makes_an_existing_job_another_one(
    change: dict[str, object], expected: list[str]
) -> None:
    asked = spec_of(builtin=Builtin.GOLD)
    found = GradingJobSpec.model_validate({**asked.model_dump(), **change})
    assert req.differences(asked, found) == expected


def handle() -> JobHandle:
    return JobHandle(
        namespace="ns", name="job", uid="u1", spec=spec_of(builtin=Builtin.GOLD), digest=None
    )


def spec_of(**submission: object) -> GradingJobSpec:
    return GradingJobSpec.model_validate(
        {"suite_ref": {"name": "s"}, "submission": submission, "nonce": "n"}
    )
