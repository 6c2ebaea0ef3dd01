"""The taskset: boxes with the service, prompts, and rewards from verdicts that were verified."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, Literal, Self

import verifiers.v1 as vf
from pydantic import Field, model_validator
from verifiers.v1.errors import SandboxError, TaskError

from billing_payment_debug import defects, sampling, scoring
from billing_payment_debug.inspection import (
    FOLDER,
    MAX_BYTES,
    MAX_FILES,
    UNREADABLE,
    Inspection,
    inspect,
    shown,
)
from billing_payment_debug.local import LocalGradingError, LocalSetupError, grade_in_turn
from billing_payment_debug.prompts import VARIANTS, build_prompt
from billing_payment_debug.scoring import Score
from gradekeeper.client import Untransportable
from gradekeeper.referee.grading import LATEST_SHARE
from gradekeeper.referee.listing import ListingError
from gradekeeper.suites.trees import archive_tree
from gradekeeper.verdicts.model import (
    Graded,
    Rejected,
    Unjudged,
    VerdictInvalid,
    parse_verdict,
    verdict_document,
)
from gradekeeper_verifiers.grading import GradedTask, GradedTaskConfig, GradingConfig
from gradekeeper_verifiers.snapshot import SnapshotRules

REPORT_KEY: Final = "grading"
"""Where `trace.info` keeps the report."""
WORKDIR: Final = "/workspace/billing-service"
_ALL: Final = len(defects.GROUPS)
# What the suite has signed: other numbers would need another suite.
_REPEATS: Final = 3
# Threads of its own: those of the event loop serve every rollout, and a hostile archive takes one
# for ten seconds.
_inspecting = ThreadPoolExecutor(max_workers=2, thread_name_prefix="inspecting")
_SUBMISSION: Final = SnapshotRules(FOLDER, max_files=MAX_FILES, max_bytes=MAX_BYTES)


class BillingGradingConfig(GradingConfig):
    """How verdicts are made and believed."""

    suite: str = "billing-payment-debug"
    """Name of the GradingSuite."""


class BillingTaskConfig(GradedTaskConfig):
    """Settings of a run: `--env.taskset.task.<field>`."""

    grading: BillingGradingConfig = Field(default_factory=BillingGradingConfig)
    """Of the grader `kubernetes`: where jobs go, and whose verdicts are believed."""
    grader: Literal["kubernetes", "local"] = "kubernetes"
    """`kubernetes`: GradingJobs and signed verdicts. `local`: the same referee on this machine,
    unsigned; it needs `suite_path`, bubblewrap, a JDK 17 and the lane's parts."""
    suite_path: Path | None = None
    """Of the grader `local`: the suite's folder, or a bundle built from it. No wheel has it."""
    isolated_grading: bool = True
    """Always: a box that an agent has worked in gives no verdict that could be believed."""
    concurrency_repeats: int = _REPEATS
    """Runs of each concurrency group; the suite has signed this number."""
    test_timeout_seconds: int = Field(20, ge=1, le=999)
    """Seconds of one hidden test."""
    suite_timeout_seconds: int = Field(900, ge=30, le=9999)
    """Seconds to compile and to run everything; what no longer fits counts as failed."""
    grading_timeout_seconds: float = Field(1200, gt=0, le=78_000)
    """Seconds of one attempt to grade, queueing left aside. What they are more than
    `suite_timeout_seconds` is the platform's own time; see `attempt_deadline`."""

    @model_validator(mode="after")
    def validate_grading(self) -> Self:
        """Refuse what could not be graded as it was asked for."""
        if not self.isolated_grading:
            raise ValueError(
                "isolated_grading: a box that an agent has worked in cannot grade it; leave it true"
            )
        if self.concurrency_repeats != _REPEATS:
            raise ValueError(
                f"concurrency_repeats: the suite has signed {_REPEATS}; change its `repeats`, pin"
                " and sign it anew"
            )
        if self.grading_timeout_seconds <= self.suite_timeout_seconds:
            raise ValueError(
                "grading_timeout_seconds: it must be more than suite_timeout_seconds, or code that"
                " hangs would end as an error instead of a low score"
            )
        if self.grader == "local" and self.suite_path is None:
            raise ValueError("grader local: set suite_path to the suite's folder or to a bundle")
        return self


