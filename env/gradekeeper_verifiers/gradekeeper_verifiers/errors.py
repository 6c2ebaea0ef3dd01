"""What a box's end is to verifiers.

SandboxError            (verifiers) the platform's fault: the rollout is dropped or retried
├── BoxEndedError       the agent's own doing: a harness ends the rollout, and it is scored
└── BoxUnreachableError the command was lost on its way: what may be repeated is repeated
"""

from __future__ import annotations

from verifiers.v1.errors import SandboxError


class BoxEndedError(SandboxError):
    """What ran in the box ended it: memory, storage or lifetime used up, or its first process gone.

    A `SandboxError` only for callers that know no better. Whoever knows treats it as an outcome of
    the agent's work: errors are dropped, and an agent would gain by dropping its failures.
    """


class BoxUnreachableError(SandboxError):
    """A command was not reached, or lost on the way, and nobody says that its box is over.

    Only the API server, the node or the network between do this. What a command itself says or
    leaves unsaid - an exit code, a hang, a box that starts nothing - is never one of these, or an
    agent could have its rollout dropped. The command may still run.
    """


# verifiers records errors, and matches its retry rules, by this name alone. A rule for SandboxError
# is to cover these as well: of all errors they are the likeliest to go well the next time.
BoxUnreachableError.__name__ = SandboxError.__name__
