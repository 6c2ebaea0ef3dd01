"""A suite of one's own on the demo's cluster: the last step of docs/write-a-suite.md, done."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from demo import stage
from demo.commands import ROOT, Cluster, run

TINY = ROOT / "docs" / "examples" / "tiny"
NAME = "tiny-basket"


@pytest.fixture(scope="module")
def published(cluster: Cluster) -> Iterator[str]:
    """What `python -m demo suite` printed; the suite is gone afterwards."""
    try:
        command = [sys.executable, "-m", "demo", "suite", TINY / "suite"]
        yield run(command, env=cluster.environment).stdout
    finally:
        gone = ("-n", stage.NAMESPACE, "delete", "--ignore-not-found", "--timeout=60s")
        cluster.kubectl(*gone, "gradingsuite", NAME)
        cluster.kubectl(*gone, "configmap", f"{NAME}-index")


def test_a_published_suite_tells_a_repair_from_the_defect(
    cluster: Cluster, published: str, tmp_path: Path
) -> None:
    submit = published.splitlines()[-1].split()
    assert submit[1:3] == ["submit", "DIRECTORY"]
    outcomes = {}
    for name, folder in (
        ("untouched", TINY / "repository"),
        ("repaired", TINY / "suite" / "submissions" / "gold"),
    ):
        words = [str(folder) if word == "DIRECTORY" else word for word in submit[1:]]
        envelope = tmp_path / f"{name}.dsse.json"
        job = ["--delete", "--out", str(envelope)]
        run(cluster.gradekeeper_command(*words, *job), env=cluster.environment)
        verify = [cluster.program("gradekeeper"), "verify", envelope, "--json", "--key", words[-1]]
        told = json.loads(run(verify, env=cluster.environment).stdout)
        outcomes[name] = told["verdict"]["outcomes"]
    assert outcomes == {"untouched": "FP", "repaired": "PP"}
