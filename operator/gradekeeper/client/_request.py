"""What a client asks for, and the objects that ask for it. Pure.

`build_*` return manifests as docs/protocols.md ("Delivery") describes them.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gradekeeper.api import names
from gradekeeper.api.schema import dump
from gradekeeper.api.spec import (
    Builtin,
    GradingJobSpec,
    Submission,
    Untransportable,
)
from gradekeeper.client._connection import Manifest
from gradekeeper.client._pack import digest_of
from gradekeeper.verdicts.statement import claim_digest

Source = bytes | Path | Builtin | Untransportable
"""A submission: a tar.gz, a directory to pack, one that lies in the suite, or a claim."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRequest:
    """One submission to be graded once.

    Attributes:
        suite: Name of a GradingSuite in the client's namespace.
        submission: tar.gz bytes, a directory (packed by `pack_directory`; if it is too large to be
            sent its claim is submitted), `Builtin`, or `Untransportable`.
        nonce: Chosen for this grading alone, see `derive_nonce`. The job's name derives from it:
            the same nonce finds the same job again.
        task: Task of the suite; empty: the whole suite.
        group: Free text that ties jobs together.
        parameters: Values for parameters that the suite declares.
        attempt_deadline: Seconds of one attempt; None: the API's default.
        retry_limit: Further attempts after infrastructure failures; None: the API's default.
        ttl: Seconds after which a finished job is deleted; None: the API's default.
        suite_digest: `sha256:<hex>` that the suite must have, checked in the verdict; None: any.
    """

    suite: str
    submission: Source
    nonce: str
    task: str = ""
    group: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)
    attempt_deadline: int | None = None
    retry_limit: int | None = None
    ttl: int | None = None
    suite_digest: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobHandle:
    """A job that exists, and everything that its verdict must be about.

    Attributes:
        namespace: Namespace of the job.
        name: Name of the job.
        uid: UID of the job.
        spec: The specification that was asked for.
        digest: `sha256:<hex>` that the statement's subject must have; None for `builtin`, whose
            archive lies in the suite.
        suite_digest: `sha256:<hex>` that the suite must have, or None.
        adopted: Whether the job existed before.
    """

    namespace: str
    name: str
    uid: str
    spec: GradingJobSpec
    digest: str | None
    suite_digest: str | None = None
    adopted: bool = False

    def __str__(self) -> str:
        """`<namespace>/<name>`."""
        return f"{self.namespace}/{self.name}"


def derive_nonce(run_secret: bytes, rollout: str, trial: int = 0) -> str:
    """Derive the nonce of one grading.

    A restarted process with the same secret finds its jobs again; nobody without the secret can
    foresee a nonce or prepare a job under its name.

    Args:
        run_secret: At least 16 bytes, kept for the run.
        rollout: Id of the rollout, unique in the run.
        trial: Number of this grading of the rollout, from 0.

    Returns:
        64 hex digits.

    Raises:
        ValueError: The secret is too short or the trial negative.
    """
    if len(run_secret) < 16:
        raise ValueError("run_secret must have at least 16 bytes; use secrets.token_bytes(32)")
    if trial < 0:
        raise ValueError(f"trials are counted from 0, not {trial}")
    # JSON keeps ("a", 11) and ("a1", 1) apart.
    message = json.dumps(["gradekeeper.nonce/v1", rollout, trial]).encode()
    return hmac.new(run_secret, message, hashlib.sha256).hexdigest()


def build_spec(
    request: JobRequest,
    name: str,
    *,
    archive: bytes | None,
    parts: int,
    claim: Untransportable | None,
) -> GradingJobSpec:
    """Build the specification of a job.

    Args:
        request: What was asked for.
        name: Name of the job.
        archive: The tar.gz, if one is sent.
        parts: Number of its parts.
        claim: What could not be sent, if so.

    Raises:
        pydantic.ValidationError: A value breaks a rule of the API.
    """
    if archive is not None:
        submission = Submission(
            config_maps=tuple(names.part_name(name, index) for index in range(parts)),
            digest=digest_of(archive),
        )
    elif claim is not None:
        submission = Submission(untransportable=claim)
    else:
        submission = Submission.model_validate({"builtin": request.submission})
    optional = {
        "attemptDeadlineSeconds": request.attempt_deadline,
        "retryLimit": request.retry_limit,
        "ttlSecondsAfterFinished": request.ttl,
    }
    return GradingJobSpec.model_validate(
        {
            "suiteRef": {"name": request.suite},
            "task": request.task,
            "submission": submission,
            "nonce": request.nonce,
            "group": request.group,
            "parameters": dict(request.parameters),
            **{key: value for key, value in optional.items() if value is not None},
        }
    )


def build_job(name: str, namespace: str, spec: GradingJobSpec) -> Manifest:
    """Build the GradingJob."""
    return {
        "apiVersion": names.API_VERSION,
        "kind": names.JOB_KIND,
        "metadata": {"name": name, "namespace": namespace},
        "spec": dump(spec),
    }


def build_part(handle: JobHandle, index: int, data: bytes) -> Manifest:
    """Build the ConfigMap of one part: immutable, labelled, deleted with its job."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": names.part_name(handle.name, index),
            "namespace": handle.namespace,
            "labels": {names.LABEL_JOB: handle.name},
            "ownerReferences": [
                {
                    "apiVersion": names.API_VERSION,
                    "kind": names.JOB_KIND,
                    "name": handle.name,
                    "uid": handle.uid,
                    "controller": False,
                    "blockOwnerDeletion": False,
                }
            ],
        },
        "immutable": True,
        "binaryData": {names.PART_KEY: base64.b64encode(data).decode("ascii")},
    }


def expected_digest(spec: GradingJobSpec) -> str | None:
    """The digest that a statement about this job must have as its subject; None for `builtin`."""
    if spec.submission.untransportable is not None:
        return claim_digest(spec.submission)
    return spec.submission.digest


def differences(asked: GradingJobSpec, found: GradingJobSpec) -> list[str]:
    """Names of the fields in which an existing job differs in what it grades and how.

    Deadlines, retries, TTL and the switches do not count: they change no outcome.
    """
    fields = {
        "suite": (asked.suite_ref.name, found.suite_ref.name),
        "task": (asked.task, found.task),
        "nonce": (asked.nonce, found.nonce),
        "submission": (asked.submission, found.submission),
        "group": (asked.group, found.group),
        "parameters": (dict(asked.parameters), dict(found.parameters)),
    }
    return [name for name, (ours, theirs) in fields.items() if ours != theirs]


def statement_mismatches(handle: JobHandle, job: Mapping[str, Any]) -> list[str]:
    """Names of the fields in which a signed statement is about another job.

    Complements `verify_verdict`, which compares the subject, the nonce, the task, the job's UID and
    the suite's digest. The suite's name is not compared: a statement names the signed bundle, which
    may be installed under another name.

    Args:
        handle: The job.
        job: `predicate.job` of a statement that `verify_verdict` accepted.
    """
    spec = handle.spec
    fields: Sequence[tuple[str, object, object]] = (
        ("namespace", handle.namespace, job["namespace"]),
        ("name", handle.name, job["name"]),
        ("group", spec.group, job["group"]),
        ("parameters", dict(spec.parameters), job["parameters"]),
        ("submission", dump(spec.submission), job["submission"]),
    )
    return [name for name, ours, theirs in fields if ours != theirs]
