"""The platform's half of the attribution matrix: no fault of the platform becomes a score.

In order: waits, faults that go and faults that stay, strangers, a killed operator, and at last what
disturbs everybody else on the node.
"""

from __future__ import annotations

import contextlib
import copy
import json
import signal
import time
from datetime import UTC, datetime

import pytest
from demo import stage
from demo.cases import SUITE as BILLING
from demo.cases import SUITE_DIR as BILLING_DIR
from demo.commands import Manifest

from gradekeeper.api import names
from gradekeeper.api.reasons import Reason
from gradekeeper.pods.classify import ExpectedAttempt, PodFailed, classify_pod, image_digest_of
from gradekeeper.suites.trees import build_submission

from . import installation
from .api import container
from .conftest import until_ready
from .injections import CAUSES, LASTING, Cause
from .installation import NAMESPACE, NEIGHBOURS, SYSTEM
from .world import (
    JOBS,
    PARTS,
    PODS,
    QUOTAS,
    SUITES,
    World,
    right_answer,
    stranger,
)

pytestmark = [pytest.mark.cluster, pytest.mark.slow, pytest.mark.timeout(300)]

HOLD_SECONDS = 9.0
"""How long a submission that something is to befall takes, from now on: Pod start and compiler take
three to five of them."""


def hold() -> float:
    return time.time() + HOLD_SECONDS


# -- waits -----------------------------------------------------------------------------------------


def test_suite_not_ready_later_ready(world: World) -> None:
    assert world.early is not None
    world.judge(
        "suite not ready, later ready",
        world.early,
        attempts=["Completed"],
        decision="Graded",
        reason="Completed",
    )


def test_parts_missing_later_created(world: World) -> None:
    job = world.submit("parts-missing", deliver=False)
    world.until_waiting(job, "WaitingForSubmission")
    world.deliver(job)
    world.judge(
        "parts missing, later created",
        job,
        attempts=["Completed"],
        decision="Graded",
        reason="Completed",
    )


def test_no_capacity_later_free(world: World) -> None:
    first = world.submit("capacity-taken", slow_until=hold())
    world.until_running(first)
    second = world.submit("capacity-wanted")
    world.until_waiting(second, "WaitingForCapacity")
    world.remove(first)
    world.judge(
        "no capacity, later free",
        second,
        attempts=["Completed"],
        decision="Graded",
        reason="Completed",
    )


QUOTA: Manifest = {
    "apiVersion": "v1",
    "kind": "ResourceQuota",
    "metadata": {"name": "gk-matrix", "namespace": NAMESPACE},
    "spec": {"hard": {"pods": "0"}},
}


def test_quota_used_up_later_free(world: World) -> None:
    world.api.create(QUOTAS, QUOTA)
    try:
        # At once, while the quota's controller may not even have counted yet.
        job = world.submit("quota-used-up")
        world.until_waiting(job, "WaitingForCapacity")
    finally:
        world.api.delete(f"{QUOTAS}/gk-matrix")
    world.judge(
        "quota used up, later free",
        job,
        attempts=["Completed"],
        decision="Graded",
        reason="Completed",
    )


def test_quota_used_up_for_long(world: World) -> None:
    world.api.create(QUOTAS, QUOTA)
    try:
        job = world.submit("quota-for-long")
        world.until_waiting(job, "WaitingForCapacity")
        world.judge(
            "quota used up for long",
            job,
            attempts=["QuotaExceeded"],
            decision="Unjudged",
            reason="QuotaExceeded",
        )
    finally:
        world.api.delete(f"{QUOTAS}/gk-matrix")


def test_admission_webhook_does_not_answer_later_does(world: World) -> None:
    with world.webhook(lambda _pod, _subresource: None) as webhook:
        job = world.submit("webhook-silent")
        assert webhook.called.wait(30)
    world.judge(
        "a webhook does not answer, later does",
        job,
        attempts=["Completed"],
        decision="Graded",
        reason="Completed",
    )


# -- faults ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "cause", [one for one in CAUSES if not one.waits], ids=lambda cause: cause.name
)
def test_cause_that_goes_away(world: World, cause: Cause) -> None:
    strike_once(world, cause)


def strike_once(world: World, cause: Cause) -> None:
    with contextlib.ExitStack() as present:
        strike = present.enter_context(cause.injection(world))
        until = hold() if strike is not None else 0.0
        job = world.submit(slug("once", cause), slow_until=until, retry_limit=1)
        if strike is not None:
            strike(world.until_running(job))
        world.until_failed(job)
        if cause.waits:
            world.until_waiting(job, cause.waits)
    world.judge(
        f"{cause.name}, then not",
        job,
        attempts=[cause.reason, "Completed"],
        decision="Graded",
        reason="Completed",
    )


