"""What every row of the matrix needs: jobs, waits on events, and the final judgement."""

from __future__ import annotations

import contextlib
import json
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import pytest
from demo.commands import Cluster, Manifest
from demo.jobs import build_job, build_parts

from gradekeeper.api import names
from gradekeeper.suites.bundle import digest_of
from gradekeeper.suites.trees import archive_tree
from gradekeeper.verdicts.signing import envelope_from_attestation
from gradekeeper.verdicts.verify import verify_verdict

from .api import Api, Refused, Witness, condition, container
from .installation import ISSUER, NAMESPACE, RELEASE, SUITE, SYSTEM
from .node import Node
from .webhook import Mutation, Webhook

JOBS = f"/apis/{names.API_VERSION}/namespaces/{NAMESPACE}/{names.JOBS_PLURAL}"
SUITES = f"/apis/{names.API_VERSION}/namespaces/{NAMESPACE}/{names.SUITES_PLURAL}"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
OPERATORS = f"/api/v1/namespaces/{SYSTEM}/pods"
PARTS = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
QUOTAS = f"/api/v1/namespaces/{NAMESPACE}/resourcequotas"
POLICIES = f"/apis/networking.k8s.io/v1/namespaces/{NAMESPACE}/networkpolicies"
BINDINGS = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"  # cluster-wide
ECHO = """package trivial;

public final class Echo {{

    private Echo() {{
    }}

    public static String of(String word) throws InterruptedException {{
        Thread.sleep(Math.max(0L, {until}L - System.currentTimeMillis()));
        return word;
    }}
}}
"""


def right_answer(until: float = 0.0) -> bytes:
    """A right submission that does not return before a moment (unix seconds).

    So a first attempt is sure to run when something befalls it, and a second one is not slow.
    """
    text = ECHO.format(until=int(until * 1000))
    return archive_tree({"src/main/java/trivial/Echo.java": (text.encode(), False)})


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    case: str
    attempts: tuple[str, ...]
    decision: str
    reason: str
    waited: str
    seconds: float
    outcomes: str = ""
    """One character a test; empty where there is none."""
    times: Mapping[str, float] = field(default_factory=dict)
    """What the referee of the last attempt measured, to tell a slow machine from a slow design."""


ROWS = pytest.StashKey[list[Row]]()
"""In the order of the verdicts, for the table."""


@dataclass
class Job:
    """A job that was submitted, and what its verdict must be about."""

    name: str
    uid: str
    nonce: str
    digest: str
    archive: bytes
    submitted: float
    waited: list[str] = field(default_factory=list)

    def pod(self, attempt: int) -> str:
        """Name of an attempt's Pod."""
        return names.pod_name(self.name, self.uid, attempt)


