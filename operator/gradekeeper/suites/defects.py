"""Defects of a starting repository, one by one: patches that repair them, and what each breaks.

`submissions/defects.yaml` names the defects, `submissions/defects/<name>.patch` repairs one. All
patches together turn the starting repository into gold, so that each half of the suite proves the
other: a repository with one defect left must fail that defect's tests and no other.

Pure but for `load_defects`. A hunk is found by its lines, never by its line number: it belongs
where its old lines stand in the file exactly once, whatever else was repaired before.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

from pydantic import Field, StringConstraints, ValidationError, model_validator

from gradekeeper.api.schema import SpecModel
from gradekeeper.suites.definition import Glob, explain, load_yaml
from gradekeeper.suites.errors import DefinitionError

DEFECTS: Final = "defects"
"""Of `submissions/`: the folder with patches, and with `.yaml` the list."""

_HEADER: Final = re.compile(r"^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_HINT: Final = "write it anew with `diff -u` or `git diff` of the starting repository and gold"


@dataclass(frozen=True, slots=True)
class Hunk:
    """One place of one file.

    Attributes:
        path: The file, from the root of the repository.
        before: Its lines there with the defect, each with its line end.
        after: The lines without it.
    """

    path: str
    before: str
    after: str


class DefectEntry(SpecModel):
    """One defect in `submissions/defects.yaml`."""

    name: Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,35}$")]
    fails: tuple[Glob, ...] = Field(min_length=1)
    """Globs of full test ids: exactly these fail while this defect alone is left."""


class DefectList(SpecModel):
    """`submissions/defects.yaml`."""

    defects: tuple[DefectEntry, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _unique(self) -> "DefectList":
        names = [defect.name for defect in self.defects]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"defects need names of their own; used twice: {twice}")
        return self


@dataclass(frozen=True, slots=True)
class Defect:
    """A defect and its repair.

    Attributes:
        name: As in the list.
        fails: Globs of the tests that fail while this defect alone is left.
        hunks: What repairs it, in order.
    """

    name: str
    fails: tuple[str, ...]
    hunks: tuple[Hunk, ...]

    @property
    def files(self) -> tuple[str, ...]:
        """The files that it is in."""
        return tuple(dict.fromkeys(hunk.path for hunk in self.hunks))


def load_defects(folder: Path) -> tuple[Defect, ...]:
    """Read a suite folder's defects; a suite need not tell them.

    Raises:
        DefinitionError: the list is not what it must be, a patch is missing or damaged, or there
            is one that the list does not name.
    """
    path = folder / "submissions" / f"{DEFECTS}.yaml"
    patches = folder / "submissions" / DEFECTS
    present = {file.stem for file in patches.glob("*.patch")}
    entries: tuple[DefectEntry, ...] = ()
    if path.exists():
        try:
            entries = DefectList.model_validate(load_yaml(path)).defects
        except ValidationError as error:
            raise DefinitionError(explain(path, error)) from None
    listed = {entry.name for entry in entries}
    if present != listed:
        lost = [f"{patches}/{name}.patch does not exist" for name in sorted(listed - present)]
        odd = [f"{patches}/{name}.patch is not in {path}" for name in sorted(present - listed)]
        raise DefinitionError("; ".join(lost + odd))
    return tuple(
        Defect(entry.name, entry.fails, read_patch(patches / f"{entry.name}.patch"))
        for entry in entries
    )


def read_patch(path: Path) -> tuple[Hunk, ...]:
    """Read one patch file.

    Raises:
        DefinitionError: it cannot be read, or is not a patch.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DefinitionError(f"{path} cannot be read: {error}") from None
    return parse_patch(text, source=str(path))


def parse_patch(text: str, *, source: str) -> tuple[Hunk, ...]:
    """The hunks of a unified diff of files that exist on both sides.

    Args:
        text: As `diff -u` and `git diff` write it; paths with or without `a/` and `b/`.
        source: What to call it in an error.

    Raises:
        DefinitionError: something else, or a hunk that has not as many lines as it says.
    """
    hunks: list[Hunk] = []
    path: str | None = None
    lines = enumerate(text.split("\n"), 1)
    for number, line in lines:
        if line.startswith("--- "):
            path = _path(line, next(lines, (number, ""))[1], f"{source}, line {number}")
        elif (header := _HEADER.match(line)) is not None:
            if path is None:
                raise DefinitionError(f"{source}, line {number}: no file is named before this hunk")
            before, after = _hunk(lines, header, f"{source}, line {number}")
            hunks.append(Hunk(path, before, after))
        elif line and not line.startswith(("diff ", "index ")):
            raise DefinitionError(f"{source}, line {number}: {line!r} is no part of a patch")
    if not hunks:
        raise DefinitionError(f"{source} has no hunk; {_HINT}")
    return tuple(hunks)


