"""What may befall a grading that is not the submission's doing, as data.

Each injection is entered before its job is submitted. It yields what is to be done to the first
attempt's Pod once that runs, if anything, and takes the cause away again when it is left.
"""

from __future__ import annotations

import contextlib
import json
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from demo.commands import Manifest

from gradekeeper.api import names

from .api import container
from .installation import NAMESPACE, NEIGHBOURS, RELEASE
from .webhook import Mutation
from .world import PODS, POLICIES, World, harmless_container

Strike = Callable[[Manifest], None]
Injection = Callable[[World], contextlib.AbstractContextManager[Strike | None]]
NEIGHBOURS_PODS = f"/api/v1/namespaces/{NEIGHBOURS}/pods"
PRIORITIES = "/apis/scheduling.k8s.io/v1/priorityclasses"
NODES = "/api/v1/nodes"
PREEMPTOR = "gk-matrix-preemptor"


@dataclass(frozen=True)
class Cause:
    """A fault of the platform.

    Attributes:
        name: as in the table.
        reason: what the attempt's end must be attributed to.
        injection: how to cause it.
        waits: what the next attempt waits for while the cause is there, if it does.
    """

    name: str
    reason: str
    injection: Injection
    waits: str = ""


def path_of(pod: Manifest) -> str:
    """Path of a Pod of the grading namespace."""
    return f"{PODS}/{pod['metadata']['name']}"


@contextlib.contextmanager
def deleted(world: World) -> Iterator[Strike]:
    """Somebody deletes the Pod."""
    yield lambda pod: world.api.delete(path_of(pod))


@contextlib.contextmanager
def evicted(world: World) -> Iterator[Strike]:
    """The eviction API is asked, as by `kubectl drain`."""

    def strike(pod: Manifest) -> None:
        eviction = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": pod["metadata"]["name"], "namespace": NAMESPACE},
        }
        world.api.create(f"{path_of(pod)}/eviction", eviction)

    yield strike


@contextlib.contextmanager
def preempted(world: World) -> Iterator[Strike]:
    """A Pod of a higher priority wants the node without grading Pods on it.

    Nothing but the anti-affinity is in its way, so the scheduler has no reason to take another
    victim, whatever else runs on the node.
    """
    world.cluster.apply(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NEIGHBOURS}},
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": PREEMPTOR},
            "value": 1000,
            "description": "For one Pod of the attribution matrix.",
        },
    )
    preemptor = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": PREEMPTOR, "namespace": NEIGHBOURS},
        "spec": {
            "priorityClassName": PREEMPTOR,
            "terminationGracePeriodSeconds": 0,
            "affinity": {
                "podAntiAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": [
                        {
                            "labelSelector": {
                                "matchLabels": {names.LABEL_MANAGED_BY: names.MANAGED_BY}
                            },
                            "namespaces": [NAMESPACE],
                            "topologyKey": "kubernetes.io/hostname",
                        }
                    ]
                }
            },
            "containers": [harmless_container("preemptor")],
        },
    }

    def strike(_pod: Manifest) -> None:
        world.api.create(NEIGHBOURS_PODS, preemptor)

    try:
        yield strike
    finally:
        world.api.delete(f"{NEIGHBOURS_PODS}/{PREEMPTOR}", grace=0)
        world.api.delete(f"{PRIORITIES}/{PREEMPTOR}")


@contextlib.contextmanager
def cordoned(world: World) -> Iterator[Strike]:
    """The node takes no more Pods, and this one is removed by force."""
    nodes = [node["metadata"]["name"] for node in world.api.get(NODES)["items"]]

    def cordon(unschedulable: bool) -> None:
        for name in nodes:
            world.api.patch(f"{NODES}/{name}", {"spec": {"unschedulable": unschedulable}})

    def strike(pod: Manifest) -> None:
        cordon(True)
        world.api.delete(path_of(pod), grace=0)

    try:
        yield strike
    finally:
        cordon(False)


@contextlib.contextmanager
def image_missing(world: World) -> Iterator[None]:
    """The node does not have the suite's image any more, and cannot get it."""
    with world.node.without_image(world.suite_image):
        yield None


