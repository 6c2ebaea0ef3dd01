"""What a box's end is to verifiers.

SandboxError            (verifiers) the platform's fault: the rollout is dropped or retried
└── BoxEndedError       the agent's own doing: a harness ends the rollout, and it is scored
"""

from __future__ import annotations

from verifiers.v1.errors import SandboxError


class BoxEndedError(SandboxError):
    """What ran in the box ended it: memory, storage or lifetime used up, or its first process gone.

    A `SandboxError` only for callers that know no better. Whoever knows treats it as an outcome of
    the agent's work: errors are dropped, and an agent would gain by dropping its failures.
    """
