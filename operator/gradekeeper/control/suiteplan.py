"""What to do about one GradingSuite: a pure function of what is observed and the time.

A suite is Verified by its signature, Admitted by grading its own gold and null submissions over
the very path that every job takes, and Ready when both hold. The admission is repeated whenever
the spec's generation changes, and after a pause when the platform failed it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from gradekeeper.api.names import (
    API_VERSION,
    JOB_KIND,
    JOB_NAME_MAX,
    LABEL_MANAGED_BY,
    MANAGED_BY,
    SUITE_KIND,
)
from gradekeeper.api.reasons import ConditionType, Decision, SuiteReason
from gradekeeper.api.schema import dump
from gradekeeper.api.spec import Builtin, GradingJobSpec, Submission, SuiteRef
from gradekeeper.api.status import (
    Condition,
    ConditionStatus,
    GradingSuiteStatus,
    SuiteJobs,
    SuiteTests,
    find_condition,
    is_true,
    set_condition,
)
from gradekeeper.control.store import Job, SettledJob, Suite
from gradekeeper.control.trust import Refused
from gradekeeper.pods.build import FrozenSuite
from gradekeeper.referee.result import PASSED

ADMISSION_GROUP = "suite-admission"
MAX_RETRY_SECONDS = 600.0
_NAME_HASH = 10


@dataclass(frozen=True, slots=True)
class Check:
    """One grading that a suite's admission needs.

    Attributes:
        name: name of its job.
        builtin: which submission.
        task: which task.
    """

    name: str
    builtin: Builtin
    task: str


@dataclass(frozen=True, slots=True)
class ObservedSuite:
    """Everything that a plan for one suite rests on.

    Attributes:
        suite: the suite.
        trusted: what it is, or why it is not trusted.
        jobs: name of an admission job -> the job under that name, None where there is none.
        retries: how often its admission was repeated since this process started.
        counts: its jobs by state, as of the last complete list; None keeps what is written.
    """

    suite: Suite
    trusted: FrozenSuite | Refused
    jobs: Mapping[str, Job | SettledJob | None]
    retries: int = 0
    counts: SuiteJobs | None = None


@dataclass(frozen=True, slots=True)
class SuitePlan:
    """What to do: the status first, then the jobs.

    Attributes:
        status: the whole new status, or None where it stays.
        create: manifests of admission jobs to create.
        delete: (name, uid) of admission jobs that the platform failed, to be repeated.
        requeue_after: seconds until the time alone may change the plan, or None.
    """

    status: GradingSuiteStatus | None = None
    create: tuple[dict[str, Any], ...] = ()
    delete: tuple[tuple[str, str], ...] = ()
    requeue_after: float | None = None


def admission_checks(suite: Suite, trusted: FrozenSuite) -> list[Check]:
    """Return the gradings that admit the suite: gold and null, over the whole suite.

    A suite without the task "" (too many tests for one grading) is graded task by task. Names
    contain a hash of UID, generation and content, so another version never meets old jobs.
    """
    tasks = [""] if "" in trusted.tests else sorted(trusted.tests)
    checks = []
    for task in tasks:
        for builtin in (Builtin.GOLD, Builtin.NULL):
            identity = (suite.meta.uid, str(suite.meta.generation), trusted.suite_digest, task)
            digest = hashlib.sha256("\0".join(identity).encode()).hexdigest()[:_NAME_HASH]
            tail = f"-admit-{builtin.value}-{digest}"
            head = suite.meta.name[: JOB_NAME_MAX - len(tail)].rstrip("-.").replace(".", "-")
            checks.append(Check(head + tail, builtin, task))
    return checks


def build_admission_job(suite: Suite, check: Check) -> dict[str, Any]:
    """Build the GradingJob of a check; owned by its suite."""
    spec = GradingJobSpec(
        suite_ref=SuiteRef(name=suite.meta.name),
        task=check.task,
        submission=Submission(builtin=check.builtin),
        nonce=check.name,
        group=ADMISSION_GROUP,
    )
    return {
        "apiVersion": API_VERSION,
        "kind": JOB_KIND,
        "metadata": {
            "name": check.name,
            "namespace": suite.meta.namespace,
            "labels": {LABEL_MANAGED_BY: MANAGED_BY},
            "ownerReferences": [
                {
                    "apiVersion": API_VERSION,
                    "kind": SUITE_KIND,
                    "name": suite.meta.name,
                    "uid": suite.meta.uid,
                    "controller": True,
                    "blockOwnerDeletion": False,
                }
            ],
        },
        "spec": dump(spec),
    }


def usable(suite: Suite, trusted: FrozenSuite | Refused, *, builtin: bool) -> FrozenSuite | None:
    """Return the frozen suite if it may grade such a job now, else None.

    Built-in submissions are graded once the suite is verified; every other waits for Ready of
    this very generation and content.
    """
    if isinstance(trusted, Refused) or suite.meta.deleting:
        return None
    if builtin or (
        is_true(suite.status.conditions, ConditionType.READY)
        and is_admitted(suite, trusted)
        and is_current(find_condition(suite.status.conditions, ConditionType.READY), suite)
    ):
        return trusted
    return None


def is_current(condition: Condition | None, suite: Suite) -> bool:
    """Whether a condition is about the suite's present generation."""
    return condition is not None and condition.observed_generation == suite.meta.generation


