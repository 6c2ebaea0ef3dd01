"""Whatever javac takes in a folder by itself grades the same: names of classes, packages, files.

Every submission here is the tiny suite's gold, which passes 2 of 2, and classes beside it that it
loads. The oracle of what is legal is a JVM's own `Character`, and javac in a folder.
"""

from __future__ import annotations

import shutil
import subprocess
import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from gradekeeper.client import pack_directory
from gradekeeper.referee import build_ends
from gradekeeper.referee.local import LocalGrading, LocalLane, grade_local
from gradekeeper.suites.bundle import Bundle, build_bundle
from guide import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

SUITE = ROOT / "docs" / "examples" / "tiny" / "suite"
GOLD = (SUITE / "submissions/gold/src/shop/Basket.java").read_text()
UTF_8 = {"LC_ALL": "C.UTF-8"}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory, lane: LocalLane) -> Bundle:
    return build_bundle(SUITE, tmp_path_factory.mktemp("tiny") / "bundle", kit=lane.kit)


def write(folder: Path, sources: Mapping[str, str]) -> Path:
    for name, text in sources.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8"))
    return folder


def using(*names: str) -> dict[str, str]:
    """Gold, with a class that loads others when it is first used."""
    loads = "".join(f"        new {name}();\n" for name in names)
    return {"src/shop/Basket.java": GOLD.replace("{\n", "{\n    {\n" + loads + "    }\n", 1)}


def javac_takes(folder: Path, out: Path) -> bool:
    """Whether javac compiles all sources of a folder by itself."""
    sources = [str(path) for path in sorted(folder.rglob("*.java"))]
    done = subprocess.run(
        ["javac", "-proc:none", "-nowarn", "-d", str(out), *sources],
        capture_output=True,
        timeout=120,
        env=UTF_8 | {"PATH": "/usr/bin:/bin"},
    )
    return done.returncode == 0


def grade(folder: Path, tiny: Bundle, lane: LocalLane) -> LocalGrading:
    return grade_local(tiny.path, pack_directory(folder).archive, lane=lane)


def class_of(name: str, package: str = "shop", text: str = "") -> str:
    return f"package {package};\n\npublic class {name} {{ {text} }}\n"


CASES: dict[str, dict[str, str]] = {
    "a currency sign": {
        **using("Preis€"),
        "src/shop/Preis€.java": "package shop;\n\nfinal class Preis€ {\n}\n",
    },
    "dollars and connectors": {
        **using("$", "_$", "a.\u203f\uff3f$1"),
        "src/shop/$.java": class_of("$"),
        "src/shop/_$.java": class_of("_$"),
        "src/a/\u203f\uff3f$1.java": class_of("\u203f\uff3f$1", "a"),
    },
    "letters beyond the basic plane": {
        **using("\U0001d400\U00020000.\U00020001"),
        "src/\U0001d400\U00020000/\U00020001.java": class_of("\U00020001", "\U0001d400\U00020000"),
    },
    "composed and decomposed": {
        **using("G\u00e9", "Ge\u0301"),
        "src/shop/G\u00e9.java": class_of("G\u00e9"),
        "src/shop/Ge\u0301.java": class_of("Ge\u0301"),
    },
    "ignorable characters": {
        **using("Za\u200dhl", "Wert"),
        "src/shop/Zahl.java": class_of("Zah\u2060l"),
        "src/shop/We\u200drt.java": "package shop; class W\u0001ert {}",
        "src/shop/bell\x07.java": "package shop; class Bell {}",
    },
    "scripts from right to left and marks": {
        **using("\u0628\u064a", "\u0915\u0903"),
        "src/shop/\u0628\u064a.java": class_of("\u0628\u064a"),
        "src/shop/\u0915\u0903.java": class_of("\u0915\u0903"),
    },
    "names that differ in case": {
        **using("preis", "PREIS", "Preis"),
        **{f"src/shop/{name}.java": class_of(name) for name in ("preis", "PREIS", "Preis")},
    },
    "as long as a file's name may be": {
        **using("L" * 249, "\u20ac" * 83, "\U00020000" * 62),
        **{
            f"src/shop/{name[:50]}x.java": f"package shop; class {name} {{}}"
            for name in ("L" * 249, "\u20ac" * 83, "\U00020000" * 62)
        },
    },
    "deep packages of long names": {
        **using(".".join(["p" * 200] * 16) + ".C"),
        "src/" + ("p" * 200 + "/") * 16 + "C.java": class_of("C", ".".join(["p" * 200] * 16)),
    },
    "inner, anonymous, local and lambda": {
        **using("Auß€n"),
        "src/shop/Auß€n.java": class_of(
            "Auß€n",
            text="class Inn€n { Object o = new Object() { int €; }; } "
            "{ class Lok€l {} new Lok€l(); Runnable r = () -> new Inn€n(); r.run(); }",
        ),
    },
    "names of files that say nothing": {
        **using("One", "Two", "Three"),
        "src/shop/a\nb.java": "package shop; class One {}",
        "src/shop/back\\slash.java": "package shop; class Two {}",
        "src/shop/%41 ?#*.java": "package shop; class Three {}",
    },
    "a module and a package": {
        **using("X"),
        "src/module-info.java": "module m { requires java.sql; exports shop; }",
        "src/shop/package-info.java": "/** Sells. */\n@Deprecated\npackage shop;",
        "src/shop/X.java": class_of("X", text="java.sql.Connection c;"),
    },
}


