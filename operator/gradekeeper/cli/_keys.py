"""`gradekeeper keys …`: ed25519 key pairs for suite authors and installations."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Annotated

import typer

from gradekeeper.cli._errors import CliError, ExitCode, read_file

app = typer.Typer(help="Make and show ed25519 keys.", no_args_is_help=True, rich_markup_mode=None)


@app.command("new")
def new(
    out: Annotated[Path, typer.Option("--out", help="Directory for the two files; must exist.")],
    name: Annotated[str, typer.Option("--name", help="Their name: NAME.key and NAME.pub.")],
) -> None:
    """Make a key pair: NAME.key (private, mode 0600) and NAME.pub. Nothing is overwritten."""
    from gradekeeper.verdicts.signing import generate_key, public_keyid

    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}", name):
        raise CliError(
            "--name takes letters, digits, dots, dashes and underscores, as in `author`."
        )
    if not out.is_dir():
        raise CliError(f"{out} is not a directory; create it first.")
    private, public = out / f"{name}.key", out / f"{name}.pub"
    for path in (private, public):
        if path.exists() or path.is_symlink():
            raise CliError(f"{path} exists; remove it or choose another --name.")
    private_pem, public_pem = generate_key()
    _create(private, private_pem, 0o600)
    _create(public, public_pem, 0o644)
    print(f"private key  {private}  keep it secret")
    print(f"public key   {public}")
    print(f"key id       {public_keyid(public_pem)}")


@app.command("show")
def show(file: Annotated[Path, typer.Argument(help="A private or public key (PEM).")]) -> None:
    """Print the key id and the public half of a key."""
    from gradekeeper.verdicts.signing import KeyInvalid, SigningKey, public_keyid

    pem = read_file(file)
    try:
        if b"PRIVATE KEY" in pem:
            key = SigningKey.from_pem(pem)
            kind, keyid, public = "private", key.keyid, key.public_pem
        else:
            kind, keyid, public = "public", public_keyid(pem), pem
    except KeyInvalid as error:
        raise CliError(f"{file}: {error}") from error
    print(f"kind    {kind}")
    print(f"key id  {keyid}")
    print(public.decode("ascii").strip())


def _create(path: Path, data: bytes, mode: int) -> None:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
    except OSError as error:
        raise CliError(
            f"{path} cannot be written: {error.strerror or error}.", ExitCode.FAILED
        ) from error
