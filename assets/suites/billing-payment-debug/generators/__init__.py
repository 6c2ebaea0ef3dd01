"""Inputs of the suite, drawn when its expectations are pinned.

A drawn input is only good if it tells a right program from the wrong ones that the suite is about,
so the functions here work out what the wrong ones would answer and draw until each of them differs
(guards: until none does). What is right is not decided here: that is observed on the gold
submission.
"""

from . import changes, coupons, lines, quiet, repeated, taxes, usage
from .amounts import Draw

GENERATORS: dict[str, Draw] = {
    **changes.GENERATORS,
    **taxes.GENERATORS,
    **coupons.GENERATORS,
    **lines.GENERATORS,
    **repeated.GENERATORS,
    **usage.GENERATORS,
    **quiet.GENERATORS,
}
