"""What is in doubt is told by the control: the real referee, laned and gold, and a told ticker.

A ticker that finds every window frozen is what kernel work looks like that is charged to nobody,
whatever it is: nothing of these tests depends on how a submission brings it about.
"""

import contextlib
import json
import os
import signal
import sys
import threading
from pathlib import Path

import pytest

from gradekeeper.referee import local
from gradekeeper.referee.result import GRADED, UNJUDGED
from referee.suite_fixture import archive, gold_files, submission, write_manifest
from referee.test_grading import copied, counter, events, grade

HANG = "while (true) { }"
SLEEP = "try { Thread.sleep(600000); } catch (InterruptedException e) { }"
LOOK = 'if (new java.io.File("/lane/control").exists()) value = 7;'
"""Where gold is while it plays: nothing of a submission may ever see it."""
SLOW = (
    "package bank; class Slow { interface F<A, B> { B of(A a); }"
    " static <A, B, C> F<A, C> then(F<A, B> f, F<B, C> g) { return a -> g.of(f.of(a)); }"
    " static <T> T pick(T a, T b) { return a; }"
    " static Object slow = %s; }"
)


@pytest.fixture
def told(monkeypatch):
    """Have the next gradings see what the ticker is told: a finding, and a share afterwards."""

    def tell(finding, share):
        program = str(Path(__file__).parent / "told_referee.py")
        root = str(Path(local.__file__).parents[2])

        def command(layout):
            return [sys.executable, "-I", "-S", program, root, str(layout), finding, str(share)]

        monkeypatch.setattr(local, "referee_command", command)

    return tell


def with_gold(bundle, tmp_path, **changes):
    """A copy of the bundle whose gold has other classes."""
    changed = copied(bundle, tmp_path)
    (changed / "submissions" / "gold.tar.gz").write_bytes(submission(**changes))
    write_manifest(changed)
    return changed


@pytest.mark.parametrize("finding", ["frozen", "node"])
def test_a_hang_is_scored_where_gold_passes(bundle, lane, told, finding):
    told(finding, 1.0)
    hang = submission(Counter=counter(HANG))
    grading = grade(bundle, lane, hang, task="counting", testTimeoutSeconds="3")
    assert (grading.result.decision, grading.result.outcomes) == (GRADED, "PTP")
    (control,) = events(grading, "control")
    assert (control["what"], control["gold"]) == ("abacus/signs", "passed")
    doubted = events(grading, "timeout")
    assert [event["excused"] for event in doubted] == [True, False]
    # What gold did is in no outcome, and in no detail of the submission's.
    assert [len(test.draws) for test in grading.tests] == [1, 2, 1]


def test_nobody_is_scored_where_gold_does_not_pass_either(bundle, lane, told, tmp_path):
    told("frozen", 1.0)
    slow = with_gold(bundle, tmp_path, Counter=counter(HANG))
    hang = submission(Counter=counter(HANG))
    grading = grade(slow, lane, hang, task="counting", testTimeoutSeconds="3")
    assert (grading.result.decision, grading.result.reason) == (UNJUDGED, "NodeOverloaded")
    (control,) = events(grading, "control")
    assert (control["gold"], control["calm"]) == ("failed", False)


def test_a_busy_one_is_not_scored_where_a_right_answer_may_have_too_little(bundle, lane, told):
    """Gold may need less than a right answer does: that it passes would not tell."""
    told("frozen", 0.2)
    hang = submission(Counter=counter(HANG))
    grading = grade(bundle, lane, hang, task="counting", testTimeoutSeconds="3")
    assert (grading.result.decision, grading.result.reason) == (UNJUDGED, "NodeOverloaded")
    assert [event["before"] for event in events(grading, "control")] == [0.2]


def test_an_idle_one_is_scored_even_there_if_gold_passes(bundle, lane, told):
    told("frozen", 0.2)
    hang = submission(Counter=counter(SLEEP))
    grading = grade(bundle, lane, hang, task="counting", testTimeoutSeconds="9")
    assert (grading.result.decision, grading.result.outcomes) == (GRADED, "PTP")
    assert [event["gold"] for event in events(grading, "control")] == ["passed"]


def test_gold_is_gone_before_anything_of_the_submission_runs_again(bundle, lane, told):
    told("frozen", 1.0)
    source = counter(HANG).replace("value += step;", f"{LOOK} value += step;")
    grading = grade(
        bundle, lane, submission(Counter=source), task="counting", testTimeoutSeconds="3"
    )
    assert len(events(grading, "control")) == 1
    assert grading.result.outcomes == "PTP"


def nested(depth):
    """An expression whose types take exponential time to find."""
    return (
        "pick(x -> x, x -> x)" if depth == 0 else f"pick({nested(depth - 1)}, {nested(depth - 1)})"
    )


def test_a_build_that_hangs_is_scored_where_gold_compiles(bundle, lane, told, tmp_path):
    told("frozen", 1.0)
    short = copied(bundle, tmp_path)
    suite = json.loads((short / "suite.json").read_text())
    suite["build"]["timeoutSeconds"] = 3
    (short / "suite.json").write_text(json.dumps(suite))
    write_manifest(short)
    endless = archive({**gold_files(), "src/main/java/bank/Slow.java": SLOW % nested(14)})
    grading = grade(short, lane, endless, task="counting")
    print(grading.log.decode())
    assert (grading.result.decision, grading.result.reason) == (GRADED, "DoesNotCompile")
    (control,) = events(grading, "control")
    assert (control["what"], control["gold"]) == ("build", "passed")


def playing():
    """laned of the grading of this process, once a run's JVM is its child; else None."""
    for folder in Path("/proc").iterdir():
        try:
            if b"gradekeeper.kit.Runner" not in (folder / "cmdline").read_bytes():
                continue
            line = [folder.name]
            while line[-1] not in ("0", str(os.getpid())):
                status = Path("/proc", line[-1], "status").read_text()
                line.append(status.partition("PPid:\t")[2].partition("\n")[0])
        except OSError:
            continue  # no process, or none any more
        if line[-1] == str(os.getpid()):
            return int(line[1])
    return None


def test_a_lane_that_is_silent_is_lost_whatever_the_ticker_sees(bundle, lane, told):
    told("frozen", 1.0)
    hang = submission(Counter=counter(HANG))
    found = []

    def body():
        found.append(grade(bundle, lane, hang, task="counting", testTimeoutSeconds="6"))

    thread = threading.Thread(target=body)
    thread.start()
    stopped = None
    while thread.is_alive() and stopped is None:
        stopped = playing()
        thread.join(0.05)
    os.kill(stopped, signal.SIGSTOP)
    try:
        thread.join()
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(stopped, signal.SIGCONT)
    (grading,) = found
    print(grading.log.decode())
    assert (grading.result.decision, grading.result.reason) == (GRADED, "LaneLost")
    (silence,) = events(grading, "silence")
    assert (silence["share"], silence["explained"]) == (None, False)
