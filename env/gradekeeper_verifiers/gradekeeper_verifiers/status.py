"""What a Pod's status says about the box: the only judge of who ended it. Pure.

An agent owns everything inside its box, so nothing in there can tell a broken platform from an
agent that breaks things. The API server can: it has the kubelet's record.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

Manifest = dict[str, Any]
CONTAINER: Final = "box"

_HOPELESS: Final = frozenset(
    {
        "CreateContainerConfigError",
        "CreateContainerError",
        "ErrImageNeverPull",
        "ImageInspectError",
        "InvalidImageName",
        "RunContainerError",
    }
)
_PULLING: Final = frozenset({"ErrImagePull", "ImagePullBackOff"})
_NOT_THERE: Final = (
    "not found",
    "manifest unknown",
    "does not exist",
    "denied",
    "unauthorized",
    "forbidden",
)
# These the Pod brought upon itself; other reasons of the kubelet are the node's.
_OWN_DOING: Final = frozenset({"Evicted", "DeadlineExceeded"})
_NEVER_STARTED: Final = frozenset({"ContainerCannotRun", "StartError"})
# Nobody saw the container end: its node crashed or restarted meanwhile.
_UNSEEN: Final = frozenset({"", "ContainerStatusUnknown", "Unknown"})


@dataclass(frozen=True, slots=True)
class Running:
    """Commands can be run in it.

    Attributes:
        reported: Whether its node still says so; False: that was its last word.
    """

    reported: bool = True


@dataclass(frozen=True, slots=True)
class Waiting:
    """Not yet; time may help."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Hopeless:
    """It will never start as it is: a missing image, a broken setting."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Ended:
    """What runs in it ended it: memory, storage or lifetime used up, or its first process gone."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Lost:
    """The platform took it away: deletion, preemption, eviction under pressure, a lost node."""

    reason: str
    message: str


BoxState = Running | Waiting | Hopeless | Ended | Lost


def read_box(pod: Manifest | None, uid: str | None = None) -> BoxState:
    """Say what became of a box.

    Args:
        pod: The Pod as the API server has it; None if it has none.
        uid: The UID that it must have; None accepts any.
    """
    if pod is None:
        return Lost("PodDeleted", "the API server no longer knows the Pod")
    metadata, status = pod.get("metadata") or {}, pod.get("status") or {}
    if uid is not None and metadata.get("uid") != uid:
        return Lost("PodReplaced", "another Pod has taken the name")
    if metadata.get("deletionTimestamp"):
        return Lost("PodDeleted", "somebody deleted the Pod")
    for condition in status.get("conditions") or []:
        if condition.get("type") == "DisruptionTarget" and condition.get("status") == "True":
            return Lost(str(condition.get("reason")), str(condition.get("message")))
    state = _container_state(status)
    if status.get("phase") in ("Failed", "Succeeded") or "terminated" in state:
        return _read_end(status, state.get("terminated") or {})
    if status.get("phase") == "Unknown":
        return Lost("NodeLost", "the node no longer reports")
    if "running" in state:
        # Boxes have no probe that could fail: this is only set when the node falls silent.
        return Running(
            reported=not any(
                condition.get("type") == "Ready" and condition.get("status") != "True"
                for condition in status.get("conditions") or []
            )
        )
    return _read_wait(status, state.get("waiting") or {})


def is_gone(pod: Manifest, uid: str | None) -> bool:
    """Whether the Pod of this UID, None for any, is no more: another has its name."""
    return uid is not None and (pod.get("metadata") or {}).get("uid") != uid


def has_stopped(pod: Manifest) -> bool:
    """Whether a Pod is being deleted, and its node says that each of its containers has ended."""
    status = pod.get("status") or {}
    states = [
        container.get("state") or {}
        for kind in ("containerStatuses", "ephemeralContainerStatuses")
        for container in status.get(kind) or []
    ]
    deleting = bool((pod.get("metadata") or {}).get("deletionTimestamp"))
    return deleting and bool(states) and all("terminated" in state for state in states)


def _container_state(status: Manifest) -> Manifest:
    for container in status.get("containerStatuses") or []:
        if container.get("name") == CONTAINER:
            state: Manifest = container.get("state") or {}
            return state
    return {}


def _read_end(status: Manifest, terminated: Manifest) -> BoxState:
    reason, message = str(status.get("reason") or ""), str(status.get("message") or "")
    if reason:
        return Ended(reason, message) if reason in _OWN_DOING else Lost(reason, message)
    reason = str(terminated.get("reason") or "")
    message = str(terminated.get("message") or f"exit code {terminated.get('exitCode')}")
    if reason in _NEVER_STARTED:
        return Hopeless(reason, message)
    if reason in _UNSEEN:
        return Lost(reason or "Unknown", message)
    return Ended(reason, message)


def _read_wait(status: Manifest, waiting: Manifest) -> BoxState:
    reason, message = str(waiting.get("reason") or ""), str(waiting.get("message") or "")
    said = message.lower()
    if reason in _HOPELESS or (reason in _PULLING and any(word in said for word in _NOT_THERE)):
        return Hopeless(reason, message)
    if reason:
        return Waiting(reason, message)
    for condition in status.get("conditions") or []:
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            return Waiting(str(condition.get("reason")), str(condition.get("message")))
    return Waiting("Pending", "the node has not reported yet")
