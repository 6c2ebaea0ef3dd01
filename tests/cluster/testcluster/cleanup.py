"""Removing everything that a cluster left on the machine, and proving that nothing is left.

Works from the machine's own tables (processes, mounts, links, rules), never from the memory of an
earlier run, so it is the same after an orderly stop, after ``kill -9`` of everything and after a
reboot.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import socket
from pathlib import Path

from . import network
from .errors import ClusterError
from .layout import CGROUP, CNI_NETWORK, Layout
from .processes import (
    cgroup_members,
    end,
    is_alive,
    kill_until_none,
    own_shims,
    read_argv,
    read_record,
)

_MOUNTINFO = Path("/proc/self/mountinfo")
_SHIM_SOCKETS = Path("/run/containerd/s")
_CNI_RESULTS = Path("/var/lib/cni/results")
_CONTAINER_LOG_LINKS = Path("/var/log/containers")
_MNT_DETACH = 2
_ESCAPES = {"\\040": " ", "\\011": "\t", "\\012": "\n", "\\134": "\\"}


def unescape(field: str) -> str:
    """Decode the octal escapes of a mountinfo field."""
    out, index = "", 0
    while index < len(field):
        code = field[index : index + 4]
        out += _ESCAPES.get(code, field[index])
        index += 4 if code in _ESCAPES else 1
    return out


def mounts_below(mountinfo: str, folder: str) -> list[str]:
    """Return the mount points strictly below ``folder``, newest first (the order to unmount in).

    Args:
        mountinfo: Text of /proc/self/mountinfo.
        folder: An absolute path without a trailing slash.
    """
    points = [unescape(line.split()[4]) for line in mountinfo.splitlines() if line.strip()]
    return [point for point in reversed(points) if point.startswith(f"{folder}/")]


def own_cgroups() -> list[Path]:
    """Return the cluster's top cgroup in every hierarchy that has it."""
    candidates = [Path(m) / CGROUP for m in cgroup_hierarchies(_MOUNTINFO.read_text())]
    return [path for path in candidates if path.is_dir()]


def present_mounts(layout: Layout) -> list[str]:
    """Return the mount points in the cluster's folders."""
    mountinfo = _MOUNTINFO.read_text()
    return [p for folder in (layout.run, layout.state)
            for p in mounts_below(mountinfo, str(folder))]  # fmt: skip


def cgroup_hierarchies(mountinfo: str) -> list[str]:
    """Return the mount points of all cgroup hierarchies (both versions) in a mountinfo text."""
    found = []
    for line in mountinfo.splitlines():
        before, _, after = line.partition(" - ")
        if after.split(" ", 1)[0] in ("cgroup", "cgroup2"):
            found.append(unescape(before.split()[4]))
    return found


def make_cgroups() -> None:
    """Make the cluster's top cgroup in every hierarchy: the kubelet wants its root to exist."""
    for mounted in cgroup_hierarchies(_MOUNTINFO.read_text()):
        top = Path(mounted) / CGROUP
        top.mkdir(exist_ok=True)
        # A new cpuset is empty, and nothing can run in an empty one.
        for name in ("cpuset.mems", "cpuset.cpus"):
            if (top / name).exists() and not (top / name).read_text().strip():
                (top / name).write_text((top.parent / name).read_text())


def _unmount_all(folder: Path) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    for _ in range(5):
        points = mounts_below(_MOUNTINFO.read_text(), str(folder))
        if not points:
            return
        for point in points:
            if libc.umount2(os.fsencode(point), 0) != 0:
                libc.umount2(os.fsencode(point), _MNT_DETACH)


def _remove_cgroups() -> None:
    for top in own_cgroups():
        # Deepest first; a cgroup is removed by rmdir alone, its files are not real.
        for folder, _, _ in os.walk(top, topdown=False):
            try:
                os.rmdir(folder)
            except FileNotFoundError:
                continue
            except OSError as error:
                raise ClusterError(f"cannot remove the cgroup {folder}: {error}") from error


def _remove_dead_shim_sockets() -> None:
    """Shims put their sockets at a fixed place outside the state: drop those nobody answers."""
    if not _SHIM_SOCKETS.is_dir():
        return
    for path in _SHIM_SOCKETS.iterdir():
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(2)
            try:
                client.connect(str(path))
            except ConnectionRefusedError:
                path.unlink(missing_ok=True)
            except OSError:
                continue
    for folder in (_SHIM_SOCKETS, _SHIM_SOCKETS.parent):
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()


