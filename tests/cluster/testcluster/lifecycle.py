"""Up, down and status of the own cluster."""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from . import binaries, cleanup, network, pki
from .api import Api, ApiError
from .components import Programs, build_components, write_settings
from .errors import ClusterError
from .health import Proofs, log_tail, node_problem
from .layout import CONTEXT, NODE, NODE_IP, PORTS, Layout
from .processes import boot_id, end, is_alive, read_record, record_of
from .progress import Progress
from .supervisor import ComponentStatus, Supervisor, component_environment, read_status

_ENTRY = Path(__file__).resolve().parent.parent / "cluster.py"
_LOCK_LIMIT = 1800.0
_STOP_LIMIT = 180.0


@contextmanager
def locked(layout: Layout, progress: Progress) -> Iterator[None]:
    """Hold the lock that lets only one command start or stop the cluster."""
    with open(layout.lock, "w", encoding="utf-8") as file:
        deadline = time.monotonic() + _LOCK_LIMIT
        said = False
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if not said:
                    progress.say("another command starts or stops the cluster: waiting for it")
                    said = True
                if time.monotonic() > deadline:
                    raise ClusterError(f"{layout.lock} is held for too long") from None
                time.sleep(0.2)
        yield


def supervisor_alive(layout: Layout) -> bool:
    """Return whether the recorded supervisor runs."""
    record = read_record(layout.run / "supervisor.process.json")
    return record is not None and is_alive(record)


def problems(layout: Layout) -> list[str]:
    """Return what is wrong with the running cluster, without changing anything.

    Every component's health check is run, not only looked up.
    """
    if not supervisor_alive(layout):
        return ["the supervisor does not run"]
    status = read_status(layout.run)
    found = [
        f"{name}: {one.state} {one.reason}".rstrip()
        for name, one in status.items()
        if one.state != "ready"
    ]
    if found or not status:
        return found or ["the supervisor has not started anything yet"]
    programs = installed_programs(layout)
    checked = [(c.name, c.check()) for c in build_components(layout, programs)]
    found += [f"{name}: {reason}" for name, reason in checked if reason is not None]
    if found:
        return found
    try:
        reason = node_problem(Api(layout.pki).request("GET", f"/api/v1/nodes/{NODE}"))
    except (ApiError, OSError) as error:
        reason = str(error)
    if reason is not None:
        found.append(f"node: {reason}")
    if not any(":KUBE-ROUTER-" in line for line in network.present_rules()):
        found.append("kube-router has no chains in the packet filter: no policy is enforced")
    return found


def installed_programs(layout: Layout) -> Programs:
    """Return the programs, all of which must be there already (nothing is said or built)."""

    class _Silent(Progress):
        def say(self, message: str) -> None:
            raise ClusterError(f"not installed yet: {message}")

    return binaries.prepare(layout, _Silent())


def check_machine(layout: Layout) -> None:
    """Refuse a machine on which the own cluster cannot run.

    Raises:
        ClusterError: Says what to do instead.
    """
    if os.uname().sysname != "Linux" or os.geteuid() != 0:
        raise ClusterError(
            "the own test cluster needs Linux and root; set GRADEKEEPER_CONTEXT to the kubectl "
            "context of a cluster that you have"
        )
    check_owner(layout)


def check_owner(layout: Layout) -> None:
    """Refuse to touch a running cluster of another cache folder.

    Raises:
        ClusterError: Such a cluster runs.
    """
    if layout.owner.exists() and supervisor_alive(layout):
        owner = layout.owner.read_text()
        if owner != str(layout.cache):
            raise ClusterError(
                f"a cluster of the cache folder {owner} runs on this machine, and there can be "
                f"one: stop it with GRADEKEEPER_CACHE={owner} first"
            )


def busy_ports() -> list[int]:
    """Return those of the cluster's ports that somebody listens on."""
    busy = []
    for port in PORTS:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("", port))
            except OSError:
                busy.append(port)
    return busy


def up(layout: Layout, progress: Progress) -> None:
    """Start the cluster and prove that it works; does nothing to one that is healthy.

    What an interrupted or killed run left is removed first. The objects of a cluster that was
    killed survive, as on a node that restarts, unless the machine itself restarted (etcd runs
    without fsync).

    Raises:
        ClusterError: It does not come up; everything is stopped again, the logs stay.
    """
    check_machine(layout)
    with locked(layout, progress):
        if supervisor_alive(layout):
            if not (found := problems(layout)):
                progress.say(f"the cluster is up and healthy (context {CONTEXT})")
                return
            progress.say("the cluster runs but is not healthy: " + "; ".join(found))
        programs = binaries.prepare(layout, progress)
        _stop(layout, progress)
        boot_file = layout.state / "boot-id"
        if not boot_file.exists() or boot_file.read_text() != boot_id():
            cleanup.forget(layout)
        for folder in (layout.run, layout.logs, layout.etcd):
            folder.mkdir(parents=True, exist_ok=True)
        layout.etcd.chmod(0o700)
        boot_file.write_text(boot_id())
        layout.run.chmod(0o711)
        layout.owner.write_text(str(layout.cache))
        if busy := busy_ports():
            raise ClusterError(f"somebody listens on ports that the cluster needs: {busy}")
        for log in layout.logs.glob("*.log"):
            log.replace(log.with_suffix(".log.1"))
        pki.create(layout)
        try:
            network.set_up(layout)
            cleanup.make_cgroups()
            write_settings(layout, programs)
            _start_supervisor(layout)
            _follow(layout, progress)
            Proofs(layout, progress).run()
        except ClusterError:
            progress.say("it does not come up: stopping everything again")
            _stop(layout, progress)
            raise
        node = Api(layout.pki).request("GET", f"/api/v1/nodes/{NODE}")
        allocatable = node["status"]["allocatable"]
        progress.say(
            f"up: context {CONTEXT} in {layout.kubeconfig}; allocatable: "
            f"{allocatable['cpu']} cores, {allocatable['memory']}, {allocatable['pods']} Pods"
        )


