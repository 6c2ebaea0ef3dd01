"""Take what an agent made out of its box, whatever it did to the box.

Nothing that an agent can do is an error: what cannot be sent becomes a claim, which the operator
signs as `Rejected`. Only a box that the platform took away raises.
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
from gradekeeper_verifiers.errors import BoxEndedError

# $1 folder, $2 files and $3 bytes at most, $4 archive to write, $5 bytes of the tar at most. All is
# counted with an end: a file may be endless, or grow while it is read.
_PACK: Final = """
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


@dataclass(frozen=True, slots=True)
class SnapshotRules:
    """What is taken, and how much of it.

    Attributes:
        folder: Path from the box's workdir; kept in the archive. Links and special files are left
            to the suite's rules, which skip them.
        max_files: Regular files.
        max_bytes: Bytes of all regular files.
        seconds: Time to pack, after which the submission counts as malformed.
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
        SandboxError: The platform took the box away.
    """
    archive = f"/tmp/.gradekeeper-{secrets.token_hex(8)}"  # noqa: S108 - in the box
    # Each file has a header, and may be padded; folders are no files and yet have one.
    most = rules.max_bytes + 2 * _BLOCK * rules.max_files + 4096 * _BLOCK
    numbers = (str(rules.max_files), str(rules.max_bytes))
    argv = ["sh", "-c", _PACK, "sh", rules.folder, *numbers, archive, str(most)]
    try:
        async with asyncio.timeout(rules.seconds):
            packed = await runtime.run(argv, {})
            claim = read_result(packed, rules)
            if claim is not None or packed.exit_code == _MISSING:
                return claim or empty_archive()
            data: bytes = await runtime.read(archive, max_bytes=MAX_ARCHIVE_BYTES)
            return data
    except BoxEndedError:
        return _malformed()
    except (TimeoutError, SandboxError) as error:
        # A box that was not taken away and yet does not hand out what it holds: the agent's doing.
        if await _is_agents(runtime):
            return _malformed()
        raise SandboxError(f"the box was lost while its submission was taken: {error}") from error


async def _is_agents(runtime: Runtime) -> bool:
    """Whether a box is still there, or is gone by its own doing."""
    if await runtime.alive():
        return True
    try:
        await runtime.run(["true"], {})
    except BoxEndedError:
        return True
    except SandboxError:
        return False
    return True


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
