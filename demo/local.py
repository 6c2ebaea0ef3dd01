"""The demo without a cluster: the jobs that depend on a submission alone, by the local engine.

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
from demo.commands import BUILD, Command, DemoError, run
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
