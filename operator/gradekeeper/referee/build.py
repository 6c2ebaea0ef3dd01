"""The compiler's frames, in a child of the referee: class files checked and placed.

Compiling runs submitted bytes through a big program in the lane, so nothing that comes back is
believed: paths, sizes, counts and the first bytes of every class file are checked.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from gradekeeper.referee import build_ends, report
from gradekeeper.referee.build_ends import (
    MAX_CLASS_MIB,
    MAX_CLASSES,
    MAX_DEPTH,
    MAX_FOLDERS,
    MAX_NAME,
    MAX_PATH,
)
from gradekeeper.referee.channel import Channel, Ended, Overflow
from gradekeeper.referee.intake import parents_of, place_file
from gradekeeper.referee.report import Report, encode_report

MAX_CLASS_BYTES: Final = MAX_CLASS_MIB * 1024 * 1024
MAX_HEADER: Final = MAX_PATH + 64
MAX_OUTPUT: Final = MAX_CLASS_BYTES + MAX_CLASSES * MAX_HEADER
_NO_NAME: Final = frozenset(map(chr, range(33))) | frozenset("\x7f.;[/\\")
"""In no part of a class's name: what the JVM takes for its own, what a frame ends with, and what
only looks like a name."""
MAGIC: Final = b"\xca\xfe\xba\xbe"


class FrameError(Exception):
    """The compiler's output is not of its grammar; the text is ours."""


def class_path(text: str, reserved: frozenset[str]) -> str:
    """Check the path of a class file.

    Args:
        text: as the compiler gave it.
        reserved: folders ("drivers/") that submitted classes may not be in.

    Returns:
        The same path.

    Raises:
        FrameError: it is not `(name/)*name.class`, or reserved.
    """
    pieces = text.split("/")
    names = [*pieces[:-1], pieces[-1].removesuffix(".class")]
    if not pieces[-1].endswith(".class") or not all(map(_is_class_name, names)):
        raise FrameError("a class file has an unexpected path")
    if any(len(piece.encode("utf-8")) > MAX_NAME for piece in pieces):
        raise FrameError(build_ends.NAME_TOO_LONG)
    if len(text.encode("utf-8")) > MAX_PATH or len(pieces) > MAX_DEPTH:
        raise FrameError(build_ends.PATH_TOO_LONG)
    if any(text.startswith(folder) for folder in reserved):
        raise FrameError(build_ends.RESERVED_PACKAGE)
    return text


def _is_class_name(name: str) -> bool:
    """Whether it is what the JVM calls an unqualified name, and a file can have it.

    Every Java identifier is one, whatever the script, and so are `package-info` and what the
    compiler makes up: a list of letters would always be short of some.
    """
    return bool(name) and _NO_NAME.isdisjoint(name)


class FrameReader:
    """Reads frames from pieces of bytes and hands class files on, as they come.

    Of a class file it keeps nothing: `place` is called with its path and each piece of it; the
    first piece of a file says so by True.

    `feed` returns None until the last line was read, then (kind, count) with kind "OK" or
    "ERRORS".
    """

    def __init__(self, place: Callable[[str, bytes, bool], None], reserved: frozenset[str]) -> None:
        self._place = place
        self._reserved = reserved
        self._held = b""
        self._open: tuple[str, int, bool] | None = None
        self._count = 0
        self._size = 0
        self._seen: set[str] = set()
        self._folders: set[str] = set()

    def feed(self, data: bytes) -> tuple[str, int] | None:
        """Take the next bytes.

        Raises:
            FrameError: they are not of the grammar, or beyond a limit.
        """
        self._held += data
        while True:
            if self._open is not None:
                path, left, first = self._open
                if not self._held or (first and len(self._held) < len(MAGIC)):
                    return None
                if first and not self._held.startswith(MAGIC):
                    raise FrameError("a file is not a class file")
                piece, self._held = self._held[:left], self._held[left:]
                self._place(path, piece, first)
                if len(piece) < left:
                    self._open = (path, left - len(piece), False)
                    return None
                self._open = None
            line, newline, rest = self._held.partition(b"\n")
            if not newline:
                if len(self._held) > MAX_HEADER:
                    raise FrameError("a line is too long")
                return None
            if len(line) > MAX_HEADER:
                raise FrameError("a line is too long")
            self._held = rest
            end = self._line(line)
            if end is not None:
                return end

    def _line(self, line: bytes) -> tuple[str, int] | None:
        try:
            words = line.decode("utf-8").split(" ")
        except UnicodeDecodeError:
            raise FrameError("a line is not UTF-8") from None
        number = words[-1]
        if not number.isascii() or not number.isdigit() or len(number) > 9:
            raise FrameError("a line without a number")
        if len(words) == 2 and words[0] in ("OK", "ERRORS"):
            if words[0] == "OK" and int(number) != self._count:
                raise FrameError("another number of files than announced")
            return words[0], int(number)
        if len(words) != 3 or words[0] != "C":
            raise FrameError("an unknown line")
        path = class_path(words[1], self._reserved)
        if int(number) < len(MAGIC):
            raise FrameError("a file is not a class file")
        self._count += 1
        self._size += int(number)
        if self._count > MAX_CLASSES:
            raise FrameError(build_ends.TOO_MANY)
        if self._size > MAX_CLASS_BYTES:
            raise FrameError(build_ends.TOO_LARGE)
        if path in self._seen:
            raise FrameError("a class file comes twice")
        self._seen.add(path)
        self._folders.update(parents_of(path))
        if len(self._folders) > MAX_FOLDERS:
            raise FrameError(build_ends.TOO_MANY_FOLDERS)
        self._open = (path, int(number), True)
        return None


def place_in(folder: Path) -> Callable[[str, bytes, bool], None]:
    """Write class files below a folder, 0644 in folders 0755, piece by piece."""

    def place(path: str, piece: bytes, first: bool) -> None:
        with place_file(folder, path, os.O_EXCL if first else os.O_APPEND) as file:
            file.write(piece)

    return place


def build_in_child(
    channel: Channel, report_to: int, folder: Path, reserved: frozenset[str], deadline: float
) -> None:
    """Read a compiler's output in a child process; returns when the child should exit."""
    reader = FrameReader(place_in(folder), reserved)
    line = Report(report.BUILD_VIOLATION, text=build_ends.NO_RESULT)
    try:
        end = None
        while end is None:
            data = channel.read(deadline)
            if data is None:
                line = Report(report.BUILD_VIOLATION, text="its time was used up")
                break
            end = reader.feed(data)
        if end is not None:
            line = Report(report.BUILT if end[0] == "OK" else report.BUILD_ERRORS, end[1])
    except Ended:
        pass
    except Overflow as error:
        line = Report(report.BUILD_VIOLATION, text=str(error))
    except FrameError as error:
        line = Report(report.BUILD_VIOLATION, text=str(error))
    except (FileExistsError, NotADirectoryError, IsADirectoryError):
        line = Report(report.BUILD_VIOLATION, text="class files are in each other's place")
    os.write(report_to, encode_report(line))
    head = channel.finish_errors()
    if head:
        os.write(
            report_to,
            encode_report(Report(report.ERRORS, text=head.decode("utf-8", "replace")[:2_000])),
        )
