"""The chart: what it renders, what it refuses, and that it asks for no more than it needs."""

from __future__ import annotations

import dataclasses
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from gradekeeper.api.schema import dump
from gradekeeper.control.settings import Settings, pod_settings

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "charts" / "gradekeeper"
RUNTIME_README = ROOT / "env" / "gradekeeper_verifiers" / "README.md"
PEM = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA\n-----END PUBLIC KEY-----\n"
OWN = "gradekeeper-system"
LONG = "a-release-name-that-is-as-long-as-helm-lets-it-be-53c"

pytestmark = pytest.mark.helm

Documents = list[dict[str, Any]]
Render = Callable[..., Documents]
Template = Callable[..., subprocess.CompletedProcess[str]]

#: Every right that the chart may give anybody, as (holder, namespaced object or resource, verbs).
#: A new right in the chart is a decision: it has to be written down here too.
ALLOWED = {
    ("Role gradekeeper-system/gradekeeper", "secrets[gradekeeper-signing-key]"): "get patch",
    ("Role gradekeeper-system/gradekeeper", "configmaps[gradekeeper-verdict-key]"): "get patch",
    ("Role gradekeeper-system/gradekeeper-verdict-key", "configmaps[gradekeeper-verdict-key]"): (
        "get"
    ),
    ("Role grading/gradekeeper", "gradingjobs"): "get list watch create delete",
    ("Role grading/gradekeeper", "gradingsuites"): "get list watch",
    ("Role grading/gradekeeper", "gradingjobs/status"): "get patch update",
    ("Role grading/gradekeeper", "gradingsuites/status"): "get patch update",
    ("Role grading/gradekeeper", "pods"): "get list watch create delete",
    ("Role grading/gradekeeper", "pods/log"): "get",
    ("Role grading/gradekeeper", "secrets"): "create",
    ("Role grading/gradekeeper", "configmaps"): "get list",
    ("Role grading/gradekeeper", "events"): "create patch",
    ("ClusterRole gradekeeper-submitter", "gradingjobs"): (
        "get list watch create patch update delete"
    ),
    ("ClusterRole gradekeeper-submitter", "gradingsuites"): "get list watch",
    ("ClusterRole gradekeeper-submitter", "configmaps"): "get create patch",
    ("ClusterRole gradekeeper-viewer", "gradingjobs"): "get list watch",
    ("ClusterRole gradekeeper-viewer", "gradingsuites"): "get list watch",
    ("ClusterRole gradekeeper-maintainer", "gradingjobs"): "get list watch",
    ("ClusterRole gradekeeper-maintainer", "gradingsuites"): "get list watch",
    ("ClusterRole gradekeeper-maintainer", "pods"): "get list watch",
    ("ClusterRole gradekeeper-maintainer", "events"): "get list watch",
    ("ClusterRole gradekeeper-maintainer", "pods/log"): "get",
    ("ClusterRole gradekeeper-maintainer", "secrets"): "get",
    ("ClusterRole gradekeeper-author", "gradingsuites"): (
        "get list watch create patch update delete"
    ),
    ("ClusterRole gradekeeper-author", "configmaps"): "get create patch delete",
}

