"""Requests to one API server: settings, credentials that stay fresh, retries, errors of ours.

The kubernetes package reads the settings, because kubeconfig files have grown many ways to say who
one is (client certificates, tokens, token files, exec plugins, OIDC). httpx sends the requests: the
package's own asynchronous client has neither typed errors nor retries, and its watch would hide
whether a stream ended or expired.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import socket
import ssl
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, Final

import httpx

from gradekeeper.client._backoff import Backoff
from gradekeeper.client.errors import (
    ApiError,
    ConfigurationError,
    ConflictError,
    ExpiredError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    UnauthorizedError,
    UnavailableError,
)

log = logging.getLogger(__name__)

Manifest = dict[str, Any]
"""One Kubernetes object, as parsed from JSON."""

_TEMPORARY: Final = frozenset({429, 500, 502, 503, 504})
_NAMESPACE_FILE: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
_MOST_BODY_QUOTED: Final = 500
MAX_ANSWER_BYTES: Final = 256 * 1024 * 1024
"""Of one answer, decompressed: a page of 500 jobs, each with the longest attestation and as much
again."""
MAX_ERROR_BYTES: Final = 1024 * 1024
"""Of an answer that says why not."""
MAX_LINE_BYTES: Final = 8 * 1024 * 1024
"""Of one event of a watch: an object has at most 3 MiB, and JSON may escape some of it."""
# A peer that vanished without a FIN is noticed after 20 + 3 x 10 seconds, also in an idle watch.
_KEEPALIVE: Final = [
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    *(
        (socket.IPPROTO_TCP, getattr(socket, name), value)
        for name, value in (("TCP_KEEPIDLE", 20), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3))
        if hasattr(socket, name)
    ),
]


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Where the API server is and how to speak to it.

    Attributes:
        url: `https://host:port`, maybe with a path.
        namespace: The namespace of the context or of the Pod; `default` if neither says one.
        verify: TLS context with the server's CA and maybe a client certificate; None for `http`.
        server_name: Name in the server's certificate, if it is not the host of the URL.
        authorization: Returns the header's current value or None. May run a plugin: it blocks.
    """

    url: str
    namespace: str
    verify: ssl.SSLContext | None
    server_name: str | None
    authorization: Callable[[], str | None]


def load_settings(*, kubeconfig: str | None = None, context: str | None = None) -> ServerSettings:
    """Read the settings as kubectl does: kubeconfig first, then those of the Pod. Blocks.

    Args:
        kubeconfig: File (several, joined as in `KUBECONFIG`); default `KUBECONFIG`, then
            `~/.kube/config`.
        context: Context of it; default the current one.

    Raises:
        ConfigurationError: Nothing usable was found; the message says what to do.
    """
    paths = kubeconfig or os.environ.get("KUBECONFIG") or str(Path.home() / ".kube" / "config")
    if any(Path(path).expanduser().is_file() for path in paths.split(os.pathsep)):
        return _from_kubeconfig(paths, context)
    if kubeconfig or context:
        raise ConfigurationError(
            f"No kubeconfig file at {paths}; set KUBECONFIG or name an existing file."
        )
    if os.environ.get("KUBERNETES_SERVICE_HOST"):
        return _in_cluster()
    raise ConfigurationError(
        f"No cluster to talk to: {paths} does not exist and this is no Pod; set KUBECONFIG."
    )


