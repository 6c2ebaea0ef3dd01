"""Which boxes nobody will delete any more."""

import asyncio
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from env.fake_api import FakeApi
from gradekeeper_verifiers.owner import read_process, this_process
from gradekeeper_verifiers.sweep import abandoned


def _box(phase: str = "Running", *, host: str = "here", process: str = "17-99") -> dict[str, Any]:
    return {
        "metadata": {
            "name": "box-1",
            "labels": {"gradekeeper.dev/run": "run-7"},
            "annotations": {
                "gradekeeper.dev/owner-host": host,
                "gradekeeper.dev/owner-process": process,
            },
        },
        "status": {"phase": phase},
    }


def _running(pid: int) -> str:
    return {17: "17-99"}.get(pid, "")


@pytest.mark.parametrize(
    ("box", "why"),
    [
        pytest.param(_box(), None, id="its process lives"),
        pytest.param(_box("Failed"), None, id="ended, and its process wants to know how"),
        pytest.param(_box(process="18-99"), "its process 18 is gone", id="its process is gone"),
        pytest.param(_box(process="17-98"), "its process 17 is gone", id="the pid is another's"),
        pytest.param(_box(host="there", process="18-99"), None, id="runs for another host"),
        pytest.param(_box("Failed", host="there"), "it has ended", id="ended, of another host"),
        pytest.param(_box("Succeeded", process=""), "it has ended", id="ended, of nobody"),
        pytest.param(_box(process=""), None, id="runs, of nobody we can ask"),
    ],
)
def test_abandoned_boxes(box: dict[str, Any], why: str | None) -> None:
    assert abandoned(box, host="here", run=None, process=_running) == why


def test_a_run_that_is_over_takes_all_its_boxes_and_no_others() -> None:
    assert abandoned(_box(), host="here", run="run 7", process=_running) == "the run run 7 is over"
    assert abandoned(_box("Failed"), host="here", run="run 8", process=_running) is None


def test_what_is_being_deleted_is_left_alone() -> None:
    box = _box(process="18-99")
    box["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"

    assert abandoned(box, host="here", run=None, process=_running) is None


def test_a_process_is_known_by_its_start() -> None:
    owner = this_process()

    assert owner.process == read_process(os.getpid())
    assert owner.process.startswith(f"{os.getpid()}-")
    assert read_process(2**22 + 1) == ""


async def _gradekeeper_sweep(*arguments: str) -> tuple[int, str, str]:
    """Run the installed command as a process of its own."""
    command = [Path(sys.executable).parent / "gradekeeper", "sweep", *arguments]
    done = await asyncio.to_thread(
        subprocess.run, command, capture_output=True, text=True, timeout=60, check=False
    )
    return done.returncode, done.stdout, done.stderr


async def test_the_command_is_one_of_gradekeepers(tmp_path: Path) -> None:
    here, gone = socket.gethostname(), "4194305-1"
    async with FakeApi(tmp_path / "kubeconfig") as api:
        for name, box in {
            "mine": _box(host=here, process=this_process().process),
            "orphan": _box(host=here, process=gone),
            "ended": _box("Failed", host="there"),
        }.items():
            box["metadata"]["name"] = name
            api.pods[name] = box
        where = ("--kubeconfig", str(tmp_path / "kubeconfig"), "-n", "boxes")

        orphan, ended = "orphan: its process 4194305 is gone\n", "ended: it has ended\n"
        code, told, _ = await _gradekeeper_sweep(*where, "--dry-run")
        assert (code, told) == (0, orphan + ended + "2 boxes would be deleted\n")
        assert len(api.pods) == 3
        code, told, _ = await _gradekeeper_sweep(*where)
        assert (code, told) == (0, orphan + ended + "2 boxes deleted\n")
        assert set(api.pods) == {"mine"}
        code, told, _ = await _gradekeeper_sweep(*where, "--run", "run 7")
        assert (code, told) == (0, "mine: the run run 7 is over\n1 box deleted\n")
        assert api.pods == {}

    code, told, error = await _gradekeeper_sweep("--kubeconfig", str(tmp_path / "none"))
    assert (code, told) == (1, "")
    assert error.startswith("error: ") and len(error.splitlines()) == 1
