"""Settings from the environment."""

from __future__ import annotations

import dataclasses
import inspect
from pathlib import Path

import pytest

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
    assert plan_policy(settings).attempt_backoff == 0.5


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
