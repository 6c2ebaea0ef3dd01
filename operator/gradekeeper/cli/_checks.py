"""The checks of `gradekeeper doctor`: pure functions from what the API server said to a finding.

A check never guesses: what may not be read is a warning that says so, not an `ok`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

RESTRICTED: Final = "restricted"
ENFORCE: Final = "pod-security.kubernetes.io/enforce"
OLDEST_SERVER: Final = (1, 30)
"""ValidatingAdmissionPolicy is stable from here on."""
USER_NAMESPACES_SERVER: Final = (1, 33)
"""From here on the API server admits `hostUsers: false` without a feature gate."""
CLOCK_FINE: Final = 2.0
CLOCK_BAD: Final = 30.0
SUBMITTER_RIGHTS: Final = (
    ("gradekeeper.dev", "gradingjobs", "create"),
    ("gradekeeper.dev", "gradingjobs", "get"),
    ("gradekeeper.dev", "gradingjobs", "list"),
    ("gradekeeper.dev", "gradingjobs", "watch"),
    ("", "configmaps", "create"),
    ("", "configmaps", "get"),
)
"""API group, resource and verb of all that a client does."""
_OURS: Final = "only the gradekeeper operator"
"""In the message of the chart's admission policy."""


class State(StrEnum):
    """How a check ended."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"


@dataclass(frozen=True)
class Check:
    """One finding.

    Attributes:
        name: what was looked at.
        state: how it is.
        sentence: what was found.
        todo: what to do; "" if nothing.
    """

    name: str
    state: State
    sentence: str
    todo: str = ""


@dataclass(frozen=True)
class Seen:
    """What the API server answered.

    Attributes:
        object: the object; None if there is none.
        status: HTTP status; 0 without an answer.
        said: the server's own words where it refused.
    """

    object: Mapping[str, Any] | None
    status: int = 200
    said: str = ""

    @property
    def items(self) -> list[Mapping[str, Any]]:
        """The items of a list; none if it could not be read."""
        return list((self.object or {}).get("items") or ())


def not_readable(name: str, what: str, seen: Seen) -> Check:
    """The finding about something that may not be read."""
    why = "you may not read it" if seen.status == 403 else f"it cannot be read ({seen.said})"
    return Check(
        name, State.WARNING, f"{what}: {why}.", "Run doctor as an administrator of the cluster."
    )


def check_server(seen: Seen) -> Check:
    """Whether the API server answers and is new enough."""
    name = "API server"
    if seen.object is None:
        return Check(name, State.FAILED, seen.said, "Check the kubeconfig and its context.")
    version = str(seen.object.get("gitVersion", "?"))
    if server_version(seen) < OLDEST_SERVER:
        return Check(
            name,
            State.FAILED,
            f"Kubernetes {version} answers, which is too old.",
            f"Use Kubernetes {'.'.join(map(str, OLDEST_SERVER))} or newer.",
        )
    return Check(name, State.OK, f"Kubernetes {version} answers.")


def server_version(seen: Seen) -> tuple[int, int]:
    """Major and minor version; (0, 0) if unknown."""
    found = re.match(r"v(\d+)\.(\d+)", str((seen.object or {}).get("gitVersion", "")))
    return (int(found[1]), int(found[2])) if found else (0, 0)


def check_clock(skew: float | None) -> Check:
    """Whether this machine and the API server agree on the time.

    Args:
        skew: seconds by which the server is ahead; None if it gave no date.
    """
    name = "clock"
    if skew is None:
        return Check(name, State.WARNING, "The API server's answers have no date.")
    where = "ahead of" if skew > 0 else "behind"
    sentence = f"The API server is {abs(skew):.1f} s {where} this machine."
    if abs(skew) <= CLOCK_FINE:
        return Check(name, State.OK, sentence)
    state = State.WARNING if abs(skew) <= CLOCK_BAD else State.FAILED
    return Check(name, state, sentence, "Synchronise clocks (NTP): here, and on all nodes.")


def check_crd(seen: Seen, built: Mapping[str, Any]) -> Check:
    """Whether a CRD is installed, served, and the one of this program.

    Args:
        seen: the installed CustomResourceDefinition.
        built: the one that this program's models give.
    """
    plural = str(built["spec"]["names"]["plural"])
    name = f"CRD {plural}"
    apply = "Apply the chart's CRDs: kubectl apply --server-side -f charts/gradekeeper/crds."
    if seen.status == 404:
        return Check(name, State.FAILED, "It is not installed.", apply)
    if seen.object is None:
        return not_readable(name, "The definition", seen)
    conditions = {one["type"]: one["status"] for one in _status(seen.object, "conditions")}
    if conditions.get("Established") != "True":
        return Check(name, State.FAILED, "It is installed, but not established.", apply)
    wanted = {one["name"]: one["schema"] for one in built["spec"]["versions"]}
    found = {one["name"]: one.get("schema") for one in seen.object["spec"]["versions"]}
    for version, schema in wanted.items():
        if version not in found:
            return Check(name, State.FAILED, f"It does not have the version {version}.", apply)
        if found[version] != schema:
            return Check(
                name,
                State.WARNING,
                f"Its schema of {version} is not that of this program.",
                f"Use the gradekeeper command of the installed version, or upgrade. {apply}",
            )
    return Check(name, State.OK, "It is installed and current.")


def check_operator(deployments: Seen, version: str) -> Check:
    """Whether one operator is available.

    Args:
        deployments: those with the operator's labels.
        version: of this program.
    """
    name = "operator"
    if deployments.object is None:
        return not_readable(name, "Its Deployment", deployments)
    found = deployments.items
    if not found:
        return Check(
            name,
            State.FAILED,
            "No Deployment has the label app.kubernetes.io/name=gradekeeper.",
            "Install the chart, or name its namespace with --system-namespace.",
        )
    if len(found) > 1:
        places = ", ".join(sorted(f"{_space(one)}/{_name(one)}" for one in found))
        return Check(
            name,
            State.WARNING,
            f"There are {len(found)}: {places}.",
            "Two operators must not serve one namespace; choose one with --system-namespace.",
        )
    [one] = found
    where = f"{_space(one)}/{_name(one)}"
    if not (one.get("status") or {}).get("availableReplicas"):
        return Check(
            name,
            State.FAILED,
            f"{where} has no available replica.",
            f"kubectl -n {_space(one)} describe deployment {_name(one)}, and its Pods' logs.",
        )
    installed = (one["metadata"].get("labels") or {}).get("app.kubernetes.io/version", "unknown")
    if installed != version:
        return Check(
            name,
            State.WARNING,
            f"{where} is available; it is version {installed}, this program {version}.",
            "Use the same version of both.",
        )
    return Check(name, State.OK, f"{where} is available, version {installed}.")


def check_health(seen: Seen) -> Check:
    """Whether the operator's own heartbeat is well."""
    name = "heartbeat"
    logs = "Read the operator's log; it is restarted by itself if this lasts."
    if seen.status == 403:
        return not_readable(name, "The operator's /healthz (through the API server)", seen)
    if seen.object is None:
        return Check(
            name, State.FAILED, f"The operator says that it is not well: {seen.said}", logs
        )
    ages = (
        f"last complete list {seen.object.get('relistAgeSeconds', '?')} s ago,"
        f" oldest work {seen.object.get('oldestKeyAgeSeconds', '?')} s,"
        f" event loop {seen.object.get('loopLagSeconds', '?')} s late"
    )
    if seen.object.get("alive") is not True:
        return Check(name, State.FAILED, f"The operator is stuck: {ages}.", logs)
    if seen.object.get("synced") is not True:
        return Check(name, State.WARNING, f"The operator is still starting: {ages}.", "Wait.")
    return Check(name, State.OK, f"The operator is alive: {ages}.")


