"""Reading what the API says about nodes and Pods."""

import pytest

from cluster.testcluster import health


@pytest.mark.parametrize(
    ("conditions", "problem"),
    [
        ([{"type": "Ready", "status": "True"}], None),
        ([{"type": "Ready", "status": "False", "message": "no CNI"}], "no CNI"),
        ([{"type": "DiskPressure", "status": "True"}], "the kubelet has not reported"),
        ([], "the kubelet has not reported"),
    ],
)
def test_node_problem(conditions, problem):
    found = health.node_problem({"status": {"conditions": conditions}})
    assert (found is None) if problem is None else found.startswith(problem)


def test_a_pods_troubles_fit_one_line():
    pod = {
        "status": {
            "phase": "Pending",
            "conditions": [
                {"type": "PodScheduled", "status": "True", "message": "fine"},
                {"type": "Ready", "status": "False", "message": "not ready"},
            ],
            "containerStatuses": [
                {"state": {"waiting": {"reason": "ErrImageNeverPull", "message": "no image"}}}
            ],
        }
    }
    assert health.describe_pod(pod) == (
        "phase Pending; Ready: not ready; waiting: ErrImageNeverPull no image"
    )


def test_probe_pods_are_hardened_and_in_a_user_namespace():
    pod = health.build_probe_pod("p", ["pause"], role="free")
    assert pod["spec"]["hostUsers"] is False
    context = pod["spec"]["containers"][0]["securityContext"]
    assert context == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def test_the_policy_denies_both_directions_of_its_role_alone():
    policy = health.build_deny_all("denied")["spec"]
    assert policy == {
        "podSelector": {"matchLabels": {"gradekeeper-test/probe": "denied"}},
        "policyTypes": ["Ingress", "Egress"],
    }


def test_the_tail_of_a_missing_log_says_so(tmp_path):
    from cluster.testcluster.layout import Layout

    assert "no log" in health.log_tail(Layout(tmp_path, tmp_path), "etcd")
