"""The billing environment on the real cluster: agents of all kinds in one group, and validation.

One `vf-eval` plays all agents at once; the tests look at what it left in `traces.jsonl`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import verifiers.v1 as vf
from demo import stage
from demo.__main__ import publish

from billing_payment_debug import defects
from env.boxes import Place, open_place
from env.cast import Cast, Part, part, repair
from env.scripted_model import serve
from env.trainer_rules import advantages, is_trained_on, survivors
from gradekeeper.api import names
from gradekeeper.client import derive_nonce

pytestmark = [pytest.mark.cluster, pytest.mark.slow, pytest.mark.timeout(1200)]

BIN = Path(sys.executable).parent
SUITE = "billing-payment-debug"
SECRET = b"of this run, for tests alone"
# Everything is done long before, but for the agent that waits for it. The boxes that are to be
# deleted are there until all the others have started.
AGENT_SECONDS = 150
RUN_SECONDS = 600
WINDOW = 400_000
SERVICE = "src/main/java/com/acme/billing/service"
PUBLIC_TEST = "src/test/java/com/acme/billing/MoneyTest.java"
BREAK_IT = f"echo '}}' >> {SERVICE}/TaxService.java"


@dataclass(frozen=True)
class Scored:
    """What becomes of a rollout that has a verdict."""

    reward: float
    reason: str | tuple[str, ...] = "Completed"
    stop: str = "agent_completed"
    metrics: dict[str, float] = field(default_factory=dict)
    earlier: tuple[str, ...] = ()
    """Types of the errors of earlier tries."""


@dataclass(frozen=True)
class Lost:
    """What becomes of a rollout that has none."""

    error: str
    message: str
    stop: str


AGENTS: dict[str, tuple[Part, Scored | Lost]] = {
    one.name: (one, outcome)
    for one, outcome in (
        (
            part("repairs all", repair(defects.GROUPS)),
            Scored(1.0, metrics={"defects_fully_fixed": 10, "main_files_changed": 9}),
        ),
        (
            part("repairs two", repair(["tax", "coupons"])),
            Scored(0.28, metrics={"defect_tax": 1, "defect_coupons": 1, "defect_refunds": 0}),
        ),
        (part("does nothing"), Scored(0.05, metrics={"main_files_changed": 0, "compiled": 1})),
        (
            part(
                "destroys its box",
                "kill -9 -1",
                "rm -rf src /tmp/* /bin/sh /usr/bin/tar /bin/tar /usr/bin/dash; kill -9 -1",
                "rm -rf /* ~; kill -9 -1",
            ),
            Scored(0.0, "DoesNotCompile", metrics={"compiled": 0}),
        ),
        (
            part("edits a test", repair(defects.GROUPS), f"echo >> {PUBLIC_TEST}"),
            Scored(0.95, metrics={"public_tests_intact": 0, "defects_fully_fixed": 10}),
        ),
        (
            part("runs out of time", BREAK_IT, "while :; do sleep 1; done"),
            Scored(0.0, "DoesNotCompile", stop="agent_timeout"),
        ),
        (
            # Depending on its cgroups a node ends the box for that, or the one process.
            part("eats its memory", BREAK_IT, "tail /dev/zero"),
            Scored(0.0, ("DoesNotCompile", "SubmissionMalformed")),
        ),
        (
            # Nothing can be started in the box any more, not even what would pack its sources.
            part(
                "uses up all processes",
                BREAK_IT,
                "while :; do sleep 600 & done >/dev/null 2>&1 </dev/null",
            ),
            Scored(0.0, ("DoesNotCompile", "SubmissionMalformed")),
        ),
        (
            # The kubelet ends the box for that, a while after.
            part("fills its disk", "head -c 400000000 /dev/zero > /tmp/large; sleep 600"),
            Scored(0.0, "SubmissionMalformed", metrics={"compiled": 0}),
        ),
        (
            # What is too long for an argument goes by a file, whose place is taken.
            part(
                "blocks long commands",
                BREAK_IT,
                "mkdir /tmp/.gradekeeper-command",
                f": {'x' * (64 * 1024)}",
            ),
            Scored(0.0, "DoesNotCompile", metrics={"compiled": 0}),
        ),
        (
            # One turn that prints more than the model takes: no limit of tokens comes in between.
            Part(
                "fills its context",
                (
                    ("head -c 9437184 /dev/zero > src/big.bin",),
                    ("head -c 20000 /dev/zero | tr '\\0' x",) * 25,
                ),
            ),
            Scored(0.0, "SubmissionTooLarge", stop="context_overflow"),
        ),
        (
            part("repairs all, its first box deleted", "sleep 600"),
            Scored(1.0, earlier=("SandboxError",)),
        ),
        (
            part("loses both boxes", "sleep 600"),
            Lost("SandboxError", "PodDeleted", "sandbox_error"),
        ),
        (
            part("is not judged", held=True),
            Lost("SandboxError", "Cancelled", "agent_completed"),
        ),
    )
}
SCORED = {name: outcome for name, (_, outcome) in AGENTS.items() if isinstance(outcome, Scored)}
LOST = {name: outcome for name, (_, outcome) in AGENTS.items() if isinstance(outcome, Lost)}


@dataclass(frozen=True)
class Run:
    """One finished evaluation."""

    cast: Cast
    traces_file: Path
    environment: dict[str, str]
    lines: list[bytes]
    printed: str

    def episodes(self) -> dict[str, vf.WireEpisode]:
        """Agent → what it left."""
        episodes = [vf.WireEpisode.model_validate_json(line) for line in self.lines]
        return {self.cast.name_of(one.traces[0].id): one for one in episodes}

    def traces(self) -> dict[str, Any]:
        return {name: episode.traces[0] for name, episode in self.episodes().items()}


@dataclass(frozen=True)
class Stage:
    """A cluster with Gradekeeper and the suite, and a place for boxes."""

    place: Place
    image: str
    key: Path

    def eval_flags(self, folder: Path, url: str) -> list[str]:
        grading = "--env.taskset.task.grading"
        return [
            *self.place.flags(
                "--env.agent.runtime", image=self.image, memory=0.5, cpu_request=0.001
            ),
            *("--env.agent.harness.id", "gradekeeper_bash"),
            *("--env.agent.retries.max-retries", "1"),
            *("--env.taskset.image", self.image),
            *("--env.taskset.agent-timeout-seconds", str(AGENT_SECONDS)),
            *self.grading_flags(grading),
            *(f"{grading}.run-secret-file", str(folder / "secret")),
            *("-m", "scripted", "--client.base-url", url, "--client.api-key-var", "KEY"),
            *("-o", str(folder / "out"), "--no-push", "--no-rich"),
        ]

    def grading_flags(self, prefix: str) -> list[str]:
        flags = [
            *(f"{prefix}.public-keys", json.dumps([str(self.key)])),
            *(f"{prefix}.namespace", stage.NAMESPACE),
        ]
        cluster = self.place.cluster
        return [*flags, f"{prefix}.context", cluster.context] if cluster.context else flags

    def environment(self, folder: Path) -> dict[str, str]:
        return {**self.place.cluster.environment, "HOME": str(folder), "KEY": "none"}


@pytest.fixture(scope="module")
def installed() -> Iterator[Stage]:
    with open_place() as place:
        stage.OUT.mkdir(parents=True, exist_ok=True)
        publish(place.cluster)
        yield Stage(place, stage.Images.load().lane, stage.verdict_key(place.cluster))


@dataclass(frozen=True)
class Validation:
    """A validation that runs, or has ended."""

    process: subprocess.Popen[bytes]
    folder: Path

    @property
    def printed(self) -> str:
        return (self.folder / "printed").read_text()


@pytest.fixture(scope="module")
def validation(installed: Stage, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Validation]:
    folder = tmp_path_factory.mktemp("validate")
    command = [
        *(BIN / "vf-validate", SUITE, "--taskset.num-sampled-tasks", "2"),
        *installed.place.flags("--runtime", image=installed.image, memory=0.5, cpu_request=0.001),
        *("--taskset.image", installed.image),
        *installed.grading_flags("--taskset.task.grading"),
        *("-c", "2", "-o", str(folder / "out"), "--no-rich"),
    ]
    with (folder / "printed").open("wb") as printed:
        process = subprocess.Popen(
            command,
            env=installed.environment(folder),
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=subprocess.STDOUT,
        )
    try:
        yield Validation(process, folder)
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def run(
    installed: Stage, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Run]:
    folder = tmp_path_factory.mktemp("eval")
    (folder / "secret").write_bytes(SECRET)
    cast = Cast(deque(one for one, _ in AGENTS.values()), window=WINDOW)
    environment = installed.environment(folder)
    deadline = time.monotonic() + RUN_SECONDS
    with serve(cast.play) as (url, _):
        command = [
            *(BIN / "vf-eval", SUITE, *installed.eval_flags(folder, url)),
            *("-n", "1", "-r", str(len(AGENTS)), "-c", str(len(AGENTS))),
        ]
        with (folder / "printed").open("wb") as printed:
            evaluation = subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=subprocess.STDOUT,
            )
            try:
                _let_the_platform_fail(installed.place, cast)
                # Goes on while the one agent waits for its deadline.
                validation: Validation = request.getfixturevalue("validation")
                for process in (evaluation, validation.process):
                    process.wait(timeout=max(0.0, deadline - time.monotonic()))
            except Exception as error:
                error.add_note((folder / "printed").read_text()[-5000:])
                raise
            finally:
                evaluation.kill()
                evaluation.wait()
        text = (folder / "printed").read_text()
        (file,) = (folder / "out").rglob("traces.jsonl")
        yield Run(cast, file, environment, file.read_bytes().splitlines(), text)


def _let_the_platform_fail(place: Place, cast: Cast) -> None:
    """Take two boxes away, one of them for good, and cancel a grading twice."""
    cast.wait_until_all_play(AGENT_SECONDS - 30)

    # Which of the two gets which part of the next try is no matter: so far they are alike.
    repairs, loses = "repairs all, its first box deleted", "loses both boxes"
    cast.add(part(repairs, repair(defects.GROUPS)), part(loses, "sleep 600"))
    for name in (repairs, loses):
        place.delete_box_of(cast.wait_for(name, seconds=1))
    for name in (repairs, loses):
        cast.wait_for(name, number=2, seconds=120)
    place.delete_box_of(cast.wait_for(loses, number=2, seconds=1))

    name = "is not judged"
    cast.release(name)
    cast.add(part(name))
    _cancel_grading(place, cast.wait_for(name, seconds=1))
    _cancel_grading(place, cast.wait_for(name, number=2, seconds=120))


def _cancel_grading(place: Place, rollout: str) -> None:
    job = names.job_name(SUITE, derive_nonce(SECRET, rollout))
    grading = ("-n", stage.NAMESPACE)
    place.cluster.kubectl(*grading, "wait", "--for=create", f"gradingjob/{job}", "--timeout=60s")
    cancel = '{"spec":{"cancel":true}}'
    place.cluster.kubectl(*grading, "patch", "gradingjob", job, "--type=merge", "-p", cancel)


def test_every_agent_gets_what_it_has_earned(run: Run) -> None:
    traces = run.traces()
    assert set(traces) == set(AGENTS), run.printed[-5000:]
    seen = {
        name: (trace.ok, round(trace.reward, 6), trace.stop_condition)
        for name, trace in traces.items()
    }
    assert seen == {
        **{name: (True, one.reward, one.stop) for name, one in SCORED.items()},
        **{name: (False, 0.0, one.stop) for name, one in LOST.items()},
    }
    for name, outcome in SCORED.items():
        trace = traces[name]
        report = trace.info["grading"]
        assert report["reason"] in _words(outcome.reason), name
        assert len(report["outcomes"]) == 97
        assert {key: trace.metrics[key] for key in outcome.metrics} == outcome.metrics, name
        assert tuple(error.type for error in trace.errors) == outcome.earlier, name
    for name, lost in LOST.items():
        trace = traces[name]
        assert {error.type for error in trace.errors} == {lost.error}, name
        assert all(lost.message in error.message for error in trace.errors), trace.errors
        assert len(trace.errors) == 2
        # Not a 0 that is marked as wrong: there is no number at all.
        assert not any(trace.rewards.values()) and "gradekeeper" not in trace.info, name


def _words(text: str | tuple[str, ...]) -> tuple[str, ...]:
    return (text,) if isinstance(text, str) else text


def test_no_agent_gains_by_an_error_and_no_fault_costs_anything(run: Run) -> None:
    """A trainer drops what has errors: so must everything that the platform did, and nothing else.

    An agent that expects less than its group's mean would gain by an error, which drops it.
    """
    episodes = run.episodes()
    group = list(episodes.values())
    trained = {run.cast.name_of(trace.id) for trace in survivors(group)}
    assert trained == set(SCORED) and is_trained_on(group)

    credit = advantages(group)
    by_name = {name: credit.get(one.traces[0].id) for name, one in episodes.items()}
    mean = sum(one.reward for one in SCORED.values()) / len(SCORED)
    for name, outcome in SCORED.items():
        assert by_name[name] == pytest.approx(outcome.reward - mean)
    zeros = [name for name, outcome in SCORED.items() if outcome.reward == 0]
    assert len(zeros) == 7 and all(by_name[name] < -0.2 for name in zeros)
    # Without the rollouts that the platform lost, everybody is credited as before.
    without = [one for name, one in episodes.items() if name not in LOST]
    assert advantages(without) == credit


READ_AGAIN = """
import json, sys
import verifiers.v1 as vf
from billing_payment_debug.taskset import BillingData, BillingTask, BillingTaskConfig
config = BillingTaskConfig.model_validate_json(sys.argv[1])
for line in sys.stdin:
    trace = vf.WireEpisode.model_validate_json(line).traces[0]
    task = BillingTask(BillingData.model_validate(trace.task.data.model_dump()), config)
    score = task.score_of(trace) if trace.ok else None
    print(json.dumps([trace.id, trace.agent.config.runtime.type, score and score.reward]))
