"""Plan changes: `old price|new price|first day|last day|change date`."""

import random
from collections.abc import Callable
from datetime import date, timedelta
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal

from .amounts import CENT, Draw, to_cents, twice_rounded

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


def _wrong_shares(price: Decimal, remaining: int, days: int) -> dict[str, Decimal]:
    """What programs answer that lose digits on the way, or round in another way."""
    exact = price * remaining / days
    decimals = (3, 4, 6, 8, 10, 12, 16)
    by_day = {n: _to(n, price / days) * remaining for n in decimals}
    by_part = {n: price * _to(n, Decimal(remaining) / days) for n in decimals}
    return {
        "truncate": exact.quantize(CENT, ROUND_DOWN),
        "half-even": exact.quantize(CENT, ROUND_HALF_EVEN),
        **{f"a day, {n} decimals": to_cents(value) for n, value in by_day.items()},
        **{f"a part, {n} decimals": to_cents(value) for n, value in by_part.items()},
        **{f"twice, {n} decimals": twice_rounded(exact, n) for n in (3, 4)},
    }


def _to(decimals: int, value: Decimal) -> Decimal:
    return value.quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)


def _wrong_about_change(old: Decimal, new: Decimal, remaining: int, days: int) -> set[str]:
    shares = [(price, to_cents(price * remaining / days)) for price in (old, new)]
    caught = {
        name
        for price, right in shares
        for name, share in _wrong_shares(price, remaining, days).items()
        if share != right
    }
    difference = to_cents((new - old) * remaining / days)
    if difference != shares[1][1] - shares[0][1]:
        caught.add("difference rounded")
    return caught


def _exact_halves(rng: random.Random) -> list[str]:
    """Shares that end in half a cent or close to it: together they catch all that lose digits."""
    cases: list[str] = []
    missing = {*_wrong_shares(Decimal(1), 1, 1), "difference rounded"}
    while missing:
        days = rng.choice([6, 12, 14, 18, 26, 28, 30, 36, 90, 366, 1000, 3650, 8000])
        remaining = rng.randint(1, days - 1)
        old, new = _price(rng), _price(rng)
        if days < 100 and (old * remaining * 1000) % days:
            continue
        caught = _wrong_about_change(old, new, remaining, days)
        if missing & caught:
            first = date(2018, 1, 1) + timedelta(days=rng.randint(0, 1000))
            last = first + timedelta(days=days - 1)
            cases.append(f"{old}|{new}|{first}|{last}|{last - timedelta(days=remaining - 1)}")
            missing -= caught
    return cases


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


def _shapes(rng: random.Random) -> list[tuple[Period, date]]:
    """One period of each shape that a calendar can take by surprise, and a change date in it."""
    year = rng.randint(2018, 2030)
    leap = rng.choice([2020, 2024, 2028])
    single = date(2019, 1, 1) + timedelta(days=rng.randint(0, 3000))

    def within(first: date, last: date, latest: int | None = None) -> tuple[Period, date]:
        days = (last - first).days
        return (first, last), first + timedelta(days=rng.randint(2, latest or days - 2))

    return [
        within(date(leap, 1, 1), date(leap, 12, 31)),
        within(date(leap, 2, rng.randint(2, 20)), date(leap + 1, 1, rng.randint(5, 28))),
        within(date(year, 12, rng.randint(5, 20)), date(year + 1, 1, rng.randint(5, 20)), 10),
        within(date(year, 2, rng.randint(5, 20)), date(year, 3, rng.randint(5, 20)), 12),
        within(date(year, 3, 1), date(year, 3, 31), 20),
        within(date(year, 10, 1), date(year, 10, 31), 20),
        within(date(year, 4, 1), date(year, 6, 30), 50),
        within(date(year, 1, 1), date(year + 1, 12, 31), 300),
        ((single, single), single),
    ]


def _odd_periods(rng: random.Random) -> str:
    """Periods of every shape, and prices whose shares are hard to round."""
    cases: list[str] = []
    for period, day in _shapes(rng):
        while True:
            old, new = _price(rng), _price(rng)
            if old != new and (period[0] == period[1] or _telling(old, new, period, day)):
                break
        cases.append(f"{old}|{new}|{period[0]}|{period[1]}|{day}")
    cases += _exact_halves(rng)
    rng.shuffle(cases)
    return ";".join(cases)


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
    "change_odd": _odd_periods,
    "change_any": _changes(3, _odd_period, _inner_day),
    "change_same_price": _same_price,
    "change_in_and_out": _in_and_out,
}
