"""The taskset that env/gradekeeper_verifiers/README.md prints: run as it is printed.

Without a cluster all is real but the API server and the box (a folder): `vf-eval`, the harness, the
suite, the referee and the lane (under bubblewrap), the signature. With one, those are real as well.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from contract.fake_api import FakeApi
from contract.stand_in import StandIn
from env.boxes import open_place
from env.scripted_model import serve
from env.tiny import NAME, SUITE, Agents, published
from gradekeeper.referee.local import LocalLane, grade_local
from gradekeeper.suites import build_bundle
from gradekeeper.verdicts.model import verdict_from_result
from guide import ROOT, blocks, shown_files

pytestmark = pytest.mark.slow

HERE = Path(__file__).resolve().parent
README = ROOT / "env" / "gradekeeper_verifiers" / "README.md"
TASKSET = "docs/examples/tiny/tiny_basket.py"

Traces = dict[str, dict[str, Any]]
"""Of a run, by their id."""


def test_the_readme_prints_the_taskset_as_it_is() -> None:
    shown = shown_files(README)
    assert shown == {TASKSET: (ROOT / TASKSET).read_text()}
    assert len(shown[TASKSET].splitlines()) <= 40


def check(agents: Agents, traces: Traces) -> None:
    """Hold what was recorded against what was done."""
    assert sorted(agents.earned.values()) == [(0.0, "DoesNotCompile"), (1.0, "Completed")]
    assert set(traces) == set(agents.earned)
    for rollout, (reward, reason) in agents.earned.items():
        trace = traces[rollout]
        assert trace["ok"], trace["errors"]
        assert trace["rewards"]["repaired"]["score"] == reward
        kept = trace["info"]["gradekeeper"]
        assert (kept["decision"], kept["reason"]) == ("Graded", reason)


def printed() -> tuple[str, list[str]]:
    """The README's command, and the lines of output that it shows, as expressions."""
    (block,) = (text for text in blocks(README, "console") if NAME in text)
    command, *output = block.removeprefix("$ ").replace("\\\n", " ").splitlines()
    return command, [re.escape(line).replace("…", ".*") for line in output]


def run_printed(out: Path, *flags: str, words: dict[str, str], **environment: str) -> Traces:
    """Run the README's command in the checkout, as its reader does.

    Args:
        out: Folder for the results.
        flags: What this machine or cluster needs besides.
        words: What stands for the words that a reader fills in.
        environment: Of the command, besides this process's.
    """
    command, output = printed()
    for word, value in words.items():
        command, found = re.subn(rf"(?<![\w-]){re.escape(word)}\b", value, command)
        assert found == 1, word
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", f"{command} {shlex.join(flags)} -o '{out}' --no-push"],
        cwd=ROOT,
        env={**os.environ, "PATH": path, "HOME": str(out.parent), "KEY": "none", **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert output
    for line in output:
        assert re.search(f"^{line}$", done.stderr, re.MULTILINE), f"{line} is not in {done.stderr}"
    (file,) = out.rglob("traces.jsonl")
    episodes = [json.loads(line) for line in file.read_text().splitlines()]
    return {trace["id"]: trace for episode in episodes for trace in episode["traces"]}


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("suite")
    return build_bundle(SUITE, folder / "bundle", kit=LocalLane.from_environment().kit).path


@asynccontextmanager
async def grading(bundle: Path, folder: Path) -> AsyncIterator[None]:
    """An API server whose jobs are graded by the local engine; its settings are in a folder."""
    signer, lane = StandIn(), LocalLane.from_environment()
    async with FakeApi().running() as api:
        context = {"cluster": "c", "user": "u", "namespace": "elsewhere"}
        config = {
            "current-context": "c",
            "contexts": [{"name": "c", "context": context}],
            "clusters": [{"name": "c", "cluster": {"server": api.url}}],
            "users": [{"name": "u", "user": {"token": "t"}}],
        }
        (folder / "kubeconfig").write_text(json.dumps(config))
        (folder / "verdict.pub").write_bytes(signer.public_pem)

        def waiting() -> tuple[dict[str, Any], bytes] | None:
            """A job without a verdict whose parts have all come, and what they add up to."""
            for (plural, namespace, _), job in api.objects.items():
                if plural != "gradingjobs" or "status" in job:
                    continue
                named = job["spec"]["submission"]["configMaps"]
                parts = [api.get("configmaps", namespace, name) for name in named]
                if None not in parts:
                    data = (base64.b64decode(p["binaryData"]["part"]) for p in parts if p)
                    return job, b"".join(data)
            return None

        async def operator() -> None:
            while True:
                await api.wait_until(lambda: waiting() is not None)
                found = waiting()
                assert found is not None
                job, submission = found
                assert job["spec"]["suiteRef"] == {"name": NAME}
                graded = await asyncio.to_thread(grade_local, bundle, submission, lane=lane)
                status = signer.status(job, verdict_from_result(graded.result))
                metadata = job["metadata"]
                api.set_status("gradingjobs", metadata["namespace"], metadata["name"], status)

        working = asyncio.create_task(operator())
        try:
            yield
        finally:
            assert not working.done(), working.exception()
            working.cancel()
            await asyncio.wait([working])


async def test_it_runs_as_printed_and_is_graded_on_this_machine(
    bundle: Path, tmp_path: Path
) -> None:
    agents = Agents()
    with serve(agents.play) as (url, _):
        async with grading(bundle, tmp_path):
            words = {
                "kubernetes": "subprocess",
                "gradekeeper_bash": "here_bash",
                "docs/examples/tiny": f"docs/examples/tiny:{HERE / 'tasksets'}",
                "MODEL": "scripted",
                "URL": url,
            }
            traces = await asyncio.to_thread(
                run_printed,
                tmp_path / "out",
                words={**words, "verdict.pub": str(tmp_path / "verdict.pub")},
                KUBECONFIG=str(tmp_path / "kubeconfig"),
            )
    check(agents, traces)


@pytest.mark.cluster
@pytest.mark.timeout(900)
def test_it_runs_as_printed_on_the_cluster(tmp_path: Path) -> None:
    agents = Agents()
    with (
        open_place() as place,
        published(place.cluster) as key,
        serve(agents.play) as (url, _),
    ):
        settings = place.flags("--env.agent.runtime")
        flags = settings[settings.index("kubernetes") + 1 :]
        words = {"MODEL": "scripted", "URL": url, "verdict.pub": str(key)}
        traces = run_printed(tmp_path / "out", *flags, words=words, **place.cluster.environment)
        assert place.boxes() == []
    check(agents, traces)
