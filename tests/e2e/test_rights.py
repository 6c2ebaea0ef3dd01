"""Who may do what in a grading namespace, asked of the real API server."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from demo import stage
from demo.commands import ROOT, DemoError, Manifest

from .conftest import NAMESPACE, Graded

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1500)]

OPERATOR = f"system:serviceaccount:{stage.SYSTEM}:{stage.RELEASE}"
TRAINER = f"system:serviceaccount:{NAMESPACE}:e2e-trainer"


@pytest.fixture(scope="module", autouse=True)
def trainer(graded: Graded) -> None:
    binding: Manifest = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "e2e-trainer", "namespace": NAMESPACE},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": "gradekeeper-submitter",
        },
        "subjects": [{"kind": "ServiceAccount", "name": "e2e-trainer", "namespace": NAMESPACE}],
    }
    graded.cluster.apply(binding)


def may(graded: Graded, account: str, verb: str, resource: str) -> bool:
    # kubectl reads a slash as TYPE/NAME.
    kind, _, subresource = resource.partition("/")
    answer = graded.cluster.kubectl(
        *("-n", NAMESPACE, "auth", "can-i", verb, kind, f"--subresource={subresource}"),
        *("--as", account),
        check=False,
    )
    return answer.strip() == "yes"


@pytest.mark.parametrize(
    ("verb", "resource", "allowed"),
    [
        ("create", "gradingjobs.gradekeeper.dev", True),
        ("delete", "gradingjobs.gradekeeper.dev", True),
        ("watch", "gradingjobs.gradekeeper.dev", True),
        ("create", "configmaps", True),
        ("list", "configmaps", False),
        ("update", "gradingjobs.gradekeeper.dev/status", False),
        ("patch", "gradingjobs.gradekeeper.dev/status", False),
        ("create", "gradingsuites.gradekeeper.dev", False),
        ("patch", "gradingsuites.gradekeeper.dev", False),
        ("create", "pods", False),
        ("get", "pods", False),
        ("create", "pods/exec", False),
        ("get", "pods/log", False),
        ("get", "secrets", False),
    ],
)
def test_a_submitter(graded: Graded, verb: str, resource: str, allowed: bool) -> None:
    assert may(graded, TRAINER, verb, resource) is allowed


@pytest.mark.parametrize("role", ["view", "edit", "admin"])
def test_whoever_reads_secrets_by_the_clusters_own_roles_may_not_submit(
    graded: Graded, role: str
) -> None:
    account = f"system:serviceaccount:{NAMESPACE}:e2e-{role}"
    binding: Manifest = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": f"e2e-{role}", "namespace": NAMESPACE},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [
            {"kind": "ServiceAccount", "name": f"e2e-{role}", "namespace": NAMESPACE},
        ],
    }
    graded.cluster.apply(binding)
    try:
        # This is why: detail logs are Secrets, and say what hidden tests expect.
        assert may(graded, account, "get", "secrets") is (role != "view")
        assert may(graded, account, "list", "gradingjobs.gradekeeper.dev")
        for verb in ("create", "patch", "update", "delete"):
            for resource in ("gradingjobs", "gradingsuites"):
                assert not may(graded, account, verb, f"{resource}.gradekeeper.dev"), (
                    verb,
                    resource,
                )
    finally:
        graded.cluster.kubectl("-n", NAMESPACE, "delete", "rolebinding", f"e2e-{role}")


def test_the_operator_may(graded: Graded) -> None:
    for verb, resource in (
        ("create", "pods"),
        ("patch", "gradingjobs.gradekeeper.dev/status"),
        ("patch", "gradingsuites.gradekeeper.dev/status"),
        ("get", "pods/log"),
        ("create", "secrets"),
    ):
        assert may(graded, OPERATOR, verb, resource), (verb, resource)


@pytest.mark.parametrize(
    ("verb", "resource"),
    [
        ("list", "secrets"),
        ("get", "secrets"),
        ("create", "pods/exec"),
        ("patch", "pods/ephemeralcontainers"),
        ("patch", "pods"),
        ("update", "gradingjobs.gradekeeper.dev"),
        ("create", "gradingsuites.gradekeeper.dev"),
        ("create", "configmaps"),
    ],
)
def test_the_operator_may_not(graded: Graded, verb: str, resource: str) -> None:
    assert not may(graded, OPERATOR, verb, resource)


def harmless_pod(name: str) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "automountServiceAccountToken": False,
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": 12345,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [
                {
                    "name": "x",
                    "image": "gradekeeper/none",
                    "securityContext": {
                        "allowPrivilegeEscalation": False,
                        "capabilities": {"drop": ["ALL"]},
                    },
                }
            ],
        },
    }


def test_nobody_else_makes_a_pod_there_not_even_an_administrator(graded: Graded) -> None:
    with pytest.raises(DemoError, match="only the gradekeeper operator creates or changes Pods"):
        graded.cluster.apply(harmless_pod("e2e-intruder"))


def test_the_operator_may_make_one_of_the_restricted_kind_alone(graded: Graded) -> None:
    create = ("create", "--dry-run=server", "--as", OPERATOR, "-f", "-")
    pod = harmless_pod("e2e-allowed")
    graded.cluster.kubectl(*create, stdin=yaml.safe_dump(pod))
    pod["spec"]["containers"][0]["securityContext"]["allowPrivilegeEscalation"] = True
    with pytest.raises(DemoError, match="violates PodSecurity"):
        graded.cluster.kubectl(*create, stdin=yaml.safe_dump(pod))


def test_the_examples_work_as_they_are(graded: Graded) -> None:
    folder: Path = ROOT / "manifests" / "examples"
    graded.cluster.kubectl("-n", NAMESPACE, "delete", "-f", folder, "--ignore-not-found")
    graded.cluster.kubectl("apply", "--server-side", "-f", folder)
    try:
        graded.cluster.kubectl(
            *("wait", "--for=condition=Succeeded", "gradingjobs", "--all", "-n", NAMESPACE),
            "--timeout=300s",
            limit=330,
        )
        decisions = {
            name: graded.cluster.read("gradingjob", name, "-n", NAMESPACE)["status"]["verdict"][
                "decision"
            ]
            for name in ("example-gold", "example-untouched", "example-too-large")
        }
    finally:
        graded.cluster.kubectl("-n", NAMESPACE, "delete", "-f", folder)
    assert decisions == {
        "example-gold": "Graded",
        "example-untouched": "Graded",
        "example-too-large": "Rejected",
    }
