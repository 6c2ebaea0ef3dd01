"""Programs in a box that need this host, against a server that runs a box's commands as its own.

Both ends share one loopback here, so the box's end listens on another port than the host's.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import WSMsgType, web
from verifiers.v1.errors import SandboxError

from env.fake_api import FakeApi, exit_status
from env.test_link import free_port
from gradekeeper_verifiers import link, relay
from gradekeeper_verifiers import runtime as runtime_module
from gradekeeper_verifiers.config import KubernetesConfig
from gradekeeper_verifiers.errors import BoxEndedError, BoxUnreachableError
from gradekeeper_verifiers.runtime import KubernetesRuntime

ASK = (
    "import socket, sys; s = socket.create_connection(('127.0.0.1', int(sys.argv[1])));"
    " s.sendall(b'hello'); s.shutdown(socket.SHUT_WR); print(s.makefile().read())"
)
SLEEP = ["sleep", "60"]


def _is_relay(argv: list[str]) -> bool:
    return any("stdin.buffer.read" in part for part in argv)


class RealBox:
    """Runs what the server is asked to run, each relay with another port in the box."""

    def __init__(self, path: str | None = None) -> None:
        self.port = free_port()
        self.path = path
        self.relays: list[asyncio.subprocess.Process] = []
        self.programs: list[asyncio.subprocess.Process] = []
        self.started = asyncio.Event()
        self.cut = asyncio.Event()
        self.sends: bytes | None = None

    async def __call__(self, api: FakeApi, argv: list[str], socket: web.WebSocketResponse) -> None:
        is_relay = _is_relay(argv)
        if is_relay:
            argv = [*argv[:-1], str(self.port)]
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
            env={"PATH": self.path or os.environ["PATH"]},
        )
        (self.relays if is_relay else self.programs).append(process)
        if argv[-2:] == SLEEP:
            self.started.set()
        assert process.stdout is not None and process.stderr is not None
        feeding = asyncio.create_task(self._feed(socket, process))
        cutting = asyncio.create_task(self.cut.wait())
        if is_relay and self.sends is not None:
            await socket.send_bytes(b"\x01" + self.sends)
        outputs = asyncio.gather(
            self._forward(process.stdout, b"\x01", socket),
            self._forward(process.stderr, b"\x02", socket),
            process.wait(),
        )
        await asyncio.wait(
            {outputs, cutting} if is_relay else {outputs}, return_when=asyncio.FIRST_COMPLETED
        )
        for task in (feeding, cutting):
            task.cancel()
        if outputs.done():
            code = process.returncode or 0
            with contextlib.suppress(ConnectionError):
                await socket.send_bytes(exit_status(128 - code if code < 0 else code))
        else:
            process.kill()
            await outputs

    async def _feed(
        self, socket: web.WebSocketResponse, process: asyncio.subprocess.Process
    ) -> None:
        assert process.stdin is not None
        async for message in socket:
            if message.type is WSMsgType.BINARY:
                if message.data == b"\xff\x00":
                    process.stdin.close()
                else:
                    process.stdin.write(message.data[1:])
        if not process.stdin.is_closing():
            process.stdin.close()

    async def _forward(
        self, reader: asyncio.StreamReader, channel: bytes, socket: web.WebSocketResponse
    ) -> None:
        while data := await reader.read(32768):
            with contextlib.suppress(ConnectionError):
                await socket.send_bytes(channel + data)


@pytest.fixture
async def api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[FakeApi]:
    monkeypatch.setattr(runtime_module, "_AFTERMATH_SECONDS", 0.2)
    monkeypatch.setattr(runtime_module, "_POLL_SECONDS", (0.01, 0.05))
    monkeypatch.setattr(runtime_module, "STATE_DIRECTORY", str(tmp_path / "state"))
    async with FakeApi(tmp_path / "kubeconfig") as server:
        server.on_exec = RealBox()
        yield server


@pytest.fixture
async def box(api: FakeApi, tmp_path: Path) -> AsyncIterator[KubernetesRuntime]:
    config = KubernetesConfig(
        kubeconfig=str(api.kubeconfig), creates_per_sec=None, workdir=str(tmp_path / "work")
    )
    made = KubernetesRuntime(config, "r-1")
    await made.start()
    yield made
    await made.stop()


@pytest.fixture
async def host() -> AsyncIterator[str]:
    """A server of this host that answers in capitals."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write((await reader.read(-1)).upper())
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    server.close()
    await server.wait_closed()


def _real(api: FakeApi) -> RealBox:
    assert isinstance(api.on_exec, RealBox)
    return api.on_exec


async def test_a_program_reaches_what_the_host_serves_while_it_runs(
    api: FakeApi, box: KubernetesRuntime, host: str
) -> None:
    real = _real(api)
    ask = [sys.executable, "-c", ASK, str(real.port)]

    assert box.host_url(host) == host
    before = await box.run(ask, {})
    during = await box.run_program(ask, {})
    after = await box.run(ask, {})

    assert before.exit_code == after.exit_code == 1
    assert "ConnectionRefusedError" in before.stderr and "ConnectionRefusedError" in after.stderr
    assert (during.exit_code, during.stdout) == (0, "HELLO\n")
    (ended,) = real.relays
    assert await asyncio.wait_for(ended.wait(), 30) == 0
    # The host's own port is the only one, and it was named out here.
    assert [argv[-1] for argv in api.commands if _is_relay(argv)] == [
        host.removesuffix("/v1").rpartition(":")[2]
    ]


