"""Whatever an agent leaves in its box can be submitted, or claimed."""

from __future__ import annotations

import asyncio
import io
import os
import sys
import tarfile
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from verifiers.v1.errors import SandboxError
from verifiers.v1.runtimes import Runtime, SubprocessConfig, provision_runtime

from env.fake_api import FakeApi, exit_status, refusal
from gradekeeper.api.reasons import Reason
from gradekeeper.client import MAX_ARCHIVE_BYTES, Untransportable
from gradekeeper_verifiers import runtime as runtime_module
from gradekeeper_verifiers import snapshot as snapshot_module
from gradekeeper_verifiers.config import KubernetesConfig
from gradekeeper_verifiers.runtime import KubernetesRuntime
from gradekeeper_verifiers.snapshot import (
    SnapshotRules,
    empty_archive,
    read_packed,
    take_snapshot,
)

RULES = SnapshotRules("src/main", max_files=5, max_bytes=10_000, seconds=30)
MALFORMED = Untransportable(bytes=0, files=0, reason=Reason.SUBMISSION_MALFORMED)


@pytest.fixture
async def box() -> AsyncIterator[Runtime]:
    async with provision_runtime(SubprocessConfig()) as made:
        await made.run(["mkdir", "-p", "src/main/a"], {})
        yield made


async def _folder(box: Runtime) -> Path:
    return Path((await box.run(["pwd"], {})).stdout.strip())


def _names(archive: bytes | Untransportable) -> list[str]:
    assert isinstance(archive, bytes)
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        return sorted(member.name for member in tar if member.isfile())


async def test_files_arrive_with_their_paths(box: Runtime) -> None:
    await box.write("src/main/a/A.java", b"class A {}")
    await box.write("src/main/b c", b"x" * 9_990)
    await box.write("src/other", b"not asked for")

    archive = await take_snapshot(box, RULES)

    assert _names(archive) == ["./src/main/a/A.java", "./src/main/b c"]
    assert isinstance(archive, bytes)
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        found = tar.extractfile("./src/main/a/A.java")
        assert found is not None and found.read() == b"class A {}"


def _too_many(folder: Path) -> None:
    for number in range(6):
        (folder / f"{number}").touch()


def _too_large(folder: Path) -> None:
    (folder / "sparse").touch()
    os.truncate(folder / "sparse", 1 << 40)


@pytest.mark.parametrize(
    ("make", "claim"),
    [
        (
            _too_many,
            Untransportable(bytes=0, files=6, reason=Reason.SUBMISSION_TOO_MANY_FILES),
        ),
        (
            _too_large,
            Untransportable(bytes=10_001, files=1, reason=Reason.SUBMISSION_TOO_LARGE),
        ),
    ],
)
async def test_what_is_too_much_is_claimed_and_not_read_to_its_end(
    box: Runtime, make: Callable[[Path], None], claim: Untransportable
) -> None:
    make(await _folder(box) / "src/main")

    assert await take_snapshot(box, RULES) == claim


async def test_pipes_and_links_block_nothing(box: Runtime) -> None:
    folder = await _folder(box) / "src/main"
    os.mkfifo(folder / "pipe")
    (folder / "zero").symlink_to("/dev/zero")
    (folder / "up").symlink_to("..")
    (folder / "A.java").touch()

    assert _names(await take_snapshot(box, RULES)) == ["./src/main/A.java"]


@pytest.mark.parametrize("command", ["rm -r src", "rm -r src/main && ln -s / src/main"])
async def test_a_folder_that_is_gone_is_an_empty_submission(box: Runtime, command: str) -> None:
    assert (await box.run(["sh", "-c", command], {})).exit_code == 0

    archive = await take_snapshot(box, RULES)

    assert archive == empty_archive() and _names(archive) == []


async def test_a_tar_that_does_not_work_is_the_agents_doing(box: Runtime) -> None:
    await box.write("src/main/A.java", b"")
    # Programs found on PATH first, as in an image whose root may be written.
    await box.run(["sh", "-c", "mkdir bin; printf 'exit 1' >bin/tar; chmod +x bin/tar"], {})
    box.env = {"PATH": f"{await _folder(box)}/bin:{os.environ['PATH']}"}

    assert await take_snapshot(box, RULES) == MALFORMED


async def test_a_tar_that_never_ends_is_the_agents_doing(box: Runtime) -> None:
    await box.write("src/main/A.java", b"")
    await box.run(["sh", "-c", "mkdir bin; printf 'sleep 60' >bin/tar; chmod +x bin/tar"], {})
    box.env = {"PATH": f"{await _folder(box)}/bin:{os.environ['PATH']}"}
    rules = SnapshotRules("src/main", max_files=5, max_bytes=10_000, seconds=0.5)

    assert await take_snapshot(box, rules) == MALFORMED


