"""The chart's training cluster on a real API server: what its trainers may do, and no more.

A release of its own, with values of charts/gradekeeper/examples, in namespaces to throw away.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from demo import stage
from demo.commands import Cluster, DemoError, Manifest

from .test_rights import harmless_pod

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

EXAMPLE = stage.CHART / "examples" / "training-cluster.yaml"
Right = tuple[str, str, str]
"""Verb, resource with its group, and the object's name, or `*`."""


def of(resource: str, verbs: str) -> set[Right]:
    return {(verb, resource, "*") for verb in verbs.split()}


#: What env/gradekeeper_verifiers/README.md asks for.
RUNTIME = (
    of("pods", "create get list delete")
    | of("pods/exec", "create get")
    | of("networkpolicies.networking.k8s.io", "create delete")
)
SUBMITTER = (
    of("gradingjobs.gradekeeper.dev", "get list watch create patch update delete")
    | of("gradingsuites.gradekeeper.dev", "get list watch")
    | of("configmaps", "get create patch")
)


@dataclass(frozen=True)
class Training:
    """A release, its namespaces, and the account that its values bind."""

    cluster: Cluster
    release: str
    system: str
    grading: str
    boxes: str

    @property
    def trainer(self) -> str:
        return "system:serviceaccount:training:trainer"

    @property
    def stranger(self) -> str:
        return "system:serviceaccount:training:somebody-else"

    def rights(self, account: str, namespace: str) -> set[Right]:
        """All rights of an account in a namespace, those of the whole cluster included."""
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectRulesReview",
            "spec": {"namespace": namespace},
        }
        path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
        told = json.loads(
            self.cluster.kubectl(
                *("create", "--raw", path, "-f", "-", "--as", account), stdin=json.dumps(review)
            )
        )["status"]
        assert not told["incomplete"]
        return {
            (verb, f"{resource}.{group}" if group else resource, name)
            for rule in told["resourceRules"]
            for group in rule["apiGroups"]
            for resource in rule["resources"]
            for verb in rule["verbs"]
            for name in rule.get("resourceNames") or ["*"]
        }

    def gained(self, namespace: str) -> set[Right]:
        """What a trainer may in a namespace and an account without any binding may not."""
        return self.rights(self.trainer, namespace) - self.rights(self.stranger, namespace)

    def create(self, pod: Manifest) -> str:
        """Have the API server take a Pod of the trainer's, without making it."""
        return self.cluster.kubectl(
            *("create", "--dry-run=server", "--as", self.trainer, "-f", "-", "-o", "name"),
            stdin=yaml.safe_dump(pod),
        )


@pytest.fixture(scope="module")
def training(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Training]:
    mark = secrets.token_hex(4)
    made = Training(cluster, f"tc-{mark}", f"tc-{mark}-system", f"tc-{mark}", f"tc-{mark}-boxes")
    values: dict[str, Any] = yaml.safe_load(EXAMPLE.read_text())
    repository, _, digest = stage.Images.load().operator.partition("@")
    values["image"] = {"repository": repository, "digest": digest}
    values["gradingNamespaces"] = [{"name": made.grading, "create": True}]
    values["rollouts"]["namespace"] = made.boxes
    file: Path = tmp_path_factory.mktemp("values") / "values.yaml"
    file.write_text(yaml.safe_dump(values))
    try:
        cluster.helm(
            *("install", made.release, stage.CHART, "--namespace", made.system),
            *("--create-namespace", "--values", file, "--skip-crds"),
        )
        yield made
    finally:
        gone = ("--namespace", made.system, "--wait", "--timeout", "120s")
        cluster.helm("uninstall", made.release, *gone)
        # The boxes' namespace goes with the release, those with verdicts and the key do not.
        left = cluster.kubectl("get", "namespaces", "-o", "name").split()
        cluster.kubectl("delete", "namespace", made.system, made.grading, "--wait=false")
        assert f"namespace/{made.boxes}" not in left
        assert {f"namespace/{made.system}", f"namespace/{made.grading}"} <= set(left)


def test_a_trainer_may_do_with_boxes_what_the_runtime_does_and_nothing_else(
    training: Training,
) -> None:
    assert training.gained(training.boxes) == RUNTIME


def test_a_trainer_submits_and_reads_nothing_that_a_submitter_does_not(training: Training) -> None:
    assert training.gained(training.grading) == SUBMITTER


def test_a_trainer_has_no_rights_anywhere_else_and_reads_no_key(training: Training) -> None:
    for namespace in (training.system, "training", "default", "kube-system"):
        assert training.gained(namespace) == set(), namespace
    # What everybody may: the public half of the key, and nothing of the private one.
    here = training.rights(training.trainer, training.system)
    assert ("get", "configmaps", f"{training.release}-gradekeeper-verdict-key") in here
    assert not {right for right in here if right[1] in ("secrets", "*", "*.*")}


def box(namespace: str, **limits: str) -> Manifest:
    pod = harmless_pod("box")
    pod["metadata"]["namespace"] = namespace
    resources = {"cpu": "2", "memory": "4Gi", "ephemeral-storage": "5Gi", **limits}
    pod["spec"]["containers"][0]["resources"] = {"limits": resources, "requests": resources}
    return pod


def test_boxes_are_restricted_and_no_larger_than_the_limits(training: Training) -> None:
    assert training.create(box(training.boxes)) == "pod/box\n"
    with pytest.raises(DemoError, match="maximum memory usage per Pod is 8Gi"):
        training.create(box(training.boxes, memory="9Gi"))
    privileged = box(training.boxes)
    privileged["spec"]["containers"][0]["securityContext"]["allowPrivilegeEscalation"] = True
    with pytest.raises(DemoError, match="violates PodSecurity"):
        training.create(privileged)


def test_a_trainer_makes_no_pod_beside_gradings_or_the_operator(training: Training) -> None:
    for namespace in (training.grading, training.system):
        with pytest.raises(DemoError, match=r"cannot create resource \"pods\""):
            training.create(box(namespace))
