"""The referee's result message: what it writes as its termination message, and its parser.

The schema of docs/protocols.md "Result message". Everyone who reads a result imports it from
here; this module imports nothing of ours but the strict JSON parser and holds no logic of grading.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from gradekeeper.referee.strictjson import StrictJsonError, encode_canonical, parse_strict

SCHEMA: Final = "gradekeeper.result/v1"
MAX_MESSAGE_BYTES: Final = 4096
"""The kubelet keeps this many bytes of a termination message."""

PASSED: Final = "P"
"""The test passed in every run."""
FAILED: Final = "F"
"""Something else was observed than the suite expects."""
TIMED_OUT: Final = "T"
"""The test's own time was used up."""
ENDED_EARLY: Final = "X"
"""The process ended before the test's end was reported."""
VIOLATED: Final = "V"
"""The lane broke the protocol."""
NOT_RUN: Final = "N"
"""It did not run: budget used up, lane lost, does not compile, rejected."""
OUTCOMES: Final = frozenset({PASSED, FAILED, TIMED_OUT, ENDED_EARLY, VIOLATED, NOT_RUN})

GRADED: Final = "Graded"
REJECTED: Final = "Rejected"
UNJUDGED: Final = "Unjudged"

COMPLETED: Final = "Completed"
DOES_NOT_COMPILE: Final = "DoesNotCompile"
LANE_LOST: Final = "LaneLost"
REFEREE_FAULT: Final = "RefereeFault"
SUBMISSION_TOO_LARGE: Final = "SubmissionTooLarge"
SUBMISSION_TOO_MANY_FILES: Final = "SubmissionTooManyFiles"
SUBMISSION_MALFORMED: Final = "SubmissionMalformed"
NODE_OVERLOADED: Final = "NodeOverloaded"
REFEREE_FAILED: Final = "RefereeFailed"
ISOLATION_NOT_ENFORCED: Final = "IsolationNotEnforced"
SUBMISSION_CORRUPT: Final = "SubmissionCorrupt"
INVALID_JOB: Final = "InvalidJob"

REASONS: Final[Mapping[str, frozenset[str]]] = {
    GRADED: frozenset({COMPLETED, DOES_NOT_COMPILE, LANE_LOST, REFEREE_FAULT}),
    REJECTED: frozenset({SUBMISSION_TOO_LARGE, SUBMISSION_TOO_MANY_FILES, SUBMISSION_MALFORMED}),
    UNJUDGED: frozenset(
        {
            NODE_OVERLOADED,
            REFEREE_FAILED,
            ISOLATION_NOT_ENFORCED,
            SUBMISSION_CORRUPT,
            INVALID_JOB,
        }
    ),
}
"""Decision -> the reasons that a referee may give with it."""

_DIGEST_PREFIX = "sha256:"
_HEX = frozenset("0123456789abcdef")
_FIELDS = frozenset(
    {
        "schema",
        "nonce",
        "attempt",
        "suite",
        "submission",
        "task",
        "decision",
        "reason",
        "message",
        "isolation",
        "log",
        "times",
    }
)
_MAX_TEXT = {"nonce": 256, "task": 256, "message": 512}


class ResultError(ValueError):
    """The bytes are not a result message, or the message contradicts itself."""


@dataclass(frozen=True, slots=True)
class RefereeResult:
    """What one attempt's referee decided.

    Attributes:
        nonce: the job's nonce, as given to the referee ("" if the job could not be read).
        attempt: number of the attempt, from 1 (0 if the job could not be read).
        suite: "sha256:…" of the bundle's manifest, as the referee computed it ("" if unread).
        submission: "sha256:…" of the submitted archive, as computed ("" if unread).
        task: the selection inside the suite; "" is the whole suite.
        decision: `GRADED`, `REJECTED` or `UNJUDGED`.
        reason: one of `REASONS[decision]`.
        message: one sentence, at most 512 characters, without any text from a lane.
        outcomes: one character of `OUTCOMES` a test, in the task's order; None when unjudged.
        isolation: the facts observed before release; None if the probe was not reached.
        log: "sha256:…" of the detail log.
        times: seconds by phase ("intake", "probe", "compile", "runs", "total" where reached).
    """

    nonce: str
    attempt: int
    suite: str
    submission: str
    task: str
    decision: str
    reason: str
    message: str
    outcomes: str | None
    isolation: Mapping[str, Any] | None
    log: str
    times: Mapping[str, float] = field(default_factory=dict)


