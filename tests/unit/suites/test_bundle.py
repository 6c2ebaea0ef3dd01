"""Bundles: the same bytes everywhere, every file listed, nothing expected below lane/."""

import copy
import hashlib
import json
import shutil
import zipfile
from pathlib import Path

import pytest

from gradekeeper.referee.bundle import check_manifest, load_suite
from gradekeeper.suites import bundle as bundle_module
from gradekeeper.suites import java
from gradekeeper.suites.bundle import Bundle, build_bundle, load_bundle, read_pins
from gradekeeper.suites.check import find_leaks
from gradekeeper.suites.definition import load_suite as load_definition
from gradekeeper.suites.errors import DefinitionError, ToolError
from unit.suites.tiny_suite import DOCUMENT, DRIVER, PINS, write, write_suite


def test_two_builds_of_one_folder_are_the_same_bytes(
    bundle: Bundle, tmp_path: Path, kit: Path
) -> None:
    folder = write_suite(tmp_path / "elsewhere")
    again = build_bundle(folder, tmp_path / "again", kit=kit)
    assert again.digest == bundle.digest
    for file in bundle.path.rglob("*"):
        if file.is_file():
            other = tmp_path / "again" / file.relative_to(bundle.path)
            assert other.read_bytes() == file.read_bytes()


def test_the_digest_is_that_of_a_manifest_which_lists_every_file(bundle: Bundle) -> None:
    manifest = (bundle.path / "manifest.json").read_bytes()
    assert bundle.digest == "sha256:" + hashlib.sha256(manifest).hexdigest()
    assert set(json.loads(manifest)["files"]) == {
        "suite.json", "index.json", "lane/drivers.jar", "referee/pins.json",
        "submissions/gold.tar.gz", "submissions/null.tar.gz",
    }  # fmt: skip


def test_the_referee_reads_what_was_built(bundle: Bundle) -> None:
    assert check_manifest(bundle.path) == bundle.digest
    suite = load_suite(bundle.path, task="", parameters={"testTimeoutSeconds": "3"})
    assert list(suite.order) == ["sums/fix_adds", "sums/guard_names", "waits/fix_waits"]
    assert suite.limits.test_timeout_seconds == 3
    assert suite.pins["sums/fix_adds"][0].inputs == {"a": "1.25"}
    assert suite.groups[1].tests[0].rules.multiset


def test_the_index_has_ids_and_places_and_nothing_else(bundle: Bundle) -> None:
    assert json.loads(bundle.index) == {
        "schema": "gradekeeper.index/v1",
        "suite": "tiny",
        "tasks": {"": ["sums/fix_adds", "sums/guard_names", "waits/fix_waits"]},
        "discriminating": {"": [0, 2]},
    }


