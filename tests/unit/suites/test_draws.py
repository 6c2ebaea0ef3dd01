"""Inputs: reproducible, within their bounds, and whatever generators.py gives."""

import random
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml

from gradekeeper.suites.definition import Group, SuiteDefinition, load_suite
from gradekeeper.suites.draws import draw_inputs, load_generators
from gradekeeper.suites.errors import DefinitionError
from unit.suites.tiny_suite import DOCUMENT, write


def group(**inputs: Any) -> Group:
    return Group.model_validate(
        {
            "name": "g",
            "driver": "drivers.Desk1",
            "tests": [{"id": "t", "method": "m01", "inputs": inputs}],
        }
    )


def draw(one: Group, number: int = 0, attempt: int = 0, **generators: Any) -> dict[str, str]:
    return draw_inputs(
        "suite", one, one.tests[0], draw=number, attempt=attempt, generators=generators
    )


def test_each_kind_stays_within_its_bounds() -> None:
    one = group(
        c={"cents": [100, 104]}, i={"integer": [-1, 1]}, k={"choice": ["a", "b"]},
        z={"literal": ""}, w="word", g={"generator": "twice"},
    )  # fmt: skip
    drawn = [draw(one, n, twice=lambda rng: str(2 * rng.randint(1, 3))) for n in range(200)]
    assert {d["c"] for d in drawn} == {"1.00", "1.01", "1.02", "1.03", "1.04"}
    assert {d["i"] for d in drawn} == {"-1", "0", "1"}
    assert {d["k"] for d in drawn} == {"a", "b"}
    assert {d["z"] for d in drawn} == {""}
    assert {d["g"] for d in drawn} == {"2", "4", "6"}
    assert all(len(d["w"]) == 8 and d["w"].isalpha() for d in drawn)
    assert len({d["w"] for d in drawn}) == 200
    assert all(Decimal(d["c"]).as_tuple().exponent == -2 for d in drawn)


def test_the_same_draw_is_the_same_everywhere_and_another_attempt_is_not() -> None:
    one = group(w="word", c={"cents": [0, 10**9]})
    assert draw(one, 3) == draw(one, 3) == {"c": "3346153.05", "w": "yyxnhcpy"}
    assert draw(one, 3, attempt=1) != draw(one, 3)
    assert draw(one, 4) != draw(one, 3)


def wanting_generators(folder: Path) -> SuiteDefinition:
    document = {**DOCUMENT, "groups": [{**DOCUMENT["groups"][0]}]}
    document["groups"][0]["inputs"] = {"a": {"generator": "mine"}}
    (folder / "suite.yaml").write_text(yaml.safe_dump(document))
    return load_suite(folder)


def test_generators_may_be_a_package_of_modules(suite_folder: Path) -> None:
    package = suite_folder / "generators"
    write(package / "__init__.py", "from .numbers import one\nGENERATORS = {'mine': one}\n")
    found = []
    for number in (1, 2):
        write(package / "numbers.py", f"def one(rng):\n    return '{number}{'!' * number}'\n")
        found.append(load_generators(suite_folder, wanting_generators(suite_folder)))
    # The second time its modules are read again: another suite's may have the same names.
    assert [one["mine"](random.Random(0)) for one in found] == ["1!", "2!!"]
    assert not [name for name in sys.modules if name.partition(".")[0] == "generators"]


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        (None, "has no generators.py"),
        ("x = 1\n", "no GENERATORS"),
        ("GENERATORS = {'other': str}\n", "lacks generators that suite.yaml names: ['mine']"),
        ("raise OSError('no')\n", "fails: OSError: no"),
    ],
)
def test_a_suite_whose_generators_do_not_load(
    suite_folder: Path, source: str | None, sentence: str
) -> None:
    definition = wanting_generators(suite_folder)
    if source is not None:
        write(suite_folder / "generators.py", source)
    with pytest.raises(DefinitionError) as error:
        load_generators(suite_folder, definition)
    assert sentence in str(error.value)


def test_a_generator_that_fails_or_gives_no_text_is_named() -> None:
    one = group(g={"generator": "mine"})
    with pytest.raises(DefinitionError, match="generator mine gives int"):
        draw(one, mine=lambda rng: 3)
    with pytest.raises(DefinitionError, match="generator mine fails: ZeroDivisionError"):
        draw(one, mine=lambda rng: str(1 // 0))
