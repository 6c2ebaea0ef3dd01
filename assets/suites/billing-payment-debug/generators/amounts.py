"""What all draw: text, with amounts in whole cents."""

import random
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal

Draw = Callable[[random.Random], str]

CENT = Decimal("0.01")

EXACT = Context(prec=200)
"""Keeps every digit of whatever is drawn here; the usual context keeps twenty-eight."""


def to_cents(value: Decimal) -> Decimal:
    """The amount, with half a cent away from zero."""
    return value.quantize(CENT, ROUND_HALF_UP, EXACT)


def twice_rounded(value: Decimal, decimals: int) -> Decimal:
    """The amount in whole cents, rounded to so many decimals first."""
    return to_cents(value.quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP, EXACT))