def _out_of_memory(api: FakeApi) -> None:
    api.end({"terminated": {"reason": "OOMKilled", "exitCode": 137}})


@pytest.mark.parametrize(
    ("what", "expected"),
    [
        pytest.param(_out_of_memory, MALFORMED, id="ended by the agent"),
        pytest.param(lambda api: api.pods.clear(), SandboxError, id="deleted"),
        pytest.param(lambda api: None, MALFORMED, id="runs and lies"),
    ],
)
async def test_a_box_that_cannot_be_asked(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    what: Callable[[FakeApi], None],
    expected: Untransportable | type[Exception],
) -> None:
    monkeypatch.setattr(runtime_module, "_AFTERMATH_SECONDS", 0.2)

    async def answer(api: FakeApi, argv: list[str], socket: web.WebSocketResponse) -> None:
        what(api)
        # As of a good archive, which then does not come.
        await socket.send_bytes(b"\x01packed 1 1\n")
        await socket.send_bytes(exit_status(0))

    async with FakeApi(tmp_path / "kubeconfig") as api:
        settings = {"kubeconfig": str(api.kubeconfig), "creates_per_sec": None}
        box = KubernetesRuntime(KubernetesConfig(**settings), "r-1")
        await box.start()
        api.on_exec = answer
        if isinstance(expected, Untransportable):
            assert await take_snapshot(box, RULES) == expected
        else:
            with pytest.raises(expected):
                await take_snapshot(box, RULES)
        await box.stop()


@dataclass
class Node:
    """Runs a box's commands as real processes, and spoils some as `spoil` says.

    Attributes:
        spoil: Called with the number of each command that packs (0 for all others, such as those
            that look whether the box is there); True: it has answered, nothing is run.
    """

    spoil: Callable[[int, FakeApi, web.WebSocketResponse], Awaitable[bool]]
    packs: int = 0

    async def __call__(self, api: FakeApi, argv: list[str], socket: web.WebSocketResponse) -> None:
        packs = any("tar -cf" in part for part in argv)
        self.packs += packs
        if await self.spoil(self.packs if packs else 0, api, socket):
            return
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        for channel, data in zip((b"\x01", b"\x02"), await process.communicate(), strict=True):
            await socket.send_bytes(channel + data)
        assert process.returncode is not None
        await socket.send_bytes(exit_status(process.returncode))


@pytest.fixture
async def far(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[FakeApi, Runtime]]:
    """A box behind an API server, one file in its folder; quick to give up."""
    monkeypatch.setattr(runtime_module, "_AFTERMATH_SECONDS", 0.05)
    monkeypatch.setattr(runtime_module, "_POLL_SECONDS", (0.01, 0.02))
    monkeypatch.setattr(runtime_module, "STATE_DIRECTORY", str(tmp_path / "state"))
    monkeypatch.setattr(snapshot_module, "_PAUSE_SECONDS", (0.0, 0.0))
    monkeypatch.setattr(snapshot_module, "_ANSWER_SECONDS", 0.5)
    folder = tmp_path / "work" / "src" / "main"
    folder.mkdir(parents=True)
    (folder / "A.java").write_bytes(b"class A {}")
    async with FakeApi(tmp_path / "kubeconfig") as api:
        settings = {
            "kubeconfig": str(api.kubeconfig),
            "creates_per_sec": None,
            "workdir": str(tmp_path / "work"),
        }
        box = KubernetesRuntime(KubernetesConfig(**settings), "r-1")
        await box.start()
        yield api, box
        api.on_exec = None
        await box.stop()


async def _unavailable(pack: int, api: FakeApi, socket: web.WebSocketResponse) -> bool:
    if pack == 1:
        await socket.send_bytes(refusal("error dialing backend: dial tcp: i/o timeout"))
    return pack == 1


async def _cut(pack: int, api: FakeApi, socket: web.WebSocketResponse) -> bool:
    if pack == 1:
        await socket.send_bytes(b"\x011 1")
    return pack == 1  # and closed without a status


async def _cut_twice(pack: int, api: FakeApi, socket: web.WebSocketResponse) -> bool:
    return pack in (1, 2)


async def _success_after_half(pack: int, api: FakeApi, socket: web.WebSocketResponse) -> bool:
    if pack == 1:
        await socket.send_bytes(b"\x01packed 1 10\n")
        await socket.send_bytes(exit_status(0))
    return pack == 1


async def _cut_archive(pack: int, api: FakeApi, socket: web.WebSocketResponse) -> bool:
    if pack == 1:
        await socket.send_bytes(b"\x01packed 1 10\nabc")
        await socket.send_bytes(exit_status(0))
    return pack == 1


