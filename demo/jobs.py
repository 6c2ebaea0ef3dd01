"""Applying jobs with kubectl, following them, and verifying what comes back."""

from __future__ import annotations

import base64
import json
import secrets
import shutil
import subprocess
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from demo.cases import SUITE, SUITE_DIR, TOO_LARGE, Case
from demo.commands import Cluster, Command, DemoError, Manifest, run
from gradekeeper.api import names
from gradekeeper.api.spec import Submission
from gradekeeper.client import PART_BYTES
from gradekeeper.suites.bundle import digest_of
from gradekeeper.suites.check import judge_expectation
from gradekeeper.suites.trees import build_submission
from gradekeeper.verdicts.statement import claim_digest

GROUP = "demo"
LABEL = "gradekeeper.dev/demo"


@dataclass(frozen=True)
class Applied:
    """A job that was applied, and what its verdict must be about.

    Attributes:
        case: what it is.
        nonce: of the job.
        digest: of the submission or of the claim, `sha256:…`.
    """

    case: Case
    nonce: str
    digest: str


@dataclass(frozen=True)
class Outcome:
    """What became of a job.

    Attributes:
        applied: the job.
        job: the object as last read.
        envelope: path of its signed verdict.
        tests: test id → outcome character, in the suite's order, from the verified statement.
        verified: exit status of `gradekeeper verify` with every option.
        said: what it printed.
    """

    applied: Applied
    job: Manifest
    envelope: Path
    tests: Mapping[str, str]
    verified: int
    said: str

    @property
    def verdict(self) -> dict[str, Any]:
        """`status.verdict`."""
        verdict = self.job["status"]["verdict"]
        assert isinstance(verdict, dict)
        return verdict

    @property
    def outcomes(self) -> str:
        """One character a test, from the verified statement."""
        return "".join(self.tests.values())

    @property
    def attempts(self) -> list[dict[str, Any]]:
        """`status.attempts`."""
        return list(self.job["status"].get("attempts") or [])

    def complaints(self) -> list[str]:
        """What is not as the case expects; empty if all is."""
        case = self.applied.case
        wrong = [
            f"{what} is {found}, expected {wanted}"
            for what, found, wanted in (
                ("number of attempts", len(self.attempts), case.attempts),
                ("exit status of verify", self.verified, 0),
                ("status", self.verdict.get("outcomes"), self.outcomes),
            )
            if found != wanted
        ]
        return wrong + judge_expectation(
            case.expect,
            decision=self.verdict["decision"],
            reason=self.verdict["reason"],
            outcomes=self.outcomes,
            ids=list(self.tests),
        )


def clean(cluster: Cluster, namespace: str) -> None:
    """Delete the jobs of an earlier run."""
    cluster.kubectl(
        "-n", namespace, "delete", "gradingjobs", "-l", f"{LABEL}=job", "--wait", "--timeout=60s"
    )


def apply_case(cluster: Cluster, namespace: str, case: Case, folder: Path) -> Applied:
    """Make a case's submission and apply its job; the manifests stay in the folder."""
    if case.scenario is not None:
        archive = build_submission(SUITE_DIR, case.scenario)
        nonce = apply_archive(
            cluster, namespace, case.name, archive, folder, parameters=case.parameters
        )
        return Applied(case, nonce, digest_of(archive))
    nonce = secrets.token_hex(32)
    write_and_apply(cluster, folder, case.name, [build_job(case.name, namespace, TOO_LARGE, nonce)])
    return Applied(case, nonce, claim_digest(Submission.model_validate(TOO_LARGE)))


