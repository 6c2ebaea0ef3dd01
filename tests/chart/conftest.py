"""The helm binary and rendered charts.

`HELM` names the binary; else helm is on PATH, or in the cache that `make helm` fills. Without any,
the tests fail: they do not pass silently.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "charts" / "gradekeeper"

Documents = list[dict[str, Any]]
Render = Callable[..., Documents]


def find_helm() -> str:
    """Path of the helm binary; raises FileNotFoundError with what to do."""
    cached = sorted(Path.home().glob(".cache/gradekeeper/bin/helm-*/helm"))
    for candidate in (os.environ.get("HELM"), shutil.which("helm"), *map(str, cached)):
        if candidate and shutil.which(candidate):
            return candidate
    raise FileNotFoundError("no helm: set HELM, or run `make helm`")


@pytest.fixture(scope="session")
def helm() -> str:
    return find_helm()


@pytest.fixture(scope="session")
def helm_template(helm: str) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs `helm template RELEASE CHART`; values are given as a dict."""

    def run(
        values: dict[str, Any] | None = None,
        *,
        release: str = "gradekeeper",
        namespace: str = "gradekeeper-system",
        arguments: tuple[str, ...] = (),
    ) -> subprocess.CompletedProcess[str]:
        command = [helm, "template", release, str(CHART), "-n", namespace, "-f", "-", *arguments]
        return subprocess.run(
            command,
            input=yaml.safe_dump(values or {}),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return run


@pytest.fixture(scope="session")
def render(helm_template: Callable[..., subprocess.CompletedProcess[str]]) -> Render:
    """Renders the chart and parses what comes out; a refusal fails the test."""

    def run(values: dict[str, Any] | None = None, **options: Any) -> Documents:
        done = helm_template(values, **options)
        assert done.returncode == 0, done.stderr
        return [document for document in yaml.safe_load_all(done.stdout) if document]

    return run
