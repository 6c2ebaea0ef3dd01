"""Gradings on the real node, with neighbours that take its processors or with none.

Pods are the builder's own, as in `tests/isolation`, in a namespace that goes away afterwards.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import secrets
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml
from demo import images
from demo.commands import BUILD, ROOT, Cluster
from demo.stage import Images
from kubernetes import client, config
from kubernetes.client.exceptions import ApiException

from cluster.testcluster.cleanup import own_cgroups
from gradekeeper.api.names import LABEL_JOB
from gradekeeper.api.spec import GradingJobSpec, SuiteLimits, SuiteResources
from gradekeeper.pods.build import FrozenSuite, PodSettings, ProbeTarget, build_pod
from gradekeeper.pods.classify import Observation, classify_pod, expected_attempt
from gradekeeper.suites.bundle import load_bundle
from isolation.stand import POLICY, PORT, listener

Manifest = dict[str, Any]

SUITE = "starved"
TEST_SECONDS = 4
NEEDED_SECONDS = 0.6 * TEST_SECONDS
"""Of processor time, for the honest submission."""
LIMITS = {"testTimeoutSeconds": TEST_SECONDS, "processes": 160, "heapMiB": 64}
RESOURCES = {
    "lane": {"cpu": "1500m", "memory": "512Mi"},
    "referee": {"cpu": "200m", "memory": "160Mi"},
}
PATIENCE = 100.0
NEIGHBOUR_SECONDS = 60
CALL = {"_request_timeout": 20}
PROMISED = PodSettings(image_pull_policy="IfNotPresent", cpu_request_percent=100)
OVERBOOKED = replace(PROMISED, cpu_request_percent=10)
"""As an installation may have it: a tenth of the limits is requested, and so promised."""


@dataclass(frozen=True)
class Graded:
    """One grading: what the operator would make of it, and what the referee wrote down."""

    observation: Observation
    log: list[dict[str, Any]]

    def timeouts(self) -> list[dict[str, Any]]:
        """Used-up times that were not held against the submission at once."""
        return [event for event in self.log if event["event"] == "timeout"]


@dataclass(frozen=True)
class Stand:
    """Where Pods are started.

    Attributes:
        core: the API.
        namespace: of all Pods.
        suite: the small suite with its images.
        address: of the listener, which no grading Pod may reach.
    """

    core: client.CoreV1Api
    namespace: str
    suite: FrozenSuite
    address: str

    def grade(self, archive: bytes, settings: PodSettings) -> Graded:
        """Grade one submission in a Pod of the builder's, and wait for the end."""
        name = f"job-{secrets.token_hex(4)}"
        digest = "sha256:" + hashlib.sha256(archive).hexdigest()
        part = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": f"{name}-part-00", "labels": {LABEL_JOB: name}},
            "binaryData": {"part": base64.b64encode(archive).decode()},
        }
        self.core.create_namespaced_config_map(self.namespace, part, **CALL)
        spec = GradingJobSpec.model_validate(
            {
                "suiteRef": {"name": SUITE},
                "submission": {"configMaps": [f"{name}-part-00"], "digest": digest},
                "nonce": name,
            }
        )
        pod = build_pod(
            job_name=name,
            namespace=self.namespace,
            job_uid=f"uid-{name}",
            spec=spec,
            attempt=1,
            suite=self.suite,
            settings=settings,
            probe=ProbeTarget(self.address, PORT, 20),
        )
        # There is no such job: the garbage collector would take the Pod away.
        del pod["metadata"]["ownerReferences"]
        self.core.create_namespaced_pod(self.namespace, pod, field_validation="Strict", **CALL)
        pod_name = pod["metadata"]["name"]
        found = self._wait(pod_name)
        # As it is: the client would make something else of the one JSON line that a log may be.
        log = self.core.read_namespaced_pod_log(
            pod_name, self.namespace, container="referee", _preload_content=False, **CALL
        ).data.decode()
        self.core.delete_namespaced_pod(pod_name, self.namespace, **CALL)
        print(log)  # shown where a test fails
        observation = classify_pod(
            found, expected=expected_attempt(spec, 1, self.suite, settings), now=datetime.now(UTC)
        )
        return Graded(observation, [json.loads(line) for line in log.splitlines()])

    def _wait(self, name: str) -> Manifest:
        deadline = time.monotonic() + PATIENCE
        while True:
            read = self.core.read_namespaced_pod(name, self.namespace, **CALL)
            pod: Manifest = self.core.api_client.sanitize_for_serialization(read)
            for one in pod["status"].get("containerStatuses", ()):
                if one["name"] == "referee" and "terminated" in one["state"]:
                    return pod
            if time.monotonic() > deadline:
                raise AssertionError(f"{name}: no end within {PATIENCE:.0f} s: {pod['status']}")
            time.sleep(0.25)

    @contextlib.contextmanager
    def neighbours(self, pods: int, processes: int, cpu: str) -> Iterator[None]:
        """Pods that take all the processor time they get; gone afterwards, whatever happens.

        Args:
            pods: how many.
            processes: that never rest, in each.
            cpu: request of each; they have no limit.
        """
        names = [f"neighbour-{secrets.token_hex(4)}" for _ in range(pods)]
        try:
            for name in names:
                manifest = neighbour(name, self.suite.image, processes, cpu)
                self.core.create_namespaced_pod(
                    self.namespace, manifest, field_validation="Strict", **CALL
                )
            until(lambda: all(self._is_running(name) for name in names), "the neighbours run")
            yield
        finally:
            for name in names:
                with contextlib.suppress(ApiException):
                    self.core.delete_namespaced_pod(
                        name, self.namespace, grace_period_seconds=0, **CALL
                    )

    def _is_running(self, name: str) -> bool:
        found = self.core.read_namespaced_pod(name, self.namespace, **CALL)
        return bool(found.status.phase == "Running")