def _from_kubeconfig(paths: str, context: str | None) -> ServerSettings:
    from kubernetes import config as kube  # type: ignore[import-untyped]
    from kubernetes.client import Configuration  # type: ignore[import-untyped]

    configuration = Configuration()
    try:
        contexts, current = kube.list_kube_config_contexts(paths)
        if context is not None:
            current = next((c for c in contexts if c["name"] == context), None)
        if current is None:
            names = ", ".join(sorted(c["name"] for c in contexts)) or "none"
            raise ConfigurationError(f"The kubeconfig has no context {context!r}; it has: {names}.")
        kube.load_kube_config(
            config_file=paths, context=current["name"], client_configuration=configuration
        )
    except ConfigurationError:
        raise
    except Exception as error:  # the loader raises whatever a malformed file leads it to
        raise ConfigurationError(
            f"The kubeconfig {paths} cannot be used: {error}; `kubectl config view` may help."
        ) from error
    if (
        configuration.host.startswith("https")
        and not configuration.cert_file
        and not configuration.auth_settings()
    ):
        # The loader only logs it when an exec plugin fails.
        raise ConfigurationError(
            f"The context {current['name']!r} gives no credentials: its plugin failed or its user"
            " is missing; try `kubectl get gradingjobs` with it."
        )
    namespace = current["context"].get("namespace") or "default"
    return _settings(configuration, namespace)


def _in_cluster() -> ServerSettings:
    from kubernetes import config as kube
    from kubernetes.client import Configuration

    configuration = Configuration()
    try:
        kube.load_incluster_config(client_configuration=configuration)
        namespace = _NAMESPACE_FILE.read_text(encoding="utf-8").strip()
    except (kube.ConfigException, OSError) as error:
        raise ConfigurationError(
            f"The Pod's service account cannot be used: {error}; mount its token."
        ) from error
    return _settings(configuration, namespace or "default")


def _settings(configuration: Any, namespace: str) -> ServerSettings:
    verify: ssl.SSLContext | None = None
    if configuration.host.startswith("https"):
        try:
            verify = ssl.create_default_context(cafile=configuration.ssl_ca_cert)
            if configuration.cert_file:
                verify.load_cert_chain(configuration.cert_file, configuration.key_file)
        except (OSError, ssl.SSLError) as error:
            raise ConfigurationError(
                f"The cluster's CA or the client certificate cannot be read: {error}."
            ) from error
        if not configuration.verify_ssl:
            verify.check_hostname = False
            verify.verify_mode = ssl.CERT_NONE

    def authorization() -> str | None:
        setting = configuration.auth_settings().get("BearerToken")
        return setting["value"] if setting else None

    return ServerSettings(
        url=configuration.host.rstrip("/"),
        namespace=namespace,
        verify=verify,
        server_name=getattr(configuration, "tls_server_name", None),
        authorization=authorization,
    )


