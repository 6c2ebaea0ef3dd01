"""The entry point `app`: collects the commands and turns errors into a line or a few.

Other distributions bring commands by entry points of the group `gradekeeper.commands`: the name is
the command's, the object a `typer.Typer`. They are loaded when they are used or listed, and never
take the place of a command that is here.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.metadata import EntryPoint, entry_points
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup

from gradekeeper import __version__
from gradekeeper.cli import _cluster, _doctor, _explain, _grade, _keys, _logs, _verify
from gradekeeper.cli._errors import CliError, ExitCode, escaped, plain

_SUITE: Final = "suite"
_FURTHER: Final = "gradekeeper.commands"


class _Commands(TyperGroup):
    """Loads `suite` and others' commands when they are used; reports errors without a traceback."""

    def list_commands(self, ctx: Any) -> list[str]:
        own = [*super().list_commands(ctx), _SUITE]
        return [*own, *sorted(entry_points(group=_FURTHER).names - set(own))]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        own = super().get_command(ctx, cmd_name)
        if own is not None:
            return own
        if cmd_name == _SUITE:
            from gradekeeper.suites.cli import app as suite_app

            command: Any = typer.main.get_group(suite_app)
        else:
            found = entry_points(group=_FURTHER, name=cmd_name)
            if not found:
                return None
            command = typer.main.get_command(_load(next(iter(found))))
        command.name = cmd_name
        return command

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run; with `standalone_mode` leave with the exit code, as click does."""
        if not standalone_mode:
            return super().main(args, prog_name, complete_var, False, windows_expand_args, **extra)
        try:
            code = super().main(args, prog_name, complete_var, False, windows_expand_args, **extra)
        except CliError as error:
            _fail(str(error), error.code)
        except typer.Abort:
            _fail("aborted", 1)
        except UnicodeEncodeError:
            # Files may have such names, and are opened by them; all else is text.
            given = sys.argv[1:] if args is None else args
            strange = [text for text in given if not _is_text(text)]
            if not strange:
                raise
            _fail(f"The argument {plain(strange[0])!r} is not UTF-8.", ExitCode.USAGE)
        except Exception as error:
            # typer brings its own copy of click; every usage error there has these two.
            message, status = getattr(error, "format_message", None), getattr(error, "exit_code", 1)
            if message is None:
                raise
            if type(error).__name__ == "NoArgsIsHelpError":
                # Its message is the help: whoever says nothing is told what there is to say.
                print(message())
                sys.exit(status)
            context = getattr(error, "ctx", None)
            hint = f" See `{context.command_path} --help`." if context is not None else ""
            said = message()
            if context is not None:
                said = " ".join(said.split())  # typer wraps it for a terminal
            _fail(said + hint, status)
        sys.exit(code if isinstance(code, int) else 0)


def _load(entry: EntryPoint) -> typer.Typer:
    """Import another distribution's command."""
    try:
        found = entry.load()
    except (ImportError, AttributeError) as error:
        raise CliError(
            f"The command `{entry.name}` ({entry.value}) cannot be loaded: {error}.",
            ExitCode.FAILED,
        ) from error
    assert isinstance(found, typer.Typer), f"{entry.value} is no typer.Typer"
    return found


def _is_text(argument: str) -> bool:
    """Whether an argument was UTF-8; Python keeps other bytes of it as halves of surrogates."""
    try:
        argument.encode()
    except UnicodeEncodeError:
        return False
    return True


def _fail(message: str, code: int) -> None:
    """Print the error and leave; further lines, such as a compiler's, are set in."""
    first, *more = message.strip().expandtabs().split("\n")
    print("error:", escaped(first.strip()), file=sys.stderr)
    for line in more:
        print(f"  {escaped(line)}".rstrip(), file=sys.stderr)
    sys.exit(code)


app = typer.Typer(
    name="gradekeeper",
    cls=_Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(__version__)
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Grade untrusted code on Kubernetes and verify the signed verdicts."""


_cluster.register(app)
_explain.register(app)
_logs.register(app)
_doctor.register(app)
_grade.register(app)
app.command("verify")(_verify.verify)
app.add_typer(_keys.app, name="keys")