@contextlib.contextmanager
def referee_killed(world: World) -> Iterator[Strike]:
    """The referee's process ends by a signal from the node."""
    yield lambda pod: world.node.signal(
        container(pod, names.REFEREE)["containerID"], signal.SIGKILL
    )


@contextlib.contextmanager
def policy_absent(world: World) -> Iterator[None]:
    """Nothing keeps the Pods from the network."""
    before = world.node.policies()
    with world.without(POLICIES, f"{RELEASE}-deny-all"):
        # A Pod that started before the node has noticed would still be cut off, and rightly graded.
        world.node.until(lambda: world.node.policies() < before, "the policy is no longer enforced")
        yield None


def tampered(change: Callable[[str], str | None]) -> Injection:
    """The referee's message is changed between kubelet and API server; None removes it."""

    def mutation(pod: Manifest, subresource: str) -> list[Manifest]:
        found = pod.get("status", {}).get("containerStatuses") or []
        operations: list[Manifest] = []
        for index, status in enumerate(found if subresource == "status" else []):
            message = status["state"].get("terminated", {}).get("message")
            if status["name"] == names.REFEREE and message:
                path = f"/status/containerStatuses/{index}/state/terminated/message"
                changed = change(message)
                operations.append(
                    {"op": "remove", "path": path}
                    if changed is None
                    else {"op": "replace", "path": path, "value": changed}
                )
        return operations

    return hooked(mutation)


def of_another_job(message: str) -> str:
    """The very same result, as another job would have it."""
    return json.dumps(json.loads(message) | {"nonce": "0" * 64})


def of_fewer_tests(message: str) -> str:
    """A result with an outcome less."""
    document = json.loads(message)
    return json.dumps(document | {"outcomes": document["outcomes"][1:]})


def hooked(mutation: Mutation) -> Injection:
    """A webhook changes the first attempt's Pod."""

    @contextlib.contextmanager
    def injection(world: World) -> Iterator[None]:
        with world.webhook(mutation):
            yield None

    return injection


def at_creation(*operations: Manifest) -> Mutation:
    """A mutation of Pods as they are created."""
    return lambda _pod, subresource: [] if subresource else list(operations)


INJECTED_CONTAINER = at_creation(
    {"op": "add", "path": "/spec/containers/-", "value": harmless_container("sidecar")}
)
INJECTED_FIRST_CONTAINER = at_creation(
    {"op": "add", "path": "/spec/initContainers", "value": [harmless_container("first")]}
)
INJECTED_VOLUME = at_creation(
    {"op": "add", "path": "/spec/volumes/-", "value": {"name": "more", "emptyDir": {}}},
    {
        "op": "add",
        "path": "/spec/containers/1/volumeMounts/-",
        "value": {"name": "more", "mountPath": "/more"},
    },
)
HOST_USERS = at_creation({"op": "remove", "path": "/spec/hostUsers"})

CAUSES = [
    Cause("Pod deleted", "PodLost", deleted),
    Cause("Pod evicted through the API", "PodEvicted", evicted),
    Cause("Pod preempted", "PodPreempted", preempted),
    Cause("image missing", "ImagePullFailed", image_missing),
    Cause("referee killed from the node", "RefereeFailed", referee_killed),
    Cause("result truncated", "ResultInvalid", tampered(lambda message: message[:-40])),
    Cause("result of another job", "ResultInvalid", tampered(of_another_job)),
    Cause("result with a test less", "ResultInvalid", tampered(of_fewer_tests)),
    Cause("result removed", "ResultMissing", tampered(lambda _message: None)),
    Cause("network policy absent", "IsolationNotEnforced", policy_absent),
    Cause("container injected", "PodCreationRejected", hooked(INJECTED_CONTAINER)),
    Cause("init container injected", "PodCreationRejected", hooked(INJECTED_FIRST_CONTAINER)),
    Cause("volume injected", "PodCreationRejected", hooked(INJECTED_VOLUME)),
    Cause("user namespace taken away", "PodCreationRejected", hooked(HOST_USERS)),
    Cause("node cordoned, Pod force-removed", "PodLost", cordoned, waits="Unschedulable"),
]
LASTING = [
    "Pod evicted through the API",
    "image missing",
    "result truncated",
    "network policy absent",
    "container injected",
    "referee killed from the node",
]
"""Causes that are also left where they are: those that differ in how the attempt ends."""