def apply_hunks(files: Mapping[str, bytes], hunks: Iterable[Hunk]) -> dict[str, bytes]:
    """Files with hunks applied in order.

    Args:
        files: Path -> content.
        hunks: What to change; each must belong to exactly one place.

    Returns:
        All files, the changed ones with new content.

    Raises:
        DefinitionError: a hunk's file does not exist, or its lines stand there never or more than
            once; the text says what to do.
    """
    changed = dict(files)
    for hunk in hunks:
        if hunk.path not in changed:
            raise DefinitionError(f"a hunk repairs {hunk.path}, and there is no such file")
        text = changed[hunk.path].decode("utf-8", errors="surrogateescape")
        places = list(_places(text, hunk.before))
        if len(places) != 1:
            first = hunk.before.strip().split("\n")[0].strip()
            raise DefinitionError(
                f"{hunk.path}: the hunk with {first!r} applies {len(places)} times, not once:"
                + (" give it more lines around" if places else f" the file has changed; {_HINT}")
            )
        start = places[0]
        text = text[:start] + hunk.after + text[start + len(hunk.before) :]
        changed[hunk.path] = text.encode("utf-8", errors="surrogateescape")
    return changed


def hunks_of(defects: Iterable[Defect], names: Collection[str]) -> list[Hunk]:
    """The hunks that repair the named defects, in the defects' order.

    Raises:
        DefinitionError: there is no defect of a name.
    """
    known = list(defects)
    unknown = sorted(set(names) - {defect.name for defect in known})
    if unknown:
        have = ", ".join(defect.name for defect in known) or "none"
        raise DefinitionError(f"there is no defect {unknown[0]!r}; there is {have}")
    return [hunk for defect in known if defect.name in names for hunk in defect.hunks]


def find_patch_problems(
    base: Mapping[str, bytes], gold: Mapping[str, bytes], repairs: Mapping[str, Sequence[Hunk]]
) -> list[str]:
    """What keeps repairs from being exactly the way from base to gold.

    Each must apply by itself, and all together must give gold byte for byte.

    Args:
        base: The starting repository, path -> content.
        gold: All of gold, likewise.
        repairs: Name of a defect -> its hunks.

    Returns:
        One sentence for each problem; none if all is well.
    """
    problems = []
    for name, hunks in repairs.items():
        try:
            apply_hunks(base, hunks)
        except DefinitionError as error:
            problems.append(f"the repair of {name} alone: {error}")
    try:
        repaired = apply_hunks(base, [hunk for hunks in repairs.values() for hunk in hunks])
    except DefinitionError as error:
        return problems or [f"all repairs together: {error}"]
    return problems + [
        f"all repairs together do not give gold: {path}, line"
        f" {_first_difference(repaired.get(path, b''), gold.get(path, b''))}, differs;"
        " add what is missing to a patch, or take what is too much out of gold"
        for path in sorted(repaired.keys() | gold.keys())
        if repaired.get(path) != gold.get(path)
    ]


def _path(old: str, new: str, where: str) -> str:
    def name(line: str) -> str:
        return line[4:].split("\t")[0].strip()

    if not new.startswith("+++ "):
        raise DefinitionError(f"{where}: a line with +++ must follow; {_HINT}")
    before, after = name(old), name(new)
    if before.startswith("a/") and after.startswith("b/"):
        before, after = before[2:], after[2:]
    if before != after:
        raise DefinitionError(
            f"{where}: {before} becomes {after}; a repair changes files that exist before and after"
        )
    return before


def _hunk(lines: Iterator[tuple[int, str]], header: re.Match[str], where: str) -> tuple[str, str]:
    wanted = [int(count) if count is not None else 1 for count in header.groups()]
    sides: tuple[list[str], list[str]] = ([], [])
    while [len(side) for side in sides] != wanted:
        _, line = next(lines, (0, "@"))
        sign, rest = (line[0], line[1:]) if line else (" ", "")
        if sign not in " -+" or any(
            len(side) > most for side, most in zip(sides, wanted, strict=True)
        ):
            raise DefinitionError(f"{where}: the hunk has not as many lines as it says; {_HINT}")
        if sign in " -":
            sides[0].append(rest + "\n")
        if sign in " +":
            sides[1].append(rest + "\n")
    before, after = ("".join(side) for side in sides)
    if not before or before == after:
        raise DefinitionError(f"{where}: the hunk changes no line that is there; {_HINT}")
    return before, after


def _places(text: str, lines: str) -> Iterator[int]:
    """Where whole lines stand in a text."""
    start = text.find(lines)
    while start >= 0:
        if start == 0 or text[start - 1] == "\n":
            yield start
        start = text.find(lines, start + 1)


def _first_difference(one: bytes, other: bytes) -> int:
    pairs = zip(one.split(b"\n"), other.split(b"\n"), strict=False)
    for number, (left, right) in enumerate(pairs, 1):
        if left != right:
            return number
    return min(one.count(b"\n"), other.count(b"\n")) + 2
