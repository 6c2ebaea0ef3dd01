"""Coupons: `subtotal|code:kind and value,…`, and bills: `rate|quantity*price,…|coupons`."""

import random
from collections.abc import Callable, Set
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, Decimal

from .amounts import CENT, Draw, to_cents, twice_rounded
from .taxes import caught_by, java_round

Promise = tuple[str, str, Decimal]
"""A coupon: its code, `P` for percent or `F` for an amount, its value."""
Redeem = Callable[[Decimal, list[Promise]], Decimal]


def redeemed(
    subtotal: Decimal,
    coupons: list[Promise],
    *,
    round_off: Callable[[Decimal], Decimal] = to_cents,
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
    return to_cents(left)


def added_up(subtotal: Decimal, coupons: list[Promise]) -> Decimal:
    """What is left if every percentage is taken of the subtotal."""
    return redeemed(subtotal, coupons, of_subtotal=True)


def _with_coarse_percentages(decimals: int) -> Redeem:
    """What is left if a percentage is first made a fraction of so many decimals."""
    return lambda subtotal, coupons: redeemed(
        subtotal, [(code, kind, round(value, decimals - 2)) for code, kind, value in coupons]
    )


def _rounded_twice(decimals: int) -> Redeem:
    return lambda subtotal, coupons: redeemed(
        subtotal, coupons, round_off=lambda off: twice_rounded(off, decimals)
    )


def _floating(subtotal: Decimal, coupons: list[Promise]) -> Decimal:
    left = float(subtotal)
    for _, kind, value in coupons:
        off = float(value) if kind == "F" else left * float(value) / 100
        left = max(left - java_round(off * 100) / 100.0, 0.0)
    return to_cents(Decimal(repr(left)))


def _exactly(value: Decimal) -> Decimal:
    return value


WRONG_COUPONS: dict[str, Redeem] = {
    "added up": added_up,
    "rounded at the end": lambda amount, coupons: redeemed(amount, coupons, round_off=_exactly),
    "rest rounded": lambda amount, coupons: redeemed(amount, coupons, rest=True),
    "half-even": lambda amount, coupons: redeemed(
        amount, coupons, round_off=lambda off: off.quantize(CENT, ROUND_HALF_EVEN)
    ),
    "truncate": lambda amount, coupons: redeemed(
        amount, coupons, round_off=lambda off: off.quantize(CENT, ROUND_DOWN)
    ),
    "double": _floating,
    "percentages first": lambda amount, coupons: redeemed(
        amount, sorted(coupons, key=lambda coupon: coupon[1], reverse=True)
    ),
    "amounts first": lambda amount, coupons: redeemed(
        amount, sorted(coupons, key=lambda coupon: coupon[1])
    ),
    "first only": lambda amount, coupons: redeemed(amount, coupons[:1]),
    "last only": lambda amount, coupons: redeemed(amount, coupons[-1:]),
    "first of a kind": lambda amount, coupons: redeemed(
        amount, list({kind: (code, kind, value) for code, kind, value in coupons[::-1]}.values())
    ),
}


NEARLY_RIGHT: dict[str, Redeem] = {
    **{f"fractions of {n} decimals": _with_coarse_percentages(n) for n in (3, 4, 5)},
    **{f"twice, {n} decimals": _rounded_twice(n) for n in (3, 4)},
}
"""Programs that are wrong only about percentages with many decimals, or just below half a cent."""


def draw_code(rng: random.Random) -> str:
    """A code with letters of both cases and, sometimes, a hyphen."""
    letters = "".join(rng.choice("ABCDEFGHIKLMNOPQRSTUVWXYZ") for _ in range(rng.randint(3, 6)))
    return f"{letters[0].lower()}{letters[1:]}{rng.choice(['', '-'])}{rng.randint(2, 99)}"


def draw_percent(rng: random.Random) -> Promise:
    """A coupon of some percent."""
    return draw_code(rng), "P", Decimal(rng.randint(300, 4500)) / 100


def _fine_percent(rng: random.Random, amount: Decimal) -> list[Promise]:
    """A percentage with more decimals than most have."""
    return [(draw_code(rng), "P", Decimal(rng.randint(300_001, 4_499_999)) / 100_000)]


def draw_amount_off(rng: random.Random) -> Promise:
    """A coupon of an amount."""
    return draw_code(rng), "F", Decimal(rng.randint(100, 4_999)) / 100


def _subtotal(rng: random.Random) -> Decimal:
    return Decimal(rng.randint(30_000, 999_999)) / 100


def _half_cent_percent(rng: random.Random, amount: Decimal) -> Promise:
    """A percentage that takes exactly half a cent off beside whole ones."""
    while True:
        value = Decimal(rng.randint(10, 120)) / 2
        if amount * value * 10 % 10 == 5:
            return draw_code(rng), "P", value


CENTS = {"rounded at the end", "rest rounded", "double"}
"""Programs that are wrong by a cent, and only sometimes."""

Coupons = Callable[[random.Random, Decimal], list[Promise]]


def _percentages(low: int, high: int) -> Coupons:
    def draw(rng: random.Random, amount: Decimal) -> list[Promise]:
        return [draw_percent(rng) for _ in range(rng.randint(low, high))]

    return draw


def _steps_on_half_cents(rng: random.Random, amount: Decimal) -> list[Promise]:
    """Percentages of which the first, at least, takes half a cent off."""
    odd = amount * 100 % 2 == 1
    first = _half_cent_percent(rng, amount) if odd else draw_percent(rng)
    return [first, *(draw_percent(rng) for _ in range(rng.randint(1, 3)))]


def _amounts_and_percentages(rng: random.Random, amount: Decimal) -> list[Promise]:
    return [
        draw_amount_off(rng),
        draw_percent(rng),
        *rng.choices([draw_amount_off(rng), draw_percent(rng)], k=rng.randint(0, 1)),
    ]


def _one_percentage(rng: random.Random, amount: Decimal) -> list[Promise]:
    odd = amount * 100 % 2 == 1
    return [_half_cent_percent(rng, amount) if odd else draw_percent(rng)]


def _amounts(rng: random.Random, amount: Decimal) -> list[Promise]:
    return [draw_amount_off(rng) for _ in range(rng.randint(2, 4))]


def _percentage_then_amounts(rng: random.Random, amount: Decimal) -> list[Promise]:
    return [draw_percent(rng), *(draw_amount_off(rng) for _ in range(rng.randint(1, 2)))]


def _too_much(rng: random.Random, amount: Decimal) -> list[Promise]:
    """More than there is to pay, in different ways; sometimes all but a little of it."""
    over = amount + Decimal(rng.randint(1, 9_999)) / 100
    almost = amount - Decimal(rng.randint(1, 999)) / 100
    everything: Promise = (draw_code(rng), "P", Decimal(100))
    return rng.choice(
        [
            [(draw_code(rng), "F", over)],
            [everything, draw_amount_off(rng)],
            [(draw_code(rng), "F", over), draw_amount_off(rng)],
            [draw_percent(rng), (draw_code(rng), "F", amount)],
            [(draw_code(rng), "F", almost)],
            [(draw_code(rng), "F", amount)],
        ]
    )


def _wrong_about_coupons(amount: Decimal, coupons: list[Promise]) -> set[str]:
    right = redeemed(amount, coupons)
    return {name for name, wrong in WRONG_COUPONS.items() if wrong(amount, coupons) != right}


def write_coupons(coupons: list[Promise]) -> str:
    """Coupons as drivers read them."""
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
            lines = draw_lines(rng) if billed else []
            amount = sum_of(lines) if billed else _subtotal(rng)
            coupons = kind(rng, amount)
            caught = _wrong_about_coupons(amount, coupons)
            if not every <= caught or spare & caught or not _different_codes(coupons):
                continue
            if len(cases) >= count and not missing & caught:
                continue
            written = write_coupons(coupons)
            if billed:
                bill = write_bill(rng, lines, written, redeemed(amount, coupons))
                if bill is None:
                    continue
                cases.append(bill)
            else:
                cases.append(f"{amount}|{written}")
            missing -= caught
        rng.shuffle(cases)
        return ";".join(cases)

    return draw


def _and_fine_percentages(redemptions: Draw) -> Draw:
    """The same, and percentages that together catch every program that is nearly right."""

    def draw(rng: random.Random) -> str:
        cases = [redemptions(rng)]
        missing = set(NEARLY_RIGHT)
        while missing:
            amount = _subtotal(rng)
            coupons = _fine_percent(rng, amount)
            right = redeemed(amount, coupons)
            if CENTS & _wrong_about_coupons(amount, coupons):
                continue
            caught = {name for name in missing if NEARLY_RIGHT[name](amount, coupons) != right}
            if caught:
                cases.append(f"{amount}|{write_coupons(coupons)}")
                missing -= caught
        return ";".join(cases)

    return draw


Line = tuple[int, Decimal]


def draw_lines(rng: random.Random) -> list[Line]:
    """A few lines of an invoice, with prices in whole cents."""
    return [
        (rng.randint(1, 12), Decimal(rng.randint(2_000, 29_999)) / 100)
        for _ in range(rng.randint(1, 4))
    ]


def sum_of(lines: list[Line]) -> Decimal:
    """The subtotal of lines."""
    return sum((to_cents(count * price) for count, price in lines), Decimal(0))


def write_bill(rng: random.Random, lines: list[Line], coupons: str, net: Decimal) -> str | None:
    """A bill whose tax is no matter of dispute, not even among wrong ways to compute taxes.

    None if every rate makes some of them wrong.
    """
    rates = [Decimal(rate) for rate in ("0.05", "0.1", "0.19", "0.2", "0.25", "0.5")]
    rng.shuffle(rates)
    for rate in rates:
        if not caught_by([(net, rate)]):
            written = ",".join(f"{count}*{price}" for count, price in lines)
            return f"{rate}|{written}|{coupons}"
    return None


def _unusable_values(rng: random.Random) -> str:
    values = ["P0", "F0", "F0.00", "P-0.01", "P100.01"]
    values += [f"P-{rng.randint(1, 99)}", f"F-{rng.randint(1, 99)}.50", f"P{rng.randint(101, 999)}"]
    rng.shuffle(values)
    return ",".join(values)


def _unusable_codes(rng: random.Random) -> str:
    code = draw_code(rng)
    codes = ["", " ", f" {code}", f"{code} ", f"{code[:2]} {code[2:]}", f"{code}!", f"{code}_"]
    rng.shuffle(codes)
    return ",".join(codes)


GENERATORS: dict[str, Draw] = {
    "coupon_two": _redemptions(
        _percentages(2, 2),
        {"first only", "last only", "first of a kind"},
        every={"added up"},
        spare=CENTS,
    ),
    "coupon_many": _redemptions(
        _percentages(3, 6),
        {"rounded at the end", "rest rounded", "truncate"},
        every={"added up"},
        spare={"double"},
    ),
    "coupon_after_amount": _redemptions(
        _amounts_and_percentages,
        {"first only", "amounts first"},
        every={"added up", "percentages first"},
        spare=CENTS,
    ),
    "coupon_steps": _redemptions(
        _steps_on_half_cents,
        {*CENTS, "half-even", "truncate"},
        every={"added up"},
    ),
    "coupon_bills": _redemptions(
        _percentages(2, 4),
        {"first only", "last only"},
        every={"added up"},
        spare=CENTS,
        billed=True,
        count=4,
    ),
    "coupon_single": _and_fine_percentages(
        _redemptions(_one_percentage, {*CENTS, "half-even", "truncate"}, spare={"added up"})
    ),
    "coupon_amounts": _redemptions(_amounts, every={"first only", "last only"}, spare={"added up"}),
    "coupon_percentage_first": _redemptions(
        _percentage_then_amounts, every={"amounts first", "first only"}, spare={"added up"}
    ),
    "coupon_too_much": _redemptions(_too_much, spare={"added up"}, count=8),
    "coupon_single_bills": _redemptions(
        _one_percentage,
        {"rounded at the end", "rest rounded", "half-even", "truncate"},
        spare={"added up", "double"},
        billed=True,
        count=4,
    ),
    "coupon_code": draw_code,
    "coupon_usable": lambda rng: f"F{draw_amount_off(rng)[2]}",
    "coupon_values": _unusable_values,
    "coupon_codes": _unusable_codes,
}
