"""`gradekeeper-billing`: for those who work on the environment, or on an installation for it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from pydantic import AliasChoices, Field, model_validator
from pydantic_config import BaseConfig, ConfigFileError, cli
from rich.console import Console
from rich.table import Table
from verifiers.v1.utils.interrupt import install_interrupt

from billing_payment_debug.defects import CatalogError
from billing_payment_debug.scenarios import Check, Found, ScenarioError, load_checks
from billing_payment_debug.self_check import (
    BoxConfig,
    Records,
    SelfCheckError,
    choose_parallel,
    examine,
    examine_all,
    rollout,
    tasks_for,
)
from billing_payment_debug.taskset import BillingTaskConfig, BillingTasksetConfig
from gradekeeper.api import names
from gradekeeper.api.reasons import ConditionType
from gradekeeper.api.status import GradingSuiteStatus, is_true
from gradekeeper.client import ForbiddenError, GradekeeperError, NotFoundError
from gradekeeper.referee.local import LocalError, LocalLane
from gradekeeper.suites import SuiteError, build_bundle
from gradekeeper.suites.definition import load_suite
from gradekeeper_verifiers.cluster import Cluster

SUITE_VARIABLE: Final = "GRADEKEEPER_BILLING_SUITE"
"""Environment variable that names the suite's folder."""
COMMAND: Final = "gradekeeper-billing self-check"
USAGE: Final = f"usage: {COMMAND} [SCENARIO…] [OPTIONS]   ({COMMAND} --help lists the options)\n"
ABOUT: Final = (
    "Play the suite's scenarios as agents in real boxes, and compare verdicts and rewards with what"
    " its author expects. SCENARIO is a name or a glob, or `gold`; default: all."
)
MISSED, UNUSABLE, INTERRUPTED = 1, 2, 130
"""Exit statuses: not everything is as expected, nothing could be done, Ctrl-C or SIGTERM."""

_LOCAL_PARALLEL: Final = 2
_NARROWEST: Final = 120


class SelfCheckConfig(BaseConfig):
    """What to play, where, and who grades it."""

    suite: Path | None = None
    """The suite's folder, with its scenarios and what they expect; default: what the environment
    variable GRADEKEEPER_BILLING_SUITE names."""
    local: bool = False
    """Grade on this machine instead of by GradingJobs; the boxes stay where they are."""
    json_file: Path | None = Field(None, validation_alias=AliasChoices("json_file", "json"))
    """File for all outcomes, written after each scenario. If it exists the run goes on from there:
    what was judged is kept, what was not is played."""
    same_as: Path | None = None
    """Such a file of another run, of another grader: outcomes must be the same."""
    parallel: int | None = Field(None, ge=1, le=256)
    """Scenarios at a time; default: as many gradings as the nodes hold, and one more."""
    verbose: bool = Field(False, validation_alias=AliasChoices("verbose", "v"))
    """Name every test that did not pass."""
    image: str = BillingTasksetConfig.model_fields["image"].default
    """Image of the boxes: `sh`, `tar` and coreutils. Nothing is compiled in them."""
    task: BillingTaskConfig = Field(default_factory=BillingTaskConfig)
    """As of the taskset: `--task.grading.public-keys`, `--task.grading.namespace` and so on."""
    runtime: BoxConfig = Field(default_factory=BoxConfig)
    """Of the runtime `kubernetes`."""

    @model_validator(mode="after")
    def validate_run(self) -> Self:
        """Refuse what would be said twice, or is missing."""
        if {"grader", "suite_path"} & self.task.model_fields_set:
            raise ValueError("use --local and --suite instead of task.grader and task.suite_path")
        if self.suite is None:
            named = os.environ.get(SUITE_VARIABLE)
            if not named:
                raise ValueError(
                    f"--suite (or {SUITE_VARIABLE}): name the folder of the suite, such as"
                    " assets/suites/billing-payment-debug of a checkout; no wheel has it"
                )
            self.suite = Path(named)
        if not self.local and not self.task.grading.public_keys:
            raise ValueError(
                "--task.grading.public-keys: name the file with the installation's public key, or"
                " no verdict can be believed"
            )
        return self

    @property
    def folder(self) -> Path:
        """The suite's folder."""
        assert self.suite is not None
        return self.suite


@dataclass(frozen=True, slots=True)
class Plan:
    """What grades, and how much of it at a time.

    Attributes:
        task: Settings of the tasks.
        suite: Digest of the suite in force.
        parallel: Scenarios at a time.
    """

    task: BillingTaskConfig
    suite: str
    parallel: int


