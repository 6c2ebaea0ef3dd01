"""What gold was seen to do is what the calendar and arithmetic say, worked out another way."""

import json
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
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


def by_calendar(case: str, *, times: int = 1) -> list[Any]:
    """The days and units that a report of a case lists, as they are observed."""
    zone, first, last, reported = case.split("|")
    units: dict[date, int] = {}
    for use in reported.split(","):
        at, count = use.split("*")
        day = datetime.fromisoformat(at).astimezone(ZoneInfo(zone)).date()
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
