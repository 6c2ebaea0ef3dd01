"""The part `rollouts` of `make bench`: a group of rollouts that wait for boxes and for gradings.

One `vf-eval` plays a whole group at once. A quota lets a quarter of its boxes exist at a time, and
the node grades one submission at a time: nearly all rollouts wait for the one or the other. Every
other agent repairs the task, so a verdict that came to another rollout would be noticed.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import functools
import json
import secrets
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from demo import stage
from demo.commands import BUILD, Cluster, DemoError
from rich.console import Console
from rich.table import Table
from watch import Watch, running

from env import tiny
from env.scripted_model import serve
from gradekeeper.client import Connection, load_settings

PROGRAM: Final = BUILD / "env-venv" / "bin" / "vf-eval"
LIMIT: Final = 1200.0
"""Seconds for the whole group."""
SETTLE: Final = 60.0
"""Seconds that the cluster gets to delete what was asked to go."""
PHASES: Final = (
    "waits for a place for its box",
    "box start",
    "set-up",
    "agent",
    "snapshot and submission",
    "waits for a place to be graded",
    "grading Pod, until it is judged",
    "signed, written, verified",
)


@dataclass
class Memory:
    """What a process and its children use, looked at often.

    Attributes:
        pid: of the process.
        peak: pid → the most that it ever had resident, bytes; the kernel counts it.
        together: the most that all had resident at one time, bytes.
    """

    pid: int
    peak: dict[int, int] = field(default_factory=dict)
    together: int = 0

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            self.look()
            await asyncio.sleep(0.25)

    def look(self) -> None:
        """Look once."""
        now = 0
        for pid in descendants(self.pid):
            # Processes end at any time.
            with contextlib.suppress(OSError):
                sizes = dict(
                    line.split(":", 1)
                    for line in Path(f"/proc/{pid}/status").read_text().splitlines()
                )
                if "VmHWM" in sizes:
                    self.peak[pid] = max(self.peak.get(pid, 0), _kilobytes(sizes["VmHWM"]))
                    now += _kilobytes(sizes["VmRSS"])
        self.together = max(self.together, now)

    @property
    def report(self) -> dict[str, float | int]:
        """As JSON, in MiB."""
        return {
            "process": round(self.peak.get(self.pid, 0) / 2**20, 1),
            "together": round(self.together / 2**20, 1),
            "processes": len(self.peak),
        }


def _kilobytes(text: str) -> int:
    return int(text.split()[0]) * 1024


def descendants(pid: int) -> Iterator[int]:
    """A process, its children, and theirs."""
    yield pid
    with contextlib.suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError):
                for child in (thread / "children").read_text().split():
                    yield from descendants(int(child))


@dataclass(frozen=True)
class Seen:
    """What the API server told during a run; monotonic times.

    Attributes:
        boxes: of Pods that are boxes.
        jobs: of grading jobs.
        graders: of grading Pods.
    """

    boxes: Mapping[str, Mapping[str, float]]
    jobs: Mapping[str, Mapping[str, float]]
    graders: Mapping[str, Mapping[str, float]]


def attempts(trace: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The attempts that the verdict of a rollout tells of."""
    envelope = json.loads(trace["info"]["gradekeeper"]["envelope"])
    found = json.loads(base64.b64decode(envelope["payload"]))["predicate"]["attempts"]
    assert isinstance(found, list)
    return found


def phases(trace: Mapping[str, Any], seen: Seen, offset: float) -> dict[str, float]:
    """Where the time of a rollout went, in seconds.

    Args:
        trace: of the rollout, with a verdict.
        seen: by this process.
        offset: of the traces' clock to the monotonic one, seconds.
    """
    timing = trace["timing"]
    times = {
        f"{name}.{end}": timing[name][end] - offset
        for name in ("boot", "setup", "agent", "finalize", "scoring")
        for end in ("start", "end")
    }
    job = trace["info"]["gradekeeper"]["job"].partition("/")[2]
    tries = attempts(trace)
    marks = [
        times["boot.start"],
        seen.boxes[trace["agent"]["runtime"]["id"]]["created"],
        times["boot.end"],
        times["setup.end"],
        times["agent.end"],
        seen.jobs[job]["created"],
        seen.graders[tries[0]["podName"]]["created"],
        seen.graders[tries[-1]["podName"]]["judged"],
        times["scoring.end"],
    ]
    # What is seen is seen a little late.
    return {
        name: max(0.0, after - before)
        for name, before, after in zip(PHASES, marks[:-1], marks[1:], strict=True)
    }


def covered(spans: Iterable[tuple[float, float]]) -> float:
    """Seconds that are in at least one of these spans."""
    total, until = 0.0, float("-inf")
    for start, end in sorted(spans):
        total += max(0.0, end - max(start, until))
        until = max(until, end)
    return total


