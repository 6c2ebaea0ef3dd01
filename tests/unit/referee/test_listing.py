"""What an archive holds, told by a process that ends where its bounds do."""

import hashlib
import resource
import sys

import pytest

from gradekeeper.referee import listing
from gradekeeper.referee.bundle import SubmissionRules
from gradekeeper.referee.child import Bounds
from gradekeeper.referee.errors import Refused
from gradekeeper.referee.intake import MAX_ARCHIVE_BYTES, unpack
from gradekeeper.referee.listing import ListingError, list_archive
from gradekeeper.suites.trees import archive_tree
from hostile.archives import KINDS

RULES = SubmissionRules(("src/**",), ("**/hidden/**",), max_files=3, max_bytes=1 << 20)
A = "src/main/java/A.java"
TREE = {
    A: (b"class A {}", False),
    "src/\u00e4 \U0001f600": (b"", False),
    "src/hidden/B": (b"b", False),
}


def spent(who=resource.RUSAGE_CHILDREN):
    """Seconds of processor time."""
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def test_it_tells_what_would_be_unpacked(tmp_path):
    archive = archive_tree(TREE)
    part, target = tmp_path / "part", tmp_path / "files"
    part.write_bytes(archive)
    target.mkdir()

    found = list_archive(archive, RULES)
    unpack([part], target, RULES)

    unpacked = {
        str(path.relative_to(target)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in target.rglob("*")
        if path.is_file()
    }
    assert found == unpacked and found.keys() == TREE.keys() - {"src/hidden/B"}


@pytest.mark.parametrize("kind", KINDS)
def test_whatever_an_archive_is_it_costs_little_and_nothing_here(kind):
    archive = KINDS[kind]()
    own, childs = spent(resource.RUSAGE_SELF), spent()
    try:
        assert list_archive(archive, RULES).keys() <= {A}
    except Refused as refused:
        assert refused.reason.startswith("Submission")
    # Three to thirty times as much as it takes; the first of these took twelve seconds.
    assert spent() - childs < 4
    assert spent(resource.RUSAGE_SELF) - own < 1


def test_the_most_files_with_the_longest_paths_can_be_told():
    rules = SubmissionRules(("src/**",), (), max_files=1_000, max_bytes=1 << 20)
    folder = "src/" + (chr(0x1F600) * 60 + "/") * 4
    tree = {f"{folder}{n:04}.java": (b"", False) for n in range(1_000)}

    assert list_archive(archive_tree(tree), rules).keys() == tree.keys()


@pytest.mark.parametrize(
    "bounds",
    [
        pytest.param(Bounds(memory_mib=64, cpu_seconds=1, file_mib=0), id="time"),
        pytest.param(Bounds(memory_mib=0, cpu_seconds=10, file_mib=0), id="memory"),
    ],
)
def test_a_bound_that_is_met_is_the_archives(bounds):
    # Patterns that go through a name of 500 folders in millions of ways.
    rules = SubmissionRules(("**/" * 6 + "x.java",), (), max_files=3, max_bytes=1 << 20)
    archive = archive_tree({"a/" * 500 + "A.java": (bytes(500_000), False)})

    with pytest.raises(Refused, match="within bounds"):
        list_archive(archive, rules, bounds=bounds)


def test_a_machine_that_is_too_slow_says_nothing_about_the_archive():
    with pytest.raises(ListingError, match="timed out"):
        list_archive(archive_tree(TREE), RULES, seconds=0.001)


def test_a_machine_without_an_interpreter_says_nothing_either(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/none")
    with pytest.raises(ListingError, match="No such file"):
        list_archive(archive_tree(TREE), RULES)


@pytest.mark.parametrize("code", ["raise SystemExit(3)", "print('[' * 10**5)", "print('{}', 1)"])
def test_a_reader_that_says_nothing_of_use_is_the_machines(monkeypatch, code):
    monkeypatch.setattr(listing, "_START", code)
    with pytest.raises(ListingError):
        list_archive(archive_tree(TREE), RULES)


def test_more_than_is_ever_submitted_is_not_read():
    with pytest.raises(Refused, match="larger"):
        list_archive(bytes(MAX_ARCHIVE_BYTES + 1), RULES)
