"""What the model may call, and how results are shown to it. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
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


def tool_calls(message: Mapping[str, Any]) -> list[Any]:
    """The tool calls of a message, of whatever shape they are."""
    calls = message.get("tool_calls") or []
    return calls if isinstance(calls, list) else [calls]


def read_call(call: object) -> Bash | Edit:
    """Read a tool call of the model as the API hands it over.

    Raises:
        ValueError: It is no call of a function, there is no such tool, or the arguments are not
            its; the model is told so.
    """
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict):
        raise ValueError("this is no call of a function")
    name, arguments = function.get("name"), function.get("arguments")
    if not isinstance(name, str):
        raise ValueError("the name of the function is no text")
    if not isinstance(arguments, str | None):
        raise ValueError(f"the arguments of {name} are not text that holds JSON")
    return parse_call(name, arguments or "")


def is_malformed(call: object) -> bool:
    """Whether `read_call` refuses it, so that a strict provider may as well."""
    try:
        read_call(call)
    except ValueError:
        return True
    return False


def sent_back(call: Any, number: int) -> dict[str, Any]:
    """The call as it stands in the next request: its own self, if it has the API's shape.

    Otherwise a call of the API's shape that says the same as nearly as can be, as a request of
    another shape reaches no model. `number` makes an id where there is none; any unique one does.
    """
    given = call if isinstance(call, dict) else {}
    kind, said = ("custom", "input") if given.get("type") == "custom" else ("function", "arguments")
    part = given.get(kind)
    part = part if isinstance(part, dict) else {}
    shaped = isinstance(part.get("name"), str) and isinstance(part.get(said), str)
    if shaped and isinstance(given.get("id"), str) and given.get("type") in (None, kind):
        return given
    arguments = part.get(said)
    return {
        "id": given["id"] if isinstance(given.get("id"), str) else f"call-without-id-{number}",
        "type": kind,
        kind: {
            "name": part["name"] if isinstance(part.get("name"), str) else "unknown",
            said: arguments if isinstance(arguments, str) else json.dumps(arguments or {}),
        },
    }


def parse_call(name: str, arguments: str) -> Bash | Edit:
    """Read a tool call of the model.

    Fields that the tool does not know are left out, if they are as plain as its own.

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
    for field, value in given.items():
        # Nested by the hundred, or 1e999: JSON here, but not to every server that reads it later.
        if not _encodable(field) or not _plain(value):
            raise ValueError(f"{name} has no such field: {field!r}")
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


def _plain(value: object) -> bool:
    if isinstance(value, int | float):
        return abs(value) < 2**63  # not so if it is no number
    return value is None or (isinstance(value, str) and "\0" not in value and _encodable(value))


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair, which JSON can say
        return False
    return True
