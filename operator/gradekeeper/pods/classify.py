"""What became of an attempt, read from its Pod alone: pure, total, by a documented precedence.

The Pod's phase is never asked first, and the lane's fate never decides: the attempt is over when
the container `referee` has terminated, or when the kubelet or the control plane says that it
cannot go on. Causes are tried in this order; the first that applies is the answer.

 1. **No Pod**: `PodLost`.
 2. **A whole result**: the referee exited 0 with a message that belongs to this attempt, came
    from the suite's images, says `Completed`, `DoesNotCompile` or `Rejected`, and reports the
    isolation that the installation requires. It stands, whatever else befell the Pod or is noted
    about the container: once decided, no eviction and no deletion can have decided it, and a word
    like `OOMKilled` may be about a child of the referee (cgroup v1). Should a container have been
    started again, the result of its earlier process counts first, so that it does not matter when
    the Pod was looked at.
 3. **The platform took the Pod away**; what the referee made of a vanishing lane (`LaneLost`), or
    of an error of its own (`RefereeFault`), does not count then:
    a. `DisruptionTarget=True`: EvictionByEvictionAPI is `PodEvicted`, PreemptionByScheduler is
       `PodPreempted`, DeletionByTaintManager and DeletionByPodGC are `NodeLost`,
       TerminationByKubelet is `NodeLost` at a node's shutdown, `PodPreempted` for a critical Pod,
       else `PodEvicted`; an unknown reason is `PodEvicted`.
    b. phase `Unknown`, a status reason of a lost or stopping node, or a referee whose container
       the node lost: `NodeLost`.
    c. a deletion timestamp: `PodLost`. (So the operator records a verdict before it deletes.)
 4. **The Pod failed as a whole**, without 3:
    a. before any container ran: `PodAdmissionFailed` (a node under pressure refuses new Pods with
       the reason `Evicted`, too).
    b. `Evicted` after the referee started: the kubelet does so without `DisruptionTarget` only for
       what the Pod itself stored. The referee alone writes `/lane` and its own files: then it is
       `RefereeFailed`. Everything else is the lane's doing and is scored: what the referee made of
       it stands (5g); without a word of the referee, Graded, `LaneLost`, every test not run.
    c. `DeadlineExceeded`: an `activeDeadlineSeconds`, which we never set.
 5. **The referee terminated**. With exit status 0 its message is read (d to g), whatever the
    kubelet's reason is; without one that can be believed:
    a. never started (`StartError`, `ContainerCannotRun`): `ContainerCreateFailed`.
    b. an exit status other than 0, or a signal: `RefereeFailed`; a message counts for nothing
       then.
    c. no message: `ResultMissing`.
    d. not a message, or one of another nonce, attempt, suite, submission, task or number of tests,
       or from other images, or beside containers that we did not ask for, or of a container that
       the status has twice: `ResultInvalid`.
    e. `Unjudged`: the referee's own reason.
    f. less isolation than required: `IsolationNotEnforced`.
    g. else the result is scored: this is where `LaneLost` and `RefereeFault` end up.
 6. **A container cannot start**: `ImagePullFailed`, `ContainerCreateFailed`.
 7. **The deadline** has passed since the Pod's `startTime`: `DeadlineExceeded`.
 8. The Pod ended without a word about its referee: `ResultMissing`.
 9. It goes on: running, or pending with the scheduler's reason.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from gradekeeper.api.names import LANE, REFEREE
from gradekeeper.api.reasons import ProgressReason, Reason
from gradekeeper.api.spec import GradingJobSpec
from gradekeeper.pods.build import FrozenSuite, PodSettings, UserNamespaces
from gradekeeper.referee.result import (
    GRADED,
    LANE_LOST,
    NOT_RUN,
    REFEREE_FAULT,
    UNJUDGED,
    RefereeResult,
    ResultError,
    parse_result,
)


@dataclass(frozen=True, slots=True)
class ExpectedAttempt:
    """What a result must be about to be believed.

    Attributes:
        nonce: of the job.
        attempt: number of the attempt, from 1.
        suite_digest: `sha256:…` of the suite as admitted.
        submission_digest: `sha256:…` that the job states; None for a built-in submission, whose
            digest only the bundle knows.
        task: of the job.
        tests: number of tests of the task.
        image_digest: `sha256:…` of the suite image.
        lane_image_digest: `sha256:…` of the lane image.
        deadline_seconds: from the Pod's `startTime`.
        user_namespaces: what the installation requires.
    """

    nonce: str
    attempt: int
    suite_digest: str
    submission_digest: str | None
    task: str
    tests: int
    image_digest: str
    lane_image_digest: str
    deadline_seconds: int
    user_namespaces: UserNamespaces


@dataclass(frozen=True, slots=True)
class PodPending:
    """The Pod waits; `message` is the scheduler's or our own, never a container's."""

    reason: Reason | ProgressReason
    message: str


@dataclass(frozen=True, slots=True)
class PodRunning:
    """The referee runs."""


@dataclass(frozen=True, slots=True)
class PodFinished:
    """The attempt has a scored result: `Graded` or `Rejected`."""

    result: RefereeResult


@dataclass(frozen=True, slots=True)
class PodFailed:
    """The platform failed the attempt.

    Attributes:
        reason: a reason of `Unjudged`.
        message: one sentence.
        result: what the referee said, if its `Unjudged` is the cause.
    """

    reason: Reason
    message: str
    result: RefereeResult | None = None


Observation = PodPending | PodRunning | PodFinished | PodFailed

PULL_FAILURES: Final = frozenset(
    {"ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "ImageInspectError"}
)
"""Waiting reasons of an image that cannot be had. `ErrImagePull` is a first failure: the kubelet
tries again and then says ImagePullBackOff."""
CREATE_FAILURES: Final = frozenset(
    {"CreateContainerConfigError", "CreateContainerError", "RunContainerError"}
)
"""Waiting reasons of a container that cannot be made or started."""
START_FAILURES: Final = frozenset({"StartError", "ContainerCannotRun"})
"""Reasons of containers that terminated without their process ever running."""
NODE_GONE: Final = frozenset({"NodeLost", "NodeShutdown", "Terminated", "Shutdown"})
"""Status reasons of Pods whose node went away or shuts down."""
UNKNOWN_CONTAINER: Final = "ContainerStatusUnknown"
"""Reason of a container that the node no longer knew when the Pod ended, as after a reboot."""

CUT_SHORT: Final = frozenset({LANE_LOST, REFEREE_FAULT})
"""Reasons of scored results that a Pod's being taken away may also look like from inside."""