class Progress:
    """A line on standard error for each scenario."""

    def __init__(self, total: int, done: int) -> None:
        self._total, self._before, self._done = total, done, done
        self._missed = 0
        self._started = time.monotonic()

    def tell(self, check: Check, found: Found, missed: bool) -> None:
        """Say that one more is over."""
        self._done += 1
        self._missed += missed
        reward = "no reward" if found.reward is None else f"{found.reward:.4f}"
        sys.stderr.write(
            f"[{self._done:3}/{self._total}] {check.name}: {reward}, {found.seconds:.0f} s,"
            f" {'NOT as expected' if missed else 'as expected'};"
            f" {self._missed} missed, {self._left()} left\n"
        )
        sys.stderr.flush()

    def _left(self) -> str:
        seconds = (time.monotonic() - self._started) / (self._done - self._before)
        return told_time(seconds * (self._total - self._done))


def told_time(seconds: float) -> str:
    """A time in a word or two."""
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


def main(argv: Sequence[str] | None = None) -> None:
    """Entry point of `gradekeeper-billing`."""
    words = list(sys.argv[1:] if argv is None else argv)
    if not words or words[0] != "self-check":
        sys.stderr.write(USAGE)
        sys.exit(0 if words[:1] in (["-h"], ["--help"]) else UNUSABLE)
    del words[0]
    chosen = []
    while words and not words[0].startswith(("-", "@")):
        chosen.append(words.pop(0))
    # The run identity: boxes and gradings carry it.
    os.environ.setdefault("VF_RUN_ID", f"self-check-{uuid.uuid4().hex[:8]}")
    try:
        config = cli(SelfCheckConfig, args=words, prog=COMMAND, description=ABOUT)
        sys.exit(self_check(config, chosen))
    except ConfigFileError as error:
        sys.stderr.write(f"{USAGE}{error}\n")
    except (ScenarioError, SelfCheckError, CatalogError) as error:
        sys.stderr.write(f"{COMMAND}: {error}\n")
    sys.exit(UNUSABLE)


def self_check(config: SelfCheckConfig, chosen: Sequence[str]) -> int:
    """Play the chosen scenarios and print what became of them; returns the exit status.

    Raises:
        ScenarioError: There is no such suite or scenario.
        SelfCheckError: The run could not begin.
        CatalogError: The package's assets are damaged.
    """
    checks = load_checks(config.folder, chosen)
    others = None if config.same_as is None else Records.read(config.same_as)
    with _grader(config) as plan:
        grader = str(plan.task.grader)
        records = Records.resume(config.json_file, grader=grader, suite=plan.suite)
        interrupted = False
        try:
            _run(config, checks, plan, records)
        except KeyboardInterrupt:
            interrupted = True
    missed = report(checks, records, others, verbose=config.verbose)
    return INTERRUPTED if interrupted else MISSED if missed else 0


def _run(config: SelfCheckConfig, checks: Sequence[Check], plan: Plan, records: Records) -> None:
    left = [check for check in checks if records.found(check) is None]
    tasks = tasks_for(left, plan.task, config.image)
    sys.stderr.write(
        f"{len(left)} of {len(checks)} scenarios to play, {plan.parallel} at a time, graded by"
        f" {plan.suite} ({plan.task.grader})\n"
    )
    progress = Progress(len(checks), len(checks) - len(left))

    def done(check: Check, found: Found) -> None:
        records.add(check, found)
        progress.tell(check, found, bool(check.judge(found)))

    async def examined(check: Check) -> Found:
        return await examine(check, lambda: rollout(check, tasks[check.name], config.runtime))

    install_interrupt()
    asyncio.run(examine_all(left, examined, parallel=plan.parallel, done=done))


