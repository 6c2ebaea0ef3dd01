"""What became of an attempt: each line of the documented precedence, from Pod statuses."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradekeeper.api.reasons import Decision, ProgressReason, Reason
from gradekeeper.pods.build import PodSettings
from gradekeeper.pods.classify import (
    PodFailed,
    PodFinished,
    PodPending,
    PodRunning,
    classify_pod,
    expected_attempt,
    finished_at,
    image_digest_of,
    started_at,
)
from gradekeeper.referee.result import RefereeResult, encode_result
from gradekeeper.verdicts.model import Graded, verdict_from_result
from unit.pods.samples import SETTINGS, SUITE, digest, pod, spec

EXPECTED = expected_attempt(spec(), 1, SUITE, SETTINGS)
START = datetime(2026, 1, 1, tzinfo=UTC)
NOW = START + timedelta(seconds=30)
RESULT = RefereeResult(
    nonce="nonce-1",
    attempt=1,
    suite=digest("a"),
    submission=digest("1"),
    task="",
    decision="Graded",
    reason="Completed",
    message="Every test was graded.",
    outcomes="PFN",
    isolation={"network": "denied", "userNamespace": True},
    log=digest("f"),
)
COMPLETED = RESULT
NOT_COMPILING = dataclasses.replace(RESULT, reason="DoesNotCompile", outcomes="NNN")
LANE_LOST = dataclasses.replace(RESULT, reason="LaneLost", outcomes="PXN")
OWN_FAULT = dataclasses.replace(RESULT, reason="RefereeFault", outcomes="PNN")
REJECTED = dataclasses.replace(
    RESULT, decision="Rejected", reason="SubmissionTooManyFiles", outcomes="NNN", isolation=None
)
UNJUDGED = dataclasses.replace(
    RESULT, decision="Unjudged", reason="NodeOverloaded", outcomes=None, message="It stalled."
)
ISOLATION = dataclasses.replace(
    UNJUDGED, reason="IsolationNotEnforced", message="The network is open."
)

RUNNING = {"running": {"startedAt": "2026-01-01T00:00:01Z"}}


def waiting(reason: str, message: str = "") -> dict[str, Any]:
    return {"waiting": {"reason": reason, "message": message}}


def terminated(
    code: int = 0, reason: str = "Completed", message: str | None = None
) -> dict[str, Any]:
    found = {
        "exitCode": code,
        "reason": reason,
        "startedAt": "2026-01-01T00:00:01Z",
        "finishedAt": "2026-01-01T00:00:08Z",
    }
    return {"terminated": found if message is None else {**found, "message": message}}


FORGOTTEN = {"terminated": {"exitCode": 137, "reason": "ContainerStatusUnknown"}}


def said(result: RefereeResult) -> dict[str, Any]:
    return terminated(message=encode_result(result).decode())


def seen(
    referee: dict[str, Any] | None = RUNNING,
    lane: dict[str, Any] | None = RUNNING,
    *,
    phase: str = "Running",
    reason: str = "",
    message: str = "",
    disruption: str = "",
    deleted: bool = False,
    images: tuple[str, str] = (SUITE.image, SUITE.lane_image),
    **status: Any,
) -> dict[str, Any]:
    """A Pod as the API server shows it."""
    found = pod()
    if deleted:
        found["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:09Z"
    conditions = [{"type": "PodScheduled", "status": "True"}]
    if disruption:
        conditions.append(
            {
                "type": "DisruptionTarget",
                "status": "True",
                "reason": disruption,
                "message": "The cluster needed room.",
            }
        )
    found["status"] = {
        "phase": phase,
        "reason": reason,
        "message": message,
        "startTime": "2026-01-01T00:00:00Z",
        "conditions": conditions,
        "containerStatuses": [
            {"name": name, "state": state, "imageID": image}
            for name, state, image in (
                ("lane", lane, images[1]),
                ("referee", referee, images[0]),
            )
            if state is not None
        ],
        **status,
    }
    return found


def classify(manifest: dict[str, Any] | None, now: datetime = NOW, **change: Any) -> Any:
    return classify_pod(manifest, expected=dataclasses.replace(EXPECTED, **change), now=now)


def reason_of(manifest: dict[str, Any] | None, now: datetime = NOW, **change: Any) -> Reason:
    found = classify(manifest, now, **change)
    assert isinstance(found, PodFailed), found
    assert found.reason.decision is Decision.UNJUDGED
    assert found.message
    return found.reason


# 1. No Pod


def test_a_pod_that_is_gone_is_lost() -> None:
    assert reason_of(None) is Reason.POD_LOST


# 2. A completed result stands, whatever else befell the Pod


@pytest.mark.parametrize("result", [COMPLETED, NOT_COMPILING, REJECTED], ids=lambda r: r.reason)
@pytest.mark.parametrize(
    "fate",
    [
        {},
        {"lane": terminated(137, "OOMKilled")},
        {"lane": terminated(0)},
        {"phase": "Succeeded"},
        {"phase": "Failed", "reason": "Evicted", "message": "The node was low on memory."},
        {"phase": "Failed", "reason": "NodeShutdown"},
        {"phase": "Unknown", "reason": "NodeLost"},
        {"disruption": "EvictionByEvictionAPI"},
        {"disruption": "DeletionByTaintManager", "deleted": True},
        {"deleted": True},
    ],
    ids=str,
)
def test_a_completed_result_stands(result: RefereeResult, fate: dict[str, Any]) -> None:
    assert classify(seen(said(result), **fate)) == PodFinished(result)


def test_a_completed_result_stands_after_the_deadline() -> None:
    late = START + timedelta(days=1)
    assert classify(seen(said(COMPLETED)), late) == PodFinished(COMPLETED)
    assert classify(seen(said(LANE_LOST)), late) == PodFinished(LANE_LOST)
    assert classify(seen(said(OWN_FAULT)), late) == PodFinished(OWN_FAULT)


# 3. The platform took the Pod away


@pytest.mark.parametrize(
    ("fate", "reason"),
    [
        ({"disruption": "EvictionByEvictionAPI"}, Reason.POD_EVICTED),
        ({"disruption": "PreemptionByScheduler"}, Reason.POD_PREEMPTED),
        ({"disruption": "DeletionByTaintManager"}, Reason.NODE_LOST),
        ({"disruption": "DeletionByPodGC"}, Reason.NODE_LOST),
        ({"disruption": "TerminationByKubelet"}, Reason.POD_EVICTED),
        (
            {"disruption": "TerminationByKubelet", "phase": "Failed", "reason": "Evicted"},
            Reason.POD_EVICTED,
        ),
        (
            {"disruption": "TerminationByKubelet", "phase": "Failed", "reason": "Terminated"},
            Reason.NODE_LOST,
        ),
        (
            {"disruption": "TerminationByKubelet", "phase": "Failed", "reason": "Preempting"},
            Reason.POD_PREEMPTED,
        ),
        ({"disruption": "SomethingNew"}, Reason.POD_EVICTED),
        ({"phase": "Unknown"}, Reason.NODE_LOST),
        ({"reason": "NodeLost"}, Reason.NODE_LOST),
        ({"phase": "Failed", "reason": "NodeShutdown"}, Reason.NODE_LOST),
        ({"deleted": True}, Reason.POD_LOST),
        ({"deleted": True, "disruption": "PreemptionByScheduler"}, Reason.POD_PREEMPTED),
    ],
    ids=str,
)
@pytest.mark.parametrize(
    "referee",
    [
        RUNNING,
        said(LANE_LOST),
        said(OWN_FAULT),
        said(UNJUDGED),
        terminated(137, "Error"),
        terminated(0),
        terminated(message="{"),
    ],
    ids=["running", "lane-lost", "own-fault", "unjudged", "killed", "silent", "nonsense"],
)
def test_what_the_platform_took_is_its_own(
    referee: dict[str, Any], fate: dict[str, Any], reason: Reason
) -> None:
    assert reason_of(seen(referee, **fate)) is reason


def test_the_control_plane_s_sentence_is_kept() -> None:
    found = classify(seen(disruption="EvictionByEvictionAPI"))
    assert found == PodFailed(Reason.POD_EVICTED, "The cluster needed room.")


def test_a_disruption_that_did_not_come_true_is_none() -> None:
    manifest = seen(said(LANE_LOST), disruption="EvictionByEvictionAPI")
    manifest["status"]["conditions"][-1]["status"] = "False"
    assert classify(manifest) == PodFinished(LANE_LOST)


def test_a_container_that_the_node_forgot() -> None:
    assert reason_of(seen(FORGOTTEN, phase="Failed")) is Reason.NODE_LOST


# 4. The Pod failed as a whole


@pytest.mark.parametrize(
    "reason",
    [
        "UnexpectedAdmissionError",
        "OutOfcpu",
        "OutOfmemory",
        "NodeAffinity",
        "TopologyAffinityError",
        "NodeShutdown",
        "Evicted",
        "SomethingNew",
    ],
)
@pytest.mark.parametrize("state", [None, waiting("ContainerCreating")])
def test_a_node_that_refuses_the_pod(reason: str, state: dict[str, Any] | None) -> None:
    manifest = seen(state, state, phase="Failed", reason=reason, message="Pod was rejected")
    assert reason_of(manifest) is Reason.POD_ADMISSION_FAILED
    assert classify(manifest).message == f"{reason}: Pod was rejected"


@pytest.mark.parametrize(
    "message",
    [
        'Usage of EmptyDir volume "scratch" exceeds the limit "16Mi".',
        "Pod ephemeral local storage usage exceeds the total limit of containers 1Gi.",
        "Container lane exceeded its local ephemeral storage limit 1Gi.",
    ],
)
@pytest.mark.parametrize("referee", [RUNNING, terminated(137, "Error"), said(LANE_LOST), FORGOTTEN])
def test_a_plain_eviction_is_the_pod_s_own_doing(message: str, referee: dict[str, Any]) -> None:
    found = classify(seen(referee, phase="Failed", reason="Evicted", message=message))
    assert isinstance(found, PodFinished)
    verdict = verdict_from_result(found.result)
    assert isinstance(verdict, Graded)
    outcomes = "PXN" if referee == said(LANE_LOST) else "NNN"
    assert (verdict.reason, verdict.outcomes) == (Reason.LANE_LOST, outcomes)
    assert (found.result.nonce, found.result.attempt) == ("nonce-1", 1)
    assert (found.result.suite, found.result.submission) == (digest("a"), digest("1"))


@pytest.mark.parametrize(
    "message",
    [
        'Usage of EmptyDir volume "lane" exceeds the limit "64Mi".',
        "Container referee exceeded its local ephemeral storage limit 1Gi.",
    ],
)
def test_a_plain_eviction_for_what_the_referee_wrote(message: str) -> None:
    manifest = seen(phase="Failed", reason="Evicted", message=message)
    assert reason_of(manifest) is Reason.REFEREE_FAILED


def test_containers_that_the_node_forgot_after_an_eviction() -> None:
    message = "Pod ephemeral local storage usage exceeds the total limit of containers 1Gi."
    found = classify(seen(FORGOTTEN, FORGOTTEN, phase="Failed", reason="Evicted", message=message))
    assert isinstance(found, PodFinished)
    refused = seen(
        FORGOTTEN,
        FORGOTTEN,
        phase="Failed",
        reason="Evicted",
        message="Pod was rejected: The node had condition: [DiskPressure].",
    )
    assert reason_of(refused) is Reason.POD_ADMISSION_FAILED


def test_a_deadline_of_the_pod_itself() -> None:
    manifest = seen(terminated(137, "Error"), phase="Failed", reason="DeadlineExceeded")
    assert reason_of(manifest) is Reason.DEADLINE_EXCEEDED


# 5. The referee terminated


@pytest.mark.parametrize(
    ("referee", "reason"),
    [
        (terminated(128, "StartError", "exec: not found"), Reason.CONTAINER_CREATE_FAILED),
        (terminated(127, "ContainerCannotRun", "no such file"), Reason.CONTAINER_CREATE_FAILED),
        (terminated(137, "OOMKilled"), Reason.REFEREE_FAILED),
        (
            terminated(137, "OOMKilled", encode_result(COMPLETED).decode()),
            Reason.REFEREE_FAILED,
        ),
        (terminated(0, "OOMKilled"), Reason.RESULT_MISSING),
        (terminated(0, "OOMKilled", encode_result(COMPLETED).decode()[:99]), Reason.RESULT_INVALID),
        (terminated(0, "StartError", "exec: not found"), Reason.CONTAINER_CREATE_FAILED),
        (terminated(1, "Error"), Reason.REFEREE_FAILED),
        (terminated(1, "Error", encode_result(COMPLETED).decode()), Reason.REFEREE_FAILED),
        (terminated(0), Reason.RESULT_MISSING),
        (terminated(0, message=""), Reason.RESULT_MISSING),
        (terminated(0, message="done"), Reason.RESULT_INVALID),
        (terminated(0, message="{}"), Reason.RESULT_INVALID),
        (terminated(0, message="\ud800"), Reason.RESULT_INVALID),
        (
            terminated(0, message=encode_result(COMPLETED).decode()[:-5]),
            Reason.RESULT_INVALID,
        ),
        (said(UNJUDGED), Reason.NODE_OVERLOADED),
        (said(ISOLATION), Reason.ISOLATION_NOT_ENFORCED),
    ],
    ids=lambda value: str(value)[:60],
)
def test_referees_that_ended_without_a_score(referee: dict[str, Any], reason: Reason) -> None:
    assert reason_of(seen(referee)) is reason


def test_a_lost_lane_is_scored_when_nobody_took_the_pod() -> None:
    found = classify(seen(said(LANE_LOST), terminated(137, "OOMKilled")))
    assert found == PodFinished(LANE_LOST)


def test_the_referee_s_own_words_are_kept() -> None:
    assert classify(seen(said(UNJUDGED))) == PodFailed(
        Reason.NODE_OVERLOADED, "It stalled.", UNJUDGED
    )


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"nonce": "nonce-2"}, "nonce"),
        ({"attempt": 2}, "attempt"),
        ({"suite": digest("9")}, "suite"),
        ({"submission": digest("9")}, "submission"),
        ({"task": "one"}, "task"),
        ({"outcomes": "PP"}, "number of tests"),
        ({"outcomes": "PPPP"}, "number of tests"),
    ],
)
def test_results_about_something_else(change: dict[str, Any], what: str) -> None:
    found = classify(seen(said(dataclasses.replace(COMPLETED, **change))))
    assert found.reason is Reason.RESULT_INVALID
    assert f"about another {what}" in found.message


def test_a_builtin_submission_has_the_digest_that_the_referee_tells() -> None:
    told = dataclasses.replace(COMPLETED, submission=digest("9"))
    assert classify(seen(said(told)), submission_digest=None) == PodFinished(told)


def test_an_unjudged_referee_may_know_nothing_of_its_job() -> None:
    blind = dataclasses.replace(
        UNJUDGED, nonce="", attempt=0, suite="", submission="", reason="RefereeFailed"
    )
    assert reason_of(seen(said(blind))) is Reason.REFEREE_FAILED


@pytest.mark.parametrize(
    ("images", "fine"),
    [
        ((SUITE.image, SUITE.lane_image), True),
        ((digest("b"), digest("c")), True),
        ((f"docker-pullable://x/y@{digest('b')}", digest("c")), True),
        ((f"docker://{digest('b')}", digest("c")), True),
        ((f"docker.io/gradekeeper/billing@{digest('9')}", SUITE.lane_image), False),
        ((SUITE.image, f"docker.io/gradekeeper/java17@{digest('9')}"), False),
        ((SUITE.lane_image, SUITE.image), False),
        ((SUITE.image, ""), False),
        (("", SUITE.lane_image), False),
        ((f"{digest('b')}@evil", SUITE.lane_image), False),
    ],
)
def test_results_from_other_images(images: tuple[str, str], fine: bool) -> None:
    manifest = seen(said(COMPLETED), images=images)
    if fine:
        assert classify(manifest) == PodFinished(COMPLETED)
    else:
        assert reason_of(manifest) is Reason.RESULT_INVALID


def test_an_unjudged_result_needs_no_image_of_a_lane_that_never_came() -> None:
    manifest = seen(said(UNJUDGED), waiting("ContainerCreating"), images=(SUITE.image, ""))
    assert reason_of(manifest) is Reason.NODE_OVERLOADED
    manifest = seen(said(UNJUDGED), images=(SUITE.image, digest("9")))
    assert reason_of(manifest) is Reason.RESULT_INVALID


@pytest.mark.parametrize("kind", ["containers", "initContainers", "ephemeralContainers"])
def test_results_beside_strangers(kind: str) -> None:
    manifest = seen(said(COMPLETED))
    manifest["spec"].setdefault(kind, []).append({"name": "debugger"})
    found = classify(manifest)
    assert found.reason is Reason.RESULT_INVALID
    assert "'debugger'" in found.message


@pytest.mark.parametrize(
    ("isolation", "user_namespaces", "fine"),
    [
        ({"network": "denied", "userNamespace": True}, "required", True),
        ({"network": "denied", "userNamespace": False}, "required", False),
        ({"network": "denied"}, "required", False),
        ({"network": "denied", "userNamespace": "yes"}, "required", False),
        ({"network": "denied", "userNamespace": False}, "preferred", True),
        ({"network": "open", "userNamespace": True}, "required", False),
        ({"userNamespace": True}, "preferred", False),
        ({}, "preferred", False),
    ],
)
def test_what_the_installation_requires(
    isolation: dict[str, Any], user_namespaces: str, fine: bool
) -> None:
    result = dataclasses.replace(COMPLETED, isolation=isolation)
    found = classify(seen(said(result)), user_namespaces=user_namespaces)
    if fine:
        assert found == PodFinished(result)
    else:
        assert found.reason is Reason.ISOLATION_NOT_ENFORCED
        assert found.result == result


# 6. A container cannot start


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("ImagePullBackOff", Reason.IMAGE_PULL_FAILED),
        ("ErrImageNeverPull", Reason.IMAGE_PULL_FAILED),
        ("InvalidImageName", Reason.IMAGE_PULL_FAILED),
        ("ImageInspectError", Reason.IMAGE_PULL_FAILED),
        ("CreateContainerConfigError", Reason.CONTAINER_CREATE_FAILED),
        ("CreateContainerError", Reason.CONTAINER_CREATE_FAILED),
        ("RunContainerError", Reason.CONTAINER_CREATE_FAILED),
    ],
)
def test_containers_that_cannot_start(word: str, reason: Reason) -> None:
    stuck = waiting(word, "the runtime's words")
    for manifest, container in (
        (seen(stuck, waiting("ContainerCreating"), phase="Pending"), "referee"),
        (seen(RUNNING, stuck), "lane"),
    ):
        assert reason_of(manifest) is reason
        assert classify(manifest).message == f"{container}: {word}: the runtime's words"


@pytest.mark.parametrize("word", ["ContainerCreating", "PodInitializing", "ErrImagePull"])
def test_containers_that_may_still_start(word: str) -> None:
    found = classify(seen(waiting(word), waiting(word), phase="Pending"))
    assert isinstance(found, PodPending)
    assert found.reason is ProgressReason.POD_PENDING


def test_a_lane_that_never_ran() -> None:
    never = terminated(128, "StartError", "no laned")
    del never["terminated"]["startedAt"]
    assert reason_of(seen(RUNNING, never)) is Reason.CONTAINER_CREATE_FAILED


@pytest.mark.parametrize(
    "lane", [terminated(137, "OOMKilled"), terminated(2, "Error"), terminated(0)]
)
def test_no_other_state_of_the_lane_decides(lane: dict[str, Any]) -> None:
    assert classify(seen(RUNNING, lane)) == PodRunning()


# 7. The deadline


def test_the_deadline_runs_from_the_start_time() -> None:
    deadline = START + timedelta(seconds=EXPECTED.deadline_seconds)
    assert classify(seen(), deadline - timedelta(microseconds=1)) == PodRunning()
    assert reason_of(seen(), deadline) is Reason.DEADLINE_EXCEEDED
    assert reason_of(seen(None, None, phase="Pending"), deadline) is Reason.DEADLINE_EXCEEDED


@pytest.mark.parametrize("start", [None, "soon", 7, "2026-01-01T00:00:00"])
def test_without_a_start_time_no_deadline_runs(start: object) -> None:
    manifest = seen(startTime=start)
    assert classify(manifest, START + timedelta(days=9)) == PodRunning()


def test_a_known_cause_comes_before_the_deadline() -> None:
    late = START + timedelta(days=1)
    assert reason_of(seen(waiting("ImagePullBackOff")), late) is Reason.IMAGE_PULL_FAILED
    assert reason_of(seen(deleted=True), late) is Reason.POD_LOST


# 8. and 9. Nothing to say yet, or ever


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_ended_without_a_word(phase: str) -> None:
    assert reason_of(seen(None, None, phase=phase)) is Reason.RESULT_MISSING


def test_no_room() -> None:
    manifest = pod() | {
        "status": {
            "phase": "Pending",
            "conditions": [
                {
                    "type": "PodScheduled",
                    "status": "False",
                    "reason": "Unschedulable",
                    "message": "0/1 nodes are available: 1 Insufficient cpu.",
                }
            ],
        }
    }
    assert classify(manifest) == PodPending(
        Reason.UNSCHEDULABLE, "0/1 nodes are available: 1 Insufficient cpu."
    )


def test_a_fresh_pod_is_pending() -> None:
    for manifest in (pod(), pod() | {"status": {}}, pod() | {"status": {"phase": "Pending"}}):
        found = classify(manifest)
        assert isinstance(found, PodPending)
        assert found.reason is ProgressReason.POD_PENDING


def test_running() -> None:
    assert classify(seen()) == PodRunning()
    assert classify(seen(RUNNING, waiting("ContainerCreating"))) == PodRunning()


# The parts


def test_expected_attempt() -> None:
    found = expected_attempt(
        spec(task="one", submission={"builtin": "gold"}, attemptDeadlineSeconds=60),
        3,
        SUITE,
        PodSettings(user_namespaces="preferred"),
    )
    assert dataclasses.asdict(found) == {
        "nonce": "nonce-1",
        "attempt": 3,
        "suite_digest": digest("a"),
        "submission_digest": None,
        "task": "one",
        "tests": 1,
        "image_digest": digest("b"),
        "lane_image_digest": digest("c"),
        "deadline_seconds": 60,
        "user_namespaces": "preferred",
    }
    with pytest.raises(KeyError):
        expected_attempt(spec(task="two"), 1, SUITE, SETTINGS)


def test_times() -> None:
    status = seen(said(COMPLETED))["status"]
    assert started_at(status) == START
    assert finished_at(status) == START + timedelta(seconds=8)
    assert finished_at(seen()["status"]) is None
    assert started_at({}) is None


@pytest.mark.parametrize("image_id", ["", "java17:latest", "docker.io/x/y"])
def test_image_ids_without_a_digest(image_id: str) -> None:
    assert image_digest_of(image_id) == ""


def test_long_and_unprintable_messages_are_tamed() -> None:
    found = classify(seen(waiting("ImagePullBackOff", "a\x1b[2J\n" + "x" * 5000)))
    assert found.message.isprintable()
    assert len(found.message) <= 512


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "name",
                    "state",
                    "terminated",
                    "waiting",
                    "running",
                    "reason",
                    "message",
                    "exitCode",
                    "type",
                    "status",
                    "phase",
                    "conditions",
                    "containerStatuses",
                    "startTime",
                ]
            ),
            inner | st.sampled_from(["referee", "lane", "Failed", "DisruptionTarget", "True"]),
            max_size=5,
        )
    ),
    max_leaves=12,
)


@given(JSON, JSON, JSON)
def test_any_pod_is_answered(metadata: Any, spec_: Any, status: Any) -> None:
    found = classify({"metadata": metadata, "spec": spec_, "status": status})
    assert isinstance(found, PodPending | PodRunning | PodFinished | PodFailed)
    if isinstance(found, PodFinished):  # only a plain eviction after the containers ran
        assert found.result.outcomes == "NNN"
