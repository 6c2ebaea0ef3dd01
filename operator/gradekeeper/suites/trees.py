"""Submissions of a suite folder: the starting repository and overlays, as deterministic tar.gz.

The archive is not compressed (gzip with stored blocks), so that its digest, which is part of the
suite's, depends on no version of a compressor.
"""

import gzip
import io
import tarfile
from collections.abc import Collection, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Annotated, Final, Literal

from pydantic import Field, StringConstraints, ValidationError, model_validator

from gradekeeper.api.reasons import Decision, Reason
from gradekeeper.api.schema import SpecModel
from gradekeeper.suites.defects import apply_hunks, hunks_of, load_defects
from gradekeeper.suites.definition import SuiteDefinition, explain, load_suite, load_yaml
from gradekeeper.suites.errors import DefinitionError
from gradekeeper.suites.peers import PEERS, build_peer

GOLD: Final = "gold"
NULL: Final = "null"
ONLY: Final = "only-"
"""A submission `only-<defect>` is gold with that defect left in it."""
_LEFT_OUT = {"build", ".git", "__pycache__", ".gitkeep", ".DS_Store"}

Tree = dict[str, tuple[bytes, bool]]
"""Path with `/` -> (content, whether its owner may execute it)."""


class Generate(SpecModel):
    """Files that are made instead of kept: `{n}` in path and text counts from 1."""

    count: int = Field(ge=1, le=20_000)
    path: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_./-]*\{n\}[A-Za-z0-9_./-]*$")]
    text: str = ""
    times: int = Field(default=1, ge=1, le=10_000_000)
    """How often the text stands in each file."""


Demand = Literal["pass", "fail", "open"]


class Expectation(SpecModel):
    """What a scenario's grading must say."""

    decision: Literal[Decision.GRADED, Decision.REJECTED] = Decision.GRADED
    reason: Reason = Reason.COMPLETED
    fails: tuple[str, ...] = ()
    """Globs of full test ids that must not pass; `*` also spans the slash."""
    except_: tuple[str, ...] = Field(default=(), alias="except")
    """Globs of ids that must pass although `fails` names them."""
    open: tuple[str, ...] = ()
    """Globs of ids that may pass or fail, whatever else names them. All others must pass."""

    def demand(self, test_id: str) -> Demand:
        """What must become of a test."""
        if _matches(test_id, self.open):
            return "open"
        if _matches(test_id, self.fails) and not _matches(test_id, self.except_):
            return "fail"
        return "pass"


class Scenario(SpecModel):
    """A submission whose grading is known in advance."""

    name: Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{0,40}$")]
    simulates: str = Field(min_length=1)
    overlays: tuple[str, ...] | None = None
    """Folders below submissions/, laid over the starting repository in order; default:
    `scenarios/<name>`."""
    repairs: tuple[str, ...] = ()
    """Defects that are repaired before the overlays are laid over."""
    generate: Generate | None = None
    delete: tuple[str, ...] = ()
    """Globs of paths that are left out in the end; `*` also spans slashes."""
    links: Mapping[str, str] = {}
    """Symbolic links that the archive has besides: path -> target."""
    parameters: Mapping[str, str] = {}
    expect: Expectation

    def folders(self) -> tuple[str, ...]:
        """The overlays, with the default filled in."""
        return (f"scenarios/{self.name}",) if self.overlays is None else self.overlays


class Scenarios(SpecModel):
    """`submissions/scenarios.yaml`."""

    scenarios: tuple[Scenario, ...]

    @model_validator(mode="after")
    def _unique(self) -> "Scenarios":
        names = [scenario.name for scenario in self.scenarios]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"scenarios need names of their own; used twice: {twice}")
        if {GOLD, NULL, *PEERS} & set(names) or any(name.startswith(ONLY) for name in names):
            raise ValueError(
                f"{GOLD}, {NULL}, {', '.join(PEERS)} and {ONLY}… are submissions of every suite,"
                " not scenarios"
            )
        return self


def _matches(text: str, globs: Sequence[str]) -> bool:
    return any(fnmatchcase(text, glob) for glob in globs)


def load_scenarios(folder: Path) -> tuple[Scenario, ...]:
    """Read a suite folder's scenarios; a suite may have none.

    Raises:
        DefinitionError: not what it must be, or an overlay that does not exist.
    """
    path = folder / "submissions" / "scenarios.yaml"
    if not path.exists():
        return ()
    try:
        scenarios = Scenarios.model_validate(load_yaml(path)).scenarios
    except ValidationError as error:
        raise DefinitionError(explain(path, error)) from None
    defects = load_defects(folder)
    for scenario in scenarios:
        try:
            hunks_of(defects, scenario.repairs)
        except DefinitionError as error:
            raise DefinitionError(f"{path}: {scenario.name}: {error}") from None
        for overlay in scenario.folders():
            if not (folder / "submissions" / overlay).is_dir():
                raise DefinitionError(
                    f"{path}: {scenario.name}: there is no folder submissions/{overlay}"
                )
    return scenarios


