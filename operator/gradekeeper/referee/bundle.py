"""The bundle in the suite image: checked against its manifest, then read into plain data.

Everything here is the author's and signed; a bundle that is not whole ends as `RefereeFailed`,
and what a job asks of it in vain (task, parameter) as `InvalidJob`.
"""

import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from gradekeeper.referee.bounds import LIMITS, RESERVED
from gradekeeper.referee.errors import Unjudgeable
from gradekeeper.referee.judge import Rules
from gradekeeper.referee.result import INVALID_JOB, REFEREE_FAILED
from gradekeeper.referee.schedule import ARRIVE
from gradekeeper.referee.strictjson import (
    StrictJsonError,
    encode_canonical,
    parse_strict,
    split_object,
)

MANIFEST: Final = "manifest.json"
MANIFEST_SCHEMA: Final = "gradekeeper.bundle/v1"
MAX_BUNDLE_JSON: Final = 32 * 1024 * 1024
POLICIES: Final = ("ok", "refuse", "hold", "hold-refuse")


@dataclass(frozen=True, slots=True)
class Scheduled:
    """A test's held calls are released in an order that was drawn.

    Attributes:
        input: the name of the input that says in which.
        writes: the double's methods that are writes.
    """

    input: str
    writes: frozenset[str]


@dataclass(frozen=True, slots=True)
class Test:
    """One hidden test.

    Attributes:
        id: "group/test".
        method: of the driver; neutral.
        policies: double's method -> one policy a call, of which the last repeats.
        rules: how its transcripts compare.
        schedule: in which order held calls are released; None: in any.
    """

    id: str
    method: str
    policies: Mapping[str, Sequence[str]]
    rules: Rules
    schedule: Scheduled | None = None

    @property
    def holds(self) -> bool:
        """Whether any call of its doubles is held."""
        return any(policy.startswith("hold") for each in self.policies.values() for policy in each)


@dataclass(frozen=True, slots=True)
class Group:
    """Tests that share one driver and one process a run."""

    name: str
    driver: str
    repeats: int
    tests: Sequence[Test]


@dataclass(frozen=True, slots=True)
class Limits:
    """The suite's limits after the job's parameters; seconds, MiB or counts as named."""

    suite_timeout_seconds: int
    run_timeout_seconds: int
    test_timeout_seconds: int
    restarts_per_group: int
    parallel: int
    heap_mib: int
    scratch_mib: int
    processes: int
    file_mib: int


@dataclass(frozen=True, slots=True)
class SubmissionRules:
    """What of an archive is taken, and how much of it is allowed."""

    include: Sequence[str]
    exclude: Sequence[str]
    max_files: int
    max_bytes: int


@dataclass(frozen=True, slots=True)
class BuildRules:
    """How the submission is compiled."""

    kind: str
    source_root: str
    timeout_seconds: int
    heap_mib: int


@dataclass(frozen=True, slots=True)
class Draw:
    """Inputs that were drawn when pinning, and every transcript that is right for them.

    Kept as JSON: all expectations of a suite together are large as values, every child that plays
    a test copies what it touches of them, and a run needs one draw of each of its tests.

    Attributes:
        packed: an object with `inputs` and `transcripts`.
        repeat: the one that it is for; None: any.
    """

    packed: bytes
    repeat: int | None = None

    @property
    def inputs(self) -> Mapping[str, str]:
        """By name."""
        inputs: Mapping[str, str] = json.loads(self.packed)["inputs"]
        return inputs

    @property
    def transcripts(self) -> Sequence[list[Any]]:
        """In canonical form."""
        transcripts: Sequence[list[Any]] = json.loads(self.packed)["transcripts"]
        return transcripts


@dataclass(frozen=True, slots=True)
class Suite:
    """A bundle, for one task.

    Attributes:
        digest: "sha256:…" of the manifest.
        name: of the suite.
        lane: the lane kit that it needs.
        order: full ids of the task's tests, in the order of outcomes.
        groups: the groups that hold them, each with the task's tests only.
        pins: full id -> draws; empty when recording.
        lane_per_referee: the lane's processors divided by the referee's; None if it has none.
    """

    digest: str
    name: str
    lane: str
    submission: SubmissionRules
    build: BuildRules
    limits: Limits
    order: Sequence[str]
    groups: Sequence[Group]
    pins: Mapping[str, Sequence[Draw]]
    lane_per_referee: float | None = None


_LIMITS: Final = {
    "suiteTimeoutSeconds": 900,
    "runTimeoutSeconds": 600,
    "testTimeoutSeconds": 20,
    "restartsPerGroup": 4,
    "parallel": 2,
    "heapMiB": 192,
    "scratchMiB": 16,
    "processes": 256,
    "fileMiB": 8,
}


