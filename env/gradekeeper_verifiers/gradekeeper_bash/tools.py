"""What the model may call, and how results are shown to it. Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

BASH: Final[dict[str, Any]] = {
    "type": "function",
    "function": {
        "name": "bash",
        "description": "Run a shell command in the working directory and return its output.",
        "parameters": {
            "type": "object",
            "properties": {"command": {"type": "string", "description": "The command."}},
            "required": ["command"],
        },
    },
}
EDIT: Final[dict[str, Any]] = {
    "type": "function",
    "function": {
        "name": "edit",
        "description": "Replace a piece of text that occurs exactly once in a file.",
        "parameters": {
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "The file."},
                "old": {"type": "string", "description": "The text to replace, exactly."},
                "new": {"type": "string", "description": "What takes its place."},
            },
            "required": ["path", "old", "new"],
        },
    },
}


@dataclass(frozen=True, slots=True)
class Bash:
    """One call of `bash`."""

    command: str


@dataclass(frozen=True, slots=True)
class Edit:
    """One call of `edit`."""

    path: str
    old: str
    new: str


def parse_call(name: str, arguments: str) -> Bash | Edit:
    """Read a tool call of the model.

    Raises:
        ValueError: There is no such tool, or the arguments are not its; the model is told so.
    """
    kinds: dict[str, tuple[type[Bash] | type[Edit], tuple[str, ...]]] = {
        "bash": (Bash, ("command",)),
        "edit": (Edit, ("path", "old", "new")),
    }
    if name not in kinds:
        raise ValueError(f"there is no tool {name!r}; there are: {', '.join(kinds)}")
    kind, wanted = kinds[name]
    try:
        given = json.loads(arguments or "{}")
    except (ValueError, RecursionError) as error:  # the latter: a hundred thousand brackets
        raise ValueError(f"the arguments of {name} are not JSON: {error}") from None
    if not isinstance(given, dict):
        raise ValueError(f"the arguments of {name} are not an object")
    for field in wanted:
        if not isinstance(given.get(field), str):
            raise ValueError(f"{name} needs the text {field!r}")
        if "\0" in given[field] or not _encodable(given[field]):
            raise ValueError(f"{name}: {field!r} holds characters that no file or command can")
    return kind(*(given[field] for field in wanted))


def replace_once(text: bytes, old: str, new: str) -> bytes:
    """Return the file's content with its one occurrence of `old` replaced.

    Raises:
        ValueError: It does not occur, or more than once; the model is told so.
    """
    if not old:
        raise ValueError("the text to replace is empty")
    count = text.count(old.encode())
    if count != 1:
        raise ValueError(f"the text to replace occurs {count} times and must occur once")
    return text.replace(old.encode(), new.encode())


def shorten(text: str, most: int) -> str:
    """Return about `most` characters: the beginning, a note of what is left out, the end."""
    if len(text) <= most:
        return text
    head = most // 2
    tail = most - head
    return f"{text[:head]}\n[{len(text) - most} characters left out]\n{text[len(text) - tail :]}"


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair, which JSON can say
        return False
    return True
