"""Detail logs on the real cluster: kept beyond their Pod, signed, and for maintainers alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from demo import stage
from demo.cases import SUITE
from demo.commands import Cluster, DemoError, Manifest, run

from .conftest import NAMESPACE

pytestmark = [pytest.mark.cluster, pytest.mark.slow, pytest.mark.timeout(1500)]

ACCOUNT = "e2e-log-reader"


def keep(installed: Cluster, which: str) -> None:
    """Change whose logs the installation keeps."""
    installed.helm(
        *("upgrade", stage.RELEASE, stage.CHART, "--namespace", stage.SYSTEM, "--reuse-values"),
        *("--skip-crds", "--set", f"grading.detailLogs.keep={which}"),
    )
    installed.kubectl(
        *("-n", stage.SYSTEM, "rollout", "status", f"deployment/{stage.RELEASE}"),
        "--timeout=120s",
        limit=150,
    )


@pytest.fixture
def finished(installed: Cluster, made: list[str]) -> Iterator[Manifest]:
    """A job graded while every log is kept, whose Pod is gone."""
    keep(installed, "all")
    try:
        command = ("submit", "builtin:gold", "--suite", SUITE, "-n", NAMESPACE, "--json", "--wait")
        said = run(
            installed.gradekeeper_command(*command, "--key", stage.verdict_key(installed)),
            env=installed.environment,
        ).stdout
        made.append(json.loads(said)["name"])
        job = installed.read("gradingjob", made[-1], "-n", NAMESPACE)
        pod = job["status"]["attempts"][-1]["podName"]
        installed.kubectl(
            *("-n", NAMESPACE, "wait", "--for=delete", f"pod/{pod}", "--timeout=60s"), limit=90
        )
        yield job
    finally:
        keep(installed, "failed")


def bind(installed: Cluster, role: str) -> Manifest:
    binding: Manifest = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": f"{ACCOUNT}-{role}", "namespace": NAMESPACE},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": f"{stage.RELEASE}-{role}",
        },
        "subjects": [{"kind": "ServiceAccount", "name": ACCOUNT, "namespace": NAMESPACE}],
    }
    installed.apply(binding)
    return binding


def kubeconfig_of(installed: Cluster, folder: Path) -> Path:
    """A kubeconfig of an account that has only what is bound to it."""
    metadata = {"name": ACCOUNT, "namespace": NAMESPACE}
    installed.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
    config = json.loads(
        installed.kubectl("config", "view", "--raw", "--minify", "--flatten", "-o", "json")
    )
    token = installed.kubectl("-n", NAMESPACE, "create", "token", ACCOUNT).strip()
    config["users"] = [{"name": "reader", "user": {"token": token}}]
    config["contexts"][0]["context"]["user"] = "reader"
    path = folder / "kubeconfig"
    path.write_text(json.dumps(config))
    return path


def test_the_signed_log_is_there_when_its_pod_is_gone_for_maintainers_alone(
    installed: Cluster, finished: Manifest, tmp_path: Path
) -> None:
    name = finished["metadata"]["name"]
    pod = finished["status"]["attempts"][-1]["podName"]
    with pytest.raises(DemoError, match="NotFound"):
        installed.read("pod", pod, "-n", NAMESPACE)
    words = ("logs", name, "-n", NAMESPACE, "--key", str(stage.verdict_key(installed)), "--json")
    config = kubeconfig_of(installed, tmp_path)
    command = [*installed.gradekeeper_command(*words), "--kubeconfig", str(config)]
    bindings = [bind(installed, "submitter")]
    try:
        refused = run(command, env=installed.environment, check=False)
        assert refused.returncode == 1 and refused.stdout == ""
        assert "You may not read detail logs" in refused.stderr
        bindings.append(bind(installed, "maintainer"))
        told = json.loads(run(command, env=installed.environment).stdout)
    finally:
        for binding in bindings:
            installed.kubectl("-n", NAMESPACE, "delete", "rolebinding", binding["metadata"]["name"])
        installed.kubectl("-n", NAMESPACE, "delete", "serviceaccount", ACCOUNT)
    assert told["digest"]["state"] == "matches", told["digest"]
    assert "the verified statement" in told["digest"]["sentence"]
    assert told["complete"] is True
    assert {"intake", "isolation"} <= {event["event"] for event in told["events"]}
    assert not [event for event in told["events"] if event["event"] == "unreadable"]