async def _slow(pack: int, api: FakeApi, socket: web.WebSocketResponse) -> bool:
    if pack == 1:
        await socket.receive()  # until the client gives up
    return pack == 1


@pytest.mark.parametrize(
    "spoil", [_unavailable, _cut, _cut_twice, _success_after_half, _cut_archive, _slow]
)
async def test_what_the_platform_spoils_is_done_again(
    far: tuple[FakeApi, Runtime], spoil: Any
) -> None:
    """Otherwise the operator would sign that the agent had made nothing of use."""
    api, box = far
    api.on_exec = Node(spoil)
    rules = SnapshotRules("src/main", max_files=5, max_bytes=10_000, seconds=2)

    assert _names(await take_snapshot(box, rules)) == ["./src/main/A.java"]


@pytest.mark.parametrize("refused", [[503], [429] * 5, [500, 502]])
async def test_an_api_server_that_refuses_for_a_while_is_asked_again(
    far: tuple[FakeApi, Runtime], refused: list[int]
) -> None:
    api, box = far

    async def nothing(pack: int, api: FakeApi, socket: web.WebSocketResponse) -> bool:
        return False

    api.on_exec = Node(nothing)
    api.refuse_exec = refused

    assert _names(await take_snapshot(box, RULES)) == ["./src/main/A.java"]


async def test_a_box_that_stays_out_of_reach_is_nobodys_submission(
    far: tuple[FakeApi, Runtime],
) -> None:
    api, box = far

    async def cut(pack: int, api: FakeApi, socket: web.WebSocketResponse) -> bool:
        return True

    node = api.on_exec = Node(cut)
    with pytest.raises(SandboxError, match="out of reach"):
        await take_snapshot(box, RULES)
    assert node.packs == 3


@pytest.mark.parametrize("kind", ["capture", "run"])
async def test_an_agent_that_swaps_what_was_packed_changes_nothing(
    far: tuple[FakeApi, Runtime], box: Runtime, tmp_path: Path, kind: str
) -> None:
    """It watches /tmp while its submission is packed, and writes over what is new there."""
    api, taken_from = far if kind == "capture" else (far[0], box)
    swapped = tmp_path / "swapped"
    swap = (
        "import glob, os, sys, time\n"
        "known = set(glob.glob('/tmp/.gradekeeper*'))\n"
        "print(flush=True)\n"
        "while not os.path.exists(sys.argv[1] + '.stop'):\n"
        "    for path in set(glob.glob('/tmp/.gradekeeper*')) - known:\n"
        "        open(path, 'wb').write(b'swapped')\n"
        "        open(sys.argv[1], 'a').write(path)\n"
    )
    agent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", swap, str(swapped), stdout=asyncio.subprocess.PIPE
    )
    assert agent.stdout is not None
    await agent.stdout.readline()

    async def nothing(pack: int, api: FakeApi, socket: web.WebSocketResponse) -> bool:
        return False

    api.on_exec = Node(nothing)
    await box.write("src/main/A.java", b"class A {}")
    try:
        archive = await take_snapshot(taken_from, RULES)
    finally:
        swapped.with_name("swapped.stop").touch()
        await agent.wait()
    assert _names(archive) == ["./src/main/A.java"]
    assert not swapped.exists()


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _link_to_zero(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


def _longer(path: Path) -> None:
    path.write_bytes(b"x" * 100_000)


@pytest.mark.parametrize("swap", [_pipe, _link_to_zero, _longer, Path.unlink])
async def test_a_file_that_is_swapped_while_it_is_packed_is_the_agents_doing(
    far: tuple[FakeApi, Runtime], tmp_path: Path, swap: Callable[[Path], None]
) -> None:
    """Between counting and packing: a `find` on PATH holds until the agent has swapped."""
    api, box = far
    target = tmp_path / "work/src/main/A.java"
    held, go = tmp_path / "held", tmp_path / "go"
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "find").write_text(
        f'#!/bin/sh\n/usr/bin/find "$@"\ntouch {held}\n'
        f"while [ ! -e {go} ]; do /bin/sleep 0.01; done\n"
    )
    (tools / "find").chmod(0o755)
    box.env = {"PATH": f"{tools}:{os.environ['PATH']}"}

    async def nothing(pack: int, api: FakeApi, socket: web.WebSocketResponse) -> bool:
        return False

    api.on_exec = Node(nothing)
    rules = SnapshotRules("src/main", max_files=5, max_bytes=10_000, seconds=5)
    taking = asyncio.create_task(take_snapshot(box, rules))
    async with asyncio.timeout(30):
        while not held.exists():  # noqa: ASYNC110 - it is a process's
            await asyncio.sleep(0.01)
        await asyncio.to_thread(swap, target)
        go.touch()
        taken = await taking
    if swap is _longer:
        assert taken == Untransportable(bytes=10_001, files=1, reason=Reason.SUBMISSION_TOO_LARGE)
    else:
        assert _names(taken) == []


