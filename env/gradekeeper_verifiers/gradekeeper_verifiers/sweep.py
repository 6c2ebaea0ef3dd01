"""Delete boxes that nobody will delete any more: `gradekeeper sweep`.

A process that ends in any way but SIGKILL deletes its boxes. What SIGKILL left runs until its
`activeDeadlineSeconds` and then lies about as a finished Pod.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Annotated, Any

import typer

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


app = typer.Typer(add_completion=False, rich_markup_mode=None)
"""`gradekeeper sweep`, found by its entry point; `gradekeeper.cli.main` says how."""


@app.command()
def main(
    namespace: Annotated[
        str | None,
        typer.Option("--namespace", "-n", metavar="NAME", help="Default: that of the context."),
    ] = None,
    run: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Delete all boxes of this run instead, also live ones."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be deleted.")
    ] = False,
    context: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Context of the kubeconfig; default the current."),
    ] = None,
    kubeconfig: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Kubeconfig file; default as for kubectl."),
    ] = None,
) -> None:
    """Delete agents' boxes whose process on this host is gone, and finished ones of other hosts."""
    try:
        found = asyncio.run(
            sweep(
                kubeconfig=kubeconfig,
                context=context,
                namespace=namespace,
                run=run,
                dry_run=dry_run,
            )
        )
    except GradekeeperError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(1) from error
    for name, why in found:
        typer.echo(f"{name}: {why}")
    boxes = "1 box" if len(found) == 1 else f"{len(found)} boxes"
    typer.echo(f"{boxes} {'would be deleted' if dry_run else 'deleted'}")
