"""Bills with coupons that are entered more than once."""

import random
from collections.abc import Callable, Set
from decimal import Decimal

from .amounts import Draw
from .coupons import (
    Promise,
    added_up,
    draw_amount_off,
    draw_code,
    draw_lines,
    draw_percent,
    redeemed,
    sum_of,
    write_bill,
    write_coupons,
)


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


def _turkish_capitals(code: str) -> str:
    return code.replace("i", "\u0130").upper()


def java_hash(text: str) -> int:
    """What String.hashCode gives."""
    value = 0
    for letter in text:
        value = (31 * value + ord(letter)) % 2**32
    return value


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
    "turkish": lambda coupons: _keep_first(coupons, lambda coupon: _turkish_capitals(coupon[0])),
    "hash of capitals": lambda coupons: _keep_first(
        coupons, lambda coupon: java_hash(_code_of(coupon))
    ),
    "hash of small letters": lambda coupons: _keep_first(
        coupons, lambda coupon: java_hash(coupon[0].lower())
    ),
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
    left = redeemed(amount, right)
    if added_up(amount, right) != left:
        return None
    caught = {
        name
        for name, keep in WRONG_DEDUPS.items()
        if left not in (redeemed(amount, keep(coupons)), added_up(amount, keep(coupons)))
    }
    # another order gives the same where every percentage is taken of the subtotal
    if redeemed(amount, sorted(right, key=_code_of)) != left:
        caught.add("sorted")
    return caught


def _any_coupon(rng: random.Random) -> Promise:
    return rng.choice([draw_amount_off, draw_amount_off, draw_percent])(rng)


def _twice(rng: random.Random) -> list[Promise]:
    coupon = _any_coupon(rng)
    return [coupon, coupon, *rng.choice([[], [draw_amount_off(rng)]])]


def _twice_respelled(rng: random.Random) -> list[Promise]:
    code, kind, value = _any_coupon(rng)
    rest = rng.choice([[], [draw_amount_off(rng)]])
    return [(code, kind, value), (_respelled(rng, code), kind, value), *rest]


def _again_later(rng: random.Random) -> list[Promise]:
    code, kind, value = _any_coupon(rng)
    second = _respelled(rng, code)
    third = _respelled(rng, code, {second})
    between = [draw_amount_off(rng) for _ in range(rng.randint(1, 2))]
    last = rng.choice([[], [draw_amount_off(rng)]])
    return [(code, kind, value), *between, (second, kind, value), *last, (third, kind, value)]


def _same_code_other_value(rng: random.Random) -> list[Promise]:
    code, kind, value = _any_coupon(rng)
    other = rng.choice([draw_amount_off, draw_percent])(rng)
    return [
        (code, kind, value),
        *rng.choice([[], [draw_amount_off(rng)]]),
        (_respelled(rng, code), *other[1:]),
    ]


def _look_alikes(rng: random.Random) -> list[Promise]:
    """Different coupons of the same value, and codes that differ in little but not in case."""
    first = _any_coupon(rng)
    letters = "".join(filter(str.isalpha, first[0]))
    _, kind, value = draw_amount_off(rng)
    others = [f"{letters}{rng.randint(100, 999)}", f"{letters}-", draw_code(rng)]
    rng.shuffle(others)
    return [first, *((code, kind, value) for code in others[: rng.randint(2, 3)])]


def _codes_with_hyphens(rng: random.Random) -> list[Promise]:
    _, kind, value = draw_amount_off(rng)
    code = f"{draw_code(rng).replace('-', '')}"
    return [(code, kind, value), (f"{code[:2]}-{code[2:]}", kind, value)]


def _codes_with_one_hash(rng: random.Random) -> list[Promise]:
    """Pairs of codes to which String.hashCode gives one number, in capitals or in small letters."""
    _, kind, value = draw_amount_off(rng)
    pairs = []
    for letters, step, fold in (("PQRSTUVWX", 1, str.upper), ("nopqrstuvw", 2, str.lower)):
        one, other = rng.choice("BCDEFGHKMN"), rng.choice(letters)
        stem = fold(draw_code(rng))
        twin = fold(chr(ord(one) + step)) + chr(ord(other) - 31 * step)
        pairs += [f"{stem}{fold(one)}{other}", f"{stem}{twin}"]
    return [(code, kind, value) for code in pairs]


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
            lines = draw_lines(rng)
            amount = sum_of(lines)
            coupons = rng.choice(kinds)(rng)
            caught = _wrong_about_codes(amount, coupons)
            if caught is None or not every <= caught or spare & caught:
                continue
            if len(bills) >= count and not missing & caught:
                continue
            left = redeemed(amount, _keep_first(coupons, _code_of))
            bill = write_bill(rng, lines, write_coupons(coupons), left)
            if bill is not None:
                bills.append(bill)
                missing -= caught
        rng.shuffle(bills)
        return ";".join(bills)

    return draw


def _same_codes_every_time(rng: random.Random) -> str:
    """Bills of one customer with the same codes, spelled differently now and then."""
    bills: list[str] = []
    codes = [draw_code(rng), draw_code(rng)]
    while len(bills) < 4:
        coupons = [
            (rng.choice([code, _respelled(rng, code)]), "F", Decimal(rng.randint(100, 4_999)) / 100)
            for code in codes
        ]
        lines = draw_lines(rng)
        net = redeemed(sum_of(lines), coupons)
        bill = write_bill(rng, lines, write_coupons(coupons), net)
        # a customer has one region, and a region one rate
        if bill is not None and bill.partition("|")[0] == (bills or [bill])[0].partition("|")[0]:
            bills.append(bill)
    return ";".join(bills)


NOT_ABOUT_LOOKS = {
    *("none", "case-sensitive", "last stands", "neighbours", "all of a code"),
    *("same coupon", "turkish"),
}
"""Programs that take different codes for different ones, as they must."""


GENERATORS: dict[str, Draw] = {
    "entered_twice": _entered(
        _twice, catch={"one coupon", "same kind"}, every={"none"}, spare={"case-sensitive"}
    ),
    "entered_respelled": _entered(
        _twice_respelled,
        catch={"one coupon", "same kind", "turkish"},
        every={"none", "case-sensitive"},
    ),
    "entered_later": _entered(
        _again_later, every={"none", "case-sensitive", "neighbours", "one coupon"}
    ),
    "entered_other_value": _entered(
        _same_code_other_value,
        catch={"all of a code", "one coupon", "sorted"},
        every={"none", "case-sensitive", "last stands", "same coupon"},
    ),
    "entered_look_alikes": _entered(
        _look_alikes,
        _codes_with_hyphens,
        _codes_with_one_hash,
        catch=WRONG_DEDUPS.keys() - NOT_ABOUT_LOOKS,
        spare={"none"},
    ),
    "entered_every_time": _same_codes_every_time,
    "credit": lambda rng: f"-{rng.randint(1, 999)}.{rng.randint(10, 99)}",
    "entered_once": _entered(_look_alikes, spare={"none"}, count=1),
}
