"""What surrounds the operator in contract tests: a signed suite, a kubelet, and its process.

The operator is the real one, in a process of its own with real kopf watches and real HTTP; only
the API server and the kubelet are small ones of ours.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import gzip
import hashlib
import json
import os
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from contract.fake_api import FakeApi, Manifest
from gradekeeper.api.schema import dump
from gradekeeper.api.spec import GradingSuiteSpec, SuiteLimits, SuiteResources
from gradekeeper.referee.result import (
    COMPLETED,
    FAILED,
    GRADED,
    PASSED,
    RefereeResult,
    encode_result,
)
from gradekeeper.referee.strictjson import encode_canonical
from gradekeeper.verdicts.signing import SigningKey, attestation_from_envelope, generate_key
from gradekeeper.verdicts.statement import build_suite_statement, encode_statement

NS = "grading"
SUITE = "billing"
TESTS = ["refunds/a", "refunds/b", "tax/c", "tax/d"]
DISCRIMINATING = [0, 3]
IMAGE = "sha256:" + "1" * 64
LANE_IMAGE = "sha256:" + "2" * 64
SUITE_DIGEST = "sha256:" + "3" * 64
LOG = "sha256:" + "4" * 64
GOLD = "sha256:" + "5" * 64
JOBS, SUITES, PODS, PARTS = "gradingjobs", "gradingsuites", "pods", "configmaps"
FINISHED_WITHIN = 30.0


def suite_objects(author: SigningKey) -> tuple[Manifest, Manifest]:
    """A GradingSuite and its index ConfigMap, signed by the author."""
    index = encode_canonical(
        {
            "schema": "gradekeeper.index/v1",
            "suite": SUITE,
            "tasks": {"": TESTS},
            "discriminating": {"": DISCRIMINATING},
        }
    )
    limits = SuiteLimits()
    resources = SuiteResources.model_validate(
        {
            "referee": {"cpu": "200m", "memory": "192Mi"},
            "lane": {"cpu": "1500m", "memory": "1Gi"},
        }
    )
    statement = build_suite_statement(
        name=SUITE,
        suite_digest=SUITE_DIGEST,
        version="1.0.0",
        image_digest=IMAGE,
        lane_image_digest=LANE_IMAGE,
        index_digest="sha256:" + hashlib.sha256(index).hexdigest(),
        limits=limits,
        resources=resources,
    )
    spec = GradingSuiteSpec.model_validate(
        {
            "image": f"suites/billing@{IMAGE}",
            "laneImage": f"lanes/java17@{LANE_IMAGE}",
            "signature": attestation_from_envelope(author.sign(encode_statement(statement))),
            "indexRef": {"name": f"{SUITE}-index"},
            "resources": dump(resources),
        }
    )
    suite = {"metadata": {"name": SUITE}, "spec": dump(spec)}
    packed = base64.b64encode(gzip.compress(index, mtime=0)).decode()
    config_map = {"metadata": {"name": f"{SUITE}-index"}, "binaryData": {"index.json.gz": packed}}
    return suite, config_map


def job_manifest(name: str, **spec: Any) -> Manifest:
    """A GradingJob with one part, unless `submission` says otherwise."""
    submission = {"configMaps": [f"{name}-part-00"], "digest": "sha256:" + "6" * 64}
    whole = {
        "suiteRef": {"name": SUITE},
        "task": "",
        "submission": submission,
        "nonce": f"nonce-{name}",
        "group": "",
        "parameters": {},
        "suspend": False,
        "cancel": False,
        "attemptDeadlineSeconds": 1800,
        "retryLimit": 2,
        "ttlSecondsAfterFinished": 3600,
    }
    return {"metadata": {"name": name}, "spec": {**whole, **spec}}


def deliver(api: FakeApi, job: Manifest) -> None:
    """Create the parts of a job, as a client does."""
    meta = job["metadata"]
    for name in job["spec"]["submission"].get("configMaps") or []:
        owner = {
            "apiVersion": "gradekeeper.dev/v1alpha1",
            "kind": "GradingJob",
            "name": meta["name"],
            "uid": meta["uid"],
        }
        api.create(
            PARTS,
            NS,
            {
                "metadata": {
                    "name": name,
                    "labels": {"gradekeeper.dev/job": meta["name"]},
                    "ownerReferences": [owner],
                },
                "binaryData": {"part": "aGVsbG8="},
            },
        )


def submit(api: FakeApi, name: str, **spec: Any) -> Manifest:
    """Create a job and its parts."""
    job = api.create(JOBS, NS, job_manifest(name, **spec))
    deliver(api, job)
    return job


def settled(job: Manifest | None) -> bool:
    """Whether a job has its verdict."""
    return job is not None and "verdict" in (job.get("status") or {})


Grader = Callable[[Manifest, Manifest], RefereeResult | None]


def grade(pod: Manifest, task: Manifest) -> RefereeResult | None:
    """The referee of a Pod: gold passes, everything else fails what discriminates."""
    builtin = task["submission"].get("builtin")
    outcomes = PASSED * len(TESTS)
    if builtin == "null":
        outcomes = "".join(
            FAILED if place in DISCRIMINATING else PASSED for place in range(len(TESTS))
        )
    return RefereeResult(
        nonce=task["nonce"],
        attempt=task["attempt"],
        suite=task["suite"],
        submission=task["submission"].get("digest") or GOLD,
        task=task["task"],
        decision=GRADED,
        reason=COMPLETED,
        message="",
        outcomes=outcomes,
        isolation={"network": "denied", "probedAt": time.time(), "userNamespace": True},
        log=LOG,
        times={},
    )


@dataclass
class Kubelet:
    """Runs Pods: first to Running, then to their referee's end.

    Attributes:
        api: the API server.
        grader: what a Pod's referee says; None lets the Pod run on.
        hold: while set, new Pods stay pending.
        seen: every Pod name that ever existed, in order, with repetitions by UID.
        skip: names of Pods that are none of its business.
    """

    api: FakeApi
    grader: Grader = grade
    hold: bool = False
    seen: list[str] = field(default_factory=list)
    skip: set[str] = field(default_factory=set)
    _known: set[str] = field(default_factory=set)

    async def run(self) -> None:
        """Look at every change until cancelled."""
        while True:
            changed = self.api.changed
            for (plural, _, _), pod in list(self.api.objects.items()):
                if plural == PODS:
                    self._advance(pod)
            await changed.wait()

    def _advance(self, pod: Manifest) -> None:
        meta = pod["metadata"]
        if meta["uid"] not in self._known:
            self._known.add(meta["uid"])
            self.seen.append(meta["name"])
        status = pod.get("status") or {}
        if self.hold or meta["name"] in self.skip or status.get("phase") in ("Succeeded", "Failed"):
            return
        if status.get("phase") != "Running":
            self.api.set_status(PODS, NS, meta["name"], _running())
            return
        env = pod["spec"]["containers"][0]["env"][0]["value"].replace("$$", "$")
        result = self.grader(pod, json.loads(env))
        if result is not None:
            self.finish(meta["name"], result)

    def finish(self, name: str, result: RefereeResult) -> None:
        """Let a Pod's referee end with a result."""
        status = _running()
        status["phase"] = "Succeeded"
        status["containerStatuses"][0]["state"] = {
            "terminated": {
                "exitCode": 0,
                "reason": "Completed",
                "message": encode_result(result).decode(),
                "startedAt": _now(),
                "finishedAt": _now(),
            }
        }
        self.api.set_status(PODS, NS, name, status)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _running() -> Manifest:
    return {
        "phase": "Running",
        "qosClass": "Guaranteed",
        "startTime": _now(),
        "conditions": [{"type": "PodScheduled", "status": "True"}],
        "containerStatuses": [
            {
                "name": name,
                "imageID": f"registry.example/{name}@{digest}",
                "state": {"running": {"startedAt": _now()}},
            }
            for name, digest in (("referee", IMAGE), ("lane", LANE_IMAGE))
        ],
    }


