"""Running programs: with a time limit, and with their output in the error."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from .errors import ClusterError

# Debian keeps ip, iptables and ipset outside the PATH of a plain login.
SEARCH_PATH = os.pathsep.join(
    [os.environ.get("PATH", ""), "/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/bin", "/bin"]
)
_TAIL_LINES = 25


def tail(text: str, lines: int = _TAIL_LINES) -> str:
    """Return the last lines of ``text``, indented for an error message."""
    return "\n".join(f"    {line}" for line in text.rstrip().splitlines()[-lines:])


def run(
    argv: Sequence[str | Path],
    *,
    limit: float = 60,
    stdin: str | None = None,
    extra_env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> str:
    """Run a program and return its stdout.

    Args:
        argv: Command line.
        limit: Seconds after which it is killed.
        stdin: Text for its standard input.
        extra_env: Environment variables on top of this process's.
        cwd: Working folder.

    Raises:
        ClusterError: It cannot be started, failed or took too long; with its last output lines.
    """
    shown = " ".join(str(part) for part in argv)
    try:
        done = subprocess.run(
            [str(part) for part in argv],
            check=False,
            capture_output=True,
            text=True,
            errors="replace",
            input=stdin,
            timeout=limit,
            env={**os.environ, "PATH": SEARCH_PATH, **(extra_env or {})},
            cwd=cwd,
        )
    except subprocess.TimeoutExpired as error:
        raise ClusterError(f"`{shown}` did not end within {limit:.0f} s") from error
    except OSError as error:
        raise ClusterError(f"cannot run `{shown}`: {error}") from error
    if done.returncode != 0:
        output = tail(done.stdout + done.stderr)
        raise ClusterError(f"`{shown}` failed with status {done.returncode}:\n{output}")
    return done.stdout


def succeeds(argv: Sequence[str | Path], *, limit: float = 60) -> bool:
    """Return whether a program ends with status 0."""
    try:
        run(argv, limit=limit)
    except ClusterError:
        return False
    return True
