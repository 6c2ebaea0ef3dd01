"""What gradings of a corpus say: false passes, false fails, changes of outcome, and their page.

Pure. A wrong entry that passed all tests in any grading is a false pass, a right one that lost a
test in any grading a false fail. A grading that was not judged says nothing about an entry.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from corpus.entries import Entry, Side
from gradekeeper.referee.result import DOES_NOT_COMPILE, PASSED, REASONS, REJECTED

Finding = Literal["", "false pass", "false fail", "corpus mistake", "not graded"]


_NEVER_RAN = REASONS[REJECTED] | {DOES_NOT_COMPILE}
"""Reasons that catch a wrong entry for something that it is not in the corpus for."""


@dataclass(frozen=True, slots=True)
class Graded:
    """One grading of one entry.

    Attributes:
        reason: Of the result.
        outcomes: One character a test; "" if it was rejected.
        seconds: How long it took.
        causes: Test and cause of each that failed, for who mends the tests; never on the page.
    """

    reason: str
    outcomes: str
    seconds: float
    causes: tuple[str, ...] = ()

    @property
    def failed(self) -> int:
        """How many tests did not pass."""
        return len(self.outcomes) - self.outcomes.count(PASSED)

    @property
    def passed_all(self) -> bool:
        """Whether every test passed."""
        return bool(self.outcomes) and self.failed == 0


@dataclass(frozen=True, slots=True)
class Row:
    """One entry and all of its gradings.

    Attributes:
        entry: The entry.
        services: What it changes.
        gradings: In the order in which they were made.
    """

    entry: Entry
    services: tuple[str, ...]
    gradings: tuple[Graded, ...]

    @property
    def changed(self) -> bool:
        """Whether two gradings differ in a test."""
        return len({one.outcomes for one in self.gradings}) > 1

    @property
    def finding(self) -> Finding:
        """What is wrong with it; "" if all is as it must be."""
        if not self.gradings:
            return "not graded"
        if self.entry.side == "wrong":
            if any(one.reason in _NEVER_RAN for one in self.gradings):
                return "corpus mistake"
            return "false pass" if any(one.passed_all for one in self.gradings) else ""
        return "" if all(one.passed_all for one in self.gradings) else "false fail"


@dataclass(frozen=True, slots=True)
class Rates:
    """The counts of one side, or of one kind of it.

    Attributes:
        entries: How many were graded.
        fooled: How many of them have a finding: false passes, or false fails.
        gradings: Of all these entries.
        wrongly: How many of the gradings say the opposite of what is so.
        changed: How many entries have two gradings that differ in a test.
    """

    entries: int
    fooled: int
    gradings: int
    wrongly: int
    changed: int


def rates(rows: Sequence[Row], side: Side) -> Rates:
    """Count the graded entries of one side."""
    mine = [row for row in rows if row.entry.side == side and row.gradings]
    said = [one.passed_all for row in mine for one in row.gradings]
    return Rates(
        entries=len(mine),
        fooled=sum(row.finding != "" for row in mine),
        gradings=len(said),
        wrongly=sum(passed == (side == "wrong") for passed in said),
        changed=sum(row.changed for row in mine),
    )


def problems(rows: Sequence[Row]) -> list[str]:
    """One sentence for each entry that is not as it must be."""
    return [
        f"{row.entry.side}/{row.entry.name} ({row.entry.kind}): {row.finding};"
        f" failed tests by grading: {failures(row)}"
        for row in rows
        if row.finding
    ]


def failures(row: Row) -> str:
    """How many tests failed, grading by grading."""
    return ", ".join(str(one.failed) for one in row.gradings) or "none was made"


def by_kind(rows: Sequence[Row], side: Side) -> dict[str, list[Row]]:
    """Rows of one side by kind, kinds in alphabetical order."""
    kinds = sorted({row.entry.kind for row in rows if row.entry.side == side})
    return {
        kind: [row for row in rows if row.entry.side == side and row.entry.kind == kind]
        for kind in kinds
    }


def headline(rows: Sequence[Row]) -> list[str]:
    """The two rates as sentences."""
    wrong, right = rates(rows, "wrong"), rates(rows, "right")
    return [
        f"Wrong repairs: {wrong.fooled} of {wrong.entries} passed every test at least once"
        f" ({_percent(wrong.fooled, wrong.entries)} false passes; {wrong.wrongly} of"
        f" {wrong.gradings} gradings).",
        f"Right repairs: {right.fooled} of {right.entries} lost a test at least once"
        f" ({_percent(right.fooled, right.entries)} false fails; {right.wrongly} of"
        f" {right.gradings} gradings).",
        f"Outcomes that changed between gradings: {wrong.changed} wrong and {right.changed} right"
        " entries.",
    ]


def page(rows: Sequence[Row], stamp: Mapping[str, str], scope: str) -> str:
    """The Markdown page: counts, rates and a table of all entries. Names no test.

    Args:
        rows: All entries.
        stamp: `date` and `commit` of the run.
        scope: A sentence that says which tests each entry was graded by.
    """
    graded = [row for row in rows if row.gradings]
    lines = [
        "# The corpus of repairs",
        "",
        "For maintainers, never for an agent. Repairs that are known to be wrong or right by the"
        " task's README,",
        "written before anybody looked at the hidden tests, graded by the local engine. An entry is"
        " gold with a change,",
        "in `assets/suites/billing-payment-debug/corpus`; `make corpus` grades all and writes this"
        " page.",
        "",
        f"Last run: {stamp['date']}, commit `{stamp['commit']}`; {len(graded)} of {len(rows)}"
        f" entries. {scope}",
        "",
        *(f"* {sentence}" for sentence in headline(rows)),
    ]
    if findings := [row for row in rows if row.finding not in ("", "not graded")]:
        lines += ["", "## Not as it must be", "", "| entry | finding | failed tests by grading |"]
        lines += ["| --- | --- | --- |"]
        lines += [
            f"| {row.entry.side} `{row.entry.name}` | {row.finding} | {failures(row)} |"
            for row in findings
        ]
    for side, title, count in (
        ("wrong", "Wrong repairs", "false passes"),
        ("right", "Right repairs", "false fails"),
    ):
        kinds = by_kind(rows, "wrong" if side == "wrong" else "right")
        lines += ["", f"## {title} by kind", "", f"| kind | entries | graded | {count} | changed |"]
        lines += ["| --- | ---: | ---: | ---: | ---: |"]
        for kind, members in kinds.items():
            told = rates(members, "wrong" if side == "wrong" else "right")
            lines.append(
                f"| {kind} | {len(members)} | {told.entries} | {told.fooled} | {told.changed} |"
            )
    for side, title in (("wrong", "Wrong repairs"), ("right", "Right repairs")):
        lines += ["", f"## {title}", "", "| entry | changes | why | failed tests by grading |"]
        lines += ["| --- | --- | --- | --- |"]
        lines += [
            f"| `{row.entry.name}` | {', '.join(row.services)} | {_cell(row.entry.why)}"
            f" | {failures(row) if row.gradings else 'not graded'} |"
            for row in rows
            if row.entry.side == side
        ]
    return "\n".join(lines) + "\n"


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "none"


def _cell(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|")
