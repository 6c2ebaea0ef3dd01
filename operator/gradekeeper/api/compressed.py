"""Compressed objects that others may have written: read up to a bound, or not at all. Pure."""

from __future__ import annotations

import base64
import binascii
import zlib

MAX_INDEX_BYTES = 2 * 1024 * 1024
"""Of a suite's index, decompressed."""
MAX_LOG_BYTES = 1024 * 1024
"""Of a kept detail log, decompressed."""


class CompressedInvalid(ValueError):
    """The text is not base64 of one whole gzip member within the bound; says why, as a clause."""


def decompress(encoded: object, *, most: int) -> bytes:
    """Decode base64 and decompress one gzip member.

    Args:
        encoded: Whatever the object holds in the place of the text.
        most: Bytes of the result; no more memory is taken, whatever the member would expand to.

    Raises:
        CompressedInvalid: It is something else, or larger.
    """
    if not isinstance(encoded, str):
        raise CompressedInvalid("not there")
    try:
        packed = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        raise CompressedInvalid("not base64") from None
    return decompress_bytes(packed, most=most)


def decompress_bytes(packed: bytes, *, most: int) -> bytes:
    """Decompress one gzip member.

    Raises:
        CompressedInvalid: It is something else, or larger than `most` bytes.
    """
    engine = zlib.decompressobj(wbits=31)
    try:
        data = engine.decompress(packed, most + 1)
    except zlib.error:
        raise CompressedInvalid("not compressed by gzip") from None
    if len(data) > most:
        raise CompressedInvalid("too large")
    if not engine.eof or engine.unused_data:
        raise CompressedInvalid("not one complete gzip member")
    return data