def apply_archive(
    cluster: Cluster,
    namespace: str,
    name: str,
    archive: bytes,
    folder: Path,
    *,
    parameters: Mapping[str, str] | None = None,
    suite: str = SUITE,
) -> str:
    """Apply a job for a tar.gz, then its parts; returns the job's nonce.

    The parts belong to the job (an ownerReference), so they go when it goes; its UID is known only
    once it exists. The operator waits for them.
    """
    nonce = secrets.token_hex(32)
    count = -(-len(archive) // PART_BYTES)
    submission = {
        "configMaps": [names.part_name(name, index) for index in range(count)],
        "digest": digest_of(archive),
    }
    job = build_job(name, namespace, submission, nonce, parameters=parameters, suite=suite)
    (stored,) = write_and_apply(cluster, folder, name, [job])
    parts = build_parts(name, namespace, stored["metadata"]["uid"], archive)
    write_and_apply(cluster, folder, f"{name}.parts", parts)
    return nonce


def build_job(
    name: str,
    namespace: str,
    submission: Mapping[str, Any],
    nonce: str,
    *,
    parameters: Mapping[str, str] | None = None,
    suite: str = SUITE,
) -> Manifest:
    """The manifest of one job."""
    return {
        "apiVersion": names.API_VERSION,
        "kind": "GradingJob",
        "metadata": {"name": name, "namespace": namespace, "labels": {LABEL: "job"}},
        "spec": {
            "suiteRef": {"name": suite},
            "submission": dict(submission),
            "nonce": nonce,
            "group": GROUP,
            "parameters": dict(parameters or {}),
        },
    }


def write_and_apply(
    cluster: Cluster, folder: Path, name: str, objects: list[Manifest]
) -> list[Manifest]:
    """Keep the manifests as `<name>.yaml` and apply them; returns them as stored."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.yaml").write_text(yaml.safe_dump_all(objects, sort_keys=False))
    return cluster.apply(*objects)


def build_parts(job: str, namespace: str, uid: str, archive: bytes) -> list[Manifest]:
    """The ConfigMaps that carry an archive, as docs/protocols.md says under Delivery."""
    return [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": names.part_name(job, index),
                "namespace": namespace,
                "labels": {names.LABEL_JOB: job},
                "ownerReferences": [
                    {
                        "apiVersion": names.API_VERSION,
                        "kind": "GradingJob",
                        "name": job,
                        "uid": uid,
                        "controller": False,
                        "blockOwnerDeletion": False,
                    }
                ],
            },
            "immutable": True,
            "binaryData": {"part": base64.b64encode(archive[start : start + PART_BYTES]).decode()},
        }
        for index, start in enumerate(range(0, len(archive), PART_BYTES))
    ]


class PodLoser(threading.Thread):
    """Deletes the first Pod of some jobs as soon as it runs.

    Args:
        cluster: where.
        namespace: of the jobs.
        jobs: their names.
        limit: seconds after which it gives up.
    """

    def __init__(self, cluster: Cluster, namespace: str, jobs: Iterable[str], limit: float) -> None:
        super().__init__(daemon=True)
        self._cluster = cluster
        self._namespace = namespace
        self._left = set(jobs)
        self._deadline = time.monotonic() + limit
        self.lost: dict[str, str] = {}
        """Job → name of the Pod that was deleted."""

    def run(self) -> None:
        """Poll until every job has lost its Pod."""
        while self._left and time.monotonic() < self._deadline:
            pods = self._cluster.read("pods", "-n", self._namespace, "-l", names.LABEL_JOB)
            for pod in pods["items"]:
                job = pod["metadata"]["labels"][names.LABEL_JOB]
                running = pod.get("status", {}).get("phase") == "Running"
                if job in self._left and running:
                    name = pod["metadata"]["name"]
                    self._cluster.kubectl(
                        "-n", self._namespace, "delete", "pod", name, "--wait=false"
                    )
                    self.lost[job] = name
                    self._left.discard(job)
            time.sleep(0.2)


def follow(cluster: Cluster, namespace: str, jobs: Sequence[str], limit: float) -> None:
    """Show the live table until all jobs have a verdict.

    Raises:
        DemoError: they have not within the limit.
    """
    command = cluster.gradekeeper_command(
        "watch", *jobs, "-n", namespace, "--timeout", f"{limit:.0f}"
    )
    done = subprocess.run(
        command,
        env=dict(cluster.environment),
        stdin=subprocess.DEVNULL,
        timeout=limit + 60,
        check=False,
    )
    if done.returncode != 0:
        raise DemoError(f"not every job has a verdict (status {done.returncode} of watch)")


def collect(cluster: Cluster, namespace: str, applied: Applied, key: Path, out: Path) -> Outcome:
    """Read a finished job, store its signed verdict and verify it offline.

    Args:
        cluster: where the job is; the verification does not use it.
        namespace: of the job.
        applied: the job.
        key: file with the installation's public key.
        out: folder for `<job>.dsse.json`.

    Raises:
        DemoError: the job has no signed verdict.
    """
    name = applied.case.name
    job = cluster.read("gradingjob", name, "-n", namespace)
    envelope = out / f"{name}.dsse.json"
    envelope.write_text(decode_attestation(job))
    wanted = ["--nonce", applied.nonce, "--task", "", "--job-uid", job["metadata"]["uid"]]
    wanted += ["--digest", applied.digest]
    done = verify(cluster, envelope, key, *wanted)
    tests: dict[str, str] = {}
    if done.returncode == 0:
        document = json.loads(verify(cluster, envelope, key, "--json").stdout)
        listed = document["statement"]["predicate"]["tests"] or []
        tests = {test["id"]: test["outcome"] for test in listed}
    return Outcome(applied, job, envelope, tests, done.returncode, done.stdout + done.stderr)


def decode_attestation(job: Manifest) -> str:
    """The signed envelope of a finished job, as JSON; raises DemoError if there is none."""
    attestation = job.get("status", {}).get("attestation")
    if not attestation:
        shown = json.dumps(job.get("status"))[:2000]
        raise DemoError(f"{job['metadata']['name']} has no signed verdict: {shown}")
    return base64.b64decode(attestation, validate=True).decode("ascii")


def verify(
    cluster: Cluster, envelope: Path, key: Path, *options: str
) -> subprocess.CompletedProcess[str]:
    """Run `gradekeeper verify`, which talks to nobody; the status is the caller's to judge."""
    command: Command = [cluster.program("gradekeeper"), "verify", envelope, "--key", key, *options]
    return run(command, env=cluster.environment, check=False)


def fresh(folder: Path) -> Path:
    """An empty folder in the place of whatever was there."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder
