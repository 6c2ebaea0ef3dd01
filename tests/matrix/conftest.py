"""One installation and one suite for the whole matrix, and its table at the end.

Only the test cluster (`make cluster-up`): rows signal processes of its node and put a webhook
beside its API server, which no cluster of somebody else's has to bear.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict

import pytest
from demo import stage
from demo.commands import Cluster
from rich.console import Console
from rich.table import Table

from . import installation
from .api import Api, Witness, condition
from .node import Node
from .world import JOBS, OPERATORS, PARTS, PODS, SUITES, Row, World

ROWS = pytest.StashKey[list[Row]]()


@pytest.fixture(scope="session")
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    if os.environ.get("GRADEKEEPER_CONTEXT"):
        pytest.skip("the matrix needs the test cluster's node, not the context that is named")
    cluster = Cluster.find()
    found = stage.Images.load()
    installation.clean(cluster)
    installation.install(cluster, found)
    installation.withdraw_suite(cluster, installation.SUITE)
    api = Api(cluster)
    key = api.get(
        f"/api/v1/namespaces/{installation.SYSTEM}/configmaps/{installation.RELEASE}-verdict-key"
    )["data"]["verdict.pub"]
    witness = Witness(api, JOBS, SUITES, PODS, OPERATORS)
    witness.start()
    made = World(cluster, api, witness, Node(cluster), key.encode())
    request.config.stash[ROWS] = made.rows
    bundle, made.suite_image = installation.build_suite(cluster)
    manifests = installation.suite_manifest(
        cluster, bundle, installation.SUITE, made.suite_image, found.lane
    )
    made.early = made.submit("suite-not-ready")
    made.until_waiting(made.early, "SuiteNotReady")
    for manifest in manifests:
        api.create(SUITES if manifest["kind"] == "GradingSuite" else PARTS, manifest)
    until_ready(made, installation.SUITE)
    yield made
    witness.stop()
    api.close()
    if not request.session.testsfailed:  # else its logs are worth a look
        installation.uninstall(cluster)


def until_ready(world: World, suite: str) -> None:
    """Wait until a suite is Ready."""

    def look() -> bool | None:
        found = condition(world.witness.live[SUITES].get(suite, {}), "Ready")
        return True if found.get("status") == "True" else None

    world.witness.wait(look, f"{suite} is Ready", 180)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    rows = terminalreporter.config.stash.get(ROWS, [])
    if not rows:
        return
    installation.OUT.mkdir(parents=True, exist_ok=True)
    document = json.dumps([asdict(row) for row in rows], indent=2)
    (installation.OUT / "platform.json").write_text(document + "\n")
    table = Table(title="attribution: what befell the platform", title_justify="left")
    for title in ("case", "attempts", "decision", "reason", "waited for"):
        table.add_column(title, no_wrap=True)
    table.add_column("seconds", justify="right", no_wrap=True)
    for row in rows:
        attempts = " → ".join(row.attempts) or "none"
        table.add_row(
            row.case, attempts, row.decision, row.reason, row.waited, f"{row.seconds:.1f}"
        )
    terminalreporter.write_line("")
    console = Console(width=170)
    with console.capture() as captured:
        console.print(table)
    terminalreporter.write_line(captured.get())
