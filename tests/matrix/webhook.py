"""A mutating admission webhook on this machine: what an administrator's mistake or mischief does.

The API server of the test cluster runs on the same machine, so it reaches 127.0.0.1.
"""

from __future__ import annotations

import base64
import datetime
import ipaddress
import json
import ssl
import tempfile
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from demo.commands import Manifest

from gradekeeper.api.names import LABEL_ATTEMPT

from .api import Api, Refused

CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
NAME = "gk-matrix"
Mutation = Callable[[Manifest, str], list[Manifest] | None]
"""From a grading Pod and its subresource ("" or "status") to the operations of a JSON patch; None
is no answer at all."""


class Webhook:
    """Changes the Pods of first attempts in one namespace for as long as the context lasts.

    Args:
        api: where.
        namespace: whose Pods.
        mutation: what is changed.
        probe: a Pod that is offered, and never created, to see that the webhook is in force.
    """

    def __init__(self, api: Api, namespace: str, mutation: Mutation, probe: Manifest) -> None:
        self._api = api
        self._namespace = namespace
        self._probe = probe
        self._offered = threading.Event()
        self.called = threading.Event()
        """Set once a grading Pod was shown to the webhook."""
        offered, called = self._offered, self.called

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                review = json.loads(self.rfile.read(int(self.headers["content-length"])))
                request = review["request"]
                pod = request["object"]
                patch: list[Manifest] | None = []
                if pod["metadata"]["name"] == probe["metadata"]["name"]:
                    offered.set()
                else:
                    patch = mutation(pod, request.get("subResource") or "")
                    called.set()
                if patch is None:
                    self.send_error(503)
                    return
                response: Manifest = {"uid": request["uid"], "allowed": True}
                if patch:
                    text = base64.b64encode(json.dumps(patch).encode()).decode()
                    response |= {"patchType": "JSONPatch", "patch": text}
                answer = {
                    "apiVersion": "admission.k8s.io/v1",
                    "kind": "AdmissionReview",
                    "response": response,
                }
                body = json.dumps(answer).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing."""

        certificate, key = make_certificate()
        self._certificate = certificate
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with tempfile.TemporaryDirectory() as folder:
            files = Path(folder) / "crt", Path(folder) / "key"
            files[0].write_bytes(certificate)
            files[1].write_bytes(key)
            context.load_cert_chain(*files)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)

    def __enter__(self) -> Webhook:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self._api.create(CONFIGURATIONS, self._configuration())
        try:
            self._until_in_force()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def _until_in_force(self) -> None:
        deadline = time.monotonic() + 30
        collection = f"/api/v1/namespaces/{self._namespace}/pods"
        while not self._offered.wait(0.1):
            assert time.monotonic() < deadline, "the API server does not call the webhook"
            try:
                self._api.create(collection, self._probe, dryRun="All")
            except Refused as refused:
                assert "gradekeeper operator" in refused.message

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._api.delete(f"{CONFIGURATIONS}/{NAME}")
        self._server.shutdown()
        self._server.server_close()

    def _configuration(self) -> Manifest:
        port = self._server.server_address[1]
        return {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "MutatingWebhookConfiguration",
            "metadata": {"name": NAME},
            "webhooks": [
                {
                    "name": "pods.gk-matrix.test",
                    "clientConfig": {
                        "url": f"https://127.0.0.1:{port}/",
                        "caBundle": base64.b64encode(self._certificate).decode(),
                    },
                    "rules": [
                        {
                            "apiGroups": [""],
                            "apiVersions": ["v1"],
                            "operations": ["CREATE"],
                            "resources": ["pods"],
                        },
                        {
                            "apiGroups": [""],
                            "apiVersions": ["v1"],
                            "operations": ["UPDATE"],
                            "resources": ["pods/status"],
                        },
                    ],
                    "namespaceSelector": {
                        "matchLabels": {"kubernetes.io/metadata.name": self._namespace}
                    },
                    "objectSelector": {"matchLabels": {LABEL_ATTEMPT: "1"}},
                    "failurePolicy": "Fail",
                    "sideEffects": "None",
                    "timeoutSeconds": 5,
                    "admissionReviewVersions": ["v1"],
                }
            ],
        }


def make_certificate() -> tuple[bytes, bytes]:
    """A certificate for 127.0.0.1, signed by itself, and its key; both PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "gk-matrix")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]),
            critical=False,
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return certificate.public_bytes(serialization.Encoding.PEM), private
