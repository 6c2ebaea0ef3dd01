"""Exceptions of the operator's adapters; the whole tree is drawn here, once.

ClusterError
├── NotFound            404
├── Conflict            409: a name is taken, or a resourceVersion is out of date
├── Gone                410: a list's continuation is too old
├── Invalid             400, 422: the server refused the object itself
├── Forbidden           403: a rule or an admission policy said no
│   └── QuotaExceeded   403 of the quota admission: may pass later
└── Retryable
    ├── Throttled       429, with the server's Retry-After
    └── Unavailable     5xx, time-outs, broken connections

SettingsError           the installation's settings cannot work
IndexInvalid            a suite's index ConfigMap is not what its author signed

`plan` raises none of these: what can be expected is a value there. Retrying is the engine's
business alone.
"""

from __future__ import annotations


class ClusterError(Exception):
    """An answer of the API server that is not a success.

    Attributes:
        status: HTTP status, 0 where there was no answer.
        reason: the machine-readable `reason` of the server's Status object, or "".
    """

    def __init__(self, message: str, *, status: int = 0, reason: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason


class NotFound(ClusterError):
    """The object does not exist."""


class Conflict(ClusterError):
    """The name is taken or the resourceVersion is out of date."""


class Gone(ClusterError):
    """A list's continuation token is too old; the list starts again."""


class Invalid(ClusterError):
    """The server refused the object as malformed or against its schema."""


class Forbidden(ClusterError):
    """Authorization or an admission policy refused the request."""


class QuotaExceeded(Forbidden):
    """A ResourceQuota has no room left; later it may have."""


class Retryable(ClusterError):
    """The same request may succeed later.

    Attributes:
        retry_after: seconds that the server asked to wait, 0 if it did not say.
    """

    def __init__(
        self, message: str, *, status: int = 0, reason: str = "", retry_after: float = 0.0
    ) -> None:
        super().__init__(message, status=status, reason=reason)
        self.retry_after = retry_after


class Throttled(Retryable):
    """The server asked for fewer requests."""


class Unavailable(Retryable):
    """The server failed, did not answer in time, or cannot be reached."""


class SettingsError(Exception):
    """A setting is missing or cannot work; the message names it."""


class IndexInvalid(Exception):
    """A suite's index is missing, damaged, too large or not the signed one."""
