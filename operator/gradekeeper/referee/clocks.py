"""Whose fault a used-up time is.

Test and suite timeouts are spent by the submission. A node that does not let anybody run must not
be mistaken for one that hangs. The referee cannot see the lane's processes, and would not believe
them; it sees what its own get. A scheduler wakes a sleeper soon, however little a busy process
gets: so the ticker, a child of the referee, does not only sleep but works for a few milliseconds
at random moments, and measures how long it waits for them. What its own cgroup explains does not
count: a submission can make the referee busy, or run into its quota.

That somebody had to wait says not yet who was in the way: a lane may use all processors of a small
node, and what the kernel does for it in threads of its own, or with interrupts off, is bounded by
no limit of the lane. So a finding is a reason to look again, never an excuse (`judgement`). What is
measured after a sweep, when nothing of the lane runs, is nobody's but the node's. With every tick
the child also reads the node's own counters (`witness`).
"""

import enum
import mmap
import os
import struct
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gradekeeper.referee import child
from gradekeeper.referee.bounds import TICKER_MIB
from gradekeeper.referee.witness import Counters, explains, read_counters, read_outside

PAUSE_SECONDS: Final = (0.3, 0.7)
"""Between two ticks, at random: quotas are periodic, and a lane must not know when to be busy."""
WORK_SECONDS: Final = 0.008
"""Processor time of a tick: several turns of a scheduler, so that a fair share shows; 1.6 %."""
WATCH_PAUSE_SECONDS: Final = (0.08, 0.16)
WATCH_WORK_SECONDS: Final = 0.014
"""While nothing of the lane runs: what a referee of 200m can give, and long enough to be little
disturbed by who makes way at once."""
WATCH_SECONDS: Final = 2.0
BUDGET_WATCH_SECONDS: Final = 8.0
"""For the budget of a run or a suite, on which more depends: one calm or busy moment must not
decide."""

FROZEN_SECONDS: Final = 1.0
"""One wait that is longer is a freeze: what a lane within a quota runs itself makes way every
100 ms."""
FROZEN_UNBOUNDED_SECONDS: Final = 5.0
"""The same where the lane has no quota: all that one may start gets its turn before."""
EXCUSED_SECONDS: Final = 0.5
"""At least so much must be lost of a window, so that a short one is not excused by one hiccup."""
FROZEN_SHARE: Final = 0.25
"""Share of a window that may freeze: who needs 60 % of it still has enough."""
EXCUSED_SHARE: Final = 0.1
"""Share that may be lost beyond what the lane can explain, which is much already."""
CALM_SHARE: Final = 0.2
"""Somebody who lost less of a window was not disturbed by anybody."""
ENOUGH_SHARE: Final = 0.65
"""Of a processor, without the lane; with less they are short. A right answer should need at most
60 % of a timeout: a node that gives it two thirds of a processor fails none."""
_RECORD: Final = struct.Struct("=ddddddd")
_LAST: Final = struct.Struct("=ddd")
_WATCHING: Final = _LAST.size


@dataclass(frozen=True, slots=True)
class Tick:
    """What one tick measured. Seconds; `start` and `end` on the monotonic clock.

    Attributes:
        start: end of the tick before.
        end: when its work was done.
        worked: processor time that it got.
        waited: by how much it was late, beyond its work, and beyond what the referee's own
            cgroup explains by throttling, or by work of others in it after the pause.
    """

    start: float
    end: float
    worked: float
    waited: float

    @property
    def rate(self) -> float:
        """Processors that it got while it wanted one, 0 to 1."""
        wanted = self.worked + self.waited
        return self.worked / wanted if wanted > 0 else 1.0


@dataclass(frozen=True, slots=True)
class Sizes:
    """What a Pod's limits promise; the defaults are a lane and a referee without any.

    Attributes:
        referee: processors that the referee may use; None without a limit.
        lane: processors that the lane may use; None without a limit.
        node: processors that there are.
    """

    referee: float | None = None
    lane: float | None = None
    node: float = 1.0

    @property
    def processors(self) -> float:
        """How many the lane may use."""
        return self.node if self.lane is None else min(self.lane, self.node)