def suite_digest(root: Path) -> str:
    """Return "sha256:…" of a bundle's manifest, without checking the rest."""
    return "sha256:" + hashlib.sha256((root / MANIFEST).read_bytes()).hexdigest()


def check_manifest(root: Path) -> str:
    """Check every file of a bundle against its manifest.

    Returns:
        The suite digest.

    Raises:
        Unjudgeable: `RefereeFailed` if a file is missing, changed or not listed.
    """
    try:
        data = (root / MANIFEST).read_bytes()
        manifest = parse_strict(data, max_bytes=MAX_BUNDLE_JSON)
        listed = manifest["files"]
        if manifest["schema"] != MANIFEST_SCHEMA or type(listed) is not dict:
            raise _broken("its manifest is of another schema")
        found = set()
        for folder, _, names in os.walk(root):
            for name in names:
                found.add(os.path.relpath(os.path.join(folder, name), root))
        if found != listed.keys() | {MANIFEST}:
            raise _broken("its files are not those of its manifest")
        for name, digest in listed.items():
            content = hashlib.sha256()
            with open(root / name, "rb") as file:
                while chunk := file.read(1 << 20):
                    content.update(chunk)
            if "sha256:" + content.hexdigest() != digest:
                raise _broken("a file differs from its manifest")
    except (OSError, StrictJsonError, KeyError, TypeError):
        raise _broken("its manifest cannot be read") from None
    return "sha256:" + hashlib.sha256(data).hexdigest()


