"""What holds for every history of a job, whatever the cluster and the operator do to it."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from gradekeeper.control.plan import (
    ConfirmPod,
    CreateFailure,
    CreatePod,
    DeleteJob,
    DeletePod,
    Parts,
    Plan,
    ReadParts,
)
from gradekeeper.control.store import SettledJob
from unit.control.scenes import FROZEN, Scene, a_result, finished, pod_status, running


class OneJob(RuleBasedStateMachine):
    """A job in a cluster that does its worst, and an operator that is killed at any step."""

    def __init__(self) -> None:
        super().__init__()
        self.scene = Scene(observed={"suite": None, "parts": Parts.UNKNOWN, "holds_slot": False})
        self.delivered = False
        self.refusal: str | None = None
        self.made: Counter[str] = Counter()
        self.excused: set[str] = set()
        self.ever: set[str] = set()
        self.steps = 0

    # -- the cluster ------------------------------------------------------------------------------

    @rule()
    def parts_arrive(self) -> None:
        self.delivered = True

    @rule(there=st.booleans())
    def suite_changes(self, there: bool) -> None:
        self.scene.observe(suite=FROZEN if there else None)

    @rule(kind=st.sampled_from(["quota", "rejected", None]))
    def the_server_refuses_pods(self, kind: str | None) -> None:
        self.refusal = kind

    @rule(seconds=st.sampled_from([0.5, 3, 12, 700, 1900]))
    def time_passes(self, seconds: float) -> None:
        self.scene.later(seconds)

    @precondition(lambda self: self.scene.pods)
    @rule(data=st.data())
    def a_pod_runs(self, data: st.DataObject) -> None:
        pod = data.draw(st.sampled_from(sorted(self.scene.pods)))
        self.scene.pods[pod]["status"] = running(self.scene.now)

    @precondition(lambda self: self.scene.pods)
    @rule(data=st.data(), how=st.sampled_from(["graded", "lost", "unjudged", "crash", "evicted"]))
    def a_pod_ends(self, data: st.DataObject, how: str) -> None:
        name = data.draw(st.sampled_from(sorted(self.scene.pods)))
        pod = self.scene.pods[name]
        attempt = int(pod["metadata"]["labels"]["gradekeeper.dev/attempt"])
        started = self.scene.now
        match how:
            case "graded":
                pod["status"] = finished(a_result(attempt=attempt), started)
            case "lost":
                result = a_result(attempt=attempt, reason="LaneLost", outcomes="PNN")
                pod["status"] = finished(result, started)
            case "unjudged":
                result = a_result(attempt=attempt, decision="Unjudged", reason="NodeOverloaded")
                pod["status"] = finished(result, started)
            case "crash":
                ended = {"exitCode": 1, "reason": "Error"}
                pod["status"] = pod_status("Failed", started=started, terminated=ended)
            case "evicted":
                pod["status"] = running(started)
                pod["status"]["conditions"] = [
                    {
                        "type": "DisruptionTarget",
                        "status": "True",
                        "reason": "PreemptionByScheduler",
                    }
                ]

    @precondition(lambda self: self.scene.pods)
    @rule(data=st.data())
    def somebody_deletes_a_pod(self, data: st.DataObject) -> None:
        del self.scene.pods[data.draw(st.sampled_from(sorted(self.scene.pods)))]

    @rule()
    def somebody_cancels(self) -> None:
        self.scene.manifest["spec"] = {**self.scene.manifest["spec"], "cancel": True}

    # -- the operator -----------------------------------------------------------------------------

    @rule(granted=st.booleans())
    def a_slot_comes_or_goes(self, granted: bool) -> None:
        self.scene.observe(holds_slot=granted)

    @rule()
    def the_operator_is_restarted(self) -> None:
        recorded = {one["podName"] for one in self.scene.status.get("attempts", [])}
        # A Pod that was deleted before its attempt was written, with nobody who remembers it.
        self.excused |= {
            name for name in self.made if name not in recorded and name not in self.scene.pods
        }
        self.ever |= set(self.scene.pods) - recorded
        self.scene.observe(known=frozenset(), gone=frozenset(), failure=None, parts=Parts.UNKNOWN)

    @rule(killed_after=st.integers(0, 4))
    def the_operator_acts_and_may_be_killed(self, killed_after: int) -> None:
        plan = self._plan()
        done = 0
        for action in plan.before:
            if done >= killed_after:
                return self.the_operator_is_restarted()
            self._do(action)
            done += 1
        if plan.status is not None:
            if done >= killed_after:
                return self.the_operator_is_restarted()
            self.scene.write(plan)
            done += 1
        for action in plan.after:
            if done >= killed_after:
                return self.the_operator_is_restarted()
            self._do(action)
            done += 1
        return None

    @rule()
    def the_operator_works_until_it_rests(self) -> None:
        for _ in range(60):
            if not self._step():
                return
        raise AssertionError("plans never come to rest")

    def _plan(self) -> Plan:
        known = {
            int(pod["metadata"]["labels"]["gradekeeper.dev/attempt"])
            for pod in self.scene.pods.values()
        }
        self.scene.observe(
            known=self.scene.observed["known"] | known,
            gone=self.scene.observed["gone"] - known,
        )
        if self.delivered and self.scene.observed["parts"] is Parts.MISSING:
            self.scene.observe(parts=Parts.UNKNOWN)
        return self.scene.plan()

    def _step(self) -> bool:
        plan = self._plan()
        for action in plan.before:
            self._do(action)
        if plan.status is not None:
            self.scene.write(plan)
        for action in plan.after:
            self._do(action)
        if plan.before or plan.status is not None or plan.after:
            return not self.scene.deleted_job
        again = self._plan()
        assert again == plan, "a plan that does nothing must stay"
        return False

    def _do(self, action: object) -> None:
        scene = self.scene
        match action:
            case ReadParts():
                scene.observe(parts=Parts.COMPLETE if self.delivered else Parts.MISSING)
            case ConfirmPod(attempt=attempt, name=name):
                if name not in scene.pods:
                    scene.observe(gone=scene.observed["gone"] | {attempt})
            case CreatePod(attempt=attempt, manifest=manifest):
                name = manifest["metadata"]["name"]
                if name in scene.pods:
                    return
                if self.refusal is not None:
                    kind = self.refusal
                    retry = scene.now + timedelta(seconds=1)
                    known = scene.observed["failure"]
                    since = known.since if known and known.attempt == attempt else scene.now
                    assert kind in ("quota", "rejected")
                    failure = CreateFailure(attempt, kind, since, retry)  # type: ignore[arg-type]
                    scene.observe(failure=failure)
                    return
                self.made[name] += 1
                scene.put_pod(manifest)
                scene.observe(known=scene.observed["known"] | {attempt}, failure=None)
            case DeletePod(name=name, uid=uid):
                assert scene.pods[name]["metadata"]["uid"] == uid
                del scene.pods[name]
            case DeleteJob():
                scene.deleted_job = True

    # -- what must always hold --------------------------------------------------------------------

    @invariant()
    def there_is_at_most_one_verdict(self) -> None:
        assert len(self.scene.verdicts) <= 1

    @invariant()
    def an_attempt_has_one_pod(self) -> None:
        for name, count in self.made.items():
            allowed = 2 if name in self.excused | self.ever else 1
            assert count <= allowed, f"{name} was created {count} times"

    @invariant()
    def attempts_are_counted_without_gaps(self) -> None:
        numbers = [one["number"] for one in self.scene.status.get("attempts", [])]
        assert numbers == list(range(1, len(numbers) + 1))
        assert len(numbers) <= 3

    @invariant()
    def a_verdict_fits_its_reason(self) -> None:
        verdict = self.scene.status.get("verdict")
        if verdict is not None and verdict["decision"] == "Unjudged":
            assert "outcomes" not in verdict and "tests" not in verdict

    def teardown(self) -> None:
        """In a cluster that stops doing harm, the job ends in exactly one verdict."""
        if self.scene.deleted_job:
            return
        self.delivered, self.refusal = True, None
        self.scene.observe(suite=FROZEN, holds_slot=True)
        for _ in range(40):
            if isinstance(self.scene.job, SettledJob):
                break
            self.the_operator_works_until_it_rests()
            for pod in self.scene.pods.values():
                attempt = int(pod["metadata"]["labels"]["gradekeeper.dev/attempt"])
                if "deletionTimestamp" not in pod["metadata"]:
                    pod["status"] = finished(a_result(attempt=attempt), self.scene.now)
            self.scene.later(61)
        assert isinstance(self.scene.job, SettledJob)
        assert len(self.scene.verdicts) == 1


OneJob.TestCase.settings = hypothesis_settings(
    max_examples=120, stateful_step_count=30, deadline=None
)
TestOneJob = OneJob.TestCase
