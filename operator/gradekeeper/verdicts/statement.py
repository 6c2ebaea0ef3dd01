"""The two in-toto statements that Gradekeeper signs: about a suite, and about a submission.

Pure: identities and facts in, a plain dict out. `encode_statement` gives the bytes to sign.
docs/protocols.md "Signatures" fixes the form.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from gradekeeper.api.schema import dump, format_time
from gradekeeper.api.spec import GradingJobSpec, Submission, SuiteLimits, SuiteResources
from gradekeeper.api.status import Attempt
from gradekeeper.referee.strictjson import encode_canonical
from gradekeeper.verdicts.model import Graded, Rejected, Unjudged, verdict_document

STATEMENT_TYPE: Final = "https://in-toto.io/Statement/v1"
VERDICT_TYPE: Final = "https://gradekeeper.dev/verdict/v1"
SUITE_TYPE: Final = "https://gradekeeper.dev/suite/v1"
MAX_TESTS_BYTES: Final = 64 * 1024
"""Longer lists of tests are left out of a verdict; the index digest then stands for them."""

SUBJECT_SUBMISSION: Final = "submission"
SUBJECT_UNTRANSPORTABLE: Final = "untransportable"
SUBJECT_BUILTIN: Final = "builtin"


@dataclass(frozen=True, slots=True)
class JobIdentity:
    """The job that a verdict answers; `spec` as it was when the job was created."""

    namespace: str
    name: str
    uid: str
    spec: GradingJobSpec


@dataclass(frozen=True, slots=True)
class SuiteIdentity:
    """The suite that graded. All digests as `sha256:<hex>`; `author` is a key id."""

    name: str
    version: str
    digest: str
    image: str
    lane_image: str
    index: str
    author: str


@dataclass(frozen=True, slots=True)
class Issuer:
    """Who signs: the operator's version and the installation as `<namespace>/<release>`."""

    version: str
    installation: str


def claim_digest(submission: Submission) -> str:
    """Digest that stands for a submission of which no bytes were seen, as `sha256:<hex>`.

    Of `untransportable` it is that of the claim itself; of `builtin`, if the referee never told
    the archive's digest, that of `{"builtin": …}`. Canonical JSON both.
    """
    if submission.untransportable is not None:
        claim: dict[str, Any] = dump(submission.untransportable)
    else:
        claim = dump(submission)
    return f"sha256:{hashlib.sha256(encode_canonical(claim)).hexdigest()}"


def subject_of(submission: Submission, seen: str | None) -> tuple[str, str]:
    """Name and digest of a verdict's subject.

    Args:
        submission: The job's submission.
        seen: The archive's digest according to the referee, if it told one.
    """
    if submission.untransportable is not None:
        return SUBJECT_UNTRANSPORTABLE, claim_digest(submission)
    if submission.digest is not None:
        return SUBJECT_SUBMISSION, submission.digest
    if seen:
        return SUBJECT_SUBMISSION, seen
    return SUBJECT_BUILTIN, claim_digest(submission)


def build_verdict_statement(
    *,
    verdict: Graded | Rejected | Unjudged,
    job: JobIdentity,
    suite: SuiteIdentity | None,
    submission_digest: str | None,
    attempts: Sequence[Attempt],
    isolation: Mapping[str, Any] | None,
    log: str | None,
    test_ids: Sequence[str] | None,
    issued_at: datetime,
    issuer: Issuer,
) -> dict[str, Any]:
    """The statement that binds a verdict to everything it rests on.

    Args:
        verdict: The verdict.
        job: The job that it answers.
        suite: The suite that graded; None only for an `Unjudged` that never had one.
        submission_digest: The archive's digest according to the referee, if it told one.
        attempts: All attempts, in order.
        isolation: Facts observed before the submission's release, with `qosClass`, if any.
        log: Digest of the referee's detail log, if there is one.
        test_ids: The task's test ids in the index's order; ignored when `Unjudged`.
        issued_at: Now.
        issuer: Who signs.

    Returns:
        The statement as a JSON object; `predicate.tests` is null when `Unjudged` and where the
        list would be longer than 64 KiB.

    Raises:
        ValueError: the number of test ids is not that of the outcomes, or a scored verdict has no
            suite.
    """
    tests: list[dict[str, str]] | None = None
    if not isinstance(verdict, Unjudged):
        if suite is None:
            raise ValueError("a scored verdict names its suite")
        if test_ids is not None:
            tests = [
                {"id": test_id, "outcome": outcome}
                for test_id, outcome in zip(test_ids, verdict.outcomes, strict=True)
            ]
            if len(encode_canonical(tests)) > MAX_TESTS_BYTES:
                tests = None
    spec = job.spec
    name, digest = subject_of(spec.submission, submission_digest)
    predicate: dict[str, Any] = {
        "verdict": verdict_document(verdict),
        "job": {
            "namespace": job.namespace,
            "name": job.name,
            "uid": job.uid,
            "nonce": spec.nonce,
            "group": spec.group,
            "task": spec.task,
            "parameters": dict(spec.parameters),
            "submission": dump(spec.submission),
        },
        "suite": None
        if suite is None
        else {
            "name": suite.name,
            "version": suite.version,
            "digest": suite.digest,
            "image": suite.image,
            "laneImage": suite.lane_image,
            "index": suite.index,
            "author": suite.author,
        },
        "attempts": [_attempt(attempt) for attempt in attempts],
        "isolation": None if isolation is None else dict(isolation),
        "log": log or None,
        "tests": tests,
        "issuedAt": format_time(issued_at),
        "issuer": {"version": issuer.version, "installation": issuer.installation},
    }
    if spec.submission.untransportable is not None:
        predicate["clientClaim"] = True
    return _statement(name, digest, VERDICT_TYPE, predicate)


def build_suite_statement(
    *,
    name: str,
    suite_digest: str,
    version: str,
    image_digest: str,
    lane_image_digest: str,
    index_digest: str,
    limits: SuiteLimits,
    resources: SuiteResources,
) -> dict[str, Any]:
    """The statement that an author signs: these tests, in these images, within these limits.

    All digests as `sha256:<hex>`. `image_digest` and `lane_image_digest` are what follows the `@`
    in `spec.image` and `spec.laneImage`.
    """
    return _statement(
        name,
        suite_digest,
        SUITE_TYPE,
        {
            "version": version,
            "image": {"sha256": _hex(image_digest)},
            "laneImage": {"sha256": _hex(lane_image_digest)},
            "index": {"sha256": _hex(index_digest)},
            "limits": dump(limits),
            "resources": dump(resources),
        },
    )


def encode_statement(statement: Mapping[str, Any]) -> bytes:
    """The bytes to sign: canonical JSON."""
    return encode_canonical(dict(statement))


def _statement(
    name: str, digest: str, predicate_type: str, predicate: dict[str, Any]
) -> dict[str, Any]:
    return {
        "_type": STATEMENT_TYPE,
        "subject": [{"name": name, "digest": {"sha256": _hex(digest)}}],
        "predicateType": predicate_type,
        "predicate": predicate,
    }


def _attempt(attempt: Attempt) -> dict[str, Any]:
    return {
        "number": attempt.number,
        "podName": attempt.pod_name,
        "podUid": attempt.pod_uid,
        "nodeName": attempt.node_name,
        "reason": attempt.reason,
        "message": attempt.message,
        "startedAt": None if attempt.started_at is None else format_time(attempt.started_at),
        "finishedAt": None if attempt.finished_at is None else format_time(attempt.finished_at),
    }


def _hex(digest: str) -> str:
    return digest.removeprefix("sha256:")
