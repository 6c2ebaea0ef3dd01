"""What gold was seen to do is what the calendar and arithmetic say, worked out another way."""

import json
from collections.abc import Iterator
from datetime import date, datetime, timedelta, tzinfo
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

PINS = Path(__file__).parents[3] / "assets/suites/billing-payment-debug/referee/pins"


def pinned(test: str) -> Iterator[tuple[list[str], list[Any]]]:
    """The cases of every draw of a test, and what was observed of them."""
    draws = json.loads((PINS / f"{test.partition('/')[0]}.json").read_text())[test]
    assert len(draws) == 8
    for draw in draws:
        (transcript,) = draw["transcripts"]
        yield draw["inputs"]["cases"].split(";"), transcript


def zone_of(name: str) -> tzinfo:
    """The zone of a place, or of an offset such as `+05:30` or `UTC-07:00`."""
    if name[-3:-2] != ":":
        return ZoneInfo(name)
    zone = datetime.strptime(name.removeprefix("UTC"), "%z").tzinfo
    assert zone is not None
    return zone


def by_calendar(case: str, *, times: int = 1) -> list[Any]:
    """The days and units that a report of a case lists, as they are observed."""
    zone, first, last, reported = case.split("|")
    units: dict[date, int] = {}
    for use in reported.split(","):
        at, count = use.split("*")
        day = datetime.fromisoformat(at).astimezone(zone_of(zone)).date()
        units[day] = units.get(day, 0) + times * int(count)
    listed: list[Any] = []
    day = date.fromisoformat(first)
    while day <= date.fromisoformat(last):
        listed.append({"t": "time", "c": "java.time.LocalDate", "v": day.isoformat()})
        listed.append({"t": "int", "v": str(units.get(day, 0))})
        day += timedelta(days=1)
    return listed


@pytest.mark.parametrize(
    "test",
    [
        "fix_evenings_in_the_west",
        "fix_mornings_in_the_east",
        "fix_days_on_which_clocks_change",
        "fix_midnight_belongs_to_the_new_day",
        "guard_books_in_greenwich",
    ],
)
def test_days_of_use_are_those_of_the_calendar(test: str) -> None:
    for cases, transcript in pinned(f"usage_timezone/{test}"):
        assert transcript == [["obs", "a", by_calendar(case)] for case in cases]


def test_every_report_of_use_counts_for_its_customer_alone() -> None:
    for cases, transcript in pinned("usage_timezone/guard_all_use_of_the_customer_counts"):
        expected = []
        for case in cases:
            own = ["obs", "a", by_calendar(case, times=2)]
            expected += [own, ["obs", "a", by_calendar(case, times=3)], own]
        assert transcript == expected


def test_the_rate_registered_last_counts() -> None:
    for cases, transcript in pinned("tax_cache/fix_a_new_rate_counts_at_once"):
        ((kind, key, seen),) = transcript
        expected = []
        for case in cases:
            amount, rates = case.split("*")
            for rate in map(Decimal, rates.split(",")):
                tax = (Decimal(amount) * rate).quantize(Decimal("0.01"), ROUND_HALF_UP)
                expected += [rate, tax]
        assert (kind, key) == ("obs", "a")
        assert [Decimal(value["v"]) for value in seen] == expected


def cents(text: str) -> int:
    return int(Decimal(text) * 100)


def half_up(value: Fraction) -> int:
    """The nearest whole number; halves go away from zero."""
    size = (abs(value) + Fraction(1, 2)).__floor__()
    return size if value > 0 else -size


def left_of(amount: int, coupons: list[tuple[str, str]]) -> int:
    """Cents that are left to pay of an amount, counted in whole cents all along."""
    for _, promise in coupons:
        value = Fraction(promise[1:])
        off = half_up(amount * value / 100) if promise[0] == "P" else half_up(value * 100)
        amount = max(0, amount - off)
    return amount


def coupons_of(text: str) -> list[tuple[str, str]]:
    pairs = [one.split(":") for one in text.split(",") if one]
    return [(code, promise) for code, promise in pairs]


def line_total(line: str) -> int:
    count, price = line.split("*")
    return half_up(int(count) * Fraction(price) * 100)


def seen(transcript: list[Any], key: str) -> list[int]:
    """The amounts under a key, in cents; what is refused counts as none."""
    return [cents(value["v"]) for kind, name, value in transcript if (kind, name) == ("obs", key)]


