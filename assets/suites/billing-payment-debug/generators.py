"""Inputs of the suite, drawn when its expectations are pinned.

A drawn input is only good if it tells a right program from the wrong ones that the suite is about,
so the functions here work out what the wrong ones would answer and draw until each of them differs
(guards: until none does). What is right is not decided here: that is observed on the gold
submission.
"""

import random
from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from fractions import Fraction
from math import floor
from zoneinfo import ZoneInfo

CENT = Decimal("0.01")

# --- plan changes: "old|new|first day|last day|change date" ---------------------------------------

Draw = Callable[[random.Random], str]
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


# --- taxes: "amount*rate" and "rate:quantity*price,…" ---------------------------------------------

Pair = tuple[Decimal, Decimal]


def _exact_tax(amount: Decimal, rate: Decimal) -> Decimal:
    return (amount * rate).quantize(CENT, ROUND_HALF_UP)


def _java_round(value: float) -> int:
    return floor(Fraction(value) + Fraction(1, 2))


def _wrong_taxes(amount: Decimal, rate: Decimal) -> dict[str, Decimal]:
    """What the wrong programs answer: floating point in three coats, other ways of rounding."""
    product = float(amount) * float(rate)

    def cents(value: float) -> Decimal:
        return Decimal(repr(value)).quantize(CENT, ROUND_HALF_UP)

    return {
        "double": cents(_java_round(product * 100) / 100.0),
        "epsilon": cents(_java_round(product * 100 + 1e-6) / 100.0),
        "value-of": cents(product),
        "half-even": (amount * rate).quantize(CENT, ROUND_HALF_EVEN),
        "truncate": (amount * rate).quantize(CENT, ROUND_DOWN),
    }


def _caught(pairs: list[Pair]) -> set[str]:
    return {
        name
        for amount, rate in pairs
        for name, tax in _wrong_taxes(amount, rate).items()
        if tax != _exact_tax(amount, rate)
    }


FLOATING = {"double", "epsilon", "value-of"}


def _everyday(rng: random.Random) -> Pair:
    rate = rng.choice(["0.05", "0.1", "0.19", "0.2", "0.25"])
    return Decimal(rng.randint(100, 99_999)) / 100, Decimal(rate)


def _half(rng: random.Random) -> Pair:
    """A product that ends in exactly half a cent."""
    while True:
        amount = Decimal(rng.randint(100, 9_999_999)) / 100
        rate = Decimal(rng.choice(["0.05", "0.15", "0.075", "0.025", "0.35", "0.0825", "0.125"]))
        if amount * rate * 1000 % 10 == 5:
            return amount, rate


def _near_half(rng: random.Random) -> Pair:
    """A product that falls short of half a cent by less than a ten-millionth of a cent."""
    while True:
        amount = Decimal(rng.randint(10_000, 99_999_999)) / 100
        tax = (Decimal(rng.randint(100, 99_999)) + Decimal("0.49999995")) / 100
        rate = (tax / amount).quantize(Decimal("1e-14"), ROUND_DOWN)
        if 0 < rate < 1:
            return amount, rate


def _ledger(rng: random.Random) -> Pair:
    return (
        Decimal(rng.randint(10**14, 9 * 10**14)) / 100,
        Decimal(rng.choice(["0.075", "0.0825", "0.19", "0.21", "0.0725", "0.08875"])),
    )


def _many_decimals(rng: random.Random) -> Pair:
    return Decimal(rng.randint(10**9, 10**13)) / 100, Decimal(rng.randint(1, 99_999)) / 100_000


def _credit(rng: random.Random) -> Pair:
    amount, rate = _half(rng)
    return -amount, rate


def _pairs(
    kind: Callable[[random.Random], Pair],
    catch: set[str],
    *,
    spare: Set[str] = frozenset(),
    count: int = 16,
) -> Draw:
    """At least `count` cases that catch all of `catch` and none of `spare`.

    Where cases of the kind cannot catch a program, others help out.
    """

    def candidates(rng: random.Random) -> Iterator[Pair]:
        for _ in range(3000):
            yield kind(rng)
        while True:
            amount, rate = rng.choice([_near_half, _ledger, _half])(rng)
            yield (-amount if kind is _credit else amount), rate

    def draw(rng: random.Random) -> str:
        cases: list[Pair] = []
        while len(cases) < count:
            pair = kind(rng)
            if not spare & _caught([pair]):
                cases.append(pair)
        missing = catch - _caught(cases)
        source = candidates(rng)
        while missing:
            pair = next(source)
            caught = _caught([pair])
            if missing & caught and not spare & caught:
                cases.append(pair)
                missing -= caught
        rng.shuffle(cases)
        return ";".join(f"{amount}*{rate}" for amount, rate in cases)

    return draw


def _harmless(rng: random.Random) -> Pair:
    """An everyday case that floating-point programs and banker's rounding get right as well."""
    while True:
        pair = _everyday(rng)
        if not {*FLOATING, "half-even"} & _caught([pair]):
            return pair


def _plain(rng: random.Random) -> str:
    return ";".join(f"{amount}*{rate}" for amount, rate in (_harmless(rng) for _ in range(12)))


def _nothing(rng: random.Random) -> str:
    """Zero amounts and zero rates among everyday cases."""
    cases = [_harmless(rng) for _ in range(6)]
    cases += [(Decimal(0), _harmless(rng)[1]) for _ in range(3)]
    cases += [(_harmless(rng)[0], Decimal(0)) for _ in range(3)]
    rng.shuffle(cases)
    return ";".join(f"{amount}*{rate}" for amount, rate in cases)


