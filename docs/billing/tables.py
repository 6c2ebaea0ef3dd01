"""Write the tables of docs/billing from the catalog, the suite and the scoring.

    PYTHONPATH=env/billing_payment_debug python docs/billing/tables.py

replaces what stands between `<!-- NAME: … -->` and `<!-- end of NAME -->` in the pages beside it. A
test fails while a page says something else than what would be written.
"""

import json
import re
import sys
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from billing_payment_debug import defects, scoring
from gradekeeper.api.reasons import Decision, Reason
from gradekeeper.referee.result import NOT_RUN, PASSED
from gradekeeper.suites.bundle import read_pins
from gradekeeper.suites.definition import Group, SuiteDefinition, load_suite
from gradekeeper.suites.trees import Expectation, Scenario, load_scenarios, submission_tree
from gradekeeper.verdicts.model import Graded, rejected

PAGES: Final = Path(__file__).resolve().parent
SUITE: Final = PAGES.parents[1] / "assets" / "suites" / "billing-payment-debug"
SAMPLED: Final[Mapping[str, frozenset[str]]] = {
    "sampled-untouched": frozenset({"tax", "refunds", "usage_timezone"}),
    "sampled-gold": frozenset({"tax", "refunds", "usage_timezone"}),
    "sampled-breaks-inactive-defect": frozenset({"refunds"}),
}
"""Scenario -> the defects of its task, where it is not the benchmark with all ten."""
_MAIN, _TESTS = "src/main/java/", "src/test/java/"


def overview() -> str:
    """One row for each defect."""
    definition = load_suite(SUITE)
    groups = {group.name: group for group in definition.groups}
    rows = [
        "| defect | category | where | fix | guard | runs |",
        "| --- | --- | --- | ---: | ---: | ---: |",
    ]
    totals = [0, 0, 0]
    for name, one in defects.catalog().items():
        group = groups[name]
        numbers = [_count(group, "fix_"), _count(group, "guard_"), group.repeats]
        totals = [total + number for total, number in zip(totals, numbers, strict=True)]
        rows.append(
            f"| [`{name}`](#{name}) | {one.category} | `{one.location}` | "
            + " | ".join(map(str, numbers))
            + " |"
        )
    regression = groups[scoring.REGRESSION]
    rows.append(
        f"| [`{regression.name}`](#{regression.name}) | | | | {len(regression.tests)} plain | "
        f"{regression.repeats} |"
    )
    tests = sum(len(group.tests) for group in definition.groups)
    rows.append(
        f"| {tests} tests | | | {totals[0]} | {totals[1]} | {totals[2] + regression.repeats} |"
    )
    return "\n".join(rows)


def manifest() -> str:
    """A section for each defect: ticket, code and repair, tests."""
    definition = load_suite(SUITE)
    pins = read_pins(SUITE, definition)
    groups = {group.name: group for group in definition.groups}
    parts = []
    for name, one in defects.catalog().items():
        patch = (SUITE / "submissions" / "defects" / f"{name}.patch").read_text(encoding="utf-8")
        parts += [
            f"## {name}",
            f"{one.category[0].upper()}{one.category[1:]}, in `{one.location}`.",
            f"> {one.ticket}",
            f"```diff\n{_trimmed(patch)}\n```",
            _tests(groups[name], pins),
        ]
    parts += [f"## {scoring.REGRESSION}", _tests(groups[scoring.REGRESSION], pins)]
    return "\n\n".join(parts)


def scenarios() -> str:
    """One row for each scenario: what it simulates, what must become of it, its reward."""
    definition = load_suite(SUITE)
    rows = ["| submission | what it simulates | passes | reward |", "| --- | --- | --- | ---: |"]
    rows += [
        f"| `{scenario.name}` | {scenario.simulates} | {_outcome(scenario, definition)}"
        f" | {_reward(scenario, definition)} |"
        for scenario in load_scenarios(SUITE)
    ]
    return "\n".join(rows)


TABLES: Final[Mapping[str, tuple[str, Callable[[], str]]]] = {
    "overview": ("defects.md", overview),
    "manifest": ("defects.md", manifest),
    "scenarios": ("red-team.md", scenarios),
}
"""Name of a region -> its page, and what stands in it."""


