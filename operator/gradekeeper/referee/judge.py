"""The judge: transcripts in, equal or not out. Pure; nothing here reads, waits or draws.

A transcript is a list of entries `["obs", key, value]`, `["threw", key, class]` and
`["call", method, arguments]`. `canonical` gives equal results for transcripts that differ only in
what may differ: the random tokens that the referee gave, the spelling of decimal numbers, the
order of entries where a test compares multisets. `suite pin` stores what it returns.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from gradekeeper.referee.observations import split_decimal
from gradekeeper.referee.strictjson import encode_canonical

Entry = list[Any]
Transcript = list[Entry]

TOKEN_PREFIX: Final = "tk_"  # noqa: S105 - the mark of a referee's answer, not a secret
TOKEN_LENGTH: Final = len(TOKEN_PREFIX) + 16
_HEX = frozenset("0123456789abcdef")
_MAX_LEAVES = 8
_MAX_EXPONENT = 400


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


def canonical(transcript: Sequence[Entry], tokens: Mapping[str, str], rules: Rules) -> Transcript:
    """Bring a transcript into the form in which equal behaviour is equal data.

    Args:
        transcript: entries whose values follow the grammar of observations.
        tokens: token -> the method that it answered; every answer that the referee gave.
        rules: the test's.

    Returns:
        Entries with ignored ones left out, decimals normalised, maps sorted by key, a literal
        "$" doubled, and tokens named `$<method>#<n>` in the order of first appearance.
    """
    entries = [_normal(entry) for entry in transcript if not _ignored(entry, rules.ignore)]
    used = _tokens_by_appearance(entries, tokens)
    if rules.multiset:
        colours = _colours(entries, used, tokens, rules)
        entries.sort(key=lambda entry: _sort_key(entry, colours, tokens, rules))
        used = _tokens_by_appearance(
            [_map_sorted(entry, _coloured(tokens, colours), tokens) for entry in entries], tokens
        )
    names: dict[str, str] = {}
    numbers: dict[str, int] = {}
    for token in used:
        method = tokens[token]
        numbers[method] = numbers.get(method, 0) + 1
        names[token] = f"${method}#{numbers[method]}"
    return [_map_sorted(entry, names.__getitem__, tokens, rewrite=True) for entry in entries]


def matches(observed: Transcript, expected: Transcript, rules: Rules) -> bool:
    """Whether two canonical transcripts agree, within the test's tolerances."""
    return difference(observed, expected, rules) is None


def difference(observed: Transcript, expected: Transcript, rules: Rules) -> int | None:
    """Position of the first entry in which two canonical transcripts differ, or None."""
    for position, (left, right) in enumerate(zip(observed, expected, strict=False)):
        if left == right:
            continue
        allowed = rules.tolerance.get(left[1]) if left[0] == "obs" else None
        if allowed is None or not _close(left, right, allowed):
            return position
    if len(observed) != len(expected):
        return min(len(observed), len(expected))
    return None


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
    """Copy with decimals normalised; integers and everything else as they are."""
    if type(value) is list:
        return [_normal(item) for item in value]
    if type(value) is dict:
        if value.get("t") == "dec" and "f" not in value:
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


def _pieces(text: str, tokens: Mapping[str, str]) -> Iterator[tuple[bool, str]]:
    """Split a text into (is a token, piece)."""
    start = at = 0
    while (at := text.find(TOKEN_PREFIX, at)) >= 0:
        candidate = text[at : at + TOKEN_LENGTH]
        if candidate in tokens:
            if at > start:
                yield False, text[start:at]
            yield True, candidate
            at += TOKEN_LENGTH
            start = at
        else:
            at += 1
    if start < len(text) or not text:
        yield False, text[start:]


def _rename(text: str, name: Callable[[str], str], tokens: Mapping[str, str]) -> str:
    if TOKEN_PREFIX not in text:
        return text.replace("$", "$$")
    return "".join(
        name(piece) if is_token else piece.replace("$", "$$")
        for is_token, piece in _pieces(text, tokens)
    )


def _map_sorted(
    value: Any,
    name: Callable[[str], str],
    tokens: Mapping[str, str],
    *,
    rewrite: bool = False,
) -> Any:
    """Copy with the entries of maps in the order of their renamed text.

    Args:
        value: a value or an entry.
        name: how a token is written.
        tokens: all tokens.
        rewrite: write the renamed texts into the copy; else keep the texts as they are.
    """
    if type(value) is str:
        return _rename(value, name, tokens) if rewrite else value
    if type(value) is list:
        return [_map_sorted(item, name, tokens, rewrite=rewrite) for item in value]
    if type(value) is dict:
        if value.get("t") == "map" and "f" not in value:
            keyed = sorted(
                (
                    (
                        encode_canonical(_map_sorted(pair, name, tokens, rewrite=True)),
                        _map_sorted(pair, name, tokens, rewrite=rewrite),
                    )
                    for pair in value["v"]
                ),
                key=lambda item: item[0],
            )
            return {"t": "map", "v": [pair for _, pair in keyed]}
        return {
            # Tags and record components are names of the program, never answers.
            key: item if key in ("t", "c") else _map_sorted(item, name, tokens, rewrite=rewrite)
            for key, item in sorted(value.items())
        }
    return value


def _texts(value: Any) -> Iterator[str]:
    if type(value) is str:
        yield value
    elif type(value) is list:
        for item in value:
            yield from _texts(item)
    elif type(value) is dict:
        for _, item in sorted(value.items()):
            yield from _texts(item)


