"""From a box to a verdict: no number without one, and each failure of its own kind."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import tarfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import verifiers.v1 as vf
from verifiers.v1.errors import SandboxError, TaskError
from verifiers.v1.runtimes import Runtime, SubprocessConfig, provision_runtime

from contract.fake_api import FakeApi
from contract.stand_in import StandIn, graded, lost
from gradekeeper.client import derive_nonce
from gradekeeper.verdicts.model import Graded, Unjudged
from gradekeeper_verifiers.grading import INFO_KEY, GradedTask, GradedTaskConfig, GradingConfig
from gradekeeper_verifiers.snapshot import SnapshotRules

NS = "grading"
JOBS = "gradingjobs"
SECRET = b"0123456789abcdef"


class ExampleTask(GradedTask, vf.Task[vf.TaskData, vf.State, GradedTaskConfig]):
    def snapshot_rules(self) -> SnapshotRules:
        return SnapshotRules("src", max_files=5, max_bytes=1000)


class World:
    """A task, its rollout's box and trace, the API server, and who signs verdicts."""

    def __init__(self, api: FakeApi, box: Runtime, folder: Path) -> None:
        self.api, self.box = api, box
        self.signer = StandIn()
        self.grading = GradingConfig(
            suite="billing",
            kubeconfig=str(folder / "kubeconfig"),
            public_keys=[folder / "verdict.pub"],
            run_secret_file=folder / "secret",
            patience=20,
        )
        context = {"cluster": "c", "user": "u", "namespace": NS}
        (folder / "kubeconfig").write_text(
            json.dumps(
                {
                    "current-context": "c",
                    "contexts": [{"name": "c", "context": context}],
                    "clusters": [{"name": "c", "cluster": {"server": api.url}}],
                    "users": [{"name": "u", "user": {"token": "t"}}],
                }
            )
        )
        (folder / "verdict.pub").write_bytes(self.signer.public_pem)
        (folder / "secret").write_bytes(SECRET)
        self.task = ExampleTask(vf.TaskData(), GradedTaskConfig(grading=self.grading))
        self.trace: Any = SimpleNamespace(
            id="rollout-1",
            info={},
            stop_condition=None,
            task=SimpleNamespace(key="refunds ü"),
            agent=vf.AgentInfo(config=vf.AgentConfig()),
        )

    def jobs(self) -> list[dict[str, Any]]:
        return [obj for (plural, _, _), obj in self.api.objects.items() if plural == JOBS]

    async def finalize(self, judge: Callable[[dict[str, Any]], object]) -> None:
        """Run `finalize`, and `judge` once there is a job with its part."""

        def delivered() -> bool:
            return any(plural == "configmaps" for plural, _, _ in self.api.objects)

        async with asyncio.TaskGroup() as tasks:

            async def operator() -> None:
                await self.api.wait_until(delivered)
                judge(self.jobs()[0])

            working = tasks.create_task(operator())
            try:
                await self.task.finalize(self.trace, self.box)
            finally:
                working.cancel()

    def publish(
        self, verdict: Graded | Unjudged, signer: StandIn | None = None
    ) -> Callable[[dict[str, Any]], None]:
        def judge(job: dict[str, Any]) -> None:
            status = (signer or self.signer).status(job, verdict)
            self.api.set_status(JOBS, NS, job["metadata"]["name"], status)

        return judge


@pytest.fixture
async def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    monkeypatch.setenv("VF_RUN_ID", "run-1")
    async with FakeApi().running() as api, provision_runtime(SubprocessConfig()) as box:
        await box.write("src/A.java", b"class A {}")
        yield World(api, box, tmp_path)


def _only(group: ExceptionGroup[Exception]) -> Exception:
    (error,) = group.exceptions
    return error