def test_the_jar_has_the_drivers_alone_and_no_times(bundle: Bundle) -> None:
    with zipfile.ZipFile(bundle.path / "lane/drivers.jar") as jar:
        assert jar.namelist() == ["drivers/Desk1.class"]
        assert {entry.date_time for entry in jar.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert jar.testzip() is None


def test_below_lane_there_is_no_id_no_value_and_no_judge(bundle: Bundle) -> None:
    pins = {test: draws for group in PINS.values() for test, draws in group.items()}
    assert find_leaks(bundle.path, pins) == []
    below = [path for path in (bundle.path / "lane").rglob("*") if path.is_file()]
    assert [path.name for path in below] == ["drivers.jar"]


def test_drivers_and_files_that_tell_what_is_expected_are_found(
    suite_folder: Path, tmp_path: Path, kit: Path
) -> None:
    told = 'String[] s = {"fix_adds", "is 17.375", "secretword", "four"}; desk.equals(s);'
    driver = DRIVER.replace("m02(Object desk) {", f"m02(Object desk) {{ {told}")
    write(suite_folder / "lane/drivers/Desk1.java", driver)
    write(suite_folder / "lane/files/data/words.txt", "a parcel")
    built = build_bundle(suite_folder, tmp_path / "leaky", kit=kit)
    assert (built.path / "lane/files/data/words.txt").read_text() == "a parcel"
    pins = read_pins(suite_folder, load_definition(suite_folder))
    assert sorted(find_leaks(built.path, pins)) == [
        "lane/drivers.jar contains '17.375', a value that sums/fix_adds expects",
        "lane/drivers.jar contains 'fix_adds', the id of sums/fix_adds",
        "lane/drivers.jar contains 'secretword', a value that sums/guard_names expects",
        "lane/files/data/words.txt contains 'parcel', a value that waits/fix_waits expects",
    ]


def test_a_changed_added_or_missing_file_is_noticed(bundle: Bundle, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(bundle.path, copy)
    assert load_bundle(copy).digest == bundle.digest
    (copy / "referee/pins.json").write_text("{}")
    with pytest.raises(DefinitionError, match="was changed after the bundle was built"):
        load_bundle(copy)
    (copy / "referee/pins.json").unlink()
    with pytest.raises(DefinitionError, match="other files than its manifest lists"):
        load_bundle(copy)
    with pytest.raises(DefinitionError, match="is not a bundle"):
        load_bundle(tmp_path)


@pytest.mark.parametrize("name", ["_MAX_MANIFEST_BYTES", "_MAX_FILE_BYTES", "_MAX_FILES"])
def test_a_bundle_that_is_larger_than_any_is_not_read_to_its_end(
    bundle: Bundle, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(bundle_module, name, 2)
    with pytest.raises(DefinitionError, match=r"larger than 2 bytes|other files"):
        load_bundle(bundle.path)


def test_only_a_bundle_is_replaced(suite_folder: Path, tmp_path: Path, kit: Path) -> None:
    write(tmp_path / "mine/notes.txt", "keep")
    with pytest.raises(DefinitionError, match="is not a bundle; it is left alone"):
        build_bundle(suite_folder, tmp_path / "mine", kit=kit)
    assert (tmp_path / "mine/notes.txt").read_text() == "keep"


def test_what_does_not_compile_is_shown_with_the_compilers_words(
    suite_folder: Path, tmp_path: Path, kit: Path
) -> None:
    write(suite_folder / "lane/drivers/Desk1.java", DRIVER.replace("Sum.of(1, 2)", "Sum.no()"))
    with pytest.raises(ToolError, match=r"(?s)does not compile:.*cannot find symbol"):
        build_bundle(suite_folder, tmp_path / "b", kit=kit)


@pytest.mark.parametrize(
    ("version", "sentence"),
    [("javac 21.0.1", "is not of a JDK 17 (it says: javac 21.0.1)"), ("", "it says: nothing")],
)
def test_another_jdk_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, sentence: str
) -> None:
    javac = tmp_path / "bin/javac"
    write(javac, f"#!/bin/sh\necho '{version}'\n")
    javac.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(ToolError) as error:
        java.find_javac()
    assert sentence in str(error.value)
    javac.unlink()
    with pytest.raises(ToolError, match=r"There is no javac in JAVA_HOME"):
        java.find_javac()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (None, "cannot be read: run `gradekeeper suite pin"),
        ("{", "is not JSON"),
        ("{}", "does not list exactly the group's tests"),
        ('{"waits/fix_waits": []}', "has no draw"),
        ('{"waits/fix_waits": [{"inputs": {"x": "1"}, "transcripts": [[]]}]}', "not as suite.yaml"),
        ('{"waits/fix_waits": [{"inputs": {}, "transcripts": []}]}', "not as suite.yaml"),
    ],
)
def test_pins_that_do_not_fit_say_what_to_run(
    suite_folder: Path, text: str | None, sentence: str
) -> None:
    path = suite_folder / "referee/pins/waits.json"
    path.unlink()
    if text is not None:
        write(path, text)
    with pytest.raises(DefinitionError) as error:
        read_pins(suite_folder, load_definition(suite_folder))
    assert sentence in str(error.value)


def test_patterns_that_take_no_file_are_refused_before_anything_is_compiled(
    tmp_path: Path, kit: Path
) -> None:
    document = copy.deepcopy(DOCUMENT)
    document["submission"]["include"] = ["source/**/*.java"]
    folder = write_suite(tmp_path, document)
    write(folder / "lane/drivers/Desk1.java", "not Java at all")
    with pytest.raises(DefinitionError) as error:
        build_bundle(folder, tmp_path / "out", kit=kit)
    assert str(error.value) == (
        f"{folder}/suite.yaml: submission: none of the 2 files of gold matches include"
        " ['source/**/*.java'] and not exclude ['**/hidden/**']"
    )


def test_a_gold_that_repairs_nothing_is_refused_before_anything_is_compiled(
    suite_folder: Path, tmp_path: Path, kit: Path
) -> None:
    gold = suite_folder / "submissions/gold"
    (gold / "src/app/Sum.java").rename(gold / "Sum.java")
    write(suite_folder / "lane/drivers/Desk1.java", "not Java at all")
    with pytest.raises(DefinitionError, match=r"same submission.*\(\.\./repo\), where include"):
        build_bundle(suite_folder, tmp_path / "out", kit=kit)


def test_a_folder_that_git_did_not_keep_is_named(
    suite_folder: Path, tmp_path: Path, kit: Path
) -> None:
    (suite_folder / "submissions/null").rmdir()
    with pytest.raises(DefinitionError, match=r"no folder submissions/null;.*put an empty"):
        build_bundle(suite_folder, tmp_path / "out", kit=kit)
