"""The node of the test cluster from below: processes of containers, images, the kubelet."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from demo.commands import Cluster, run

from cluster.testcluster.layout import Layout
from cluster.testcluster.processes import ProcessRecord, is_alive, read_record

RUNTIME_NAMESPACE = "k8s.io"


class Node:
    """The one node.

    Args:
        cluster: the test cluster.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._layout = Layout.from_environment()

    def _ctr(self, *arguments: str) -> str:
        command = [self._cluster.program("ctr"), "--namespace", RUNTIME_NAMESPACE, *arguments]
        return run(command, env=self._cluster.environment).stdout

    def pid_of(self, container_id: str) -> int:
        """Process id of a container's first process.

        Args:
            container_id: as in a Pod's status, `containerd://…`.
        """
        wanted = container_id.rpartition("/")[2]
        for line in self._ctr("tasks", "ls").splitlines():
            words = line.split()
            if words and words[0] == wanted:
                return int(words[1])
        raise LookupError(f"{container_id} has no process")

    def signal(self, container_id: str, number: signal.Signals) -> None:
        """Send a signal to a container's first process."""
        os.kill(self.pid_of(container_id), number)

    @contextlib.contextmanager
    def without_image(self, reference: str) -> Iterator[None]:
        """Take away every name by which the runtime knows an image; its content stays.

        Args:
            reference: `repository@sha256:…`.
        """
        repository = reference.partition("@")[0]
        names = [
            name
            for name in self._ctr("images", "ls", "-q").split()
            if name.startswith((f"{repository}@", f"{repository}:"))
        ]
        kept = [f"localhost/gk-matrix-kept:{index}" for index, _ in enumerate(names)]
        for name, copy in zip(names, kept, strict=True):
            self._ctr("images", "tag", "--force", name, copy)
        # The runtime also knows an image by the digest of its configuration.
        self._ctr("images", "rm", "--sync=false", *names)
        try:
            yield
        finally:
            for name, copy in zip(names, kept, strict=True):
                self._ctr("images", "tag", "--force", copy, name)
            self._ctr("images", "rm", *kept)

    def _kubelet(self) -> ProcessRecord:
        record = read_record(self._layout.run / "kubelet.process.json")
        if record is None or not is_alive(record):
            raise LookupError("the kubelet does not run")
        return record

    @contextlib.contextmanager
    def stopped_kubelet(self) -> Iterator[None]:
        """The kubelet does not move meanwhile."""
        record = self._kubelet()
        os.kill(record.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            if is_alive(record):
                os.kill(record.pid, signal.SIGCONT)

    def kill_kubelet(self) -> int:
        """End the kubelet at once; its supervisor starts another. Returns the old process id."""
        record = self._kubelet()
        os.kill(record.pid, signal.SIGKILL)
        return record.pid

    def kubelet_pid(self) -> int | None:
        """Process id of the kubelet, None while there is none."""
        try:
            return self._kubelet().pid
        except LookupError:
            return None

    def policies(self) -> int:
        """How many NetworkPolicies the node's filter rules stand for."""
        rules = run(["iptables-save", "-t", "filter"], env=self._cluster.environment).stdout
        chains = (line for line in rules.splitlines() if line.startswith(":KUBE-NWPLCY-"))
        return sum(1 for line in chains if not line.startswith(":KUBE-NWPLCY-DEFAULT"))

    def until(self, reached: Callable[[], bool], what: str, limit: float = 30.0) -> None:
        """Look at the node, which sends no events, until something is so.

        Raises:
            TimeoutError: it was not within the limit.
        """
        deadline = time.monotonic() + limit
        while not reached():
            if time.monotonic() > deadline:
                raise TimeoutError(f"not within {limit:.0f} s: {what}")
            time.sleep(0.1)

    def until_saved(self, pod_uid: str, volume: str, file: str, since: float) -> None:
        """Wait until a file in an emptyDir was written after a moment.

        Args:
            pod_uid: whose volume.
            volume: its name.
            file: name of the file.
            since: unix seconds.

        Raises:
            TimeoutError: it was not within half a minute.
        """
        folder = self._layout.kubelet / "pods" / pod_uid / "volumes" / "kubernetes.io~empty-dir"
        path: Path = folder / volume / file
        self.until(lambda: path.stat().st_mtime > since, f"{file} is written")
