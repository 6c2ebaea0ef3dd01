"""Offline verification: what a signed verdict or a signed suite proves, in sentences.

Needs no cluster. Every failure is one sentence in `VerificationFailed`; every success says what
was checked and, as important, what was not.
"""

import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StrictInt, StrictStr, ValidationError

from gradekeeper.api.schema import Digest, Timestamp, dump
from gradekeeper.api.spec import GradingSuiteSpec, Submission, SuiteLimits, SuiteResources
from gradekeeper.verdicts.model import (
    Graded,
    Rejected,
    Unjudged,
    VerdictInvalid,
    parse_verdict,
)
from gradekeeper.verdicts.signing import KeyInvalid, SignatureInvalid, verify_envelope
from gradekeeper.verdicts.statement import (
    STATEMENT_TYPE,
    SUITE_TYPE,
    VERDICT_TYPE,
    subject_of,
)


class VerificationFailed(ValueError):
    """The envelope does not prove what was asked; the text is one sentence that says why."""


class SignatureUntrusted(VerificationFailed):
    """No trusted author signed this; told apart so that a suite's condition can say so."""


@dataclass(frozen=True, slots=True)
class Verification:
    """A verdict whose signature and contents hold.

    Attributes:
        verdict: the verdict.
        statement: the signed statement, as parsed.
        keyid: id of the key that signed.
        checked: what was checked, one sentence each.
        unchecked: what was not checked or cannot be, one sentence each.
    """

    verdict: Graded | Rejected | Unjudged
    statement: dict[str, Any]
    keyid: str
    checked: list[str]
    unchecked: list[str]


@dataclass(frozen=True, slots=True)
class VerifiedSuite:
    """What an author signed about a suite; digests as `sha256:<hex>`."""

    name: str
    digest: str
    version: str
    image_digest: str
    lane_image_digest: str
    index_digest: str
    author: str


ModelT = TypeVar("ModelT", bound=BaseModel)


