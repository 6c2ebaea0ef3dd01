"""The signed statements, by exact dict."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from gradekeeper.api.reasons import Reason
from gradekeeper.verdicts.model import parse_verdict, rejected, unjudged
from gradekeeper.verdicts.signing import MAX_ENVELOPE_BYTES
from gradekeeper.verdicts.statement import build_suite_statement, encode_statement
from unit.verdicts.samples import ATTEMPT, LIMITS, RESOURCES, SUITE, digest, job, statement

UNTRANSPORTABLE: dict[str, Any] = {
    "untransportable": {"bytes": 9437184, "files": 12, "reason": "SubmissionTooLarge"}
}


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def test_graded() -> None:
    assert statement() == {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": "submission", "digest": {"sha256": "1" * 64}}],
        "predicateType": "https://gradekeeper.dev/verdict/v1",
        "predicate": {
            "verdict": {
                "decision": "Graded",
                "reason": "Completed",
                "message": "fine",
                "tests": {"total": 2, "passed": 1, "failed": 1},
                "outcomes": "PF",
            },
            "job": {
                "namespace": "grading",
                "name": "job",
                "uid": "job-uid",
                "nonce": "nonce-1",
                "group": "step 7",
                "task": "",
                "parameters": {"testTimeoutSeconds": "30"},
                "submission": {"configMaps": ["job-part-00"], "digest": digest("1")},
            },
            "suite": {
                "name": "billing",
                "version": "1.0.0",
                "digest": digest("a"),
                "image": digest("b"),
                "laneImage": digest("c"),
                "index": digest("d"),
                "author": "e" * 64,
            },
            "attempts": [
                {
                    "number": 1,
                    "podName": "job-12345678-1",
                    "podUid": "pod-uid",
                    "nodeName": "node-1",
                    "reason": "Completed",
                    "message": "fine",
                    "startedAt": "2026-01-01T00:00:00.000Z",
                    "finishedAt": "2026-01-01T00:00:05.000Z",
                }
            ],
            "isolation": {"network": "denied", "userNamespace": True, "qosClass": "Guaranteed"},
            "log": digest("f"),
            "tests": [
                {"id": "refunds/one", "outcome": "P"},
                {"id": "refunds/two", "outcome": "F"},
            ],
            "issuedAt": "2026-01-01T00:00:06.000Z",
            "issuer": {"version": "0.1.0", "installation": "gradekeeper-system/gradekeeper"},
        },
    }


def test_unjudged_lists_no_tests() -> None:
    predicate = statement(unjudged(Reason.POD_LOST), suite=None, log=None, isolation=None)[
        "predicate"
    ]
    assert predicate["verdict"] == {
        "decision": "Unjudged",
        "reason": "PodLost",
        "message": Reason.POD_LOST.sentence,
    }
    assert (predicate["tests"], predicate["suite"], predicate["log"]) == (None, None, None)


def test_untransportable_is_marked_as_the_client_s_claim() -> None:
    found = statement(
        rejected(Reason.SUBMISSION_TOO_LARGE, 2),
        job=job(submission=UNTRANSPORTABLE),
        submission_digest=None,
    )
    claim = b'{"bytes":9437184,"files":12,"reason":"SubmissionTooLarge"}'
    assert found["subject"] == [{"name": "untransportable", "digest": {"sha256": sha256(claim)}}]
    assert found["predicate"]["clientClaim"] is True
    assert "clientClaim" not in statement()["predicate"]


def test_builtin_is_named_by_its_archive_or_by_itself() -> None:
    builtin = job(submission={"builtin": "gold"})
    seen = statement(job=builtin, submission_digest=digest("9"))
    unseen = statement(unjudged(Reason.POD_LOST), job=builtin, submission_digest=None)
    assert seen["subject"] == [{"name": "submission", "digest": {"sha256": "9" * 64}}]
    assert unseen["subject"] == [
        {"name": "builtin", "digest": {"sha256": sha256(b'{"builtin":"gold"}')}}
    ]


def test_what_the_job_states_is_the_subject() -> None:
    found = statement(submission_digest=digest("9"))
    assert found["subject"][0]["digest"] == {"sha256": "1" * 64}


def test_a_long_list_of_tests_is_left_out() -> None:
    outcomes = "P" * 2000
    verdict = parse_verdict(
        {
            "decision": "Graded",
            "reason": "Completed",
            "tests": {"total": 2000, "passed": 2000, "failed": 0},
            "outcomes": outcomes,
        }
    )
    short = statement(verdict, test_ids=[f"{number}" for number in range(2000)])
    long = statement(verdict, test_ids=[f"group/{'x' * 30}{number}" for number in range(2000)])
    assert len(short["predicate"]["tests"]) == 2000
    assert long["predicate"]["tests"] is None


def test_the_largest_statement_can_be_signed() -> None:
    attempts = [
        ATTEMPT.model_copy(update={"number": number, "message": "é" * 1024, "reason": "PodLost"})
        for number in range(1, 12)
    ]
    names = [f"{'p' * 250}-{number:02d}"[:253] for number in range(24)]
    large = statement(
        attempts=attempts,
        test_ids=["i" * 32_000, "j" * 32_000],
        isolation={"facts": "f" * 2048},
        job=job(
            parameters={f"{'k' * 60}{number}": "v" * 253 for number in range(32)},
            submission={"configMaps": names, "digest": digest("1")},
        ),
    )
    assert large["predicate"]["tests"] is not None
    assert len(encode_statement(large)) * 4 / 3 + 512 < MAX_ENVELOPE_BYTES


def test_ids_and_outcomes_have_the_same_length() -> None:
    with pytest.raises(ValueError, match="zip"):
        statement(test_ids=["one"])


def test_a_scored_verdict_names_its_suite() -> None:
    with pytest.raises(ValueError, match="suite"):
        statement(suite=None)


def test_bytes_are_canonical() -> None:
    data = encode_statement({"b": 1, "a": "é"})
    assert data == '{"a":"é","b":1}'.encode()


def test_suite() -> None:
    assert build_suite_statement(
        name=SUITE.name,
        suite_digest=SUITE.digest,
        version=SUITE.version,
        image_digest=SUITE.image,
        lane_image_digest=SUITE.lane_image,
        index_digest=SUITE.index,
        limits=LIMITS,
        resources=RESOURCES,
    ) == {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": "billing", "digest": {"sha256": "a" * 64}}],
        "predicateType": "https://gradekeeper.dev/suite/v1",
        "predicate": {
            "version": "1.0.0",
            "image": {"sha256": "b" * 64},
            "laneImage": {"sha256": "c" * 64},
            "index": {"sha256": "d" * 64},
            "limits": {
                "suiteTimeoutSeconds": 900,
                "runTimeoutSeconds": 600,
                "testTimeoutSeconds": 20,
                "restartsPerGroup": 4,
                "parallel": 2,
                "heapMiB": 192,
                "scratchMiB": 16,
                "processes": 256,
                "fileMiB": 8,
            },
            "resources": {
                "referee": {"cpu": "200m", "memory": "192Mi"},
                "lane": {"cpu": "1", "memory": "1Gi"},
            },
        },
    }
