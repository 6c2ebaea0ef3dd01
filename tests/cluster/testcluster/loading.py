"""Bringing an OCI archive into a cluster, so that Pods can name the image by its digest."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

from .commands import run
from .errors import ClusterError
from .layout import Layout
from .oci import ArchivedImage, read_archive

_DIGEST = re.compile(r"^sha256:[0-9a-f]{64}$")


def split_name(name: str) -> tuple[str, str]:
    """Split ``docker.io/gradekeeper/x:tag`` into repository and tag (``latest`` when absent)."""
    head, colon, tag = name.rpartition(":")
    if not colon or "/" in tag:
        return name, "latest"
    return head, tag


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


def _ctr(layout: Layout, *arguments: str | Path, limit: float = 300) -> str:
    program = layout.tools / "ctr"
    base = [program, "--address", layout.containerd_socket, "--namespace", "k8s.io"]
    return run([*base, *arguments], limit=limit)


def load_own(layout: Layout, archive: Path, image: ArchivedImage) -> str:
    """Import an archive into the own cluster's containerd under its tag and its digest.

    Returns:
        ``repository@sha256:…``.
    """
    if not layout.containerd_socket.exists():
        raise ClusterError("the cluster is down: `make cluster-up` first")
    repository, tag = split_name(image.name)
    by_digest = f"{repository}@{image.digest}"
    _ctr(layout, "images", "import", "--local", "--base-name", repository, archive)
    listed = _ctr(layout, "images", "ls", "-q").split()
    if image.name not in listed:
        raise ClusterError(f"the import of {archive} did not create {image.name} (tag {tag})")
    _ctr(layout, "images", "tag", "--force", image.name, by_digest)
    image_ids = {}
    for name in listed:
        other = name.rpartition("@")[2]
        if name.startswith(f"{repository}@") and _DIGEST.match(other):
            manifest = json.loads(_ctr(layout, "content", "get", other))
            image_ids[other] = manifest.get("config", {}).get("digest", "")
    stale = stale_digest_names(listed, repository, image.digest, image_ids, image.image_id)
    if stale:
        _ctr(layout, "images", "rm", *stale)
    return by_digest


def load_archive(layout: Layout, archive: Path, environ: Mapping[str, str]) -> str:
    """Load an OCI archive into the cluster in use; return ``repository@digest``."""
    try:
        image = read_archive(archive)
    except (OSError, ValueError) as error:
        raise ClusterError(f"cannot read {archive}: {error}") from error
    return load_own(layout, archive, image)
