"""Whose fault a used-up time is.

Test and suite timeouts are spent by the submission. A node that does not let anybody run must not
be mistaken for one that hangs. So a ticker, a child process that does nothing but sleep, measures
how late the node wakes it; it reads the referee's own cgroup alongside, because a submission can
make the referee busy, or run into its quota, but cannot make the node late. Only lateness that
neither explains excuses a timeout.
"""

import mmap
import os
import struct
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gradekeeper.referee import child

TICK_SECONDS: Final = 0.05
STALL_SECONDS: Final = 0.1
"""A tick that is later than this is a stall."""
EXCUSED_SHARE: Final = 0.1
"""Unexplained lateness, as a share of the window, from which on a timeout is excused.

Far below what hurts: a scheduler wakes a sleeper before it lets a busy process go on, so that the
ticker is late by a fraction of what a lane loses.
"""
EXCUSED_SECONDS: Final = 0.5
"""And as seconds, so that a short window is not excused by one hiccup."""

_RECORD: Final = struct.Struct("=dddd")


@dataclass(frozen=True, slots=True)
class Stall:
    """One late tick. Seconds; `start` and `end` on the monotonic clock.

    Attributes:
        start: when the tick was due.
        end: when it came.
        throttled: how long the referee's own cgroup was throttled since the tick before.
        used: processor time that the referee's own cgroup used since then.
    """

    start: float
    end: float
    throttled: float
    used: float

    @property
    def unexplained(self) -> float:
        """Lateness that neither throttling nor own work explains."""
        return max(0.0, self.end - self.start - self.throttled - self.used)


def is_excused(stalls: Iterable[Stall], start: float, end: float) -> bool:
    """Whether a time that was used up between `start` and `end` was the node's to lose.

    Pure. True if the unexplained lateness inside the window is at least `EXCUSED_SHARE` of it and
    at least `EXCUSED_SECONDS`.
    """
    lost = 0.0
    for stall in stalls:
        inside = min(end, stall.end) - max(start, stall.start)
        if inside > 0:
            lost += min(inside, stall.unexplained)
    return lost >= max(EXCUSED_SECONDS, EXCUSED_SHARE * (end - start))


def parse_cpu(files: Mapping[str, str]) -> tuple[float, float] | None:
    """Read (throttled seconds, used seconds) from a cgroup's files.

    Args:
        files: file name -> content: v2 `cpu.stat`; v1 `cpu.stat` and `cpuacct.usage`.

    Returns:
        None where no usage is in them: then nothing can be excused.
    """
    values: dict[str, int] = {}
    for line in files.get("cpu.stat", "").splitlines():
        name, _, number = line.partition(" ")
        if number.isdigit():
            values[name] = int(number)
    if "usage_usec" in values:  # v2; throttled_usec is missing where there is no quota
        return values.get("throttled_usec", 0) / 1e6, values["usage_usec"] / 1e6
    usage = files.get("cpuacct.usage", "").strip()
    if usage.isdigit() and "throttled_time" in values:  # v1 counts in nanoseconds
        return values["throttled_time"] / 1e9, int(usage) / 1e9
    return None


def cgroup_files(membership: str, root: Path = Path("/sys/fs/cgroup")) -> dict[str, Path]:
    """Find the referee's own cgroup files.

    Args:
        membership: content of /proc/self/cgroup.
        root: where cgroups are mounted.

    Returns:
        File name -> path, for those that exist. In a container with a cgroup namespace the own
        group is the mount's root, else it is below it.
    """
    found: dict[str, Path] = {}
    for line in membership.splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        names = ("cpu.stat",) if controllers in ("", "cpu") else ()
        if "cpu" in controllers.split(","):
            names = ("cpu.stat",)
        if "cpuacct" in controllers.split(","):
            names = (*names, "cpuacct.usage")
        mounted = root / controllers if controllers else root
        for name in names:
            for folder in (mounted / path.lstrip("/"), mounted):
                if name not in found and (folder / name).is_file():
                    found[name] = folder / name
    return found


def read_cpu(paths: Mapping[str, Path]) -> tuple[float, float] | None:
    """Read the files now; see `parse_cpu`."""
    try:
        return parse_cpu({name: path.read_text("ascii") for name, path in paths.items()})
    except (OSError, UnicodeDecodeError):
        return None


class Ticker:
    """The ticking child and what it has seen."""

    def __init__(self) -> None:
        self._shared = mmap.mmap(-1, 8)
        self._pid = 0
        self._reading = -1
        self._held = b""
        self._ended = False
        self.stalls: list[Stall] = []

    def start(self) -> None:
        """Start ticking.

        Raises:
            PlatformError: it cannot be started.
        """
        struct.pack_into("=d", self._shared, 0, time.monotonic())
        self._reading, writing = child.pipe()
        os.set_blocking(self._reading, False)
        os.set_blocking(writing, False)
        self._pid = child.fork()
        if self._pid == 0:
            try:
                parent = os.getppid()
                child.confine(child.Bounds(32, 600, 1), [writing])
                self._tick(writing, parent)
            finally:
                os._exit(0)
        os.close(writing)

    @property
    def pid(self) -> int:
        """The ticking child; 0 before `start` and after `stop`."""
        return self._pid

    def stop(self) -> None:
        """End the child."""
        if self._pid:
            child.reap(self._pid, grace=0.0)
            os.close(self._reading)
            self._pid = 0

    def catch_up(self, now: float, patience: float = 1.0) -> None:
        """Take in what was seen up to now; waits until a tick after `now` came, or patience ends.

        A ticker that does not tick at all for that long is itself a stall; one that has ended
        says nothing, and nothing more is excused.
        """
        waited_until = time.monotonic() + patience
        while self._last() < now and time.monotonic() < waited_until:
            time.sleep(TICK_SECONDS / 2)
        self._read()
        last = self._last()
        if last < now and not self._ended:
            self.stalls.append(Stall(last + TICK_SECONDS, time.monotonic(), 0.0, 0.0))

    def _last(self) -> float:
        value: float = struct.unpack_from("=d", self._shared)[0]
        return value

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self._reading, 4096)
            except BlockingIOError:
                break
            if not data:
                self._ended = True
                break
            self._held += data
        while len(self._held) >= _RECORD.size:
            self.stalls.append(Stall(*_RECORD.unpack_from(self._held)))
            self._held = self._held[_RECORD.size :]

    def _tick(self, writing: int, parent: int) -> None:
        paths = cgroup_files(Path("/proc/self/cgroup").read_text("ascii", "replace"))
        before = read_cpu(paths)
        last = time.monotonic()
        while os.getppid() == parent:
            time.sleep(TICK_SECONDS)
            now = time.monotonic()
            late = now - last - TICK_SECONDS
            current = read_cpu(paths)
            if late > STALL_SECONDS and before is not None and current is not None:
                throttled, used = current[0] - before[0], current[1] - before[1]
                try:
                    os.write(writing, _RECORD.pack(last + TICK_SECONDS, now, throttled, used))
                except BlockingIOError:
                    pass  # thousands of unread stalls say enough
            struct.pack_into("=d", self._shared, 0, now)
            last, before = now, current
