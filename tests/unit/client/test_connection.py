"""Settings, credentials, TLS and errors, against real files, plugins and sockets."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import gzip
import ipaddress
import json
import os
import ssl
import stat
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from contract.fake_api import FakeApi
from gradekeeper.client import (
    ApiError,
    Backoff,
    ConfigurationError,
    ConflictError,
    Connection,
    ExpiredError,
    ForbiddenError,
    GradingClient,
    InvalidError,
    NotFoundError,
    UnauthorizedError,
    UnavailableError,
    load_settings,
)
from gradekeeper.client import _connection as connection_module

PATH = "/apis/gradekeeper.dev/v1alpha1/namespaces/grading/gradingjobs"


@pytest.fixture(autouse=True)
def no_cluster_of_the_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"):
        monkeypatch.delenv(name, raising=False)


def kubeconfig(path: Path, server: str, user: dict[str, Any], **cluster: Any) -> str:
    path.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "main",
                "contexts": [
                    {"name": "main", "context": {"cluster": "c", "user": "u"}},
                    {"name": "ns", "context": {"cluster": "c", "user": "u", "namespace": "deep"}},
                ],
                "clusters": [{"name": "c", "cluster": {"server": server, **cluster}}],
                "users": [{"name": "u", "user": user}],
            }
        )
    )
    return str(path)


def connection(config: str, retry_for: float = 5.0) -> Connection:
    return Connection(
        lambda: load_settings(kubeconfig=config),
        retry_for=retry_for,
        backoff=Backoff(first=0.001, most=0.01),
    )


# Where the settings come from.


def test_nothing_to_talk_to_says_what_to_do() -> None:
    with pytest.raises(ConfigurationError, match="set KUBECONFIG"):
        load_settings()


def test_a_named_file_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="No kubeconfig file at"):
        load_settings(kubeconfig=str(tmp_path / "none"))


def test_an_unknown_context_names_the_known_ones(tmp_path: Path) -> None:
    config = kubeconfig(tmp_path / "c", "http://127.0.0.1:1", {})
    with pytest.raises(ConfigurationError, match="no context 'x'; it has: main, ns"):
        load_settings(kubeconfig=config, context="x")


@pytest.mark.parametrize("text", ["", "[1, 2", "contexts: 3", "{}", "users: [{}]"])
def test_a_broken_file_is_one_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "c").write_text(text)
    with pytest.raises(ConfigurationError):
        load_settings(kubeconfig=str(tmp_path / "c"))


@pytest.mark.parametrize(("context", "namespace"), [(None, "default"), ("ns", "deep")])
def test_the_context_gives_the_namespace(
    tmp_path: Path, context: str | None, namespace: str
) -> None:
    config = kubeconfig(tmp_path / "c", "http://127.0.0.1:1", {})
    assert load_settings(kubeconfig=config, context=context).namespace == namespace


def test_the_environment_and_the_home_folder_are_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "home" / ".kube").mkdir(parents=True)
    kubeconfig(tmp_path / "home" / ".kube" / "config", "http://127.0.0.1:1", {})
    assert load_settings().url == "http://127.0.0.1:1"
    monkeypatch.setenv("KUBECONFIG", kubeconfig(tmp_path / "c", "http://127.0.0.1:2", {}))
    assert load_settings().url == "http://127.0.0.1:2"


def test_https_without_credentials_is_an_error_before_anything_is_sent(tmp_path: Path) -> None:
    config = kubeconfig(tmp_path / "c", "https://127.0.0.1:1", {"username": ""})
    with pytest.raises(ConfigurationError, match="gives no credentials"):
        load_settings(kubeconfig=config)


# Credentials.


def plugin(tmp_path: Path, body: str) -> dict[str, Any]:
    script = tmp_path / "plugin"
    script.write_text(f"#!/bin/sh\n{body}\n")
    script.chmod(stat.S_IRWXU)
    return {
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": str(script),
            "interactiveMode": "Never",
        }
    }


def credential(**status: str) -> str:
    return json.dumps(
        {
            "apiVersion": "client.authentication.k8s.io/v1",
            "kind": "ExecCredential",
            "status": status,
        }
    )


async def test_a_token_is_sent(api: FakeApi, tmp_path: Path) -> None:
    api.token = "Bearer t1"
    async with connection(kubeconfig(tmp_path / "c", api.url, {"token": "t1"})) as opened:
        assert (await opened.request("GET", PATH))["items"] == []


async def test_a_token_that_was_rotated_is_read_again(api: FakeApi, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("old")
    api.token = "Bearer old"
    config = kubeconfig(tmp_path / "c", api.url, {"tokenFile": str(tmp_path / "token")})
    async with connection(config) as opened:
        await opened.request("GET", PATH)
        (tmp_path / "token").write_text("new")
        api.token = "Bearer new"
        await asyncio.gather(*(opened.request("GET", PATH) for _ in range(10)))


async def test_an_exec_plugin_gives_the_token_and_is_asked_again(
    api: FakeApi, tmp_path: Path
) -> None:
    user = plugin(tmp_path, f"echo run >> {tmp_path}/runs; cat {tmp_path}/credential")
    (tmp_path / "credential").write_text(credential(token="one"))
    api.token = "Bearer one"
    async with connection(kubeconfig(tmp_path / "c", api.url, user)) as opened:
        await opened.request("GET", PATH)
        await opened.request("GET", PATH)
        assert (tmp_path / "runs").read_text() == "run\n"
        (tmp_path / "credential").write_text(credential(token="two"))
        api.token = "Bearer two"
        await opened.request("GET", PATH)


async def test_a_plugins_token_that_expires_soon_is_renewed_before_use(
    api: FakeApi, tmp_path: Path
) -> None:
    user = plugin(tmp_path, f"cat {tmp_path}/credential")
    soon = credential(token="one", expirationTimestamp="2020-01-01T00:00:00Z")
    (tmp_path / "credential").write_text(soon)
    async with connection(kubeconfig(tmp_path / "c", api.url, user)) as opened:
        (tmp_path / "credential").write_text(credential(token="two"))
        api.token = "Bearer two"
        await opened.request("GET", PATH)
    assert len(api.log) == 1, "no request with the expired token"


async def test_a_plugin_that_fails_is_a_configuration_error(tmp_path: Path) -> None:
    config = kubeconfig(tmp_path / "c", "https://127.0.0.1:1", plugin(tmp_path, "exit 3"))
    with pytest.raises(ConfigurationError, match="plugin failed"):
        await asyncio.to_thread(load_settings, kubeconfig=config)


async def test_credentials_that_stay_wrong_are_an_error_after_one_reload(
    api: FakeApi, tmp_path: Path
) -> None:
    api.token = "Bearer right"
    async with connection(kubeconfig(tmp_path / "c", api.url, {"token": "wrong"})) as opened:
        with pytest.raises(UnauthorizedError, match="token is not valid"):
            await opened.request("GET", PATH)
    assert len(api.log) == 2


# TLS.


class Authority:
    """A certificate authority and the certificates that it issues."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.file = self.issue("ca", authority=True)[0]

    def issue(self, name: str, *, authority: bool = False) -> tuple[str, str]:
        key = self.key if authority else ec.generate_private_key(ec.SECP256R1())
        now = datetime.datetime.now(datetime.UTC)
        issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "ca")])
        builder = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
            .issuer_name(issuer)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
            .add_extension(
                x509.SubjectAlternativeName(
                    [x509.DNSName(name), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
                    if name != "elsewhere"
                    else [x509.DNSName(name)]
                ),
                critical=False,
            )
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key()),
                critical=False,
            )
            .add_extension(
                x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False
            )
            .add_extension(
                x509.KeyUsage(
                    digital_signature=True,
                    content_commitment=False,
                    key_encipherment=False,
                    data_encipherment=False,
                    key_agreement=False,
                    key_cert_sign=authority,
                    crl_sign=authority,
                    encipher_only=False,
                    decipher_only=False,
                ),
                critical=True,
            )
        )
        certificate = builder.sign(self.key, hashes.SHA256())
        paths = self.folder / f"{name}.crt", self.folder / f"{name}.key"
        paths[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        paths[1].write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        return str(paths[0]), str(paths[1])


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
async def tls_server(authority: Authority, request: pytest.FixtureRequest) -> AsyncIterator[str]:
    """A server that tells who the client is by its certificate."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=authority.file)
    context.load_cert_chain(*authority.issue(getattr(request, "param", "localhost")))
    context.verify_mode = ssl.CERT_OPTIONAL

    async def who(asked: web.Request) -> web.Response:
        assert asked.transport is not None
        certificate = asked.transport.get_extra_info("peercert")
        name = certificate["subject"][0][0][1] if certificate else None
        return web.json_response({"name": name})

    app = web.Application()
    app.router.add_get("/who", who)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    yield f"https://127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()


def certificate_credential(authority: Authority, name: str) -> str:
    certificate, key = (Path(path).read_text() for path in authority.issue(name))
    return credential(clientCertificateData=certificate, clientKeyData=key)


async def test_a_client_certificate_is_presented(
    authority: Authority, tls_server: str, tmp_path: Path
) -> None:
    certificate, key = authority.issue("alice")
    user = {"client-certificate": certificate, "client-key": key}
    config = kubeconfig(
        tmp_path / "c", tls_server, user, **{"certificate-authority": authority.file}
    )
    async with connection(config) as opened:
        assert await opened.request("GET", "/who") == {"name": "alice"}


async def test_a_plugin_may_give_a_certificate(
    authority: Authority, tls_server: str, tmp_path: Path
) -> None:
    (tmp_path / "credential").write_text(certificate_credential(authority, "bob"))
    config = kubeconfig(
        tmp_path / "c",
        tls_server,
        plugin(tmp_path, f"cat {tmp_path}/credential"),
        **{"certificate-authority": authority.file},
    )
    async with connection(config) as opened:
        assert await opened.request("GET", "/who") == {"name": "bob"}


@pytest.mark.timeout(10)
async def test_another_authority_is_an_error_at_once(tls_server: str, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = Authority(tmp_path / "other")
    config = kubeconfig(
        tmp_path / "c", tls_server, {"token": "t"}, **{"certificate-authority": other.file}
    )
    async with connection(config, retry_for=60.0) as opened:
        with pytest.raises(ConfigurationError, match=r"certificate of .* is not trusted"):
            await opened.request("GET", "/who")


@pytest.mark.parametrize("tls_server", ["elsewhere"], indirect=True)
@pytest.mark.parametrize("named", [True, False])
async def test_the_servers_name_may_be_another_than_its_address(
    authority: Authority, tls_server: str, tmp_path: Path, named: bool
) -> None:
    cluster = {"certificate-authority": authority.file}
    if named:
        cluster["tls-server-name"] = "elsewhere"
    config = kubeconfig(tmp_path / "c", tls_server, {"token": "t"}, **cluster)
    async with connection(config) as opened:
        if named:
            assert await opened.request("GET", "/who") == {"name": None}
        else:
            with pytest.raises(ConfigurationError, match="not trusted"):
                await opened.request("GET", "/who")


# Errors.


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, InvalidError),
        (403, ForbiddenError),
        (404, NotFoundError),
        (405, ApiError),
        (409, ConflictError),
        (410, ExpiredError),
        (413, InvalidError),
        (422, InvalidError),
        (429, UnavailableError),
        (500, UnavailableError),
        (503, UnavailableError),
        (0, UnavailableError),
    ],
)
async def test_each_status_is_its_own_error(
    api: FakeApi, tmp_path: Path, status: int, kind: type[ApiError]
) -> None:
    config = kubeconfig(tmp_path / "c", api.url, {"token": "t"})
    async with connection(config, retry_for=0.0) as opened:
        api.fail("GET", "/", status, times=9)
        with pytest.raises(ApiError) as caught:
            await opened.request("GET", PATH)
    assert type(caught.value) is kind
    assert caught.value.status == status
    assert len(api.log) == 1


async def test_retry_after_is_honoured(api: FakeApi, tmp_path: Path) -> None:
    config = kubeconfig(tmp_path / "c", api.url, {"token": "t"})
    async with connection(config, retry_for=30.0) as opened:
        api.fail("GET", "/", 429, headers={"retry-after": "31"})
        with pytest.raises(UnavailableError, match="HTTP 429"):
            await opened.request("GET", PATH)  # to wait so long is more than we have
        api.fail("GET", "/", 429, headers={"retry-after": "soon"})
        assert await opened.request("GET", PATH)


async def test_nobody_listening_is_unavailable(tmp_path: Path, unused_tcp_port: int) -> None:
    url = f"http://127.0.0.1:{unused_tcp_port}"
    config = kubeconfig(tmp_path / "c", url, {"token": "t"})
    async with connection(config, retry_for=0.0) as opened:
        with pytest.raises(UnavailableError, match=f"{url} does not answer"):
            await opened.request("GET", PATH)


async def test_what_is_not_kubernetes_is_said(tmp_path: Path) -> None:
    async def page(_: web.Request) -> web.Response:
        return web.Response(text="<html>welcome</html>")

    app = web.Application()
    app.router.add_get("/{any:.*}", page)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        config = kubeconfig(tmp_path / "c", url, {"token": "t"})
        async with connection(config, retry_for=0.0) as opened:
            with pytest.raises(UnavailableError, match="is this a Kubernetes API server"):
                await opened.request("GET", PATH)
    finally:
        await runner.cleanup()


@pytest.mark.parametrize("how", ["endless", "endless error", "zeros", "deep", "digits"])
async def test_no_answer_takes_more_than_its_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setattr(connection_module, "MAX_ANSWER_BYTES", 1 << 20)

    async def answer(request: web.Request) -> web.StreamResponse:
        if how in ("deep", "digits"):
            return web.Response(body=b'{"a":' + (b"[" if how == "deep" else b"9") * 100_000)
        response = web.StreamResponse(status=500 if how == "endless error" else 200)
        if how == "zeros":
            response.headers["content-encoding"] = "gzip"
            await response.prepare(request)
            await response.write(gzip.compress(bytes(64 << 20)))
            return response
        await response.prepare(request)
        with contextlib.suppress(ConnectionError):
            while True:
                await response.write(b" " * 65_536)
        return response

    app = web.Application()
    app.router.add_get("/{any:.*}", answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        config = kubeconfig(tmp_path / "c", url, {"token": "t"})
        async with connection(config, retry_for=0.0) as opened:
            with pytest.raises(UnavailableError, match=r"more than|did not answer with JSON"):
                await opened.request("GET", PATH)
            if how == "endless":
                with pytest.raises(UnavailableError, match="a line of more than"):
                    async for _ in opened.lines(PATH, {}, idle=20):
                        pass
    finally:
        await runner.cleanup()


async def test_clients_with_the_same_settings_share_one_connection(
    api: FakeApi, tmp_path: Path
) -> None:
    config = kubeconfig(tmp_path / "c", api.url, {"token": "t"})
    async with GradingClient(kubeconfig=config) as one:
        async with GradingClient(kubeconfig=config) as two:
            assert one._connection is two._connection
            async with GradingClient(kubeconfig=config, context="ns") as other:
                assert other._connection is not one._connection
                assert (one.namespace, other.namespace) == ("default", "deep")
        await one.read_all()
        shared = one._connection
    assert not shared.is_open
    async with GradingClient(kubeconfig=config) as later:
        assert later._connection is not shared
        await later.read_all()


def test_delays_grow_to_a_bound() -> None:
    backoff = Backoff(first=0.25, most=15.0)
    for failures, bound in ((1, 0.25), (2, 0.5), (5, 4.0), (7, 15.0), (10**6, 15.0)):
        delays = [backoff.delay(failures) for _ in range(100)]
        assert bound / 10 <= min(delays) <= max(delays) <= bound


def test_the_process_environment_is_not_touched(tmp_path: Path) -> None:
    before = dict(os.environ)
    load_settings(kubeconfig=kubeconfig(tmp_path / "c", "http://127.0.0.1:1", {"token": "t"}))
    assert dict(os.environ) == before
