"""The ten submissions of the demo: what each is, and what must become of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from demo.commands import ROOT
from gradekeeper.api.reasons import Decision, Reason
from gradekeeper.suites.trees import GOLD, Expectation, load_scenarios

SUITE = "billing-payment-debug"
SUITE_DIR = ROOT / "assets" / "suites" / SUITE

#: `spec.submission` of what was too large to be sent.
TOO_LARGE: dict[str, Any] = {
    "untransportable": {
        "bytes": 9 * 1024 * 1024,
        "files": 12,
        "reason": Reason.SUBMISSION_TOO_LARGE.value,
    }
}


@dataclass(frozen=True)
class Case:
    """One job.

    Attributes:
        name: of the job.
        about: what the submission is, for people.
        scenario: name of a submission of the suite: `gold` or one of its scenarios; None if nothing
            is sent.
        expect: what its grading must say.
        parameters: of the job.
        attempts: Pods that it must take.
        lose_pod: whether its first Pod is deleted while it runs.
    """

    name: str
    about: str
    scenario: str | None
    expect: Expectation
    parameters: Mapping[str, str] = field(default_factory=dict)
    attempts: int = 1
    lose_pod: bool = False


def build_cases() -> list[Case]:
    """The ten cases; what is expected of the suite's scenarios is what their author wrote."""
    scenarios = {scenario.name: scenario for scenario in load_scenarios(SUITE_DIR)}

    def scenario(job: str, about: str, name: str) -> Case:
        found = scenarios[name]
        return Case(job, about, name, found.expect, dict(found.parameters))

    return [
        Case("gold", "the right answer", GOLD, Expectation()),
        scenario("untouched", "nothing changed", "untouched"),
        scenario("other-lock", "refunds fixed by another lock", "refunds-other-correct-lock"),
        scenario("half-fix", "a half-fix that still races", "refunds-half-fix-races"),
        scenario("does-not-compile", "a syntax error", "does-not-compile"),
        scenario("endless-loop", "never returns", "endless-loop"),
        scenario("forger", "forged observations, halts the JVM", "forge-and-halt"),
        scenario("too-many-files", "501 files more", "too-many-source-files"),
        Case(
            "too-large",
            "9 MB that were never sent",
            None,
            Expectation(
                decision=Decision.REJECTED, reason=Reason.SUBMISSION_TOO_LARGE, fails=("*",)
            ),
            attempts=0,
        ),
        Case(
            "gold-pod-lost",
            "the right answer, Pod deleted as it ran",
            GOLD,
            Expectation(),
            attempts=2,
            lose_pod=True,
        ),
    ]
