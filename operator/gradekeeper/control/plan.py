"""What to do about one GradingJob: a pure function of what is observed, the time and the policy.

No I/O, no clock, no randomness: everything that a decision rests on is in `Observed`. What can be
expected is a value, never an exception. Applying a plan and planning again must lead to a plan
that does nothing (tested).

How a job goes:

    waiting ──slot──▶ attempt n: Pod ──referee ended──▶ verdict ──TTL──▶ deleted
       ▲                     │ the platform's fault
       └──── backoff ◀───────┘ (attempt recorded before its Pod is deleted or another is made)

Messages of conditions, attempts and verdicts are fixed sentences, of the reasons and of how a build
ends, so nothing that submitted code says can reach them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum
from typing import Any, Literal

from gradekeeper.api.names import LABEL_ATTEMPT, LABEL_JOB_UID, REFEREE, pod_name
from gradekeeper.api.reasons import (
    FINAL_AT_ONCE,
    ConditionType,
    Decision,
    ProgressReason,
    Reason,
)
from gradekeeper.api.status import (
    Attempt,
    Condition,
    ConditionStatus,
    GradingJobStatus,
    VerdictStatus,
    find_condition,
    set_condition,
)
from gradekeeper.control.store import Job, Pod, SettledJob
from gradekeeper.pods.build import FrozenSuite, PodSettings, ProbeTarget, build_pod, pod_mismatch
from gradekeeper.pods.classify import (
    PodFailed,
    PodFinished,
    PodPending,
    PodRunning,
    classify_pod,
    expected_attempt,
    started_at,
)
from gradekeeper.referee.build_ends import BUILD_ENDS
from gradekeeper.referee.result import RefereeResult
from gradekeeper.verdicts.model import (
    Graded,
    Rejected,
    Unjudged,
    rejected,
    unjudged,
    verdict_document,
    verdict_from_result,
)

MAX_BACKOFF_SECONDS = 60.0

KeepLogs = Literal["none", "failed", "all"]


class Parts(Enum):
    """What is known of a submission's parts."""

    UNKNOWN = "unknown"
    """Not looked yet."""
    MISSING = "missing"
    """At least one does not exist, or does not belong to the job."""
    COMPLETE = "complete"
    """All exist, carry the label and are owned by the job."""


@dataclass(frozen=True, slots=True)
class Policy:
    """The installation's choices that plans depend on; times in seconds.

    Attributes:
        attempt_backoff: wait before the second attempt, doubling.
        quota_patience: how long an attempt waits for room in a quota.
        pending_patience: how long a new Pod may be pending before the status says so.
        waiting_patience: how long a job may wait before its status says so.
        failed_pod_retention: how long an ended Pod of a failed attempt is kept.
        keep_logs: whose referee's detail log is put away before the Pod goes: nobody's, failed
            attempts' or everybody's; that of a referee which failed itself always is.
    """

    attempt_backoff: float = 2.0
    quota_patience: float = 600.0
    pending_patience: float = 10.0
    waiting_patience: float = 1.0
    failed_pod_retention: float = 0.0
    keep_logs: KeepLogs = "failed"


@dataclass(frozen=True, slots=True)
class CreateFailure:
    """Why the API server did not take an attempt's Pod.

    Attributes:
        attempt: number of the attempt.
        kind: `quota` may pass; `rejected` does not.
        since: when the attempt was refused for the first time.
        retry_at: when to try again (`quota` only).
    """

    attempt: int
    kind: Literal["quota", "rejected"]
    since: datetime
    retry_at: datetime


@dataclass(frozen=True, slots=True)
class Building:
    """What Pods are built with, apart from job and suite."""

    settings: PodSettings
    probe: ProbeTarget


@dataclass(frozen=True, slots=True)
class Serving:
    """When the probe port was open.

    Attributes:
        vouches: (address, port, unix seconds) -> it was certainly open then.
        may_vouch: (address, port) -> it can have been open at all.
    """

    vouches: Callable[[str, int, float], bool]
    may_vouch: Callable[[str, int], bool]


