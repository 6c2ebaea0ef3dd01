"""Only the cluster's own processes are ever ended."""

import os
import signal
import subprocess
import sys
from dataclasses import replace

import pytest

from cluster.testcluster import processes
from cluster.testcluster.processes import ProcessRecord

SOCKET = "/run/x/containerd.sock"


def test_start_time_is_field_22_whatever_the_name_holds():
    stat = "77 (a) S (b c) " + "S " + " ".join(str(n) for n in range(4, 53))
    assert processes.parse_start_time(stat) == 22
    assert processes.parse_state(stat) == "S"


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"", ()),
        (b"a\0", ("a",)),
        (b"a\0-b c\0\0", ("a", "-b c", "")),
        (b"no-nul", ("no-nul",)),
    ],
)
def test_command_lines_are_split_at_nul(raw, expected):
    assert processes.parse_cmdline(raw) == expected


@pytest.mark.parametrize(
    ("recorded", "actual", "same"),
    [
        (("/usr/bin/etcd", "--x"), ("/usr/bin/etcd", "--x"), True),
        (("/usr/bin/etcd", "--x"), ("etcd", "--x"), True),
        (("/usr/bin/etcd", "--x"), ("/usr/bin/etcd", "--y"), False),
        (("/usr/bin/etcd", "--x"), ("/usr/bin/etcd", "--x", "--y"), False),
        (("/usr/bin/etcd", "--x"), ("/usr/bin/vim", "--x"), False),
        (("/usr/bin/etcd",), (), False),
        ((), (), False),
    ],
)
def test_a_command_is_the_same_only_with_the_same_arguments(recorded, actual, same):
    assert processes.same_command(recorded, actual) is same


@pytest.mark.parametrize(
    ("argv", "own"),
    [
        (("/b/containerd-shim-runc-v2", "-namespace", "k8s.io", "-address", SOCKET), True),
        (("/b/containerd-shim-runc-v2", "-address", "/run/containerd/containerd.sock"), False),
        (("/b/containerd-shim-runc-v2", "-id", SOCKET), False),
        (("/b/containerd-shim-runc-v2", "-address"), False),
        (("/bin/cat", "-address", SOCKET), False),
        ((), False),
    ],
)
def test_a_shim_is_ours_by_its_address(argv, own):
    assert processes.is_own_shim(argv, SOCKET) is own


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("4:memory:/gk/kubepods/pod1\n0::/\n", True),
        ("0::/gk\n", True),
        ("4:memory:/gk-other/pod1\n", False),
        ("4:memory:/kubepods/gk/pod1\n", False),
        ("", False),
    ],
)
def test_a_process_is_in_our_cgroup_by_whole_path_parts(text, own):
    assert processes.in_own_cgroup(text, "gk") is own


@pytest.fixture
def sleeper():
    argv = ["sleep", "1000"]
    process = subprocess.Popen(argv)
    # The command line appears with the exec, a moment after the fork.
    assert processes.wait_until(lambda: processes.read_argv(process.pid) == tuple(argv), 5)
    record = processes.record_of(process.pid, argv)
    yield process, record
    process.kill()
    process.wait()


def test_a_recorded_process_is_ended(sleeper, tmp_path):
    process, record = sleeper
    record.write(tmp_path / "r.json")
    read = processes.read_record(tmp_path / "r.json")
    assert read == record
    assert processes.is_alive(read)
    assert processes.end(read, 5)
    assert process.wait(5) == -signal.SIGTERM


@pytest.mark.parametrize(
    "change",
    [
        {"start_time": 1},
        {"boot_id": "another"},
        {"argv": ("sleep", "1001")},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_process_that_only_shares_the_pid_is_left_alone(sleeper, change):
    process, record = sleeper
    other = replace(record, **change)
    assert not processes.is_alive(other)
    assert processes.end(other, 5)
    assert process.poll() is None


def test_a_process_that_ignores_sigterm_is_killed():
    code = "import signal;signal.signal(15, signal.SIG_IGN);print(1, flush=True);signal.pause()"
    argv = [sys.executable, "-c", code]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"1\n"
        assert processes.end(processes.record_of(process.pid, argv), 0.05)
        assert process.wait(5) == -signal.SIGKILL


def test_a_zombie_counts_as_gone():
    process = subprocess.Popen(["true"])
    try:
        gone = processes.wait_until(
            lambda: processes.parse_state(processes.read_stat(process.pid)) == "Z", 5
        )
        assert gone
        stat = processes.read_stat(process.pid)
        record = ProcessRecord(
            process.pid, processes.parse_start_time(stat), processes.boot_id(), ("true",)
        )
        assert not processes.is_alive(record)
    finally:
        process.wait()


def test_a_process_without_a_command_line_yet_is_known_by_its_start_time(monkeypatch, sleeper):
    _, record = sleeper
    monkeypatch.setattr(processes, "read_argv", lambda pid: ())
    assert processes.is_alive(record)
    assert not processes.is_alive(replace(record, start_time=record.start_time + 1))


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": 1}', '{"pid": "x", "start_time": 1}'])
def test_a_damaged_record_is_no_record(tmp_path, text):
    (tmp_path / "r.json").write_text(text)
    assert processes.read_record(tmp_path / "r.json") is None


def test_own_process_is_never_killed_by_the_sweep():
    assert processes.kill_until_none(lambda: [os.getpid()], 0.2) == []