class Connection:
    """One API server, for as long as the process likes. Use it as an asynchronous context manager.

    Args:
        load: Gives the settings; called again when the server no longer accepts the credentials.
        retry_for: Seconds for which temporary failures of one request are retried.
        backoff: Delays between retries.
    """

    def __init__(
        self,
        load: Callable[[], ServerSettings],
        *,
        retry_for: float = 60.0,
        backoff: Backoff | None = None,
    ) -> None:
        self._load = load
        self._retry_for = retry_for
        self.backoff = backoff or Backoff()
        self._settings: ServerSettings | None = None
        self._http: httpx.AsyncClient | None = None
        self._retired: httpx.AsyncClient | None = None
        self._generation = 0
        self._loading = asyncio.Lock()

    async def __aenter__(self) -> Connection:
        await self._reload(self._generation)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close all sockets. Calling it again does nothing."""
        for client in (self._http, self._retired):
            if client is not None:
                await client.aclose()
        self._http = self._retired = None

    @property
    def is_open(self) -> bool:
        """Whether requests can be sent."""
        return self._http is not None

    @property
    def settings(self) -> ServerSettings:
        """The settings in use."""
        if self._settings is None:
            raise RuntimeError("The connection is not open: use `async with`.")
        return self._settings

    async def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: Manifest | None = None,
        content_type: str = "application/json",
        retry_for: float | None = None,
    ) -> Manifest:
        """Send one request and return the object of the answer.

        A create may be repeated after an answer was lost: callers examine what `AlreadyExists`
        means, which deterministic names make possible.

        Args:
            method: HTTP method.
            path: Absolute path under the server's URL.
            params: Query parameters.
            body: Sent as JSON.
            content_type: Of the body, for patches.
            retry_for: Seconds for retries instead of the connection's own.

        Raises:
            ApiError: One of its kinds.
            ConfigurationError: The server's certificate is not trusted, or credentials are gone.
        """
        content = None if body is None else json.dumps(body, separators=(",", ":")).encode()
        headers = {"content-type": content_type} if content is not None else {}
        patience = self._retry_for if retry_for is None else retry_for
        deadline = time.monotonic() + patience
        failures = 0
        while True:
            try:
                async with self._answer(method, path, params, content, headers, 30.0) as answer:
                    return _object(answer, await _body(answer, MAX_ANSWER_BYTES))
            except UnavailableError as error:
                failures += 1
                delay = max(self.backoff.delay(failures), error.retry_after)
                if time.monotonic() + delay > deadline:
                    raise
                log.debug("%s %s: %s Again in %.2f s.", method, path, error, delay)
            await asyncio.sleep(delay)

    async def clock_skew(self) -> float | None:
        """Seconds by which the server's clock is ahead of this machine's; None if it tells none.

        Exact to about a second: the server's date has no fractions.

        Raises:
            ApiError: As for `request`.
        """
        before = time.time()
        async with self._answer("GET", "/version", None, None, {}, 30.0) as answer:
            middle = (before + time.time()) / 2
            try:
                told = parsedate_to_datetime(answer.headers["date"])
            except (KeyError, ValueError):
                return None
        return told.timestamp() + 0.5 - middle

    async def lines(
        self, path: str, params: Mapping[str, str], *, idle: float
    ) -> AsyncGenerator[bytes, None]:
        """Stream the lines of one answer until the server ends it; no retries.

        Args:
            path: Absolute path.
            params: Query parameters.
            idle: Seconds without a byte after which the stream counts as dead.

        Raises:
            ApiError: As for `request`; a broken stream is an `UnavailableError`.
        """
        async with self._answer("GET", path, params, None, {}, idle) as answer:
            # Not aiter_lines: it also splits at U+0085 and its like, which JSON strings may hold.
            rest = bytearray()
            async for chunk in answer.aiter_bytes():
                start = 0
                while (end := chunk.find(b"\n", start)) >= 0:
                    rest += chunk[start:end]
                    if rest:
                        yield bytes(rest)
                    rest.clear()
                    start = end + 1
                rest += chunk[start:]
                if len(rest) > MAX_LINE_BYTES:
                    raise UnavailableError(
                        f"{path} sends a line of more than {MAX_LINE_BYTES} bytes."
                    )

    @contextlib.asynccontextmanager
    async def _answer(
        self,
        method: str,
        path: str,
        params: Mapping[str, str] | None,
        content: bytes | None,
        headers: Mapping[str, str],
        read_timeout: float,
    ) -> AsyncIterator[httpx.Response]:
        """Send and yield the answer's head; errors, also those while reading, become ours."""
        try:
            answer = await self._send(method, path, params, content, headers, read_timeout)
            try:
                if answer.status_code >= 400:
                    body = await _body(answer, MAX_ERROR_BYTES)
                    raise _error(answer, body, f"{method} {path}")
                yield answer
            finally:
                await answer.aclose()
        except httpx.TransportError as error:
            raise _transport_error(error, self.settings.url) from error

    async def _send(
        self,
        method: str,
        path: str,
        params: Mapping[str, str] | None,
        content: bytes | None,
        headers: Mapping[str, str],
        read_timeout: float,
    ) -> httpx.Response:
        for fresh in (False, True):
            generation = self._generation
            settings, http = self.settings, self._http
            if http is None:
                raise RuntimeError("The connection is closed.")
            # In a thread: it may run a plugin or read a file, and other jobs are waiting.
            authorization = await asyncio.to_thread(settings.authorization)
            sent = dict(headers)
            if authorization:
                sent["authorization"] = authorization
            request = http.build_request(
                method,
                settings.url + path,
                params=params,
                content=content,
                headers=sent,
                timeout=httpx.Timeout(15.0, read=read_timeout, pool=None),
                extensions={"sni_hostname": settings.server_name} if settings.server_name else {},
            )
            answer = await http.send(request, stream=True)
            if answer.status_code != 401 or fresh:
                return answer
            await answer.aclose()
            await self._reload(generation)
        raise AssertionError("unreachable")

    async def _reload(self, generation: int) -> None:
        async with self._loading:
            if generation != self._generation:
                return  # somebody else has reloaded meanwhile
            settings = await asyncio.to_thread(self._load)
            http = httpx.AsyncClient(
                transport=httpx.AsyncHTTPTransport(
                    verify=settings.verify if settings.verify is not None else False,
                    limits=httpx.Limits(max_connections=64, max_keepalive_connections=16),
                    socket_options=_KEEPALIVE,
                ),
                headers={"accept": "application/json", "user-agent": _user_agent()},
            )
            if self._retired is not None:
                await self._retired.aclose()
            # Requests under way still use the old one; it is closed at the next reload.
            self._retired, self._http = self._http, http
            self._settings = settings
            self._generation += 1


