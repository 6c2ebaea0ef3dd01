"""A rollout of the billing environment without its agent: box, submission, verdict, reward."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import shutil
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import verifiers.v1 as vf
from verifiers.v1.errors import TaskError
from verifiers.v1.runtimes import Runtime, SubprocessConfig, provision_runtime

from billing_payment_debug import defects
from billing_payment_debug.scenarios import load_checks
from billing_payment_debug.self_check import examine, play
from billing_payment_debug.taskset import (
    BillingData,
    BillingGradingConfig,
    BillingTask,
    BillingTaskConfig,
    BillingTaskset,
    BillingTasksetConfig,
)
from contract.fake_api import FakeApi
from contract.stand_in import StandIn, condition
from gradekeeper.api.reasons import Reason
from gradekeeper.referee.bundle import SubmissionRules
from gradekeeper.referee.errors import Refused
from gradekeeper.referee.intake import unpack
from gradekeeper.suites.definition import load_suite
from gradekeeper.verdicts.model import Graded, Rejected, rejected, verdict_document
from gradekeeper.verdicts.signing import attestation_from_envelope

NS = "grading"
JOBS = "gradingjobs"
SUITE = Path(__file__).resolve().parents[2] / "assets" / "suites" / "billing-payment-debug"
DEFINITION = load_suite(SUITE)
TESTS = [f"{group.name}/{test.id}" for group in DEFINITION.groups for test in group.tests]
GOLD = {**defects.task_repo(), **defects.gold()}
Outcomes = Callable[[str], bool]
"""Of a test's id, whether it passes."""


class World:
    """A box, an API server with a namespace, and an operator that signs what a test says."""

    def __init__(self, api: FakeApi, box: Runtime, folder: Path) -> None:
        self.api, self.box, self.folder = api, box, folder
        self.signer = StandIn()
        self.specs: list[dict[str, Any]] = []
        context = {"cluster": "c", "user": "u", "namespace": NS}
        config = {
            "current-context": "c",
            "contexts": [{"name": "c", "context": context}],
            "clusters": [{"name": "c", "cluster": {"server": api.url}}],
            "users": [{"name": "u", "user": {"token": "t"}}],
        }
        (folder / "kubeconfig").write_text(json.dumps(config))
        (folder / "verdict.pub").write_bytes(self.signer.public_pem)
        (folder / "secret").write_bytes(b"0123456789abcdef")

    def task(self, *active: str, variant: str = "minimal", **settings: Any) -> BillingTask:
        """A task with these defects; without any the benchmark's."""
        grading = BillingGradingConfig(
            kubeconfig=str(self.folder / "kubeconfig"),
            public_keys=[self.folder / "verdict.pub"],
            run_secret_file=self.folder / "secret",
            patience=30,
        )
        config = BillingTasksetConfig(
            task=BillingTaskConfig(grading=grading, **settings),
            variants=[variant],
            num_sampled_tasks=1023,
            max_active_defects=10,
        )
        wanted = set(active) or defects.GROUPS
        tasks = BillingTaskset(config).load()
        return next(task for task in tasks if set(task.data.active_defects) == wanted)

    async def shell(self, script: str) -> None:
        """What an agent does in the box."""
        done = await self.box.run(["sh", "-ec", script], {})
        assert done.exit_code == 0, done.stderr

    async def finalize(
        self, task: BillingTask, trace: Any, passes: Outcomes, box: Runtime | None = None
    ) -> None:
        """Run `finalize`; the operator takes the submission as a referee does."""
        async with self.operator(passes):
            await task.finalize(trace, box or self.box)

    def operator(self, passes: Outcomes) -> _Operator:
        return _Operator(self, passes)

    def verdict(self, job: dict[str, Any], passes: Outcomes) -> Graded | Rejected:
        claim = job["spec"]["submission"].get("untransportable")
        if claim is not None:
            return rejected(Reason(claim["reason"]), len(TESTS))
        taken = self.folder / job["metadata"]["name"]
        taken.mkdir()
        archive = self.folder / "submission.tar.gz"
        archive.write_bytes(self.submitted())
        rules = DEFINITION.submission
        try:
            counted = unpack(
                [archive],
                taken,
                SubmissionRules(rules.include, rules.exclude, rules.max_files, rules.max_bytes),
            )
        except Refused as refused:
            return rejected(Reason(refused.reason), len(TESTS))
        if not counted.files:
            return Graded(reason=Reason.DOES_NOT_COMPILE, outcomes="N" * len(TESTS))
        outcomes = "".join("P" if passes(test) else "F" for test in TESTS)
        return Graded(reason=Reason.COMPLETED, outcomes=outcomes)

    def submitted(self) -> bytes:
        parts = {
            name: base64.b64decode(obj["binaryData"]["part"])
            for (plural, _, name), obj in self.api.objects.items()
            if plural == "configmaps"
        }
        return b"".join(parts[name] for name in sorted(parts))

    def settle(self, job: dict[str, Any], passes: Outcomes) -> None:
        verdict = self.verdict(job, passes)
        statement = self.signer.statement(job, verdict)
        for test_id, told in zip(TESTS, statement["predicate"]["tests"], strict=True):
            told["id"] = test_id
        status = {
            "verdict": verdict_document(verdict),
            "attestation": attestation_from_envelope(self.signer.sign(statement)),
            "conditions": [condition("Succeeded", "True", "Finished")],
        }
        self.api.set_status(JOBS, NS, job["metadata"]["name"], status)


