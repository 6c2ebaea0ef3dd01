"""The cluster's components: their command lines, settings files and health checks.

Rendering is pure; :func:`write_settings` writes what was rendered. The order of the tuple that
:func:`build_components` returns is the order of starting, and reversed that of stopping.
"""

from __future__ import annotations

import http.client
import json
import ssl
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from .api import Api, ApiError
from .layout import (
    API_PORT,
    CGROUP,
    CNI_NETWORK,
    CONTROLLER_PORT,
    DNS_SERVICE_IP,
    ETCD_CLIENT_PORT,
    ETCD_PEER_PORT,
    KUBELET_HEALTH_PORT,
    KUBELET_PORT,
    NODE,
    NODE_IP,
    NODE_POD_CIDR,
    PAUSE_IMAGE,
    POD_BRIDGE,
    POD_CIDR,
    PROXY_HEALTH_PORT,
    PROXY_METRICS_PORT,
    ROUTER_HEALTH_PORT,
    SCHEDULER_PORT,
    SERVICE_CIDR,
    Layout,
)

# Returns why the component is not ready yet, None when it is.
Check = Callable[[], str | None]


@dataclass(frozen=True, slots=True)
class Programs:
    """Paths of the programs that the cluster runs."""

    etcd: Path
    containerd: Path
    shim: Path
    ctr: Path
    runc: Path
    hyperkube: Path
    kube_router: Path
    cni_plugins: Path
    pause_archive: Path


@dataclass(frozen=True, slots=True)
class Component:
    """One supervised process.

    Attributes:
        name: Also the name of its log and of its process record.
        argv: Command line.
        check: Tells whether it does its work.
        limit: Seconds within which ``check`` has to pass after the first start.
        before: Runs before every start; raises ClusterError when the start has to wait.
        after: Runs once after it became ready for the first time.
    """

    name: str
    argv: tuple[str, ...]
    check: Check
    limit: float
    before: Check | None = None
    after: Callable[[], None] | None = field(default=None)


def http_check(port: int, path: str, *, host: str = "127.0.0.1", tls: bool = False) -> Check:
    """Return a check that wants status 200 from a health address on this machine."""

    def check() -> str | None:
        # The components sign their own serving certificates here; loopback only.
        context = ssl._create_unverified_context() if tls else None
        connection: http.client.HTTPConnection = (
            http.client.HTTPSConnection(host, port, timeout=2, context=context)
            if tls
            else http.client.HTTPConnection(host, port, timeout=2)
        )
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            body = answer.read(300).decode(errors="replace").strip()
        except (OSError, http.client.HTTPException) as error:
            return f"{path} on port {port}: {error}"
        finally:
            connection.close()
        return None if answer.status == 200 else f"{path} answers {answer.status}: {body}"

    return check


def api_check(layout: Layout) -> Check:
    """Return a check of the API server's own readiness, as the administrator."""

    def check() -> str | None:
        try:
            Api(layout.pki).request("GET", "/readyz", timeout=3)
        except (ApiError, OSError) as error:
            return f"/readyz: {error}"
        return None

    return check


def node_exists(layout: Layout) -> Check:
    """Return a check that the kubelet has registered the node."""

    def check() -> str | None:
        try:
            Api(layout.pki).request("GET", f"/api/v1/nodes/{NODE}", timeout=3)
        except (ApiError, OSError) as error:
            return f"the node does not exist yet: {error}"
        return None

    return check


def containerd_check(layout: Layout, programs: Programs) -> Check:
    """Return a check that containerd serves images and containers to the kubelet."""

    def check() -> str | None:
        done = subprocess.run(
            [programs.ctr, "--address", layout.containerd_socket, "plugins", "ls"],
            check=False, capture_output=True, text=True, timeout=10,
        )  # fmt: skip
        if done.returncode != 0:
            return done.stderr.strip()[-300:]
        # io.containerd.grpc.v1  cri  linux/amd64  ok
        states = {
            tuple(line.split()[:2]): line.split()[-1] for line in done.stdout.splitlines()[1:]
        }
        state = states.get(("io.containerd.grpc.v1", "cri"))
        return None if state == "ok" else f"the CRI plugin's state is {state}"

    return check


