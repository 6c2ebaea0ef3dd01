"""Grading Pods of the builder on the real cluster, with nobody else's help.

No operator takes part: a listener stands in for its port, and a result is read where the operator
reads it, in the Pod's status. Everything lives in two namespaces of its own: `closed` with a policy
that denies grading Pods everything, `open` with none.
"""

from __future__ import annotations

import json
import secrets
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from demo import images
from demo.commands import BUILD, ROOT, Cluster
from demo.stage import Images
from kubernetes import client, config
from kubernetes.client.exceptions import ApiException

from gradekeeper.api.names import LABEL_ROLE, ROLE_GRADING
from gradekeeper.api.spec import GradingJobSpec, SuiteLimits, SuiteResources
from gradekeeper.pods.build import FrozenSuite, PodSettings, ProbeTarget, build_pod
from gradekeeper.pods.classify import Observation, classify_pod, expected_attempt
from gradekeeper.suites.bundle import load_bundle

Manifest = dict[str, Any]

SUITE = "bench-trivial"
SUITE_DIR = ROOT / "tests" / "bench" / "suite"
LANES = ROOT / "lanes"
PORT = 8444
PATIENCE = 120.0
CALL = {"_request_timeout": 20}
SPEC = GradingJobSpec.model_validate(
    {"suiteRef": {"name": SUITE}, "submission": {"builtin": "gold"}, "nonce": "isolation"}
)
# CPU is shared with whatever else the cluster does; isolation does not depend on it.
SETTINGS = PodSettings(image_pull_policy="IfNotPresent", cpu_request_percent=1)
FALLBACK = replace(SETTINGS, user_namespaces="preferred", user_namespaces_available=False)


@dataclass(frozen=True)
class Ended:
    """What became of a Pod: its status, and what the operator would make of it."""

    pod: Manifest
    observation: Observation


@dataclass(frozen=True)
class Stand:
    """Where Pods are started.

    Attributes:
        core: the API.
        closed: namespace whose grading Pods reach nothing.
        open: namespace without a policy.
        suite: the small suite with its images.
        lanes: images of nothing but laned and laneprobe: `bare`; `unfiltered`, whose laned loads no
            filter; `uncapped`, whose laned sets no limit of cores.
        address: of the listener.
    """

    core: client.CoreV1Api
    closed: str
    open: str
    suite: FrozenSuite
    lanes: dict[str, str]
    address: str

    def run(
        self,
        name: str,
        change: Callable[[Manifest], object],
        *,
        settings: PodSettings = SETTINGS,
        lane_image: str | None = None,
        policy: bool = True,
        deadline_seconds: int = 20,
    ) -> Ended:
        """Build a Pod, change it, start it, and wait until its referee has ended."""
        suite = self.suite
        if lane_image is not None:
            digest = lane_image.partition("@")[2]
            suite = replace(suite, lane_image=lane_image, lane_image_digest=digest)
        namespace = self.closed if policy else self.open
        pod = build_pod(
            job_name=name,
            namespace=namespace,
            job_uid=f"uid-{name}",
            spec=SPEC,
            attempt=1,
            suite=suite,
            settings=settings,
            probe=ProbeTarget(self.address, PORT, deadline_seconds),
        )
        # There is no such job: the garbage collector would take the Pod away.
        del pod["metadata"]["ownerReferences"]
        change(pod)
        self.core.create_namespaced_pod(namespace, pod, field_validation="Strict", **CALL)
        found = self._wait(pod["metadata"]["name"], namespace)
        observation = classify_pod(
            found,
            expected=expected_attempt(SPEC, 1, suite, settings),
            now=datetime.now(UTC),
        )
        return Ended(found, observation)

    def _wait(self, name: str, namespace: str) -> Manifest:
        deadline = time.monotonic() + PATIENCE
        while True:
            pod = self._plain(self.core.read_namespaced_pod(name, namespace, **CALL))
            for one in pod["status"].get("containerStatuses", ()):
                if one["name"] == "referee" and "terminated" in one["state"]:
                    self.core.delete_namespaced_pod(name, namespace, **CALL)
                    return pod
            if time.monotonic() > deadline:
                raise AssertionError(f"{name}: no end within {PATIENCE:.0f} s: {pod['status']}")
            time.sleep(0.25)

    def _plain(self, found: client.V1Pod) -> Manifest:
        answer: Manifest = self.core.api_client.sanitize_for_serialization(found)
        return answer


