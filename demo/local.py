"""The demo without a cluster: the jobs that depend on a submission alone, by the local engine.

    python -m demo.local     # what `make demo LOCAL=1` runs

The same submissions and the same expectations as on the cluster, graded by `gradekeeper grade
--local`. What only a cluster does is left out: a claim of something that was never sent, a lost
Pod, signatures.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from demo.cases import SUITE, SUITE_DIR, Case, build_cases
from demo.commands import BUILD, ROOT, Command, DemoError, run
from demo.tables import passed_of, print_table
from gradekeeper.suites.check import judge_expectation
from gradekeeper.suites.trees import build_submission

OUT = BUILD / "demo-local"
#: Exit status of a grading that ended Unjudged: a result as well, though never an expected one.
UNJUDGED = 3
GRADEKEEPER = Path(sys.executable).with_name("gradekeeper")


@dataclass(frozen=True)
class LocalOutcome:
    """What became of a case.

    Attributes:
        case: the case.
        document: what `gradekeeper grade --json` printed.
        seconds: of the whole command.
    """

    case: Case
    document: dict[str, Any]
    seconds: float

    def complaints(self) -> list[str]:
        """What is not as the case expects; empty if all is."""
        verdict = self.document["verdict"]
        wrong = [] if self.document["signed"] is False else ["it claims to be signed"]
        return wrong + judge_expectation(
            self.case.expect,
            decision=verdict["decision"],
            reason=verdict["reason"],
            outcomes=verdict.get("outcomes"),
            ids=[test["id"] for test in self.document["tests"]],
        )

    def row(self) -> tuple[str, ...]:
        """Its line of the table."""
        verdict = self.document["verdict"]
        return (
            self.case.name,
            self.case.about,
            verdict["decision"],
            verdict["reason"],
            passed_of(verdict),
            f"{self.seconds:.1f}",
            "NO" if self.complaints() else "yes",
        )


TITLES = ("SUBMISSION", "ABOUT", "DECISION", "REASON", "PASSED", "SECONDS", "AS EXPECTED")


def local_cases() -> list[Case]:
    """The cases whose outcome the submission alone decides."""
    return [case for case in build_cases() if case.scenario is not None and not case.lose_pod]


def grade_locally(say: Callable[[str], None]) -> list[LocalOutcome]:
    """Build the suite and grade every case; the results stay in build/demo-local."""
    OUT.mkdir(parents=True, exist_ok=True)
    bundle = OUT / SUITE
    say("building the suite")
    build: Command = [GRADEKEEPER, "suite", "build", SUITE_DIR, "--out", bundle]
    run([*build, "--kit", BUILD / "lanes" / "kit.jar"])
    outcomes = []
    for case in local_cases():
        outcomes.append(grade_case(case, bundle))
        verdict = outcomes[-1].document["verdict"]
        say(f"{case.name}: {verdict['decision']} ({verdict['reason']})")
    return outcomes


def grade_case(case: Case, bundle: Path) -> LocalOutcome:
    """Grade one case; raises DemoError if that gives no result at all."""
    assert case.scenario is not None
    archive = OUT / f"{case.name}.tar.gz"
    archive.write_bytes(build_submission(SUITE_DIR, case.scenario))
    command: Command = [GRADEKEEPER, "grade", "--local", archive, "--suite", bundle, "--json"]
    command += ["--out", OUT / f"{case.name}.json", "--lanes", BUILD / "lanes"]
    for name, value in case.parameters.items():
        command += ["--parameter", f"{name}={value}"]
    started = time.monotonic()
    done = run(command, check=False)
    if done.returncode not in (0, UNJUDGED):
        raise DemoError(f"{case.name} was not graded: {done.stderr.strip()}")
    return LocalOutcome(case, json.loads(done.stdout), time.monotonic() - started)


def print_local(outcomes: list[LocalOutcome]) -> None:
    """The final table."""
    sys.stdout.write("\nlocal and unsigned\n")
    print_table([TITLES, *(outcome.row() for outcome in outcomes)], numbers={4, 5})


def main() -> int:
    """Entry point; returns the exit status."""
    started = time.monotonic()

    def say(text: str) -> None:
        sys.stdout.write(f"[{time.monotonic() - started:6.1f} s] {text}\n")
        sys.stdout.flush()

    try:
        outcomes = grade_locally(say)
    except DemoError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    print_local(outcomes)
    wrong = [f"{one.case.name}: {text}" for one in outcomes for text in one.complaints()]
    sys.stderr.writelines(f"error: {line}\n" for line in wrong)
    if not wrong:
        folder = OUT.relative_to(ROOT)
        say(f"the results are in {folder}/; try")
        sys.stdout.write(
            f"  .venv/bin/gradekeeper grade --local {folder}/half-fix.tar.gz"
            f" --suite {folder}/{SUITE}\n"
        )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
