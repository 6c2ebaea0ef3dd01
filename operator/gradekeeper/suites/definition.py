"""What an author writes: `suite.yaml` as frozen models, with errors that name the line of thought.

Pure but for `load_suite`, which reads the folder. docs/protocols.md "Suite folder" fixes the form.
"""

import difflib
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

import yaml
from pydantic import (
    AfterValidator,
    Discriminator,
    Field,
    StringConstraints,
    Tag,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_core import ErrorDetails

from gradekeeper.api.names import SUITE_NAME_MAX
from gradekeeper.api.schema import (
    MAX_TESTS,
    SpecModel,
    dump,
)
from gradekeeper.api.spec import SuiteLimits, SuiteResources
from gradekeeper.pods.build import resource_problems
from gradekeeper.referee.bounds import LANE_VOLUME_MIB, volume_needs
from gradekeeper.suites.errors import DefinitionError
from gradekeeper.suites.schedules import MAX_CALLERS, Family, Share

SCHEMA: Final = "gradekeeper.suite/v1"

Word = Literal["word"]
Policy = Literal["ok", "refuse", "hold", "hold-refuse"]
Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,63}$")]
Key = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_:-]{0,63}$")]
Glob = Annotated[str, StringConstraints(min_length=1, max_length=256, pattern=r"^[!-.0-~][!-~]*$")]

_LABEL: Final = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
_TELLING = re.compile(r"fix|guard|test|expect|pass|fail|gold|null|defect", re.IGNORECASE)


def _ascending(bounds: tuple[int, int]) -> tuple[int, int]:
    if bounds[0] > bounds[1]:
        raise ValueError(f"the lower bound {bounds[0]} is above the upper one {bounds[1]}")
    return bounds


Bounds = Annotated[tuple[int, int], AfterValidator(_ascending)]


class Cents(SpecModel):
    """An amount with two decimals, drawn between two numbers of cents, both included."""

    cents: Bounds


class Integer(SpecModel):
    """A whole number between two others, both included."""

    integer: Bounds


class Choice(SpecModel):
    """One of some strings."""

    choice: tuple[str, ...] = Field(min_length=1)


class Literally(SpecModel):
    """Always the same string."""

    literal: str


class Generated(SpecModel):
    """A string drawn by a function of the suite's `generators.py`."""

    generator: Name


class Kind(SpecModel):
    """One kind of scheduled round; docs/protocols.md tells what a schedule is."""

    callers: int = Field(default=3, ge=1, le=MAX_CALLERS)
    ends: tuple[Annotated[str, StringConstraints(pattern=r"^[rf]{1,4}$")], ...] = Field(
        min_length=1
    )
    """In which orders callers may be answered (`r`) and refused (`f`)."""
    writes: int | None = Field(default=None, ge=0, le=4)
    """Writes that a caller does after its answer; default: as many as the rounds have methods."""
    covers: bool = True
    """Whether the test takes a share of the schedules that cover the kind, beside their core."""


class Rounds(SpecModel):
    """Kinds of rounds, and the double's methods that are writes."""

    writes: tuple[Key, ...] = ()
    kinds: Mapping[Annotated[str, StringConstraints(pattern=r"^[a-z]{1,8}$")], Kind] = Field(
        min_length=1
    )
    more: int = Field(default=0, ge=0, le=16)
    """Schedules a kind that a draw has by lot, beside those that every grading plays."""

    def families(self) -> dict[str, Family]:
        """The schedules that each kind may have."""
        return {
            name: Family(
                kind.callers,
                len(self.writes) if kind.writes is None else kind.writes,
                kind.ends,
            )
            for name, kind in self.kinds.items()
        }

    @model_validator(mode="after")
    def _playable(self) -> Self:
        for name, kind in self.kinds.items():
            if any(len(ends) > kind.callers for ends in kind.ends):
                raise ValueError(f"kind {name!r} has more ends than callers")
        return self


class Scheduled(SpecModel):
    """Rounds of schedules: in which order callers arrive, are answered, refused and write."""

    schedules: Rounds


def _kind_of_input(value: object) -> str | None:
    if isinstance(value, SpecModel):
        value = dump(value)
    if isinstance(value, dict) and len(value) == 1:
        return str(next(iter(value)))
    return value if isinstance(value, str) else None


