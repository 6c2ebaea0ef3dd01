"""The verdict as a tagged union: code cannot read a score off an `Unjudged`, for it has none.

Pure. `Verdict` is what operator, client and CLI pass around; `api.status.VerdictStatus` is only
the shape that the CRD is generated from.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from gradekeeper.api.reasons import Decision, Reason
from gradekeeper.api.schema import MAX_TESTS, OUTCOMES_PATTERN
from gradekeeper.referee.result import NOT_RUN, PASSED, RefereeResult

MESSAGE_MAX = 1024
"""Longest message of a verdict in characters."""

Message = Annotated[str, StringConstraints(max_length=MESSAGE_MAX)]
Outcomes = Annotated[str, StringConstraints(pattern=OUTCOMES_PATTERN, max_length=MAX_TESTS)]


class _Verdict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class _Scored(_Verdict):
    message: Message = ""
    """Why, as a sentence without any text from the submission."""
    outcomes: Outcomes
    """One character a test, in the order of the suite's index for the task."""

    @property
    def total(self) -> int:
        """Number of expected tests."""
        return len(self.outcomes)

    @property
    def passed(self) -> int:
        """Number of tests that passed."""
        return self.outcomes.count(PASSED)

    @property
    def failed(self) -> int:
        """Number of tests that did not pass, for whatever reason."""
        return self.total - self.passed


class Graded(_Scored):
    """Every expected test has an outcome."""

    decision: Literal[Decision.GRADED] = Decision.GRADED
    reason: Literal[
        Reason.COMPLETED, Reason.DOES_NOT_COMPILE, Reason.LANE_LOST, Reason.REFEREE_FAULT
    ]
    """How the grading ended."""


class Rejected(_Scored):
    """The submission broke a stated rule; every test counts as failed."""

    decision: Literal[Decision.REJECTED] = Decision.REJECTED
    reason: Literal[
        Reason.SUBMISSION_TOO_LARGE, Reason.SUBMISSION_TOO_MANY_FILES, Reason.SUBMISSION_MALFORMED
    ]
    """The rule that the submission broke."""

    @model_validator(mode="after")
    def _nothing_passed(self) -> "Rejected":
        if self.outcomes.strip(NOT_RUN):
            raise ValueError("a rejected submission has no test that ran")
        return self


class Unjudged(_Verdict):
    """The platform failed. There are no outcomes, not even an attribute for them."""

    decision: Literal[Decision.UNJUDGED] = Decision.UNJUDGED
    reason: Literal[
        Reason.IMAGE_PULL_FAILED,
        Reason.POD_ADMISSION_FAILED,
        Reason.POD_CREATION_REJECTED,
        Reason.CONTAINER_CREATE_FAILED,
        Reason.POD_EVICTED,
        Reason.POD_PREEMPTED,
        Reason.POD_LOST,
        Reason.NODE_LOST,
        Reason.NODE_OVERLOADED,
        Reason.REFEREE_FAILED,
        Reason.RESULT_MISSING,
        Reason.RESULT_INVALID,
        Reason.ISOLATION_NOT_ENFORCED,
        Reason.DEADLINE_EXCEEDED,
        Reason.QUOTA_EXCEEDED,
        Reason.SUBMISSION_CORRUPT,
        Reason.INVALID_JOB,
        Reason.CANCELLED,
    ]
    """The cause of the last attempt."""
    message: Message = ""
    """Why, as a sentence."""


Verdict = Annotated[Graded | Rejected | Unjudged, Field(discriminator="decision")]
"""One of the three; `match` on the class."""

_ADAPTER: TypeAdapter[Graded | Rejected | Unjudged] = TypeAdapter(Verdict)


class VerdictInvalid(ValueError):
    """What should be a verdict is none; the text is one sentence."""


def parse_verdict(document: Mapping[str, Any]) -> Graded | Rejected | Unjudged:
    """Read a verdict as `verdict_document` wrote it, from a status or a signed statement.

    Raises:
        VerdictInvalid: unknown decision, a reason of another decision, outcomes where there may
            be none or none where there must be, or counts that do not fit the outcomes.
    """
    fields = {key: value for key, value in document.items() if key != "tests"}
    try:
        verdict = _ADAPTER.validate_python(fields)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = str(first["loc"][-1]) if first["loc"] else "decision"
        why = "does not belong to its decision" if field == "reason" else first["msg"][:120]
        raise VerdictInvalid(f"the verdict's {field[:40]} is not valid: {why}") from None
    if document.get("tests") != verdict_document(verdict).get("tests"):
        raise VerdictInvalid("the verdict's counts do not fit its outcomes")
    return verdict


def verdict_document(verdict: Graded | Rejected | Unjudged) -> dict[str, Any]:
    """The verdict as JSON: in `status.verdict` and in the signed statement alike."""
    document: dict[str, Any] = {
        "decision": verdict.decision.value,
        "reason": verdict.reason.value,
        "message": verdict.message,
    }
    if not isinstance(verdict, Unjudged):
        document["tests"] = {
            "total": verdict.total,
            "passed": verdict.passed,
            "failed": verdict.failed,
        }
        document["outcomes"] = verdict.outcomes
    return document


def verdict_from_result(result: RefereeResult) -> Graded | Rejected | Unjudged:
    """The verdict that a referee's result amounts to.

    Raises:
        VerdictInvalid: the result contradicts itself; `parse_result` never returns such a one.
    """
    document: dict[str, Any] = {
        "decision": result.decision,
        "reason": result.reason,
        "message": result.message,
    }
    if result.outcomes is not None:
        passed = result.outcomes.count(PASSED)
        total = len(result.outcomes)
        document["tests"] = {"total": total, "passed": passed, "failed": total - passed}
        document["outcomes"] = result.outcomes
    return parse_verdict(document)


def rejected(reason: Reason, tests: int, message: str = "") -> Rejected:
    """A `Rejected` that lists all `tests` as not run."""
    verdict = parse_verdict(
        {
            "decision": Decision.REJECTED.value,
            "reason": reason.value,
            "message": (message or reason.sentence)[:MESSAGE_MAX],
            "tests": {"total": tests, "passed": 0, "failed": tests},
            "outcomes": NOT_RUN * tests,
        }
    )
    assert isinstance(verdict, Rejected)
    return verdict


def unjudged(reason: Reason, message: str = "") -> Unjudged:
    """An `Unjudged` with the reason's own sentence where no message is given."""
    verdict = parse_verdict(
        {
            "decision": Decision.UNJUDGED.value,
            "reason": reason.value,
            "message": (message or reason.sentence)[:MESSAGE_MAX],
        }
    )
    assert isinstance(verdict, Unjudged)
    return verdict
