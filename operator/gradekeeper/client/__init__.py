"""The client of Gradekeeper: submit a submission, wait for its verdict, verify it.

    from gradekeeper.client import GradingClient, JobRequest, derive_nonce

    async with GradingClient(public_keys=[Path("verdict.pub").read_bytes()]) as client:
        request = JobRequest(
            suite="billing-payment-debug",
            submission=Path("workdir"),
            nonce=derive_nonce(run_secret, rollout="r-17", trial=0),
        )
        judgement = await client.grade(request, patience=3600)

This module is the whole public surface; modules with a leading underscore may change at any time.
It imports neither kopf nor anything of the operator.
"""

from gradekeeper.api.spec import Builtin, Untransportable
from gradekeeper.client._backoff import Backoff
from gradekeeper.client._client import GradingClient, Judgement, job_status, verify_job
from gradekeeper.client._connection import Connection, ServerSettings, load_settings
from gradekeeper.client._pack import (
    MAX_ARCHIVE_BYTES,
    PART_BYTES,
    PackedDirectory,
    pack_directory,
)
from gradekeeper.client._request import JobHandle, JobRequest, derive_nonce
from gradekeeper.client.errors import (
    ApiError,
    AttestationError,
    ConfigurationError,
    ConflictError,
    ExpiredError,
    ForbiddenError,
    GradekeeperError,
    InvalidError,
    JobConflictError,
    JobLostError,
    NotFoundError,
    NoVerdictError,
    PatienceOverError,
    SubmissionError,
    TooLargeToSendError,
    UnauthorizedError,
    UnavailableError,
    UnjudgedError,
)

__all__ = [
    "MAX_ARCHIVE_BYTES",
    "PART_BYTES",
    "ApiError",
    "AttestationError",
    "Backoff",
    "Builtin",
    "ConfigurationError",
    "ConflictError",
    "Connection",
    "ExpiredError",
    "ForbiddenError",
    "GradekeeperError",
    "GradingClient",
    "InvalidError",
    "JobConflictError",
    "JobHandle",
    "JobLostError",
    "JobRequest",
    "Judgement",
    "NoVerdictError",
    "NotFoundError",
    "PackedDirectory",
    "PatienceOverError",
    "ServerSettings",
    "SubmissionError",
    "TooLargeToSendError",
    "UnauthorizedError",
    "UnavailableError",
    "UnjudgedError",
    "Untransportable",
    "derive_nonce",
    "job_status",
    "load_settings",
    "pack_directory",
    "verify_job",
]
