"""`gradekeeper grade --local` by the real engine, on the guide's own example suite."""

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from gradekeeper.cli.main import app
from gradekeeper.referee.local import LocalLane, grade_local
from gradekeeper.suites.bundle import Bundle, build_bundle
from guide import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

TINY = ROOT / "docs" / "examples" / "tiny"
SUITE = TINY / "suite"
Grade = Callable[..., Result]


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory, lane: LocalLane) -> Bundle:
    return build_bundle(SUITE, tmp_path_factory.mktemp("tiny") / "bundle", kit=lane.kit)


@pytest.fixture
def grade(lane: LocalLane, tiny: Bundle) -> Grade:
    def call(source: object, *options: object, suite: object = tiny.path) -> Result:
        words = ["grade", "--local", source, "--suite", suite, "--lanes", lane.laned.parent]
        words += ["--java-home", lane.java_home, *options]
        result = CliRunner().invoke(app, list(map(str, words)), env={"COLUMNS": "200"})
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return call


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A PATH of its own, with what a lane needs but bubblewrap, readable by the lane's user."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        folder.chmod(0o755)
        for name in ("setpriv", "unshare"):
            found = shutil.which(name)
            assert found is not None
            (folder / name).symlink_to(found)
        monkeypatch.setenv("PATH", str(folder))
        yield folder


def script(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def test_the_repository_fails_where_its_defect_is(grade: Grade, tmp_path: Path) -> None:
    out = tmp_path / "result.json"
    result = grade(TINY / "repository", "--out", out)
    assert (result.exit_code, result.stderr) == (0, "")
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert lines[0] == "Graded: 1 of 2 tests passed (Completed)"
    assert "basket 1 of 2 passed" in lines
    assert any(line.startswith("fix_pieces_count observed something else 0.") for line in lines)
    assert any(line.startswith("guard_discount passed") for line in lines)
    assert "isolation bubblewrap: own user" in result.stdout.replace("   ", " ").replace("  ", " ")
    assert "this grading is unsigned" in result.stdout

    document = json.loads(out.read_text())
    assert document["signed"] is False
    assert document["isolation"]["profile"] == "local" and document["isolation"]["userNamespace"]
    assert document["verdict"]["outcomes"] == "FP"
    failed, passed = document["tests"]
    assert failed["id"] == "basket/fix_pieces_count" and failed["seconds"] > 0
    assert failed["observed"] != failed["expected"][0]
    assert (passed["word"], passed["observed"]) == ("passed", None)

    verified = CliRunner().invoke(app, ["verify", str(out), "--key", str(out)])
    assert verified.exit_code != 0


def test_a_folder_and_its_bundle_grade_alike(grade: Grade, tiny: Bundle) -> None:
    found = [
        json.loads(grade("builtin:gold", "--json", suite=s).stdout) for s in (SUITE, tiny.path)
    ]
    assert found[0]["suite"] == found[1]["suite"]
    assert found[0]["suite"]["digest"] == tiny.digest
    assert [one["verdict"]["outcomes"] for one in found] == ["PP", "PP"]
    assert found[0]["submission"] == found[1]["submission"]


def test_what_the_compiler_says_is_shown(grade: Grade, tmp_path: Path) -> None:
    source = tmp_path / "broken" / "src" / "shop" / "Basket.java"
    source.parent.mkdir(parents=True)
    source.write_text("package shop;\npublic final class Basket { int total() { return } }\n")
    result = grade(tmp_path / "broken")
    assert result.exit_code == 0
    assert result.stdout.startswith("Graded: 0 of 2 tests passed (DoesNotCompile)")
    assert "The compiler said:" in result.stdout and "Basket.java:2" in result.stdout


def test_without_bubblewrap_it_refuses(grade: Grade, tools: Path) -> None:
    result = grade("builtin:gold")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "bwrap was not found: install bubblewrap." in result.stderr
    assert "say --unsafe" in result.stderr


def test_told_unsafe_it_grades_and_says_that_nothing_was_isolated(
    grade: Grade, tools: Path
) -> None:
    document = json.loads(grade("builtin:null", "--unsafe", "--json").stdout)
    assert document["verdict"]["outcomes"] == "FP"
    assert document["isolation"]["profile"] == "none"
    assert document["isolation"]["userNamespace"] is False
    assert document["isolatedBy"].startswith("NONE (--unsafe)")


def test_bubblewrap_that_cannot_work_is_an_error_unless_unsafe(grade: Grade, tools: Path) -> None:
    script(tools / "bwrap", 'echo "bwrap: no permission" >&2; exit 1')
    result = grade("builtin:gold")
    assert result.exit_code == 1
    assert "Nothing was graded: The lane did not start: bwrap: no permission" in result.stderr
    document = json.loads(grade("builtin:gold", "--unsafe", "--json").stdout)
    assert document["isolation"]["profile"] == "none"


def test_unsafe_does_not_give_up_an_isolation_that_there_is(grade: Grade) -> None:
    document = json.loads(grade("builtin:gold", "--unsafe", "--json").stdout)
    assert document["isolation"]["profile"] == "local"


def test_unsafe_does_not_take_a_mount_that_goes_away_for_no_isolation(
    grade: Grade, tools: Path, lane: LocalLane
) -> None:
    """What bubblewrap does with all of a machine on which Pods end, every now and then."""
    gone = 'case " $* " in *" / / "*) echo "bwrap: Unable to apply mount flags" >&2; exit 1;; esac'
    script(tools / "bwrap", f'{gone}\nexec {lane.bubblewrap} "$@"')
    document = json.loads(grade("builtin:gold", "--unsafe", "--json").stdout)
    assert document["isolation"]["profile"] == "local"


def test_a_lane_that_is_less_isolated_than_it_must_be_is_unjudged(
    grade: Grade, tools: Path, lane: LocalLane
) -> None:
    """A bubblewrap that leaves `/` writable: found by the probe, before anything is released."""
    changed = """\
set -- "$@" --end-of-words
while [ "$1" != --end-of-words ]; do
  if [ "$1 $2" = "--remount-ro /" ]; then shift 2; continue; fi
  set -- "$@" "$1"; shift
done
shift"""
    script(tools / "bwrap", f'{changed}\nexec {lane.bubblewrap} "$@"')
    result = grade("builtin:gold", "--json")
    assert result.exit_code == 3
    verdict = json.loads(result.stdout)["verdict"]
    assert (verdict["decision"], verdict["reason"]) == ("Unjudged", "IsolationNotEnforced")
    assert "outcomes" not in verdict and json.loads(result.stdout)["tests"] == []


def test_a_pod_is_never_graded_without_isolation(tiny: Bundle, lane: LocalLane) -> None:
    """Only a Pod has an operator's port to try; with one, an unisolated layout is refused."""
    graded = grade_local(
        tiny.path, "gold", lane=replace(lane, bubblewrap=None), probe=("127.0.0.1", 9, 5.0)
    )
    assert (graded.result.decision, graded.result.reason) == ("Unjudged", "IsolationNotEnforced")
    assert graded.result.outcomes is None
