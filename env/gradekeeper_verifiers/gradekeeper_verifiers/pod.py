"""Build the Pod of a box. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from gradekeeper_verifiers.status import CONTAINER

if TYPE_CHECKING:
    from gradekeeper_verifiers.config import KubernetesConfig

Manifest = dict[str, Any]

MANAGED_BY: Final = "gradekeeper-verifiers"
LABEL_MANAGED_BY: Final = "app.kubernetes.io/managed-by"
LABEL_RUN: Final = "gradekeeper.dev/run"
"""Which run the box belongs to: `VF_RUN_ID`, made fit for a label."""
LABEL_BOX: Final = "gradekeeper.dev/box"
"""The box's own name, so that a NetworkPolicy selects it and nothing else."""
ANNOTATION_ROLLOUT: Final = "gradekeeper.dev/rollout"
ANNOTATION_HOST: Final = "gradekeeper.dev/owner-host"
ANNOTATION_PROCESS: Final = "gradekeeper.dev/owner-process"

DEFAULT_WORKDIR: Final = "/workspace"
STATE_DIRECTORY: Final = "/tmp/.gradekeeper"  # noqa: S108 - in the box, which is the agent's alone
"""Where process ids and scripts of the runtime lie in the box."""

# The kernel shields a first process from the signals of its box that it does not handle; a shell
# handles interrupts. So an agent cannot end its box with `kill 1` to get away from its result.
_IDLE: Final = 'trap "" HUP INT QUIT TERM; while :; do sleep 3600 & wait; done'


@dataclass(frozen=True, slots=True)
class Owner:
    """The process that made a box.

    Attributes:
        host: Its host's name.
        process: `<pid>-<start time in clock ticks>`, which no later process of the host has again.
    """

    host: str
    process: str


def label_value(text: str) -> str:
    """Make any text fit for a label's value; the empty text becomes `none`."""
    fit = re.sub(r"[^A-Za-z0-9._-]+", "-", text)[:63].strip("-._")
    return fit or "none"


def build_pod(
    config: KubernetesConfig, *, name: str, run: str, rollout: str, owner: Owner
) -> Manifest:
    """Build the Pod of one box: restricted, without a token, in user namespaces, ended by itself.

    Args:
        config: The settings; `workdir` must be set.
        name: Name of Pod and box.
        run: Run id, any text.
        rollout: The rollout's id, any text.
        owner: The process that will delete it.
    """
    workdir = config.workdir or DEFAULT_WORKDIR
    memory, disk = (f"{int(gigabytes * 1024)}Mi" for gigabytes in (config.memory, config.disk))
    cpu = _millicores(config.cpu)
    mounts: list[Manifest] = [{"name": "tmp", "mountPath": "/tmp"}]  # noqa: S108
    if not config.writable_root:
        mounts.append({"name": "workdir", "mountPath": workdir})
    volumes: list[Manifest] = [{"name": mount["name"], "emptyDir": {}} for mount in mounts]
    if not config.terminals:
        mounts.append({"name": "pts", "mountPath": "/dev/pts", "readOnly": True})
        volumes.append({"name": "pts", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}})
    spec: Manifest = {
        "restartPolicy": "Never",
        "activeDeadlineSeconds": config.max_lifetime,
        "terminationGracePeriodSeconds": 1,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "hostUsers": not config.user_namespaces,
        "hostname": "box",
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": config.uid,
            "runAsGroup": config.uid,
            "fsGroup": config.uid,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [
            {
                "name": CONTAINER,
                "image": config.image,
                "imagePullPolicy": config.image_pull_policy,
                "command": ["sh", "-c", _IDLE],
                "env": [{"name": "HOME", "value": "/tmp"}],  # noqa: S108
                "resources": {
                    "limits": {"cpu": cpu, "memory": memory, "ephemeral-storage": disk},
                    "requests": {
                        "cpu": _millicores(min(config.cpu_request or config.cpu, config.cpu)),
                        "memory": memory,
                        "ephemeral-storage": disk,
                    },
                },
                "securityContext": {
                    "allowPrivilegeEscalation": False,
                    "privileged": False,
                    "readOnlyRootFilesystem": not config.writable_root,
                    "capabilities": {"drop": ["ALL"]},
                },
                "volumeMounts": mounts,
            }
        ],
        "volumes": volumes,
    }
    if config.node_selector:
        spec["nodeSelector"] = dict(config.node_selector)
    if config.tolerations:
        spec["tolerations"] = list(config.tolerations)
    if config.runtime_class is not None:
        spec["runtimeClassName"] = config.runtime_class
    if config.image_pull_secrets:
        spec["imagePullSecrets"] = [{"name": secret} for secret in config.image_pull_secrets]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "labels": box_labels(name, run),
            "annotations": {
                ANNOTATION_ROLLOUT: rollout,
                ANNOTATION_HOST: owner.host,
                ANNOTATION_PROCESS: owner.process,
                # A box cannot move: eviction for a smaller cluster would cost the rollout.
                "cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
            },
        },
        "spec": spec,
    }


def box_labels(name: str, run: str) -> dict[str, str]:
    """Return the labels of a box and of what belongs to it."""
    return {LABEL_MANAGED_BY: MANAGED_BY, LABEL_RUN: label_value(run), LABEL_BOX: name}


def owner_reference(pod: Manifest) -> Manifest:
    """Return the reference that makes an object go when this Pod goes."""
    metadata = pod["metadata"]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": False,
        "blockOwnerDeletion": False,
    }


def _millicores(cores: float) -> str:
    return f"{max(1, round(cores * 1000))}m"
