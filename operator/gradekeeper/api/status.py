"""What the operator writes: the statuses of GradingJob and GradingSuite, and condition arithmetic.

Pure and frozen; unknown fields are ignored when read (`extra="ignore"`), so that an older client
can read what a newer operator wrote. For a verdict that code may act on use
`gradekeeper.verdicts.model`, where an `Unjudged` has no outcomes to read.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from gradekeeper.api.reasons import (
    ConditionType,
    Decision,
    ProgressReason,
    Reason,
    SuiteReason,
    reasons_for,
)
from gradekeeper.api.schema import (
    MAX_ATTEMPTS,
    MAX_TESTS,
    OUTCOMES_PATTERN,
    Digest,
    StatusModel,
    Timestamp,
    rule,
    rules,
)

Message = Annotated[str, StringConstraints(max_length=1024)]
"""A sentence for people. Never contains text from a submission."""
ReasonWord = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z]([A-Za-z0-9_]*[A-Za-z0-9])?$", max_length=64)
]
"""One CamelCase word."""
ConditionStatus = Literal["True", "False", "Unknown"]

_ALL_OUTCOMES = "Graded and Rejected carry an outcome for every test"
_SIGNED = "verdict and attestation are set together"
_NO_OUTCOMES = "Unjudged carries no tests and no outcomes"


class Condition(StatusModel):
    """One condition, as in every Kubernetes object."""

    type: Annotated[str, StringConstraints(min_length=1, max_length=64)]
    """Which condition: for jobs `Admitted`, `Started`, `Succeeded`; for suites `Verified`,
    `Admitted`, `Ready`."""
    status: ConditionStatus
    """`True`, `False` or `Unknown`."""
    reason: ReasonWord
    """Why, as one word."""
    message: Message = ""
    """Why, as a sentence."""
    last_transition_time: Timestamp
    """When `status` last changed."""
    observed_generation: int | None = Field(default=None, ge=0)
    """The `metadata.generation` that this condition is about."""


class TestCounts(
    StatusModel,
    json_schema_extra=rules(
        rule(
            "self.passed + self.failed == self.total", "total must be the sum of passed and failed"
        )
    ),
):
    """How many tests passed."""

    __test__ = False

    total: int = Field(ge=0, le=MAX_TESTS)
    """Number of expected tests."""
    passed: int = Field(ge=0, le=MAX_TESTS)
    """Tests that passed."""
    failed: int = Field(ge=0, le=MAX_TESTS)
    """Tests that did not pass, for whatever reason."""


def _reason_rule(decision: Decision) -> dict[str, object]:
    words = ", ".join(f"'{reason.value}'" for reason in reasons_for(decision))
    return rule(
        f"self.decision != '{decision.value}' || self.reason in [{words}]",
        f"reason must be one of the reasons of {decision.value}",
    )


_FINAL_REASONS: Any = [reason.value for reason in Reason if reason.decision is not None]


class VerdictStatus(
    StatusModel,
    json_schema_extra=rules(
        rule(
            "self.decision != 'Unjudged' || (!has(self.tests) && !has(self.outcomes))",
            _NO_OUTCOMES,
        ),
        rule(
            "self.decision == 'Unjudged' || (has(self.tests) && has(self.outcomes)"
            " && size(self.outcomes) == self.tests.total)",
            _ALL_OUTCOMES,
        ),
        rule(
            "self.decision != 'Rejected' || !has(self.tests) || self.tests.passed == 0",
            "Rejected lists every test as failed",
        ),
        *(_reason_rule(decision) for decision in Decision),
    ),
):
    """The verdict as a job's status shows it; the attestation is its signed form."""

    decision: Decision
    """`Graded`: every test has an outcome. `Rejected`: the submission broke a stated rule and
    counts as failed. `Unjudged`: the platform failed, nothing is said about the submission."""
    reason: Annotated[Reason, Field(json_schema_extra={"enum": _FINAL_REASONS})]
    """Why, as one word."""
    message: Message = ""
    """Why, as a sentence without any text from the submission."""
    tests: TestCounts | None = None
    """How many tests passed. Absent when `Unjudged`."""
    outcomes: (
        Annotated[str, StringConstraints(pattern=OUTCOMES_PATTERN, max_length=MAX_TESTS)] | None
    ) = None
    """One character a test in the order of the suite's index: P passed, F observed something else,
    T timed out, X ended early, V broke the protocol, N did not run. Absent when `Unjudged`."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.reason.decision is not self.decision:
            raise ValueError(f"{self.reason} is not a reason of {self.decision}")
        if self.decision is Decision.UNJUDGED:
            if self.tests is not None or self.outcomes is not None:
                raise ValueError(_NO_OUTCOMES)
        elif self.tests is None or self.outcomes is None or len(self.outcomes) != self.tests.total:
            raise ValueError(_ALL_OUTCOMES)
        return self


class Attempt(StatusModel):
    """One Pod that graded, or tried to."""

    number: int = Field(ge=1, le=MAX_ATTEMPTS)
    """Counted from 1."""
    pod_name: Annotated[str, StringConstraints(max_length=253)]
    """Name of the Pod."""
    pod_uid: Annotated[str, StringConstraints(max_length=64)] = ""
    """UID of the Pod; empty if it never came to exist."""
    node_name: Annotated[str, StringConstraints(max_length=253)] = ""
    """The node that the Pod was on; empty if none."""
    reason: Annotated[str, StringConstraints(max_length=64)] = ""
    """How the attempt ended, as one word; empty while it goes on."""
    message: Message = ""
    """How the attempt ended, as a sentence."""
    started_at: Timestamp | None = None
    """When the Pod started on its node."""
    finished_at: Timestamp | None = None
    """When the attempt ended."""


Conditions = Annotated[
    tuple[Condition, ...],
    Field(
        max_length=16,
        json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
    ),
]
"""Conditions by type."""


class GradingJobStatus(
    StatusModel,
    json_schema_extra=rules(
        rule("has(self.verdict) == has(self.attestation)", _SIGNED),
        rule(
            "!has(self.conditions) || (has(self.verdict) && self.verdict.decision != 'Unjudged')"
            " || !self.conditions.exists(c, c.type == 'Succeeded' && c.status == 'True')",
            "Succeeded is True only with a verdict that carries outcomes",
        ),
    ),
):
    """Where a job is, and its verdict once it has one."""

    observed_generation: int | None = Field(default=None, ge=0)
    """The `metadata.generation` that this status is about."""
    conditions: Conditions = ()
    """`Admitted`: suite, submission and a place are there. `Started`: the Pod runs. `Succeeded`:
    True once a trustworthy verdict exists (a 0 included), False when `Unjudged`."""
    start_time: Timestamp | None = None
    """When the job was admitted."""
    completion_time: Timestamp | None = None
    """When the verdict was signed."""
    duration: Annotated[str, StringConstraints(max_length=32)] | None = None
    """From admission to verdict, for people, as in `8.2s`."""
    suite_digest: Digest | None = None
    """Digest of the suite that the job was admitted with; every attempt uses this one."""
    pod_name: Annotated[str, StringConstraints(max_length=253)] | None = None
    """Pod of the current or last attempt."""
    node_name: Annotated[str, StringConstraints(max_length=253)] | None = None
    """Node of the current or last attempt."""
    attempts: Annotated[
        tuple[Attempt, ...],
        Field(
            max_length=MAX_ATTEMPTS,
            json_schema_extra={
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["number"],
            },
        ),
    ] = ()
    """Every Pod that graded, or tried to, in order."""
    verdict: VerdictStatus | None = None
    """The verdict; set once, never changed. Absent: there is none yet."""
    attestation: (
        Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9+/]+={0,2}$", max_length=262144)]
        | None
    ) = None
    """The signed verdict: a DSSE envelope in base64, for `gradekeeper verify`. Set together with
    the verdict, never changed."""


class SuiteTests(StatusModel):
    """Size of a suite."""

    total: int = Field(ge=0, le=1_000_000)
    """Tests in all tasks together."""
    discriminating: int = Field(ge=0, le=1_000_000)
    """Tests that the built-in submission null must fail."""


class SuiteJobs(StatusModel):
    """Jobs of a suite by state."""

    waiting: int = Field(default=0, ge=0)
    """Jobs without a Pod."""
    running: int = Field(default=0, ge=0)
    """Jobs with a Pod."""
    graded: int = Field(default=0, ge=0)
    """Existing jobs with the verdict `Graded`."""
    rejected: int = Field(default=0, ge=0)
    """Existing jobs with the verdict `Rejected`."""
    unjudged: int = Field(default=0, ge=0)
    """Existing jobs with the verdict `Unjudged`."""


class GradingSuiteStatus(StatusModel):
    """Whether a suite may grade, and what exactly it is."""

    observed_generation: int | None = Field(default=None, ge=0)
    """The `metadata.generation` that this status is about."""
    conditions: Conditions = ()
    """`Verified`: signed by a trusted author. `Admitted`: gold passes every test and null fails
    every discriminating one. `Ready`: both; only then are jobs graded."""
    suite_digest: Digest | None = None
    """Digest of the bundle, as signed."""
    image_digest: Digest | None = None
    """Digest of the suite's image."""
    lane_image_digest: Digest | None = None
    """Digest of the lane's image."""
    index_digest: Digest | None = None
    """Digest of the index, as signed."""
    author: Annotated[str, StringConstraints(max_length=64)] | None = None
    """Key id of the author who signed: SHA-256 of the public key in hex."""
    version: Annotated[str, StringConstraints(max_length=64)] | None = None
    """The author's version of the suite."""
    tests: SuiteTests | None = None
    """Size of the suite."""
    jobs: SuiteJobs | None = None
    """Jobs of the suite by state."""


