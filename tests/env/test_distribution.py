"""What is shipped: without the `.pth` file nobody would know of the runtime."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "env" / "gradekeeper_verifiers"


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
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The wheel as it is made from the checkout, and as it is made from the sdist."""
    folder = tmp_path_factory.mktemp("dist")
    wheel = _build(SOURCE, "wheel", folder / "wheel")
    with tarfile.open(_build(SOURCE, "sdist", folder / "sdist")) as sdist:
        sdist.extractall(folder / "unpacked", filter="data")
    (unpacked,) = (folder / "unpacked").iterdir()
    return wheel, _build(unpacked, "wheel", folder / "again")


def test_both_wheels_hold_the_packages_and_the_line_that_registers(
    built: tuple[Path, Path],
) -> None:
    contents = []
    for wheel in built:
        with zipfile.ZipFile(wheel) as files:
            contents.append(
                {name: files.read(name) for name in files.namelist() if ".dist-info/" not in name}
            )
            (entry_points,) = (n for n in files.namelist() if n.endswith("entry_points.txt"))
            told = files.read(entry_points).decode().strip()
            # One name for it: no script beside the sub-command.
            assert told == "[gradekeeper.commands]\nsweep = gradekeeper_verifiers.sweep:app"
    assert contents[0] == contents[1]
    packages = {path.relative_to(SOURCE).as_posix() for path in SOURCE.glob("gradekeeper_*/*.*")}
    assert set(contents[0]) == {"gradekeeper_verifiers.pth", *packages}
    # site runs lines that begin with `import`, and only those.
    assert contents[0]["gradekeeper_verifiers.pth"].startswith(b"import gradekeeper_verifiers.")


def test_a_wheel_that_is_installed_registers_the_runtime(
    built: tuple[Path, Path], tmp_path: Path
) -> None:
    site = tmp_path / "site"
    with zipfile.ZipFile(built[1]) as files:
        files.extractall(site)
    code = (
        f"import site, sys; sys.meta_path[:] = [f for f in sys.meta_path if "
        f"type(f).__name__ != '_Finder']; "
        f"[sys.modules.pop(m) for m in list(sys.modules) if m.startswith('gradekeeper_')]; "
        f"sys.path.insert(0, {str(site)!r}); site.addsitedir({str(site)!r}); "
        f"import verifiers.v1.runtimes as r, gradekeeper_verifiers; "
        f"assert gradekeeper_verifiers.__file__.startswith({str(site)!r}); "
        f"assert 'KubernetesConfig' in str(r.RuntimeConfig)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )

    assert done.returncode == 0, done.stderr
