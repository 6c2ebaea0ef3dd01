"""The judge: transcripts in, equal or not out. Pure; nothing here reads, waits or draws.

A transcript is a list of entries `["obs", key, value]`, `["threw", key, class]` and
`["call", method, arguments]`. `canonical` gives equal results for transcripts that differ only in
what may differ: the random tokens that the referee gave, the spelling of decimal numbers, the
order of entries where a test compares multisets. `suite pin` stores what it returns.

`compare` judges what a lane said. It goes through the entries one by one and keeps none of them,
so that what a lane sends costs time in proportion to its bytes, and memory for one entry. Only
what is right but for the tokens in it is looked at as a whole: that is as large as what the suite
expects.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from gradekeeper.referee.observations import split_decimal
from gradekeeper.referee.roles import Roles
from gradekeeper.referee.strictjson import encode_canonical
from gradekeeper.referee.texts import is_map, renamed, tokens_arranged, tokens_in

Entry = list[Any]
Transcript = list[Entry]

_MAX_EXPONENT = 400
_MEMBERS: Final = frozenset({"t", "c", "f", "v"})
"""Of tagged values."""
_NUMBER_OF_NAME: Final = re.compile("#[0-9]+")


@dataclass(frozen=True, slots=True)
class Rules:
    """How one test's transcripts compare.

    Attributes:
        multiset: the order of entries does not count.
        ignore: observation keys, or "call:<method>", that are left out.
        tolerance: observation key -> largest accepted difference, a decimal number >= 0.
    """

    multiset: bool = False
    ignore: frozenset[str] = frozenset()
    tolerance: Mapping[str, str] = field(default_factory=dict)


def canonical(transcript: Iterable[Entry], tokens: Mapping[str, str], rules: Rules) -> Transcript:
    """Bring a transcript into the form in which equal behaviour is equal data.

    Args:
        transcript: entries whose values follow the grammar of observations.
        tokens: token -> the method that it answered; every answer that the referee gave.
        rules: the test's.

    Returns:
        Entries with ignored ones left out, decimals normalised, maps sorted by key, a literal
        "$" doubled, and tokens named `$<method>#<n>` in the order of first appearance.
    """
    if not rules.multiset:
        return list(_named(transcript, tokens, rules))
    entries = [_normal(entry) for entry in transcript if not _ignored(entry, rules.ignore)]
    used = list(dict.fromkeys(token for entry in entries for token in tokens_in(entry, tokens)))
    roles = Roles([_blurred(entry, rules) for entry in entries], used, tokens)
    keyed = zip(roles.keys(), (_sizes(entry, rules) for entry in entries), entries, strict=True)
    arranged = [entry for _, _, entry in sorted(keyed, key=lambda item: item[:2])]
    names = _Names(tokens)
    colours = roles.colours
    for entry in arranged:
        for token in tokens_arranged(entry, lambda t: f"${tokens[t]}@{colours[t]}", tokens)[1]:
            names.give(token)
    return [renamed(entry, names.given.__getitem__, tokens) for entry in arranged]


def compare(
    entries: Callable[[], Iterable[Entry]],
    tokens: Mapping[str, str],
    rules: Rules,
    right: Sequence[Transcript],
) -> str | None:
    """Tell whether what was observed is one of the right transcripts.

    Args:
        entries: gives the observed entries, one after another, whenever it is called.
        tokens: token -> the method that it answered; every answer that the referee gave.
        rules: the test's.
        right: canonical transcripts.

    Returns:
        None if it is; else where it differs, in a few words without anything of the lane's.
    """
    if not rules.multiset:
        return _compare_in_order(_named(entries(), tokens, rules), rules, right)
    found = Counter(
        _outline(renamed(entry, lambda token: f"${tokens[token]}#0", tokens), rules)
        for entry in map(_normal, entries())
        if not _ignored(entry, rules.ignore)
    )
    outlines = [Counter(_outline(entry, rules) for entry in one) for one in right]
    alike = [one for one, outline in zip(right, outlines, strict=True) if outline == found]
    if not alike:
        wrong, missing = min(((found - one).total(), (one - found).total()) for one in outlines)
        return f"what was seen differs: {wrong} entries are not right, {missing} are missing"
    # From here on it is no larger than what is right.
    observed = canonical(entries(), tokens, rules)
    positions = [difference(observed, one, rules) for one in alike]
    if None in positions:
        return None
    return f"entry {max(position or 0 for position in positions)} differs"


def _compare_in_order(
    observed: Iterable[Entry], rules: Rules, right: Sequence[Transcript]
) -> str | None:
    agree = list(right)
    count = furthest = 0
    # To the end, right or wrong: how long judging takes tells nothing.
    for entry in observed:
        left = [
            one for one in agree if count < len(one) and _entries_agree(entry, one[count], rules)
        ]
        if len(left) < len(agree):
            agree, furthest = left, count
        count += 1
    if any(len(one) == count for one in agree):
        return None
    return f"entry {count if agree else furthest} differs"


def matches(observed: Transcript, expected: Transcript, rules: Rules) -> bool:
    """Whether two canonical transcripts agree, within the test's tolerances."""
    return difference(observed, expected, rules) is None


def difference(observed: Transcript, expected: Transcript, rules: Rules) -> int | None:
    """Position of the first entry in which two canonical transcripts differ, or None."""
    for position, (left, right) in enumerate(zip(observed, expected, strict=False)):
        if not _entries_agree(left, right, rules):
            return position
    if len(observed) != len(expected):
        return min(len(observed), len(expected))
    return None


