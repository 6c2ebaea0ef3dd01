"""`gradekeeper grade --local`: the referee and a lane on this machine, without a cluster."""

from __future__ import annotations

import contextlib
import json
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from gradekeeper.cli._errors import CliError, ExitCode, escaped, plain, unfolded, write_file
from gradekeeper.cli._options import AsJson
from gradekeeper.cli._sources import parse_parameters, read_source
from gradekeeper.cli._verify import headline

if TYPE_CHECKING:
    from gradekeeper.referee.local import LocalGrading, LocalLane
    from gradekeeper.suites.bundle import Bundle

SCHEMA: Final = "gradekeeper.local/v1"
UNSIGNED: Final = "None: this grading is unsigned and proves nothing to anybody else."
ISOLATION: Final = {
    "local": (
        "bubblewrap: own user, mount, process, IPC and network namespaces, no capabilities,"
        " read-only root, laned's seccomp filter; probed before the submission was released."
    ),
    "none": (
        "NONE (--unsafe): the submission could read whatever its user can, this suite's"
        " expectations perhaps included, and use memory without a limit."
    ),
}
"""By the profile of the isolation facts, what stood between the submission and this machine."""
NOT_REACHED: Final = "Nothing of the submission ran."
_MOST_DIAGNOSTICS: Final = 30
_SIGNALS: Final = {
    "9": "the lane's memory is used up",
    "24": "its processor time is used up",
    "25": "a file is larger than limits.fileMiB",
}
"""What ends a process by a signal, of what may: by number, as laned reports it."""


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("grade")(grade)


