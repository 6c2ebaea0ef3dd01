"""The self-check's own decisions: tries, order, what is kept, and its command line."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from verifiers.v1.errors import SandboxError, TaskError

from billing_payment_debug import cli
from billing_payment_debug.scenarios import Check, Found, load_checks
from billing_payment_debug.self_check import (
    BoxConfig,
    Records,
    SelfCheckError,
    choose_parallel,
    examine,
    examine_all,
    tasks_for,
)
from billing_payment_debug.taskset import REPORT_KEY, BillingTaskConfig
from contract.fake_api import FakeApi

SUITE = Path(__file__).resolve().parents[2] / "assets" / "suites" / "billing-payment-debug"
CHECKS = load_checks(SUITE, ["gold", "untouched", "sampled-gold", "endless-loop", "refunds-s[ay]*"])
UNTOUCHED = next(check for check in CHECKS if check.name == "untouched")
FIXES = "".join("F" if "/fix_" in test else "P" for test in UNTOUCHED.tests)
JUDGED = Found("Graded", "Completed", FIXES, 0.05, None, 9.5, 1)
LOST = Found(None, None, None, None, "SandboxError: away", 3.0, 2)
DIGEST = "sha256:" + "5" * 64


def scored(tests: tuple[str, ...] = UNTOUCHED.tests) -> Any:
    report = {
        "decision": "Graded",
        "reason": "Completed",
        "outcomes": dict(zip(tests, FIXES, strict=True)),
    }
    return SimpleNamespace(info={REPORT_KEY: report}, reward=0.05)


async def examined(*results: Any) -> Found:
    """What is found if the tries end like this, which must all be made."""
    left = list(results)

    async def attempt() -> Any:
        result = left.pop(0)
        if isinstance(result, BaseException):
            raise result
        return result

    found = await examine(UNTOUCHED, attempt)
    assert not left
    return found


async def test_what_the_platform_lost_is_tried_once_more() -> None:
    found = await examined(scored())
    assert replace(found, seconds=9.5) == JUDGED
    found = await examined(SandboxError("away"), scored())
    assert replace(found, seconds=9.5) == replace(JUDGED, tries=2)
    found = await examined(SandboxError("away"), SandboxError("gone"))
    assert (found.reward, found.tries, found.error) == (None, 2, "SandboxError: gone")
    assert UNTOUCHED.judge(found) == ["was not judged: SandboxError: gone"]


@pytest.mark.parametrize("error", [TaskError("no key"), TimeoutError("late")])
async def test_what_another_try_would_not_help_is_not_tried_again(error: Exception) -> None:
    found = await examined(error)
    assert (found.reward, found.tries) == (None, 1)
    assert found.error == f"{type(error).__name__}: {error}"


async def test_another_suite_than_the_folders_judges_nothing() -> None:
    found = await examined(scored(tuple(reversed(UNTOUCHED.tests))))
    assert found.reward is None and "other tests" in (found.error or "")


async def test_scenarios_are_examined_in_order_and_only_so_many_at_a_time() -> None:
    begun: list[str] = []
    told: list[str] = []
    gate, both = asyncio.Event(), asyncio.Event()

    async def slow(check: Check) -> Found:
        begun.append(check.name)
        if len(begun) == 2:
            both.set()
        await gate.wait()
        return JUDGED

    running = asyncio.create_task(
        examine_all(CHECKS, slow, parallel=2, done=lambda check, _: told.append(check.name))
    )
    await both.wait()
    assert begun == [check.name for check in CHECKS[:2]] and told == []
    gate.set()
    await running
    assert begun == [check.name for check in CHECKS] and sorted(told) == sorted(begun)


@pytest.mark.parametrize(
    ("results", "played"),
    [
        pytest.param([LOST] * 6, 3, id="nothing is judged"),
        pytest.param([LOST, LOST, JUDGED, LOST, LOST, LOST], 6, id="something was"),
    ],
)
async def test_a_platform_that_judges_nothing_is_given_up(
    results: list[Found], played: int
) -> None:
    assert len(CHECKS) == 6
    left, told = iter(results), []

    async def lose(check: Check) -> Found:
        return next(left)

    await examine_all(CHECKS, lose, parallel=1, done=lambda check, _: told.append(check))
    assert told == CHECKS[:played]


def test_a_file_keeps_what_was_judged_and_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    records = Records.resume(file, grader="kubernetes", suite=DIGEST)
    records.add(CHECKS[0], LOST)
    records.add(UNTOUCHED, JUDGED)

    again = Records.resume(file, grader="kubernetes", suite=DIGEST)
    assert again.found(UNTOUCHED) == JUDGED
    assert again.found(CHECKS[0]) is None and again.outcomes[CHECKS[0].name][1] == LOST
    # The scenario has become another one since.
    assert again.found(replace(UNTOUCHED, about="sha256:0")) is None
    assert json.loads(file.read_bytes())["tests"] == list(UNTOUCHED.tests)
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]


def test_a_miss_is_kept_as_well(tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    missed = replace(JUDGED, reward=1.0)
    assert UNTOUCHED.judge(missed)
    Records.resume(file, grader="kubernetes", suite=DIGEST).add(UNTOUCHED, missed)
    assert Records.resume(file, grader="kubernetes", suite=DIGEST).found(UNTOUCHED) == missed


@pytest.mark.parametrize(
    ("grader", "suite"), [("local", DIGEST), ("kubernetes", "sha256:" + "6" * 64)]
)
def test_runs_of_different_kinds_are_not_mixed(tmp_path: Path, grader: str, suite: str) -> None:
    file = tmp_path / "run.json"
    Records.resume(file, grader="kubernetes", suite=DIGEST).add(UNTOUCHED, JUDGED)
    with pytest.raises(SelfCheckError, match="name another file"):
        Records.resume(file, grader=grader, suite=suite)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": "other/v1"}', '{"scenarios": 1}'])
def test_another_file_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "file").write_text(text)
    with pytest.raises(SelfCheckError, match="does not hold a self-check"):
        Records.resume(tmp_path / "file", grader="local", suite=DIGEST)


@pytest.mark.parametrize(
    ("nodes", "parallel"),
    [
        pytest.param(["2"], 2, id="two cores"),
        pytest.param(["3920m"], 3, id="millicores"),
        pytest.param(["8", "8"], 9, id="two nodes"),
        pytest.param(["1", "1"], 2, id="no place at all"),
        pytest.param([], 2, id="unknown"),
        pytest.param(["64"] * 4, 16, id="many"),
    ],
)
def test_as_many_at_a_time_as_gradings_fit(nodes: list[str], parallel: int) -> None:
    assert choose_parallel(nodes, ["1500m", "200m"]) == parallel


def test_each_scenario_is_played_in_its_task() -> None:
    tasks = tasks_for(CHECKS, BillingTaskConfig(test_timeout_seconds=7), "image:1")
    full, sampled = tasks["untouched"], tasks["sampled-gold"]
    assert full.data.name == "billing-debug-minimal" and len(full.data.active_defects) == 10
    assert sampled.data.name.startswith("billing-debug-minimal-s")
    assert set(sampled.data.active_defects) == {"tax", "refunds", "usage_timezone"}
    assert {task.data.image for task in tasks.values()} == {"image:1"}
    assert full.config.test_timeout_seconds == 7
    assert tasks["endless-loop"].config.test_timeout_seconds == 2
    assert tasks["endless-loop"].suite_parameters()["suiteTimeoutSeconds"] == "12"


def report(outcomes: dict[str, Found], **options: Any) -> int:
    records = Records(None, "kubernetes", DIGEST)
    checks = [check for check in CHECKS if check.name in ("untouched", "endless-loop")]
    for check in checks:
        if check.name in outcomes:
            records.add(check, outcomes[check.name])
    return cli.report(checks, records, options.pop("others", None), **{"verbose": False, **options})


def test_the_report_counts_what_is_missed(capsys: pytest.CaptureFixture[str]) -> None:
    slow = Found("Graded", "Completed", "T" * 97, 0.0, None, 40.0, 2)
    assert report({"untouched": JUDGED, "endless-loop": slow}) == 0
    out = capsys.readouterr().out
    assert "2/2 scenarios as expected" in out and "40.0 (2 tries)" in out and "NO" not in out

    assert report({"untouched": replace(JUDGED, reward=0.5)}) == 2
    out = capsys.readouterr().out
    assert "0/2 scenarios as expected" in out
    assert "not played: endless-loop" in out
    assert "untouched has the reward 0.5000, expected 0.0500" in out

    assert report({"untouched": LOST, "endless-loop": slow}, verbose=True) == 1
    out = capsys.readouterr().out
    assert "untouched was not judged: SandboxError: away" in out
    assert "endless-loop failed: regression/* T, proration/* T, " in out


def test_another_runs_outcomes_must_be_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    others = Records(None, "local", DIGEST)
    others.add(UNTOUCHED, replace(JUDGED, outcomes="P" * 97))
    slow = Found("Graded", "Completed", "T" * 97, 0.0, None, 40.0, 1)
    assert report({"untouched": JUDGED, "endless-loop": slow}, others=others) == 2
    out = capsys.readouterr().out
    assert "untouched tax/fix_half_cents fails (F), and passes in the other run" in out
    assert "endless-loop has no outcome in the other run" in out


def config(*arguments: str) -> cli.SelfCheckConfig:
    made = cli.cli(cli.SelfCheckConfig, args=list(arguments))
    assert isinstance(made, cli.SelfCheckConfig)
    return made


def test_the_command_line_is_the_tasksets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cli.SUITE_VARIABLE, "somewhere")
    made = config(
        *("--task.grading.public-keys", '["a.pub"]', "--task.grading.namespace", "grading"),
        *("--runtime.namespace", "boxes", "--json", "run.json", "-v", "--parallel", "3"),
    )
    assert made.folder == Path("somewhere") and made.json_file == Path("run.json")
    assert made.task.grading.public_keys == [Path("a.pub")] and made.verbose
    assert made.task.grading.suite == "billing-payment-debug"
    # A box that reserves what a task may use would leave no place for the grading.
    assert isinstance(made.runtime, BoxConfig) and made.runtime.cpu_request == 0.01
    assert config("--suite", "here", "--local").folder == Path("here")


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[FakeApi]:
    async with FakeApi().running() as server:
        context = {"cluster": "c", "user": "u", "namespace": "grading"}
        kubeconfig = {
            "current-context": "c",
            "contexts": [{"name": "c", "context": context}],
            "clusters": [{"name": "c", "cluster": {"server": server.url}}],
            "users": [{"name": "u", "user": {"token": "t"}}],
        }
        (tmp_path / "kubeconfig").write_text(json.dumps(kubeconfig))
        (tmp_path / "verdict.pub").write_text("key")
        yield server


def publish(api: FakeApi, ready: str) -> None:
    api.create("gradingsuites", "grading", {"metadata": {"name": "billing-payment-debug"}})
    condition = {
        "type": "Ready",
        "status": ready,
        "reason": "Admitted",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    status = {"conditions": [condition], "suiteDigest": DIGEST}
    api.set_status("gradingsuites", "grading", "billing-payment-debug", status)


def on(folder: Path, *arguments: str) -> cli.SelfCheckConfig:
    server = str(folder / "kubeconfig")
    return config(
        *("--suite", str(SUITE), "--runtime.kubeconfig", server),
        *("--task.grading.kubeconfig", server),
        *("--task.grading.public-keys", json.dumps([str(folder / "verdict.pub")])),
        *arguments,
    )


async def test_a_run_is_of_the_suite_in_force(api: FakeApi, tmp_path: Path) -> None:
    publish(api, "True")
    plan = await cli.plan_on_cluster(on(tmp_path, "--parallel", "5"))
    assert (plan.suite, plan.parallel) == (DIGEST, 5)
    # Another suite that is published meanwhile judges nothing of this run.
    assert plan.task.grading.suite_digest == DIGEST
    # Who may not read nodes plays as few at a time as make sense.
    api.fail("GET", "/nodes", 403)
    assert (await cli.plan_on_cluster(on(tmp_path))).parallel == 2


async def test_a_cluster_that_grades_nothing_is_said_before_any_box(
    api: FakeApi, tmp_path: Path
) -> None:
    with pytest.raises(SelfCheckError, match="grading has no GradingSuite billing-payment-debug"):
        await cli.plan_on_cluster(on(tmp_path))
    publish(api, "False")
    with pytest.raises(SelfCheckError, match="grading/billing-payment-debug is not Ready"):
        await cli.plan_on_cluster(on(tmp_path))
    api.fail("GET", "/gradingsuites", 403)
    with pytest.raises(SelfCheckError, match="the cluster cannot be used"):
        await cli.plan_on_cluster(on(tmp_path))
    (tmp_path / "kubeconfig").unlink()
    with pytest.raises(SelfCheckError, match="the cluster cannot be used"):
        await cli.plan_on_cluster(on(tmp_path))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["self-check"], "--suite (or", id="no suite"),
        pytest.param(["self-check", "--suite", "x"], "--task.grading.public-keys", id="no key"),
        pytest.param(["self-check", "--suite", "x", "--local", "--task.suite-path", "y"],
                     "use --local and --suite", id="said twice"),
        pytest.param(["self-check", "--suite", "x", "--bogus", "1"], "--bogus", id="no option"),
        pytest.param(["self-check", "--local", "--suite", str(SUITE / "lane")], "no suite.yaml",
                     id="no suite folder"),
        pytest.param(["self-check", "nobody", "--local", "--suite", str(SUITE)],
                     "there is no scenario 'nobody'", id="no scenario"),
        pytest.param(["self-check", "gold", "--suite", str(SUITE), "--task.grading.public-keys",
                      '["none.pub"]'], "there is no file none.pub", id="no such key"),
        pytest.param(["check"], "usage:", id="no command"),
        pytest.param([], "usage:", id="nothing"),
    ],
)  # fmt: skip
def test_what_cannot_be_run_is_said_and_is_no_success(
    arguments: list[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delenv(cli.SUITE_VARIABLE, raising=False)
    monkeypatch.setenv("VF_RUN_ID", "run-1")
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)
    assert ended.value.code == cli.UNUSABLE
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(("seconds", "told"), [(0, "0 s"), (89, "89 s"), (600, "10 min")])
def test_times_are_told_in_a_word(seconds: float, told: str) -> None:
    assert cli.told_time(seconds) == told


def test_progress_says_how_much_is_left(capsys: pytest.CaptureFixture[str]) -> None:
    progress = cli.Progress(total=5, done=2)
    progress.tell(UNTOUCHED, JUDGED, missed=False)
    progress.tell(UNTOUCHED, LOST, missed=True)
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("[  3/5] untouched: 0.0500, 10 s, as expected; 0 missed, ")
    assert second.startswith("[  4/5] untouched: no reward, 3 s, NOT as expected; 1 missed, ")
