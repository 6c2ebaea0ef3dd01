"""How a grading can end early.

The tree::

    RefereeStop                 ends the grading with a decision
    ├── Unjudgeable             infrastructure: no outcomes
    └── Refused                 the submission broke a stated rule
    PlatformError               a call of the referee's own that no lane can influence failed
    LaneGone                    laned is lost or silent

Messages are sentences of ours: never text from a submission or a lane.
"""


class RefereeStop(Exception):
    """Ends the grading with `reason` and one sentence."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


class Unjudgeable(RefereeStop):
    """The platform, the suite or the job is at fault: `Unjudged`."""


class Refused(RefereeStop):
    """The submission broke a stated rule: `Rejected`."""


class PlatformError(Exception):
    """A fork, a pipe or a write of the referee failed, which no lane can cause."""


class LaneGone(Exception):
    """laned closed its connection, broke its protocol or fell silent.

    Attributes:
        silent: for how many seconds it did not do what it had to; 0 if it is gone for another
            reason, which no slow node can cause.
    """

    def __init__(self, message: str, silent: float = 0.0) -> None:
        super().__init__(message)
        self.silent = silent
