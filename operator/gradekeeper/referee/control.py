"""The control: gold plays in the lane what the submission did not end in time.

It tells a submission that hangs from a node on which nobody could have passed, whatever there may
be in a kernel by which a submission takes processors that are not charged to it: when gold plays,
nothing of the submission is alive. It is played after a sweep and a pause in which what the kernel
still does for the lane ends. Gold's sources and classes are in `/lane` only until gold has ended;
they are gone, and the lane is swept again, before anything of the submission runs. What gold does
is an outcome of nobody's.
"""

import os
import select
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from gradekeeper.referee import child, intake, java17, report
from gradekeeper.referee.bounds import CHILD_PRIVATE_MIB
from gradekeeper.referee.bundle import Group, Suite
from gradekeeper.referee.channel import EXITED
from gradekeeper.referee.clocks import ENOUGH_SHARE, Ticker
from gradekeeper.referee.compiling import Compiler
from gradekeeper.referee.errors import RefereeStop
from gradekeeper.referee.folders import empty
from gradekeeper.referee.job import Layout, View
from gradekeeper.referee.judgement import Played, judge_time
from gradekeeper.referee.lanes import Lane, Order
from gradekeeper.referee.log import DetailLog
from gradekeeper.referee.play import KEPT_SHARE, Case, Plan
from gradekeeper.referee.players import Player, starting
from gradekeeper.referee.report import ReportError, parse_report
from gradekeeper.referee.result import NOT_RUN, PASSED

FOLDER: Final = "control"
"""Below the referee's `/lane`, while gold is in it."""
UNPACK_SECONDS: Final = 60.0
UNPACK_BOUNDS: Final = child.Bounds(CHILD_PRIVATE_MIB, cpu_seconds=30, file_mib=64)
LOOKS: Final = 6
"""Of 2 s each, until processors are free after a sweep."""
MOST_LOOKS: Final = 15
"""The same while others explain no shortage: then it is the kernel that works, perhaps for a lane
that is gone."""
GRACE_SECONDS: Final = 5.0
"""By how much a child may overrun a deadline that it keeps itself."""


def settle(ticker: Ticker) -> tuple[float, float | None]:
    """Wait until processors are free, after a sweep: `LOOKS` at most, or `MOST_LOOKS`.

    Returns:
        The share of a processor that there was in the end, and when it was enough; None if it
        was not.
    """
    share = 0.0
    for look in range(MOST_LOOKS):
        share = ticker.watch()
        now = time.monotonic()
        if share >= ENOUGH_SHARE:
            return share, now
        if look + 1 >= LOOKS and ticker.others_are_busy(now):
            break
    return share, None