def encode_result(result: RefereeResult) -> bytes:
    """Encode as canonical JSON.

    Returns:
        At most `MAX_MESSAGE_BYTES` bytes. Isolation facts and times are left out, in that
        order, where the message would not fit otherwise; outcomes never are.

    Raises:
        ResultError: the result contradicts itself, or does not fit even so.
    """
    times = {name: round(seconds, 3) for name, seconds in result.times.items()}
    isolation = None if result.isolation is None else dict(result.isolation)
    trimmed = {"trimmed": True} if isolation is not None else None
    for facts, phases in ((isolation, times), (trimmed, times), (trimmed, {})):
        document: dict[str, Any] = {
            "schema": SCHEMA,
            "nonce": result.nonce,
            "attempt": result.attempt,
            "suite": result.suite,
            "submission": result.submission,
            "task": result.task,
            "decision": result.decision,
            "reason": result.reason,
            "message": result.message,
            "isolation": facts,
            "log": result.log,
            "times": phases,
        }
        if result.outcomes is not None:
            document["outcomes"] = result.outcomes
        try:
            data = encode_canonical(document)
        except (ValueError, TypeError, RecursionError):
            raise ResultError("the result is not JSON") from None
        if len(data) <= MAX_MESSAGE_BYTES:
            parse_result(data)  # an encoder that a parser refuses would lose the attempt
            return data
    raise ResultError("the result does not fit a termination message")


def parse_result(data: bytes) -> RefereeResult:
    """Parse a termination message.

    Total: any bytes give a `RefereeResult` or a `ResultError`.

    Raises:
        ResultError: longer than `MAX_MESSAGE_BYTES`, not strict JSON, an unknown or missing
            field, a wrong type, a reason that does not belong to the decision, outcomes where
            there may be none or none where there must be.
    """
    try:
        document = parse_strict(data, max_bytes=MAX_MESSAGE_BYTES, max_depth=6)
    except StrictJsonError as error:
        raise ResultError(f"the result message is {error}") from None
    if not isinstance(document, dict):
        raise ResultError("the result message is not an object")
    if document.get("schema") != SCHEMA:
        raise ResultError(f"the schema is not {SCHEMA}")
    unknown = document.keys() - _FIELDS - {"outcomes"}
    missing = _FIELDS - document.keys()
    if unknown or missing:
        raise ResultError("the result message has unknown or missing fields")
    decision = _text(document, "decision")
    reason = _text(document, "reason")
    if decision not in REASONS or reason not in REASONS[decision]:
        raise ResultError("the reason does not belong to the decision")
    unjudged = decision == UNJUDGED
    attempt = document["attempt"]
    if type(attempt) is not int or not (0 if unjudged else 1) <= attempt <= 1_000_000:
        raise ResultError("the attempt is not a small number")
    return RefereeResult(
        nonce=_text(document, "nonce"),
        attempt=attempt,
        suite=_digest(document, "suite", may_be_empty=unjudged),
        submission=_digest(document, "submission", may_be_empty=unjudged),
        task=_text(document, "task"),
        decision=decision,
        reason=reason,
        message=_text(document, "message"),
        outcomes=_outcomes(document, decision),
        isolation=_isolation(document, required=decision == GRADED),
        log=_digest(document, "log", may_be_empty=False),
        times=_times(document),
    )


def _text(document: dict[str, Any], name: str) -> str:
    value = document[name]
    if type(value) is not str or len(value) > _MAX_TEXT.get(name, 128):
        raise ResultError(f"{name} is not a short string")
    if not value.isprintable():
        raise ResultError(f"{name} contains control characters")
    return value


def _digest(document: dict[str, Any], name: str, *, may_be_empty: bool) -> str:
    value = _text(document, name)
    if value == "" and may_be_empty:
        return value
    if not is_digest(value):
        raise ResultError(f"{name} is not a sha256 digest")
    return value


def is_digest(value: str) -> bool:
    """Whether the text is "sha256:" and 64 lower-case hexadecimal digits."""
    digits = value.removeprefix(_DIGEST_PREFIX)
    return value.startswith(_DIGEST_PREFIX) and len(digits) == 64 and _HEX.issuperset(digits)


def _outcomes(document: dict[str, Any], decision: str) -> str | None:
    if decision == UNJUDGED:
        if "outcomes" in document:
            raise ResultError("an unjudged result carries outcomes")
        return None
    value = document.get("outcomes")
    if type(value) is not str or not value or not OUTCOMES.issuperset(value):
        raise ResultError("outcomes are missing or not outcome characters")
    if decision == REJECTED and set(value) != {NOT_RUN}:
        raise ResultError("a rejected result lists a test that ran")
    if document["reason"] == DOES_NOT_COMPILE and set(value) != {NOT_RUN}:
        raise ResultError("a submission that does not compile lists a test that ran")
    return value


def _isolation(document: dict[str, Any], *, required: bool) -> dict[str, Any] | None:
    value = document["isolation"]
    if value is None and not required:
        return None
    if type(value) is not dict:
        raise ResultError("the isolation facts are missing")
    return value


def _times(document: dict[str, Any]) -> dict[str, float]:
    value = document["times"]
    if type(value) is not dict or len(value) > 16:
        raise ResultError("times is not a small object")
    found: dict[str, float] = {}
    for name, seconds in value.items():
        if type(seconds) not in (int, float) or not 0 <= seconds <= 1e7:
            raise ResultError("a time is not a number of seconds")
        found[name] = float(seconds)
    return found
