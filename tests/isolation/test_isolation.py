"""Each hardening of a grading Pod, switched off alone on a real node: nothing is graded then.

A Pod as the builder makes it is graded, so it is the one change that each test makes that is seen.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import pytest

from gradekeeper.api.reasons import Reason
from gradekeeper.pods.classify import PodFailed, PodFinished
from gradekeeper.referee.isolation import DENIED, FOREIGN, X86_CALLS, sentence
from isolation.stand import FALLBACK, Ended, Manifest, Stand, opened

pytestmark = pytest.mark.cluster

AT_A_TIME = 4
POD_NETWORK = "The Pod reaches the operator: no network policy holds."


@dataclass(frozen=True)
class Case:
    """One hardening that is off.

    Attributes:
        change: switches it off in a manifest.
        facts: what the message names, in its order; or the whole message.
        options: of `Stand.run`.
    """

    change: Callable[[Manifest], object]
    facts: tuple[str, ...] | str
    options: dict[str, Any] = field(default_factory=dict)


def lane(pod: Manifest) -> Manifest:
    found: Manifest = pod["spec"]["containers"][1]
    assert found["name"] == "lane"
    return found


def secure(**changes: Any) -> Callable[[Manifest], object]:
    """Changes the lane's security context."""
    return lambda pod: lane(pod)["securityContext"].update(changes)


def spec(**changes: Any) -> Callable[[Manifest], object]:
    """Changes the Pod's spec."""
    return lambda pod: pod["spec"].update(changes)


def mount(name: str, **changes: Any) -> Callable[[Manifest], object]:
    """Changes one of the lane's mounts."""

    def change(pod: Manifest) -> None:
        (found,) = [one for one in lane(pod)["volumeMounts"] if one["name"] == name]
        found.update(changes)

    return change


def without_mount(name: str) -> Callable[[Manifest], object]:
    """Takes a mount of the lane away: what the runtime puts there shows."""

    def change(pod: Manifest) -> None:
        mounts = lane(pod)["volumeMounts"]
        mounts.remove(next(one for one in mounts if one["name"] == name))

    return change


def extra_volume(pod: Manifest) -> None:
    pod["spec"]["volumes"].append({"name": "extra", "emptyDir": {"medium": "Memory"}})
    lane(pod)["volumeMounts"].append({"name": "extra", "mountPath": "/extra"})


def root(pod: Manifest) -> None:
    pod["spec"]["securityContext"]["runAsNonRoot"] = False
    secure(runAsNonRoot=False, runAsUser=0, runAsGroup=0)(pod)


def same_uid_everywhere(pod: Manifest) -> None:
    """As a builder would that gave both containers one uid: the job agrees with the Pod."""
    secure(runAsUser=10002, runAsGroup=10002)(pod)
    (variable,) = pod["spec"]["containers"][0]["env"]
    changed = variable["value"].replace('"laneUid":10003', '"laneUid":10002')
    assert changed != variable["value"]
    variable["value"] = changed


def nothing(_pod: Manifest) -> None:
    pass


SHARED_PIDS = ("its process namespace is shared",)
# The API server takes a host's namespaces only without a user namespace of the Pod's own.
IN_FALLBACK = {"settings": FALLBACK}