async def _hangs(pack: int, api: FakeApi, socket: web.WebSocketResponse) -> bool:
    await socket.receive()
    return True


async def _killed(pack: int, api: FakeApi, socket: web.WebSocketResponse) -> bool:
    await socket.send_bytes(exit_status(137))
    return True


async def _no_processes(pack: int, api: FakeApi, socket: web.WebSocketResponse) -> bool:
    await socket.send_bytes(refusal("error executing command in container: no processes left"))
    return True


async def _says_nothing(pack: int, api: FakeApi, socket: web.WebSocketResponse) -> bool:
    await socket.send_bytes(exit_status(0))
    return True


@pytest.mark.parametrize("spoil", [_hangs, _killed, _no_processes, _says_nothing])
async def test_no_agent_has_its_rollout_dropped_by_a_box_that_does_nothing(
    far: tuple[FakeApi, Runtime], monkeypatch: pytest.MonkeyPatch, spoil: Any
) -> None:
    """It may stop, kill or replace whatever begins in its box, this package's own commands too."""
    api, box = far
    monkeypatch.setattr(runtime_module, "_KILL_SECONDS", 0.1)
    monkeypatch.setattr(snapshot_module, "_ANSWER_SECONDS", 0.1)
    api.on_exec = Node(spoil)
    rules = SnapshotRules("src/main", max_files=5, max_bytes=10_000, seconds=0.2)

    assert await take_snapshot(box, rules) == MALFORMED


async def test_a_box_that_hangs_as_its_node_fell_silent_is_nobodys_submission(
    far: tuple[FakeApi, Runtime], monkeypatch: pytest.MonkeyPatch
) -> None:
    api, box = far
    monkeypatch.setattr(runtime_module, "_KILL_SECONDS", 0.1)
    monkeypatch.setattr(snapshot_module, "_ANSWER_SECONDS", 0.1)
    for pod in api.pods.values():
        silent = {"type": "Ready", "status": "False"}
        pod["status"] = {**pod["status"], "conditions": [silent]}
    api.on_exec = Node(_hangs)
    rules = SnapshotRules("src/main", max_files=5, max_bytes=10_000, seconds=0.2)

    with pytest.raises(SandboxError, match="out of reach"):
        await take_snapshot(box, rules)


def _too_large_claim(size: int, files: int) -> Untransportable:
    return Untransportable(bytes=size, files=files, reason=Reason.SUBMISSION_TOO_LARGE)


@pytest.mark.parametrize(
    ("said", "taken"),
    [
        (b"packed 1 1\nabcEND", b"abc"),
        (b"packed 1 1\nabcENDEND", b"abcEND"),
        (b"packed 1 1\nabc", None),
        (b"packed 1 1\nEND", None),
        (b"packed 1 1", None),
        (b"packed 1\nabcEND", None),
        (b"packed 1 1 1\nabcEND", None),
        (b"packed 1 many\nabcEND", None),
        (b"packed 1 " + b"9" * 5_000 + b"\nabcEND", b"abc"),
        (b"packed " + b"9" * 4_000 + b" 1\nabcEND", b"abc"),
        (b"over 1 " + b"9" * 4_000 + b"\n", _too_large_claim(2**53, 1)),
        (b"over 1 -1\n", None),
        (b"over \xd9\xa1 1\n", None),
        (b"over 1 1", None),
        (b"missing 1\n", None),
        (b"missing", None),
        (b"missing\nEND", empty_archive()),
        (b"what 1 1\nabcEND", None),
        (b"\n", None),
        (b"", None),
        (b"\0" * 10_000, None),
        (
            b"packed 1 1\n" + b"x" * MAX_ARCHIVE_BYTES + b"END",
            b"x" * MAX_ARCHIVE_BYTES,
        ),
        (
            b"packed 1 1\n" + b"x" * (MAX_ARCHIVE_BYTES + 1),
            _too_large_claim(MAX_ARCHIVE_BYTES + 1, 1),
        ),
    ],
    ids=range(23),
)
def test_whatever_a_box_says_is_an_archive_a_claim_or_nothing(
    said: bytes, taken: bytes | Untransportable | None
) -> None:
    assert read_packed(said, RULES, b"END") == taken


@pytest.mark.parametrize("folder", ["/etc", "../x", "a/../b", "-x", "a//b", "..", "a/"])
def test_folders_outside_are_refused(folder: str) -> None:
    with pytest.raises(ValueError, match="below the workdir"):
        SnapshotRules(folder, max_files=1, max_bytes=1)
