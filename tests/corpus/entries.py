"""The corpus of a suite: wrong and right repairs, each a change of gold and a sentence why.

`corpus/*.yaml` of a suite folder list the entries under `wrong` and `right`. An entry is a patch
`corpus/<side>/<name>.patch` of gold, applied as a defect's patch is, or a folder
`corpus/<side>/<name>` of whole files that are laid over gold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, ValidationError

from gradekeeper.api.schema import SpecModel
from gradekeeper.suites.defects import apply_hunks, read_patch
from gradekeeper.suites.definition import explain, load_suite, load_yaml
from gradekeeper.suites.errors import DefinitionError
from gradekeeper.suites.trees import GOLD, Tree, read_tree, submission_tree

CORPUS = "corpus"
Side = Literal["wrong", "right"]
SIDES: tuple[Side, ...] = ("wrong", "right")


class Listed(SpecModel):
    """One entry as a list tells it."""

    name: Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{0,60}$")]
    kind: str = Field(min_length=3, max_length=60)
    """What sort of mistake or style it is; entries of one kind are counted together."""
    why: str = Field(min_length=40)
    """The rule of README that makes it wrong or right; for a wrong one, what goes wrong."""


class Lists(SpecModel):
    """One `corpus/*.yaml`."""

    wrong: tuple[Listed, ...] = ()
    right: tuple[Listed, ...] = ()


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry.

    Attributes:
        side: Whether its grading must fail a test or pass all.
        name: No two entries have the same, whatever their sides.
        kind: What sort of mistake or style it is.
        why: A sentence or two, by README alone.
        source: Its patch or folder.
    """

    side: Side
    name: str
    kind: str
    why: str
    source: Path


def load_corpus(folder: Path) -> tuple[Entry, ...]:
    """Read the entries of a suite folder, wrong ones first, in the order of the lists.

    Raises:
        DefinitionError: a list is not what it must be, a name is used twice, an entry has no
            patch or folder or both, or there is one that no list names.
    """
    root = folder / CORPUS
    lists = []
    for path in sorted(root.glob("*.yaml")):
        try:
            lists.append(Lists.model_validate(load_yaml(path)))
        except ValidationError as error:
            raise DefinitionError(explain(path, error)) from None
    entries = [
        Entry(side, listed.name, listed.kind, " ".join(listed.why.split()), root / side)
        for side in SIDES
        for one in lists
        for listed in (one.wrong if side == "wrong" else one.right)
    ]
    twice = sorted(name for name, n in Counter(one.name for one in entries).items() if n > 1)
    if twice:
        raise DefinitionError(f"{root}: entries need names of their own; used twice: {twice}")
    found = [(side, path) for side in SIDES for path in (root / side).iterdir()]
    places = Counter((side, path.name.removesuffix(".patch")) for side, path in found)
    named = {(one.side, one.name) for one in entries}
    for side, name in sorted(places.keys() | named):
        if (side, name) not in named or places[side, name] != 1:
            raise DefinitionError(
                f"{root}/{side}/{name}: an entry needs one patch or folder and a line in a list"
            )
    paths = {(side, path.name.removesuffix(".patch")): path for side, path in found}
    return tuple(
        Entry(one.side, one.name, one.kind, one.why, paths[one.side, one.name]) for one in entries
    )


def gold_tree(folder: Path) -> Tree:
    """All files of a suite folder's gold."""
    return submission_tree(folder, load_suite(folder), [GOLD])


def entry_tree(entry: Entry, gold: Tree) -> Tree:
    """All files of an entry: gold with its change.

    Raises:
        DefinitionError: its patch does not apply to this gold, or nothing is changed.
    """
    if entry.source.is_dir():
        changed = {**gold, **read_tree(entry.source)}
    else:
        contents = {name: content for name, (content, _) in gold.items()}
        try:
            repaired = apply_hunks(contents, read_patch(entry.source))
        except DefinitionError as error:
            raise DefinitionError(f"{entry.side}/{entry.name}: {error}") from None
        changed = {name: (repaired[name], executable) for name, (_, executable) in gold.items()}
    if changed == gold:
        raise DefinitionError(f"{entry.side}/{entry.name} does not differ from gold")
    return changed


def touched(tree: Tree, gold: Tree) -> tuple[str, ...]:
    """Names of the classes whose files an entry changes.

    Files that gold lacks are only counted.
    """
    names = [PurePosixPath(path).stem for path in tree if path in gold and tree[path] != gold[path]]
    added = len(tree.keys() - gold.keys())
    more = [f"{added} new file" + "s" * (added > 1)] if added else []
    return (*sorted(names), *more)


BILLS = frozenset({"coupons", "coupon_dedup", "line_rounding"})
"""Groups whose tests write bills: lines, coupons, taxes and invoices are on each of them."""


def groups_of(tree: Tree, gold: Tree, files: Mapping[str, set[str]]) -> frozenset[str] | None:
    """Groups whose tests an entry's changes can reach.

    Args:
        tree: The entry.
        gold: Gold.
        files: Path of a file that a defect is in -> the groups that are about it.

    Returns:
        Names of groups; None, for all, where another file than those is changed or added.
    """
    changed = {path for path in tree if tree[path] != gold.get(path)}
    if changed - files.keys():
        return None
    about = frozenset().union(*(files[path] for path in changed))
    return about | BILLS if about & BILLS or "tax" in about else about
