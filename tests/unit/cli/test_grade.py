"""`grade --local`: what it refuses before anything runs. The engine itself: tests/suites."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from gradekeeper.referee.local import LocalGrading, TestDetail
from gradekeeper.referee.result import RefereeResult
from gradekeeper.referee.strictjson import encode_canonical
from gradekeeper.suites.bundle import digest_of, load_bundle

Run = Callable[..., Result]


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """A bundle as far as requests are checked against it: two tasks, one parameter."""
    folder = tmp_path / "bundle"
    folder.mkdir()
    parameter = {"default": "20", "pattern": "^[0-9]{1,3}$", "description": "x"}
    files = {
        "suite.json": encode_canonical({"parameters": {"testTimeoutSeconds": parameter}}),
        "index.json": encode_canonical({"tasks": {"one": ["g/a"], "two": ["g/b"]}}),
    }
    manifest = {
        "schema": "gradekeeper.bundle/v1",
        "name": "s",
        "version": "1",
        "files": {name: digest_of(data) for name, data in files.items()},
    }
    for name, data in {**files, "manifest.json": encode_canonical(manifest)}.items():
        (folder / name).write_bytes(data)
    return folder


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Options that name the parts of a lane, none of which can run, and a bwrap on the PATH."""
    for name in ("lanes/laned", "lanes/laneprobe", "lanes/kit.jar", "jdk/bin/java", "bin/bwrap"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"")
        path.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return ["--lanes", str(tmp_path / "lanes"), "--java-home", str(tmp_path / "jdk")]


def refused(run: Run, *words: object) -> str:
    result = run("grade", *map(str, words))
    assert (result.exit_code, result.stdout) == (2, "")
    return result.stderr


def test_on_a_cluster_another_command_grades(run: Run, bundle: Path) -> None:
    said = refused(run, "builtin:gold", "--suite", bundle)
    assert "gradekeeper submit SOURCE --suite NAME --wait" in said


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--task", "three"], "no task 'three'; it has: one, two."),
        ([], "no task ''; it has: one, two."),
        (["--task", "one", "-p", "heap=1"], "no parameter 'heap'; it has: testTimeoutSeconds."),
        (["--task", "one", "-p", "testTimeoutSeconds=9x"], "'9x' does not match ^[0-9]{1,3}$"),
        (["--task", "one", "-p", "testTimeoutSeconds"], "--parameter takes NAME=VALUE"),
        (["--out", "/no/such/folder/x.json"], "/no/such/folder is not a directory"),
    ],
)
def test_what_a_job_would_be_refused_for(
    run: Run, bundle: Path, machine: list[str], options: list[str], said: str
) -> None:
    assert said in refused(run, "builtin:gold", "--local", "--suite", bundle, *machine, *options)


def test_a_path_that_is_no_suite(run: Run, tmp_path: Path, machine: list[str]) -> None:
    said = refused(run, "builtin:gold", "--local", "--suite", tmp_path, *machine)
    assert "neither a suite folder (no suite.yaml) nor a bundle (no manifest.json)" in said


def test_a_bundle_that_was_changed(run: Run, bundle: Path, machine: list[str]) -> None:
    (bundle / "suite.json").write_bytes(b"{}")
    said = refused(run, "builtin:gold", "--local", "--suite", bundle, *machine)
    assert "suite.json was changed after the bundle was built" in said


def test_a_source_that_is_nothing(run: Run, tmp_path: Path, bundle: Path) -> None:
    words = ["--local", "--suite", bundle]
    assert "followed by gold or null" in refused(run, "builtin:silver", *words)
    assert "cannot be read" in refused(run, tmp_path / "none", *words)


def test_missing_parts_say_how_they_are_made(
    run: Run, bundle: Path, machine: list[str], tmp_path: Path
) -> None:
    words = ["builtin:gold", "--local", "--suite", bundle, *machine]
    (tmp_path / "lanes" / "laned").unlink()
    assert "build it by `make lanes`" in refused(run, *words)
    (tmp_path / "bin" / "bwrap").unlink()
    assert "say --unsafe" in refused(run, *words)
    (tmp_path / "jdk" / "bin" / "java").unlink()
    assert "set JAVA_HOME to a JDK 17" in refused(run, *words)


def test_the_document_says_what_was_not_done(bundle: Path) -> None:
    from gradekeeper.cli._grade import ISOLATION, NOT_REACHED, build_document

    digest = "sha256:" + "0" * 64
    result = RefereeResult(
        nonce="local",
        attempt=1,
        suite=digest,
        submission=digest,
        task="one",
        decision="Rejected",
        reason="SubmissionTooManyFiles",
        message="Too many.",
        outcomes="N",
        isolation=None,
        log=digest,
        times={"total": 0.1},
    )
    tests = (TestDetail("g/a", "N", "", ()),)
    log = b'{"event": "compiler", "text": "a\\\\x0a\\\\x09b\\u001b[2J"}\nnot json\n{"event": "x"}\n'
    document = build_document(
        load_bundle(bundle), LocalGrading(result, tests, log), task="one", parameters={"p": "1"}
    )
    assert document["signed"] is False
    assert document["isolatedBy"] == NOT_REACHED
    assert document["verdict"]["tests"] == {"total": 1, "passed": 0, "failed": 1}
    assert document["tests"][0]["word"] == "did not run"
    assert document["compiler"] == ["a", "        b\\x1b[2J"]
    assert document["leftOut"] == []
    assert set(ISOLATION) == {"local", "none"}


@pytest.mark.parametrize(
    ("ended", "why"),
    [
        ({"status": "3"}, "it ended with status 3, as a JVM does whose memory is full"),
        ({"status": "0"}, "it ended with status 0"),
        ({"signal": "9"}, "signal 9 ended it, as when the lane's memory is used up"),
        ({"signal": "25"}, "signal 25 ended it, as when a file is larger than limits.fileMiB"),
        ({"signal": "11"}, "signal 11 ended it"),
    ],
)
def test_a_document_says_how_a_process_ended_and_what_was_left_out(
    bundle: Path, ended: dict[str, str], why: str
) -> None:
    from gradekeeper.cli._grade import build_document

    digest = "sha256:" + "0" * 64
    result = RefereeResult(
        nonce="local",
        attempt=1,
        suite=digest,
        submission=digest,
        task="one",
        decision="Graded",
        reason="Completed",
        message="Fine.",
        outcomes="X",
        isolation={"profile": "local"},
        log=digest,
    )
    test = {"event": "test", "test": "g/a", "repeat": 1, "outcome": "X"}
    events = [
        {"event": "intake", "left_out": ["/etc/\\x07", "link"]},
        {"event": "run_ended", "group": "g", "repeat": 0, "status": "7"},
        test,
        {"event": "run_ended", "group": "g", "repeat": 0, "status": "8"},
        {"event": "run_ended", "group": "g", "repeat": 1, **ended},
    ]
    log = "\n".join(map(json.dumps, events)).encode()
    tests = (TestDetail("g/a", "X", "it ended", ()),)
    document = build_document(
        load_bundle(bundle), LocalGrading(result, tests, log), task="one", parameters={}
    )
    assert document["tests"][0]["why"].startswith(why)
    assert document["leftOut"] == ["/etc/\\x07", "link"]