def check_verdict_key(seen: Seen) -> Check:
    """Whether the key that verdicts are verified with is published."""
    from gradekeeper.verdicts.signing import KeyInvalid, public_keyid

    name = "verdict key"
    todo = "The operator's init container signing-key publishes it; read that container's log."
    if seen.status == 404:
        return Check(name, State.FAILED, "Its ConfigMap does not exist.", todo)
    if seen.object is None:
        return not_readable(name, "Its ConfigMap", seen)
    pem = (seen.object.get("data") or {}).get("verdict.pub")
    if pem is None:
        return Check(name, State.FAILED, "Its ConfigMap has no verdict.pub.", todo)
    try:
        keyid = public_keyid(str(pem).encode())
    except KeyInvalid as error:
        return Check(name, State.FAILED, f"verdict.pub is no key: {error}", todo)
    return Check(name, State.OK, f"Verdicts are signed with the key {keyid[:16]}….")


def check_namespace(namespace: str, seen: Seen) -> Check:
    """Whether a grading namespace enforces the restricted Pod Security Standard."""
    name = f"{namespace}: Pod Security"
    todo = f"kubectl label namespace {namespace} {ENFORCE}={RESTRICTED}"
    if seen.status == 404:
        return Check(
            name, State.FAILED, "The namespace does not exist.", "Install the chart, or create it."
        )
    if seen.object is None:
        return not_readable(name, "The namespace", seen)
    level = (seen.object["metadata"].get("labels") or {}).get(ENFORCE)
    if level != RESTRICTED:
        return Check(name, State.FAILED, f"It enforces {level or 'nothing'}.", todo)
    return Check(name, State.OK, "It enforces the restricted standard.")


