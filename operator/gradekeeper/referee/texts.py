"""Tokens inside texts, and canonical copies of values in which the tokens have names. Pure.

A token is a random answer that the referee gave; a name is what stands for it wherever the random
text must not count. A literal "$" is doubled, so that a lane cannot spell a name.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from gradekeeper.referee.strictjson import encode_canonical

TOKEN_PREFIX: Final = "tk_"  # noqa: S105 - the mark of a referee's answer, not a secret
TOKEN_LENGTH: Final = len(TOKEN_PREFIX) + 16


def pieces_of(text: str, tokens: Mapping[str, str]) -> Iterator[tuple[bool, str]]:
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


def rename(text: str, name: Callable[[str], str], tokens: Mapping[str, str]) -> str:
    """The text with its tokens named and every other "$" doubled."""
    if TOKEN_PREFIX not in text:
        return text.replace("$", "$$")
    return "".join(
        name(piece) if is_token else piece.replace("$", "$$")
        for is_token, piece in pieces_of(text, tokens)
    )


def is_map(value: Mapping[str, Any]) -> bool:
    """Whether a tagged object is a map, whose entries have no order."""
    return value.get("t") == "map" and "f" not in value


def renamed(value: Any, name: Callable[[str], str], tokens: Mapping[str, str]) -> Any:
    """Copy with the texts renamed, and the entries of maps in the order of what became of them.

    Args:
        value: a value or an entry.
        name: how a token is written.
        tokens: all tokens.
    """
    if type(value) is str:
        return rename(value, name, tokens)
    if type(value) is list:
        return [renamed(item, name, tokens) for item in value]
    if type(value) is dict:
        if is_map(value):
            pairs = [renamed(pair, name, tokens) for pair in value["v"]]
            pairs.sort(key=encode_canonical)
            return {"t": "map", "v": pairs}
        return {
            # Tags and record components are names of the program, never answers.
            key: item if key in ("t", "c") else renamed(item, name, tokens)
            for key, item in sorted(value.items())
        }
    return value


def tokens_in(value: Any, tokens: Mapping[str, str]) -> Iterator[str]:
    """Every token of a value, in order, as often as it occurs."""
    if type(value) is str:
        if TOKEN_PREFIX in value:
            for is_token, piece in pieces_of(value, tokens):
                if is_token:
                    yield piece
    elif type(value) is list:
        for item in value:
            yield from tokens_in(item, tokens)
    elif type(value) is dict:
        for _, item in sorted(value.items()):
            yield from tokens_in(item, tokens)


def tokens_arranged(
    value: Any, name: Callable[[str], str], tokens: Mapping[str, str]
) -> tuple[Any, list[str]]:
    """What `renamed` returns, and the tokens in the order in which they occur there."""
    if type(value) is str:
        found = list(tokens_in(value, tokens))
        return rename(value, name, tokens), found
    if type(value) is list:
        both = [tokens_arranged(item, name, tokens) for item in value]
        return [one for one, _ in both], [token for _, more in both for token in more]
    if type(value) is dict:
        if is_map(value):
            pairs = [tokens_arranged(pair, name, tokens) for pair in value["v"]]
            pairs.sort(key=lambda pair: encode_canonical(pair[0]))
            inside = [token for _, more in pairs for token in more]
            return {"t": "map", "v": [pair for pair, _ in pairs]}, inside
        copy: dict[str, Any] = {}
        inside = []
        for key, item in sorted(value.items()):
            if key in ("t", "c"):
                copy[key] = item
                inside += tokens_in(item, tokens)
            else:
                copy[key], more = tokens_arranged(item, name, tokens)
                inside += more
        return copy, inside
    return value, []
