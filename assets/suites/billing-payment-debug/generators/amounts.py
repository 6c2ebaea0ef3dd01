"""What all draw: text, with amounts in whole cents."""

import random
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal

Draw = Callable[[random.Random], str]

CENT = Decimal("0.01")


def to_cents(value: Decimal) -> Decimal:
    """The amount, with half a cent away from zero."""
    return value.quantize(CENT, ROUND_HALF_UP)
