"""Delete boxes that nobody will delete any more: `gradekeeper-sweep`.

A process that ends in any way but SIGKILL deletes its boxes. What SIGKILL left runs until its
`activeDeadlineSeconds` and then lies about as a finished Pod.
"""

from __future__ import annotations

import argparse
import asyncio
import socket
import sys
from collections.abc import Callable
from typing import Any

from gradekeeper.client import GradekeeperError, NotFoundError
from gradekeeper_verifiers.cluster import Cluster, pods_path
from gradekeeper_verifiers.owner import read_process
from gradekeeper_verifiers.pod import (
    ANNOTATION_HOST,
    ANNOTATION_PROCESS,
    LABEL_MANAGED_BY,
    LABEL_RUN,
    MANAGED_BY,
    label_value,
)

Manifest = dict[str, Any]


def abandoned(
    pod: Manifest, *, host: str, run: str | None, process: Callable[[int], str]
) -> str | None:
    """Say why a box is to be deleted, or None if it is to stay. Pure but for `process`.

    Args:
        pod: A Pod with the label of our boxes.
        host: This host's name.
        run: Id of a run that is over; None: none is named.
        process: As `read_process`.
    """
    metadata = pod["metadata"]
    if metadata.get("deletionTimestamp"):
        return None
    if run is not None:
        mine = (metadata.get("labels") or {}).get(LABEL_RUN) == label_value(run)
        return f"the run {run} is over" if mine else None
    phase = (pod.get("status") or {}).get("phase")
    annotations = metadata.get("annotations") or {}
    owner = annotations.get(ANNOTATION_PROCESS, "")
    number = owner.partition("-")[0]
    if annotations.get(ANNOTATION_HOST) == host and number.isdecimal():
        # A finished box still belongs to its rollout, which wants to know how it ended.
        return None if process(int(number)) == owner else f"its process {number} is gone"
    return "it has ended" if phase in ("Failed", "Succeeded") else None


async def sweep(
    *,
    kubeconfig: str | None = None,
    context: str | None = None,
    namespace: str | None = None,
    run: str | None = None,
    dry_run: bool = False,
) -> list[tuple[str, str]]:
    """Delete abandoned boxes of a namespace; return their names with the reason.

    Args:
        kubeconfig: As for `KubernetesConfig`.
        context: As for `KubernetesConfig`.
        namespace: As for `KubernetesConfig`.
        run: All boxes of this run, whoever owns them; None: those whose process on this host is
            gone, and finished ones of other hosts.
        dry_run: Only say what would be deleted.

    Raises:
        GradekeeperError: The API server refused.
    """
    cluster = await Cluster.acquire(kubeconfig, context)
    try:
        connection = cluster.connection
        where = namespace or connection.settings.namespace
        found: list[tuple[str, str]] = []
        params = {"labelSelector": f"{LABEL_MANAGED_BY}={MANAGED_BY}", "limit": "500"}
        while True:
            page = await connection.request("GET", pods_path(where), params=params)
            for pod in page.get("items") or []:
                why = abandoned(pod, host=socket.gethostname(), run=run, process=read_process)
                if why is not None:
                    found.append((pod["metadata"]["name"], why))
            more = (page.get("metadata") or {}).get("continue")
            if not more:
                break
            params = {**params, "continue": more}
        for name, _ in found:
            if not dry_run:
                try:
                    await connection.request("DELETE", pods_path(where, name))
                except NotFoundError:
                    continue
        return found
    finally:
        await cluster.release()


def main() -> None:
    """Entry point of `gradekeeper-sweep`."""
    parser = argparse.ArgumentParser(
        description="Delete boxes whose process on this host is gone, and finished ones of others."
    )
    parser.add_argument("--kubeconfig", help="kubeconfig file")
    parser.add_argument("--context", help="context of it")
    parser.add_argument("-n", "--namespace", help="namespace of the boxes")
    parser.add_argument("--run", help="delete all boxes of this run id instead")
    parser.add_argument("--dry-run", action="store_true", help="only say what would be deleted")
    arguments = parser.parse_args()
    try:
        found = asyncio.run(sweep(**vars(arguments)))
    except GradekeeperError as error:
        sys.exit(f"gradekeeper-sweep: {error}")
    for name, why in found:
        sys.stdout.write(f"{name}: {why}\n")
    verb = "would be deleted" if arguments.dry_run else "deleted"
    sys.stdout.write(f"{len(found)} boxes {verb}\n")
