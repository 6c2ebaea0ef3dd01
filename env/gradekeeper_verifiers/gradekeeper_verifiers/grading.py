"""A mixin for tasks that Gradekeeper grades: from a box to a verified verdict, or to an error.

    class MyTask(GradedTask, vf.Task[MyData, vf.State, GradedTaskConfig]):
        def snapshot_rules(self) -> SnapshotRules:
            return SnapshotRules("src/main", max_files=500, max_bytes=8 << 20)

        @vf.reward(weight=1.0)
        async def passed(self, trace: vf.Trace) -> float:
            outcomes = self.verdict(trace).verdict.outcomes
            return outcomes.count("P") / len(outcomes)

No number without a verdict: whatever keeps one away raises. Leave the task's and the agent's
`finalize` timeout unset: `patience` bounds the wait, and a queue is nobody's failure.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pydantic import Field
from pydantic_config import BaseConfig
from verifiers.v1.configs.task import TaskConfig
from verifiers.v1.errors import SandboxError, TaskError
from verifiers.v1.runtimes import Runtime
from verifiers.v1.trace import Trace
from verifiers.v1.utils.aio import run_shielded
from verifiers.v1.utils.scope import run_scope

from gradekeeper.api import names
from gradekeeper.client import (
    GradekeeperError,
    GradingClient,
    JobLostError,
    JobRequest,
    NotFoundError,
    PatienceOverError,
    UnavailableError,
    UnjudgedError,
    Untransportable,
    derive_nonce,
)
from gradekeeper.verdicts.model import Unjudged
from gradekeeper.verdicts.verify import Verification, VerificationFailed, verify_verdict
from gradekeeper_verifiers.ending import end_box
from gradekeeper_verifiers.snapshot import SnapshotRules, take_snapshot

INFO_KEY: Final = "gradekeeper"
"""Where `trace.info` keeps the attestation and what it is about."""

# What the platform failed at; the rollout may be tried again. All else wants a human.
_PLATFORMS: Final = (UnjudgedError, JobLostError, PatienceOverError, UnavailableError)
_MAX_GROUP: Final = 128
# Of what a trace keeps, what its verdict is held against.
_COMPARED: Final = ("envelope", "digest", "nonce", "jobUid")
_secret = secrets.token_bytes(32)


class GradingConfig(BaseConfig):
    """How a task is graded: `--env.taskset.task.grading.<field>`."""

    suite: str = ""
    """Name of the GradingSuite; a task package sets its own."""
    suite_digest: str | None = None
    """Digest that the suite must have (`sha256:…`); None: any that the installation admitted."""
    namespace: str | None = None
    """Namespace of the suite; None: that of the context."""
    kubeconfig: str | None = None
    """kubeconfig file; None: KUBECONFIG, ~/.kube/config, or the service account of this Pod."""
    context: str | None = None
    """Context of it; None: the current one."""
    public_keys: list[Path] = Field(default_factory=list)
    """Files with the public keys (PEM) of the installations whose verdicts are believed."""
    run_secret_file: Path | None = None
    """File with at least 16 secret bytes, so that a restarted run finds its gradings again, and its
    traces can be checked later. None: a secret that ends with the process."""
    patience: float = Field(7200.0, gt=0)
    """Seconds to wait for a verdict. More than queue + attempts x attempt deadline."""
    keep: bool = False
    """Whether verified jobs stay until their TTL is over."""


class GradedTaskConfig(TaskConfig):
    """Base of the configuration of graded tasks."""

    grading: GradingConfig = Field(default_factory=GradingConfig)
    """How the task is graded."""


class GradedTask:
    """Mixin before `vf.Task`: `finalize` has the box's content graded, `verdict` is for rewards."""

    config: Any
    data: Any

    def snapshot_rules(self) -> SnapshotRules:
        """What of the box is submitted."""
        raise NotImplementedError(f"{type(self).__name__} does not say what is submitted")

    def suite_task(self) -> str:
        """Task of the suite; empty: the whole suite."""
        return ""

    def suite_parameters(self) -> Mapping[str, str]:
        """Values of parameters that the suite declares."""
        return {}

    def attempt_deadline(self) -> int | None:
        """Seconds that one attempt to grade may take; None: the API's default."""
        return None

    async def inspect(self, trace: Trace, submission: bytes | Untransportable) -> None:
        """Look at what is about to be submitted, for what rewards need beyond the verdict.

        What they need of the box itself is read before `finalize`, which ends it.
        """

    async def take_submission(self, trace: Trace, runtime: Runtime) -> bytes | Untransportable:
        """Take what is submitted and end the box: nothing of the agent runs during the grading.

        Raises:
            SandboxError: The platform lost the box, or did not end it.
            TaskError: The setup was not finished, or the box is not this rollout's to end.
        """
        if trace.stop_condition == "setup_timeout":
            raise TaskError("the setup ran out of time: there is nothing to grade")
        if _is_lent(trace, runtime):
            raise TaskError("the box is lent: its agent would run beside the grading")
        submission = await take_snapshot(runtime, self.snapshot_rules())
        await self.inspect(trace, submission)
        await end_box(runtime)
        return submission

    async def finalize(self, trace: Trace, runtime: Runtime) -> None:
        """Take what is in the box, end it, submit and wait for the verdict.

        A cancelled wait deletes the job.

        Raises:
            SandboxError: The platform lost the box, did not end it, or could not judge.
            TaskError: The setup was not finished, or the configuration or the verdict is wrong.
        """
        grading: GradingConfig = self.config.grading
        try:
            keys = await asyncio.to_thread(_read_keys, grading)
            nonce = await asyncio.to_thread(_nonce, grading, trace.id)
        except (OSError, ValueError) as error:
            raise TaskError(f"grading cannot be used: {error}") from error
        if not keys:
            raise TaskError("no verdict could be believed: set grading.public_keys")
        submission = await self.take_submission(trace, runtime)
        request = JobRequest(
            suite=grading.suite,
            submission=submission,
            nonce=nonce,
            task=self.suite_task(),
            parameters=self.suite_parameters(),
            group=_printable(f"{run_scope()}/{trace.task.key}")[:_MAX_GROUP],
            attempt_deadline=self.attempt_deadline(),
            suite_digest=grading.suite_digest,
        )
        try:
            async with GradingClient(
                public_keys=keys,
                namespace=grading.namespace,
                kubeconfig=grading.kubeconfig,
                context=grading.context,
            ) as client:
                try:
                    judgement = await client.grade(
                        request, patience=grading.patience, keep=grading.keep
                    )
                except asyncio.CancelledError:
                    await run_shielded(_delete(client, request))
                    raise
        except GradekeeperError as error:
            kind = SandboxError if isinstance(error, _PLATFORMS) else TaskError
            raise kind(f"no verdict: {error}") from error
        trace.info[INFO_KEY] = {
            "envelope": judgement.envelope.decode(),
            "job": str(judgement.handle),
            "jobUid": judgement.handle.uid,
            "digest": judgement.handle.digest,
            "nonce": nonce,
            "decision": str(judgement.verdict.decision),
            "reason": str(judgement.verdict.reason),
        }

    def verdict(self, trace: Trace) -> Verification:
        """Return the verdict of a rollout, verified again from what its trace keeps.

        Its `verdict` is `Graded` or `Rejected`, never `Unjudged`; `statement` has the tests' ids.

        Raises:
            TaskError: There is none, or it is not signed for this rollout.
        """
        kept = trace.info.get(INFO_KEY)
        grading: GradingConfig = self.config.grading
        if not isinstance(kept, dict):
            raise TaskError("the rollout has no verdict, and without one no reward")
        try:
            # What is no text would be left out of the comparison, or end it.
            if not all(isinstance(kept[name], str) for name in _COMPARED):
                raise TaskError("the verdict cannot be believed: the trace was changed")
            if grading.run_secret_file is not None and kept["nonce"] != _nonce(grading, trace.id):
                raise TaskError("the verdict is another rollout's: its nonce is not this one's")
            verification = verify_verdict(
                kept["envelope"].encode(),
                _read_keys(grading),
                digest=kept["digest"],
                nonce=kept["nonce"],
                task=self.suite_task(),
                job_uid=kept["jobUid"],
                suite_digest=grading.suite_digest,
            )
        except (KeyError, OSError, ValueError, VerificationFailed) as error:
            raise TaskError(f"the verdict cannot be believed: {error}") from error
        if isinstance(verification.verdict, Unjudged):
            raise TaskError("the rollout was not judged, and has no reward")
        return verification


def _is_lent(trace: Trace, runtime: Runtime) -> bool:
    """Whether the box belongs to somebody else than this rollout, who may go on using it."""
    placed = trace.agent.runtime
    return runtime.info.borrowed or (placed is not None and placed.borrowed)


async def _delete(client: GradingClient, request: JobRequest) -> None:
    """Delete the job of a request whose rollout was aborted; what fails is left to the TTL."""
    with contextlib.suppress(GradekeeperError):
        try:
            handle = await client.find(names.job_name(request.suite, request.nonce))
        except NotFoundError:
            return
        await client.delete(handle)


def _read_keys(grading: GradingConfig) -> Sequence[bytes]:
    return [path.read_bytes() for path in grading.public_keys]


def _nonce(grading: GradingConfig, rollout: str) -> str:
    file = grading.run_secret_file
    return derive_nonce(_secret if file is None else file.read_bytes(), rollout)


def _printable(text: str) -> str:
    return "".join(character if " " <= character <= "~" else "?" for character in text)