InputSpec = Annotated[
    Annotated[Word, Tag("word")]
    | Annotated[Cents, Tag("cents")]
    | Annotated[Integer, Tag("integer")]
    | Annotated[Choice, Tag("choice")]
    | Annotated[Literally, Tag("literal")]
    | Annotated[Generated, Tag("generator")]
    | Annotated[Scheduled, Tag("schedules")],
    Discriminator(
        _kind_of_input,
        custom_error_type="input",
        custom_error_message="is not an input; write word, or one of cents: [low, high],"
        " integer: [low, high], choice: [texts], literal: text, generator: name,"
        " schedules: {writes, kinds}",
    ),
]


class SubmissionRules(SpecModel):
    """Which files of a submission count, and how many and how large they may be."""

    include: tuple[Glob, ...] = Field(min_length=1)
    exclude: tuple[Glob, ...] = ()
    max_files: int = Field(default=500, ge=1, le=10_000)
    max_bytes: int = Field(default=8 * 1024 * 1024, ge=1, le=64 * 1024 * 1024)


class BuildRules(SpecModel):
    """How a submission is compiled."""

    kind: Literal["java17"]
    source_root: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)*$")]
    timeout_seconds: int = Field(default=120, ge=1, le=3600)
    heap_mib: int = Field(default=512, ge=16, le=65536, alias="heapMiB")


class Parameter(SpecModel):
    """A limit that a job may set."""

    default: str
    pattern: str
    description: str = Field(min_length=1)

    @field_validator("pattern")
    @classmethod
    def _compiles(cls, pattern: str) -> str:
        try:
            re.compile(pattern)
        except re.error as error:
            raise ValueError(f"is not a regular expression: {error}") from None
        return pattern

    @model_validator(mode="after")
    def _default_matches(self) -> Self:
        if not re.fullmatch(self.pattern, self.default):
            raise ValueError(f"the default {self.default!r} does not match its own pattern")
        return self


class TestDefinition(SpecModel):
    """One hidden test: a driver method, what it is given, how its doubles answer."""

    __test__ = False

    id: Name
    method: Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_]{0,31}$")]
    discriminates: bool = False
    """Whether the null submission must fail it."""
    inputs: Mapping[Key, InputSpec] = {}
    doubles: Mapping[Key, tuple[Policy, ...]] = {}
    """Double's method -> policies of its calls in order; the last repeats."""
    compare: Literal["ordered", "multiset"] = "ordered"
    """Default: `multiset` if any policy holds, else `ordered`."""
    ignore: tuple[Key, ...] = ()
    tolerance: Mapping[Key, str] = {}
    alternatives: int = Field(default=1, ge=1, le=16)
    """How many different right transcripts `suite pin` may record for one draw."""

    @model_validator(mode="before")
    @classmethod
    def _default_comparison(cls, data: Any) -> Any:
        if isinstance(data, dict) and "compare" not in data:
            doubles = data.get("doubles")
            policies = doubles.values() if isinstance(doubles, dict) else ()
            held = any("hold" in str(policy) for one in policies for policy in one or ())
            return {**data, "compare": "multiset" if held else "ordered"}
        return data

    @field_validator("method")
    @classmethod
    def _neutral(cls, method: str) -> str:
        return _require_neutral(method)

    @field_validator("doubles")
    @classmethod
    def _some_policy(cls, doubles: Mapping[str, tuple[str, ...]]) -> Mapping[str, tuple[str, ...]]:
        for method, policies in doubles.items():
            if not policies:
                raise ValueError(
                    f"{method!r} has no policy; leave it out to have every call answered"
                )
        return doubles

    @field_validator("tolerance")
    @classmethod
    def _decimals(cls, tolerance: Mapping[str, str]) -> Mapping[str, str]:
        for key, value in tolerance.items():
            try:
                usable = Decimal(value).is_finite() and Decimal(value) >= 0
            except InvalidOperation:
                usable = False
            if not usable:
                raise ValueError(f"{key!r} is {value!r}, not a decimal number of at least 0")
        return tolerance