@contextmanager
def opened() -> Iterator[Stand]:
    """Images, namespaces, policy and listener; the namespaces go away afterwards."""
    cluster = Cluster.find()
    loaded = Images.load()
    suite, lanes = build_images(cluster, loaded)
    connection = config.new_client_from_config(
        config_file=cluster.environment.get("KUBECONFIG"), context=cluster.context
    )
    core = client.CoreV1Api(connection)
    closed = f"isolation-{secrets.token_hex(4)}"
    names = (closed, f"{closed}-open")
    try:
        for name in names:
            core.create_namespace({"metadata": {"name": name}}, **CALL)
        client.NetworkingV1Api(connection).create_namespaced_network_policy(
            closed, POLICY, field_validation="Strict", **CALL
        )
        for name in names:
            _until(lambda name=name: _has_account(core, name), f"the service account of {name}")
        core.create_namespaced_pod(closed, listener(suite.image), **CALL)
        _until(lambda: _is_ready(core, closed), "the listener")
        found = core.read_namespaced_pod("listener", closed, **CALL)
        yield Stand(core, *names, suite, lanes, found.status.pod_ip)
    finally:
        for name in names:
            _ignore_missing(core.delete_namespace, name)
        connection.close()


POLICY: Manifest = {
    "apiVersion": "networking.k8s.io/v1",
    "kind": "NetworkPolicy",
    "metadata": {"name": "deny-grading-pods"},
    "spec": {
        "podSelector": {"matchLabels": {LABEL_ROLE: ROLE_GRADING}},
        "policyTypes": ["Ingress", "Egress"],
    },
}


def listener(image: str) -> Manifest:
    """A Pod that answers on the port throughout, as the operator does."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "listener"},
        "spec": {
            "automountServiceAccountToken": False,
            "terminationGracePeriodSeconds": 1,
            "containers": [
                {
                    "name": "listener",
                    "image": image,
                    "imagePullPolicy": "IfNotPresent",
                    "workingDir": "/suite",
                    "command": ["python3", "-I", "-S", "-m", "http.server", str(PORT)],
                    "readinessProbe": {"tcpSocket": {"port": PORT}, "periodSeconds": 1},
                    "resources": {"requests": {"cpu": "10m", "memory": "32Mi"}},
                }
            ],
        },
    }


def build_images(cluster: Cluster, loaded: Images) -> tuple[FrozenSuite, dict[str, str]]:
    """The small suite, and lanes of laned and laneprobe as they are and with a part left out."""
    bundle = load_bundle(images.build_bundle(cluster, SUITE_DIR, SUITE))
    image = images.build_suite_image(cluster, bundle.path, SUITE)
    index = json.loads(bundle.index)
    suite = FrozenSuite(
        name=SUITE,
        version=bundle.version,
        suite_digest=bundle.digest,
        image=image,
        image_digest=image.partition("@")[2],
        lane_image=loaded.lane,
        lane_image_digest=loaded.lane.partition("@")[2],
        index_digest=bundle.index_digest,
        author_keyid="0" * 64,
        resources=SuiteResources.model_validate(bundle.definition["resources"]),
        limits=SuiteLimits.model_validate(bundle.definition["limits"]),
        tests=index["tasks"],
        discriminating=index["discriminating"],
    )
    source = (LANES / "laned.c").read_text()
    return suite, {
        "bare": build_lane("bare", source),
        "unfiltered": build_lane(
            "unfiltered", without(source, "    if (!load_filter())\n        goto fail;\n")
        ),
        "uncapped": build_lane("uncapped", without(source, "    limit_cores();\n")),
    }


def without(source: str, part: str) -> str:
    """laned with everything but one call."""
    assert source.count(part) == 1, f"laned says {part.strip()} in another way now"
    return source.replace(part, "")


def build_lane(name: str, source: str) -> str:
    """An image of laned, as compiled from a source, and laneprobe; returns `name@sha256:…`."""
    context = BUILD / "isolation" / name
    root = context / "root"
    for folder in ("usr/local/bin", "lane", "scratch", "var/lane"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    (root / "var" / "lane").chmod(0o700)
    (context / "laned.c").write_text(source)
    programs = root / "usr" / "local" / "bin"
    compiler = ["gcc", "-std=gnu11", "-O1", "-static", f"-I{LANES}"]
    for program, paths in (
        ("laned", (context / "laned.c", LANES / "filter.c", LANES / "writes.c")),
        ("laneprobe", (LANES / "laneprobe.c", LANES / "denied.c")),
    ):
        command = [*compiler, "-o", str(programs / program), *map(str, paths)]
        subprocess.run(command, check=True, timeout=120)
    (context / "Dockerfile").write_text("FROM scratch\nCOPY root /\n")
    return images.build_image(f"gradekeeper/test-lane-{name}", context / "Dockerfile", context)


def _has_account(core: client.CoreV1Api, namespace: str) -> bool:
    try:
        core.read_namespaced_service_account("default", namespace, **CALL)
    except ApiException as error:
        if error.status == 404:
            return False
        raise
    return True


def _is_ready(core: client.CoreV1Api, namespace: str) -> bool:
    conditions = core.read_namespaced_pod("listener", namespace, **CALL).status.conditions
    return any(one.type == "Ready" and one.status == "True" for one in conditions or ())


def _until(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        if time.monotonic() > deadline:
            raise AssertionError(f"{what}: not within a minute")
        time.sleep(0.2)


def _ignore_missing(call: Any, *arguments: Any) -> None:
    try:
        call(*arguments, **CALL)
    except ApiException as error:
        if error.status != 404:
            raise