def report(
    checks: Sequence[Check], records: Records, others: Records | None, *, verbose: bool
) -> int:
    """Print the table and what is not as expected.

    Returns:
        How many scenarios were missed, those without an outcome included.
    """
    console = Console()
    if not console.is_terminal:
        console = Console(width=max(console.width, _NARROWEST))
    table = Table("SCENARIO", "REWARD", "EXPECTED", "FAILED", "SECONDS", "OK")
    for column in (1, 2, 4):
        table.columns[column].justify = "right"
    wrong: dict[str, list[str]] = {}
    unplayed = []
    for check in checks:
        about, found = records.outcomes.get(check.name, ("", None))
        if found is None or about != check.about:
            unplayed.append(check.name)
            continue
        problems = check.judge(found)
        if others is not None:
            other = others.found(check)
            problems += (
                check.differences(found, other)
                if other is not None
                else ["has no outcome in the other run"]
            )
        if problems:
            wrong[check.name] = problems
        table.add_row(
            check.name,
            "-" if found.reward is None else f"{found.reward:.4f}",
            check.told_rewards,
            check.failed_groups(found),
            f"{found.seconds:.1f}" + ("" if found.tries == 1 else f" ({found.tries} tries)"),
            "NO" if problems else "yes",
        )
    console.print(table)
    if others is not None and others.suite != records.suite:
        console.print(f"the other run was graded by {others.suite}", highlight=False)
    if verbose:
        for check in checks:
            found = records.found(check)
            if found is None:
                continue
            told = ", ".join(check.failed_tests(found)) or "nothing"
            console.print(
                f"{check.name} failed: {told}", highlight=False, markup=False, soft_wrap=True
            )
    for name, problems in wrong.items():
        for problem in problems:
            console.print(f"{name} {problem}", highlight=False, markup=False, soft_wrap=True)
    if unplayed:
        console.print(f"not played: {', '.join(unplayed)}", highlight=False, soft_wrap=True)
    missed = len(wrong) + len(unplayed)
    console.print(f"{len(checks) - missed}/{len(checks)} scenarios as expected")
    return missed


@contextlib.contextmanager
def _grader(config: SelfCheckConfig) -> Iterator[Plan]:
    """See that gradings can be made, before any box is.

    Raises:
        SelfCheckError: They cannot.
    """
    if not config.local:
        yield asyncio.run(plan_on_cluster(config))
        return
    with tempfile.TemporaryDirectory(prefix="billing-suite-") as temporary:
        try:
            lane = LocalLane.from_environment()
            bundle = build_bundle(config.folder, Path(temporary) / "bundle", kit=lane.kit)
        except (LocalError, SuiteError, OSError) as error:
            raise SelfCheckError(f"nothing can be graded on this machine: {error}") from error
        task = config.task.model_copy(update={"grader": "local", "suite_path": bundle.path})
        yield Plan(task, bundle.digest, config.parallel or _LOCAL_PARALLEL)


async def plan_on_cluster(config: SelfCheckConfig) -> Plan:
    """Read what of the cluster the run depends on.

    Raises:
        SelfCheckError: No key, no API server, or no suite that is Ready.
    """
    grading = config.task.grading
    for path in grading.public_keys:
        if not path.is_file():
            raise SelfCheckError(f"--task.grading.public-keys: there is no file {path}")
    try:
        suite = await _read_suite(config)
        parallel = config.parallel or await _parallel(config)
    except GradekeeperError as error:
        raise SelfCheckError(f"the cluster cannot be used: {error}") from error
    # Whoever publishes another suite meanwhile ends the run, instead of mixing two in it.
    pinned = grading.model_copy(update={"suite_digest": suite})
    return Plan(config.task.model_copy(update={"grading": pinned}), suite, parallel)


async def _read_suite(config: SelfCheckConfig) -> str:
    """The digest of the suite in force."""
    grading = config.task.grading
    cluster = await Cluster.acquire(grading.kubeconfig, grading.context)
    try:
        namespace = grading.namespace or cluster.connection.settings.namespace
        path = f"/apis/{names.API_VERSION}/namespaces/{namespace}/{names.SUITES_PLURAL}"
        found = await cluster.connection.request("GET", f"{path}/{grading.suite}")
    except NotFoundError:
        raise SelfCheckError(
            f"the namespace {namespace} has no GradingSuite {grading.suite}: set"
            " --task.grading.namespace, or install it"
        ) from None
    finally:
        await cluster.release()
    status = GradingSuiteStatus.model_validate(found.get("status") or {})
    if not is_true(status.conditions, ConditionType.READY) or status.suite_digest is None:
        raise SelfCheckError(f"the GradingSuite {namespace}/{grading.suite} is not Ready")
    return status.suite_digest


async def _parallel(config: SelfCheckConfig) -> int:
    """As many as suit the nodes; without the right to read them, as few as make sense."""
    cluster = await Cluster.acquire(config.runtime.kubeconfig, config.runtime.context)
    try:
        nodes = (await cluster.connection.request("GET", "/api/v1/nodes"))["items"]
    except ForbiddenError:
        nodes = []
    finally:
        await cluster.release()
    resources = load_suite(config.folder).resources
    return choose_parallel(
        [node["status"]["allocatable"]["cpu"] for node in nodes],
        [resources.lane.cpu, resources.referee.cpu],
    )


if __name__ == "__main__":
    main()
