"""`gradekeeper keys`: pairs that fit, secrets that stay."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from gradekeeper.verdicts.signing import SigningKey, verify_envelope

Run = Callable[..., Result]


def test_a_new_pair_signs_and_verifies_and_only_the_owner_reads_it(
    run: Run, tmp_path: Path
) -> None:
    old = os.umask(0)
    try:
        result = run("keys", "new", "--out", str(tmp_path), "--name", "author")
    finally:
        os.umask(old)
    assert result.exit_code == 0
    private, public = tmp_path / "author.key", tmp_path / "author.pub"
    assert stat.S_IMODE(private.stat().st_mode) == 0o600
    assert stat.S_IMODE(public.stat().st_mode) == 0o644
    key = SigningKey.from_pem(private.read_bytes())
    assert key.keyid in result.stdout
    assert verify_envelope(key.sign(b'{"a":1}'), [public.read_bytes()]).payload == {"a": 1}


@pytest.mark.parametrize("taken", ["author.key", "author.pub"])
@pytest.mark.parametrize("how", ["file", "dangling link"])
def test_nothing_is_overwritten(run: Run, tmp_path: Path, taken: str, how: str) -> None:
    path = tmp_path / taken
    if how == "file":
        path.write_text("precious")
    else:
        path.symlink_to(tmp_path / "elsewhere")
    result = run("keys", "new", "--out", str(tmp_path), "--name", "author")
    assert result.exit_code == 2
    assert "exists; remove it or choose another --name" in result.stderr
    assert [p.name for p in tmp_path.iterdir()] == [taken]


@pytest.mark.parametrize("name", ["", "../x", "a/b", ".hidden", "x" * 64])
def test_names_stay_in_the_directory(run: Run, tmp_path: Path, name: str) -> None:
    result = run("keys", "new", "--out", str(tmp_path), "--name", name)
    assert result.exit_code == 2
    assert list(tmp_path.iterdir()) == []


def test_a_missing_directory(run: Run, tmp_path: Path) -> None:
    result = run("keys", "new", "--out", str(tmp_path / "none"), "--name", "a")
    assert (result.exit_code, "create it first" in result.stderr) == (2, True)


def test_show_gives_the_public_half_of_either(run: Run, tmp_path: Path) -> None:
    run("keys", "new", "--out", str(tmp_path), "--name", "a")
    public = (tmp_path / "a.pub").read_text().strip()
    of_private = run("keys", "show", str(tmp_path / "a.key")).stdout
    of_public = run("keys", "show", str(tmp_path / "a.pub")).stdout
    assert of_private.startswith("kind    private")
    assert of_public.startswith("kind    public")
    assert of_private.split("\n", 1)[1] == of_public.split("\n", 1)[1]
    assert public in of_public
    assert "PRIVATE" not in of_private


def test_show_refuses_what_is_no_key(run: Run, tmp_path: Path) -> None:
    (tmp_path / "x").write_text("hello")
    result = run("keys", "show", str(tmp_path / "x"))
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "not a key in PEM" in result.stderr
