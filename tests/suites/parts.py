"""The parts of a suite that a scenario is about.

Grading every scenario against all groups takes a quarter of an hour and is what `gradekeeper suite
check` does. What a scenario does to one service cannot reach the tests of another, so in tests it
is graded against the groups whose files it changes and those that it names.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import yaml

from gradekeeper.suites.defects import load_defects
from gradekeeper.suites.definition import SuiteDefinition, load_suite
from gradekeeper.suites.trees import Scenario, read_tree

ALL = "all"


def groups_by_file(folder: Path) -> dict[str, set[str]]:
    """Path of a file that a defect is in -> the groups that are about it."""
    found: dict[str, set[str]] = {}
    for defect in load_defects(folder):
        for hunk in defect.hunks:
            found.setdefault(hunk.path, set()).add(defect.name)
    return found


def concerned(folder: Path, scenario: Scenario, files: Mapping[str, set[str]]) -> frozenset[str]:
    """Names of groups; all of them where the scenario changes anything else than such files."""
    everything = frozenset(group.name for group in load_suite(folder).groups)
    overlays = [overlay for overlay in scenario.folders() if overlay]
    if scenario.generate or scenario.delete or scenario.links or "gold" in overlays:
        return everything
    expect = scenario.expect
    globs = (*expect.fails, *expect.except_, *expect.open)
    named = {glob.partition("/")[0] for glob in globs} - {"*"}
    if named - everything:
        return everything
    changed = {path for one in overlays for path in read_tree(folder / "submissions" / one)}
    if (not changed and not scenario.repairs) or changed - files.keys():
        return everything
    about = {group for path in changed for group in files[path]}
    return frozenset(about | named | set(scenario.repairs)) & everything or everything


def task_of(groups: frozenset[str], definition: SuiteDefinition) -> str:
    """The name of the task that has just these groups."""
    if len(groups) == len(definition.groups):
        return ALL
    return "-".join(sorted(groups)).replace("_", "-")


def write_parts(folder: Path, target: Path, wanted: Mapping[str, frozenset[str]]) -> Path:
    """Write a suite folder like `folder`, with a task for each wanted set of groups.

    Args:
        folder: of the suite.
        target: to be made.
        wanted: task name -> its groups.

    Returns:
        The target.
    """
    target.mkdir()
    for entry in folder.iterdir():
        if entry.name != "suite.yaml":
            (target / entry.name).symlink_to(entry.resolve())
    document = yaml.safe_load((folder / "suite.yaml").read_text())
    document["base"] = str((folder / document["base"]).resolve())
    order = [group["name"] for group in document["groups"]]
    document["tasks"] = {
        name: {"groups": [group for group in order if group in groups]}
        for name, groups in wanted.items()
    }
    (target / "suite.yaml").write_text(yaml.safe_dump(document, sort_keys=False))
    return target