def is_admitted(suite: Suite, trusted: FrozenSuite) -> bool:
    """Whether the admission on record is of exactly this suite, and succeeded."""
    recorded = recorded_admission(suite, trusted)
    return recorded is not None and recorded.status == "True"


def recorded_admission(suite: Suite, trusted: FrozenSuite) -> Condition | None:
    """Return the condition Admitted if it is final and about exactly this suite, else None.

    The status is the record: the jobs behind it may be long deleted.
    """
    condition = find_condition(suite.status.conditions, ConditionType.ADMITTED)
    if (
        condition is not None
        and condition.status != "Unknown"
        and is_current(condition, suite)
        and suite.status.suite_digest == trusted.suite_digest
        and suite.status.image_digest == trusted.image_digest
        and suite.status.lane_image_digest == trusted.lane_image_digest
        and suite.status.index_digest == trusted.index_digest
    ):
        return condition
    return None


def plan_suite(observed: ObservedSuite, *, now: datetime, retry_seconds: float) -> SuitePlan:
    """Decide what to do about a suite.

    Args:
        observed: what is known.
        now: the time, aware.
        retry_seconds: wait before a failed admission is repeated; doubles each time.
    """
    suite, trusted = observed.suite, observed.trusted
    if suite.meta.deleting:
        return SuitePlan()
    if isinstance(trusted, Refused):
        conditions = suite.status.conditions
        for type_, reason, message in (
            (ConditionType.VERIFIED, trusted.reason, trusted.message),
            (ConditionType.READY, SuiteReason.NOT_VERIFIED, ""),
        ):
            conditions = _set(suite, conditions, type_, "False", reason, message, now)
        return SuitePlan(status=_status(observed, conditions))
    return _plan_trusted(observed, trusted, now, retry_seconds)


def _plan_trusted(
    observed: ObservedSuite, trusted: FrozenSuite, now: datetime, retry_seconds: float
) -> SuitePlan:
    suite = observed.suite
    conditions = _set(
        suite,
        suite.status.conditions,
        ConditionType.VERIFIED,
        "True",
        SuiteReason.SIGNATURE_VERIFIED,
        "",
        now,
    )
    facts: dict[str, Any] = {
        "suite_digest": trusted.suite_digest,
        "image_digest": trusted.image_digest,
        "lane_image_digest": trusted.lane_image_digest,
        "index_digest": trusted.index_digest,
        "author": trusted.author_keyid,
        "version": trusted.version,
        "tests": SuiteTests(
            total=len({test for tests in trusted.tests.values() for test in tests}),
            discriminating=len(
                {
                    trusted.tests[task][place]
                    for task, places in trusted.discriminating.items()
                    for place in places
                }
            ),
        ),
    }
    recorded = recorded_admission(suite, trusted)
    if recorded is not None:
        conditions = _set_ready(suite, conditions, recorded.status, now)
        return SuitePlan(status=_status(observed, conditions, **facts))
    checks = admission_checks(suite, trusted)
    owned = {
        check.name: job
        for check in checks
        if (job := observed.jobs.get(check.name)) is not None and suite.meta.uid in job.meta.owners
    }
    create: list[dict[str, Any]] = []
    delete: list[tuple[str, str]] = []
    requeue: float | None = None
    outcome: tuple[ConditionStatus, SuiteReason, str] = (
        "True",
        SuiteReason.SELF_CHECK_PASSED,
        "",
    )
    for check in checks:
        job = owned.get(check.name)
        found = _judge(check, job, trusted)
        if _rank(found[1]) > _rank(outcome[1]):
            outcome = found
        if job is None:
            if observed.jobs.get(check.name) is None:
                create.append(build_admission_job(suite, check))
        elif isinstance(job, SettledJob) and job.decision == Decision.UNJUDGED:
            delay = min(MAX_RETRY_SECONDS, retry_seconds * 2.0 ** min(observed.retries, 16))
            left = delay - (now - job.completed).total_seconds()
            if left <= 0 and not job.meta.deleting:
                delete.append((job.meta.name, job.meta.uid))
            elif left > 0:
                requeue = left if requeue is None else min(requeue, left)
    conditions = _set(suite, conditions, ConditionType.ADMITTED, *outcome, now)
    conditions = _set_ready(suite, conditions, outcome[0], now)
    return SuitePlan(
        status=_status(observed, conditions, **facts),
        create=tuple(create),
        delete=tuple(delete),
        requeue_after=requeue,
    )