def _start_supervisor(layout: Layout) -> None:
    argv = [sys.executable, str(_ENTRY), "supervise", "--cache", str(layout.cache)]
    with open(layout.logs / "supervisor.log", "ab") as log:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd="/",
            env=component_environment(os.environ),
            start_new_session=True,
        )
    record = record_of(process.pid, argv)
    if record is not None:
        record.write(layout.run / "supervisor.process.json")


def supervise(layout: Layout) -> int:
    """Be the supervisor process (started by :func:`up`)."""
    return Supervisor(layout, build_components(layout, installed_programs(layout))).run()


def _follow(layout: Layout, progress: Progress) -> None:
    """Report the components' progress until all are ready."""
    ready: set[str] = set()
    while True:
        status = read_status(layout.run)
        for name, one in status.items():
            if one.state == "ready" and name not in ready:
                ready.add(name)
                progress.say(f"{name} ready")
            if one.state == "failed":
                raise ClusterError(
                    f"{name} is not ready: {one.reason}; started {one.restarts + 1} times, last "
                    f"exit status {one.last_exit}\n{log_tail(layout, name)}"
                )
        if status and len(ready) == len(status):
            return
        if not supervisor_alive(layout):
            raise ClusterError(f"the supervisor ended\n{log_tail(layout, 'supervisor')}")
        time.sleep(0.1)


def _stop(layout: Layout, progress: Progress) -> None:
    record = read_record(layout.run / "supervisor.process.json")
    if record is not None and is_alive(record):
        with progress.step("stopping the components"):
            end(record, _STOP_LIMIT)
    if layout.run.exists() or layout.host_record.exists():
        with progress.step("removing processes, mounts, links and rules"):
            cleanup.clean(layout)


def down(layout: Layout, progress: Progress, purge: bool) -> None:
    """Stop the cluster, remove its traces, and check that none is left.

    Args:
        layout: Where it lives.
        progress: For the lines.
        purge: Also delete loaded images and logs (never the built programs).

    Raises:
        ClusterError: Something is left; lists it.
    """
    check_owner(layout)
    with locked(layout, progress):
        _stop(layout, progress)
        cleanup.forget(layout)
        if purge:
            shutil.rmtree(layout.state, ignore_errors=True)
        if left := cleanup.leftovers(layout):
            raise ClusterError("left on the machine:\n" + "\n".join(f"    {line}" for line in left))
        progress.say("down: no process, mount, link, route or packet filter rule is left")


def render_status(status: dict[str, ComponentStatus]) -> list[str]:
    """Return the lines of the component table."""
    lines = [f"{'component':26} {'state':9} {'pid':>8} {'restarts':>8}  reason"]
    lines += [
        f"{name:26} {one.state:9} {one.pid or '-':>8} {one.restarts:>8}  {one.reason}".rstrip()
        for name, one in status.items()
    ]
    return lines


def print_status(layout: Layout) -> int:
    """Print components, node and problems; return 0 when the cluster is healthy, else 1."""
    if not supervisor_alive(layout):
        print("the cluster is down")
        for line in cleanup.leftovers(layout):
            print(f"left on the machine: {line}")
        return 1
    print("\n".join(render_status(read_status(layout.run))))
    found = problems(layout)
    for line in found:
        print(f"problem: {line}")
    if not found:
        node = Api(layout.pki).request("GET", f"/api/v1/nodes/{NODE}")
        allocatable = node["status"]["allocatable"]
        print(
            f"node {NODE} ({NODE_IP}) Ready, {node['status']['nodeInfo']['kubeletVersion']}; "
            f"allocatable {allocatable['cpu']} cores, {allocatable['memory']}, "
            f"{allocatable['pods']} Pods"
        )
        print(f"kubeconfig {layout.kubeconfig}, context {CONTEXT}")
    return 1 if found else 0


def render_environment(layout: Layout, path: str) -> list[str]:
    """Return shell lines that put the cluster and its tools within reach."""
    return [
        f"export KUBECONFIG={layout.kubeconfig}",
        f"export PATH={layout.tools}:{path}",
        f"export CONTAINERD_ADDRESS={layout.containerd_socket}",
        "export CONTAINERD_NAMESPACE=k8s.io",
    ]
