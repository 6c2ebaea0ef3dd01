"""Objects as the API server would show them, and one job's world for plans."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from gradekeeper.api.schema import dump
from gradekeeper.api.spec import SuiteLimits, SuiteResources
from gradekeeper.control.plan import Building, Observed, Parts, Plan, Policy, Serving, plan_job
from gradekeeper.control.store import Job, Pod, SettledJob, parse_job, parse_pod
from gradekeeper.pods.build import FrozenSuite, PodSettings, ProbeTarget
from gradekeeper.referee.result import RefereeResult, encode_result

T0 = datetime(2026, 5, 1, 12, 0, 0, tzinfo=UTC)
UID = "0b5c2d1e-1111-4222-8333-944455566677"
NAME = "rollout-1"
NS = "grading"
IMAGE = "sha256:" + "1" * 64
LANE_IMAGE = "sha256:" + "2" * 64
TESTS = ("a/one", "a/two", "b/three")
SUBMISSION = "sha256:" + "6" * 64
PROBE = ProbeTarget("10.0.0.7", 8444, 20)
BUILDING = Building(PodSettings(), PROBE)
POLICY = Policy()
OPEN = Serving(vouches=lambda *_: True, may_vouch=lambda *_: True)

FROZEN = FrozenSuite(
    name="billing",
    version="1.0.0",
    suite_digest="sha256:" + "3" * 64,
    image=f"suites/billing@{IMAGE}",
    image_digest=IMAGE,
    lane_image=f"lanes/java17@{LANE_IMAGE}",
    lane_image_digest=LANE_IMAGE,
    index_digest="sha256:" + "4" * 64,
    author_keyid="a" * 64,
    resources=SuiteResources.model_validate(
        {
            "referee": {"cpu": "200m", "memory": "192Mi"},
            "lane": {"cpu": "1500m", "memory": "1Gi"},
        }
    ),
    limits=SuiteLimits(),
    tests={"": TESTS, "half": TESTS[:1]},
    discriminating={"": (0, 2), "half": (0,)},
)


def stamp(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def job_manifest(**spec: Any) -> dict[str, Any]:
    submission = {"configMaps": [f"{NAME}-part-00"], "digest": SUBMISSION}
    return {
        "metadata": {
            "name": NAME,
            "namespace": NS,
            "uid": UID,
            "resourceVersion": "10",
            "generation": 1,
            "creationTimestamp": stamp(T0),
        },
        "spec": {
            "suiteRef": {"name": "billing"},
            "submission": submission,
            "nonce": "n-1",
            **spec,
        },
    }


def a_result(**update: Any) -> RefereeResult:
    values: dict[str, Any] = {
        "nonce": "n-1",
        "attempt": 1,
        "suite": FROZEN.suite_digest,
        "submission": SUBMISSION,
        "task": "",
        "decision": "Graded",
        "reason": "Completed",
        "message": "",
        "outcomes": "PPF",
        "isolation": {
            "network": "denied",
            "probedAt": T0.timestamp() + 2,
            "userNamespace": True,
        },
        "log": "sha256:" + "7" * 64,
    }
    values.update(update)
    if values["decision"] == "Unjudged":
        values["outcomes"] = None
    return RefereeResult(**values)


def pod_status(phase: str, *, started: datetime | None = None, **state: Any) -> dict[str, Any]:
    """Status of a Pod whose referee is in the given state (`running=…` or `terminated=…`)."""
    status: dict[str, Any] = {"phase": phase, "qosClass": "Guaranteed"}
    if started is not None:
        status["startTime"] = stamp(started)
    if state:
        status["containerStatuses"] = [
            {"name": "referee", "imageID": f"r@{IMAGE}", "state": state},
            {"name": "lane", "imageID": f"r@{LANE_IMAGE}", "state": {"running": {}}},
        ]
    return status


def running(started: datetime = T0) -> dict[str, Any]:
    return pod_status("Running", started=started, running={"startedAt": stamp(started)})


def finished(result: RefereeResult, started: datetime = T0) -> dict[str, Any]:
    message = encode_result(result).decode()
    terminated = {
        "exitCode": 0,
        "reason": "Completed",
        "message": message,
        "startedAt": stamp(started),
    }
    return pod_status("Running", started=started, terminated=terminated)


@dataclass
class Scene:
    """One job, its Pods and the time; applies plans as the engine does, one step at a time.

    Attributes:
        created: names of Pods that plans created, in order.
        writes: how many status patches plans made.
        deleted_job: whether a plan deleted the job.
        verdicts: every verdict that was written.
    """

    manifest: dict[str, Any] = field(default_factory=job_manifest)
    pods: dict[str, dict[str, Any]] = field(default_factory=dict)
    observed: dict[str, Any] = field(default_factory=dict)
    now: datetime = T0
    policy: Policy = POLICY
    serving: Serving = OPEN
    created: list[str] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    writes: int = 0
    deleted_job: bool = False
    verdicts: list[str] = field(default_factory=list)
    uids: int = 0

    def __post_init__(self) -> None:
        base = {
            "suite": FROZEN,
            "parts": Parts.COMPLETE,
            "failure": None,
            "known": frozenset(),
            "gone": frozenset(),
            "holds_slot": True,
        }
        self.observed = base | self.observed

    @property
    def job(self) -> Job | SettledJob:
        return parse_job(self.manifest, seen=T0.timestamp())

    @property
    def status(self) -> dict[str, Any]:
        return dict(self.manifest.get("status") or {})

    def condition(self, kind: str) -> tuple[str, str]:
        for one in self.status.get("conditions", []):
            if one["type"] == kind:
                return one["status"], one["reason"]
        return "", ""

    def later(self, seconds: float) -> Scene:
        self.now += timedelta(seconds=seconds)
        return self

    def records(self) -> tuple[Pod, ...]:
        return tuple(parse_pod(pod) for pod in self.pods.values())

    def plan(self) -> Plan:
        observed = Observed(job=self.job, pods=self.records(), **self.observed)
        return plan_job(
            observed,
            now=self.now,
            policy=self.policy,
            building=BUILDING,
            serving=self.serving,
        )

    def put_pod(self, manifest: dict[str, Any], status: dict[str, Any] | None = None) -> None:
        self.uids += 1
        pod = copy.deepcopy(manifest)
        pod["metadata"] |= {
            "uid": f"pod-{self.uids}",
            "resourceVersion": "20",
            "creationTimestamp": stamp(self.now),
        }
        pod["status"] = status or {"phase": "Pending"}
        self.pods[pod["metadata"]["name"]] = pod

    def write(self, plan: Plan) -> None:
        """Write a plan's status, as the API server would keep it."""
        assert plan.status is not None
        self.manifest = {**self.manifest, "status": dump(plan.status)}
        self.writes += 1
        if plan.settlement is not None:
            self.verdicts.append(plan.settlement.verdict.decision.value)

    def observe(self, **update: Any) -> Scene:
        self.observed |= update
        return self


def with_pod(status: dict[str, Any], **spec: Any) -> Scene:
    """A scene whose first attempt's Pod exists, as this operator created it."""
    scene = Scene(job_manifest(**spec))
    plan = scene.plan()
    (action,) = plan.before
    scene.put_pod(action.manifest, status)  # type: ignore[union-attr]
    return scene.observe(known=frozenset({1}))


def frozen(**update: Any) -> FrozenSuite:
    return replace(FROZEN, **update)
