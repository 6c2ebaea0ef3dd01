"""Debug a Java billing service with seeded defects: a verifiers taskset.

`BillingTaskset` is all that is exported, and is loaded when somebody asks for it: `defects` and
`scoring` need no RL framework and never import one.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from billing_payment_debug.taskset import BillingTaskset

__all__ = ["BillingTaskset"]


def __getattr__(name: str) -> Any:
    if name == "BillingTaskset":
        from billing_payment_debug.taskset import BillingTaskset

        return BillingTaskset
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
