"""The local engine: the referee of a grading Pod, run without a cluster.

`grade_local` and `record` start two processes, exactly as a grading Pod does: a lane (laned under
bubblewrap, with its own user, mount, PID, IPC and network namespace) and the very same referee
code (`python -I -S`), which talk over the same socket. Nothing of the lane is trusted here either.
A local grading is not signed, and its isolation facts say how it was isolated.

Signatures, which others code against::

    lane = LocalLane(laned=Path(...), kit=Path(...), java_home=Path(...), laneprobe=Path(...))
    lane = LocalLane.from_environment()                   # unsafe=True: also without bubblewrap

    graded = grade_local(bundle_dir, b"...tar.gz...", lane=lane)      # or builtin: "gold", "null"
    graded.result           RefereeResult, as a Pod's termination message
    graded.tests            tuple[TestDetail, ...] in the order of result.outcomes (empty: unjudged)
    graded.log              bytes: the detail log, JSON lines

    recording = record(bundle_dir, "gold", {"refunds/fix_x": [{"total": "12.00"}, ...]}, lane=lane)
    recording.transcripts["refunds/fix_x"][draw]      list of Recorded, one a repeat
    Recorded.outcome        "P" if the test ran to its end, else T, X, V or N
    Recorded.transcript     canonical entries as they are stored in referee/pins.json, or None

`record` reads only manifest.json, suite.json and lane/ of the bundle: `referee/pins.json` and
`index.json` need not exist. Sources that do not compile give `Recording.compiled == False`.
"""

import glob
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Final

from gradekeeper.referee.bundle import MANIFEST, suite_digest
from gradekeeper.referee.job import BUILTINS, SCHEMA, VARIABLE, View
from gradekeeper.referee.log import MAX_LOG_BYTES
from gradekeeper.referee.result import (
    GRADED,
    MAX_MESSAGE_BYTES,
    NOT_RUN,
    REFEREE_FAULT,
    RefereeResult,
    ResultError,
    parse_result,
)

LANE_UID: Final = 10003
HOST_UID: Final = 23003
"""Who root becomes to run a lane: root has no process limit, not even in a user namespace."""
_SHM: Final = "/dev/shm"  # noqa: S108 - made read-only, as in a Pod
_PTS: Final = "/dev/pts"  # an empty folder instead of pseudo-terminals, as in a Pod
_PRESSURE: Final = "/proc/pressure"
SCRATCH_BYTES: Final = 64 * 1024 * 1024


# A referee that breaks says more than events.
_MAX_LOG: Final = 4 * MAX_LOG_BYTES


class LocalError(RuntimeError):
    """The local engine itself failed: a missing tool, or a referee that died."""


def find_lanes() -> Path:
    """Where the parts of a lane are unless somebody says so; whether they are there is not looked.

    Returns:
        GRADEKEEPER_LANES; else `build/lanes` of the checkout that this package runs from,
        wherever it is called; else, if the package is installed, of the working directory.
    """
    if said := os.environ.get("GRADEKEEPER_LANES"):
        return Path(said)
    checkout = Path(__file__).resolve().parents[3]
    return (checkout if (checkout / "lanes" / "laned.c").is_file() else Path()) / "build" / "lanes"