def render_containerd(layout: Layout, programs: Programs) -> str:
    """Return containerd's settings (TOML).

    ``restrict_oom_score_adj``: without CAP_SYS_RESOURCE runc may not lower the score, and fails in
    a way that names something else. Network namespaces go below the state folder, where cleaning
    up finds them.
    """
    run = layout.run / "containerd"
    return f"""version = 3
root = "{layout.containerd_root}"
state = "{run}"
disabled_plugins = ["io.containerd.internal.v1.tracing", "io.containerd.nri.v1.nri"]
[grpc]
address = "{layout.containerd_socket}"
[plugins."io.containerd.cri.v1.images".pinned_images]
sandbox = "{PAUSE_IMAGE}"
[plugins."io.containerd.cri.v1.runtime"]
restrict_oom_score_adj = true
netns_mounts_under_state_dir = true
[plugins."io.containerd.cri.v1.runtime".cni]
bin_dirs = ["{programs.cni_plugins}"]
conf_dir = "{layout.run / "cni"}"
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
runtime_path = "{programs.shim}"
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
BinaryName = "{programs.runc}"
SystemdCgroup = false
"""


def render_cni(layout: Layout) -> str:
    """Return the Pod network: one bridge, addresses handed out from files below the state."""
    bridge = {
        "type": "bridge",
        "bridge": POD_BRIDGE,
        "isGateway": True,
        "ipMasq": False,
        "hairpinMode": True,
        "ipam": {
            "type": "host-local",
            "dataDir": str(layout.state / "cni"),
            "ranges": [[{"subnet": NODE_POD_CIDR}]],
            "routes": [{"dst": "0.0.0.0/0"}],
        },
    }
    return json.dumps({"cniVersion": "1.0.0", "name": CNI_NETWORK, "plugins": [bridge]}, indent=1)


def render_kubelet(layout: Layout) -> str:
    """Return the kubelet's settings (JSON, which is YAML)."""
    return json.dumps(
        {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "authentication": {
                "anonymous": {"enabled": False},
                "webhook": {"enabled": True},
                "x509": {"clientCAFile": str(layout.pki / "ca.crt")},
            },
            "authorization": {"mode": "Webhook"},
            "address": NODE_IP,
            "port": KUBELET_PORT,
            "healthzBindAddress": "127.0.0.1",
            "healthzPort": KUBELET_HEALTH_PORT,
            "containerRuntimeEndpoint": f"unix://{layout.containerd_socket}",
            "podLogsDir": str(layout.state / "pod-logs"),
            "cgroupDriver": "cgroupfs",
            "cgroupRoot": f"/{CGROUP}",
            "failCgroupV1": False,
            "failSwapOn": False,
            "maxPods": 250,
            "podPidsLimit": 1024,
            # How much a Pod has written to its volumes; by default only every minute or two.
            "volumeStatsAggPeriod": "10s",
            "resolvConf": "",
            "clusterDNS": [DNS_SERVICE_IP],
            "evictionHard": {
                "memory.available": "100Mi",
                "nodefs.available": "1%",
                "imagefs.available": "1%",
            },
            # Images cannot be pulled again: never collect them.
            "imageGCHighThresholdPercent": 100,
            "serializeImagePulls": False,
            "registryPullQPS": 0,
            "eventRecordQPS": 0,
            "kubeAPIQPS": 200,
            "kubeAPIBurst": 400,
        },
        indent=1,
    )