class _Operator:
    """Settles the one job that comes while it is entered."""

    def __init__(self, world: World, passes: Outcomes) -> None:
        self._world, self._passes = world, passes

    async def __aenter__(self) -> None:
        self._task = asyncio.create_task(self._settle())

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _settle(self) -> None:
        world = self._world
        await world.api.wait_until(lambda: self._complete() is not None)
        job = self._complete()
        assert job is not None
        world.specs.append(job["spec"])
        world.settle(job, self._passes)

    def _complete(self) -> dict[str, Any] | None:
        """The job, once all its parts have come."""
        objects = self._world.api.objects
        names = {name for plural, _, name in objects if plural == "configmaps"}
        jobs = [obj for (plural, _, _), obj in objects.items() if plural == JOBS]
        whole = (j for j in jobs if names.issuperset(j["spec"]["submission"].get("configMaps", ())))
        return next(whole, None)


@pytest.fixture
async def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    monkeypatch.setenv("VF_RUN_ID", "run-1")
    async with FakeApi().running() as api, provision_runtime(SubprocessConfig()) as box:
        yield World(api, box, tmp_path)


def trace_of(task: BillingTask) -> Any:
    return vf.Trace(
        task=vf.TraceTask(type="BillingTask", data=task.data, key=task.key, hash=task.hash),
        agent=vf.AgentInfo(config=vf.AgentConfig()),
    )


def files_in(box: Any) -> dict[str, bytes]:
    root = Path(box.workdir)
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file()
    }


def broken_in(*groups: str) -> Outcomes:
    """Fix tests of these defects fail, all else passes."""
    return lambda test: not (test.partition("/")[0] in groups and "/fix_" in test)


async def test_the_box_gets_the_tasks_repository_and_nothing_else(world: World) -> None:
    task = world.task("tax", "refunds")
    written: list[bytes] = []
    write = world.box.write

    async def spy(path: str, data: bytes) -> None:
        written.append(data)
        await write(path, data)

    world.box.write = spy  # type: ignore[method-assign]
    await task.setup(trace_of(task), world.box)
    await task.setup(trace_of(task), world.box)

    assert files_in(world.box) == task.repository()
    assert os.access(Path(world.box.workdir) / "run_tests.sh", os.X_OK)  # type: ignore[attr-defined]
    # No time, no owner, no order of a file system: the same task is the same box.
    assert written[0] == written[1]
    assert set(files_in(world.box)) == set(defects.task_repo())


async def test_a_box_that_cannot_hold_the_repository_is_an_error(
    world: World, tmp_path: Path
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "tar").write_text("#!/bin/sh\necho no room >&2; exit 1\n")
    (tmp_path / "bin" / "tar").chmod(0o755)
    box = world.box.with_env({"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"})

    with pytest.raises(TaskError, match="not unpacked: no room"):
        await world.task().setup(trace_of(world.task()), box)


