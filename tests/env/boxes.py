"""Where tests on the real cluster put boxes."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from demo.commands import Cluster, DemoError
from demo.stage import Images

from gradekeeper_verifiers.config import KubernetesConfig
from gradekeeper_verifiers.pod import ANNOTATION_ROLLOUT


@dataclass(frozen=True)
class Place:
    """A namespace for boxes, with the restricted standard enforced."""

    cluster: Cluster
    namespace: str

    def config(self, **fields: Any) -> KubernetesConfig:
        settings = {
            "context": self.cluster.context,
            "kubeconfig": self.cluster.environment.get("KUBECONFIG"),
            "namespace": self.namespace,
            "image": Images.load().operator,
            "cpu": 0.5,
            "cpu_request": 0.02,
            "memory": 0.125,
            "disk": 0.25,
            "start_timeout": 300,
        }
        return KubernetesConfig(**{**settings, **fields})

    def flags(self, prefix: str, **fields: Any) -> list[str]:
        """The command line's flags for such a config: `<prefix>.type kubernetes …`."""
        config = self.config(**fields)
        flags = [f"{prefix}.type", "kubernetes"]
        for name in ("context", "kubeconfig", "namespace", "image", "cpu", "cpu_request", "memory",
                     "disk", "start_timeout"):  # fmt: skip
            value = getattr(config, name)
            if value is not None:
                flags += [f"{prefix}.{name.replace('_', '-')}", str(value)]
        return flags

    def boxes(self) -> list[dict[str, Any]]:
        """Pods that are not being deleted."""
        pods = self.cluster.read("pods", "-n", self.namespace)["items"]
        return [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]

    @contextmanager
    def deleting_marked(self, number: int) -> Iterator[None]:
        """Meanwhile delete so many boxes, whose agents ask for it: by /workspace/delete-me."""
        stop = threading.Event()

        def delete() -> None:
            deleted: set[str] = set()
            while len(deleted) < number and not stop.wait(0.3):
                # What fails on a busy node is tried again in the next pass.
                with suppress(DemoError):
                    for box in self.boxes():
                        with suppress(DemoError):
                            deleted.update(self._delete_marked(box["metadata"]["name"]))

        thread = threading.Thread(target=delete)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    def _delete_marked(self, name: str) -> set[str]:
        """The box, if its agent asked for it, or nothing."""
        place = ("-n", self.namespace)
        asks = ("sh", "-c", "test ! -e /workspace/delete-me || echo yes")
        if not self.cluster.kubectl(*place, "exec", name, "--", *asks, check=False, limit=30):
            return set()
        self.cluster.kubectl(*place, "delete", "pod", name, "--wait=false")
        return {name}

    def delete_box_of(self, rollout: str) -> None:
        """Delete the box of a rollout, as a node's maintenance would."""
        (name,) = (
            pod["metadata"]["name"]
            for pod in self.boxes()
            if pod["metadata"]["annotations"][ANNOTATION_ROLLOUT] == rollout
        )
        self.cluster.kubectl("-n", self.namespace, "delete", "pod", name, "--wait=false")


@contextmanager
def open_place() -> Iterator[Place]:
    """A new namespace on the cluster; it is deleted in the end."""
    cluster = Cluster.find()
    namespace = f"boxes-{secrets.token_hex(4)}"
    cluster.apply(
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {
                "name": namespace,
                "labels": {"pod-security.kubernetes.io/enforce": "restricted"},
            },
        }
    )
    try:
        # Pods are refused until their account is there.
        wait = ("wait", "--for=create", "serviceaccount/default", "--timeout=60s")
        cluster.kubectl("-n", namespace, *wait)
        yield Place(cluster, namespace)
    finally:
        cluster.kubectl("delete", "namespace", namespace, "--wait=false")
