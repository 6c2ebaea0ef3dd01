"""What a compiler streams back: class files between headers."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from fuzz.targets import require
from gradekeeper.referee.build import MAGIC, FrameError, FrameReader, place_in

MAX_LEN = 8192
RESERVED = frozenset({"gradekeeper/", "drivers/"})


def frame(path: str, content: bytes = MAGIC) -> bytes:
    return f"C {path} {len(content)}\n".encode() + content


SEEDS = {
    "two": frame("a/B.class", MAGIC + b"\nOK 9\n") + frame("a/B$C.class") + b"OK 2\n",
    "twice": frame("a/B.class") + frame("a/B.class") + b"OK 2\n",
    "errors": b"ERRORS 3\n",
    "reserved": frame("drivers/Desk.class") + b"OK 1\n",
    "not-a-class": frame("A.class", b"nothing") + b"OK 1\n",
    "in-its-place": frame("a.class") + frame("a.class/b.class") + b"OK 2\n",
    "outside": frame("../a.class") + frame("/a.class") + frame("a/./b.class") + b"OK 3\n",
    "unicode": frame("ä/Ü.class") + b"OK 1\n",
    "signs": frame("Preis€.class") + frame("\U00020000/Zero\u200d_$.class") + b"OK 2\n",
    "long": frame("x" * 249 + ".class") + frame("\u20ac" * 86 + "/C.class") + b"OK 2\n",
    "deep": frame("d/" * 300 + "A.class") + b"OK 1\n",
    "large": b"C a.class 999999999\n" + MAGIC,
}
WORDS = [b"C ", b".class ", b"OK ", b"ERRORS ", b"\n", MAGIC, b"../", b"/", b"drivers/", b"$", b"-"]
_SCRATCH = Path("/dev/shm" if os.access("/dev/shm", os.W_OK) else tempfile.gettempdir())


def run(data: bytes) -> None:
    """Read frames in one piece, and again in many; place what arrives."""
    whole, files = read([data])
    step = 1 + len(data) % 7
    pieces, again = read([data[at : at + step] for at in range(0, len(data), step)])
    require(whole == pieces and files == again, "where pieces are cut changes what is read")
    for path in files:
        require(
            path == os.path.normpath(path) and not path.startswith(("/", "..")), f"place {path!r}"
        )
        require(not any(path.startswith(folder) for folder in RESERVED), "a reserved package")
    if files:
        place(files)


def read(pieces: list[bytes]) -> tuple[tuple[str, int] | str | None, dict[str, bytes]]:
    """The end, or the refusal, and what was handed on before it."""
    files: dict[str, bytes] = {}

    def take(path: str, piece: bytes, first: bool) -> None:
        require(first == (path not in files), "a file comes twice")
        files[path] = files.get(path, b"") + piece
        require(files[path].startswith(MAGIC), "not a class file")

    reader = FrameReader(take, RESERVED)
    end = None
    try:
        for piece in pieces:
            end = reader.feed(piece)
            if end is not None:
                break
    except FrameError as error:
        return str(error), files
    return end, files


def place(files: dict[str, bytes]) -> None:
    """Write class files; only what `build_in_child` expects may go wrong."""
    root = Path(tempfile.mkdtemp(dir=_SCRATCH))
    try:
        (root / "app").mkdir()
        put = place_in(root / "app")
        for path, content in files.items():
            put(path, content[:4], True)
            put(path, content[4:], False)
            require((root / "app" / path).read_bytes() == content, "another content")
    except (FileExistsError, NotADirectoryError, IsADirectoryError):
        pass
    finally:
        shutil.rmtree(root)