def check_policies(namespace: str, seen: Seen) -> Check:
    """Whether a NetworkPolicy denies everything to every Pod, and none allows anything."""
    name = f"{namespace}: NetworkPolicies"
    todo = "Install the chart with `networkPolicy.enabled: true`."
    if seen.object is None:
        return not_readable(name, "NetworkPolicies", seen)
    denying = [one for one in seen.items if _denies_all(one["spec"])]
    allowing = [_name(one) for one in seen.items if _allows(one["spec"])]
    if not denying:
        return Check(name, State.FAILED, "None denies all traffic of all Pods.", todo)
    if allowing:
        return Check(
            name,
            State.FAILED,
            f"Policies add up, and these allow traffic: {', '.join(sorted(allowing))}.",
            "Remove them: grading Pods talk to nobody.",
        )
    return Check(
        name,
        State.OK,
        f"{_name(denying[0])} denies all traffic; whether it is enforced only --probe can tell.",
    )


def _denies_all(spec: Mapping[str, Any]) -> bool:
    everybody = not any((spec.get("podSelector") or {}).values())
    return everybody and {"Ingress", "Egress"} <= set(spec.get("policyTypes") or ())


def _allows(spec: Mapping[str, Any]) -> bool:
    return bool(spec.get("ingress") or spec.get("egress"))


def check_pod_creation(namespace: str, dry_run: Seen) -> Check:
    """Whether people can create Pods beside grading Pods.

    Args:
        namespace: a grading namespace.
        dry_run: the answer to a dry run of creating a Pod there as this user.
    """
    name = f"{namespace}: foreign Pods"
    todo = "Install the chart with `grading.restrictPodCreation: true`."
    if dry_run.object is not None:
        return Check(name, State.FAILED, "You could create a Pod beside grading Pods.", todo)
    if _OURS in dry_run.said:
        return Check(name, State.OK, "The admission policy refuses Pods that are not ours.")
    if dry_run.status == 403:
        return Check(
            name,
            State.WARNING,
            "You may not create Pods there, so whether others may was not seen.",
            f"Run doctor as an administrator. {todo}",
        )
    return Check(name, State.WARNING, f"The dry run of a Pod did not tell: {dry_run.said}", todo)


def check_rights(namespace: str, reviews: Mapping[tuple[str, str, str], bool | None]) -> Check:
    """Whether this user may do what a client does.

    Args:
        namespace: a grading namespace.
        reviews: one of `SUBMITTER_RIGHTS` → allowed; None if the server did not answer.
    """
    name = f"{namespace}: your rights"
    if None in reviews.values():
        return Check(name, State.WARNING, "The server does not review your rights.")
    lacking = [
        f"{verb} {resource}" for (_, resource, verb), allowed in reviews.items() if not allowed
    ]
    if lacking:
        return Check(
            name,
            State.WARNING,
            f"You cannot submit here; you lack: {', '.join(lacking)}.",
            "List yourself under the chart's `submitters`, or have its submitter role bound.",
        )
    return Check(name, State.OK, "You may submit jobs and their parts.")


def check_suites(namespace: str, seen: Seen) -> Check:
    """Whether at least one suite is Ready."""
    name = f"{namespace}: suites"
    if seen.object is None:
        return not_readable(name, "Suites", seen)
    ready = ready_suites(seen)
    if not seen.items:
        return Check(name, State.WARNING, "There is none.", "Publish one: docs/write-a-suite.md.")
    waiting = sorted({_name(one) for one in seen.items} - set(ready))
    if waiting:
        return Check(
            name,
            State.WARNING,
            f"{len(ready)} of {len(seen.items)} are Ready; not: {', '.join(waiting)}.",
            f"kubectl -n {namespace} describe gradingsuite {waiting[0]}",
        )
    return Check(name, State.OK, f"Ready: {', '.join(ready)}.")


def ready_suites(seen: Seen) -> list[str]:
    """Names of the suites that are Ready, sorted."""
    return sorted(
        _name(one)
        for one in seen.items
        if any(
            condition["type"] == "Ready" and condition["status"] == "True"
            for condition in _status(one, "conditions")
        )
    )


