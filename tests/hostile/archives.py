"""Archives of at most a few megabytes, each of another kind, that an honest tool never makes."""

from __future__ import annotations

import functools
import gzip
import struct
import zlib
from collections.abc import Callable, Iterator

_BLOCK = 512
_END = bytes(2 * _BLOCK)
SOURCE = b"src/main/java/A.java"


def header(name: bytes, size: int = 0, kind: bytes = b"0", *, extended: int = 0) -> bytes:
    """One ustar header with a right checksum."""
    block = bytearray(_BLOCK)
    block[: len(name[:100])] = name[:100]
    block[100:108] = b"0000644\0"
    block[124:136] = b"%011o\0" % size
    block[136:148] = b"00000000000\0"
    block[156:157] = kind
    block[257:265] = b"ustar\x0000"
    block[482] = extended
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


def entry(name: bytes, content: bytes = b"", kind: bytes = b"0") -> bytes:
    """A header and its padded content."""
    return header(name, len(content), kind) + content + bytes(-len(content) % _BLOCK)


def record(key: bytes, value: bytes) -> bytes:
    """One pax record."""
    size = len(key) + len(value) + 3
    while len(b"%d" % size) + len(key) + len(value) + 3 != size:
        size = len(b"%d" % size) + len(key) + len(value) + 3
    return b"%d %s=%s\n" % (size, key, value)


def named(name: bytes, content: bytes = b"") -> bytes:
    """A file under a name of any length."""
    return entry(b"pax", record(b"path", name), b"x") + entry(b"x", content)


def _short_pax_records() -> bytes:
    one = entry(b"pax", b"6 a=b\n" * (65_536 // 6), b"x")
    return gzip.compress(one * 1_600 + entry(SOURCE) + _END, 1, mtime=0)


def _short_global_records() -> bytes:
    one = entry(b"pax", b"6 a=b\n" * (65_536 // 6), b"g")
    return gzip.compress(one * 1_600 + entry(SOURCE) + _END, 1, mtime=0)


def _records_of_many_entries() -> bytes:
    one = entry(b"pax", b"6 a=b\n" * 300, b"x") + entry(SOURCE)
    return gzip.compress(one * 20_000 + _END, 1, mtime=0)


def _a_million_headers() -> bytes:
    return gzip.compress(entry(SOURCE) * 200_000 + _END, 1, mtime=0)


def _long_names_in_a_row() -> bytes:
    return gzip.compress(entry(b"L", b"a/" * 32_000, b"L") * 1_600 + entry(SOURCE) + _END, 1)


def _a_header_for_each_header() -> bytes:
    chain = entry(b"L", b"a", b"L") + entry(b"K", b"a", b"K") + entry(b"pax", b"6 a=b\n", b"x")
    return gzip.compress(chain * 30_000 + entry(SOURCE) + _END, 1, mtime=0)


def _a_sparse_map_without_end() -> bytes:
    more = bytes(504) + b"\1" + bytes(7)
    return gzip.compress(header(SOURCE, 0, b"S", extended=1) + more * 300_000, 1, mtime=0)


def _sizes_beyond_all_bytes() -> bytes:
    block = bytearray(header(SOURCE))
    block[124:136] = b"\xff" * 12
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return gzip.compress(bytes(block) + _END, mtime=0)


def _a_size_of_twenty_digits() -> bytes:
    body = record(b"size", b"9" * 20)
    return gzip.compress(entry(b"pax", body, b"x") + entry(SOURCE) + _END, mtime=0)


def _a_size_of_thousands_of_digits() -> bytes:
    body = record(b"size", b"9" * 5_000)
    return gzip.compress(entry(b"pax", body, b"x") + entry(SOURCE) + _END, mtime=0)


def _one_deep_name_again_and_again() -> bytes:
    deep = b"src/main/java/" + b"a/" * 500 + b"A.java"
    return gzip.compress(named(deep) * 24_000 + _END, 1, mtime=0)


def _deep_names() -> bytes:
    return gzip.compress(
        b"".join(named(b"src/main/java/" + b"a/" * 495 + b"%d.java" % n) for n in range(24_000))
        + _END,
        1,
        mtime=0,
    )


def _zeros() -> bytes:
    return gzip.compress(bytes(400 << 20), 9, mtime=0)


def _members_of_a_byte() -> bytes:
    # The files' bytes, each as a whole gzip stream.
    return b"".join(gzip.compress(b"%c" % byte, 1, mtime=0) for byte in entry(SOURCE) * 400)


def _members_of_nothing() -> bytes:
    return gzip.compress(b"", mtime=0) * 1_000_000


def _blocks_of_nothing() -> bytes:
    """A deflate stream of two million stored blocks, each empty."""
    head = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
    end = b"\x01\0\0\xff\xff"
    data = b"\0\0\0\xff\xff" * 2_000_000 + end
    return head + data + struct.pack("<II", zlib.crc32(b""), 0)


KINDS: dict[str, Callable[[], bytes]] = {
    make.__name__.strip("_").replace("_", " "): functools.cache(make)
    for make in (
        _short_pax_records,
        _short_global_records,
        _records_of_many_entries,
        _a_million_headers,
        _long_names_in_a_row,
        _a_header_for_each_header,
        _a_sparse_map_without_end,
        _sizes_beyond_all_bytes,
        _a_size_of_twenty_digits,
        _a_size_of_thousands_of_digits,
        _one_deep_name_again_and_again,
        _deep_names,
        _zeros,
        _members_of_a_byte,
        _members_of_nothing,
        _blocks_of_nothing,
    )
}


def pieces(data: bytes, size: int = 64 * 1024) -> Iterator[bytes]:
    """The data as it is read from a file."""
    return (data[at : at + size] for at in range(0, len(data), size))