def free_port() -> int:
    """A TCP port of loopback that nobody uses."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Operator:
    """The operator's process; may be killed and started again.

    Args:
        api: the API server.
        folder: keys, kubeconfig and state.
        verdict: PEM of the signing key.
        author: PEM of the trusted author's public key.
        settings: further environment variables, without their prefix.
    """

    def __init__(
        self, api: FakeApi, folder: Path, verdict: bytes, author: bytes, **settings: str
    ) -> None:
        self.api = api
        self.health_port = free_port()
        self.process: asyncio.subprocess.Process | None = None
        self.lines: list[dict[str, Any]] = []
        self._grown = asyncio.Condition()
        self._reader: asyncio.Task[None] | None = None
        authors = folder / "authors"
        authors.mkdir()
        (authors / "one.pub").write_bytes(author)
        (folder / "signing.pem").write_bytes(verdict)
        (folder / "state").mkdir()
        kubeconfig = {
            "current-context": "fake",
            "contexts": [{"name": "fake", "context": {"cluster": "fake", "user": "fake"}}],
            "clusters": [{"name": "fake", "cluster": {"server": api.url}}],
            "users": [{"name": "fake", "user": {}}],
        }
        (folder / "kubeconfig").write_text(yaml.safe_dump(kubeconfig))
        values = {
            "NAMESPACES": NS,
            "KUBECONFIG": str(folder / "kubeconfig"),
            "SIGNING_KEY": str(folder / "signing.pem"),
            "AUTHOR_KEYS": str(authors),
            "STATE_DIR": str(folder / "state"),
            "PROBE_ADDRESS": "127.0.0.1",
            "PROBE_PORT": str(free_port()),
            "PROBE_MARGIN_SECONDS": "0.01",
            "HEALTH_PORT": str(self.health_port),
            "ATTEMPT_BACKOFF_SECONDS": "0.05",
            "ADMISSION_RETRY_SECONDS": "0.05",
            "MAX_PODS_IN_FLIGHT": "4",
            **settings,
        }
        kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        source = str(Path(__file__).parents[2] / "operator")
        self.environ = {
            **kept,
            "PYTHONPATH": source,
            **{f"GRADEKEEPER_{name}": value for name, value in values.items()},
        }

    async def start(self) -> None:
        """Start the process and wait until it has listed everything and watches."""
        watches = self.api.opened_watches
        self.process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "gradekeeper.control",
            env=self.environ,
            stderr=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
        )
        self._reader = asyncio.create_task(self._read(self.process))
        await self.api.wait_until(lambda: self.api.opened_watches >= watches + 3)

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        assert process.stderr is not None
        async for line in process.stderr:
            try:
                document = json.loads(line)
            except ValueError:
                document = {"event": "unstructured", "text": line.decode(errors="replace")}
            async with self._grown:
                self.lines.append(document)
                self._grown.notify_all()

    async def wait_for(self, event: str, count: int = 1) -> None:
        """Wait until the operator has logged an event so many times."""
        async with self._grown:
            await self._grown.wait_for(
                lambda: sum(line["event"] == event for line in self.lines) >= count
            )

    def logged(self, event: str) -> list[dict[str, Any]]:
        """All lines of an event."""
        return [line for line in self.lines if line["event"] == event]

    async def kill(self) -> None:
        """End the process as `kill -9` does."""
        await self._end(signal.SIGKILL)

    async def stop(self) -> float:
        """End the process as the kubelet does; returns how many seconds that took."""
        started = time.monotonic()
        await self._end(signal.SIGTERM)
        return time.monotonic() - started

    async def _end(self, number: signal.Signals) -> None:
        if self.process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(number)
        await self.process.wait()
        if self._reader is not None:
            await self._reader
        self.process = None

    async def page(self, path: str) -> tuple[int, str]:
        """GET a page of the health port."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.health_port)
        writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        answer = (await reader.read()).decode()
        writer.close()
        await writer.wait_closed()
        head, _, body = answer.partition("\r\n\r\n")
        return int(head.split()[1]), body


