"""Archives from strangers: only what the rules take arrives, and limits always hold."""

import gzip
import hashlib
import io
import os
import tarfile
import time
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gradekeeper.referee import intake, result
from gradekeeper.referee.build_ends import MAX_DEPTH
from gradekeeper.referee.bundle import SubmissionRules
from gradekeeper.referee.errors import RefereeStop, Refused, Unjudgeable
from gradekeeper.referee.grading import INTAKE_CPU_SECONDS
from gradekeeper.referee.intake import (
    MAX_NAMED,
    Unpacked,
    check_parts,
    clean_path,
    compile_rules,
    unpack,
)
from hostile import archives
from hostile.archives import KINDS

RULES = SubmissionRules(
    include=("src/main/java/**/*.java",),
    exclude=("**/testkit/**", "**/hidden/**"),
    max_files=3,
    max_bytes=10_000,
)
A = "src/main/java/a/A.java"


def member(name, data=b"x", **fields):
    info = tarfile.TarInfo(name)
    info.size = len(data)
    for key, value in fields.items():
        setattr(info, key, value)
    return info, data


def tar(*members, form=tarfile.PAX_FORMAT):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=form) as archive:
        for info, data in members:
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def take(tmp_path, data, rules=RULES):
    """Unpack bytes; what arrived, by path."""
    part, target = tmp_path / "part-00", tmp_path / "sources"
    part.write_bytes(data)
    target.mkdir()
    report = unpack([part], target, rules)
    found = {
        str(path.relative_to(target)): path.read_bytes()
        for path in target.rglob("*")
        if not path.is_dir()
    }
    assert not any(path.is_symlink() for path in target.rglob("*"))
    assert report.files == len(found) and report.size == sum(map(len, found.values()))
    return found


def refusal(tmp_path, data, rules=RULES):
    with pytest.raises(Refused) as caught:
        take(tmp_path, data, rules)
    return caught.value.reason


@pytest.mark.parametrize("form", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT])
def test_regular_files_of_the_rules_arrive(tmp_path, form):
    long = "src/main/java/" + "package" * 9 + "/" + "folder/" * 8 + "Long.java"
    data = tar(
        member("./" + A, b"class A {}"),
        member(long, b"long"),
        member("src/test/java/T.java"),
        member("src/main/java/testkit/K.java"),
        member("src/main/java/a/hidden/H.java"),
        member("src/main/java/notes.txt"),
        member("README.md"),
        form=form,
    )
    assert take(tmp_path, gzip.compress(data)) == {A: b"class A {}", long: b"long"}


def test_permissions_are_those_of_the_layout(tmp_path):
    take(tmp_path, gzip.compress(tar(member(A, b"x", mode=0o4777))))
    assert os.stat(tmp_path / "sources" / A).st_mode & 0o7777 == 0o644
    assert os.stat(tmp_path / "sources/src").st_mode & 0o7777 == 0o755


@pytest.mark.parametrize(
    "name",
    [
        "/src/main/java/A.java",
        "../src/main/java/A.java",
        "src/main/java/../java/A.java",
        "src/main/java/" + "a" * 300 + ".java",
        "src/main/java/" + "a/" * MAX_DEPTH + "A.java",
        "src/main/java/" + ("a" * 200 + "/") * 20 + "A.java",
        "src/main/java/\udcff.java",
    ],
    ids=lambda name: ascii(name[:50]),
)
@pytest.mark.parametrize("form", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT], ids=["gnu", "pax"])
def test_names_that_no_file_may_have_are_skipped_and_told(tmp_path, name, form):
    data = tar(member(name), member(A), form=form)
    taken = unpacks_or_refuses(tmp_path, gzip.compress(data))
    assert (taken.files, taken.skipped) == (1, 1)
    assert taken.left_out == (name.encode("utf-8", "surrogateescape"),)


LEGAL = [
    "Preis€",
    "$_",
    "\U0001d400\U00020000",
    "Ge\u0301sa\u0301mt",
    "G\u00e9s\u00e1mt",
    "Zero\u200dWidth\u2060\ufeff",
    "\u0639\u0631\u0628\u064a\u202b",
    "bell\x07escape\x1b",
    "line\nfeed",
    "back\\slash",
    "a b",
    "n" * 250,
    "\u20ac" * 83 + "a",
    "\U00020000" * 62 + "aa",
]


