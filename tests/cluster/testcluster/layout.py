"""Where everything lives: the cache, the cluster's state, and the fixed names and addresses.

Nothing is written inside the checkout. All names that outlive a process (bridges, cgroup, context)
are here so that cleaning up and checking afterwards look for exactly the same things.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

RUN: Final = Path("/run/gradekeeper-test")
CONTEXT: Final = "gradekeeper-test"
NODE: Final = "node-1"
CGROUP: Final = "gradekeeper-test"
CNI_NETWORK: Final = "gradekeeper-test"
POD_BRIDGE: Final = "gk-pods"
# An empty bridge carries the node's address, because a `dummy` link needs a module that small
# kernels do not have.
NODE_BRIDGE: Final = "gk-node"
NODE_IP: Final = "10.250.0.1"
POD_GATEWAY: Final = "10.244.0.1"
POD_CIDR: Final = "10.244.0.0/16"
NODE_POD_CIDR: Final = "10.244.0.0/24"
SERVICE_CIDR: Final = "10.96.0.0/16"
API_SERVICE_IP: Final = "10.96.0.1"
DNS_SERVICE_IP: Final = "10.96.0.10"
# Routing rules (`ip rule`): Pods may talk to Pods, and nowhere else beyond this node.
RULE_PODS: Final = 12440
RULE_ELSEWHERE: Final = 12441

# None of the usual ports: another etcd or kubelet on the machine must not matter.
ETCD_CLIENT_PORT: Final = 21379
ETCD_PEER_PORT: Final = 21380
API_PORT: Final = 21443
KUBELET_PORT: Final = 21250
KUBELET_HEALTH_PORT: Final = 21248
CONTROLLER_PORT: Final = 21257
SCHEDULER_PORT: Final = 21259
PROXY_HEALTH_PORT: Final = 21256
PROXY_METRICS_PORT: Final = 21249
ROUTER_HEALTH_PORT: Final = 21244
PORTS: Final = (
    ETCD_CLIENT_PORT,
    ETCD_PEER_PORT,
    API_PORT,
    KUBELET_PORT,
    KUBELET_HEALTH_PORT,
    CONTROLLER_PORT,
    SCHEDULER_PORT,
    PROXY_HEALTH_PORT,
    PROXY_METRICS_PORT,
    ROUTER_HEALTH_PORT,
)

PAUSE_IMAGE: Final = "docker.io/gradekeeper-test/pause:1"


def cache_root(environ: Mapping[str, str]) -> Path:
    """Return the cache folder: GRADEKEEPER_CACHE, else below XDG_CACHE_HOME, else ~/.cache."""
    if own := environ.get("GRADEKEEPER_CACHE"):
        return Path(own).absolute()
    base = environ.get("XDG_CACHE_HOME") or Path(environ.get("HOME") or "~").expanduser() / ".cache"
    return Path(base).absolute() / "gradekeeper"


@dataclass(frozen=True, slots=True)
class Layout:
    """All paths. Only paths: nothing here touches the disk.

    Attributes:
        cache: What is built, downloaded or remembered.
        run: Process records, sockets, rendered settings and container root file systems: worthless
            once the processes are gone. Not below the cache, because the processes of a Pod with a
            user namespace have to pass through every folder on the way, and a home folder may be
            closed to them; and because socket paths have at most 107 bytes.
    """

    cache: Path
    run: Path = RUN

    @classmethod
    def from_environment(cls) -> Layout:
        """Return the layout for this process's environment."""
        return cls(cache_root(os.environ))

    @property
    def binaries(self) -> Path:
        """Built programs, one folder per name and version."""
        return self.cache / "bin"

    @property
    def images(self) -> Path:
        """Base images and OCI archives."""
        return self.cache / "images"

    @property
    def state(self) -> Path:
        """Everything that the cluster itself writes."""
        return self.cache / "cluster"

    @property
    def lock(self) -> Path:
        """Held (flock) by the command that starts or stops the cluster."""
        return self.run.with_name(f"{self.run.name}.lock")

    @property
    def owner(self) -> Path:
        """Holds the cache folder of the running cluster: there can be one on a machine."""
        return self.run / "cache"

    @property
    def logs(self) -> Path:
        """One log a component, of the newest start; ``<name>.log.1`` of the start before."""
        return self.state / "logs"

    @property
    def pki(self) -> Path:
        """Keys, certificates and the components' kubeconfigs."""
        return self.state / "pki"

    @property
    def etcd(self) -> Path:
        """The etcd data folder."""
        return self.state / "etcd"

    @property
    def kubelet(self) -> Path:
        """The kubelet's root folder (Pod volumes are mounted below it)."""
        return self.state / "kubelet"

    @property
    def containerd_root(self) -> Path:
        """Image content and snapshots; kept when the cluster stops."""
        return self.state / "containerd"

    @property
    def containerd_socket(self) -> Path:
        """Where containerd listens."""
        return self.run / "containerd" / "containerd.sock"

    @property
    def tools(self) -> Path:
        """Links to kubectl, helm and ctr, meant for PATH."""
        return self.state / "bin"

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig."""
        return self.state / "kubeconfig"

    @property
    def host_record(self) -> Path:
        """JSON: what the host's settings were before the cluster changed them."""
        return self.run / "host.json"