def _remove_stray_files(layout: Layout) -> None:
    if _CNI_RESULTS.is_dir():
        for path in _CNI_RESULTS.glob(f"{CNI_NETWORK}-*"):
            path.unlink(missing_ok=True)
    if _CONTAINER_LOG_LINKS.is_dir():
        for path in _CONTAINER_LOG_LINKS.iterdir():
            if path.is_symlink() and os.readlink(path).startswith(f"{layout.state}/"):
                path.unlink(missing_ok=True)


def record_paths(layout: Layout) -> list[Path]:
    """Return the process records, the supervisor's first (it would restart the others)."""
    paths = sorted(layout.run.glob("*.process.json"))
    return sorted(paths, key=lambda path: not path.name.startswith("supervisor."))


def end_recorded(layout: Layout, grace: float) -> None:
    """End every recorded process that is still the recorded one."""
    for path in record_paths(layout):
        record = read_record(path)
        if record is not None and not end(record, grace):
            raise ClusterError(f"process {record.pid} ({record.argv[0]}) does not end")
        path.unlink(missing_ok=True)


def clean(layout: Layout, grace: float = 5) -> None:
    """Remove all traces outside the state folder, and the run folder in it.

    Raises:
        ClusterError: Something cannot be removed; says what.
    """
    end_recorded(layout, grace)
    for what, find in (
        ("containers", lambda: cgroup_members(CGROUP)),
        ("container shims", lambda: own_shims(layout.containerd_socket)),
        ("containers", lambda: cgroup_members(CGROUP)),
    ):
        if left := kill_until_none(find, 15):
            raise ClusterError(f"processes of {what} do not end: {left}")
    for folder in (layout.run, layout.state):
        _unmount_all(folder)
    network.tear_down(layout)
    _remove_cgroups()
    _remove_dead_shim_sockets()
    _remove_stray_files(layout)
    if left_mounts := present_mounts(layout):
        raise ClusterError("cannot unmount:\n" + "\n".join(f"    {p}" for p in left_mounts))
    shutil.rmtree(layout.run, ignore_errors=True)


def forget(layout: Layout) -> None:
    """Delete the cluster's memory (objects, keys, Pod folders); images and logs stay.

    Only after :func:`clean`: a volume that is still mounted would be emptied.
    """
    for path in (layout.etcd, layout.pki, layout.kubelet, layout.state / "pod-logs",
                 layout.state / "cni"):  # fmt: skip
        shutil.rmtree(path, ignore_errors=True)
    layout.kubeconfig.unlink(missing_ok=True)


def leftovers(layout: Layout) -> list[str]:
    """Return one line for everything of the cluster that is on the machine; empty when it is gone.

    Looks at what the kernel says, independently of the records that :func:`clean` works from.
    """
    found = []
    for path in record_paths(layout):
        record = read_record(path)
        if record is not None and is_alive(record):
            found.append(f"process {record.pid}: {' '.join(record.argv)[:120]}")
    found += [f"process {pid} in the cgroup {CGROUP}" for pid in cgroup_members(CGROUP)]
    found += [f"container shim {pid}" for pid in own_shims(layout.containerd_socket)]
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                target = os.readlink(entry / "exe")
            except OSError:
                continue
            if target.startswith((f"{layout.binaries}/", f"{layout.state}/")):
                found.append(f"process {entry.name} runs {target}")
            elif read_argv(int(entry.name))[-3:] == ("supervise", "--cache", str(layout.cache)):
                found.append(f"process {entry.name} is a supervisor")
    found += [f"mount {point}" for point in present_mounts(layout)]
    found += [f"link {name}" for name in network.present_links()]
    found += [f"route or rule {line}" for line in network.present_routes()]
    found += [f"packet filter {line}" for line in network.present_rules()]
    found += [f"ipset {name}" for name in network.present_sets()]
    found += [f"cgroup {path}" for path in own_cgroups()]
    if layout.host_record.exists():
        found.append(f"kernel settings not put back ({layout.host_record.name} exists)")
    return found
