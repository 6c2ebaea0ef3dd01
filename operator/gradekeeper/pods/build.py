"""From job, suite and attempt to a Pod manifest, and back: is that Pod ours?

Pure. docs/protocols.md "Grading Pod" fixes the form. `build_pod` gives the same bytes for the same
arguments in every life of the operator; `pod_mismatch` tells whether an existing Pod of the
expected name is that one, with nothing added; `resource_problems` checks a suite's arithmetic.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any, Final, Literal

from gradekeeper.api.names import (
    API_VERSION,
    JOB_KIND,
    LABEL_ATTEMPT,
    LABEL_JOB,
    LABEL_JOB_UID,
    LABEL_MANAGED_BY,
    LABEL_ROLE,
    LANE,
    MANAGED_BY,
    PART_KEY,
    REFEREE,
    ROLE_GRADING,
    pod_name,
)
from gradekeeper.api.schema import StringMap, dump, mebibytes, millicores
from gradekeeper.api.spec import (
    ContainerResources,
    GradingJobSpec,
    SuiteLimits,
    SuiteResources,
    Toleration,
)
from gradekeeper.referee.bounds import LANE_VOLUME_MIB, referee_needs
from gradekeeper.referee.strictjson import encode_canonical
from gradekeeper.verdicts.statement import SuiteIdentity

Manifest = dict[str, Any]

JOB_SCHEMA: Final = "gradekeeper.job/v1"
JOB_ENV: Final = "GRADEKEEPER_JOB"
REFEREE_UID: Final = 10002
LANE_UID: Final = 10003
FALLBACK_UID_BASE: Final = 100_000
FALLBACK_UID_PAIRS: Final = 1_000_000_000
"""Without user namespaces each Pod takes one of so many pairs of uids, above all usual ones."""
DEVICE_VOLUME_MIB: Final = 1
"""Size of the read-only volumes over `/dev/shm`, `/dev/mqueue` and `/dev/pts`, always empty."""
RUN_OVERHEAD_MIB: Final = 96
"""What a JVM takes beside its heap: metaspace, code, stacks, buffers."""
LANE_OVERHEAD_MIB: Final = 16
"""laned, the probe and the kernel's own share of the lane's memory."""
HOSTNAME: Final = "grading"
"""The same in every Pod: a submission need not learn the name of its job."""
LANED: Final = ("/usr/local/bin/laned", "/lane/laned.sock")

SAFE_TO_EVICT: Final = "cluster-autoscaler.kubernetes.io/safe-to-evict"
"""Asks the cluster autoscaler to leave the node alone while the Pod grades."""

UserNamespaces = Literal["required", "preferred"]


@dataclass(frozen=True, slots=True)
class PodSettings:
    """What an installation says about all its grading Pods.

    Attributes:
        user_namespaces: `required`: Pods get a user namespace or are not graded. `preferred`: where
            there are none, a Pod gets uids of its own instead.
        user_namespaces_available: False puts `preferred` into that fallback.
        service_account: account of the Pods; it needs no rights, and no token is mounted.
        image_pull_policy: `IfNotPresent`, `Always` or `Never`.
        image_pull_secrets: names of Secrets in the Pods' namespace.
        cpu_request_percent: CPU requests as a share of the limits, 1 to 100; below 100 the Pods are
            Burstable and more likely victims of a node out of memory.
        runtime_class_name: for suites that name none.
        priority_class_name: of all Pods, if any.
        node_selector: added to each suite's; the installation's value wins.
        tolerations: added to each suite's.
    """

    user_namespaces: UserNamespaces = "required"
    user_namespaces_available: bool = True
    service_account: str = "default"
    image_pull_policy: Literal["IfNotPresent", "Always", "Never"] = "IfNotPresent"
    image_pull_secrets: tuple[str, ...] = ()
    cpu_request_percent: int = 100
    runtime_class_name: str | None = None
    priority_class_name: str | None = None
    node_selector: StringMap = field(default_factory=dict)
    tolerations: tuple[Toleration, ...] = ()

    def __post_init__(self) -> None:
        """Check the only number."""
        if not 1 <= self.cpu_request_percent <= 100:
            raise ValueError("cpu_request_percent must be between 1 and 100")

    @property
    def host_users_false(self) -> bool:
        """Whether Pods ask for a user namespace."""
        return self.user_namespaces == "required" or self.user_namespaces_available


@dataclass(frozen=True, slots=True)
class ProbeTarget:
    """Where the referee tries to connect, and must not succeed, before it releases a submission.

    Attributes:
        address: an IP address of the operator.
        port: a TCP port that the operator serves throughout.
        deadline_seconds: how long connections may succeed while the policy comes into force.
    """

    address: str
    port: int
    deadline_seconds: int = 20


@dataclass(frozen=True, slots=True)
class FrozenSuite:
    """A suite as admitted: every attempt of every job uses these digests.

    Attributes:
        name: `metadata.name` of the GradingSuite.
        version: the author's version.
        suite_digest: `sha256:…` of the bundle's manifest.
        image: the suite image by digest.
        image_digest: `sha256:…`, the part of `image` after the `@`.
        lane_image: the lane image by digest.
        lane_image_digest: `sha256:…`, the part of `lane_image` after the `@`.
        index_digest: `sha256:…` of the index.
        author_keyid: id of the key that signed the suite.
        resources: of both containers.
        limits: what a submission may use.
        runtime_class_name: the suite's own, if any.
        node_selector: the suite's own.
        tolerations: the suite's own.
        tests: task -> ordered test ids.
        discriminating: task -> indexes of the tests that null must fail.
    """

    name: str
    version: str
    suite_digest: str
    image: str
    image_digest: str
    lane_image: str
    lane_image_digest: str
    index_digest: str
    author_keyid: str
    resources: SuiteResources
    limits: SuiteLimits
    runtime_class_name: str | None = None
    node_selector: StringMap = field(default_factory=dict)
    tolerations: tuple[Toleration, ...] = ()
    tests: Mapping[str, Sequence[str]] = field(default_factory=dict)
    discriminating: Mapping[str, Sequence[int]] = field(default_factory=dict)

    def identity(self) -> SuiteIdentity:
        """The suite as a signed verdict names it."""
        return SuiteIdentity(
            name=self.name,
            version=self.version,
            digest=self.suite_digest,
            image=self.image_digest,
            lane_image=self.lane_image_digest,
            index=self.index_digest,
            author=self.author_keyid,
        )


def build_pod(
    *,
    job_name: str,
    namespace: str,
    job_uid: str,
    spec: GradingJobSpec,
    attempt: int,
    suite: FrozenSuite,
    settings: PodSettings,
    probe: ProbeTarget,
) -> Manifest:
    """The Pod of one attempt.

    Args:
        job_name: `metadata.name` of the job.
        namespace: of the job, and of the Pod.
        job_uid: `metadata.uid` of the job.
        spec: the job's spec; its submission is `configMaps` or `builtin`.
        attempt: number of the attempt, from 1.
        suite: the suite as admitted.
        settings: the installation's.
        probe: where the referee proves that there is no network.

    Raises:
        ValueError: the submission is `untransportable`: there is nothing to grade.
    """
    if spec.submission.untransportable is not None:
        raise ValueError("an untransportable submission is answered without a Pod")
    referee_uid, lane_uid = _uids(job_uid, attempt, settings)
    pod_spec: Manifest = {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 1,
        "serviceAccountName": settings.service_account,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "hostname": HOSTNAME,
        "dnsPolicy": "None",
        "dnsConfig": {"nameservers": ["127.0.0.1"]},
        "securityContext": {
            "runAsNonRoot": True,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [
            _referee(spec, attempt, suite, settings, probe, referee_uid, lane_uid),
            _lane(suite, settings, lane_uid),
        ],
        "volumes": _volumes(spec, suite.limits),
    }
    if settings.host_users_false:
        pod_spec["hostUsers"] = False
    if settings.image_pull_secrets:
        pod_spec["imagePullSecrets"] = [{"name": name} for name in settings.image_pull_secrets]
    if runtime_class := suite.runtime_class_name or settings.runtime_class_name:
        pod_spec["runtimeClassName"] = runtime_class
    if settings.priority_class_name:
        pod_spec["priorityClassName"] = settings.priority_class_name
    if node_selector := {**suite.node_selector, **settings.node_selector}:
        pod_spec["nodeSelector"] = node_selector
    if tolerations := [dump(one) for one in (*suite.tolerations, *settings.tolerations)]:
        pod_spec["tolerations"] = tolerations
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": pod_name(job_name, job_uid, attempt),
            "namespace": namespace,
            "labels": {
                LABEL_MANAGED_BY: MANAGED_BY,
                LABEL_JOB: job_name,
                LABEL_JOB_UID: job_uid,
                LABEL_ATTEMPT: str(attempt),
                LABEL_ROLE: ROLE_GRADING,
            },
            "annotations": {SAFE_TO_EVICT: "false"},
            "ownerReferences": [
                {
                    "apiVersion": API_VERSION,
                    "kind": JOB_KIND,
                    "name": job_name,
                    "uid": job_uid,
                    "controller": True,
                    "blockOwnerDeletion": False,
                }
            ],
        },
        "spec": pod_spec,
    }


def resource_problems(
    limits: SuiteLimits, resources: SuiteResources, *, build_heap_mib: int = 0
) -> list[str]:
    """What is wrong with a suite's arithmetic, one sentence each; empty if nothing is.

    tmpfs pages are charged to the container that writes them, and one allocation over a container's
    limit kills all of it, laned included. So what a submission can reach by honest means has to
    stay below the limit.

    Args:
        limits: the suite's limits.
        resources: the suite's resources.
        build_heap_mib: heap of the compiler in MiB, where known.
    """
    problems = []
    runs = limits.parallel * (limits.heap_mib + RUN_OVERHEAD_MIB)
    shared = limits.scratch_mib + LANE_OVERHEAD_MIB
    lane = mebibytes(resources.lane.memory)
    if lane < runs + shared:
        problems.append(
            f"resources.lane.memory is {lane} MiB, but {limits.parallel} parallel runs of "
            f"{limits.heap_mib} MiB heap and {RUN_OVERHEAD_MIB} MiB beside it, "
            f"{limits.scratch_mib} MiB of scratch and {LANE_OVERHEAD_MIB} MiB for the lane itself "
            f"need {runs + shared} MiB."
        )
    build = build_heap_mib + RUN_OVERHEAD_MIB + shared if build_heap_mib else 0
    if lane < build:
        problems.append(
            f"resources.lane.memory is {lane} MiB, but compiling with {build_heap_mib} MiB of heap "
            f"needs {build} MiB."
        )
    referee = mebibytes(resources.referee.memory)
    needed = referee_needs(limits.parallel)
    if referee < needed:
        problems.append(
            f"resources.referee.memory is {referee} MiB, but the volume that the lane reads, the "
            f"referee itself and what reads {limits.parallel} parallel runs need {needed} MiB."
        )
    if limits.file_mib > limits.scratch_mib:
        problems.append(
            f"limits.fileMiB is {limits.file_mib}, more than the {limits.scratch_mib} MiB of "
            "scratch that files are written to."
        )
    if limits.test_timeout_seconds > limits.suite_timeout_seconds:
        problems.append(
            f"limits.testTimeoutSeconds is {limits.test_timeout_seconds}, more than "
            f"limits.suiteTimeoutSeconds, which is {limits.suite_timeout_seconds}."
        )
    return problems


def pod_mismatch(expected: Manifest, actual: Manifest) -> str | None:
    """Why an existing Pod is not the expected one; None if it is.

    Everything that we set must be there, unchanged. Everything else must be absent, empty, or a
    value that the API server, its own admission plugins or the scheduler put there: listed in
    `_ADDITIONS`. An unknown addition is a mismatch; so are one more container of whatever kind,
    one more volume, mount or variable.

    Args:
        expected: what `build_pod` returns.
        actual: the Pod as the API server shows it.

    Returns:
        One sentence that names the first difference, or None.
    """
    metadata = actual.get("metadata")
    spec = actual.get("spec")
    if not isinstance(metadata, dict) or not isinstance(spec, dict):
        return "The Pod has no metadata or no spec."
    wanted = expected["metadata"]
    for name in ("name", "namespace"):
        if metadata.get(name) != wanted[name]:
            return f"The Pod's {name} is {_shown(metadata.get(name))}."
    for kind in ("labels", "annotations"):
        found = metadata.get(kind) or {}
        for key, value in wanted[kind].items():
            if found.get(key) != value:
                return f"The Pod's metadata.{kind}[{key}] is {_shown(found.get(key))}."
    owners = metadata.get("ownerReferences") or []
    if [_owner(owner) for owner in owners] != [_owner(o) for o in wanted["ownerReferences"]]:
        return "The Pod does not belong to this job alone."
    return _difference("spec", expected["spec"], spec)


def _uids(job_uid: str, attempt: int, settings: PodSettings) -> tuple[int, int]:
    if settings.host_users_false:
        return REFEREE_UID, LANE_UID
    # Two lanes with one uid could signal each other, and would share every limit that counts by
    # user; the name of the attempt picks a pair that no other Pod of the node is likely to have.
    digest = hashlib.sha256(f"{job_uid}/{attempt}".encode()).digest()
    pair = int.from_bytes(digest[:8]) % FALLBACK_UID_PAIRS
    return FALLBACK_UID_BASE + 2 * pair, FALLBACK_UID_BASE + 2 * pair + 1


def _job_document(
    spec: GradingJobSpec,
    attempt: int,
    suite: FrozenSuite,
    settings: PodSettings,
    probe: ProbeTarget,
    lane_uid: int,
) -> Manifest:
    submission: Manifest
    if spec.submission.builtin is not None:
        submission = {"builtin": spec.submission.builtin.value}
    else:
        parts = spec.submission.config_maps or ()
        submission = {
            "digest": spec.submission.digest,
            "parts": [_part_path(index) for index in range(len(parts))],
        }
    return {
        "schema": JOB_SCHEMA,
        "nonce": spec.nonce,
        "attempt": attempt,
        "suite": suite.suite_digest,
        "task": spec.task,
        "parameters": dict(spec.parameters),
        "submission": submission,
        "userNamespaces": settings.user_namespaces,
        "probe": {
            "address": probe.address,
            "port": probe.port,
            "deadlineSeconds": probe.deadline_seconds,
        },
        "laneUid": lane_uid,
    }


def _referee(
    spec: GradingJobSpec,
    attempt: int,
    suite: FrozenSuite,
    settings: PodSettings,
    probe: ProbeTarget,
    uid: int,
    lane_uid: int,
) -> Manifest:
    document = encode_canonical(
        _job_document(spec, attempt, suite, settings, probe, lane_uid)
    ).decode()
    mounts: list[Manifest] = [{"name": "lane", "mountPath": "/lane"}]
    if spec.submission.config_maps is not None:
        mounts.append({"name": "submission", "mountPath": "/submission", "readOnly": True})
    return {
        "name": REFEREE,
        "image": suite.image,
        "imagePullPolicy": settings.image_pull_policy,
        # The kubelet expands $(NAME) in values; $$ stands for a literal dollar.
        "env": [{"name": JOB_ENV, "value": document.replace("$", "$$")}],
        "resources": _resources(suite.resources.referee, settings),
        "securityContext": _security_context(uid),
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "volumeMounts": mounts,
    }


def _lane(suite: FrozenSuite, settings: PodSettings, uid: int) -> Manifest:
    return {
        "name": LANE,
        "image": suite.lane_image,
        "imagePullPolicy": settings.image_pull_policy,
        "command": list(LANED),
        "resources": _resources(suite.resources.lane, settings),
        "securityContext": _security_context(uid),
        # Below a directory that only root may enter: else it is a writable file on the node's disk.
        "terminationMessagePath": "/var/lane/termination",
        "terminationMessagePolicy": "File",
        "volumeMounts": [
            {"name": "lane", "mountPath": "/lane", "readOnly": True},
            {"name": "scratch", "mountPath": "/scratch"},
            {"name": "shm", "mountPath": "/dev/shm", "readOnly": True},  # noqa: S108
            {"name": "mqueue", "mountPath": "/dev/mqueue", "readOnly": True},
            # Over the devpts of the runtime: kernel threads do the work of pseudo-terminals.
            {"name": "pts", "mountPath": "/dev/pts", "readOnly": True},
        ],
    }


def _resources(resources: ContainerResources, settings: PodSettings) -> Manifest:
    limits = {"cpu": resources.cpu, "memory": resources.memory}
    requests = dict(limits)
    if settings.cpu_request_percent < 100:
        request = max(1, millicores(resources.cpu) * settings.cpu_request_percent // 100)
        requests["cpu"] = f"{request}m"
    return {"limits": limits, "requests": requests}


def _security_context(uid: int) -> Manifest:
    return {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
        "runAsGroup": uid,
        "runAsNonRoot": True,
        "runAsUser": uid,
    }


def _volumes(spec: GradingJobSpec, limits: SuiteLimits) -> list[Manifest]:
    sizes = {
        "lane": LANE_VOLUME_MIB,
        "scratch": limits.scratch_mib,
        "shm": DEVICE_VOLUME_MIB,
        "mqueue": DEVICE_VOLUME_MIB,
        "pts": DEVICE_VOLUME_MIB,
    }
    volumes: list[Manifest] = [
        {"name": name, "emptyDir": {"medium": "Memory", "sizeLimit": f"{mib}Mi"}}
        for name, mib in sizes.items()
    ]
    if spec.submission.config_maps is not None:
        volumes.append(
            {
                "name": "submission",
                "projected": {
                    "defaultMode": 0o444,
                    "sources": [
                        {
                            "configMap": {
                                "name": name,
                                "items": [{"key": PART_KEY, "path": _part_path(index)}],
                            }
                        }
                        for index, name in enumerate(spec.submission.config_maps)
                    ],
                },
            }
        )
    return volumes


def _part_path(index: int) -> str:
    return f"part-{index:02d}"


def _owner(reference: object) -> tuple[object, ...]:
    if not isinstance(reference, dict):
        return ()
    return tuple(
        reference.get(name) or False
        for name in ("apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion")
    )


def _is_node_toleration(toleration: object) -> bool:
    return isinstance(toleration, dict) and str(toleration.get("key", "")).startswith(
        "node.kubernetes.io/"
    )


def _anything(_value: object) -> bool:
    return True


_ADDITIONS: Final[Mapping[str, Any]] = {
    # Set by the API server where a field is absent.
    "spec.schedulerName": "default-scheduler",
    "spec.hostUsers": True,
    "spec.containers.resizePolicy": _anything,
    # Set by admission plugins of Kubernetes itself.
    "spec.serviceAccount": _anything,
    "spec.imagePullSecrets": _anything,
    "spec.priority": _anything,
    "spec.priorityClassName": _anything,
    "spec.preemptionPolicy": _anything,
    "spec.overhead": _anything,
    "spec.tolerations": lambda value: all(map(_is_node_toleration, value)),
    "spec.containers.resources.limits.ephemeral-storage": _anything,
    "spec.containers.resources.requests.ephemeral-storage": _anything,
    # Set by the scheduler.
    "spec.nodeName": _anything,
}
"""Path -> value, or test of the value, of what others may add. `serviceAccount` is only the old
name of `serviceAccountName`, which is compared; ephemeral storage is a LimitRange's default."""