def render_proxy(layout: Layout) -> str:
    """Return kube-proxy's settings; zeros leave the machine's conntrack limits alone."""
    return json.dumps(
        {
            "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
            "kind": "KubeProxyConfiguration",
            "mode": "iptables",
            "clientConnection": {"kubeconfig": str(layout.pki / "proxy.kubeconfig")},
            "clusterCIDR": POD_CIDR,
            "hostnameOverride": NODE,
            "healthzBindAddress": f"127.0.0.1:{PROXY_HEALTH_PORT}",
            "metricsBindAddress": f"127.0.0.1:{PROXY_METRICS_PORT}",
            "conntrack": {
                "maxPerCore": 0,
                "min": 0,
                "tcpEstablishedTimeout": "0s",
                "tcpCloseWaitTimeout": "0s",
            },
            "iptables": {"localhostNodePorts": False},
        },
        indent=1,
    )


def write_settings(layout: Layout, programs: Programs) -> None:
    """Write every rendered settings file below the run folder."""
    (layout.run / "cni").mkdir(parents=True, exist_ok=True)
    (layout.run / "containerd.toml").write_text(render_containerd(layout, programs))
    (layout.run / "cni" / "10-pods.conflist").write_text(render_cni(layout))
    (layout.run / "kubelet.json").write_text(render_kubelet(layout))
    (layout.run / "proxy.json").write_text(render_proxy(layout))


def api_server_arguments(layout: Layout) -> list[str]:
    """Return the API server's flags.

    It listens on loopback for the machine's own clients and on the node's address for Pods; one
    flag takes one address, so it is all of them, and every request needs a client certificate or
    a token.
    """
    pki = layout.pki
    return [
        f"--etcd-servers=http://127.0.0.1:{ETCD_CLIENT_PORT}",
        "--bind-address=0.0.0.0",
        "--anonymous-auth=false",
        f"--advertise-address={NODE_IP}",
        f"--secure-port={API_PORT}",
        f"--tls-cert-file={pki}/apiserver.crt",
        f"--tls-private-key-file={pki}/apiserver.key",
        f"--client-ca-file={pki}/ca.crt",
        f"--service-account-key-file={pki}/service-account.pub",
        f"--service-account-signing-key-file={pki}/service-account.key",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-cluster-ip-range={SERVICE_CIDR}",
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        "--allow-privileged=true",
        "--kubelet-preferred-address-types=InternalIP",
        f"--kubelet-client-certificate={pki}/apiserver-kubelet.crt",
        f"--kubelet-client-key={pki}/apiserver-kubelet.key",
        f"--requestheader-client-ca-file={pki}/front-proxy-ca.crt",
        "--requestheader-allowed-names=front-proxy-client",
        "--requestheader-username-headers=X-Remote-User",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        f"--proxy-client-cert-file={pki}/front-proxy.crt",
        f"--proxy-client-key-file={pki}/front-proxy.key",
        "--enable-aggregator-routing=true",
        "--max-requests-inflight=2000",
        "--max-mutating-requests-inflight=1000",
        "--shutdown-delay-duration=0s",
    ]