class Group(SpecModel):
    """Tests that share a driver class and run in one process, in order."""

    name: Name
    driver: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9]*(\.[A-Za-z][A-Za-z0-9]*)+$")]
    repeats: int = Field(default=1, ge=1, le=10)
    """Runs of the group; a test passes only if it passes in each."""
    inputs: Mapping[Key, InputSpec] = {}
    """Inputs of every test of the group; a test's own inputs win."""
    tests: tuple[TestDefinition, ...] = Field(min_length=1)

    @field_validator("driver")
    @classmethod
    def _neutral(cls, driver: str) -> str:
        return _require_neutral(driver)

    @model_validator(mode="after")
    def _unique(self) -> Self:
        _require_unique("test", [test.id for test in self.tests])
        return self

    def inputs_of(self, test: TestDefinition) -> dict[str, InputSpec]:
        """The group's inputs and the test's, which win."""
        return {**self.inputs, **test.inputs}

    def rounds_of(self, test: TestDefinition) -> tuple[str, Rounds] | None:
        """The input of a test that has schedules, if there is one, and which they are."""
        for name, spec in self.inputs_of(test).items():
            if isinstance(spec, Scheduled):
                return name, spec.schedules
        return None

    def share_of(self, test: TestDefinition, kind: str, repeat: int) -> Share | None:
        """What a repeat of a test has of a kind's schedules; None: none, as it is strict."""
        parts = max(1, self.repeats - 1)
        if repeat >= parts:
            return None
        family = next(one for where, one in self._kinds(covers=None) if where == (test.id, kind))
        peers = [
            where for where, one in self._kinds(covers=True) if one == family and where[1] == kind
        ]
        if (test.id, kind) not in peers:
            return Share(repeat, parts)
        slot = peers.index((test.id, kind)) * parts + repeat
        return Share(repeat, parts, slot, len(peers) * parts)

    def _kinds(self, *, covers: bool | None) -> Iterator[tuple[tuple[str, str], Family]]:
        """((test's id, name of the kind), its schedules) of those that cover them, or of all."""
        for test in self.tests:
            found = self.rounds_of(test)
            if found is not None:
                _, rounds = found
                for name, family in rounds.families().items():
                    if covers is None or rounds.kinds[name].covers == covers:
                        yield (test.id, name), family

    @model_validator(mode="after")
    def _one_schedule(self) -> Self:
        for test in self.tests:
            inputs = self.inputs_of(test).values()
            if sum(isinstance(spec, Scheduled) for spec in inputs) > 1:
                raise ValueError(f"{test.id!r} has two inputs of schedules; one is what fits")
        return self


class Task(SpecModel):
    """A selection of groups under a name."""

    groups: tuple[Name, ...] = Field(min_length=1)