def _user_agent() -> str:
    from gradekeeper import __version__

    return f"gradekeeper-client/{__version__}"


async def _body(answer: httpx.Response, most: int) -> bytes:
    """Read an answer; what is longer than any of a Kubernetes API server is not held."""
    body = bytearray()
    async for chunk in answer.aiter_bytes():
        body += chunk
        if len(body) > most:
            raise UnavailableError(
                f"{answer.url} answered with more than {most} bytes.", status=answer.status_code
            )
    return bytes(body)


def _object(answer: httpx.Response, body: bytes) -> Manifest:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise UnavailableError(
            f"{answer.url} did not answer with JSON; is this a Kubernetes API server?",
            status=answer.status_code,
        ) from error
    if not isinstance(value, dict):
        raise UnavailableError(f"{answer.url} did not answer with an object.")
    return value


def error_of_status(status: Mapping[str, Any], code: int, what: str) -> ApiError:
    """Build the error of one `Status` object of the API server.

    Args:
        status: The object; may lack anything.
        code: The HTTP status code.
        what: The request, for the message.
    """
    reason = str(status.get("reason") or "")
    said = str(status.get("message") or reason or "no message")[:_MOST_BODY_QUOTED]
    message = f"{what}: {said} (HTTP {code})."
    if code in _TEMPORARY:
        return UnavailableError(message, status=code, reason=reason)
    kind = {
        400: InvalidError,
        401: UnauthorizedError,
        403: ForbiddenError,
        404: NotFoundError,
        409: ConflictError,
        410: ExpiredError,
        413: InvalidError,
        422: InvalidError,
    }.get(code, ApiError)
    return kind(message, status=code, reason=reason)


def _error(answer: httpx.Response, body: bytes, what: str) -> ApiError:
    try:
        status = json.loads(body)
    except (ValueError, RecursionError):
        status = None
    if not isinstance(status, dict):
        status = {"message": body.decode(errors="replace").strip()}
    error = error_of_status(status, answer.status_code, what)
    if isinstance(error, UnavailableError):
        error.retry_after = _seconds(answer.headers.get("retry-after"))
    return error


def _seconds(header: str | None) -> float:
    try:
        return min(60.0, max(0.0, float(header or 0)))
    except ValueError:  # a date: our own backoff is as good
        return 0.0


def _transport_error(error: httpx.TransportError, url: str) -> ApiError | ConfigurationError:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return ConfigurationError(
                f"The certificate of {url} is not trusted: {cause.verify_message}; check the"
                " kubeconfig's certificate-authority."
            )
        cause = cause.__cause__ or cause.__context__
    said = str(error) or type(error).__name__
    return UnavailableError(f"{url} does not answer: {said}.")
