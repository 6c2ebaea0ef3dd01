"""The Pod, by exact dict; and the arithmetic of a suite's limits."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradekeeper.api.spec import SuiteLimits, SuiteResources, Toleration
from gradekeeper.pods.build import PodSettings, resource_problems
from gradekeeper.verdicts.statement import SuiteIdentity
from unit.pods.samples import SETTINGS, SUITE, digest, pod, spec

JOB = (
    '{"attempt":1,"laneUid":10003,"nonce":"nonce-1","parameters":{},'
    '"probe":{"address":"10.0.0.5","deadlineSeconds":20,"port":8444},'
    '"schema":"gradekeeper.job/v1",'
    f'"submission":{{"digest":"{digest("1")}","parts":["part-00","part-01"]}},'
    f'"suite":"{digest("a")}","task":"","userNamespaces":"required"}}'
)


def security_context(uid: int) -> dict[str, Any]:
    return {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
        "runAsGroup": uid,
        "runAsNonRoot": True,
        "runAsUser": uid,
    }


def resources(cpu: str, memory: str) -> dict[str, Any]:
    return {
        "limits": {"cpu": cpu, "memory": memory},
        "requests": {"cpu": cpu, "memory": memory},
    }


def memory_volume(name: str, size: str) -> dict[str, Any]:
    return {"name": name, "emptyDir": {"medium": "Memory", "sizeLimit": size}}


def test_the_whole_pod() -> None:
    assert pod() == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "job-4a49acf8-1",
            "namespace": "grading",
            "labels": {
                "app.kubernetes.io/managed-by": "gradekeeper",
                "gradekeeper.dev/job": "job",
                "gradekeeper.dev/job-uid": "uid-1",
                "gradekeeper.dev/attempt": "1",
                "gradekeeper.dev/role": "grading",
            },
            "annotations": {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"},
            "ownerReferences": [
                {
                    "apiVersion": "gradekeeper.dev/v1alpha1",
                    "kind": "GradingJob",
                    "name": "job",
                    "uid": "uid-1",
                    "controller": True,
                    "blockOwnerDeletion": False,
                }
            ],
        },
        "spec": {
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 1,
            "serviceAccountName": "default",
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "hostname": "grading",
            "hostUsers": False,
            "dnsPolicy": "None",
            "dnsConfig": {"nameservers": ["127.0.0.1"]},
            "securityContext": {
                "runAsNonRoot": True,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [
                {
                    "name": "referee",
                    "image": f"docker.io/gradekeeper/billing@{digest('b')}",
                    "imagePullPolicy": "IfNotPresent",
                    "env": [{"name": "GRADEKEEPER_JOB", "value": JOB}],
                    "resources": resources("200m", "192Mi"),
                    "securityContext": security_context(10002),
                    "terminationMessagePath": "/dev/termination-log",
                    "terminationMessagePolicy": "File",
                    "volumeMounts": [
                        {"name": "lane", "mountPath": "/lane"},
                        {"name": "submission", "mountPath": "/submission", "readOnly": True},
                    ],
                },
                {
                    "name": "lane",
                    "image": f"docker.io/gradekeeper/java17@{digest('c')}",
                    "imagePullPolicy": "IfNotPresent",
                    "command": ["/usr/local/bin/laned", "/lane/laned.sock"],
                    "resources": resources("1500m", "1024Mi"),
                    "securityContext": security_context(10003),
                    "terminationMessagePath": "/var/lane/termination",
                    "terminationMessagePolicy": "File",
                    "volumeMounts": [
                        {"name": "lane", "mountPath": "/lane", "readOnly": True},
                        {"name": "scratch", "mountPath": "/scratch"},
                        {"name": "shm", "mountPath": "/dev/shm", "readOnly": True},
                        {"name": "mqueue", "mountPath": "/dev/mqueue", "readOnly": True},
                        {"name": "pts", "mountPath": "/dev/pts", "readOnly": True},
                    ],
                },
            ],
            "volumes": [
                memory_volume("lane", "64Mi"),
                memory_volume("scratch", "16Mi"),
                memory_volume("shm", "1Mi"),
                memory_volume("mqueue", "1Mi"),
                memory_volume("pts", "1Mi"),
                {
                    "name": "submission",
                    "projected": {
                        "defaultMode": 0o444,
                        "sources": [
                            {
                                "configMap": {
                                    "name": "job-part-00",
                                    "items": [{"key": "part", "path": "part-00"}],
                                }
                            },
                            {
                                "configMap": {
                                    "name": "job-part-01",
                                    "items": [{"key": "part", "path": "part-01"}],
                                }
                            },
                        ],
                    },
                },
            ],
        },
    }


def job_document(manifest: dict[str, Any]) -> dict[str, Any]:
    """What the referee reads, after the kubelet has expanded the variable."""
    value: str = manifest["spec"]["containers"][0]["env"][0]["value"]
    return json.loads(value.replace("$$", "$"))


def test_a_builtin_submission_needs_no_volume() -> None:
    found = pod(spec=spec(submission={"builtin": "gold"}))
    assert job_document(found)["submission"] == {"builtin": "gold"}
    volumes = [one["name"] for one in found["spec"]["volumes"]]
    assert volumes == ["lane", "scratch", "shm", "mqueue", "pts"]
    assert [one["name"] for one in found["spec"]["containers"][0]["volumeMounts"]] == ["lane"]


def test_nothing_is_graded_that_was_not_sent() -> None:
    claim = {"untransportable": {"bytes": 1, "files": 1, "reason": "SubmissionTooLarge"}}
    with pytest.raises(ValueError, match="without a Pod"):
        pod(spec=spec(submission=claim))


def test_what_the_installation_adds() -> None:
    settings = PodSettings(
        service_account="graders",
        image_pull_policy="Never",
        image_pull_secrets=("pull",),
        cpu_request_percent=50,
        runtime_class_name="kata",
        priority_class_name="low",
        node_selector={"disk": "nvme", "zone": "a"},
        tolerations=(Toleration(key="x", operator="Exists"),),
    )
    suite = dataclasses.replace(
        SUITE,
        node_selector={"disk": "ssd"},
        tolerations=(Toleration(key="y", value="1", effect="NoSchedule"),),
    )
    found = pod(settings=settings, suite=suite)["spec"]
    assert found["serviceAccountName"] == "graders"
    assert found["imagePullSecrets"] == [{"name": "pull"}]
    assert found["runtimeClassName"] == "kata"
    assert found["priorityClassName"] == "low"
    assert found["nodeSelector"] == {"disk": "nvme", "zone": "a"}
    assert found["tolerations"] == [
        {"key": "y", "operator": "Equal", "value": "1", "effect": "NoSchedule"},
        {"key": "x", "operator": "Exists"},
    ]
    assert [one["imagePullPolicy"] for one in found["containers"]] == ["Never", "Never"]
    assert [one["resources"] for one in found["containers"]] == [
        {
            "limits": {"cpu": "200m", "memory": "192Mi"},
            "requests": {"cpu": "100m", "memory": "192Mi"},
        },
        {
            "limits": {"cpu": "1500m", "memory": "1024Mi"},
            "requests": {"cpu": "750m", "memory": "1024Mi"},
        },
    ]


def test_the_suite_s_runtime_class_comes_first() -> None:
    suite = dataclasses.replace(SUITE, runtime_class_name="gvisor")
    settings = PodSettings(runtime_class_name="kata")
    assert pod(suite=suite, settings=settings)["spec"]["runtimeClassName"] == "gvisor"


@pytest.mark.parametrize("percent", [0, 101])
def test_cpu_requests_are_a_share(percent: int) -> None:
    with pytest.raises(ValueError, match="between 1 and 100"):
        PodSettings(cpu_request_percent=percent)


def uids(manifest: dict[str, Any]) -> tuple[int, int]:
    contexts = [one["securityContext"] for one in manifest["spec"]["containers"]]
    assert all(one["runAsUser"] == one["runAsGroup"] for one in contexts)
    return contexts[0]["runAsUser"], contexts[1]["runAsUser"]


def test_preferred_namespaces_are_used_where_they_are() -> None:
    found = pod(settings=PodSettings(user_namespaces="preferred"))
    assert found["spec"]["hostUsers"] is False
    assert uids(found) == (10002, 10003)
    assert job_document(found)["userNamespaces"] == "preferred"


def test_the_fallback_gives_every_pod_uids_of_its_own() -> None:
    settings = PodSettings(user_namespaces="preferred", user_namespaces_available=False)
    found = [
        pod(settings=settings, job_uid=uid, attempt=attempt)
        for uid in ("uid-1", "uid-2")
        for attempt in (1, 2)
    ]
    assert all("hostUsers" not in one["spec"] for one in found)
    assert [job_document(one)["laneUid"] for one in found] == [uids(one)[1] for one in found]
    assert len({uid for one in found for uid in uids(one)}) == 8
    assert pod(settings=settings) == pod(settings=settings)


@given(st.text(max_size=40), st.integers(1, 11))
def test_fallback_uids_are_pairs_of_ordinary_uids(job_uid: str, attempt: int) -> None:
    settings = PodSettings(user_namespaces="preferred", user_namespaces_available=False)
    referee, lane = uids(pod(settings=settings, job_uid=job_uid, attempt=attempt))
    assert lane == referee + 1
    assert 100_000 <= referee < lane < 2**31
    assert referee % 2 == 0


def test_required_namespaces_know_no_fallback() -> None:
    found = pod(settings=PodSettings(user_namespaces_available=False))
    assert found["spec"]["hostUsers"] is False
    assert uids(found) == (10002, 10003)


def expand(value: str) -> str:
    """The kubelet's expansion of $(NAME) with no such names: $$ becomes $, the rest stays."""
    found, position = "", 0
    while position < len(value):
        if value.startswith("$$", position):
            found, position = found + "$", position + 2
        else:
            found, position = found + value[position], position + 1
    return found


