"""The self-check's real way: boxes, GradingJobs, verified verdicts, rewards."""

from __future__ import annotations

import json
import secrets
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from demo import stage
from demo.cases import SUITE_DIR

from env.self_check import Stage, open_stage

pytestmark = [pytest.mark.cluster, pytest.mark.slow, pytest.mark.timeout(900)]

RUN = f"test-{secrets.token_hex(4)}"
CHOSEN = ("gold", "refunds-half-fix-races")


@pytest.fixture(scope="module")
def installed() -> Iterator[Stage]:
    with open_stage() as opened:
        yield opened


def run(
    installed: Stage, *arguments: str | Path, suite: Path = SUITE_DIR
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        installed.command(*CHOSEN, *arguments, suite=suite),
        env={**installed.environment, "VF_RUN_ID": RUN},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def expecting_too_much(folder: Path) -> Path:
    """The suite, but for what is expected of the half fix: that it is a whole one."""
    suite = folder / "suites" / SUITE_DIR.name
    (suite / "submissions").mkdir(parents=True)
    (folder / "task_repos").symlink_to(SUITE_DIR.parents[1] / "task_repos")
    for parent in (".", "submissions"):
        for entry in (SUITE_DIR / parent).iterdir():
            if entry.name not in ("submissions", "scenarios.yaml"):
                (suite / parent / entry.name).symlink_to(entry)
    text = (SUITE_DIR / "submissions" / "scenarios.yaml").read_text()
    before, name, after = text.partition("- name: refunds-half-fix-races\n")
    right = 'expect: {fails: ["*/fix_*"]}'
    assert name and right in after
    wrong = 'expect: {fails: ["*/fix_*"], except: [refunds/fix_*]}'
    changed = before + name + after.replace(right, wrong, 1)
    (suite / "submissions" / "scenarios.yaml").write_text(changed)
    return suite


def test_scenarios_get_what_their_author_says(installed: Stage, tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    done = run(installed, "--json", file)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2/2 scenarios as expected" in done.stdout
    kept = json.loads(file.read_bytes())
    found = {name: one["found"] for name, one in kept["scenarios"].items()}
    assert {name: one["reward"] for name, one in found.items()} == {
        "gold": pytest.approx(1.0),
        "refunds-half-fix-races": pytest.approx(0.05),
    }
    outcomes = dict(zip(kept["tests"], found["refunds-half-fix-races"]["outcomes"], strict=True))
    assert {test for test, outcome in outcomes.items() if outcome != "P"} == {
        test for test in outcomes if "/fix_" in test
    }
    # Neither boxes nor gradings are left.
    assert installed.place.boxes() == []
    jobs = installed.place.cluster.read("gradingjobs", "-n", stage.NAMESPACE)["items"]
    assert [job for job in jobs if job["spec"].get("group", "").startswith(RUN)] == []

    # What was judged is not played again, and what is expected of it now is what counts.
    again = run(installed, "--json", file, suite=expecting_too_much(tmp_path))
    assert again.returncode == 1, again.stdout + again.stderr
    assert "0 of 2 scenarios to play" in again.stderr
    assert "1/2 scenarios as expected" in again.stdout
    assert "refunds/fix_overlap_cannot_overdraw fails" in again.stdout