@pytest.mark.parametrize(
    "cause", [one for one in CAUSES if one.name in LASTING], ids=lambda cause: cause.name
)
def test_cause_that_stays(world: World, cause: Cause) -> None:
    with cause.injection(world) as strike:
        until = hold() if strike is not None else 0.0
        job = world.submit(slug("stays", cause), slow_until=until)
        if strike is not None:
            strike(world.until_running(job))
        world.judge(
            cause.name, job, attempts=[cause.reason], decision="Unjudged", reason=cause.reason
        )


def slug(prefix: str, cause: Cause) -> str:
    words = "".join(char if char.isalnum() else " " for char in cause.name.lower()).split()
    return "-".join([prefix, *words])


def test_the_last_of_several_causes_is_kept(world: World) -> None:
    causes = {cause.name: cause for cause in CAUSES}
    deleted, killed = causes["Pod deleted"], causes["referee killed from the node"]
    with deleted.injection(world) as delete, killed.injection(world) as kill:
        assert delete is not None and kill is not None
        job = world.submit("several-causes", slow_until=hold() + 6, retry_limit=1)
        delete(world.until_running(job))
        kill(world.until_running(job, 2))
    world.judge(
        "Pod deleted, then referee killed",
        job,
        attempts=["PodLost", "RefereeFailed"],
        decision="Unjudged",
        reason="RefereeFailed",
    )


def test_parts_that_do_not_match_later_do(world: World) -> None:
    job = world.submit("other-parts-once", retry_limit=1, deliver=False)
    world.deliver(job, right_answer(1.0))
    world.until_pod(job, 1, lambda _pod: True, "exists")
    world.suspend(job, True)
    world.until_failed(job)
    # A node keeps an immutable ConfigMap for as long as one of its Pods names it.
    world.until_gone(PODS, job.pod(1))
    world.api.delete(f"{PARTS}/{names.part_name(job.name, 0)}")
    world.deliver(job)
    world.suspend(job, False)
    world.judge(
        "parts do not match the digest, later do",
        job,
        attempts=["SubmissionCorrupt", "Completed"],
        decision="Graded",
        reason="Completed",
    )


def test_parts_that_do_not_match(world: World) -> None:
    job = world.submit("other-parts", retry_limit=1, deliver=False)
    world.deliver(job, right_answer(1.0))
    world.judge(
        "parts do not match the digest",
        job,
        attempts=["SubmissionCorrupt"] * 2,
        decision="Unjudged",
        reason="SubmissionCorrupt",
    )


def test_user_namespaces_off_while_required(world: World) -> None:
    """The kubelet of a node without user namespaces would run the Pod like this one.

    The operator refuses a Pod that lost `hostUsers: false` (another row), so the Pod is made here,
    from one that the operator made, and its status is read by the operator's own function.
    """
    assert world.early is not None
    pod = next(
        seen[-1]
        for seen in world.witness.history[PODS].values()
        if "-admit-gold-" in seen[-1]["metadata"]["name"]
    )
    world.cluster.apply(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NEIGHBOURS}},
        {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "NetworkPolicy",
            "metadata": {"name": "deny-all", "namespace": NEIGHBOURS},
            "spec": {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]},
        },
    )
    started = time.monotonic()
    spec = copy.deepcopy(pod["spec"])
    for key in ("nodeName", "hostUsers", "serviceAccount", "serviceAccountName", "tolerations"):
        spec.pop(key, None)
    collection = f"/api/v1/namespaces/{NEIGHBOURS}/pods"
    name = "gk-matrix-host-users"
    world.api.delete(f"{collection}/{name}", grace=0)
    metadata = {"name": name, "namespace": NEIGHBOURS}
    made = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    world.api.create(collection, made)
    try:
        found = ended_pod(world, collection, name)
    finally:
        world.api.delete(f"{collection}/{name}", grace=0)
    document = json.loads(spec["containers"][0]["env"][0]["value"])
    images = {one["name"]: image_digest_of(one["image"]) for one in spec["containers"]}
    expected = ExpectedAttempt(
        nonce=document["nonce"],
        attempt=1,
        suite_digest=document["suite"],
        submission_digest=None,
        task="",
        tests=1,
        image_digest=images[names.REFEREE],
        lane_image_digest=images[names.LANE],
        deadline_seconds=300,
        user_namespaces="required",
    )
    outcome = classify_pod(found, expected=expected, now=datetime.now(UTC))
    assert isinstance(outcome, PodFailed)
    assert outcome.reason is Reason.ISOLATION_NOT_ENFORCED
    assert outcome.result is not None and outcome.result.outcomes is None
    assert (outcome.result.isolation or {})["userNamespace"] is False
    world.note("user namespaces off (Pod made by hand)", outcome.reason.value, started)


