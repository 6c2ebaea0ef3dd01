"""Run commands in a Pod over websockets of our own.

The kubernetes package's exec mixes the two outputs, loses exit codes, cannot end standard input and
fails on bytes that are no text; so the frames are spoken here, on aiohttp.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

import aiohttp
import yarl

from gradekeeper_verifiers import frames
from gradekeeper_verifiers.cluster import Cluster, pods_path
from gradekeeper_verifiers.status import CONTAINER

# A silent command is told from a dead connection by pings.
_HEARTBEAT_SECONDS: Final = 30.0
_CLOSE_SECONDS: Final = 2.0
# A kubelet's messages have 32 KiB.
_MAX_MESSAGE: Final = 4 << 20
# Before the handshake is over no process exists: trying again is safe.
_OPEN_ATTEMPTS: Final = 5


class ExecError(Exception):
    """A command has no exit status. Its message is one sentence."""


class ExecRefusedError(ExecError):
    """The node tried to start the command and could not, or it is too long to be sent."""


class ExecLostError(ExecError):
    """The command was not reached, or the connection to it broke: it may still run."""


@dataclass(frozen=True, slots=True)
class Completed:
    """What a command left.

    Attributes:
        code: Its exit code; None if it wrote more than it may and was not waited for.
        stdout: At most `max_output` bytes.
        stderr: At most `max_output` bytes.
    """

    code: int | None
    stdout: bytes
    stderr: bytes


async def run_command(
    cluster: Cluster,
    namespace: str,
    pod: str,
    argv: Sequence[str],
    *,
    stdin: bytes | None = None,
    max_output: int,
) -> Completed:
    """Run a command to its end. Cancelling leaves the process alone: whoever cancels kills it.

    Args:
        cluster: The API server.
        namespace: Of the Pod.
        pod: Its name.
        argv: Program and arguments; a missing program is an `ExecRefusedError`.
        stdin: Its whole standard input; None: none.
        max_output: Bytes of each output stream after which it is given up.

    Raises:
        ExecRefusedError: It could not be started in there.
        ExecLostError: It could not be reached, or the connection broke.
    """
    output = {frames.STDOUT: bytearray(), frames.STDERR: bytearray()}
    async with open_command(cluster, namespace, pod, argv, stdin=stdin is not None) as command:
        feeding = None if stdin is None else asyncio.create_task(command.feed(stdin))
        try:
            while not isinstance(received := await command.receive(), frames.Exited):
                channel, payload = received
                output[channel] += payload
                if len(output[channel]) > max_output:
                    return Completed(None, *(bytes(o[:max_output]) for o in output.values()))
        finally:
            if feeding is not None:
                feeding.cancel()
                await asyncio.gather(feeding, return_exceptions=True)
        return Completed(received.code, *map(bytes, output.values()))


class Command:
    """A command that was started, as its streams."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket

    async def receive(self) -> tuple[int, bytes] | frames.Exited:
        """Wait for the next output, as STDOUT or STDERR and bytes, or for its end.

        Raises:
            ExecRefusedError: It could not be started in there.
            ExecLostError: It could not be reached, or the connection broke.
        """
        async for message in self._socket:
            if message.type not in (aiohttp.WSMsgType.BINARY, aiohttp.WSMsgType.TEXT):
                break
            data = message.data if isinstance(message.data, bytes) else message.data.encode()
            channel, payload = frames.split_frame(data)
            if channel == frames.STATUS:
                end = frames.parse_status(payload)
                if isinstance(end, frames.Refused):
                    kind = ExecRefusedError if end.by_container else ExecLostError
                    raise kind(f"The command has no exit code: {end.message}")
                return end
            if channel in (frames.STDOUT, frames.STDERR):
                return channel, payload
        raise ExecLostError(
            f"The connection to the command was cut (close code {self._socket.close_code}): "
            f"{self._socket.exception() or 'no reason given'}"
        )

    async def feed(self, data: bytes) -> None:
        """Send its whole standard input."""
        for frame in frames.stdin_frames(data):
            await self._socket.send_bytes(frame)

    async def send(self, data: bytes) -> None:
        """Send at most `frames.STDIN_CHUNK` bytes of standard input; `feed(b"")` ends it.

        Raises:
            OSError: The connection is closed.
        """
        await self._socket.send_bytes(bytes([frames.STDIN]) + data)


@contextlib.asynccontextmanager
async def open_command(
    cluster: Cluster, namespace: str, pod: str, argv: Sequence[str], *, stdin: bool
) -> AsyncIterator[Command]:
    """Start a command and hold its streams; leaving it does not end the process.

    Raises:
        ExecRefusedError: It is too long to be sent.
        ExecLostError: The API server cannot be reached, or refuses.
    """
    query = [("command", part) for part in argv]
    query += [("container", CONTAINER), ("stdout", "true"), ("stderr", "true")]
    query += [("stdin", "true")] if stdin else []
    path = f"{pods_path(namespace, pod)}/exec?{urlencode(query)}"
    attempt = 0
    while True:
        attempt += 1
        try:
            socket = await _connect(cluster, path)
            break
        except aiohttp.WSServerHandshakeError as error:
            if error.status == 401 and attempt == 1:
                # A plain request renews credentials that have run out, for websockets too.
                await cluster.read_pod(namespace, pod)
            elif error.status in (414, 431):
                # By a proxy on the way, and again each time: its length is the command's own.
                raise ExecRefusedError(
                    f"The command is too long for the way to the API server: HTTP {error.status}"
                ) from error
            elif error.status not in (429, 503) or attempt == _OPEN_ATTEMPTS:
                raise ExecLostError(
                    f"The API server refused the command with HTTP {error.status}: {error.message}"
                ) from error
        except (aiohttp.ClientConnectorError, TimeoutError) as error:
            if attempt == _OPEN_ATTEMPTS:
                raise ExecLostError(f"The API server does not answer: {error}") from error
        except (aiohttp.ClientError, OSError) as error:
            raise ExecLostError(f"The connection broke at its start: {error!r}") from error
        await asyncio.sleep(cluster.connection.backoff.delay(attempt))
    try:
        yield Command(socket)
    finally:
        # aiohttp's own limit starts anew with each message, and some commands never fall silent.
        with contextlib.suppress(aiohttp.ClientError, OSError, TimeoutError):
            async with asyncio.timeout(_CLOSE_SECONDS):
                await socket.close()


async def _connect(cluster: Cluster, path: str) -> aiohttp.ClientWebSocketResponse:
    settings = cluster.connection.settings
    # In a thread: it may run a plugin or read a file, and other boxes are waiting.
    authorization = await asyncio.to_thread(settings.authorization)
    socket = await cluster.websockets.ws_connect(
        yarl.URL(settings.url + path, encoded=True),
        protocols=(frames.PROTOCOL,),
        headers={"authorization": authorization} if authorization else {},
        heartbeat=_HEARTBEAT_SECONDS,
        timeout=aiohttp.ClientWSTimeout(ws_close=_CLOSE_SECONDS),
        max_msg_size=_MAX_MESSAGE,
        ssl=settings.verify if settings.verify is not None else True,
        server_hostname=settings.server_name,
    )
    if socket.protocol != frames.PROTOCOL:
        await socket.close()
        raise ExecLostError(
            f"The API server does not speak {frames.PROTOCOL}; Kubernetes 1.30 or newer is needed."
        )
    return socket
