"""From parts to sources: concatenated, checked against the digest, unpacked under limits.

The archive is a stranger's. Its digest is computed here; it is decompressed and unpacked by
`unpack`, which the referee runs in a child process (`child.run_bounded`), because a parser of
hostile bytes may exhaust its memory or its time. That costs the child, whose death says
`SubmissionMalformed`.

Rules. Regular files whose path matches an include pattern and no exclude pattern are written, and
nothing else: links, devices, sparse files, absolute paths and paths with ".." are skipped, not
refused, as are names that are not UTF-8 and paths that are too long or too deep for a file system;
the names of the first few that are left out so are told. Whatever else is in a name is the
language's business: a Java identifier may have signs and characters that nothing prints. Of entries
with the same path the last one counts, as in any unpacking. Written files and their folders are
limited in number, and all regular files of the archive, taken or not, in their bytes. A tar reader
of its own keeps every size bounded before it is believed: `tarfile` would read a pax header of any
size into memory.
"""

import hashlib
import os
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from gradekeeper.referee.build_ends import MAX_DEPTH, MAX_FOLDERS, MAX_NAME, MAX_PATH
from gradekeeper.referee.bundle import SubmissionRules
from gradekeeper.referee.errors import Refused, Unjudgeable
from gradekeeper.referee.result import (
    SUBMISSION_CORRUPT,
    SUBMISSION_MALFORMED,
    SUBMISSION_TOO_LARGE,
    SUBMISSION_TOO_MANY_FILES,
)

MAX_ARCHIVE_BYTES: Final = 24 * 1024 * 1024
"""Every part together, compressed."""
MAX_ENTRIES: Final = 50_000
MAX_HEADER_BYTES: Final = 64 * 1024
"""One long name or pax header."""
MAX_RECORDS: Final = 8 * MAX_ENTRIES
"""Records of all pax headers together. An honest entry has two to six; each costs the reader as
much time as hundreds of bytes of a file, however short it is."""
MAX_MEMBERS: Final = 8_192
"""Members of the gzip stream; the shortest has 20 bytes, and each costs the reader a new engine.
Tools that compress in blocks make one of 64 KiB."""
MAX_SEGMENTS: Final = 20 * MAX_ENTRIES
"""Segments of all names together."""
MAX_NAMED: Final = 8
"""Entries that are left out, and named to the author."""
_BLOCK: Final = 512
_CHUNK: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class Unpacked:
    """What was taken from an archive.

    Attributes:
        files: written, distinct paths.
        size: their bytes.
        skipped: entries that the rules leave out.
        left_out: names of the first `MAX_NAMED` of these that the archive's rules leave out, not
            the suite's patterns: absolute, with "..", not UTF-8, too long, in each other's place,
            or no plain file.
    """

    files: int
    size: int
    skipped: int
    left_out: tuple[bytes, ...] = ()


def check_parts(folder: Path, parts: Sequence[str], digest: str) -> list[Path]:
    """Check that the concatenated parts have the digest.

    Returns:
        The parts' paths in order.

    Raises:
        Unjudgeable: `SubmissionCorrupt` if a part is missing or the digest differs.
        Refused: `SubmissionTooLarge` if the parts hold more than `MAX_ARCHIVE_BYTES`.
    """
    paths = [folder / part for part in parts]
    computed = digest_of(paths)
    if computed != digest:
        raise Unjudgeable(
            SUBMISSION_CORRUPT, "The submission's parts do not have the digest that the job names."
        )
    return paths


def digest_of(paths: Sequence[Path]) -> str:
    """Return "sha256:…" of the concatenated files.

    Raises:
        Unjudgeable: `SubmissionCorrupt` if one cannot be read.
        Refused: `SubmissionTooLarge`.
    """
    content = hashlib.sha256()
    total = 0
    try:
        for chunk in _chunks(paths):
            total += len(chunk)
            if total > MAX_ARCHIVE_BYTES:
                raise Refused(SUBMISSION_TOO_LARGE, "The submission's archive is too large.")
            content.update(chunk)
    except OSError:
        raise Unjudgeable(
            SUBMISSION_CORRUPT, "A part of the submission is missing or cannot be read."
        ) from None
    return "sha256:" + content.hexdigest()


def unpack(paths: Sequence[Path], target: Path, rules: SubmissionRules) -> Unpacked:
    """Unpack a tar.gz into an existing empty folder.

    Args:
        paths: the files that make up the archive, in order.
        target: gets the taken files, 0644 in folders 0755.
        rules: the suite's.

    Raises:
        Refused: `SubmissionMalformed`, `SubmissionTooManyFiles` or `SubmissionTooLarge`.
        OSError: the target cannot be written.
    """
    sizes: dict[str, int] = {}
    taken = _Taken(rules)
    for path, entry in taken.read(_chunks(paths)):
        sizes[path] = entry.size
        _write(target, path, entry.read())
    return Unpacked(len(sizes), sum(sizes.values()), taken.skipped, tuple(taken.left_out))