@dataclass(frozen=True, slots=True)
class Observed:
    """Everything that a plan for one job rests on.

    Attributes:
        job: the job.
        pods: Pods that carry its UID, and any Pod that was found under an attempt's name.
        suite: its suite if that may grade this job now, else None.
        parts: what is known of its parts.
        failure: why its last Pod was not created, if so.
        known: attempts whose Pod this process has seen existing.
        gone: attempts whose Pod was looked for by name and does not exist.
        holds_slot: whether it may have a Pod.
    """

    job: Job | SettledJob
    pods: tuple[Pod, ...] = ()
    suite: FrozenSuite | None = None
    parts: Parts = Parts.UNKNOWN
    failure: CreateFailure | None = None
    known: frozenset[int] = frozenset()
    gone: frozenset[int] = frozenset()
    holds_slot: bool = False


@dataclass(frozen=True, slots=True)
class CreatePod:
    """Create the Pod of an attempt."""

    attempt: int
    manifest: dict[str, Any]


@dataclass(frozen=True, slots=True)
class DeletePod:
    """Delete a Pod of ours.

    Attributes:
        name: of the Pod.
        uid: of the Pod.
        keep_log: number of the attempt whose detail log is put away before, or None.
    """

    name: str
    uid: str
    keep_log: int | None = None


@dataclass(frozen=True, slots=True)
class ConfirmPod:
    """Look for an attempt's Pod by name: the watch lost it."""

    attempt: int
    name: str


@dataclass(frozen=True, slots=True)
class ReadParts:
    """Look whether the submission's parts are there."""


@dataclass(frozen=True, slots=True)
class DeleteJob:
    """Delete the job: its time is over."""


Action = CreatePod | DeletePod | ConfirmPod | ReadParts | DeleteJob


@dataclass(frozen=True, slots=True)
class Settlement:
    """A verdict to be signed and written together with the status.

    Attributes:
        verdict: the verdict.
        suite: the suite that it rests on, if any.
        submission_digest: the archive's digest according to the referee, or None.
        isolation: facts observed before release, with the Pod's QoS class, or None.
        log: digest of the referee's log, or None.
    """

    verdict: Graded | Rejected | Unjudged
    suite: FrozenSuite | None
    submission_digest: str | None = None
    isolation: dict[str, Any] | None = None
    log: str | None = None


