"""Lines: `quantity*price,…`."""

import random
from collections.abc import Callable, Set
from decimal import ROUND_HALF_UP, Decimal

from .amounts import Draw, to_cents
from .coupons import Line, sum_of, write_bill
from .taxes import wrong_taxes


def _wrong_totals(count: int, price: Decimal) -> dict[str, Decimal]:
    return {
        **wrong_taxes(Decimal(count), price),
        "price rounded": to_cents(price) * count,
        "four decimals": to_cents(price.quantize(Decimal("0.0001"), ROUND_HALF_UP) * count),
        "int": to_cents(price * ((count + 2**31) % 2**32 - 2**31)),
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


def _and_whole_units(lines: Draw) -> Draw:
    """The same and a price without any decimals, which its total has all the same."""
    return lambda rng: f"{lines(rng)},{rng.randint(1, 99)}*{rng.randint(1, 99)}"


def _summed(rng: random.Random) -> str:
    """Bills whose lines, summed up before they are rounded, give something else."""
    bills: list[str] = []
    missing = {"half-even", "truncate", "four decimals", "double", "value-of"}
    while len(bills) < 5 or missing:
        lines = [rng.choice([_fraction, _half_fraction])(rng) for _ in range(rng.randint(2, 5))]
        totals = [_wrong_totals(*line) for line in lines]
        right = sum_of(lines)
        together = to_cents(sum((count * price for count, price in lines), Decimal(0)))
        caught = {name for name in totals[0] if sum(total[name] for total in totals) != right}
        if "price rounded" not in caught or together == right:
            continue
        if len(bills) >= 5 and not missing & caught:
            continue
        bill = write_bill(rng, lines, "", right)
        if bill is not None:
            bills.append(bill)
            missing -= caught
    return ";".join(bills)


def _unusable_lines(rng: random.Random) -> str:
    lines = [f"{count}*{price:.2f}" for count, price in (_whole_cents(rng) for _ in range(5))]
    prices = [Decimal(rng.randint(1, 99_999)) / 100 for _ in range(3)]
    lines += [f"0*{prices[0]}", f"-1*{prices[1]}", f"-{rng.randint(2, 999)}*-{prices[2]}"]
    rng.shuffle(lines)
    return ",".join(lines)


GENERATORS: dict[str, Draw] = {
    "line_fractions": _priced(
        _fraction,
        _half_fraction,
        catch={"half-even", "truncate", "double", "value-of", "four decimals"},
        every={"price rounded"},
    ),
    "line_credits": _priced(
        _credited(_fraction),
        _credited(_half_fraction),
        catch={"half-even", "truncate", "double", "value-of", "four decimals"},
        every={"price rounded"},
    ),
    "line_huge": _priced(
        _huge, catch={"double", "value-of", "four decimals"}, every={"price rounded", "int"}
    ),
    "line_bills": _summed,
    "line_whole_cents": _and_whole_units(_priced(_whole_cents, spare={"price rounded"})),
    "line_singles": _priced(
        _single, catch={"half-even", "truncate", "double"}, spare={"price rounded"}
    ),
    "line_unusable": _unusable_lines,
}
