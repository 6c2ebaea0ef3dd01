"""From a directory to one deterministic tar.gz, and from bytes to parts. Pure but for reading.

A submission's directory was written by untrusted code. So: nothing is followed out of it, nothing
that could block (a FIFO, a device) is opened, and the time and memory spent are bounded.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import os
import re
import stat
import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from gradekeeper.api.reasons import Reason
from gradekeeper.api.spec import Untransportable
from gradekeeper.client.errors import SubmissionError, TooLargeToSendError

PART_BYTES: Final = 1024 * 1024 - 4096
"""Bytes in one part: a ConfigMap holds 1 MiB with its metadata."""

MAX_PARTS: Final = 24
"""Parts that one job may name."""

MAX_ARCHIVE_BYTES: Final = MAX_PARTS * PART_BYTES
"""Bytes of the largest archive that one job can carry."""

MAX_UNPACKED_BYTES: Final = 1024 * 1024 * 1024
"""Bytes of files beyond which packing is not even tried: a sparse file must not cost an hour."""

MAX_ENTRIES: Final = 100_000
"""Entries beyond which packing is not tried either."""

MAX_SEEN: Final = 4 * MAX_ENTRIES
"""Names, folders among them, that are looked at; a claim counts no more of them."""

MAX_SEGMENTS: Final = 4 * MAX_SEEN
"""Segments of all these names: each is a folder to open, and one deep path could cost hours."""

MAX_CHARACTERS: Final = 32 * 1024 * 1024
"""Characters of all these names and of what links say; a long path to many files is kept often."""


@dataclass(frozen=True, slots=True)
class PackedDirectory:
    """One packed submission.

    Attributes:
        archive: The tar.gz, the same bytes for the same content.
        digest: `sha256:<hex>` of the archive.
        files: Number of regular files in it.
        bytes: Sum of their sizes.
        left_out: Paths that no archive can carry: sockets, FIFOs, devices.
    """

    archive: bytes
    digest: str
    files: int
    bytes: int
    left_out: tuple[str, ...]


def digest_of(data: bytes) -> str:
    """Return `sha256:<hex>` of the data."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def split_parts(archive: bytes) -> list[bytes]:
    """Split an archive into parts of at most `PART_BYTES`, at least one.

    The claim of the error counts no files, since an archive is not opened here.

    Raises:
        TooLargeToSendError: More than `MAX_PARTS` parts are needed.
    """
    if len(archive) > MAX_ARCHIVE_BYTES:
        raise _too_large(
            Untransportable(bytes=len(archive), files=0, reason=Reason.SUBMISSION_TOO_LARGE),
            f"the archive of {len(archive)} bytes exceeds {MAX_ARCHIVE_BYTES} bytes",
        )
    return [archive[at : at + PART_BYTES] for at in range(0, len(archive), PART_BYTES)] or [b""]


def pack_directory(
    path: Path | str, *, include: Sequence[str] = (), exclude: Sequence[str] = ()
) -> PackedDirectory:
    """Pack a directory into a tar.gz that depends on nothing but names, modes and content.

    Times, owners and the order of the directory do not count; a file is 0755 if its owner may
    execute it, else 0644. Symbolic links are packed as links and never followed. (The bytes are the
    same for the same zlib; another implementation of deflate may give others.)

    Args:
        path: The directory.
        include: Patterns as in a suite's `submission.include` (`**` spans directories); only
            matching files are packed. Empty: all.
        exclude: Patterns of files to leave out; they win over `include`.

    Raises:
        SubmissionError: The directory does not exist or something in it cannot be read.
        TooLargeToSendError: The result cannot be sent; the error carries the claim to send instead.
    """
    root = Path(path)
    if not root.is_dir():
        raise SubmissionError(f"{root} is not a directory; name the directory to submit.")
    wanted = _filter(include, exclude)
    try:
        top = os.open(root, _FOLDER)
    except OSError as error:
        raise SubmissionError(f"{root} cannot be packed: {error}.") from error
    try:
        found = _scan(top, wanted)
        if found.entries is None:
            raise _too_large(
                found.claim(Reason.SUBMISSION_TOO_MANY_FILES),
                f"it has {found.files} files or more, and at most {MAX_ENTRIES} are packed, with at"
                f" most {MAX_SEGMENTS} segments and {MAX_CHARACTERS} characters of names",
            )
        if found.bytes > MAX_UNPACKED_BYTES:
            raise _too_large(
                found.claim(Reason.SUBMISSION_TOO_LARGE),
                f"its files have {found.bytes} bytes, more than {MAX_UNPACKED_BYTES}",
            )
        archive = _write(root, top, found.entries)
    except OSError as error:
        raise SubmissionError(f"{root} cannot be packed: {error}.") from error
    finally:
        os.close(top)
    if len(archive) > MAX_ARCHIVE_BYTES:
        raise _too_large(
            found.claim(Reason.SUBMISSION_TOO_LARGE),
            f"packed it exceeds {MAX_ARCHIVE_BYTES} bytes",
        )
    return PackedDirectory(
        archive, digest_of(archive), found.files, found.bytes, tuple(found.left_out)
    )


_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class _Entry:
    name: str
    kind: bytes
    mode: int
    size: int
    link: str