def neighbour(name: str, image: str, processes: int, cpu: str) -> Manifest:
    """A Pod of busy processes, which the kubelet ends after a minute at most."""
    code = "import os\nfor _ in range(%d): os.fork() or exec('while True: pass')\nos.wait()"
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {
            "activeDeadlineSeconds": NEIGHBOUR_SECONDS,
            "automountServiceAccountToken": False,
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 0,
            "containers": [
                {
                    "name": "neighbour",
                    "image": image,
                    "imagePullPolicy": "IfNotPresent",
                    "command": ["python3", "-I", "-S", "-c", code % processes],
                    "resources": {
                        "requests": {"cpu": cpu, "memory": "64Mi"},
                        "limits": {"memory": "64Mi"},
                    },
                }
            ],
        },
    }


@contextlib.contextmanager
def first_choice() -> Iterator[None]:
    """The cluster's Pods come before whatever else the machine does, as on a node of their own.

    Not so far before it that a kubelet beside busy Pods could not work any more.
    """
    weights = [
        path
        for top in own_cgroups()
        for path in (top / "cpu.shares", top / "cpu.weight")
        if path.exists()
    ]
    assert weights, "the cluster has no cgroup with a weight"
    before = {path: path.read_text() for path in weights}
    try:
        for path in weights:
            path.write_text("16384" if path.name == "cpu.shares" else "1600")
        yield
    finally:
        for path, text in before.items():
            path.write_text(text)


@contextlib.contextmanager
def opened() -> Iterator[Stand]:
    """Image, namespace, policy and listener; the namespace goes away afterwards."""
    cluster = Cluster.find()
    suite = build_suite(cluster, Images.load().lane)
    connection = config.new_client_from_config(
        config_file=cluster.environment.get("KUBECONFIG"), context=cluster.context
    )
    core = client.CoreV1Api(connection)
    namespace = f"starved-{secrets.token_hex(4)}"
    try:
        core.create_namespace({"metadata": {"name": namespace}}, **CALL)
        client.NetworkingV1Api(connection).create_namespaced_network_policy(
            namespace, POLICY, field_validation="Strict", **CALL
        )
        until(lambda: has_account(core, namespace), "the service account is there")
        core.create_namespaced_pod(namespace, listener(suite.image), **CALL)
        until(lambda: is_ready(core, namespace), "the listener is ready")
        found = core.read_namespaced_pod("listener", namespace, **CALL)
        yield Stand(core, namespace, suite, found.status.pod_ip)
    finally:
        with contextlib.suppress(ApiException):
            core.delete_namespace(namespace, **CALL)
        connection.close()


def build_suite(cluster: Cluster, lane: str) -> FrozenSuite:
    """The benchmark's smallest suite with a lane of a usual size and less time for its test."""
    source = BUILD / "starved" / "suite"
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(ROOT / "tests" / "bench" / "suite", source)
    path: Path = source / "suite.yaml"
    definition = yaml.safe_load(path.read_text())
    definition |= {"name": SUITE, "resources": RESOURCES}
    definition["limits"] |= LIMITS
    path.write_text(yaml.safe_dump(definition, sort_keys=False))
    bundle = load_bundle(images.build_bundle(cluster, source, SUITE))
    image = images.build_suite_image(cluster, bundle.path, SUITE)
    index = json.loads(bundle.index)
    return FrozenSuite(
        name=SUITE,
        version=bundle.version,
        suite_digest=bundle.digest,
        image=image,
        image_digest=image.partition("@")[2],
        lane_image=lane,
        lane_image_digest=lane.partition("@")[2],
        index_digest=bundle.index_digest,
        author_keyid="0" * 64,
        resources=SuiteResources.model_validate(bundle.definition["resources"]),
        limits=SuiteLimits.model_validate(bundle.definition["limits"]),
        tests=index["tasks"],
        discriminating=index["discriminating"],
    )


def has_account(core: client.CoreV1Api, namespace: str) -> bool:
    """Whether Pods can be made in a new namespace."""
    try:
        core.read_namespaced_service_account("default", namespace, **CALL)
    except ApiException as error:
        if error.status == 404:
            return False
        raise
    return True


def is_ready(core: client.CoreV1Api, namespace: str) -> bool:
    """Whether the listener answers."""
    conditions = core.read_namespaced_pod("listener", namespace, **CALL).status.conditions
    return any(one.type == "Ready" and one.status == "True" for one in conditions or ())


def until(holds: Any, what: str) -> None:
    """Wait until something is so, for a minute at most."""
    deadline = time.monotonic() + 60
    while not holds():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within a minute: {what}")
        time.sleep(0.2)
