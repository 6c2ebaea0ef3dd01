"""Writing expectations down: agreement of gold with itself, and a file that reads well."""

import json
from typing import Any

import pytest

from gradekeeper.referee.local import Recorded, Recording
from gradekeeper.suites.definition import TestDefinition
from gradekeeper.suites.errors import PinError
from gradekeeper.suites.pin import agreed_transcripts, any_matches, format_pins, rules_of
from unit.suites.tiny_suite import PINS

ONE: list[Any] = [["obs", "x", "1"]]
TWO: list[Any] = [["obs", "x", "2"]]


def define(**more: Any) -> TestDefinition:
    return TestDefinition.model_validate({"id": "t", "method": "m01", **more})


def recording(*runs: Recorded, compiled: bool = True) -> Recording:
    return Recording(compiled, {"g/t": [list(runs)]}, b"")


def ran(transcript: list[Any] | None, outcome: str = "P") -> Recorded:
    return Recorded(outcome, "it hung" if outcome == "T" else "", transcript)


def test_runs_that_agree_are_one_expectation() -> None:
    assert agreed_transcripts("g/t", define(), recording(ran(ONE), ran(ONE)), 1) == [[ONE]]


@pytest.mark.parametrize(
    ("seen", "sentence"),
    [
        (recording(ran(ONE), ran(TWO)), "does not agree with itself"),
        (recording(ran(ONE), ran(None, "T")), "does not reach the end of draw 0: T it hung"),
        (recording(ran([])), "shows nothing at all"),
        (recording(ran(ONE), compiled=False), "does not compile"),
        (
            recording(ran([["threw", "driver", "java.lang.NoSuchMethodException"]])),
            "the driver itself failed with java.lang.NoSuchMethodException",
        ),
    ],
)
def test_gold_that_is_not_fit_to_be_an_expectation(seen: Recording, sentence: str) -> None:
    with pytest.raises(PinError) as error:
        agreed_transcripts("g/t", define(), seen, 1)
    assert sentence in str(error.value)


def test_a_test_may_declare_that_several_outcomes_are_right() -> None:
    seen = recording(ran(TWO), ran(ONE), ran(TWO))
    assert agreed_transcripts("g/t", define(alternatives=2), seen, 1) == [[ONE, TWO]]


def test_null_is_the_same_only_if_it_ended_and_matches() -> None:
    rules = rules_of(define())
    assert any_matches([ran(TWO), ran(ONE)], [ONE], rules)
    assert not any_matches([ran(TWO)], [ONE], rules)
    assert not any_matches([ran(None, "T")], [ONE], rules)
    close = rules_of(define(tolerance={"x": "0.5"}))
    left: list[Any] = [["obs", "x", {"t": "dec", "v": "1.4"}]]
    right: list[Any] = [["obs", "x", {"t": "dec", "v": "1"}]]
    assert any_matches([ran(left)], [right], close)
    assert not any_matches([ran(left)], [right], rules)


def test_the_file_is_json_with_an_entry_a_line() -> None:
    text = format_pins(PINS["sums"])
    assert json.loads(text) == PINS["sums"]
    assert text.splitlines()[:6] == [
        "{",
        '"sums/fix_adds": [',
        ' {"inputs": {',
        '   "a": "1.25"',
        '  }, "transcripts": [',
        "  [",
    ]
    assert format_pins(json.loads(text)) == text