async def test_what_needs_no_host_has_no_relay(api: FakeApi, box: KubernetesRuntime) -> None:
    assert box.host_url("http://192.0.2.1:80/v1") == "http://192.0.2.1:80/v1"

    assert (await box.run_program(["true"], {})).exit_code == 0
    assert _real(api).relays == []


async def test_rollouts_that_share_a_box_have_addresses_of_their_own(
    box: KubernetesRuntime, host: str
) -> None:
    one, other = box.with_env({}), box.with_env({})

    one.host_url(host)

    assert isinstance(one, KubernetesRuntime) and isinstance(other, KubernetesRuntime)
    assert len(one._host_ports) == 1
    assert box._host_ports == other._host_ports == frozenset()


async def test_programs_that_need_the_same_port_share_a_relay(
    api: FakeApi, box: KubernetesRuntime, host: str
) -> None:
    real = _real(api)
    box.host_url(host)

    sleeping = asyncio.create_task(box.run_program(SLEEP, {}))
    await real.started.wait()
    asked = await box.run_program([sys.executable, "-c", ASK, str(real.port)], {})
    sleeping.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sleeping

    assert asked.stdout == "HELLO\n"
    (only,) = real.relays
    assert await asyncio.wait_for(only.wait(), 30) == 0
    # A later program gets a new one.
    asked = await box.run_program([sys.executable, "-c", ASK, str(real.port)], {})
    assert asked.stdout == "HELLO\n" and len(real.relays) == 2


def _kill(api: FakeApi) -> None:
    _real(api).relays[0].kill()


def _cut(api: FakeApi) -> None:
    _real(api).cut.set()


def _delete(api: FakeApi) -> None:
    api.pods.clear()
    _real(api).cut.set()


def _run_out_of_memory(api: FakeApi) -> None:
    api.end({"terminated": {"reason": "OOMKilled", "exitCode": 137}})
    _real(api).cut.set()


@pytest.mark.parametrize(
    ("happens", "expected"),
    [
        pytest.param(_kill, "exit code 137", id="killed in the box"),
        pytest.param(_cut, BoxUnreachableError, id="the connection"),
        pytest.param(_delete, SandboxError, id="the box deleted"),
        pytest.param(_run_out_of_memory, BoxEndedError, id="the box out of memory"),
    ],
)
async def test_who_ended_the_relay(
    api: FakeApi,
    box: KubernetesRuntime,
    host: str,
    happens: Any,
    expected: str | type[SandboxError],
) -> None:
    real = _real(api)
    box.host_url(host)

    running = asyncio.create_task(box.run_program(SLEEP, {}))
    await real.started.wait()
    happens(api)

    if isinstance(expected, str):
        result = await running
        assert result.exit_code == 137 and result.stderr.endswith(expected + " ")
    else:
        with pytest.raises(SandboxError) as raised:
            await running
        assert type(raised.value) is expected
    if not api.pods or happens is _run_out_of_memory:
        for process in real.programs:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
    else:
        # Its end is told to this process a moment after the box has answered.
        ends = [asyncio.ensure_future(process.wait()) for process in real.programs]
        _, running_on = await asyncio.wait(ends, timeout=30)
        assert not running_on, "the program was left running"
        assert [end.result() for end in ends].count(-signal.SIGKILL) == 1


async def test_a_box_that_breaks_the_rules_loses_its_relay_and_nothing_else(
    api: FakeApi, box: KubernetesRuntime, host: str
) -> None:
    _real(api).sends = b"\x02\x00\x00\x00"
    box.host_url(host)

    result = await box.run_program(["true"], {})

    assert result.exit_code == 137
    assert "ended in the box: it broke the rules: READY is the first frame" in result.stderr
    assert (await box.run(["true"], {})).exit_code == 0


async def test_an_image_without_python_is_told_what_it_lacks(
    api: FakeApi, box: KubernetesRuntime, host: str, tmp_path: Path
) -> None:
    (tmp_path / "bin").mkdir()
    for name in ("sh", "env", "cat", "true"):
        (tmp_path / "bin" / name).symlink_to(f"/bin/{name}")
    api.on_exec = RealBox(str(tmp_path / "bin"))
    box.host_url(host)

    result = await box.run_program(["true"], {})

    assert result.exit_code == 137
    assert "exit code 127 the image has no python3" in result.stderr


async def test_a_relay_that_does_not_start_is_not_waited_for_without_end(
    api: FakeApi, box: KubernetesRuntime, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relay, "_START_SECONDS", 0.2)
    monkeypatch.setattr(relay, "_END_SECONDS", 0.2)

    async def silent(api: FakeApi, argv: list[str], socket: web.WebSocketResponse) -> None:
        if _is_relay(argv):
            await socket.receive()
            await socket.receive()
        else:
            await socket.send_bytes(exit_status(0))

    api.on_exec = silent
    box.host_url(host)
    result = await box.run_program(["true"], {})

    assert result.exit_code == 137 and "it did not start within" in result.stderr


def test_the_box_runs_this_very_file() -> None:
    assert relay._source() == Path(link.__file__).read_bytes()
