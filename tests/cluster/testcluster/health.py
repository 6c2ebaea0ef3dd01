"""Proofs that a started cluster works, with real Pods.

Each proof has a time limit; a failure names the component that is to blame and shows its last log
lines. The Pods run in a namespace of their own, which is deleted afterwards.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from .api import Api, ApiError
from .commands import run, succeeds, tail
from .errors import ClusterError
from .layout import API_SERVICE_IP, NODE, PAUSE_IMAGE, POD_BRIDGE, Layout
from .progress import Progress

_PORT = 8080
_SECONDS = 20
_LABEL = "gradekeeper-test/probe"


def log_tail(layout: Layout, component: str) -> str:
    """Return the last lines of a component's log, for an error message."""
    path = layout.logs / f"{component}.log"
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - 16384))
            text = file.read().decode(errors="replace")
    except OSError as error:
        text = f"(no log: {error})"
    return f"last lines of {path}:\n{tail(text)}"


def build_probe_pod(
    name: str, arguments: list[str], *, role: str, restart: str = "Never"
) -> dict[str, Any]:
    """Return a hardened Pod in a user namespace that runs the probe program."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {_LABEL: role}},
        "spec": {
            "restartPolicy": restart,
            "hostUsers": False,
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "terminationGracePeriodSeconds": 1,
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": 65535,
                "runAsGroup": 65535,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "volumes": [
                {"name": "memory", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}},
                {"name": "disk", "emptyDir": {}},
            ],
            "containers": [
                {
                    "name": "probe",
                    "image": PAUSE_IMAGE,
                    "imagePullPolicy": "Never",
                    "args": arguments,
                    "volumeMounts": [
                        {"name": "memory", "mountPath": "/memory"},
                        {"name": "disk", "mountPath": "/disk"},
                    ],
                    "securityContext": {
                        "allowPrivilegeEscalation": False,
                        "readOnlyRootFilesystem": True,
                        "capabilities": {"drop": ["ALL"]},
                    },
                }
            ],
        },
    }


def build_deny_all(role: str) -> dict[str, Any]:
    """Return a NetworkPolicy that forbids the Pods of ``role`` every connection."""
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": "deny-all"},
        "spec": {
            "podSelector": {"matchLabels": {_LABEL: role}},
            "policyTypes": ["Ingress", "Egress"],
        },
    }


def node_problem(node: dict[str, Any]) -> str | None:
    """Return why a Node object is not ready, None when it is."""
    for condition in node.get("status", {}).get("conditions", []):
        if condition["type"] == "Ready":
            return None if condition["status"] == "True" else str(condition.get("message", ""))
    return "the kubelet has not reported a Ready condition"


def describe_pod(pod: dict[str, Any]) -> str:
    """Return in one line what keeps a Pod from running or made it fail."""
    status = pod.get("status", {})
    parts = [f"phase {status.get('phase', 'unknown')}"]
    parts += [
        f"{c['type']}: {c.get('message', '')}"
        for c in status.get("conditions", [])
        if c.get("status") == "False" and c.get("message")
    ]
    for container in status.get("containerStatuses", []):
        for state in ("waiting", "terminated"):
            if detail := container.get("state", {}).get(state):
                parts.append(f"{state}: {detail.get('reason', '')} {detail.get('message', '')}")
    return "; ".join(parts)


class _Probe(NamedTuple):
    name: str
    verb: str
    address: str
    port: int
    what: str
    blamed: str

    @property
    def arguments(self) -> list[str]:
        return [self.verb, self.address, str(self.port), str(_SECONDS)]


def _connection_problem(address: str, port: int) -> str | None:
    try:
        socket.create_connection((address, port), timeout=1).close()
    except OSError as error:
        return str(error)
    return None


def _escape_problem(pod_ip: str) -> str | None:
    """Return the route that a Pod's packet to the rest of the world would take; it has to be none.

    The kernel is asked, no packet is sent. The address is one that is reserved for examples.
    """
    command = ["ip", "route", "get", "198.51.100.1", "from", pod_ip, "iif", POD_BRIDGE]
    return run(command).strip() if succeeds(command) else None


class Proofs:
    """Runs the proofs one after the other."""

    def __init__(self, layout: Layout, progress: Progress) -> None:
        self._layout = layout
        self._progress = progress
        self._api = Api(layout.pki)
        self._namespace = f"cluster-health-{time.time_ns() // 1_000_000}"

    def run(self) -> None:
        """Prove node, Pod network, Service address, policy enforcement.

        Raises:
            ClusterError: A proof failed.
        """
        self.wait_for_node()
        base = f"/api/v1/namespaces/{self._namespace}"
        self._api.request(
            "POST",
            "/api/v1/namespaces",
            {
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": {
                    "name": self._namespace,
                    "labels": {"pod-security.kubernetes.io/enforce": "restricted"},
                },
            },
        )
        try:
            self._prove_network(base)
        finally:
            self._api.request("DELETE", base)

    def wait_for_node(self) -> None:
        """Wait until the node is Ready."""
        self._wait(
            "node Ready",
            lambda: node_problem(self._api.request("GET", f"/api/v1/nodes/{NODE}")),
            60,
            "kubelet",
        )

    def _prove_network(self, base: str) -> None:
        self._wait("default ServiceAccount", lambda: self._absent(
            f"{base}/serviceaccounts/default"), 30, "kube-controller-manager")  # fmt: skip
        policies = f"/apis/networking.k8s.io/v1/namespaces/{self._namespace}/networkpolicies"
        self._api.request("POST", policies, build_deny_all("denied"))
        server = build_probe_pod("server", ["listen", str(_PORT)], role="server", restart="Always")
        self._api.request("POST", f"{base}/pods", server)
        service = {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "server"},
            "spec": {"selector": {_LABEL: "server"}, "ports": [{"port": 80, "targetPort": _PORT}]},
        }
        address = self._api.request("POST", f"{base}/services", service)["spec"]["clusterIP"]
        pod = self._wait_running(f"{base}/pods/server")
        pod_ip = pod["status"]["podIP"]
        uses_namespace = pod["spec"].get("hostUsers") is False
        self._progress.say(f"a Pod runs and has the address {pod_ip}"
                           + (", in a user namespace" if uses_namespace else ""))  # fmt: skip
        probes = (
            _Probe("to-pod", "connect", pod_ip, _PORT, "a Pod connects to a Pod", "containerd"),
            _Probe(
                "to-service",
                "connect",
                address,
                80,
                "a Pod connects to a Service address",
                "kube-proxy",
            ),
            _Probe(
                "to-api",
                "connect",
                API_SERVICE_IP,
                443,
                "a Pod connects to the API server's Service",
                "kube-proxy",
            ),
            _Probe(
                "denied",
                "denied",
                pod_ip,
                _PORT,
                "a connection that a NetworkPolicy denies is denied",
                "kube-router",
            ),
        )
        for probe in probes:
            self._api.request(
                "POST",
                f"{base}/pods",
                build_probe_pod(probe.name, probe.arguments, role=probe.verb),
            )
        # The API server calls admission webhooks this way.
        self._wait(
            "the node connects to a Service address",
            lambda: _connection_problem(address, 80),
            _SECONDS,
            "kube-proxy",
        )
        self._wait(
            "packets of Pods to elsewhere are refused",
            lambda: _escape_problem(pod_ip),
            5,
            "kube-proxy",
        )
        for probe in probes:
            check = partial(self._not_succeeded, f"{base}/pods/{probe.name}")
            self._wait(probe.what, check, _SECONDS + 30, probe.blamed)
        restarted = self._api.request("GET", f"{base}/pods/server")
        if restarted["status"]["containerStatuses"][0]["restartCount"] != 0:
            raise ClusterError(
                "the probed server restarted, so the denied connection proves nothing"
            )

    def _absent(self, path: str) -> str | None:
        try:
            self._api.request("GET", path)
        except ApiError as error:
            return str(error)
        return None

    def _wait_running(self, path: str) -> dict[str, Any]:
        def problem() -> str | None:
            pod = self._api.request("GET", path)
            return None if pod["status"].get("phase") == "Running" else describe_pod(pod)

        self._wait("a Pod runs", problem, 60, "kubelet", quiet=True)
        pod: dict[str, Any] = self._api.request("GET", path)
        return pod

    def _not_succeeded(self, path: str) -> str | None:
        pod = self._api.request("GET", path)
        phase = pod["status"].get("phase")
        if phase == "Failed":
            raise _Failed(describe_pod(pod))
        return None if phase == "Succeeded" else describe_pod(pod)

    def _wait(
        self,
        what: str,
        problem: Callable[[], str | None],
        limit: float,
        blamed: str,
        quiet: bool = False,
    ) -> None:
        begun = time.monotonic()
        while True:
            try:
                reason = problem()
            except (ApiError, OSError) as error:
                reason = str(error)
            except _Failed as error:
                raise ClusterError(f"{what}: {error}\n{log_tail(self._layout, blamed)}") from None
            if reason is None:
                break
            if time.monotonic() - begun > limit:
                raise ClusterError(
                    f"{what}: not within {limit:.0f} s: {reason}\n{log_tail(self._layout, blamed)}"
                )
            time.sleep(0.1)
        if not quiet:
            self._progress.say(what)


class _Failed(Exception):
    """A probe Pod failed: waiting longer is useless."""
