"""Boxes and whole evaluations on the real cluster: `make env-e2e`."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from verifiers.v1.errors import SandboxError
from verifiers.v1.runtimes import Runtime, provision_runtime

from env.boxes import Place, open_place
from env.scripted_model import serve

pytestmark = [pytest.mark.cluster, pytest.mark.slow, pytest.mark.timeout(600)]

HERE = Path(__file__).resolve().parent
BIN = Path(sys.executable).parent


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    with open_place() as opened:
        yield opened


async def _sh(box: Runtime, command: str) -> tuple[int, str]:
    done = await box.run(["sh", "-c", command], {})
    return done.exit_code, done.stdout


async def test_a_box(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VF_RUN_ID", "test-a-box")
    data = os.urandom(3_000_000)
    async with provision_runtime(place.config(max_output=200_000), "r-1") as box:
        done = await box.run(
            ["sh", "-c", 'pwd; id -u; printf "%s" "$A"; echo err >&2; exit 3'], {"A": "b c"}
        )
        assert (done.exit_code, done.stdout) == (3, "/workspace\n10001\nb c")
        assert done.stderr == "err\n"

        await box.write("folder/file", data)
        assert await box.read("folder/file") == data
        assert await box.read("folder/file", max_bytes=len(data)) == data
        with pytest.raises(SandboxError, match="over the 2999999 byte limit"):
            await box.read("folder/file", max_bytes=len(data) - 1)
        await _sh(box, "mkfifo pipe; ln -s /dev/zero zero")
        for unreadable in ("none", "pipe", "zero", "folder"):
            with pytest.raises(SandboxError, match="no such regular file"):
                await box.read(unreadable)

        long = await box.run(["printf", "%s", *["x" * 1000] * 150], {})
        assert long.stdout == "x" * 150_000
        endless = await box.run(["yes"], {})
        assert endless.exit_code == 137 and "more than 200000 bytes" in endless.stderr

        cancelled = asyncio.create_task(_sh(box, "sleep 77 & echo begun >pipe; sleep 77"))
        assert await _sh(box, "cat pipe") == (0, "begun\n")
        cancelled.cancel()
        with pytest.raises(asyncio.CancelledError):
            await cancelled
        # Nothing of either command is left, nor can the box be ended from inside.
        names = 'for p in /proc/[0-9]*; do tr "\\0" " " <"$p/cmdline"; echo; done'
        _, processes = await _sh(box, names)
        assert "sleep 3600" in processes
        assert "sleep 77" not in processes and "yes" not in processes.split()
        await _sh(box, "kill -9 -1")
        signals = "for s in 1 2 3 9 10 12 13 14 15; do kill -$s 1; done; sleep 0.2; echo here"
        assert await _sh(box, signals) == (0, "here\n")
        assert await box.alive()

        # What it may: nothing.
        _, facts = await _sh(box, "grep -E '^(CapEff|NoNewPrivs|Seccomp):' /proc/self/status")
        assert facts.split() == ["CapEff:", "0000000000000000", "NoNewPrivs:", "1", "Seccomp:", "2"]
        terminal = 'python3 -c "import pty; pty.openpty()" 2>/dev/null || ls /dev/pts/ | wc -l'
        assert await _sh(box, terminal) == (0, "0\n")
        code, _ = await _sh(box, "touch /etc/x")
        assert code != 0
        code, _ = await _sh(box, "ls /var/run/secrets/kubernetes.io")
        assert code != 0

        connect = (
            "import os, socket; socket.create_connection((os.environ['KUBERNETES_SERVICE_HOST'],"
            " int(os.environ['KUBERNETES_SERVICE_PORT'])), 2)"
        )
        assert (await box.run(["python3", "-c", connect], {})).exit_code == 0
        await box.prepare_execution([])
        assert (await box.run(["python3", "-c", connect], {})).exit_code != 0
        assert len(place.boxes()) == 1
    assert place.boxes() == []
    assert not await box.alive()


async def test_a_missing_image_fails_at_once(place: Place) -> None:
    config = place.config(image="docker.io/gradekeeper/none:1", image_pull_policy="Never")
    with pytest.raises(SandboxError, match="ErrImageNeverPull"):
        async with asyncio.timeout(120), provision_runtime(config):
            pass
    assert place.boxes() == []


HOLD = """
import asyncio, json, signal, sys
from gradekeeper_verifiers.config import KubernetesConfig
from verifiers.v1.runtimes import provision_runtime
async def main():
    async with provision_runtime(KubernetesConfig(**json.loads(sys.argv[1]))) as box:
        print("ready", flush=True)
        await asyncio.sleep(300)