_NAMED_LISTS: Final = {
    "spec.containers",
    "spec.volumes",
    "spec.containers.env",
    "spec.containers.volumeMounts",
}


def _difference(path: str, expected: object, actual: object, shown: str = "") -> str | None:
    """First difference below a path; `shown` is the path with the names of list elements."""
    shown = shown or path
    if isinstance(expected, dict) and isinstance(actual, dict):
        return _dict_difference(path, expected, actual, shown)
    if isinstance(expected, list) and isinstance(actual, list):
        return _list_difference(path, expected, actual, shown)
    if path == "spec.containers.imagePullPolicy" and actual == "Always":
        return None  # the plugin AlwaysPullImages; never less strict than what we asked for
    if path.startswith("spec.containers.resources.") or path.endswith(".sizeLimit"):
        if _quantity(expected) == _quantity(actual) is not None:
            return None
    elif type(expected) is type(actual) and expected == actual:
        return None
    return f"The Pod's {shown} is {_shown(actual)} instead of {_shown(expected)}."


def _dict_difference(path: str, expected: Manifest, actual: Manifest, shown: str) -> str | None:
    for key, value in expected.items():
        if key not in actual:
            return f"The Pod's {shown}.{key} is missing."
        found = _difference(f"{path}.{key}", value, actual[key], f"{shown}.{key}")
        if found:
            return found
    for key, value in actual.items():
        # 0 is a value, not an absence: it is also the uid of root.
        if key in expected or value is None or value is False or value in ("", [], {}):
            continue
        allowed = _ADDITIONS.get(f"{path}.{key}")
        if allowed is None or not (allowed(value) if callable(allowed) else allowed == value):
            return f"The Pod's {shown}.{key} was added: {_shown(value)}."
    return None


