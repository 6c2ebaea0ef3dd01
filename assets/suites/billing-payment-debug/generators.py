"""Inputs of the suite, drawn when its expectations are pinned.

A drawn input is only good if it tells a right program from the wrong ones that the suite is about,
so the functions here work out what the wrong ones would answer and draw until each of them differs
(guards: until none does). What is right is not decided here: that is observed on the gold
submission.
"""

import random
from collections.abc import Callable, Iterator, Set
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from fractions import Fraction
from math import floor

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


def _cents(rng: random.Random, low: int, high: int) -> Decimal:
    return Decimal(rng.randint(low, high)) / 100


def _name(rng: random.Random) -> str:
    return "".join(rng.choice("abcdefghkmnpqrstuvwxyz") for _ in range(6))


def _blocks(rng: random.Random) -> str:
    """Units around the ends of blocks of a thousand."""
    full = rng.randint(2, 40) * 1000
    units = [1, 999, 1000, 1001, full - 1, full, full + 1, rng.randint(2, 99_999)]
    rng.shuffle(units)
    return ";".join(f"{count}|{_cents(rng, 1, 9_999)}" for count in units)


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
        total = _cents(rng, 10_000, 99_999)
        part = [_cents(rng, 100, 3_000) for _ in range(3)]
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
    prices = [str(_cents(rng, 900, 99_999)) for _ in range(4)]
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
        f"{texts[i]}|{texts[i + 1]}|{_cents(rng, 1, 9_999)}|{rng.choice(['OPEN', 'PAID', 'VOID'])}"
        for i in range(0, 12, 2)
    )


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
}
