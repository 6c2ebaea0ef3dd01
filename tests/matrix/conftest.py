"""One installation and one suite for the whole matrix, and its table at the end.

Only the test cluster (`make cluster-up`): rows signal processes of its node and put a webhook
beside its API server, which no cluster of somebody else's has to bear.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest
from demo import images, stage
from demo.commands import BUILD, Cluster, Command, run
from rich.console import Console
from rich.table import Table

from . import installation
from .api import Api, Witness, condition
from .local import LOCAL, LocalEngine, LocalRow
from .node import Node
from .submissions import CASES, SUITE_DIR, Case
from .world import JOBS, OPERATORS, PARTS, PODS, ROWS, SUITES, Job, Row, World

GRADEKEEPER = Path(sys.executable).with_name("gradekeeper")
HOSTILE = "hostile"
"""Name of the suite of the submissions' half."""
GRADINGS = 2
"""On the cluster at a time, of that half: as many as the two processors can give their limits to.
More would be each other's busy neighbours. The platform's faults need the node for one at a time.
"""


def pytest_configure(config: pytest.Config) -> None:
    config.stash[ROWS], config.stash[LOCAL] = [], {}


@pytest.fixture(scope="session")
def bundle() -> Path:
    """The suite of the submissions' half, built."""
    target = stage.BUNDLES / HOSTILE
    target.parent.mkdir(parents=True, exist_ok=True)
    build: Command = [GRADEKEEPER, "suite", "build", SUITE_DIR, "--out", target]
    run([*build, "--kit", BUILD / "lanes" / "kit.jar"])
    return target


@pytest.fixture(scope="session")
def local(request: pytest.FixtureRequest, bundle: Path) -> Iterator[LocalEngine]:
    """Grades the chosen cases on this machine, two at a time."""
    folder = installation.OUT / "local"
    folder.mkdir(parents=True, exist_ok=True)
    engine = LocalEngine(GRADEKEEPER, bundle, folder, request.config.stash[LOCAL])
    engine.start(chosen(request.session))
    yield engine
    engine.stop()


@pytest.fixture(scope="session")
def submitted(request: pytest.FixtureRequest, world: World, bundle: Path) -> dict[str, Job]:
    """A job for each of the chosen cases, all at once; several are graded at a time."""
    found = stage.Images.load()
    installation.install(world.cluster, found, max_pods=GRADINGS)
    installation.withdraw_suite(world.cluster, HOSTILE)
    image = images.build_suite_image(world.cluster, bundle, HOSTILE)
    manifests = installation.suite_manifest(world.cluster, bundle, HOSTILE, image, found.lane)
    for manifest in manifests:
        world.api.create(SUITES if manifest["kind"] == "GradingSuite" else PARTS, manifest)
    until_ready(world, HOSTILE)
    return {
        case.name: world.submit(case.slug, suite=HOSTILE, archive=case.archive(), retry_limit=1)
        for case in chosen(request.session)
    }


def chosen(session: pytest.Session) -> list[Case]:
    """The cases that this run was asked for, in their order."""
    callspecs = [getattr(item, "callspec", None) for item in session.items]
    wanted = [spec.params.get("case") for spec in callspecs if spec is not None]
    return [case for case in CASES if case in wanted]


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
    rows = request.config.stash[ROWS]
    made = World(cluster, api, witness, Node(cluster), key.encode(), rows)
    smallest, made.suite_image = installation.build_suite(cluster)
    manifests = installation.suite_manifest(
        cluster, smallest, installation.SUITE, made.suite_image, found.lane
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
    stash = terminalreporter.config.stash
    rows, local = stash[ROWS], stash[LOCAL]
    if not rows and not local:
        return
    installation.OUT.mkdir(parents=True, exist_ok=True)
    document = {
        "rows": [asdict(row) for row in rows],
        "local": {name: asdict(row) for name, row in local.items()},
    }
    (installation.OUT / "matrix.json").write_text(json.dumps(document, indent=2) + "\n")
    table = Table(title="attribution: what ended as what", title_justify="left")
    for title in ("case", "attempts", "decision", "reason", "outcomes", "local", "waited for"):
        table.add_column(title, no_wrap=True)
    table.add_column("seconds", justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*cells(row, local.get(row.case)))
    on_cluster = {row.case for row in rows}
    for name, found in local.items():
        if name not in on_cluster:
            table.add_row(*cells(None, found))
    terminalreporter.write_line("")
    console = Console(width=170)
    with console.capture() as captured:
        console.print(table)
    terminalreporter.write_line(captured.get())


def cells(row: Row | None, local: LocalRow | None) -> tuple[str, ...]:
    """A line of the table, of what was seen on the cluster and what the local engine said."""
    here = f"{local.outcomes} {local.seconds:.1f} s" if local is not None else ""
    if row is None:
        assert local is not None
        return (local.case, "", local.decision, local.reason, "", here, "", "")
    attempts = " → ".join(row.attempts) or "none"
    head = (row.case, attempts, row.decision, row.reason, row.outcomes)
    return (*head, here, row.waited, f"{row.seconds:.1f}")
