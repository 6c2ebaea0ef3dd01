"""Plan changes: `old price|new price|first day|last day|change date`."""

import random
from collections.abc import Callable
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal

from .amounts import CENT, Draw

Period = tuple[date, date]


def _price(rng: random.Random) -> Decimal:
    return Decimal(rng.randint(900, 99_999)) / 100


def _month(rng: random.Random) -> Period:
    year, month = rng.randint(2018, 2030), rng.randint(1, 12)
    first = date(year, month, 1)
    following = date(year + month // 12, month % 12 + 1, 1)
    return first, following - timedelta(days=1)


def _leap_february(rng: random.Random) -> Period:
    year = rng.choice([2016, 2020, 2024, 2028, 2032])
    return date(year, 2, 1), date(year, 2, 29)


def _odd_period(rng: random.Random) -> Period:
    first = date(2018, 1, 1) + timedelta(days=rng.randint(0, 4000))
    return first, first + timedelta(days=rng.choice([6, 13, 44, 89, 90, 181, 364, 365]))


def _inner_day(rng: random.Random, period: Period) -> date:
    return period[0] + timedelta(days=rng.randint(2, (period[1] - period[0]).days - 2))


def _shares(price: Decimal, remaining: int, days: int) -> tuple[Decimal, Decimal]:
    """The share of a price, and what comes of rounding the price of a day first."""
    exact = (price * remaining / days).quantize(CENT, ROUND_HALF_UP)
    by_day = (price / days).quantize(CENT, ROUND_HALF_UP) * remaining
    return exact, by_day


def _telling(old: Decimal, new: Decimal, period: Period, day: date) -> bool:
    """Whether a day more or less, or a rounded daily rate, changes credit, charge and net."""
    days = (period[1] - period[0]).days + 1
    remaining = (period[1] - day).days + 1

    def amounts(count: int, column: int = 0, of: int = days) -> tuple[Decimal, Decimal, Decimal]:
        credit, charge = _shares(old, count, of)[column], _shares(new, count, of)[column]
        return credit, charge, charge - credit

    right = amounts(remaining)
    wrong = [amounts(remaining - 1), amounts(remaining + 1)]
    if 1 < remaining:
        wrong.append(amounts(remaining, 1))
    return all(a != b for other in wrong for a, b in zip(right, other, strict=True))


def _changes(
    count: int,
    period: Callable[[random.Random], Period],
    day: Callable[[random.Random, Period], date],
    up: bool | None = None,
) -> Draw:
    """Changes to a dearer plan (`up`), to a cheaper one, or (None) one after the other."""

    def draw(rng: random.Random) -> str:
        cases: list[str] = []
        while len(cases) < count:
            old, new, days = _price(rng), _price(rng), period(rng)
            change = day(rng, days)
            dearer = up if up is not None else len(cases) % 2 == 1
            if (new > old) == dearer and _telling(old, new, days, change):
                cases.append(f"{old}|{new}|{days[0]}|{days[1]}|{change}")
        return ";".join(cases)

    return draw


def _one_day_and_odd(rng: random.Random) -> str:
    """Odd periods, one of them a single day long."""
    day = date(2019, 1, 1) + timedelta(days=rng.randint(0, 3000))
    single = f"{_price(rng)}|{_price(rng)}|{day}|{day}|{day}"
    return _changes(4, _odd_period, _inner_day)(rng) + ";" + single


def _same_price(rng: random.Random) -> str:
    cases = []
    for _ in range(4):
        price, days = _price(rng), _odd_period(rng)
        cases.append(f"{price}|{price}|{days[0]}|{days[1]}|{_inner_day(rng, days)}")
    return ";".join(cases)


def _in_and_out(rng: random.Random) -> str:
    """Change dates on both sides of both ends of a period, in random order."""
    cases = []
    for offset in (-1, 0):
        for end in (False, True):
            days = _month(rng)
            day = days[1] - timedelta(days=offset) if end else days[0] + timedelta(days=offset)
            cases.append(f"{_price(rng)}|{_price(rng)}|{days[0]}|{days[1]}|{day}")
    days = _month(rng)
    long_ago = days[0] - timedelta(days=rng.randint(2, 400))
    cases.append(f"{_price(rng)}|{_price(rng)}|{days[0]}|{days[1]}|{long_ago}")
    rng.shuffle(cases)
    return ";".join(cases)


GENERATORS: dict[str, Draw] = {
    "change_up": _changes(4, _month, _inner_day, up=True),
    "change_down": _changes(4, _month, _inner_day, up=False),
    "change_first_day": _changes(3, _month, lambda rng, period: period[0]),
    "change_last_day": _changes(3, _month, lambda rng, period: period[1]),
    "change_leap": _changes(3, _leap_february, _inner_day),
    "change_odd": _one_day_and_odd,
    "change_any": _changes(3, _odd_period, _inner_day),
    "change_same_price": _same_price,
    "change_in_and_out": _in_and_out,
}