async def test_a_verdict_is_kept_with_its_attestation_and_believed_once_verified(
    world: World,
) -> None:
    seen: list[dict[str, Any]] = []
    parts: list[bytes] = []

    def judge(job: dict[str, Any]) -> None:
        assert world.box.stopped
        seen.append(job)
        parts.extend(
            base64.b64decode(obj["binaryData"]["part"])
            for (plural, _, _), obj in world.api.objects.items()
            if plural == "configmaps"
        )
        world.publish(graded("PPF"))(job)

    await world.finalize(judge)

    spec = seen[0]["spec"]
    assert spec["suiteRef"] == {"name": "billing"} and spec["group"] == "run-1/refunds ?"
    assert spec["nonce"] == derive_nonce(SECRET, "rollout-1")
    with tarfile.open(fileobj=io.BytesIO(b"".join(parts))) as tar:
        assert "./src/A.java" in tar.getnames()
    assert world.jobs() == []
    # A trace is JSON, and is read by other processes.
    world.trace.info = json.loads(json.dumps(world.trace.info))
    verification = world.task.verdict(world.trace)
    assert isinstance(verification.verdict, Graded) and verification.verdict.outcomes == "PPF"
    assert world.trace.info[INFO_KEY]["decision"] == "Graded"


async def test_what_the_platform_could_not_judge_is_an_error_to_retry(world: World) -> None:
    with pytest.raises(ExceptionGroup) as raised:
        await world.finalize(world.publish(lost()))

    assert type(_only(raised.value)) is SandboxError and "PodLost" in str(_only(raised.value))
    with pytest.raises(TaskError, match="has no verdict"):
        world.task.verdict(world.trace)


async def test_a_job_that_somebody_deletes_is_an_error_to_retry(world: World) -> None:
    def delete(job: dict[str, Any]) -> None:
        world.api.delete(JOBS, NS, job["metadata"]["name"])

    with pytest.raises(ExceptionGroup) as raised:
        await world.finalize(delete)
    assert type(_only(raised.value)) is SandboxError


async def test_patience_that_ends_is_an_error_to_retry_and_leaves_no_job(world: World) -> None:
    world.grading.patience = 0.3

    with pytest.raises(ExceptionGroup) as raised:
        await world.finalize(lambda job: None)
    assert type(_only(raised.value)) is SandboxError
    assert world.jobs() == [] and world.trace.info == {}


async def test_a_strangers_signature_is_no_verdict(world: World) -> None:
    with pytest.raises(ExceptionGroup) as raised:
        await world.finalize(world.publish(graded("PPP"), signer=StandIn()))

    assert type(_only(raised.value)) is TaskError
    assert world.trace.info == {}


async def test_an_aborted_rollout_deletes_its_job(world: World) -> None:
    task = asyncio.create_task(world.task.finalize(world.trace, world.box))
    await world.api.wait_until(lambda: bool(world.jobs()))
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert world.jobs() == []


async def test_nothing_is_graded_after_a_setup_that_was_not_finished(world: World) -> None:
    world.trace.stop_condition = "setup_timeout"

    with pytest.raises(TaskError, match="setup"):
        await world.task.finalize(world.trace, world.box)
    assert world.api.log == []


async def test_without_keys_nothing_is_sent(world: World) -> None:
    world.grading.public_keys.clear()

    with pytest.raises(TaskError, match=r"grading\.public_keys"):
        await world.task.finalize(world.trace, world.box)
    assert world.api.log == []


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"nonce": "0" * 64}, id="nonce"),
        pytest.param({"digest": "sha256:" + "0" * 64}, id="submission"),
        pytest.param({"jobUid": "another"}, id="job"),
        pytest.param({"envelope": "{}"}, id="envelope"),
        pytest.param({"envelope": None}, id="no envelope"),
        pytest.param({"envelope": "[" * 150_000}, id="deep envelope"),
        pytest.param({"envelope": "\ud800"}, id="half a pair"),
        pytest.param({"digest": None}, id="no submission"),
        pytest.param({"nonce": None}, id="no nonce"),
        pytest.param({"jobUid": None}, id="no job"),
        pytest.param({"nonce": ["n"]}, id="a list of nonces"),
    ],
)
async def test_a_verdict_about_something_else_is_no_verdict(
    world: World, change: dict[str, Any]
) -> None:
    await world.finalize(world.publish(graded("PPP")))
    world.trace.info[INFO_KEY].update(change)
    # A process that has not the secret still sees what the signature is about.
    world.grading.run_secret_file = None

    with pytest.raises(TaskError, match="verdict"):
        world.task.verdict(world.trace)


async def test_another_rollouts_verdict_is_no_verdict(world: World) -> None:
    await world.finalize(world.publish(graded("PPP")))
    world.trace.id = "rollout-2"

    with pytest.raises(TaskError, match="another rollout's"):
        world.task.verdict(world.trace)
