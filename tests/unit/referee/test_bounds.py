"""What the referee may hold adds up, and a child that judges keeps to it whatever it is sent."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gradekeeper.api.schema import dump
from gradekeeper.api.spec import SuiteLimits
from gradekeeper.pods.build import resource_problems
from gradekeeper.referee import bounds
from gradekeeper.referee.bounds import (
    BASE_MIB,
    CHILD_MIB,
    CHILD_PRIVATE_MIB,
    HEAP_MIB,
    LIMITS,
    RESERVED,
    referee_needs,
    volume_needs,
)
from gradekeeper.referee.compiling import BUILD_BOUNDS
from gradekeeper.referee.players import CHILD_BOUNDS
from gradekeeper.suites.definition import load_suite

ROOT = Path(__file__).parents[3]
SUITES = [path.parent for path in ROOT.glob("**/suite.yaml") if "build" not in path.parts]
GROWTH_KIB = (CHILD_PRIVATE_MIB - HEAP_MIB) * 1024
"""By how much a child may grow, at least."""
SHAPES = ["texts", "chain", "records", "numbers", "maps", "pairs", "crowd", "small"]


def test_one_bound_for_the_rlimit_and_the_arithmetic():
    assert CHILD_BOUNDS.memory_mib == BUILD_BOUNDS.memory_mib == CHILD_PRIVATE_MIB < CHILD_MIB
    for parallel in range(LIMITS["parallel"][0], LIMITS["parallel"][1] + 1):
        assert referee_needs(parallel) == BASE_MIB + parallel * CHILD_MIB


@pytest.mark.parametrize("folder", SUITES, ids=lambda folder: folder.parent.name)
def test_every_suite_here_fits(folder):
    definition = load_suite(folder)
    assert resource_problems(definition.limits, definition.resources) == []


def test_the_referees_ranges_are_the_apis():
    schema = SuiteLimits.model_json_schema(by_alias=True)["properties"]
    ranges = {name: (one["minimum"], one["maximum"]) for name, one in schema.items()}
    assert ranges == dict(LIMITS)
    assert RESERVED < dump(SuiteLimits()).keys()


@pytest.mark.parametrize(
    ("files", "size", "fits"), [(500, 8 << 20, True), (10_000, 8 << 20, False), (1, 23 << 20, True)]
)
def test_what_a_submission_may_have_fits_the_volume(files, size, fits):
    assert (volume_needs(files, size) <= bounds.LANE_VOLUME_MIB) is fits


CONFINED = """
import errno, json, os, sys
sys.path.insert(0, sys.argv[1])
from gradekeeper.referee import child

reading, writing = os.pipe()
extra = [os.open(os.devnull, os.O_RDONLY) for _ in range(40)]
score = open("/proc/self/oom_score_adj").read()
private = child.measure_space()[1] // child.MIB
if child.fork() == 0:
    child.confine(child.Bounds(private + 4, 5, 1), [writing])
    said = {"had": score, "score": open("/proc/self/oom_score_adj").read()}
    said["open"] = len(os.listdir("/proc/self/fd")) - 1
    kept, held = [], []
    try:
        while len(kept) < 1_000:
            kept.append(bytearray(100_000))
    except MemoryError:
        said["kept"] = len(kept)
    del kept
    try:
        while len(held) < 1_000:
            held.append(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        said["error"] = errno.errorcode[error.errno]
    os.write(writing, json.dumps(said).encode())
    os._exit(0)
os.close(writing)
print(os.read(reading, 4096).decode())
"""


@pytest.fixture(scope="module")
def confined():
    """What a confined child of a small program says of itself."""
    command = [sys.executable, "-I", "-S", "-c", CONFINED, ROOT / "operator"]
    done = subprocess.run(command, capture_output=True, timeout=60, check=True)
    return json.loads(done.stdout)


def test_the_kernel_would_rather_end_a_child_than_the_referee(confined):
    assert int(confined["had"]) < 1000 == int(confined["score"])


def test_a_child_grows_by_what_is_left_of_its_bound(confined):
    # At least 4 MiB less what is not a whole one; at most also what its parent had in reserve.
    assert 25 <= confined["kept"] <= 60


def test_a_child_has_few_descriptors_and_the_referee_a_known_number(confined):
    # Standard error and its pipe, whatever its parent had open; and it gets no more than 64.
    assert (confined["open"], confined["error"]) == (2, "EMFILE")


def hungry(shape, size):
    """How a child ends that is sent a shape; see hungry.py."""
    program = Path(__file__).with_name("hungry.py")
    done = subprocess.run(
        [sys.executable, "-I", "-S", program, ROOT / "operator", shape, str(size)],
        capture_output=True,
        timeout=240,
        check=True,
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("shape", SHAPES)
def test_what_costs_most_is_judged_within_a_childs_bound(shape):
    """As much as a run may say, beside a referee as large as may be: a failed test, no more.

    And twice the bytes cost twice the calls, of functions that each go through one entry once.
    """
    half, whole = (hungry(shape, size) for size in (0.5, 1))
    assert half["ended"] == whole["ended"] == ["F"]
    assert whole["grown_kib"] <= GROWTH_KIB
    assert whole["calls"] < 2.5 * half["calls"]


def test_the_table_of_bounds_names_tests_that_exist():
    table = (ROOT / "docs/bounds.md").read_text()
    named = re.findall(r"`(tests/[^`]+?\.py)(?:::(\w+))?`", table)
    assert len(named) > 30
    for path, test in named:
        text = (ROOT / path).read_text()
        assert not test or f"def {test}(" in text, f"{path}::{test}"
