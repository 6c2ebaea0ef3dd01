"""docs/keys.md, done step by step; an old verdict still verifies after a rotation."""

from __future__ import annotations

from pathlib import Path

from contract.stand_in import StandIn, graded
from gradekeeper.verdicts.signing import SigningKey, generate_key
from guide import ROOT, console_steps, run_step

GUIDE = ROOT / "docs" / "keys.md"
JOB = {
    "metadata": {"namespace": "grading", "name": "j", "uid": "u-1"},
    "spec": {
        "suiteRef": {"name": "billing"},
        "submission": {"builtin": "gold"},
        "nonce": "n",
    },
}


def sign(private_pem: bytes, outcomes: str) -> bytes:
    installation = StandIn()
    installation.key = SigningKey.from_pem(private_pem)
    return installation.sign(installation.statement(JOB, graded(outcomes)))


def test_keys_are_made_and_rotated_as_the_guide_says(tmp_path: Path) -> None:
    private, public = generate_key()
    (tmp_path / "verdict-1.pub").write_bytes(public)
    (tmp_path / "old.dsse.json").write_bytes(sign(private, "PPF"))
    verified = 0
    for step in console_steps(GUIDE):
        new = tmp_path / "verdict-2.key"
        if new.exists() and not (tmp_path / "new.dsse.json").exists():
            (tmp_path / "new.dsse.json").write_bytes(sign(new.read_bytes(), "PPP"))
        printed = run_step(step, tmp_path, {"GRADEKEEPER_KEY": ""})
        verified += "gradekeeper verify" in step.command
        if step.command.startswith("!"):
            assert printed == ""
    assert verified == 3
    names = {path.name for path in tmp_path.iterdir()}
    assert {"author.pub", "author.key", "author-2.pub", "verdict-2.pub"} <= names
    assert (tmp_path / "author.key").stat().st_mode & 0o077 == 0