class BillingTasksetConfig(vf.TasksetConfig):
    """Which tasks there are: `--env.taskset.<field>`."""

    task: BillingTaskConfig = BillingTaskConfig()
    """Settings of a run."""
    variants: list[Literal["tickets", "minimal"]] = Field(default=list(VARIANTS), min_length=1)
    """Prompts: support tickets, or nothing but the service's own rules."""
    include_full_tasks: bool = True
    """Whether the tasks with all defects, one for each variant, come first."""
    num_sampled_tasks: int = Field(0, ge=0)
    """How many tasks with a random variant and random defects there are, no two alike."""
    min_active_defects: int = Field(1, ge=1, le=_ALL)
    """Fewest defects of a sampled task."""
    max_active_defects: int = Field(5, ge=1, le=_ALL)
    """Most defects of a sampled task."""
    sampling_seed: int = 0
    """The same seed gives the same tasks."""
    image: str = "eclipse-temurin:17-jdk"
    """Image of the boxes: a JDK 17 on PATH, sh, tar and coreutils."""
    agent_timeout_seconds: float = Field(1800, gt=0)
    """Seconds that the agent has."""
    allow_network: bool = False
    """Whether the agent's task asks for a network. The runtime may still refuse one."""

    @property
    def sizes(self) -> range:
        """How many defects a sampled task may have."""
        return range(self.min_active_defects, self.max_active_defects + 1)

    @model_validator(mode="after")
    def validate_tasks(self) -> Self:
        """Refuse what has no tasks, or not so many."""
        if len(set(self.variants)) != len(self.variants):
            raise ValueError("variants: name each once")
        if not self.sizes:
            raise ValueError("min_active_defects is more than max_active_defects")
        most = sampling.count_distinct(_ALL, len(self.variants), self.sizes)
        if self.num_sampled_tasks > most:
            raise ValueError(f"num_sampled_tasks: only {most} are different with these settings")
        return self


class BillingData(vf.TaskData):
    """A task. It is on every trace; the agent sees the prompt alone."""

    variant: str
    """Of the prompt."""
    active_defects: list[str]
    """Groups of the defects that are in the box."""


class BillingTask(GradedTask, vf.Task[BillingData, vf.State, BillingTaskConfig]):
    """Find and fix the active defects."""

    NEEDS_CONTAINER = True

    @property
    def key(self) -> str:
        """What the task is, whatever its number in a list."""
        return str(self.data.id)

    def repository(self) -> dict[str, bytes]:
        """The files that the agent is given, by path."""
        return defects.apply(
            defects.task_repo(), defects.GROUPS.difference(self.data.active_defects)
        )

    async def setup(self, trace: vf.Trace, runtime: vf.Runtime) -> None:
        """Put the repository into the box."""
        await _install(runtime, self.repository())

    def snapshot_rules(self) -> SnapshotRules:
        """The folder `src`."""
        return _SUBMISSION

    def suite_parameters(self) -> Mapping[str, str]:
        """The submission's times."""
        return {
            "testTimeoutSeconds": str(self.config.test_timeout_seconds),
            "suiteTimeoutSeconds": str(self.config.suite_timeout_seconds),
        }

    def attempt_deadline(self) -> int:
        """All of the submission's time, with what a busy node may add to it, and the platform's."""
        submission = float(self.config.suite_timeout_seconds)
        platform = float(self.config.grading_timeout_seconds) - submission
        return math.ceil(LATEST_SHARE * submission + platform)

    async def inspect(self, trace: vf.Trace, submission: bytes | Untransportable) -> None:
        """Note what the agent changed."""
        found = UNREADABLE
        if isinstance(submission, bytes):
            working = _inspecting.submit(inspect, submission, self.repository())
            try:
                found = await asyncio.wrap_future(working)
            except ListingError as error:
                raise SandboxError(str(error)) from error
        trace.info[REPORT_KEY] = {
            "public_tests_intact": found.public_tests_intact,
            "main_files_changed": [shown(path) for path in found.main_files_changed],
        }

    async def finalize(self, trace: vf.Trace, runtime: vf.Runtime) -> None:
        """Submit the sources, wait for the verdict and write the report."""
        if self.config.grader == "local":
            await self._grade_locally(trace, runtime)
        else:
            await super().finalize(trace, runtime)
        verdict, tests = self._judgement(trace)
        trace.info[REPORT_KEY].update(
            grader=self.config.grader,
            decision=str(verdict.decision),
            reason=str(verdict.reason),
            outcomes=dict(zip(tests, verdict.outcomes, strict=True)),
        )

    async def _grade_locally(self, trace: vf.Trace, runtime: vf.Runtime) -> None:
        submission = await self.take_submission(trace, runtime)
        try:
            graded = await grade_in_turn(
                self.config.suite_path,
                submission,
                parameters=self.suite_parameters(),
                seconds=self.attempt_deadline(),
            )
        except LocalSetupError as error:
            raise TaskError(f"grading cannot be used: {error}") from error
        except LocalGradingError as error:
            raise SandboxError(f"no verdict: {error}") from error
        trace.info[REPORT_KEY]["local"] = {
            "verdict": verdict_document(graded.verdict),
            "tests": list(graded.tests),
        }

    def _judgement(self, trace: vf.Trace) -> tuple[Graded | Rejected, Sequence[str]]:
        """The verdict of a rollout and its tests' ids.

        Raises:
            TaskError: There is none, or it cannot be believed.
        """
        if self.config.grader == "kubernetes":
            verification = self.verdict(trace)
            named = verification.statement["predicate"]["tests"] or []
            verdict, tests = verification.verdict, [str(test["id"]) for test in named]
        else:
            try:
                kept = trace.info[REPORT_KEY]["local"]
                verdict, tests = parse_verdict(kept["verdict"]), list(kept["tests"])
            except (KeyError, TypeError, VerdictInvalid) as error:
                raise TaskError("the rollout has no verdict, and without one no reward") from error
        if isinstance(verdict, Unjudged):
            raise TaskError("the rollout was not judged, and has no reward")
        if len(tests) != len(verdict.outcomes):
            raise TaskError("the verdict does not name its tests")
        return verdict, tests

    def score_of(self, trace: vf.Trace) -> Score:
        """Score a rollout.

        Raises:
            TaskError: It has no verdict that can be believed.
        """
        verdict, tests = self._judgement(trace)
        try:
            report = trace.info[REPORT_KEY]
            found = Inspection(
                bool(report["public_tests_intact"]),
                tuple(str(path) for path in report["main_files_changed"]),
            )
        except (KeyError, TypeError) as error:
            raise TaskError("the rollout has no report of what was changed") from error
        catalog = defects.catalog()
        return scoring.score(
            verdict,
            tests,
            active=[catalog[group] for group in self.data.active_defects],
            public_tests_intact=found.public_tests_intact,
            main_files_changed=found.main_files_changed,
        )

    @vf.reward(weight=float(scoring.DEFECTS_WEIGHT))
    async def defects(self, trace: vf.Trace) -> float:
        """Share of the active defects that are gone, less what was broken elsewhere."""
        return self.score_of(trace).defects

    @vf.reward(weight=float(scoring.REGRESSION_WEIGHT))
    async def regression(self, trace: vf.Trace) -> float:
        """Share of what worked and still does."""
        return self.score_of(trace).regression

    @vf.reward(weight=float(scoring.PROCESS_WEIGHT))
    async def process(self, trace: vf.Trace) -> float:
        """Whether it compiles, left the public tests alone and fixed something."""
        return self.score_of(trace).process

    @vf.metric
    async def details(self, trace: vf.Trace) -> Mapping[str, float]:
        """The metrics of `scoring`, each by its own name."""
        return self.score_of(trace).metrics

    async def validate(self, runtime: vf.Runtime) -> bool:
        """Whether gold, graded as every rollout is, has all of the credit."""
        await _install(runtime, defects.gold())
        trace: Any = vf.Trace(
            task=vf.TraceTask(
                type=type(self).__name__, data=self.data, key=self.key, hash=self.hash
            ),
            agent=vf.AgentInfo(config=vf.AgentConfig(), name="validate", trainable=False),
        )
        await self.finalize(trace, runtime)
        score = self.score_of(trace)
        return bool(score.metrics["compiled"]) and score.defects == score.regression == 1


