"""Play scenarios as agents in real boxes, and keep what becomes of them.

A scenario goes the whole way of a rollout: a box, the task's repository, the agent's edits,
snapshot, grading, verified verdict, reward. Only the model is missing.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, Self

import verifiers.v1 as vf
from verifiers.v1.errors import RolloutError, SandboxError, TaskError, boundary
from verifiers.v1.runtimes import Runtime, provision_runtime
from verifiers.v1.utils.compile import resolve_runtime_config

from billing_payment_debug import defects
from billing_payment_debug.scenarios import Check, Edit, Found
from billing_payment_debug.taskset import (
    REPORT_KEY,
    BillingTask,
    BillingTaskConfig,
    BillingTaskset,
    BillingTasksetConfig,
)
from gradekeeper.api.schema import millicores
from gradekeeper.referee.strictjson import parse_strict
from gradekeeper.suites.trees import archive_tree
from gradekeeper_verifiers.config import KubernetesConfig

SCHEMA: Final = "gradekeeper.billing-self-check/v1"

_TRIES: Final = 2
_HOPELESS: Final = 3
_MOST: Final = 16
_MAX_BYTES: Final = 64 << 20
_ARCHIVE: Final = ".scenario.tar.gz"
_APPLY: Final = """
set -e
tar -xzof "$1" && rm -f "$1"
shift
[ "$#" -eq 0 ] || { rm -f -- "$@"; find . -mindepth 1 -depth -type d -empty -delete; }
"""


class SelfCheckError(RuntimeError):
    """The self-check cannot be run or gone on with; says what to do."""


class BoxConfig(KubernetesConfig):
    """Boxes of the self-check: as large as those of rollouts, but nobody computes in them."""

    cpu_request: float | None = 0.01
    """CPU cores that the scheduler reserves; None: as much as `cpu`. Little, so that the gradings
    have a place on the same nodes."""


@dataclass
class Records:
    """Outcomes by scenario, in a file that is whole after each of them.

    Attributes:
        path: The file; None: nothing is kept.
        grader: `kubernetes` or `local`.
        suite: Digest of the suite that grades.
        outcomes: Name of a scenario -> digest of what was checked, and what was found.
    """

    path: Path | None
    grader: str
    suite: str
    outcomes: dict[str, tuple[str, Found]] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a file.

        Raises:
            SelfCheckError: It is no such file.
        """
        try:
            with path.open("rb") as file:
                document = parse_strict(file.read(_MAX_BYTES + 1), max_bytes=_MAX_BYTES)
            if document["schema"] != SCHEMA:
                raise ValueError(f"its schema is {document['schema']!r}")
            outcomes = {
                str(name): (str(kept["about"]), Found(**kept["found"]))
                for name, kept in document["scenarios"].items()
            }
            return cls(path, str(document["grader"]), str(document["suite"]), outcomes)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise SelfCheckError(f"{path} does not hold a self-check: {error}") from error

    @classmethod
    def resume(cls, path: Path | None, *, grader: str, suite: str) -> Self:
        """Go on with a file that may not exist yet.

        Raises:
            SelfCheckError: It is of another grader, or of another suite.
        """
        if path is None or not path.exists():
            return cls(path, grader, suite)
        kept = cls.read(path)
        if (kept.grader, kept.suite) != (grader, suite):
            raise SelfCheckError(
                f"{path} is of the grader {kept.grader} and the suite {kept.suite}; this run is of"
                f" {grader} and {suite}: remove it, or name another file"
            )
        return kept

    def found(self, check: Check) -> Found | None:
        """The judged outcome of a check, unless something else was graded under its name."""
        about, found = self.outcomes.get(check.name, ("", None))
        return found if found and about == check.about and found.reward is not None else None

    def add(self, check: Check, found: Found) -> None:
        """Keep an outcome, and write the file."""
        self.outcomes[check.name] = (check.about, found)
        if self.path is None:
            return
        document = {
            "schema": SCHEMA,
            "grader": self.grader,
            "suite": self.suite,
            "tests": check.tests,
            "scenarios": {
                name: {"about": about, "found": asdict(found)}
                for name, (about, found) in self.outcomes.items()
            },
        }
        written = self.path.with_name(self.path.name + ".part")
        written.write_text(json.dumps(document, indent=1) + "\n")
        os.replace(written, self.path)