def _list_difference(path: str, expected: list[Any], actual: list[Any], shown: str) -> str | None:
    if path == "spec.tolerations":
        extra = [one for one in actual if one not in expected]
        missing = [one for one in expected if one not in actual]
        if missing or not all(map(_is_node_toleration, extra)):
            return f"The Pod's {shown} are {_shown(actual)} instead of {_shown(expected)}."
        return None
    if path in _NAMED_LISTS:
        names = [_name(one) for one in expected]
        found_names = [_name(one) for one in actual]
        if names != found_names:
            return f"The Pod's {shown} are {_shown(found_names)} instead of {_shown(names)}."
    elif len(expected) != len(actual):
        return f"The Pod's {shown} is {_shown(actual)} instead of {_shown(expected)}."
    for index, (one, other) in enumerate(zip(expected, actual, strict=True)):
        label = _name(one) if path in _NAMED_LISTS else index
        found = _difference(path, one, other, f"{shown}[{label}]")
        if found:
            return found
    return None


def _name(element: object) -> object:
    return element.get("name") if isinstance(element, dict) else element


_SUFFIXES: Final = {
    "m": Decimal("0.001"),
    "": Decimal(1),
    "k": Decimal(10**3),
    "M": Decimal(10**6),
    "G": Decimal(10**9),
    "T": Decimal(10**12),
    "Ki": Decimal(2**10),
    "Mi": Decimal(2**20),
    "Gi": Decimal(2**30),
    "Ti": Decimal(2**40),
}


def _quantity(value: object) -> Decimal | None:
    """A Kubernetes quantity as a number; the API server rewrites 1024Mi as 1Gi."""
    text = str(value)
    digits = text.rstrip("kKMGTim")
    factor = _SUFFIXES.get(text[len(digits) :])
    if factor is None:
        return None
    try:
        number = Decimal(digits)
    except InvalidOperation:
        return None
    return number * factor if number.is_finite() else None


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 200 else text[:197] + "..."