def digests(chunks: Iterator[bytes], rules: SubmissionRules) -> dict[str, str]:
    """Return what `unpack` would write, as path -> SHA-256 in hex; nothing is written.

    Args:
        chunks: the archive.
        rules: the suite's.

    Raises:
        Refused: as `unpack` does.
    """
    found: dict[str, str] = {}
    for path, entry in _Taken(rules).read(chunks):
        content = hashlib.sha256()
        for piece in entry.read():
            content.update(piece)
        found[path] = content.hexdigest()
    return found


class _Taken:
    """The entries of an archive that rules take, and how many they do not.

    Attributes:
        skipped: entries that the rules leave out.
        left_out: names of the first of them, as `Unpacked` has them.
    """

    def __init__(self, rules: SubmissionRules) -> None:
        self._rules = rules
        self._takes = compile_rules(rules)
        self._folders: set[str] = set()
        self._sizes: dict[str, int] = {}
        self.skipped = 0
        self.left_out: list[bytes] = []

    def read(self, chunks: Iterator[bytes]) -> Iterator[tuple[str, "Entry"]]:
        """Yield path and entry, whose content is read before the next one; a path may come again.

        Raises:
            Refused: `SubmissionMalformed`, `SubmissionTooManyFiles` or `SubmissionTooLarge`.
        """
        # A stream of files within the limit is at most this long: their bytes, and for each entry
        # its headers and padding. Beyond it there is only a bomb.
        rules = self._rules
        limit = rules.max_bytes + MAX_ENTRIES * 4 * _BLOCK + 4 * MAX_HEADER_BYTES
        stream = _Stream(_gunzip(chunks, limit))
        total = segments = 0
        for entry in read_tar(stream):
            segments += 1 + entry.name.count(b"/")
            if segments > MAX_SEGMENTS:
                raise Refused(
                    SUBMISSION_MALFORMED,
                    f"The names in the archive have more than {MAX_SEGMENTS} segments.",
                )
            if not entry.regular:
                self._skip(entry, told=not entry.folder)
                continue
            total += entry.size
            if total > rules.max_bytes:
                raise Refused(
                    SUBMISSION_TOO_LARGE,
                    f"The submission's files hold more than {rules.max_bytes} bytes.",
                )
            path = clean_path(entry.name)
            if path is None or not self._takes(path):
                self._skip(entry, told=path is None)
                continue
            if path not in self._sizes and not self._add(path):
                self._skip(entry, told=True)
                continue
            self._sizes[path] = entry.size
            yield path, entry
        # To the very end, so that a cut or padded archive is refused wherever it was cut.
        while stream.read(_CHUNK):
            pass

    def _skip(self, entry: "Entry", *, told: bool) -> None:
        self.skipped += 1
        if told and len(self.left_out) < MAX_NAMED:
            self.left_out.append(entry.name)

    def _add(self, path: str) -> bool:
        """Note a new path, unless a file is in the place of one of its folders or the reverse."""
        parents = parents_of(path)
        if path in self._folders or any(parent in self._sizes for parent in parents):
            return False
        self._folders.update(parents)
        if len(self._sizes) >= self._rules.max_files:
            raise Refused(
                SUBMISSION_TOO_MANY_FILES,
                f"The submission has more than {self._rules.max_files} files.",
            )
        if len(self._folders) > MAX_FOLDERS:
            raise Refused(
                SUBMISSION_TOO_MANY_FILES,
                f"The submission's files are in more than {MAX_FOLDERS} folders.",
            )
        return True


def compile_rules(rules: SubmissionRules) -> Callable[[str], bool]:
    """Turn include and exclude patterns into one decision.

    In a pattern `**/` is any number of folders, `**` anything, `*` anything but a slash and `?`
    one character but a slash.
    """
    include = [_pattern(glob) for glob in rules.include]
    exclude = [_pattern(glob) for glob in rules.exclude]

    def takes(path: str) -> bool:
        return any(each.fullmatch(path) for each in include) and not any(
            each.fullmatch(path) for each in exclude
        )

    return takes


def _pattern(glob: str) -> re.Pattern[str]:
    pieces = re.split(r"(\*\*/|\*\*|\*|\?)", glob)
    forms = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(forms.get(piece, re.escape(piece)) for piece in pieces), re.DOTALL)