def ended_pod(world: World, collection: str, name: str) -> Manifest:
    """Wait until a Pod's referee has ended; returns the Pod."""
    params = {"watch": "true", "fieldSelector": f"metadata.name={name}", "timeoutSeconds": "60"}
    for line in world.api.lines(collection, params, 70.0):
        pod: Manifest = json.loads(line)["object"]
        if "terminated" in container(pod, names.REFEREE).get("state", {}):
            return pod
    raise AssertionError(f"{name} never ended")


def test_billing_survives_the_loss_of_its_pod(world: World) -> None:
    found = stage.Images.load()
    installation.withdraw_suite(world.cluster, BILLING)
    bundle = stage.BUNDLES / BILLING
    for manifest in installation.suite_manifest(
        world.cluster, bundle, BILLING, found.suite, found.lane
    ):
        world.api.create(SUITES if manifest["kind"] == "GradingSuite" else PARTS, manifest)
    until_ready(world, BILLING)
    archive = build_submission(BILLING_DIR, "gold")
    job = world.submit("billing-pod-lost", suite=BILLING, archive=archive, retry_limit=1)
    pod = world.until_running(job)
    world.until_isolated(job, pod)
    world.api.delete(f"{PODS}/{pod['metadata']['name']}")
    world.judge(
        "billing: Pod deleted, then not",
        job,
        attempts=["PodLost", "Completed"],
        decision="Graded",
        reason="Completed",
        limit=150,
    )


# -- strangers -------------------------------------------------------------------------------------


def test_a_stranger_under_the_expected_name(world: World) -> None:
    job = world.submit("strangers-pod", retry_limit=1, deliver=False)
    with world.open_to_strangers():
        theirs = world.api.create(PODS, stranger(job.pod(1)))
        world.deliver(job)
        world.until_failed(job)
    try:
        predicate = world.judge(
            "a stranger's Pod under the expected name",
            job,
            attempts=["PodCreationRejected", "Completed"],
            decision="Graded",
            reason="Completed",
        )
        assert predicate["attempts"][0]["podUid"] != theirs["metadata"]["uid"]
        world.remove(job)
        world.until_gone(JOBS, job.name)
        world.until_gone(PODS, job.pod(2))
        kept = world.api.get(f"{PODS}/{job.pod(1)}")
        assert kept["metadata"]["uid"] == theirs["metadata"]["uid"]
        assert "deletionTimestamp" not in kept["metadata"]
    finally:
        world.api.delete(f"{PODS}/{job.pod(1)}", grace=0)


@pytest.mark.parametrize("marked", [False, True], ids=["without a mark", "with the job's label"])
def test_a_foreign_config_map_named_as_part(world: World, marked: bool) -> None:
    name = f"strangers-part-{'marked' if marked else 'plain'}"
    foreign = f"foreign-{name}"
    labels = {names.LABEL_JOB: name} if marked else {}
    metadata = {"name": foreign, "namespace": NAMESPACE, "labels": labels}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"part": "x"}}
    world.api.delete(f"{PARTS}/{foreign}")
    theirs = world.api.create(PARTS, body)
    try:
        job = world.submit(name, parts=[foreign], deliver=False)
        world.until_waiting(job, "WaitingForSubmission")
        world.cancel(job)
        case = f"a foreign ConfigMap as part, {'with' if marked else 'without'} the job's label"
        world.judge(case, job, attempts=[], decision="Unjudged", reason="Cancelled")
        world.remove(job)
        world.until_gone(JOBS, job.name)
        kept = world.api.get(f"{PARTS}/{foreign}")
        assert kept["metadata"]["uid"] == theirs["metadata"]["uid"]
    finally:
        world.api.delete(f"{PARTS}/{foreign}")


