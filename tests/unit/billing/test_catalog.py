"""The catalog of the billing service: ten defects, whose hunks are the way from seeded to gold."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from billing_payment_debug import defects
from billing_payment_debug.defects import CatalogError, Defect
from gradekeeper.suites.defects import Hunk, load_defects
from guide import ROOT

SUITE = ROOT / "assets" / "suites" / "billing-payment-debug"
SEEDED, GOLD = defects.task_repo(), defects.gold()
HUNKS = [(group, n) for group, one in defects.catalog().items() for n in range(len(one.hunks))]
FILES = {
    "model/LineItem.java",
    *(
        f"service/{name}Service.java"
        for name in (
            *("Discount", "Invoice", "Payment", "Refund"),
            *("Subscription", "Tax", "UsageReport", "Webhook"),
        )
    ),
}


def test_ten_defects_in_nine_files_make_gold() -> None:
    defects.verify(SEEDED, GOLD)
    assert len(defects.catalog()) == len(defects.GROUPS) == 10
    assert set(GOLD) == {f"src/main/java/com/acme/billing/{name}" for name in FILES}
    assert set().union(*(one.files for one in defects.catalog().values())) == set(GOLD)


def test_the_suite_has_the_same_defects_in_the_same_order() -> None:
    assert [(one.name, one.hunks) for one in load_defects(SUITE)] == [
        (one.group, one.hunks) for one in defects.catalog().values()
    ]


def without(group: str, place: int) -> dict[str, Defect]:
    one = defects.catalog()[group]
    left = tuple(hunk for n, hunk in enumerate(one.hunks) if n != place)
    return {**defects.catalog(), group: replace(one, hunks=left)}


@pytest.mark.parametrize(("group", "place"), HUNKS)
def test_a_hunk_that_is_missing_is_missed(group: str, place: int) -> None:
    (path,) = defects.catalog()[group].files
    with pytest.raises(CatalogError, match=f"do not give gold: {path}, line"):
        defects.verify(SEEDED, GOLD, defects=without(group, place))


@pytest.mark.parametrize(("group", "place"), HUNKS)
@pytest.mark.parametrize("side", ["before", "after"])
def test_a_hunk_that_was_altered_is_noticed(group: str, place: int, side: str) -> None:
    hunks = list(defects.catalog()[group].hunks)
    text = getattr(hunks[place], side)
    hunks[place] = replace(hunks[place], **{side: text.replace(";", "; ", 1)})
    assert getattr(hunks[place], side) != text
    changed = replace(defects.catalog()[group], hunks=tuple(hunks))
    with pytest.raises(CatalogError, match=r"the file has changed; write it|do not give gold"):
        defects.verify(SEEDED, GOLD, defects={**defects.catalog(), group: changed})


def test_what_gold_or_the_repository_changed_is_noticed() -> None:
    path = "src/main/java/com/acme/billing/model/LineItem.java"
    with pytest.raises(CatalogError, match=f"do not give gold: {path}"):
        defects.verify(SEEDED, {**GOLD, path: GOLD[path] + b"\n"})
    with pytest.raises(CatalogError, match="the repair of line_rounding alone: "):
        defects.verify({**SEEDED, path: GOLD[path]}, GOLD)
    with pytest.raises(CatalogError, match=r"README.md is in gold, but is the same without"):
        defects.verify(SEEDED, {**GOLD, "README.md": SEEDED["README.md"]})


@given(st.permutations(sorted(defects.GROUPS)), st.integers(0, 10))
def test_defects_are_independent(order: list[str], count: int) -> None:
    """Repaired at once, or one by one in any order: the same files."""
    one_by_one = SEEDED
    for group in order[:count]:
        one_by_one = defects.apply(one_by_one, [group])
    assert one_by_one == defects.apply(SEEDED, order[:count])
    touched = {path for path in SEEDED if one_by_one[path] != SEEDED[path]}
    assert touched == set().union(*(defects.catalog()[group].files for group in order[:count]))


def test_a_repair_is_made_once_and_known_by_name() -> None:
    with pytest.raises(CatalogError, match="applies 0 times, not once"):
        defects.apply(defects.apply(SEEDED, ["tax"]), ["tax"])
    with pytest.raises(CatalogError, match="no defect 'taxes'; there are proration, tax, coupons"):
        defects.apply(SEEDED, ["tax", "taxes"])


def test_locations_exist() -> None:
    for one in defects.catalog().values():
        (path,) = one.files
        owner, _, place = re.split(r"([.,])", one.location, maxsplit=1)
        assert path.endswith(f"/{owner}.java")
        if "." in one.location:
            assert re.search(rf"\b{place.strip()}\(", SEEDED[path].decode()), one.location


def test_tickets_tell_symptoms_and_no_place() -> None:
    text = b"".join(content for path, content in SEEDED.items() if path.endswith(".java")).decode()
    compound = {word for word in re.findall(r"\b\w+\b", text) if re.search(r"[a-z][A-Z]", word)}
    assert {"calculateTax", "RefundService", "unitsByDay"} <= compound
    for one in defects.catalog().values():
        words = set(re.findall(r"\w+", one.ticket))
        assert not words & compound, one.group
        assert not re.search(r"[_(){}/]|\.java|\bmethod|\bclass\b|synchroni|double", one.ticket)
        assert 100 < len(one.ticket) < 400
    assert len({one.ticket for one in defects.catalog().values()}) == 10


def test_a_hunk_is_what_it_says() -> None:
    """No hunk carries more than it needs: each begins and ends within three lines of a change."""
    for one in defects.catalog().values():
        for hunk in one.hunks:
            assert isinstance(hunk, Hunk)
            before, after = hunk.before.splitlines(), hunk.after.splitlines()
            for lines in (
                zip(before, after, strict=False),
                zip(before[::-1], after[::-1], strict=False),
            ):
                same = next((n for n, (a, b) in enumerate(lines) if a != b), 0)
                assert same <= 3, one.group