def _bills(rng: random.Random) -> str:
    """Bills whose lines, taxed together, give something else than taxed one by one."""
    catch = {*FLOATING, "half-even", "together"}
    bills: list[str] = []
    while len(bills) < 8 or catch:
        rate = Decimal(rng.choice(["0.05", "0.15", "0.075", "0.025", "0.35", "0.0825", "0.125"]))
        if len(bills) >= 8:
            # a rate that brings the first line to just under half a cent
            rate = rng.choice([_near_half(rng)[1], rate])
        lines = []
        for _ in range(rng.randint(2, 6)):
            count, price = rng.randint(1, 12), Decimal(rng.randint(100, 9_999)) / 100
            lines.append((count, price))
        if rate.as_tuple().exponent < -6:
            amount = lines[0][0] * lines[0][1]
            cents = floor(amount * rate * 100)
            rate = (cents + Decimal("0.49999995")) / 100 / amount
            rate = rate.quantize(Decimal("1e-14"), ROUND_DOWN)
        totals = [count * price for count, price in lines]
        right = sum(_exact_tax(total, rate) for total in totals)
        wrong = [_wrong_taxes(total, rate) for total in totals]
        caught = {name for name in wrong[0] if sum(one[name] for one in wrong) != right}
        if _exact_tax(sum(totals, Decimal(0)), rate) != right:
            caught.add("together")
        if len(bills) < 8 or catch & caught:
            bills.append(f"{rate}:" + ",".join(f"{count}*{price}" for count, price in lines))
            catch -= caught
    rng.shuffle(bills)
    return ";".join(bills)


# --- the rest of the service: lines separated by semicolons, fields by "|" ------------------------


def _money(rng: random.Random, low: int, high: int) -> Decimal:
    return Decimal(rng.randint(low, high)) / 100


def _name(rng: random.Random) -> str:
    return "".join(rng.choice("abcdefghkmnpqrstuvwxyz") for _ in range(6))


def _blocks(rng: random.Random) -> str:
    """Units around the ends of blocks of a thousand."""
    full = rng.randint(2, 40) * 1000
    units = [1, 999, 1000, 1001, full - 1, full, full + 1, rng.randint(2, 99_999)]
    rng.shuffle(units)
    return ";".join(f"{count}|{_money(rng, 1, 9_999)}" for count in units)


def _accounts(rng: random.Random) -> str:
    """Invoices in every state: status, total, paid, refunded, credited, credited again."""
    lines = []
    for status, paid, refunded, credits in [
        ("OPEN", False, False, 0),
        ("OPEN", False, False, 1),
        ("PAID", True, False, 0),
        ("PAID", True, True, 0),
        ("PAID", True, False, 2),
        ("PAID", True, True, 1),
        ("VOID", False, False, 0),
    ]:
        total = _money(rng, 10_000, 99_999)
        part = [_money(rng, 100, 3_000) for _ in range(3)]
        amounts = [total if paid else 0, part[0] if refunded else 0]
        amounts += [part[i] if i <= credits else 0 for i in (1, 2)]
        lines.append("|".join(map(str, [status, total, *amounts])))
    rng.shuffle(lines)
    return ";".join(lines)


def _day(rng: random.Random) -> date:
    return date(2018, 1, 1) + timedelta(days=rng.randint(0, 4000))


def _late_days(rng: random.Random) -> str:
    """One invoice is looked at on both sides of each reminder's day, others at other times."""
    days = {5, 6, 7, 8, 13, 14, 29, 30, rng.randint(31, 60), 90}
    others = [
        0,
        -rng.randint(10, 20),
        -rng.randint(26, 60),
        rng.randint(1, 12),
        rng.randint(20, 60),
    ]
    return f"{_day(rng)}|{','.join(map(str, others))}|{','.join(map(str, sorted(days)))}"


def _new_due_day(rng: random.Random) -> str:
    """The due date moves when the first reminder is out, so that the second one comes later."""
    later = rng.randint(2, 9)
    days = [13, 14, 13 + later, 14 + later, 29, 30, 29 + later, 30 + later]
    return f"{_day(rng)}|{later}|{','.join(map(str, sorted(set(days))))}"