@dataclass(frozen=True, slots=True)
class Control:
    """Plays gold.

    Attributes:
        suite: of the grading.
        layout: folders and files.
        lane: where gold runs.
        ticker: watches.
        log: gets an event a control.
        next_order: numbers of orders.
        order_limits: heap in MiB -> rlimits of an order.
        latest: monotonic seconds; gold gets no time after it.
    """

    suite: Suite
    layout: Layout
    lane: Lane
    ticker: Ticker
    log: DetailLog
    next_order: Iterator[int]
    order_limits: Callable[[int], dict[str, int]]
    latest: float

    def compiles(self, seconds: float, needed: float) -> Played:
        """Let gold be compiled within `seconds`; `needed` as in `passes`.

        Raises:
            LaneGone: the lane was lost.
        """
        return self._play("build", needed, lambda: self._compile(seconds))

    def starts(self, group: Group, case: Case, plan: Plan, needed: float) -> Played:
        """Let gold's process start a case of a group in a plan's time; `needed` as in `passes`.

        Raises:
            LaneGone: the lane was lost.
        """
        return self._play("start", needed, lambda: self._run(group, case, plan)[1])

    def passes(self, group: Group, case: Case, plan: Plan, needed: float) -> Played:
        """Let gold play a case of a group, with what the submission had, in a plan's time.

        Args:
            group: of the case.
            case: what the submission did not end.
            plan: says the times.
            needed: share of a processor with less of which gold is not played at all: what it did
                would not count.

        Raises:
            LaneGone: the lane was lost.
        """
        return self._play(case.test.id, needed, lambda: self._run(group, case, plan)[0] == PASSED)

    def _play(self, what: str, needed: float, work: Callable[[], bool]) -> Played:
        """Do something with gold in the lane, between two looks at the share that there is."""
        before, free = settle(self.ticker)
        after = before
        began = time.monotonic()
        folder = self.layout.lane / FOLDER
        passed = False
        played = before >= needed and began < self.latest
        if played:
            try:
                passed = self._unpack(folder) and work()
            finally:
                empty(folder)
                folder.rmdir()
                self.lane.sweep()
            after = self.ticker.watch()
        ended = time.monotonic()
        whole = passed or ended < self.latest
        window = self.ticker.find(began, ended)
        share = min(before, after)
        calm = not judge_time(window, share, None).excused
        self.log.event(
            "control",
            what=what,
            seconds=round(ended - began, 3),
            finding=window.finding.value,
            gold="passed" if passed else "failed" if played else "not played",
            before=round(before, 3),
            after=round(after, 3),
            calm=calm,
            whole=whole,
        )
        return Played(passed, share, free, calm, whole)

    def _unpack(self, folder: Path) -> bool:
        """Put gold's sources where a lane's `sources` are, and make room for its classes."""
        folder.mkdir(mode=0o755)
        (folder / "suite").symlink_to("../suite")
        for name in ("sources", "app"):
            (folder / name).mkdir(mode=0o755)
        archive = self.layout.suite / "submissions" / "gold.tar.gz"

        def work() -> str:
            return str(intake.unpack([archive], folder / "sources", self.suite.submission).files)

        try:
            return int(child.run_bounded(work, UNPACK_BOUNDS, UNPACK_SECONDS)) > 0
        except RefereeStop:
            return False  # no fault of the submission's, and no decision about it

    def _compile(self, seconds: float) -> bool:
        compiler = Compiler(
            self.suite,
            self._view(),
            self.layout.lane / FOLDER / "app",
            self.order_limits(self.suite.build.heap_mib),
            self.lane,
            self.next_order,
            self.log,
        )
        kind, _, _ = compiler.compile(min(time.monotonic() + seconds, self.latest))
        return kind == report.BUILT

    def _run(self, group: Group, case: Case, plan: Plan) -> tuple[str, bool]:
        """Compile gold and play one case; returns its outcome, and whether it started."""
        if not self._compile(self.suite.build.timeout_seconds):
            return NOT_RUN, False
        self.lane.sweep()
        number = next(self.next_order)
        view = self._view()
        scratch = f"{view.scratch}/r{number}"
        order = Order(
            number,
            java17.runner(group.driver, self.suite.limits, scratch, view),
            java17.ENVIRONMENT,
            scratch,
            f"r{number}",
            self.order_limits(self.suite.limits.heap_mib),
        )
        plan = replace(plan, cases=[replace(case, number=0)])
        with starting(plan, None) as (player, descriptors):
            try:
                self.lane.order(order, descriptors)
                return self._watch(player, number, plan, case.keep)
            finally:
                child.reap(player.pid, grace=0.0)
                os.close(player.reading)
                os.close(player.control)

    def _watch(self, player: Player, number: int, plan: Plan, keep: float) -> tuple[str, bool]:
        """Wait for what the child reports of the one case; whether that started, too."""
        kept = 1.0 + KEPT_SHARE if keep else 1.0
        until = time.monotonic() + plan.start_seconds + kept * plan.test_seconds + GRACE_SECONDS
        until = min(until, self.latest)
        outcome, started, held = NOT_RUN, False, b""
        poll = select.poll()
        poll.register(self.lane, select.POLLIN)
        poll.register(player.reading, select.POLLIN)
        while outcome == NOT_RUN and time.monotonic() < until:
            ready = {descriptor for descriptor, _ in poll.poll(100)}
            if player.reading in ready:
                data = os.read(player.reading, 65536)
                *lines, held = (held + data).split(b"\n")
                try:
                    reports = [parse_report(line) for line in lines]
                except ReportError:
                    break
                for line in reports:
                    started = started or line.kind == report.STARTED
                    if line.kind == report.OUTCOME:
                        outcome = line.outcome
                if not data:
                    break
            if self.lane.fileno() in ready:
                for event in self.lane.events():
                    if event.id == number and event.verb in ("exit", "refused"):
                        _tell(player.control)
        return outcome, started

    def _view(self) -> View:
        view = self.layout.view
        return replace(view, lane=f"{view.lane}/{FOLDER}")


def _tell(control: int) -> None:
    try:
        os.write(control, EXITED)
    except OSError:
        pass  # the child is gone as well