def read_tree(folder: Path) -> Tree:
    """Every regular file below a folder, without build output.

    Raises:
        DefinitionError: the folder holds a link or a special file.
    """
    tree: Tree = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if _LEFT_OUT.intersection(name.parts):
            continue
        if path.is_symlink() or not (path.is_file() or path.is_dir()):
            raise DefinitionError(f"{path} is neither a file nor a folder")
        if path.is_file():
            tree[name.as_posix()] = (path.read_bytes(), bool(path.stat().st_mode & 0o100))
    return tree


def submission_tree(
    folder: Path,
    definition: SuiteDefinition,
    overlays: Sequence[str],
    generate: Generate | None = None,
    repairs: Collection[str] = (),
) -> Tree:
    """The starting repository, some defects repaired, with overlays of `submissions/` over it.

    Raises:
        DefinitionError: there is no such defect, or its patch does not apply.
    """
    tree = read_tree(folder / definition.base)
    if repairs:
        contents = {name: content for name, (content, _) in tree.items()}
        repaired = apply_hunks(contents, hunks_of(load_defects(folder), repairs))
        tree = {name: (repaired[name], executable) for name, (_, executable) in tree.items()}
    for overlay in overlays:
        tree.update(read_tree(folder / "submissions" / overlay))
    if generate is not None:
        for number in range(1, generate.count + 1):
            name = PurePosixPath(generate.path.replace("{n}", str(number))).as_posix()
            text = generate.text.replace("{n}", str(number)) * generate.times
            tree[name] = (text.encode(), False)
    return tree


def builtin_tree(folder: Path, definition: SuiteDefinition, name: str) -> Tree:
    """All files of gold or null.

    Raises:
        DefinitionError: its folder does not exist.
    """
    if not (folder / "submissions" / name).is_dir():
        raise DefinitionError(
            f"{folder}: there is no folder submissions/{name}; what is in it is laid over the"
            " starting repository (git keeps no empty folder: put an empty .gitkeep into it)"
        )
    return submission_tree(folder, definition, [name])


def scenario_tree(folder: Path, definition: SuiteDefinition, scenario: Scenario) -> Tree:
    """All files of a scenario's submission; its links are not among them.

    Raises:
        DefinitionError: as `submission_tree`.
    """
    tree = submission_tree(
        folder, definition, scenario.folders(), scenario.generate, scenario.repairs
    )
    return {path: file for path, file in tree.items() if not _matches(path, scenario.delete)}


def archive_tree(tree: Tree, links: Mapping[str, str] | None = None) -> bytes:
    """One tar.gz, the same bytes for the same files on every machine.

    Args:
        tree: The files.
        links: Symbolic links, path -> target; the archive ends with them.
    """
    out = io.BytesIO()
    with (
        gzip.GzipFile(filename="", mode="wb", fileobj=out, compresslevel=0, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for name in sorted(tree):
            content, executable = tree[name]
            member = tarfile.TarInfo(name)
            member.size = len(content)
            member.mode = 0o755 if executable else 0o644
            archive.addfile(member, io.BytesIO(content))
        for name, target in sorted((links or {}).items()):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = tarfile.SYMTYPE, target
            archive.addfile(member)
    return out.getvalue()


def build_submission(folder: Path | str, name: str) -> bytes:
    """The complete submission `gold`, `null`, `only-<defect>`, a peer or a scenario's, as tar.gz.

    Raises:
        DefinitionError: the suite has no such submission.
        ToolError: a peer cannot be made: no JDK 17.
    """
    root = Path(folder)
    definition = load_suite(root)
    if name in (GOLD, NULL):
        return archive_tree(builtin_tree(root, definition, name))
    if name in PEERS:
        gold = submission_tree(root, definition, [GOLD])
        return archive_tree(build_peer(name, gold, read_tree(root / "submissions" / GOLD)))
    defects = [defect.name for defect in load_defects(root)]
    if name.removeprefix(ONLY) in defects and name.startswith(ONLY):
        repairs = set(defects) - {name.removeprefix(ONLY)}
        return archive_tree(submission_tree(root, definition, [], repairs=repairs))
    for scenario in load_scenarios(root):
        if scenario.name == name:
            return archive_tree(scenario_tree(root, definition, scenario), scenario.links)
    known = [
        *(GOLD, NULL, *PEERS),
        *(f"{ONLY}{defect}" for defect in defects),
        *(scenario.name for scenario in load_scenarios(root)),
    ]
    raise DefinitionError(f"{root} has no submission {name!r}; it has {', '.join(known)}")
