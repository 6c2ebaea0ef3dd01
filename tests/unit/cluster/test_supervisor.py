"""The supervisor with real processes."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cluster.testcluster import processes
from cluster.testcluster.layout import Layout
from cluster.testcluster.supervisor import next_backoff, read_status

TESTS = Path(__file__).resolve().parents[2]

# Two components; the second may only start once a file exists.
PROGRAM = """
import sys
from pathlib import Path
from cluster.testcluster.components import Component
from cluster.testcluster.layout import Layout
from cluster.testcluster.supervisor import Supervisor

folder = Path(sys.argv[1])
layout = Layout(folder, folder)
gate = lambda: None if (folder / "open").exists() else "the gate is closed"
marker = lambda: (folder / "after").open("a").write("x")
sys.exit(Supervisor(layout, (
    Component("first", ("sleep", "1000"), lambda: None, 5, after=marker),
    Component("second", ("sh", "-c", "echo hello; exec sleep 1001"), lambda: None, 60, before=gate),
)).run())
"""


@pytest.mark.parametrize(
    ("previous", "ran", "expected"),
    [(0, 0, 0.5), (0.5, 0, 1.0), (8, 1, 10.0), (10, 29, 10.0), (10, 30, 0.5)],
)
def test_backoff_grows_to_a_limit_and_forgets_after_steady_work(previous, ran, expected):
    assert next_backoff(previous, ran) == expected


def test_no_status_before_the_first_one(tmp_path):
    assert read_status(tmp_path) == {}
    (tmp_path / "status.json").write_text("{")
    assert read_status(tmp_path) == {}


def test_a_supervisor_that_fails_stops_what_it_started(tmp_path):
    layout = Layout(tmp_path, tmp_path)
    layout.logs.mkdir(parents=True)
    (tmp_path / "open").touch()
    broken = PROGRAM.replace('("sh", "-c", "echo hello; exec sleep 1001")', '("/does/not/exist",)')
    argv = [sys.executable, "-c", broken, str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=20)
    assert done.returncode == 1
    assert "/does/not/exist" in done.stderr
    assert "first stopped" in done.stderr
    assert not list(tmp_path.glob("*.process.json"))


def test_components_are_started_restarted_and_stopped(tmp_path):
    layout = Layout(tmp_path, tmp_path)
    layout.logs.mkdir(parents=True)
    argv = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    supervisor = subprocess.Popen(argv, env=environment, stderr=subprocess.DEVNULL)

    def state(name):
        return getattr(read_status(tmp_path).get(name), "state", None)

    def ready(name, restarts):
        one = read_status(tmp_path).get(name)
        return one is not None and one.state == "ready" and one.restarts == restarts

    try:
        assert processes.wait_until(lambda: ready("first", 0), 20)
        assert processes.wait_until(
            lambda: read_status(tmp_path)["second"].reason == "the gate is closed", 20
        )
        assert state("second") == "waiting"
        (tmp_path / "open").touch()
        assert processes.wait_until(lambda: ready("second", 0), 20)
        record = processes.read_record(tmp_path / "first.process.json")
        assert processes.is_alive(record)

        os.kill(record.pid, signal.SIGKILL)
        assert processes.wait_until(lambda: ready("first", 1), 20)
        successor = processes.read_record(tmp_path / "first.process.json")
        assert successor.pid != record.pid
        assert read_status(tmp_path)["first"].last_exit == -signal.SIGKILL
        assert (tmp_path / "after").read_text() == "x"

        supervisor.terminate()
        assert supervisor.wait(20) == 0
        assert not processes.is_alive(successor)
        assert [state("first"), state("second")] == ["stopped", "stopped"]
        assert not list(tmp_path.glob("*.process.json"))
        assert (layout.logs / "second.log").read_text() == "hello\n"
    finally:
        supervisor.kill()
        supervisor.wait()
        for path in tmp_path.glob("*.process.json"):
            if (record := processes.read_record(path)) is not None:
                processes.end(record, 1)
