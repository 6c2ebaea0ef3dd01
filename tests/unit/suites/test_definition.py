"""suite.yaml: defaults, what the referee gets, and one clear sentence for every mistake."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from gradekeeper.suites.definition import load_suite
from gradekeeper.suites.errors import DefinitionError
from unit.suites.tiny_suite import DOCUMENT

Change = Callable[[dict[str, Any]], Any]


def rewrite(folder: Path, change: Change) -> None:
    document = copy.deepcopy(DOCUMENT)
    change(document)
    (folder / "suite.yaml").write_text(yaml.safe_dump(document, sort_keys=False))


def test_defaults_are_filled_in_and_authors_fields_left_out_for_the_referee(
    suite_folder: Path,
) -> None:
    seen = load_suite(suite_folder).for_referee()
    assert seen["schema"] == "gradekeeper.suite/v1"
    assert "base" not in seen
    assert seen["limits"]["restartsPerGroup"] == 4
    assert seen["submission"]["maxFiles"] == 500
    sums, waits = seen["groups"]
    assert sums == {
        "name": "sums",
        "driver": "drivers.Desk1",
        "repeats": 1,
        "tests": [
            {
                "id": "fix_adds",
                "method": "m01",
                "discriminates": True,
                "doubles": {},
                "compare": "ordered",
                "ignore": [],
                "tolerance": {},
            },
            {
                "id": "guard_names",
                "method": "m02",
                "discriminates": False,
                "doubles": {},
                "compare": "ordered",
                "ignore": [],
                "tolerance": {},
            },
        ],
    }
    assert waits["repeats"] == 2
    assert waits["tests"][0]["compare"] == "multiset"


def test_a_test_inherits_its_groups_inputs(suite_folder: Path) -> None:
    group = load_suite(suite_folder).groups[0]
    assert set(group.inputs_of(group.tests[0])) == {"a"}
    assert set(group.inputs_of(group.tests[1])) == {"a", "w"}


def test_tasks_select_groups_in_their_order(suite_folder: Path) -> None:
    rewrite(suite_folder, lambda d: d.update(tasks={"t": {"groups": ["waits", "sums"]}}))
    tests = load_suite(suite_folder).tests()
    assert {task: [one for one, _ in each] for task, each in tests.items()} == {
        "t": ["waits/fix_waits", "sums/fix_adds", "sums/guard_names"]
    }


def _test(document: dict[str, Any], **changes: Any) -> None:
    document["groups"][0]["tests"][0].update(changes)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda d: d.update(schema="v0"), "schema: Input should be"),
        (lambda d: d.update(name="Tiny!"), "name: String should match"),
        (lambda d: d.update(color="red"), "color: there is no such key"),
        (lambda d: d.pop("build"), "build: Field required"),
        (lambda d: d.update(base="../nowhere"), "base: ../nowhere is not a folder"),
        (lambda d: d["groups"][0].update(driver="drivers.Other"), "group sums: there is no"),
        (lambda d: d["groups"].append(d["groups"][0]), "every group needs a name of its own"),
        (lambda d: d["groups"][0]["tests"].append(d["groups"][0]["tests"][0]),
         "every test needs a name of its own; used twice: ['fix_adds']"),
        (lambda d: _test(d, method="fix_it"), "must not tell what is expected"),
        (lambda d: d["groups"][0].update(driver="drivers.GuardDesk"), "contains 'Guard'"),
        (lambda d: _test(d, inputs={"a": {"cent": [1, 2]}}), "is not an input; write word"),
        (lambda d: _test(d, inputs={"a": {"cents": [5, 2]}}), "lower bound 5 is above"),
        (lambda d: _test(d, inputs={"a": {"choice": []}}), "at least 1 item"),
        (lambda d: _test(d, doubles={"give": []}), "'give' has no policy"),
        (lambda d: _test(d, doubles={"give": ["wait"]}), "'ok', 'refuse', 'hold'"),
        (lambda d: _test(d, tolerance={"x": "-1"}), "not a decimal number of at least 0"),
        (lambda d: _test(d, tolerance={"x": "NaN"}), "not a decimal number of at least 0"),
        (lambda d: d.update(tasks={"t": {"groups": ["none"]}}), "names groups that do not exist"),
        (lambda d: d["parameters"].update(speed=d["parameters"]["testTimeoutSeconds"]),
         "parameter 'speed' is not a limit"),
        (lambda d: d["parameters"]["testTimeoutSeconds"].update(default="21"),
         "but the limit is 20"),
        (lambda d: d["parameters"]["testTimeoutSeconds"].update(default="x"),
         "does not match its own pattern"),
        (lambda d: d["parameters"]["testTimeoutSeconds"].update(pattern="("),
         "is not a regular expression"),
        (lambda d: d.update(limits={"runTimeoutSeconds": 10}), "must fit into a run's"),
        (lambda d: d.update(limits={"parallel": 6}), "is 1024 MiB, but 6 parallel runs"),
        (lambda d: d.update(limits={"parallel": 3}), "referee.memory is 192 MiB"),
        (lambda d: [test.update(discriminates=False)
                    for group in d["groups"] for test in group["tests"]],
         "has no test that the null submission must fail"),
        (lambda d: d["submission"].update(include=["/etc/*"]), "submission.include.0"),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_its_place(
    suite_folder: Path, change: Change, sentence: str
) -> None:
    rewrite(suite_folder, change)
    with pytest.raises(DefinitionError) as error:
        load_suite(suite_folder)
    assert sentence in str(error.value)
    assert str(suite_folder / "suite.yaml") in str(error.value)


def test_more_tests_than_a_result_can_carry_are_refused(suite_folder: Path) -> None:
    many = [{"id": f"t{n}", "method": "m01", "discriminates": True} for n in range(2049)]
    rewrite(suite_folder, lambda d: d["groups"][0].update(tests=many))
    with pytest.raises(DefinitionError, match="at most 2048 fit"):
        load_suite(suite_folder)


def test_what_is_no_yaml_is_said_to_be_none(suite_folder: Path) -> None:
    (suite_folder / "suite.yaml").write_text("a: [")
    with pytest.raises(DefinitionError, match="is not YAML"):
        load_suite(suite_folder)
    (suite_folder / "suite.yaml").unlink()
    with pytest.raises(DefinitionError, match="cannot be read"):
        load_suite(suite_folder)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda doc: doc["groups"][0]["tests"][0].update(metod="m01", method=None) or
            doc["groups"][0]["tests"][0].pop("method"),
            "groups.0.tests.0.metod: there is no such key; method is missing, is it meant?",
        ),
        (
            lambda doc: doc["groups"][1]["tests"][0].update(doubles={"give": ["hodl"]}),
            "groups.1.tests.0.doubles.give.0: Input should be 'ok', 'refuse', 'hold' or"
            " 'hold-refuse'",
        ),
        (lambda doc: doc.update(limts={}), "limts: there is no such key"),
    ],
    ids=["a-key", "a-word", "an-optional-key"],
)  # fmt: skip
def test_one_slip_is_one_line(suite_folder: Path, change: Change, said: str) -> None:
    rewrite(suite_folder, change)
    with pytest.raises(DefinitionError) as error:
        load_suite(suite_folder)
    assert str(error.value) == f"{suite_folder / 'suite.yaml'}: {said}"