def judge(
    traces: Mapping[str, Mapping[str, Any]], earned: Mapping[str, tuple[float, str]], count: int
) -> dict[str, list[str]]:
    """What is wrong with the rollouts of a run.

    Args:
        traces: rollout → trace.
        earned: rollout → reward, and the reason of the verdict, that it must have.
        count: how many there must be.
    """
    errors = [
        f"{name}: {trace['errors'][-1]['type']}: {trace['errors'][-1]['message']}"
        for name, trace in traces.items()
        if not trace["ok"]
    ]
    missing = count - len(traces)
    if missing:
        errors.append(f"{missing} rollouts left no trace")
    wrong = [
        name
        for name, trace in traces.items()
        if trace["ok"]
        and earned.get(name)
        != (trace["rewards"]["repaired"]["score"], trace["info"]["gradekeeper"]["reason"])
    ]
    return {"errors": errors, "wrong": wrong}


def complaints(report: Mapping[str, Any]) -> list[str]:
    """Whatever must not be in a report of this part."""
    return [
        f"{kind}: {one}"
        for kind in ("errors", "wrong", "left behind")
        for one in report.get(kind, ())
    ]


@contextlib.contextmanager
def open_boxes(cluster: Cluster, places: int) -> Iterator[str]:
    """A new namespace with room for so many boxes; it is deleted in the end."""
    namespace = f"gradekeeper-bench-{secrets.token_hex(4)}"
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    cluster.apply(
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": namespace, "labels": labels},
        },
        {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": {"name": "boxes", "namespace": namespace},
            "spec": {"hard": {"pods": str(places)}},
        },
    )
    try:
        # Pods are refused until their account is there.
        wait = ("wait", "--for=create", "serviceaccount/default", "--timeout=60s")
        cluster.kubectl("-n", namespace, *wait)
        yield namespace
    finally:
        cluster.kubectl("delete", "namespace", namespace, "--wait=false")


def leftovers(cluster: Cluster, namespace: str) -> set[str]:
    """Everything that rollouts make: boxes and policies, jobs, their Pods and their parts."""
    found = set()
    for place, kinds in (
        (namespace, "pods,networkpolicies"),
        (stage.NAMESPACE, "gradingjobs,pods,configmaps"),
    ):
        for one in cluster.read(kinds, "-n", place)["items"]:
            name = one["metadata"]["name"]
            ours = place == namespace or name.startswith(f"{tiny.NAME}-")
            if ours and name != f"{tiny.NAME}-index":
                found.add(f"{one['kind']} {place}/{name}")
    return found


def command(
    cluster: Cluster, namespace: str, key: Path, url: str, count: int, out: Path
) -> list[str]:
    """The command line of the evaluation."""
    box, grading = "--env.agent.runtime", "--env.taskset.task.grading"
    contexts = [(f"{box}.context", cluster.context), (f"{grading}.context", cluster.context)]
    return [
        *(str(PROGRAM), tiny.NAME, "-n", "1", "-r", str(count), "-c", str(count)),
        *(f"{box}.type", "kubernetes", f"{box}.namespace", namespace),
        *(f"{box}.image", stage.Images.load().operator, f"{box}.start-timeout", str(LIMIT)),
        *(f"{box}.cpu", "0.5", f"{box}.cpu-request", "0.01"),
        *(f"{box}.memory", "0.125", f"{box}.disk", "0.25"),
        *("--env.agent.harness.id", "gradekeeper_bash"),
        *(f"{grading}.namespace", stage.NAMESPACE),
        *(f"{grading}.public-keys", json.dumps([str(key)])),
        *(word for flag, name in contexts if name for word in (flag, name)),
        *("-m", "scripted", "--client.base-url", url, "--client.api-key-var", "KEY"),
        *("-o", str(out), "--no-push", "--no-rich"),
    ]


@contextlib.asynccontextmanager
async def looked_at(memory: Memory) -> AsyncIterator[None]:
    """Look at the memory for as long as the context lasts."""
    looking = asyncio.create_task(memory.run())
    try:
        yield
    finally:
        looking.cancel()
        await asyncio.wait([looking])


async def play(
    words: list[str], environment: Mapping[str, str], printed: Path
) -> tuple[float, Memory]:
    """Run the evaluation; returns its seconds and its memory. Raises DemoError if it fails."""
    started = time.monotonic()
    with printed.open("wb") as out:
        process = await asyncio.create_subprocess_exec(
            *words,
            env=dict(environment),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=out,
            stderr=asyncio.subprocess.STDOUT,
        )
    memory = Memory(process.pid)
    try:
        async with looked_at(memory), asyncio.timeout(LIMIT):
            status = await process.wait()
    except TimeoutError:
        status = None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    seconds = time.monotonic() - started
    if status != 0:
        raise DemoError(f"vf-eval: status {status}\n{_end_of(printed)}")
    return seconds, memory