_DISRUPTIONS: Final[Mapping[str, Reason]] = {
    "EvictionByEvictionAPI": Reason.POD_EVICTED,
    "PreemptionByScheduler": Reason.POD_PREEMPTED,
    "DeletionByTaintManager": Reason.NODE_LOST,
    "DeletionByPodGC": Reason.NODE_LOST,
}
_PREEMPTED_BY_KUBELET: Final = "Preempting"
_EVICTED: Final = "Evicted"
_EXCEEDED: Final = "exceed"
"""In each of the kubelet's three messages about a Pod's own storage, and not in its others."""
_REFEREE_STORAGE: Final = ('EmptyDir volume "lane"', f"Container {REFEREE} exceeded")
_MESSAGE_MAX = 512


def expected_attempt(
    spec: GradingJobSpec, attempt: int, suite: FrozenSuite, settings: PodSettings
) -> ExpectedAttempt:
    """What the result of the Pod that `build_pod` makes of the same arguments must be about.

    Raises:
        KeyError: the suite has no such task.
    """
    return ExpectedAttempt(
        nonce=spec.nonce,
        attempt=attempt,
        suite_digest=suite.suite_digest,
        submission_digest=spec.submission.digest,
        task=spec.task,
        tests=len(suite.tests[spec.task]),
        image_digest=suite.image_digest,
        lane_image_digest=suite.lane_image_digest,
        deadline_seconds=spec.attempt_deadline_seconds,
        user_namespaces=settings.user_namespaces,
    )


