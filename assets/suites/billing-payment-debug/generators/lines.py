"""Lines: `quantity*price,…`."""

import random
from collections.abc import Callable, Set
from decimal import ROUND_FLOOR, ROUND_HALF_UP, Decimal

from .amounts import CENT, Draw, to_cents, twice_rounded
from .coupons import Line, sum_of, write_bill
from .taxes import exact_tax, wrong_taxes

TWICE = {f"twice, {n} decimals": n for n in (3, 4, 5, 6, 8, 10)}
"""Programs that round to more decimals first; they are wrong just below half a cent."""


def _wrong_totals(count: int, price: Decimal) -> dict[str, Decimal]:
    return {
        **wrong_taxes(Decimal(count), price),
        "price rounded": to_cents(price) * count,
        "four decimals": to_cents(price.quantize(Decimal("0.0001"), ROUND_HALF_UP) * count),
        "int": to_cents(price * ((count + 2**31) % 2**32 - 2**31)),
        "price as double": to_cents(count * Decimal(repr(float(price)))),
        "price of a double": to_cents(count * Decimal(float(price))),
        "half a cent up": (count * price + Decimal("0.005")).quantize(CENT, ROUND_FLOOR),
        **{name: twice_rounded(count * price, n) for name, n in TWICE.items()},
    }


def _wrong_about_line(line: Line) -> set[str]:
    right = to_cents(line[0] * line[1])
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


def _nearly_half_fraction(rng: random.Random) -> Line:
    """A total that falls short of half a cent by something in the fourth to twelfth decimal."""
    count = rng.choice([1, 2, 4, 5, 8])
    short = Decimal(rng.randint(1, 4)).scaleb(-rng.randint(4, 12))
    return count, (Decimal(rng.randint(0, 9_999)) / 100 + Decimal("0.005") - short) / count


def _long_price(rng: random.Random) -> Line:
    """A price with more digits than a double keeps, by the thousand million."""
    return rng.randint(10**10, 10**13), Decimal(rng.randint(10**17, 10**19)).scaleb(-18)


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
        return ",".join(f"{quantity}*{price:f}" for quantity, price in lines)

    return draw


def _and_whole_units(lines: Draw) -> Draw:
    """The same and a price without any decimals, which its total has all the same."""
    return lambda rng: f"{lines(rng)},{rng.randint(1, 99)}*{rng.randint(1, 99)}"


def _summed(rng: random.Random) -> str:
    """Bills whose lines, summed up before they are rounded, give something else."""
    bills: list[str] = []
    missing = {"half-even", "truncate", "four decimals", "double", "value-of", "taxed one by one"}
    while len(bills) < 5 or missing:
        lines = [rng.choice([_fraction, _half_fraction])(rng) for _ in range(rng.randint(2, 5))]
        totals = [_wrong_totals(*line) for line in lines]
        right = sum_of(lines)
        together = to_cents(sum((count * price for count, price in lines), Decimal(0)))
        caught = {name for name in totals[0] if sum(total[name] for total in totals) != right}
        if "price rounded" not in caught or together == right:
            continue
        bill = write_bill(rng, lines, "", right)
        if bill is None:
            continue
        rate = Decimal(bill.partition("|")[0])
        if sum(exact_tax(to_cents(n * price), rate) for n, price in lines) != exact_tax(
            right, rate
        ):
            caught.add("taxed one by one")
        if len(bills) >= 5 and not missing & caught:
            continue
        bills.append(bill)
        missing -= caught
    return ";".join(bills)


def _unusable_lines(rng: random.Random) -> str:
    lines = [f"{count}*{price:.2f}" for count, price in (_whole_cents(rng) for _ in range(5))]
    prices = [Decimal(rng.randint(1, 99_999)) / 100 for _ in range(3)]
    lines += [f"0*{prices[0]}", f"-1*{prices[1]}", f"-{rng.randint(2, 999)}*-{prices[2]}"]
    rng.shuffle(lines)
    return ",".join(lines)


WRONG_FRACTIONS = {"half-even", "truncate", "double", "value-of", "four decimals", *TWICE}


GENERATORS: dict[str, Draw] = {
    "line_fractions": _priced(
        _fraction,
        _half_fraction,
        _nearly_half_fraction,
        catch={*WRONG_FRACTIONS, "price of a double"},
        every={"price rounded"},
    ),
    "line_credits": _priced(
        _credited(_fraction),
        _credited(_half_fraction),
        _credited(_nearly_half_fraction),
        catch={*WRONG_FRACTIONS, "half a cent up"},
        every={"price rounded"},
    ),
    "line_huge": _priced(
        _huge,
        _long_price,
        catch={"double", "value-of", "four decimals", "price as double", "price of a double"},
        every={"price rounded", "int"},
    ),
    "line_bills": _summed,
    "line_whole_cents": _and_whole_units(_priced(_whole_cents, spare={"price rounded"})),
    "line_singles": _priced(
        _single, catch={"half-even", "truncate", "double"}, spare={"price rounded"}
    ),
    "line_unusable": _unusable_lines,
}
