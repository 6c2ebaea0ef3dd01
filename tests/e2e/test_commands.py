"""What `doctor` and `explain` say of the real installation and its finished jobs."""

from __future__ import annotations

import json

from demo import stage
from demo.commands import Cluster, run

from .conftest import Graded


def gradekeeper(cluster: Cluster, *words: str) -> tuple[int, str]:
    done = run(cluster.gradekeeper_command(*words), env=cluster.environment, check=False)
    return done.returncode, done.stdout


def test_doctor_finds_nothing_wrong_and_its_probe_had_no_network(graded: Graded) -> None:
    where = ["--system-namespace", stage.SYSTEM]
    status, said = gradekeeper(graded.cluster, "doctor", "--probe", "--json", *where)
    found = {check["name"]: check for check in json.loads(said)}
    assert status == 0, said
    space = stage.NAMESPACE
    for name in (
        "API server",
        "CRD gradingjobs",
        "CRD gradingsuites",
        "operator",
        "heartbeat",
        "verdict key",
        f"{space}: Pod Security",
        f"{space}: NetworkPolicies",
        f"{space}: foreign Pods",
        f"{space}: your rights",
        f"{space}: probe",
    ):
        assert found[name]["state"] == "ok", found[name]
    assert "policies are enforced" in found[f"{space}: probe"]["sentence"]


def test_explain_tells_the_lost_pod_from_the_one_that_graded(graded: Graded) -> None:
    words = ["gold-pod-lost", "-n", stage.NAMESPACE, "--key", str(graded.key), "--json"]
    status, said = gradekeeper(graded.cluster, "explain", *words)
    assert status == 0, said
    told = json.loads(said)
    attempts = [line for line in told["happened"] if line.startswith("Attempt ")]
    assert len(attempts) == 2
    assert "PodLost (the platform's fault, not scored)" in attempts[0]
    assert "Completed (scored)" in attempts[1]
    assert "the verdict is signed (verified with your key)" in told["evidence"]
    assert any(line.startswith("isolation as observed") for line in told["evidence"])