def clean_path(name: bytes) -> str | None:
    """The path of an entry, relative and without dots; None where it is not to be taken."""
    try:
        text = name.decode("utf-8")
    except UnicodeDecodeError:
        return None
    if not text or len(name) > MAX_PATH or text[0] == "/" or text[-1] == "/" or "\0" in text:
        return None
    pieces = [piece for piece in text.split("/") if piece not in ("", ".")]
    if not pieces or ".." in pieces or len(pieces) > MAX_DEPTH:
        return None
    if any(len(piece.encode("utf-8")) > MAX_NAME for piece in pieces):
        return None
    return "/".join(pieces)


def parents_of(path: str) -> list[str]:
    """The folders that a relative path is in, outermost first."""
    parents = []
    at = path.find("/")
    while at >= 0:
        parents.append(path[:at])
        at = path.find("/", at + 1)
    return parents


def place_file(target: Path, path: str, flag: int) -> BinaryIO:
    """Open a new file below a folder for writing: 0644, in folders 0755.

    Names are written in UTF-8, whatever the locale of this process is.

    Args:
        target: an existing folder.
        path: relative and clean.
        flag: for `open`, such as `os.O_TRUNC`.

    Raises:
        OSError: it cannot be opened.
    """
    root = os.fsencode(target) + b"/"
    place = root + path.encode("utf-8")
    flags = flag | os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(place, flags, 0o644)
    except FileNotFoundError:
        _make_folders(root, parents_of(path))
        descriptor = os.open(place, flags, 0o644)
    return open(descriptor, "wb")


def _make_folders(root: bytes, parents: Sequence[str]) -> None:
    """Make the folders of a list that are missing, given outermost first.

    From the innermost up to the first that can be made: it costs time for what is missing, not for
    all that there is, which a deep tree would have once for each of its files.
    """
    missing: list[bytes] = []
    for parent in reversed(parents):
        place = root + parent.encode("utf-8")
        try:
            os.mkdir(place, 0o755)
            break
        except FileExistsError:
            break
        except FileNotFoundError:
            missing.append(place)
    for place in reversed(missing):
        os.mkdir(place, 0o755)


def _write(target: Path, path: str, chunks: Iterator[bytes]) -> None:
    with place_file(target, path, os.O_TRUNC) as file:
        for chunk in chunks:
            file.write(chunk)


def _chunks(paths: Sequence[Path]) -> Iterator[bytes]:
    for path in paths:
        with open(path, "rb") as file:
            while chunk := file.read(_CHUNK):
                yield chunk


def _malformed() -> Refused:
    return Refused(SUBMISSION_MALFORMED, "The submission is not a gzip-compressed tar archive.")


def _gunzip(chunks: Iterator[bytes], limit: int) -> Iterator[bytes]:
    """Decompress one or more gzip members, in bounded pieces."""
    total = 0
    members = 1
    engine = zlib.decompressobj(31)
    started = False
    for chunk in chunks:
        pending = chunk
        while pending:
            if engine.eof:
                if not pending.strip(b"\0"):
                    break  # padding after the last member
                members += 1
                if members > MAX_MEMBERS:
                    raise _malformed()
                engine = zlib.decompressobj(31)
            try:
                piece = engine.decompress(pending, _CHUNK)
            except zlib.error:
                raise _malformed() from None
            started = True
            total += len(piece)
            if total > limit:
                raise Refused(
                    SUBMISSION_TOO_LARGE, "The submission's archive expands beyond its limit."
                )
            if piece:
                yield piece
            pending = engine.unused_data if engine.eof else engine.unconsumed_tail
    while started and not engine.eof:
        try:
            piece = engine.decompress(b"", _CHUNK)
        except zlib.error:
            raise _malformed() from None
        if not piece:
            break
        yield piece
    if not engine.eof:
        raise _malformed()


