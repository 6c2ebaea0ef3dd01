"""What is decided about one job, case by case."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from gradekeeper.api.names import pod_name
from gradekeeper.control.plan import (
    NOTHING,
    ConfirmPod,
    CreateFailure,
    CreatePod,
    DeleteJob,
    DeletePod,
    KeepLogs,
    Parts,
    Policy,
    ReadParts,
    Serving,
    Slot,
)
from gradekeeper.referee import build_ends
from gradekeeper.verdicts.model import Graded, Rejected, Unjudged
from unit.control.scenes import (
    NAME,
    PROBE,
    T0,
    UID,
    Scene,
    a_result,
    finished,
    job_manifest,
    pod_status,
    running,
    with_pod,
)

FIRST_POD = pod_name(NAME, UID, 1)


@pytest.mark.parametrize(
    ("observed", "spec", "reason"),
    [
        ({"suite": None}, {}, "SuiteNotReady"),
        ({"parts": Parts.MISSING}, {}, "WaitingForSubmission"),
        ({"holds_slot": False}, {}, "WaitingForCapacity"),
        ({}, {"suspend": True}, "Suspended"),
    ],
)
def test_a_waiting_job_says_for_what_once_it_has_waited(
    observed: dict[str, Any], spec: dict[str, Any], reason: str
) -> None:
    scene = Scene(job_manifest(**spec), observed=observed)
    early = scene.plan()
    assert early.status is None
    assert early.requeue_after == pytest.approx(1.0)
    late = scene.later(1.5).plan()
    scene.write(late)
    assert scene.condition("Admitted") == ("False", reason)
    assert scene.condition("Succeeded") == ("Unknown", reason), "what `kubectl get` shows"
    assert scene.plan().status is None, "what is written already is not written again"


def test_only_a_job_that_lacks_nothing_else_stands_in_the_line() -> None:
    assert Scene(observed={"holds_slot": False}).plan().slot is Slot.WANT
    for lack in ({"suite": None}, {"parts": Parts.MISSING}):
        assert Scene(observed={"holds_slot": False, **lack}).plan().slot is Slot.RELEASE


def test_parts_are_looked_for_before_a_pod_is_made() -> None:
    plan = Scene(observed={"parts": Parts.UNKNOWN}).plan()
    assert plan.before == (ReadParts(),)


def test_a_builtin_submission_needs_no_parts() -> None:
    scene = Scene(job_manifest(submission={"builtin": "gold"}), observed={"parts": Parts.UNKNOWN})
    (action,) = scene.plan().before
    assert isinstance(action, CreatePod)


def test_the_first_pod_is_attempt_one_under_its_deterministic_name() -> None:
    plan = Scene().plan()
    (action,) = plan.before
    assert isinstance(action, CreatePod)
    assert (action.attempt, action.manifest["metadata"]["name"]) == (1, FIRST_POD)
    assert plan.status is None and plan.slot is Slot.KEEP


def test_an_unknown_task_is_unjudged_at_once_without_a_pod() -> None:
    scene = Scene(job_manifest(task="nope"))
    plan = scene.plan()
    assert plan.before == ()
    assert plan.settlement is not None
    assert isinstance(plan.settlement.verdict, Unjudged)
    assert plan.settlement.verdict.reason == "InvalidJob"
    scene.write(plan)
    assert scene.condition("Succeeded") == ("False", "InvalidJob")


def test_what_could_not_be_sent_is_rejected_at_once_without_a_pod() -> None:
    claim = {"bytes": 9_000_000, "files": 3, "reason": "SubmissionTooLarge"}
    scene = Scene(job_manifest(submission={"untransportable": claim}))
    plan = scene.plan()
    assert plan.before == () and plan.settlement is not None
    verdict = plan.settlement.verdict
    assert isinstance(verdict, Rejected)
    assert verdict.outcomes == "NNN"
    scene.write(plan)
    assert scene.condition("Succeeded") == ("True", "SubmissionTooLarge")
    assert "attempts" not in scene.status or scene.status["attempts"] == []


def test_a_new_pod_is_not_reported_while_it_may_start_any_moment() -> None:
    scene = with_pod({"phase": "Pending"})
    assert scene.plan().status is None
    plan = scene.later(11).plan()
    scene.write(plan)
    assert scene.condition("Started") == ("False", "PodPending")
    assert scene.condition("Succeeded") == ("Unknown", "PodPending")


def test_a_pod_that_no_node_has_room_for_is_said_to_be_unschedulable() -> None:
    status = {
        "phase": "Pending",
        "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}],
    }
    scene = with_pod(status).later(11)
    scene.write(scene.plan())
    assert scene.condition("Started") == ("False", "Unschedulable")
    assert scene.later(100_000).plan().failed is None, "queueing is charged to nobody"


def test_a_running_pod_is_recorded_once_with_its_attempt() -> None:
    scene = with_pod(running())
    plan = scene.plan()
    assert plan.requeue_after == pytest.approx(1800)
    scene.write(plan)
    assert scene.condition("Admitted") == ("True", "Admitted")
    assert scene.condition("Started") == ("True", "PodRunning")
    assert scene.condition("Succeeded") == ("Unknown", "PodRunning")
    (attempt,) = scene.status["attempts"]
    assert attempt["number"] == 1 and attempt["podUid"] == "pod-1"
    assert scene.plan().status is None


def test_a_result_becomes_a_verdict_with_its_pod_deleted_afterwards() -> None:
    scene = with_pod(finished(a_result())).later(9)
    plan = scene.plan()
    assert plan.before == ()
    assert plan.settlement is not None
    verdict = plan.settlement.verdict
    assert isinstance(verdict, Graded)
    assert (verdict.outcomes, verdict.reason) == ("PPF", "Completed")
    assert plan.settlement.isolation is not None
    assert plan.settlement.isolation["qosClass"] == "Guaranteed"
    assert plan.after == (DeletePod(FIRST_POD, "pod-1"),)
    scene.write(plan)
    assert scene.condition("Succeeded") == ("True", "Completed")
    assert scene.status["duration"] == "9.0s"
    assert scene.status["verdict"]["tests"] == {"total": 3, "passed": 2, "failed": 1}


def test_no_text_of_a_result_reaches_the_status() -> None:
    scene = with_pod(finished(a_result(message="forged words")))
    scene.write(scene.plan())
    assert "forged" not in str(scene.status)
    unjudged = with_pod(
        finished(a_result(decision="Unjudged", reason="RefereeFailed", message="forged words"))
    )
    unjudged.write(unjudged.plan())
    assert "forged" not in str(unjudged.status)


@pytest.mark.parametrize("message", sorted(build_ends.BUILD_ENDS))
def test_how_a_build_ended_is_told_to_the_author(message: str) -> None:
    result = a_result(reason="DoesNotCompile", outcomes="NNN", message=message)
    scene = with_pod(finished(result))
    scene.write(scene.plan())
    assert scene.status["verdict"]["message"] == message
    for other in (a_result(message=message), a_result(reason="LaneLost", message=message)):
        scene = with_pod(finished(other))
        scene.write(scene.plan())
        assert message not in str(scene.status)


def test_a_failed_attempt_is_recorded_before_its_pod_goes_and_before_another_comes() -> None:
    scene = with_pod(pod_status("Pending", started=T0))
    scene.pods[FIRST_POD]["status"]["containerStatuses"] = [
        {"name": "lane", "state": {"waiting": {"reason": "ImagePullBackOff"}}}
    ]
    plan = scene.plan()
    assert plan.before == ()
    assert plan.status is not None and plan.settlement is None
    assert plan.after == (DeletePod(FIRST_POD, "pod-1"),)
    scene.write(plan)
    (attempt,) = scene.status["attempts"]
    assert attempt["reason"] == "ImagePullFailed" and "finishedAt" in attempt
    assert scene.condition("Started") == ("False", "Retrying")

    del scene.pods[FIRST_POD]
    pause = scene.plan()
    assert pause.before == () and pause.requeue_after == pytest.approx(2.0)
    assert pause.slot is Slot.RELEASE, "nobody holds a place while it backs off"
    (action,) = scene.later(2.1).plan().before
    assert isinstance(action, CreatePod) and action.attempt == 2


@pytest.mark.parametrize(("done", "seconds"), [(1, 2.0), (2, 4.0), (3, 8.0), (6, 60.0)], ids=str)
def test_the_pause_doubles_up_to_a_minute(done: int, seconds: float) -> None:
    scene = Scene(job_manifest(retryLimit=10))
    attempts = [
        {
            "number": number,
            "podName": pod_name(NAME, UID, number),
            "reason": "PodLost",
            "finishedAt": T0.isoformat(),
        }
        for number in range(1, done + 1)
    ]
    scene.manifest["status"] = {"attempts": attempts}
    assert scene.plan().requeue_after == pytest.approx(seconds)


def test_the_last_cause_is_kept_when_no_attempt_is_left() -> None:
    scene = with_pod(running(), retryLimit=0)
    scene.pods[FIRST_POD]["status"]["conditions"] = [
        {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
    ]
    plan = scene.plan()
    assert plan.settlement is not None
    assert plan.settlement.verdict.reason == "PodPreempted"
    assert not hasattr(plan.settlement.verdict, "outcomes")
    scene.write(plan)
    assert scene.condition("Succeeded") == ("False", "PodPreempted")
    assert "outcomes" not in scene.status["verdict"]


def test_a_pod_that_vanished_is_looked_for_before_it_counts_as_lost() -> None:
    scene = with_pod(running())
    scene.write(scene.plan())
    scene.pods.clear()
    assert scene.plan().before == (ConfirmPod(1, FIRST_POD),)
    plan = scene.observe(gone=frozenset({1})).plan()
    assert plan.failed is not None and plan.failed.reason == "PodLost"


def test_a_pod_that_this_process_created_is_never_created_again() -> None:
    scene = with_pod({"phase": "Pending"})
    scene.pods.clear()
    scene.observe(gone=frozenset({1}))
    plan = scene.plan()
    assert plan.before == ()
    assert plan.failed is not None and plan.failed.reason == "PodLost"


def test_the_deadline_runs_from_the_pods_start() -> None:
    scene = with_pod(running(), attemptDeadlineSeconds=60)
    scene.write(scene.plan())
    assert scene.later(59).plan().failed is None
    plan = scene.later(1).plan()
    assert plan.failed is not None and plan.failed.reason == "DeadlineExceeded"
    assert plan.after == (DeletePod(FIRST_POD, "pod-1", keep_log=1),)
    scene.write(plan)
    assert scene.condition("Succeeded") == ("Unknown", "Retrying")


def test_another_owners_pod_is_refused_and_left_alone() -> None:
    scene = with_pod(running())
    scene.pods[FIRST_POD]["metadata"]["ownerReferences"][0]["uid"] = "somebody-else"
    plan = scene.plan()
    assert plan.failed is not None and plan.failed.reason == "PodCreationRejected"
    assert plan.why == "The Pod of this name does not belong to the job."
    assert plan.after == ()


def test_a_pod_with_one_more_container_is_refused() -> None:
    scene = with_pod(finished(a_result()))
    scene.pods[FIRST_POD]["spec"]["containers"].append({"name": "helper", "image": "x"})
    plan = scene.plan()
    assert plan.settlement is None
    assert plan.failed is not None and plan.failed.reason == "PodCreationRejected"
    assert "'helper'" in plan.why
    assert "helper" not in plan.failed.message


def test_a_probe_that_nobody_vouches_for_grades_nothing() -> None:
    asked: list[tuple[str, int, float]] = []

    def vouches(address: str, port: int, at: float) -> bool:
        asked.append((address, port, at))
        return False

    scene = with_pod(finished(a_result()))
    scene.serving = Serving(vouches=vouches, may_vouch=lambda *_: True)
    plan = scene.plan()
    assert plan.failed is not None and plan.failed.reason == "IsolationNotEnforced"
    assert asked == [(PROBE.address, PROBE.port, T0.timestamp() + 2)]


def test_a_pod_with_an_address_that_nobody_served_is_ended_early() -> None:
    scene = with_pod(running())
    scene.serving = Serving(vouches=lambda *_: False, may_vouch=lambda *_: False)
    plan = scene.plan()
    assert plan.failed is not None and plan.failed.reason == "IsolationNotEnforced"


def test_an_eviction_for_the_pods_own_storage_is_graded_without_isolation_facts() -> None:
    scene = with_pod(running())
    scene.pods[FIRST_POD]["status"] |= {
        "phase": "Failed",
        "reason": "Evicted",
        "message": 'Usage of EmptyDir volume "scratch" exceeds the limit',
    }
    plan = scene.plan()
    assert plan.settlement is not None
    assert plan.settlement.verdict.reason == "LaneLost"


@pytest.mark.parametrize("pod", [None, running(), finished(a_result())], ids=["none", "run", "end"])
def test_cancelling_settles_at_once(pod: dict[str, Any] | None) -> None:
    scene = Scene() if pod is None else with_pod(pod)
    scene.manifest["spec"]["cancel"] = True
    plan = scene.plan()
    assert plan.settlement is not None and plan.settlement.verdict.reason == "Cancelled"
    assert plan.after == (() if pod is None else (DeletePod(FIRST_POD, "pod-1"),))


def test_suspending_does_not_touch_what_runs() -> None:
    scene = with_pod(running())
    scene.manifest["spec"]["suspend"] = True
    plan = scene.plan()
    assert plan.failed is None and plan.after == ()


def test_a_quota_is_waited_for_and_then_counts_as_a_failed_attempt() -> None:
    failure = CreateFailure(1, "quota", T0, T0 + timedelta(seconds=4))
    scene = Scene(observed={"failure": failure}).later(2)
    plan = scene.plan()
    assert plan.before == () and plan.slot is Slot.RELEASE
    assert plan.requeue_after == pytest.approx(2.0)
    scene.write(plan)
    assert scene.condition("Admitted") == ("False", "WaitingForCapacity")
    (action,) = scene.later(3).plan().before
    assert isinstance(action, CreatePod)
    late = scene.later(600).plan()
    assert late.failed is not None and late.failed.reason == "QuotaExceeded"


def test_a_pod_that_the_server_refuses_is_a_failed_attempt_without_a_pod() -> None:
    scene = Scene(observed={"failure": CreateFailure(1, "rejected", T0, T0)})
    plan = scene.plan()
    assert plan.failed is not None
    assert (plan.failed.reason, plan.failed.pod_uid) == ("PodCreationRejected", "")


def test_a_suite_that_goes_away_leaves_a_running_pod_its_deadline() -> None:
    scene = with_pod(running(), attemptDeadlineSeconds=60).observe(suite=None)
    plan = scene.plan()
    assert plan.status is None and plan.slot is Slot.KEEP
    assert plan.requeue_after == pytest.approx(60)
    late = scene.later(60).plan()
    assert late.failed is not None and late.failed.reason == "DeadlineExceeded"


def test_a_failed_pod_is_kept_for_its_log_if_asked_and_then_deleted() -> None:
    scene = with_pod(running())
    scene.policy = Policy(failed_pod_retention=100)
    ended = {"exitCode": 3, "reason": "Error"}
    scene.pods[FIRST_POD]["status"] = pod_status("Failed", started=T0, terminated=ended)
    plan = scene.plan()
    assert plan.failed is not None and plan.failed.reason == "RefereeFailed"
    assert plan.after == ()
    scene.write(plan)
    assert scene.later(1).plan().after == ()
    scene.observe(holds_slot=False)
    assert scene.later(100).plan().after == (DeletePod(FIRST_POD, "pod-1", keep_log=1),)


@pytest.mark.parametrize(
    ("keep", "failure", "success"),
    [("none", None, None), ("failed", 1, None), ("all", 1, 1)],
)
def test_whose_log_is_kept_is_the_installations_choice(
    keep: KeepLogs, failure: int | None, success: int | None
) -> None:
    policy = Policy(keep_logs=keep)
    good = with_pod(finished(a_result()))
    good.policy = policy
    plan = good.plan()
    assert plan.after == (DeletePod(FIRST_POD, "pod-1", keep_log=success),)
    good.write(plan)
    assert good.plan().after == plan.after, "a restart between verdict and deletion loses no log"
    ended = pod_status("Failed", started=T0, terminated={"exitCode": 3, "reason": "Error"})
    bad = with_pod(ended, retryLimit=0)
    bad.policy = policy
    plan = bad.plan()
    assert plan.after == (DeletePod(FIRST_POD, "pod-1", keep_log=failure),)
    bad.write(plan)
    assert bad.plan().after == plan.after


@pytest.mark.parametrize("keep", ["none", "failed", "all"])
def test_the_log_of_a_referee_that_failed_itself_is_always_kept(keep: KeepLogs) -> None:
    scene = with_pod(finished(a_result(reason="RefereeFault", outcomes="PNN")))
    scene.policy = Policy(keep_logs=keep)
    plan = scene.plan()
    assert plan.after == (DeletePod(FIRST_POD, "pod-1", keep_log=1),)
    scene.write(plan)
    assert scene.plan().after == plan.after


def test_no_log_is_asked_of_a_lost_node_or_of_a_referee_that_never_ran() -> None:
    status = running()
    status["reason"] = "NodeLost"
    lost = with_pod(status)
    lost.policy = Policy(keep_logs="all")
    plan = lost.plan()
    assert plan.failed is not None and plan.failed.reason == "NodeLost"
    assert plan.after == (DeletePod(FIRST_POD, "pod-1"),)
    unpulled = with_pod(pod_status("Pending", started=T0, waiting={"reason": "ErrImagePull"}))
    unpulled.policy = Policy(keep_logs="all")
    plan = unpulled.later(100_000).plan()
    assert plan.failed is not None
    assert plan.after == (DeletePod(FIRST_POD, "pod-1"),)


def test_a_cancelled_job_is_no_failure_whose_log_is_kept() -> None:
    scene = with_pod(running())
    scene.manifest["spec"]["cancel"] = True
    assert scene.plan().after == (DeletePod(FIRST_POD, "pod-1"),)


def test_the_log_of_a_referee_that_gave_up_is_signed() -> None:
    gave_up = a_result(decision="Unjudged", reason="NodeOverloaded")
    plan = with_pod(finished(gave_up), retryLimit=0).plan()
    assert plan.settlement is not None and plan.settlement.log == gave_up.log


def test_the_pod_of_the_attempt_before_makes_room_for_a_pending_one() -> None:
    scene = with_pod(running())
    scene.write(scene.plan())
    first = scene.pods[FIRST_POD]
    first["status"] = pod_status("Failed", started=T0, terminated={"exitCode": 3})
    scene.write(scene.plan())
    scene.later(10)
    (action,) = scene.plan().before
    assert isinstance(action, CreatePod) and action.attempt == 2
    scene.put_pod(action.manifest, {"phase": "Pending"})
    assert scene.plan().after == (DeletePod(FIRST_POD, "pod-1", keep_log=1),)


def test_a_settled_job_is_deleted_when_its_time_is_over() -> None:
    scene = with_pod(finished(a_result()), ttlSecondsAfterFinished=50)
    scene.write(scene.plan())
    assert scene.plan().after == (DeletePod(FIRST_POD, "pod-1"),), "a leftover Pod is deleted"
    scene.pods.clear()
    assert scene.plan().after == ()
    assert scene.plan().requeue_after == pytest.approx(50)
    assert scene.later(50).plan().after == (DeleteJob(),)


def test_a_job_that_is_being_deleted_is_left_to_the_garbage_collector() -> None:
    scene = with_pod(running())
    scene.manifest["metadata"]["deletionTimestamp"] = "2026-05-01T12:00:01Z"
    assert scene.plan() == NOTHING
