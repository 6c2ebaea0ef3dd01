"""Take what an agent made out of its box, whatever it did to the box.

Nothing that an agent can do is an error: what cannot be sent becomes a claim, which the operator
signs as `Rejected`. Only a box that the platform took away, or keeps out of reach, raises. Packing
can be repeated, so no claim rests on one try: what the platform does passes, and what an agent did
is there again.
"""

from __future__ import annotations

import asyncio
import gzip
import io
import posixpath
import secrets
import tarfile
from dataclasses import dataclass
from typing import Final

from verifiers.v1.errors import SandboxError
from verifiers.v1.runtimes import ProgramResult, Runtime

from gradekeeper.api.reasons import Reason
from gradekeeper.client import MAX_ARCHIVE_BYTES, Untransportable
from gradekeeper_verifiers.errors import BoxEndedError, BoxUnreachableError

# $1 folder, $2 files and $3 bytes at most, $4 archive to write, $5 bytes of the tar at most. All is
# counted with an end: a file may be endless, or grow while it is read. What an earlier try left
# goes first, as it counts towards the box's storage.
_PACK: Final = """
rm -f "${4%.*}".*
[ -d "$1" ] && [ ! -L "$1" ] || exit 10
n=$(find "./$1" -type f | head -n $(($2 + 1)) | wc -l)
b=0
[ "$n" -gt "$2" ] || b=$(find "./$1" -type f -exec cat {} + | head -c $(($3 + 1)) | wc -c)
echo $n $b
[ "$n" -le "$2" ] && [ "$b" -le "$3" ] || exit 11
{ tar -cf - "./$1" || echo failed >"$4.failed"; } | head -c "$5" | gzip -1 >"$4" || exit 12
[ ! -e "$4.failed" ] || exit 12
wc -c <"$4"
"""
_MISSING: Final = 10
_OVER: Final = 11
_BLOCK: Final = 512
_DIGITS: Final = 20
# Tries in a box that is there, and tries that do not reach it.
_TRIES: Final = 2
_REACHES: Final = 3
# Before each further try that did not reach the box.
_PAUSE_SECONDS: Final = (2.0, 15.0)
# A box that takes longer to run `true` is asked again, so often.
_ANSWER_SECONDS: Final = 20.0
_ASKS: Final = 3


@dataclass(frozen=True, slots=True)
class SnapshotRules:
    """What is taken, and how much of it.

    Attributes:
        folder: Path from the box's workdir; kept in the archive. Links and special files are left
            to the suite's rules, which skip them.
        max_files: Regular files.
        max_bytes: Bytes of all regular files.
        seconds: Time of one try to pack.
    """

    folder: str
    max_files: int
    max_bytes: int
    seconds: float = 120.0

    def __post_init__(self) -> None:
        """Refuse folders that are not below the workdir."""
        clean = posixpath.normpath(self.folder)
        if clean != self.folder or clean.startswith(("/", "..", "-")):
            raise ValueError(f"a clean path below the workdir is needed, not {self.folder!r}")


async def take_snapshot(runtime: Runtime, rules: SnapshotRules) -> bytes | Untransportable:
    """Pack a folder of a box.

    Args:
        runtime: The box.
        rules: What to take.

    Returns:
        A tar.gz to submit (empty if the folder is missing), or the claim to submit instead.

    Raises:
        SandboxError: The platform took the box away, or cannot reach it.
    """
    name = secrets.token_hex(8)
    failed = missed = 0
    while True:
        archive = f"/tmp/.gradekeeper-{name}.{failed + missed}"  # noqa: S108 - in the box
        try:
            taken = await _try(runtime, rules, archive)
            if taken is not None:
                return taken
            await _ask(runtime)
        except BoxEndedError:
            return _malformed()
        except BoxUnreachableError as error:
            missed += 1
            if missed == _REACHES:
                raise SandboxError(f"the submission was out of reach: {error}") from error
            await asyncio.sleep(_PAUSE_SECONDS[missed - 1])
        except SandboxError as error:
            what = "the box was lost while its submission was taken"
            raise SandboxError(f"{what}: {error}") from error
        else:
            failed += 1
            if failed == _TRIES:
                return _malformed()


async def _try(
    runtime: Runtime, rules: SnapshotRules, archive: str
) -> bytes | Untransportable | None:
    """Pack and fetch once; None: the box handed out nothing that could be used, whyever.

    Raises:
        BoxEndedError: What runs in the box ended it.
        BoxUnreachableError: A command was lost on its way.
    """
    # Each file has a header, and may be padded; folders are no files and yet have one.
    most = rules.max_bytes + 2 * _BLOCK * rules.max_files + 4096 * _BLOCK
    numbers = (str(rules.max_files), str(rules.max_bytes))
    argv = ["sh", "-c", _PACK, "sh", rules.folder, *numbers, archive, str(most)]
    try:
        async with asyncio.timeout(rules.seconds):
            packed = await runtime.run(argv, {})
            claim = read_result(packed, rules)
            if claim == _malformed():
                return None
            if claim is not None or packed.exit_code == _MISSING:
                return claim or empty_archive()
            data: bytes = await runtime.read(archive, max_bytes=MAX_ARCHIVE_BYTES)
            return data
    except (BoxEndedError, BoxUnreachableError):
        raise
    except (TimeoutError, SandboxError):
        return None


async def _ask(runtime: Runtime) -> None:
    """Return if what the box did not hand out is the box's own doing.

    A slow node is given time to answer. A box that stays silent on a node that reports is an
    agent's, which may stop every process that begins; who runs in the box is all who can.

    Raises:
        SandboxError: It is not; the class says what is.
    """
    for _ in range(_ASKS):
        try:
            async with asyncio.timeout(_ANSWER_SECONDS):
                await runtime.run(["true"], {})
        except TimeoutError:
            continue
        return
    if not await runtime.alive():
        raise BoxUnreachableError("the box does not answer, and nothing says that it runs")


def read_result(packed: ProgramResult, rules: SnapshotRules) -> Untransportable | None:
    """Return the claim that the packing's result calls for; None: there is an archive, or nothing.

    The numbers come out of the box: at most they make the agent's own claim a wrong one. Pure.
    """
    # Cut as they are, since Python reads no number of thousands of digits.
    numbers = [
        int(word[:_DIGITS])
        for word in packed.stdout.split()[:3]
        if word.isascii() and word.isdigit()
    ]
    if packed.exit_code == _MISSING:
        return None
    if packed.exit_code == _OVER and len(numbers) == 2:
        files, size = (min(number, 2**53) for number in numbers)
        return Untransportable(
            bytes=size,
            files=files,
            reason=Reason.SUBMISSION_TOO_MANY_FILES
            if files > rules.max_files
            else Reason.SUBMISSION_TOO_LARGE,
        )
    if packed.exit_code or len(numbers) != 3:
        return _malformed()
    if numbers[2] > MAX_ARCHIVE_BYTES:
        size = min(numbers[2], 2**53)
        return Untransportable(
            bytes=size, files=min(numbers[0], 2**53), reason=Reason.SUBMISSION_TOO_LARGE
        )
    return None


def empty_archive() -> bytes:
    """Return a tar.gz without any file, always the same bytes."""
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w"):
        pass
    return gzip.compress(tar.getvalue(), mtime=0)


def _malformed() -> Untransportable:
    return Untransportable(bytes=0, files=0, reason=Reason.SUBMISSION_MALFORMED)
