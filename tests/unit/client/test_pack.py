"""Packing a directory that untrusted code wrote."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import socket
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradekeeper.api.reasons import Reason
from gradekeeper.client import (
    MAX_ARCHIVE_BYTES,
    PART_BYTES,
    SubmissionError,
    TooLargeToSendError,
    pack_directory,
)
from gradekeeper.client import _pack as pack


def members(archive: bytes) -> dict[str, tarfile.TarInfo]:
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        return {m.name: m for m in tar.getmembers()}


def tree(root: Path, files: dict[str, bytes]) -> Path:
    for name, data in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    return root


def test_same_content_gives_same_bytes_whatever_the_times_and_the_order(tmp_path: Path) -> None:
    files = {"b/x.java": b"x", "a.java": b"a", "b/a.java": b"y"}
    one = tree(tmp_path / "one", files)
    two = tree(tmp_path / "two", dict(reversed(files.items())))
    os.utime(two / "a.java", (1, 1))
    assert pack_directory(one) == pack_directory(two)
    packed = pack_directory(one)
    assert list(members(packed.archive)) == ["a.java", "b/a.java", "b/x.java"]
    assert (packed.files, packed.bytes) == (3, 3)
    assert packed.digest == "sha256:" + hashlib.sha256(packed.archive).hexdigest()


def test_the_archive_says_nothing_of_who_and_when(tmp_path: Path) -> None:
    tree(tmp_path, {"run.sh": b"", "a": b""})
    (tmp_path / "run.sh").chmod(0o4711)
    archive = pack_directory(tmp_path).archive
    assert archive[4:8] == b"\0\0\0\0"  # gzip's time
    for member in members(archive).values():
        assert (member.mtime, member.uid, member.gid, member.uname) == (0, 0, 0, "")
    assert members(archive)["run.sh"].mode == 0o755
    assert members(archive)["a"].mode == 0o644


def test_links_are_packed_as_links(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    root = tree(tmp_path / "root", {"a": b"a"})
    (root / "link").symlink_to(secret)
    (root / "folder").symlink_to(tmp_path)
    packed = pack_directory(root)
    assert members(packed.archive)["link"].issym()
    assert members(packed.archive)["folder"].issym()
    assert b"secret\0" not in gzip.decompress(packed.archive).replace(str(secret).encode(), b"")
    assert packed.files == 1


@pytest.mark.timeout(10)
def test_what_could_block_is_left_out_and_named(tmp_path: Path) -> None:
    tree(tmp_path, {"a": b"a"})
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(tmp_path / "s"))
        packed = pack_directory(tmp_path)
    assert packed.left_out == ("pipe", "s")
    assert list(members(packed.archive)) == ["a"]


@pytest.mark.timeout(10)
def test_a_file_that_became_a_fifo_or_a_link_since_the_scan_is_refused(tmp_path: Path) -> None:
    tree(tmp_path, {"a": b"abc", "b": b"abc"})
    top = os.open(tmp_path, os.O_RDONLY)
    found = pack._scan(top, pack._filter((), ()))
    assert found.entries is not None
    (tmp_path / "a").unlink()
    os.mkfifo(tmp_path / "a")
    with pytest.raises(SubmissionError, match="changed while"):
        pack._write(tmp_path, top, found.entries)
    (tmp_path / "a").unlink()
    (tmp_path / "a").symlink_to("b")
    with pytest.raises(OSError):
        pack._write(tmp_path, top, found.entries)
    os.close(top)


@pytest.mark.parametrize("when", ["while it is scanned", "before it is read"])
def test_a_folder_that_becomes_a_link_leads_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    """Whoever made the submission may still run, and swap a folder on the way to a file."""
    tree(tmp_path, {"outside/deep/secret": b"abc", "in/src/deep/secret": b"xyz"})
    swapped = []

    def swap() -> None:
        if not swapped:
            (tmp_path / "in/src").rename(tmp_path / "in/gone")
            (tmp_path / "in/src").symlink_to(tmp_path / "outside")
            swapped.append(True)

    walk, write = pack._walk, pack._write

    def walking(top: int) -> Iterator[tuple[str, os.DirEntry[str], int]]:
        for name, item, folder in walk(top):
            yield name, item, folder
            if name == "src/deep":
                swap()

    def writing(*arguments: Any) -> bytes:
        swap()
        return write(*arguments)

    if when == "while it is scanned":
        monkeypatch.setattr(pack, "_walk", walking)
    else:
        monkeypatch.setattr(pack, "_write", writing)

    with pytest.raises(SubmissionError, match="cannot be packed"):
        pack_directory(tmp_path / "in")
    assert swapped


def test_folders_without_end_are_not_walked_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pack, "MAX_SEEN", 10)
    for number in range(11):
        (tmp_path / str(number)).mkdir()
    with pytest.raises(TooLargeToSendError) as caught:
        pack_directory(tmp_path)
    assert caught.value.claim.reason is Reason.SUBMISSION_TOO_MANY_FILES


def test_a_path_without_end_is_not_walked_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pack, "MAX_SEGMENTS", 1_000)
    (tmp_path / "/".join("a" * 100)).mkdir(parents=True)
    with pytest.raises(TooLargeToSendError, match="segments") as caught:
        pack_directory(tmp_path)
    assert caught.value.claim.reason is Reason.SUBMISSION_TOO_MANY_FILES


@pytest.mark.parametrize("kind", ["files in a long path", "links to long names"])
def test_what_names_hold_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(pack, "MAX_CHARACTERS", 2_000)
    if kind == "links to long names":
        for number in range(10):
            (tmp_path / str(number)).symlink_to("n" * 200)
    else:
        tree(tmp_path, {f"{'n' * 200}/{number}": b"" for number in range(10)})
    with pytest.raises(TooLargeToSendError, match="2000 characters") as caught:
        pack_directory(tmp_path)
    assert caught.value.claim.reason is Reason.SUBMISSION_TOO_MANY_FILES
    monkeypatch.setattr(pack, "MAX_CHARACTERS", 4_000)
    assert len(members(pack_directory(tmp_path).archive)) == 10


def test_names_of_any_bytes_survive(tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xff\n")
    tree(tmp_path, {name: b"x", "ü" * 80 + ".java": b"y"})
    packed = pack_directory(tmp_path)
    assert set(members(packed.archive)) == {name, "ü" * 80 + ".java"}


@pytest.mark.parametrize(
    ("include", "exclude", "expected"),
    [
        ((), (), ["build/A.class", "src/A.java", "src/a/b/C.java", "src/testkit/T.java"]),
        (("src/**/*.java",), (), ["src/A.java", "src/a/b/C.java", "src/testkit/T.java"]),
        (("src/*.java",), (), ["src/A.java"]),
        (("src/**",), ("**/testkit/**",), ["src/A.java", "src/a/b/C.java"]),
        (("**/?.java",), ("src/a/**",), ["src/A.java", "src/testkit/T.java"]),
        ((), ("**",), []),
    ],
)
def test_patterns(
    tmp_path: Path, include: tuple[str, ...], exclude: tuple[str, ...], expected: list[str]
) -> None:
    names = ["src/A.java", "src/a/b/C.java", "src/testkit/T.java", "build/A.class"]
    tree(tmp_path, dict.fromkeys(names, b""))
    packed = pack_directory(tmp_path, include=include, exclude=exclude)
    assert list(members(packed.archive)) == expected


@given(st.text(alphabet=st.characters(exclude_characters="*?"), min_size=1))
def test_a_pattern_without_wildcards_means_itself(name: str) -> None:
    assert pack._translate(name).fullmatch(name)
    assert not pack._translate(name).fullmatch(name + "x")


def test_a_missing_directory_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(SubmissionError, match=r"is not a directory; name the directory"):
        pack_directory(tmp_path / "none")


def test_noise_beyond_the_parts_becomes_a_claim(tmp_path: Path) -> None:
    noise = os.urandom(1024 * 1024)
    tree(tmp_path, {f"n{i}": bytes([i]) + noise[1:] + os.urandom(512 * 1024) for i in range(26)})
    with pytest.raises(TooLargeToSendError) as caught:
        pack_directory(tmp_path)
    claim = caught.value.claim
    assert (claim.files, claim.bytes) == (26, 26 * (1024 + 512) * 1024)
    assert claim.reason is Reason.SUBMISSION_TOO_LARGE


@pytest.mark.timeout(10)
def test_a_sparse_terabyte_costs_no_time(tmp_path: Path) -> None:
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(TooLargeToSendError) as caught:
        pack_directory(tmp_path)
    assert caught.value.claim.bytes == 2**40


def test_too_many_entries_are_counted_but_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pack, "MAX_ENTRIES", 3)
    tree(tmp_path, {f"f{i}": b"ab" for i in range(5)})
    with pytest.raises(TooLargeToSendError) as caught:
        pack_directory(tmp_path)
    assert caught.value.claim.reason is Reason.SUBMISSION_TOO_MANY_FILES
    assert (caught.value.claim.files, caught.value.claim.bytes) == (5, 10)


@pytest.mark.parametrize(
    ("size", "parts"), [(1, 1), (PART_BYTES, 1), (PART_BYTES + 1, 2), (MAX_ARCHIVE_BYTES, 24)]
)
def test_parts_join_to_the_archive(size: int, parts: int) -> None:
    archive = os.urandom(1024) * (size // 1024) + b"x" * (size % 1024)
    split = pack.split_parts(archive)
    assert len(split) == parts
    assert b"".join(split) == archive
    assert max(map(len, split)) <= PART_BYTES < 1024 * 1024


def test_an_archive_of_one_byte_too_many_cannot_be_sent() -> None:
    with pytest.raises(TooLargeToSendError):
        pack.split_parts(bytes(MAX_ARCHIVE_BYTES + 1))