@dataclass(frozen=True, slots=True)
class LocalLane:
    """Where the parts of a lane are on this machine.

    Attributes:
        laned: the static laned executable.
        kit: the language kit (java17: kit.jar).
        java_home: the JDK that the lane sees.
        laneprobe: the static probe.
        bubblewrap: the bwrap executable; None for a lane that nothing isolates but a PID
            namespace, which laned insists on: its sweep kills all that it can.
        compiler_archive: class data of the JDK's compiler, made by this JDK; None: it starts more
            slowly. A JDK that it does not fit ignores it.
    """

    laned: Path
    kit: Path
    java_home: Path
    laneprobe: Path
    bubblewrap: Path | None = Path("/usr/bin/bwrap")
    compiler_archive: Path | None = None

    @classmethod
    def from_environment(
        cls,
        *,
        lanes: Path | None = None,
        java_home: Path | None = None,
        unsafe: bool = False,
    ) -> "LocalLane":
        """Find the parts of a lane on this machine.

        Args:
            lanes: a folder with laned, laneprobe and kit.jar, and compiler.jsa if there is one;
                default: `find_lanes()`.
            java_home: a JDK 17; default JAVA_HOME, then that of the `java` on PATH.
            unsafe: go on without isolation where bubblewrap is missing or cannot work.

        Raises:
            LocalError: a part is missing; the sentence says which, and how to build it.
        """
        folder = (lanes or find_lanes()).resolve()
        java = shutil.which("java")
        home = (
            java_home
            or os.environ.get("JAVA_HOME")
            or (java and Path(java).resolve().parent.parent)
        )
        bubblewrap = shutil.which("bwrap")
        archive = folder / "compiler.jsa"
        if not home or not (Path(home) / "bin" / "java").exists():
            raise LocalError("No JDK was found: set JAVA_HOME to a JDK 17.")
        if unsafe and bubblewrap and not _can_isolate(bubblewrap):
            bubblewrap = None
        if not bubblewrap and not unsafe:
            raise LocalError("bwrap was not found: install bubblewrap.")
        lane = cls(
            laned=folder / "laned",
            kit=folder / "kit.jar",
            java_home=Path(home).resolve(),
            laneprobe=folder / "laneprobe",
            bubblewrap=Path(bubblewrap) if bubblewrap else None,
            compiler_archive=archive if archive.is_file() else None,
        )
        for part in (lane.laned, lane.kit, lane.laneprobe):
            if not part.is_file():
                raise LocalError(
                    f"{part} does not exist: build it by `make lanes` in the checkout, or set"
                    " GRADEKEEPER_LANES to the folder that has laned, laneprobe and kit.jar."
                )
        return lane

    def command(self, work: Path) -> list[str]:
        """The command that runs laned as PID 1 of a lane like that of a Pod.

        Args:
            work: an empty folder that the lane's user can enter; gets `lane` and copies of the
                tools, so that nothing else of this machine need be readable to that user.

        Returns:
            The command. The lane sees the programs of /usr and the JDK, no home and no checkout:
            expectations may lie there.
        """
        tools = work / "tools"
        (work / "lane").mkdir(mode=0o755)
        tools.mkdir(mode=0o755)
        for source, name in (
            (self.laned, "laned"),
            (self.laneprobe, "laneprobe"),
            (self.kit, "kit.jar"),
            (self.compiler_archive, "compiler.jsa"),
        ):
            if source is not None:
                shutil.copyfile(source, tools / name)
                (tools / name).chmod(0o755)
        become = _become()
        if self.bubblewrap is None:
            scratch = work / "scratch"
            scratch.mkdir(mode=0o700)
            if become:
                os.chown(scratch, HOST_UID, HOST_UID)
            return [
                *("unshare", *([] if become else ["--user", "--map-current-user"])),
                *("--pid", "--fork", "--kill-child", "--mount-proc", *become),
                *(str(tools / "laned"), "--scratch", str(scratch), str(work / "lane/laned.sock")),
            ]
        home = str(self.java_home)
        # laned closes it as well, where the kernel has Landlock; a Pod has nothing else.
        pressure: list[str] = []
        if os.path.isdir(_PRESSURE):
            pressure = ["--size", "4096", "--tmpfs", _PRESSURE, "--remount-ro", _PRESSURE]
        archive: list[str] = []
        if self.compiler_archive is not None:
            archive = ["--ro-bind", str(tools / "compiler.jsa"), "/opt/gradekeeper/compiler.jsa"]
        return [
            *become,
            *(str(self.bubblewrap), "--unshare-all", "--unshare-user", "--as-pid-1"),
            *("--die-with-parent", "--cap-drop", "ALL", "--clearenv"),
            *("--uid", str(LANE_UID), "--gid", str(LANE_UID)),
            *_programs(home),
            *("--proc", "/proc", "--dev", "/dev"),
            *("--size", str(1 << 20), "--tmpfs", _SHM, "--remount-ro", _SHM),
            *("--size", str(1 << 20), "--tmpfs", _PTS, "--remount-ro", _PTS),
            *pressure,
            *("--remount-ro", "/dev"),
            *("--ro-bind", str(work / "lane"), "/lane"),
            *("--ro-bind", str(tools / "laned"), "/usr/local/bin/laned"),
            *("--ro-bind", str(tools / "laneprobe"), "/usr/local/bin/laneprobe"),
            *("--ro-bind", str(tools / "kit.jar"), "/opt/gradekeeper/kit.jar"),
            *archive,
            *("--symlink", home, "/opt/gradekeeper/java"),
            *("--size", str(SCRATCH_BYTES), "--perms", "1777", "--tmpfs", "/scratch"),
            *("--remount-ro", "/"),
            *("/usr/local/bin/laned", "/lane/laned.sock"),
        ]

    def view(self, work: Path) -> View | None:
        """Where a lane that is not isolated finds its things; None for one that is."""
        if self.bubblewrap is not None:
            return None
        return View(
            lane=str(work / "lane"),
            scratch=str(work / "scratch"),
            java=str(self.java_home / "bin" / "java"),
            kit=str(work / "tools" / "kit.jar"),
        )


