"""Take what an agent made out of its box, whatever it did to the box.

Nothing that an agent can do is an error: what cannot be sent becomes a claim, which the operator
signs as `Rejected`. Only a box that the platform took away, or keeps out of reach, raises. Packing
can be repeated, so no claim rests on one try: what the platform does passes, and what an agent did
is there again.
"""

from __future__ import annotations

import asyncio
import base64
import gzip
import io
import posixpath
import secrets
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable

from verifiers.v1.errors import SandboxError
from verifiers.v1.runtimes import Runtime

from gradekeeper.api.reasons import Reason
from gradekeeper.client import MAX_ARCHIVE_BYTES, Untransportable
from gradekeeper_verifiers.errors import BoxEndedError, BoxUnreachableError
from gradekeeper_verifiers.execution import Completed

# $1 folder, $2 files and $3 bytes at most, $4 bytes of the tar and $5 of the archive at most, $6
# what ends it. All is counted with an end: a file may be endless, or grow while it is read. And all
# leaves as one stream, a line that says how the counting went, the archive, the end: nothing lies
# in the box between packing and reading, where its agent could change it.
_PACK: Final = """
[ -d "$1" ] && [ ! -L "$1" ] || { echo missing; exit; }
n=$(find "./$1" -type f | head -n $(($2 + 1)) | wc -l)
b=0
[ "$n" -gt "$2" ] || b=$(find "./$1" -type f -exec cat {} + | head -c $(($3 + 1)) | wc -c)
[ "$n" -le "$2" ] && [ "$b" -le "$3" ] || { echo over $n $b; exit; }
echo packed $n $b
exec 4>&1
f=$({ { tar -cf - "./$1" || echo x >&3; } | head -c "$4" | { gzip -1 || echo x >&3; } |
head -c "$5" >&4; } 3>&1)
[ -n "$f" ] || printf %s "$6"
"""
# Of a runtime whose commands hand out nothing but text.
_PACK_AS_TEXT: Final = f"({_PACK}) | base64"
_BLOCK: Final = 512
_DIGITS: Final = 20
# Of what is said around an archive.
_MAX_SAID: Final = 4096
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


@runtime_checkable
class _Captures(Protocol):
    """A runtime whose commands hand out bytes."""

    async def capture(
        self, argv: Sequence[str], env: dict[str, str], *, max_output: int
    ) -> Completed:
        """Run a command for its bytes."""


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
    failed = missed = 0
    while True:
        try:
            taken = await _try(runtime, rules)
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


async def _try(runtime: Runtime, rules: SnapshotRules) -> bytes | Untransportable | None:
    """Pack and fetch once; None: the box handed out nothing that could be used, whyever.

    Raises:
        BoxEndedError: What runs in the box ended it.
        BoxUnreachableError: The command was lost on its way.
    """
    # Each file has a header, and may be padded; folders are no files and yet have one.
    most = rules.max_bytes + 2 * _BLOCK * rules.max_files + 4096 * _BLOCK
    end = secrets.token_hex(16)
    limits = (rules.max_files, rules.max_bytes, most, MAX_ARCHIVE_BYTES + 1)
    arguments = ["sh", rules.folder, *map(str, limits), end]
    try:
        async with asyncio.timeout(rules.seconds):
            said = await _stream(runtime, arguments)
    except (BoxEndedError, BoxUnreachableError):
        raise
    except (TimeoutError, SandboxError):
        return None
    return read_packed(said, rules, end.encode())


async def _stream(runtime: Runtime, arguments: list[str]) -> bytes:
    """Pack, and return all that the box said."""
    if isinstance(runtime, _Captures):
        argv = ["sh", "-c", _PACK, *arguments]
        done = await runtime.capture(argv, {}, max_output=MAX_ARCHIVE_BYTES + _MAX_SAID)
        return done.stdout
    text = (await runtime.run(["sh", "-c", _PACK_AS_TEXT, *arguments], {})).stdout
    try:
        return await asyncio.to_thread(base64.b64decode, text)
    except ValueError:
        return b""


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


def read_packed(said: bytes, rules: SnapshotRules, end: bytes) -> bytes | Untransportable | None:
    """Return the archive, or the claim to make instead; None: neither is there. Pure.

    The numbers come out of the box: at most they make the agent's own claim a wrong one.

    Args:
        said: All that packing wrote; maybe cut, maybe the agent's own.
        rules: What was asked for.
        end: What follows a whole archive.
    """
    line, newline, rest = said.partition(b"\n")
    how, *words = line[:_MAX_SAID].split()[:4] or [b""]
    # Cut as they are, since Python reads no number of thousands of digits.
    numbers = [min(int(word[:_DIGITS]), 2**53) for word in words if word.isdigit()]
    if not newline or len(numbers) != len(words):
        return None
    if how == b"missing" and not numbers:
        return empty_archive()
    if len(numbers) != 2:
        return None
    files, size = numbers
    if how == b"over":
        if files > rules.max_files:
            return Untransportable(bytes=size, files=files, reason=Reason.SUBMISSION_TOO_MANY_FILES)
        return Untransportable(bytes=size, files=files, reason=Reason.SUBMISSION_TOO_LARGE)
    if how != b"packed":
        return None
    archive = rest.removesuffix(end)
    if len(archive) > MAX_ARCHIVE_BYTES:
        # No more than that was counted.
        size = MAX_ARCHIVE_BYTES + 1
        return Untransportable(bytes=size, files=files, reason=Reason.SUBMISSION_TOO_LARGE)
    return archive if archive and len(archive) < len(rest) else None


def empty_archive() -> bytes:
    """Return a tar.gz without any file, always the same bytes."""
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w"):
        pass
    return gzip.compress(tar.getvalue(), mtime=0)


def _malformed() -> Untransportable:
    return Untransportable(bytes=0, files=0, reason=Reason.SUBMISSION_MALFORMED)