@given(st.dictionaries(st.text(max_size=8), st.text('$()aé"\\', max_size=8), max_size=4))
def test_no_parameter_is_expanded_by_the_kubelet(parameters: dict[str, str]) -> None:
    found = pod(spec=spec(parameters=parameters))
    value = found["spec"]["containers"][0]["env"][0]["value"]
    assert json.loads(expand(value))["parameters"] == parameters
    assert "$(" not in value.replace("$$", "")


def test_identity() -> None:
    assert SUITE.identity() == SuiteIdentity(
        name="billing",
        version="1.0.0",
        digest=digest("a"),
        image=digest("b"),
        lane_image=digest("c"),
        index=digest("d"),
        author="e" * 64,
    )


def arithmetic(
    lane: str = "1Gi", referee: str = "192Mi", build_heap_mib: int = 0, **limits: int
) -> list[str]:
    return resource_problems(
        SuiteLimits.model_validate(limits),
        SuiteResources.model_validate(
            {
                "referee": {"cpu": "200m", "memory": referee},
                "lane": {"cpu": "1500m", "memory": lane},
            }
        ),
        build_heap_mib=build_heap_mib,
    )


def test_the_billing_suite_fits() -> None:
    limits = {"parallel": 5, "heapMiB": 128, "scratchMiB": 40}
    assert arithmetic("1280Mi", "320Mi", build_heap_mib=512, **limits) == []


