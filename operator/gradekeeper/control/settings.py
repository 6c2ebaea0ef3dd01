"""The installation's settings, from environment variables `GRADEKEEPER_<FIELD>`.

Every field's docstring states its unit, default and what goes wrong when it is off. Parsing is
pure: `Settings.from_environment` takes the mapping and raises `SettingsError` with one sentence.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from gradekeeper.api.schema import StringMap
from gradekeeper.api.spec import Toleration
from gradekeeper.control.errors import SettingsError
from gradekeeper.control.plan import KeepLogs, Policy
from gradekeeper.pods.build import PodSettings

PREFIX = "GRADEKEEPER_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that an installation may choose."""

    namespaces: tuple[str, ...]
    """Grading namespaces to serve, comma separated. Required: there is no cluster-wide mode,
    since parts and suites of one namespace must not be within reach of another's jobs."""

    signing_key: Path
    """File with the installation's ed25519 private key (PEM, PKCS8). Required."""

    author_keys: Path
    """Directory with one PEM public key a file (`*.pem` or `*.pub`) of each trusted suite author.
    Read again at each verification of a suite, so a changed mount is seen. Required."""

    probe_address: str
    """Address that grading Pods must fail to reach: the operator's own Pod IP. Falls back to
    `GRADEKEEPER_POD_IP` (downward API). Required: nobody could vouch for isolation without it."""

    probe_port: int = 8444
    """TCP port of the listener that grading Pods must fail to reach."""

    probe_margin_seconds: float = 2.0
    """How long before and after a probe the listener must have been up. Must exceed the clock
    skew between nodes; too small vouches wrongly, too large repeats gradings after a restart."""

    probe_deadline_seconds: int = 20
    """How long a referee may retry its probe until the network policy is in force."""

    state_dir: Path | None = None
    """Directory that outlives the container (an emptyDir): when the probe listener served, so
    that a restarted container can vouch for gradings of before. Unset: those are repeated."""

    installation: str = "gradekeeper/gradekeeper"
    """`<namespace>/<release>`, signed into every verdict as its issuer."""

    health_port: int = 8080
    """Port of `/healthz` and `/metrics`."""

    metrics_port: int | None = None
    """A further port with the same pages, so that scraping and liveness can have rules of their
    own. Unset: none."""

    max_pods_in_flight: int = 16
    """Grading Pods at a time, over all namespaces. Above what the nodes hold, Pods wait as
    Unschedulable instead of jobs waiting as WaitingForCapacity."""

    user_namespaces: Literal["required", "preferred"] = "required"
    """Whether a Pod without a user namespace of its own may grade. Signed into each verdict."""

    image_pull_policy: Literal["Always", "IfNotPresent", "Never"] = "IfNotPresent"
    """Pull policy of both grading containers; images are referred to by digest, so a cached one
    is the right one."""

    cpu_request_percent: int = 100
    """CPU requests as a share of the limits, 1 to 100. Below 100 Pods are Burstable and preferred
    victims of a node that runs out of memory; the QoS class is a signed fact."""

    user_namespaces_available: bool = True
    """Whether the nodes have user namespaces. False puts `preferred` into its fallback, uids of
    their own for each Pod; `required` ignores it."""

    service_account: str = "default"
    """Service account of grading Pods, one without any right; no token of it is mounted."""

    runtime_class_name: str | None = None
    """RuntimeClass of grading Pods whose suite names none."""

    priority_class_name: str | None = None
    """Priority class of grading Pods. Without one, or with a low one, they may be preempted."""

    node_selector: StringMap = dataclasses.field(default_factory=dict)
    """Labels of the nodes that may run grading Pods, as a JSON object; a suite may add others."""

    tolerations: tuple[Toleration, ...] = ()
    """Tolerations of grading Pods beside their suite's, as a JSON array."""

    image_pull_secrets: tuple[str, ...] = ()
    """Names of pull secrets for grading Pods, comma separated."""

    attempt_backoff_seconds: float = 2.0
    """Wait before the second attempt; doubles with each further one, up to a minute."""

    quota_patience_seconds: float = 600.0
    """How long an attempt waits for room in a ResourceQuota before it counts as failed."""

    pending_patience_seconds: float = 10.0
    """How long a new Pod may be pending before the job's status says why. Saves a write for the
    many Pods that start at once."""

    waiting_patience_seconds: float = 1.0
    """How long a job may wait before its status says for what. Saves a write for the many jobs
    that do not wait."""

    admission_retry_seconds: float = 30.0
    """Wait before a suite's admission is repeated when a built-in job ended Unjudged; doubles each
    time, up to ten minutes."""

    failed_pod_retention_seconds: float = 0.0
    """How long the Pod of a failed attempt is kept once it has ended, for its log. Pods of graded
    attempts are deleted as soon as the verdict is written."""

    detail_logs: KeepLogs = "failed"
    """Whose referee's detail log is kept in a Secret beside the job, for as long as the job exists:
    `none`, those of `failed` attempts, or `all`. `all` costs a write a job. One that ended as
    `RefereeFault` is kept whatever this says."""

    detail_log_max_bytes: int = 64 * 1024
    """Most bytes of such a log, compressed, 1 KiB to 512 KiB; of a longer one the beginning is
    kept. A log of 256 KiB, the most that a referee writes, takes a tenth of that as a rule."""

    workers: int = 8
    """Keys that are reconciled at the same time."""

    api_requests_in_flight: int = 16
    """Requests to the API server at the same time, watches apart."""

    relist_seconds: float = 60.0
    """How often everything is listed to heal gaps in the watches."""

    stale_seconds: float = 300.0
    """`/healthz` fails when the last complete relist, or the oldest key of the queue, is older."""

    events: bool = True
    """Whether transitions are posted as Kubernetes Events."""

    log_level: str = "INFO"
    """DEBUG, INFO, WARNING or ERROR."""

    kubeconfig: Path | None = None
    """kubeconfig to use instead of the Pod's service account; its current context is used."""

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> Settings:
        """Read `GRADEKEEPER_<FIELD NAME IN CAPITALS>`; empty values count as unset.

        Raises:
            SettingsError: a required variable is missing or a value cannot be used.
        """
        hints = typing.get_type_hints(cls, include_extras=True)
        values: dict[str, object] = {}
        for field in dataclasses.fields(cls):
            name = PREFIX + field.name.upper()
            text = environ.get(name, "").strip()
            if not text and field.name == "probe_address":
                text = environ.get(f"{PREFIX}POD_IP", "").strip()
            if field.name == "log_level":
                text = text.upper()
            if text:
                values[field.name] = _parse(name, text, hints[field.name])
            elif (field.default, field.default_factory) == (dataclasses.MISSING,) * 2:
                raise SettingsError(f"{name} is not set")
        settings = cls(**values)  # type: ignore[arg-type]
        _check(settings)
        return settings


