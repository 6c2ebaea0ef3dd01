"""Verification: what holds is listed, what does not is one sentence."""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradekeeper.api.reasons import Reason
from gradekeeper.api.schema import dump
from gradekeeper.api.spec import GradingSuiteSpec
from gradekeeper.verdicts.model import Graded, Rejected, Unjudged, rejected, unjudged
from gradekeeper.verdicts.signing import generate_key
from gradekeeper.verdicts.statement import build_suite_statement, encode_statement
from gradekeeper.verdicts.verify import (
    SignatureUntrusted,
    Verification,
    VerificationFailed,
    verify_suite,
    verify_verdict,
)
from unit.verdicts.samples import KEY, LIMITS, PUBLIC, RESOURCES, SUITE, digest, job, statement

OTHER_PUBLIC = generate_key()[1]
UNTRANSPORTABLE: dict[str, Any] = {
    "untransportable": {"bytes": 9437184, "files": 12, "reason": "SubmissionTooLarge"}
}
SENTENCE = re.compile(r"[A-Z].*\.", re.DOTALL)


def signed(document: dict[str, Any]) -> bytes:
    return KEY.sign(encode_statement(document))


def with_change(document: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    changed = copy.deepcopy(document)
    *parents, last = path.split(".")
    node: Any = changed
    for part in parents:
        node = node[int(part)] if part.isdigit() else node[part]
    node[int(last) if last.isdigit() else last] = value
    return changed


def check(document: dict[str, Any], **expected: str) -> Verification:
    return verify_verdict(signed(document), [PUBLIC], **expected)  # type: ignore[arg-type]


def test_everything_that_is_expected_is_checked() -> None:
    found = check(
        statement(),
        digest="1" * 64,
        nonce="nonce-1",
        task="",
        job_uid="job-uid",
        suite_digest=digest("a"),
    )
    assert isinstance(found.verdict, Graded)
    assert (found.verdict.passed, found.verdict.total) == (1, 2)
    assert found.keyid == KEY.keyid
    assert found.statement == statement()
    assert found.checked == [
        f"The verdict is signed by the key {KEY.keyid}, and not a byte was changed since.",
        "The statement is consistent: decision, reason, counts, outcomes and subject agree.",
        "The submission's digest is the expected one.",
        "The nonce is the expected one.",
        "The task is the expected one.",
        "The job's UID is the expected one.",
        "The suite's digest is the expected one.",
    ]
    assert found.unchecked == [
        "Isolation and node are as the signing installation observed them.",
        "Whether the signing installation and the suite's author deserve trust is your decision.",
    ]


def test_what_is_not_expected_is_named_as_unchecked() -> None:
    found = check(statement(test_ids=None))
    assert len(found.checked) == 2
    assert found.unchecked[:6] == [
        "The submission's digest was not compared: no expected one was given.",
        "The nonce was not compared: no expected one was given.",
        "The task was not compared: no expected one was given.",
        "The job's UID was not compared: no expected one was given.",
        "The suite's digest was not compared: no expected one was given.",
        "The tests' ids are not in the statement; the suite's index maps outcomes to them.",
    ]


@pytest.mark.parametrize(
    ("expected", "sentence"),
    [
        (
            {"digest": "2" * 64},
            f"The verdict is about another digest: the submission's digest is {digest('1')}, "
            f"expected was {digest('2')}.",
        ),
        (
            {"nonce": "nonce-2"},
            "The verdict is about another nonce: the nonce is nonce-1, expected was nonce-2.",
        ),
        (
            {"nonce": "nonce-1\udcff"},
            "The verdict is about another nonce: the nonce is nonce-1, expected was nonce-1?.",
        ),
        (
            {"task": "one"},
            "The verdict is about another task: the task is (empty), expected was one.",
        ),
        (
            {"job_uid": ""},
            "The verdict is about another job uid: the job's UID is job-uid, expected was (empty).",
        ),
        (
            {"suite_digest": digest("b")},
            f"The verdict is about another suite digest: the suite's digest is {digest('a')}, "
            f"expected was {digest('b')}.",
        ),
    ],
)
def test_another_than_expected(expected: dict[str, str], sentence: str) -> None:
    with pytest.raises(VerificationFailed) as caught:
        check(statement(), **expected)
    assert str(caught.value) == sentence


def test_unjudged_and_rejected() -> None:
    assert isinstance(check(statement(unjudged(Reason.POD_LOST), suite=None)).verdict, Unjudged)
    claimed = check(
        statement(
            rejected(Reason.SUBMISSION_TOO_LARGE, 2),
            job=job(submission=UNTRANSPORTABLE),
            submission_digest=None,
            attempts=[],
            isolation=None,
        )
    )
    assert isinstance(claimed.verdict, Rejected)
    assert (
        "The submission itself was never seen: its size is what the client said it is."
        in claimed.unchecked
    )


def test_a_builtin_submission_is_said_to_be_one() -> None:
    for verdict in (None, unjudged(Reason.POD_LOST)):
        seen = digest("9") if verdict is None else None
        found = check(
            statement(verdict, job=job(submission={"builtin": "null"}), submission_digest=seen)
        )
        assert (
            "The submission is the suite's own, so the verdict says nothing of yours."
            in found.unchecked
        )


CONTRADICTIONS: list[tuple[str, Any, str]] = [
    ("predicate.verdict.outcomes", "PP", "counts do not fit its outcomes"),
    ("predicate.verdict.tests.passed", 2, "counts do not fit its outcomes"),
    ("predicate.verdict.reason", "PodLost", "reason"),
    ("predicate.verdict.decision", "Unjudged", "reason is not valid: does not belong"),
    ("predicate.tests.0.outcome", "F", "list of tests does not fit its outcomes"),
    ("predicate.tests.1.id", "refunds/one", "it lists a test twice"),
    ("predicate.tests", [], "list of tests does not fit its outcomes"),
    ("subject.0.digest.sha256", "2" * 64, "subject is not the job's submission"),
    ("subject.0.name", "builtin", "subject is not the job's submission"),
    ("predicate.job.submission.digest", digest("2"), "subject is not the job's submission"),
    ("predicate.clientClaim", True, "claim is not marked as one"),
    ("predicate.suite", None, "a scored verdict names no suite"),
    ("predicate.attempts", [], "graded without any attempt"),
    ("predicate.attempts.0.number", 2, "not counted from 1"),
    ("predicate.isolation", None, "a test passed although no isolation was observed"),
]


@pytest.mark.parametrize(("path", "value", "why"), CONTRADICTIONS)
def test_signed_contradictions(path: str, value: Any, why: str) -> None:
    with pytest.raises(VerificationFailed, match=why) as caught:
        check(with_change(statement(), path, value))
    assert "contradicts itself" in str(caught.value)
    assert SENTENCE.fullmatch(str(caught.value))


def test_claims_must_be_marked_and_are_never_graded() -> None:
    claim = job(submission=UNTRANSPORTABLE)
    document = statement(rejected(Reason.SUBMISSION_TOO_LARGE, 2), job=claim)
    with pytest.raises(VerificationFailed, match="not marked as one"):
        check(with_change(document, "predicate.clientClaim", False))
    with pytest.raises(VerificationFailed, match="nobody saw is graded"):
        check(statement(job=claim))


def test_an_unjudged_with_tests() -> None:
    document = statement(unjudged(Reason.POD_LOST))
    with pytest.raises(VerificationFailed, match="an unjudged submission has a list of tests"):
        check(with_change(document, "predicate.tests", [{"id": "a", "outcome": "P"}]))


def test_nothing_passed_without_isolation() -> None:
    lost = statement()
    lost["predicate"]["verdict"] |= {
        "reason": "LaneLost",
        "outcomes": "NN",
        "tests": {"total": 2, "passed": 0, "failed": 2},
    }
    lost["predicate"] |= {"isolation": None, "tests": None}
    assert "The statement has no isolation facts; no test passed either." in check(lost).unchecked


MALFORMED: list[tuple[str, Any, str]] = [
    ("_type", "https://in-toto.io/Statement/v0.1", "not an in-toto statement"),
    ("predicateType", "https://gradekeeper.dev/suite/v1", "is a suite's signature, not a verdict"),
    ("predicateType", 7, "is something else, not a verdict"),
    ("subject", [], "not valid at subject"),
    ("subject.0.digest", {"sha512": "0"}, "not valid at subject.0.digest.sha256"),
    ("predicate", [], "not valid at predicate"),
    ("predicate.job.nonce", None, "not valid at predicate.job.nonce"),
    ("predicate.job.submission", {}, "not valid at predicate.job.submission"),
    ("predicate.suite.author", "me", "not valid at predicate.suite.author"),
    ("predicate.issuedAt", "yesterday", "not valid at predicate.issuedAt"),
    ("predicate.attempts.0.number", True, "not valid at predicate.attempts.0.number"),
    ("predicate.verdict", [], "not valid at predicate.verdict"),
]


@pytest.mark.parametrize(("path", "value", "why"), MALFORMED)
def test_signed_nonsense(path: str, value: Any, why: str) -> None:
    with pytest.raises(VerificationFailed, match=re.escape(why)) as caught:
        check(with_change(statement(), path, value))
    assert SENTENCE.fullmatch(str(caught.value))


def test_another_key() -> None:
    with pytest.raises(VerificationFailed, match="not signed by a trusted key"):
        verify_verdict(signed(statement()), [OTHER_PUBLIC])


def test_a_key_that_is_none() -> None:
    with pytest.raises(VerificationFailed, match="not a key in PEM"):
        verify_verdict(signed(statement()), [b"key"])


@given(st.binary(max_size=400))
def test_any_bytes_fail_with_a_sentence(data: bytes) -> None:
    with pytest.raises(VerificationFailed) as caught:
        verify_verdict(data, [PUBLIC])
    assert SENTENCE.fullmatch(str(caught.value))


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
PATHS = [
    "subject",
    "predicate",
    "predicate.verdict",
    "predicate.verdict.tests",
    "predicate.verdict.outcomes",
    "predicate.job",
    "predicate.job.submission",
    "predicate.job.parameters",
    "predicate.suite",
    "predicate.attempts",
    "predicate.isolation",
    "predicate.tests",
    "predicate.issuer",
    "predicate.clientClaim",
]


@given(st.sampled_from(PATHS), JSON)
def test_any_signed_value_is_answered(path: str, value: Any) -> None:
    """Even a trusted key may sign nonsense: it is verified or refused, never an error of ours."""
    try:
        found = check(with_change(statement(), path, value))
    except VerificationFailed as error:
        assert SENTENCE.fullmatch(str(error))
    else:
        assert isinstance(found.verdict, Graded)
        assert found.verdict.outcomes == "PF"


def test_sentences_show_hostile_text_harmlessly() -> None:
    document = statement(job=job(nonce="n" * 128))
    document["predicate"]["job"]["nonce"] = "\x1b[2J" + "n" * 500
    with pytest.raises(VerificationFailed) as caught:
        check(document, nonce="x")
    assert "\x1b" not in str(caught.value)
    assert len(str(caught.value)) < 300


def suite_spec(**change: Any) -> GradingSuiteSpec:
    return GradingSuiteSpec.model_validate(
        {
            "image": f"docker.io/gradekeeper/billing@{SUITE.image}",
            "laneImage": f"localhost:5000/java17:1@{SUITE.lane_image}",
            "signature": "e30=",
            "indexRef": {"name": "billing-index"},
            "resources": dump(RESOURCES),
            **change,
        }
    )


def suite_statement(**change: Any) -> dict[str, Any]:
    arguments: dict[str, Any] = {
        "name": SUITE.name,
        "suite_digest": SUITE.digest,
        "version": SUITE.version,
        "image_digest": SUITE.image,
        "lane_image_digest": SUITE.lane_image,
        "index_digest": SUITE.index,
        "limits": LIMITS,
        "resources": RESOURCES,
        **change,
    }
    return build_suite_statement(**arguments)


def test_suite() -> None:
    found = verify_suite(
        signed(suite_statement()),
        [OTHER_PUBLIC, PUBLIC],
        name="billing",
        spec=suite_spec(),
        index_digest=SUITE.index,
    )
    assert (found.name, found.version, found.author) == ("billing", "1.0.0", KEY.keyid)
    assert found.digest == SUITE.digest
    assert (found.image_digest, found.lane_image_digest) == (SUITE.image, SUITE.lane_image)
    assert found.index_digest == SUITE.index


def test_limits_that_the_author_left_out_are_their_defaults() -> None:
    document = suite_statement()
    document["predicate"]["limits"] = {"parallel": 2}
    found = verify_suite(signed(document), [PUBLIC], spec=suite_spec(), index_digest=SUITE.index)
    assert found.name == "billing"


@pytest.mark.parametrize(
    ("change", "expected", "what"),
    [
        ({}, {"name": "other"}, "name: billing, not other"),
        ({"image_digest": digest("9")}, {}, "suite image"),
        ({"lane_image_digest": digest("9")}, {}, "lane image"),
        ({}, {"index_digest": digest("9")}, "index"),
        ({}, {"spec": suite_spec(limits={"parallel": 3})}, "limits"),
        (
            {},
            {
                "spec": suite_spec(
                    resources={
                        "referee": {"cpu": "200m", "memory": "192Mi"},
                        "lane": {"cpu": "1", "memory": "2Gi"},
                    }
                )
            },
            "resources",
        ),
    ],
)
def test_another_suite_than_signed(
    change: dict[str, Any], expected: dict[str, Any], what: str
) -> None:
    arguments = {
        "name": "billing",
        "spec": suite_spec(),
        "index_digest": SUITE.index,
        **expected,
    }
    with pytest.raises(VerificationFailed, match=f"The author signed another {what}") as caught:
        verify_suite(signed(suite_statement(**change)), [PUBLIC], **arguments)
    assert not isinstance(caught.value, SignatureUntrusted)


@pytest.mark.parametrize(
    ("envelope", "keys"),
    [
        (signed(suite_statement()), [OTHER_PUBLIC]),
        (signed(statement()), [PUBLIC]),
        (b"{}", [PUBLIC]),
        (signed(suite_statement()), []),
        (signed(with_change(suite_statement(), "predicate.limits", {"heap": 1})), [PUBLIC]),
    ],
)
def test_suites_without_a_trusted_signature(envelope: bytes, keys: list[bytes]) -> None:
    with pytest.raises(SignatureUntrusted):
        verify_suite(envelope, keys, spec=suite_spec(), index_digest=SUITE.index)