def classify_pod(
    pod: Mapping[str, Any] | None, *, expected: ExpectedAttempt, now: datetime
) -> Observation:
    """What became of the attempt, by the precedence of this module's docstring.

    Args:
        pod: the Pod as the API server shows it, of which the caller knows that it belongs to the
            job; None if it does not exist any more. Reads `metadata.deletionTimestamp`, the names
            in `spec`, and `status`.
        expected: what a result must be about.
        now: the current time, for the deadline; aware.
    """
    if pod is None:
        return _failed(Reason.POD_LOST)
    view = _PodView(pod)
    for terminated in (view.earlier(REFEREE), view.state(REFEREE, "terminated")):
        whole = _read_result(view, terminated, expected)
        if isinstance(whole, PodFinished) and whole.result.reason not in CUT_SHORT:
            return whole
    ended = _read_result(view, view.state(REFEREE, "terminated"), expected)
    return (
        _taken_away(view)
        or _failed_as_a_whole(view, expected, ended)
        or ended
        or _cannot_start(view)
        or _deadline(view, expected, now)
        or _goes_on(view)
    )


class _PodView:
    """The few fields that are read, each with its type made sure of."""

    def __init__(self, pod: Mapping[str, Any]) -> None:
        self.metadata = _dict(pod.get("metadata"))
        self.spec = _dict(pod.get("spec"))
        self.status = _dict(pod.get("status"))
        self.phase = str(self.status.get("phase") or "")
        self.reason = str(self.status.get("reason") or "")
        self.message = str(self.status.get("message") or "")
        statuses = [
            (str(one.get("name")), one) for one in _dicts(self.status.get("containerStatuses"))
        ]
        self.containers = dict(statuses)
        self.twice = len(statuses) != len(self.containers)

    def state(self, container: str, kind: str) -> dict[str, Any] | None:
        """One of the states waiting, running, terminated of a container, if it is in it."""
        state = _dict(self.containers.get(container, {}).get("state"))
        return _dict(state[kind]) if kind in state and state[kind] is not None else None

    def earlier(self, container: str) -> dict[str, Any] | None:
        """How the container's process before this one ended, if there was one."""
        state = _dict(self.containers.get(container, {}).get("lastState"))
        return _dict(state["terminated"]) if state.get("terminated") is not None else None

    def ran(self, container: str) -> bool:
        """Whether the container's process is known to have started."""
        if self.state(container, "running") is not None:
            return True
        terminated = self.state(container, "terminated")
        if terminated is None:
            return False
        started = bool(terminated.get("startedAt"))
        return _by_itself(terminated) or (
            started and terminated.get("reason") not in START_FAILURES
        )

    def condition(self, kind: str) -> dict[str, Any]:
        """A condition of the Pod, or an empty one."""
        found = (c for c in _dicts(self.status.get("conditions")) if c.get("type") == kind)
        return next(found, {})


def _taken_away(view: _PodView) -> PodFailed | None:
    disruption = view.condition("DisruptionTarget")
    if disruption.get("status") == "True":
        word = str(disruption.get("reason") or "")
        reason = _DISRUPTIONS.get(word, Reason.POD_EVICTED)
        if word == "TerminationByKubelet":
            if view.reason in NODE_GONE:
                reason = Reason.NODE_LOST
            elif view.reason == _PREEMPTED_BY_KUBELET:
                reason = Reason.POD_PREEMPTED
        return _failed(reason, str(disruption.get("message") or ""))
    terminated = view.state(REFEREE, "terminated") or {}
    lost = terminated.get("reason") == UNKNOWN_CONTAINER and view.reason != _EVICTED
    stopped = view.reason in NODE_GONE and view.ran(REFEREE)
    if view.phase == "Unknown" or view.reason == "NodeLost" or lost or stopped:
        return _failed(Reason.NODE_LOST, view.message)
    if view.metadata.get("deletionTimestamp"):
        return _failed(Reason.POD_LOST)
    return None


