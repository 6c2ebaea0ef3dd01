"""Children: bounded, and never more to the referee than a report or a death."""

import os
import resource
import signal
import time

import pytest

from gradekeeper.referee.child import Bounds, reap, run_bounded
from gradekeeper.referee.errors import Refused, Unjudgeable
from gradekeeper.referee.result import (
    REFEREE_FAILED,
    SUBMISSION_MALFORMED,
    SUBMISSION_TOO_LARGE,
)

BOUNDS = Bounds(memory_mib=64, cpu_seconds=1, file_mib=1)


def run(work, seconds=20.0):
    return run_bounded(work, BOUNDS, seconds)


def test_a_child_returns_its_text():
    assert run(lambda: f"pid {os.getpid()}") != f"pid {os.getpid()}"
    assert run(lambda: "") == ""


def test_a_refusal_arrives_as_it_was_raised():
    def work():
        raise Refused(SUBMISSION_TOO_LARGE, "It is too large.")

    with pytest.raises(Refused) as caught:
        run(work)
    assert (caught.value.reason, caught.value.message) == (
        SUBMISSION_TOO_LARGE,
        "It is too large.",
    )


def exhaust_memory():
    return str(len(bytearray(1 << 30)))


def exhaust_time():
    while True:
        pass


def crash():
    os.kill(os.getpid(), signal.SIGSEGV)
    return ""


@pytest.mark.parametrize("work", [exhaust_memory, exhaust_time, crash])
def test_exhaustion_is_the_submissions(work):
    with pytest.raises(Refused) as caught:
        run(work)
    assert caught.value.reason == SUBMISSION_MALFORMED


def fail():
    raise OSError(28, "No space left on device")


def killed():
    os.kill(os.getpid(), signal.SIGKILL)
    return ""


@pytest.mark.parametrize("work", [fail, killed, lambda: str(time.sleep(60))])
def test_what_a_submission_cannot_cause_is_not_the_submissions(work):
    with pytest.raises(Unjudgeable) as caught:
        run(work, seconds=0.3)
    assert caught.value.reason == REFEREE_FAILED


def test_a_child_has_no_descriptor_but_its_own(tmp_path):
    with open(tmp_path / "secret", "w") as secret:
        number = secret.fileno()
        os.set_inheritable(number, True)

        def work():
            try:
                os.fstat(number)
            except OSError:
                return "closed"
            return "open"

        assert run(work) == "closed"


def test_the_bounds_are_the_childs_alone():
    before = resource.getrlimit(resource.RLIMIT_AS)
    limits = run(lambda: " ".join(str(resource.getrlimit(n)[0]) for n in (0, 1, 4)))
    assert limits == f"1 {1 << 20} 0"  # RLIMIT_CPU, RLIMIT_FSIZE, RLIMIT_CORE
    assert resource.getrlimit(resource.RLIMIT_AS) == before


def test_reaping_kills_what_does_not_end():
    pid = os.fork()
    if pid == 0:
        signal.pause()
    assert os.WTERMSIG(reap(pid, grace=0.01)) == signal.SIGKILL