@pytest.mark.parametrize("form", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT], ids=["gnu", "pax"])
def test_every_name_that_a_file_may_have_is_taken(tmp_path, form):
    names = [f"src/main/java/{piece}/{piece}.java" for piece in LEGAL]
    data = tar(*(member(name, name.encode()) for name in names), form=form)
    taken = take(tmp_path, gzip.compress(data), replace(RULES, max_files=len(names)))
    assert taken == {name: name.encode() for name in names}
    # Their folders are those of the layout, not what a locale makes of them.
    found = os.listdir(os.fsencode(tmp_path / "sources/src/main/java"))
    assert {name.decode("utf-8") for name in found} == set(LEGAL)


def test_as_deep_and_as_long_as_a_path_may_be(tmp_path):
    deep = "src/main/java/" + "d/" * (MAX_DEPTH - 4) + "A.java"
    long = "src/main/java/" + ("l" * 255 + "/") * 14 + "A.java"
    names = [deep, long, long.replace("l/A", "k/A")]
    taken = take(tmp_path, gzip.compress(tar(*map(member, names))))
    assert set(taken) == set(names)


def test_what_the_patterns_leave_out_is_not_told(tmp_path):
    data = tar(member("notes.txt"), member("src", b"", type=tarfile.DIRTYPE), member(A))
    assert unpacks_or_refuses(tmp_path, gzip.compress(data)) == Unpacked(1, 1, 2)


def test_few_of_many_are_told(tmp_path):
    data = tar(*(member(f"/{n}.java") for n in range(MAX_NAMED + 5)), member(A))
    assert len(unpacks_or_refuses(tmp_path, gzip.compress(data)).left_out) == MAX_NAMED


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE]
)
def test_everything_but_regular_files_is_skipped(tmp_path, kind):
    link = member("src/main/java/L.java", b"", type=kind, linkname="/etc/passwd")
    assert take(tmp_path, gzip.compress(tar(link, member(A)))) == {A: b"x"}


def test_a_file_behind_a_linked_folder_is_a_file_of_its_own(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    data = tar(member("src", b"", type=tarfile.SYMTYPE, linkname=str(outside)), member(A))
    assert take(tmp_path, gzip.compress(data)) == {A: b"x"}
    assert not list(outside.iterdir())


def test_of_a_name_twice_the_last_counts_once(tmp_path):
    twice = tar(*(member(A, bytes([n]) * (9 - n)) for n in range(5)))
    assert take(tmp_path, gzip.compress(twice)) == {A: b"\4" * 5}


def test_files_in_each_others_place_are_skipped(tmp_path):
    inside = member(A + "/b/B.java")
    other = member("src/main/java/a.java/C.java"), member("src/main/java/a.java")
    data = tar(member(A), inside, *other)
    assert take(tmp_path, gzip.compress(data)) == {A: b"x", "src/main/java/a.java/C.java": b"x"}


def test_one_file_too_many(tmp_path):
    files = [member(f"src/main/java/F{n}.java") for n in range(4)]
    assert refusal(tmp_path, gzip.compress(tar(*files))) == result.SUBMISSION_TOO_MANY_FILES


def test_few_files_in_too_many_folders(tmp_path):
    """Folders take no byte of a volume, and a KiB each of the referee's memory."""
    rules = replace(RULES, max_files=500)
    deep = [f"src/main/java/{name}/{'d/' * 490}A.java" for name in range(500)]
    data = gzip.compress(tar(*(member(path) for path in deep)))
    assert refusal(tmp_path, data, rules) == "SubmissionTooManyFiles"
    made = sum(len(folders) for _, folders, _ in os.walk(tmp_path / "sources"))
    assert 3_000 < made <= intake.MAX_FOLDERS


def test_many_files_in_one_deep_tree_cost_their_own_folders(tmp_path, monkeypatch):
    """Each would cost every folder above it otherwise, and so seconds of a referee's processor."""
    made = []
    mkdir = os.mkdir
    monkeypatch.setattr(os, "mkdir", lambda *given: (made.append(given[0]), mkdir(*given)))
    deep = [f"src/main/java/{'d/' * 480}{n}/A.java" for n in range(50)]
    data = gzip.compress(tar(*(member(path) for path in deep)))
    assert len(take(tmp_path, data, replace(RULES, max_files=50))) == 50
    folders = 3 + 480 + 50
    assert folders <= len(made) <= 2 * folders + 50


def test_folders_are_made_wherever_a_tree_branches(tmp_path):
    names = [f"src/main/java/{path}/A.java" for path in ("a/b/c/d", "a/b/x/y/z", "a", "q/b/c/d")]
    taken = take(tmp_path, gzip.compress(tar(*map(member, names))), replace(RULES, max_files=9))
    assert set(taken) == set(names)
    assert all(
        os.stat(folder).st_mode & 0o777 == 0o755 for folder, _, _ in os.walk(tmp_path / "sources")
    )


def test_as_many_files_as_allowed(tmp_path):
    files = [member(f"src/main/java/F{n}.java") for n in range(3)]
    assert len(take(tmp_path, gzip.compress(tar(*files, member("other.txt"))))) == 3


@pytest.mark.parametrize("name", [A, "build/big.bin"])
def test_too_many_bytes_wherever_they_are(tmp_path, name):
    assert (
        refusal(tmp_path, gzip.compress(tar(member(name, b"x" * 10_001))))
        == result.SUBMISSION_TOO_LARGE
    )


def test_as_many_bytes_as_allowed(tmp_path):
    assert take(tmp_path, gzip.compress(tar(member(A, b"x" * 10_000))))


def test_a_claimed_size_is_refused_before_it_is_read(tmp_path):
    header = member(A)[0]
    header.size = 1 << 40
    data = header.tobuf(tarfile.GNU_FORMAT)
    assert refusal(tmp_path, gzip.compress(data)) == result.SUBMISSION_TOO_LARGE


def test_a_bomb_stops_at_the_limit(tmp_path):
    bomb = gzip.compress(b"\0" * 512 + b"\0" * (1 << 20))
    folder = member("x/", b"", type=tarfile.DIRTYPE)[0]
    folder.size = 0
    entries = folder.tobuf() * 60_000
    assert refusal(tmp_path, gzip.compress(entries)) == result.SUBMISSION_MALFORMED
    assert unpack_total(tmp_path, bomb) == 0


def unpack_total(tmp_path, data):
    part = tmp_path / "other"
    part.write_bytes(data)
    return unpack([part], tmp_path / "sources", RULES).files


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"not an archive",
        gzip.compress(b""),
        gzip.compress(b"not a tar" * 100),
        gzip.compress(tar(member(A, b"x" * 900)))[:-30],
        gzip.compress(tar(member(A, b"x" * 900))[:700]),
        tar(member(A)),
        gzip.compress(tar(member(A))) + b"trailing",
        gzip.compress(tar(member(A)).replace(b"ustar", b"USTAR", 1)),
    ],
    ids=[
        "empty",
        "text",
        "nothing inside",
        "text inside",
        "cut gzip",
        "cut tar",
        "no gzip",
        "trailing",
        "checksum",
    ],
)
def test_what_is_no_archive_is_malformed(tmp_path, data):
    assert refusal(tmp_path, data) == result.SUBMISSION_MALFORMED