def _end_of(file: Path) -> str:
    return file.read_text()[-5000:]


async def _measure(cluster: Cluster, namespace: str, key: Path, count: int) -> dict[str, Any]:
    load = functools.partial(
        load_settings, kubeconfig=cluster.environment.get("KUBECONFIG"), context=cluster.context
    )
    agents = tiny.Agents()
    before = await asyncio.to_thread(leftovers, cluster, namespace)
    with tempfile.TemporaryDirectory() as folder, serve(agents.play) as (url, _):
        out = Path(folder) / "out"
        environment = {
            **cluster.environment,
            "PYTHONPATH": str(tiny.TASKSETS),
            "HOME": folder,
            "KEY": "none",
        }
        words = command(cluster, namespace, key, url, count, out)
        async with Connection(load) as connection:
            boxes, graders = (
                Watch.pods(connection, place) for place in (namespace, stage.NAMESPACE)
            )
            jobs = Watch.jobs(connection, stage.NAMESPACE)
            offset = time.time() - time.monotonic()
            async with running(boxes, graders, jobs):
                seconds, memory = await play(words, environment, Path(folder) / "printed")
                left = await _settled(cluster, namespace, before)
        (file,) = out.rglob("traces.jsonl")
        episodes = [json.loads(line) for line in file.read_text().splitlines()]
    traces = {trace["id"]: trace for episode in episodes for trace in episode["traces"]}
    verdicts = [trace for trace in traces.values() if trace["ok"]]
    seen = Seen(boxes.seen, jobs.seen, graders.seen)
    spent = [phases(trace, seen, offset) for trace in verdicts]
    pods = [graders.seen[one["podName"]] for trace in verdicts for one in attempts(trace)]
    graded = covered((pod["created"], pod.get("deleted", pod["judged"])) for pod in pods)
    return {
        "rollouts": count,
        **judge(traces, agents.earned, count),
        "left behind": sorted(left),
        "seconds": round(seconds, 1),
        "secondsWithAGradingPod": round(graded, 1),
        "attempts": len(pods),
        "phases": {
            name: {
                "median": round(statistics.median(values), 2),
                "most": round(max(values), 2),
                "share": round(sum(values) / sum(sum(one.values()) for one in spent), 4),
            }
            for name in PHASES
            if (values := [one[name] for one in spent])
        },
        "peakMiB": memory.report,
    }


async def _settled(cluster: Cluster, namespace: str, before: set[str]) -> set[str]:
    """What is still there after the cluster had time to delete it."""
    deadline = time.monotonic() + SETTLE
    while True:
        left = await asyncio.to_thread(leftovers, cluster, namespace) - before
        if not left or time.monotonic() > deadline:
            return left
        await asyncio.sleep(1.0)


def measure(cluster: Cluster, count: int) -> dict[str, Any]:
    """Play so many rollouts at once; returns the report as JSON.

    Raises:
        DemoError: something is not installed, or the evaluation itself failed.
    """
    if not PROGRAM.exists():
        raise DemoError("verifiers is not installed: run `make bench`, which does that")
    places = max(1, count // 4)
    with tiny.published(cluster) as key, open_boxes(cluster, places) as namespace:
        report = asyncio.run(_measure(cluster, namespace, key, count))
    return {"boxesAtOnce": places, "gradingsAtOnce": stage.places(cluster), **report}


def print_report(console: Console, report: Mapping[str, Any]) -> None:
    """A table of where the time of a rollout goes, and what the run was like."""
    title = f"{report['rollouts']} rollouts at once: {report['seconds']} s"
    table = Table("part of a rollout", "median s", "most", "share", title=title)
    table.title_justify = "left"
    for name, found in report["phases"].items():
        table.add_row(
            name, f"{found['median']:.2f}", f"{found['most']:.2f}", f"{found['share']:.1%}"
        )
    console.print(table)
    peak = report["peakMiB"]
    console.print(
        f"{report['boxesAtOnce']} boxes and {report['gradingsAtOnce']} grading at a time;"
        f" {report['attempts']} attempts to grade, a grading Pod there for"
        f" {report['secondsWithAGradingPod']} s; eval process {peak['process']} MiB at its peak,"
        f" {peak['together']} MiB with its {peak['processes'] - 1} children"
    )
    found = complaints(report)
    console.print("no error, nothing left behind" if not found else "\n".join(found), style="bold")
