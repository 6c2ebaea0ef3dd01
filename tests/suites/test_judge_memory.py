"""Five runs of the billing suite that wait for each other, then send the most that they may."""

import io
import json
import re
import subprocess
import tarfile
from pathlib import Path

import pytest

from gradekeeper.referee.bounds import CHILD_MIB, HEAP_MIB
from gradekeeper.referee.local import LocalLane, grade_local
from gradekeeper.suites.bundle import Bundle, build_bundle

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

ROOT = Path(__file__).parents[2]
BILLING = ROOT / "assets" / "suites" / "billing-payment-debug"
PATCH = ROOT / "tests" / "hostile" / "judge_memory.patch"
SOURCES = "src/main/java"


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory, lane: LocalLane) -> Bundle:
    return build_bundle(BILLING, tmp_path_factory.mktemp("billing") / "bundle", kit=lane.kit)


@pytest.fixture(scope="module")
def bomb(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The starting repository, patched: 55 lines of 64 KiB of four-byte text, 110 tokens."""
    folder = tmp_path_factory.mktemp("bomb")
    repository = ROOT / "assets" / "task_repos" / "billing-service"
    subprocess.run(["cp", "-r", repository / "src", folder], check=True, timeout=60)
    with PATCH.open("rb") as patch:
        subprocess.run(["patch", "-s", "-p1"], cwd=folder, stdin=patch, check=True, timeout=60)
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        archive.add(folder / SOURCES, SOURCES)
    return packed.getvalue()


def test_five_runs_that_send_the_most_at_one_moment(
    bundle: Bundle, lane: LocalLane, bomb: bytes
) -> None:
    graded = grade_local(bundle.path, bomb, lane=lane)
    print(graded.log.decode())
    assert (graded.result.decision, graded.result.reason) == ("Graded", "Completed")
    said = [json.loads(line) for line in graded.log.splitlines()]
    sent = {
        event["test"]: event["outcome"]
        for event in said
        if event["event"] == "test" and re.search(r"differs: 2\d\d entries", event["cause"])
    }
    assert len(sent) == 5 and set(sent.values()) == {"F"}
    outcomes = {test.id: test.outcome for test in graded.tests}
    assert all(outcomes[test] == "F" for test in sent)
    (end,) = (event for event in said if event["event"] == "result")
    # Both with the files that all of them share.
    assert end["peak_child_kib"] < CHILD_MIB * 1024
    assert end["peak_kib"] < (HEAP_MIB + 12) * 1024