class Finding(enum.Enum):
    """Who took the processors in a window."""

    CALM = "calm"
    """Nobody was short of them: a time that was used up then is the submission's."""
    FROZEN = "frozen"
    """For a while nobody ran at all, whatever time there was besides: others, or the kernel."""
    NODE = "node"
    """Less was left than what the lane itself can have taken: others, or the kernel for it."""
    UNCLEAR = "unclear"
    """The lane or others: look again when nothing of the lane runs."""


@dataclass(frozen=True, slots=True)
class Window:
    """What was seen of a window.

    Attributes:
        finding: who took the processors.
        rate: share of a processor that there was on average, beside the lane; 0 to 1.
    """

    finding: Finding
    rate: float = 1.0


def read_window(ticks: Iterable[Tick], start: float, end: float, sizes: Sizes) -> Window:
    """Tell who took the processors between `start` and `end`. Pure.

    Args:
        ticks: in any order; those outside do not count.
        start: monotonic seconds.
        end: monotonic seconds.
        sizes: of the Pod.
    """
    bounded = sizes.lane is not None and sizes.lane < sizes.node
    # Such a lane leaves a processor free for the rest of the time, whatever it does.
    share = sizes.lane / sizes.node if bounded and sizes.lane is not None else 1.0
    promised = min(1.0, sizes.referee or 1.0)
    seen = lost = frozen = beyond = 0.0
    for tick in ticks:
        inside = min(end, tick.end) - max(start, tick.start)
        if inside <= 0:
            continue
        seen += inside
        lost += inside * (1.0 - tick.rate)
        if tick.waited >= (FROZEN_SECONDS if bounded else FROZEN_UNBOUNDED_SECONDS):
            frozen += min(inside, tick.waited)
        beyond += inside * max(0.0, 1.0 - tick.rate / promised)
    if frozen >= max(EXCUSED_SECONDS, FROZEN_SHARE * (end - start)):
        finding = Finding.FROZEN
    elif beyond - seen * share >= max(EXCUSED_SECONDS, EXCUSED_SHARE * (end - start)):
        finding = Finding.NODE
    elif lost >= max(EXCUSED_SECONDS, CALM_SHARE * seen):
        finding = Finding.UNCLEAR
    else:
        finding = Finding.CALM
    return Window(finding, 1.0 - lost / seen if seen else 1.0)


def read_share(ticks: Iterable[Tick], start: float) -> float:
    """Tell what share of a processor was there for one who wanted it since `start`. Pure.

    Returns:
        0 to 1; 0 where not one tick has ended since.
    """
    rates = [tick.rate for tick in ticks if tick.start >= start]
    return sum(rates) / len(rates) if rates else 0.0


def parse_cpu(files: Mapping[str, str]) -> tuple[float, float] | None:
    """Read (throttled seconds, used seconds) from a cgroup's files.

    Args:
        files: file name -> content: v2 `cpu.stat`; v1 `cpu.stat` and `cpuacct.usage`.

    Returns:
        None where no usage is in them.
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


def parse_limit(files: Mapping[str, str]) -> float | None:
    """Read how many processors a cgroup may use.

    Args:
        files: file name -> content: v2 `cpu.max`; v1 `cpu.cfs_quota_us` and `cpu.cfs_period_us`.

    Returns:
        None where there is no limit, or none can be read.
    """
    words = files.get("cpu.max", "").split()
    if not words:
        words = [files.get(f"cpu.cfs_{name}_us", "").strip() for name in ("quota", "period")]
    if len(words) != 2 or not all(word.isdigit() and int(word) > 0 for word in words):
        return None
    return int(words[0]) / int(words[1])


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
        names: tuple[str, ...] = ("cpu.stat", "cpu.max") if not controllers else ()
        if "cpu" in controllers.split(","):
            names = ("cpu.stat", "cpu.cfs_quota_us", "cpu.cfs_period_us")
        if "cpuacct" in controllers.split(","):
            names = (*names, "cpuacct.usage")
        mounted = root / controllers if controllers else root
        for name in names:
            for folder in (mounted / path.lstrip("/"), mounted):
                if name not in found and (folder / name).is_file():
                    found[name] = folder / name
    return found


def read_files(paths: Mapping[str, Path]) -> dict[str, str]:
    """Read the files now; what cannot be read is left out."""
    found = {}
    for name, path in paths.items():
        try:
            found[name] = path.read_text("ascii")
        except (OSError, UnicodeDecodeError):
            continue
    return found


def own_files() -> dict[str, Path]:
    """The files of the referee's own cgroup."""
    return cgroup_files(Path("/proc/self/cgroup").read_text("ascii", "replace"))