class Slot(Enum):
    """What a job's slot for a Pod is needed for."""

    RELEASE = "release"
    WANT = "want"
    KEEP = "keep"


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do, in this order: `before`, then the status with the settlement, then `after`.

    Attributes:
        before: actions that the status depends on; after one of them the job is planned anew.
        status: the whole new status, or None where it stays.
        settlement: verdict to sign into the status.
        after: actions that may only follow once the status is written.
        requeue_after: seconds until the time alone may change the plan, or None.
        slot: what to do with the job's slot.
        failed: the attempt that this plan records as failed, for logs and Events.
        why: what exactly was found wrong with that attempt, for the operator's log alone: it may
            quote the kubelet, or a Pod that somebody else made.
    """

    before: tuple[Action, ...] = ()
    status: GradingJobStatus | None = None
    settlement: Settlement | None = None
    after: tuple[Action, ...] = ()
    requeue_after: float | None = None
    slot: Slot = Slot.RELEASE
    failed: Attempt | None = None
    why: str = ""


NOTHING = Plan()


def plan_job(
    observed: Observed, *, now: datetime, policy: Policy, building: Building, serving: Serving
) -> Plan:
    """Decide what to do about a job.

    Args:
        observed: what is known.
        now: the time, aware.
        policy: the installation's choices.
        building: what Pods are built with.
        serving: when the probe port was open.
    """
    job = observed.job
    if job.meta.deleting:
        return NOTHING  # The garbage collector takes the Pods and parts.
    if isinstance(job, SettledJob):
        return _plan_settled(job, observed.pods, now=now, keep_logs=policy.keep_logs)
    return _Planner(job, observed, now, policy, building, serving).plan()


def _plan_settled(
    job: SettledJob, pods: Sequence[Pod], *, now: datetime, keep_logs: KeepLogs
) -> Plan:
    if (left := (job.completed + timedelta(seconds=job.ttl) - now).total_seconds()) <= 0:
        return Plan(after=(DeleteJob(),))
    leftovers = tuple(
        _deletion(pod, job.reason, keep_logs)
        for pod in pods
        if _is_ours(pod, job.meta.uid) and not pod.meta.deleting
    )
    return Plan(after=leftovers, requeue_after=left)


@dataclass(frozen=True, slots=True)
class _Planner:
    """One planning of a job without a verdict."""

    job: Job
    observed: Observed
    now: datetime
    policy: Policy
    building: Building
    serving: Serving

    def plan(self) -> Plan:
        """Decide; the order of these checks is their precedence."""
        spec, suite = self.job.spec, self.observed.suite
        if spec.cancel:
            return self._cancel()
        if suite is None:
            return self._wait_for_suite()
        if spec.task not in suite.tests:
            return self._settle(Settlement(unjudged(Reason.INVALID_JOB), suite))
        claim = spec.submission.untransportable
        if claim is not None:
            verdict = rejected(Reason(claim.reason), len(suite.tests[spec.task]))
            return self._settle(Settlement(verdict, suite))
        number = self._number()
        pod = self._pod(number)
        if pod is not None:
            return self._with_pod(number, pod, suite)
        if self._recorded(number) or number in self.observed.known:
            if number not in self.observed.gone:
                return Plan(before=(ConfirmPod(number, self._pod_name(number)),), slot=Slot.KEEP)
            return self._fail(number, Reason.POD_LOST, None, suite)
        return self._start(number, suite)

    # -- attempts ---------------------------------------------------------------------------------

    def _attempts(self) -> tuple[Attempt, ...]:
        return self.job.status.attempts

    def _number(self) -> int:
        """The current attempt: the last recorded one while it goes on, else the next."""
        attempts = self._attempts()
        if not attempts:
            return 1
        last = attempts[-1]
        return last.number if last.finished_at is None else last.number + 1

    def _recorded(self, number: int) -> bool:
        return any(attempt.number == number for attempt in self._attempts())

    def _pod_name(self, number: int) -> str:
        return pod_name(self.job.meta.name, self.job.meta.uid, number)

    def _pod(self, number: int) -> Pod | None:
        name = self._pod_name(number)
        return next((pod for pod in self.observed.pods if pod.meta.name == name), None)

    def _build(self, number: int, suite: FrozenSuite, probe: ProbeTarget) -> dict[str, Any]:
        return build_pod(
            job_name=self.job.meta.name,
            namespace=self.job.meta.namespace,
            job_uid=self.job.meta.uid,
            spec=self.job.spec,
            attempt=number,
            suite=suite,
            settings=self.building.settings,
            probe=probe,
        )

    # -- before a Pod -----------------------------------------------------------------------------

    def _wait_for_suite(self) -> Plan:
        # A Pod that runs goes on; what it says is judged once the suite is back. Its time runs.
        number = self._number()
        pod = self._pod(number)
        if pod is None:
            return self._wait(Reason.SUITE_NOT_READY)
        left = self._deadline_in(pod)
        if left is not None and left <= 0 and _is_ours(pod, self.job.meta.uid):
            return self._fail(number, Reason.DEADLINE_EXCEEDED, pod, None)
        return Plan(requeue_after=left, slot=Slot.KEEP)

    def _start(self, number: int, suite: FrozenSuite) -> Plan:
        if self.job.spec.suspend:
            return self._wait(Reason.SUSPENDED)
        if (pause := self._backoff_in()) > 0:
            return self._cleaned(Plan(requeue_after=pause), pause)
        failure = self.observed.failure
        if failure is not None and failure.attempt == number and failure.kind == "rejected":
            return self._fail(number, Reason.POD_CREATION_REJECTED, None, suite)
        if self.job.spec.submission.config_maps is not None:
            if self.observed.parts is Parts.UNKNOWN:
                return Plan(before=(ReadParts(),))
            if self.observed.parts is Parts.MISSING:
                return self._wait(Reason.WAITING_FOR_SUBMISSION)
        if failure is not None and failure.attempt == number:
            if (self.now - failure.since).total_seconds() >= self.policy.quota_patience:
                return self._fail(number, Reason.QUOTA_EXCEEDED, None, suite)
            if (pause := (failure.retry_at - self.now).total_seconds()) > 0:
                waiting = self._wait(Reason.WAITING_FOR_CAPACITY)
                soonest = min(pause, waiting.requeue_after or pause)
                return replace(waiting, requeue_after=soonest, slot=Slot.RELEASE)
        if not self.observed.holds_slot:
            return replace(self._wait(Reason.WAITING_FOR_CAPACITY), slot=Slot.WANT)
        manifest = self._build(number, suite, self.building.probe)
        return Plan(before=(CreatePod(number, manifest),), slot=Slot.KEEP)

    def _backoff_in(self) -> float:
        attempts = self._attempts()
        if not attempts or attempts[-1].finished_at is None:
            return 0.0
        delay = self.policy.attempt_backoff * 2.0 ** (len(attempts) - 1)
        due = attempts[-1].finished_at + timedelta(seconds=min(delay, MAX_BACKOFF_SECONDS))
        return (due - self.now).total_seconds()

    def _wait(self, reason: Reason) -> Plan:
        waited = self.now.timestamp() - self.job.seen
        left = self.policy.waiting_patience - waited
        current = find_condition(self.job.status.conditions, ConditionType.ADMITTED)
        if current is None and left > 0:
            return self._cleaned(Plan(requeue_after=left), left)
        conditions = self._condition(
            ConditionType.ADMITTED, "False", reason, self.job.status.conditions
        )
        status = self._status(self._undecided(reason, conditions))
        return self._cleaned(Plan(status=status), None)

    # -- with a Pod -------------------------------------------------------------------------------

    def _with_pod(self, number: int, pod: Pod, suite: FrozenSuite) -> Plan:
        rejected_pod = Reason.POD_CREATION_REJECTED
        if not _is_ours(pod, self.job.meta.uid):
            why = "The Pod of this name does not belong to the job."
            return self._fail(number, rejected_pod, None, suite, why)
        probe = probe_of(pod.manifest)
        if probe is None:
            why = "The Pod does not say what its referee probes."
            return self._fail(number, rejected_pod, pod, suite, why)
        expected = self._build(number, suite, probe)
        if (mismatch := pod_mismatch(expected, pod.manifest)) is not None:
            return self._fail(number, rejected_pod, pod, suite, mismatch)
        outcome = classify_pod(
            pod.manifest,
            expected=expected_attempt(self.job.spec, number, suite, self.building.settings),
            now=self.now,
        )
        match outcome:
            case PodFinished(result=result):
                return self._finish(number, pod, suite, probe, result)
            case PodFailed(reason=reason, message=message, result=said):
                log = said.log if said is not None else ""
                return self._fail(number, reason, pod, suite, message, log=log or None)
            case PodPending() | PodRunning():
                return self._progress(number, pod, suite, probe, outcome)

    def _progress(
        self,
        number: int,
        pod: Pod,
        suite: FrozenSuite,
        probe: ProbeTarget,
        outcome: PodPending | PodRunning,
    ) -> Plan:
        left = self._deadline_in(pod)
        if not self.serving.may_vouch(probe.address, probe.port):
            # It was told to try an address where nobody can have listened: it cannot end well.
            why = f"Nobody can have served {probe.address}:{probe.port} when it was probed."
            return self._fail(number, Reason.ISOLATION_NOT_ENFORCED, pod, suite, why)
        running = isinstance(outcome, PodRunning)
        if not running and not self._recorded(number):
            age = (self.now - pod.meta.created).total_seconds()
            if age < self.policy.pending_patience:
                patience = self.policy.pending_patience - age
                soonest = patience if left is None else min(left, patience)
                # The Pod of the attempt before may hold the room that this one waits for.
                return self._cleaned(Plan(requeue_after=soonest, slot=Slot.KEEP), soonest)
        conditions = self._condition(
            ConditionType.ADMITTED, "True", ProgressReason.ADMITTED, self.job.status.conditions
        )
        progress = ProgressReason.POD_RUNNING if isinstance(outcome, PodRunning) else outcome.reason
        conditions = self._condition(
            ConditionType.STARTED, "True" if running else "False", progress, conditions
        )
        status = self._status(
            self._undecided(progress, conditions),
            attempts=self._with_attempt(self._attempt(number, pod)),
            **self._places(pod, suite),
        )
        return self._cleaned(Plan(status=status, requeue_after=left, slot=Slot.KEEP), left)

    def _finish(
        self, number: int, pod: Pod, suite: FrozenSuite, probe: ProbeTarget, result: RefereeResult
    ) -> Plan:
        verdict = verdict_from_result(result)
        # Fixed sentences only, whoever wrote the result.
        named = verdict.reason is Reason.DOES_NOT_COMPILE and result.message in BUILD_ENDS
        sentence = result.message if named else verdict.reason.sentence
        verdict = verdict.model_copy(update={"message": sentence})
        if isinstance(verdict, Unjudged):
            return self._fail(number, verdict.reason, pod, suite, log=result.log or None)
        # Where no isolation was observed nothing passed, and there is nothing to vouch for.
        hollow = result.isolation is None and verdict.passed == 0
        if isinstance(verdict, Graded) and not hollow and not self._is_vouched(probe, result):
            why = f"Nobody vouches that {probe.address}:{probe.port} was served when it was probed."
            return self._fail(
                number, Reason.ISOLATION_NOT_ENFORCED, pod, suite, why, log=result.log or None
            )
        isolation = None
        if result.isolation is not None:
            qos = str((pod.manifest.get("status") or {}).get("qosClass", ""))
            isolation = {**result.isolation, "qosClass": qos}
        settlement = Settlement(
            verdict=verdict,
            suite=suite,
            submission_digest=result.submission or None,
            isolation=isolation,
            log=result.log or None,
        )
        return self._settle(settlement, self._attempt(number, pod, verdict.reason), pod)

    def _is_vouched(self, probe: ProbeTarget, result: RefereeResult) -> bool:
        probed_at = (result.isolation or {}).get("probedAt")
        if not isinstance(probed_at, int | float):
            return False
        return self.serving.vouches(probe.address, probe.port, float(probed_at))

    def _deadline_in(self, pod: Pod) -> float | None:
        """Seconds until the attempt's deadline; None while no node has taken the Pod."""
        start = _started_at(pod)
        if start is None:
            return None
        due = start + timedelta(seconds=self.job.spec.attempt_deadline_seconds)
        return (due - self.now).total_seconds()

    # -- ends -------------------------------------------------------------------------------------

    def _cancel(self) -> Plan:
        number = self._number()
        pod = self._pod(number)
        settlement = Settlement(unjudged(Reason.CANCELLED), self.observed.suite)
        ours = pod is not None and _is_ours(pod, self.job.meta.uid)
        if not ours and not self._recorded(number):
            return self._settle(settlement)
        owned = pod if ours else None
        return self._settle(settlement, self._attempt(number, owned, Reason.CANCELLED), owned)

    def _fail(
        self,
        number: int,
        reason: Reason,
        pod: Pod | None,
        suite: FrozenSuite | None,
        why: str = "",
        log: str | None = None,
    ) -> Plan:
        attempt = self._attempt(number, pod, reason)
        if reason in FINAL_AT_ONCE or number > self.job.spec.retry_limit:
            settlement = Settlement(unjudged(reason), suite, log=log)
            return replace(self._settle(settlement, attempt, pod), failed=attempt, why=why)
        conditions = self._condition(
            ConditionType.STARTED, "False", ProgressReason.RETRYING, self.job.status.conditions
        )
        status = self._status(
            self._undecided(ProgressReason.RETRYING, conditions),
            attempts=self._with_attempt(attempt),
            **self._places(pod, suite),
        )
        deletions = () if pod is None else self._deletions((pod,), self.now, reason)
        return Plan(status=status, after=deletions, requeue_after=0.0, failed=attempt, why=why)

    def _settle(
        self, settlement: Settlement, attempt: Attempt | None = None, pod: Pod | None = None
    ) -> Plan:
        verdict, conditions = settlement.verdict, self.job.status.conditions
        admitted = attempt is not None or isinstance(verdict, Rejected)
        if admitted:
            conditions = self._condition(
                ConditionType.ADMITTED, "True", ProgressReason.ADMITTED, conditions
            )
        elif find_condition(conditions, ConditionType.ADMITTED) is None or not self._attempts():
            conditions = self._condition(
                ConditionType.ADMITTED, "False", verdict.reason, conditions
            )
        conditions = self._condition(
            ConditionType.STARTED, "False", ProgressReason.FINISHED, conditions
        )
        judged = verdict.decision is not Decision.UNJUDGED
        conditions = self._condition(
            ConditionType.SUCCEEDED, "True" if judged else "False", verdict.reason, conditions
        )
        places = self._places(pod, settlement.suite)
        start = places.get("start_time") or self.job.status.start_time or self.job.meta.created
        status = self._status(
            conditions,
            attempts=self._attempts() if attempt is None else self._with_attempt(attempt),
            completion_time=self.now,
            duration=f"{max(0.0, (self.now - start).total_seconds()):.1f}s",
            verdict=VerdictStatus.model_validate(verdict_document(verdict)),
            **{**places, "start_time": start},
        )
        return Plan(
            status=status,
            settlement=settlement,
            after=tuple(
                self._deletion(pod, verdict.reason)
                for pod in self.observed.pods
                if _is_ours(pod, self.job.meta.uid) and not pod.meta.deleting
            ),
            requeue_after=float(self.job.spec.ttl_seconds_after_finished),
        )

    # -- parts of a status ------------------------------------------------------------------------

    def _attempt(self, number: int, pod: Pod | None, reason: Reason | None = None) -> Attempt:
        known = next((one for one in self._attempts() if one.number == number), None)
        attempt = known or Attempt(number=number, pod_name=self._pod_name(number))
        update: dict[str, Any] = {}
        if pod is not None:
            node = (pod.manifest.get("spec") or {}).get("nodeName") or ""
            update = {
                "pod_uid": pod.meta.uid,
                "node_name": str(node) or attempt.node_name,
                "started_at": _started_at(pod) or attempt.started_at,
            }
        if reason is not None:
            update |= {
                "reason": reason.value,
                "message": reason.sentence,
                "finished_at": _to_millisecond(self.now),
            }
        return attempt.model_copy(update=update)

    def _with_attempt(self, attempt: Attempt) -> tuple[Attempt, ...]:
        others = [one for one in self._attempts() if one.number != attempt.number]
        return (*others, attempt)

    def _places(self, pod: Pod | None, suite: FrozenSuite | None) -> dict[str, Any]:
        places: dict[str, Any] = {}
        if suite is not None:
            places["suite_digest"] = suite.suite_digest
        if pod is not None:
            node = (pod.manifest.get("spec") or {}).get("nodeName") or None
            places["pod_name"] = pod.meta.name
            places["node_name"] = node
            places["start_time"] = self.job.status.start_time or pod.meta.created
        return places

    def _condition(
        self,
        type_: ConditionType,
        status: ConditionStatus,
        reason: Reason | ProgressReason,
        conditions: Sequence[Condition],
    ) -> tuple[Condition, ...]:
        current = find_condition(conditions, type_)
        if current is not None and (current.status, current.reason) == (status, reason.value):
            return tuple(conditions)
        return tuple(
            set_condition(conditions, type_, status, reason, "", self.now, self.job.meta.generation)
        )

    def _undecided(
        self, reason: Reason | ProgressReason, conditions: Sequence[Condition]
    ) -> tuple[Condition, ...]:
        """The conditions, with `Succeeded` saying how far the job is: what `kubectl get` shows.

        It only ever changes together with another condition, so that it costs no write.
        """
        return self._condition(ConditionType.SUCCEEDED, "Unknown", reason, conditions)

    def _status(self, conditions: tuple[Condition, ...], **update: Any) -> GradingJobStatus | None:
        """The new status, or None where nothing but the generation would change."""
        for name in ("completion_time", "start_time"):
            if update.get(name) is not None:
                update[name] = _to_millisecond(update[name])
        status = self.job.status.model_copy(update={"conditions": conditions, **update})
        if status == self.job.status:
            return None
        return status.model_copy(update={"observed_generation": self.job.meta.generation})

    def _cleaned(self, plan: Plan, requeue_after: float | None) -> Plan:
        """The plan, with the Pods of finished attempts deleted when their retention is over."""
        current = self._pod_name(self._number())
        others = [
            pod
            for pod in self.observed.pods
            if pod.meta.name != current and _is_ours(pod, self.job.meta.uid)
        ]
        finished = {
            one.pod_uid: one.finished_at for one in self._attempts() if one.finished_at is not None
        }
        deletions: list[Action] = []
        soonest = requeue_after
        for pod in others:
            since = finished.get(pod.meta.uid, pod.meta.created)
            deletions.extend(self._deletions((pod,), since, Reason.POD_LOST))
            if _has_ended(pod):
                left = self.policy.failed_pod_retention - (self.now - since).total_seconds()
                if left > 0:
                    soonest = left if soonest is None else min(soonest, left)
        return replace(plan, after=(*plan.after, *deletions), requeue_after=soonest)

    def _deletion(self, pod: Pod, reason: str) -> DeletePod:
        """The deletion of a Pod; what is recorded of its attempt wins over `reason`."""
        recorded = {one.pod_uid: one.reason for one in self._attempts() if one.reason}
        return _deletion(pod, recorded.get(pod.meta.uid, reason), self.policy.keep_logs)

    def _deletions(
        self, pods: Sequence[Pod], since: datetime, reason: str
    ) -> tuple[DeletePod, ...]:
        """Deletions of failed attempts' Pods, but for ended ones whose retention still runs."""
        kept = (self.now - since).total_seconds() < self.policy.failed_pod_retention
        return tuple(
            self._deletion(pod, reason)
            for pod in pods
            if _is_ours(pod, self.job.meta.uid)
            and not pod.meta.deleting
            and not (kept and _has_ended(pod))
        )