@pytest.mark.parametrize(("lane", "problems"), [("608Mi", 0), ("607Mi", 1)])
def test_what_runs_side_by_side_must_fit_the_lane(lane: str, problems: int) -> None:
    # 2 x (192 + 96) + 16 of scratch + 16 for the lane itself
    found = arithmetic(lane=lane)
    assert len(found) == problems
    assert all("need 608 MiB" in one and "resources.lane.memory is 607 MiB" in one for one in found)


@pytest.mark.parametrize(("heap", "problems"), [(896, 0), (897, 1)])
def test_the_compiler_must_fit_the_lane(heap: int, problems: int) -> None:
    found = arithmetic(build_heap_mib=heap)
    assert len(found) == problems
    assert all("compiling with 897 MiB of heap needs 1025 MiB" in one for one in found)


@pytest.mark.parametrize(
    ("parallel", "fits", "problems"),
    [(1, 153, 0), (1, 152, 1), (2, 192, 0), (2, 191, 1), (5, 309, 0), (16, 738, 0), (16, 737, 1)],
)
def test_the_lane_s_volume_and_the_readers_of_its_runs_must_fit_the_referee(
    parallel: int, fits: int, problems: int
) -> None:
    found = arithmetic(referee=f"{fits}Mi", lane="5Gi", parallel=parallel)
    assert len(found) == problems
    assert all(f"{parallel} parallel runs need {fits + 1} MiB" in one for one in found)


def test_limits_that_contradict_each_other() -> None:
    assert arithmetic(fileMiB=17, testTimeoutSeconds=901) == [
        "limits.fileMiB is 17, more than the 16 MiB of scratch that files are written to.",
        "limits.testTimeoutSeconds is 901, more than limits.suiteTimeoutSeconds, which is 900.",
    ]


def test_default_settings_are_the_strict_ones() -> None:
    assert SETTINGS.user_namespaces == "required"
    assert SETTINGS.host_users_false
