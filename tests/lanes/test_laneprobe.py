"""The system call filter and the rest of a lane's walls, as laneprobe sees them from inside."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

from lanes.lane_client import LANE, SCRATCH, Lane, bubblewrap

PROBE = f"{LANE}/laneprobe"
README = Path(__file__).parent.parent.parent / "lanes" / "README.md"
CHANGING = ("uid_map", "gid_map", "pid", "pids_visible", "pressure", "core_handler")

# What a kernel may refuse on its own to somebody without capabilities, filter or not.
REFUSED_ANYWAY = {
    "socket_packet", "bpf", "clone_newns", "clone_newuts", "clone_newipc", "clone_newpid",
    "clone_newnet", "clone_newcgroup", "perf_event_open", "userfaultfd", "pivot_root", "mount",
    "umount2", "move_mount", "mount_setattr", "fsopen", "fsmount", "fspick", "open_tree",
    "chroot", "setns", "prlimit64_other", "keyctl", "prctl_core_scheduling", "prctl_name_mapping",
    "fanotify_init",
    "setgroups", "acct", "reboot", "setdomainname", "sethostname", "swapoff", "swapon", "syslog",
    "vhangup",
}  # fmt: skip


def documented() -> dict[str, Any]:
    """The example of lanes/README.md, which the referee's expectations are written from."""
    text = README.read_text()
    start = text.index("```json\n") + len("```json\n")
    facts: dict[str, Any] = json.loads(text[start : text.index("```", start)])
    return facts


def test_a_lane_looks_as_documented(lane: Lane) -> None:
    run = lane.run([PROBE], cwd=f"{SCRATCH}/probe", scratch="probe")
    assert (run.status, run.stderr) == (0, b"")
    assert run.stdout.count(b"\n") == 1
    facts = json.loads(run.stdout)
    assert facts["pids_visible"] == [1, facts["pid"]]
    assert facts["uid_map"] == facts["gid_map"] == "10003 0 1"
    expected = documented()
    assert list(facts) == list(expected), "members or their order differ"
    for name in CHANGING:
        del facts[name], expected[name]
    expected["writable"] = [SCRATCH]
    # bubblewrap brings no filter of its own; a Pod's runtime does.
    expected["proc1_seccomp"] = 0
    assert facts == expected


def test_the_filter_is_what_denies(lane: Lane, lane_folder: Path) -> None:
    """The same probe in the same namespaces without laned: the calls are let through."""
    command = [*bubblewrap(lane=lane_folder), PROBE]
    done = subprocess.run(command, capture_output=True, timeout=20, check=True)
    free = json.loads(done.stdout)
    assert free["seccomp"] == 0
    denied = json.loads(lane.run([PROBE]).stdout)["denied"]
    same = {name for name, error in free["denied"].items() if error == denied[name]}
    assert same <= REFUSED_ANYWAY
    assert free["denied"]["i386"] == free["denied"]["x32"] == "ALLOWED"


def test_every_writable_place_is_found(lane_folder: Path) -> None:
    """Folders, files of mounts and devices; not what is below a place that is named."""
    command = [
        *bubblewrap(lane=lane_folder),
        *("--perms", "0777", "--tmpfs", "/srv", "--dir", "/srv/below"),
        *("--perms", "0755", "--tmpfs", "/media", "--perms", "0777", "--dir", "/media/deep/in"),
        *("--perms", "0666", "--bind-data", "0", "/etc/hostname"),
        PROBE,
    ]
    done = subprocess.run(command, capture_output=True, timeout=20, input=b"x")
    assert done.returncode == 0, done.stderr
    # bubblewrap's tmpfs belongs to the uid of the lane, so its root is writable as well.
    assert json.loads(done.stdout)["writable"] == ["/etc/hostname", "/media", SCRATCH, "/srv"]


def test_sockets_between_processes_stay_possible(lane: Lane) -> None:
    assert lane.run([f"{LANE}/hostile", "unix"]).status == 0


def test_a_process_may_read_and_set_what_is_its_own(lane: Lane) -> None:
    assert lane.run([f"{LANE}/hostile", "own"]).status == 0


def test_probing_is_quick(lane: Lane) -> None:
    """It is on the way of every grading."""
    lane.run([PROBE])
    started = time.monotonic()
    for _ in range(10):
        lane.run([PROBE])
    assert time.monotonic() - started < 1
