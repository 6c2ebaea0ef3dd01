"""Settings of boxes, and what verifiers makes of them with a task's."""

import tomllib

import pytest
from pydantic import ValidationError
from verifiers.v1.utils.loaders import harness_class

from gradekeeper_bash import GradekeeperBashHarness
from gradekeeper_verifiers.config import KubernetesConfig
from gradekeeper_verifiers.grading import GradingConfig
from gradekeeper_verifiers.pod import Owner, build_pod
from guide import ROOT


def test_boxes_have_no_network_unless_it_is_asked_for() -> None:
    assert KubernetesConfig().network_restricted
    assert not KubernetesConfig(allow=["*"]).network_restricted


def test_a_task_cannot_open_what_the_configuration_closes() -> None:
    closed = KubernetesConfig().with_task_network_policy(["10.0.0.0/8"], [])
    open_to_task = KubernetesConfig(allow=["*"]).with_task_network_policy(["10.0.0.0/8"], [])

    assert closed.allow == [] and closed.network_restricted
    assert open_to_task.allow == ["10.0.0.0/8"]


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"allow": ["example.org"]}, "no host names"),
        ({"allow": ["*"], "block": ["example.org"]}, "no host names"),
        ({"allow": ["*"], "block": ["10.0.0.1:443"]}, "single ports"),
        ({"workdir": "relative"}, "absolute path"),
        ({"workdir": "/"}, "absolute path"),
        ({"workdir": "/tmp"}, "absolute path"),
        ({"uid": 0}, "greater than 0"),
        ({"memory": 0}, "greater than 0"),
        ({"cpus": 1}, "[Ee]xtra"),
    ],
)
def test_settings_that_cannot_work_are_refused_at_once(fields: dict[str, object], why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        KubernetesConfig.model_validate(fields)


def test_the_charts_example_places_boxes_as_it_says() -> None:
    example = ROOT / "charts" / "gradekeeper" / "examples" / "training-cluster.toml"
    env = tomllib.loads(example.read_text())["env"]
    config = KubernetesConfig.model_validate(env["agent"]["runtime"])
    owner = Owner(host="h", process="1-1")
    spec = build_pod(config, name="box-1", run="r", rollout="1", owner=owner)["spec"]

    assert config.namespace == "rollouts"
    assert spec["nodeSelector"] == {"pool": "rollouts"}
    (toleration,) = spec["tolerations"]
    assert (toleration["key"], toleration["value"]) == ("pool", "rollouts")
    assert harness_class(env["agent"]["harness"]["id"]) is GradekeeperBashHarness
    grading = GradingConfig.model_validate(env["taskset"]["task"]["grading"])
    assert grading.namespace == "grading"
