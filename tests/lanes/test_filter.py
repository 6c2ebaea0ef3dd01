"""Every system call is decided, answered so in a lane, and written down with its reason.

What a submission might ask the kernel to do in its own name, or to give out of what a node has
once, is tried in a real lane by `kernel.c`: each kind, in number.
"""

from __future__ import annotations

import errno
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from gradekeeper.referee import isolation
from lanes.lane_client import LANE, SCRATCH, Lane, bubblewrap

ROOT = Path(__file__).parent.parent.parent
KERNEL = f"{LANE}/kernel"
README = ROOT / "lanes" / "README.md"
PAST_FILTERS = (335, 336)
"""uretprobe and uprobe, which newer x86 kernels let past every filter: SIGILL and ENXIO by hand."""
LAST_NAMED = 450
"""The newest call of Linux 6.1, whose headers are the oldest that laned is built with."""

_source = (ROOT / "lanes" / "filter.c").read_text()
TABLES = {
    "allowed": "ok",
    "denied": "EPERM",
    "absent": "ENOSYS",
    "idle": "0",
    "unsupported": "EOPNOTSUPP",
}


def decisions() -> dict[str, str]:
    """Call -> what filter.c's tables say, for the arguments -1 in the case of a condition."""
    found: dict[str, str] = {}
    for table, answer in TABLES.items():
        part = re.search(rf"static const int {table}\[\] = {{(.*?)\n}};", _source, re.DOTALL)
        assert part, table
        for name in re.findall(r"CALL\((\w+)\)|__NR_(\w+)", part[1]):
            call = name[0] or name[1]
            assert call not in found, call
            found[call] = answer
    conditions = re.search(r"conditions\[\] = {(.*?)\n};", _source, re.DOTALL)
    assert conditions
    for call, code in re.findall(r"{CALL\((\w+)\), \d, [^,]+, (E\w+)", conditions[1]):
        assert call not in found, call
        found[call] = code
    return found


def numbers() -> dict[str, int]:
    """Call -> number on this machine, from the headers that laned is compiled with."""
    command = ["gcc", "-E", "-dM", "-include", "asm/unistd.h", "-x", "c", os.devnull]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = {name: int(number) for name, number in re.findall(r"__NR_(\w+) (\d+)", text)}
    assert len(found) > 250, "the headers were not understood"
    return found


def test_every_call_of_this_machine_is_decided() -> None:
    """Newer ones answer ENOSYS without a word; so must everything else that is forgotten, then."""
    known = decisions()
    forgotten = {name for name, number in numbers().items() if number <= LAST_NAMED} - set(known)
    assert not forgotten
    if os.uname().machine == "x86_64":  # others lack the oldest calls
        assert not set(known) - set(numbers()) - {"memfd_secret"}


def test_every_number_is_answered_as_it_is_decided(lane: Lane) -> None:
    run = lane.run([KERNEL, "calls"], cwd=f"{SCRATCH}/calls", scratch="calls", timeout=120)
    answers = dict(line.split() for line in run.stdout.decode().splitlines())
    by_number = {number: name for name, number in numbers().items()}
    known = decisions()
    assert len(answers) == 1102
    for number, answer in answers.items():
        name = by_number.get(int(number))
        wanted = known.get(name, "ENOSYS") if name else "ENOSYS"
        if int(number) in PAST_FILTERS and os.uname().machine == "x86_64":
            continue
        if wanted == "ok":
            refused = (str(errno.EPERM), str(errno.ENOSYS))
            assert answer not in refused or name == "restart_syscall", (number, name)
        elif wanted == "0":
            assert answer == "0", (number, name)
        else:
            assert answer == str(getattr(errno, wanted)), (number, name)


def test_the_referee_demands_what_is_denied() -> None:
    """The probe's list is written twice; only conditions have names of their own there."""
    demanded = {**isolation.DENIED, **dict.fromkeys(isolation.X86_CALLS, "EPERM")}
    codes = {"0": "NOTHING"}
    for call, answer in decisions().items():
        unanswerable = answer == "ENOSYS" and call not in demanded  # no kernel has them
        if answer == "ok" or unanswerable:
            continue
        if call in demanded:
            assert demanded[call] == codes.get(answer, answer), call
        elif call != "sync":  # which has no answer
            assert any(name.startswith(call) or CONDITIONS.get(call) == name for name in demanded)


