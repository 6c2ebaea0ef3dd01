"""End a box before its submission is graded, so that nothing of its agent runs beside the grading.

An agent may leave processes behind. On the node of a grading they would take its time, and could
work on its submission's behalf; so a box is not only told to end, but seen to have ended.
"""

from __future__ import annotations

import asyncio
import time
from typing import Final, Protocol, runtime_checkable

from verifiers.v1.errors import SandboxError
from verifiers.v1.runtimes import Runtime

from gradekeeper.client import NotFoundError, UnavailableError
from gradekeeper_verifiers.cluster import Cluster, pods_path
from gradekeeper_verifiers.status import has_stopped, is_gone

# Removing what a box wrote is work of its node as well, so its end is waited for; but not for as
# long as an agent likes, who may have written a file for each inode.
_GONE_SECONDS: Final = 60.0
_RETRY_SECONDS: Final = 10.0
_POLL_SECONDS: Final = (0.2, 2.0)


@runtime_checkable
class _Ends(Protocol):
    async def end(self) -> None:
        """End the box, and return once nothing of it runs."""


async def end_box(runtime: Runtime) -> None:
    """End a box of any runtime for good; verifiers may stop it again later.

    Raises:
        SandboxError: It still runs, or nobody can say that it does not.
    """
    if isinstance(runtime, _Ends):
        await runtime.end()
        return
    await runtime.stop()
    if await runtime.alive():
        raise SandboxError(f"the box {runtime.name} still runs after it was stopped")


async def end_pod(
    cluster: Cluster, namespace: str, name: str, *, uid: str | None, seconds: float
) -> None:
    """Delete a Pod and wait until it is gone, or at least all of its containers have ended.

    An API server that is away is waited for, as is a node that is slow.

    Args:
        cluster: The API server.
        namespace: Of the Pod.
        name: Its name.
        uid: Its UID, if it is known: another Pod of that name is nobody's concern.
        seconds: How long to wait at most.

    Raises:
        SandboxError: It was not seen to end in time.
        GradekeeperError: The API server refuses.
    """
    started = time.monotonic()
    path = pods_path(namespace, name)
    delay, longest = _POLL_SECONDS
    deleted = False
    while True:
        try:
            if not deleted:
                await cluster.connection.request("DELETE", path, retry_for=_RETRY_SECONDS)
                deleted = True
            pod = await cluster.connection.request("GET", path, retry_for=_RETRY_SECONDS)
        except NotFoundError:
            return
        except UnavailableError as error:
            why = str(error)
        else:
            waited = time.monotonic() - started
            if is_gone(pod, uid) or (waited > _GONE_SECONDS and has_stopped(pod)):
                return
            why = "its node has not reported that its containers ended"
        if time.monotonic() - started > seconds:
            raise SandboxError(
                f"the box {name} was not seen to end within {seconds:g} seconds, and nothing is"
                f" graded beside it: {why}"
            )
        await asyncio.sleep(delay)
        delay = min(longest, delay * 1.5)
