"""Building images from ordinary Dockerfiles, and bringing them into the cluster in use."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from .bases import BASES, ensure_base
from .binaries import find_program, install_packages
from .commands import run, succeeds
from .contexts import named_context, registry_name, render_digest_command, render_push_commands
from .errors import ClusterError
from .layout import Layout
from .loading import full_name, load_archive, split_name
from .oci import read_archive
from .pipconfig import write_secrets
from .progress import Progress

_BUILD_LIMIT = 1800.0


def find_engine(layout: Layout, progress: Progress) -> list[str]:
    """Return the builder's command with its global options.

    buildah where it is (for the own cluster it is installed), with a storage of its own in the
    cache; else docker.

    Raises:
        ClusterError: There is neither.
    """
    if named_context(os.environ) is None:
        install_packages(progress)
    if find_program("buildah") is not None:
        storage = layout.images / "buildah"
        folders = ["--root", str(storage), "--runroot", str(layout.run.with_name(
            f"{layout.run.name}-buildah"))]  # fmt: skip
        for driver in ("overlay", "vfs"):
            engine = ["buildah", *folders, "--storage-driver", driver]
            if succeeds([*engine, "images"]):
                return engine
    if find_program("docker") is not None and succeeds(["docker", "version"]):
        return ["docker"]
    raise ClusterError("images are built by buildah or docker, and neither works here")


def is_buildah(engine: list[str]) -> bool:
    """Return whether the builder is buildah."""
    return Path(engine[0]).name == "buildah"


def uses_local_bases(environ: Mapping[str, str]) -> bool:
    """Return whether base images are made from Debian packages instead of being pulled.

    GRADEKEEPER_BASES says it (``local`` or ``pull``); by default the own cluster uses local ones,
    and whoever has a cluster elsewhere is taken to reach a registry as well.

    Raises:
        ClusterError: The variable has another value.
    """
    wish = environ.get("GRADEKEEPER_BASES", "")
    if wish not in ("", "local", "pull"):
        raise ClusterError(f"GRADEKEEPER_BASES is `local` or `pull`, not `{wish}`")
    return wish == "local" or (not wish and named_context(environ) is None)


def render_build(
    engine: list[str],
    name: str,
    dockerfile: Path,
    context: Path,
    *,
    target: str | None = None,
    build_args: Mapping[str, str] | None = None,
    secrets: Mapping[str, Path] | None = None,
    pull: bool = False,
) -> list[str]:
    """Return the build command.

    ``--timestamp 0`` and kept layers: the same inputs give the same digest.

    Args:
        engine: From :func:`find_engine`.
        name: Full name with tag.
        dockerfile: The Dockerfile.
        context: The folder that COPY reads.
        target: Build stage.
        build_args: Values of ARG lines.
        secrets: Secret id → file.
        pull: Whether base images may be pulled.
    """
    command = [*engine, "build"]
    if is_buildah(engine):
        command += ["--isolation", "chroot", "--layers", "--timestamp", "0", "--format", "oci"]
        if not pull:
            command.append("--pull-never")
    command += ["--network", "host", "--tag", name, "--file", str(dockerfile)]
    if target is not None:
        command += ["--target", target]
    for key, value in (build_args or {}).items():
        command += ["--build-arg", f"{key}={value}"]
    for key, path in (secrets or {}).items():
        command += ["--secret", f"id={key},src={path}"]
    return [*command, str(context)]


def archive_path(layout: Layout, name: str) -> Path:
    """Return where the newest archive of an image is kept."""
    return layout.images / "archives" / f"{name.replace('/', '_').replace(':', '_')}.tar"


def _resolve_bases(
    layout: Layout, engine: list[str], build_args: Mapping[str, str], progress: Progress
) -> dict[str, str]:
    """Replace arguments that name a base of ours, or drop them where bases are pulled."""
    local = uses_local_bases(os.environ)
    resolved = {}
    for key, value in build_args.items():
        if value not in BASES:
            resolved[key] = value
        elif local:
            if not is_buildah(engine):
                raise ClusterError("base images of Debian packages need buildah")
            resolved[key] = ensure_base(layout, engine, BASES[value], progress)
    return resolved


def _holds(archive: Path, image_id: str) -> bool:
    """Return whether an archive is that of an image (`sha256:…`, of its configuration)."""
    try:
        return read_archive(archive).image_id == image_id
    except (OSError, ValueError):
        return False


def build_archive(
    layout: Layout,
    name: str,
    dockerfile: Path,
    context: Path,
    *,
    target: str | None,
    build_args: Mapping[str, str],
    progress: Progress,
) -> Path:
    """Build an image and write it as an OCI archive; return the archive.

    Raises:
        ClusterError: The build failed; with its last lines.
    """
    engine = find_engine(layout, progress)
    resolved = _resolve_bases(layout, engine, build_args, progress)
    archive = archive_path(layout, name)
    archive.parent.mkdir(parents=True, exist_ok=True)
    with progress.step(f"building {name}"), tempfile.TemporaryDirectory() as folder:
        secrets = write_secrets(Path(folder), os.environ, Path.home())
        command = render_build(
            engine,
            name,
            dockerfile,
            context,
            target=target,
            build_args=resolved,
            secrets=secrets,
            pull=not uses_local_bases(os.environ),
        )
        run(command, limit=_BUILD_LIMIT, extra_env={"DOCKER_BUILDKIT": "1"})
        if is_buildah(engine):
            # Writing an archive takes longer than finding out that nothing has changed.
            image_id = run([*engine, "images", "--quiet", "--no-trunc", name], limit=60).strip()
            if _holds(archive, image_id):
                return archive
        temporary = archive.with_name(f".{os.getpid()}.{archive.name}")
        try:
            if is_buildah(engine):
                push = [*engine, "push", "--quiet", "--format", "oci"]
                run([*push, name, f"oci-archive:{temporary}:{name}"], limit=600)
            else:
                # An OCI layout since Docker 25.
                run([*engine, "save", "--output", str(temporary), name], limit=600)
            temporary.replace(archive)
        finally:
            temporary.unlink(missing_ok=True)
    return archive


def _push(engine: list[str], name: str, registry: str) -> str:
    target = registry_name(registry, name)
    repository, _ = split_name(target)
    with tempfile.TemporaryDirectory() as folder:
        digest_file = Path(folder) / "digest"
        for command in render_push_commands(engine, name, target, digest_file):
            run(command, limit=900)
        if is_buildah(engine):
            return f"{repository}@{digest_file.read_text().strip()}"
    for line in run(render_digest_command(engine, target)).split():
        if line.startswith(f"{repository}@"):
            return line
    raise ClusterError(f"docker does not say the digest of {target}")


def build_and_load(
    name: str,
    dockerfile: str | Path,
    context: str | Path,
    target: str | None = None,
    build_args: Mapping[str, str] | None = None,
    *,
    layout: Layout | None = None,
    progress: Progress | None = None,
) -> str:
    """Build an image from a Dockerfile and bring it into the cluster in use.

    Args:
        name: Image name; ``gradekeeper/x`` means ``docker.io/gradekeeper/x:latest``.
        dockerfile: The Dockerfile.
        context: The folder that COPY reads.
        target: Build stage.
        build_args: Values of ARG lines. A value that is a name in :data:`bases.BASES` is built
            when it is not there yet (dropped where bases are pulled: see uses_local_bases).
        layout: Where things are kept; default from the environment.
        progress: For the lines on stderr.

    Returns:
        ``repository@sha256:…`` of what the cluster has: Pods start with exactly this.

    Raises:
        ClusterError: Building or loading failed.
    """
    layout = layout or Layout.from_environment()
    progress = progress or Progress()
    name = full_name(name)
    archive = build_archive(
        layout,
        name,
        Path(dockerfile),
        Path(context),
        target=target,
        build_args=build_args or {},
        progress=progress,
    )
    registry = os.environ.get("IMAGE_REGISTRY")
    if named_context(os.environ) is not None and registry:
        with progress.step(f"pushing {name}"):
            return _push(find_engine(layout, progress), name, registry)
    with progress.step(f"loading {name}"):
        return load_archive(layout, archive, os.environ)
