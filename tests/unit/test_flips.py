"""The flips of `make mutants` are about the code as it is."""

import ast
from pathlib import Path

import pytest

from mutants.flips import FLIPS, Flip

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("flip", FLIPS, ids=lambda flip: flip.name)
def test_a_flip_changes_one_place_and_names_tests_that_exist(flip: Flip) -> None:
    assert (ROOT / flip.file).read_text().count(flip.before) == 1
    assert flip.after != flip.before and flip.test
    for test in flip.test:
        path, _, function = test.partition("::")
        tree = ast.parse((ROOT / path).read_text())
        functions = (ast.FunctionDef, ast.AsyncFunctionDef)
        assert function in {node.name for node in tree.body if isinstance(node, functions)}
