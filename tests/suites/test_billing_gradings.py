"""The first suite by the real engine: gold passes, every other submission fails where it must.

`gradekeeper suite check` does the same with every group and every pinned draw; here each scenario
runs once, against the groups that it is about.
"""

import json
import zipfile
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from gradekeeper.referee.local import LocalLane, grade_local
from gradekeeper.suites.bundle import Bundle, build_bundle, read_pins
from gradekeeper.suites.check import check, find_leaks, judge_expectation
from gradekeeper.suites.definition import load_suite
from gradekeeper.suites.pin import pin
from gradekeeper.suites.trees import Expectation, Scenario, build_submission, load_scenarios
from suites.parts import concerned, groups_by_file, task_of, write_parts

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

ROOT = Path(__file__).parents[2]
BILLING = ROOT / "assets" / "suites" / "billing-payment-debug"
SCENARIOS = load_scenarios(BILLING)
DEFINITION = load_suite(BILLING)
FILES = groups_by_file(BILLING)
ABOUT = {scenario.name: concerned(BILLING, scenario, FILES) for scenario in SCENARIOS}


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory, lane: LocalLane) -> Bundle:
    """The suite with a task for each set of groups that a scenario is about."""
    folder = tmp_path_factory.mktemp("parts")
    wanted = {task_of(groups, DEFINITION): groups for groups in ABOUT.values()}
    return build_bundle(
        write_parts(BILLING, folder / "suite", wanted), folder / "bundle", kit=lane.kit
    )


def grade(
    bundle: Bundle, lane: LocalLane, submission: bytes | str, scenario: Scenario, task: str = ""
) -> str:
    graded = grade_local(
        bundle.path, submission, lane=lane, task=task, parameters=scenario.parameters
    )
    found = judge_expectation(
        scenario.expect,
        decision=graded.result.decision,
        reason=graded.result.reason,
        outcomes=graded.result.outcomes,
        ids=json.loads(bundle.index)["tasks"][task],
    )
    causes = {test.id: test.cause for test in graded.tests if test.cause}
    return "\n".join([*found, str(causes)]) if found else ""


@pytest.fixture(scope="module")
def problems(
    request: pytest.FixtureRequest, parts: Bundle, lane: LocalLane
) -> Iterator[Mapping[str, Future[str]]]:
    """Of each scenario that is to run. Two are graded at a time: one group is mostly waiting."""
    chosen = [
        item.callspec.params["scenario"]
        for item in request.session.items
        if isinstance(item, pytest.Function)
        and item.originalname == test_a_scenario_fails_exactly_where_it_says.__name__
    ]

    def run(scenario: Scenario) -> str:
        task = task_of(ABOUT[scenario.name], DEFINITION)
        return grade(parts, lane, build_submission(BILLING, scenario.name), scenario, task)

    with ThreadPoolExecutor(max_workers=2) as pool:
        yield {scenario.name: pool.submit(run, scenario) for scenario in chosen}
        pool.shutdown(cancel_futures=True)


def expecting(**expect: object) -> Scenario:
    return Scenario(name="own", simulates="own", expect=Expectation.model_validate(expect))


def test_gold_passes_every_test(bundle: Bundle, lane: LocalLane) -> None:
    assert grade(bundle, lane, "gold", expecting()) == ""


def test_null_fails_every_discriminating_test_and_no_other(bundle: Bundle, lane: LocalLane) -> None:
    index = json.loads(bundle.index)
    must = [index["tasks"][""][place] for place in index["discriminating"][""]]
    assert len(must) == 42
    assert grade(bundle, lane, "null", expecting(fails=must)) == ""


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_a_scenario_fails_exactly_where_it_says(
    problems: Mapping[str, Future[str]], scenario: Scenario
) -> None:
    assert problems[scenario.name].result() == ""


def test_a_scenario_is_graded_against_what_it_changes() -> None:
    assert ABOUT["untouched"] == {group.name for group in DEFINITION.groups}
    assert ABOUT["refunds-half-fix-races"] == {"refunds"}
    assert {"tax", "tax_cache"} <= ABOUT["tax-half-even"]
    assert sum(len(groups) == len(DEFINITION.groups) for groups in ABOUT.values()) >= 10


