"""Where tests on the real cluster put boxes."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from demo.commands import Cluster
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
            "start_timeout": 60,
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
    def deleting_marked(self) -> Iterator[None]:
        """Meanwhile delete every box whose agent asks for it: by a file, /workspace/delete-me."""
        stop = threading.Event()
        asks = ("sh", "-c", "test ! -e /workspace/delete-me || echo yes")

        def delete() -> None:
            while not stop.wait(0.3):
                for pod in self.boxes():
                    place, name = ("-n", self.namespace), pod["metadata"]["name"]
                    if self.cluster.kubectl(*place, "exec", name, "--", *asks, check=False):
                        gone = ("--ignore-not-found", "--wait=false")
                        self.cluster.kubectl(*place, "delete", "pod", name, *gone)

        thread = threading.Thread(target=delete)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

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
        yield Place(cluster, namespace)
    finally:
        cluster.kubectl("delete", "namespace", namespace, "--wait=false")
