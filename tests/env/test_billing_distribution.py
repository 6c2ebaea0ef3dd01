"""What is shipped of the billing environment, and what never is."""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tarfile
import zipfile
from email.parser import BytesParser
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "env" / "billing_payment_debug"
SUITE = ROOT / "assets" / "suites" / "billing-payment-debug"
PACKAGE = "billing_payment_debug"


def _build(source: Path, target: str, out: Path) -> Path:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", out],
        cwd=source,
        capture_output=True,
        check=True,
        timeout=120,
    )
    (made,) = out.iterdir()
    return made


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _build(SOURCE, "sdist", tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="module")
def wheels(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The wheel as it is made from the checkout, and as it is made from the sdist."""
    folder = tmp_path_factory.mktemp("wheels")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder / "unpacked", filter="data")
    (unpacked,) = (folder / "unpacked").iterdir()
    return [_build(SOURCE, "wheel", folder / "wheel"), _build(unpacked, "wheel", folder / "again")]


def files_of(distribution: Path) -> dict[str, bytes]:
    if distribution.suffix == ".whl":
        with zipfile.ZipFile(distribution) as archive:
            return {name: archive.read(name) for name in archive.namelist()}
    with tarfile.open(distribution) as archive:
        assert all(member.isfile() for member in archive), "a link would lead nowhere"
        read = {name: archive.extractfile(name) for name in archive.getnames()}
        return {name.partition("/")[2]: file.read() for name, file in read.items() if file}


def packaged() -> dict[str, bytes]:
    """Every file of the package, links followed."""
    folders = [SOURCE / PACKAGE, *(SOURCE / PACKAGE / "assets").iterdir()]
    return {
        f"{PACKAGE}/{(folder / path).relative_to(SOURCE / PACKAGE).as_posix()}": (
            folder / path
        ).read_bytes()
        for folder in folders
        for path in (file.relative_to(folder) for file in folder.rglob("*") if file.is_file())
        if "__pycache__" not in path.parts
    }


def test_both_wheels_hold_the_package_with_its_assets_and_nothing_else(wheels: list[Path]) -> None:
    contents = [files_of(wheel) for wheel in wheels]
    plain = [
        {name: data for name, data in one.items() if ".dist-info/" not in name} for one in contents
    ]

    assert plain[0] == plain[1] == packaged()
    assert {name.split("/")[2] for name in plain[0] if "/assets/" in name} == {
        *("defects", "gold", "task_repo")
    }
    assert sum(name.startswith(f"{PACKAGE}/assets/gold/") for name in plain[0]) == 9
    (metadata,) = (data for name, data in contents[1].items() if name.endswith("/METADATA"))
    needs = BytesParser().parse(io.BytesIO(metadata)).get_all("Requires-Dist") or []
    assert {re.split("[<>=]", need)[0] for need in needs} == {
        *("gradekeeper", "gradekeeper-verifiers", "verifiers", "pydantic", "rich")
    }


def test_no_wheel_knows_the_suite_or_what_maintainers_know(wheels: list[Path]) -> None:
    secrets = [path.read_bytes() for path in (SUITE / "referee").rglob("*") if path.is_file()]
    secrets += [path.read_bytes() for path in (SUITE / "lane").rglob("*.java")]
    secrets += [path.read_bytes() for path in (SUITE / "generators").glob("*.py")]
    secrets += [path.read_bytes() for path in (ROOT / "docs" / "billing").glob("*.md")]
    secrets = [secret for secret in secrets if secret.strip()]
    assert len(secrets) > 20
    for wheel in wheels:
        files = files_of(wheel)
        assert not set(files.values()).intersection(secrets)
        for name, data in files.items():
            assert "manifest" not in name and "pins" not in name and "RED_TEAM" not in name, name
            assert b"guard_" not in data or name.endswith("/scoring.py") or "METADATA" in name, name


def test_the_sdist_has_what_maintainers_know_and_no_expectations(sdist: Path) -> None:
    files = files_of(sdist)
    docs = ROOT / "docs" / "billing"

    assert files.pop("defect_manifest.md") == (docs / "defects.md").read_bytes()
    assert files.pop("RED_TEAM.md") == (docs / "red-team.md").read_bytes()
    assert {name for name in files if not name.startswith(f"{PACKAGE}/")} == {
        *("PKG-INFO", "README.md", "pyproject.toml", ".gitignore")
    }
    assert {name: data for name, data in files.items() if name.startswith(PACKAGE)} == packaged()


def test_a_wheel_that_is_installed_loads_its_tasks(wheels: list[Path], tmp_path: Path) -> None:
    with zipfile.ZipFile(wheels[1]) as archive:
        archive.extractall(tmp_path)
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "import billing_payment_debug\n"
        "from billing_payment_debug import defects\n"
        f"assert defects.__file__.startswith({str(tmp_path)!r})\n"
        "assert not any(name.startswith('verifiers.v1.task') for name in sys.modules)\n"
        "assert billing_payment_debug.__all__ == ['BillingTaskset']\n"
        "import verifiers.v1 as vf\n"
        "from verifiers.v1.utils.loaders import taskset_class\n"
        "taskset = taskset_class('billing-payment-debug')\n"
        "assert taskset is billing_payment_debug.BillingTaskset\n"
        "from billing_payment_debug.taskset import BillingTasksetConfig\n"
        "tasks = list(taskset(BillingTasksetConfig(num_sampled_tasks=2)))\n"
        "print(*(task.data.name.rpartition('-')[2] for task in tasks))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["tickets", "minimal", "s0", "s1"]
