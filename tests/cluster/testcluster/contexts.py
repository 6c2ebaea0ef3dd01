"""A cluster that somebody else runs, named by GRADEKEEPER_CONTEXT.

Only that context is ever used. Images reach it through a registry (IMAGE_REGISTRY), or by the load
command of kind, k3d or minikube. The command lines are rendered by pure functions; that they do
what they should on such clusters is not tested here, where none can run.
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


def render_load_commands(
    context: str, archive: Path, name: str, digest_name: str
) -> list[list[str]] | None:
    """Return the commands that load an image archive into a local cluster's containerd.

    The tools import the tag alone; the second command adds the name with the digest, by which Pods
    ask for the image.

    Args:
        context: kubectl context name; kind, k3d and minikube have conventions for theirs.
        archive: The OCI archive.
        name: The image's full name with tag, as in the archive.
        digest_name: ``repository@sha256:…``.

    Returns:
        The command lines, None when the context is none of these.
    """
    tag = ["ctr", "--namespace", "k8s.io", "images", "tag", "--force", name, digest_name]
    kind, cluster, name_part = context.partition("-")
    if kind == "kind" and name_part:
        return [
            ["kind", "load", "image-archive", str(archive), "--name", name_part],
            ["docker", "exec", f"{name_part}-control-plane", *tag],
        ]
    if kind == "k3d" and name_part:
        return [
            ["k3d", "image", "import", str(archive), "--cluster", name_part],
            ["docker", "exec", f"{context}-server-0", *tag],
        ]
    if context == "minikube" and not cluster:
        profile = ["minikube", "--profile", context]
        return [
            [*profile, "image", "load", str(archive)],
            [*profile, "ssh", "--", "sudo", *tag],
        ]
    return None


def registry_name(registry: str, name: str) -> str:
    """Return an image's name in a registry: ``<registry>/<last part of the name>``."""
    return f"{registry.rstrip('/')}/{name.rpartition('/')[2]}"


def render_push_commands(
    engine: list[str], name: str, target: str, digest_file: Path
) -> list[list[str]]:
    """Return the commands that push a built image to a registry.

    Args:
        engine: The builder's command with its global options; buildah or docker.
        name: The image's local name with tag.
        target: Its name in the registry.
        digest_file: Where buildah writes the digest of what it pushed. docker has no such option:
            its digest is read by :func:`render_digest_command`.
    """
    if Path(engine[0]).name == "buildah":
        push = ["push", "--format", "oci", "--digestfile", str(digest_file)]
        return [[*engine, *push, name, f"docker://{target}"]]
    return [[*engine, "tag", name, target], [*engine, "push", target]]


def render_digest_command(engine: list[str], target: str) -> list[str]:
    """Return docker's command that prints the names with digest of a pushed image, one a line."""
    return [*engine, "inspect", "--format", "{{range .RepoDigests}}{{println .}}{{end}}", target]
