"""One grading, from GRADEKEEPER_JOB to a result.

Two phases. Before the submission is released nothing hostile has run, and whatever goes wrong is
infrastructure: `Unjudged`. From the moment the compiler reads the submission, whatever goes wrong
in or with the lane is the submission's: scored. Only calls that no lane can influence (a fork, a
pipe) stay infrastructure.
"""

import itertools
import os
import resource
import select
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from gradekeeper.referee import build_ends, child, intake, isolation, java17, report
from gradekeeper.referee.bounds import CHILD_PRIVATE_MIB, HEAP_MIB
from gradekeeper.referee.bundle import (
    MAX_BUNDLE_JSON,
    Group,
    Suite,
    Test,
    check_manifest,
    draws_of,
    load_suite,
)
from gradekeeper.referee.clocks import Finding, Ticker, measure_sizes
from gradekeeper.referee.compiling import Compiler
from gradekeeper.referee.control import Control, settle
from gradekeeper.referee.errors import (
    LaneGone,
    PlatformError,
    RefereeStop,
    Refused,
    Unjudgeable,
)
from gradekeeper.referee.folders import empty
from gradekeeper.referee.job import Identity, Job, Layout, identify, parse_job
from gradekeeper.referee.judgement import Judgement, judge_control, judge_silence, judge_time
from gradekeeper.referee.lanes import KILL_SECONDS, Lane, Listener, Order
from gradekeeper.referee.log import DetailLog
from gradekeeper.referee.play import random_below
from gradekeeper.referee.result import (
    COMPLETED,
    DOES_NOT_COMPILE,
    GRADED,
    ISOLATION_NOT_ENFORCED,
    LANE_LOST,
    NODE_OVERLOADED,
    NOT_RUN,
    REFEREE_FAILED,
    REFEREE_FAULT,
    REJECTED,
    UNJUDGED,
    RefereeResult,
)
from gradekeeper.referee.runs import Choice, Ledger, Runs, Unit
from gradekeeper.referee.strictjson import parse_strict

SOCKET: Final = "laned.sock"
LANEPROBE: Final = "/usr/local/bin/laneprobe"
CONNECT_SECONDS: Final = 60.0
"""For laned to connect; its container may start later than the referee's."""
PROBE_SECONDS: Final = 20.0
INTAKE_SECONDS: Final = 60.0
INTAKE_CPU_SECONDS: Final = 8
"""Reached before `INTAKE_SECONDS` even on the fifth of a processor that a referee may have: an
archive that takes too long to unpack is refused, it does not make the referee fail."""
MAX_NAMED_BYTES: Final = 80
"""Of a name that is told because its entry is left out."""
LATEST_SHARE: Final = 1.75
"""What a node took is given back to a suite's budget until it has become so much longer: 900 s end
well before the 1,800 s that an attempt may last."""


@dataclass(slots=True)
class _State:
    """What a result says, as far as it is known."""

    suite: str = ""
    submission: str = ""
    order: Sequence[str] = ()
    isolation: dict[str, Any] | None = None
    ledger: Ledger | None = None
    released: bool = False
    times: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Recording:
    """What to run instead of the pinned draws: full id -> inputs by draw."""

    inputs: Mapping[str, Sequence[Mapping[str, str]]]
    repeats: int


class _Built(Exception):
    """The build decided the grading."""


def grade(job_text: str, layout: Layout, log: DetailLog) -> RefereeResult:
    """Grade; never raises for anything that a job, a suite, a submission or a lane can do.

    Args:
        job_text: the content of GRADEKEEPER_JOB.
        layout: folders and files.
        log: gets the detail.
    """
    grading = _Grading(job_text, layout, log)
    try:
        return grading.run()
    finally:
        grading.close()


