"""The lines of a run: what a lane may say, parsed strictly, and what the referee answers.

The grammar is docs/protocols.md "The run protocol". Parsing is pure and total: any bytes give an
`Event` or a `LineError`. Order, nonces and open calls are the business of `play`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from gradekeeper.referee.strictjson import StrictJsonError, encode_canonical, parse_strict

MAX_LINE_BYTES: Final = 64 * 1024
MAX_RUN_BYTES: Final = 4 * 1024 * 1024
MAX_ELEMENTS: Final = 4_000
"""Values inside one observation, scalars and containers alike."""
MAX_VALUE_DEPTH: Final = 16
"""Nesting of values; the kit stops at six, and a map or a record takes two JSON levels each."""
MAX_NAME: Final = 256
NO_NONCE: Final = "-"

HELLO: Final = "hello"
OBS: Final = "obs"
THREW: Final = "threw"
CALL: Final = "call"
SETTLED: Final = "settled"
DONE: Final = "done"

PROTOCOL: Final = 1


class LineError(ValueError):
    """A line that is not of the grammar; the text says why and quotes nothing of it."""


@dataclass(frozen=True, slots=True)
class Event:
    """One line of a lane.

    Attributes:
        seq: its sequence number.
        nonce: the nonce that it carries.
        kind: `HELLO`, `OBS`, `THREW`, `CALL`, `SETTLED` or `DONE`.
        name: the key of an observation, the method of a call.
        value: an observed value, the class name that was thrown, or the list of arguments.
        number: the id of a call or of a settle query.
        elements: how many values are in `value`.
    """

    seq: int
    nonce: str
    kind: str
    name: str = ""
    value: Any = None
    number: int = 0
    elements: int = 0


_FIELDS: Final[Mapping[str, tuple[frozenset[str], ...]]] = {
    HELLO: (frozenset({"protocol"}),),
    OBS: (frozenset({"key", "value"}), frozenset({"key", "threw"})),
    CALL: (frozenset({"call", "method", "args"}),),
    SETTLED: (frozenset({"query"}),),
    DONE: (frozenset(),),
}
_COMMON = frozenset({"seq", "nonce", "type"})


def parse_event(line: bytes) -> Event:
    """Parse one line, without its newline.

    Raises:
        LineError: it is not of the grammar.
    """
    try:
        document = parse_strict(line, max_bytes=MAX_LINE_BYTES)
    except StrictJsonError as error:
        raise LineError(str(error)) from None
    if type(document) is not dict or not document.keys() >= _COMMON:
        raise LineError("not an event")
    kind = _name(document, "type")
    if (document.keys() - _COMMON) not in _FIELDS.get(kind, ()):
        raise LineError("unknown type or fields")
    seq = _number(document, "seq")
    nonce = _name(document, "nonce")
    if kind == HELLO:
        if _number(document, "protocol") != PROTOCOL:
            raise LineError("another protocol")
        return Event(seq, nonce, HELLO)
    if kind == DONE:
        return Event(seq, nonce, DONE)
    if kind == SETTLED:
        return Event(seq, nonce, SETTLED, number=_number(document, "query"))
    if kind == CALL:
        arguments = document["args"]
        if type(arguments) is not list:
            raise LineError("arguments are not a list")
        return Event(
            seq,
            nonce,
            CALL,
            name=_name(document, "method"),
            value=arguments,
            number=_number(document, "call"),
            elements=check_value(arguments),
        )
    key = _name(document, "key")
    if "threw" in document:
        return Event(seq, nonce, THREW, name=key, value=_name(document, "threw"), elements=1)
    value = document["value"]
    return Event(seq, nonce, OBS, name=key, value=value, elements=check_value(value))


def check_value(value: Any) -> int:
    """Check that a parsed JSON value is an observed value of the grammar.

    Returns:
        How many values it holds, itself included.

    Raises:
        LineError: it is not, or it is too deep or too large.
    """
    elements = 0
    open_values: list[tuple[Any, int]] = [(value, 1)]
    while open_values:
        current, depth = open_values.pop()
        elements += 1
        if elements > MAX_ELEMENTS or depth > MAX_VALUE_DEPTH:
            raise LineError("a value is too large or too deep")
        kind = type(current)
        if current is None or kind is bool or kind is str:
            continue
        if kind is list:
            open_values.extend((item, depth + 1) for item in current)
        elif kind is dict:
            open_values.extend((item, depth + 1) for item in _tagged(current))
        else:
            raise LineError("a bare number")
    return elements


def _tagged(value: dict[str, Any]) -> list[Any]:
    """Check an object by its tag and return the values inside it."""
    tag = value.get("t")
    if type(tag) is not str or not tag or len(tag) > MAX_NAME:
        raise LineError("an object without a tag")
    fields = value.keys() - {"t"}
    if fields == {"f"}:
        components = value["f"]
        if type(components) is not dict or any(len(name) > MAX_NAME for name in components):
            raise LineError("a record without components")
        return list(components.values())
    content = value.get("v")
    if tag == "map" and fields == {"v"}:
        if type(content) is not list:
            raise LineError("a map without entries")
        inside: list[Any] = []
        for pair in content:
            if type(pair) is not list or len(pair) != 2:
                raise LineError("a map entry is not a pair")
            inside.extend(pair)
        return inside
    if tag == "int" and fields == {"v"} and is_integer(content):
        return []
    if tag == "dec" and fields == {"v"} and split_decimal(content) is not None:
        return []
    named = type(value.get("c")) is str and len(value["c"]) <= MAX_NAME
    if tag in ("time", "enum") and fields == {"c", "v"} and named and type(content) is str:
        return []
    if tag == "opaque" and fields == {"c"} and named:
        return []
    raise LineError("a value of an unknown form")


def is_integer(text: Any) -> bool:
    """Whether it is a canonical decimal integer of at most 64 digits."""
    if type(text) is not str:
        return False
    digits = text.removeprefix("-")
    if not (0 < len(digits) <= 64 and digits.isascii() and digits.isdigit()):
        return False
    return (digits == "0" and text == "0") or digits[0] != "0"


def split_decimal(text: Any) -> tuple[int, int] | None:
    """Split a decimal number into a coefficient without trailing zeros and a power of ten.

    Returns:
        (coefficient, exponent), equal for numerically equal texts; None if it is no decimal
        number of at most 64 digits with an exponent of at most ten digits.
    """
    if type(text) is not str or len(text) > 96 or not text.isascii():
        return None
    mantissa, mark, power = text.replace("e", "E").partition("E")
    whole, point, fraction = mantissa.removeprefix("-").partition(".")
    digits = whole + fraction
    unsigned = power[1:] if power[:1] in ("+", "-") else power
    if not whole.isdigit() or (point and not fraction.isdigit()) or len(digits) > 64:
        return None
    if mark and not (unsigned.isdigit() and len(unsigned) <= 10):
        return None
    exponent = (int(power) if mark else 0) - len(fraction)
    stripped = digits.rstrip("0")
    coefficient = int(stripped or "0")
    if coefficient == 0:
        return 0, 0
    exponent += len(digits) - len(stripped)
    return (-coefficient if mantissa.startswith("-") else coefficient), exponent


def _name(document: dict[str, Any], field: str) -> str:
    value = document[field]
    if type(value) is not str or not 0 < len(value) <= MAX_NAME:
        raise LineError("a name is missing or too long")
    return value


def _number(document: dict[str, Any], field: str) -> int:
    value = document[field]
    if type(value) is not int or not 0 <= value < 2**53:
        raise LineError("an id is not a small number")
    return value


def case_line(nonce: str, method: str, inputs: Mapping[str, str]) -> bytes:
    """Start a test."""
    return _line({"type": "case", "nonce": nonce, "method": method, "inputs": dict(inputs)})


def value_line(call: int, value: str) -> bytes:
    """Answer a call with a value."""
    return _line({"type": "reply", "call": call, "value": value})


def throw_line(call: int, text: str) -> bytes:
    """Answer a call with a refusal."""
    return _line({"type": "reply", "call": call, "throw": text})


def settle_line(query: int) -> bytes:
    """Ask to be told once nothing can move by itself."""
    return _line({"type": "settle", "query": query})


def unsettle_line() -> bytes:
    """Withdraw the query."""
    return _line({"type": "unsettle"})


def bye_line() -> bytes:
    """Let the runner go."""
    return _line({"type": "bye"})


def _line(document: Mapping[str, Any]) -> bytes:
    return encode_canonical(document) + b"\n"
