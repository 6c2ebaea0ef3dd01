"""Nothing of an agent runs beside its grading: its box has ended before there is a job."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import verifiers.v1 as vf
from aiohttp import web
from verifiers.v1.errors import SandboxError, TaskError
from verifiers.v1.runtimes import ProgramResult, Runtime, SubprocessConfig, provision_runtime

from env.fake_api import FakeApi, Manifest, exit_status
from gradekeeper.client import Untransportable
from gradekeeper_verifiers import ending
from gradekeeper_verifiers import runtime as runtime_module
from gradekeeper_verifiers.config import KubernetesConfig
from gradekeeper_verifiers.grading import GradedTask, GradedTaskConfig
from gradekeeper_verifiers.runtime import KubernetesRuntime
from gradekeeper_verifiers.snapshot import SnapshotRules
from gradekeeper_verifiers.status import has_stopped, is_gone

DELETING = {"metadata": {"uid": "u", "deletionTimestamp": "2026-01-02T03:04:05Z"}}
ENDED = {"name": "box", "state": {"terminated": {"exitCode": 137}}}
RUNS = {"name": "box", "state": {"running": {}}}


@pytest.fixture
async def api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[FakeApi]:
    monkeypatch.setattr(ending, "_POLL_SECONDS", (0.01, 0.02))
    monkeypatch.setattr(ending, "_RETRY_SECONDS", 0.0)

    async def pack(api: FakeApi, argv: list[str], socket: web.WebSocketResponse) -> None:
        if any("tar -cf" in part for part in argv):
            await socket.send_bytes(b"\x01missing\n")
        await socket.send_bytes(exit_status(0))

    async with FakeApi(tmp_path / "kubeconfig") as server:
        server.on_exec = pack
        yield server


@pytest.fixture
async def box(api: FakeApi) -> AsyncIterator[KubernetesRuntime]:
    settings = {"kubeconfig": str(api.kubeconfig), "creates_per_sec": None}
    made = KubernetesRuntime(KubernetesConfig(**settings), "r-1")
    await made.start()
    yield made
    await made.stop()


class Task(GradedTask, vf.Task[vf.TaskData, vf.State, GradedTaskConfig]):
    def __init__(self, *, fails: bool = False) -> None:
        super().__init__(vf.TaskData(), GradedTaskConfig())
        self.fails = fails

    def snapshot_rules(self) -> SnapshotRules:
        return SnapshotRules("src", max_files=5, max_bytes=1000)

    async def inspect(self, trace: Any, submission: bytes | Untransportable) -> None:
        if self.fails:
            raise RuntimeError("the submission cannot be looked at")


def trace_of(*, lent: bool = False) -> Any:
    agent = vf.AgentInfo(config=vf.AgentConfig())
    if lent:
        agent.runtime = SimpleNamespace(borrowed=True)  # type: ignore[assignment]
    return SimpleNamespace(stop_condition=None, agent=agent)


async def until(happened: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not happened():  # noqa: ASYNC110 - a server's state
            await asyncio.sleep(0.005)


async def test_a_submission_is_only_handed_out_once_the_box_is_gone(
    api: FakeApi, box: KubernetesRuntime
) -> None:
    api.lingers = True
    taking = asyncio.create_task(Task().take_submission(trace_of(), box))
    await until(lambda: api.deletions > 0)
    reads = api.reads
    await until(lambda: api.reads > reads + 3)
    assert not taking.done() and api.pods

    api.pods.clear()

    assert isinstance(await taking, bytes)
    assert box.stopped and not await box.alive()


async def test_a_node_that_said_that_all_has_ended_is_not_waited_for_without_end(
    api: FakeApi, box: KubernetesRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent may have left a million files, which its node removes in its own time."""
    monkeypatch.setattr(ending, "_GONE_SECONDS", 0.05)
    api.lingers = True
    ended = asyncio.create_task(box.end())
    await until(lambda: api.deletions > 0)
    reads = api.reads
    await until(lambda: api.reads > reads + 8)
    assert not ended.done()

    api.end({"terminated": {"exitCode": 137}})

    await ended
    assert api.pods


