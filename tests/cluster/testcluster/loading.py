"""Bringing an image archive into the cluster in use, so that Pods can name it by its digest."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from .commands import run
from .contexts import named_context, render_load_commands
from .errors import ClusterError
from .layout import Layout
from .oci import ArchivedImage, read_archive


def split_name(name: str) -> tuple[str, str]:
    """Split ``docker.io/gradekeeper/x:tag`` into repository and tag (``latest`` when absent)."""
    head, colon, tag = name.rpartition(":")
    if not colon or "/" in tag:
        return name, "latest"
    return head, tag


def full_name(name: str) -> str:
    """Return an image name with registry and tag: ``gradekeeper/x`` → ``docker.io/…/x:latest``.

    Raises:
        ClusterError: The name has a digest.
    """
    if "@" in name:
        raise ClusterError(f"{name}: an image is built under a tag, its digest comes out")
    repository, tag = split_name(name)
    first, slash, _ = repository.partition("/")
    if not slash:
        repository = f"docker.io/library/{repository}"
    elif "." not in first and ":" not in first and first != "localhost":
        repository = f"docker.io/{repository}"
    return f"{repository}:{tag}"


def stale_digest_names(
    listed: list[str], repository: str, digest: str, image_ids: Mapping[str, str], image_id: str
) -> list[str]:
    """Return digest names of a repository that would make the reported image id ambiguous.

    Two manifests may share a configuration. The kubelet reports the first digest name of the
    configuration, so an older manifest's name could appear instead of the one a Pod asked for.

    Args:
        listed: All image names.
        repository: The repository just loaded.
        digest: Its manifest digest.
        image_ids: Manifest digest → configuration digest of the listed images.
        image_id: The configuration digest just loaded.
    """
    prefix = f"{repository}@"
    return [
        name
        for name in listed
        if name.startswith(prefix)
        and name != f"{prefix}{digest}"
        and image_ids.get(name.removeprefix(prefix)) == image_id
    ]


def _ctr(layout: Layout, *arguments: str | Path) -> str:
    address: list[str | Path] = ["--address", layout.containerd_socket]
    return run([layout.tools / "ctr", *address, "--namespace", "k8s.io", *arguments], limit=600)


def _load_own(layout: Layout, archive: Path, image: ArchivedImage) -> str:
    if not layout.containerd_socket.exists():
        raise ClusterError("the test cluster is down: run `make cluster-up` first")
    repository, _ = split_name(image.name)
    by_digest = f"{repository}@{image.digest}"
    _ctr(layout, "images", "import", "--local", "--base-name", repository, archive)
    listed = _ctr(layout, "images", "ls", "-q").split()
    if image.name not in listed:
        raise ClusterError(f"the import of {archive} did not create {image.name}")
    _ctr(layout, "images", "tag", "--force", image.name, by_digest)
    image_ids = {}
    for name in listed:
        if name.startswith(f"{repository}@sha256:"):
            other = name.rpartition("@")[2]
            manifest = json.loads(_ctr(layout, "content", "get", other))
            image_ids[other] = manifest.get("config", {}).get("digest", "")
    stale = stale_digest_names(listed, repository, image.digest, image_ids, image.image_id)
    if stale:
        _ctr(layout, "images", "rm", *stale)
    return by_digest


def load_archive(layout: Layout, archive: Path, environ: Mapping[str, str]) -> str:
    """Load an OCI archive into the cluster in use.

    Args:
        layout: For the own cluster.
        archive: One image, with its full name inside.
        environ: Where GRADEKEEPER_CONTEXT is looked up.

    Returns:
        ``repository@sha256:…``, by which Pods can ask for it.

    Raises:
        ClusterError: The archive is unusable, or the cluster is down or takes no archives.
    """
    try:
        image = read_archive(archive)
    except (OSError, ValueError) as error:
        raise ClusterError(f"cannot read {archive}: {error}") from error
    if not image.name:
        raise ClusterError(f"{archive} does not say the image's name")
    context = named_context(environ)
    if context is None:
        return _load_own(layout, archive, image)
    by_digest = f"{split_name(image.name)[0]}@{image.digest}"
    commands = render_load_commands(context, archive, image.name, by_digest)
    if commands is None:
        raise ClusterError(
            f"no way to bring an image into the context {context}: set IMAGE_REGISTRY to a "
            "registry that its nodes can pull from"
        )
    for command in commands:
        run(command, limit=600)
    return by_digest
