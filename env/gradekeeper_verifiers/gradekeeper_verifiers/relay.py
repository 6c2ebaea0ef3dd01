"""The host's end of the relay: one address of this host, at the same address in a box.

A box has no network, but commands reach it by the kubelet. So one command of it, `link`, listens on
127.0.0.1 in there, and its standard input and output carry each connection to the same port of
127.0.0.1 out here. The port is chosen out here; a box cannot name another.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from gradekeeper_verifiers import frames, link
from gradekeeper_verifiers.cluster import Cluster
from gradekeeper_verifiers.execution import Completed, ExecError, open_command

_START_SECONDS: Final = 60.0
# It ends by itself as soon as its input does, which frees its port for the next one.
_END_SECONDS: Final = 5.0
_MAX_SAID: Final = 4096
_COMMAND: Final = (
    'command -v python3 >/dev/null || { echo "the image has no python3, which a harness inside the'
    ' box reaches the model by; gradekeeper_bash needs none" >&2; exit 127; }; '
    'exec python3 -I -c "$1" "$2" "$3"'
)
_BEGIN: Final = "import sys; exec(sys.stdin.buffer.read(int(sys.argv[1])))"

_Ready = asyncio.Future[None]


async def relay(cluster: Cluster, namespace: str, pod: str, port: int, ready: _Ready) -> Completed:
    """Carry connections to `port` of the box's loopback to that of this host; cancel to end it.

    Args:
        cluster: The API server.
        namespace: Of the Pod.
        pod: Its name.
        port: The same at both ends.
        ready: Is resolved when the box can connect.

    Returns:
        How it ended inside of the box, which only something in there can have done. The code is
        None if it did not start in time, or broke the rules; `stderr` says so.

    Raises:
        ExecRefusedError: It could not be started in there.
        ExecLostError: The box could not be reached, or the connection to it broke.
    """
    # By its input, as many a proxy of API servers refuses long URLs. It sends READY before it is
    # sent any frame, so what follows the text is not read along with it.
    source = await asyncio.to_thread(_source)
    argv = ["sh", "-c", _COMMAND, "sh", _BEGIN, str(len(source)), str(port)]
    said = bytearray()
    async with open_command(cluster, namespace, pod, argv, stdin=True) as command:
        end = link.Link(
            command.send,
            lambda: asyncio.open_connection("127.0.0.1", port, limit=link.READ_AHEAD),
        )
        try:
            async with asyncio.timeout(_START_SECONDS) as limit:
                with contextlib.suppress(OSError):
                    await command.send(source)
                while not isinstance(received := await command.receive(), frames.Exited):
                    channel, payload = received
                    if channel == frames.STDERR:
                        said = (said + payload)[-_MAX_SAID:]
                        continue
                    end.receive(payload)
                    if end.ready and not ready.done():
                        limit.reschedule(None)
                        ready.set_result(None)
                return Completed(received.code, b"", bytes(said))
        except TimeoutError:
            return Completed(None, b"", b"it did not start within %d seconds" % _START_SECONDS)
        except link.LinkError as error:
            return Completed(None, b"", f"it broke the rules: {error}".encode())
        finally:
            await end.close()
            with contextlib.suppress(ExecError, OSError, TimeoutError):
                async with asyncio.timeout(_END_SECONDS):
                    await command.feed(b"")
                    while not isinstance(await command.receive(), frames.Exited):
                        pass


@functools.cache
def _source() -> bytes:
    return Path(link.__file__).read_bytes()


@dataclass(slots=True)
class _Shared:
    task: asyncio.Task[Completed]
    ready: _Ready
    users: int = 0


class Relays:
    """The relays of one box. Programs that need the same port share one, and the last ends it.

    Args:
        start: Runs the relay of a port until it ends, as `relay` does.
    """

    def __init__(self, start: Callable[[int, _Ready], Awaitable[Completed]]) -> None:
        self._start = start
        self._open: dict[int, _Shared] = {}
        # One that begins waits for one that ends: both need the box's port.
        self._changing = asyncio.Lock()

    @contextlib.asynccontextmanager
    async def use(self, port: int) -> AsyncIterator[asyncio.Task[Completed]]:
        """Hold the relay of a port, once it is ready or over.

        Yields:
            The task that ends when the relay does.
        """
        async with self._changing:
            shared = self._open.get(port)
            if shared is None:
                ready: _Ready = asyncio.get_running_loop().create_future()
                task = asyncio.create_task(self._run(port, ready))
                shared = self._open[port] = _Shared(task, ready)
            shared.users += 1
        try:
            either: set[asyncio.Future[Any]] = {shared.task, shared.ready}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            yield shared.task
        finally:
            async with self._changing:
                shared.users -= 1
                if not shared.users:
                    del self._open[port]
                    shared.task.cancel()
                    await asyncio.gather(shared.task, return_exceptions=True)

    async def _run(self, port: int, ready: _Ready) -> Completed:
        return await self._start(port, ready)