class SuiteDefinition(SpecModel):
    """A suite folder's `suite.yaml`."""

    schema_: Literal["gradekeeper.suite/v1"] = Field(alias="schema")
    name: Annotated[str, StringConstraints(pattern=_LABEL, min_length=1, max_length=SUITE_NAME_MAX)]
    version: Annotated[str, StringConstraints(pattern=r"^[0-9A-Za-z][0-9A-Za-z.+-]{0,63}$")]
    lane: Literal["java17"]
    base: str = Field(min_length=1)
    """The starting repository, relative to the folder."""
    submission: SubmissionRules
    build: BuildRules
    limits: SuiteLimits = SuiteLimits()
    resources: SuiteResources
    parameters: Mapping[str, Parameter] = {}
    tasks: Mapping[
        Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._/-]{1,253}$")], Task
    ] = {}
    groups: tuple[Group, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        _require_unique("group", [group.name for group in self.groups])
        known = {group.name for group in self.groups}
        for name, task in self.tasks.items():
            missing = sorted(set(task.groups) - known)
            if missing:
                raise ValueError(f"task {name!r} names groups that do not exist: {missing}")
            _require_unique(f"group in task {name!r}", list(task.groups))
        for name, tests in self.tests().items():
            if len(tests) > MAX_TESTS:
                raise ValueError(f"task {name!r} has {len(tests)} tests; at most {MAX_TESTS} fit")
            if not any(test.discriminates for _, test in tests):
                raise ValueError(f"task {name!r} has no test that the null submission must fail")
        limits = dump(self.limits)
        for name, parameter in self.parameters.items():
            if name not in limits:
                raise ValueError(f"parameter {name!r} is not a limit; known are {sorted(limits)}")
            if str(limits[name]) != parameter.default:
                raise ValueError(
                    f"parameter {name!r} defaults to {parameter.default!r}, but the limit is"
                    f" {limits[name]}"
                )
        self._times()
        self._memory()
        return self

    def _times(self) -> None:
        limits = self.limits
        if not (
            limits.test_timeout_seconds
            <= limits.run_timeout_seconds
            <= limits.suite_timeout_seconds
        ):
            raise ValueError("a test's time must fit into a run's, and a run's into the suite's")

    def _memory(self) -> None:
        # The operator refuses the suite for these; its author should learn of them first.
        problems = resource_problems(
            self.limits, self.resources, build_heap_mib=self.build.heap_mib
        )
        volume = volume_needs(self.submission.max_files, self.submission.max_bytes)
        if volume > LANE_VOLUME_MIB:
            problems.append(
                f"submission.maxFiles and submission.maxBytes need {volume} MiB with all that is"
                f" beside a submission; the volume that the lane reads has {LANE_VOLUME_MIB} MiB."
            )
        if problems:
            raise ValueError(" ".join(problems))

    def tests(self) -> dict[str, list[tuple[str, TestDefinition]]]:
        """Task -> (full id, test) in order; without tasks the single task "" has every group."""
        groups = {group.name: group for group in self.groups}
        chosen = {name: task.groups for name, task in self.tasks.items()} or {"": tuple(groups)}
        return {
            task: [(f"{name}/{test.id}", test) for name in names for test in groups[name].tests]
            for task, names in chosen.items()
        }

    def every_test(self) -> Iterator[tuple[str, Group, TestDefinition]]:
        """(full id, group, test) of the whole suite, in order."""
        for group in self.groups:
            for test in group.tests:
                yield f"{group.name}/{test.id}", group, test

    def for_referee(self) -> dict[str, Any]:
        """`suite.json`: everything but what only authors need (base, inputs, alternatives)."""
        document = dump(self)
        document["schema"] = document.pop("schema_", SCHEMA)
        del document["base"]
        for group, defined in zip(document["groups"], self.groups, strict=True):
            group.pop("inputs", None)
            for test, one in zip(group["tests"], defined.tests, strict=True):
                rounds = defined.rounds_of(one)
                if rounds is not None:
                    name, spec = rounds
                    test["schedule"] = {"input": name, "writes": sorted(spec.writes)}
                test.pop("inputs", None)
                test.pop("alternatives", None)
        return document


def load_suite(folder: Path | str) -> SuiteDefinition:
    """Read and check a suite folder's `suite.yaml`.

    Raises:
        DefinitionError: it is missing, not YAML, or does not say what it must; the text lists
            every place that is wrong.
    """
    path = Path(folder) / "suite.yaml"
    document = load_yaml(path)
    try:
        definition = SuiteDefinition.model_validate(document)
    except ValidationError as error:
        raise DefinitionError(explain(path, error)) from None
    root = Path(folder)
    if not (root / definition.base).is_dir():
        raise DefinitionError(f"{path}: base: {definition.base} is not a folder")
    for group in definition.groups:
        source = root / "lane" / (group.driver.replace(".", "/") + ".java")
        if not source.is_file():
            raise DefinitionError(f"{path}: group {group.name}: there is no {source}")
    return definition


def load_yaml(path: Path) -> Any:
    """Read one YAML document without tags.

    Raises:
        DefinitionError: missing or not YAML.
    """
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DefinitionError(f"{path} cannot be read: {error.strerror or error}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise DefinitionError(f"{path} is not YAML: {error}") from None


def explain(path: Path, error: ValidationError) -> str:
    """One line for every place of a document that is wrong, and none for what only follows."""
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    missing = {one["loc"] for one in problems if one["type"] == "missing"}
    meant: dict[tuple[int | str, ...], str] = {}
    for one in problems:
        if one["type"] == "extra_forbidden":
            *parent, name = one["loc"]
            absent = [str(loc[-1]) for loc in missing if list(loc[:-1]) == parent]
            for near in difflib.get_close_matches(str(name), absent, n=1):
                meant[one["loc"]] = near
                missing.discard((*parent, near))
    lines = []
    for one in problems:
        place = ".".join(str(part) for part in one["loc"]) or "the document"
        said = one["msg"].removeprefix("Value error, ")
        if one["type"] == "extra_forbidden":
            near = meant.get(one["loc"], "")
            said = "there is no such key" + (f"; {near} is missing, is it meant?" if near else "")
        elif one["type"] == "missing" and one["loc"] not in missing:
            continue
        elif one["type"] == "too_short" and any(_is_within(other, one) for other in problems):
            continue  # its elements were there, but one of them is wrong
        lines.append(f"{path}: {place}: {said}")
    return "\n".join(dict.fromkeys(lines))


def _is_within(inner: ErrorDetails, outer: ErrorDetails) -> bool:
    length = len(outer["loc"])
    return len(inner["loc"]) > length and inner["loc"][:length] == outer["loc"]


def _require_neutral(name: str) -> str:
    found = _TELLING.search(name)
    if found:
        raise ValueError(
            f"{name!r} contains {found.group()!r}: submitted code sees the names of drivers, so"
            " they must not tell what is expected"
        )
    return name


def _require_unique(what: str, names: list[str]) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"every {what} needs a name of its own; used twice: {twice}")
