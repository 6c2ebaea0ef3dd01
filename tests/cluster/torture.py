"""Kill the own cluster in the worst ways and check that it comes back, and that it leaves nothing.

``python3 tests/cluster/torture.py``: a check for people who change the cluster. It ends every
process of the cluster with SIGKILL (the supervisor's, the components', shims' and containers' all),
starts it again, lets single components die, stops it, and asks the machine's tables what is left.
The cluster's objects survive only the first part.
"""

from __future__ import annotations

import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from testcluster import cleanup, lifecycle
from testcluster.api import Api
from testcluster.errors import ClusterError
from testcluster.layout import CGROUP, Layout
from testcluster.processes import (
    cgroup_members,
    is_alive,
    own_shims,
    read_record,
    send,
    wait_until,
)
from testcluster.progress import Progress
from testcluster.supervisor import read_status

_MARK = "/api/v1/namespaces/default/configmaps"


def kill_everything(layout: Layout) -> int:
    """SIGKILL all processes of the cluster at once; return how many."""
    records = [read_record(path) for path in cleanup.record_paths(layout)]
    pids = [record.pid for record in records if record is not None and is_alive(record)]
    pids += own_shims(layout.containerd_socket) + cgroup_members(CGROUP)
    for pid in pids:
        send(pid, signal.SIGKILL)
    return len(pids)


def require(condition: bool, what: str) -> None:
    """Raise ClusterError unless ``condition``."""
    if not condition:
        raise ClusterError(f"not so: {what}")


def kill_component(layout: Layout, name: str) -> None:
    """SIGKILL one component and wait until the supervisor has it ready again."""
    before = read_status(layout.run)[name]
    require(before.pid is not None, f"{name} runs")
    send(before.pid or 0, signal.SIGKILL)

    def again() -> bool:
        now = read_status(layout.run)[name]
        return now.state == "ready" and now.restarts == before.restarts + 1

    require(wait_until(again, 60), f"{name} is restarted within 60 s")


def main() -> int:
    """Run all parts; return the exit status."""
    layout, progress = Layout.from_environment(), Progress()
    lifecycle.up(layout, progress)
    mark = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"t{time.time_ns()}"}}
    Api(layout.pki).request("POST", _MARK, mark)

    with progress.step("killing everything at once, then starting"):
        progress.say(f"{kill_everything(layout)} processes killed")
        require(not lifecycle.supervisor_alive(layout), "the supervisor is dead")
        require(bool(cleanup.leftovers(layout)), "something is left of the killed cluster")
        lifecycle.up(layout, progress)
    path = f"{_MARK}/{mark['metadata']['name']}"  # type: ignore[index]
    Api(layout.pki).request("GET", path)
    progress.say("its objects are still there")
    Api(layout.pki).request("DELETE", path)

    with progress.step("killing the supervisor alone, then starting"):
        record = read_record(layout.run / "supervisor.process.json")
        require(record is not None, "there is a supervisor")
        send(record.pid if record else 0, signal.SIGKILL)
        lifecycle.up(layout, progress)

    for name in ("kube-router", "containerd", "kubelet", "etcd"):
        with progress.step(f"killing {name}"):
            kill_component(layout, name)
    require(wait_until(lambda: not lifecycle.problems(layout), 60, 1), "the cluster heals")

    begun = time.monotonic()
    lifecycle.up(layout, progress)
    require(time.monotonic() - begun < 3, "`up` on a healthy cluster takes less than 3 s")

    lifecycle.down(layout, progress, purge=False)
    require(not cleanup.leftovers(layout), "nothing is left")
    lifecycle.down(layout, progress, purge=False)
    lifecycle.up(layout, progress)
    progress.say("all of it held")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ClusterError as error:
        sys.exit(f"error: {error}")
