"""Setting the stage: the chart, an author's key, the suite signed with it and admitted."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path

import yaml

from demo.commands import BUILD, ROOT, Cluster, Command, DemoError, run

RELEASE = "gradekeeper"
SYSTEM = "gradekeeper-system"
NAMESPACE = "grading"
AUTHOR = "demo-author"
OUT = BUILD / "demo"
BUNDLES = BUILD / "suites"
IMAGES = BUILD / "images.json"
CHART = ROOT / "charts" / "gradekeeper"
#: CPU of one grading Pod of the suite and of the operator, in cores.
GRADING_CPU = 1.7
OPERATOR_CPU = 0.1
ADMISSION_SECONDS = 240.0


@dataclass(frozen=True)
class Images:
    """Names of the loaded images, each with its digest.

    Attributes:
        operator: `repository@sha256:…`.
        lane: the lane's.
        suite: the suite's.
    """

    operator: str
    lane: str
    suite: str

    @classmethod
    def load(cls) -> Images:
        """What `python -m demo images` built last; raises DemoError if it never did."""
        try:
            return cls(**json.loads(IMAGES.read_text()))
        except (OSError, TypeError, ValueError) as error:
            raise DemoError(f"the images are not built: run `make images` ({error})") from None

    def save(self) -> None:
        """Write them for the next step."""
        IMAGES.parent.mkdir(parents=True, exist_ok=True)
        IMAGES.write_text(json.dumps(vars(self), indent=2) + "\n")


def author_key(cluster: Cluster) -> Path:
    """The private key of the demo's suite author, made at the first use."""
    folder = OUT / "keys"
    private = folder / f"{AUTHOR}.key"
    if not private.exists():
        folder.mkdir(parents=True, exist_ok=True)
        command: Command = [
            cluster.program("gradekeeper"),
            "keys",
            "new",
            "--out",
            folder,
            "--name",
            AUTHOR,
        ]
        run(command, env=cluster.environment)
    return private


def places(cluster: Cluster) -> int:
    """How many grading Pods of the suite the cluster's nodes hold beside the operator."""
    nodes = cluster.read("nodes")["items"]
    free = [_cores(node["status"]["allocatable"]["cpu"]) for node in nodes]
    free[0] -= OPERATOR_CPU
    return max(1, sum(int(cpu / GRADING_CPU) for cpu in free))


def _cores(quantity: str) -> float:
    return float(quantity[:-1]) / 1000 if quantity.endswith("m") else float(quantity)


def install(cluster: Cluster, images: Images, *, max_pods: int | None = None) -> None:
    """`helm upgrade --install`, with the demo's author trusted; waits until the operator is up.

    Without `max_pods` as many gradings run at a time as the nodes hold. Helm never upgrades CRDs,
    so they are applied first, as the chart's notes say.
    """
    public = author_key(cluster).with_suffix(".pub")
    cluster.kubectl("apply", "--server-side", "--force-conflicts", "-f", CHART / "crds")
    repository, _, digest = images.operator.partition("@")
    values = {
        "image": {"repository": repository, "digest": digest},
        "authorKeys": {AUTHOR: public.read_text()},
        "gradingNamespaces": [{"name": NAMESPACE, "create": True}],
        "grading": {"maxPodsInFlight": max_pods or places(cluster)},
    }
    file = OUT / "values.yaml"
    file.write_text(yaml.safe_dump(values, sort_keys=False))
    cluster.helm(
        *("upgrade", "--install", RELEASE, CHART, "--namespace", SYSTEM, "--create-namespace"),
        *("--values", file, "--skip-crds"),
    )
    try:
        cluster.kubectl(
            *("-n", SYSTEM, "rollout", "status", f"deployment/{RELEASE}", "--timeout=120s"),
            limit=150,
        )
    except DemoError as error:
        raise DemoError(f"{error}\n{diagnose(cluster, SYSTEM)}") from None


def publish_suite(cluster: Cluster, name: str, image: str, lane_image: str) -> None:
    """Sign a built suite, apply it, and wait until its gold and null have admitted it."""
    gradekeeper = cluster.program("gradekeeper")
    bundle = BUNDLES / name
    envelope, manifest = OUT / f"{name}.suite.dsse.json", OUT / f"{name}.suite.yaml"
    named = ["--image", image, "--lane-image", lane_image]
    sign: Command = [gradekeeper, "suite", "sign", bundle, "--key", author_key(cluster), *named]
    run([*sign, "--out", envelope], env=cluster.environment)
    write: Command = [gradekeeper, "suite", "manifest", bundle, *named, "--signature", envelope]
    run([*write, "--namespace", NAMESPACE, "--out", manifest], env=cluster.environment)
    # The index is immutable: another build of the suite needs it made anew.
    try:
        cluster.kubectl("apply", "--server-side", "--force-conflicts", "-f", manifest)
    except DemoError:
        gone = ["--ignore-not-found", "--timeout=60s"]
        cluster.kubectl("-n", NAMESPACE, "delete", "gradingsuite", name, *gone)
        cluster.kubectl("-n", NAMESPACE, "delete", "configmap", f"{name}-index", *gone)
        cluster.kubectl("apply", "--server-side", "-f", manifest)
    wait_until_ready(cluster, name)


def wait_until_ready(cluster: Cluster, suite: str) -> None:
    """Wait until a suite is Ready; raises DemoError as soon as it cannot become so by itself."""
    deadline = time.monotonic() + ADMISSION_SECONDS
    while True:
        found = cluster.read("gradingsuite", suite, "-n", NAMESPACE)
        conditions = {one["type"]: one for one in found.get("status", {}).get("conditions", [])}
        if conditions.get("Ready", {}).get("status") == "True":
            return
        refused = [
            one["message"]
            for kind in ("Verified", "Admitted")
            if (one := conditions.get(kind, {})).get("status") == "False"
            and one["observedGeneration"] == found["metadata"]["generation"]
        ]
        if refused or time.monotonic() > deadline:
            why = " ".join(refused) or f"it is not after {ADMISSION_SECONDS:.0f} s"
            raise DemoError(f"{suite} is not Ready: {why}\n{diagnose(cluster, NAMESPACE)}")
        time.sleep(0.5)


def verdict_key(cluster: Cluster) -> Path:
    """Fetch the installation's public key to build/demo/verdict.pub."""
    config_map = cluster.read("configmap", f"{RELEASE}-verdict-key", "-n", SYSTEM)
    path = OUT / "verdict.pub"
    path.write_text(config_map["data"]["verdict.pub"])
    return path


def diagnose(cluster: Cluster, namespace: str) -> str:
    """What a person would look at first, bounded."""
    looks = [
        cluster.kubectl("-n", namespace, "get", "gradingsuites,gradingjobs,pods", check=False),
        cluster.kubectl(
            *("-n", namespace, "get", "gradingsuites", "-o"),
            "jsonpath={range .items[*]}{.status.conditions}{'\\n'}{end}",
            check=False,
        ),
        cluster.kubectl(
            *("-n", namespace, "get", "events", "--sort-by=.lastTimestamp"), check=False
        )[-3000:],
        cluster.kubectl(
            *("-n", SYSTEM, "logs", f"deployment/{RELEASE}", "--all-containers", "--tail=40"),
            check=False,
        )[-6000:],
    ]
    return "\n".join(look.strip() for look in looks if look.strip())