def _become() -> list[str]:
    """What root runs before a lane's own command to be nobody special."""
    if os.getuid() != 0:
        return []
    return ["setpriv", f"--reuid={HOST_UID}", f"--regid={HOST_UID}", "--clear-groups"]


def _programs(*more: str) -> list[str]:
    """The words for bubblewrap that show a lane the programs of this machine, and `more` folders.

    Never a folder in which others mount: bubblewrap goes through all mounts below, and gives up if
    one of them is unmounted meanwhile.
    """
    seen = [
        folder
        for folder in ("/usr/bin", "/usr/lib", "/usr/lib64", "/usr/lib32", "/usr/share")
        if os.path.isdir(folder)
    ]
    seen += [path for path in ("/etc/ld.so.cache", "/etc/alternatives") if os.path.exists(path)]
    seen += sorted(glob.glob("/etc/java-*"))
    seen += [path for path in more if not any(path.startswith(f"{folder}/") for folder in seen)]
    binds = [word for path in seen for word in ("--ro-bind", path, path)]
    for link in ("/bin", "/lib", "/lib64", "/lib32"):
        if os.path.islink(link):
            binds += ["--symlink", os.readlink(link), link]
        elif os.path.isdir(link):
            binds += ["--ro-bind", link, link]
    return binds