def choose_parallel(allocatable: Iterable[str], grading: Iterable[str]) -> int:
    """How many scenarios to play at a time: one a grading that fits, and one that gets ready.

    Args:
        allocatable: CPU of each node.
        grading: CPU of each container of a grading Pod.
    """
    pod = sum(millicores(cpu) for cpu in grading)
    return max(2, min(_MOST, 1 + sum(millicores(cpu) // pod for cpu in allocatable)))


def tasks_for(
    checks: Iterable[Check], config: BillingTaskConfig, image: str
) -> dict[str, BillingTask]:
    """The task of each check: the benchmark's, or the sampled one with its defects.

    Returns:
        Name of a check -> its task.

    Raises:
        CatalogError: The package's assets are damaged.
    """
    every = BillingTasksetConfig(
        task=config,
        image=image,
        variants=["minimal"],
        num_sampled_tasks=2 ** len(defects.GROUPS) - 1,
        max_active_defects=len(defects.GROUPS),
    )
    by_defects: dict[frozenset[str], BillingTask] = {}
    for task in BillingTaskset(every).load():
        by_defects.setdefault(frozenset(task.data.active_defects), task)
    return {
        check.name: BillingTask(
            by_defects[check.active].data, config.model_copy(update=dict(check.settings))
        )
        for check in checks
    }


async def rollout(check: Check, task: BillingTask, runtime: KubernetesConfig) -> Any:
    """Play a scenario in a box of its own; returns the scored trace.

    Raises:
        SandboxError: The platform failed.
        TaskError: The task did, or its configuration is wrong.
        TimeoutError: Setup or scoring took longer than the task allows.
    """
    config = resolve_runtime_config(runtime, task)
    async with provision_runtime(config, f"self-check-{check.name}") as box:
        return await play(check, task, box)


async def play(check: Check, task: BillingTask, box: Runtime) -> Any:
    """The trace of a rollout in a fresh box, whose agent does what the scenario says."""
    trace: Any = vf.Trace(
        task=vf.TraceTask(type=type(task).__name__, data=task.data, key=task.key, hash=task.hash),
        agent=vf.AgentInfo(config=vf.AgentConfig(), name="self-check", trainable=False),
    )
    async with asyncio.timeout(task.data.timeout.setup), boundary(TaskError, "setup"):
        await task.setup(trace, box)
        await apply_edit(box, check.edit)
    await task.finalize(trace, box)
    async with asyncio.timeout(task.data.timeout.scoring), boundary(TaskError, "scoring"):
        await task.score(trace, box)
    return trace


async def apply_edit(box: Runtime, edit: Edit) -> None:
    """Do in a box what a scenario's agent does.

    Raises:
        TaskError: The box did not take it.
    """
    await box.write(_ARCHIVE, archive_tree(edit.write, edit.links))
    done = await box.run(["sh", "-c", _APPLY, "sh", _ARCHIVE, *edit.delete], {})
    if done.exit_code:
        raise TaskError(f"the edits were not made: {done.stderr.strip()[:500]}")


async def examine(check: Check, attempt: Callable[[], Awaitable[Any]]) -> Found:
    """Find out what becomes of a scenario; like a trainer, try once more if the platform failed.

    Args:
        check: The scenario.
        attempt: Makes the trace of a rollout, or raises what verifiers knows as errors.
    """
    started = time.monotonic()
    tries, error = 0, ""
    while tries < _TRIES:
        tries += 1
        try:
            trace = await attempt()
        except SandboxError as failed:
            error = f"{type(failed).__name__}: {failed}"
            continue
        except (RolloutError, TimeoutError) as failed:
            error = f"{type(failed).__name__}: {failed}"
            break
        report: Mapping[str, Any] = trace.info[REPORT_KEY]
        if tuple(report["outcomes"]) != check.tests:
            error = "TaskError: the suite that graded has other tests than the suite's folder"
            break
        return Found(
            decision=report["decision"],
            reason=report["reason"],
            outcomes="".join(report["outcomes"].values()),
            reward=trace.reward,
            error=None,
            seconds=_since(started),
            tries=tries,
        )
    return Found(None, None, None, None, error, _since(started), tries)


def _since(started: float) -> float:
    return round(time.monotonic() - started, 2)


async def examine_all(
    checks: Iterable[Check],
    examined: Callable[[Check], Awaitable[Found]],
    *,
    parallel: int,
    done: Callable[[Check, Found], None],
) -> None:
    """Examine scenarios in order, some at a time.

    If the first ones all end without a verdict the rest is left: then it is not the scenarios.

    Args:
        checks: All of them.
        examined: Finds out what becomes of one.
        parallel: How many at a time.
        done: Told of each as soon as it is over.
    """
    waiting = iter(list(checks))
    judged = failed = 0

    async def work() -> None:
        nonlocal judged, failed
        for check in waiting:
            found = await examined(check)
            judged += found.reward is not None
            failed += found.reward is None
            done(check, found)
            if not judged and failed >= _HOPELESS:
                return

    async with asyncio.TaskGroup() as group:
        for _ in range(parallel):
            group.create_task(work())
