"""What can go wrong between a client and a verdict.

    GradekeeperError
    ├── ConfigurationError      no usable cluster settings or keys; nothing was sent
    ├── SubmissionError         the submission cannot be read or packed; nothing was sent
    │   └── TooLargeToSendError more than a job may carry; has the claim to send instead
    ├── ApiError                the API server refused; carries the HTTP status and its reason
    │   ├── InvalidError        400, 413, 422: the job breaks a rule of the schema
    │   ├── UnauthorizedError   401: credentials are missing or stale, also after a reload
    │   ├── ForbiddenError      403: a missing right or an exhausted quota
    │   ├── NotFoundError       404: no such object, namespace or kind
    │   ├── ConflictError       409: it exists already, or it is another one than expected
    │   ├── ExpiredError        410: a watch or a list has to start again
    │   └── UnavailableError    no answer, 429 or 5xx until the time for retries was over
    ├── JobConflictError        a job of our name exists, and it is not this submission's
    └── NoVerdictError          a job ended, or was given up, without a verdict
        ├── UnjudgedError       the platform failed; carries the reason and never a number
        ├── JobLostError        somebody deleted the job
        ├── PatienceOverError   the caller's patience ended; the job was deleted
        └── AttestationError    a verdict is there, but not signed for what we asked

Every message is one sentence for a human. No exception carries a score.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gradekeeper.api.spec import Untransportable


class GradekeeperError(Exception):
    """Base of everything that this package raises on purpose."""


class ConfigurationError(GradekeeperError):
    """The kubeconfig, the in-cluster settings or a key cannot be used."""


class SubmissionError(GradekeeperError):
    """The submission cannot be read or packed."""


class TooLargeToSendError(SubmissionError):
    """The packed submission does not fit into the parts of one job.

    Attributes:
        claim: What to submit instead, so that the operator signs a `Rejected` for it.
    """

    def __init__(self, message: str, claim: Untransportable) -> None:
        super().__init__(message)
        self.claim = claim


class ApiError(GradekeeperError):
    """The API server answered with an error.

    Attributes:
        status: HTTP status code; 0 if there was no answer.
        reason: The machine-readable reason of the answer, such as `AlreadyExists`; may be empty.
    """

    def __init__(self, message: str, *, status: int = 0, reason: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason


class InvalidError(ApiError):
    """The object breaks a rule of its schema."""


class UnauthorizedError(ApiError):
    """The credentials are not accepted."""


class ForbiddenError(ApiError):
    """The credentials lack a right, or a quota is used up."""


class NotFoundError(ApiError):
    """The object, its namespace or its kind does not exist."""


class ConflictError(ApiError):
    """The object exists already, or a precondition does not hold."""


class ExpiredError(ApiError):
    """The requested history is gone: list again."""


class UnavailableError(ApiError):
    """The API server did not answer in time, or only with temporary errors.

    Attributes:
        retry_after: Seconds that the server asked to wait; 0 if it did not say.
    """

    def __init__(
        self, message: str, *, status: int = 0, reason: str = "", retry_after: float = 0.0
    ) -> None:
        super().__init__(message, status=status, reason=reason)
        self.retry_after = retry_after


class JobConflictError(GradekeeperError):
    """A job of the derived name exists, but for another submission or nonce."""


class NoVerdictError(GradekeeperError):
    """A job gives no verdict.

    Attributes:
        job: `<namespace>/<name>`.
    """

    def __init__(self, message: str, *, job: str) -> None:
        super().__init__(message)
        self.job = job


class UnjudgedError(NoVerdictError):
    """The platform could not judge; drop the rollout or try again, never score it.

    Attributes:
        reason: One of the reasons of `gradekeeper.api.reasons` with the decision `Unjudged`.
        attested: Whether a signed statement says so (False: only the job's status does).
    """

    def __init__(self, message: str, *, job: str, reason: str, attested: bool) -> None:
        super().__init__(message, job=job)
        self.reason = reason
        self.attested = attested


class JobLostError(NoVerdictError):
    """The job was deleted by somebody else before it was judged."""


class PatienceOverError(NoVerdictError):
    """The caller's patience ended first.

    Attributes:
        waiting_for: The last reason of the job's conditions, such as `WaitingForCapacity`; may be
            empty.
    """

    def __init__(self, message: str, *, job: str, waiting_for: str) -> None:
        super().__init__(message, job=job)
        self.waiting_for = waiting_for


class AttestationError(NoVerdictError):
    """The verdict is not signed by a trusted key, or it is about something else."""