class _Read(BaseModel):
    """Base of what is read from a statement; newer versions may add fields."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)


Hex = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class _Sha256(_Read):
    sha256: Hex


class _Subject(_Read):
    name: StrictStr
    digest: _Sha256


class _Job(_Read):
    namespace: StrictStr
    name: StrictStr
    uid: StrictStr
    nonce: StrictStr
    group: StrictStr
    task: StrictStr
    parameters: dict[str, str]
    submission: Submission


class _Suite(_Read):
    name: StrictStr
    version: StrictStr
    digest: Digest
    image: Digest
    lane_image: Digest = Field(alias="laneImage")
    index: Digest
    author: Hex


class _Attempt(_Read):
    number: StrictInt
    pod_name: StrictStr = Field(alias="podName")
    pod_uid: StrictStr = Field(alias="podUid")
    node_name: StrictStr = Field(alias="nodeName")
    reason: StrictStr
    message: StrictStr
    started_at: Timestamp | None = Field(alias="startedAt")
    finished_at: Timestamp | None = Field(alias="finishedAt")


class _Test(_Read):
    id: StrictStr
    outcome: Annotated[str, Field(min_length=1, max_length=1)]


class _Issuer(_Read):
    version: StrictStr
    installation: StrictStr


class _VerdictPredicate(_Read):
    verdict: dict[str, Any]
    job: _Job
    suite: _Suite | None
    attempts: tuple[_Attempt, ...]
    isolation: dict[str, Any] | None
    log: Digest | None
    tests: tuple[_Test, ...] | None
    client_claim: bool = Field(default=False, alias="clientClaim", strict=True)
    issued_at: Timestamp = Field(alias="issuedAt")
    issuer: _Issuer


class _SuitePredicate(_Read):
    version: Annotated[StrictStr, Field(max_length=64)]
    image: _Sha256
    lane_image: _Sha256 = Field(alias="laneImage")
    index: _Sha256
    limits: SuiteLimits
    resources: SuiteResources


class _Statement(_Read):
    type: Literal["https://in-toto.io/Statement/v1"] = Field(alias="_type")
    subject: Annotated[tuple[_Subject, ...], Field(min_length=1, max_length=1)]
    predicate_type: StrictStr = Field(alias="predicateType")


class _VerdictStatement(_Statement):
    predicate: _VerdictPredicate


class _SuiteStatement(_Statement):
    predicate: _SuitePredicate


_KINDS: Final = {VERDICT_TYPE: "a verdict", SUITE_TYPE: "a suite's signature"}


def verify_verdict(
    envelope: bytes,
    public_keys: Sequence[bytes],
    *,
    digest: str | None = None,
    nonce: str | None = None,
    task: str | None = None,
    job_uid: str | None = None,
    suite_digest: str | None = None,
) -> Verification:
    """Check a signed verdict, and that it is the one that is expected.

    Args:
        envelope: The DSSE envelope as JSON; any bytes.
        public_keys: Trusted keys of installations, in PEM.
        digest: Expected digest of the submission, with or without `sha256:`.
        nonce: Expected nonce of the job.
        task: Expected task; "" is the whole suite.
        job_uid: Expected UID of the job.
        suite_digest: Expected digest of the suite, with or without `sha256:`.

    Raises:
        VerificationFailed: the signature does not hold, the statement is no verdict or contradicts
            itself, or it is about something else than expected.
    """
    payload, keyid = _open(envelope, public_keys, VERDICT_TYPE)
    statement = _validated(_VerdictStatement, payload)
    predicate, job, suite = statement.predicate, statement.predicate.job, statement.predicate.suite
    subject = statement.subject[0]
    try:
        verdict = parse_verdict(predicate.verdict)
    except VerdictInvalid as error:
        raise VerificationFailed(f"The signed statement contradicts itself: {error}.") from None
    _check_consistency(predicate, subject, verdict)
    checked = [
        f"The verdict is signed by the key {keyid}, and not a byte was changed since.",
        "The statement is consistent: decision, reason, counts, outcomes and subject agree.",
    ]
    unchecked = []
    for value, expected, name, option in (
        (f"sha256:{subject.digest.sha256}", _prefixed(digest), "submission's digest", "digest"),
        (job.nonce, nonce, "nonce", "nonce"),
        (job.task, task, "task", "task"),
        (job.uid, job_uid, "job's UID", "job_uid"),
        (
            "" if suite is None else suite.digest,
            _prefixed(suite_digest),
            "suite's digest",
            "suite_digest",
        ),
    ):
        if expected is None:
            unchecked.append(f"The {name} was not compared: no expected one was given.")
            continue
        # What is expected may come from a command line, which holds any bytes.
        asked = expected.encode(errors="surrogatepass")
        if not hmac.compare_digest(value.encode(), asked):
            raise VerificationFailed(
                f"The verdict is about another {option.replace('_', ' ')}: the {name} is "
                f"{_shown(value)}, expected was {_shown(expected)}."
            )
        checked.append(f"The {name} is the expected one.")
    if not isinstance(verdict, Unjudged) and predicate.tests is None:
        unchecked.append(
            "The tests' ids are not in the statement; the suite's index maps outcomes to them."
        )
    if predicate.client_claim:
        unchecked.append(
            "The submission itself was never seen: its size is what the client said it is."
        )
    elif job.submission.builtin is not None:
        unchecked.append("The submission is the suite's own, so the verdict says nothing of yours.")
    if not isinstance(verdict, Unjudged) and predicate.isolation is None:
        unchecked.append("The statement has no isolation facts; no test passed either.")
    unchecked += [
        "Isolation and node are as the signing installation observed them.",
        "Whether the signing installation and the suite's author deserve trust is your decision.",
    ]
    return Verification(verdict, payload, keyid, checked, unchecked)


def verify_suite(
    envelope: bytes,
    public_keys: Sequence[bytes],
    *,
    name: str | None = None,
    spec: GradingSuiteSpec,
    index_digest: str,
) -> VerifiedSuite:
    """Check that a trusted author signed exactly this suite.

    Args:
        envelope: The DSSE envelope from `spec.signature`; any bytes.
        public_keys: Keys of trusted authors, in PEM.
        name: Name that the suite must have been signed under; None accepts any, for the name of a
            GradingSuite may differ from that of its bundle.
        spec: The GradingSuite's spec; its images, limits and resources must be the signed ones.
        index_digest: Digest of the uncompressed index, as `sha256:<hex>`.

    Raises:
        SignatureUntrusted: no trusted author signed, or what was signed is no suite.
        VerificationFailed: a trusted author signed another name, image, index, limit or resource.
    """
    try:
        payload, keyid = _open(envelope, public_keys, SUITE_TYPE)
        statement = _validated(_SuiteStatement, payload)
    except VerificationFailed as error:
        raise SignatureUntrusted(str(error)) from None
    predicate, subject = statement.predicate, statement.subject[0]
    pairs: tuple[tuple[str, object, object], ...] = (
        ("name", subject.name, subject.name if name is None else name),
        ("suite image", predicate.image.sha256, spec.image.partition("@sha256:")[2]),
        ("lane image", predicate.lane_image.sha256, spec.lane_image.partition("@sha256:")[2]),
        ("index", predicate.index.sha256, index_digest.removeprefix("sha256:")),
        ("limits", dump(predicate.limits), dump(spec.limits)),
        ("resources", dump(predicate.resources), dump(spec.resources)),
    )
    for what, signed, found in pairs:
        if signed != found:
            raise VerificationFailed(
                f"The author signed another {what}: {_shown(signed)}, not {_shown(found)}."
            )
    return VerifiedSuite(
        name=subject.name,
        digest=f"sha256:{subject.digest.sha256}",
        version=predicate.version,
        image_digest=f"sha256:{predicate.image.sha256}",
        lane_image_digest=f"sha256:{predicate.lane_image.sha256}",
        index_digest=f"sha256:{predicate.index.sha256}",
        author=keyid,
    )


def _open(
    envelope: bytes, public_keys: Sequence[bytes], predicate_type: str
) -> tuple[dict[str, Any], str]:
    try:
        verified = verify_envelope(envelope, public_keys)
    except (SignatureInvalid, KeyInvalid) as error:
        raise VerificationFailed(str(error)) from None
    payload = verified.payload
    if payload.get("_type") != STATEMENT_TYPE:
        raise VerificationFailed("The signed payload is not an in-toto statement.")
    found = payload.get("predicateType")
    if found != predicate_type:
        kind = _KINDS.get(found, "something else") if isinstance(found, str) else "something else"
        raise VerificationFailed(f"The signed statement is {kind}, not {_KINDS[predicate_type]}.")
    return payload, verified.keyid


def _validated(model: type[ModelT], payload: dict[str, Any]) -> ModelT:
    try:
        return model.model_validate(payload)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "its root"
        raise VerificationFailed(
            f"The signed statement is not valid at {where[:200]}: {first['msg'][:200]}."
        ) from None


def _check_consistency(
    predicate: _VerdictPredicate, subject: _Subject, verdict: Graded | Rejected | Unjudged
) -> None:
    def require(holds: bool, sentence: str) -> None:
        if not holds:
            raise VerificationFailed(f"The signed statement contradicts itself: {sentence}.")

    submission = predicate.job.submission
    claimed = submission.untransportable is not None
    seen = f"sha256:{subject.digest.sha256}" if subject.name == "submission" else None
    require(
        (subject.name, f"sha256:{subject.digest.sha256}") == subject_of(submission, seen),
        "its subject is not the job's submission",
    )
    require(claimed == predicate.client_claim, "a client's claim is not marked as one")
    numbers = [attempt.number for attempt in predicate.attempts]
    require(
        numbers == list(range(1, len(numbers) + 1)), "its attempts are not counted from 1 onwards"
    )
    if isinstance(verdict, Unjudged):
        require(predicate.tests is None, "an unjudged submission has a list of tests")
        return
    require(predicate.suite is not None, "a scored verdict names no suite")
    if predicate.tests is not None:
        require(
            "".join(test.outcome for test in predicate.tests) == verdict.outcomes,
            "its list of tests does not fit its outcomes",
        )
        require(
            len({test.id for test in predicate.tests}) == len(predicate.tests),
            "it lists a test twice",
        )
    if isinstance(verdict, Graded):
        require(not claimed, "a submission that nobody saw is graded")
        require(bool(numbers), "a submission is graded without any attempt")
        require(
            verdict.passed == 0 or predicate.isolation is not None,
            "a test passed although no isolation was observed",
        )


def _prefixed(digest: str | None) -> str | None:
    if digest is None or digest.startswith("sha256:"):
        return digest
    return f"sha256:{digest}"


def _shown(value: object) -> str:
    text = str(value) or "(empty)"
    printable = "".join(char if char.isprintable() else "?" for char in text)
    return printable if len(printable) <= 160 else printable[:157] + "..."
