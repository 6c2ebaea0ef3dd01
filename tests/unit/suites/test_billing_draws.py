"""Whatever draw a grading takes, its inputs tell every wrong program that they are there for."""

import importlib.util
import json
import sys
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path
from types import ModuleType

SUITE = Path(__file__).parents[3] / "assets/suites/billing-payment-debug"
NAME = "billing_generators"


def generators(module: str) -> ModuleType:
    """A module of the suite's generators."""
    if NAME not in sys.modules:
        folder = SUITE / "generators"
        spec = importlib.util.spec_from_file_location(
            NAME, folder / "__init__.py", submodule_search_locations=[str(folder)]
        )
        assert spec is not None and spec.loader is not None
        sys.modules[NAME] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[NAME])
    return importlib.import_module(f"{NAME}.{module}")


def drawn(test: str, separator: str = ";") -> Iterator[list[str]]:
    """The cases of every draw of a test."""
    draws = json.loads((SUITE / f"referee/pins/{test.partition('/')[0]}.json").read_text())[test]
    assert len(draws) == 8
    for draw in draws:
        yield draw["inputs"]["cases"].split(separator)


def coupons_of(text: str) -> list[tuple[str, str, Decimal]]:
    parts = [one.split(":") for one in text.split(",") if one]
    return [(code, value[0], Decimal(value[1:])) for code, value in parts]


def test_percentages_with_many_decimals() -> None:
    coupons = generators("coupons")
    for cases in drawn("coupons/guard_one_percentage"):
        missing = set(coupons.NEARLY_RIGHT)
        for case in cases:
            amount, entered = case.split("|")
            promises = coupons_of(entered)
            right = coupons.redeemed(Decimal(amount), promises)
            missing -= {
                name
                for name, wrong in coupons.NEARLY_RIGHT.items()
                if wrong(Decimal(amount), promises) != right
            }
        assert not missing


def test_rates_and_amounts_with_many_digits() -> None:
    taxes = generators("taxes")
    every = set(taxes.nearly_right_taxes(Decimal(1), Decimal(1)))
    for test, told in (
        ("fix_rates_with_many_decimals", every - {"half a cent up"}),
        ("fix_credits_mirror_charges", {"half a cent up"}),
    ):
        for cases in drawn(f"tax/{test}"):
            pairs = [map(Decimal, case.split("*")) for case in cases]
            assert told <= set().union(*(taxes.nearly_right(*pair) for pair in pairs))


def test_lines_just_below_half_a_cent() -> None:
    lines = generators("lines")
    for test in ("fix_fractions_of_a_cent", "fix_credits_of_fractions"):
        for (cases,) in drawn(f"line_rounding/{test}"):
            caught: set[str] = set()
            for case in cases.split(","):
                count, price = case.split("*")
                caught |= lines._wrong_about_line((int(count), Decimal(price)))
            assert caught >= lines.WRONG_FRACTIONS


def test_shares_of_prices_that_are_hard_to_round() -> None:
    changes = generators("changes")
    every = {*changes._wrong_shares(Decimal(1), 1, 1), "difference rounded"}
    for cases in drawn("proration/fix_odd_periods"):
        caught: set[str] = set()
        shapes = set()
        for case in cases:
            old, new, *days = case.split("|")
            first, last, change = map(date.fromisoformat, days)
            length, remaining = (last - first).days + 1, (last - change).days + 1
            caught |= changes._wrong_about_change(Decimal(old), Decimal(new), remaining, length)
            shapes |= {length, "New Year"} if last.year > change.year else {length}
        assert caught >= every
        assert shapes >= {1, 31, 366, "New Year"}


def test_codes_with_one_hash_and_letters_that_a_locale_changes() -> None:
    repeated, coupons = generators("repeated"), generators("coupons")
    for test, told in (
        ("guard_different_codes", {"hash of capitals", "hash of small letters"}),
        ("fix_same_code_in_other_capitals", {"turkish"}),
        ("fix_first_of_a_code_stands", {"sorted"}),
    ):
        for bills in drawn(f"coupon_dedup/{test}"):
            caught: set[str] = set()
            for bill in bills:
                _, lines, entered = bill.split("|")
                pairs = [line.split("*") for line in lines.split(",")]
                amount = coupons.sum_of([(int(count), Decimal(price)) for count, price in pairs])
                caught |= repeated._wrong_about_codes(amount, coupons_of(entered)) or set()
            assert caught >= told


def test_days_of_zones_without_a_place_and_last_days_that_are_longer_or_shorter() -> None:
    usage = generators("usage")
    for test in ("fix_evenings_in_the_west", "fix_mornings_in_the_east"):
        for cases in drawn(f"usage_timezone/{test}"):
            assert any(case.partition("|")[0] in usage.OFFSETS for case in cases)
    for cases in drawn("usage_timezone/fix_days_on_which_clocks_change"):
        lengths = set()
        for case in cases:
            zone, _, last, _ = case.split("|")
            day = date.fromisoformat(last)
            lengths.add(usage._start(day + usage.DAY, zone) - usage._start(day, zone))
        assert len(lengths) > 1
