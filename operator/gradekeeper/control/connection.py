"""Where the API server is and how to authenticate: a service account or a kubeconfig file.

Both the engine's HTTP client and kopf's use the same `Connection`, so they cannot disagree. A
service account's token is read again from its file, since the kubelet rotates it.
"""

from __future__ import annotations

import base64
import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from gradekeeper.control.errors import SettingsError

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


@dataclass(frozen=True, slots=True)
class Connection:
    """How to reach one API server.

    Attributes:
        server: URL without a trailing slash.
        ca_data: PEM of the server's authority, or None for the system's.
        token: a fixed bearer token, or None.
        token_path: file to read the bearer token from at each use, or None.
        certificate_data: the client certificate as PEM text, or None.
        key_data: its private key as PEM text, or None.
        insecure: do not check the server's certificate.
    """

    server: str
    ca_data: str | None = None
    token: str | None = None
    token_path: Path | None = None
    certificate_data: str | None = None
    key_data: str | None = None
    insecure: bool = False

    def bearer(self) -> str | None:
        """Return the token to send now, or None."""
        if self.token_path is not None:
            return self.token_path.read_text(encoding="ascii").strip()
        return self.token

    def ssl_context(self) -> ssl.SSLContext | bool:
        """Return what an HTTP client verifies with."""
        if not self.server.startswith("https://"):
            return False
        context = ssl.create_default_context(cadata=self.ca_data)
        if self.insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if self.certificate_data:
            _load_chain(context, self.certificate_data + "\n" + (self.key_data or ""))
        return context


def load_connection(kubeconfig: Path | None, environ: Mapping[str, str]) -> Connection:
    """Find the API server: the given kubeconfig, else the Pod's service account.

    Raises:
        SettingsError: neither can be used.
    """
    if kubeconfig is not None:
        return from_kubeconfig(kubeconfig)
    host = environ.get("KUBERNETES_SERVICE_HOST", "")
    port = environ.get("KUBERNETES_SERVICE_PORT", "443")
    token_path = SERVICE_ACCOUNT / "token"
    if not host or not token_path.exists():
        raise SettingsError("no service account is mounted and GRADEKEEPER_KUBECONFIG is not set")
    literal = f"[{host}]" if ":" in host else host
    return Connection(
        server=f"https://{literal}:{port}",
        ca_data=(SERVICE_ACCOUNT / "ca.crt").read_text(encoding="ascii"),
        token_path=token_path,
    )


def from_kubeconfig(path: Path) -> Connection:
    """Read the current context of a kubeconfig file.

    Raises:
        SettingsError: the file or its current context is unusable.
    """
    try:
        document: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
        context = _named(document["contexts"], document["current-context"])["context"]
        cluster = _named(document["clusters"], context["cluster"])["cluster"]
        user = _named(document["users"], context["user"])["user"] if "user" in context else {}
    except (OSError, KeyError, TypeError, yaml.YAMLError) as error:
        raise SettingsError(f"the kubeconfig cannot be used: {error!r}") from None
    base = path.parent
    return Connection(
        server=str(cluster["server"]).rstrip("/"),
        ca_data=_text(cluster, "certificate-authority", base),
        token=user.get("token"),
        token_path=base / user["tokenFile"] if user.get("tokenFile") else None,
        certificate_data=_text(user, "client-certificate", base),
        key_data=_text(user, "client-key", base),
        insecure=bool(cluster.get("insecure-skip-tls-verify")),
    )


def _named(items: list[dict[str, Any]], name: str) -> dict[str, Any]:
    for item in items:
        if item["name"] == name:
            return item
    raise KeyError(name)


def _text(section: Mapping[str, Any], name: str, base: Path) -> str | None:
    if section.get(f"{name}-data"):
        return base64.b64decode(section[f"{name}-data"]).decode("ascii")
    if section.get(name):
        return (base / str(section[name])).read_text(encoding="ascii")
    return None


def _load_chain(context: ssl.SSLContext, pem: str) -> None:
    # The ssl module loads a client certificate from a path only; a memory file has one without
    # leaving the key on a disk.
    descriptor = os.memfd_create("client-certificate", os.MFD_CLOEXEC)
    try:
        os.write(descriptor, pem.encode("ascii"))
        context.load_cert_chain(f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)