@pytest.mark.parametrize(
    "test",
    [
        "fix_half_cents",
        "fix_just_below_half_cents",
        "fix_ledger_amounts",
        "fix_rates_with_many_decimals",
        "fix_credits_mirror_charges",
        "guard_everyday_amounts",
        "guard_nothing_to_tax",
    ],
)
def test_taxes_are_exact_until_they_are_rounded(test: str) -> None:
    for cases, transcript in pinned(f"tax/{test}"):
        exact = [
            Fraction(amount) * Fraction(rate) for amount, rate in (c.split("*") for c in cases)
        ]
        taxes = next(value for _, key, value in transcript if key == "a")
        assert [cents(tax["v"]) for tax in taxes] == [half_up(tax * 100) for tax in exact]
        scales = next(value for _, key, value in transcript if key == "s")
        assert scales == [{"t": "int", "v": "2"}]


@pytest.mark.parametrize(
    "test",
    [
        "fix_upgrade_in_mid_period",
        "fix_downgrade_in_mid_period",
        "fix_first_day_is_the_whole_period",
        "fix_last_day_is_one_day",
        "fix_february_of_a_leap_year",
        "fix_odd_periods",
    ],
)
def test_days_of_a_period_cost_their_share(test: str) -> None:
    for cases, transcript in pinned(f"proration/{test}"):
        nets = []
        for case in cases:
            old, new, *days = case.split("|")
            first, last, change = map(date.fromisoformat, days)
            part = Fraction((last - change).days + 1, (last - first).days + 1)
            nets.append(half_up(cents(new) * part) - half_up(cents(old) * part))
        assert seen(transcript, "b") == nets
        assert {value["v"] for _, key, value in transcript if key == "s"} == {"2"}


@pytest.mark.parametrize(
    "test",
    [
        "fix_two_percentages",
        "fix_many_percentages",
        "fix_percentage_after_an_amount",
        "fix_every_step_in_whole_cents",
        "guard_one_percentage",
        "guard_amounts",
        "guard_amount_after_a_percentage",
        "guard_more_than_there_is_to_pay",
    ],
)
def test_coupons_take_off_whole_cents_of_what_is_left(test: str) -> None:
    for cases, transcript in pinned(f"coupons/{test}"):
        expected = []
        for case in cases:
            amount, coupons = case.split("|")
            expected.append(left_of(cents(amount), coupons_of(coupons)))
        assert seen(transcript, "a") == expected
        assert {value["v"] for _, key, value in transcript if key == "s"} == {"2"}


@pytest.mark.parametrize(
    "test",
    [
        "coupons/fix_invoices_with_percentages",
        "coupons/guard_invoices_with_one_percentage",
        "coupon_dedup/fix_same_code_twice",
        "coupon_dedup/fix_same_code_in_other_capitals",
        "coupon_dedup/fix_same_code_later_on",
        "coupon_dedup/fix_first_of_a_code_stands",
        "coupon_dedup/guard_different_codes",
        "coupon_dedup/guard_same_code_on_other_invoices",
        "coupon_dedup/guard_refused_invoices",
        "line_rounding/fix_invoices_of_fractions",
    ],
)
def test_invoices_take_each_code_once_and_tax_what_is_left(test: str) -> None:
    for bills, transcript in pinned(test):
        discounts, taxes, totals = [], [], []
        for bill in bills:
            rate, lines, entered = bill.split("|")
            subtotal = sum(map(line_total, lines.split(",")))
            kept: dict[str, tuple[str, str]] = {}
            for code, promise in coupons_of(entered):
                kept.setdefault(code.casefold(), (code, promise))
            net = left_of(subtotal, list(kept.values()))
            discounts.append(subtotal - net)
            taxes.append(half_up(net * Fraction(rate)))
            totals.append(net + taxes[-1])
        assert seen(transcript, "b") == discounts
        assert seen(transcript, "c") == taxes
        assert seen(transcript, "a") == seen(transcript, "e") == totals
        numbers = [value for _, key, value in transcript if key == "d"]
        assert numbers == [f"INV-{number:06}" for number in range(1, len(bills) + 1)]


@pytest.mark.parametrize(
    "test",
    [
        "fix_fractions_of_a_cent",
        "fix_credits_of_fractions",
        "fix_huge_quantities",
        "guard_prices_in_whole_cents",
        "guard_single_units",
        "guard_unusable_lines",
    ],
)
def test_totals_of_lines_are_rounded_once(test: str) -> None:
    for cases, transcript in pinned(f"line_rounding/{test}"):
        lines = [one for one in cases[0].split(",") if int(one.partition("*")[0]) > 0]
        assert seen(transcript, "a") == [line_total(one) for one in lines]
        prices = [Decimal(value["v"]) for _, key, value in transcript if key == "b"]
        assert prices == [Decimal(one.partition("*")[2]) for one in lines]
