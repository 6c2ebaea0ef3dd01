"""The local engine: the referee of a grading Pod, run without a cluster.

`grade_local` and `record` start two processes, exactly as a grading Pod does: a lane (laned under
bubblewrap, with its own user, mount, PID, IPC and network namespace) and the very same referee
code (`python -I -S`), which talk over the same socket. Nothing of the lane is trusted here either.
A local grading is not signed, and its isolation facts say how it was isolated.

Signatures, which others code against::

    lane = LocalLane(laned=Path(...), kit=Path(...), java_home=Path(...), laneprobe=Path(...))
    lane = LocalLane.from_environment()

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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from gradekeeper.referee.result import RefereeResult


class LocalError(RuntimeError):
    """The local engine itself failed: a missing tool, or a referee that died."""


@dataclass(frozen=True, slots=True)
class LocalLane:
    """Where the parts of a lane are on this machine.

    Attributes:
        laned: the static laned executable.
        kit: the language kit (java17: kit.jar).
        java_home: the JDK that the lane sees.
        laneprobe: the static probe.
        bubblewrap: the bwrap executable.
    """

    laned: Path
    kit: Path
    java_home: Path
    laneprobe: Path
    bubblewrap: Path = Path("/usr/bin/bwrap")

    @classmethod
    def from_environment(cls) -> "LocalLane":
        """Read GRADEKEEPER_LANES (a folder with laned, laneprobe, kit.jar) and JAVA_HOME.

        Raises:
            LocalError: a part is missing; the sentence says which, and how to build it.
        """
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class TestDetail:
    """One expected test of a local grading.

    Attributes:
        id: full id, "group/test".
        outcome: a character of `result.OUTCOMES`.
        cause: one line for maintainers; "" where it passed.
        draws: the index of the pinned draw that each run used.
        observed: the canonical transcript that failed, if there was one.
        expected: the pinned transcripts that it was compared with, if there was one.
    """

    id: str
    outcome: str
    cause: str
    draws: tuple[int, ...]
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
        timeout_seconds: the whole grading; afterwards both processes are killed.

    Raises:
        LocalError: the referee ended without a result message, or the time was used up.
    """
    raise NotImplementedError


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
    raise NotImplementedError
