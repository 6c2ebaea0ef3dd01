"""`make bench`: what grading costs beside bare Pods, and where the time of a grading goes.

What is compared is measured in one run and in turn, so that a ratio means something on a machine
whose speed is not known. The exit status is 1 if a target that decides (`findings`) was missed.
bench.json keeps the newest measurement of every part, with its date and commit.

The bare Pods are grading Pods whose two containers do nothing: same images, resources, volumes and
security settings, in a namespace of their own.

    python tests/bench/bench.py                          # everything
    python tests/bench/bench.py sequential repeats       # some parts; these need no cluster
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import copy
import datetime
import functools
import json
import secrets
import statistics
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import findings
import local_parts
import rollouts
from demo import images, stage
from demo.cases import SUITE
from demo.commands import BUILD, ROOT, Cluster, DemoError, Manifest, run
from rich.console import Console
from rich.table import Table
from watch import PATIENCE, Watch, running

from gradekeeper.api import names
from gradekeeper.client import Builtin, Connection, GradingClient, JobRequest, load_settings
from gradekeeper.referee.local import LocalError
from gradekeeper.referee.result import PASSED
from gradekeeper.suites.trees import archive_tree

TRIVIAL = "bench-trivial"
TRIVIAL_DIR = ROOT / "tests" / "bench" / "suite"
BARE_NAMESPACE = "gradekeeper-bench"
ON_THE_CLUSTER = ("latency", "churn", "gold")
PARTS = (*ON_THE_CLUSTER, "rollouts", "sequential", "repeats")
"""What can be chosen; README tells what each is for."""


@dataclass
class Samples:
    """Durations of one thing, in seconds.

    Attributes:
        name: what was measured.
        values: one a measurement.
    """

    name: str
    values: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        """The median; NaN without any."""
        return statistics.median(self.values) if self.values else float("nan")

    @property
    def p95(self) -> float:
        """The 95th percentile by rank; NaN without any."""
        if not self.values:
            return float("nan")
        return sorted(self.values)[min(len(self.values) - 1, int(len(self.values) * 0.95))]

    def row(self) -> dict[str, float | str | int]:
        """As JSON."""
        return {
            "name": self.name,
            "n": len(self.values),
            "median": round(self.median, 3),
            "p95": round(self.p95, 3),
        }


@dataclass(frozen=True)
class Grading:
    """One grading through the cluster.

    Attributes:
        seconds: from the submission until the verdict was verified.
        parts: where they went; the seconds add up.
        outcomes: one character a test.
    """

    seconds: float
    parts: Mapping[str, float]
    outcomes: str


def build_bare_pod(grading: Manifest, name: str) -> Manifest:
    """A Pod like a grading one, whose containers do nothing."""
    spec = copy.deepcopy(grading["spec"])
    for key in ("nodeName", "serviceAccount", "serviceAccountName", "priority", "hostname"):
        spec.pop(key, None)
    spec["volumes"] = [volume for volume in spec["volumes"] if "emptyDir" in volume]
    kept = {volume["name"] for volume in spec["volumes"]}
    for container in spec["containers"]:
        container["command"] = ["/bin/true"]
        container.pop("env", None)
        container["volumeMounts"] = [
            mount for mount in container["volumeMounts"] if mount["name"] in kept
        ]
    metadata = {"name": name, "namespace": BARE_NAMESPACE}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


class Bench:
    """One run.

    Args:
        client: of the grading namespace.
        connection: to the API server.
        bare: watch of the bare Pods.
        graded: watch of the grading Pods.
    """

    def __init__(
        self, client: GradingClient, connection: Connection, bare: Watch, graded: Watch
    ) -> None:
        self._client = client
        self._connection = connection
        self._bare = bare
        self._graded = graded
        self.grading_pod: Manifest | None = None
        """The first Pod that was seen to grade, the model of the bare ones."""

    async def bare_pod(self) -> float:
        """Create a bare Pod; seconds until it is seen to have succeeded."""
        assert self.grading_pod is not None
        name = f"bare-{secrets.token_hex(4)}"
        path = f"/api/v1/namespaces/{BARE_NAMESPACE}/pods"
        started = time.monotonic()
        await self._connection.request("POST", path, body=build_bare_pod(self.grading_pod, name))
        ended = await self._bare.until(name, "succeeded")
        await self._connection.request("DELETE", f"{path}/{name}")
        # The next measurement must not wait for what this one still holds.
        await self._bare.until(name, "deleted")
        return ended - started

    async def job(self, suite: str, submission: bytes | Builtin) -> Grading:
        """Grade, and wait until the Pod is gone."""
        request = JobRequest(suite=suite, submission=submission, nonce=secrets.token_hex(32))
        started = time.monotonic()
        handle = await self._client.submit(request)
        submitted = time.monotonic()
        judgement = await self._client.wait(handle, patience=PATIENCE)
        ended = time.monotonic()
        pod = names.pod_name(handle.name, handle.uid, 1)
        if len(judgement.statement["predicate"]["attempts"]) != 1:
            raise DemoError(f"{handle}: more than one attempt; this measures nothing")
        await self._graded.until(pod, "deleted")
        if self.grading_pod is None:
            self.grading_pod = self._graded.last[pod]
        parts = findings.break_down(
            started, submitted, ended, self._graded.seen[pod], self._times(pod)
        )
        return Grading(ended - started, parts, judgement.verdict.outcomes)

    def _times(self, pod: str) -> dict[str, float]:
        """What the referee itself measured, from its termination message."""
        for one in self._graded.last.get(pod, {}).get("status", {}).get("containerStatuses", []):
            terminated = one["state"].get("terminated")
            if one["name"] == names.REFEREE and terminated and terminated.get("message"):
                times = json.loads(terminated["message"])["times"]
                return {key: float(value) for key, value in times.items()}
        return {}


async def churn(count: int, one: Callable[[], Any]) -> float:
    """Start everything at once; things a second until the last has ended and its Pod is gone."""
    started = time.monotonic()
    await asyncio.gather(*(one() for _ in range(count)))
    return count / (time.monotonic() - started)


def operator_writes(cluster: Cluster) -> dict[str, float]:
    """Writes of the operator to the API server so far, by verb and resource, without Events."""
    pods = cluster.read(
        "pods", "-n", stage.SYSTEM, "-l", f"app.kubernetes.io/instance={stage.RELEASE}"
    )
    name = pods["items"][0]["metadata"]["name"]
    text = cluster.kubectl(
        "get", "--raw", f"/api/v1/namespaces/{stage.SYSTEM}/pods/{name}:8080/proxy/metrics"
    )
    found: dict[str, float] = {}
    for line in text.splitlines():
        if not line.startswith("gradekeeper_api_requests_total{"):
            continue
        labels, _, value = line.partition("} ")
        pairs = dict(
            pair.split("=", 1) for pair in labels.partition("{")[2].replace('"', "").split(",")
        )
        if pairs["verb"] in {"create", "patch"} and pairs["resource"] != "events":
            key = f"{pairs['verb']} {pairs['resource']}"
            found[key] = found.get(key, 0.0) + float(value)
    return found


def two_files() -> bytes:
    """A submission that the trivial suite's referee rejects: it has two files."""
    return archive_tree(
        {
            f"src/main/java/trivial/{name}.java": (f"final class {name} {{}}\n".encode(), False)
            for name in ("A", "B")
        }
    )