@pytest.mark.parametrize("name", CASES)
def test_what_javac_takes_passes(name: str, tmp_path: Path, tiny: Bundle, lane: LocalLane) -> None:
    folder = write(tmp_path / "submission", CASES[name])
    assert javac_takes(folder, tmp_path / "out")
    found = grade(folder, tiny, lane)
    assert (found.result.reason, found.result.outcomes) == ("Completed", "PP"), found.log.decode()


TOO_LONG = {
    "class": {"src/shop/X.java": f"package shop; class {'L' * 250} {{}}"},
    "inner class": {
        "src/shop/X.java": f"package shop; class {'L' * 200} {{ class {'M' * 60} {{}} }}"
    },
    "package": {"src/X.java": f"package {'€' * 86}; class X {{}}"},
}


@pytest.mark.parametrize("name", TOO_LONG)
def test_what_no_file_system_takes_is_told_by_name(
    name: str, tmp_path: Path, tiny: Bundle, lane: LocalLane
) -> None:
    folder = write(tmp_path / "submission", {**using(), **TOO_LONG[name]})
    assert not javac_takes(folder, tmp_path / "out")
    found = grade(folder, tiny, lane)
    assert (found.result.reason, found.result.outcomes) == ("DoesNotCompile", "NN")
    assert found.result.message == build_ends.ERRORS
    assert b"a file name has at most 255 bytes" in found.log


def test_a_class_of_a_long_name_is_observed_as_another_and_breaks_no_protocol(
    tmp_path: Path, tiny: Bundle, lane: LocalLane
) -> None:
    """The name is cut, at an odd place that is inside of a letter of two halves."""
    package = ".".join(["ab", *["\U0001d400" * 50] * 3])
    name = f"{package}.Thrown"
    sources = {
        "src/shop/Basket.java": GOLD.replace(
            "return cents", f"if (cents > 0) throw new {name}(); return cents"
        ),
        "src/Thrown.java": class_of("Thrown extends RuntimeException", package),
    }
    found = grade(write(tmp_path / "submission", sources), tiny, lane)
    assert found.result.outcomes == "FF", found.log.decode()


LIMITS = {
    build_ends.TOO_MANY: {
        "src/shop/Many.java": "package shop; class Many {"
        + "".join(f" static class N{number} {{}}" for number in range(build_ends.MAX_CLASSES))
        + " }"
    },
    build_ends.RESERVED_PACKAGE: {"src/drivers/Mine.java": "package drivers; class Mine {}"},
    build_ends.PATH_TOO_LONG: {
        "src/shop/Deep.java": f"package {'.'.join(['d'] * build_ends.MAX_DEPTH)}; class Deep {{}}"
    },
}


@pytest.mark.parametrize("sentence", LIMITS)
def test_a_limit_of_ours_is_named_and_not_called_an_error_of_the_sources(
    sentence: str, tmp_path: Path, tiny: Bundle, lane: LocalLane
) -> None:
    folder = write(tmp_path / "submission", {**using(), **LIMITS[sentence]})
    assert javac_takes(folder, tmp_path / "out")
    found = grade(folder, tiny, lane)
    assert (found.result.reason, found.result.outcomes) == ("DoesNotCompile", "NN")
    assert found.result.message == sentence