EVERYTHING: dict[str, Any] = {
    "image": {"repository": "example/operator", "digest": "sha256:" + "0" * 64},
    "imagePullSecrets": [{"name": "pull"}],
    "gradingNamespaces": [{"name": "grading", "create": True}, {"name": "eval", "create": False}],
    "grading": {
        "userNamespaces": "preferred",
        "maxPodsInFlight": 7,
        "imagePullPolicy": "Never",
        "runtimeClassName": "gvisor",
        "priorityClassName": "grading",
        "nodeSelector": {"pool": "grading"},
        "tolerations": [{"key": "pool", "operator": "Equal", "value": "grading"}],
        "detailLogs": {"keep": "all", "maxBytes": 2048},
    },
    "resourceQuota": {"enabled": True},
    "authorKeys": {"alice": PEM, "bob.ci": PEM},
    "submitters": [{"kind": "ServiceAccount", "name": "trainer", "namespace": "train"}],
    "rollouts": {
        "enabled": True,
        "namespace": "boxes",
        "trainers": [
            {"kind": "ServiceAccount", "name": "trainer", "namespace": "train"},
            {"kind": "User", "name": "researcher"},
        ],
        "quota": {"pods": 9},
        "limits": [{"type": "Pod", "max": {"cpu": "4"}}],
    },
    "metrics": {
        "service": {"enabled": True},
        "serviceMonitor": {"enabled": True, "labels": {"prometheus": "main"}},
    },
    "serviceAccount": {"annotations": {"a": "b"}},
    "extraEnv": [{"name": "X", "value": "1"}],
    "nodeSelector": {"disk": "ssd"},
    "tolerations": [{"key": "k", "operator": "Exists"}],
    "affinity": {"nodeAffinity": {}},
    "priorityClassName": "high",
    "podAnnotations": {"p": "q"},
    "podLabels": {"l": "m"},
    "networkPolicy": {"metricsFrom": [{"podSelector": {}}]},
}
#: Maps whose keys are the user's choice among many.
FREE = {"resources"}
MONITORING = ("--api-versions", "monitoring.coreos.com/v1")


def of_kind(documents: Documents, kind: str) -> Documents:
    return [document for document in documents if document["kind"] == kind]


def the(documents: Documents, kind: str, name: str | None = None) -> dict[str, Any]:
    found = [d for d in of_kind(documents, kind) if name in (None, d["metadata"]["name"])]
    assert len(found) == 1, [d["metadata"]["name"] for d in found]
    return found[0]


def environment(documents: Documents) -> dict[str, str | None]:
    containers = the(documents, "Deployment")["spec"]["template"]["spec"]["containers"]
    return {entry["name"]: entry.get("value") for entry in containers[0]["env"]}


def key_arguments(documents: Documents) -> list[str]:
    (container,) = the(documents, "Deployment")["spec"]["template"]["spec"]["initContainers"]
    return list(container["args"])


def rights(documents: Documents) -> dict[tuple[str, str], str]:
    """(holder, resource) → verbs, of every Role and ClusterRole."""
    found: dict[tuple[str, str], str] = {}
    for role in of_kind(documents, "Role") + of_kind(documents, "ClusterRole"):
        space = role["metadata"].get("namespace")
        holder = f"{role['kind']} {space + '/' if space else ''}{role['metadata']['name']}"
        for rule in role["rules"]:
            for resource in rule["resources"]:
                for name in rule.get("resourceNames", [None]):
                    key = (holder, f"{resource}[{name}]" if name else resource)
                    assert key not in found, f"two rules for {key}"
                    found[key] = " ".join(rule["verbs"])
    return found


def test_default_rendering_has_these_objects_and_no_others(render: Render) -> None:
    names = {(d["kind"], d["metadata"].get("namespace"), d["metadata"]["name"]) for d in render()}
    own = "gradekeeper-system"
    assert names == {
        ("Namespace", None, "grading"),
        ("ServiceAccount", own, "gradekeeper"),
        ("ServiceAccount", "grading", "gradekeeper-grading"),
        ("Secret", own, "gradekeeper-signing-key"),
        ("ConfigMap", own, "gradekeeper-verdict-key"),
        ("ConfigMap", own, "gradekeeper-authors"),
        ("Role", own, "gradekeeper"),
        ("RoleBinding", own, "gradekeeper"),
        ("Role", own, "gradekeeper-verdict-key"),
        ("RoleBinding", own, "gradekeeper-verdict-key"),
        ("Role", "grading", "gradekeeper"),
        ("RoleBinding", "grading", "gradekeeper"),
        ("ClusterRole", None, "gradekeeper-submitter"),
        ("ClusterRole", None, "gradekeeper-viewer"),
        ("ClusterRole", None, "gradekeeper-maintainer"),
        ("ClusterRole", None, "gradekeeper-author"),
        ("NetworkPolicy", "grading", "gradekeeper-deny-all"),
        ("NetworkPolicy", own, "gradekeeper"),
        ("ValidatingAdmissionPolicy", None, "gradekeeper-pods"),
        ("ValidatingAdmissionPolicyBinding", None, "gradekeeper-pods"),
        ("Deployment", own, "gradekeeper"),
    }