@dataclass(frozen=True, slots=True)
class _Found:
    entries: list[_Entry] | None  # None: more than may be packed, counted but not kept
    files: int
    bytes: int
    left_out: list[str]

    def claim(
        self, reason: Literal[Reason.SUBMISSION_TOO_LARGE, Reason.SUBMISSION_TOO_MANY_FILES]
    ) -> Untransportable:
        return Untransportable(bytes=self.bytes, files=self.files, reason=reason)


def _scan(top: int, wanted: _Filter) -> _Found:
    entries: list[_Entry] = []
    left_out: list[str] = []
    files = total = others = seen = segments = characters = 0

    def within() -> bool:
        return seen <= MAX_SEEN and segments <= MAX_SEGMENTS and characters <= MAX_CHARACTERS

    for name, item, folder in _walk(top):
        seen += 1
        segments += 1 + name.count("/")
        characters += len(name)
        if not within():
            break
        info = item.stat(follow_symlinks=False)
        if stat.S_ISDIR(info.st_mode) or not wanted(name):
            continue
        regular = stat.S_ISREG(info.st_mode)
        files += regular
        others += not regular
        total += info.st_size if regular else 0
        if files + others > MAX_ENTRIES:
            continue
        if regular:
            mode = 0o755 if info.st_mode & stat.S_IXUSR else 0o644
            entries.append(_Entry(name, tarfile.REGTYPE, mode, info.st_size, ""))
        elif stat.S_ISLNK(info.st_mode):
            link = os.readlink(item.name, dir_fd=folder)
            characters += len(link)
            entries.append(_Entry(name, tarfile.SYMTYPE, 0o777, 0, link))
        else:
            left_out.append(name)
    entries.sort(key=lambda entry: os.fsencode(entry.name))
    complete = files + others <= MAX_ENTRIES and within()
    return _Found(entries if complete else None, files, total, sorted(left_out))


def _walk(top: int) -> Iterator[tuple[str, os.DirEntry[str], int]]:
    """Yield each name, what it is, and its folder's descriptor, which is open until the next."""
    # Own walk, not os.walk: an unreadable directory must be an error and not an omission.
    pending = [""]
    while pending:
        prefix = pending.pop()
        with _folder(top, prefix) as folder, os.scandir(folder) as items:
            for item in items:
                name = prefix + item.name
                yield name, item, folder
                if item.is_dir(follow_symlinks=False):
                    pending.append(name + "/")


@contextlib.contextmanager
def _folder(top: int, path: str) -> Iterator[int]:
    """Open a folder below another one, whatever takes the place of one on the way: no link."""
    folder = os.dup(top)
    try:
        for part in path.split("/")[:-1]:
            below = os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=folder)
            os.close(folder)
            folder = below
        yield folder
    finally:
        os.close(folder)


def _write(root: Path, top: int, entries: list[_Entry]) -> bytes:
    out = io.BytesIO()
    with (
        gzip.GzipFile(filename="", mode="wb", fileobj=out, compresslevel=6, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for entry in entries:
            member = tarfile.TarInfo(entry.name)
            member.type = entry.kind
            member.mode = entry.mode
            member.size = entry.size
            member.linkname = entry.link
            if entry.kind == tarfile.REGTYPE:
                archive.addfile(member, io.BytesIO(_read(root, top, entry)))
            else:
                archive.addfile(member)
            if out.tell() > 2 * MAX_ARCHIVE_BYTES:
                break  # lost anyway; the caller sees the length
    return out.getvalue()


def _read(root: Path, top: int, entry: _Entry) -> bytes:
    # The name may have become a link or a FIFO since the scan: never follow, never block.
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with _folder(top, entry.name) as folder:
        descriptor = os.open(os.path.basename(entry.name), flags, dir_fd=folder)
    with open(descriptor, "rb") as file:
        info = os.fstat(descriptor)
        data = file.read(entry.size) if stat.S_ISREG(info.st_mode) else b""
    if info.st_size != entry.size or len(data) != entry.size:
        path = root / entry.name
        raise SubmissionError(f"{path} changed while it was packed; stop what writes to it first.")
    return data


def _too_large(claim: Untransportable, why: str) -> TooLargeToSendError:
    return TooLargeToSendError(
        f"The submission cannot be sent: {why}; leave files out, or submit the claim"
        " `Untransportable` to have it signed as Rejected.",
        claim,
    )


class _Filter:
    def __init__(self, include: list[re.Pattern[str]], exclude: list[re.Pattern[str]]) -> None:
        self._include = include
        self._exclude = exclude

    def __call__(self, name: str) -> bool:
        if any(pattern.fullmatch(name) for pattern in self._exclude):
            return False
        return not self._include or any(pattern.fullmatch(name) for pattern in self._include)


def _filter(include: Sequence[str], exclude: Sequence[str]) -> _Filter:
    return _Filter([_translate(p) for p in include], [_translate(p) for p in exclude])


def _translate(pattern: str) -> re.Pattern[str]:
    """Turn `src/**/*.java` into a regular expression; only `**` spans directories."""
    out: list[str] = []
    position = 0
    while position < len(pattern):
        if pattern.startswith("**/", position):
            out.append("(?:[^/]+/)*")
            position += 3
        elif pattern.startswith("**", position):
            out.append(".*")
            position += 2
        elif pattern[position] == "*":
            out.append("[^/]*")
            position += 1
        elif pattern[position] == "?":
            out.append("[^/]")
            position += 1
        else:
            out.append(re.escape(pattern[position]))
            position += 1
    return re.compile("".join(out), re.DOTALL)
