"""`gradekeeper suite …` end to end on the tiny suite, as far as it needs no lane."""

from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner, Result

from gradekeeper.api.spec import GradingSuiteSpec
from gradekeeper.control.trust import parse_index
from gradekeeper.suites.bundle import Bundle, digest_of, load_bundle
from gradekeeper.suites.check import Checked, CheckReport
from gradekeeper.suites.cli import _print_report, app
from gradekeeper.suites.trees import build_submission
from gradekeeper.verdicts.signing import generate_key
from gradekeeper.verdicts.verify import verify_suite

IMAGE = "registry.example/tiny@sha256:" + "a" * 64
LANE = "registry.example/java17@sha256:" + "b" * 64


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def fails(*arguments: str | Path) -> str:
    result = run(*arguments)
    assert result.exit_code != 0
    return str(result.exception) + result.output


def test_build_prints_the_suite_digest(suite_folder: Path, tmp_path: Path, kit: Path) -> None:
    result = run("build", suite_folder, "--out", tmp_path / "b", "--kit", kit)
    assert result.exit_code == 0
    assert result.stdout.strip() == load_bundle(tmp_path / "b").digest


def test_build_says_where_a_kit_comes_from(
    suite_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRADEKEEPER_LANES", str(tmp_path))
    assert "set GRADEKEEPER_LANES" in fails("build", suite_folder, "--out", tmp_path / "b")


def test_submission_writes_the_archive_and_prints_its_digest(
    suite_folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "deep" / "gold.tar.gz"
    result = run("submission", suite_folder, "gold", "--out", out)
    assert out.read_bytes() == build_submission(suite_folder, "gold")
    assert result.stdout.strip() == digest_of(out.read_bytes())
    said = fails("submission", suite_folder, "bronze", "--out", out)
    assert "has no submission 'bronze'; it has gold, null" in said


def test_a_signed_manifest_is_accepted_by_the_operators_own_check(
    bundle: Bundle, tmp_path: Path
) -> None:
    private, public = generate_key()
    (tmp_path / "author.pem").write_bytes(private)
    images = ("--image", IMAGE, "--lane-image", LANE)
    envelope, out = tmp_path / "suite.dsse.json", tmp_path / "suite.yaml"
    signed = run("sign", bundle.path, "--key", tmp_path / "author.pem", *images, "--out", envelope)
    assert signed.exit_code == 0
    arguments = (*images, "--signature", envelope, "--namespace", "grading")
    assert run("manifest", bundle.path, *arguments, "--out", out).exit_code == 0
    index, suite = yaml.safe_load_all(out.read_text())
    spec = GradingSuiteSpec.model_validate(suite["spec"])
    verified = verify_suite(
        envelope.read_bytes(), [public], spec=spec, index_digest=parse_index(index).digest
    )
    assert verified.digest == bundle.digest
    assert run("manifest", bundle.path, *arguments).stdout == out.read_text()
    assert "does not name an image by digest" in fails(
        "sign", bundle.path, "--key", tmp_path / "author.pem", "--image", "tiny:1",
        "--lane-image", LANE, "--out", envelope,
    )  # fmt: skip


def test_image_needs_a_referee_or_writes_the_context(bundle: Bundle, tmp_path: Path) -> None:
    assert "give --referee and --tag, or --context" in fails("image", bundle.path)
    assert run("image", bundle.path, "--context", tmp_path / "context").exit_code == 0
    assert (tmp_path / "context" / "Dockerfile").is_file()


def test_a_broken_suite_is_reported_in_its_own_words(suite_folder: Path, tmp_path: Path) -> None:
    (suite_folder / "suite.yaml").write_text("name: x\n")
    said = fails("submission", suite_folder, "gold", "--out", tmp_path / "x")
    assert "suite.yaml: groups: Field required" in said
    unsigned = fails(
        "sign", suite_folder, "--key", tmp_path / "none", "--image", IMAGE,
        "--lane-image", LANE, "--out", tmp_path / "x",
    )  # fmt: skip
    assert f"{suite_folder} is not a bundle" in unsigned


def test_the_report_names_every_problem(capsys: pytest.CaptureFixture[str]) -> None:
    lines = (
        Checked("gold", 0, 3, (), 1.0),
        Checked("null", 1, 2, ("sums/fix_adds passes, but must fail",), 1.0),
        Checked("half", 0, 1, ("sums/guard_names fails (X), but must pass",), 1.0),
        Checked("half", 2, 1, ("sums/guard_names fails (X), but must pass",), 1.0),
    )
    _print_report(CheckReport("sha256:" + "0" * 64, 3, lines), Path("suites/sums"))
    said = capsys.readouterr().out
    assert "null (draw 1): sums/fix_adds passes, but must fail" in said
    assert "half (draws 0, 2): sums/guard_names fails (X), but must pass" in said
    assert said.count("guard_names") == 1
    assert "gold" in said
    assert "yes" in said
    assert said.splitlines()[-1] == (
        "1 of 4 checks held, null, half did not: see above, what is expected in"
        " suites/sums/submissions, and"
        " `gradekeeper suite check suites/sums --only null --only half`"
    )


@pytest.mark.parametrize(("count", "said"), [(1, "the check held"), (3, "all 3 checks held")])
def test_the_report_says_that_all_held(
    capsys: pytest.CaptureFixture[str], count: int, said: str
) -> None:
    lines = (Checked("gold", 0, 3, (), 1.0),) * count
    _print_report(CheckReport("sha256:" + "0" * 64, 3, lines), Path("suites/sums"))
    assert capsys.readouterr().out.splitlines()[-1] == said