def _tokens_in(value: Any, tokens: Mapping[str, str]) -> Iterator[str]:
    for text in _texts(value):
        if TOKEN_PREFIX in text:
            for is_token, piece in _pieces(text, tokens):
                if is_token:
                    yield piece


def _tokens_by_appearance(entries: Sequence[Entry], tokens: Mapping[str, str]) -> list[str]:
    return list(dict.fromkeys(token for entry in entries for token in _tokens_in(entry, tokens)))


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


def _coloured(tokens: Mapping[str, str], colours: Mapping[str, int]) -> Callable[[str], str]:
    return lambda token: f"${tokens[token]}@{colours[token]}"


def _sort_key(
    entry: Entry, colours: Mapping[str, int], tokens: Mapping[str, str], rules: Rules
) -> tuple[str, list[int]]:
    tolerated = entry[0] == "obs" and entry[1] in rules.tolerance
    numbers = [_scaled(number) or 0 for number in _numbers(entry)] if tolerated else []
    return _template(entry, tokens, rules).fill(colours), numbers


def _colours(
    entries: Sequence[Entry], used: Sequence[str], tokens: Mapping[str, str], rules: Rules
) -> dict[str, int]:
    """Number the tokens of a multiset by their role in it, whatever they are called.

    Two tokens that nothing tells apart but their own text must not make equal multisets differ.
    So tokens are told apart by where they occur, then by the tokens they occur with, and so on
    (colour refinement). What is still tied is either interchangeable, or tried both ways.
    """
    templates = [_template(entry, tokens, rules) for entry in entries]
    where = {
        token: [template for template in templates if token in template.tokens] for token in used
    }
    leaves = 0

    def refine(colours: dict[str, int]) -> dict[str, int]:
        while True:
            signatures = {
                token: (
                    tokens[token],
                    colours[token],
                    tuple(sorted(template.fill(colours, token) for template in where[token])),
                )
                for token in used
            }
            distinct = sorted(set(signatures.values()))
            ranks = {signature: rank for rank, signature in enumerate(distinct)}
            refined = {token: ranks[signatures[token]] for token in used}
            if len(ranks) == len(set(colours.values())):
                return refined
            colours = refined

    def listing(colours: Mapping[str, int]) -> list[str]:
        return sorted(template.fill(colours) for template in templates)

    def interchangeable(first: str, second: str) -> bool:
        apart = {token: 2 + position for position, token in enumerate(used)}
        return listing({**apart, first: 0, second: 1}) == listing({**apart, first: 1, second: 0})

    def solve(colours: dict[str, int]) -> dict[str, int]:
        nonlocal leaves
        colours = refine(colours)
        classes: dict[int, list[str]] = {}
        for token in used:
            classes.setdefault(colours[token], []).append(token)
        tied = next((classes[colour] for colour in sorted(classes) if len(classes[colour]) > 1), [])
        if not tied:
            leaves += 1
            return colours
        candidates = [tied[0]]
        for token in tied[1:]:
            if leaves + len(candidates) >= _MAX_LEAVES:
                break
            if not interchangeable(tied[0], token):
                candidates.append(token)
        best: dict[str, int] | None = None
        best_listing: list[str] = []
        for candidate in candidates:
            doubled = {token: 2 * colour for token, colour in colours.items()}
            doubled[candidate] -= 1
            solved = solve(doubled)
            found = listing(solved)
            if best is None or found < best_listing:
                best, best_listing = solved, found
        assert best is not None
        return best

    return solve(dict.fromkeys(used, 0))


class _Template:
    """One entry, written once, with holes for the colours of its tokens.

    `fill` is injective up to the order of a map's entries: different entries, or different
    colours in the same entry, give different texts.
    """

    __slots__ = ("_parts", "tokens")

    def __init__(self, value: Any, tokens: Mapping[str, str]) -> None:
        self._parts: list[Any] = []
        self.tokens = frozenset(_tokens_in(value, tokens))
        self._write(value, tokens)

    def _write(self, value: Any, tokens: Mapping[str, str]) -> None:
        parts = self._parts
        if type(value) is str:
            for is_token, piece in _pieces(value, tokens):
                if is_token:
                    parts += [f"${tokens[piece]}@", (piece,), ";"]
                else:
                    parts.append(f"{len(piece)}:{piece}")
            parts.append(",")
        elif type(value) is list:
            parts.append("[")
            for item in value:
                self._write(item, tokens)
            parts.append("]")
        elif type(value) is dict:
            parts.append("{")
            if value.get("t") == "map" and "f" not in value:
                parts.append([_Template(pair, tokens) for pair in value["v"]])
            else:
                for key, item in sorted(value.items()):
                    parts.append(f"{len(key)}:{key}=")
                    self._write(item, tokens)
            parts.append("}")
        else:
            parts.append(f"<{value}>")

    def fill(self, colours: Mapping[str, int], marked: str | None = None) -> str:
        """The text with every token's colour, and `marked` standing out."""
        texts: list[str] = []
        for part in self._parts:
            if type(part) is str:
                texts.append(part)
            elif type(part) is tuple:
                texts.append("*" if part[0] == marked else str(colours[part[0]]))
            else:
                texts += sorted(template.fill(colours, marked) for template in part)
        return "".join(texts)


def _template(entry: Entry, tokens: Mapping[str, str], rules: Rules) -> _Template:
    tolerated = entry[0] == "obs" and entry[1] in rules.tolerance
    return _Template(_masked(entry) if tolerated else entry, tokens)