def prepare(cluster: Cluster) -> Path:
    """Install, publish both suites, make the namespace of the bare Pods; returns the key."""
    stage.OUT.mkdir(parents=True, exist_ok=True)
    loaded = stage.Images.load()
    stage.install(cluster, loaded, max_pods=64)
    stage.publish_suite(cluster, SUITE, loaded.suite, loaded.lane)
    bundle = images.build_bundle(cluster, TRIVIAL_DIR, TRIVIAL)
    image = images.build_suite_image(cluster, bundle, TRIVIAL)
    stage.publish_suite(cluster, TRIVIAL, image, loaded.lane)
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    cluster.apply(
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": BARE_NAMESPACE, "labels": labels},
        }
    )
    return stage.verdict_key(cluster)


@contextlib.asynccontextmanager
async def opened(cluster: Cluster, key: Path) -> AsyncIterator[Bench]:
    """A client, a connection and both watches, for as long as the context lasts."""
    load = functools.partial(
        load_settings, kubeconfig=cluster.environment.get("KUBECONFIG"), context=cluster.context
    )
    public = await asyncio.to_thread(key.read_bytes)
    async with (
        Connection(load) as connection,
        GradingClient(
            public_keys=[public], namespace=stage.NAMESPACE, connection=connection
        ) as client,
    ):
        bare = Watch.pods(connection, BARE_NAMESPACE)
        graded = Watch.pods(connection, stage.NAMESPACE)
        async with running(bare, graded):
            yield Bench(client, connection, bare, graded)