def _can_isolate(bubblewrap: str) -> bool:
    """Whether bubblewrap may make namespaces here; many containers forbid it."""
    namespaces = ["--unshare-all", "--unshare-user", *_programs()]
    command = [*_become(), bubblewrap, *namespaces, "/bin/true"]
    try:
        done = subprocess.run(command, capture_output=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


@dataclass(frozen=True, slots=True)
class TestDetail:
    """One expected test of a local grading.

    Attributes:
        id: full id, "group/test".
        outcome: a character of `result.OUTCOMES`.
        cause: one line for maintainers; "" where it passed.
        draws: the index of the pinned draw that each run used.
        seconds: of all its runs together.
        observed: the canonical transcript that failed, if there was one.
        expected: the pinned transcripts that it was compared with, if there was one.
    """

    id: str
    outcome: str
    cause: str
    draws: tuple[int, ...]
    seconds: float = 0.0
    observed: list[Any] | None = None
    expected: list[Any] | None = None

    __test__: ClassVar[bool] = False  # pytest would collect the name


@dataclass(frozen=True, slots=True)
class LocalGrading:
    """A result, with the detail that a Pod leaves in its log."""

    result: RefereeResult
    tests: tuple[TestDetail, ...]
    log: bytes


@dataclass(frozen=True, slots=True)
class Recorded:
    """One run of one test with given inputs."""

    outcome: str
    cause: str
    transcript: list[Any] | None


@dataclass(frozen=True, slots=True)
class Recording:
    """What a submission does with given inputs: test id -> draw -> one `Recorded` a repeat."""

    compiled: bool
    transcripts: Mapping[str, list[list[Recorded]]]
    log: bytes


def grade_local(
    bundle_dir: Path,
    submission: bytes | str,
    *,
    lane: LocalLane,
    task: str = "",
    parameters: Mapping[str, str] | None = None,
    nonce: str = "local",
    draw: int | None = None,
    probe: tuple[str, int, float] | None = None,
    timeout_seconds: float = 1200.0,
) -> LocalGrading:
    """Grade one submission against a bundle.

    Args:
        bundle_dir: what `suite build` wrote.
        submission: a tar.gz, or the name of a built-in one ("gold", "null").
        lane: where the lane's parts are.
        task: a task of the suite.
        parameters: as in a job.
        nonce: as in a job.
        draw: use this pinned draw of every test (modulo their number) instead of a random one.
        probe: address, port and deadline in seconds of a server that must be out of reach, as
            in a Pod; None asserts nothing about the network of the referee.
        timeout_seconds: the whole grading; afterwards both processes are killed.

    Raises:
        LocalError: the referee ended without a result message, or the time was used up.
    """
    with _Session(bundle_dir, submission, lane) as session:
        result, log = session.run(
            task=task,
            parameters=parameters or {},
            nonce=nonce,
            layout={"draw": draw},
            probe=probe,
            timeout_seconds=timeout_seconds,
        )
        details = session.details()
    tests: tuple[TestDetail, ...] = ()
    if result.outcomes is not None:
        index = json.loads((bundle_dir / "index.json").read_bytes())
        tests = tuple(
            _graded_test(test, outcome, details.get(test, []))
            for test, outcome in zip(index["tasks"][task], result.outcomes, strict=True)
        )
    return LocalGrading(result, tests, log)


def _graded_test(test: str, outcome: str, runs: Sequence[Mapping[str, Any]]) -> TestDetail:
    """Put together what the runs of one test left; the run that decided its outcome tells why."""
    decisive = next((run for run in runs if run["outcome"] == outcome and outcome != "P"), None)
    return TestDetail(
        id=test,
        outcome=outcome,
        cause=decisive["cause"] if decisive else "",
        draws=tuple(run["draw"] for run in runs),
        seconds=round(sum(run["seconds"] for run in runs), 3),
        observed=decisive["observed"] if decisive else None,
        expected=decisive["expected"] if decisive else None,
    )


def record(
    bundle_dir: Path,
    submission: bytes | str,
    inputs: Mapping[str, Sequence[Mapping[str, str]]],
    *,
    lane: LocalLane,
    repeats: int = 1,
    timeout_seconds: float = 1200.0,
) -> Recording:
    """Run tests with given inputs and return what was observed, judging nothing.

    Args:
        bundle_dir: a bundle, whose pins are not read.
        submission: a tar.gz, or the name of a built-in one ("gold", "null").
        inputs: full test id -> inputs by draw; only these tests run.
        lane: where the lane's parts are.
        repeats: how often each draw runs, each time in another process.
        timeout_seconds: the whole recording.

    Raises:
        LocalError: the referee failed, or the submission was rejected.
    """
    with _Session(bundle_dir, submission, lane) as session:
        wanted = session.work / "record.json"
        wanted.write_text(
            json.dumps({"repeats": repeats, "inputs": {k: list(v) for k, v in inputs.items()}})
        )
        result, log = session.run(
            task="",
            parameters={},
            nonce="record",
            layout={"record": str(wanted)},
            timeout_seconds=timeout_seconds,
        )
        details = session.details()
    if result.decision != GRADED or result.reason == REFEREE_FAULT:
        raise LocalError(f"Nothing was recorded: {result.message}")
    transcripts: dict[str, list[list[Recorded]]] = {}
    for test, draws in inputs.items():
        runs = details.get(test, [])
        transcripts[test] = [
            [_recorded(runs, draw, repeat) for repeat in range(repeats)]
            for draw in range(len(draws))
        ]
    return Recording(result.reason != "DoesNotCompile", transcripts, log)


def _recorded(runs: Sequence[Mapping[str, Any]], draw: int, repeat: int) -> Recorded:
    for run in runs:
        if run["draw"] == draw and run["repeat"] == repeat:
            return Recorded(run["outcome"], run["cause"], run["observed"])
    return Recorded(NOT_RUN, "it did not run", None)


class _Session:
    """The two processes of one local grading and the folder between them."""

    def __init__(self, bundle: Path, submission: bytes | str, lane: LocalLane) -> None:
        if isinstance(submission, str) and submission not in BUILTINS:
            raise LocalError(f"There is no built-in submission {submission!r}.")
        if not (bundle / MANIFEST).is_file():
            raise LocalError(f"{bundle} is not a bundle: it has no {MANIFEST}.")
        self._bundle = bundle.resolve()
        self._submission = submission
        self._lane = lane
        self.work = Path()

    def __enter__(self) -> "_Session":
        self.work = Path(tempfile.mkdtemp(prefix="gradekeeper-"))
        self.work.chmod(0o711)  # the lane's user may enter it, and list nothing
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.work, ignore_errors=True)

    def run(
        self,
        *,
        task: str,
        parameters: Mapping[str, str],
        nonce: str,
        layout: Mapping[str, Any],
        timeout_seconds: float,
        probe: tuple[str, int, float] | None = None,
    ) -> tuple[RefereeResult, bytes]:
        """Run the referee and the lane to the end of the referee.

        Raises:
            LocalError: it left no result, or took too long.
        """
        private = self.work / "referee"
        private.mkdir(mode=0o700)
        termination = private / "termination"
        places: dict[str, Any] = {
            "suite": str(self._bundle),
            "lane": str(self.work / "lane"),
            "submission": str(private),
            "termination": str(termination),
            "detail": str(private / "detail"),
            **layout,
        }
        view = self._lane.view(self.work)
        places["unisolated"] = view and asdict(view)
        lane_command = self._lane.command(self.work)
        (private / "layout.json").write_text(json.dumps(places))
        job = {
            "schema": SCHEMA,
            "nonce": nonce,
            "attempt": 1,
            "suite": suite_digest(self._bundle),
            "task": task,
            "parameters": dict(parameters),
            "submission": self._deliver(private),
            "userNamespaces": "required",
            "probe": probe and {"address": probe[0], "port": probe[1], "deadlineSeconds": probe[2]},
            "laneUid": LANE_UID,
        }
        log_path = private / "log"
        with open(log_path, "wb") as log, open(private / "laned.log", "wb") as lane_log:
            referee = subprocess.Popen(
                referee_command(private / "layout.json"),
                env={VARIABLE: json.dumps(job)},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
            )
            lane = subprocess.Popen(
                lane_command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=lane_log,
            )
            try:
                self._wait(referee, lane, timeout_seconds)
            finally:
                _end(referee)
                _end(lane)
        try:
            return parse_result(_head(termination, MAX_MESSAGE_BYTES + 1)), _head(
                log_path, _MAX_LOG
            )
        except (OSError, ResultError) as error:
            tail = _tail(log_path, 1_000) + _tail(private / "laned.log", 1_000)
            raise LocalError(
                f"The referee left no result ({error}): {tail.decode('utf-8', 'replace')}"
            ) from None

    def details(self) -> dict[str, list[dict[str, Any]]]:
        """What the runs left, by full test id, in the order in which they ended."""
        found: dict[str, list[dict[str, Any]]] = {}
        path = self.work / "referee" / "detail"
        if path.exists():
            for line in path.read_bytes().splitlines():
                run = json.loads(line)
                found.setdefault(run["test"], []).append(run)
        return found

    def _deliver(self, private: Path) -> dict[str, Any]:
        if isinstance(self._submission, str):
            return {"builtin": self._submission}
        (private / "part-00").write_bytes(self._submission)
        digest = hashlib.sha256(self._submission).hexdigest()
        return {"digest": f"sha256:{digest}", "parts": ["part-00"]}

    def _wait(
        self,
        referee: "subprocess.Popen[bytes]",
        lane: "subprocess.Popen[bytes]",
        timeout_seconds: float,
    ) -> None:
        """Wait for the referee; a lane that cannot even start is told at once, and why."""
        deadline = time.monotonic() + timeout_seconds
        while True:
            try:
                referee.wait(0.5)
                return
            except subprocess.TimeoutExpired:
                pass
            socket = self.work / "lane" / "laned.sock"
            if lane.poll() is not None and socket.exists():
                told = _tail(self.work / "referee" / "laned.log", 1_000)
                raise LocalError(f"The lane did not start: {told.decode('utf-8', 'replace')}")
            if time.monotonic() > deadline:
                raise LocalError(f"The grading took longer than {timeout_seconds:.0f} seconds.")


def _head(path: Path, most: int) -> bytes:
    """The first bytes of a file that the submission may have had a part in."""
    with path.open("rb") as file:
        return file.read(most)


def _tail(path: Path, most: int) -> bytes:
    """The last bytes of such a file, however long it is."""
    with path.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - most))
        return file.read(most)


def referee_command(layout: Path) -> list[str]:
    """The command of a Pod's referee, isolated from this interpreter's environment.

    `-I -S` leaves no path to this package, so the one that this module was imported from is given.
    """
    root = Path(__file__).resolve().parents[2]
    start = (
        "import sys; sys.path.insert(0, sys.argv[1]); "
        "from gradekeeper.referee.__main__ import main; sys.exit(main(sys.argv[2:]))"
    )
    return [sys.executable, "-I", "-S", "-c", start, str(root), str(layout)]


def _end(process: "subprocess.Popen[bytes]") -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGKILL)
    process.wait()
