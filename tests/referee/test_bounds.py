"""A child of the referee that meets a bound costs the test that was open, never the referee."""

import os
import signal
import threading
import time
from pathlib import Path

from gradekeeper.referee.local import grade_local
from referee.suite_fixture import submission
from referee.test_grading import counter, events, outcomes

MARK = "endmychild"
PROC = Path("/proc")


def pids():
    return [int(path.name) for path in PROC.iterdir() if path.name.isdigit()]


def read(*path):
    try:
        return PROC.joinpath(*map(str, path)).read_text("utf-8", "replace")
    except OSError:
        return ""


def is_marked(pid):
    """Whether a thread of the process bears the mark; a lane's threads are seen from outside."""
    try:
        threads = os.listdir(PROC / str(pid) / "task")
    except OSError:
        return False
    return any(read(pid, "task", thread, "comm").strip() == MARK for thread in threads)


def children_of(pid):
    return [one for one in pids() if f"\nPPid:\t{pid}\n" in read(one, "status")]


def end_the_judging_child(until):
    """Kill it as the kernel does that is out of memory, once the submission says that it runs."""
    while time.monotonic() < until:
        if any(is_marked(pid) for pid in pids()):
            below = [one for mine in children_of(os.getpid()) for one in children_of(mine)]
            willing = [one for one in below if read(one, "oom_score_adj") == "1000\n"]
            os.kill(max(willing), signal.SIGKILL)  # the other one, the ticker, is older
            return
        time.sleep(0.02)


def test_a_child_that_meets_its_bound_costs_its_open_test(bundle, lane):
    sleep = "try { Thread.sleep(60000); } catch (InterruptedException e) { }"
    start = f'Thread t = new Thread(() -> {{ {sleep} }}, "{MARK}"); t.setDaemon(true); t.start();'
    code = f"{start} try {{ t.join(); }} catch (InterruptedException e) {{ }}"
    ending = threading.Thread(target=end_the_judging_child, args=(time.monotonic() + 60,))
    ending.start()
    grading = grade_local(
        bundle,
        submission(Counter=counter(code)),
        lane=lane,
        task="counting",
        parameters={"testTimeoutSeconds": "50"},
    )
    ending.join()
    assert outcomes(grading) == "PVP"
    assert grading.result.reason == "Completed"
    causes = [test["cause"] for test in events(grading, "test") if test["outcome"] == "V"]
    assert causes == ["its lines ended the child that parsed them"]
