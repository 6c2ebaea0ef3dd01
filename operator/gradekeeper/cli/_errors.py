"""How a command ends badly: what is wrong on standard error, an exit code, never a traceback."""

from __future__ import annotations

from enum import IntEnum
from pathlib import Path
from typing import Final

MOST_FILE_BYTES: Final = 64 * 1024 * 1024
"""Larger files are refused before they are read: none that a command takes is."""


class ExitCode(IntEnum):
    """Exit codes of all commands."""

    OK = 0
    """Done; with `--wait` or `wait`: a verified verdict exists, a 0 included."""
    FAILED = 1
    """It did not work, or a verdict is not to be trusted."""
    USAGE = 2
    """The input is wrong; nothing was done."""
    UNJUDGED = 3
    """The platform failed: there is no verdict about the submission."""


class CliError(Exception):
    """Ends a command.

    Args:
        message: One sentence that says what to do; lines that follow are set in.
        code: The exit code.
    """

    def __init__(self, message: str, code: ExitCode = ExitCode.USAGE) -> None:
        super().__init__(message)
        self.code = code


def read_file(path: Path, *, most: int = MOST_FILE_BYTES) -> bytes:
    """Return the bytes of a file.

    Raises:
        CliError: It cannot be read, or it is larger than `most` bytes.
    """
    try:
        with path.open("rb") as file:
            data = file.read(most + 1)
    except OSError as error:
        raise CliError(f"{path} cannot be read: {error.strerror or error}.") from error
    if len(data) > most:
        raise CliError(f"{path} is larger than {most} bytes; is it the right file?")
    return data


def write_file(path: Path, data: bytes) -> None:
    """Write a file, replacing what was there.

    Raises:
        CliError: It cannot be written.
    """
    try:
        path.write_bytes(data)
    except OSError as error:
        raise CliError(
            f"{path} cannot be written: {error.strerror or error}.", ExitCode.FAILED
        ) from error


def escaped(text: object) -> str:
    r"""Return text from elsewhere with such characters written as `\x1b` or `\u202e`."""
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii")
        for char in str(text)
    )


def unfolded(text: str) -> list[str]:
    r"""Return the lines of a text that a referee wrote as one line, with `\x0a` for a newline."""
    return text.replace("\\x0a", "\n").replace("\\x09", "\t").expandtabs().rstrip().split("\n")


def plain(text: object) -> str:
    """Return text from elsewhere without characters that would move a terminal's cursor."""
    return "".join(char if char.isprintable() else "?" for char in str(text))