def find_condition(
    conditions: Sequence[Condition], condition_type: ConditionType
) -> Condition | None:
    """The condition of that type, or None."""
    return next((c for c in conditions if c.type == condition_type), None)


def is_true(conditions: Sequence[Condition], condition_type: ConditionType) -> bool:
    """Whether the condition of that type exists and is `True`."""
    condition = find_condition(conditions, condition_type)
    return condition is not None and condition.status == "True"


def set_condition(
    conditions: Sequence[Condition],
    type: ConditionType,
    status: ConditionStatus,
    reason: Reason | ProgressReason | SuiteReason,
    message: str,
    now: datetime,
    generation: int | None,
) -> list[Condition]:
    """Conditions with one of them set; the others keep their place.

    Args:
        conditions: The current conditions; not changed.
        type: Which one to set.
        status: Its new status.
        reason: Why, as one word.
        message: Why, as a sentence; empty takes the reason's own. Cut to 1,024 characters.
        now: Becomes the transition time if `status` differs from the current one.
        generation: The `metadata.generation` that was looked at.
    """
    current = find_condition(conditions, type)
    changed = current is None or current.status != status
    condition = Condition(
        type=type.value,
        status=status,
        reason=reason.value,
        message=(message or reason.sentence)[:1024],
        last_transition_time=now if changed or current is None else current.last_transition_time,
        observed_generation=generation,
    )
    if current is None:
        return [*conditions, condition]
    return [condition if c.type == type else c for c in conditions]
