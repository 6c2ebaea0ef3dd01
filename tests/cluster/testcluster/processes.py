"""Processes: who is who, and ending only our own.

A pid alone says nothing after it has been reused. A record therefore holds the pid together with
the start time (clock ticks since boot, field 22 of /proc/<pid>/stat), the boot id and the command
line; a process is only ever signalled when all of them still match.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class ProcessRecord:
    """The identity of a process that this project started.

    Attributes:
        pid: Process id.
        start_time: Clock ticks since boot at which the process started.
        boot_id: Kernel boot id of that moment.
        argv: Its command line.
    """

    pid: int
    start_time: int
    boot_id: str
    argv: tuple[str, ...]

    def write(self, path: Path) -> None:
        """Write the record as JSON, atomically."""
        temporary = path.with_name(f".{path.name}.{os.getpid()}")
        temporary.write_text(json.dumps(asdict(self)))
        temporary.replace(path)


def read_record(path: Path) -> ProcessRecord | None:
    """Return the record at ``path``; None when there is none or it is damaged."""
    try:
        raw = json.loads(path.read_text())
        return ProcessRecord(
            int(raw["pid"]), int(raw["start_time"]), str(raw["boot_id"]), tuple(raw["argv"])
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def boot_id() -> str:
    """Return the kernel's id of this boot."""
    return (PROC / "sys/kernel/random/boot_id").read_text().strip()


def parse_start_time(stat: str) -> int:
    """Return field 22 of a /proc/<pid>/stat line; the name in field 2 may hold anything."""
    return int(stat.rpartition(")")[2].split()[19])


def parse_state(stat: str) -> str:
    """Return field 3 of a /proc/<pid>/stat line, e.g. ``S`` or ``Z``."""
    return stat.rpartition(")")[2].split()[0]


def parse_cmdline(raw: bytes) -> tuple[str, ...]:
    """Split the NUL-separated /proc/<pid>/cmdline."""
    return tuple(os.fsdecode(part) for part in raw.removesuffix(b"\0").split(b"\0")) if raw else ()


def same_command(recorded: Sequence[str], actual: Sequence[str]) -> bool:
    """Return whether ``actual`` is the recorded command line.

    Only the program's path may differ (the kernel puts an interpreter in front of scripts): the
    arguments have to be equal, and the program's file name has to be.
    """
    if not recorded or not actual:
        return False
    if tuple(recorded) == tuple(actual):
        return True
    names_equal = os.path.basename(recorded[0]) == os.path.basename(actual[0])
    return names_equal and tuple(recorded[1:]) == tuple(actual[1:])


def is_own_shim(argv: Sequence[str], containerd_socket: str) -> bool:
    """Return whether a command line is a container shim of the containerd at that socket."""
    if not argv or not os.path.basename(argv[0]).startswith("containerd-shim-"):
        return False
    return any(
        flag == "-address" and value == containerd_socket
        for flag, value in itertools.pairwise(argv)
    )


def in_own_cgroup(cgroup_file: str, name: str) -> bool:
    """Return whether any line of a /proc/<pid>/cgroup lies in or below the top cgroup ``name``."""
    for line in cgroup_file.splitlines():
        path = line.split(":", 2)[-1]
        if path == f"/{name}" or path.startswith(f"/{name}/"):
            return True
    return False


def read_stat(pid: int) -> str | None:
    """Return /proc/<pid>/stat, None when there is no such process."""
    try:
        return (PROC / str(pid) / "stat").read_text()
    except OSError:
        return None


def read_argv(pid: int) -> tuple[str, ...]:
    """Return the command line of ``pid``; empty for kernel threads and vanished processes."""
    try:
        return parse_cmdline((PROC / str(pid) / "cmdline").read_bytes())
    except OSError:
        return ()


def record_of(pid: int, argv: Sequence[str]) -> ProcessRecord | None:
    """Return the record of a process that was just started with ``argv``; None if it is gone."""
    stat = read_stat(pid)
    if stat is None:
        return None
    return ProcessRecord(pid, parse_start_time(stat), boot_id(), tuple(argv))


def is_alive(record: ProcessRecord) -> bool:
    """Return whether exactly the recorded process still runs (a zombie does not)."""
    if record.boot_id != boot_id():
        return False
    stat = read_stat(record.pid)
    if stat is None or parse_state(stat) == "Z" or parse_start_time(stat) != record.start_time:
        return False
    # Between the start of an exec and its end (Popen has returned already) and while a process
    # exits, the command line is empty; pid and start time are proof enough then.
    actual = read_argv(record.pid)
    return not actual or same_command(record.argv, actual)


def all_pids() -> list[int]:
    """Return the ids of all processes."""
    return [int(entry.name) for entry in PROC.iterdir() if entry.name.isdigit()]


def own_shims(containerd_socket: Path) -> list[int]:
    """Return the container shims that belong to our containerd."""
    return [pid for pid in all_pids() if is_own_shim(read_argv(pid), str(containerd_socket))]


def cgroup_members(name: str) -> list[int]:
    """Return the processes in or below the top cgroup ``name``, in any hierarchy."""
    found = []
    for pid in all_pids():
        try:
            text = (PROC / str(pid) / "cgroup").read_text()
        except OSError:
            continue
        if in_own_cgroup(text, name):
            found.append(pid)
    return found


def wait_until(condition: Callable[[], bool], limit: float, interval: float = 0.05) -> bool:
    """Poll ``condition`` for at most ``limit`` seconds; return whether it came true."""
    deadline = time.monotonic() + limit
    while True:
        if condition():
            return True
        if time.monotonic() >= deadline:
            return False
        time.sleep(interval)


def send(pid: int, number: signal.Signals) -> None:
    """Send a signal; a process that is gone already is fine."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def end(record: ProcessRecord, grace: float) -> bool:
    """End the recorded process: SIGTERM, after ``grace`` seconds SIGKILL.

    Returns:
        Whether it is gone. Nothing is signalled when the record no longer matches.
    """
    if not is_alive(record):
        return True
    send(record.pid, signal.SIGTERM)
    if wait_until(lambda: not is_alive(record), grace):
        return True
    if is_alive(record):
        send(record.pid, signal.SIGKILL)
    return wait_until(lambda: not is_alive(record), 10)


def kill_until_none(find: Callable[[], Iterable[int]], limit: float) -> list[int]:
    """SIGKILL what ``find`` returns until it returns nothing more; return what is left."""
    deadline = time.monotonic() + limit
    while pids := [pid for pid in find() if pid != os.getpid()]:
        if time.monotonic() >= deadline:
            return pids
        for pid in pids:
            send(pid, signal.SIGKILL)
        time.sleep(0.05)
    return []