def load_suite(
    root: Path, *, task: str, parameters: Mapping[str, str], pinned: bool = True
) -> Suite:
    """Read a bundle whose manifest was checked.

    Args:
        root: the bundle.
        task: selects tests; "" is the whole suite.
        parameters: of the job.
        pinned: False when recording: index and pins are not read and every test is selected.

    Raises:
        Unjudgeable: `InvalidJob` for an unknown task or parameter or a value that its pattern
            refuses, `RefereeFailed` for a bundle that contradicts itself.
    """
    document = _read(root / "suite.json")
    digest = suite_digest(root)
    try:
        groups = [_group(group) for group in document["groups"]]
        known = {test.id: group for group in groups for test in group.tests}
        if len(known) != sum(len(group.tests) for group in groups):
            raise _broken("a test id occurs twice")
        order = list(known)
        pins: dict[str, Sequence[Draw]] = {}
        if pinned:
            tasks = _read(root / "index.json")["tasks"]
            if task not in tasks:
                raise Unjudgeable(INVALID_JOB, "The suite has no task of that name.")
            order = tasks[task]
            if not order or len(set(order)) != len(order) or not known.keys() >= set(order):
                raise _broken("its index names tests that it does not have")
            repeats = {test.id: group.repeats for group in groups for test in group.tests}
            pins = _pins(root / "referee" / "pins.json", order, repeats)
        wanted = set(order)
        submission, build = document["submission"], document["build"]
        return Suite(
            digest=digest,
            name=document["name"],
            lane=document["lane"],
            submission=SubmissionRules(
                include=tuple(submission["include"]),
                exclude=tuple(submission.get("exclude", ())),
                max_files=int(submission["maxFiles"]),
                max_bytes=int(submission["maxBytes"]),
            ),
            build=BuildRules(
                kind=build["kind"],
                source_root=build["sourceRoot"],
                timeout_seconds=int(build.get("timeoutSeconds", 120)),
                heap_mib=int(build.get("heapMiB", 512)),
            ),
            limits=_limits(document, parameters),
            order=tuple(order),
            groups=tuple(
                Group(group.name, group.driver, group.repeats, selected)
                for group in groups
                if (selected := tuple(test for test in group.tests if test.id in wanted))
            ),
            pins=pins,
            lane_per_referee=_lane_per_referee(document),
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        raise _broken("it is not of the schema") from None


def _read(path: Path) -> Any:
    try:
        return parse_strict(
            path.read_bytes(), max_bytes=MAX_BUNDLE_JSON, max_depth=64, max_digits=64
        )
    except (OSError, StrictJsonError):
        raise _broken(f"its {path.name} cannot be read") from None


def _group(document: Mapping[str, Any]) -> Group:
    name = document["name"]
    return Group(
        name=name,
        driver=document["driver"],
        repeats=int(document.get("repeats", 1)),
        tests=tuple(_test(name, test) for test in document["tests"]),
    )


def _test(group: str, document: Mapping[str, Any]) -> Test:
    policies = {method: tuple(each) for method, each in document.get("doubles", {}).items()}
    for each in policies.values():
        if not each or any(policy not in POLICIES for policy in each):
            raise _broken("a double has an unknown policy")
    holds = any(policy.startswith("hold") for each in policies.values() for policy in each)
    compare = document.get("compare") or ("multiset" if holds else "ordered")
    if compare not in ("multiset", "ordered"):
        raise _broken("a test compares in an unknown way")
    schedule = None
    if document.get("schedule") is not None:
        schedule = Scheduled(
            document["schedule"]["input"], frozenset(document["schedule"]["writes"])
        )
        policies[ARRIVE] = ("hold",)
    return Test(
        id=f"{group}/{document['id']}",
        method=document["method"],
        policies=policies,
        rules=Rules(
            multiset=compare == "multiset",
            ignore=frozenset(document.get("ignore", ())),
            tolerance=dict(document.get("tolerance", {})),
        ),
        schedule=schedule,
    )


def _pins(
    path: Path, order: Sequence[str], repeats: Mapping[str, int]
) -> dict[str, Sequence[Draw]]:
    pins: dict[str, Sequence[Draw]] = dict.fromkeys(order, ())
    try:
        for test, data in split_object(path.read_bytes(), max_bytes=MAX_BUNDLE_JSON):
            if test in pins:
                draws = parse_strict(data, max_bytes=MAX_BUNDLE_JSON, max_depth=64)
                if not all(draw["transcripts"] and "inputs" in draw for draw in draws):
                    raise _broken("a test has no expectation")
                pins[test] = tuple(
                    Draw(encode_canonical(draw), draw.get("repeat")) for draw in draws
                )
    except (OSError, StrictJsonError):
        raise _broken(f"its {path.name} cannot be read") from None
    if not all(pins.values()):
        raise _broken("a test has no expectation")
    for test, known in pins.items():
        if not all(draws_of(known, repeat) for repeat in range(repeats[test])):
            raise _broken("a test has no expectation for one of its repeats")
    return pins


def draws_of(draws: Sequence[Draw], repeat: int) -> list[int]:
    """Positions of the draws that one repeat of a test may have."""
    return [place for place, draw in enumerate(draws) if draw.repeat in (None, repeat)]


def _lane_per_referee(document: Mapping[str, Any]) -> float | None:
    if "resources" not in document:
        return None
    lane, referee = (document["resources"][name]["cpu"] for name in ("lane", "referee"))
    return _processors(lane) / _processors(referee)


def _processors(quantity: str) -> float:
    """Read a quantity of processors, as "1500m" or "1.5"."""
    found = float(quantity[:-1]) / 1000 if quantity.endswith("m") else float(quantity)
    if not 0 < found < 1e6:
        raise ValueError("a quantity is out of range")
    return found


def _limits(document: Mapping[str, Any], parameters: Mapping[str, str]) -> Limits:
    values = {name: int(value) for name, value in {**_LIMITS, **document.get("limits", {})}.items()}
    for name, (least, most) in LIMITS.items():
        if not least <= values[name] <= most:
            raise _broken("a limit is out of its range")
    declared = document.get("parameters") or {}
    if parameters.keys() - declared.keys():
        raise Unjudgeable(INVALID_JOB, "The job has a parameter that the suite does not declare.")
    for name, declaration in declared.items():
        value = parameters.get(name, declaration.get("default"))
        if value is None:
            continue
        if re.fullmatch(declaration["pattern"], value) is None:
            raise Unjudgeable(INVALID_JOB, f"The parameter {name} does not match its pattern.")
        if name in _LIMITS:
            values[name] = _parameter(name, value, values[name])
    return Limits(
        suite_timeout_seconds=values["suiteTimeoutSeconds"],
        run_timeout_seconds=values["runTimeoutSeconds"],
        test_timeout_seconds=values["testTimeoutSeconds"],
        restarts_per_group=values["restartsPerGroup"],
        parallel=values["parallel"],
        heap_mib=values["heapMiB"],
        scratch_mib=values["scratchMiB"],
        processes=values["processes"],
        file_mib=values["fileMiB"],
    )


def _parameter(name: str, text: str, limit: int) -> int:
    """A job's value of a limit: the limit in force, or no grading.

    Args:
        name: of the limit.
        text: what the job says.
        limit: what the suite says.

    Raises:
        Unjudgeable: `InvalidJob`.
    """
    least, most = LIMITS[name]
    if name in RESERVED:
        most = limit
    if not (text.isascii() and text.isdigit() and len(text) <= 9 and least <= int(text) <= most):
        raise Unjudgeable(
            INVALID_JOB, f"The parameter {name} is not a number from {least} to {most}."
        )
    return int(text)


def _broken(what: str) -> Unjudgeable:
    return Unjudgeable(REFEREE_FAILED, f"The suite's bundle is not whole: {what}.")
