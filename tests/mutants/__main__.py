"""`make mutants`: break the code in many places, one at a time; a test must turn red each time.

    python -m mutants [WORD …]        flips whose name has one of the words

Works in a copy of the repository. First every named test must be green there; then, for each
flip, every test that is named for it must fail, and by a failed test, not by code that cannot be
imported. Ends with a table, and with status 1 if anything went unnoticed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.table import Table

from mutants.flips import FLIPS, Flip

ROOT = Path(__file__).resolve().parents[2]
LIMIT_SECONDS = 300


def copy_repository(target: Path) -> None:
    """Copy what git knows, as it is in the working tree."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, timeout=60
    )
    for name in listed.stdout.decode().split("\0"):
        source = ROOT / name
        if name and source.is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target / name)


def outcomes(copy: Path, tests: Sequence[str], *, lanes: bool) -> dict[str, str]:
    """Run tests in the copy.

    Args:
        copy: of the repository.
        tests: pytest ids.
        lanes: whether the lane's programs must be built anew.

    Returns:
        Test id without parameters -> "passed", "failed" if any of its cases failed, or "missing".
    """
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    # The installed package is this checkout; the copy has to come first.
    environment["PYTHONPATH"] = os.pathsep.join(str(copy / part) for part in ("operator", "tests"))
    environment.pop("GRADEKEEPER_LANES", None)
    if not lanes:
        environment["GRADEKEEPER_LANES"] = str(ROOT / "build" / "lanes")
    report = copy / "report.xml"
    report.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]
    if len(tests) > 1:
        command.remove("-x")
    subprocess.run(
        [*command, f"--junitxml={report}", *tests],
        cwd=copy,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    found = dict.fromkeys(tests, "missing")
    if not report.is_file():
        return found
    for case in ElementTree.parse(report).iter("testcase"):
        name = case.get("name", "").partition("[")[0]
        for test in tests:
            path, _, function = test.partition("::")
            if function == name and case.get("classname", "") == path[:-3].replace("/", "."):
                failed = case.find("failure") is not None
                broken = case.find("error") is not None
                if failed:
                    found[test] = "failed"
                elif broken:
                    found[test] = "missing"
                elif found[test] == "missing":
                    found[test] = "passed"
    return found


@contextmanager
def broken(copy: Path, flip: Flip) -> Iterator[None]:
    """The copy with one place flipped.

    Raises:
        ValueError: the text is not there exactly once.
    """
    path = copy / flip.file
    text = path.read_text()
    if text.count(flip.before) != 1:
        raise ValueError(
            f"{flip.file} has the text of {flip.name!r} {text.count(flip.before)} times; "
            "adapt tests/mutants/flips.py to the changed code."
        )
    path.write_text(text.replace(flip.before, flip.after))
    try:
        yield
    finally:
        path.write_text(text)


def main(words: Sequence[str]) -> int:
    """Run; returns the exit status."""
    console = Console(width=None if sys.stdout.isatty() else 160)
    flips = [flip for flip in FLIPS if not words or any(word in flip.name for word in words)]
    table = Table(title="the code broken on purpose")
    for heading in ("broken", "file", "test", "seconds", "result"):
        table.add_column(heading, justify="right" if heading == "seconds" else "left")
    wrong = 0
    folder = Path(tempfile.mkdtemp(prefix="gradekeeper-mutants-"))
    folder.chmod(0o755)  # lanes run under another uid
    try:
        copy_repository(folder)
        tests = sorted({test for flip in flips for test in flip.test})
        console.print(f"{len(tests)} tests on the code as it is …")
        before = outcomes(folder, tests, lanes=True)
        not_green = [test for test, outcome in before.items() if outcome != "passed"]
        if not_green:
            console.print("not green before anything was broken:", *not_green, sep="\n  ")
            return 1
        for number, flip in enumerate(flips, 1):
            console.print(f"{number}/{len(flips)} {flip.name} …")
            began = time.monotonic()
            with broken(folder, flip):
                after = outcomes(folder, flip.test, lanes=flip.file.startswith("lanes/"))
            spent = f"{time.monotonic() - began:.1f}"
            for test, outcome in after.items():
                noticed = outcome == "failed"
                wrong += not noticed
                result = "[green]red, as it must be" if noticed else f"[red]NOT NOTICED: {outcome}"
                name = test.rpartition("::")[2]
                table.add_row(flip.name, Path(flip.file).name, name, spent, result)
    finally:
        shutil.rmtree(folder)
    console.print(table)
    console.print(f"{len(flips)} flips, {wrong} went unnoticed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
