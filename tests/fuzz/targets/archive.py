"""An archive from an agent. The first byte says what the rest is: 0 a gzip stream, else a tar that
is compressed here; with 1 the checksums of its headers are made right, as an attacker would."""

from __future__ import annotations

import gzip
import io
import os
import shutil
import tarfile
import tempfile
from pathlib import Path

from fuzz.targets import require
from gradekeeper.referee import intake
from gradekeeper.referee.bundle import SubmissionRules
from gradekeeper.referee.errors import Refused
from gradekeeper.referee.result import REASONS, REJECTED

MAX_LEN = 16 * 1024
RULES = SubmissionRules(
    include=("src/**/*.java", "*.java"),
    exclude=("**/hidden/**",),
    max_files=5,
    max_bytes=4096,
)
_BLOCK = 512


def tar(*members: tuple[str, bytes, dict[str, object]], form: int = tarfile.PAX_FORMAT) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=form) as archive:
        for name, content, fields in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            for key, value in fields.items():
                setattr(info, key, value)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue().rstrip(b"\0") + bytes(1024)


def pax(body: bytes) -> bytes:
    """A pax header of any body, before a plain file."""
    info = tarfile.TarInfo("x")
    info.type, info.size = tarfile.XHDTYPE, len(body)
    return info.tobuf() + body + bytes(-len(body) % _BLOCK) + PLAIN


LONG = "src/" + "long/" * 30 + "A.java"
SPARSE: dict[str, object] = {
    "pax_headers": {"GNU.sparse.major": "1", "GNU.sparse.name": "src/a/S.java"}
}
PLAIN = tar(("src/a/A.java", b"class A {}", {}), ("src/b/B.java", b"", {}))
TARS = {
    "plain": PLAIN,
    "ustar": tar(("src/a/A.java", b"a" * 600, {}), form=tarfile.USTAR_FORMAT),
    "gnu-long": tar((LONG, b"x", {}), form=tarfile.GNU_FORMAT),
    "pax-long": tar((LONG, b"x", {})),
    "pax-unicode": tar(("src/ä/Ü.java", b"x", {"pax_headers": {"comment": "c"}})),
    "pax-size": tar(("src/a/A.java", b"xy", {"pax_headers": {"size": "2"}})),
    "sparse": tar(("src/a/A.java", b"xy", SPARSE)),
    "links": tar(
        ("src/l.java", b"", {"type": tarfile.SYMTYPE, "linkname": "/etc/passwd"}),
        ("src/h.java", b"", {"type": tarfile.LNKTYPE, "linkname": "src/l.java"}),
        ("src/d.java", b"", {"type": tarfile.CHRTYPE, "devmajor": 1, "devminor": 3}),
        ("src/l.java", b"over", {}),
    ),
    "names": tar(("../A.java", b"1", {}), ("/A.java", b"2", {}), ("./A.java", b"3", {})),
    "climbs": tar(("src/../../A.java", b"1", {}), ("src/../../../tmp/A.java", b"2", {})),
    "large": tar(("src/A.java", b"a" * 3000, {}), ("src/B.java", b"b" * 3000, {})),
    "many": tar(*((f"src/{number}.java", b"", {}) for number in range(7))),
    "in-its-place": tar(("src/A.java", b"1", {}), ("src/A.java/B.java", b"2", {})),
    "twice": tar(("A.java", b"first", {}), ("A.java", b"2nd", {})),
    "base256": tar(("A.java", b"x", {"uid": 2**40}), form=tarfile.GNU_FORMAT),
    "pax-lost": pax(b"11 a=12345\n" + b"x" * 30),
    "pax-path": pax(b"30 path=src/../../../../A.java\n"),
    "pax-signs": tar(("src/€\u200d/\U00020000\x07\n.java", b"x", {})),
    "too-long": tar(("src/" + "x" * 300 + "/A.java", b"x", {}), ("src/A.java", b"x", {})),
    "deep": tar(("src/" + "d/" * 40 + "A.java", b"x", {})),
}
SEEDS = {
    **{f"tar-{name}": b"\x01" + data for name, data in TARS.items()},
    "gzip": b"\x00" + gzip.compress(PLAIN, mtime=0),
    "gzip-members": b"\x00" + b"".join(gzip.compress(PLAIN[at:], mtime=0) for at in (0, 512)),
    "gzip-cut": b"\x00" + gzip.compress(PLAIN, mtime=0)[:-5],
    "bomb": b"\x00" + gzip.compress(bytes(1 << 20), mtime=0),
    "unchecked": b"\x02" + PLAIN,
}
WORDS = [
    *(b"ustar\x0000", b"ustar  \0", b"././@LongLink", b"@PaxHeader", b"src/a/A.java", b"../"),
    *(b"30 path=", b"20 size=", b"GNU.sparse.major=1\n", b"00000000000\0", b"77777777777\0"),
    *(b"\x80\0\0\0\0\0\0\0\0\0\1\0", b"\x1f\x8b\x08\0\0\0\0\0\0\x03", bytes(512)),
]
_WORK = Path("/dev/shm" if os.access("/dev/shm", os.W_OK) else tempfile.gettempdir())


def run(data: bytes) -> None:
    """Unpack, and look at what is there then."""
    kind, body = data[:1], data[1:]
    if kind == b"\x01":
        body = with_checksums(body)
    if kind != b"\x00":
        body = gzip.compress(body, compresslevel=1, mtime=0)
    folder = Path(tempfile.mkdtemp(dir=_WORK, prefix="fuzz-archive-"))
    try:
        cut = len(body) // 2
        parts = [folder / "part-00", folder / "part-01"]
        for part, piece in zip(parts, (body[:cut], body[cut:]), strict=True):
            part.write_bytes(piece)
        target = folder / "sources"
        target.mkdir()
        unpack(parts, target)
        require(
            sorted(os.listdir(folder)) == ["part-00", "part-01", "sources"], "something outside"
        )
    finally:
        shutil.rmtree(folder)


def unpack(parts: list[Path], target: Path) -> None:
    """Unpack and compare the report with the folder."""
    try:
        report = intake.unpack(parts, target, RULES)
    except Refused as refused:
        require(refused.reason in REASONS[REJECTED], "an unknown reason")
        require(refused.message.isascii() and refused.message.isprintable(), "a strange message")
        report = None
    files = folders = size = 0
    for path, inner, names in os.walk(target):
        folders += len(inner)
        for name in names:
            place = os.path.join(path, name)
            require(os.path.isfile(place) and not os.path.islink(place), "not a regular file")
            files += 1
            size += os.path.getsize(place)
    require(files <= RULES.max_files and size <= RULES.max_bytes, "more than the rules allow")
    require(folders <= intake.MAX_FOLDERS, "more folders than allowed")
    if report is not None:
        require((report.files, report.size) == (files, size), "the report is wrong")
        require(len(report.left_out) <= min(report.skipped, intake.MAX_NAMED), "too many names")


def with_checksums(data: bytes) -> bytes:
    """Make right the checksum of every block that looks like a header."""
    blocks = []
    for at in range(0, len(data), _BLOCK):
        block = data[at : at + _BLOCK]
        if len(block) == _BLOCK and block[257:262] == b"ustar":
            total = sum(block[:148]) + sum(block[156:]) + 8 * 0x20
            block = block[:148] + f"{total:06o}\0 ".encode() + block[156:]
        blocks.append(block)
    return b"".join(blocks)