@pytest.mark.parametrize(
    ("active", "edits", "passes", "reward", "process"),
    [
        pytest.param((), "", broken_in(*defects.GROUPS), 0.05, 0, id="untouched"),
        pytest.param((), "echo >> $M/service/TaxService.java", broken_in(*defects.GROUPS), 0.05, 0,
                     id="cosmetic"),
        pytest.param((), "echo >> $M/service/TaxService.java",
                     broken_in(*defects.GROUPS - {"tax", "refunds"}), 0.28, 1, id="two of ten"),
        pytest.param((), "echo >> $M/service/TaxService.java", broken_in(), 1.0, 1, id="all"),
        pytest.param((), "echo >> $M/A.java; echo >> $T/MoneyTest.java", broken_in(), 0.95, 0,
                     id="a public test changed"),
        pytest.param((), "rm $M/model/Money.java $T/testkit/Test.java", broken_in(), 0.95, 0,
                     id="the test kit gone"),
        pytest.param((), "echo > $M/A.java; echo > $T/NewTest.java", broken_in(), 1.0, 1,
                     id="a test added"),
        pytest.param((), "echo >> $T/../../../README.md", broken_in(), 0.95, 0, id="not in main"),
        pytest.param(("refunds",), "echo >> $M/service/RefundService.java", broken_in("proration"),
                     0.9 * 8 / 9 + 0.05 * (97 - 10 - 7) / (97 - 10) + 0.05, 1,
                     id="another broken"),
    ],
)  # fmt: skip
async def test_verdict_and_edits_make_the_reward(
    world: World,
    active: tuple[str, ...],
    edits: str,
    passes: Outcomes,
    reward: float,
    process: float,
) -> None:
    task = world.task(*active)
    trace = trace_of(task)
    await task.setup(trace, world.box)
    package = "java/com/acme/billing"
    await world.shell(f"M=src/main/{package} T=src/test/{package}; {edits or 'true'}")

    await world.finalize(task, trace, passes)
    await task.score(trace, world.box)

    assert trace.reward == pytest.approx(reward, abs=1e-9)
    assert trace.rewards["process"].score == process
    assert set(trace.rewards) == {"defects", "regression", "process"}
    assert set(trace.metrics) == {
        *("compiled", "public_tests_intact", "main_files_changed", "active_defects"),
        *("inactive_defects_intact", "defects_fully_fixed", "defect_files_touched"),
        *(f"defect_{group}" for group in task.data.active_defects),
    }
    assert trace.metrics["main_files_changed"] == len(trace.info["grading"]["main_files_changed"])


async def test_the_job_says_what_is_graded_and_how_and_nothing_of_the_task(world: World) -> None:
    task = world.task("tax", "refunds", test_timeout_seconds=5, suite_timeout_seconds=60,
                      grading_timeout_seconds=120.5)  # fmt: skip
    trace = trace_of(task)
    await task.setup(trace, world.box)
    await world.finalize(task, trace, broken_in("tax"))

    (spec,) = world.specs
    assert spec["suiteRef"] == {"name": "billing-payment-debug"} and spec.get("task", "") == ""
    assert spec["parameters"] == {"testTimeoutSeconds": "5", "suiteTimeoutSeconds": "60"}
    # 60 s that a busy node may make 105, and the platform's 60.5.
    assert spec["attemptDeadlineSeconds"] == 166
    assert spec["group"] == f"run-1/{task.key}"
    assert not any(group in json.dumps(spec) for group in defects.GROUPS)
    # Every rollout of a task is in one group, and no two rollouts have one nonce.
    report = trace.info["grading"]
    assert report["decision"] == "Graded" and report["grader"] == "kubernetes"
    assert report["outcomes"]["tax/fix_half_cents"] == "F"
    assert list(report["outcomes"]) == TESTS


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        pytest.param("rm -rf src", "DoesNotCompile", id="no sources"),
        pytest.param("mv src s; ln -s s src", "DoesNotCompile", id="a link for a folder"),
        pytest.param("head -c 9437184 /dev/zero > src/main/java/Big.java", "SubmissionTooLarge",
                     id="9 MB"),
        pytest.param("head -c 9437184 /dev/zero > src/big.bin", "SubmissionTooLarge",
                     id="9 MB elsewhere"),
        pytest.param("seq 501 | while read n; do echo > src/main/java/A$n.java; done",
                     "SubmissionTooManyFiles", id="501 files"),
        pytest.param("seq 1001 | while read n; do echo > src/A$n.txt; done",
                     "SubmissionTooManyFiles", id="1001 files elsewhere"),
    ],
)  # fmt: skip
async def test_what_an_agent_leaves_is_scored_and_no_error(
    world: World, script: str, reason: str
) -> None:
    task = world.task("tax")
    trace = trace_of(task)
    await task.setup(trace, world.box)
    await world.shell(script)

    await world.finalize(task, trace, broken_in())
    await task.score(trace, world.box)

    assert trace.info["grading"]["reason"] == reason
    assert trace.reward == 0 and all(one.score == 0 for one in trace.rewards.values())
    assert trace.metrics["compiled"] == trace.metrics["defect_tax"] == 0


