"""The table `Failures` of env/gradekeeper_verifiers/README.md, on the real cluster.

Each row is a graded rollout whose agent repairs the task, so a reward of 0 would be a lie. Without
the mixin verifiers scores two of these with 0: a setup and a finalize that run out of time.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from demo import stage
from demo.commands import ROOT

from env import tiny
from env.boxes import Place, open_place
from env.scripted_model import Message, call_tools, say, serve

HERE = Path(__file__).resolve().parent
README = ROOT / "env" / "gradekeeper_verifiers" / "README.md"
VF_EVAL = Path(sys.executable).with_name("vf-eval")
RETRIED = "deleted, retried"
RUNS = ("plain", "retried")


@dataclass(frozen=True)
class Outcome:
    """What a trace says; of the errors their types, and how the last one begins."""

    ok: bool
    stop: str
    errors: tuple[str, ...]
    reward: float | None
    message: str = ""


ROWS: dict[str, tuple[str, Outcome]] = {
    # name of the task: its words in the table, what becomes of it
    "setup, finalize looks away": (
        "setup over its deadline, a `finalize` that overlooks it",
        Outcome(False, "setup_timeout", ("TaskError",), None, "the rollout has no verdict"),
    ),
    "setup": (
        "setup over its deadline",
        Outcome(False, "setup_timeout", ("TaskError",), None, "the setup ran out of time"),
    ),
    "refused": (
        "Pod creation refused",
        Outcome(False, "sandbox_error", ("SandboxError",), None, "box .* forbidden"),
    ),
    "deleted": (
        "Pod deleted during a tool call",
        Outcome(False, "sandbox_error", ("SandboxError",), None, "box .* no more .PodDeleted"),
    ),
    RETRIED: (
        "the same with `--env.agent.retries.max-retries 1`",
        Outcome(True, "agent_completed", ("SandboxError",), 1.0, "box .* no more .PodDeleted"),
    ),
    "finalize raises": (
        "`finalize` raises",
        Outcome(False, "agent_completed", ("TaskError",), None, ".*cannot be looked at"),
    ),
    "finalize": (
        "`finalize` over its deadline",
        Outcome(False, "finalize_timeout", ("TaskError",), None, "the rollout has no verdict"),
    ),
    "agent": (
        "agent over its deadline, the work done",
        Outcome(True, "agent_timeout", (), 1.0),
    ),
}


class Agents:
    """Repairs, and does what its task is about; a box that is to be deleted says so itself."""

    def __init__(self) -> None:
        self._started: Counter[str] = Counter()
        self._tries: dict[str, int] = {}
        self._lock = threading.Lock()

    def play(self, request: dict[str, Any], rollout: str) -> Message:
        name = next(m["content"] for m in request["messages"] if m["role"] == "user")
        with self._lock:
            if rollout not in self._tries:
                self._started[name] += 1
                self._tries[rollout] = self._started[name]
        if any(message["role"] == "tool" for message in request["messages"]):
            return say("done")
        command = tiny.REPAIR
        if name.startswith("deleted") and self._tries[rollout] == 1:
            command = "touch delete-me; sleep 600"
        elif name == "agent":
            command += "; while :; do :; done"
        return call_tools(0, ("bash", {"command": command}))


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Outcome]]:
    """Task → what its trace says. One `vf-eval` without retries and one with, at once."""
    folder = tmp_path_factory.mktemp("eval")
    with (
        open_place() as place,
        tiny.published(place.cluster) as key,
        serve(Agents().play) as (url, _),
    ):
        largest = {"type": "Container", "max": {"memory": "512Mi"}}
        metadata = {"name": "boxes", "namespace": place.namespace}
        kind = {"apiVersion": "v1", "kind": "LimitRange"}
        place.cluster.apply({**kind, "metadata": metadata, "spec": {"limits": [largest]}})
        before = _jobs(place)
        plain = [name for name in ROWS if name != RETRIED]
        flags = ("--env.agent.retries.max-retries", "1")
        with place.deleting_marked(2):
            runs = [
                _start(place, key, url, folder / "plain", plain),
                _start(place, key, url, folder / "retried", [RETRIED], *flags),
            ]
            try:
                for run in runs:
                    run.wait(timeout=300)
            finally:
                for run in runs:
                    run.kill()
                    run.wait()
        printed = "".join((folder / name).with_suffix(".log").read_text() for name in RUNS)
        found: dict[str, Outcome] = {}
        for file in folder.rglob("traces.jsonl"):
            for line in file.read_text().splitlines():
                (trace,) = json.loads(line)["traces"]
                found[trace["task"]["data"]["name"]] = _outcome(trace)
        assert set(found) == set(ROWS), printed[-5000:]
        assert place.boxes() == []
        assert _jobs(place) <= before
        yield found


def _jobs(place: Place) -> set[str]:
    jobs = place.cluster.read("gradingjobs", "-n", stage.NAMESPACE)["items"]
    return {job["metadata"]["name"] for job in jobs}


def _start(
    place: Place, key: Path, url: str, out: Path, names: list[str], *flags: str
) -> subprocess.Popen[bytes]:
    # As large as the default, memory is left to the tasks.
    runtime = place.flags("--env.agent.runtime", memory=2.0)
    grading = "--env.taskset.task.grading"
    context = place.cluster.context
    with out.with_suffix(".log").open("wb") as log:
        return subprocess.Popen(
            [
                *(VF_EVAL, "failing-baskets", *runtime, *flags, "-r", "1", "-c", str(len(names))),
                *("--env.agent.harness.id", "gradekeeper_bash"),
                *(f"{grading}.namespace", stage.NAMESPACE),
                *(f"{grading}.public-keys", json.dumps([str(key)])),
                *((f"{grading}.context", context) if context else ()),
                *("-m", "scripted", "--client.base-url", url, "--client.api-key-var", "KEY"),
                *("-o", out, "--no-push", "--no-rich"),
            ],
            env={
                **place.cluster.environment,
                "PYTHONPATH": os.pathsep.join(map(str, (HERE / "tasksets", tiny.TASKSETS))),
                "FAILING_BASKETS": json.dumps(names),
                "HOME": str(out.parent),
                "KEY": "none",
            },
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )


def _outcome(trace: dict[str, Any]) -> Outcome:
    errors, reward = trace["errors"], trace["rewards"].get("repaired")
    return Outcome(
        ok=trace["ok"],
        stop=trace["stop_condition"],
        errors=tuple(error["type"] for error in errors),
        reward=reward["score"] if reward else None,
        message=errors[-1]["message"] if errors else "",
    )


def test_the_readme_shows_these_rows() -> None:
    section = README.read_text().partition("## Failures\n")[2].partition("\n## ")[0]
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in section.splitlines()
        if line.startswith("| ")
    ]
    assert rows[2:] == [
        [
            words,
            str(outcome.ok),
            f"`{outcome.stop}`",
            ", ".join(f"`{error}`" for error in outcome.errors) or "none",
            "none" if outcome.reward is None else f"{outcome.reward:.1f}",
        ]
        for words, outcome in ROWS.values()
    ]


@pytest.mark.cluster
@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", ROWS)
def test_a_row(seen: dict[str, Outcome], name: str) -> None:
    _, expected = ROWS[name]
    found = seen[name]
    assert re.match(expected.message, found.message), found.message
    assert (found.ok, found.stop, found.errors, found.reward) == (
        expected.ok,
        expected.stop,
        expected.errors,
        expected.reward,
    )