def rendered(page: str) -> str:
    """A page's text with its tables as they must be.

    Raises:
        ValueError: the page has not exactly one place for a table.
    """
    text = (PAGES / page).read_text(encoding="utf-8")
    for name, (where, render) in TABLES.items():
        if where != page:
            continue
        region = re.compile(
            rf"(?<=<!-- {name}: make billing-docs -->\n).*?(?=<!-- end of {name})", re.S
        )
        if len(places := list(region.finditer(text))) != 1:
            raise ValueError(f"{page} has not exactly one region {name}")
        text = f"{text[: places[0].start()]}{render()}\n{text[places[0].end() :]}"
    return text


def expected_outcomes(expect: Expectation, ids: list[str], *, open_passes: bool) -> str:
    """The outcomes that a scenario must have, one character a test; open ones as told."""
    if expect.decision is Decision.REJECTED or expect.reason is Reason.DOES_NOT_COMPILE:
        return NOT_RUN * len(ids)
    meant = {"pass": PASSED, "fail": "F", "open": PASSED if open_passes else "F"}
    return "".join(meant[expect.demand(one)] for one in ids)


def score_of(
    scenario: Scenario, definition: SuiteDefinition, *, open_passes: bool = False
) -> scoring.Score:
    """What a scenario is worth in its task, if its open tests pass or if they all fail."""
    ids = [test_id for test_id, _, _ in definition.every_test()]
    outcomes = expected_outcomes(scenario.expect, ids, open_passes=open_passes)
    verdict = (
        rejected(scenario.expect.reason, len(ids))
        if scenario.expect.decision is Decision.REJECTED
        else Graded.model_validate({"reason": scenario.expect.reason, "outcomes": outcomes})
    )
    active = SAMPLED.get(scenario.name, defects.GROUPS)
    given = submission_tree(SUITE, definition, [], repairs=defects.GROUPS - active)
    made = {
        path: content
        for path, content in submission_tree(
            SUITE, definition, scenario.folders(), scenario.generate, scenario.repairs
        ).items()
        if not any(fnmatchcase(path, glob) for glob in scenario.delete)
    }
    changed = {path for path in given.keys() | made.keys() if given.get(path) != made.get(path)}
    return scoring.score(
        verdict,
        ids,
        active=[one for name, one in defects.catalog().items() if name in active],
        public_tests_intact=not any(path.startswith(_TESTS) and path in given for path in changed),
        main_files_changed=[path for path in changed if path.startswith(_MAIN)],
    )


def _outcome(scenario: Scenario, definition: SuiteDefinition) -> str:
    expect = scenario.expect
    if expect.reason is not Reason.COMPLETED:
        return f"none: {expect.reason.value}"
    ids = [test_id for test_id, _, _ in definition.every_test()]
    counts = [
        str(expected_outcomes(expect, ids, open_passes=passes).count(PASSED))
        for passes in (False, True)
    ]
    return f"{' to '.join(dict.fromkeys(counts))} of {len(ids)}"


def _reward(scenario: Scenario, definition: SuiteDefinition) -> str:
    rewards = [
        f"{score_of(scenario, definition, open_passes=passes).reward:.3f}"
        for passes in (False, True)
    ]
    return " to ".join(dict.fromkeys(rewards))


def _tests(group: Group, pins: Mapping[str, list[dict[str, object]]]) -> str:
    rows = ["| test | driver | doubles | draws |", "| --- | --- | --- | ---: |"]
    driver = group.driver.rpartition(".")[2]
    for test in group.tests:
        doubles = "; ".join(
            f"{method}: {', '.join(policies)}" for method, policies in test.doubles.items()
        )
        draws = len(pins[f"{group.name}/{test.id}"])
        rows.append(f"| `{test.id}` | `{driver}.{test.method}` | {doubles} | {draws} |")
    return "\n".join(rows)


def _trimmed(patch: str) -> str:
    """A patch without blanks at the ends of lines, which pages do not keep."""
    return "\n".join(line.rstrip() for line in patch.rstrip("\n").split("\n"))


def _count(group: Group, start: str) -> int:
    return sum(test.id.startswith(start) for test in group.tests)


def main() -> int:
    """Write every page; returns the exit status."""
    for page in dict.fromkeys(where for where, _ in TABLES.values()):
        (PAGES / page).write_text(rendered(page), encoding="utf-8")
    sys.stdout.write(json.dumps(sorted(TABLES)) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