class World:
    """The installation, the cluster around it, and the rows so far.

    Args:
        cluster: the test cluster.
        api: its API server.
        witness: of the installation's jobs and Pods.
        node: its node.
        key: public key of the installation, PEM.
        rows: gets a row for each verdict.
    """

    def __init__(
        self,
        cluster: Cluster,
        api: Api,
        witness: Witness,
        node: Node,
        key: bytes,
        rows: list[Row],
    ) -> None:
        self.cluster = cluster
        self.api = api
        self.witness = witness
        self.node = node
        self.rows = rows
        self.suite_image = ""
        self.early: Job | None = None
        """A job that was there before its suite."""
        self._key = key

    # -- jobs -----------------------------------------------------------------------------------

    def submit(
        self,
        name: str,
        *,
        slow_until: float = 0.0,
        retry_limit: int = 0,
        deadline: int = 300,
        suite: str = SUITE,
        archive: bytes | None = None,
        digest: str | None = None,
        parts: Sequence[str] = (),
        deliver: bool = True,
    ) -> Job:
        """Create a job and, unless told otherwise, deliver its one part.

        Args:
            name: of the job.
            slow_until: unix seconds before which the submission does not end.
            retry_limit: further attempts.
            deadline: of an attempt, in seconds.
            suite: name of the suite.
            archive: the submission instead of the right answer.
            digest: stated instead of the right one.
            parts: names of ConfigMaps instead of the right one.
            deliver: whether the part follows at once.
        """
        archive = right_answer(slow_until) if archive is None else archive
        digest = digest or digest_of(archive)
        nonce = secrets.token_hex(32)
        submission = {"configMaps": list(parts) or [names.part_name(name, 0)], "digest": digest}
        manifest = build_job(name, NAMESPACE, submission, nonce, suite=suite)
        manifest["spec"] |= {"retryLimit": retry_limit, "attemptDeadlineSeconds": deadline}
        stored = self.api.create(JOBS, manifest)
        job = Job(name, stored["metadata"]["uid"], nonce, digest, archive, time.monotonic())
        if deliver:
            self.deliver(job)
        return job

    def deliver(self, job: Job, archive: bytes | None = None) -> None:
        """Create the job's part."""
        for part in build_parts(job.name, NAMESPACE, job.uid, archive or job.archive):
            self.api.create(PARTS, part)

    def cancel(self, job: Job) -> None:
        """Ask for the job's end."""
        self.api.patch(f"{JOBS}/{job.name}", {"spec": {"cancel": True}})

    def suspend(self, job: Job, suspend: bool) -> None:
        """Let no further attempt start, or let them start again."""
        self.api.patch(f"{JOBS}/{job.name}", {"spec": {"suspend": suspend}})

    def remove(self, job: Job) -> None:
        """Delete the job."""
        self.api.delete(f"{JOBS}/{job.name}")

    def status(self, job: Job) -> Manifest:
        """The job's status as last seen."""
        found = self.witness.live[JOBS].get(job.name, {})
        return dict(found.get("status") or {})

    # -- waits ----------------------------------------------------------------------------------

    def until_waiting(self, job: Job, reason: str) -> None:
        """Wait until the status says that the job waits, and for what."""

        def look() -> bool | None:
            item = self.witness.live[JOBS].get(job.name, {})
            for kind in ("Admitted", "Started"):
                found = condition(item, kind)
                if found.get("status") == "False" and found.get("reason") == reason:
                    return True
            return None

        self.witness.wait(look, f"{job.name} waits: {reason}")
        job.waited.append(reason)

    def until_pod(
        self, job: Job, attempt: int, reached: Callable[[Manifest], bool], what: str
    ) -> Manifest:
        """Wait until an attempt's Pod is as asked for; returns it."""

        def look() -> Manifest | None:
            pod = self.witness.live[PODS].get(job.pod(attempt))
            return pod if pod is not None and reached(pod) else None

        return self.witness.wait(look, f"Pod {attempt} of {job.name} {what}")

    def until_running(self, job: Job, attempt: int = 1) -> Manifest:
        """Wait until an attempt's containers run; returns the Pod."""
        return self.until_pod(
            job,
            attempt,
            lambda pod: all(
                "running" in container(pod, name).get("state", {})
                for name in (names.REFEREE, names.LANE)
            ),
            "runs",
        )

    def until_isolated(self, job: Job, pod: Manifest) -> None:
        """Wait until the referee has probed, by its log."""
        path = f"{PODS}/{pod['metadata']['name']}/log"
        params = {"container": names.REFEREE, "follow": "true"}
        for line in self.api.lines(path, params, 30.0):
            if '"event": "isolation"' in line:
                return
        raise AssertionError(f"the referee of {job.name} never said what it probed")

    def until_failed(self, job: Job, attempt: int = 1) -> None:
        """Wait until an attempt is recorded as over."""

        def look() -> bool | None:
            attempts = self.status(job).get("attempts") or []
            ended = [one for one in attempts if one["number"] == attempt and one.get("finishedAt")]
            return True if ended else None

        self.witness.wait(look, f"attempt {attempt} of {job.name} is over")

    def until_settled(self, job: Job, limit: float = 90.0) -> Manifest:
        """Wait for the verdict; returns the status."""

        def look() -> Manifest | None:
            status = self.status(job)
            return status if status.get("verdict") else None

        return self.witness.wait(look, f"a verdict on {job.name}", limit)

    def until_gone(self, collection: str, name: str) -> None:
        """Wait until an object is gone."""
        live = self.witness.live[collection]
        self.witness.wait(lambda: True if name not in live else None, f"{name} is gone")

    # -- the judgement --------------------------------------------------------------------------

    def judge(
        self,
        case: str,
        job: Job,
        *,
        attempts: Sequence[str],
        decision: str,
        reason: str,
        outcomes: Sequence[str] | None = None,
        limit: float = 90.0,
    ) -> Manifest:
        """Wait for the verdict, write the row, and hold it to everything that is promised.

        Args:
            case: first column of the row.
            job: the job.
            attempts: reason of each attempt that must be on record.
            decision: of the verdict.
            reason: of the verdict.
            outcomes: the verdict's is one of them; by default that of a right answer.
            limit: seconds to wait.

        Returns:
            The signed predicate.
        """
        status = self.until_settled(job, limit)
        verdict = status["verdict"]
        on_record = tuple(one["reason"] for one in status.get("attempts") or [])
        taken = time.monotonic() - job.submitted
        if outcomes is not None:  # jobs that are submitted all at once wait for each other
            taken = seconds_of(status["attempts"])
        waited = ", ".join(job.waited)
        self.rows.append(
            Row(
                case,
                on_record,
                verdict["decision"],
                verdict["reason"],
                waited,
                taken,
                verdict.get("outcomes", ""),
                self.times_of(job, len(on_record)),
            )
        )
        assert on_record == tuple(attempts)
        assert (verdict["decision"], verdict["reason"]) == (decision, reason)
        unjudged = decision == "Unjudged"
        assert ("outcomes" in verdict, "tests" in verdict) == (not unjudged, not unjudged)
        if outcomes is not None:
            assert verdict["outcomes"] in outcomes
        elif decision == "Graded":
            assert set(verdict["outcomes"]) == {"P"}, "a right answer must pass"
        succeeded = condition({"status": status}, "Succeeded")
        assert succeeded["status"] == ("False" if unjudged else "True")
        verified = verify_verdict(
            envelope_from_attestation(status["attestation"]),
            [self._key],
            digest=job.digest,
            nonce=job.nonce,
            task="",
            job_uid=job.uid,
        )
        predicate: Manifest = verified.statement["predicate"]
        assert predicate["verdict"]["decision"] == decision
        assert (predicate["tests"] is None) is unjudged
        assert [one["reason"] for one in predicate["attempts"]] == list(attempts)
        assert predicate["issuer"]["installation"] == ISSUER
        self.check_history(job)
        return predicate

    def times_of(self, job: Job, attempt: int) -> dict[str, float]:
        """The times in an attempt's result, as far as one was seen."""
        if attempt == 0:
            return {}
        for versions in self.witness.history[PODS].values():
            for pod in versions if versions[0]["metadata"]["name"] == job.pod(attempt) else []:
                ended = container(pod, names.REFEREE).get("state", {}).get("terminated", {})
                with contextlib.suppress(ValueError, KeyError):
                    return dict(json.loads(ended.get("message", ""))["times"])
        return {}

    def note(self, case: str, reason: str, started: float) -> None:
        """Write the row of something that was no job: one attempt, no verdict."""
        self.rows.append(Row(case, (reason,), "none", "none", "", time.monotonic() - started))

    def check_history(self, job: Job) -> None:
        """Check that no version of the job had another verdict, and no attempt a second Pod."""
        versions = self.witness.history[JOBS][job.uid]
        verdicts = [one["status"]["attestation"] for one in versions if is_settled(one)]
        assert len(set(verdicts)) == 1
        assert all(map(is_settled, versions[len(versions) - len(verdicts) :])), "it was withdrawn"
        made: dict[str, set[str]] = {}
        for uid, seen in self.witness.history[PODS].items():
            labels = seen[-1]["metadata"].get("labels") or {}
            if labels.get(names.LABEL_JOB_UID) == job.uid:
                made.setdefault(labels[names.LABEL_ATTEMPT], set()).add(uid)
        recorded = {
            str(one["number"]): one.get("podUid") for one in self.status(job).get("attempts") or []
        }
        assert made.keys() <= recorded.keys(), "a Pod is on no record"
        assert all(len(uids) == 1 for uids in made.values()), "an attempt had two Pods"

    # -- what happens ---------------------------------------------------------------------------

    def webhook(self, mutation: Mutation) -> Webhook:
        """A webhook that changes the Pods of first attempts."""
        probe = stranger("gk-matrix-offered")
        probe["metadata"]["labels"] = {names.LABEL_ATTEMPT: "1"}
        return Webhook(self.api, NAMESPACE, mutation, probe)

    @contextlib.contextmanager
    def without(self, collection: str, name: str) -> Iterator[None]:
        """An object is deleted, and made again afterwards."""
        stored = self.api.get(f"{collection}/{name}")
        self.api.delete(f"{collection}/{name}")
        try:
            yield
        finally:
            metadata = stored["metadata"]
            again = {key: metadata[key] for key in ("labels", "annotations") if key in metadata}
            place = {"namespace": metadata["namespace"]} if "namespace" in metadata else {}
            body = {key: value for key, value in stored.items() if key != "status"}
            self.api.create(collection, body | {"metadata": {"name": name, **place, **again}})

    @contextlib.contextmanager
    def open_to_strangers(self) -> Iterator[None]:
        """Without the policy by which only the operator makes Pods in the grading namespace."""
        offered = stranger("gk-matrix-offered")
        with self.without(BINDINGS, f"{RELEASE}-pods"):
            deadline = time.monotonic() + 30
            while True:
                try:
                    self.api.create(PODS, offered, dryRun="All")
                    break
                except Refused as refused:
                    # Policies are taken from a cache, of which nothing tells when it is renewed.
                    assert "gradekeeper operator" in refused.message
                    assert time.monotonic() < deadline
                    time.sleep(0.1)
            yield

    # -- the operator ---------------------------------------------------------------------------

    def operator(self) -> Manifest:
        """Wait until the operator is up; returns its Pod."""

        def look() -> Manifest | None:
            for pod in self.witness.live[OPERATORS].values():
                status = container(pod, "operator")
                if status.get("ready") and "running" in status["state"]:
                    return pod if not pod["metadata"].get("deletionTimestamp") else None
            return None

        return self.witness.wait(look, "the operator is up", 120)

    def fresh_operator(self) -> Manifest:
        """An operator whose container never ended, for the kubelet restarts it late otherwise."""
        pod = self.operator()
        if container(pod, "operator")["restartCount"] == 0:
            return pod
        self.api.delete(f"{OPERATORS}/{pod['metadata']['name']}")
        self.until_gone(OPERATORS, pod["metadata"]["name"])
        return self.operator()

    def until_restarted(self, before: Manifest) -> None:
        """Wait until the operator's container runs again."""
        name, count = before["metadata"]["name"], container(before, "operator")["restartCount"]

        def look() -> bool | None:
            status = container(self.witness.live[OPERATORS].get(name, {}), "operator")
            again = status.get("ready") and status.get("restartCount", 0) > count
            return True if again else None

        self.witness.wait(look, "the operator is back", 120)


def seconds_of(attempts: Sequence[Manifest]) -> float:
    """How long attempts took, in all, by the kubelet's record."""
    spans = [
        datetime.fromisoformat(one["finishedAt"]) - datetime.fromisoformat(one["startedAt"])
        for one in attempts
    ]
    return sum(span.total_seconds() for span in spans)


def is_settled(job: Manifest) -> bool:
    """Whether a version of a job has a verdict."""
    return bool((job.get("status") or {}).get("verdict"))


def stranger(name: str) -> dict[str, Any]:
    """A Pod that nobody asked for, of the kind that the namespace admits."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "automountServiceAccountToken": False,
            "terminationGracePeriodSeconds": 1,
            "containers": [harmless_container("stranger")],
        },
    }


def harmless_container(name: str) -> dict[str, Any]:
    """A container of an image that is nowhere, never pulled."""
    return {
        "name": name,
        "image": "gradekeeper/none",
        "imagePullPolicy": "Never",
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "runAsNonRoot": True,
            "runAsUser": 12345,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    }