async def test_a_broken_tar_in_a_live_box_is_scored(world: World, tmp_path: Path) -> None:
    task = world.task("tax")
    trace = trace_of(task)
    await task.setup(trace, world.box)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "tar").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "bin" / "tar").chmod(0o755)
    box = world.box.with_env({"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"})

    await world.finalize(task, trace, broken_in(), box)
    await task.score(trace, box)

    assert trace.info["grading"]["reason"] == "SubmissionMalformed" and trace.reward == 0


async def test_links_and_pipes_are_left_out_and_cost_nothing(world: World) -> None:
    task = world.task("tax")
    trace = trace_of(task)
    await task.setup(trace, world.box)
    await world.shell(
        "cd src/main/java; ln -s /dev/zero Zero.java; ln -s /proc/self/environ Env.java;"
        " mkfifo Pipe.java; echo >> com/acme/billing/service/TaxService.java"
    )

    await world.finalize(task, trace, broken_in())
    await task.score(trace, world.box)

    assert trace.reward == pytest.approx(1)
    changed = ["src/main/java/com/acme/billing/service/TaxService.java"]
    assert trace.info["grading"]["main_files_changed"] == changed
    assert trace.metrics["defect_files_touched"] == 1


async def test_a_source_that_a_link_replaced_is_gone(world: World) -> None:
    task = world.task("tax")
    trace = trace_of(task)
    await task.setup(trace, world.box)
    tests = "src/test/java/com/acme/billing"
    await world.shell(f"cd {tests}; mv MoneyTest.java Other.java; ln -s Other.java MoneyTest.java")

    await world.finalize(task, trace, broken_in())

    assert trace.info["grading"]["public_tests_intact"] is False


async def test_without_a_verdict_there_is_no_reward(world: World) -> None:
    task = world.task("tax")
    trace = trace_of(task)
    with pytest.raises(TaskError, match="has no verdict"):
        await task.score(trace, world.box)

    assert trace.reward == 0 and set(trace.rewards.values()) == {None}


async def test_a_trace_is_scored_alike_where_it_is_read_again(world: World) -> None:
    task = world.task("tax", "coupons")
    trace = trace_of(task)
    await task.setup(trace, world.box)
    await world.shell("echo >> src/main/java/com/acme/billing/service/TaxService.java")
    await world.finalize(task, trace, broken_in("coupons"))
    await task.score(trace, world.box)

    read: Any = vf.WireTrace.model_validate_json(trace.model_dump_json())
    data = BillingData.model_validate(read.task.data.model_dump())
    read.rewards, read.metrics = {}, {}
    await BillingTask(data, task.config).score(read)
    assert (read.rewards, read.metrics) == (trace.rewards, trace.metrics)
    # What an agent changed cannot be said of a verdict that is another rollout's.
    read.id = "another"
    with pytest.raises(TaskError, match="another rollout's"):
        await BillingTask(data, task.config).score(read)


