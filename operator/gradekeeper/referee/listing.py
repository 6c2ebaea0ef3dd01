"""What a stranger's archive holds, read in a process of its own: for those who are no referee.

A trainer, which holds the archives of many agents, may look into one, but never with its own
memory and time: a fresh process reads it, with the same reader as a referee's and under rlimits
that it gives itself before the first byte. (It is no fork: a process with threads cannot fork
safely.)
"""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import BinaryIO, Final

from gradekeeper.referee import child, intake
from gradekeeper.referee.build_ends import MAX_PATH
from gradekeeper.referee.bundle import SubmissionRules
from gradekeeper.referee.errors import Refused
from gradekeeper.referee.result import REASONS, REJECTED, SUBMISSION_MALFORMED
from gradekeeper.referee.strictjson import StrictJsonError, parse_strict

BOUNDS: Final = child.Bounds(memory_mib=64, cpu_seconds=10, file_mib=0)
SECONDS: Final = 120.0
"""Of wall time. A machine that gives a reader less than a twelfth of a processor cannot tell what
an archive costs."""
_CHUNK: Final = 64 * 1024
_START: Final = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from gradekeeper.referee.listing import main; main(sys.argv[2])"
)
_EXHAUSTED: Final = (signal.SIGXCPU, signal.SIGXFSZ, signal.SIGSEGV)
_BEYOND: Final = "The archive could not be read within bounds."


class ListingError(Exception):
    """The machine could not read the archive; nothing is known about it."""


def list_archive(
    archive: bytes,
    rules: SubmissionRules,
    *,
    bounds: child.Bounds = BOUNDS,
    seconds: float = SECONDS,
) -> dict[str, str]:
    """List what of a tar.gz the rules take; blocks, for a second at most unless it is hostile.

    Args:
        archive: any bytes.
        rules: what is taken, and how much.
        bounds: of the process that reads it.
        seconds: wall time for it.

    Returns:
        Path -> SHA-256 in hex of the content, at most `rules.max_files`.

    Raises:
        Refused: `SubmissionMalformed`, also for an archive that exhausts a bound,
            `SubmissionTooManyFiles` or `SubmissionTooLarge`.
        ListingError: the process could not be run, or not in time.
    """
    if len(archive) > intake.MAX_ARCHIVE_BYTES:
        raise Refused(SUBMISSION_MALFORMED, "The archive is larger than any that is submitted.")
    root = Path(__file__).resolve().parents[2]
    # Isolated from this interpreter's environment, as a local referee is.
    settings = json.dumps({"rules": asdict(rules), "bounds": asdict(bounds)})
    command = [sys.executable, "-I", "-S", "-c", _START, str(root), settings]
    try:
        done = subprocess.run(
            command, input=archive, capture_output=True, timeout=seconds, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ListingError(f"the archive could not be looked at: {error}") from error
    if -done.returncode in _EXHAUSTED:
        raise Refused(SUBMISSION_MALFORMED, _BEYOND)
    if done.returncode:
        said = done.stderr[-500:].decode("utf-8", "replace").strip()
        raise ListingError(f"the reader ended with {done.returncode}: {said}")
    # A path may be escaped to six characters each.
    most = 4_096 + rules.max_files * (6 * MAX_PATH + 128)
    try:
        told = parse_strict(done.stdout, max_bytes=most)
    except StrictJsonError as error:
        raise ListingError(f"the reader's answer cannot be read: {error}") from error
    if "refused" in told:
        raise Refused(*told["refused"])
    files: dict[str, str] = told["files"]
    return files


def main(settings: str) -> None:
    """Read an archive from standard input, and write what it holds to standard output as JSON."""
    given = json.loads(settings)
    rules = SubmissionRules(**given["rules"])
    child.confine(child.Bounds(**given["bounds"]), [0, 1])
    told: dict[str, object]
    try:
        told = {"files": intake.digests(_chunks(sys.stdin.buffer), rules)}
    except Refused as refused:
        assert refused.reason in REASONS[REJECTED]
        told = {"refused": [refused.reason, refused.message]}
    except MemoryError:
        told = {"refused": [SUBMISSION_MALFORMED, _BEYOND]}
    sys.stdout.write(json.dumps(told))
    sys.stdout.flush()


def _chunks(file: BinaryIO) -> Iterator[bytes]:
    while chunk := file.read(_CHUNK):
        yield chunk
