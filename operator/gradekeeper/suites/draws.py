"""Drawing inputs: from a definition and a seed to strings, the same ones on every machine."""

import importlib.util
import random
import runpy
import sys
from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from gradekeeper.suites.definition import (
    Cents,
    Choice,
    Generated,
    Group,
    InputSpec,
    Integer,
    Literally,
    Rounds,
    Scheduled,
    SuiteDefinition,
    TestDefinition,
)
from gradekeeper.suites.errors import DefinitionError
from gradekeeper.suites.schedules import draw_words

Generator = Callable[[random.Random], str]
Generators = Mapping[str, Generator]

_LETTERS = "abcdefghijkmnopqrstuvwxyz"  # without l, which reads as 1
_WORD_LENGTH = 8
_PACKAGE: Final = "generators"


def load_generators(folder: Path, definition: SuiteDefinition) -> Generators:
    """Run a suite folder's `generators.py`, or package `generators`, and take its GENERATORS.

    Raises:
        DefinitionError: it fails, has no GENERATORS, or lacks one that suite.yaml names.
    """
    package = folder / _PACKAGE / "__init__.py"
    path = package if package.is_file() else folder / f"{_PACKAGE}.py"
    wanted = {
        spec.generator
        for _, group, test in definition.every_test()
        for spec in group.inputs_of(test).values()
        if isinstance(spec, Generated)
    }
    if not wanted:
        return {}
    if not path.is_file():
        raise DefinitionError(
            f"{folder} has no generators.py, but suite.yaml names {sorted(wanted)}"
        )
    try:
        found = _run(path).get("GENERATORS")
    except Exception as error:
        raise DefinitionError(f"{path} fails: {type(error).__name__}: {error}") from error
    if not isinstance(found, dict) or not all(callable(one) for one in found.values()):
        raise DefinitionError(f"{path} has no GENERATORS of names and functions")
    missing = sorted(wanted - found.keys())
    if missing:
        raise DefinitionError(f"{path} lacks generators that suite.yaml names: {missing}")
    return found


def _run(path: Path) -> Mapping[str, Any]:
    """The names that a file defines; of a package's `__init__.py`, which may import its modules."""
    if path.name != "__init__.py":
        return runpy.run_path(str(path))
    spec = importlib.util.spec_from_file_location(
        _PACKAGE, path, submodule_search_locations=[str(path.parent)]
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    before = set(sys.modules)
    # Relative imports ask for the package by its name; another suite's has the same.
    sys.modules[_PACKAGE] = module
    try:
        spec.loader.exec_module(module)
    finally:
        for name in set(sys.modules) - before:
            if name.partition(".")[0] == _PACKAGE:
                del sys.modules[name]
    return vars(module)


def draw_inputs(
    suite: str,
    group: Group,
    test: TestDefinition,
    *,
    draw: int,
    attempt: int,
    generators: Generators,
) -> dict[str, str]:
    """The inputs of one draw of a test.

    Args:
        suite: The suite's name; part of the seed.
        group: The test's group.
        test: The test.
        draw: Number of the draw.
        attempt: Number of the try for this draw; another one gives other inputs.
        generators: Of the suite.

    Raises:
        DefinitionError: a generator fails or gives something else than text.
    """
    drawn = {}
    for name, spec in sorted(group.inputs_of(test).items()):
        seed = f"{suite}/{group.name}/{test.id}/{draw}/{attempt}/{name}"
        rng = random.Random(seed)  # noqa: S311 - reproducible
        if isinstance(spec, Scheduled):
            drawn[name] = _draw_rounds(spec.schedules, group, test, repeat_of(group, draw), rng)
        else:
            drawn[name] = _draw(spec, rng, generators)
    return drawn


def repeat_of(group: Group, draw: int) -> int:
    """The repeat of a group that a draw is for, in tests that have schedules."""
    return draw % group.repeats


def _draw_rounds(
    rounds: Rounds, group: Group, test: TestDefinition, repeat: int, rng: random.Random
) -> str:
    """The rounds of one repeat, a blank between two; none in the strict repeat, if there is one."""
    drawn = []
    for kind, family in sorted(rounds.families().items()):
        share = group.share_of(test, kind, repeat)
        if share is not None:
            words = draw_words(family, share, more=rounds.more, rng=rng)
            drawn += [f"{kind}:{word}" for word in words]
    return " ".join(drawn)


def _draw(spec: InputSpec, rng: random.Random, generators: Generators) -> str:
    match spec:
        case Cents(cents=(low, high)):
            return f"{Decimal(rng.randint(low, high)) / 100:.2f}"
        case Integer(integer=(low, high)):
            return str(rng.randint(low, high))
        case Choice(choice=texts):
            return rng.choice(texts)
        case Literally(literal=text):
            return text
        case Generated(generator=name):
            try:
                value = generators[name](rng)
            except Exception as error:
                raise DefinitionError(
                    f"generator {name} fails: {type(error).__name__}: {error}"
                ) from error
            if not isinstance(value, str):
                raise DefinitionError(f"generator {name} gives {type(value).__name__}, not text")
            return value
        case _:
            return "".join(rng.choice(_LETTERS) for _ in range(_WORD_LENGTH))
