"""The entry point: whatever comes in, a message goes out."""

import json
import os
import subprocess

import pytest

from gradekeeper.referee.local import referee_command
from gradekeeper.referee.result import parse_result

DIGEST = "sha256:" + "0" * 64
JOB = {
    "schema": "gradekeeper.job/v1",
    "nonce": "n1",
    "attempt": 3,
    "suite": DIGEST,
    "task": "",
    "parameters": {},
    "submission": {"builtin": "gold"},
    "userNamespaces": "required",
    "probe": None,
    "laneUid": 10003,
}


def run(tmp_path, job, *, folders=("lane", "suite"), termination="termination"):
    for folder in folders:
        (tmp_path / folder).mkdir()
    layout = tmp_path / "layout.json"
    layout.write_text(
        json.dumps(
            {
                "suite": str(tmp_path / "suite"),
                "lane": str(tmp_path / "lane"),
                "submission": str(tmp_path),
                "termination": str(tmp_path / termination),
            }
        )
    )
    environment = {} if job is None else {"GRADEKEEPER_JOB": job}
    done = subprocess.run(
        referee_command(layout), env=environment, capture_output=True, timeout=60, check=False
    )
    message = tmp_path / termination
    return done, parse_result(message.read_bytes()) if message.is_file() else None


@pytest.mark.parametrize("job", [None, "", "null", "{}", json.dumps({**JOB, "laneUid": "x"})])
def test_no_valid_job_is_a_message(tmp_path, job):
    done, result = run(tmp_path, job)
    assert done.returncode == 0
    assert (result.decision, result.reason) == ("Unjudged", "InvalidJob")
    assert result.outcomes is None and done.stdout == b""


def test_a_bundle_that_is_not_there_is_a_message(tmp_path):
    done, result = run(tmp_path, json.dumps(JOB))
    assert done.returncode == 0
    assert (result.decision, result.reason) == ("Unjudged", "RefereeFailed")
    assert (result.nonce, result.attempt) == ("n1", 3)
    assert not os.path.exists(tmp_path / "lane" / "laned.sock")


def test_an_error_of_its_own_before_the_release_is_a_message(tmp_path):
    done, result = run(tmp_path, json.dumps(JOB), folders=("suite",))
    assert done.returncode == 0
    assert (result.decision, result.reason) == ("Unjudged", "RefereeFailed")
    assert "FileNotFoundError" in result.message
    assert json.loads(done.stderr.splitlines()[0])["event"] == "referee_error"


def test_without_a_place_for_the_message_it_fails(tmp_path):
    done, result = run(tmp_path, json.dumps(JOB), termination="none/termination")
    assert done.returncode == 1 and result is None


def test_the_referee_starts_small(tmp_path):
    """Start-up is paid by every Pod: nothing heavy may creep into the imports."""
    layout = tmp_path / "layout.json"
    command = referee_command(layout)
    listing = "import sys; sys.path.insert(0, sys.argv[1]); import gradekeeper.referee.__main__; "
    command[4] = listing + "print(*sys.modules)"
    done = subprocess.run(command, capture_output=True, timeout=60, check=True)
    loaded = set(done.stdout.decode().split())
    heavy = {"asyncio", "argparse", "logging", "tarfile", "random", "shutil", "subprocess"}
    heavy |= {"decimal", "tempfile", "threading", "http", "email", "ssl", "concurrent"}
    assert not loaded & heavy
    ours = {name for name in loaded if name.startswith("gradekeeper")}
    assert all(name.startswith("gradekeeper.referee") for name in ours - {"gradekeeper"})
