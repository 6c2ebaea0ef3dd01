"""The rest of the service: lines separated by semicolons, fields by `|`."""

import random
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from .amounts import Draw


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
    """A period; uses up to just below each threshold and onto it, and as much again at its end."""
    start = datetime(2018, 1, 1, tzinfo=UTC) + timedelta(hours=rng.randint(0, 60_000))
    end = start + timedelta(days=rng.randint(20, 40), minutes=rng.randint(1, 500))
    included = rng.randint(100, 5_000) * 2 + 1
    edges = [-(-included * percent // 100) for percent in (50, 80, 100)]
    steps = [units for edge in edges for units in (edge - 1, edge)]
    lines = []
    used = 0
    for step in steps:
        at = start + timedelta(seconds=rng.randint(0, int((end - start).total_seconds()) - 1))
        lines.append((at, step - used))
        used = step
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
    """Two texts, amount, status: each mark that needs care stands alone in each text."""
    pairs = []
    for mark in [",", '"', "/", '","', '""']:
        for place in (0, 1):
            texts = [_name(rng), _name(rng)]
            at = rng.randint(0, 6)
            texts[place] = texts[place][:at] + mark + texts[place][at:]
            pairs.append(texts)
    pairs += [[_name(rng), _name(rng)] for _ in range(2)]
    rng.shuffle(pairs)
    return ";".join(
        f"{one}|{other}|{_money(rng, 1, 9_999)}|{rng.choice(['OPEN', 'PAID', 'VOID'])}"
        for one, other in pairs
    )


GENERATORS: dict[str, Draw] = {
    "quiet_blocks": _blocks,
    "quiet_accounts": _accounts,
    "quiet_late_days": _late_days,
    "quiet_new_due_day": _new_due_day,
    "quiet_alerts": _alerts,
    "quiet_plans": _plans,
    "quiet_entries": _entries,
    "quiet_fields": _fields,
}
