"""The Pod of a box, field by field."""

import pytest

from gradekeeper_verifiers.config import KubernetesConfig
from gradekeeper_verifiers.pod import Owner, build_pod, label_value, owner_reference

MEMORY_AND_DISK = {"memory": "4096Mi", "ephemeral-storage": "5120Mi"}
IDLE = 'trap "" HUP INT QUIT TERM; while :; do sleep 3600 & wait; done'
OWNER = Owner(host="trainer-0", process="17-4711")


def _build(**fields: object) -> dict[str, object]:
    config = KubernetesConfig.model_validate({"workdir": "/workspace/app", **fields})
    return build_pod(config, name="box-1", run="run 7", rollout="r-1", owner=OWNER)


def test_a_box_is_restricted_and_ends_by_itself() -> None:
    assert _build(image="local/java@sha256:1", cpu=2, memory=4, disk=5, cpu_request=0.5) == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "box-1",
            "labels": {
                "app.kubernetes.io/managed-by": "gradekeeper-verifiers",
                "gradekeeper.dev/run": "run-7",
                "gradekeeper.dev/box": "box-1",
            },
            "annotations": {
                "gradekeeper.dev/rollout": "r-1",
                "gradekeeper.dev/owner-host": "trainer-0",
                "gradekeeper.dev/owner-process": "17-4711",
                "cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
            },
        },
        "spec": {
            "restartPolicy": "Never",
            "activeDeadlineSeconds": 14_400,
            "terminationGracePeriodSeconds": 1,
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "hostUsers": False,
            "hostname": "box",
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": 10001,
                "runAsGroup": 10001,
                "fsGroup": 10001,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [
                {
                    "name": "box",
                    "image": "local/java@sha256:1",
                    "imagePullPolicy": "IfNotPresent",
                    "command": ["sh", "-c", IDLE],
                    "env": [{"name": "HOME", "value": "/tmp"}],
                    "resources": {
                        "limits": {"cpu": "2000m", **MEMORY_AND_DISK},
                        "requests": {"cpu": "500m", **MEMORY_AND_DISK},
                    },
                    "securityContext": {
                        "allowPrivilegeEscalation": False,
                        "privileged": False,
                        "readOnlyRootFilesystem": True,
                        "capabilities": {"drop": ["ALL"]},
                    },
                    "volumeMounts": [
                        {"name": "tmp", "mountPath": "/tmp"},
                        {"name": "workdir", "mountPath": "/workspace/app"},
                        {"name": "pts", "mountPath": "/dev/pts", "readOnly": True},
                    ],
                }
            ],
            "volumes": [
                {"name": "tmp", "emptyDir": {}},
                {"name": "workdir", "emptyDir": {}},
                {"name": "pts", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}},
            ],
        },
    }  # fmt: skip


def test_where_boxes_go_is_the_installations_to_say() -> None:
    pod = _build(
        node_selector={"pool": "rollouts"},
        tolerations=[{"key": "rollouts", "operator": "Exists"}],
        runtime_class="gvisor",
        image_pull_secrets=["registry"],
        user_namespaces=False,
        max_lifetime=60,
    )

    spec = pod["spec"]
    assert isinstance(spec, dict)
    assert spec["nodeSelector"] == {"pool": "rollouts"}
    assert spec["tolerations"] == [{"key": "rollouts", "operator": "Exists"}]
    assert spec["runtimeClassName"] == "gvisor"
    assert spec["imagePullSecrets"] == [{"name": "registry"}]
    assert spec["hostUsers"] is True
    assert spec["activeDeadlineSeconds"] == 60


def test_an_image_with_its_own_workdir_is_used_as_it_is() -> None:
    spec = _build(writable_root=True)["spec"]
    assert isinstance(spec, dict)
    container = spec["containers"][0]
    assert [mount["mountPath"] for mount in container["volumeMounts"]] == ["/tmp", "/dev/pts"]
    assert container["securityContext"]["readOnlyRootFilesystem"] is False
    assert [volume["name"] for volume in spec["volumes"]] == ["tmp", "pts"]


def test_terminals_are_there_for_who_asks() -> None:
    spec = _build(terminals=True)["spec"]
    assert isinstance(spec, dict)
    assert [volume["name"] for volume in spec["volumes"]] == ["tmp", "workdir"]
    assert len(spec["containers"][0]["volumeMounts"]) == 2


def test_no_more_is_reserved_than_may_be_used() -> None:
    spec = _build(cpu=0.25, cpu_request=2)["spec"]
    assert isinstance(spec, dict)
    assert spec["containers"][0]["resources"]["requests"]["cpu"] == "250m"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", "none"), ("--", "none"), ("a/b c", "a-b-c"), ("-a-", "a"), ("ü1", "1"),
        ("x" * 70, "x" * 63), ("x" * 62 + "..", "x" * 62),
    ],
)  # fmt: skip
def test_any_run_id_makes_a_label(text: str, value: str) -> None:
    assert label_value(text) == value


def test_what_belongs_to_a_box_goes_with_it() -> None:
    assert owner_reference({"metadata": {"name": "box-1", "uid": "u-1"}}) == {
        "apiVersion": "v1",
        "kind": "Pod",
        "name": "box-1",
        "uid": "u-1",
        "controller": False,
        "blockOwnerDeletion": False,
    }
