"""How long to wait before trying again. Pure."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Backoff:
    """Exponential delays with full jitter, so that a thousand clients do not come back at once.

    Attributes:
        first: Seconds; upper bound of the first delay.
        most: Seconds; upper bound of every delay.
    """

    first: float = 0.25
    most: float = 15.0

    def delay(self, failures: int) -> float:
        """Return the seconds to wait after so many failures in a row (1 or more)."""
        bound = min(self.most, self.first * 2.0 ** min(failures - 1, 32))
        return random.uniform(bound / 10, bound)  # noqa: S311 - spreads load, guards nothing
