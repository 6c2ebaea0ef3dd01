"""Whatever an agent leaves in its box can be submitted, or claimed."""

from __future__ import annotations

import io
import os
import tarfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from aiohttp import web
from verifiers.v1.errors import SandboxError
from verifiers.v1.runtimes import ProgramResult, Runtime, SubprocessConfig, provision_runtime

from env.fake_api import FakeApi, exit_status
from gradekeeper.api.reasons import Reason
from gradekeeper.client import Untransportable
from gradekeeper_verifiers import runtime as runtime_module
from gradekeeper_verifiers.config import KubernetesConfig
from gradekeeper_verifiers.runtime import KubernetesRuntime
from gradekeeper_verifiers.snapshot import (
    SnapshotRules,
    empty_archive,
    read_result,
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
        # Three numbers as of a good archive, which then cannot be read.
        await socket.send_bytes(b"\x011 1\n9\n")
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


@pytest.mark.parametrize(
    ("says", "claim"),
    [
        (
            f"1 1 {'9' * 5_000}",
            Untransportable(bytes=2**53, files=1, reason=Reason.SUBMISSION_TOO_LARGE),
        ),
        (f"{'9' * 5_000} 1 1", None),
        ("1 1 many", MALFORMED),
    ],
)
def test_numbers_without_end_are_only_a_wrong_claim(
    says: str, claim: Untransportable | None
) -> None:
    assert read_result(ProgramResult(0, says, ""), RULES) == claim


@pytest.mark.parametrize("folder", ["/etc", "../x", "a/../b", "-x", "a//b", "..", "a/"])
def test_folders_outside_are_refused(folder: str) -> None:
    with pytest.raises(ValueError, match="below the workdir"):
        SnapshotRules(folder, max_files=1, max_bytes=1)