def _alerts(rng: random.Random) -> str:
    """A period; uses up to just below each threshold and onto it, or over all of them at once."""
    start = datetime(2018, 1, 1, tzinfo=UTC) + timedelta(hours=rng.randint(0, 60_000))
    end = start + timedelta(days=rng.randint(20, 40), minutes=rng.randint(1, 500))
    included = rng.randint(100, 5_000) * 2 + 1
    if rng.random() < 0.25:
        steps = [included]
    else:
        edges = [-(-included * percent // 100) for percent in (50, 80, 100)]
        steps = [units for edge in edges for units in (edge - 1, edge)]
    lines = []
    used = 0
    for step in steps:
        at = start + timedelta(seconds=rng.randint(0, int((end - start).total_seconds()) - 1))
        lines.append((at, step - used))
        used = step
    if len(lines) > 1:
        # the period's first moment belongs to it
        lines[0] = (start, lines[0][1])
    outside = [end, start - timedelta(seconds=1)]
    for at in outside:
        lines.insert(rng.randint(0, len(lines)), (at, included))

    def iso(at: datetime) -> str:
        return f"{at:%Y-%m-%dT%H:%M:%S}Z"

    header = f"{iso(start)}|{iso(end)}|{included}"
    return ";".join([header, *(f"{iso(at)}|{units}" for at, units in lines)])


def _plans(rng: random.Random) -> str:
    """Plans out of order, three of them with one price."""
    names = [_name(rng) for _ in range(7)]
    prices = [str(_money(rng, 900, 99_999)) for _ in range(4)]
    equal = rng.randint(9, 900)
    prices += [f"{equal}", f"{equal}.0", f"{equal}.00"]
    rng.shuffle(prices)
    return ";".join(f"{name}|{price}" for name, price in zip(names, prices, strict=True))


def _entries(rng: random.Random) -> str:
    """A clock that goes on, falls back and catches up."""
    now = datetime(2018, 1, 1, tzinfo=UTC) + timedelta(minutes=rng.randint(0, 4_000_000))
    subjects = [_name(rng) for _ in range(2)]
    lines: list[str] = []
    for step in [0, 50, -400, 30, 900, -1, 700]:
        now += timedelta(seconds=step + rng.randint(0, 20) if step > 0 else step)
        lines.append(f"{now:%Y-%m-%dT%H:%M:%S}Z|{_name(rng)}|{subjects[len(lines) % 2]}")
    return ";".join(lines)


def _fields(rng: random.Random) -> str:
    """Texts with each character that needs care, and some without: two texts, amount, status."""
    texts = [_name(rng) for _ in range(12)]
    for place, mark in enumerate([",", '"', "/", '","', '""', "/,"]):
        at = rng.randint(0, 6)
        texts[place] = texts[place][:at] + mark + texts[place][at:]
    rng.shuffle(texts)
    return ";".join(
        f"{texts[i]}|{texts[i + 1]}|{_money(rng, 1, 9_999)}|{rng.choice(['OPEN', 'PAID', 'VOID'])}"
        for i in range(0, 12, 2)
    )


# --- rates one after the other: "amount*rate,rate,…" ----------------------------------------------

RATES = ["0.04", "0.05", "0.07", "0.1", "0.16", "0.19", "0.2", "0.21", "0.22", "0.25"]


def _successive_rates(rng: random.Random) -> str:
    """Amounts whose taxes at the rates all differ, with products that any arithmetic gets right."""
    entries: list[str] = []
    while len(entries) < 4:
        amount = Decimal(rng.randint(1_000, 99_999)) / 100
        rates = [Decimal(rate) for rate in rng.sample(RATES, 3)]
        taxes = {_exact_tax(amount, rate) for rate in rates}
        if len(taxes) == 3 and not _caught([(amount, rate) for rate in rates]) - {"truncate"}:
            entries.append(f"{amount}*" + ",".join(map(str, rates)))
    return ";".join(entries)


# --- metered use: "zone|first day|last day|instant*units,…" ---------------------------------------

DAY, TICK = timedelta(days=1), timedelta(microseconds=1)
WEST = ["America/Phoenix", "Pacific/Honolulu", "America/Bogota", "America/Lima", "America/Panama"]
EAST = ["Asia/Tokyo", "Asia/Kolkata", "Asia/Kathmandu", "Asia/Singapore", "Australia/Brisbane"]
NORTH = ["America/New_York", "America/Los_Angeles", "Europe/Berlin", "Europe/Helsinki"]
SOUTH = ["Australia/Sydney", "Pacific/Auckland", "America/Sao_Paulo"]
AROUND_NOON = (10, 13.9)
GREENWICH = ["UTC", "Etc/UTC", "Africa/Abidjan", "Atlantic/Reykjavik"]


@dataclass(frozen=True)
class Metered:
    """A report that is asked for, and the use that was reported before: moments in UTC, units."""

    zone: str
    first: date
    last: date
    uses: tuple[tuple[datetime, int], ...]

    def __str__(self) -> str:
        uses = ",".join(
            f"{at.replace(tzinfo=None).isoformat()}Z*{units}" for at, units in self.uses
        )
        return f"{self.zone}|{self.first}|{self.last}|{uses}"


def _start(day: date, zone: str) -> datetime:
    return datetime.combine(day, time.min, ZoneInfo(zone)).astimezone(UTC)


def _offset(at: datetime, zone: str) -> timedelta:
    return at.astimezone(ZoneInfo(zone)).utcoffset() or timedelta(0)


def _standard(at: datetime, zone: str) -> timedelta:
    return _offset(at, zone) - (at.astimezone(ZoneInfo(zone)).dst() or timedelta(0))


def _local_day(at: datetime, zone: str) -> date:
    return (at + _offset(at, zone)).date()


def _report(
    case: Metered,
    day: Callable[[datetime], date] | None = None,
    within: Callable[[datetime], bool] | None = None,
) -> dict[date, int]:
    """Units by day: of the right days and of all moments of the report unless told otherwise."""
    start, end = _start(case.first, case.zone), _start(case.last + DAY, case.zone)
    units: dict[date, int] = {}
    for at, used in case.uses:
        if within(at) if within else start <= at < end:
            of = day(at) if day else _local_day(at, case.zone)
            units[of] = units.get(of, 0) + used
    return units


def _wrong_reports(case: Metered) -> dict[str, dict[date, int]]:
    """What the wrong programs report: days of other zones or of fixed lengths, other ends."""
    zone, first, last = case.zone, case.first, case.last
    start, end = _start(first, zone), _start(last + DAY, zone)
    at_start, at_end = _offset(start, zone), _offset(_start(last, zone), zone)
    return {
        "utc": _report(case, lambda at: at.date()),
        "elsewhere": _report(case, lambda at: _local_day(at, "America/Chicago")),
        "standard": _report(case, lambda at: (at + _standard(at, zone)).date()),
        "first": _report(case, lambda at: (at + at_start).date()),
        "last": _report(case, lambda at: (at + at_end).date()),
        "24-hours": _report(case, lambda at: first + (at - start) // DAY * DAY),
        "inverse": _report(case, lambda at: (at - _offset(at, zone)).date()),
        "twice": _report(case, lambda at: (at + 2 * _offset(at, zone)).date()),
        "utc-range": _report(
            case, within=lambda at: _start(first, "UTC") <= at < _start(last + DAY, "UTC")
        ),
        "start-excluded": _report(case, within=lambda at: start < at < end),
        "end-included": _report(case, within=lambda at: start <= at <= end),
    }


def _confused(case: Metered) -> set[str]:
    right = _report(case)
    return {name for name, units in _wrong_reports(case).items() if units != right}


def _metered(
    kind: Callable[[random.Random], Metered],
    catch: set[str],
    spare: Set[str] = frozenset(),
    count: int = 4,
) -> Draw:
    """At least `count` reports: together they catch all of `catch`, and none of `spare`."""

    def draw(rng: random.Random) -> str:
        cases: list[Metered] = []
        missing = set(catch)
        while len(cases) < count or missing:
            case = kind(rng)
            confused = _confused(case)
            if not spare & confused and (len(cases) < count - 1 or not missing - confused):
                cases.append(case)
                missing -= confused
        rng.shuffle(cases)
        return ";".join(map(str, cases))

    return draw


def _used(
    rng: random.Random, zone: str, first: date, days: int, moments: list[datetime]
) -> Metered:
    """Use at all the moments, reported in no order."""
    uses = [(at, rng.randint(1, 9_999)) for at in moments]
    rng.shuffle(uses)
    return Metered(zone, first, first + (days - 1) * DAY, tuple(uses))


def _hours(rng: random.Random, first: float, last: float) -> timedelta:
    return timedelta(seconds=rng.randint(int(first * 3_600), int(last * 3_600)))


def _some_day(rng: random.Random) -> date:
    return date(2010, 1, 1) + timedelta(days=rng.randint(0, 3200))


def _evenings(rng: random.Random) -> Metered:
    zone, first, days = rng.choice(WEST), _some_day(rng), rng.randint(3, 6)
    starts = [_start(first + n * DAY, zone) for n in range(days)]
    evenings = [start + _hours(rng, 19.1, 23.9) for start in starts]
    return _used(rng, zone, first, days, evenings + [at + _hours(rng, 0, 19) for at in starts])


def _mornings(rng: random.Random) -> Metered:
    zone, first, days = rng.choice(EAST), _some_day(rng), rng.randint(3, 6)
    starts = [_start(first + n * DAY, zone) for n in range(days)]
    mornings = [start + _hours(rng, 0.1, 5.4) for start in starts]
    return _used(rng, zone, first, days, mornings + [at + _hours(rng, 6, 23.9) for at in starts])


def _clock_changes(rng: random.Random) -> Metered:
    """Use shortly before and after the midnights around a day that is not of 24 hours."""
    zone, year = rng.choice(NORTH + SOUTH), rng.randint(2010, 2018)
    changes = [
        day
        for day in (date(year, 1, 3) + n * DAY for n in range(355))
        if _start(day + DAY, zone) - _start(day, zone) != DAY
    ]
    first = rng.choice(changes) - 2 * DAY
    midnights = [_start(first + n * DAY, zone) for n in range(6)]
    sides = [at - _hours(rng, 0.05, 0.9) for at in midnights]
    sides += [at + _hours(rng, 0.05, 0.9) for at in midnights]
    return _used(rng, zone, first, 5, sides)


def _midnights(rng: random.Random) -> Metered:
    """Use at the very start and the very end of summer days, the first and the last one's too."""
    north = rng.random() < 0.5
    zone, month = (rng.choice(NORTH), 6) if north else (rng.choice(SOUTH[:2]), 12)
    first = date(rng.randint(2010, 2018), month, rng.randint(1, 20))
    days = rng.randint(2, 5)
    midnights = [_start(first + n * DAY, zone) for n in range(days + 1)]
    return _used(
        rng, zone, first, days, [at - step for at in midnights for step in (TICK, 0 * TICK)]
    )


def _agreeing(case: Metered) -> Metered:
    """Without the use of which UTC says that it was on another day."""
    uses = [(at, n) for at, n in case.uses if at.date() == _local_day(at, case.zone)]
    return replace(case, uses=tuple(uses))


def _daytime(rng: random.Random) -> Metered:
    """Use on every day, around noon at least: none of the zones disagrees with UTC then."""
    zone, first, days = rng.choice(WEST + EAST), _some_day(rng), rng.randint(3, 6)
    starts = [_start(first + n * DAY, zone) for n in range(days)]
    moments = [start + _hours(rng, *hours) for start in starts for hours in (AROUND_NOON, (0, 24))]
    return _agreeing(_used(rng, zone, first, days, moments))


def _ends(rng: random.Random) -> Metered:
    """Use at both ends of the report and days before and after it."""
    zone, first, days = rng.choice(WEST + EAST), _some_day(rng), rng.randint(2, 5)
    start, end = _start(first, zone), _start(first + days * DAY, zone)
    moments = [start, start + DAY - TICK, end - TICK, end, start - TICK]
    moments += [start - _hours(rng, 30, 300), end + _hours(rng, 30, 300)]
    moments += [start + _hours(rng, *AROUND_NOON), end - DAY + _hours(rng, *AROUND_NOON)]
    return _agreeing(_used(rng, zone, first, days, moments))


def _in_greenwich(rng: random.Random) -> Metered:
    zone, first, days = rng.choice(GREENWICH), _some_day(rng), rng.randint(2, 5)
    midnights = [_start(first + n * DAY, zone) for n in range(days + 1)]
    return _used(
        rng, zone, first, days, [at - step for at in midnights for step in (TICK, 0 * TICK)]
    )


CLOCKS = {"standard", "first", "last", "24-hours"}


# --- coupons: "subtotal|code:kind and value,…", and bills: "rate|quantity*price,…|coupons" --------

Promise = tuple[str, str, Decimal]
"""A coupon: its code, `P` for percent or `F` for an amount, its value."""
Redeem = Callable[[Decimal, list[Promise]], Decimal]


def _cents(value: Decimal) -> Decimal:
    return value.quantize(CENT, ROUND_HALF_UP)


def _redeemed(
    subtotal: Decimal,
    coupons: list[Promise],
    *,
    round_off: Callable[[Decimal], Decimal] = _cents,
    of_subtotal: bool = False,
    rest: bool = False,
) -> Decimal:
    """What is left; optionally with other rounding or base, or with the rest rounded instead."""
    left = subtotal
    for _, kind, value in coupons:
        base = subtotal if of_subtotal else left
        if kind == "F":
            left -= value
        elif rest:
            left = round_off(left * (100 - value) / 100)
        else:
            left -= round_off(base * value / 100)
        left = max(left, Decimal(0))
    return _cents(left)


def _added_up(subtotal: Decimal, coupons: list[Promise]) -> Decimal:
    return _redeemed(subtotal, coupons, of_subtotal=True)


def _floating(subtotal: Decimal, coupons: list[Promise]) -> Decimal:
    left = float(subtotal)
    for _, kind, value in coupons:
        off = float(value) if kind == "F" else left * float(value) / 100
        left = max(left - _java_round(off * 100) / 100.0, 0.0)
    return _cents(Decimal(repr(left)))


def _exactly(value: Decimal) -> Decimal:
    return value


WRONG_COUPONS: dict[str, Redeem] = {
    "added up": _added_up,
    "rounded at the end": lambda amount, coupons: _redeemed(amount, coupons, round_off=_exactly),
    "rest rounded": lambda amount, coupons: _redeemed(amount, coupons, rest=True),
    "half-even": lambda amount, coupons: _redeemed(
        amount, coupons, round_off=lambda off: off.quantize(CENT, ROUND_HALF_EVEN)
    ),
    "truncate": lambda amount, coupons: _redeemed(
        amount, coupons, round_off=lambda off: off.quantize(CENT, ROUND_DOWN)
    ),
    "double": _floating,
    "percentages first": lambda amount, coupons: _redeemed(
        amount, sorted(coupons, key=lambda coupon: coupon[1], reverse=True)
    ),
    "amounts first": lambda amount, coupons: _redeemed(
        amount, sorted(coupons, key=lambda coupon: coupon[1])
    ),
    "first only": lambda amount, coupons: _redeemed(amount, coupons[:1]),
    "last only": lambda amount, coupons: _redeemed(amount, coupons[-1:]),
    "first of a kind": lambda amount, coupons: _redeemed(
        amount, list({kind: (code, kind, value) for code, kind, value in coupons[::-1]}.values())
    ),
}


def _code(rng: random.Random) -> str:
    """A code with letters of both cases and, sometimes, a hyphen."""
    letters = "".join(rng.choice("ABCDEFGHIKLMNOPQRSTUVWXYZ") for _ in range(rng.randint(3, 6)))
    return f"{letters[0].lower()}{letters[1:]}{rng.choice(['', '-'])}{rng.randint(2, 99)}"


def _percent(rng: random.Random) -> Promise:
    return _code(rng), "P", Decimal(rng.randint(300, 4500)) / 100


def _off(rng: random.Random) -> Promise:
    return _code(rng), "F", Decimal(rng.randint(100, 4_999)) / 100


def _subtotal(rng: random.Random) -> Decimal:
    return Decimal(rng.randint(30_000, 999_999)) / 100


def _half_cent_percent(rng: random.Random, amount: Decimal) -> Promise:
    """A percentage that takes exactly half a cent off beside whole ones."""
    while True:
        value = Decimal(rng.randint(10, 120)) / 2
        if amount * value * 10 % 10 == 5:
            return _code(rng), "P", value


Coupons = Callable[[random.Random, Decimal], list[Promise]]


def _percentages(low: int, high: int) -> Coupons:
    def draw(rng: random.Random, amount: Decimal) -> list[Promise]:
        return [_percent(rng) for _ in range(rng.randint(low, high))]

    return draw


def _steps_on_half_cents(rng: random.Random, amount: Decimal) -> list[Promise]:
    """Percentages of which the first, at least, takes half a cent off."""
    odd = amount * 100 % 2 == 1
    first = _half_cent_percent(rng, amount) if odd else _percent(rng)
    return [first, *(_percent(rng) for _ in range(rng.randint(1, 3)))]


def _amounts_and_percentages(rng: random.Random, amount: Decimal) -> list[Promise]:
    return [_off(rng), _percent(rng), *rng.choices([_off(rng), _percent(rng)], k=rng.randint(0, 1))]


def _one_percentage(rng: random.Random, amount: Decimal) -> list[Promise]:
    odd = amount * 100 % 2 == 1
    return [_half_cent_percent(rng, amount) if odd else _percent(rng)]


def _amounts(rng: random.Random, amount: Decimal) -> list[Promise]:
    return [_off(rng) for _ in range(rng.randint(2, 4))]


def _percentage_then_amounts(rng: random.Random, amount: Decimal) -> list[Promise]:
    return [_percent(rng), *(_off(rng) for _ in range(rng.randint(1, 2)))]


def _too_much(rng: random.Random, amount: Decimal) -> list[Promise]:
    """More than there is to pay, in different ways; sometimes all but a little of it."""
    over = amount + Decimal(rng.randint(1, 9_999)) / 100
    almost = amount - Decimal(rng.randint(1, 999)) / 100
    everything: Promise = (_code(rng), "P", Decimal(100))
    return rng.choice(
        [
            [(_code(rng), "F", over)],
            [everything, _off(rng)],
            [(_code(rng), "F", over), _off(rng)],
            [_percent(rng), (_code(rng), "F", amount)],
            [(_code(rng), "F", almost)],
            [(_code(rng), "F", amount)],
        ]
    )


def _wrong_about_coupons(amount: Decimal, coupons: list[Promise]) -> set[str]:
    right = _redeemed(amount, coupons)
    return {name for name, wrong in WRONG_COUPONS.items() if wrong(amount, coupons) != right}


def _write_coupons(coupons: list[Promise]) -> str:
    return ",".join(f"{code}:{kind}{value}" for code, kind, value in coupons)


def _different_codes(coupons: list[Promise]) -> bool:
    return len({code.upper() for code, _, _ in coupons}) == len(coupons)


def _redemptions(
    kind: Coupons,
    catch: Set[str] = frozenset(),
    *,
    every: Set[str] = frozenset(),
    spare: Set[str] = frozenset(),
    billed: bool = False,
    count: int = 6,
) -> Draw:
    """At least `count` cases; each catches `every` program, together they catch all of `catch`."""

    def draw(rng: random.Random) -> str:
        cases: list[str] = []
        missing = set(catch)
        while len(cases) < count or missing:
            lines = _lines_of(rng) if billed else []
            amount = _sum_of(lines) if billed else _subtotal(rng)
            coupons = kind(rng, amount)
            caught = _wrong_about_coupons(amount, coupons)
            if not every <= caught or spare & caught or not _different_codes(coupons):
                continue
            if len(cases) >= count and not missing & caught:
                continue
            missing -= caught
            written = _write_coupons(coupons)
            if billed:
                cases.append(_bill(rng, lines, written, _redeemed(amount, coupons)))
            else:
                cases.append(f"{amount}|{written}")
        rng.shuffle(cases)
        return ";".join(cases)

    return draw


Line = tuple[int, Decimal]


def _lines_of(rng: random.Random) -> list[Line]:
    return [
        (rng.randint(1, 12), Decimal(rng.randint(2_000, 29_999)) / 100)
        for _ in range(rng.randint(1, 4))
    ]


def _sum_of(lines: list[Line]) -> Decimal:
    return sum((_cents(count * price) for count, price in lines), Decimal(0))


def _bill(rng: random.Random, lines: list[Line], coupons: str, net: Decimal) -> str:
    """A bill whose tax is no matter of dispute, not even among wrong ways to compute taxes.

    A rate that never goes wrong is zero, so there always is one; but it is only the last resort.
    """
    rates = [Decimal(rate) for rate in ("0.05", "0.1", "0.19", "0.2", "0.25", "0.5")]
    rng.shuffle(rates)
    rate = next((rate for rate in rates if not _caught([(net, rate)])), Decimal(0))
    return f"{rate}|" + ",".join(f"{count}*{price}" for count, price in lines) + f"|{coupons}"


def _unusable_values(rng: random.Random) -> str:
    values = ["P0", "F0", "F0.00", "P-0.01", "P100.01"]
    values += [f"P-{rng.randint(1, 99)}", f"F-{rng.randint(1, 99)}.50", f"P{rng.randint(101, 999)}"]
    rng.shuffle(values)
    return ",".join(values)


def _unusable_codes(rng: random.Random) -> str:
    code = _code(rng)
    codes = ["", " ", f" {code}", f"{code} ", f"{code[:2]} {code[2:]}", f"{code}!", f"{code}_"]
    rng.shuffle(codes)
    return ",".join(codes)


# --- coupons that are entered more than once ------------------------------------------------------


def _keep_first(coupons: list[Promise], key: Callable[[Promise], object]) -> list[Promise]:
    kept: dict[object, Promise] = {}
    for coupon in coupons:
        kept.setdefault(key(coupon), coupon)
    return list(kept.values())


def _code_of(coupon: Promise) -> str:
    return coupon[0].upper()


def _keep_last(coupons: list[Promise]) -> list[Promise]:
    """As a map does into which every coupon is put: at the place of the first one."""
    return list({_code_of(coupon): coupon for coupon in coupons}.values())


def _not_the_same_again(coupons: list[Promise]) -> list[Promise]:
    """Without those whose code is that of the coupon right before them."""
    pairs = zip([None, *coupons], coupons, strict=False)
    return [this for last, this in pairs if last is None or _code_of(last) != _code_of(this)]


def _unrepeated(coupons: list[Promise]) -> list[Promise]:
    """Without any coupon whose code is there more than once."""
    codes = [_code_of(coupon) for coupon in coupons]
    return [coupon for coupon in coupons if codes.count(_code_of(coupon)) == 1]


WRONG_DEDUPS: dict[str, Callable[[list[Promise]], list[Promise]]] = {
    "none": lambda coupons: coupons,
    "case-sensitive": lambda coupons: _keep_first(coupons, lambda coupon: coupon[0]),
    "last stands": _keep_last,
    "neighbours": _not_the_same_again,
    "all of a code": _unrepeated,
    "same coupon": lambda coupons: _keep_first(
        coupons, lambda coupon: (_code_of(coupon), coupon[1:])
    ),
    "same value": lambda coupons: _keep_first(coupons, lambda coupon: coupon[1:]),
    "same kind": lambda coupons: _keep_first(coupons, lambda coupon: coupon[1]),
    "letters only": lambda coupons: _keep_first(
        coupons, lambda coupon: "".join(filter(str.isalpha, _code_of(coupon)))
    ),
    "letters and digits": lambda coupons: _keep_first(
        coupons, lambda coupon: _code_of(coupon).replace("-", "")
    ),
    "start of code": lambda coupons: _keep_first(coupons, lambda coupon: _code_of(coupon)[:3]),
    "one coupon": lambda coupons: coupons[:1],
}


def _respelled(rng: random.Random, code: str, others: Set[str] = frozenset()) -> str:
    """The code in other capitals than any of `others`."""
    while True:
        other = "".join(rng.choice([letter.lower(), letter.upper()]) for letter in code)
        if other not in {code, *others}:
            return other


def _wrong_about_codes(amount: Decimal, coupons: list[Promise]) -> set[str] | None:
    """The programs that a case catches; None if it depends on how percentages are redeemed."""
    right = _keep_first(coupons, _code_of)
    left = _redeemed(amount, right)
    if _added_up(amount, right) != left:
        return None
    return {
        name
        for name, keep in WRONG_DEDUPS.items()
        if left not in (_redeemed(amount, keep(coupons)), _added_up(amount, keep(coupons)))
    }


def _any_coupon(rng: random.Random) -> Promise:
    return rng.choice([_off, _off, _percent])(rng)


def _twice(rng: random.Random) -> list[Promise]:
    coupon = _any_coupon(rng)
    return [coupon, coupon, *rng.choice([[], [_off(rng)]])]


def _twice_respelled(rng: random.Random) -> list[Promise]:
    code, kind, value = _any_coupon(rng)
    return [(code, kind, value), (_respelled(rng, code), kind, value)]


def _again_later(rng: random.Random) -> list[Promise]:
    code, kind, value = _any_coupon(rng)
    second = _respelled(rng, code)
    third = _respelled(rng, code, {second})
    between = [_off(rng) for _ in range(rng.randint(1, 2))]
    last = rng.choice([[], [_off(rng)]])
    return [(code, kind, value), *between, (second, kind, value), *last, (third, kind, value)]


def _same_code_other_value(rng: random.Random) -> list[Promise]:
    code, kind, value = _any_coupon(rng)
    other = rng.choice([_off, _percent])(rng)
    return [
        (code, kind, value),
        *rng.choice([[], [_off(rng)]]),
        (_respelled(rng, code), *other[1:]),
    ]


def _look_alikes(rng: random.Random) -> list[Promise]:
    """Different coupons of the same value, and codes that differ in little but not in case."""
    first = _any_coupon(rng)
    letters = "".join(filter(str.isalpha, first[0]))
    _, kind, value = _off(rng)
    others = [f"{letters}{rng.randint(100, 999)}", f"{letters}-", _code(rng)]
    rng.shuffle(others)
    return [first, *((code, kind, value) for code in others[: rng.randint(2, 3)])]


def _codes_with_hyphens(rng: random.Random) -> list[Promise]:
    _, kind, value = _off(rng)
    code = f"{_code(rng).replace('-', '')}"
    return [(code, kind, value), (f"{code[:2]}-{code[2:]}", kind, value)]


def _entered(
    *kinds: Callable[[random.Random], list[Promise]],
    catch: Set[str] = frozenset(),
    every: Set[str] = frozenset(),
    spare: Set[str] = frozenset(),
    count: int = 5,
) -> Draw:
    """Bills, each of which catches `every` program; together they catch all of `catch`."""

    def draw(rng: random.Random) -> str:
        bills: list[str] = []
        missing = set(catch)
        while len(bills) < count or missing:
            lines = _lines_of(rng)
            amount = _sum_of(lines)
            coupons = rng.choice(kinds)(rng)
            caught = _wrong_about_codes(amount, coupons)
            if caught is None or not every <= caught or spare & caught:
                continue
            if len(bills) >= count and not missing & caught:
                continue
            missing -= caught
            left = _redeemed(amount, _keep_first(coupons, _code_of))
            bills.append(_bill(rng, lines, _write_coupons(coupons), left))
        rng.shuffle(bills)
        return ";".join(bills)

    return draw


def _same_codes_every_time(rng: random.Random) -> str:
    """Bills of one customer with the same coupons, spelled differently now and then."""
    bills: list[str] = []
    code, _, _ = _off(rng)
    other, _, _ = _off(rng)
    rate: str | None = None
    while len(bills) < 4:
        lines = _lines_of(rng)
        coupons = [_off(rng), _off(rng)]
        spelled = [rng.choice([name, _respelled(rng, name)]) for name in (code, other)]
        coupons = [(name, *coupon[1:]) for name, coupon in zip(spelled, coupons, strict=True)]
        net = _redeemed(_sum_of(lines), coupons)
        bill = _bill(rng, lines, _write_coupons(coupons), net)
        # a customer has one region, and a region one rate
        rate = rate or bill.partition("|")[0]
        if bill.startswith(f"{rate}|") and rate != "0":
            bills.append(bill)
        elif rate == "0":
            rate = None
    return ";".join(bills)


# --- lines: "quantity*price,…" --------------------------------------------------------------------


def _wrong_totals(count: int, price: Decimal) -> dict[str, Decimal]:
    return {
        **_wrong_taxes(Decimal(count), price),
        "price rounded": _cents(price) * count,
        "four decimals": _cents(price.quantize(Decimal("0.0001"), ROUND_HALF_UP) * count),
        "int": _cents(price * ((count + 2**31) % 2**32 - 2**31)),
    }


def _wrong_about_line(line: Line) -> set[str]:
    right = _cents(line[0] * line[1])
    return {name for name, total in _wrong_totals(*line).items() if total != right}


def _fraction(rng: random.Random) -> Line:
    """A price with three to six decimals."""
    digits = rng.randint(3, 6)
    return rng.randint(2, 5_000), Decimal(rng.randint(1, 30 * 10**digits)) / 10**digits


def _half_fraction(rng: random.Random) -> Line:
    """A total that ends in exactly half a cent."""
    while True:
        count = rng.randint(3, 999)
        price = Decimal(rng.randint(1, 99_999)) / 10 ** rng.randint(3, 4)
        if count * price * 1000 % 10 == 5:
            return count, price


def _credited(kind: Callable[[random.Random], Line]) -> Callable[[random.Random], Line]:
    def draw(rng: random.Random) -> Line:
        count, price = kind(rng)
        return count, -price

    return draw


def _huge(rng: random.Random) -> Line:
    """Metered units by the thousand million, at tiny prices."""
    count = rng.randint(10**10, 10**13)
    return count, Decimal(rng.randint(1, 10**8)) / 10 ** rng.randint(7, 8)


def _whole_cents(rng: random.Random) -> Line:
    count = rng.choice([1, rng.randint(2, 99), rng.randint(100, 99_999)])
    return count, rng.choice([1, 1, -1]) * Decimal(rng.randint(1, 99_999)) / 100


def _single(rng: random.Random) -> Line:
    """One unit at a fraction of a cent, often exactly half of one."""
    price = (
        Decimal(rng.randint(1, 99_999)) / 100
        + Decimal(rng.choice([5, 5, rng.randint(1, 9)])) / 1000
    )
    return 1, rng.choice([1, -1]) * price


def _priced(
    *kinds: Callable[[random.Random], Line],
    catch: Set[str] = frozenset(),
    every: Set[str] = frozenset(),
    spare: Set[str] = frozenset(),
    count: int = 10,
) -> Draw:
    """Lines, each of which catches `every` program; together they catch all of `catch`."""

    def draw(rng: random.Random) -> str:
        lines: list[Line] = []
        missing = set(catch)
        while len(lines) < count or missing:
            line = rng.choice(kinds)(rng)
            caught = _wrong_about_line(line)
            if every <= caught and not spare & caught:
                if len(lines) >= count and not missing & caught:
                    continue
                lines.append(line)
                missing -= caught
        rng.shuffle(lines)
        return ",".join(f"{quantity}*{price}" for quantity, price in lines)

    return draw


def _summed(rng: random.Random) -> str:
    """Bills whose lines, summed up before they are rounded, give something else."""
    bills: list[str] = []
    missing = {"half-even", "truncate", "four decimals", "double"}
    while len(bills) < 5 or missing:
        lines = [rng.choice([_fraction, _half_fraction])(rng) for _ in range(rng.randint(2, 5))]
        totals = [_wrong_totals(*line) for line in lines]
        right = _sum_of(lines)
        together = _cents(sum((count * price for count, price in lines), Decimal(0)))
        caught = {name for name in totals[0] if sum(total[name] for total in totals) != right}
        if "price rounded" not in caught or together == right:
            continue
        if len(bills) >= 5 and not missing & caught:
            continue
        missing -= caught
        bills.append(_bill(rng, lines, "", right))
    return ";".join(bills)


def _unusable_lines(rng: random.Random) -> str:
    lines = [f"{quantity}*{price}" for quantity, price in (_whole_cents(rng) for _ in range(5))]
    prices = [Decimal(rng.randint(1, 99_999)) / 100 for _ in range(3)]
    lines += [f"0*{prices[0]}", f"-1*{prices[1]}", f"-{rng.randint(2, 999)}*-{prices[2]}"]
    rng.shuffle(lines)
    return ",".join(lines)


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
    "tax_half": _pairs(_half, {*FLOATING, "half-even", "truncate"}),
    "tax_ledger": _pairs(_ledger, FLOATING, spare={"half-even"}),
    "tax_many_decimals": _pairs(_many_decimals, FLOATING, spare={"half-even"}),
    "tax_near_half": _pairs(_near_half, FLOATING, spare={"half-even"}),
    "tax_credit": _pairs(_credit, {*FLOATING, "half-even", "truncate"}),
    "tax_bills": _bills,
    "tax_plain": _plain,
    "tax_nothing": _nothing,
    "quiet_blocks": _blocks,
    "quiet_accounts": _accounts,
    "quiet_late_days": _late_days,
    "quiet_new_due_day": _new_due_day,
    "quiet_alerts": _alerts,
    "quiet_plans": _plans,
    "quiet_entries": _entries,
    "quiet_fields": _fields,
    "rates_in_turn": _successive_rates,
    "usage_evenings": _metered(_evenings, {"utc", "utc-range", "elsewhere"}, spare=CLOCKS),
    "usage_mornings": _metered(_mornings, {"utc", "utc-range", "elsewhere"}, spare=CLOCKS),
    "usage_clock_changes": _metered(_clock_changes, {"utc", "utc-range", "elsewhere", *CLOCKS}),
    "usage_midnights": _metered(
        _midnights,
        {"utc", "utc-range", "elsewhere", "standard", "start-excluded", "end-included"},
        spare=CLOCKS - {"standard"},
    ),
    "usage_daytime": _metered(_daytime, {"inverse", "twice", "elsewhere"}, spare={"utc", *CLOCKS}),
    "usage_ends": _metered(
        _ends, {"start-excluded", "end-included", "elsewhere"}, spare={"utc", *CLOCKS}
    ),
    "usage_greenwich": _metered(
        _in_greenwich, {"elsewhere", "start-excluded", "end-included"}, spare={"utc", *CLOCKS}
    ),
    "coupon_two": _redemptions(
        _percentages(2, 2), {"first only", "last only", "first of a kind"}, every={"added up"}
    ),
    "coupon_many": _redemptions(
        _percentages(3, 6), {"rounded at the end", "rest rounded", "truncate"}, every={"added up"}
    ),
    "coupon_after_amount": _redemptions(
        _amounts_and_percentages,
        {"first only", "amounts first"},
        every={"added up", "percentages first"},
    ),
    "coupon_steps": _redemptions(
        _steps_on_half_cents,
        {"rounded at the end", "rest rounded", "half-even", "truncate", "double"},
        every={"added up"},
    ),
    "coupon_bills": _redemptions(
        _percentages(2, 4), {"first only", "last only"}, every={"added up"}, billed=True, count=4
    ),
    "coupon_single": _redemptions(
        _one_percentage, {"half-even", "truncate", "rest rounded"}, spare={"added up"}
    ),
    "coupon_amounts": _redemptions(_amounts, every={"first only", "last only"}, spare={"added up"}),
    "coupon_percentage_first": _redemptions(
        _percentage_then_amounts, every={"amounts first", "first only"}, spare={"added up"}
    ),
    "coupon_too_much": _redemptions(_too_much, spare={"added up"}, count=8),
    "coupon_single_bills": _redemptions(
        _one_percentage, {"half-even", "truncate"}, spare={"added up"}, billed=True, count=4
    ),
    "coupon_code": _code,
    "coupon_usable": lambda rng: "{1}{2}".format(*_any_coupon(rng)),
    "coupon_values": _unusable_values,
    "coupon_codes": _unusable_codes,
    "entered_twice": _entered(_twice, every={"none"}, spare={"case-sensitive"}),
    "entered_respelled": _entered(_twice_respelled, every={"none", "case-sensitive"}),
    "entered_later": _entered(_again_later, every={"none", "case-sensitive", "neighbours"}),
    "entered_other_value": _entered(
        _same_code_other_value,
        catch={"all of a code"},
        every={"none", "case-sensitive", "last stands", "same coupon"},
    ),
    "entered_look_alikes": _entered(
        _look_alikes,
        _codes_with_hyphens,
        catch=WRONG_DEDUPS.keys()
        - {"none", "case-sensitive", "last stands", "neighbours", "all of a code", "same coupon"},
        spare={"none"},
    ),
    "entered_every_time": _same_codes_every_time,
    "credit": lambda rng: f"-{rng.randint(1, 999)}.{rng.randint(10, 99)}",
    "entered_once": _entered(_look_alikes, spare={"none"}, count=1),
    "line_fractions": _priced(
        _fraction,
        _half_fraction,
        catch={"half-even", "truncate", "double", "four decimals"},
        every={"price rounded"},
    ),
    "line_credits": _priced(
        _credited(_fraction),
        _credited(_half_fraction),
        catch={"half-even", "truncate", "double", "four decimals"},
        every={"price rounded"},
    ),
    "line_huge": _priced(
        _huge, catch={"double", "value-of", "four decimals"}, every={"price rounded", "int"}
    ),
    "line_bills": _summed,
    "line_whole_cents": _priced(_whole_cents, spare={"price rounded"}),
    "line_singles": _priced(_single, catch={"half-even", "truncate"}, spare={"price rounded"}),
    "line_unusable": _unusable_lines,
}