def _entries_agree(left: Entry, right: Entry, rules: Rules) -> bool:
    if left == right:
        return True
    allowed = rules.tolerance.get(left[1]) if left[0] == "obs" else None
    return allowed is not None and _close(left, right, allowed)


def _close(left: Entry, right: Entry, allowed: str) -> bool:
    if _masked(left) != _masked(right):
        return False
    limit = _scaled(allowed)
    pairs = zip(_numbers(left), _numbers(right), strict=True)
    for mine, theirs in pairs:
        a, b = _scaled(mine), _scaled(theirs)
        if limit is None or a is None or b is None or abs(a - b) > limit:
            return False
    return True


def _scaled(text: str) -> int | None:
    """The number times 10**_MAX_EXPONENT; None where that is out of reach."""
    parts = split_decimal(text)
    if parts is None or not -_MAX_EXPONENT <= parts[1] <= _MAX_EXPONENT:
        return None
    scaled: int = parts[0] * 10 ** (parts[1] + _MAX_EXPONENT)
    return scaled


def _ignored(entry: Entry, ignore: frozenset[str]) -> bool:
    name = f"call:{entry[1]}" if entry[0] == "call" else entry[1]
    return name in ignore


def _normal(value: Any) -> Any:
    """Copy with decimals normalised; integers and everything else as they are.

    The components of a record are an object too: none keeps a name by which it would look like the
    tag of a value, whatever follows.
    """
    if type(value) is list:
        return [_normal(item) for item in value]
    if type(value) is dict:
        if "f" in value:
            components = {
                f"{name}." if name in _MEMBERS else name: _normal(item)
                for name, item in value["f"].items()
            }
            return {"t": value["t"], "f": components}
        if value.get("t") == "dec":
            parts = split_decimal(value["v"])
            if parts is not None:
                coefficient, exponent = parts
                text = f"{coefficient}E{exponent}"
                if 0 <= exponent <= 64:
                    text = str(coefficient * 10**exponent)
                elif -64 <= exponent < 0:
                    text = _plain(coefficient, -exponent)
                return {"t": "dec", "v": text}
        return {key: _normal(item) for key, item in value.items()}
    return value


def _plain(coefficient: int, places: int) -> str:
    digits = str(abs(coefficient)).rjust(places + 1, "0")
    sign = "-" if coefficient < 0 else ""
    return f"{sign}{digits[:-places]}.{digits[-places:]}"


class _Names:
    """Names of tokens, `$<method>#<n>` in the order in which they are given.

    Attributes:
        given: token -> name.
    """

    def __init__(self, tokens: Mapping[str, str]) -> None:
        self._tokens = tokens
        self._numbers: dict[str, int] = {}
        self.given: dict[str, str] = {}

    def give(self, token: str) -> None:
        """Name a token unless it has a name."""
        if token not in self.given:
            method = self._tokens[token]
            number = self._numbers[method] = self._numbers.get(method, 0) + 1
            self.given[token] = f"${method}#{number}"


def _named(transcript: Iterable[Entry], tokens: Mapping[str, str], rules: Rules) -> Iterator[Entry]:
    """The canonical entries of a transcript in order."""
    names = _Names(tokens)
    for raw in transcript:
        if not _ignored(raw, rules.ignore):
            entry = _normal(raw)
            for token in tokens_in(entry, tokens):
                names.give(token)
            yield renamed(entry, names.given.__getitem__, tokens)


def _outline(entry: Entry, rules: Rules) -> bytes:
    """A digest of a renamed entry in which names of the same method are the same.

    Equal for entries that are equal, or close enough, under any other names.
    """
    return hashlib.sha256(encode_canonical(_unnumbered(_blurred(entry, rules)))).digest()


def _unnumbered(value: Any) -> Any:
    if type(value) is str:
        return _NUMBER_OF_NAME.sub("#", value)
    if type(value) is list:
        return [_unnumbered(item) for item in value]
    if type(value) is dict:
        if is_map(value):
            return {
                "t": "map",
                "v": sorted((_unnumbered(pair) for pair in value["v"]), key=encode_canonical),
            }
        return {key: _unnumbered(item) for key, item in value.items()}
    return value


def _masked(value: Any) -> Any:
    """Copy in which every number is the same."""
    if type(value) is list:
        return [_masked(item) for item in value]
    if type(value) is dict:
        if value.get("t") in ("dec", "int") and "f" not in value:
            return {"t": value["t"], "v": "~"}
        return {key: _masked(item) for key, item in value.items()}
    return value


def _numbers(value: Any) -> list[str]:
    if type(value) is list:
        return [number for item in value for number in _numbers(item)]
    if type(value) is dict:
        if value.get("t") in ("dec", "int") and "f" not in value:
            return [value["v"]]
        return [number for _, item in sorted(value.items()) for number in _numbers(item)]
    return []


def _is_tolerated(entry: Entry, rules: Rules) -> bool:
    return entry[0] == "obs" and entry[1] in rules.tolerance


def _blurred(entry: Entry, rules: Rules) -> Entry:
    """The entry, without its numbers where these are tolerated."""
    if not _is_tolerated(entry, rules):
        return entry
    masked: Entry = _masked(entry)
    return masked


def _sizes(entry: Entry, rules: Rules) -> list[int]:
    """The numbers by which entries are sorted that differ in nothing else that counts."""
    if not _is_tolerated(entry, rules):
        return []
    return [_scaled(number) or 0 for number in _numbers(entry)]