def test_rights_are_the_written_ones(render: Render) -> None:
    assert rights(render()) == ALLOWED


def test_nobody_may_read_all_secrets_or_enter_pods(render: Render) -> None:
    for (holder, resource), verbs in rights(render(EVERYTHING, arguments=MONITORING)).items():
        entering = {"pods/exec", "pods/attach", "pods/portforward", "*"}
        if holder == "Role boxes/gradekeeper-rollouts":
            # No grading Pod is in this namespace: the chart refuses one that is.
            entering.remove("pods/exec")
        assert resource.partition("[")[0] not in entering, holder
        assert "*" not in verbs.split()
        if resource.startswith("secrets"):
            # The operator puts detail logs away and cannot read them; maintainers read them.
            others = {"Role grading/gradekeeper": "create", "Role eval/gradekeeper": "create"}
            others["ClusterRole gradekeeper-maintainer"] = "get"
            assert "[" in resource or others.get(holder) == verbs, holder
            assert not {"list", "watch", "delete"} & set(verbs.split())


def test_detail_logs_are_for_maintainers_alone(render: Render) -> None:
    documents = render(EVERYTHING, arguments=MONITORING)
    readers = {
        holder
        for (holder, resource), verbs in rights(documents).items()
        if resource in ("secrets", "pods/log") and "get" in verbs.split()
    }
    assert readers == {
        "Role grading/gradekeeper",
        "Role eval/gradekeeper",
        "ClusterRole gradekeeper-maintainer",
    }
    labels = the(documents, "ClusterRole", "gradekeeper-maintainer")["metadata"]["labels"]
    assert not [label for label in labels if "aggregate" in label]
    bound = {d["roleRef"]["name"] for d in of_kind(documents, "RoleBinding")}
    assert "gradekeeper-maintainer" not in bound


def test_of_our_roles_only_reading_is_in_the_clusters_own(render: Render) -> None:
    # `edit` and `admin` read Secrets, detail logs too: whoever has them must not submit as well.
    aggregated = {
        role["metadata"]["name"]: label
        for role in of_kind(render(EVERYTHING, arguments=MONITORING), "ClusterRole")
        for label in role["metadata"]["labels"]
        if "aggregate" in label
    }
    view = "rbac.authorization.k8s.io/aggregate-to-view"
    assert aggregated == {"gradekeeper-viewer": view}
    viewers = {key[1]: v for key, v in rights(render()).items() if key[0].endswith("-viewer")}
    assert viewers == dict.fromkeys(("gradingjobs", "gradingsuites"), "get list watch")
    off = render({"rbac": {"aggregateToView": False}})
    assert not any(
        "aggregate" in label
        for role in of_kind(off, "ClusterRole")
        for label in role["metadata"]["labels"]
    )


def test_an_installation_that_keeps_no_logs_may_still_keep_one_of_its_own_fault(
    render: Render,
) -> None:
    documents = render({"grading": {"detailLogs": {"keep": "none"}}})
    mine = {k[1]: v for k, v in rights(documents).items() if k[0] == "Role grading/gradekeeper"}
    assert (mine["pods/log"], mine["secrets"]) == ("get", "create")


def test_a_submitter_has_no_right_on_pods_secrets_and_suites(render: Render) -> None:
    mine = {k[1]: v for k, v in rights(render()).items() if k[0].endswith("-submitter")}
    assert set(mine) == {"gradingjobs", "gradingsuites", "configmaps"}
    assert not {"create", "patch", "update", "delete"} & set(mine["gradingsuites"].split())


def test_an_existing_signing_key_is_only_read(render: Render) -> None:
    documents = render({"signingKey": {"existingSecret": "mine"}})
    assert of_kind(documents, "Secret") == []
    assert rights(documents)["Role gradekeeper-system/gradekeeper", "secrets[mine]"] == "get"
    arguments = key_arguments(documents)
    assert "--secret=gradekeeper-system/mine" in arguments
    assert "--brought" in arguments


