"""What the agent is told: symptoms or nothing, the rules of the work, and no place in the code."""

from collections.abc import Sequence
from typing import Final

TICKETS: Final = "tickets"
MINIMAL: Final = "minimal"
VARIANTS: Final = (TICKETS, MINIMAL)

_START: Final = (
    "Your working directory holds a payment and billing service in plain Java 17. Its README says"
    " how it is built and tested, and states every business rule that it has to follow."
)
_MINIMAL: Final = "The code breaks some of these rules. Find every defect and fix it."
_TICKETS: Final = "These are the open support tickets. Find the cause of each and fix it."
_END: Final = (
    "Keep the signatures of everything public as they are, and leave the existing tests as they"
    " are; you may add tests. When you are done, a separate hidden suite tests the whole service:"
    " that the defects are gone, and that what works today still does."
)


def build_prompt(variant: str, tickets: Sequence[str]) -> str:
    """Build the prompt of a task.

    Args:
        variant: `tickets` or `minimal`.
        tickets: Those of the active defects; the variant `minimal` does not use them.

    Raises:
        ValueError: there is no such variant.
    """
    if variant == MINIMAL:
        middle = [_MINIMAL]
    elif variant == TICKETS:
        middle = [_TICKETS, *(f"{place}. {text}" for place, text in enumerate(tickets, start=1))]
    else:
        raise ValueError(f"there is no variant {variant!r}; there are {', '.join(VARIANTS)}")
    return "\n\n".join((_START, *middle, _END))
