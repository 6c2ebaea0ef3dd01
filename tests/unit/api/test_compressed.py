"""Compressed objects of strangers cost no more than their bound."""

import base64
import gzip
import tracemalloc

import pytest

from gradekeeper.api.compressed import CompressedInvalid, decompress, decompress_bytes

MOST = 1 << 20


@pytest.mark.parametrize("size", [0, 1, MOST])
def test_what_fits_is_read(size: int) -> None:
    packed = gzip.compress(b"x" * size)
    assert decompress(base64.b64encode(packed).decode(), most=MOST) == b"x" * size


@pytest.mark.parametrize(
    ("packed", "why"),
    [
        pytest.param(gzip.compress(bytes(MOST + 1)), "too large", id="one byte more"),
        pytest.param(gzip.compress(bytes(256 << 20), 1), "too large", id="zeros"),
        pytest.param(gzip.compress(b"x") * 2, "one complete", id="two members"),
        pytest.param(gzip.compress(b"") * 50_000, "one complete", id="members of nothing"),
        pytest.param(gzip.compress(b"x")[:-1], "one complete", id="cut"),
        pytest.param(gzip.compress(b"x") + b"\0", "one complete", id="padded"),
        pytest.param(gzip.compress(b"x" * 99)[:-8] + bytes(8), "gzip", id="another sum"),
        pytest.param(b"", "one complete", id="nothing"),
        pytest.param(b"{}", "gzip", id="not compressed"),
    ],
)
def test_what_does_not_is_refused_within_the_bound(packed: bytes, why: str) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(CompressedInvalid, match=why):
            decompress_bytes(packed, most=MOST)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4 * MOST


@pytest.mark.parametrize("encoded", [None, 1, [], "{", "\u00e9", "H4sI\n", "=" * 1000])
def test_whatever_stands_in_the_place_of_the_text_is_refused(encoded: object) -> None:
    with pytest.raises(CompressedInvalid):
        decompress(encoded, most=MOST)
