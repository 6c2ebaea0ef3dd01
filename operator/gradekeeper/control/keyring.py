"""`python -m gradekeeper.control.keyring`: the installation's signing key, made once and kept.

Runs as the operator Pod's init container. The key lives in one Secret that the chart renders
without data, so neither helm nor `kubectl apply` ever writes over it; whoever starts first fills
it, under a resourceVersion precondition, and everybody else takes what is there. The private key
goes to a file in a memory volume, the public one to a ConfigMap that every account may read.

It may read and patch exactly these two objects; it never lists.
"""

from __future__ import annotations

import argparse
import base64
import binascii
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

from gradekeeper.control.cluster import MERGE_PATCH, translate
from gradekeeper.control.connection import load_connection
from gradekeeper.control.errors import ClusterError, Conflict, Retryable, SettingsError
from gradekeeper.verdicts.signing import KeyInvalid, SigningKey, generate_key

PRIVATE = "private.pem"
PUBLIC = "verdict.pub"
PATIENCE_SECONDS = 60.0
PAUSE_SECONDS = 1.0


class Objects:
    """Reads and patches single objects of one API server.

    Args:
        client: with the server's URL and the credentials.
    """

    def __init__(self, client: httpx.Client) -> None:
        self._client = client

    def get(self, path: str) -> dict[str, Any]:
        """Read one object; raises ClusterError."""
        return self._send("GET", path, None)

    def patch(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Merge into one object; raises ClusterError."""
        return self._send("PATCH", path, body)

    def _send(self, method: str, path: str, body: dict[str, Any] | None) -> dict[str, Any]:
        headers = {"Content-Type": MERGE_PATCH} if body is not None else {}
        try:
            response = self._client.request(method, path, json=body, headers=headers)
        except httpx.HTTPError as error:
            raise Retryable(f"{method} {path}: {type(error).__name__}") from error
        if not response.is_success:
            raise translate(method, path, response.status_code, response.content)
        document = response.json()
        if not isinstance(document, dict):
            raise Retryable(f"{method} {path}: the answer is not an object")
        return document


def ensure_private_key(objects: Objects, path: str, *, may_create: bool) -> bytes:
    """Return the Secret's private key as PEM; make one first if there is none.

    Args:
        objects: the API server.
        path: API path of the Secret.
        may_create: False for a Secret that the user brought: an empty one is an error then.

    Raises:
        SettingsError: the Secret holds no usable key.
        ClusterError: the API server could not be used.
    """
    while True:
        secret = objects.get(path)
        encoded = (secret.get("data") or {}).get(PRIVATE)
        if encoded is not None:
            try:
                return base64.b64decode(encoded, validate=True)
            except (binascii.Error, ValueError):
                raise SettingsError(f"{PRIVATE} of the signing Secret is not base64") from None
        if not may_create:
            raise SettingsError(f"the signing Secret has no {PRIVATE}")
        private, _ = generate_key()
        version = secret["metadata"]["resourceVersion"]
        data = {PRIVATE: base64.b64encode(private).decode("ascii")}
        try:
            objects.patch(path, {"metadata": {"resourceVersion": version}, "data": data})
        except Conflict:
            continue
        # Read once more: what is stored decides, not what was sent.


def publish_public_key(objects: Objects, path: str, public: bytes) -> None:
    """Write the public key to the ConfigMap unless it is there already; raises ClusterError."""
    text = public.decode("ascii")
    if (objects.get(path).get("data") or {}).get(PUBLIC) != text:
        objects.patch(path, {"data": {PUBLIC: text}})


def store(private: bytes, out: Path) -> None:
    """Write the private key so that only this uid can read it, in one step."""
    temporary = out.with_suffix(".new")
    temporary.unlink(missing_ok=True)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o400)
    with os.fdopen(descriptor, "wb") as file:
        file.write(private)
    os.replace(temporary, out)


def patiently(
    action: Callable[[], bytes],
    *,
    clock: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> bytes:
    """Repeat while the API server cannot be used, for a minute at most; raises its last error."""
    deadline = clock() + PATIENCE_SECONDS
    while True:
        try:
            return action()
        except Retryable:
            if clock() >= deadline:
                raise
            pause(PAUSE_SECONDS)


def _object_path(kind: str, reference: str) -> str:
    namespace, _, name = reference.partition("/")
    if not namespace or not name:
        raise SettingsError(f"{reference!r} is not <namespace>/<name>")
    return f"/api/v1/namespaces/{namespace}/{kind}/{name}"


def main(arguments: list[str] | None = None) -> int:
    """Entry point; returns the exit status."""
    parser = argparse.ArgumentParser(description="Make or read the key that signs verdicts.")
    parser.add_argument("--secret", required=True, help="<namespace>/<name> of the signing Secret")
    parser.add_argument("--public", required=True, help="<namespace>/<name> of the ConfigMap")
    parser.add_argument("--out", required=True, type=Path, help="file for the private key")
    parser.add_argument("--brought", action="store_true", help="never fill the Secret")
    options = parser.parse_args(arguments)
    try:
        secret = _object_path("secrets", options.secret)
        public = _object_path("configmaps", options.public)
        kubeconfig = os.environ.get("GRADEKEEPER_KUBECONFIG", "")
        connection = load_connection(Path(kubeconfig) if kubeconfig else None, os.environ)
        token = connection.bearer()
        with httpx.Client(
            base_url=connection.server,
            verify=connection.ssl_context(),
            headers={"Authorization": f"Bearer {token}"} if token else {},
            timeout=10.0,
            trust_env=False,
        ) as client:
            objects = Objects(client)

            def ensure() -> bytes:
                pem = ensure_private_key(objects, secret, may_create=not options.brought)
                publish_public_key(objects, public, _parse(pem).public_pem)
                return pem

            store(patiently(ensure), options.out)
    except (SettingsError, ClusterError, OSError) as error:
        sys.stderr.write(f"signing key: {error}\n")
        return 1
    return 0


def _parse(pem: bytes) -> SigningKey:
    try:
        return SigningKey.from_pem(pem)
    except KeyInvalid as error:
        raise SettingsError(f"{PRIVATE} of the signing Secret: {error}") from None


if __name__ == "__main__":
    sys.exit(main())
