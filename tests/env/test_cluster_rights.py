"""A box on the real cluster, by an account that has only what the chart gives to trainers."""

from __future__ import annotations

import json
import secrets
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from demo import stage
from demo.commands import Cluster
from verifiers.v1.errors import SandboxError
from verifiers.v1.runtimes import provision_runtime

from env.boxes import Place

pytestmark = [pytest.mark.cluster, pytest.mark.slow]

CONNECT = (
    "import os, socket; socket.create_connection((os.environ['KUBERNETES_SERVICE_HOST'],"
    " int(os.environ['KUBERNETES_SERVICE_PORT'])), 2)"
)


@dataclass(frozen=True)
class Trainer:
    """The chart's namespace for boxes, and settings of an account that `trainers` names."""

    place: Place
    kubeconfig: Path


@pytest.fixture(scope="module")
def trainer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trainer]:
    cluster = Cluster.find()
    namespace = f"boxes-{secrets.token_hex(4)}"
    account = {"kind": "ServiceAccount", "name": "trainer", "namespace": namespace}
    folder = tmp_path_factory.mktemp("trainer")
    values = {"rollouts": {"enabled": True, "namespace": namespace, "trainers": [account]}}
    (folder / "values.yaml").write_text(yaml.safe_dump(values))
    rendered = cluster.helm(
        *("template", namespace, stage.CHART, "--values", folder / "values.yaml"),
        *("--show-only", "templates/rollouts.yaml"),
    )
    metadata = {"name": "trainer", "namespace": namespace}
    try:
        cluster.apply(*(document for document in yaml.safe_load_all(rendered) if document))
        cluster.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
        config = json.loads(
            cluster.kubectl("config", "view", "--raw", "--minify", "--flatten", "-o", "json")
        )
        token = cluster.kubectl("-n", namespace, "create", "token", "trainer").strip()
        config["users"] = [{"name": "trainer", "user": {"token": token}}]
        config["contexts"][0]["context"] |= {"user": "trainer", "namespace": namespace}
        kubeconfig = folder / "kubeconfig"
        kubeconfig.write_text(json.dumps(config))
        yield Trainer(Place(cluster, namespace), kubeconfig)
    finally:
        cluster.kubectl("delete", "namespace", namespace, "--wait=false")


async def test_a_trainer_runs_boxes_and_sweeps_them(trainer: Trainer) -> None:
    place = trainer.place
    config = place.config(kubeconfig=str(trainer.kubeconfig), context=None, namespace=None)
    async with provision_runtime(config, "by-a-trainer") as box:
        await box.write("folder/file", b"content")
        assert await box.read("folder/file") == b"content"
        assert (await box.run(["python3", "-c", CONNECT], {})).exit_code == 0
        # The chart's own policy leaves the connection by which this one is proven.
        await box.prepare_execution([])
        assert (await box.run(["python3", "-c", CONNECT], {})).exit_code != 0
        await box.prepare_execution(None)
        assert await box.alive()

        gradekeeper = Path(sys.executable).parent / "gradekeeper"
        swept = subprocess.run(  # noqa: ASYNC221 - nothing else runs here
            [gradekeeper, "sweep", "--kubeconfig", trainer.kubeconfig],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert (swept.returncode, swept.stdout) == (0, "0 boxes deleted\n"), swept.stderr
        assert len(place.boxes()) == 1
    assert place.boxes() == []


async def test_a_trainer_has_no_boxes_anywhere_else(trainer: Trainer) -> None:
    config = trainer.place.config(
        kubeconfig=str(trainer.kubeconfig), context=None, namespace="default"
    )
    with pytest.raises(SandboxError, match="forbidden"):
        async with provision_runtime(config, "elsewhere"):
            pass