async def measure(
    cluster: Cluster,
    key: Path,
    options: argparse.Namespace,
    comparison: local_parts.Comparison | None,
    report: dict[str, Any],
) -> None:
    """Run the parts that need the cluster.

    Args:
        cluster: with everything that `prepare` makes.
        key: the public key of its verdicts.
        options: of the command line.
        comparison: takes its turns with gold; None if that was not chosen.
        report: part → what was measured; filled.
    """
    two = two_files()
    async with opened(cluster, key) as bench:
        # The first of each warms caches up and is not counted.
        await bench.job(TRIVIAL, two)
        await bench.bare_pod()
        if "latency" in options.parts:
            report["latency"] = await measure_latency(cluster, bench, two, options.rounds)
        if "churn" in options.parts:
            report["churn"] = await measure_churn(bench, two, options.burst)
        if "gold" in options.parts:
            report["gold"] = await measure_gold(bench, gold_rounds(options), comparison)


def gold_rounds(options: argparse.Namespace) -> int:
    """Gradings of gold; each takes several times as long as a trivial one."""
    return max(3, int(options.rounds) // 4)


async def measure_latency(
    cluster: Cluster, bench: Bench, two: bytes, rounds: int
) -> dict[str, Any]:
    """A trivial job beside a bare Pod, one at a time, and what each writes to the API server."""
    bare, rejected = (
        Samples("bare Pod: create → Succeeded"),
        Samples("trivial job: submit → verified verdict"),
    )
    compiled = Samples("trivial job that compiles and runs Java")
    before = operator_writes(cluster)
    for _ in range(rounds):
        bare.values.append(await bench.bare_pod())
        rejected.values.append((await bench.job(TRIVIAL, two)).seconds)
    after = operator_writes(cluster)
    for _ in range(max(2, rounds // 4)):
        compiled.values.append((await bench.job(TRIVIAL, Builtin.GOLD)).seconds)
    return {
        "rounds": rounds,
        "seconds": [samples.row() for samples in (bare, rejected, compiled)],
        "ratio": round(rejected.median / bare.median, 3),
        "writesPerJob": {
            "client": 2.0,
            **{
                verb: round((after[verb] - before.get(verb, 0.0)) / rounds, 2)
                for verb in sorted(after)
                if after[verb] > before.get(verb, 0.0)
            },
        },
    }


async def measure_churn(bench: Bench, two: bytes, burst: int) -> dict[str, Any]:
    """Many bare Pods and many trivial jobs at once, in turn."""
    rates: dict[str, list[float]] = {"bare": [], "jobs": []}
    for _ in range(2):
        rates["bare"].append(await churn(burst, bench.bare_pod))
        rates["jobs"].append(await churn(burst, lambda: bench.job(TRIVIAL, two)))
    return {
        "burst": burst,
        "aSecond": {name: round(statistics.mean(found), 3) for name, found in rates.items()},
        "ratio": round(statistics.mean(rates["jobs"]) / statistics.mean(rates["bare"]), 3),
    }


async def measure_gold(
    bench: Bench, rounds: int, comparison: local_parts.Comparison | None
) -> dict[str, Any]:
    """Gold of the billing suite, one at a time, in turn with the comparison, if there is one."""
    gold = Samples("gold of billing-payment-debug: submit → verified verdict")
    gradings = []
    for _ in range(rounds):
        gradings.append(await bench.job(SUITE, Builtin.GOLD))
        gold.values.append(gradings[-1].seconds)
        if comparison is not None:
            await asyncio.to_thread(comparison.turn)
    # Medians of the parts would not add up; those of one grading do.
    middle = sorted(gradings, key=lambda one: one.seconds)[(rounds - 1) // 2]
    return {
        "seconds": gold.row(),
        "parts": dict(middle.parts),
        "failures": [one.outcomes for one in gradings if one.outcomes.strip(PASSED)],
    }


def measure_all(options: argparse.Namespace, report: dict[str, Any]) -> None:
    """Run the chosen parts.

    Args:
        options: of the command line.
        report: part → what was measured; filled, up to where something fails.

    Raises:
        DemoError: the cluster, a program or a submission is not as it must be to measure.
        LocalError: a local grading ended without a result.
    """
    progress = functools.partial(Console(stderr=True, soft_wrap=True).print, highlight=False)
    with contextlib.ExitStack() as stack:
        comparison = None
        if "sequential" in options.parts:
            comparison = stack.enter_context(local_parts.Comparison.opened(progress))
        if not options.parts.isdisjoint(ON_THE_CLUSTER):
            cluster = Cluster.find()
            key = prepare(cluster)
            asyncio.run(measure(cluster, key, options, comparison, report))
        if comparison is not None:
            if "gold" not in report:
                for _ in range(gold_rounds(options)):
                    comparison.turn()
            beside = report.get("gold", {}).get("seconds", {}).get("median")
            report["sequential"] = comparison.report(beside)
    if "rollouts" in options.parts:
        report["rollouts"] = rollouts.measure(Cluster.find(), options.rollouts)
    if "repeats" in options.parts:
        report["repeats"] = local_parts.repeat(options.repeats, options.parallel, progress)


def print_report(report: Mapping[str, Any], console: Console) -> None:
    """The tables of whatever was measured."""
    rows = list(report.get("latency", {}).get("seconds", ()))
    if "gold" in report:
        rows.append(report["gold"]["seconds"])
    if rows:
        table = Table("seconds", "n", "median", "p95", title="latency", title_justify="left")
        for row in rows:
            table.add_row(*(str(row[key]) for key in ("name", "n", "median", "p95")))
        console.print(table)
    if "latency" in report:
        found = report["latency"]
        console.print(f"trivial job ÷ bare Pod: {found['ratio']} (target ≤ 1.25)")
        writes = found["writesPerJob"]
        console.print(f"API writes a job: {sum(writes.values()):g} (target ≤ 6) {writes}")
    if "churn" in report:
        found = report["churn"]
        rates = found["aSecond"]
        console.print(
            f"churn, {found['burst']} at once: bare {rates['bare']}/s, jobs {rates['jobs']}/s,"
            f" ratio {found['ratio']} (target ≥ 0.85)"
        )
    if "gold" in report:
        found = report["gold"]
        total = sum(found["parts"].values())
        print_seconds(
            console, "part of a gold grading, the median one", {**found["parts"], "total": total}
        )
        median, failed = found["seconds"]["median"], len(found["failures"])
        console.print(f"gold through the cluster: {median} s (target ≤ 8), failed {failed} times")
    if "sequential" in report:
        print_sequential(console, report["sequential"])
    if "rollouts" in report:
        rollouts.print_report(console, report["rollouts"])
    if "repeats" in report:
        print_repeats(console, report["repeats"])


def print_sequential(console: Console, found: Mapping[str, Any]) -> None:
    """Where the script's time went, and how it compares."""
    script = found["sequential"]
    print_seconds(console, "gold by a sequential script", script)
    if "throughCluster" in found:
        through = found["throughCluster"]
        console.print(
            f"sequential script, without any Pod ÷ gold through the cluster, submit → verified"
            f" verdict: {script['total']} s ÷ {through['seconds']} s = {through['ratio']:g}"
            f" (target ≥ {findings.SCRIPT_RATIO:g})"
        )
    console.print(
        "sequential script ÷ gold by the local engine:"
        f" {script['total']} s ÷ {found['gradekeeper']} s = {found['ratio']}"
    )


def print_repeats(console: Console, found: Mapping[str, Any]) -> None:
    """What each submission was said to be, and how often differently."""
    table = Table("repeated submission", "gradings", "answers", "disagreed on (gradings)")
    for name, one in found["submissions"].items():
        on = ", ".join(f"{test} ({n})" for test, n in one["disagreedOn"].items())
        table.add_row(name, str(one["gradings"]), str(one["answers"]), on or "nothing")
    console.print(table)
    console.print(
        f"{found['gradings']} gradings, {found['parallel']} at once,"
        f" {found['secondsEach']} s each: {found['disagreements']} disagreements (target 0),"
        f" gold failed {found['goldFailed']} times (target 0)"
    )


def print_seconds(console: Console, title: str, seconds: Mapping[str, float]) -> None:
    """A table of where time goes."""
    table = Table(title, "seconds", title="where it goes", title_justify="left")
    for name, value in seconds.items():
        table.add_row(name, f"{value:.3f}")
    console.print(table)


def read_previous(file: Path) -> dict[str, Any]:
    """What earlier runs measured; nothing if there was none.

    Raises:
        DemoError: it is not what a run writes.
    """
    if not file.exists():
        return {}
    try:
        found = json.loads(file.read_text())
    except ValueError as error:
        raise DemoError(f"{file} is no JSON, delete it: {error}") from None
    if not isinstance(found, dict):
        raise DemoError(f"{file} is no report, delete it")
    return found


def described(checkout: Path) -> str:
    """The commit of a checkout, "-dirty" if files were changed; "unknown" where there is no git."""
    done = run(["git", "-C", checkout, "describe", "--always", "--dirty"], check=False)
    return done.stdout.strip() or "unknown"


def conclude(report: Mapping[str, Any], console: Console) -> int:
    """Print everything that was measured in this run, and the targets that it missed.

    Returns:
        The exit status: 1 if a target that decides was missed.
    """
    print_report(report, console)
    sentences = findings.missed(report)
    if complaints := rollouts.complaints(report.get("rollouts", {})):
        sentences.append(f"{len(complaints)} complaints about the rollouts (target 0), see above")
    for sentence in sentences:
        console.print(f"missed: {sentence}", style="bold red", markup=False)
    return 1 if sentences else 0


def main(arguments: Iterable[str] | None = None) -> int:
    """Entry point; returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--out", type=Path, default=BUILD / "bench")
    parser.add_argument("--rounds", type=int, default=12, help="of each latency")
    parser.add_argument("--burst", type=int, default=12, help="Pods or jobs at once")
    parser.add_argument("--rollouts", type=int, default=64, help="of one run, queued at once")
    parser.add_argument("--repeats", type=int, default=200, help="gradings of gold, and of races")
    parser.add_argument("--parallel", type=int, default=2, help="local gradings at once")
    options = parser.parse_args(list(arguments) if arguments is not None else None)
    unknown = set(options.parts) - set(PARTS)
    if unknown:
        parser.error(f"no part {sorted(unknown)}; there is {', '.join(PARTS)}")
    options.parts = set(options.parts or PARTS)
    file = options.out / "bench.json"
    report: dict[str, Any] = {}
    broken = False
    try:
        previous = read_previous(file)
        stamp = {
            "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "commit": described(ROOT),
        }
        try:
            measure_all(options, report)
        finally:
            # What was measured before something failed was measured all the same.
            options.out.mkdir(parents=True, exist_ok=True)
            merged = findings.merge(previous, report, PARTS, stamp)
            file.write_text(json.dumps(merged, indent=2) + "\n")
    except (DemoError, LocalError) as error:
        sys.stderr.write(f"error: {error}\n")
        broken = True
    status = conclude(report, Console(width=100))
    return 1 if broken else status


if __name__ == "__main__":
    sys.exit(main())