async def test_a_box_that_does_not_end_is_the_platforms_and_is_not_graded_beside(
    api: FakeApi, box: KubernetesRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime_module, "_END_SECONDS", 0.1)
    api.lingers = True

    with pytest.raises(SandboxError, match=r"not seen to end .* nothing is graded beside it"):
        await Task().take_submission(trace_of(), box)

    # verifiers stops it all the same, and Python's end would.
    before = api.deletions
    await box.stop()
    assert api.deletions == before + 1


@pytest.mark.parametrize("failures", [1, 5])
async def test_an_api_server_that_is_away_is_waited_for(
    api: FakeApi, box: KubernetesRuntime, failures: int
) -> None:
    api.refuse_delete = [503] * failures

    await box.end()

    assert api.pods == {} and api.refuse_delete == []


async def test_an_api_server_that_stays_away_is_the_platforms(
    api: FakeApi, box: KubernetesRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime_module, "_END_SECONDS", 0.1)
    api.refuse_delete = [503] * 10_000

    with pytest.raises(SandboxError, match="not seen to end"):
        await box.end()
    api.refuse_delete = []


async def test_ending_twice_and_stopping_is_ending_once(
    api: FakeApi, box: KubernetesRuntime
) -> None:
    await box.end()
    await box.end()
    await box.stop()
    box.cleanup()

    assert api.deletions == 1


async def test_a_box_that_is_gone_already_has_ended(api: FakeApi, box: KubernetesRuntime) -> None:
    api.pods.clear()

    await box.end()

    assert box.stopped


@pytest.mark.parametrize("when", ["inspected", "ending"])
async def test_whatever_comes_between_leaves_the_box_to_verifiers(
    api: FakeApi, box: KubernetesRuntime, when: str
) -> None:
    if when == "inspected":
        with pytest.raises(RuntimeError):
            await Task(fails=True).take_submission(trace_of(), box)
    else:
        api.lingers = True
        taking = asyncio.create_task(Task().take_submission(trace_of(), box))
        await until(lambda: api.deletions > 0)
        taking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await taking
        api.lingers = False
    assert api.pods

    await box.stop()

    assert api.pods == {}


async def test_a_box_that_is_lent_is_not_ended_and_nothing_is_graded(
    api: FakeApi, box: KubernetesRuntime
) -> None:
    with pytest.raises(TaskError, match="lent"):
        await Task().take_submission(trace_of(lent=True), box)
    box.info.borrowed = True
    with pytest.raises(TaskError, match="lent"):
        await Task().take_submission(trace_of(), box)

    assert api.pods


async def test_other_runtimes_are_stopped_and_asked() -> None:
    async with provision_runtime(SubprocessConfig()) as other:
        await other.run(["mkdir", "src"], {})
        assert isinstance(await Task().take_submission(trace_of(), other), bytes)
        assert other.stopped

    class Immortal(Runtime):
        info = SimpleNamespace(borrowed=False)  # type: ignore[assignment]

        async def start(self) -> None: ...

        async def write(self, path: str, data: bytes) -> None: ...

        async def _read(self, path: str, max_bytes: int | None = None) -> bytes:
            return b""

        async def run(self, argv: list[str], env: dict[str, str]) -> ProgramResult:
            return ProgramResult(0, "", "")

    with pytest.raises(SandboxError, match="still runs"):
        await ending.end_box(Immortal())


@pytest.mark.parametrize(
    ("pod", "stopped"),
    [
        ({**DELETING, "status": {"containerStatuses": [ENDED]}}, True),
        ({"metadata": {"uid": "u"}, "status": {"containerStatuses": [ENDED]}}, False),
        ({**DELETING, "status": {"containerStatuses": [RUNS]}}, False),
        ({**DELETING, "status": {"phase": "Failed"}}, False),
        (DELETING, False),
        (
            {
                **DELETING,
                "status": {"containerStatuses": [ENDED], "ephemeralContainerStatuses": [RUNS]},
            },
            False,
        ),
    ],
)
def test_only_a_node_says_that_all_has_ended(pod: Manifest, stopped: bool) -> None:
    assert has_stopped(pod) is stopped


def test_a_pod_of_another_uid_is_another_pod() -> None:
    assert is_gone(DELETING, "v")
    assert not is_gone(DELETING, "u") and not is_gone(DELETING, None)
