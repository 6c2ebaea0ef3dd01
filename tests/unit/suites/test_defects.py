"""Patches of defects: read strictly, applied by their lines alone, and exactly once."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradekeeper.suites.check import find_defect_problems
from gradekeeper.suites.defects import (
    Defect,
    Hunk,
    apply_hunks,
    find_patch_problems,
    hunks_of,
    load_defects,
    parse_patch,
    read_patch,
)
from gradekeeper.suites.errors import DefinitionError
from gradekeeper.suites.peers import PEERS, build_peer
from gradekeeper.suites.trees import build_submission, read_tree
from unit.suites.test_trees import names
from unit.suites.tiny_suite import write

PATCH = """\
--- a/src/A.java
+++ b/src/A.java
@@ -1,3 +1,3 @@ class A
 one
-two
+2
 three
@@ -9 +9,2 @@
 nine
+ten
--- a/B.txt\t2001-01-01
+++ b/B.txt\t2001-01-02
@@ -1,2 +1 @@

-gone
"""
BASE = {"src/A.java": b"one\ntwo\nthree\nnine\n", "B.txt": b"\ngone\nkept\n", "C": b"\xff\n"}
DONE = {"src/A.java": b"one\n2\nthree\nnine\nten\n", "B.txt": b"\nkept\n", "C": b"\xff\n"}


def test_a_patch_is_its_hunks_in_order() -> None:
    assert parse_patch(PATCH, source="p") == (
        Hunk("src/A.java", "one\ntwo\nthree\n", "one\n2\nthree\n"),
        Hunk("src/A.java", "nine\n", "nine\nten\n"),
        Hunk("B.txt", "\ngone\n", "\n"),
    )
    assert apply_hunks(BASE, parse_patch(PATCH, source="p")) == DONE


def test_what_git_and_diff_write_can_be_read(tmp_path: Path) -> None:
    for side, files in (("a", BASE), ("b", DONE)):
        for name, content in files.items():
            (tmp_path / side / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / side / name).write_bytes(content)
    for command in (["diff", "-ru"], ["git", "diff", "--no-index", "--no-prefix", "-U1"]):
        done = subprocess.run(
            [*command, "a", "b"], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert apply_hunks(BASE, parse_patch(done.stdout, source="p")) == DONE, command


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "p has no hunk; write it anew"),
        ("--- a/x\n+++ b/x\n", "p has no hunk"),
        ("@@ -1 +1 @@\n-a\n+b\n", "line 1: no file is named"),
        ("--- a/x\nno\n", "line 1: a line with +++ must follow"),
        ("--- a/x\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n", "x becomes y"),
        ("--- /dev/null\n+++ b/y\n@@ -0,0 +1 @@\n+b\n", "/dev/null becomes b/y"),
        ("--- a/x\n+++ b/x\n@@ -1,2 +1 @@\n-a\n+b\n", "line 3: the hunk has not as many lines"),
        ("--- a/x\n+++ b/x\n@@ -1 +1,0 @@\n-a\n+b\n", "line 5: '+b' is no part of a patch"),
        ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n\\ No newline\n", "has not as many lines"),
        ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n a\n", "changes no line"),
        ("--- a/x\n+++ b/x\n@@ -0,0 +1 @@\n+a\n", "changes no line that is there"),
        ("hello\n", "line 1: 'hello' is no part of a patch"),
    ],
)
def test_what_is_no_patch_is_named_with_its_line(text: str, sentence: str) -> None:
    with pytest.raises(DefinitionError) as error:
        parse_patch(text, source="p")
    assert sentence in str(error.value)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"b\n", "applies 0 times, not once: the file has changed; write it anew"),
        (b"a\nb\na\n", "applies 2 times, not once: give it more lines around"),
        (b"ba\n", "applies 0 times"),
        (None, "there is no such file"),
    ],
)
def test_a_hunk_belongs_to_exactly_one_place(content: bytes | None, sentence: str) -> None:
    files = {} if content is None else {"x": content}
    with pytest.raises(DefinitionError, match="x") as error:
        apply_hunks(files, [Hunk("x", "a\n", "c\n")])
    assert sentence in str(error.value)


@given(st.lists(st.sampled_from("abc"), max_size=6), st.lists(st.sampled_from("abc"), min_size=1))
def test_overlapping_places_are_counted(lines: list[str], before: list[str]) -> None:
    places = [n for n in range(len(lines)) if lines[n : n + len(before)] == before]
    files = {"x": "".join(f"{line}\n" for line in lines).encode()}
    hunk = Hunk("x", "".join(f"{line}\n" for line in before), "z\n")
    if len(places) == 1:
        (start,) = places
        wanted = [*lines[:start], "z", *lines[start + len(before) :]]
        assert apply_hunks(files, [hunk])["x"].decode().split() == wanted
    else:
        with pytest.raises(DefinitionError, match=f"applies {len(places)} times"):
            apply_hunks(files, [hunk])


HUNKS = parse_patch(PATCH, source="p")


@pytest.mark.parametrize("without", range(len(HUNKS)))
def test_a_repair_without_a_hunk_is_not_gold(without: int) -> None:
    assert find_patch_problems(BASE, DONE, {"one": HUNKS[:2], "two": HUNKS[2:]}) == []
    left = [hunk for place, hunk in enumerate(HUNKS) if place != without]
    (problem,) = find_patch_problems(BASE, DONE, {"one": left})
    place = f"{HUNKS[without].path}, line {(2, 5, 2)[without]}, differs"
    assert problem.startswith(f"all repairs together do not give gold: {place}; add what is")


def test_a_repair_that_needs_another_one_is_named() -> None:
    needs = [Hunk("src/A.java", "ten\n", "10\n")]
    problem, *_ = find_patch_problems(BASE, DONE, {"one": HUNKS, "other": needs})
    assert problem.startswith("the repair of other alone: src/A.java: the hunk with 'ten'")


def test_repairs_that_exclude_each_other_are_named() -> None:
    one, other = (Hunk("src/A.java", "one\ntwo\n", f"one\n{word}\n") for word in ("2", "zwei"))
    (problem,) = find_patch_problems(BASE, DONE, {"one": [one], "other": [other]})
    assert problem.startswith("all repairs together: src/A.java: the hunk with 'one'")


@pytest.fixture
def folder(suite_folder: Path) -> Path:
    """The tiny suite, whose base has two defects in one file and gold the way out."""
    seeded = "package app;\npublic class Sum {\n    int a = 1;\n    int b;\n    int c = 1;\n}\n"
    write(suite_folder.parent / "repo/src/app/Sum.java", seeded)
    write(suite_folder / "submissions/gold/src/app/Sum.java", seeded.replace("1", "2"))
    write(suite_folder / "submissions/defects.yaml", LIST)
    for name in "ac":
        write(
            suite_folder / f"submissions/defects/{name}.patch",
            "--- a/src/app/Sum.java\n+++ b/src/app/Sum.java\n@@ -3 +3 @@\n"
            f"-    int {name} = 1;\n+    int {name} = 2;\n",
        )
    return suite_folder


LIST = """\
defects:
  - {name: a, fails: [sums/fix_*]}
  - {name: c, fails: [waits/fix_*]}
