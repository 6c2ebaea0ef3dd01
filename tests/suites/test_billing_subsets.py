"""Whatever set of defects a task leaves in the service: it is there, and it compiles."""

import itertools
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from billing_payment_debug import defects

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1500)]

PROGRAM = Path(__file__).with_name("java") / "Subsets.java"
FLAGS = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
ROOT = "src/main/java/"
SEEDED = defects.task_repo()
GROUPS = list(defects.catalog())
CHANGED = sorted({path for one in defects.catalog().values() for path in one.files})
Files = dict[str, bytes]


def subsets() -> Iterator[tuple[str, ...]]:
    """The groups that are repaired; all 1,023 tasks, and gold."""
    for count in range(len(GROUPS) + 1):
        yield from itertools.combinations(GROUPS, count)


def compile_all(folder: Path, variants: dict[str, Files]) -> dict[str, str]:
    """Compile the files that defects are in, for each variant, against the rest.

    The rest and one variant are compiled together once, for the classes of the rest.
    """
    folder.mkdir()
    for path, content in SEEDED.items():
        if path.startswith(ROOT) and path.endswith(".java"):
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)
    classes = folder / "classes"
    sources = sorted(map(str, (folder / ROOT).rglob("*.java")))
    subprocess.run(
        ["javac", "-proc:none", "-g:none", "-d", str(classes), *sources], check=True, timeout=200
    )
    written: dict[bytes, str] = {}
    lines = []
    for name, files in variants.items():
        words = [name]
        for path in CHANGED:
            content = files[path]
            place = written.setdefault(content, f"v{len(written)}/{Path(path).name}")
            (folder / place).parent.mkdir(exist_ok=True)
            (folder / place).write_bytes(content)
            words.append(place)
        lines.append(" ".join(words))
    (folder / "list").write_text("\n".join(lines))
    done = subprocess.run(
        ["java", *FLAGS, str(PROGRAM), str(classes), str(folder), str(folder / "list")],
        capture_output=True,
        text=True,
        timeout=1200,
        check=True,
    )
    *answers, total = done.stdout.splitlines()
    assert total == f"compiled {len(variants)}", done.stderr
    return dict(answer.split(" ", 1) for answer in answers)


def test_every_set_of_defects_is_a_repository_that_compiles(tmp_path: Path) -> None:
    repaired = {"+".join(groups) or "none": defects.apply(SEEDED, groups) for groups in subsets()}
    assert len(repaired) == 1024
    assert repaired["+".join(GROUPS)] == {**SEEDED, **defects.gold()}
    distinct = {tuple(files[path] for path in CHANGED) for files in repaired.values()}
    assert len(distinct) == 1024
    for files in repaired.values():
        assert {path for path in files if files[path] != SEEDED[path]} <= set(CHANGED)
    answers = compile_all(tmp_path / "work", repaired)
    assert {name: said for name, said in answers.items() if said != "OK"} == {}
    assert len(answers) == 1024


def test_what_does_not_compile_is_found(tmp_path: Path) -> None:
    broken = {**SEEDED, CHANGED[0]: SEEDED[CHANGED[0]].replace(b";", b"", 1)}
    answers = compile_all(tmp_path / "work", {"good": SEEDED, "broken": broken})
    assert answers["good"] == "OK"
    assert "';' expected" in answers["broken"]