def _judge(
    check: Check, job: Job | SettledJob | None, trusted: FrozenSuite
) -> tuple[ConditionStatus, SuiteReason, str]:
    """What one check says of the suite."""
    if not isinstance(job, SettledJob):
        return "Unknown", SuiteReason.SELF_CHECK_RUNNING, ""
    if job.decision == Decision.UNJUDGED:
        message = f"{SuiteReason.SELF_CHECK_UNJUDGED.sentence} Reason: {job.reason}."
        return "Unknown", SuiteReason.SELF_CHECK_UNJUDGED, message
    total = len(trusted.tests[check.task])
    outcomes = job.outcomes or ""
    if check.builtin is Builtin.GOLD:
        failed = total - outcomes.count(PASSED)
        if job.decision != Decision.GRADED or len(outcomes) != total or failed:
            message = f"The built-in submission gold fails {failed} of {total} tests."
            return "False", SuiteReason.GOLD_FAILED, message
        return "True", SuiteReason.SELF_CHECK_PASSED, ""
    marked = trusted.discriminating.get(check.task, ())
    passed = sum(outcomes[place : place + 1] == PASSED for place in marked)
    if passed or len(outcomes) != total:
        message = (
            f"The built-in submission null passes {passed} of {len(marked)} discriminating tests."
        )
        return "False", SuiteReason.NULL_PASSED, message
    return "True", SuiteReason.SELF_CHECK_PASSED, ""


_RANKS: Mapping[SuiteReason, int] = {
    SuiteReason.SELF_CHECK_PASSED: 0,
    SuiteReason.SELF_CHECK_RUNNING: 1,
    SuiteReason.SELF_CHECK_UNJUDGED: 2,
    SuiteReason.NULL_PASSED: 3,
    SuiteReason.GOLD_FAILED: 4,
}


def _rank(reason: SuiteReason) -> int:
    """The worse of two findings has the higher rank."""
    return _RANKS[reason]


def _set(
    suite: Suite,
    conditions: Sequence[Condition],
    type_: ConditionType,
    status: ConditionStatus,
    reason: SuiteReason,
    message: str,
    now: datetime,
) -> tuple[Condition, ...]:
    current = find_condition(conditions, type_)
    text = (message or reason.sentence)[:1024]
    if (
        current is not None
        and is_current(current, suite)
        and (current.status, current.reason, current.message) == (status, reason.value, text)
    ):
        return tuple(conditions)
    return tuple(set_condition(conditions, type_, status, reason, text, now, suite.meta.generation))


def _set_ready(
    suite: Suite, conditions: Sequence[Condition], admitted: ConditionStatus, now: datetime
) -> tuple[Condition, ...]:
    if admitted == "True":
        return _set(suite, conditions, ConditionType.READY, "True", SuiteReason.READY, "", now)
    reason = SuiteReason.NOT_ADMITTED
    return _set(suite, conditions, ConditionType.READY, "False", reason, "", now)


def _status(
    observed: ObservedSuite, conditions: tuple[Condition, ...], **facts: Any
) -> GradingSuiteStatus | None:
    suite = observed.suite
    if observed.counts is not None:
        facts["jobs"] = observed.counts
    status = suite.status.model_copy(
        update={"conditions": conditions, "observed_generation": suite.meta.generation, **facts}
    )
    return None if status == suite.status else status