def test_nothing_that_submitted_code_sees_tells_what_is_expected(bundle: Bundle) -> None:
    pins = read_pins(BILLING, load_suite(BILLING))
    assert find_leaks(bundle.path, pins) == []
    below = {path.name for path in (bundle.path / "lane").rglob("*") if path.is_file()}
    assert below == {"drivers.jar"}
    jar = (bundle.path / "lane/drivers.jar").read_bytes()
    for judge in (b"fix_", b"guard_", b"assert", b"expected", b"pins"):
        assert judge not in jar


def test_nothing_of_ours_links_concatenations_at_run_time(bundle: Bundle, lane: LocalLane) -> None:
    # It would be a sixth of a run.
    for path in (bundle.path / "lane/drivers.jar", lane.kit):
        with zipfile.ZipFile(path) as jar:
            classes = {name: jar.read(name) for name in jar.namelist() if name.endswith(".class")}
        assert classes
        assert [name for name, code in classes.items() if b"StringConcatFactory" in code] == []


def test_the_bundle_is_the_same_bytes_again(
    bundle: Bundle, lane: LocalLane, tmp_path: Path
) -> None:
    assert build_bundle(BILLING, tmp_path / "again", kit=lane.kit).digest == bundle.digest


SMALL = """\
schema: gradekeeper.suite/v1
name: small
version: "1"
lane: java17
base: ../repo
submission: {include: ["src/**/*.java"]}
build: {kind: java17, sourceRoot: src}
resources: {lane: {cpu: "1", memory: 1Gi}, referee: {cpu: 200m, memory: 192Mi}}
groups:
  - name: sums
    driver: drivers.Desk1
    inputs: {a: {integer: [0, 5]}, b: {integer: [0, 3]}}
    tests:
      - {id: fix_adds, method: m01, discriminates: true}
      - {id: guard_first, method: m02}
"""
DRIVER = """\
package drivers;
import app.Sum;
import gradekeeper.kit.Desk;
public final class Desk1 {
    public static void m01(Desk desk) {
        desk.observe("x", () -> Sum.of(desk.number("a"), desk.number("b")));
    }
    public static void m02(Desk desk) {
        desk.observe("x", () -> Sum.of(desk.number("a"), 0));
    }
}
"""
SUM = "package app;\npublic class Sum {{\n    public static int of(int a, int b) {{ {} }}\n}}\n"


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_pin_draws_again_what_proves_nothing_and_check_finds_a_weak_suite(
    tmp_path: Path, lane: LocalLane
) -> None:
    """Null forgets to add b, so a draw of b = 0 cannot tell it from gold."""
    folder = tmp_path / "small"
    write(tmp_path / "repo/src/app/Sum.java", SUM.format("return a;"))
    write(folder / "suite.yaml", SMALL)
    write(folder / "lane/drivers/Desk1.java", DRIVER)
    write(folder / "submissions/gold/src/app/Sum.java", SUM.format("return a + b;"))
    (folder / "submissions/null").mkdir()
    report = pin(folder, lane=lane, draws=12, rounds=2)
    assert report.tests == 2
    assert report.redrawn["sums/fix_adds"] >= 1
    pins = json.loads((folder / "referee/pins/sums.json").read_text())
    assert all(draw["inputs"]["b"] != "0" for draw in pins["sums/fix_adds"])
    for draw in pins["sums/fix_adds"]:
        total = int(draw["inputs"]["a"]) + int(draw["inputs"]["b"])
        assert draw["transcripts"] == [[["obs", "x", {"t": "int", "v": str(total)}]]]

    # A pin that null satisfies, as if somebody had edited it by hand.
    pins["sums/fix_adds"] = [
        {"inputs": {"a": "1", "b": "0"}, "transcripts": [[["obs", "x", {"t": "int", "v": "1"}]]]}
    ]
    write(folder / "referee/pins/sums.json", json.dumps(pins))
    found = check(folder, lane=lane, only=["null"])
    assert not found.ok
    assert "sums/fix_adds passes, but must fail" in found.lines[0].problems