def test_a_compiler_that_runs_out_of_memory_is_named(tmp_path: Path, lane: LocalLane) -> None:
    copy = tmp_path / "tiny"
    shutil.copytree(SUITE.parent, copy)
    definition = copy / "suite" / "suite.yaml"
    definition.write_text(
        definition.read_text().replace("sourceRoot: src", "sourceRoot: src, heapMiB: 16")
    )
    small = build_bundle(copy / "suite", tmp_path / "bundle", kit=lane.kit)
    sources = {
        f"src/shop/C{number}.java": f"package shop; class C{number} {{ String[] s = {{"
        + '"text", ' * 5_000
        + "}; }"
        for number in range(20)
    }
    found = grade(write(tmp_path / "submission", {**using(), **sources}), small, lane)
    assert (found.result.reason, found.result.message) == ("DoesNotCompile", build_ends.MEMORY)


ORACLE = """
import java.util.BitSet;
public class Oracle {
  public static void main(String[] none) {
    for (int c = 0; c <= Character.MAX_CODE_POINT; c++) {
      if (Character.isJavaIdentifierPart(c)) {
        System.out.println(c + " " + Character.isJavaIdentifierStart(c)
            + " " + Character.isIdentifierIgnorable(c));
      }
    }
  }
}
"""


@pytest.fixture(scope="module")
def letters(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[int]]:
    """What Java itself says of every code point."""
    source = tmp_path_factory.mktemp("oracle") / "Oracle.java"
    source.write_text(ORACLE)
    java = shutil.which("java")
    assert java
    done = subprocess.run([java, str(source)], capture_output=True, timeout=120, check=True)
    found: dict[str, list[int]] = {"start": [], "part": [], "ignorable": []}
    for line in done.stdout.decode().splitlines():
        code, start, ignorable = line.split()
        kind = "ignorable" if ignorable == "true" else "start" if start == "true" else "part"
        found[kind].append(int(code))
    assert len(found["start"]) > 100_000 and len(found["ignorable"]) > 100
    return found


def identifiers(letters: Mapping[str, list[int]]) -> st.SearchStrategy[str]:
    """Legal identifiers, rare letters as likely as common ones; ignorable ones not first."""
    by_kind: dict[str, list[int]] = {}
    for code in letters["start"]:
        by_kind.setdefault(unicodedata.category(chr(code)), []).append(code)
    start = st.one_of([st.sampled_from(codes) for codes in by_kind.values()])
    # NUL is legal in an identifier, but in no name of a file.
    ignorable = st.sampled_from([code for code in letters["ignorable"] if code])
    part = st.one_of(start, st.sampled_from(letters["part"]), ignorable)
    return st.tuples(start, st.lists(part, max_size=12)).map(
        lambda codes: "".join(map(chr, [codes[0], *codes[1]]))
    )


def spelled(name: str, letters: Mapping[str, list[int]]) -> str:
    """What javac makes of it: ignorable characters of the basic plane do not count."""
    ignorable = {code for code in letters["ignorable"] if code < 0x10000}
    return "".join(char for char in name if ord(char) not in ignorable)


def test_any_legal_identifier_passes(
    tmp_path: Path, tiny: Bundle, lane: LocalLane, letters: dict[str, list[int]]
) -> None:
    numbers: Iterator[int] = iter(range(1_000_000))
    seen: list[str] = []

    # Each example is a grading: none is spent on making a failing one smaller.
    @settings(
        max_examples=3,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.lists(identifiers(letters), min_size=15, max_size=25))
    def check(names: list[str]) -> None:
        # A dollar behind each: none is a keyword then.
        unique = {spelled(name + "$", letters): name + "$" for name in names}
        sources = using(*(f"p.{name}" for name in list(unique.values())[::2]), *unique.values())
        for number, (spelling, name) in enumerate(unique.items()):
            text = f"int {name}; void {name}() {{ {name} = 1; }}"
            # A public class is in a file of its name, as javac spells it; others are anywhere.
            sources[f"src/shop/{number}{name}.java"] = f"package shop; class {name} {{ {text} }}"
            if number % 2 == 0:
                sources[f"src/p/{spelling}.java"] = class_of(name, "p", text)
        folder = write(tmp_path / f"submission-{next(numbers)}", sources)
        assert javac_takes(folder, tmp_path / f"out-{next(numbers)}")
        found = grade(folder, tiny, lane)
        assert found.result.outcomes == "PP", found.log.decode()
        seen.extend(unique)

    check()
    assert any(not name.isascii() for name in seen)