CONDITIONS = {"fadvise64": "fadvise_dontneed"}


@pytest.mark.parametrize(
    "kind",
    """
    terminals inotify fanotify dnotify aio timers signals queue flying pipes leases filters
    processors classes barriers lending huge merging locked caches owners keys pressure proc
    ranges names
    """.split(),
)
def test_none_of_a_kind_is_had(lane: Lane, kind: str) -> None:
    run = lane.run([KERNEL, "flood", kind], cwd=f"{SCRATCH}/f", scratch="f", nofile=1024)
    assert (run.status, run.stdout) == (0, b"0\n"), run


@pytest.mark.parametrize(
    "kind", ["inotify", "aio", "timers", "flying", "filters", "barriers", "ranges"]
)
def test_without_the_filter_there_are_many(lane_folder: Path, kind: str) -> None:
    """Else the tests above would say nothing."""
    command = [*bubblewrap(lane=lane_folder), "--chdir", SCRATCH, KERNEL, "flood", kind]
    done = subprocess.run(command, capture_output=True, timeout=60)
    assert int(done.stdout) > 50, done


def test_no_crash_starts_a_core_handler(lane: Lane) -> None:
    """Whatever a process tries, its limit stays at the one value for which the kernel starts none.

    The handler itself is not put to the test: it belongs to the machine.
    """
    run = lane.run([KERNEL, "cores"])
    assert run.stdout == b"1 1\n1 1\n"
    assert lane.run([KERNEL, "crash"]).signal == signal.SIGSEGV


def test_a_shell_that_sets_the_limit_goes_on(lane: Lane) -> None:
    script = "ulimit -c 0; ulimit -c unlimited; ulimit -n 64; echo $(ulimit -n); exit 7"
    run = lane.run(["/bin/sh", "-c", script])
    assert (run.status, run.stdout) == (7, b"64\n")


def test_a_script_finds_its_way(lane: Lane) -> None:
    """What is denied is what Python and the programs of a shell can do without."""
    script = """
import asyncio, fcntl, mmap, multiprocessing, os, shutil, signal, socket, subprocess, tempfile
async def main():
    process = await asyncio.create_subprocess_exec("echo", "x", stdout=subprocess.PIPE)
    return (await process.communicate())[0]
assert asyncio.run(main()) == b"x\\n"
os.chdir(os.environ["HERE"])
with open("a", "w+b") as file:
    file.write(b"text"); file.flush(); os.fsync(file.fileno()); fcntl.flock(file, fcntl.LOCK_EX)
    fcntl.lockf(file, fcntl.LOCK_EX)
    mmap.mmap(file.fileno(), 4).flush()
os.mkdir("folder"); os.rename("a", "folder/b"); shutil.copy2("folder/b", "c"); os.sync()
subprocess.run("sort c > d; cp -a d e; ls -l e > /dev/null", shell=True, check=True)
worker = multiprocessing.Process(target=os._exit, args=(3,)); worker.start(); worker.join()
assert worker.exitcode == 3
signal.setitimer(signal.ITIMER_REAL, 30)
left, right = socket.socketpair(); left.send(b"x"); assert right.recv(1) == b"x"
print("done")
"""
    run = lane.run(
        ["/usr/bin/python3", "-c", script], scratch="py", env={"HERE": f"{SCRATCH}/py"}, nproc=64
    )
    assert run.stdout.endswith(b"done\n"), run.stderr


def decided_rows() -> dict[str, str]:
    """Call or device -> decision, from the table of lanes/README.md."""
    text = README.read_text()
    start = text.index("## System calls and devices")
    rows = re.findall(r"^\| (.+?) \| (.+?) \| .+? \| .+? \|$", text[start:], re.MULTILINE)
    found: dict[str, str] = {}
    for names, decision in rows[2:]:
        for name in re.findall(r"`([\w/]+)`", names):
            assert name not in found, f"{name} is in two rows"
            found[name] = decision
    return found


def test_every_call_is_written_down() -> None:
    rows = decided_rows()
    for call, answer in decisions().items():
        assert call in rows, f"lanes/README.md does not say why {call} is decided as it is"
        wanted = {"ok": "allowed", "0": "0, nothing is done"}.get(answer, answer)
        assert wanted in rows[call], (call, rows[call])
    for device in isolation.DEVICES:
        assert rows[device] == "there", device