"""


def test_each_defect_is_a_submission_with_that_defect_alone(folder: Path) -> None:
    only = names(build_submission(folder, "only-a"))["src/app/Sum.java"]
    assert "int a = 1" in only and "int c = 2" in only
    with pytest.raises(DefinitionError, match="it has gold, null, peer-defaults, peer-throws, on"):
        build_submission(folder, "only-b")


def test_a_scenario_may_start_from_repaired_defects(folder: Path) -> None:
    text = "scenarios: [{name: half, simulates: x, repairs: [c], overlays: [], expect: {}}]"
    write(folder / "submissions/scenarios.yaml", text)
    assert build_submission(folder, "half") == build_submission(folder, "only-a")


def remove(folder: Path) -> None:
    (folder / "submissions/defects/c.patch").unlink()


def rename(folder: Path) -> None:
    (folder / "submissions/defects/c.patch").rename(folder / "submissions/defects/d.patch")


def unlist(folder: Path) -> None:
    write(folder / "submissions/defects.yaml", LIST.partition("  - {name: c")[0])


def twice(folder: Path) -> None:
    write(folder / "submissions/defects.yaml", LIST.replace("name: c", "name: a"))


def empty(folder: Path) -> None:
    write(folder / "submissions/defects.yaml", LIST.replace("[waits/fix_*]", "[]"))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (remove, "c.patch does not exist"),
        (rename, "c.patch does not exist; "),
        (rename, "d.patch is not in "),
        (unlist, "c.patch is not in "),
        (twice, "used twice: ['a']"),
        (empty, "defects.1.fails"),
    ],
)
def test_list_and_patches_belong_together(
    folder: Path, change: Callable[[Path], None], sentence: str
) -> None:
    assert [defect.name for defect in load_defects(folder)] == ["a", "c"]
    change(folder)
    with pytest.raises(DefinitionError) as error:
        load_defects(folder)
    assert sentence in str(error.value)


def test_a_defect_knows_its_files_and_unknown_ones_are_refused(folder: Path) -> None:
    defects = load_defects(folder)
    assert defects[0].files == ("src/app/Sum.java",)
    with pytest.raises(DefinitionError, match="no defect 'x'; there is a, c"):
        hunks_of(defects, ["a", "x"])
    with pytest.raises(DefinitionError, match="cannot be read"):
        read_patch(folder / "no.patch")


IDS = ["a/fix_1", "a/guard_1", "b/fix_2"]
HUNK = (Hunk("x", "a\n", "b\n"),)


@pytest.mark.parametrize(
    ("fails", "problems"),
    [
        ({"a": ("a/fix_*",), "b": ("b/fix_2",)}, []),
        ({}, []),
        ({"a": ("a/fix_*",)}, ["no defect claims b/fix_2, which discriminates"]),
        ({"a": ("*/fix_*", "c/*")}, ["a: 'c/*' matches no test"]),
        ({"a": ("*",)}, ["a claims a/guard_1, which does not discriminate"]),
    ],
)
def test_defects_claim_what_discriminates_and_nothing_else(
    fails: dict[str, tuple[str, ...]], problems: list[str]
) -> None:
    defects = [Defect(name, globs, HUNK) for name, globs in fails.items()]
    assert find_defect_problems(defects, IDS, ["a/fix_1", "b/fix_2"]) == problems


SOURCE = """\
package app;
import java.util.List;
class Shop {
    record Item(String name, int count, Size size, Item next) { }
    enum Size { SMALL { int cm() { return 1; } }, LARGE; int cm() { return 2; } }
    interface Till { long take(); default double rate() { return 1.5; } }
    private final int kept;
    Shop() { this.kept = 7; }
    int kept() { return kept; }
    List<Item> items() { return List.of(item()); }
    Item item() { return new Item("a", 1, Size.LARGE, null); }
    int[] array() { return new int[] {1}; }
    static <T> T same(T it) { return it; }
    void nothing() { throw new IllegalArgumentException(); }
}
"""
PEER_PRINTS = """\
package app;
class Main {
    public static void main(String[] arguments) {
        Shop shop = new Shop();
        shop.nothing();
        System.out.println(shop.kept() + " " + shop.items() + " " + shop.item().name().isEmpty()
            + " " + shop.item().size() + " " + shop.array() + " " + Shop.same("x"));
    }
}
"""


def test_peers_have_the_shape_of_gold_and_none_of_its_behaviour(tmp_path: Path) -> None:
    gold = {
        "src/app/Shop.java": (SOURCE.encode(), False),
        "src/app/Main.java": (PEER_PRINTS.encode(), False),
        "run.sh": (b"", True),
    }
    said = {}
    for name in PEERS:
        peer = build_peer(name, gold, {"src/app/Shop.java": gold["src/app/Shop.java"]})
        assert {path for path in gold if peer[path] != gold[path]} == {"src/app/Shop.java"}
        for path, (content, _) in peer.items():
            write(tmp_path / name / path, content.decode())
        sources = [str(tmp_path / name / f"src/app/{one}.java") for one in ("Shop", "Main")]
        out = tmp_path / name / "out"
        subprocess.run(["javac", "-d", str(out), *sources], check=True, timeout=60)
        ran = subprocess.run(
            ["java", "-cp", str(out), "app.Main"], capture_output=True, text=True, timeout=60
        )
        said[name] = ran.stdout + ran.stderr
    assert said["peer-defaults"] == "0 [] true SMALL null null\n"
    assert "java.lang.IllegalStateException\n\tat app.Shop.nothing" in said["peer-throws"]


def test_a_peer_is_a_submission_of_every_suite(suite_folder: Path) -> None:
    assert (
        "{ return 0; }"
        in names(build_submission(suite_folder, "peer-defaults"))["src/app/Sum.java"]
    )
    with pytest.raises(DefinitionError, match="repairs no Java source"):
        build_peer("peer-throws", read_tree(suite_folder), {})