def _failed_as_a_whole(
    view: _PodView, expected: ExpectedAttempt, ended: PodFailed | PodFinished | None
) -> PodFailed | PodFinished | None:
    if view.phase != "Failed" or not view.reason:
        return None
    # The node may have forgotten the containers of a Pod that it evicted for what it stored.
    stored = view.reason == _EVICTED and _EXCEEDED in view.message
    if not view.ran(REFEREE) and not view.ran(LANE) and not stored:
        return _failed(Reason.POD_ADMISSION_FAILED, f"{view.reason}: {view.message}")
    if view.reason == _EVICTED:
        if any(words in view.message for words in _REFEREE_STORAGE):
            return _failed(Reason.REFEREE_FAILED, view.message)
        if isinstance(ended, PodFinished):
            return ended
        return PodFinished(
            RefereeResult(
                nonce=expected.nonce,
                attempt=expected.attempt,
                suite=expected.suite_digest,
                submission=expected.submission_digest or "",
                task=expected.task,
                decision=GRADED,
                reason=LANE_LOST,
                message="The Pod was evicted for what it stored itself; no test has a result.",
                outcomes=NOT_RUN * expected.tests,
                isolation=None,
                log="",
            )
        )
    if view.reason == "DeadlineExceeded":
        return _failed(Reason.DEADLINE_EXCEEDED, view.message)
    return None


def _read_result(
    view: _PodView, terminated: Mapping[str, Any] | None, expected: ExpectedAttempt
) -> PodFailed | PodFinished | None:
    """What one end of the referee's process says; None if it has not ended."""
    if terminated is None:
        return None
    reason = str(terminated.get("reason") or "")
    code = terminated.get("exitCode")
    message = terminated.get("message")
    by_itself = _by_itself(terminated)
    result, flaw = _parse(message) if by_itself else (None, "")
    if result is None:
        if reason in START_FAILURES:
            # The message is then the runtime's: the process never ran to write one.
            return _failed(Reason.CONTAINER_CREATE_FAILED, str(message or ""))
        if not by_itself:
            why = "ran out of memory" if reason == "OOMKilled" else f"exited with {code!r}"
            return _failed(Reason.REFEREE_FAILED, f"The referee {why}.")
        if not message:
            return _failed(Reason.RESULT_MISSING)
        return _failed(Reason.RESULT_INVALID, f"The result cannot be believed: {flaw}.")
    if doubt := _doubt(view, result, expected):
        return _failed(Reason.RESULT_INVALID, doubt)
    if result.decision == UNJUDGED:
        return PodFailed(Reason(result.reason), result.message, result)
    if result.decision == GRADED and (lack := _lack_of_isolation(result, expected)):
        return PodFailed(Reason.ISOLATION_NOT_ENFORCED, lack, result)
    return PodFinished(result)


def _by_itself(terminated: Mapping[str, Any]) -> bool:
    """Whether a process ran and ended with 0.

    The kubelet's reason is no exit status: on cgroup v1 it says OOMKilled of a container in which
    any process was killed for memory, be it a child of one that ended well.
    """
    code = terminated.get("exitCode")
    return type(code) is int and code == 0 and not terminated.get("signal")


def _parse(message: object) -> tuple[RefereeResult | None, str]:
    """The result, or None and what is wrong with it."""
    try:
        return parse_result(str(message or "").encode("utf-8", "replace")), ""
    except ResultError as error:
        return None, str(error)


def _doubt(view: _PodView, result: RefereeResult, expected: ExpectedAttempt) -> str | None:
    strangers = [
        str(one.get("name"))
        for kind in ("containers", "initContainers", "ephemeralContainers")
        for one in _dicts(view.spec.get(kind))
        if kind != "containers" or one.get("name") not in (REFEREE, LANE)
    ]
    if strangers:
        return f"The Pod has a container that we did not ask for: {strangers[0]!r}."
    if view.twice:
        return "The Pod's status has a container twice."
    images = {REFEREE: expected.image_digest, LANE: expected.lane_image_digest}
    for container, digest in images.items():
        image_id = str(view.containers.get(container, {}).get("imageID") or "")
        if not image_id and result.decision == UNJUDGED:
            continue  # nothing is scored, so a container that never came up proves nothing
        if image_digest_of(image_id) != digest:
            return f"The container {container} ran {image_id or 'an unknown image'}, not {digest}."
    if result.decision == UNJUDGED:
        # A referee that could not even read its job says so, and can repeat nothing of it.
        return None
    pairs: tuple[tuple[str, object, object], ...] = (
        ("nonce", result.nonce, expected.nonce),
        ("attempt", result.attempt, expected.attempt),
        ("suite", result.suite, expected.suite_digest),
        ("submission", result.submission, expected.submission_digest or result.submission),
        ("task", result.task, expected.task),
        ("number of tests", len(result.outcomes or ""), expected.tests),
    )
    for what, found, wanted in pairs:
        if found != wanted:
            return f"The result is about another {what}: {found!r}, not {wanted!r}."
    return None


