"""What of a submission is noted, whatever its archive is."""

from __future__ import annotations

import gzip
import io
import os
import resource
import tarfile
import time

import pytest

from billing_payment_debug import defects
from billing_payment_debug.inspection import (
    MAX_BYTES,
    MAX_FILES,
    UNREADABLE,
    Inspection,
    inspect,
    shown,
)
from gradekeeper.suites.trees import archive_tree
from hostile.archives import KINDS

GIVEN = defects.task_repo()
PACKAGE = "java/com/acme/billing"
TAX = f"src/main/{PACKAGE}/service/TaxService.java"
MONEY = f"src/main/{PACKAGE}/model/Money.java"
NEW = f"src/main/{PACKAGE}/model/New.java"
TEST = f"src/test/{PACKAGE}/MoneyTest.java"


def seen(changes: dict[str, bytes | None]) -> Inspection:
    """Of the repository with these files changed, or gone."""
    files = {**GIVEN, **changes}
    return inspect(
        archive_tree({path: (data, False) for path, data in files.items() if data is not None}),
        GIVEN,
    )


def test_what_was_changed_added_and_removed_is_told_in_order() -> None:
    assert seen({}) == Inspection(True, ())
    assert seen({TAX: GIVEN[TAX] + b" ", NEW: b"", MONEY: None}) == Inspection(
        True, (MONEY, NEW, TAX)
    )
    assert seen({TAX: defects.gold()[TAX]}).main_files_changed == (TAX,)
    # Neither sources nor public tests: nobody's concern.
    assert seen({"README.md": b"", "src/notes.txt": b"", "src/main/x.java": b""}) == Inspection(
        True, ()
    )


@pytest.mark.parametrize("path", sorted(path for path in GIVEN if path.startswith("src/test/")))
def test_every_file_of_the_public_tests_counts(path: str) -> None:
    assert not seen({path: None}).public_tests_intact
    assert not seen({path: GIVEN[path] + b"\n"}).public_tests_intact
    assert seen({f"{path}x": b""}).public_tests_intact


def test_of_two_files_with_one_name_the_last_counts_as_in_a_grading() -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for path, data in [*GIVEN.items(), (TEST, b"x"), (TAX, b"x"), (TAX, GIVEN[TAX])]:
            member = tarfile.TarInfo(f"./{path}")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))

    assert inspect(out.getvalue(), GIVEN) == Inspection(False, ())


@pytest.mark.parametrize(
    "archive",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"no archive", id="garbage"),
        pytest.param(gzip.compress(b"x" * 1024), id="no tar"),
        pytest.param(gzip.compress(bytes(120 << 20), compresslevel=1), id="a bomb"),
        pytest.param(archive_tree({"src/a": (bytes(MAX_BYTES + 1), False)}), id="too large"),
        pytest.param(
            archive_tree({f"src/{n}": (b"", False) for n in range(MAX_FILES + 1)}),
            id="too many files",
        ),
    ],
)
def test_nothing_is_said_of_what_cannot_be_read(archive: bytes) -> None:
    assert inspect(archive, GIVEN) == UNREADABLE


def test_deep_folders_are_told_and_take_no_files_of_this_process_away() -> None:
    deep = f"src/main/java/{'a/' * 500}A.java"
    archive = archive_tree({deep: (b"", False), TAX: (b"", False)})
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    held = max(int(name) for name in os.listdir("/proc/self/fd"))
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (held + 100, most))
    try:
        found = inspect(archive, {TAX: b"x"})
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert found.main_files_changed == (deep, TAX)


def test_a_trace_keeps_paths_of_a_bounded_length_and_all_of_them_apart() -> None:
    long = [f"src/main/java/{'a/' * 500}{n}.java" for n in range(100)]
    kept = [shown(path) for path in [*long, TAX]]
    assert len(set(kept)) == 101 and max(map(len, kept)) <= 200
    assert kept[-1] == TAX


@pytest.mark.parametrize("kind", KINDS)
def test_no_archive_takes_this_process_its_time(kind: str) -> None:
    archive = KINDS[kind]()
    began = time.process_time()

    assert inspect(archive, GIVEN).public_tests_intact is False

    assert time.process_time() - began < 2