CASES: dict[str, Case] = {
    "root": Case(root, ("uid", "gid", "groups")),
    "writable-root": Case(
        secure(readOnlyRootFilesystem=False),
        ("root_readonly", "/tmp is writable", "another place is writable"),
    ),
    "capability": Case(
        secure(capabilities={"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]}), ("cap_bnd",)
    ),
    "seccomp-unconfined": Case(
        secure(seccompProfile={"type": "Unconfined"}), ("the runtime has no seccomp filter",)
    ),
    "token": Case(spec(automountServiceAccountToken=True), ("token",)),
    "host-users": Case(spec(hostUsers=True), ("no user namespace",)),
    "no-policy": Case(nothing, POD_NETWORK, {"policy": False, "deadline_seconds": 4}),
    "shm-writable": Case(mount("shm", readOnly=False), ("/dev/shm is writable",)),
    "shm-of-the-runtime": Case(without_mount("shm"), ("/dev/shm is writable",)),
    "mqueue-writable": Case(mount("mqueue", readOnly=False), ("/dev/mqueue is writable",)),
    "mqueue-of-the-runtime": Case(without_mount("mqueue"), ("/dev/mqueue is writable",)),
    "pts-writable": Case(mount("pts", readOnly=False), ("/dev/pts is writable",)),
    "pts-of-the-runtime": Case(
        without_mount("pts"),
        ("another place is writable", "its devices are others", "ptmx can be opened"),
    ),
    "no-core-limit": Case(
        nothing, ("a crash reaches the node's core handler",), {"lane_image": "uncapped"}
    ),
    "no-filter": Case(
        nothing,
        (
            "socket_inet is not denied",
            "socket_inet6 is not denied",
            "socket_inet_udp is not denied",
        ),
        {"lane_image": "unfiltered"},
    ),
    "shared-processes": Case(spec(shareProcessNamespace=True), SHARED_PIDS),
    "privilege-escalation": Case(
        secure(allowPrivilegeEscalation=True), ("privilege escalation is allowed",)
    ),
    "host-pid": Case(spec(hostPID=True), SHARED_PIDS, IN_FALLBACK),
    "host-ipc": Case(spec(hostIPC=True), ("the IPC namespace is the machine's",), IN_FALLBACK),
    "host-network": Case(
        spec(hostNetwork=True), POD_NETWORK, {**IN_FALLBACK, "deadline_seconds": 4}
    ),
    "same-uid": Case(secure(runAsUser=10002, runAsGroup=10002), ("uid", "gid", "groups")),
    "same-uid-agreed": Case(same_uid_everywhere, ("it has the referee's uid",)),
    "another-group": Case(
        lambda pod: pod["spec"]["securityContext"].update(supplementalGroups=[4321]), ("groups",)
    ),
    "extra-volume": Case(extra_volume, ("another place is writable",)),
    "lane-volume-writable": Case(mount("lane", readOnly=False), ("/lane is writable",)),
    "termination-message": Case(
        lambda pod: lane(pod).update(terminationMessagePath="/dev/termination-log"),
        ("/dev/termination-log is writable",),
    ),
}
CONTROLS: dict[str, Case] = {
    "unchanged": Case(nothing, ()),
    "unchanged-fallback": Case(nothing, (), IN_FALLBACK),
    "bare-lane": Case(nothing, (), {"lane_image": "bare"}),
}


@pytest.fixture(scope="session")
def ended(request: pytest.FixtureRequest) -> Iterator[dict[str, Future[Ended]]]:
    """Every Pod that a selected test asks about, a few at a time."""
    wanted = [
        item.callspec.params["name"]
        for item in request.session.items
        if "ended" in getattr(item, "fixturenames", ()) and hasattr(item, "callspec")
    ]
    with opened() as stand, ThreadPoolExecutor(AT_A_TIME) as pool:
        yield {name: pool.submit(start, stand, name) for name in wanted}
        pool.shutdown(cancel_futures=True)


def start(stand: Stand, name: str) -> Ended:
    case = {**CASES, **CONTROLS}[name]
    options = dict(case.options)
    if "lane_image" in options:
        options["lane_image"] = stand.lanes[options["lane_image"]]
    return stand.run(name, case.change, **options)


@pytest.mark.parametrize("name", CASES)
def test_without_it_nothing_is_graded(ended: dict[str, Future[Ended]], name: str) -> None:
    if name == "host-ipc" and os.environ.get("GRADEKEEPER_CONTEXT"):
        pytest.skip("the node of a named context may be a container, without the machine's own IPC")
    found = ended[name].result(timeout=240).observation
    assert isinstance(found, PodFailed), found
    assert found.reason is Reason.ISOLATION_NOT_ENFORCED, found
    assert found.result is not None and found.result.outcomes is None
    facts = CASES[name].facts
    if isinstance(facts, str):
        assert found.message == facts
        assert found.result.isolation is not None
        assert found.result.isolation["network"] == "reachable"
    else:
        named = re.escape(sentence(facts).removesuffix("."))
        assert re.fullmatch(rf"{named}( and \d+ more)?\.", found.message), found.message


@pytest.mark.parametrize("name", ["unchanged", "unchanged-fallback"])
def test_the_pod_as_it_is_built_is_graded(ended: dict[str, Future[Ended]], name: str) -> None:
    done = ended[name].result(timeout=240)
    found = done.observation
    assert isinstance(found, PodFinished), found
    assert (found.result.reason, found.result.outcomes) == ("Completed", "P")
    facts = dict(found.result.isolation or {})
    answer, probed_at = facts.pop("networkAnswer"), facts.pop("probedAt")
    assert answer in ("ETIMEDOUT", "ECONNREFUSED", "EHOSTUNREACH")
    assert isinstance(probed_at, float)
    uid = lane(done.pod)["securityContext"]["runAsUser"]
    assert (uid == 10003) == (name == "unchanged")
    foreign = len(X86_CALLS) + len(FOREIGN) if os.uname().machine == "x86_64" else 0
    assert facts == {
        "profile": "pod",
        "uid": uid,
        "userNamespace": name == "unchanged",
        "noNewPrivileges": True,
        "seccomp": True,
        "capabilities": False,
        "rootReadonly": True,
        "token": False,
        "terminals": False,
        "coreHandler": False,
        "deniedCalls": len(DENIED) + foreign,
        "network": "denied",
    }


@pytest.mark.parametrize("name", ["bare-lane"])
def test_the_lane_of_the_missing_filter_is_otherwise_right(
    ended: dict[str, Future[Ended]], name: str
) -> None:
    """It has no compiler, so what passes its probe cannot compile."""
    found = ended[name].result(timeout=240).observation
    assert isinstance(found, PodFinished), found
    assert (found.result.reason, found.result.outcomes) == ("DoesNotCompile", "N")