def test_the_signing_key_is_made_in_the_cluster_and_kept(render: Render) -> None:
    secret = the(render(), "Secret")
    assert "data" not in secret
    assert "stringData" not in secret
    assert secret["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep"
    assert "--brought" not in key_arguments(render())


def test_operator_pod_meets_the_restricted_standard(render: Render) -> None:
    for values in ({}, EVERYTHING):
        deployment = the(render(values, arguments=MONITORING), "Deployment")
        pod = deployment["spec"]["template"]["spec"]
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert not {"hostNetwork", "hostPID", "hostIPC", "hostUsers"} & set(pod)
        for container in pod["containers"] + pod.get("initContainers", []):
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }
            assert all("hostPort" not in port for port in container.get("ports", []))
        assert {frozenset(v) - {"name"} for v in pod["volumes"]} <= {
            frozenset({"configMap"}),
            frozenset({"emptyDir"}),
            frozenset({"secret"}),
        }


def test_one_operator_at_a_time_with_a_heartbeat(render: Render) -> None:
    spec = the(render(), "Deployment")["spec"]
    assert spec["replicas"] == 1
    assert spec["strategy"] == {"type": "Recreate"}
    container = spec["template"]["spec"]["containers"][0]
    assert container["livenessProbe"]["httpGet"] == {"path": "/healthz", "port": "http"}
    assert container["resources"]["requests"]["cpu"] == "100m"


