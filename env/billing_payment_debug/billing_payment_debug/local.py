"""The grader `local`: the same referee on this machine, without a cluster and without a signature.

For work on the environment and for small runs. Nobody else has reason to believe its verdicts.
"""

import asyncio
import functools
import json
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gradekeeper.api.reasons import Reason
from gradekeeper.client import Untransportable
from gradekeeper.referee.local import LocalError, LocalLane, grade_local
from gradekeeper.suites import SuiteError, build_bundle, load_bundle
from gradekeeper.verdicts.model import (
    Graded,
    Rejected,
    Unjudged,
    rejected,
    verdict_from_result,
)

_TASK: Final = ""
_in_turn = ThreadPoolExecutor(max_workers=1, thread_name_prefix="grading")


class LocalSetupError(RuntimeError):
    """The suite or a tool is missing or unusable; says what to do."""


class LocalGradingError(RuntimeError):
    """The local engine failed, and there is no verdict."""


@dataclass(frozen=True, slots=True)
class LocalVerdict:
    """An unsigned verdict, with the ids of its tests in the order of its outcomes."""

    verdict: Graded | Rejected
    tests: tuple[str, ...]


async def grade_in_turn(
    suite: Path,
    submission: bytes | Untransportable,
    *,
    parameters: Mapping[str, str],
    seconds: float,
) -> LocalVerdict:
    """`grade`, one submission of this process at a time, or they would take each other's time.

    Waiting for a turn does not count as time. Whoever is cancelled while waiting is not graded; a
    grading that has begun ends by itself.
    """
    graded = _in_turn.submit(grade, suite, submission, parameters=parameters, seconds=seconds)
    return await asyncio.wrap_future(graded)


def grade(
    suite: Path,
    submission: bytes | Untransportable,
    *,
    parameters: Mapping[str, str],
    seconds: float,
) -> LocalVerdict:
    """Grade on this machine; blocks.

    Args:
        suite: The suite's folder, or a bundle that was built from it.
        submission: tar.gz, or what to claim instead, which needs no grading.
        parameters: Of the suite.
        seconds: The whole grading.

    Raises:
        LocalSetupError: Nothing can be graded here.
        LocalGradingError: The engine failed.
    """
    try:
        lane = LocalLane.from_environment()
        bundle = _bundle(suite, lane.kit)
    except (LocalError, SuiteError, OSError) as error:
        raise LocalSetupError(str(error)) from error
    tests = _tests(bundle)
    if isinstance(submission, Untransportable):
        return LocalVerdict(rejected(Reason(submission.reason), len(tests)), tests)
    try:
        graded = grade_local(
            bundle, submission, lane=lane, parameters=parameters, timeout_seconds=seconds
        )
    except LocalError as error:
        raise LocalGradingError(str(error)) from error
    verdict = verdict_from_result(graded.result)
    if isinstance(verdict, Unjudged):
        raise LocalGradingError(f"{verdict.reason}: {verdict.message}")
    return LocalVerdict(verdict, tests)


@functools.cache
def _bundle(suite: Path, kit: Path) -> Path:
    """The folder of a checked bundle; one that is built here lasts as long as the process."""
    if (suite / "manifest.json").is_file():
        return load_bundle(suite).path
    made = Path(tempfile.mkdtemp(dir=_temporary().name))
    return build_bundle(suite, made / "bundle", kit=kit).path


@functools.cache
def _temporary() -> "tempfile.TemporaryDirectory[str]":
    return tempfile.TemporaryDirectory(prefix="billing-suite-")


def _tests(bundle: Path) -> tuple[str, ...]:
    tests: Sequence[str] = json.loads((bundle / "index.json").read_bytes())["tasks"][_TASK]
    return tuple(tests)
