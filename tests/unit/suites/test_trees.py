"""Submissions: overlays, generated files, deterministic archives, scenarios."""

import gzip
import io
import os
import tarfile
from pathlib import Path

import pytest

from gradekeeper.suites.definition import load_suite
from gradekeeper.suites.errors import DefinitionError
from gradekeeper.suites.trees import (
    Generate,
    archive_tree,
    build_submission,
    load_scenarios,
    read_tree,
    submission_tree,
)
from unit.suites.tiny_suite import write

SCENARIOS = """\
scenarios:
  - {name: plain, simulates: nothing, overlays: [], expect: {fails: ["*/fix_*"]}}
  - {name: other, simulates: a change, expect: {}}
  - name: many
    simulates: a flood
    overlays: [gold]
    generate: {count: 3, path: "src/app/X{n}.java", text: "class X{n} {}"}
    expect: {decision: Rejected, reason: SubmissionTooManyFiles, fails: ["*"]}
"""


def names(archive: bytes) -> dict[str, str]:
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:gz") as tar:
        files = {}
        for member in tar:
            file = tar.extractfile(member)
            assert file is not None
            files[member.name] = file.read().decode()
        return files


@pytest.fixture
def folder(suite_folder: Path) -> Path:
    write(suite_folder / "submissions/scenarios.yaml", SCENARIOS)
    write(suite_folder / "submissions/scenarios/other/src/app/More.java", "class More {}")
    return suite_folder


def test_an_overlay_wins_over_the_starting_repository(folder: Path) -> None:
    assert names(build_submission(folder, "null"))["src/app/Sum.java"].count("of(") == 0
    gold = names(build_submission(folder, "gold"))
    assert "int of(" in gold["src/app/Sum.java"]
    assert gold["README.md"] == "sums\n"


def test_scenarios_are_overlays_and_generated_files(folder: Path) -> None:
    assert names(build_submission(folder, "plain")) == names(build_submission(folder, "null"))
    assert "src/app/More.java" in names(build_submission(folder, "other"))
    many = names(build_submission(folder, "many"))
    assert many["src/app/X3.java"] == "class X3 {}"
    assert "int of(" in many["src/app/Sum.java"]
    with pytest.raises(
        DefinitionError, match="it has gold, null, peer-defaults, peer-throws, plain"
    ):
        build_submission(folder, "none")


def test_scenarios_without_files_with_links_or_with_large_files(folder: Path) -> None:
    write(
        folder / "submissions/scenarios.yaml",
        """\
scenarios:
  - {name: empty, simulates: x, overlays: [gold], delete: ["src/*"], expect: {}}
  - {name: links, simulates: x, overlays: [gold], links: {src/app/Z.java: /dev/zero}, expect: {}}
  - name: large
    simulates: x
    overlays: []
    generate: {count: 1, path: "big{n}", text: "{n}23", times: 1000}
    expect: {}
""",
    )
    gold = names(build_submission(folder, "gold"))
    assert set(names(build_submission(folder, "empty"))) == {"README.md"}
    assert names(build_submission(folder, "large"))["big1"] == "123" * 1000
    with tarfile.open(fileobj=io.BytesIO(build_submission(folder, "links"))) as tar:
        links = {member.name: member.linkname for member in tar if member.issym()}
        assert links == {"src/app/Z.java": "/dev/zero"}
        assert set(tar.getnames()) - set(links) == set(gold)


def test_archives_depend_on_content_and_modes_alone(folder: Path) -> None:
    first = build_submission(folder, "gold")
    for path in folder.parent.rglob("*"):
        if path.is_file():
            os.utime(path, (1, 1))
    write(folder.parent / "repo/build/out.txt", "left out")
    assert build_submission(folder, "gold") == first
    (folder.parent / "repo/README.md").chmod(0o755)
    assert build_submission(folder, "gold") != first


def test_archives_are_stored_so_that_no_compressor_changes_the_digest() -> None:
    content = b"a" * 5000
    archive = archive_tree({"a.txt": (content, False)})
    assert content in archive
    assert gzip.decompress(archive).startswith(b"a.txt")


def test_links_and_special_files_are_refused(folder: Path) -> None:
    link = folder / "submissions/gold/link"
    link.symlink_to("/etc/hostname")
    with pytest.raises(DefinitionError, match="neither a file nor a folder"):
        read_tree(folder / "submissions/gold")
    link.unlink()
    os.mkfifo(link)
    with pytest.raises(DefinitionError, match="neither a file nor a folder"):
        build_submission(folder, "gold")


def test_generated_files_count_from_one(folder: Path) -> None:
    tree = submission_tree(folder, load_suite(folder), [], Generate(count=2, path="g/{n}"))
    assert {name for name in tree if name.startswith("g/")} == {"g/1", "g/2"}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("scenarios: [{name: A B, simulates: x, expect: {}}]", "scenarios.0.name"),
        ("scenarios: [{name: gold, simulates: x, overlays: [], expect: {}}]", "not scenarios"),
        ("scenarios: [{name: only-x, simulates: x, overlays: [], expect: {}}]", "not scenarios"),
        ("scenarios: [{name: a, simulates: x, repairs: [b], overlays: [], expect: {}}]",
         "a: there is no defect 'b'; there is none"),
        ("scenarios: [{name: lost, simulates: x, expect: {}}]", "submissions/scenarios/lost"),
        ("scenarios: [{name: a, simulates: x, expect: {reason: Odd}}]", "expect.reason"),
        ("scenarios: [{name: a, simulates: x, expect: {decision: Unjudged}}]", "expect.decision"),
        ("scenarios: [{name: a, simulates: x, overlays: [], expect: {}, z: 1}]", "z: there is no"),
        ("scenarios:\n" + 2 * "  - {name: a, simulates: x, overlays: [], expect: {}}\n", "twice"),
    ],
)  # fmt: skip
def test_a_mistake_in_the_scenarios_is_named(folder: Path, text: str, sentence: str) -> None:
    write(folder / "submissions/scenarios.yaml", text)
    with pytest.raises(DefinitionError) as error:
        load_scenarios(folder)
    assert sentence in str(error.value)