def test_a_huge_pax_header_is_malformed(tmp_path):
    info = tarfile.TarInfo("x")
    info.type, info.size = tarfile.XHDTYPE, 1 << 30
    assert refusal(tmp_path, gzip.compress(info.tobuf())) == result.SUBMISSION_MALFORMED


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "rest",
    [b"x" * 30, b"30", b" ", b"0 k=v\n", b"2 k=v\n", b"99 k=v\n", b"6 k=vv", b"5 kvv\n"],
    ids=str,
)
def test_a_pax_header_ends_wherever_its_records_lead(tmp_path, rest):
    """After a right record, one that says nothing of where the next one is."""
    body = b"11 a=12345\n" + rest
    header = tarfile.TarInfo("x")
    header.type, header.size = tarfile.XHDTYPE, len(body)
    data = header.tobuf() + body.ljust(512, b"\0") + tar(member(A))
    assert refusal(tmp_path, gzip.compress(data)) == result.SUBMISSION_MALFORMED


def test_members_of_gzip_are_one_stream(tmp_path):
    data = tar(member(A, b"x" * 900))
    assert take(tmp_path, gzip.compress(data[:600]) + gzip.compress(data[600:]))


def test_sparse_files_are_skipped(tmp_path):
    sparse, data = member("src/main/java/S.java")
    sparse.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0"}
    assert take(tmp_path, gzip.compress(tar((sparse, data), member(A)))) == {A: b"x"}


def test_parts_are_concatenated_and_checked(tmp_path):
    (tmp_path / "part-00").write_bytes(b"ab")
    (tmp_path / "part-01").write_bytes(b"c")
    digest = "sha256:" + hashlib.sha256(b"abc").hexdigest()
    assert len(check_parts(tmp_path, ["part-00", "part-01"], digest)) == 2
    for parts in (["part-01", "part-00"], ["part-00"], ["part-00", "part-02"]):
        with pytest.raises(Unjudgeable) as caught:
            check_parts(tmp_path, parts, digest)
        assert caught.value.reason == result.SUBMISSION_CORRUPT


