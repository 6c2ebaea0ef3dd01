"""JSON from hands that are not trusted: strict, bounded and total.

Every input either parses to plain Python values or raises `StrictJsonError`; nothing else can
come out, however deep, long or malformed the bytes are. Used for observation lines of a lane,
for the referee's own result message and for the files of a bundle.
"""

import json
import math
from collections.abc import Iterator
from typing import Any

MAX_DEPTH = 32
"""Nesting of arrays and objects that is accepted unless a caller says otherwise."""

_SPACE = " \t\n\r"

MAX_DIGITS = 64
"""Characters of one number literal."""


class StrictJsonError(ValueError):
    """The bytes are not JSON of the accepted form; the text says why and quotes none of them."""


def parse_strict(
    data: bytes, *, max_bytes: int, max_depth: int = MAX_DEPTH, max_digits: int = MAX_DIGITS
) -> Any:
    """Parse one JSON document.

    Args:
        data: the bytes; surrounding JSON white space is allowed.
        max_bytes: longest accepted input.
        max_depth: deepest accepted nesting of arrays and objects.
        max_digits: longest accepted number literal, in characters.

    Returns:
        Plain values: None, bool, int, float (finite), str (no lone surrogates), list, dict.

    Raises:
        StrictJsonError: too long, too deep, not UTF-8, duplicate keys, NaN, Infinity, a number
            too long, a lone surrogate, or not JSON at all.
    """
    if len(data) > max_bytes:
        raise StrictJsonError("longer than allowed")
    # Bytes that open less often than the limit cannot nest deeper: most lines stop here.
    if data.count(b"[") + data.count(b"{") > max_depth and _depth(data) > max_depth:
        raise StrictJsonError("nested deeper than allowed")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise StrictJsonError("not UTF-8") from None

    def integer(literal: str) -> int:
        if len(literal) > max_digits:
            raise StrictJsonError("a number is longer than allowed")
        return int(literal)

    def fraction(literal: str) -> float:
        if len(literal) > max_digits:
            raise StrictJsonError("a number is longer than allowed")
        value = float(literal)
        if not math.isfinite(value):
            raise StrictJsonError("a number is not finite")
        return value

    try:
        value = json.loads(
            text,
            object_pairs_hook=_unique,
            parse_int=integer,
            parse_float=fraction,
            parse_constant=_refuse_constant,
        )
    except StrictJsonError:
        raise
    except (ValueError, RecursionError):
        raise StrictJsonError("not JSON") from None
    if "\\u" in text:
        # Only an escape can smuggle a lone surrogate into a str: it would break a later encode.
        try:
            json.dumps(value, ensure_ascii=False).encode("utf-8")
        except UnicodeEncodeError:
            raise StrictJsonError("a lone surrogate") from None
    return value


def split_object(data: bytes, *, max_bytes: int) -> Iterator[tuple[str, bytes]]:
    """Split a JSON object into (key, JSON of the value), one after another.

    For objects that are large as values: nobody holds more than one of them. A value is JSON, but
    what `parse_strict` refuses besides is not refused; give it each value.

    Args:
        data: UTF-8.
        max_bytes: longest accepted input.

    Raises:
        StrictJsonError: too long, not UTF-8, not an object, a key twice, or not JSON.
    """
    if len(data) > max_bytes:
        raise StrictJsonError("longer than allowed")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise StrictJsonError("not UTF-8") from None
    decode = json.JSONDecoder().raw_decode
    seen: set[str] = set()
    at = _after_space(text, 0)
    if text[at : at + 1] != "{":
        raise StrictJsonError("not an object")
    at = _after_space(text, at + 1)
    try:
        while text[at : at + 1] != "}" or seen:
            key, at = decode(text, at)
            at = _after_space(text, at)
            if type(key) is not str or text[at : at + 1] != ":":
                raise StrictJsonError("not JSON")
            if key in seen:
                raise StrictJsonError("a key occurs twice")
            seen.add(key)
            start = _after_space(text, at + 1)
            at = decode(text, start)[1]
            yield key, text[start:at].encode("utf-8")
            at = _after_space(text, at)
            if text[at : at + 1] == "}":
                break
            if text[at : at + 1] != ",":
                raise StrictJsonError("not JSON")
            at = _after_space(text, at + 1)
    except StrictJsonError:
        raise
    except (ValueError, RecursionError):
        raise StrictJsonError("not JSON") from None
    if text[at + 1 :].strip(_SPACE):
        raise StrictJsonError("not JSON")


def _after_space(text: str, at: int) -> int:
    while text[at : at + 1] and text[at] in _SPACE:
        at += 1
    return at


def encode_canonical(value: Any) -> bytes:
    """Encode as canonical JSON: UTF-8, sorted keys, no white space, no trailing newline."""
    return json.dumps(
        value, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")
    ).encode("utf-8")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise StrictJsonError("a key occurs twice")
    return found


def _refuse_constant(_literal: str) -> Any:
    raise StrictJsonError("a number is not finite")


def _depth(data: bytes) -> int:
    """Deepest nesting outside of strings, found without recursion and before parsing."""
    deepest = depth = 0
    in_string = escaped = False
    for byte in data:
        if in_string:
            if escaped:
                escaped = False
            elif byte == 0x5C:
                escaped = True
            elif byte == 0x22:
                in_string = False
        elif byte == 0x22:
            in_string = True
        elif byte in (0x5B, 0x7B):
            depth += 1
            deepest = max(deepest, depth)
        elif byte in (0x5D, 0x7D):
            depth -= 1
    return deepest
