"""The ten defects of the billing service: what they are, and the hunks that repair them.

The hunks are the patches of the hidden suite, from the service as it is seeded to gold, in
`assets/defects/`. `verify` proves that they are exactly that; whoever loads tasks calls it first.
Nothing of this reaches the agent: prompts take tickets alone, and repositories come from `apply`.
"""

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

from gradekeeper.suites.defects import Hunk, apply_hunks, find_patch_problems, read_patch
from gradekeeper.suites.errors import SuiteError
from gradekeeper.suites.trees import read_tree

_ASSETS: Final = Path(__file__).parent / "assets"


class CatalogError(RuntimeError):
    """The catalog does not fit the repository, or there is no such defect; says what to do."""


@dataclass(frozen=True, slots=True)
class Defect:
    """One seeded defect.

    Attributes:
        group: Its name, and that of its hidden tests' group.
        category: What kind of mistake it is, in a few words.
        location: `Class.method`, or `Class` and what of it; for maintainers.
        ticket: How somebody who suffers from it reports it, without names of files or methods.
        hunks: What repairs it, in order.
    """

    group: str
    category: str
    location: str
    ticket: str
    hunks: tuple[Hunk, ...]

    @property
    def files(self) -> frozenset[str]:
        """The files that a repair changes, from the root of the repository."""
        return frozenset(hunk.path for hunk in self.hunks)


_ENTRIES: Final = (
    (
        "proration",
        "off by one",
        "SubscriptionService.prorate",
        "Customers who change their plan in the middle of a billing period get wrong amounts. Both"
        " the credit for the old plan and the charge for the new one are a day short. Whoever"
        " changes on the very last day pays nothing at all for that day.",
    ),
    (
        "tax",
        "floating point",
        "TaxService.calculateTax",
        "Our accountants compute the tax of every invoice again. Nearly all agree with ours, but a"
        " few are off by a cent, always where the exact tax comes close to half a cent. On the"
        " largest accounts the difference is more than that.",
    ),
    (
        "coupons",
        "business rule",
        "DiscountService.applyCoupons",
        "A customer entered two percentage coupons on one order and paid less than she should. The"
        " second one was worth as much as if it had been the only one, although less was left to"
        " take it off.",
    ),
    (
        "refunds",
        "concurrency",
        "RefundService.issueRefund",
        "Two of us refunded the same invoice in the same moment, and the customer has now got back"
        " more than he ever paid. Each refund for itself was within what was left. When we try it"
        " one after the other, the second one is refused as it should be.",
    ),
    (
        "idempotency",
        "concurrency",
        "PaymentService.charge",
        "When the network is slow, the shop sends the request for a payment again, with the same"
        " key as before. Yesterday some cards were charged twice that way. If the repetition comes"
        " after the first answer, it does no harm.",
    ),
    (
        "line_rounding",
        "order of rounding",
        "LineItem.total",
        "We sell some things in large numbers at a fraction of a cent each. Invoices for them are"
        " far off: some come out much too high, and the cheapest things cost nothing, however many"
        " were bought. Items with ordinary prices are fine.",
    ),
    (
        "coupon_dedup",
        "input validation",
        "InvoiceService.generateInvoice",
        "Word is going round that a coupon works twice on one invoice if its code is entered twice,"
        " or once in capitals and once in small letters.",
    ),
    (
        "tax_cache",
        "stale cache",
        "TaxService, cache of rates",
        "A region has changed its tax rate, and we registered the new one in time. Invoices are"
        " still taxed at the old rate. After a restart of the service they were right. A region"
        " that we had never billed before had its new rate at once.",
    ),
    (
        "webhook_redelivery",
        "state, with a concurrency trap",
        "WebhookService.handle",
        "Our mail server was away for some minutes. The payment processor has since repeated all of"
        " its messages from that time, and we answered that we know them already, but the invoices"
        " that they were about are still open.",
    ),
    (
        "usage_timezone",
        "time zones",
        "UsageReportService.unitsByDay",
        "The daily usage report shows use around midnight on the wrong day. For our subsidiary in"
        " Auckland it is half of every day; our London office has seen it in summer only.",
    ),
)

GROUPS: Final = frozenset(entry[0] for entry in _ENTRIES)
"""The names of all defects."""


@functools.cache
def catalog() -> Mapping[str, Defect]:
    """All defects by group, in the order of the benchmark's table.

    Raises:
        CatalogError: a patch is missing or damaged.
    """
    try:
        return MappingProxyType(
            {
                group: Defect(
                    group,
                    category,
                    location,
                    ticket,
                    read_patch(_ASSETS / "defects" / f"{group}.patch"),
                )
                for group, category, location, ticket in _ENTRIES
            }
        )
    except SuiteError as error:
        raise CatalogError(str(error)) from None


def task_repo() -> dict[str, bytes]:
    """Every file of the service with all ten defects, by path."""
    return _read("task_repo")


def gold() -> dict[str, bytes]:
    """The files that carry defects, without them, by path: an overlay on `task_repo`."""
    return _read("gold")


def apply(files: Mapping[str, bytes], groups: Iterable[str]) -> dict[str, bytes]:
    """Repair defects.

    Args:
        files: The seeded repository, or one in which other defects are repaired already.
        groups: The defects to repair; in whichever order, they are repaired in the catalog's.

    Returns:
        All files, the changed ones with new content.

    Raises:
        CatalogError: no such defect, or a hunk that does not apply exactly once.
    """
    known = catalog()
    wanted = set(groups)
    unknown = sorted(wanted - known.keys())
    if unknown:
        raise CatalogError(f"there is no defect {unknown[0]!r}; there are {', '.join(known)}")
    hunks = [hunk for group in known if group in wanted for hunk in known[group].hunks]
    try:
        return apply_hunks(files, hunks)
    except SuiteError as error:
        raise CatalogError(str(error)) from None


def verify(
    seeded: Mapping[str, bytes],
    overlay: Mapping[str, bytes],
    *,
    defects: Mapping[str, Defect] | None = None,
) -> None:
    """Prove that each hunk applies exactly once and that all together give gold, byte for byte.

    Args:
        seeded: The repository with all defects.
        overlay: Gold's own files.
        defects: To prove it of; default: the catalog.

    Raises:
        CatalogError: with one sentence for each defect or file that is wrong.
    """
    known = catalog() if defects is None else defects
    repairs = {group: defect.hunks for group, defect in known.items()}
    problems = find_patch_problems(seeded, {**seeded, **overlay}, repairs)
    problems += [
        f"{path} is in gold, but is the same without any repair: leave it out"
        for path in sorted(overlay)
        if seeded.get(path) == overlay[path]
    ]
    if problems:
        raise CatalogError("; ".join(problems))


def _read(name: str) -> dict[str, bytes]:
    folder = _ASSETS / name
    if not folder.is_dir():
        raise CatalogError(f"{folder} is missing: install the distribution anew")
    return {path: content for path, (content, _) in read_tree(folder).items()}
