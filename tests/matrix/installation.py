"""An installation of its own for the matrix, beside whatever else the cluster serves.

Its namespaces, release, suite and keys are its own; images are those that `make images` loaded.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import yaml
from demo import images, stage
from demo.commands import BUILD, ROOT, Cluster, Command, DemoError, Manifest, run

RELEASE = "gk-matrix"
SYSTEM = "gk-matrix-system"
NAMESPACE = "gk-matrix"
NEIGHBOURS = "gk-matrix-neighbours"
"""For Pods that are not the operator's: grading namespaces take no others."""
SUITE = "matrix"
ISSUER = f"{SYSTEM}/{RELEASE}"
PROBE_SECONDS = 8
QUOTA_SECONDS = 6
BACKOFF_SECONDS = 1
OUT = BUILD / "matrix"


def install(cluster: Cluster, found: stage.Images, max_pods: int = 1) -> None:
    """Install the chart with little patience and no pulling of images.

    Args:
        cluster: where.
        found: the images.
        max_pods: gradings at a time.
    """
    OUT.mkdir(parents=True, exist_ok=True)
    public = stage.author_key(cluster).with_suffix(".pub")
    cluster.kubectl("apply", "--server-side", "--force-conflicts", "-f", stage.CHART / "crds")
    repository, _, digest = found.operator.partition("@")
    patience = {
        "ATTEMPT_BACKOFF_SECONDS": BACKOFF_SECONDS,
        "PENDING_PATIENCE_SECONDS": 0.5,
        "PROBE_DEADLINE_SECONDS": PROBE_SECONDS,
        "QUOTA_PATIENCE_SECONDS": QUOTA_SECONDS,
    }
    values = {
        "fullnameOverride": RELEASE,
        "image": {"repository": repository, "digest": digest, "pullPolicy": "Never"},
        "authorKeys": {stage.AUTHOR: public.read_text()},
        "gradingNamespaces": [{"name": NAMESPACE, "create": True}],
        # A tenth of the CPU is requested, so that this runs beside others on a small node. No
        # image is ever pulled: a missing one is missing at once, and no packet leaves the machine.
        "grading": {
            "maxPodsInFlight": max_pods,
            "cpuRequestPercent": 10,
            "imagePullPolicy": "Never",
        },
        "extraEnv": [
            {"name": f"GRADEKEEPER_{name}", "value": str(value)} for name, value in patience.items()
        ],
    }
    file = OUT / "values.yaml"
    file.write_text(yaml.safe_dump(values, sort_keys=False))
    cluster.helm(
        *("upgrade", "--install", RELEASE, stage.CHART, "--namespace", SYSTEM),
        *("--create-namespace", "--values", file, "--skip-crds"),
    )
    try:
        cluster.kubectl(
            *("-n", SYSTEM, "rollout", "status", f"deployment/{RELEASE}", "--timeout=120s"),
            limit=150,
        )
    except DemoError as error:
        logs = cluster.kubectl(
            "-n", SYSTEM, "logs", f"deployment/{RELEASE}", "--all-containers", check=False
        )
        raise DemoError(f"{error}\n{logs[-4000:]}") from None


def uninstall(cluster: Cluster) -> None:
    """Remove the release; its namespaces and key stay, as after any uninstall."""
    cluster.helm("uninstall", RELEASE, "--namespace", SYSTEM, "--wait", "--timeout", "60s")


def build_suite(cluster: Cluster) -> tuple[Path, str]:
    """Build the matrix's suite: the benchmark's smallest one under a name of its own.

    Its lane may use a whole core, so that a JVM starts soon, and a test may take long enough for
    something to happen to its Pod.

    Returns:
        The bundle's folder and the suite image.
    """
    source = OUT / "suite"
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(ROOT / "tests" / "bench" / "suite", source)
    path = source / "suite.yaml"
    definition = yaml.safe_load(path.read_text())
    definition["name"] = SUITE
    definition["limits"]["testTimeoutSeconds"] = 40
    definition["resources"]["lane"]["cpu"] = "1"
    definition["resources"]["referee"]["cpu"] = "500m"
    path.write_text(yaml.safe_dump(definition, sort_keys=False))
    bundle = images.build_bundle(cluster, source, SUITE)
    return bundle, images.build_suite_image(cluster, bundle, SUITE)


def suite_manifest(
    cluster: Cluster, bundle: Path, name: str, image: str, lane: str
) -> list[Manifest]:
    """Sign a suite; returns the GradingSuite and its index, to be created."""
    gradekeeper = cluster.program("gradekeeper")
    envelope, manifest = OUT / f"{name}.dsse.json", OUT / f"{name}.yaml"
    named = ["--image", image, "--lane-image", lane]
    sign: Command = [gradekeeper, "suite", "sign", bundle, "--key", stage.author_key(cluster)]
    run([*sign, *named, "--out", envelope], env=cluster.environment)
    write: Command = [gradekeeper, "suite", "manifest", bundle, *named, "--signature", envelope]
    run([*write, "--namespace", NAMESPACE, "--out", manifest], env=cluster.environment)
    return [one for one in yaml.safe_load_all(manifest.read_text()) if one]


def withdraw_suite(cluster: Cluster, name: str) -> None:
    """Remove a suite and its index, if they are there."""
    gone = ("--ignore-not-found", "--timeout=60s")
    cluster.kubectl("-n", NAMESPACE, "delete", "gradingsuite", name, *gone)
    cluster.kubectl("-n", NAMESPACE, "delete", "configmap", f"{name}-index", *gone)


def clean(cluster: Cluster) -> None:
    """Remove what an earlier, broken run may have left."""
    gone = ("--ignore-not-found", "--timeout=60s")
    cluster.kubectl("delete", "mutatingwebhookconfiguration", "gk-matrix", *gone)
    if not cluster.kubectl("get", "namespace", NAMESPACE, "--ignore-not-found").strip():
        return
    cluster.kubectl("-n", NAMESPACE, "delete", "resourcequota", "gk-matrix", *gone)
    jobs = json.loads(
        cluster.kubectl("-n", NAMESPACE, "get", "gradingjobs", "-o", "json", "--ignore-not-found")
        or '{"items": []}'
    )
    if jobs["items"]:
        cluster.kubectl("-n", NAMESPACE, "delete", "gradingjobs", "--all", "--timeout=60s")