class _Grading:
    def __init__(self, job_text: str, layout: Layout, log: DetailLog) -> None:
        self._job_text = job_text
        self._layout = layout
        self._log = log
        self._state = _State()
        self._ticker = Ticker()
        self._listener: Listener | None = None
        self._lane: Lane | None = None
        self._orders = itertools.count(1)
        self._detail: int | None = None
        self._started = time.monotonic()

    def close(self) -> None:
        """Let the lane and the ticker go."""
        if self._listener is not None:
            self._listener.close()
        if self._lane is not None:
            self._lane.quit()
            self._lane.close()
        self._ticker.stop()

    def run(self) -> RefereeResult:
        identity = identify(self._job_text)
        try:
            decision, reason, message = self._grade()
        except Refused as stop:
            decision, reason, message = REJECTED, stop.reason, stop.message
        except RefereeStop as stop:
            decision, reason, message = UNJUDGED, stop.reason, stop.message
        except PlatformError as error:
            self._log.event("platform_error", error=str(error))
            decision, reason = UNJUDGED, REFEREE_FAILED
            message = "The platform refused the referee a process or a pipe."
        except Exception as error:
            # Ours, by definition. Before the release nobody else can be blamed; after it, an
            # error that a submission found a way to cause must not be worth more than a fail.
            self._log.event(
                "referee_error",
                error=repr(error),
                released=self._state.released,
                where=_places(error),
            )
            if self._state.released:
                decision, reason = GRADED, REFEREE_FAULT
                message = (
                    f"The referee itself failed after the release: {type(error).__name__};"
                    " finished outcomes stand, the rest fails."
                )
            else:
                decision, reason = UNJUDGED, REFEREE_FAILED
                message = f"The referee failed before the release: {type(error).__name__}."
        return self._result(identity, decision, reason, message)

    def _result(
        self, identity: Identity, decision: str, reason: str, message: str
    ) -> RefereeResult:
        state = self._state
        outcomes = None
        if decision != UNJUDGED:
            ledger = state.ledger
            lost = decision == REJECTED or reason == DOES_NOT_COMPILE or ledger is None
            outcomes = "".join(
                NOT_RUN if lost or ledger is None else ledger.outcome(test) for test in state.order
            )
        state.times["total"] = time.monotonic() - self._started
        self._log.event(
            "result",
            decision=decision,
            reason=reason,
            message=message,
            outcomes=outcomes,
            times={name: round(value, 3) for name, value in state.times.items()},
            peak_kib=_peak_kib(),
            peak_child_kib=resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss,
        )
        return RefereeResult(
            nonce=identity.nonce,
            attempt=identity.attempt,
            suite=state.suite,
            submission=state.submission,
            task=identity.task,
            decision=decision,
            reason=reason,
            message=message,
            outcomes=outcomes,
            isolation=state.isolation,
            log=self._log.digest,
            times=state.times,
        )

    # -- before the release -----------------------------------------------------------------

    def _grade(self) -> tuple[str, str, str]:
        job = parse_job(self._job_text)
        layout = self._layout
        state = self._state
        if not layout.local:
            self._check_own(job)
        # First of all, so that laned connects while the rest goes on.
        self._listener = Listener(layout.lane / SOCKET)
        self._ticker.start()
        network = None
        if job.probe is not None:
            network = isolation.NetworkProbe(
                job.probe.address, job.probe.port, self._started + job.probe.deadline_seconds
            )
            network.step(time.monotonic())

        recording = _read_recording(layout)
        state.suite = check_manifest(layout.suite)
        if state.suite != job.suite_digest:
            raise Unjudgeable(REFEREE_FAILED, "The bundle in the image is not the job's suite.")
        suite = load_suite(
            layout.suite, task=job.task, parameters=job.parameters, pinned=recording is None
        )
        if suite.lane != "java17" or suite.build.kind != "java17":
            raise Unjudgeable(REFEREE_FAILED, "The referee has no such lane.")
        state.order = suite.order
        self._ticker.know(measure_sizes(suite.lane_per_referee))
        if layout.detail is not None:
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            self._detail = os.open(layout.detail, flags, 0o600)

        files = self._take_in(job, suite)
        self._mark("intake")
        lane = self._meet()
        state.isolation = self._probe(job, lane, network)
        self._mark("probe")
        _copy_tree(layout.suite / "lane", layout.lane / "suite")
        (layout.lane / "app").mkdir(mode=0o755)

        state.ledger = _ledger(suite, recording)
        _, heap = child.measure_space()
        self._log.event("heap", kib=heap // 1024)
        if heap > HEAP_MIB * child.MIB:
            raise Unjudgeable(
                REFEREE_FAILED,
                f"The suite's expectations leave the referee no room: it holds {heap // child.MIB}"
                f" of {HEAP_MIB} MiB.",
            )
        state.released = True
        return self._judge(suite, lane, recording, files)

    def _check_own(self, job: Job) -> None:
        """Look at what the Pod's containers share.

        Raises:
            Unjudgeable: `IsolationNotEnforced`.
        """
        own = isolation.look_around()
        self._log.event("own", pid=own.pid, uid=own.uid, ipc=own.ipc)
        wrong = isolation.own_differences(own, job.lane_uid)
        if wrong:
            raise Unjudgeable(ISOLATION_NOT_ENFORCED, isolation.sentence(wrong))
        if job.probe is None:
            raise Unjudgeable(
                ISOLATION_NOT_ENFORCED, "The job names no port that must be out of reach."
            )

    def _take_in(self, job: Job, suite: Suite) -> int:
        """Check and unpack the submission; returns the number of files taken."""
        layout = self._layout
        if job.builtin is not None:
            paths = [layout.suite / "submissions" / f"{job.builtin}.tar.gz"]
            self._state.submission = intake.digest_of(paths)
        else:
            assert job.digest is not None
            self._state.submission = job.digest
            paths = intake.check_parts(layout.submission, job.parts, job.digest)
        sources = layout.lane / "sources"
        sources.mkdir(mode=0o755)
        rules = suite.submission

        def work() -> str:
            taken = intake.unpack(paths, sources, rules)
            return f"{taken.files} {taken.size} {taken.skipped} {_spell(taken.left_out)}"

        bounds = child.Bounds(
            CHILD_PRIVATE_MIB,
            cpu_seconds=INTAKE_CPU_SECONDS,
            file_mib=rules.max_bytes // child.MIB + 1,
        )
        said = child.run_bounded(work, bounds, INTAKE_SECONDS)
        files, size, skipped, names = said.split(" ", 3)
        self._log.event(
            "intake",
            files=int(files),
            bytes=int(size),
            skipped=int(skipped),
            left_out=names.split(" ") if names else [],
        )
        return int(files)

    def _meet(self) -> Lane:
        assert self._listener is not None
        try:
            lane = self._lane = self._listener.accept(CONNECT_SECONDS)
            self._listener = None
            lane.hello(10.0)
        except LaneGone as error:
            raise Unjudgeable(REFEREE_FAILED, "The lane did not report for duty.") from error
        return lane

    def _probe(
        self, job: Job, lane: Lane, network: isolation.NetworkProbe | None
    ) -> dict[str, Any]:
        """Observe the isolation facts.

        Raises:
            Unjudgeable: `IsolationNotEnforced` if one is not as it must be, `RefereeFailed` if
                the lane cannot be asked.
        """
        if self._layout.unisolated is not None:
            if job.probe is not None:
                raise Unjudgeable(
                    ISOLATION_NOT_ENFORCED, "A lane without isolation is for the local engine only."
                )
            return isolation.unisolated()
        try:
            output = self._ask_lane(lane)
            lane.sweep()
        except LaneGone as error:
            raise Unjudgeable(REFEREE_FAILED, "The lane was lost before the release.") from error
        facts = isolation.read_probe(output)
        if facts is None:
            raise Unjudgeable(ISOLATION_NOT_ENFORCED, "The lane cannot describe its isolation.")
        while network is not None and network.denied is None:
            pause = network.step(time.monotonic())
            if network.denied is None:
                time.sleep(pause)
        profile = isolation.profile(
            local=self._layout.local, uid=job.lane_uid, user_namespace=job.user_namespaces
        )
        wrong = isolation.differences(facts, profile)
        observed = isolation.summary(facts, profile, network)
        self._log.event("isolation", facts=observed, differences=wrong[:20])
        self._state.isolation = observed
        if wrong:
            raise Unjudgeable(ISOLATION_NOT_ENFORCED, isolation.sentence(wrong))
        if network is not None and not network.denied:
            raise Unjudgeable(
                ISOLATION_NOT_ENFORCED, "The Pod reaches the operator: no network policy holds."
            )
        return observed

    def _ask_lane(self, lane: Lane) -> bytes:
        """Run laneprobe and return what it prints. Nothing hostile has run yet."""
        number = next(self._orders)
        output_r, output_w = child.pipe()
        null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        limits = {"cpu": 10, "nofile": 256}
        try:
            lane.order(
                Order(number, [LANEPROBE], {}, "/", f"p{number}", limits), (null, output_w, null)
            )
            os.close(output_w)
            output_w = -1
            os.set_blocking(output_r, False)
            return _read_all(output_r, lane, PROBE_SECONDS)
        finally:
            for descriptor in (output_r, output_w, null):
                if descriptor >= 0:
                    os.close(descriptor)

    # -- after the release ------------------------------------------------------------------

    def _judge(
        self, suite: Suite, lane: Lane, recording: "_Recording | None", files: int
    ) -> tuple[str, str, str]:
        began = time.monotonic()
        deadline = began + suite.limits.suite_timeout_seconds
        latest = began + LATEST_SHARE * suite.limits.suite_timeout_seconds
        try:
            try:
                if files == 0:
                    raise _Built(build_ends.NO_SOURCES)
                control = None
                if recording is None:
                    control = self._control(suite, lane, latest)
                taken = self._build(suite, lane, deadline, latest, control)
                deadline = min(latest, deadline + taken)
            finally:
                self._mark("compile")
            self._run(suite, lane, recording, deadline, latest, control)
        except _Built as decided:
            return GRADED, DOES_NOT_COMPILE, str(decided)
        except LaneGone as gone:
            self._log.event("lane_lost", cause=str(gone))
            now = time.monotonic()
            if gone.silent and self._is_nodes(lane, now - gone.silent, now):
                raise Unjudgeable(
                    NODE_OVERLOADED, "The node was too slow to judge the lane's silence."
                ) from None
            return GRADED, LANE_LOST, "The submission's lane was lost; finished outcomes stand."
        finally:
            self._mark("runs")
        return GRADED, COMPLETED, "Every test has an outcome."

    def _order_limits(self, suite: Suite, heap_mib: int) -> dict[str, int]:
        facts = self._state.isolation or {}
        return java17.order_limits(
            suite.limits, heap_mib=heap_mib, user_namespace=bool(facts.get("userNamespace"))
        )

    def _control(self, suite: Suite, lane: Lane, latest: float) -> Control:
        return Control(
            suite=suite,
            layout=self._layout,
            lane=lane,
            ticker=self._ticker,
            log=self._log,
            next_order=self._orders,
            order_limits=lambda heap_mib: self._order_limits(suite, heap_mib),
            latest=latest,
        )

    def _is_nodes(self, lane: Lane, since: float, now: float) -> bool:
        """Whether laned was silent for the node's sake.

        There is no sweep without laned. But it ends when the referee hangs up, and with it all
        that runs in the lane.
        """
        window = self._ticker.find(since, now)
        share, free = None, None
        if window.finding in (Finding.FROZEN, Finding.NODE) and lane.hang_up(KILL_SECONDS):
            share, free = settle(self._ticker)
        explained = self._ticker.explains(since, now, free)
        self._log.event(
            "silence",
            seconds=round(now - since, 3),
            finding=window.finding.value,
            share=None if share is None else round(share, 3),
            explained=explained,
        )
        return judge_silence(window, share, explained)

    def _judge_build(
        self,
        control: Control | None,
        seconds: float,
        stretched: float,
        span: tuple[float, float],
        again: bool,
    ) -> Judgement:
        """Judge a build's time that is in doubt again by how long gold's takes."""
        if control is None:
            return Judgement(excused=True, doubtful=True)
        played = control.compiles(seconds, 1.0 / stretched)
        explained = self._ticker.explains(*span, played.free)
        return judge_control(played, stretched, explained, again)

    def _build(
        self,
        suite: Suite,
        lane: Lane,
        deadline: float,
        latest: float,
        control: Control | None,
    ) -> float:
        """Compile; again if the node was too slow, or if nobody can tell.

        Returns:
            Seconds that the node took, which the suite's budget gets back.

        Raises:
            _Built: it does not compile.
            LaneGone: the lane was lost.
            Unjudgeable: `NodeOverloaded`.
        """
        compiler = Compiler(
            suite,
            self._layout.view,
            self._layout.lane / "app",
            self._order_limits(suite, suite.build.heap_mib),
            lane,
            self._orders,
            self._log,
        )
        taken = 0.0
        again = False
        stretched: float | None = None
        while True:
            began = time.monotonic()
            seconds = suite.build.timeout_seconds * (stretched or 1.0)
            until = min(deadline + taken, began + seconds, latest)
            kind, number, text = compiler.compile(until)
            ended = time.monotonic()
            lane.sweep()
            self._log.event("build", kind=kind, number=number, cause=text)
            if kind == report.BUILT:
                return taken
            if ended >= until:
                window = self._ticker.find(began, ended)
                share = 1.0 if window.finding is Finding.CALM else self._ticker.watch()
                judgement = judge_time(window, share, stretched)
                if judgement.doubtful and stretched is not None:
                    span = began, ended
                    judgement = self._judge_build(control, seconds, stretched, span, again)
                    again = True
                self._log.event(
                    "timeout",
                    what="build",
                    seconds=round(ended - began, 3),
                    finding=window.finding.value,
                    share=round(share, 3),
                    excused=judgement.excused,
                    doubtful=judgement.doubtful,
                    stretch=round(judgement.stretch, 2),
                )
                if not judgement.excused:
                    raise _Built(build_ends.TIME)
                if judgement.doubtful:
                    raise Unjudgeable(
                        NODE_OVERLOADED, "The node was too slow to judge the build's timeout."
                    )
                taken += time.monotonic() - began
                if stretched is None:
                    stretched = judgement.stretch
                    taken += seconds * stretched
                empty(self._layout.lane / "app")
                continue
            if kind == report.BUILD_ERRORS:
                raise _Built(build_ends.ERRORS)
            raise _Built(text if text in build_ends.BUILD_ENDS else build_ends.NO_RESULT)

    def _run(
        self,
        suite: Suite,
        lane: Lane,
        recording: "_Recording | None",
        deadline: float,
        latest: float,
        control: Control | None,
    ) -> None:
        state = self._state
        assert state.ledger is not None
        view = self._layout.view

        def make_order(number: int, group: Group) -> Order:
            scratch = f"{view.scratch}/r{number}"
            return Order(
                number,
                java17.runner(group.driver, suite.limits, scratch, view),
                java17.ENVIRONMENT,
                scratch,
                f"r{number}",
                self._order_limits(suite, suite.limits.heap_mib),
            )

        runs = Runs(
            lane=lane,
            limits=suite.limits,
            ledger=state.ledger,
            log=self._log,
            ticker=self._ticker,
            make_order=make_order,
            choose=lambda test, unit: self._choose(suite, recording, test, unit),
            next_order=self._orders,
            detail=self._detail,
            judging=recording is None,
            control=control,
        )
        runs.run(_units(suite, recording), deadline, latest)

    def _choose(
        self, suite: Suite, recording: "_Recording | None", test: Test, unit: Unit
    ) -> Choice:
        if recording is not None:
            assert unit.draw is not None
            return Choice(recording.inputs[test.id][unit.draw], unit.draw, None)
        draws = suite.pins[test.id]
        places = draws_of(draws, unit.repeat)
        fixed = self._layout.draw
        position = places[random_below(len(places)) if fixed is None else fixed % len(places)]
        chosen = draws[position]
        return Choice(chosen.inputs, position, chosen.transcripts)

    def _mark(self, phase: str) -> None:
        spent = sum(self._state.times.values())
        self._state.times[phase] = time.monotonic() - self._started - spent


def _spell(names: Sequence[bytes]) -> str:
    """Names of a stranger in words of printable ASCII, separated by blanks, each cut."""
    texts = (name[:MAX_NAMED_BYTES].decode("utf-8", "backslashreplace") for name in names)
    escaped = (text.encode("unicode_escape").decode("ascii") for text in texts)
    return " ".join(text.replace(" ", "\\x20") for text in escaped)


def _places(error: BaseException) -> list[str]:
    """Where an error came from: "file:line", outermost first, at most the last eight."""
    places = []
    frame = error.__traceback__
    while frame is not None:
        places.append(f"{Path(frame.tb_frame.f_code.co_filename).name}:{frame.tb_lineno}")
        frame = frame.tb_next
    return places[-8:]


def _peak_kib() -> int:
    """Own peak of resident memory; getrusage would count the program that started this one."""
    for line in Path("/proc/self/status").read_text("ascii", "replace").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1])
    return 0


