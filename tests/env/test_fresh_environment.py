"""What a reader of the READMEs has after `pip install`: the three packages and what they name.

What they need is not downloaded again (it is half a gigabyte): the distributions that follow from
their metadata, and no others of this environment, are linked into the new one.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from email.parser import BytesParser
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from guide import ROOT, blocks, shown_files

README = ROOT / "env" / "billing_payment_debug" / "README.md"
SETTINGS = "docs/examples/billing/cluster.toml"
SOURCES = (ROOT, ROOT / "env" / "gradekeeper_verifiers", ROOT / "env" / "billing_payment_debug")
OURS = {"gradekeeper", "gradekeeper-verifiers", "billing-payment-debug"}
# verifiers is here without a script of its own, which another folder holds.
VF_EVAL = (
    "import sys; from importlib.metadata import entry_points;"
    "(script,) = entry_points(group='console_scripts', name='vf-eval'); sys.exit(script.load()())"
)


@dataclass(frozen=True)
class Fresh:
    """A virtual environment, and a folder to work in that has nothing of the checkout."""

    scripts: Path
    folder: Path
    installed: str

    def run(self, program: str, *arguments: str) -> str:
        """What a program of the environment prints."""
        done = subprocess.run(
            [self.scripts / program, *arguments],
            cwd=self.folder,
            env={"PATH": os.environ["PATH"], "HOME": str(self.folder), "COLUMNS": "200"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        return done.stdout + done.stderr


def build(source: Path, folder: Path) -> Path:
    """The wheel of a source tree."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder]
    subprocess.run(command, cwd=source, capture_output=True, check=True, timeout=120)
    (wheel,) = folder.iterdir()
    return wheel


def needs_of(wheel: Path) -> list[str]:
    """What a wheel requires."""
    with zipfile.ZipFile(wheel) as files:
        (name,) = (n for n in files.namelist() if n.endswith(".dist-info/METADATA"))
        return BytesParser().parsebytes(files.read(name)).get_all("Requires-Dist") or []


def follow(texts: Iterable[str]) -> set[str]:
    """Names of all distributions that requirements lead to, ours left out."""
    found: set[tuple[str, str]] = set()
    left = [(Requirement(text), "") for text in texts]
    while left:
        need, of = left.pop()
        if need.marker is not None and not need.marker.evaluate({"extra": of}):
            continue
        name = canonicalize_name(need.name)
        for extra in ("", *need.extras):
            if name not in OURS and (name, extra) not in found:
                found.add((name, extra))
                left += [(Requirement(text), extra) for text in metadata.requires(name) or []]
    return {name for name, _ in found}


def lend(names: Iterable[str], folder: Path) -> None:
    """Link distributions of this environment into a folder."""
    folder.mkdir()
    for name in names:
        distribution = metadata.distribution(name)
        tops = {file.parts[0] for file in distribution.files or [] if file.parts[0] != ".."}
        for top in tops - {"__pycache__"}:
            if not (folder / top).exists():
                (folder / top).symlink_to(Path(str(distribution.locate_file(top))))


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Fresh:
    folder = tmp_path_factory.mktemp("fresh")
    wheels = [build(source, folder / f"wheel-{source.name}") for source in SOURCES]
    place = folder / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True, timeout=60)
    site = sysconfig.get_path("purelib", "venv", {"base": str(place), "platbase": str(place)})
    lend(follow(need for wheel in wheels for need in needs_of(wheel)), folder / "lent")
    (Path(site) / "lent.pth").write_text(f"{folder / 'lent'}\n")
    pip = [sys.executable, "-m", "pip", "--python", place, "--disable-pip-version-check"]
    # Without an index: what no metadata names is not to be found, and no stranger's is taken.
    for arguments in (["install", "--no-index", *wheels], ["check"]):
        done = subprocess.run(
            [*pip, *arguments], capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
    (folder / "work").mkdir()
    return Fresh(place / "bin", folder / "work", site)


def test_the_packages_are_its_own_and_what_tests_need_is_not_there(fresh: Fresh) -> None:
    code = (
        "import importlib.util, billing_payment_debug, gradekeeper, gradekeeper_verifiers\n"
        "for module in (billing_payment_debug, gradekeeper, gradekeeper_verifiers):\n"
        "    print(module.__file__)\n"
        "print(importlib.util.find_spec('pytest'))\n"
    )
    *files, missing = fresh.run("python", "-c", code).splitlines()

    assert missing == "None"
    assert len(files) == 3 and all(file.startswith(fresh.installed) for file in files)


def test_the_readme_prints_its_settings_as_they_are() -> None:
    assert shown_files(README) == {SETTINGS: (ROOT / SETTINGS).read_text()}


def test_the_evaluation_of_the_readme_is_set_up_as_it_says(fresh: Fresh) -> None:
    (block,) = (text for text in blocks(README, "console") if SETTINGS in text)
    (command,) = re.findall(r"^\$ vf-eval ((?:.*\\\n)*.*)$", block, re.MULTILINE)
    words = [
        "IMAGE" if word.startswith("$(") else word
        for word in shlex.split(command.replace("\\\n", ""))
    ]
    settings = fresh.folder / SETTINGS
    settings.parent.mkdir(parents=True)
    shutil.copyfile(ROOT / SETTINGS, settings)
    fresh.run("python", "-c", VF_EVAL, *words, "--dry-run")

    (resolved,) = fresh.folder.rglob("eval.json")
    environment = json.loads(resolved.read_text())["env"]
    runtime, taskset = environment["agent"]["runtime"], environment["taskset"]
    assert (runtime["type"], runtime["namespace"], runtime["memory"]) == (
        *("kubernetes", "rollouts", 0.5),
    )
    assert environment["agent"]["harness"]["id"] == "gradekeeper_bash"
    assert (taskset["id"], taskset["image"]) == ("billing-payment-debug", "IMAGE")
    grading = taskset["task"]["grading"]
    assert (grading["suite"], grading["namespace"]) == ("billing-payment-debug", "grading")
    assert grading["public_keys"] == ["verdict.pub"]


def test_the_programs_know_their_commands(fresh: Fresh) -> None:
    assert "self-check" in fresh.run("gradekeeper-billing", "--help")
    assert "sweep" in fresh.run("gradekeeper", "--help")


def test_its_tasks_are_loaded(fresh: Fresh) -> None:
    code = (
        "from verifiers.v1.utils.loaders import harness_class, taskset_class\n"
        "import verifiers.v1.runtimes as runtimes\n"
        "assert 'KubernetesConfig' in str(runtimes.RuntimeConfig)\n"
        "harness_class('gradekeeper_bash')\n"
        "taskset = taskset_class('billing-payment-debug')\n"
        "from billing_payment_debug.taskset import BillingTasksetConfig\n"
        "tasks = taskset(BillingTasksetConfig(num_sampled_tasks=1))\n"
        "print(*(len(task.repository()) > 9 and task.data.name for task in tasks))\n"
    )
    assert fresh.run("python", "-c", code).split()[:2] == [
        "billing-debug-tickets",
        "billing-debug-minimal",
    ]
