"""Building the images from their ordinary Dockerfiles and bringing them into the cluster.

`tests/cluster/images.py` does the work, with buildah or docker; see there for what happens with a
cluster of one's own (IMAGE_REGISTRY) and with base images.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from demo.cases import SUITE, SUITE_DIR
from demo.commands import BUILD, ROOT, Cluster, Command, DemoError, run
from demo.stage import BUNDLES, Images

LIMIT_SECONDS = 2400.0
PYTHON_BASE = "local/base-python:bookworm"
JDK_BASE = "local/base-jdk17:bookworm"
BUILD_BASE = "local/base-build:bookworm"
# Checkouts on one machine share a store of images: with a common tag one's suite would be built
# on the other's referee, which may not speak the protocol of its lane.
REFEREE = f"gradekeeper/referee:{hashlib.sha256(bytes(ROOT)).hexdigest()[:12]}"


def build_image(
    name: str, dockerfile: Path, context: Path, *, target: str = "", **arguments: str
) -> str:
    """Build an image and load it.

    Args:
        name: of the image.
        dockerfile: of the image.
        context: folder that COPY reads.
        target: stage of the Dockerfile; default the last one.
        arguments: values of ARG lines.

    Returns:
        `repository@sha256:…` as the cluster knows it.

    Raises:
        DemoError: the build failed; its last lines are on standard error.
    """
    command = [sys.executable, str(ROOT / "tests" / "cluster" / "images.py"), "build", name]
    command += ["--file", str(dockerfile), "--context", str(context)]
    command += ["--target", target] if target else []
    for key, value in arguments.items():
        command += ["--arg", f"{key}={value}"]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            timeout=LIMIT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise DemoError(f"{name}: not built within {LIMIT_SECONDS:.0f} s") from None
    if done.returncode != 0:
        raise DemoError(f"{name} was not built")
    return done.stdout.strip().splitlines()[-1]


def build_bundle(cluster: Cluster, suite_dir: Path, name: str) -> Path:
    """Compile a suite into its bundle; returns the bundle's folder."""
    bundle = BUNDLES / name
    bundle.parent.mkdir(parents=True, exist_ok=True)
    kit = BUILD / "lanes" / "kit.jar"
    command: Command = [
        cluster.program("gradekeeper"),
        "suite",
        "build",
        suite_dir,
        "--out",
        bundle,
    ]
    run([*command, "--kit", kit], env=cluster.environment)
    return bundle


def build_suite_image(cluster: Cluster, bundle: Path, name: str) -> str:
    """Build the image of a bundle on the referee's, which must be built already."""
    context = BUNDLES / f"{name}.context"
    command: Command = [cluster.program("gradekeeper"), "suite", "image", bundle]
    run([*command, "--context", context], env=cluster.environment)
    return build_image(
        f"gradekeeper/suite-{name}",
        context / "Dockerfile",
        context,
        REFEREE=f"docker.io/{REFEREE}",
    )


def build_all(cluster: Cluster, say: Callable[[str], None]) -> Images:
    """Build and load every image; returns their names."""
    os.environ.update(cluster.environment)
    dockerfile = ROOT / "operator" / "Dockerfile"
    say("referee")
    build_image(REFEREE, dockerfile, ROOT, target="referee", BASE=PYTHON_BASE)
    say("operator")
    operator = build_image(
        "gradekeeper/operator", dockerfile, ROOT, target="operator", BASE=PYTHON_BASE
    )
    say("lane java17")
    lanes = ROOT / "lanes"
    lane = build_image(
        "gradekeeper/lane-java17",
        lanes / "java17" / "Dockerfile",
        lanes,
        BASE=JDK_BASE,
        BUILD_BASE=BUILD_BASE,
    )
    say(f"suite {SUITE}")
    suite = build_suite_image(cluster, build_bundle(cluster, SUITE_DIR, SUITE), SUITE)
    return Images(operator=operator, lane=lane, suite=suite)
