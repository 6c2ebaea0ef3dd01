"""What the user names on the command line: a submission, and values of parameters."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from gradekeeper.cli._errors import CliError, plain, read_file

if TYPE_CHECKING:
    from gradekeeper.client import Builtin, Untransportable


def read_source(
    source: str, include: list[str], exclude: list[str]
) -> bytes | Builtin | Untransportable:
    """Return what to submit, packed already, so that a bad path fails before anything is sent.

    Args:
        source: a directory, a tar.gz file, or `builtin:gold` or `builtin:null`.
        include: globs of a directory's files to pack; empty: all.
        exclude: globs of files to leave out.

    Raises:
        CliError: it is none of these, or holds nothing that can be graded.
    """
    from gradekeeper.client import (
        Builtin,
        SubmissionError,
        TooLargeToSendError,
        pack_directory,
    )

    kind, colon, name = source.partition(":")
    if kind == "builtin" and colon:
        try:
            return Builtin(name)
        except ValueError as error:
            raise CliError("SOURCE builtin: is followed by gold or null.") from error
    path = Path(source)
    if not path.is_dir():
        if include or exclude:
            raise CliError("--include and --exclude are for directories; this is a file.")
        data = read_file(path)
        if not data.startswith(b"\x1f\x8b"):
            raise CliError(f"{path} is neither a directory nor a tar.gz.")
        return data
    try:
        packed = pack_directory(path, include=include, exclude=exclude)
    except TooLargeToSendError as error:
        typer.echo(
            f"note: {plain(error)} Only the claim can be submitted: {error.claim.files} files,"
            f" {error.claim.bytes} bytes.",
            err=True,
        )
        return error.claim
    except SubmissionError as error:
        raise CliError(plain(error)) from error
    if packed.left_out:
        typer.echo(
            f"note: left out what no archive can carry: {', '.join(map(plain, packed.left_out))}",
            err=True,
        )
    if packed.files == 0:
        raise CliError(f"{path} holds no file that matches; check the path and --include.")
    return packed.archive


def parse_parameters(pairs: list[str]) -> dict[str, str]:
    """Return `NAME=VALUE` pairs as a map.

    Raises:
        CliError: a pair is not of that form, or a name occurs twice.
    """
    parameters: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise CliError(f"--parameter takes NAME=VALUE, not {plain(pair)!r}.")
        if name in parameters:
            raise CliError(f"--parameter {plain(name)} is given twice.")
        parameters[name] = value
    return parameters
