"""One installation and one run of the demo's ten jobs for all e2e tests.

The cluster is the one that GRADEKEEPER_CONTEXT names, or the test cluster (`make cluster-up`);
without either the tests fail. Images are those that `make images` loaded.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from demo import jobs, stage
from demo.__main__ import grade_all, publish
from demo.commands import Cluster
from demo.jobs import Outcome

NAMESPACE = stage.NAMESPACE


@dataclass(frozen=True)
class Graded:
    """The finished run.

    Attributes:
        cluster: where it ran.
        outcomes: job → what became of it.
        key: file with the installation's public key.
    """

    cluster: Cluster
    outcomes: dict[str, Outcome]
    key: Path


@pytest.fixture(scope="session")
def cluster() -> Cluster:
    return Cluster.find()


@pytest.fixture(scope="session")
def installed(cluster: Cluster) -> Cluster:
    """The cluster with the chart and the demo's suite, admitted."""
    stage.OUT.mkdir(parents=True, exist_ok=True)
    publish(cluster)
    return cluster


@pytest.fixture(scope="session")
def graded(installed: Cluster) -> Graded:
    outcomes = {outcome.applied.case.name: outcome for outcome in grade_all(installed)}
    return Graded(installed, outcomes, stage.verdict_key(installed))


@pytest.fixture
def made(installed: Cluster) -> Iterator[list[str]]:
    """Names of jobs that a test makes; deleted afterwards."""
    names: list[str] = []
    yield names
    if names:
        installed.kubectl(
            *("-n", NAMESPACE, "delete", "gradingjobs", *names, "--ignore-not-found"),
            "--timeout=60s",
        )


__all__ = ["Graded", "jobs"]