def _ledger(suite: Suite, recording: _Recording | None) -> Ledger:
    needed = {test.id: group.repeats for group in suite.groups for test in group.tests}
    if recording is not None:
        needed = {test: recording.repeats * len(recording.inputs.get(test, ())) for test in needed}
    return Ledger(needed)


def _units(suite: Suite, recording: _Recording | None) -> list[Unit]:
    """Groups that hold calls in many tests first, else in the suite's order, repeats adjacent.

    Their last repeats wait for most of their time, so others run beside them; and repeats that run
    side by side pay for a hang at the same time.
    """
    if recording is None:
        groups = sorted(suite.groups, key=lambda group: -sum(t.holds for t in group.tests))
        return [
            Unit(group, repeat, list(group.tests))
            for group in groups
            for repeat in range(group.repeats)
        ]
    units = []
    for group in suite.groups:
        draws = max((len(recording.inputs.get(test.id, ())) for test in group.tests), default=0)
        for repeat in range(recording.repeats):
            for draw in range(draws):
                tests = [
                    test for test in group.tests if draw < len(recording.inputs.get(test.id, ()))
                ]
                units.append(Unit(group, repeat, tests, draw=draw))
    return units


def _read_recording(layout: Layout) -> _Recording | None:
    if layout.record is None:
        return None
    document = parse_strict(layout.record.read_bytes(), max_bytes=MAX_BUNDLE_JSON)
    return _Recording(inputs=document["inputs"], repeats=int(document["repeats"]))


def _copy_tree(source: Path, target: Path) -> None:
    """Copy a folder of the bundle, files 0644 and folders 0755."""
    target.mkdir(mode=0o755)
    for folder, folders, names in os.walk(source):
        below = target / os.path.relpath(folder, source)
        for name in folders:
            (below / name).mkdir(mode=0o755)
        for name in names:
            (below / name).write_bytes((Path(folder) / name).read_bytes())
            (below / name).chmod(0o644)


def _read_all(descriptor: int, lane: Lane, seconds: float) -> bytes:
    """Read a pipe to its end; raises LaneGone if that does not come."""
    deadline = time.monotonic() + seconds
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    data = b""
    while True:
        left = deadline - time.monotonic()
        if left <= 0 or len(data) > isolation.MAX_PROBE_BYTES:
            raise LaneGone("laneprobe did not end")
        if poll.poll(left * 1000):
            chunk = os.read(descriptor, 65536)
            if not chunk:
                return data
            data += chunk