@pytest.mark.parametrize(
    ("glob", "yes", "no"),
    [
        (
            "src/**/*.java",
            ["src/A.java", "src/a/b/A.java"],
            ["src/A.jav", "A.java", "x/src/A.java"],
        ),
        ("**/testkit/**", ["testkit/x", "a/testkit/b/c"], ["testkit", "atestkit/x"]),
        ("*.py", ["a.py"], ["a/a.py", "apy"]),
        ("a?.txt", ["ab.txt"], ["a.txt", "a/.txt"]),
        ("**", ["a", "a/b"], []),
    ],
)
def test_patterns(glob, yes, no):
    takes = compile_rules(SubmissionRules((glob,), (), 1, 1))
    assert [path for path in yes + no if takes(path)] == yes


@given(st.binary(max_size=60))
def test_a_clean_path_stays_inside(name):
    path = clean_path(name)
    if path is not None:
        assert not path.startswith("/") and os.path.normpath(path) == path
        assert ".." not in path.split("/")


PROPERTY = settings(
    deadline=None,
    max_examples=150,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def unpacks_or_refuses(root, data):
    part, target = root / "part", root / os.urandom(8).hex()
    part.write_bytes(data)
    target.mkdir()
    try:
        report = unpack([part], target, RULES)
    except Refused:
        return None
    assert report.files <= RULES.max_files and report.size <= RULES.max_bytes
    for path in target.rglob("*"):
        assert path.is_dir() or (path.is_file() and not path.is_symlink())
    return report


@PROPERTY
@given(data=st.binary(max_size=2_000), zipped=st.booleans())
def test_any_bytes_are_taken_or_refused(tmp_path, data, zipped):
    unpacks_or_refuses(tmp_path, gzip.compress(data) if zipped else data)


BASE = tar(
    member(A, b"class A {}"),
    member("src/main/java/" + "p/" * 60 + "B.java", b"x" * 600),
    member("link", b"", type=tarfile.SYMTYPE, linkname="/etc"),
)


@PROPERTY
@given(st.data())
def test_any_change_of_an_archive_is_taken_or_refused(tmp_path, data):
    changed = bytearray(BASE)
    for _ in range(data.draw(st.integers(1, 5))):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    for start in range(0, len(changed), 512):  # changes must get past the checksum
        block = changed[start : start + 512]
        if data.draw(st.booleans()) and block[257:262] == b"ustar":
            total = sum(block[:148]) + 8 * 32 + sum(block[156:])
            changed[start + 148 : start + 156] = b"%06o\0 " % total
    unpacks_or_refuses(tmp_path, gzip.compress(bytes(changed)))


def test_the_base_of_the_mutations_is_sound(tmp_path):
    assert unpacks_or_refuses(tmp_path, gzip.compress(BASE)) == Unpacked(2, 610, 1, (b"link",))


def test_every_stop_is_one_of_ours():
    assert issubclass(Refused, RefereeStop) and issubclass(Unjudgeable, RefereeStop)
    assert intake.MAX_ARCHIVE_BYTES == 24 * 1024 * 1024


@pytest.mark.parametrize("kind", KINDS)
def test_whatever_an_archive_is_it_costs_much_less_than_a_referee_has_for_it(tmp_path, kind):
    part, target = tmp_path / "part-00", tmp_path / "sources"
    part.write_bytes(KINDS[kind]())
    target.mkdir()
    began = time.process_time()
    try:
        taken = unpack([part], target, replace(RULES, max_bytes=8 << 20))
    except Refused as refused:
        assert refused.reason in result.REASONS[result.REJECTED]
    else:
        assert taken.files <= 1
    assert time.process_time() - began < INTAKE_CPU_SECONDS / 2


def test_a_sparse_file_with_a_long_map_is_skipped_and_what_follows_is_taken(tmp_path):
    mapped = archives.header(b"S.java", 512, b"S", extended=1) + bytes(504) + b"\1" + bytes(7)
    data = (
        mapped + bytes(512) + b"x" * 512 + archives.entry(A.encode(), b"class A {}") + bytes(1024)
    )

    assert take(tmp_path, gzip.compress(data)) == {A: b"class A {}"}


def test_an_archive_in_blocks_as_tools_make_it_is_read(tmp_path):
    data = archives.entry(A.encode(), b"x" * 9_000) + bytes(1024)
    blocks = b"".join(gzip.compress(bytes(piece)) for piece in archives.pieces(data, 100))

    assert take(tmp_path, blocks) == {A: b"x" * 9_000}


def test_as_many_records_as_honest_entries_have_are_read(tmp_path):
    body = b"".join(archives.record(b"SCHILY.xattr.user.%d" % n, b"v" * 50) for n in range(100))
    data = archives.entry(b"pax", body, b"x") + archives.entry(A.encode())
    assert take(tmp_path, gzip.compress(data * 1_000 + bytes(1024))) == {A: b""}
