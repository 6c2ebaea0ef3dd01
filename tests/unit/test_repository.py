"""What must hold of the repository itself."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from gradekeeper.api.reasons import reasons_table

ROOT = Path(__file__).resolve().parents[2]


def test_the_reasons_in_the_readme_are_those_of_the_code() -> None:
    readme = (ROOT / "README.md").read_text()
    (found,) = re.findall(r"<!-- reasons: [^>]* -->\n(.*)<!-- end of reasons -->", readme, re.S)
    assert found == reasons_table().rstrip("\n") + "\n"


def test_the_standard_library_keeps_its_operator_module() -> None:
    assert not (ROOT / "operator" / "__init__.py").exists()
    done = subprocess.run(
        [sys.executable, "-c", "import operator; print(operator.itemgetter(0)('a'))"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    assert done.stdout == "a\n"


@pytest.mark.parametrize("name", ["operator", "dev", "build"])
def test_locks_have_hashes_and_no_addresses(name: str) -> None:
    text = (ROOT / "requirements" / f"{name}.txt").read_text()
    assert "://" not in text
    assert "--index" not in text
    entries = re.split(r"\n(?=[a-zA-Z0-9])", text.partition("make lock\n")[2])
    assert len(entries) > 5
    for entry in entries:
        assert re.match(r"[A-Za-z0-9._-]+==\S+", entry), entry[:80]
        assert "--hash=sha256:" in entry, entry[:80]


def test_operator_lock_is_part_of_the_development_lock() -> None:
    def pins(name: str) -> set[str]:
        text = (ROOT / "requirements" / f"{name}.txt").read_text()
        return set(re.findall(r"^([A-Za-z0-9._-]+==[^\s;]+)", text, re.M))

    assert pins("operator") <= pins("dev")
