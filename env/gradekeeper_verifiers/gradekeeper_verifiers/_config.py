"""Settings of the runtime `kubernetes`: `--env.agent.runtime.<field>`, `--runtime.<field>`."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import Field, model_validator
from verifiers.v1.configs.runtime import NetworkPolicyConfig
from verifiers.v1.runtimes.base import BaseRuntimeInfo

from gradekeeper_verifiers.network import parse_rule


class KubernetesConfig(NetworkPolicyConfig):
    """One box is one Pod. An image, workdir or size that the task states fills a default here."""

    type: Literal["kubernetes"] = "kubernetes"
    image: str = "python:3.11-slim"
    """Image with `sh` and coreutils; a task's own image always wins."""
    image_pull_policy: Literal["Always", "IfNotPresent", "Never"] = "IfNotPresent"
    """When the kubelet pulls the image."""
    image_pull_secrets: list[str] = Field(default_factory=list)
    """Names of Secrets of the namespace with credentials for the registry."""
    workdir: str | None = None
    """Working directory; None: the task's, or /workspace."""
    cpu: float = Field(1.0, gt=0)
    """CPU cores: the limit, and the request unless `cpu_request` says less."""
    cpu_request: float | None = Field(None, gt=0)
    """CPU cores that the scheduler reserves; None: as much as `cpu`."""
    memory: float = Field(2.0, gt=0)
    """GB of memory; reserved in full. A box that needs more is ended, which the agent caused."""
    disk: float = Field(5.0, gt=0)
    """GB of disk for workdir, /tmp and logs; a box that writes more is ended."""

    kubeconfig: str | None = None
    """kubeconfig file; None: KUBECONFIG, ~/.kube/config, or the service account of this Pod."""
    context: str | None = None
    """Context of it; None: the current one."""
    namespace: str | None = None
    """Namespace of the boxes; None: that of the context."""
    node_selector: dict[str, str] = Field(default_factory=dict)
    """Labels that a node must have."""
    tolerations: list[dict[str, Any]] = Field(default_factory=list)
    """Tolerations as in a Pod."""
    runtime_class: str | None = None
    """runtimeClassName, such as gvisor; None: the cluster's default."""
    user_namespaces: bool = True
    """Whether the box's users are nobody on the node (`hostUsers: false`)."""
    uid: int = Field(10001, gt=0)
    """User and group of all processes; never root."""
    writable_root: bool = False
    """Whether the image's own files may be written, and its workdir is used as it is. Otherwise the
    root is read-only, and workdir and /tmp are empty volumes."""
    terminals: bool = False
    """Whether there are pseudo-terminals, for `tmux`, `script` and the like. The node's own threads
    do their work: an agent can slow everything on the node by them, whatever the box's limits."""

    network_proof: Literal["required", "off"] = "required"
    """Whether the agent may only start once its box was seen to be cut off: a connection that
    worked before the NetworkPolicy must fail under it."""
    network_probe: str | None = None
    """IP:port that a box without policy reaches; None: the API server's Service."""

    start_timeout: float = Field(600.0, gt=0)
    """Seconds from creation to the first command, queueing and image pull included."""
    max_lifetime: int = Field(14_400, gt=0)
    """Seconds after which the cluster ends a box by itself. More than all of a rollout's timeouts
    together: it is there for what SIGKILL left behind."""
    max_output: int = Field(16 * 1024 * 1024, gt=0)
    """Bytes of each output stream of one command; a command that writes more is killed."""
    creates_per_sec: float | None = 10.0
    """Pods a second that this host creates at one API server, in all runs; None or 0: no limit."""

    allow: list[str] = Field(default_factory=list)
    """Destinations while the agent works: `*`, or IP addresses and CIDRs, each maybe with :port.
    Empty by default: no network at all. Host names need a proxy, which this runtime has not."""

    @model_validator(mode="after")
    def validate_rules(self) -> Self:
        """Refuse what a NetworkPolicy cannot say."""
        for rule in (*self.allow, *self.block):
            if rule != "*":
                parse_rule(rule)
        if self.block and self.block != ["*"] and any(parse_rule(r)[1] for r in self.block):
            raise ValueError("block: a NetworkPolicy cannot except single ports of an address")
        if self.workdir is not None and (
            not self.workdir.startswith("/") or self.workdir.rstrip("/") in ("", "/tmp")  # noqa: S108
        ):
            raise ValueError("workdir: an absolute path other than / and /tmp is needed")
        return self


class KubernetesRuntimeInfo(KubernetesConfig, BaseRuntimeInfo):
    """What a trace keeps of the box it ran in; `id` is the Pod's name."""
