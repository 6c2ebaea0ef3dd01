"""A file of a box is read as one open file, whatever its agent puts into its place meanwhile."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from aiohttp import web
from verifiers.v1.errors import SandboxError

from env.fake_api import FakeApi, exit_status
from gradekeeper_verifiers import runtime as runtime_module
from gradekeeper_verifiers.config import KubernetesConfig
from gradekeeper_verifiers.frames import STDIN_END
from gradekeeper_verifiers.runtime import KubernetesRuntime

TEXT = b"first " * 100


async def node(api: FakeApi, argv: list[str], socket: web.WebSocketResponse) -> None:
    """Runs each command of the box as a real process."""
    given = b""
    if any("cat >" in part for part in argv):
        while (frame := (await socket.receive()).data) != STDIN_END:
            given += frame[1:]
    process = await asyncio.create_subprocess_exec(
        *argv,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    for channel, data in zip((b"\x01", b"\x02"), await process.communicate(given), strict=True):
        await socket.send_bytes(channel + data)
    assert process.returncode is not None
    await socket.send_bytes(exit_status(process.returncode % 256))


@pytest.fixture
async def box(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[KubernetesRuntime]:
    monkeypatch.setattr(runtime_module, "STATE_DIRECTORY", str(tmp_path / "state"))
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "file").write_bytes(TEXT)
    async with FakeApi(tmp_path / "kubeconfig") as api:
        api.on_exec = node
        settings = {
            "kubeconfig": str(api.kubeconfig),
            "creates_per_sec": None,
            "workdir": str(tmp_path / "work"),
        }
        made = KubernetesRuntime(KubernetesConfig(**settings), "r-1")
        await made.start()
        yield made
        api.on_exec = None
        await made.stop()


def link_to_zero(path: Path) -> None:
    path.symlink_to("/dev/zero")


def link_to_another(path: Path) -> None:
    path.with_name("other").write_bytes(b"second" * 100)
    path.symlink_to("other")


def longer(path: Path) -> None:
    path.write_bytes(b"second" * 10_000)


def nothing(path: Path) -> None:
    pass


@pytest.mark.parametrize(
    "put", [link_to_zero, link_to_another, os.mkfifo, Path.mkdir, longer, nothing]
)
@pytest.mark.parametrize("before", ["wc", "head"])
async def test_what_takes_the_files_name_is_not_read(
    box: KubernetesRuntime,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    put: Callable[[Path], None],
    before: str,
) -> None:
    """The agent swaps right before the file is counted, and before it is sent."""
    path = tmp_path / "work" / "file"
    made = tmp_path / "work" / "made"
    put(made)
    tools = tmp_path / "tools"
    tools.mkdir()
    swap = f"mv -T {made} {path}" if put is not nothing else f"rm -f {path}"
    keep = f"mv {path} {tmp_path / 'gone'}" if put is Path.mkdir else "true"
    (tools / before).write_text(f'#!/bin/sh\n{keep}\n{swap}\nexec /usr/bin/{before} "$@"\n')
    (tools / before).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")

    async with asyncio.timeout(60):
        assert await box.read("file") == TEXT
    assert not path.is_file() or path.read_bytes() != TEXT


async def test_a_file_that_flickers_is_read_whole_or_not(
    box: KubernetesRuntime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process of the agent puts a pipe, a link and the file there, as fast as it can."""
    monkeypatch.setattr(runtime_module, "_FILE_SECONDS", 2.0)
    monkeypatch.setattr(runtime_module, "_FILE_RATE", 1 << 40)
    agent = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        "import os, sys\n"
        "file, part, stop = sys.argv[1:]\n"
        f"text = {TEXT!r}\n"
        "print(flush=True)\n"
        "while not os.path.exists(stop):\n"
        "    os.mkfifo(part); os.replace(part, file)\n"
        "    open(part, 'wb').write(text); os.replace(part, file)\n"
        "    os.symlink('/dev/zero', part); os.replace(part, file)\n"
        "    open(part, 'wb').write(text); os.replace(part, file)\n",
        *(str(tmp_path / "work" / "file"), str(tmp_path / "part"), str(tmp_path / "stop")),
        stdout=asyncio.subprocess.PIPE,
    )
    assert agent.stdout is not None
    await agent.stdout.readline()
    try:
        async with asyncio.timeout(120):
            for _ in range(6):
                try:
                    assert await box.read("file", max_bytes=10_000) == TEXT
                except SandboxError as error:
                    assert "no such regular file" in str(error) or "took too long" in str(error)
    finally:
        (tmp_path / "stop").touch()
        await agent.wait()


@pytest.mark.parametrize("what", ["read", "write"])
async def test_a_pipe_in_the_right_moment_holds_nobody_for_long(
    box: KubernetesRuntime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    monkeypatch.setattr(runtime_module, "_FILE_SECONDS", 1.0)
    (tmp_path / "work" / "file").unlink()
    os.mkfifo(tmp_path / "work" / "file")
    # As if it had been a file when it was looked at.
    monkeypatch.setattr(
        runtime_module, "_READ", runtime_module._READ.replace('[ -f "$1" ]', "true")
    )

    with pytest.raises(SandboxError, match="took too long"):
        async with asyncio.timeout(60):
            if what == "read":
                await box.read("file", max_bytes=10_000)
            else:
                await box.write("file", b"x")
    assert await box.alive()