def test_another_installation_has_no_rights_here(world: World) -> None:
    """Its operator is on the same cluster, with the same chart's rights in its own namespaces."""
    ours, theirs = (SYSTEM, installation.RELEASE), (stage.SYSTEM, stage.RELEASE)
    for (system, account), namespace in ((ours, stage.NAMESPACE), (theirs, NAMESPACE)):
        for verb, group, resource in (
            ("create", "", "pods"),
            ("get", "", "configmaps"),
            ("list", names.GROUP, names.JOBS_PLURAL),
            ("patch", names.GROUP, f"{names.JOBS_PLURAL}/status"),
        ):
            plural, _, subresource = resource.partition("/")
            review = world.api.create(
                "/apis/authorization.k8s.io/v1/subjectaccessreviews",
                {
                    "apiVersion": "authorization.k8s.io/v1",
                    "kind": "SubjectAccessReview",
                    "spec": {
                        "user": f"system:serviceaccount:{system}:{account}",
                        "resourceAttributes": {
                            "namespace": namespace,
                            "verb": verb,
                            "group": group,
                            "resource": plural,
                            "subresource": subresource,
                        },
                    },
                },
            )
            assert review["status"]["allowed"] is False, (account, verb, resource, namespace)


# -- the operator is killed ------------------------------------------------------------------------


def test_operator_killed_when_it_has_seen_the_job(world: World) -> None:
    operator = world.fresh_operator()
    job = world.submit("killed-job-seen", deliver=False)
    world.until_waiting(job, "WaitingForSubmission")
    kill(world, operator)
    world.deliver(job)
    world.judge(
        "operator killed: job seen",
        job,
        attempts=["Completed"],
        decision="Graded",
        reason="Completed",
    )


def test_operator_killed_when_it_has_made_the_pod(world: World) -> None:
    operator = world.fresh_operator()
    job = world.submit("killed-pod-made", retry_limit=1)
    world.until_pod(job, 1, lambda _pod: True, "exists")
    kill(world, operator)
    world.until_settled(job)
    # Nobody vouches for a probe that was made while nobody listened: that attempt is repeated.
    first = world.status(job)["attempts"][0]["reason"]
    repeated = ["IsolationNotEnforced"] if first == "IsolationNotEnforced" else []
    world.judge(
        "operator killed: Pod created",
        job,
        attempts=[*repeated, "Completed"],
        decision="Graded",
        reason="Completed",
    )


def test_operator_killed_when_the_pod_has_finished(world: World) -> None:
    operator = world.fresh_operator()
    job = world.submit("killed-pod-finished", slow_until=hold())
    pod = world.until_running(job)
    world.until_isolated(job, pod)
    world.node.until_saved(operator["metadata"]["uid"], "state", "probe-port.json", time.time())
    process = container(operator, "operator")["containerID"]
    world.node.signal(process, signal.SIGSTOP)
    try:
        world.until_pod(
            job,
            1,
            lambda pod: "terminated" in container(pod, names.REFEREE).get("state", {}),
            "has finished",
        )
        assert "verdict" not in world.status(job)
    finally:
        kill(world, operator)
    world.judge(
        "operator killed: Pod finished",
        job,
        attempts=["Completed"],
        decision="Graded",
        reason="Completed",
    )


def test_operator_killed_when_it_has_written_the_verdict(world: World) -> None:
    operator = world.fresh_operator()
    job = world.submit("killed-status-written")
    signed = world.until_settled(job)["attestation"]
    kill(world, operator)
    world.until_restarted(operator)
    world.until_gone(PODS, job.pod(1))
    assert world.api.get(f"{JOBS}/{job.name}")["status"]["attestation"] == signed
    world.judge(
        "operator killed: status written",
        job,
        attempts=["Completed"],
        decision="Graded",
        reason="Completed",
    )


def kill(world: World, operator: Manifest) -> None:
    world.node.signal(container(operator, "operator")["containerID"], signal.SIGKILL)


# -- what disturbs the whole node, last ------------------------------------------------------------


@pytest.mark.parametrize(
    "cause", [one for one in CAUSES if one.waits], ids=lambda cause: cause.name
)
def test_cause_that_makes_the_next_attempt_wait(world: World, cause: Cause) -> None:
    strike_once(world, cause)


def test_kubelet_killed(world: World) -> None:
    job = world.submit("kubelet-killed", slow_until=hold())
    world.until_running(job)
    before = world.node.kill_kubelet()
    world.judge(
        "kubelet killed, its supervisor starts it again",
        job,
        attempts=["Completed"],
        decision="Graded",
        reason="Completed",
    )
    assert world.node.kubelet_pid() not in (None, before)


def test_kubelet_stopped_beyond_the_deadline(world: World) -> None:
    job = world.submit("kubelet-stopped", slow_until=hold(), retry_limit=1, deadline=12)
    world.until_running(job)
    with world.node.stopped_kubelet():
        world.until_failed(job)
        world.until_pod(job, 2, lambda _pod: True, "exists")
    world.judge(
        "kubelet stopped beyond the deadline, then not",
        job,
        attempts=["DeadlineExceeded", "Completed"],
        decision="Graded",
        reason="Completed",
    )