class _Stream:
    """Exact reads from pieces, in time that is linear in their bytes, however small they are."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._held = bytearray()
        self._at = 0

    def read(self, size: int) -> bytes:
        """Up to `size` bytes: fewer only at the end, b"" there."""
        if len(self._held) - self._at < size:
            del self._held[: self._at]
            self._at = 0
            while len(self._held) < size:
                piece = next(self._pieces, b"")
                if not piece:
                    break
                self._held += piece
        taken = bytes(self._held[self._at : self._at + size])
        self._at += len(taken)
        return taken

    def exactly(self, size: int) -> bytes:
        data = self.read(size)
        if len(data) != size:
            raise _malformed()
        return data

    def parts(self, size: int) -> Iterator[bytes]:
        """Exactly `size` bytes in pieces."""
        while size:
            piece = self.exactly(min(size, _CHUNK))
            size -= len(piece)
            yield piece


class Entry:
    """One entry; its content is read at most once, before the next entry."""

    def __init__(
        self, name: bytes, size: int, regular: bool, stream: _Stream, folder: bool = False
    ) -> None:
        self.name = name
        self.size = size
        self.regular = regular
        self.folder = folder
        self._stream = stream
        self._unread = size + -size % _BLOCK

    def read(self) -> Iterator[bytes]:
        """The content in pieces."""
        left = self.size
        for piece in self._stream.parts(left):
            self._unread -= len(piece)
            yield piece

    def skip(self) -> None:
        """Read what is left, padding included."""
        unread, self._unread = self._unread, 0
        for _ in self._stream.parts(unread):
            pass


def read_tar(stream: _Stream) -> Iterator[Entry]:
    """The entries of a ustar, GNU or pax archive.

    Raises:
        Refused: `SubmissionMalformed` for anything else, or too many entries.
    """
    long_name: bytes | None = None
    pax: dict[bytes, bytes] = {}
    records = MAX_RECORDS
    for count in range(MAX_ENTRIES + 1):
        header = stream.read(_BLOCK)
        if not header.strip(b"\0"):
            if not header and count == 0:
                raise _malformed()
            if len(header) not in (0, _BLOCK):
                raise _malformed()
            return
        if len(header) != _BLOCK or not _checks(header):
            raise _malformed()
        kind = header[156:157]
        size = _octal(header[124:136])
        if kind in (b"L", b"K", b"x", b"g"):
            if size > MAX_HEADER_BYTES:
                raise _malformed()
            body = b"".join(stream.parts(size))
            stream.exactly(-size % _BLOCK)
            if kind == b"L":
                long_name = body.rstrip(b"\0")
            elif kind == b"x":
                pax, read = _pax(body, records)
                records -= read
            continue  # a long link target or global header says nothing about a regular file
        regular = kind in (b"0", b"\0", b"7")
        if kind == b"S" and header[482]:
            # More of the old GNU map of a sparse file follows, which its size does not count.
            while stream.exactly(_BLOCK)[504]:
                pass
        name = pax.get(b"path", long_name)
        if name is None:
            name = header[:100].split(b"\0", 1)[0]
            prefix = header[345:500].split(b"\0", 1)[0] if header[257:263] == b"ustar\0" else b""
            if prefix:
                name = prefix + b"/" + name
        if b"size" in pax:
            size = _decimal(pax[b"size"])
        if any(key.startswith(b"GNU.sparse") for key in pax):
            regular = False
        # Only these kinds carry content; a header of another kind may claim any size.
        carried = size if kind not in (b"1", b"2", b"3", b"4", b"5", b"6") else 0
        entry = Entry(name, carried, regular, stream, folder=kind == b"5")
        yield entry
        entry.skip()
        long_name, pax = None, {}
    raise Refused(SUBMISSION_MALFORMED, f"The archive has more than {MAX_ENTRIES} entries.")


def _checks(header: bytes) -> bool:
    expected = _octal(header[148:156])
    blank = header[:148] + b" " * 8 + header[156:]
    return expected == sum(blank)


def _octal(field: bytes) -> int:
    if field[0] & 0x80:  # GNU base 256, for sizes that octal cannot hold
        return int.from_bytes(bytes([field[0] & 0x7F]) + field[1:], "big")
    digits = field.split(b"\0", 1)[0].strip(b" ")
    if not digits:
        return 0
    if digits.strip(b"01234567"):
        raise _malformed()
    return int(digits, 8)


def _decimal(text: bytes) -> int:
    if not text.isdigit() or len(text) > 20:
        raise _malformed()
    return int(text)


def _pax(body: bytes, most: int) -> tuple[dict[bytes, bytes], int]:
    """Parse records of the form "<length> <key>=<value>" and a newline; also return their number.

    Args:
        body: the header's content.
        most: more records are refused.
    """
    found: dict[bytes, bytes] = {}
    at = count = 0
    while at < len(body):
        count += 1
        # By position: a copy of the rest for each record would take quadratic time.
        blank = body.find(b" ", at, at + 21)
        end = at + _decimal(body[at:blank]) if blank > at else 0
        record = body[blank + 1 : end]
        key, equals, value = record.partition(b"=")
        # Past the blank: each round gets further, whatever the length says.
        if not at < blank < end <= len(body) or not equals or record[-1:] != b"\n":
            raise _malformed()
        if count > most:
            raise _malformed()
        found[key] = value[:-1]
        at = end
    return found, count