def build_components(layout: Layout, programs: Programs) -> tuple[Component, ...]:
    """Return all components in starting order."""
    pki = layout.pki
    cube = str(programs.hyperkube)

    def import_pause() -> None:
        subprocess.run(
            [programs.ctr, "--address", layout.containerd_socket, "--namespace", "k8s.io",
             "images", "import", "--local", programs.pause_archive],
            check=True, capture_output=True, timeout=60,
        )  # fmt: skip

    etcd = Component(
        "etcd",
        (
            str(programs.etcd),
            f"--data-dir={layout.etcd}",
            f"--listen-client-urls=http://127.0.0.1:{ETCD_CLIENT_PORT}",
            f"--advertise-client-urls=http://127.0.0.1:{ETCD_CLIENT_PORT}",
            f"--listen-peer-urls=http://127.0.0.1:{ETCD_PEER_PORT}",
            f"--initial-advertise-peer-urls=http://127.0.0.1:{ETCD_PEER_PORT}",
            f"--initial-cluster=default=http://127.0.0.1:{ETCD_PEER_PORT}",
            # A test cluster's objects need not survive a power cut, and fsync is its slowest part.
            "--unsafe-no-fsync",
        ),
        http_check(ETCD_CLIENT_PORT, "/health"),
        30,
    )
    containerd = Component(
        "containerd",
        (str(programs.containerd), "--config", str(layout.run / "containerd.toml")),
        containerd_check(layout, programs),
        60,
        after=import_pause,
    )
    api_server = Component(
        "kube-apiserver",
        (cube, "kube-apiserver", *api_server_arguments(layout)),
        api_check(layout),
        90,
    )
    controllers = Component(
        "kube-controller-manager",
        (
            cube,
            "kube-controller-manager",
            f"--kubeconfig={pki}/controller-manager.kubeconfig",
            f"--authentication-kubeconfig={pki}/controller-manager.kubeconfig",
            f"--authorization-kubeconfig={pki}/controller-manager.kubeconfig",
            f"--service-account-private-key-file={pki}/service-account.key",
            f"--root-ca-file={pki}/ca.crt",
            f"--cluster-signing-cert-file={pki}/ca.crt",
            f"--cluster-signing-key-file={pki}/ca.key",
            "--use-service-account-credentials=true",
            "--leader-elect=false",
            "--bind-address=127.0.0.1",
            f"--secure-port={CONTROLLER_PORT}",
            "--kube-api-qps=200",
            "--kube-api-burst=400",
        ),
        http_check(CONTROLLER_PORT, "/healthz", tls=True),
        60,
    )
    scheduler = Component(
        "kube-scheduler",
        (
            cube,
            "kube-scheduler",
            f"--kubeconfig={pki}/scheduler.kubeconfig",
            f"--authentication-kubeconfig={pki}/scheduler.kubeconfig",
            f"--authorization-kubeconfig={pki}/scheduler.kubeconfig",
            "--leader-elect=false",
            "--bind-address=127.0.0.1",
            f"--secure-port={SCHEDULER_PORT}",
            "--kube-api-qps=500",
            "--kube-api-burst=1000",
        ),
        http_check(SCHEDULER_PORT, "/healthz", tls=True),
        60,
    )
    kubelet = Component(
        "kubelet",
        (
            cube,
            "kubelet",
            f"--config={layout.run}/kubelet.json",
            f"--kubeconfig={pki}/kubelet.kubeconfig",
            f"--hostname-override={NODE}",
            f"--node-ip={NODE_IP}",
            f"--root-dir={layout.kubelet}",
            f"--cert-dir={layout.kubelet}/pki",
        ),
        http_check(KUBELET_HEALTH_PORT, "/healthz"),
        60,
        # A kubelet that starts before containerd serves gives up at once.
        before=containerd_check(layout, programs),
    )
    proxy = Component(
        "kube-proxy",
        (cube, "kube-proxy", f"--config={layout.run}/proxy.json"),
        http_check(PROXY_HEALTH_PORT, "/healthz"),
        60,
        before=node_exists(layout),
    )
    router = Component(
        "kube-router",
        (
            str(programs.kube_router),
            "--run-firewall=true",
            "--run-router=false",
            "--run-service-proxy=false",
            f"--kubeconfig={pki}/kube-router.kubeconfig",
            f"--hostname-override={NODE}",
            f"--service-cluster-ip-range={SERVICE_CIDR}",
            "--metrics-port=0",
            f"--health-port={ROUTER_HEALTH_PORT}",
            "--iptables-sync-period=30s",
        ),
        http_check(ROUTER_HEALTH_PORT, "/healthz"),
        60,
        # It exits when its node does not exist, and then no policy is enforced.
        before=node_exists(layout),
    )
    return (etcd, containerd, api_server, controllers, scheduler, kubelet, proxy, router)