def _parse(name: str, text: str, kind: object) -> object:
    if typing.get_origin(kind) is Literal:
        choices = typing.get_args(kind)
        if text not in choices:
            raise SettingsError(f"{name} must be one of {', '.join(choices)}")
        return text
    if typing.get_origin(kind) is types.UnionType:
        kind = next(one for one in typing.get_args(kind) if one is not type(None))
    if kind in (StringMap, tuple[Toleration, ...]):
        try:
            return TypeAdapter(kind).validate_json(text)
        except ValidationError as error:
            said = error.errors()[0]
            place = ".".join(map(str, said["loc"]))
            raise SettingsError(f"{name}: {place + ': ' if place else ''}{said['msg']}") from None
    if kind == tuple[str, ...]:
        return tuple(part.strip() for part in text.split(",") if part.strip())
    if kind is bool:
        if text.lower() not in {"true", "false"}:
            raise SettingsError(f"{name} must be true or false")
        return text.lower() == "true"
    try:
        if kind is int:
            return int(text)
        if kind is float:
            return float(text)
    except ValueError:
        raise SettingsError(f"{name} must be a number") from None
    return Path(text) if kind is Path else text


def pod_settings(settings: Settings) -> PodSettings:
    """Return what the installation says about all its grading Pods."""
    return PodSettings(
        user_namespaces=settings.user_namespaces,
        user_namespaces_available=settings.user_namespaces_available,
        service_account=settings.service_account,
        image_pull_policy=settings.image_pull_policy,
        image_pull_secrets=settings.image_pull_secrets,
        cpu_request_percent=settings.cpu_request_percent,
        runtime_class_name=settings.runtime_class_name,
        priority_class_name=settings.priority_class_name,
        node_selector=settings.node_selector,
        tolerations=settings.tolerations,
    )


def plan_policy(settings: Settings) -> Policy:
    """Return what plans for jobs depend on."""
    return Policy(
        attempt_backoff=settings.attempt_backoff_seconds,
        quota_patience=settings.quota_patience_seconds,
        pending_patience=settings.pending_patience_seconds,
        waiting_patience=settings.waiting_patience_seconds,
        failed_pod_retention=settings.failed_pod_retention_seconds,
        keep_logs=settings.detail_logs,
    )


def _check(settings: Settings) -> None:
    if not settings.namespaces:
        raise SettingsError(f"{PREFIX}NAMESPACES names no namespace")
    at_least_one = (
        "max_pods_in_flight",
        "workers",
        "api_requests_in_flight",
        "relist_seconds",
        "attempt_backoff_seconds",
    )
    for name in at_least_one:
        if not getattr(settings, name) > 0:
            raise SettingsError(f"{PREFIX}{name.upper()} must be above 0")
    for name in ("probe_port", "health_port"):
        if not 0 <= getattr(settings, name) <= 65535:
            raise SettingsError(f"{PREFIX}{name.upper()} is not a port")
    if not 1 <= settings.cpu_request_percent <= 100:
        raise SettingsError(f"{PREFIX}CPU_REQUEST_PERCENT must be from 1 to 100")
    if not 1024 <= settings.detail_log_max_bytes <= 512 * 1024:
        raise SettingsError(f"{PREFIX}DETAIL_LOG_MAX_BYTES must be from 1024 to 524288")
    if settings.log_level not in {"DEBUG", "INFO", "WARNING", "ERROR"}:
        raise SettingsError(f"{PREFIX}LOG_LEVEL must be DEBUG, INFO, WARNING or ERROR")