# Shells start what runs in the background with interrupts ignored, and that is inherited.
signal.signal(signal.SIGINT, signal.default_int_handler)
asyncio.run(main())
"""


@pytest.mark.parametrize("how", ["interrupt", "kill"])
def test_what_a_process_leaves(place: Place, how: str) -> None:
    config = place.config().model_dump_json(exclude={"type", "allow", "block"})
    environment = {**place.cluster.environment, "VF_RUN_ID": f"test-{how}"}
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, config],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment,
    ) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "ready\n"
            process.send_signal(signal.SIGINT if how == "interrupt" else signal.SIGKILL)
            process.wait(timeout=30)
        finally:
            process.kill()

    if how == "kill":
        (left,) = place.boxes()
        context = ["--context", place.cluster.context] if place.cluster.context else []
        swept = subprocess.run(
            [BIN / "gradekeeper", "sweep", "-n", place.namespace, *context],
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        assert f"{left['metadata']['name']}: its process {process.pid} is gone" in swept.stdout
    assert place.boxes() == []


def _bash(*commands: str) -> list[tuple[str, dict[str, str]]]:
    return [("bash", {"command": command}) for command in commands]


RIGHT = "echo 42 > answer.txt"
CASES: dict[str, tuple[list[tuple[str, dict[str, str]]], dict[str, Any]]] = {
    # case: what the agent does, what the trace says
    "right": (_bash(RIGHT), {"reward": 1.0}),
    "wrong": (_bash("echo 41 > answer.txt"), {"reward": 0.0}),
    "edits": (
        [
            *_bash("echo 41 > answer.txt"),
            ("edit", {"path": "answer.txt", "old": "41", "new": "42"}),
        ],
        {"reward": 1.0},
    ),
    "kills": (_bash("kill -9 -1", RIGHT), {"reward": 1.0}),
    "memory": (
        _bash("echo 41 > answer.txt; python3 -c 'b = b\"x\" * (1 << 30)'"),
        {"reward": 0.0},
    ),
    "loops": (
        _bash("echo 41 > answer.txt; while :; do :; done"),
        {"reward": 0.0, "stop": "agent_timeout"},
    ),
    "slow-setup": (_bash(RIGHT), {"error": "TaskError", "stop": "setup_timeout"}),
    "slow-finalize": (_bash(RIGHT), {"error": "TaskError", "stop": "finalize_timeout"}),
    "deleted": (_bash("touch delete-me; sleep 600"), {"error": "SandboxError"}),
}


def test_every_failure_is_of_the_right_kind(place: Place, tmp_path: Path) -> None:
    with serve() as (url, _), place.deleting_marked(1):
        environment = {
            **place.cluster.environment,
            "PYTHONPATH": f"{HERE / 'tasksets'}{os.pathsep}{HERE.parent}",
            "BOX_CASES": json.dumps({case: calls for case, (calls, _) in CASES.items()}),
            "HOME": str(tmp_path),
            "KEY": "none",
        }
        done = subprocess.run(
            [
                BIN / "vf-eval",
                "box-cases",
                *place.flags("--env.agent.runtime", memory=0.0625),
                *("--env.agent.harness.id", "gradekeeper_bash"),
                *("-m", "scripted", "--client.base-url", url, "--client.api-key-var", "KEY"),
                *("-r", "1", "-c", str(len(CASES)), "-o", tmp_path / "out", "--no-push"),
                "--no-rich",
            ],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=400,
            check=False,
        )
    (file,) = (tmp_path / "out").rglob("traces.jsonl")
    seen = {}
    for line in file.read_text().splitlines():
        (trace,) = json.loads(line)["traces"]
        seen[trace["task"]["data"]["id"]] = _outcome(trace)

    expected = {
        case: {"stop": "sandbox_error" if case == "deleted" else "agent_completed", **outcome}
        for case, (_, outcome) in CASES.items()
    }
    assert seen == expected, done.stdout[-3000:] + done.stderr[-3000:]
    assert place.boxes() == []


def _outcome(trace: dict[str, Any]) -> dict[str, Any]:
    outcome: dict[str, Any] = {"stop": trace["stop_condition"]}
    if trace["ok"]:
        outcome["reward"] = trace["rewards"]["answered"]["score"]
    else:
        outcome["error"] = trace["errors"][-1]["type"]
    return outcome
