"""A cluster that somebody else runs, named by GRADEKEEPER_CONTEXT.

Only that context is ever used. Images reach it through a registry (IMAGE_REGISTRY) or by the load
command of kind, k3d or minikube; the commands are rendered here as pure functions.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from .commands import run
from .errors import ClusterError
from .layout import CONTEXT
from .progress import Progress


def named_context(environ: Mapping[str, str]) -> str | None:
    """Return the context that GRADEKEEPER_CONTEXT names; None for the own cluster."""
    name = environ.get("GRADEKEEPER_CONTEXT", "")
    return None if name in ("", CONTEXT) else name


def check_answers(context: str, progress: Progress) -> None:
    """Check that the API server behind a context answers.

    Raises:
        ClusterError: It does not.
    """
    try:
        answer = run(
            ["kubectl", "--context", context, "--request-timeout=10s", "get", "--raw", "/readyz"],
            limit=30,
        )
    except ClusterError as error:
        raise ClusterError(f"the context {context} (GRADEKEEPER_CONTEXT): {error}") from error
    progress.say(f"the context {context} answers: {answer.strip()}")


def render_load_command(context: str, archive: Path) -> list[str] | None:
    """Return the command that loads an image archive into a local cluster.

    Args:
        context: kubectl context name; kind, k3d and minikube have conventions for theirs.
        archive: A docker-archive (these tools do not take OCI archives reliably).

    Returns:
        The command line, None when the context is none of these.
    """
    if name := context.removeprefix("kind-") if context.startswith("kind-") else "":
        return ["kind", "load", "image-archive", str(archive), "--name", name]
    if name := context.removeprefix("k3d-") if context.startswith("k3d-") else "":
        return ["k3d", "image", "import", str(archive), "--cluster", name]
    if context == "minikube":
        return ["minikube", "--profile", context, "image", "load", str(archive)]
    return None


def registry_name(registry: str, name: str) -> str:
    """Return an image's name in a registry: ``<registry>/<last part of the name>:<tag>``."""
    return f"{registry.rstrip('/')}/{name.rpartition('/')[2]}"


def render_push_command(tool: str, name: str, archive: Path, target: str, digest_file: Path) -> list[list[str]]:
    """Return the commands that push an image to a registry.

    Args:
        tool: ``buildah`` or ``docker``.
        name: The image's local name (docker).
        archive: Its OCI archive (buildah).
        target: Its name in the registry.
        digest_file: Where buildah writes the pushed manifest's digest.
    """
    if tool == "buildah":
        push = ["buildah", "push", "--digestfile", str(digest_file)]
        return [["buildah", "pull", f"oci-archive:{archive}"], [*push, name, f"docker://{target}"]]
    return [["docker", "tag", name, target], ["docker", "push", target]]