def measure_sizes(lane_per_referee: float | None) -> Sizes:
    """Find out what the Pod's limits promise, as far as the referee can see.

    Args:
        lane_per_referee: the lane's processors divided by the referee's, as its suite has them;
            None where it does not say.
    """
    referee = parse_limit(read_files(own_files()))
    lane = None
    if referee is not None and lane_per_referee is not None:
        lane = referee * lane_per_referee
    return Sizes(referee, lane, float(len(os.sched_getaffinity(0))))


class Ticker:
    """The ticking child and what it has seen."""

    def __init__(self) -> None:
        self._shared = mmap.mmap(-1, _LAST.size + 1)
        self._pid = 0
        self._reading = -1
        self._held = b""
        self._ended = False
        self._sizes = Sizes()
        self._paths: dict[str, Path] = {}
        self.ticks: list[Tick] = []
        self.counters: list[Counters] = []

    def start(self) -> None:
        """Start ticking.

        Raises:
            PlatformError: it cannot be started.
        """
        self._paths = own_files()
        if parse_limit(read_files(self._paths)) is None:
            # Not a container's own cgroup: there may be others in it, the lane included.
            self._paths = {}
        _LAST.pack_into(self._shared, 0, time.monotonic(), *self._own())
        self._reading, writing = child.pipe()
        os.set_blocking(self._reading, False)
        os.set_blocking(writing, False)
        self._pid = child.fork()
        if self._pid == 0:
            try:
                parent = os.getppid()
                child.confine(child.Bounds(TICKER_MIB, 600, 1), [writing])
                self._tick(writing, parent)
            finally:
                os._exit(0)
        os.close(writing)

    @property
    def pid(self) -> int:
        """The ticking child; 0 before `start` and after `stop`."""
        return self._pid

    def know(self, sizes: Sizes) -> None:
        """Set what the Pod's limits promise; until then nothing is taken for promised."""
        self._sizes = sizes

    @property
    def sizes(self) -> Sizes:
        """What the Pod's limits promise, as far as it is known."""
        return self._sizes

    def stop(self) -> None:
        """End the child."""
        if self._pid:
            child.reap(self._pid, grace=0.0)
            os.close(self._reading)
            self._pid = 0

    def find(self, start: float, end: float, patience: float = 2.0) -> Window:
        """Tell who took the processors between two moments of the past; see `read_window`."""
        self._catch_up(end, patience)
        return read_window(self.ticks, start, end, self._sizes)

    def explains(self, start: float, end: float, free: float | None) -> bool:
        """Whether others explain that everybody had to wait between two moments of the past.

        Args:
            start: monotonic seconds.
            end: monotonic seconds.
            free: end of the last look (`watch`) which found processors enough without the lane;
                None if there was none.
        """
        self.read()
        lane = self._sizes.processors
        then = read_outside(self.counters, start, end, lane)
        now = None
        if free is not None:
            now = read_outside(self.counters, free - WATCH_SECONDS, free, 0.0)
        return explains(then, lane, self._sizes.node, now)

    def others_are_busy(self, now: float) -> bool:
        """Whether others explain what the last look (`watch`), until now, found too little."""
        self.read()
        found = read_outside(self.counters, now - WATCH_SECONDS, now, 0.0)
        return explains(found, 0.0, self._sizes.node)

    def watch(self, seconds: float = WATCH_SECONDS) -> float:
        """Look what share of a processor there is now, when nothing of the lane runs.

        Takes `seconds`, and longer where the ticker hardly gets to run. 1 once the ticker has
        ended: it says nothing, and nothing is excused.
        """
        start = time.monotonic()
        self._shared[_WATCHING] = 1
        time.sleep(seconds)
        self._catch_up(start + seconds, seconds)
        self._shared[_WATCHING] = 0
        return 1.0 if self._ended else read_share(self.ticks, start)

    def read(self) -> None:
        """Take in what was seen so far; to be called before a pipe is full, every few minutes."""
        while self._pid and not self._ended:
            try:
                data = os.read(self._reading, 4096)
            except BlockingIOError:
                break
            self._ended = not data
            self._held += data
        while len(self._held) >= _RECORD.size:
            start, end, worked, waited, user, steal, own = _RECORD.unpack_from(self._held)
            self._add(Tick(start, end, worked, waited))
            self.counters.append(Counters(end, user, steal, own))
            self._held = self._held[_RECORD.size :]

    def _catch_up(self, now: float, patience: float) -> None:
        """Take in what was seen until shortly before `now`.

        A ticker that is still at the tick before when patience ends has waited all that time; one
        that has ended says nothing, and nothing more is excused.
        """
        pause = PAUSE_SECONDS[1]
        due = now - pause
        self.read()
        waited_until = time.monotonic() + patience
        while self._last()[0] < due and not self._ended and time.monotonic() < waited_until:
            time.sleep(pause / 20)
            self.read()
        self.read()
        last, throttled, used = self._last()
        if last < due and not self._ended and self._pid:
            explained = sum(self._own()) - throttled - used
            late = time.monotonic()
            self._add(Tick(last, late, 0.0, max(0.0, late - last - pause - explained)))

    def _add(self, tick: Tick) -> None:
        """Take in a tick, in place of what was supposed of the same one before it came."""
        if self.ticks and self.ticks[-1].start == tick.start:
            self.ticks.pop()
        self.ticks.append(tick)

    def _own(self) -> tuple[float, float]:
        """How long the referee's own cgroup was throttled and worked so far."""
        return parse_cpu(read_files(self._paths)) or (0.0, 0.0)

    def _last(self) -> tuple[float, float, float]:
        """End of the last tick, and what the cgroup's counters said then."""
        last, throttled, used = _LAST.unpack_from(self._shared)
        return last, throttled, used

    def _tick(self, writing: int, parent: int) -> None:
        last, throttled, used = self._last()
        while os.getppid() == parent:
            watching = self._shared[_WATCHING]
            pause = _draw(*(WATCH_PAUSE_SECONDS if watching else PAUSE_SECONDS))
            work = WATCH_WORK_SECONDS if watching else WORK_SECONDS
            time.sleep(pause)
            # What others in the referee's cgroup did during the pause kept it from nothing.
            _, idle = self._own()
            began = time.thread_time()
            node = read_counters()
            while (worked := time.thread_time() - began) < work:
                pass
            now = time.monotonic()
            before = throttled
            throttled, used = self._own()
            explained = throttled - before + max(worked, used - idle)
            waited = max(0.0, now - last - pause - explained)
            try:
                os.write(writing, _RECORD.pack(last, now, worked, waited, *node, used))
            except BlockingIOError:
                pass  # nobody asked for minutes
            _LAST.pack_into(self._shared, 0, now, throttled, used)
            last = now


def _draw(low: float, high: float) -> float:
    """A number between two, which nobody can foresee."""
    return low + (high - low) * int.from_bytes(os.urandom(4), "big") / 2**32
