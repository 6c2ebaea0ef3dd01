"""Taxes: `amount*rate`, bills `rate:quantity*price,…`, rates in turn `amount*rate,rate,…`."""

import random
from collections.abc import Callable, Iterator, Set
from decimal import ROUND_DOWN, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from math import floor

from .amounts import CENT, EXACT, Draw, to_cents, twice_rounded

Pair = tuple[Decimal, Decimal]


def exact_tax(amount: Decimal, rate: Decimal) -> Decimal:
    """The tax, to the cent."""
    return to_cents(EXACT.multiply(amount, rate))


def java_round(value: float) -> int:
    """What Math.round gives: the nearest whole number, a half upwards."""
    return floor(Fraction(value) + Fraction(1, 2))


def wrong_taxes(amount: Decimal, rate: Decimal) -> dict[str, Decimal]:
    """What the wrong programs answer: floating point in three coats, other ways of rounding."""
    product = float(amount) * float(rate)
    exact = EXACT.multiply(amount, rate)

    def cents(value: float) -> Decimal:
        return to_cents(Decimal(repr(value)))

    return {
        "double": cents(java_round(product * 100) / 100.0),
        "epsilon": cents(java_round(product * 100 + 1e-6) / 100.0),
        "value-of": cents(product),
        "half-even": exact.quantize(CENT, ROUND_HALF_EVEN, EXACT),
        "truncate": exact.quantize(CENT, ROUND_DOWN, EXACT),
    }


def nearly_right_taxes(amount: Decimal, rate: Decimal) -> dict[str, Decimal]:
    """What programs answer that lose digits only where there are many, or round twice."""
    exact = EXACT.multiply(amount, rate)

    def times(factor: Decimal) -> Decimal:
        return to_cents(EXACT.multiply(amount, factor))

    return {
        "rate as double": times(Decimal(repr(float(rate)))),
        "rate of a double": times(Decimal(float(rate))),
        "amount as double": to_cents(EXACT.multiply(Decimal(repr(float(amount))), rate)),
        "amount rounded": exact_tax(to_cents(amount), rate),
        **{f"{digits} digits": to_cents(Context(digits).plus(exact)) for digits in (7, 16, 34)},
        **{f"rate of {n} decimals": times(round(rate, n)) for n in (4, 6, 10, 16)},
        **{f"twice, {n} decimals": twice_rounded(exact, n) for n in (3, 4, 6, 8, 10, 16)},
        "half a cent up": EXACT.add(exact, Decimal("0.005")).quantize(CENT, ROUND_FLOOR, EXACT),
    }


def nearly_right(amount: Decimal, rate: Decimal) -> set[str]:
    """The programs that are wrong here only because digits get lost on the way."""
    right = exact_tax(amount, rate)
    return {name for name, tax in nearly_right_taxes(amount, rate).items() if tax != right}


def caught_by(pairs: list[Pair]) -> set[str]:
    """The wrong programs of which at least one answer is wrong."""
    return {
        name
        for amount, rate in pairs
        for name, tax in wrong_taxes(amount, rate).items()
        if tax != exact_tax(amount, rate)
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


def _many_digits(rng: random.Random) -> Pair:
    """Amounts and rates with more digits than a double, or a decimal of fixed length, keeps."""
    if rng.random() < 0.3:
        rate = Decimal(rng.randint(1, 10**28)) / 10**28
        return Decimal(rng.randint(10**20, 10**24)) / 100, rate
    amount = Decimal(rng.randint(10_000, 99_999_999)) / 10 ** rng.choice([2, 2, 3, 5])
    tax = (Decimal(rng.randint(100, 99_999)) + Decimal("0.5")) / 100
    # short of half a cent from the tenth decimal on, or only where nobody looks any more
    decimals = rng.choice([10, 20, 50])
    rate = EXACT.divide(tax, amount).quantize(Decimal(1).scaleb(-decimals), ROUND_DOWN, EXACT)
    return (amount, rate) if 0 < rate < 1 else _many_digits(rng)


def _many_decimals_and_digits(rng: random.Random) -> str:
    """Rates of some decimals, and cases that together catch every program that loses digits."""
    cases: list[Pair] = []
    missing = set(nearly_right_taxes(Decimal(1), Decimal(1))) - {"half a cent up"}
    while missing:
        pair = rng.choice([_many_digits, _many_digits, _half])(rng)
        caught = nearly_right(*pair)
        if missing & caught and not {"half-even"} & caught_by([pair]):
            cases.append(pair)
            missing -= caught
    written = [f"{amount:f}*{rate:f}" for amount, rate in cases]
    return ";".join([_some_decimals(rng), *written])


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
            if not spare & caught_by([pair]):
                cases.append(pair)
        missing = catch - caught_by(cases)
        source = candidates(rng)
        while missing:
            pair = next(source)
            caught = caught_by([pair])
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
        if not {*FLOATING, "half-even"} & caught_by([pair]):
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
        right = sum(exact_tax(total, rate) for total in totals)
        wrong = [wrong_taxes(total, rate) for total in totals]
        caught = {name for name in wrong[0] if sum(one[name] for one in wrong) != right}
        if exact_tax(sum(totals, Decimal(0)), rate) != right:
            caught.add("together")
        if len(bills) < 8 or catch & caught:
            bills.append(f"{rate}:" + ",".join(f"{count}*{price}" for count, price in lines))
            catch -= caught
    rng.shuffle(bills)
    return ";".join(bills)


RATES = ["0.04", "0.05", "0.07", "0.1", "0.16", "0.19", "0.2", "0.21", "0.22", "0.25"]


def _successive_rates(rng: random.Random) -> str:
    """Amounts whose taxes at the rates all differ, with products that any arithmetic gets right."""
    entries: list[str] = []
    while len(entries) < 4:
        amount = Decimal(rng.randint(1_000, 99_999)) / 100
        rates = [Decimal(rate) for rate in rng.sample(RATES, 3)]
        taxes = {exact_tax(amount, rate) for rate in rates}
        if len(taxes) == 3 and not caught_by([(amount, rate) for rate in rates]) - {"truncate"}:
            entries.append(f"{amount}*" + ",".join(map(str, rates)))
    return ";".join(entries)


_some_decimals = _pairs(_many_decimals, FLOATING, spare={"half-even"})


GENERATORS: dict[str, Draw] = {
    "tax_half": _pairs(_half, {*FLOATING, "half-even", "truncate"}),
    "tax_ledger": _pairs(_ledger, FLOATING, spare={"half-even"}),
    "tax_many_decimals": _many_decimals_and_digits,
    "tax_near_half": _pairs(_near_half, FLOATING, spare={"half-even"}),
    "tax_credit": _pairs(_credit, {*FLOATING, "half-even", "truncate"}),
    "tax_bills": _bills,
    "tax_plain": _plain,
    "tax_nothing": _nothing,
    "rates_in_turn": _successive_rates,
}