def grade(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="Directory, tar.gz file, or builtin:gold or builtin:null.",
        ),
    ],
    suite: Annotated[
        Path, typer.Option("--suite", metavar="PATH", help="A suite folder or a built bundle.")
    ],
    local: Annotated[
        bool, typer.Option("--local", help="Grade on this machine; the only way here.")
    ] = False,
    task: Annotated[str, typer.Option(help="Task of the suite; default the whole suite.")] = "",
    parameter: Annotated[
        list[str] | None,
        typer.Option("--parameter", "-p", metavar="NAME=VALUE", help="Value of a parameter."),
    ] = None,
    include: Annotated[
        list[str] | None,
        typer.Option(help="Pack only files that match, as in src/**/*.java; may be repeated."),
    ] = None,
    exclude: Annotated[
        list[str] | None, typer.Option(help="Leave files out that match; may be repeated.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write the result to this file as JSON.")] = None,
    unsafe: Annotated[
        bool,
        typer.Option(
            "--unsafe", help="Grade without isolation where bubblewrap is missing or cannot work."
        ),
    ] = False,
    lanes: Annotated[
        Path | None,
        typer.Option(
            help="Folder with laned, laneprobe and kit.jar; default $GRADEKEEPER_LANES, then"
            " build/lanes."
        ),
    ] = None,
    java_home: Annotated[
        Path | None, typer.Option(help="A JDK 17; default $JAVA_HOME, then that of java.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Grade a submission on this machine by the same referee, in a lane under bubblewrap.

    The result is unsigned. Exit code: 0 it was graded or rejected (a 0 included), 3 Unjudged,
    1 the local engine failed, 2 the input is wrong.
    """
    if not local:
        raise CliError(
            "Say --local; on a cluster it is `gradekeeper submit SOURCE --suite NAME --wait`."
        )
    if out is not None and not out.absolute().parent.is_dir():
        raise CliError(f"{out.parent} is not a directory; create it first.")
    from gradekeeper.referee.local import LocalError, grade_local

    submission = _submission(source, include or [], exclude or [])
    parameters = parse_parameters(parameter or [])
    lane = _find_lane(lanes, java_home, unsafe)
    with _bundle(suite, lane) as bundle, _patience(as_json):
        _check_request(bundle, task, parameters)
        try:
            graded = grade_local(
                bundle.path, submission, lane=lane, task=task, parameters=parameters
            )
        except LocalError as error:
            raise CliError(f"Nothing was graded: {plain(error)}", ExitCode.FAILED) from error
        document = build_document(bundle, graded, task=task, parameters=parameters)
    if out is not None:
        write_file(out, json.dumps(document, indent=2, sort_keys=True).encode() + b"\n")
    if as_json:
        print(json.dumps(document, indent=2, sort_keys=True))
    else:
        _print(document)
    if document["verdict"]["decision"] == "Unjudged":
        raise typer.Exit(ExitCode.UNJUDGED)


def build_document(
    bundle: Bundle, graded: LocalGrading, *, task: str, parameters: Mapping[str, str]
) -> dict[str, Any]:
    """Return a local grading as JSON.

    Args:
        bundle: what it was graded with.
        graded: the grading.
        task: as asked for.
        parameters: as asked for.

    Returns:
        `verdict` has the form of a job's `status.verdict`; `tests` lists each expected test with
        its outcome character, the word for it, why, its seconds and, where it observed something
        else, that and what was expected; `compiler` is what the compiler said, `leftOut` the first
        names in the archive that no file may have; `signed` is always False.
    """
    from gradekeeper.cli._tables import outcome_word
    from gradekeeper.verdicts.model import verdict_document, verdict_from_result

    result = graded.result
    facts = result.isolation
    events = _events(graded.log)
    ends = _ends(events)
    return {
        "schema": SCHEMA,
        "signed": False,
        "note": UNSIGNED,
        "isolatedBy": NOT_REACHED if facts is None else ISOLATION[str(facts["profile"])],
        "isolation": facts,
        "suite": {"name": bundle.name, "version": bundle.version, "digest": bundle.digest},
        "submission": result.submission,
        "task": task,
        "parameters": dict(parameters),
        "verdict": verdict_document(verdict_from_result(result)),
        "tests": [
            {
                "id": test.id,
                "outcome": test.outcome,
                "word": outcome_word(test.outcome),
                "why": ends.get(test.id, test.cause) if test.outcome == "X" else test.cause,
                "seconds": test.seconds,
                "observed": test.observed,
                "expected": test.expected,
            }
            for test in graded.tests
        ],
        "compiler": _diagnostics(events),
        "leftOut": _left_out(events),
        "seconds": dict(result.times),
    }


def _submission(source: str, include: list[str], exclude: list[str]) -> bytes | str:
    from gradekeeper.client import Builtin, Untransportable

    found = read_source(source, include, exclude)
    if isinstance(found, Untransportable):
        raise CliError("It is too large for a job: a cluster would sign Rejected for it.")
    return found.value if isinstance(found, Builtin) else found


def _find_lane(lanes: Path | None, java_home: Path | None, unsafe: bool) -> LocalLane:
    from gradekeeper.referee.local import LocalError, LocalLane

    try:
        return LocalLane.from_environment(lanes=lanes, java_home=java_home, unsafe=unsafe)
    except LocalError as error:
        advice = (
            " Without it nothing would keep the submission from this machine; if that is what you"
            " want, say --unsafe."
            if "bwrap" in str(error)
            else ""
        )
        raise CliError(f"{error}{advice}") from error


@contextlib.contextmanager
def _bundle(path: Path, lane: LocalLane) -> Iterator[Bundle]:
    """The bundle at a path, or the one that a suite folder gives, built for the time of grading."""
    from gradekeeper.suites import SuiteError, build_bundle, load_bundle

    try:
        if (path / "manifest.json").is_file():
            yield load_bundle(path)
            return
        if not (path / "suite.yaml").is_file():
            raise CliError(
                f"{path} is neither a suite folder (no suite.yaml) nor a bundle (no manifest.json)."
            )
        with tempfile.TemporaryDirectory(prefix="gradekeeper-grade-") as temporary:
            yield build_bundle(path, Path(temporary) / "bundle", kit=lane.kit)
    except SuiteError as error:
        raise CliError(str(error)) from error


def _check_request(bundle: Bundle, task: str, parameters: Mapping[str, str]) -> None:
    """Refuse what a job would be refused for, before anything runs.

    Raises:
        CliError: the suite has no such task or parameter, or not such a value.
    """
    tasks = json.loads(bundle.index)["tasks"]
    if task not in tasks:
        known = ", ".join(sorted(tasks)[:20])
        raise CliError(f"The suite has no task {plain(task)!r}; it has: {known}.")
    declared = bundle.definition["parameters"]
    for name, value in parameters.items():
        if name not in declared:
            known = ", ".join(sorted(declared)) or "none"
            raise CliError(f"The suite has no parameter {plain(name)!r}; it has: {known}.")
        pattern = declared[name]["pattern"]
        if not re.fullmatch(pattern, value):
            raise CliError(f"--parameter {name}: {plain(value)!r} does not match {pattern}.")


def _events(log: bytes) -> list[dict[str, Any]]:
    """The events of the referee's detail log."""
    events = []
    for line in log.splitlines():
        with contextlib.suppress(ValueError):
            event = json.loads(line)
            if isinstance(event, dict):
                events.append(event)
    return events


def _diagnostics(events: Sequence[Mapping[str, Any]]) -> list[str]:
    """What the compiler said."""
    texts = [str(event["text"]) for event in events if event.get("event") == "compiler"]
    return [escaped(line) for text in texts for line in unfolded(text)][:_MOST_DIAGNOSTICS]


def _left_out(events: Sequence[Mapping[str, Any]]) -> list[str]:
    """Names in the archive that no file may have, spelled in ASCII."""
    return [
        str(name)
        for event in events
        if event.get("event") == "intake"
        for name in event.get("left_out", ())
    ]


def _ends(events: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """How the process ended in which a test did not reach its end: id -> a few words."""
    open_tests: dict[tuple[str, object], str] = {}
    found: dict[str, str] = {}
    for event in events:
        if event.get("event") == "test" and event.get("outcome") == "X":
            test = str(event.get("test"))
            open_tests[test.partition("/")[0], event.get("repeat")] = test
        elif event.get("event") == "run_ended":
            ended = open_tests.pop((str(event.get("group")), event.get("repeat")), None)
            if ended is not None:
                found[ended] = _how_it_ended(event)
    return found


def _how_it_ended(event: Mapping[str, Any]) -> str:
    """What is known for sure: a submission may end itself by any status or signal."""
    from gradekeeper.referee.java17 import OUT_OF_MEMORY

    signal = event.get("signal")
    if signal is not None:
        text = f"signal {escaped(str(signal))} ended it"
        return f"{text}, as when {_SIGNALS[signal]}" if signal in _SIGNALS else text
    text = f"it ended with status {escaped(str(event.get('status')))}"
    if event.get("status") == OUT_OF_MEMORY:
        return f"{text}, as a JVM does whose memory is full (limits.heapMiB, metaspace)"
    return text


@contextlib.contextmanager
def _patience(quiet: bool) -> Iterator[None]:
    """Show on a terminal that something goes on."""
    if quiet or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status("grading"):
        yield


def _print(document: Mapping[str, Any]) -> None:
    from gradekeeper.cli._tables import print_local_tests
    from gradekeeper.verdicts.model import parse_verdict

    verdict = parse_verdict(document["verdict"])
    print(plain(headline(verdict)))
    if verdict.message:
        print(plain(verdict.message))
    if document["tests"]:
        print()
        print_local_tests(document["tests"])
    if document["leftOut"]:
        print("\nLeft out: no plain file, or a name that is absolute, not UTF-8, too long or deep:")
        for name in document["leftOut"]:
            print(f"  {plain(name)}")
    if document["compiler"]:
        print("\nThe compiler said:")
        for line in document["compiler"]:
            print(f"  {line}")
    suite = document["suite"]
    times = document["seconds"]
    phases = ", ".join(f"{name} {value:.1f}" for name, value in times.items() if name != "total")
    rows = {
        "suite": f"{suite['name']} {suite['version']} {suite['digest']}",
        "submission": document["submission"],
        "isolation": document["isolatedBy"],
        "seconds": f"{times.get('total', 0.0):.1f} ({phases})",
        "signature": document["note"],
    }
    print()
    for name, value in rows.items():
        print(f"{name:10}  {plain(value)}")