def check_user_namespaces(server: Seen, nodes: Seen, mode: str) -> Check:
    """Whether nodes can give each Pod a user namespace.

    Args:
        server: its version.
        nodes: all nodes.
        mode: `required` or `preferred`, as installed; "" if unknown.
    """
    name = "user namespaces"
    bad = State.WARNING if mode == "preferred" else State.FAILED
    if server_version(server) < USER_NAMESPACES_SERVER:
        return Check(
            name,
            State.WARNING,
            "This Kubernetes has them only behind the feature gate UserNamespacesSupport.",
            "Turn the gate on, or upgrade to 1.33; see --probe for what Pods really get.",
        )
    if nodes.object is None:
        return not_readable(name, "Nodes", nodes)
    lacking = [_name(node) for node in nodes.items if not _node_has_user_namespaces(node)]
    if lacking:
        return Check(
            name,
            bad,
            f"The container runtime of these nodes does not report them: {', '.join(lacking)}.",
            "Use Linux 6.3 or newer with containerd 2 or CRI-O 1.25, or install with"
            " `grading.userNamespaces: preferred`.",
        )
    return Check(name, State.OK, f"All {len(nodes.items)} nodes report them.")


def _node_has_user_namespaces(node: Mapping[str, Any]) -> bool:
    handlers = _status(node, "runtimeHandlers")
    default = [one for one in handlers if not one.get("name")] or handlers
    return any((one.get("features") or {}).get("userNamespaces") is True for one in default)


def check_kubelet(node: str, configz: Seen, cgroup_version: int | None) -> list[Check]:
    """What a kubelet's own configuration and metrics tell.

    Args:
        node: its name.
        configz: `/configz` of the kubelet, through the API server.
        cgroup_version: from its metrics; None if not told.
    """
    checks = []
    name = f"{node}: process limit"
    if configz.object is None:
        checks.append(not_readable(name, "The kubelet's configuration", configz))
    else:
        limit = (configz.object.get("kubeletconfig") or {}).get("podPidsLimit", -1)
        if isinstance(limit, int) and limit > 0:
            checks.append(Check(name, State.OK, f"A Pod may have {limit} processes."))
        else:
            checks.append(
                Check(
                    name,
                    State.WARNING,
                    "A Pod may have any number of processes; only the suite's own limit holds.",
                    "Set podPidsLimit in the kubelet's configuration, to 4096 for instance.",
                )
            )
    name = f"{node}: cgroups"
    if cgroup_version is None:
        checks.append(
            Check(
                name,
                State.WARNING,
                "The kubelet's metrics do not tell the version.",
                "Make sure that nodes use cgroup v2 (stat -fc %T /sys/fs/cgroup: cgroup2fs).",
            )
        )
    elif cgroup_version == 2:
        checks.append(Check(name, State.OK, "Version 2."))
    else:
        checks.append(
            Check(
                name,
                State.WARNING,
                f"Version {cgroup_version}: one process out of memory leaves the others running.",
                "Boot the node with cgroup v2.",
            )
        )
    return checks


def check_probe(namespace: str, facts: Mapping[str, Any] | None, said: str, mode: str) -> Check:
    """What a real grading Pod saw.

    Args:
        namespace: where it ran.
        facts: the isolation facts of its signed verdict; None if there is none.
        said: the verdict or the error, in one line.
        mode: `required` or `preferred`, as installed; "" if unknown.
    """
    name = f"{namespace}: probe"
    if facts is None:
        return Check(name, State.FAILED, said, "gradekeeper explain tells more about the job.")
    wrong = []
    if facts.get("network") != "denied":
        wrong.append("the network was reachable")
    if facts.get("userNamespace") is not True and mode != "preferred":
        wrong.append("there was no user namespace")
    if wrong:
        return Check(name, State.FAILED, f"In a grading Pod {' and '.join(wrong)}.", said)
    own = "with" if facts.get("userNamespace") is True else "WITHOUT"
    return Check(
        name,
        State.OK,
        f"A grading Pod had no network (policies are enforced) and ran {own} a user namespace of"
        f" its own, QoS class {facts.get('qosClass', 'unknown')}. {said}",
    )


def worst(checks: Iterable[Check]) -> State:
    """The worst state among them."""
    states: Sequence[State] = [check.state for check in checks]
    return next((one for one in (State.FAILED, State.WARNING) if one in states), State.OK)


def _status(obj: Mapping[str, Any], field: str) -> list[Mapping[str, Any]]:
    return list((obj.get("status") or {}).get(field) or ())


def _name(obj: Mapping[str, Any]) -> str:
    return str(obj["metadata"]["name"])


def _space(obj: Mapping[str, Any]) -> str:
    return str(obj["metadata"].get("namespace", ""))