class BillingTaskset(vf.Taskset[BillingTask, BillingTasksetConfig]):
    """A payment and billing service with seeded defects; hidden tests score each by itself."""

    def load(self) -> list[BillingTask]:
        """The tasks with all defects first, then the sampled ones.

        Raises:
            CatalogError: the assets are damaged.
        """
        defects.verify(defects.task_repo(), defects.gold())
        config, groups = self.config, list(defects.catalog())
        plans = sampling.benchmark(groups, config.variants) if config.include_full_tasks else []
        plans += sampling.sample(
            groups,
            config.variants,
            count=config.num_sampled_tasks,
            sizes=config.sizes,
            seed=config.sampling_seed,
        )
        return [BillingTask(self._data(plan), config.task) for plan in plans]

    def _data(self, plan: sampling.TaskPlan) -> BillingData:
        catalog = defects.catalog()
        return BillingData(
            id=plan.key,
            name=plan.name,
            description="Find and fix the defects of a payment and billing service.",
            prompt=build_prompt(plan.variant, [catalog[group].ticket for group in plan.active]),
            image=self.config.image,
            workdir=WORKDIR,
            resources=vf.TaskResources(cpu=2, memory=4, disk=5),
            network_allow=["*"] if self.config.allow_network else [],
            # None for `finalize`: a queue is nobody's failure, and `grading.patience` ends it.
            # None for scoring: verifiers keeps a rollout that misses it, with a reward of 0.
            timeout=vf.TaskTimeout(setup=300, agent=self.config.agent_timeout_seconds),
            variant=plan.variant,
            active_defects=list(plan.active),
        )


async def _install(runtime: vf.Runtime, files: Mapping[str, bytes]) -> None:
    """Unpack files into the box's workdir, over those that are there.

    Raises:
        TaskError: the box has no tar, or no room.
    """
    archive = ".billing-service.tar.gz"
    tree = {path: (content, path.endswith(".sh")) for path, content in files.items()}
    await runtime.write(archive, archive_tree(tree))
    script = 'tar -xzof "$1" && rm -f "$1"'
    done = await runtime.run(["sh", "-c", script, "sh", archive], {})
    if done.exit_code:
        raise TaskError(f"the repository was not unpacked: {done.stderr.strip()[:500]}")
