"""A Pod of the expected name is ours only if every field is; what others add is listed."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from gradekeeper.api.spec import Toleration
from gradekeeper.pods.build import PodSettings, pod_mismatch
from unit.pods.samples import pod, spec

EXPECTED = pod()


def defaulted() -> dict[str, Any]:
    """The Pod as the API server of Kubernetes 1.34 shows it once it is scheduled."""
    found = copy.deepcopy(EXPECTED)
    found["metadata"] |= {
        "uid": "pod-uid",
        "resourceVersion": "1",
        "generation": 1,
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "managedFields": [{"manager": "gradekeeper"}],
    }
    found["metadata"]["labels"]["topology.kubernetes.io/zone"] = "a"
    found["metadata"]["annotations"]["cni/address"] = "10.0.0.9"
    found["spec"] |= {
        "nodeName": "node-1",
        "schedulerName": "default-scheduler",
        "serviceAccount": "default",
        "priority": 0,
        "preemptionPolicy": "PreemptLowerPriority",
        "tolerations": [
            {
                "key": f"node.kubernetes.io/{key}",
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": 300,
            }
            for key in ("not-ready", "unreachable")
        ],
    }
    for container in found["spec"]["containers"]:
        for kind in ("limits", "requests"):
            if container["resources"][kind]["memory"] == "1024Mi":
                container["resources"][kind]["memory"] = "1Gi"
    found["status"] = {"phase": "Running"}
    return found


def test_a_defaulted_pod_is_ours() -> None:
    assert pod_mismatch(EXPECTED, EXPECTED) is None
    assert pod_mismatch(EXPECTED, defaulted()) is None


def put(document: dict[str, Any], path: str, value: Any) -> None:
    *parents, last = path.split("/")
    node: Any = document
    for part in parents:
        node = node[int(part)] if isinstance(node, list) else node.setdefault(part, {})
    if isinstance(node, list):
        if last == "+":
            node.append(value)
        else:
            node[int(last)] = value
    else:
        node[last] = value


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("spec/initContainers", []),
        ("spec/ephemeralContainers", []),
        ("spec/hostNetwork", False),
        ("spec/imagePullSecrets", [{"name": "of-the-account"}]),
        ("spec/overhead", {"memory": "120Mi"}),
        ("spec/priorityClassName", "the-default"),
        ("spec/containers/0/imagePullPolicy", "Always"),
        ("spec/containers/0/resizePolicy", [{"resourceName": "cpu"}]),
        ("spec/containers/0/resources/limits/ephemeral-storage", "1Gi"),
    ],
)
def test_what_the_cluster_may_add(path: str, value: Any) -> None:
    actual = defaulted()
    put(actual, path, value)
    assert pod_mismatch(EXPECTED, actual) is None


@pytest.mark.parametrize(
    ("path", "value", "named"),
    [
        ("metadata/name", "other", "name"),
        ("metadata/namespace", "other", "namespace"),
        ("metadata/labels/gradekeeper.dev~attempt", "2", "gradekeeper.dev/attempt"),
        ("metadata/ownerReferences", [], "does not belong to this job alone"),
        ("metadata/ownerReferences/0/uid", "uid-2", "does not belong to this job alone"),
        ("metadata/ownerReferences/0/controller", False, "does not belong to this job alone"),
        ("metadata/ownerReferences/+", {"uid": "x"}, "does not belong to this job alone"),
        ("spec/containers/+", {"name": "sidecar"}, "spec.containers"),
        ("spec/initContainers", [{"name": "sidecar"}], "spec.initContainers was added"),
        ("spec/ephemeralContainers", [{"name": "debug"}], "spec.ephemeralContainers was added"),
        ("spec/volumes/+", {"name": "node", "hostPath": {"path": "/"}}, "spec.volumes"),
        ("spec/volumes/0/emptyDir/sizeLimit", "65Mi", "spec.volumes[lane].emptyDir.sizeLimit"),
        ("spec/volumes/0/emptyDir/medium", "", "spec.volumes[lane].emptyDir.medium"),
        ("spec/volumes/0/hostPath", {"path": "/"}, "spec.volumes[lane].hostPath was added"),
        ("spec/volumes/5/projected/sources/+", {"secret": {"name": "s"}}, "projected.sources"),
        (
            "spec/volumes/5/projected/sources/0/configMap/name",
            "other",
            "projected.sources[0].configMap.name",
        ),
        ("spec/containers/1/volumeMounts/+", {"name": "lane"}, "containers[lane].volumeMounts"),
        (
            "spec/containers/1/volumeMounts/0/readOnly",
            False,
            "spec.containers[lane].volumeMounts[lane].readOnly",
        ),
        (
            "spec/containers/1/volumeMounts/0/mountPropagation",
            "Bidirectional",
            "volumeMounts[lane].mountPropagation was added",
        ),
        ("spec/containers/0/env/+", {"name": "LD_PRELOAD"}, "spec.containers[referee].env"),
        ("spec/containers/0/env/0/value", "{}", "spec.containers[referee].env[GRADEKEEPER_JOB]"),
        ("spec/containers/0/envFrom", [{"secretRef": {}}], "envFrom was added"),
        ("spec/containers/0/image", "evil", "spec.containers[referee].image is 'evil'"),
        ("spec/containers/0/command", ["sh"], "spec.containers[referee].command was added"),
        ("spec/containers/1/command/0", "/bin/sh", "spec.containers[lane].command[0]"),
        ("spec/containers/1/args", ["-x"], "spec.containers[lane].args was added"),
        ("spec/containers/1/lifecycle", {"postStart": {}}, "lifecycle was added"),
        ("spec/containers/1/restartPolicy", "Always", "restartPolicy was added"),
        ("spec/containers/1/securityContext/runAsUser", 0, "securityContext.runAsUser is 0"),
        ("spec/containers/1/securityContext/privileged", True, "privileged was added"),
        (
            "spec/containers/1/securityContext/capabilities/add",
            ["SYS_ADMIN"],
            "capabilities.add was added",
        ),
        (
            "spec/containers/1/securityContext/readOnlyRootFilesystem",
            False,
            "readOnlyRootFilesystem is False",
        ),
        ("spec/containers/1/resources/limits/memory", "2Gi", "resources.limits.memory is '2Gi'"),
        ("spec/containers/1/resources/requests/cpu", "100m", "resources.requests.cpu"),
        ("spec/containers/1/resources/limits/nvidia.com~gpu", "1", "was added"),
        ("spec/containers/1/terminationMessagePath", "/tmp/x", "terminationMessagePath"),
        ("spec/containers/1/imagePullPolicy", "Never", "imagePullPolicy is 'Never'"),
        ("spec/securityContext/fsGroup", 0, "spec.securityContext.fsGroup was added: 0"),
        ("spec/securityContext/runAsUser", 0, "spec.securityContext.runAsUser was added: 0"),
        ("spec/securityContext/supplementalGroups", [0], "supplementalGroups was added"),
        ("spec/securityContext/seccompProfile/type", "Unconfined", "seccompProfile.type"),
        ("spec/hostUsers", True, "spec.hostUsers is True"),
        ("spec/hostNetwork", True, "spec.hostNetwork was added"),
        ("spec/hostPID", True, "spec.hostPID was added"),
        ("spec/hostIPC", True, "spec.hostIPC was added"),
        ("spec/shareProcessNamespace", True, "spec.shareProcessNamespace was added"),
        ("spec/hostAliases", [{"ip": "10.0.0.1"}], "spec.hostAliases was added"),
        ("spec/serviceAccountName", "admin", "spec.serviceAccountName is 'admin'"),
        ("spec/automountServiceAccountToken", True, "automountServiceAccountToken is True"),
        ("spec/runtimeClassName", "weak", "spec.runtimeClassName was added"),
        ("spec/schedulerName", "mine", "spec.schedulerName was added"),
        ("spec/dnsConfig/nameservers/+", "10.0.0.1", "spec.dnsConfig.nameservers"),
        ("spec/dnsPolicy", "ClusterFirst", "spec.dnsPolicy"),
        ("spec/terminationGracePeriodSeconds", 30, "terminationGracePeriodSeconds is 30"),
        ("spec/activeDeadlineSeconds", 5, "spec.activeDeadlineSeconds was added"),
        ("spec/nodeSelector", {"a": "b"}, "spec.nodeSelector was added"),
        ("spec/tolerations/+", {"operator": "Exists"}, "spec.tolerations was added"),
        ("spec/somethingNew", {"a": 1}, "spec.somethingNew was added"),
    ],
)
def test_what_nobody_may_change(path: str, value: Any, named: str) -> None:
    actual = defaulted()
    put_path = path
    if "~" in path:  # a slash inside of a key
        *parents, last = path.split("/")
        node: Any = actual
        for part in parents:
            node = node[int(part)] if isinstance(node, list) else node[part]
        node[last.replace("~", "/")] = value
    else:
        put(actual, put_path, value)
    found = pod_mismatch(EXPECTED, actual)
    assert found is not None
    assert named in found
    assert found.endswith(".")


def leaves(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(node, dict):
        for key, value in node.items():
            yield (*path, key)
            yield from leaves(value, (*path, key))
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield (*path, index)
            yield from leaves(value, (*path, index))


@pytest.mark.parametrize("path", list(leaves(EXPECTED["spec"])), ids=str)
def test_every_field_that_we_set_must_be_there(path: tuple[Any, ...]) -> None:
    actual = defaulted()
    node: Any = actual["spec"]
    for part in path[:-1]:
        node = node[part]
    del node[path[-1]]
    assert pod_mismatch(EXPECTED, actual) is not None


SCALARS = [path for path in leaves(EXPECTED["spec"]) if path[-1] != "imagePullPolicy"]


@pytest.mark.parametrize("path", SCALARS, ids=str)
def test_every_field_that_we_set_must_be_unchanged(path: tuple[Any, ...]) -> None:
    actual = defaulted()
    node: Any = actual["spec"]
    for part in path[:-1]:
        node = node[part]
    value = node[path[-1]]
    if isinstance(value, dict | list):
        node[path[-1]] = "changed"
    elif isinstance(value, bool):
        node[path[-1]] = not value
    elif isinstance(value, int):
        node[path[-1]] = value + 1
    else:
        node[path[-1]] = "1" + value
    assert pod_mismatch(EXPECTED, actual) is not None


def test_tolerations_of_ours_must_be_there() -> None:
    settings = PodSettings(tolerations=(Toleration(key="x", operator="Exists"),))
    expected = pod(settings=settings)
    actual = copy.deepcopy(expected)
    node = [{"key": "node.kubernetes.io/not-ready", "operator": "Exists"}]
    actual["spec"]["tolerations"] += node
    assert pod_mismatch(expected, actual) is None
    actual["spec"]["tolerations"] = node
    assert "spec.tolerations" in str(pod_mismatch(expected, actual))
    actual["spec"]["tolerations"] = [*expected["spec"]["tolerations"], {"operator": "Exists"}]
    assert "spec.tolerations" in str(pod_mismatch(expected, actual))


def test_another_attempt_or_job_is_another_pod() -> None:
    assert pod_mismatch(EXPECTED, pod(attempt=2)) is not None
    assert pod_mismatch(EXPECTED, pod(job_uid="uid-2")) is not None
    assert pod_mismatch(EXPECTED, pod(spec=spec(nonce="other"))) is not None


@pytest.mark.parametrize("actual", [{}, {"metadata": {}}, {"metadata": [], "spec": {}}])
def test_something_that_is_no_pod(actual: dict[str, Any]) -> None:
    assert pod_mismatch(EXPECTED, actual) is not None
