"""Who ended a box: the platform, or what ran in it."""

from typing import Any

import pytest

from gradekeeper_verifiers.status import (
    BoxState,
    Ended,
    Hopeless,
    Lost,
    Running,
    Waiting,
    read_box,
)


def _pod(state: dict[str, Any] | None = None, **status: Any) -> dict[str, Any]:
    if state is not None:
        status["containerStatuses"] = [{"name": "box", "state": state}]
    return {"metadata": {"name": "box-1", "uid": "u-1"}, "status": status}


def _waiting(reason: str, message: str = "m") -> dict[str, Any]:
    return _pod({"waiting": {"reason": reason, "message": message}}, phase="Pending")


def _terminated(how: str, **status: Any) -> dict[str, Any]:
    return _pod({"terminated": {"reason": how, "exitCode": 137}}, phase="Failed", **status)


DISRUPTED = [{"type": "DisruptionTarget", "status": "True", "reason": "Kill", "message": "m"}]
DELETED = {**_pod({"running": {}}, phase="Running")}
DELETED["metadata"] = {**DELETED["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        pytest.param(_pod({"running": {}}, phase="Running"), Running(), id="running"),
        pytest.param(
            _pod(
                {"running": {}}, phase="Running", conditions=[{**DISRUPTED[0], "status": "False"}]
            ),
            Running(),
            id="a disruption that is none",
        ),
        # What the box did to itself.
        pytest.param(_terminated("OOMKilled"), Ended("OOMKilled", "exit code 137"), id="memory"),
        pytest.param(
            _pod({"terminated": {"reason": "Error", "exitCode": 1}}, phase="Running"),
            Ended("Error", "exit code 1"),
            id="ended, and the phase lags behind",
        ),
        pytest.param(
            _pod({"terminated": {"reason": "Completed", "exitCode": 0}}, phase="Succeeded"),
            Ended("Completed", "exit code 0"),
            id="first process gone",
        ),
        pytest.param(
            _terminated("Error", reason="Evicted", message="Pod ephemeral local storage usage"),
            Ended("Evicted", "Pod ephemeral local storage usage"),
            id="disk",
        ),
        pytest.param(
            _terminated("Error", reason="DeadlineExceeded", message="too long"),
            Ended("DeadlineExceeded", "too long"),
            id="lifetime",
        ),
        # What the platform did.
        pytest.param(
            _terminated("Error", reason="Evicted", message="low on memory", conditions=DISRUPTED),
            Lost("Kill", "m"),
            id="evicted under pressure",
        ),
        pytest.param(
            _terminated("OOMKilled", conditions=DISRUPTED), Lost("Kill", "m"), id="preempted"
        ),
        pytest.param(
            _terminated("Error", reason="NodeShutdown", message="m"),
            Lost("NodeShutdown", "m"),
            id="node shut down",
        ),
        pytest.param(
            _pod(phase="Failed", reason="OutOfcpu", message="m"),
            Lost("OutOfcpu", "m"),
            id="not admitted by the node",
        ),
        pytest.param(
            _terminated("ContainerStatusUnknown"),
            Lost("ContainerStatusUnknown", "exit code 137"),
            id="the kubelet lost it",
        ),
        pytest.param(
            _pod({"terminated": {"reason": "Unknown", "exitCode": 255}}, phase="Failed"),
            Lost("Unknown", "exit code 255"),
            id="the node crashed",
        ),
        pytest.param(
            _pod({"terminated": {"exitCode": 255}}, phase="Failed"),
            Lost("Unknown", "exit code 255"),
            id="ended without a reason",
        ),
        pytest.param(_pod(phase="Failed"), Lost("Unknown", "exit code None"), id="no record"),
        pytest.param(
            _pod(
                {"running": {}},
                phase="Running",
                conditions=[{"type": "Ready", "status": "False"}],
            ),
            Running(reported=False),
            id="its node fell silent",
        ),
        pytest.param(
            _pod({"running": {}}, phase="Unknown"),
            Lost("NodeLost", "the node no longer reports"),
            id="node lost",
        ),
        pytest.param(None, Lost("PodDeleted", "the API server no longer knows the Pod"), id="gone"),
        pytest.param(DELETED, Lost("PodDeleted", "somebody deleted the Pod"), id="being deleted"),
        # Before it runs.
        pytest.param(_waiting("ContainerCreating"), Waiting("ContainerCreating", "m"), id="making"),
        pytest.param(
            _waiting("ErrImagePull", "dial tcp: i/o timeout"),
            Waiting("ErrImagePull", "dial tcp: i/o timeout"),
            id="registry does not answer",
        ),
        pytest.param(
            _waiting("ImagePullBackOff", "x:1: Not Found"),
            Hopeless("ImagePullBackOff", "x:1: Not Found"),
            id="no such image",
        ),
        *(
            pytest.param(_waiting(reason), Hopeless(reason, "m"), id=reason)
            for reason in ("ErrImageNeverPull", "CreateContainerConfigError", "RunContainerError")
        ),
        pytest.param(
            _terminated("StartError"), Hopeless("StartError", "exit code 137"), id="no shell"
        ),
        pytest.param(
            _pod(
                phase="Pending",
                conditions=[
                    {
                        "type": "PodScheduled",
                        "status": "False",
                        "reason": "Unschedulable",
                        "message": "0/1 nodes",
                    }
                ],
            ),
            Waiting("Unschedulable", "0/1 nodes"),
            id="no room",
        ),
        pytest.param(
            _pod(phase="Pending"), Waiting("Pending", "the node has not reported yet"), id="new"
        ),
        pytest.param(
            {"metadata": {"uid": "u-1"}},
            Waiting("Pending", "the node has not reported yet"),
            id="no status at all",
        ),
    ],
)
def test_what_a_status_says(pod: dict[str, Any] | None, expected: BoxState) -> None:
    assert read_box(pod, "u-1") == expected


def test_another_pod_of_the_name_is_not_the_box() -> None:
    pod = _pod({"running": {}}, phase="Running")

    assert read_box(pod, "u-2") == Lost("PodReplaced", "another Pod has taken the name")
    assert read_box(pod) == Running()


def test_other_containers_say_nothing() -> None:
    pod = _pod({"running": {}}, phase="Running")
    pod["status"]["containerStatuses"].insert(
        0, {"name": "debugger-x", "state": {"terminated": {"reason": "Error", "exitCode": 1}}}
    )

    assert read_box(pod, "u-1") == Running()