def test_grading_namespaces_enforce_the_restricted_standard_and_are_kept(render: Render) -> None:
    documents = render(EVERYTHING, arguments=MONITORING)
    assert {d["metadata"]["name"] for d in of_kind(documents, "Namespace")} == {"grading", "boxes"}
    space = the(documents, "Namespace", "grading")
    assert space["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
    assert space["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep"


def test_every_grading_namespace_gets_its_role_and_its_policy(render: Render) -> None:
    documents = render(EVERYTHING, arguments=MONITORING)
    for kind in ("Role", "RoleBinding", "NetworkPolicy", "ResourceQuota"):
        spaces = {d["metadata"]["namespace"] for d in of_kind(documents, kind)}
        assert spaces - {"boxes", OWN} == {"grading", "eval"}, kind
    assert environment(documents)["GRADEKEEPER_NAMESPACES"] == "grading,eval"


def test_network_policies(render: Render) -> None:
    documents = render()
    deny = the(documents, "NetworkPolicy", "gradekeeper-deny-all")["spec"]
    assert deny == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    own = the(documents, "NetworkPolicy", "gradekeeper")["spec"]
    probe = next(rule for rule in own["ingress"] if rule["ports"] == [{"port": "probe"}])
    # A source that the network plugin has yet to learn would be denied without any policy of ours.
    assert "from" not in probe
    assert of_kind(render({"networkPolicy": {"enabled": False}}), "NetworkPolicy") == []


def test_only_the_operator_may_create_pods(render: Render) -> None:
    documents = render()
    policy = the(documents, "ValidatingAdmissionPolicy")["spec"]
    assert policy["failurePolicy"] == "Fail"
    (expression,) = [rule["expression"] for rule in policy["validations"]]
    account = the(documents, "ServiceAccount", "gradekeeper")["metadata"]
    name = f"system:serviceaccount:{account['namespace']}:{account['name']}"
    assert f"request.userInfo.username == '{name}'" in expression
    binding = the(documents, "ValidatingAdmissionPolicyBinding")["spec"]
    assert binding == {"policyName": "gradekeeper-pods", "validationActions": ["Deny"]}
    off = render({"grading": {"restrictPodCreation": False}})
    assert of_kind(off, "ValidatingAdmissionPolicy") == []


def test_author_keys_arrive_as_files(render: Render) -> None:
    documents = render(EVERYTHING, arguments=MONITORING)
    assert the(documents, "ConfigMap", "gradekeeper-authors")["data"] == {
        "alice.pub": PEM,
        "bob.ci.pub": PEM,
    }
    hashes = {
        the(render({"authorKeys": keys}), "Deployment")["spec"]["template"]["metadata"][
            "annotations"
        ]["gradekeeper.dev/authors"]
        for keys in ({}, {"alice": PEM})
    }
    assert len(hashes) == 2


def test_the_operator_understands_its_environment(render: Render) -> None:
    for values in ({}, EVERYTHING):
        given = environment(render(values, arguments=MONITORING))
        settings = Settings.from_environment(
            {name: value or "10.0.0.1" for name, value in given.items()}
        )
        known = {f"GRADEKEEPER_{field.name.upper()}" for field in dataclasses.fields(Settings)}
        assert set(given) - {"X"} <= known
        assert settings.max_pods_in_flight == (7 if values else 16)
        assert settings.namespaces == (("grading", "eval") if values else ("grading",))
        assert settings.service_account == "gradekeeper-grading"
        assert settings.detail_logs == ("all" if values else "failed")
        assert settings.detail_log_max_bytes == (2048 if values else 65536)
        pods = pod_settings(settings)
        assert pods.runtime_class_name == ("gvisor" if values else None)
        assert pods.priority_class_name == ("grading" if values else None)
        assert dict(pods.node_selector) == ({"pool": "grading"} if values else {})
        assert [dump(one) for one in pods.tolerations] == (
            [{"key": "pool", "operator": "Equal", "value": "grading"}] if values else []
        )


def test_grading_pods_have_an_account_without_any_right(render: Render) -> None:
    documents = render(EVERYTHING, arguments=MONITORING)
    accounts = [
        d for d in of_kind(documents, "ServiceAccount") if d["metadata"]["namespace"] != OWN
    ]
    assert {d["metadata"]["namespace"] for d in accounts} == {"grading", "eval"}
    assert all(d["automountServiceAccountToken"] is False for d in accounts)
    bound = {
        subject["name"]
        for binding in of_kind(documents, "RoleBinding")
        for subject in binding["subjects"]
    }
    assert not bound & {d["metadata"]["name"] for d in accounts}


def subjects(documents: Documents, space: str, role: str) -> list[tuple[str, str]]:
    """Kind and name of whoever a role is bound to in a namespace."""
    return [
        (subject["kind"], subject["name"])
        for binding in of_kind(documents, "RoleBinding")
        if binding["metadata"]["namespace"] == space and binding["roleRef"]["name"] == role
        for subject in binding["subjects"]
    ]


def test_trainers_have_the_rights_that_the_runtime_needs_and_no_others(render: Render) -> None:
    (told,) = re.findall(r"^Rights needed .*?: (.*)\.$", RUNTIME_README.read_text(), re.MULTILINE)
    needed = {}
    for right in told.split("; "):
        resource, verbs = re.fullmatch(r"`([a-z/]+)`(?: \([a-z0-9.]+\))? (.*)", right).groups()  # type: ignore[union-attr]
        needed[resource] = verbs.replace(",", "").replace(" and", "")
    documents = render(EVERYTHING, arguments=MONITORING)
    assert needed == {
        resource: verbs
        for (holder, resource), verbs in rights(documents).items()
        if holder == "Role boxes/gradekeeper-rollouts"
    }
    trainers = [("ServiceAccount", "trainer"), ("User", "researcher")]
    assert subjects(documents, "boxes", "gradekeeper-rollouts") == trainers
    # A trainer that is listed as a submitter, too, is bound once.
    for space in ("grading", "eval"):
        assert subjects(documents, space, "gradekeeper-submitter") == trainers


def test_the_namespace_of_boxes_is_restricted_and_takes_nobodys_calls(render: Render) -> None:
    documents = render(EVERYTHING, arguments=MONITORING)
    labels = the(documents, "Namespace", "boxes")["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "restricted"
    policy = the(documents, "NetworkPolicy", "gradekeeper-rollouts")
    assert policy["metadata"]["namespace"] == "boxes"
    # What a box sends is left to its own policy: the runtime needs a connection that works before.
    assert policy["spec"] == {"podSelector": {}, "policyTypes": ["Ingress"]}
    (quota,) = [
        d for d in of_kind(documents, "ResourceQuota") if d["metadata"]["namespace"] == "boxes"
    ]
    assert quota["spec"]["hard"] == {"pods": 9}
    assert the(documents, "LimitRange")["spec"]["limits"] == [{"type": "Pod", "max": {"cpu": "4"}}]


def test_rollouts_ask_for_no_more_than_was_said(render: Render) -> None:
    on = {"enabled": True, "create": False, "networkPolicy": {"enabled": False}}
    before, after = (
        {(d["kind"], d["metadata"].get("namespace"), d["metadata"]["name"]) for d in documents}
        for documents in (render(), render({"rollouts": on}))
    )
    # Nobody is bound, nothing is limited, and the namespace is somebody else's.
    assert after - before == {("Role", "rollouts", "gradekeeper-rollouts")}
    off = {"trainers": [{"kind": "User", "name": "x"}], "quota": {"pods": 1}}
    assert render({"rollouts": off}) == render()


def test_the_training_cluster_of_the_examples(render: Render) -> None:
    example = CHART / "examples" / "training-cluster.yaml"
    documents = render(yaml.safe_load(example.read_text()))
    given = environment(documents)
    settings = Settings.from_environment(
        {name: value or "10.0.0.1" for name, value in given.items()}
    )
    pods = pod_settings(settings)
    boxes = tomllib.loads(example.with_suffix(".toml").read_text())["env"]["agent"]["runtime"]

    # Each kind is drawn to its own pool, and tolerates the taint of no other.
    assert dict(pods.node_selector) == {"pool": "grading"}
    assert boxes["node_selector"] == {"pool": "rollouts"}
    for tolerations, pool in (
        ([dump(one) for one in pods.tolerations], "grading"),
        (boxes["tolerations"], "rollouts"),
    ):
        taint = {"key": "pool", "operator": "Equal", "value": pool, "effect": "NoSchedule"}
        assert tolerations == [taint]

    trainer = [("ServiceAccount", "trainer")]
    assert subjects(documents, boxes["namespace"], "gradekeeper-rollouts") == trainer
    assert subjects(documents, "grading", "gradekeeper-submitter") == trainer
    quotas = {
        d["metadata"]["namespace"]: d["spec"]["hard"] for d in of_kind(documents, "ResourceQuota")
    }
    assert set(quotas) == {"grading", boxes["namespace"]}
    # The quota is a net below the operator's own limit, not a second one.
    assert int(quotas["grading"]["pods"]) >= settings.max_pods_in_flight


def test_image_by_digest_wins_over_the_tag(render: Render) -> None:
    def image(values: dict[str, Any]) -> str:
        pod = the(render(values), "Deployment")["spec"]["template"]["spec"]
        return str(pod["containers"][0]["image"])

    assert image({}) == "gradekeeper/operator:0.1.0"
    assert image({"image": {"tag": "x"}}) == "gradekeeper/operator:x"
    digest = "sha256:" + "1" * 64
    assert image({"image": {"tag": "x", "digest": digest}}) == f"gradekeeper/operator@{digest}"


@pytest.mark.parametrize("release", ["g", "gradekeeper", LONG], ids=["short", "default", "long"])
@pytest.mark.parametrize("values", [{}, EVERYTHING], ids=["defaults", "everything"])
def test_names_and_labels_fit(render: Render, release: str, values: dict[str, Any]) -> None:
    documents = render(values, release=release, arguments=MONITORING)
    for document in documents:
        metadata = document["metadata"]
        assert len(metadata["name"]) <= 63, metadata["name"]
        assert re.fullmatch(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?", metadata["name"])
        for value in metadata["labels"].values():
            assert re.fullmatch(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?", value), value
    identities = [
        (d["kind"], d["metadata"].get("namespace"), d["metadata"]["name"]) for d in documents
    ]
    assert len(identities) == len(set(identities))


def test_managed_by_never_marks_chart_objects_as_grading_pods(render: Render) -> None:
    template = the(render(), "Deployment")["spec"]["template"]
    assert template["metadata"]["labels"]["app.kubernetes.io/managed-by"] != "gradekeeper"


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"imagee": {}}, "imagee"),
        ({"image": {"digset": ""}}, "digset"),
        ({"image": {"digest": "sha256:abc"}}, "digest"),
        ({"grading": {"maxPodsInFlight": 0}}, "maxPodsInFlight"),
        ({"grading": {"userNamespaces": "no"}}, "userNamespaces"),
        ({"grading": {"detailLogs": {"keep": "some"}}}, "keep"),
        ({"grading": {"detailLogs": {"maxBytes": 10}}}, "maxBytes"),
        ({"grading": {"nodeSelector": {"pool": 1}}}, "nodeSelector"),
        ({"grading": {"tolerations": [{"keys": "pool"}]}}, "tolerations"),
        ({"gradingNamespaces": []}, "gradingNamespaces"),
        ({"gradingNamespaces": [{"name": "Grading"}]}, "gradingNamespaces"),
        ({"authorKeys": {"alice": "not a key"}}, "authorKeys"),
        ({"signingKey": {"existing": "x"}}, "existing"),
        ({"ports": {"probe": 80}}, "probe"),
        ({"resources": {"requests": {"cpus": 1}}}, "cpus"),
        ({"submitters": [{"kind": "Robot", "name": "x"}]}, "submitters"),
        ({"rbac": {"aggregate": True}}, "aggregate"),
        ({"rollouts": {"namespace": "Boxes"}}, "namespace"),
        ({"rollouts": {"trainers": [{"name": "x"}]}}, "trainers"),
        ({"rollouts": {"limits": [{"max": {"cpu": "1"}}]}}, "limits"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_schema_refuses(helm_template: Template, values: dict[str, Any], named: str) -> None:
    done = helm_template(values)
    assert done.returncode != 0
    assert named in done.stderr


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        (
            {"gradingNamespaces": [{"name": "gradekeeper-system"}]},
            "the operator's own namespace",
        ),
        ({"gradingNamespaces": [{"name": "a"}, {"name": "a"}]}, "listed twice"),
        ({"metrics": {"serviceMonitor": {"enabled": True}}}, "monitoring.coreos.com/v1"),
        ({"serviceAccount": {"create": False}}, "serviceAccount.name is needed"),
        ({"rollouts": {"enabled": True, "namespace": OWN}}, "agents and the signing key"),
        ({"rollouts": {"enabled": True, "namespace": "grading"}}, "is a grading namespace"),
    ],
    ids=["own-namespace", "twice", "no-prometheus", "no-account", "boxes-own", "boxes-grading"],
)
def test_chart_refuses(helm_template: Template, values: dict[str, Any], sentence: str) -> None:
    done = helm_template(values)
    assert done.returncode != 0
    assert sentence in done.stderr


def test_lint_is_clean(helm: str) -> None:
    done = subprocess.run(
        [helm, "lint", "--strict", str(CHART)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_value_has_a_comment() -> None:
    lines = (CHART / "values.yaml").read_text().splitlines()
    for number, line in enumerate(lines):
        if not re.match(r"^[a-zA-Z]+:", line):
            continue
        opens_a_block = line.endswith(":") and not lines[number - 1].startswith("#")
        inner = next((x for x in lines[number + 1 :] if x.strip()), "")
        assert lines[number - 1].startswith("# ") or (
            opens_a_block and inner.strip().startswith("# --")
        ), f"line {number + 1}: {line}"


def test_schema_knows_every_value_and_no_other() -> None:
    schema = yaml.safe_load((CHART / "values.schema.json").read_text())
    values = yaml.safe_load((CHART / "values.yaml").read_text())

    def compare(values: dict[str, Any], schema: dict[str, Any], where: str) -> None:
        assert schema["additionalProperties"] is False, where
        assert set(values) == set(schema["properties"]) - {"global", "claims"}, where
        for name, inner in schema["properties"].items():
            if "properties" in inner and name in values and where + name not in FREE:
                compare(values[name], inner, f"{where}{name}.")

    compare(values, schema, "")


def test_manifests_equal_the_default_rendering(helm: str) -> None:
    done = subprocess.run(
        [
            sys.executable,
            str(ROOT / "charts" / "manifests.py"),
            "--helm",
            helm,
            "--check",
            str(ROOT / "manifests"),
        ],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr + "run `make manifests`"