@dataclass
class World:
    """Everything of one test."""

    api: FakeApi
    kubelet: Kubelet
    operator: Operator
    public_pem: bytes

    async def settle(self, *names: str) -> list[Manifest]:
        """Wait until the jobs have verdicts, and return them."""
        async with asyncio.timeout(FINISHED_WITHIN):
            await self.api.wait_until(
                lambda: all(settled(self.api.get(JOBS, NS, name)) for name in names)
            )
        return [self.job(name) for name in names]

    def job(self, name: str) -> Manifest:
        """A job, which must exist."""
        found = self.api.get(JOBS, NS, name)
        assert found is not None, f"{name} does not exist"
        return found

    async def ready(self) -> None:
        """Publish the suite and wait until it is Ready."""
        await self.publish()
        async with asyncio.timeout(FINISHED_WITHIN):
            await self.api.wait_until(lambda: self.suite_condition("Ready") == "True")

    async def publish(self) -> None:
        """Create the suite and its index."""
        suite, index = self.suite
        self.api.create(PARTS, NS, index)
        self.api.create(SUITES, NS, suite)

    def suite_condition(self, kind: str) -> str:
        """Status of a condition of the suite."""
        suite = self.api.get(SUITES, NS, SUITE) or {}
        for condition in (suite.get("status") or {}).get("conditions") or []:
            if condition["type"] == kind:
                return str(condition["status"])
        return ""

    suite: tuple[Manifest, Manifest] = field(default_factory=lambda: ({}, {}))


@contextlib.asynccontextmanager
async def a_world(folder: Path, **settings: str) -> AsyncIterator[World]:
    """A fake cluster with a kubelet, and an operator that is not started yet."""
    private, _ = generate_key()
    author_private, author_public = generate_key()
    author = SigningKey.from_pem(author_private)
    async with FakeApi().running() as api:
        operator = Operator(api, folder, private, author_public, **settings)
        kubelet = Kubelet(api)
        world = World(api, kubelet, operator, SigningKey.from_pem(private).public_pem)
        world.suite = suite_objects(author)
        running = asyncio.create_task(kubelet.run(), name="kubelet")
        try:
            yield world
        finally:
            await operator.kill()
            running.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await running
