"""Metered use: `zone|first day|last day|instant*units,…`."""

import random
from collections.abc import Callable, Set
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

from .amounts import Draw

DAY, TICK = timedelta(days=1), timedelta(microseconds=1)
OFFSETS = {"-09:30": (-9, 30), "+05:30": (5, 30), "+12:45": (12, 45), "UTC-07:00": (-7, 0)}
"""Zones that are no places; who looks them up by name among places does not find them."""
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


def _zone(name: str) -> tzinfo:
    if name not in OFFSETS:
        return ZoneInfo(name)
    hours, minutes = OFFSETS[name]
    return timezone(timedelta(hours=hours, minutes=minutes if hours > 0 else -minutes))


def _start(day: date, zone: str) -> datetime:
    return datetime.combine(day, time.min, _zone(zone)).astimezone(UTC)


def _offset(at: datetime, zone: str) -> timedelta:
    return at.astimezone(_zone(zone)).utcoffset() or timedelta(0)


def _standard(at: datetime, zone: str) -> timedelta:
    return _offset(at, zone) - (at.astimezone(_zone(zone)).dst() or timedelta(0))


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
        "last-24-hours": _report(case, within=lambda at: start <= at < _start(last, zone) + DAY),
        "days-of-24-hours": _report(
            case, within=lambda at: start <= at < start + ((last - first).days + 1) * DAY
        ),
        "name": _report(
            case, lambda at: (at if zone in OFFSETS else at + _offset(at, zone)).date()
        ),
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
    """Use at all the moments, reported in no order; some of it is much."""
    uses = [(at, rng.randint(1, 9_999)) for at in moments]
    for n in rng.sample(range(len(uses)), k=2):
        uses[n] = (uses[n][0], rng.randint(2**31, 2**40))
    rng.shuffle(uses)
    return Metered(zone, first, first + (days - 1) * DAY, tuple(uses))


def _hours(rng: random.Random, first: float, last: float) -> timedelta:
    return timedelta(seconds=rng.randint(int(first * 3_600), int(last * 3_600)))


def _some_day(rng: random.Random) -> date:
    return date(2010, 1, 1) + timedelta(days=rng.randint(0, 3200))


def _evenings(rng: random.Random) -> Metered:
    zone = rng.choice([*WEST, "-09:30", "UTC-07:00"])
    first, days = _some_day(rng), rng.randint(3, 6)
    starts = [_start(first + n * DAY, zone) for n in range(days)]
    evenings = [start + _hours(rng, 19.1, 23.9) for start in starts]
    return _used(rng, zone, first, days, evenings + [at + _hours(rng, 0, 19) for at in starts])


def _mornings(rng: random.Random) -> Metered:
    zone = rng.choice([*EAST, "+05:30", "+12:45"])
    first, days = _some_day(rng), rng.randint(3, 6)
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
    changed = rng.choice(changes)
    midnights = [_start(changed + n * DAY, zone) for n in range(-2, 4)]
    sides = [at - _hours(rng, 0.05, 0.9) for at in midnights]
    sides += [at + _hours(rng, 0.05, 0.9) for at in midnights]
    # days around it, up to it, from it on, or it alone
    first, days = rng.choice([(-2, 5), (-1, 2), (0, 2), (0, 1)])
    return _used(rng, zone, changed + first * DAY, days, sides)


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


CLOCKS = {"standard", "first", "last", "24-hours", "last-24-hours", "days-of-24-hours"}


GENERATORS: dict[str, Draw] = {
    "usage_evenings": _metered(_evenings, {"utc", "utc-range", "elsewhere", "name"}, spare=CLOCKS),
    "usage_mornings": _metered(_mornings, {"utc", "utc-range", "elsewhere", "name"}, spare=CLOCKS),
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
}
