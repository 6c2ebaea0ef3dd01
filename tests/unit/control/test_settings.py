"""Settings from the environment."""

from __future__ import annotations

import dataclasses
import inspect
from pathlib import Path

import pytest

from gradekeeper.api.schema import dump
from gradekeeper.control.errors import SettingsError
from gradekeeper.control.settings import PREFIX, Settings, plan_policy, pod_settings

REQUIRED = {
    "GRADEKEEPER_NAMESPACES": "grading, other",
    "GRADEKEEPER_SIGNING_KEY": "/keys/private.pem",
    "GRADEKEEPER_AUTHOR_KEYS": "/keys/authors",
    "GRADEKEEPER_PROBE_ADDRESS": "10.0.0.7",
}


def test_only_what_has_no_sensible_default_is_required() -> None:
    settings = Settings.from_environment(REQUIRED)
    assert settings.namespaces == ("grading", "other")
    assert settings.signing_key == Path("/keys/private.pem")
    assert settings.metrics_port is None
    for name in REQUIRED:
        rest = {key: value for key, value in REQUIRED.items() if key != name}
        with pytest.raises(SettingsError, match=name):
            Settings.from_environment(rest)


def test_every_value_is_parsed_by_its_type() -> None:
    settings = Settings.from_environment(
        {
            **REQUIRED,
            "GRADEKEEPER_MAX_PODS_IN_FLIGHT": "7",
            "GRADEKEEPER_EVENTS": "false",
            "GRADEKEEPER_ATTEMPT_BACKOFF_SECONDS": "0.5",
            "GRADEKEEPER_METRICS_PORT": "8081",
            "GRADEKEEPER_LOG_LEVEL": "debug",
            "GRADEKEEPER_IMAGE_PULL_SECRETS": "a,b",
            "GRADEKEEPER_USER_NAMESPACES": "preferred",
            "GRADEKEEPER_CPU_REQUEST_PERCENT": "50",
            "GRADEKEEPER_STATE_DIR": "",
            "GRADEKEEPER_RUNTIME_CLASS_NAME": "gvisor",
            "GRADEKEEPER_NODE_SELECTOR": '{"pool":"grading"}',
            "GRADEKEEPER_TOLERATIONS": '[{"key":"pool","operator":"Exists"}]',
            "GRADEKEEPER_DETAIL_LOGS": "all",
        }
    )
    assert settings.max_pods_in_flight == 7
    assert settings.events is False
    assert settings.log_level == "DEBUG"
    assert settings.metrics_port == 8081
    assert settings.state_dir is None
    pods = pod_settings(settings)
    assert (pods.user_namespaces, pods.cpu_request_percent) == ("preferred", 50)
    assert pods.image_pull_secrets == ("a", "b")
    assert pods.runtime_class_name == "gvisor"
    assert dict(pods.node_selector) == {"pool": "grading"}
    assert [dump(one) for one in pods.tolerations] == [{"key": "pool", "operator": "Exists"}]
    policy = plan_policy(settings)
    assert (policy.attempt_backoff, policy.keep_logs) == (0.5, "all")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MAX_PODS_IN_FLIGHT", "many"),
        ("MAX_PODS_IN_FLIGHT", "0"),
        ("EVENTS", "maybe"),
        ("USER_NAMESPACES", "never"),
        ("PROBE_PORT", "70000"),
        ("CPU_REQUEST_PERCENT", "0"),
        ("LOG_LEVEL", "loud"),
        ("DETAIL_LOGS", "some"),
        ("DETAIL_LOG_MAX_BYTES", "1000"),
        ("NODE_SELECTOR", "pool=grading"),
        ("TOLERATIONS", '[{"key":"pool","effect":"Never"}]'),
        ("TOLERATIONS", '[{"keys":"pool"}]'),
        ("NAMESPACES", ","),
    ],
)
def test_a_value_that_cannot_work_is_named(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=name):
        Settings.from_environment({**REQUIRED, PREFIX + name: value})


def test_every_setting_says_what_it_is() -> None:
    source = inspect.getsource(Settings)
    for field in dataclasses.fields(Settings):
        after = source.split(f"    {field.name}: ", 1)[1].split("\n", 1)[1].lstrip()
        assert after.startswith('"""'), f"{field.name} has no docstring"