def image_digest_of(image_id: str) -> str:
    """The digest in a container status's `imageID`, or "".

    `registry/name@sha256:…`, the same behind `docker-pullable://`, or `sha256:…` alone.
    """
    return image_id.rpartition("@")[2].rpartition("//")[2] if "sha256:" in image_id else ""


def _lack_of_isolation(result: RefereeResult, expected: ExpectedAttempt) -> str | None:
    facts = result.isolation or {}
    if facts.get("network") != "denied":
        return "The result does not say that the Pod had no network."
    if expected.user_namespaces == "required" and facts.get("userNamespace") is not True:
        return "The result does not say that the lane had a user namespace of its own."
    return None


def _cannot_start(view: _PodView) -> PodFailed | None:
    for container in (REFEREE, LANE):
        waiting = view.state(container, "waiting") or {}
        word = str(waiting.get("reason") or "")
        detail = str(waiting.get("message") or "")
        if word in PULL_FAILURES:
            return _failed(Reason.IMAGE_PULL_FAILED, f"{container}: {word}: {detail}")
        if word in CREATE_FAILURES:
            return _failed(Reason.CONTAINER_CREATE_FAILED, f"{container}: {word}: {detail}")
    lane = view.state(LANE, "terminated") or {}
    if lane.get("reason") in START_FAILURES:
        # The one state of the lane that counts: its process never ran, so nothing submitted did.
        detail = str(lane.get("message") or "")
        return _failed(Reason.CONTAINER_CREATE_FAILED, f"{LANE}: {lane['reason']}: {detail}")
    return None


def _deadline(view: _PodView, expected: ExpectedAttempt, now: datetime) -> PodFailed | None:
    started = started_at(view.status)
    if started is None or now < started + timedelta(seconds=expected.deadline_seconds):
        return None
    return _failed(
        Reason.DEADLINE_EXCEEDED,
        f"The attempt did not finish within {expected.deadline_seconds} seconds.",
    )


def _goes_on(view: _PodView) -> Observation:
    if view.phase in ("Succeeded", "Failed"):
        return _failed(Reason.RESULT_MISSING, "The Pod ended without a word about its referee.")
    if view.state(REFEREE, "running") is not None:
        return PodRunning()
    scheduled = view.condition("PodScheduled")
    if scheduled.get("status") == "False" and scheduled.get("reason") == "Unschedulable":
        message = str(scheduled.get("message") or Reason.UNSCHEDULABLE.sentence)
        return PodPending(Reason.UNSCHEDULABLE, message[:_MESSAGE_MAX])
    return PodPending(ProgressReason.POD_PENDING, ProgressReason.POD_PENDING.sentence)


def started_at(status: Mapping[str, Any]) -> datetime | None:
    """The Pod's `startTime`: when a kubelet took it on; None before, or if unreadable."""
    return _time(status.get("startTime"))


def finished_at(status: Mapping[str, Any]) -> datetime | None:
    """When the referee terminated, according to the kubelet; None before, or if unreadable."""
    for one in _dicts(status.get("containerStatuses")):
        if one.get("name") == REFEREE:
            return _time(_dict(_dict(one.get("state")).get("terminated")).get("finishedAt"))
    return None


def _time(value: object) -> datetime | None:
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else None


def _failed(reason: Reason, message: str = "") -> PodFailed:
    printable = "".join(char if char.isprintable() else " " for char in message)
    return PodFailed(reason, printable[:_MESSAGE_MAX].strip() or reason.sentence)


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _dicts(value: object) -> Iterator[dict[str, Any]]:
    if isinstance(value, list):
        yield from (one for one in value if isinstance(one, dict))