@pytest.mark.parametrize(
    ("scenario", "wrong"),
    [
        pytest.param("gold", [], id="gold"),
        pytest.param("delete-sources", [], id="no sources"),
        pytest.param("oversized-snapshot", [], id="too large"),
        pytest.param("too-many-source-files", [], id="too many files"),
        pytest.param("symlink-sources-to-dev-zero", [], id="links"),
        pytest.param(
            "refunds-half-fix-races",
            ["refunds/fix_", "has the reward 0.1900, expected 0.0500"],
            id="a half fix that a weak suite lets pass",
        ),
    ],
)
async def test_a_scenario_is_played_like_an_agent(
    world: World, scenario: str, wrong: list[str]
) -> None:
    (check,) = load_checks(SUITE, [scenario])
    task = world.task()
    others = defects.GROUPS - {"refunds"} if scenario.startswith("refunds") else set()

    async def attempt() -> Any:
        async with world.operator(broken_in(*others)):
            return await play(check, task, world.box)

    found = await examine(check, attempt)
    problems = check.judge(found)
    assert bool(problems) is bool(wrong), problems
    assert all(any(text in problem for problem in problems) for text in wrong), problems


@pytest.mark.parametrize(
    ("passes", "valid"),
    [
        pytest.param(broken_in(), True, id="gold"),
        pytest.param(broken_in("tax"), False, id="an active defect"),
        pytest.param(broken_in("coupons"), False, id="an inactive one"),
        pytest.param(lambda test: not test.startswith("regression/"), False, id="regression"),
    ],
)
async def test_gold_is_graded_as_every_submission_is(
    world: World, passes: Outcomes, valid: bool
) -> None:
    task = world.task("tax")
    await task.setup(trace_of(task), world.box)
    async with world.operator(passes):
        assert await task.validate(world.box) is valid

    assert world.box.stopped
    (taken,) = (path for path in world.folder.iterdir() if path.is_dir())
    sources = {
        path.relative_to(taken).as_posix(): path.read_bytes() for path in taken.rglob("*.java")
    }
    assert sources == {path: text for path, text in GOLD.items() if path.startswith("src/main/")}


async def test_the_local_grader_needs_a_suite(world: World, tmp_path: Path) -> None:
    task = world.task("tax", grader="local", suite_path=tmp_path / "none")
    trace = trace_of(task)
    with pytest.raises(TaskError, match="grading cannot be used"):
        await task.finalize(trace, world.box)
    with pytest.raises(TaskError, match="has no verdict"):
        await task.score(trace, world.box)
    trace.stop_condition = "setup_timeout"
    with pytest.raises(TaskError, match="ran out of time"):
        await task.finalize(trace, world.box)


LANES = Path(__file__).resolve().parents[2] / "build" / "lanes"


@pytest.mark.slow
@pytest.mark.skipif(
    not (LANES / "kit.jar").is_file() or shutil.which("bwrap") is None,
    reason="a local grading needs bubblewrap and `make lanes`",
)
async def test_the_local_grader_scores_by_the_same_referee(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRADEKEEPER_LANES", str(LANES))
    task = world.task("tax", grader="local", suite_path=SUITE)
    trace = trace_of(task)
    await task.setup(trace, world.box)
    await world.shell("echo '}' >> src/main/java/com/acme/billing/service/TaxService.java")

    await task.finalize(trace, world.box)
    await task.score(trace, world.box)

    report = trace.info["grading"]
    assert report["grader"] == "local" and list(report["outcomes"]) == TESTS
    assert report["reason"] == "DoesNotCompile" and trace.reward == 0
    assert world.api.log == [] and "gradekeeper" not in trace.info

    # What cannot be sent is claimed, and ends as on a cluster.
    trace = trace_of(task)
    async with provision_runtime(SubprocessConfig()) as world.box:
        await world.shell("mkdir src; head -c 9437184 /dev/zero > src/big.bin")
        await task.finalize(trace, world.box)
        await task.score(trace, world.box)
    assert trace.info["grading"]["reason"] == "SubmissionTooLarge" and trace.reward == 0
