"""The compiler's frames: class files arrive whole and in their place, or not at all."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradekeeper.referee import build_ends
from gradekeeper.referee.build import (
    MAGIC,
    MAX_CLASS_BYTES,
    MAX_CLASSES,
    MAX_HEADER,
    FrameError,
    FrameReader,
    class_path,
    place_in,
)
from gradekeeper.referee.build_ends import MAX_FOLDERS

RESERVED = frozenset({"gradekeeper/", "drivers/"})


def frame(path, content=MAGIC):
    return f"C {path} {len(content)}\n".encode() + content


def read(*pieces):
    placed = {}

    def place(path, piece, first):
        assert first == (path not in placed)
        placed[path] = placed.get(path, b"") + piece

    reader = FrameReader(place, RESERVED)
    end = None
    for piece in pieces:
        assert end is None
        end = reader.feed(piece)
    return end, placed


def test_class_files_arrive():
    end, placed = read(frame("a/B.class", MAGIC + b"\nOK 9\n") + frame("a/B$C.class"), b"OK 2\n")
    assert end == ("OK", 2)
    assert placed == {"a/B.class": MAGIC + b"\nOK 9\n", "a/B$C.class": MAGIC}


def test_pieces_may_be_cut_anywhere():
    stream = frame("a/B.class", MAGIC + b"x" * 50) + b"OK 1\n"
    assert read(*(stream[n : n + 1] for n in range(len(stream)))) == read(stream)


def test_few_class_files_in_too_many_folders():
    """A package of a source file may have any depth; folders cost the referee's memory."""
    deep = [f"p{name}/{'d/' * 490}A.class" for name in range(500)]
    placed = []
    reader = FrameReader(lambda path, piece, first: placed.append(path), RESERVED)
    with pytest.raises(FrameError, match="folders"):
        for path in deep:
            reader.feed(frame(path))
    assert placed == deep[: MAX_FOLDERS // 491]


@pytest.mark.parametrize("step", [1, 700, 5_000])
def test_a_long_line_is_refused_however_it_is_cut(step):
    stream = frame("d/" * 3_000 + "A.class") + b"OK 1\n"
    with pytest.raises(FrameError, match="a line is too long"):
        read(*(stream[at : at + step] for at in range(0, len(stream), step)))


def test_errors_are_an_answer():
    assert read(b"ERRORS 3\n") == (("ERRORS", 3), {})


@pytest.mark.parametrize(
    "stream",
    [
        b"OK 1\n",
        b"OK\n",
        b"OK -1\n",
        b"FINE 0\n",
        b"\n",
        b"C a/B.class\n",
        b"C a/B.class x\n",
        b"C a b/B.class 4\n",
        b"C \xff.class 4\n",
        frame("a/B.class", b"PK\3\4"),
        frame("a/B.class", b""),
        frame("a/B.class") * 2,
        b"C a/B.class %d\n" % (MAX_CLASS_BYTES + 1),
        b"x" * (MAX_HEADER + 1),
        b"".join(frame(f"C{n}.class") for n in range(MAX_CLASSES + 1)),
    ],
    ids=lambda stream: ascii(stream[:30]),
)
def test_other_streams_are_errors(stream):
    with pytest.raises(FrameError):
        read(stream)


@pytest.mark.parametrize(
    "path",
    [
        "A.class",
        "a/package-info.class",
        "module-info.class",
        "a/B$1.class",
        "ä/Ö.class",
        "shop/Preis€.class",
        "\uffe5/_\uff04\u203f.class",
        "\U0001d400/\U00020000$1\U00020000.class",
        "Ge\u0301samt.class",
        "Zero\u200dWidth.class",
        "\u0661/\u0903\u20dd.class",
        "x" * 249 + ".class",
        "\u20ac" * 83 + ".class",
        "d/" * 511 + "A.class",
    ],
    ids=lambda path: ascii(path[:40]),
)
def test_paths_of_classes(path):
    assert class_path(path, RESERVED) == path


@pytest.mark.parametrize(
    "path",
    [
        "",
        ".class",
        "A",
        "A.java",
        "/A.class",
        "../A.class",
        "a/../A.class",
        "a//A.class",
        "./A.class",
        "a\\A.class",
        "a/A.class/",
        "a.b/C.class",
        "gradekeeper/kit/Desk.class",
        "drivers/Till.class",
        "x" * 256 + ".class",
    ],
)
def test_other_paths_are_errors(path):
    with pytest.raises(FrameError):
        class_path(path, RESERVED)


@pytest.mark.parametrize(
    ("stream", "sentence"),
    [
        (frame("x" * 250 + ".class"), build_ends.NAME_TOO_LONG),
        (frame("\u20ac" * 86 + "/A.class"), build_ends.NAME_TOO_LONG),
        (frame(("l" * 255 + "/") * 15 + "A.class"), build_ends.PATH_TOO_LONG),
        (frame("d/" * 512 + "A.class"), build_ends.PATH_TOO_LONG),
        (frame("drivers/Till.class"), build_ends.RESERVED_PACKAGE),
        (b"C a/B.class %d\n" % (MAX_CLASS_BYTES + 1), build_ends.TOO_LARGE),
        (b"".join(frame(f"C{n}.class") for n in range(MAX_CLASSES + 1)), build_ends.TOO_MANY),
        (
            b"".join(frame(f"p{n}/C.class") for n in range(MAX_FOLDERS + 1)),
            build_ends.TOO_MANY,
        ),
        (
            b"".join(frame(f"p{n}/q/C.class") for n in range(MAX_FOLDERS // 2 + 1)),
            build_ends.TOO_MANY_FOLDERS,
        ),
    ],
    ids=lambda value: ascii(value[:30]),
)
def test_a_limit_of_ours_is_named(stream, sentence):
    with pytest.raises(FrameError, match=f"^{re.escape(sentence)}$"):
        read(stream)
    assert sentence in build_ends.BUILD_ENDS


@given(st.text(max_size=20))
def test_a_class_path_stays_inside(path):
    try:
        class_path(path, RESERVED)
    except FrameError:
        return
    assert not path.startswith("/") and ".." not in path.split("/") and "\0" not in path


@given(st.lists(st.binary(max_size=60), max_size=5))
def test_any_bytes_are_frames_or_an_error(pieces):
    reader = FrameReader(lambda *_: None, RESERVED)
    try:
        for piece in pieces:
            if reader.feed(piece) is not None:
                break
    except FrameError:
        pass


def test_placing_writes_files_that_the_lane_reads(tmp_path):
    place = place_in(tmp_path)
    place("a/B.class", MAGIC, True)
    place("a/B.class", b"more", False)
    assert (tmp_path / "a/B.class").read_bytes() == MAGIC + b"more"
    assert (tmp_path / "a/B.class").stat().st_mode & 0o777 == 0o644


def test_placing_never_overwrites(tmp_path):
    place_in(tmp_path)("a/B.class", MAGIC, True)
    with pytest.raises(FileExistsError):
        place_in(tmp_path)("a/B.class", MAGIC, True)
