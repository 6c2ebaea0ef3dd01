"""Keys, certificates and kubeconfigs, made with the openssl program.

Everything is made anew for each fresh cluster and deleted with it; nothing is ever trusted outside
the machine.
"""

from __future__ import annotations

import base64
import json
import subprocess
from pathlib import Path

from .layout import API_PORT, API_SERVICE_IP, CONTEXT, NODE, NODE_IP, Layout

# Clients on the machine use loopback: a kubeconfig outlives the node's address (a restart of the
# machine takes the bridge away), and a packet to that address would then leave the machine.
SERVER = f"https://127.0.0.1:{API_PORT}"

# name -> subject, signed by the cluster's CA. The users and groups are those that Kubernetes'
# built-in roles are bound to, so that every component has just the rights it has in production.
_CLIENTS = {
    "admin": "/O=system:masters/CN=gradekeeper-admin",
    "apiserver-kubelet": "/O=system:masters/CN=kube-apiserver-kubelet-client",
    "kubelet": f"/O=system:nodes/CN=system:node:{NODE}",
    "controller-manager": "/CN=system:kube-controller-manager",
    "scheduler": "/CN=system:kube-scheduler",
    "proxy": "/CN=system:kube-proxy",
    # No built-in role fits the policy controller.
    "kube-router": "/O=system:masters/CN=kube-router",
}
_KUBECONFIGS = ("kubelet", "controller-manager", "scheduler", "proxy", "kube-router")
_SERVER_NAMES = (
    "DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,"
    "DNS:kubernetes.default.svc.cluster.local,DNS:localhost,"
    f"IP:127.0.0.1,IP:{API_SERVICE_IP},IP:{NODE_IP}"
)
_DAYS = "3650"


def _openssl(*arguments: str, stdin: str | None = None) -> None:
    subprocess.run(
        ["openssl", *arguments], check=True, capture_output=True, text=True, input=stdin, timeout=60
    )


def _authority(folder: Path, name: str, subject: str) -> None:
    _openssl("ecparam", "-genkey", "-name", "prime256v1", "-noout", "-out", f"{folder}/{name}.key")
    _openssl(
        "req", "-x509", "-new", "-key", f"{folder}/{name}.key", "-subj", subject,
        "-days", _DAYS, "-out", f"{folder}/{name}.crt",
    )  # fmt: skip


def _leaf(folder: Path, name: str, subject: str, authority: str, extensions: str) -> None:
    base = f"{folder}/{name}"
    _openssl("ecparam", "-genkey", "-name", "prime256v1", "-noout", "-out", f"{base}.key")
    _openssl("req", "-new", "-key", f"{base}.key", "-subj", subject, "-out", f"{base}.csr")
    _openssl(
        "x509", "-req", "-in", f"{base}.csr", "-CA", f"{folder}/{authority}.crt",
        "-CAkey", f"{folder}/{authority}.key", "-CAcreateserial", "-days", _DAYS,
        "-extfile", "/dev/stdin", "-out", f"{base}.crt", stdin=extensions,
    )  # fmt: skip


def render_kubeconfig(name: str, authority: bytes, certificate: bytes, key: bytes) -> str:
    """Return a self-contained kubeconfig with one context ``name`` (JSON, which is YAML)."""

    def encoded(data: bytes) -> str:
        return base64.b64encode(data).decode()

    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": name,
                "cluster": {"server": SERVER, "certificate-authority-data": encoded(authority)},
            }
        ],
        "users": [
            {
                "name": name,
                "user": {
                    "client-certificate-data": encoded(certificate),
                    "client-key-data": encoded(key),
                },
            }
        ],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }
    return json.dumps(config, indent=1) + "\n"


def create(layout: Layout) -> None:
    """Make all keys, certificates and kubeconfigs, unless a complete set exists."""
    folder = layout.pki
    complete = folder / "complete"
    if complete.exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    _authority(folder, "ca", "/CN=gradekeeper-test-ca")
    _authority(folder, "front-proxy-ca", "/CN=gradekeeper-test-front-proxy-ca")
    _openssl("genrsa", "-out", f"{folder}/service-account.key", "2048")
    _openssl(
        "rsa", "-in", f"{folder}/service-account.key", "-pubout",
        "-out", f"{folder}/service-account.pub",
    )  # fmt: skip
    _leaf(
        folder, "apiserver", "/CN=kube-apiserver", "ca",
        f"subjectAltName={_SERVER_NAMES}\nextendedKeyUsage=serverAuth\n",
    )  # fmt: skip
    client = "extendedKeyUsage=clientAuth\n"
    _leaf(folder, "front-proxy", "/CN=front-proxy-client", "front-proxy-ca", client)
    for name, subject in _CLIENTS.items():
        _leaf(folder, name, subject, "ca", client)
    authority = (folder / "ca.crt").read_bytes()
    targets = [(name, folder / f"{name}.kubeconfig", name) for name in _KUBECONFIGS]
    targets.append(("admin", layout.kubeconfig, CONTEXT))
    for name, path, context in targets:
        path.touch(mode=0o600)
        path.write_text(
            render_kubeconfig(
                context,
                authority,
                (folder / f"{name}.crt").read_bytes(),
                (folder / f"{name}.key").read_bytes(),
            )
        )
    complete.touch()
