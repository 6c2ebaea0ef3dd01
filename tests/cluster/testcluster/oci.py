"""OCI archives: writing a one-layer image and reading what an archive holds. Pure file work."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_CONFIG = "application/vnd.oci.image.config.v1+json"
_LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
_NAME_ANNOTATION = "io.containerd.image.name"
_REF_ANNOTATION = "org.opencontainers.image.ref.name"


def canonical(value: object) -> bytes:
    """Return JSON with sorted keys and no spaces."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def digest_of(data: bytes) -> str:
    """Return ``sha256:<hex>`` of the bytes."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def _entry(name: str, size: int, mode: int) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.size, info.mode = size, mode
    return info


def build_layer(files: Mapping[str, tuple[bytes, int]]) -> bytes:
    """Return an uncompressed tar of ``{path: (content, mode)}``, the same bytes every time."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name in sorted(files):
            content, mode = files[name]
            tar.addfile(_entry(name, len(content), mode), io.BytesIO(content))
    return buffer.getvalue()


def write_single_layer(
    path: Path, reference: str, files: Mapping[str, tuple[bytes, int]], config: dict[str, Any]
) -> str:
    """Write an OCI archive with one image of one layer.

    Args:
        path: The archive to write, atomically.
        reference: The image's full name with tag.
        files: Path inside the image → (content, mode).
        config: The image's ``config`` object (Entrypoint, User, …).

    Returns:
        The manifest digest.
    """
    layer = build_layer(files)
    compressed = gzip.compress(layer, mtime=0)
    image = canonical(
        {
            "architecture": "amd64",
            "os": "linux",
            "config": config,
            "rootfs": {"type": "layers", "diff_ids": [digest_of(layer)]},
        }
    )
    manifest = canonical(
        {
            "schemaVersion": 2,
            "mediaType": _MANIFEST,
            "config": {"mediaType": _CONFIG, "digest": digest_of(image), "size": len(image)},
            "layers": [
                {"mediaType": _LAYER, "digest": digest_of(compressed), "size": len(compressed)}
            ],
        }
    )
    index = canonical(
        {
            "schemaVersion": 2,
            "manifests": [
                {
                    "mediaType": _MANIFEST,
                    "digest": digest_of(manifest),
                    "size": len(manifest),
                    "annotations": {
                        _NAME_ANNOTATION: reference,
                        _REF_ANNOTATION: reference.rpartition(":")[2],
                    },
                }
            ],
        }
    )
    blobs = {f"blobs/sha256/{digest_of(b)[7:]}": b for b in (compressed, image, manifest)}
    members = {"oci-layout": b'{"imageLayoutVersion":"1.0.0"}', "index.json": index, **blobs}
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with tarfile.open(temporary, "w", format=tarfile.PAX_FORMAT) as tar:
        for name, content in members.items():
            tar.addfile(_entry(name, len(content), 0o644), io.BytesIO(content))
    temporary.replace(path)
    return digest_of(manifest)


@dataclass(frozen=True, slots=True)
class ArchivedImage:
    """The one image of an OCI archive.

    Attributes:
        name: Its full name with tag, empty when the archive gives none.
        digest: The manifest digest.
        image_id: The config digest.
        config: The decoded image configuration.
        layers: Names of the layers' members in the archive, lowest first.
    """

    name: str
    digest: str
    image_id: str
    config: dict[str, Any]
    layers: tuple[str, ...]


def read_archive(path: Path) -> ArchivedImage:
    """Read the one image of an OCI archive.

    Raises:
        ValueError: It is no OCI archive, holds several images, or its manifest does not match its
            digest.
    """

    def blob(tar: tarfile.TarFile, name: str) -> bytes:
        try:
            member = tar.extractfile(name)
        except KeyError:
            member = None
        if member is None:
            raise ValueError(f"{path}: no {name} in it: not an OCI archive")
        return member.read()

    with tarfile.open(path) as tar:
        manifests = json.loads(blob(tar, "index.json"))["manifests"]
        if len(manifests) != 1:
            raise ValueError(f"{path}: {len(manifests)} images in it, expected one")
        digest = manifests[0]["digest"]
        raw = blob(tar, f"blobs/sha256/{digest[7:]}")
        if digest_of(raw) != digest:
            raise ValueError(f"{path}: the manifest does not have the digest {digest}")
        manifest = json.loads(raw)
        image_id = manifest["config"]["digest"]
        config = json.loads(blob(tar, f"blobs/sha256/{image_id[7:]}"))
    annotations = manifests[0].get("annotations", {})
    name = annotations.get(_NAME_ANNOTATION) or annotations.get(_REF_ANNOTATION, "")
    layers = tuple(f"blobs/sha256/{layer['digest'][7:]}" for layer in manifest["layers"])
    return ArchivedImage(name, digest, image_id, config, layers)


def find_in_image(path: Path, texts: list[bytes]) -> list[str]:
    """Return where an image holds one of the texts: in its configuration, file names or contents.

    Used to prove that nothing of the build host (mirrors, certificates, settings) got in.

    Args:
        path: OCI archive.
        texts: What must not be there.

    Returns:
        One line a find, ``<where>: <text>``.
    """
    image = read_archive(path)
    described = canonical(image.config)
    found = [f"configuration: {text.decode()}" for text in texts if text in described]
    with tarfile.open(path) as tar:
        for layer in image.layers:
            blob = tar.extractfile(layer)
            if blob is None:
                raise ValueError(f"{path}: no layer {layer}")
            with tarfile.open(fileobj=blob, mode="r|*") as files:
                for member in files:
                    content = files.extractfile(member) if member.isfile() else None
                    data = member.name.encode() + b"\0" + (content.read() if content else b"")
                    found += [f"{member.name}: {t.decode()}" for t in texts if t in data]
    return found
