"""What `make bench` concludes: which targets were missed, where time went, what is kept."""

from __future__ import annotations

import io
import json
import sys
from collections import Counter
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from demo.commands import DemoError
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from bench.findings import (
    REMAINDER,
    break_down,
    compare,
    differing,
    merge,
    missed,
    tally,
)

FOLDER = Path(__file__).resolve().parents[2] / "bench"
TESTS = ["a/one", "a/two", "b/three"]
PARTS = ("latency", "gold", "sequential", "repeats")
STATES = ("created", "scheduled", "running", "judged")


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """bench.py, which finds its neighbours as a program does."""
    monkeypatch.syspath_prepend(FOLDER)
    spec = spec_from_file_location("bench_program", FOLDER / "bench.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "bench_program", module)
    spec.loader.exec_module(module)
    return module


def good() -> dict[str, Any]:
    """A run that missed nothing."""
    row = {"name": "gold", "n": 3, "median": 5.0, "p95": 6.0}
    found = {"gold": Counter({"PPP": 4}), "race": Counter({"PP-": 4})}
    repeats = {"gradings": 8, "parallel": 2, "secondsEach": 1.0, **tally(found, "gold", TESTS)}
    return {
        "gold": {"seconds": row, "parts": {"runs": 5.0}, "failures": []},
        "sequential": {
            "sequential": {"total": 15.0},
            "gradekeeper": 3.0,
            "ratio": 5.0,
            "throughCluster": compare(15.0, 5.0),
        },
        "repeats": repeats,
    }


def with_gold_failed() -> dict[str, Any]:
    report = good()
    report["gold"]["failures"] = ["PPF"]
    return report


def with_slow_cluster() -> dict[str, Any]:
    report = good()
    report["sequential"]["throughCluster"] = compare(14.99, 5.0)
    return report


def with_repeats(found: dict[str, Counter[str]]) -> dict[str, Any]:
    report = good()
    report["repeats"] |= tally(found, "gold", TESTS)
    return report


MISSES = [
    (
        with_gold_failed(),
        "gold failed 1 times through the cluster (target 0), first: PPF",
    ),
    (
        with_slow_cluster(),
        "the sequential script took 2.998 times as long as gold through the cluster (target ≥ 3)",
    ),
    (
        with_repeats({"gold": Counter({"P--": 2})}),
        "gold failed 2 times among its repeats (target 0): a/two, b/three",
    ),
    (
        with_repeats({"race": Counter({"PP-": 3, "P--": 1})}),
        "1 gradings disagree with the others of their submission (target 0): race: a/two",
    ),
]


@pytest.mark.parametrize(("report", "sentence"), MISSES)
def test_a_missed_target_is_told_and_is_the_exit_status(
    report: dict[str, Any], sentence: str, program: ModuleType
) -> None:
    printed = io.StringIO()
    assert missed(report) == [sentence]
    assert program.conclude(report, Console(file=printed, width=400)) == 1
    assert f"missed: {sentence}\n" in printed.getvalue()


def test_nothing_is_missed_where_everything_is_as_it_must_be(program: ModuleType) -> None:
    printed = io.StringIO()
    assert missed(good()) == []
    assert program.conclude(good(), Console(file=printed, width=400)) == 0
    assert "missed" not in printed.getvalue()


def test_the_target_is_on_the_line_of_the_ratio_that_counts_and_on_no_other(
    program: ModuleType,
) -> None:
    printed = io.StringIO()
    program.conclude(good(), Console(file=printed, width=400))
    lines = [line for line in printed.getvalue().splitlines() if "÷" in line]
    assert [line.endswith("(target ≥ 3)") for line in lines] == [True, False]
    assert "15.0 s ÷ 5.0 s = 3 (" in lines[0]


def test_seconds_decide_nothing() -> None:
    report = good()
    report["gold"]["seconds"]["median"] = 80.0
    assert missed(report) == []


def test_a_part_that_did_not_run_misses_nothing() -> None:
    assert missed({}) == []
    alone = good()["sequential"]
    del alone["throughCluster"]
    assert missed({"sequential": {**alone, "ratio": 1.0}}) == []


def test_complaints_about_rollouts_are_the_exit_status(program: ModuleType) -> None:
    peak = {"process": 1.0, "together": 1.0, "processes": 1}
    report = {
        "rollouts": {
            "rollouts": 2,
            "boxesAtOnce": 1,
            "gradingsAtOnce": 1,
            "attempts": 2,
            "seconds": 1.0,
            "secondsWithAGradingPod": 1.0,
            "phases": {},
            "peakMiB": peak,
            "errors": [],
            "wrong": ["r1"],
            "left behind": [],
        }
    }
    printed = io.StringIO()
    assert program.conclude(report, Console(file=printed)) == 1
    assert "1 complaints about the rollouts" in printed.getvalue()


def test_the_parts_of_a_run_replace_their_own_and_leave_the_others() -> None:
    old = {"date": "then", "commit": "a"}
    new = {"date": "now", "commit": "b"}
    first = merge({}, {"repeats": {"gradings": 8}, "gold": {"seconds": 5}}, PARTS, old)
    both = merge(first, {"gold": {"seconds": 4}, "latency": {"ratio": 1}}, PARTS, new)
    assert both == {
        "latency": {**new, "ratio": 1},
        "gold": {**new, "seconds": 4},
        "repeats": {**old, "gradings": 8},
    }
    assert list(both) == ["latency", "gold", "repeats"]


def test_what_is_no_part_goes() -> None:
    assert merge({"rounds": 12}, {}, PARTS, {}) == {}


def test_a_run_that_fails_keeps_what_earlier_runs_measured(
    program: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    earlier = {"gold": {"date": "then", "commit": "a", "seconds": 5}}
    file = tmp_path / "bench.json"
    file.write_text(json.dumps(earlier))

    def fail(options: object, report: dict[str, Any]) -> None:
        report["repeats"] = good()["repeats"]
        raise DemoError("the cluster is gone")

    monkeypatch.setattr(program, "measure_all", fail)
    assert program.main(["repeats", "--out", str(tmp_path)]) == 1
    kept = json.loads(file.read_text())
    assert kept["gold"] == earlier["gold"]
    assert kept["repeats"]["gradings"] == 8
    assert kept["repeats"]["commit"]
    assert kept["repeats"]["date"] > "2020"


def test_a_file_that_no_run_wrote_is_left_alone(program: ModuleType, tmp_path: Path) -> None:
    file = tmp_path / "bench.json"
    file.write_text("{")
    assert program.main(["repeats", "--out", str(tmp_path)]) == 1
    assert file.read_text() == "{"


TIMES = {"intake": 0.1, "probe": 0.2, "compile": 0.7, "runs": 2.5, "total": 3.6}


def test_every_part_of_a_grading_has_its_name() -> None:
    seen = {"created": 10.5, "scheduled": 10.6, "running": 11.6, "judged": 15.4}
    assert break_down(10.0, 10.25, 15.5, seen, TIMES) == {
        "submit (two writes)": 0.25,
        "operator creates the Pod": 0.25,
        "scheduling": 0.1,
        "Pod start": 1.0,
        "referee: intake": 0.1,
        "referee: probe": 0.2,
        "referee: compile": 0.7,
        "referee: runs": 2.5,
        "signed, written, verified": 0.1,
        REMAINDER: 0.3,
    }


SECONDS = st.floats(0.0, 30.0)


@given(st.dictionaries(st.sampled_from(STATES), SECONDS), SECONDS, SECONDS)
def test_the_parts_add_up_whatever_a_watch_saw(
    seen: dict[str, float], submitted: float, further: float
) -> None:
    ended = submitted + 3.6 + further
    parts = break_down(0.0, submitted, ended, seen | {"judged": ended - further}, TIMES)
    assert sum(parts.values()) == pytest.approx(round(ended, 3), abs=1e-9)
    # Each part is rounded to a millisecond.
    assert min(parts.values()) >= -0.005


def test_two_answers_differ_in_tests_or_altogether() -> None:
    assert differing("PP-", "PP-", TESTS) == []
    assert differing("PP-", "-PP", TESTS) == ["a/one", "b/three"]
    assert differing("PP-", "Unjudged/NodeOverloaded", TESTS) == ["Unjudged/NodeOverloaded"]


def test_disagreements_are_counted_by_submission_and_test() -> None:
    found = {
        "gold": Counter({"PPP": 5}),
        "race": Counter({"P--": 3, "PP-": 2, "Unjudged/NodeOverloaded": 1}),
        "idle": Counter[str](),
    }
    assert tally(found, "gold", TESTS) == {
        "submissions": {
            "gold": {"gradings": 5, "answers": 1, "disagreedOn": {}},
            "race": {
                "gradings": 6,
                "answers": 3,
                "disagreedOn": {"a/two": 2, "Unjudged/NodeOverloaded": 1},
            },
        },
        "disagreements": 3,
        "goldFailed": 0,
        "goldFailedTests": {},
    }


def test_progress_names_the_tests_that_disagree(program: ModuleType) -> None:
    so_far = Counter({"PP-": 2, "P--": 1})
    describe = program.local_parts.describe
    assert describe("race", "PP-", so_far, TESTS) == "race: 2 of 3 tests pass"
    assert describe("race", "P--", so_far, TESTS) == "race: 1 of 3 tests pass; DISAGREES on a/two"
