"""Child processes of the referee: where hostile bytes are parsed.

A child is a fork: it needs no start-up, and what it may use is bounded by rlimits. It reports to
the referee over a pipe in a fixed, tiny grammar; whatever happens inside, the referee sees either
a report or a dead child, never an exception.
"""

import gc
import os
import resource
import select
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from gradekeeper.referee.errors import PlatformError, Refused, Unjudgeable
from gradekeeper.referee.result import (
    REASONS,
    REFEREE_FAILED,
    REJECTED,
    SUBMISSION_MALFORMED,
)

MIB: Final = 1024 * 1024
_MAX_REPORT: Final = 4_096
_REFUSED: Final = b"refused "
_FAILED: Final = b"failed"
_OK: Final = b"ok"


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one child may use.

    Attributes:
        memory_mib: private memory: what the referee had at the fork, which it may copy by writing,
            and what it adds.
        cpu_seconds: processor time.
        file_mib: size of a file that it writes.
    """

    memory_mib: int
    cpu_seconds: int
    file_mib: int


def fork() -> int:
    """Fork; the heap made so far is kept out of the collector, so that its pages stay shared.

    Raises:
        PlatformError: the fork failed. A lane can cause that while something of it is alive, where
            a Pod may have few processes; not after a sweep.
    """
    gc.collect()
    gc.freeze()
    try:
        return os.fork()
    except OSError as error:
        raise PlatformError(f"fork: {error.strerror}") from None


def pipe() -> tuple[int, int]:
    """Make a close-on-exec pipe: read end, write end.

    Raises:
        PlatformError: out of descriptors, which no lane can cause.
    """
    try:
        return os.pipe()
    except OSError as error:
        raise PlatformError(f"pipe: {error.strerror}") from None


def limit_cores() -> None:
    """Let no crash of this process, or of its children, start a core handler of the node.

    The kernel starts one under a limit of 0 as well: not under 1, its sign of a handler that itself
    crashed. A lower limit of the runtime cannot be raised and stays.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    most = 1 if hard == resource.RLIM_INFINITY else min(1, hard)
    resource.setrlimit(resource.RLIMIT_CORE, (most, most))


def confine(bounds: Bounds, keep: Sequence[int]) -> None:
    """In a child: apply the bounds and close every descriptor that is not kept."""
    try:
        # Should an account be wrong all the same, the kernel is to end a child, not the referee.
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as score:
            score.write("1000")
    except OSError:
        pass  # the accounts still hold
    space, private = measure_space()
    space += max(0, bounds.memory_mib * MIB - private)
    resource.setrlimit(resource.RLIMIT_AS, (space, space))
    # The soft limit ends the child with SIGXCPU, which tells it from a kill by anyone else.
    resource.setrlimit(resource.RLIMIT_CPU, (bounds.cpu_seconds, bounds.cpu_seconds + 2))
    resource.setrlimit(resource.RLIMIT_FSIZE, (bounds.file_mib * MIB,) * 2)
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    start = 0
    for descriptor in sorted({2, *keep}):
        if descriptor:  # an empty range from 0 is all there is to CPython 3.11
            os.closerange(start, descriptor)
        start = descriptor + 1
    os.closerange(start, max(start, 1024))


def measure_space() -> tuple[int, int]:
    """Bytes of this process's address space, and those of it that are its own to write to.

    The latter are counted whether they were ever touched or not: a child that writes to all of
    them holds no more.
    """
    with open("/proc/self/statm", "rb") as statm:
        pages = [int(number) for number in statm.read().split()]
    size = resource.getpagesize()
    return pages[0] * size, pages[5] * size


def run_bounded(work: Callable[[], str], bounds: Bounds, seconds: float) -> str:
    """Run `work` in a child and return its short text.

    Args:
        work: returns printable ASCII; may raise `Refused`.
        bounds: of the child.
        seconds: wall time for it.

    Raises:
        Refused: as raised by `work`; `SubmissionMalformed` if the child exhausted a bound.
        Unjudgeable: `RefereeFailed` if the child failed for another reason.
    """
    reading, writing = pipe()
    pid = fork()
    if pid == 0:
        _child(work, bounds, writing)
    os.close(writing)
    report, status = _collect(reading, pid, seconds)
    if report == _OK or report.startswith(_OK + b" "):
        return report[len(_OK) + 1 :].decode("ascii", "replace")
    if report.startswith(_REFUSED):
        reason, _, message = report[len(_REFUSED) :].decode("ascii", "replace").partition(" ")
        if reason in REASONS[REJECTED]:
            raise Refused(reason, message)
    exhausted = os.WIFSIGNALED(status) and os.WTERMSIG(status) in (
        signal.SIGXCPU,
        signal.SIGXFSZ,
        signal.SIGSEGV,
    )
    if exhausted:
        raise Refused(SUBMISSION_MALFORMED, "The submission could not be unpacked within bounds.")
    raise Unjudgeable(REFEREE_FAILED, "The submission could not be unpacked by the referee.")


def _child(work: Callable[[], str], bounds: Bounds, writing: int) -> None:
    """Never returns."""
    status = 1
    try:
        confine(bounds, [writing])
        try:
            report = _OK + b" " + work().encode("ascii", "replace")
        except Refused as refused:
            report = _REFUSED + f"{refused.reason} {refused.message}".encode("ascii", "replace")
        except MemoryError:
            report = _REFUSED + (
                f"{SUBMISSION_MALFORMED} The submission could not be unpacked within bounds."
            ).encode("ascii")
        os.write(writing, report[:_MAX_REPORT])
        status = 0
    except BaseException:
        os.write(writing, _FAILED)
    finally:
        os._exit(status)


def _collect(reading: int, pid: int, seconds: float) -> tuple[bytes, int]:
    """Read a child's report to its end, then reap the child."""
    deadline = time.monotonic() + seconds
    poll = select.poll()
    poll.register(reading, select.POLLIN)
    report = b""
    while len(report) < _MAX_REPORT:
        left = deadline - time.monotonic()
        if left <= 0 or not poll.poll(left * 1000):
            break
        chunk = os.read(reading, _MAX_REPORT)
        if not chunk:
            break
        report += chunk
    else:
        report = b""
    os.close(reading)
    return report, reap(pid)


def reap(pid: int, grace: float = 1.0) -> int:
    """Wait for a child to end by itself for a moment, then kill it.

    Returns:
        Its wait status.
    """
    deadline = time.monotonic() + grace
    pause = 0.001
    while time.monotonic() < deadline:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return status
        time.sleep(pause)
        pause = min(pause * 2, 0.05)
    os.kill(pid, signal.SIGKILL)
    return os.waitpid(pid, 0)[1]