def probe_of(manifest: dict[str, Any]) -> ProbeTarget | None:
    """Return the address that a Pod's referee was told to try, or None if that cannot be read."""
    try:
        for container in manifest["spec"]["containers"]:
            if container["name"] != REFEREE:
                continue
            for variable in container["env"]:
                if variable["name"] == "GRADEKEEPER_JOB":
                    probe = json.loads(variable["value"])["probe"]
                    return ProbeTarget(
                        address=str(probe["address"]),
                        port=int(probe["port"]),
                        deadline_seconds=int(probe["deadlineSeconds"]),
                    )
    except (KeyError, TypeError, ValueError):
        return None
    return None


def _deletion(pod: Pod, reason: str, keep_logs: KeepLogs) -> DeletePod:
    """The deletion of a Pod whose attempt ended for a reason, with what becomes of its log."""
    number = (pod.manifest["metadata"].get("labels") or {}).get(LABEL_ATTEMPT, "")
    wanted = (
        keep_logs == "all"
        or reason == Reason.REFEREE_FAULT
        or (keep_logs == "failed" and _is_failure(reason))
    )
    # Nobody answers for a node that is lost, and where no referee started there is no log.
    readable = number.isdecimal() and reason != Reason.NODE_LOST and _has_log(pod)
    return DeletePod(pod.meta.name, pod.meta.uid, int(number) if wanted and readable else None)


def _is_failure(reason: str) -> bool:
    """Whether the platform is to blame for an attempt that ended so."""
    return (
        reason in set(Reason)
        and Reason(reason).decision is Decision.UNJUDGED
        and reason not in FINAL_AT_ONCE
    )


def _has_log(pod: Pod) -> bool:
    """Whether the referee of a Pod ever ran."""
    statuses = (pod.manifest.get("status") or {}).get("containerStatuses") or ()
    return any(
        one.get("name") == REFEREE
        and not {"running", "terminated"}.isdisjoint(one.get("state") or ())
        for one in statuses
    )


def _is_ours(pod: Pod, job_uid: str) -> bool:
    labels = pod.manifest["metadata"].get("labels") or {}
    return job_uid in pod.meta.owners and labels.get(LABEL_JOB_UID) == job_uid


def _started_at(pod: Pod) -> datetime | None:
    return started_at(pod.manifest.get("status") or {})


def _has_ended(pod: Pod) -> bool:
    return (pod.manifest.get("status") or {}).get("phase") in {"Succeeded", "Failed"}


def _to_millisecond(moment: datetime) -> datetime:
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)
