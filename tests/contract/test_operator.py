"""The operator as a whole: its real process with real kopf watches and real HTTP."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from contract.fake_api import Manifest
from contract.stand_in import StandIn, graded
from contract.world import (
    JOBS,
    NS,
    PODS,
    SUITE,
    SUITES,
    TESTS,
    World,
    a_world,
    deliver,
    grade,
    job_manifest,
    settled,
    submit,
)
from gradekeeper.api.names import pod_name
from gradekeeper.referee.result import FAILED, RefereeResult
from gradekeeper.verdicts.signing import envelope_from_attestation
from gradekeeper.verdicts.verify import verify_verdict

pytestmark = [pytest.mark.timeout(120)]


@pytest_asyncio.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path, RELIST_SECONDS="0.5") as made:
        yield made


def reasons(job: Manifest) -> list[str]:
    return [attempt.get("reason", "") for attempt in job["status"].get("attempts") or []]


def condition(obj: Manifest | None, kind: str) -> tuple[str, str]:
    for one in ((obj or {}).get("status") or {}).get("conditions") or []:
        if one["type"] == kind:
            return one["status"], one["reason"]
    return "", ""


def writes_about(world: World, name: str) -> Counter[str]:
    """Writes of the operator about one job: status patches, Pods made."""
    return Counter(
        line.split()[0]
        for line in world.api.log
        if f"/gradingjobs/{name}/status" in line and line.startswith("PATCH")
    )


def never(pod: Manifest, task: Manifest) -> RefereeResult | None:
    """A referee that does not end."""
    return None


async def test_a_submission_becomes_a_signed_verdict(world: World) -> None:
    await world.operator.start()
    await world.ready()
    submit(world.api, "one")
    (job,) = await world.settle("one")
    status = job["status"]
    assert status["verdict"]["decision"] == "Graded"
    assert status["verdict"]["tests"] == {"total": 4, "passed": 4, "failed": 0}
    found = verify_verdict(
        envelope_from_attestation(status["attestation"]),
        [world.public_pem],
        nonce="nonce-one",
        digest=job["spec"]["submission"]["digest"],
        job_uid=job["metadata"]["uid"],
    )
    assert found.statement["predicate"]["isolation"]["qosClass"] == "Guaranteed"
    assert [one["id"] for one in found.statement["predicate"]["tests"]] == TESTS
    assert writes_about(world, "one")["PATCH"] <= 3
    await world.api.wait_until(lambda: not any(kind == PODS for kind, _, _ in world.api.objects))
    assert not job["metadata"].get("finalizers") and not job["metadata"].get("annotations")
    status_code, page = await world.operator.page("/healthz")
    assert status_code == 200 and json.loads(page)["alive"] is True
    _, metrics = await world.operator.page("/metrics")
    assert 'gradekeeper_verdicts_total{decision="Graded",reason="Completed"} 3.0' in metrics
    assert await world.operator.stop() < 5


async def test_what_needs_no_pod_gets_none(world: World) -> None:
    await world.operator.start()
    await world.ready()
    before = len(world.kubelet.seen)
    claim = {"bytes": 9_000_000, "files": 2, "reason": "SubmissionTooLarge"}
    submit(world.api, "large", submission={"untransportable": claim})
    submit(world.api, "typo", task="nope")
    large, typo = await world.settle("large", "typo")
    assert large["status"]["verdict"]["outcomes"] == "NNNN"
    assert typo["status"]["verdict"]["reason"] == "InvalidJob"
    found = verify_verdict(
        envelope_from_attestation(large["status"]["attestation"]), [world.public_pem]
    )
    assert found.statement["predicate"]["clientClaim"] is True
    assert len(world.kubelet.seen) == before


async def test_a_job_waits_for_its_parts_and_for_nobody_elses(world: World) -> None:
    await world.operator.start()
    await world.ready()
    job = world.api.create(JOBS, NS, job_manifest("slow"))
    stranger = world.api.create(JOBS, NS, job_manifest("stranger"))
    part = {
        "metadata": {
            "name": "slow-part-00",
            "labels": {"gradekeeper.dev/job": "slow"},
            "ownerReferences": [{"kind": "GradingJob", "uid": stranger["metadata"]["uid"]}],
        }
    }
    world.api.create("configmaps", NS, part)
    waiting = ("False", "WaitingForSubmission")
    await world.api.wait_until(lambda: condition(world.job("slow"), "Admitted") == waiting)
    world.api.delete("configmaps", NS, "slow-part-00")
    deliver(world.api, job)
    await world.settle("slow")
    reads = [line for line in world.api.log if "/configmaps/slow-part" in line]
    assert all("resourceVersion=0" in line for line in reads), "payloads are never read"


async def test_the_line_is_served_in_order_and_within_capacity(tmp_path: Path) -> None:
    async with a_world(tmp_path, MAX_PODS_IN_FLIGHT="1") as world:
        await world.operator.start()
        await world.ready()
        most = 0

        def counting(pod: Manifest, task: Manifest) -> RefereeResult | None:
            nonlocal most
            alive = [
                one
                for (kind, _, _), one in world.api.objects.items()
                if kind == PODS and one.get("status", {}).get("phase") != "Succeeded"
            ]
            most = max(most, len(alive))
            return grade(pod, task)

        world.kubelet.grader = counting
        world.kubelet.hold = True
        names = [f"job-{number}" for number in range(4)]
        for name in names:
            submit(world.api, name)
        waiting = ("False", "WaitingForCapacity")
        await world.api.wait_until(
            lambda: sum(condition(world.job(name), "Admitted") == waiting for name in names) == 3
        )
        world.kubelet.hold = False
        world.api.touch()
        await world.settle(*names)
        assert most == 1
        served = [name.rsplit("-", 2)[0] for name in world.kubelet.seen if name.startswith("job-")]
        assert served == names


STEPS = [
    pytest.param("POST", "/pods", False, 0, id="before-the-pod"),
    pytest.param("POST", "/pods", True, 0, id="after-the-pod"),
    pytest.param("PATCH", "/gradingjobs/one/status", False, 0, id="before-started"),
    pytest.param("PATCH", "/gradingjobs/one/status", True, 0, id="after-started"),
    pytest.param("PATCH", "/gradingjobs/one/status", False, 1, id="before-the-verdict"),
    pytest.param("PATCH", "/gradingjobs/one/status", True, 1, id="after-the-verdict"),
    pytest.param("DELETE", "/pods/one", False, 0, id="before-the-pod-goes"),
]


@pytest.mark.parametrize(("method", "path", "after", "skip"), STEPS)
async def test_killed_at_any_step_it_loses_nothing_and_doubles_nothing(
    world: World, method: str, path: str, after: bool, skip: int
) -> None:
    await world.operator.start()
    await world.ready()
    hold = world.api.hold(method, path, after=after, skip=skip)
    job = submit(world.api, "one")
    verdicts: set[str] = set()

    def watch_verdict(pod: Manifest, task: Manifest) -> RefereeResult | None:
        return grade(pod, task)

    world.kubelet.grader = watch_verdict
    async with asyncio.timeout(20):
        await hold.reached.wait()
    await world.operator.kill()
    hold.released.set()
    before = (world.job("one").get("status") or {}).get("attestation")
    if before:
        verdicts.add(before)
    await world.operator.start()
    (job,) = await world.settle("one")
    verdicts.add(job["status"]["attestation"])
    assert len(verdicts) == 1, "a verdict is written once"
    assert job["status"]["verdict"]["decision"] == "Graded"
    mine = Counter(name for name in world.kubelet.seen if name.startswith("one-"))
    assert set(mine.values()) == {1}, "one Pod an attempt"
    assert [a["number"] for a in job["status"]["attempts"]] == list(range(1, len(mine) + 1))
    # Nobody can vouch for a probe that was made while the operator was down.
    assert reasons(job)[:-1] == ["IsolationNotEnforced"] * (len(mine) - 1)
    await world.api.wait_until(lambda: not any(kind == PODS for kind, _, _ in world.api.objects))


async def test_a_restarted_operator_vouches_for_what_its_container_recorded(world: World) -> None:
    await world.operator.start()
    await world.ready()
    world.kubelet.grader = never
    job = submit(world.api, "one")
    name = pod_name("one", job["metadata"]["uid"], 1)
    running = ("True", "PodRunning")
    await world.api.wait_until(lambda: condition(world.job("one"), "Started") == running)
    pod = world.api.get(PODS, NS, name)
    assert pod is not None
    probed = time.time()
    # The record is written every second; what it does not cover yet is not vouched for.
    record = Path(world.operator.environ["GRADEKEEPER_STATE_DIR"]) / "probe-port.json"
    async with asyncio.timeout(10):
        while not any(row[3] > probed for row in json.loads(record.read_text())):
            await world.operator.page("/healthz")
    await world.operator.kill()
    task = json.loads(pod["spec"]["containers"][0]["env"][0]["value"])
    result = grade(pod, task)
    assert result is not None and result.isolation is not None
    facts = {**result.isolation, "probedAt": probed}
    world.kubelet.finish(name, RefereeResult(**{**_fields(result), "isolation": facts}))
    await world.operator.start()
    (job,) = await world.settle("one")
    assert reasons(job) == ["Completed"]


def _fields(result: RefereeResult) -> dict[str, Any]:
    return {name: getattr(result, name) for name in result.__dataclass_fields__}


async def test_a_pod_that_is_deleted_while_it_runs_costs_an_attempt(world: World) -> None:
    await world.operator.start()
    await world.ready()
    world.kubelet.grader = never
    job = submit(world.api, "one")
    running = ("True", "PodRunning")
    await world.api.wait_until(lambda: condition(world.job("one"), "Started") == running)
    world.kubelet.grader = grade
    world.api.delete(PODS, NS, pod_name("one", job["metadata"]["uid"], 1))
    (job,) = await world.settle("one")
    assert reasons(job) == ["PodLost", "Completed"]


async def test_a_deletion_that_no_watch_saw_is_found_by_the_list(world: World) -> None:
    await world.operator.start()
    await world.ready()
    world.kubelet.grader = never
    job = submit(world.api, "one")
    running = ("True", "PodRunning")
    await world.api.wait_until(lambda: condition(world.job("one"), "Started") == running)
    world.kubelet.grader = grade
    world.api.fail("GET", "/pods", 503, watch=True)
    world.api.cut_watches()
    world.api.delete(PODS, NS, pod_name("one", job["metadata"]["uid"], 1))
    world.api.compact()  # the watch gets 410 and lists anew: kopf tells nobody of the deletion
    (job,) = await world.settle("one")
    assert reasons(job) == ["PodLost", "Completed"]


async def test_storms_and_outages_pass(world: World) -> None:
    await world.operator.start()
    await world.ready()
    names = [f"job-{number}" for number in range(6)]
    world.api.fail("POST", "/pods", 429, times=3, headers={"Retry-After": "0"})
    world.api.fail("POST", "/pods", 0, times=2)
    world.api.fail("POST", "/pods", 500, times=1, after=True)
    world.api.fail("PATCH", "/status", 429, times=4, headers={"Retry-After": "1"})
    world.api.fail("PATCH", "/status", 0, times=1, after=True)
    world.api.fail("GET", "/configmaps", 503, times=2)
    for name in names:
        submit(world.api, name)
    world.api.cut_watches()
    jobs = await world.settle(*names)
    assert [job["status"]["verdict"]["decision"] for job in jobs] == ["Graded"] * 6
    assert all(reasons(job) == ["Completed"] for job in jobs)
    assert set(Counter(world.kubelet.seen).values()) == {1}
    assert world.operator.process is not None and world.operator.process.returncode is None


def with_log(world: World, pod: Manifest, task: Manifest) -> RefereeResult:
    """A referee that leaves a log behind and says its digest."""
    result = grade(pod, task)
    assert result is not None
    text = b'{"event": "graded", "nonce": "%s"}\n' % task["nonce"].encode()
    world.api.logs[pod["metadata"]["name"]] = text
    digest = "sha256:" + hashlib.sha256(text).hexdigest()
    return RefereeResult(**{**_fields(result), "log": digest})


async def test_the_detail_log_outlives_its_pod_and_costs_one_write(tmp_path: Path) -> None:
    async with a_world(tmp_path, DETAIL_LOGS="all") as world:
        world.kubelet.grader = lambda pod, task: with_log(world, pod, task)
        await world.operator.start()
        await world.ready()
        # However long the kubelet takes, the verdict does not wait for it.
        hold = world.api.hold("GET", "/pods/one-", after=False)
        submit(world.api, "one")
        (job,) = await world.settle("one")
        async with asyncio.timeout(10):
            await hold.reached.wait()
        assert any(name.startswith("one-") for _, _, name in world.api.objects)
        hold.released.set()
        await world.api.wait_until(
            lambda: not any(kind == PODS for kind, _, _ in world.api.objects)
        )
        secret = world.api.get("secrets", NS, job["status"]["attempts"][0]["podName"] + "-log")
        assert secret is not None
        statement = verify_verdict(
            envelope_from_attestation(job["status"]["attestation"]), [world.public_pem]
        ).statement
        digest = secret["metadata"]["annotations"]["gradekeeper.dev/log-digest"]
        assert statement["predicate"]["log"] == digest
        written = [line for line in world.api.log if "/secrets" in line]
        assert len([line for line in written if line.startswith("POST")]) == 3, "gold, null, one"
        assert not [line for line in written if not line.startswith("POST")], "none is ever read"
        world.api.delete(JOBS, NS, "one")
        assert world.api.get("secrets", NS, secret["metadata"]["name"]) is None


async def test_a_referees_own_fault_is_signed_counted_and_its_log_kept(tmp_path: Path) -> None:
    def failing(pod: Manifest, task: Manifest) -> RefereeResult:
        result = with_log(world, pod, task)
        if task["nonce"] != "nonce-one":
            return result
        values = {"reason": "RefereeFault", "outcomes": "PNNN", "message": "It failed."}
        return RefereeResult(**{**_fields(result), **values})

    async with a_world(tmp_path, DETAIL_LOGS="none") as world:
        world.kubelet.grader = failing
        await world.operator.start()
        await world.ready()
        submit(world.api, "one")
        (job,) = await world.settle("one")
        assert reasons(job) == ["RefereeFault"], "one attempt"
        verdict = job["status"]["verdict"]
        assert (verdict["decision"], verdict["outcomes"]) == ("Graded", "PNNN")
        name = job["status"]["attempts"][0]["podName"] + "-log"
        await world.api.wait_until(lambda: world.api.get("secrets", NS, name) is not None)
        assert [kind for kind, _, _ in world.api.objects].count("secrets") == 1
        _, metrics = await world.operator.page("/metrics")
        assert 'gradekeeper_verdicts_total{decision="Graded",reason="RefereeFault"} 1.0' in metrics


async def test_by_default_only_a_failed_attempts_log_is_kept(world: World) -> None:
    def flaky(pod: Manifest, task: Manifest) -> RefereeResult | None:
        result = with_log(world, pod, task)
        if task["nonce"] != "nonce-one" or task["attempt"] > 1:
            return result
        values = {"decision": "Unjudged", "reason": "NodeOverloaded", "outcomes": None}
        return RefereeResult(**{**_fields(result), **values})

    world.kubelet.grader = flaky
    await world.operator.start()
    await world.ready()
    submit(world.api, "one")
    (job,) = await world.settle("one")
    assert reasons(job) == ["NodeOverloaded", "Completed"]
    await world.api.wait_until(lambda: not any(kind == PODS for kind, _, _ in world.api.objects))
    kept = [name for kind, _, name in world.api.objects if kind == "secrets"]
    assert kept == [job["status"]["attempts"][0]["podName"] + "-log"]
    assert len([line for line in world.api.log if "/log?" in line]) == 1


async def test_a_waiting_job_shows_why_and_one_that_never_waits_costs_no_more(
    world: World,
) -> None:
    await world.operator.start()
    await world.ready()
    world.api.create(JOBS, NS, job_manifest("slow"))
    waiting = ("Unknown", "WaitingForSubmission")
    await world.api.wait_until(lambda: condition(world.job("slow"), "Succeeded") == waiting)
    submit(world.api, "one")
    await world.settle("one")
    assert writes_about(world, "one")["PATCH"] <= 2
    assert writes_about(world, "slow")["PATCH"] == 1


async def test_a_restart_among_settled_jobs_writes_nothing(world: World) -> None:
    await world.operator.start()
    await world.ready()
    await world.operator.stop()
    stand_in = StandIn()
    for number in range(200):
        job = world.api.create(JOBS, NS, job_manifest(f"old-{number}"))
        status = stand_in.status(job, graded("PPFP"))
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        world.api.set_status(JOBS, NS, f"old-{number}", {**status, "completionTime": now})
    start = len(world.api.log)
    await world.operator.start()
    submit(world.api, "new")
    await world.settle("new")
    written = [line for line in world.api.log[start:] if not line.startswith("GET")]
    assert not [line for line in written if "old-" in line]
    assert [line for line in written if "/new/status" in line]


async def test_a_strange_pod_under_our_name_is_left_alone(world: World) -> None:
    await world.operator.start()
    await world.ready()
    job = world.api.create(JOBS, NS, job_manifest("one"))
    name = pod_name("one", job["metadata"]["uid"], 1)
    world.kubelet.hold = True
    world.api.create(PODS, NS, {"metadata": {"name": name}, "spec": {"containers": []}})
    deliver(world.api, job)
    await world.api.wait_until(lambda: bool((world.job("one").get("status") or {}).get("attempts")))
    world.kubelet.hold = False
    world.kubelet.skip.add(name)
    world.api.touch()
    (job,) = await world.settle("one")
    assert reasons(job) == ["PodCreationRejected", "Completed"]
    assert world.api.get(PODS, NS, name) is not None


async def test_a_full_quota_is_waited_for(world: World) -> None:
    await world.operator.start()
    await world.ready()
    world.api.fail("POST", "/pods", 403, times=2, message="exceeded quota: grading")
    submit(world.api, "one")
    (job,) = await world.settle("one")
    assert reasons(job) == ["Completed"]


async def test_a_refused_pod_ends_unjudged_after_the_last_attempt(world: World) -> None:
    await world.operator.start()
    await world.ready()
    world.api.fail("POST", "/pods", 403, times=99, message="violates PodSecurity")
    submit(world.api, "one", retryLimit=1)
    (job,) = await world.settle("one")
    assert reasons(job) == ["PodCreationRejected"] * 2
    assert job["status"]["verdict"] == {
        "decision": "Unjudged",
        "reason": "PodCreationRejected",
        "message": (
            "The API server refused the Pod or changed it, or another Pod occupies its name."
        ),
    }


async def test_cancelling_ends_a_running_job_and_its_pod(world: World) -> None:
    await world.operator.start()
    await world.ready()
    world.kubelet.grader = never
    submit(world.api, "one")
    running = ("True", "PodRunning")
    await world.api.wait_until(lambda: condition(world.job("one"), "Started") == running)
    world.api.patch(JOBS, NS, "one", {"spec": {"cancel": True}})
    (job,) = await world.settle("one")
    assert job["status"]["verdict"]["reason"] == "Cancelled"
    await world.api.wait_until(lambda: not any(kind == PODS for kind, _, _ in world.api.objects))


async def test_a_job_is_deleted_when_its_time_is_over(world: World) -> None:
    await world.operator.start()
    await world.ready()
    submit(world.api, "one", ttlSecondsAfterFinished=1)
    await world.settle("one")
    async with asyncio.timeout(20):
        await world.api.wait_until(lambda: world.api.get(JOBS, NS, "one") is None)
    assert world.api.get("configmaps", NS, "one-part-00") is None


async def test_jobs_wait_for_a_suite_that_an_author_signed(world: World) -> None:
    await world.operator.start()
    suite, index = world.suite
    forged = {**suite, "spec": {**suite["spec"], "limits": {"suiteTimeoutSeconds": 9999}}}
    world.api.create("configmaps", NS, index)
    world.api.create(SUITES, NS, forged)
    submit(world.api, "one")
    mismatch = ("False", "SignatureMismatch")
    await world.api.wait_until(
        lambda: condition(world.api.get(SUITES, NS, SUITE), "Verified") == mismatch
    )
    waiting = ("False", "SuiteNotReady")
    await world.api.wait_until(lambda: condition(world.job("one"), "Admitted") == waiting)
    assert world.kubelet.seen == []
    limits = dict.fromkeys(forged["spec"]["limits"])
    world.api.patch(SUITES, NS, SUITE, {"spec": {"limits": {**limits, **suite["spec"]["limits"]}}})
    await world.settle("one")


async def test_a_suite_whose_gold_fails_is_never_ready(world: World) -> None:
    def broken(pod: Manifest, task: Manifest) -> RefereeResult | None:
        result = grade(pod, task)
        assert result is not None
        if task["submission"].get("builtin") == "gold":
            return RefereeResult(**{**_fields(result), "outcomes": "PP" + FAILED * 2})
        return result

    world.kubelet.grader = broken
    await world.operator.start()
    await world.publish()
    failed = ("False", "GoldFailed")
    await world.api.wait_until(
        lambda: condition(world.api.get(SUITES, NS, SUITE), "Admitted") == failed
    )
    suite = world.api.get(SUITES, NS, SUITE)
    assert suite is not None
    (admitted,) = [c for c in suite["status"]["conditions"] if c["type"] == "Admitted"]
    assert admitted["message"] == "The built-in submission gold fails 2 of 4 tests."
    assert condition(suite, "Ready") == ("False", "NotAdmitted")

    world.kubelet.grader = grade
    world.api.patch(SUITES, NS, SUITE, {"spec": {"nodeSelector": {"disk": "fast"}}})
    await world.api.wait_until(lambda: world.suite_condition("Ready") == "True")


async def test_an_admission_that_the_platform_failed_is_repeated(world: World) -> None:
    unjudged = 3

    def flaky(pod: Manifest, task: Manifest) -> RefereeResult | None:
        nonlocal unjudged
        result = grade(pod, task)
        assert result is not None
        if task["submission"].get("builtin") == "gold" and unjudged:
            unjudged -= 1
            values = {
                **_fields(result),
                "decision": "Unjudged",
                "reason": "NodeOverloaded",
                "outcomes": None,
            }
            return RefereeResult(**values)
        return result

    world.kubelet.grader = flaky
    await world.operator.start()
    await world.ready()
    assert unjudged == 0
    assert not [name for name in world.api.objects if settled(None)]