"""


def test_traces_are_read_and_scored_alike_in_another_process(run: Run, installed: Stage) -> None:
    folder = Path(run.environment["HOME"])
    grading = {"public_keys": [str(installed.key)], "run_secret_file": str(folder / "secret")}
    done = subprocess.run(
        [sys.executable, "-c", READ_AGAIN, json.dumps({"grading": grading})],
        input=b"\n".join(run.lines),
        env=run.environment,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    again = {rollout: rest for rollout, *rest in map(json.loads, done.stdout.splitlines())}
    assert again == {
        trace.id: ["kubernetes", pytest.approx(trace.reward) if trace.ok else None]
        for trace in run.traces().values()
    }


def test_a_resumed_run_plays_what_was_lost_again_and_keeps_the_rest(run: Run) -> None:
    # Runs after those that look at the errors.
    run.cast.add(*(part(f"resumed {number}", BREAK_IT) for number in range(len(LOST))))
    kept = [line for line in run.lines if json.loads(line)["ok"]]
    resolved = run.traces_file.parent / "configs" / "resolved" / "eval.json"
    done = subprocess.run(
        [BIN / "vf-eval", "@", resolved, "--resume"],
        env=run.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    lines = run.traces_file.read_bytes().splitlines()
    assert lines[: len(kept)] == kept, done.stdout[-3000:] + done.stderr[-3000:]
    new = [vf.WireEpisode.model_validate_json(line).traces[0] for line in lines[len(kept) :]]
    assert [(one.ok, one.reward, one.metrics["compiled"]) for one in new] == [(True, 0, 0)] * 2


def test_nothing_is_left(run: Run, installed: Stage) -> None:
    assert installed.place.boxes() == []
    place = installed.place
    # The garbage collector takes a box's policy, a while after the box.
    gone = ("wait", "--for=delete", "networkpolicies", "--all", "--timeout=60s")
    place.cluster.kubectl("-n", place.namespace, *gone, check=False)
    assert place.cluster.read("networkpolicies", "-n", place.namespace)["items"] == []
    jobs = place.cluster.read("gradingjobs", "-n", stage.NAMESPACE)["items"]
    made = {names.job_name(SUITE, derive_nonce(SECRET, rollout)) for rollout in run.cast.rollouts}
    assert not made & {job["metadata"]["name"] for job in jobs}


def test_gold_passes_and_the_untouched_does_not(validation: Validation, installed: Stage) -> None:
    validation.process.wait(timeout=RUN_SECONDS)
    (file,) = validation.folder.rglob("summary.json")
    summary = json.loads(file.read_text())
    rows = (file.parent / "results.jsonl").read_text()
    assert summary["valid_rate"] == 1.0, rows + validation.printed[-5000:]
    assert len(rows.splitlines()) == 4
    assert installed.place.boxes() == []
