"""The suite image: the referee's image with the bundle at /suite, built by buildah or docker.

`write_context` makes an ordinary build context for whoever builds images in another way.
"""

import json
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from gradekeeper.suites.bundle import load_bundle
from gradekeeper.suites.errors import ToolError

DOCKERFILE: Final = """\
# The suite {name} {version}: the referee and its bundle. REFEREE is the referee's image, by digest
# wherever it was pulled.
ARG REFEREE
FROM ${{REFEREE}}
COPY suite /suite
LABEL org.opencontainers.image.title="{name}" \\
      org.opencontainers.image.version="{version}" \\
      dev.gradekeeper.suite="{digest}"
"""
_LIMIT_SECONDS = 600
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


def write_context(bundle: Path | str, out: Path | str) -> Path:
    """Write a build context: `Dockerfile` (build argument REFEREE) and `suite/`.

    Returns:
        The context's folder.

    Raises:
        DefinitionError: not a bundle.
        ToolError: `out` exists and is not such a context.
    """
    loaded = load_bundle(bundle)
    target = Path(out)
    if target.exists():
        if any(target.iterdir()) and not (target / "suite" / "manifest.json").is_file():
            raise ToolError(f"{target} exists and is not the context of a suite; it is left alone.")
        shutil.rmtree(target)
    target.mkdir(parents=True)
    shutil.copytree(loaded.path, target / "suite")
    (target / "Dockerfile").write_text(
        DOCKERFILE.format(name=loaded.name, version=loaded.version, digest=loaded.digest),
        encoding="utf-8",
    )
    return target


def build_command(builder: str, *, context: Path, referee: str, tag: str) -> list[str]:
    """The command that builds a context with `buildah` or `docker`; times are fixed."""
    common = ["--build-arg", f"REFEREE={referee}", "-t", tag, "-f", str(context / "Dockerfile")]
    if Path(builder).name == "buildah":
        return [builder, "build", "--timestamp", "0", "--layers=false", *common, str(context)]
    return [builder, "build", *common, str(context)]


def find_builder() -> str:
    """Buildah, else docker.

    Raises:
        ToolError: neither is installed.
    """
    for name in ("buildah", "docker"):
        found = shutil.which(name)
        if found:
            return found
    raise ToolError("Neither buildah nor docker is installed; either builds the suite's image.")


def build_image(bundle: Path | str, *, referee: str, tag: str, push: bool = False) -> str:
    """Build the suite image and, if asked, push it.

    Args:
        bundle: The bundle.
        referee: The referee's image.
        tag: Name of the new image.
        push: Push it to the registry that its name says.

    Returns:
        The manifest's digest after a push, which is what a GradingSuite names; else the image id.

    Raises:
        ToolError: no builder, or it fails; with the builder's last words.
    """
    builder = find_builder()
    with tempfile.TemporaryDirectory(prefix="gradekeeper-image-") as temporary:
        context = write_context(bundle, Path(temporary) / "context")
        _run(build_command(builder, context=context, referee=referee, tag=tag))
        if not push:
            return _image_id(builder, tag)
        if Path(builder).name == "buildah":
            digest = Path(temporary) / "digest"
            _run([builder, "push", "--digestfile", str(digest), tag])
            return digest.read_text(encoding="ascii").strip()
        said = _run([builder, "push", tag])
        found = _DIGEST.findall(said)
        if not found:
            raise ToolError(f"{builder} pushed {tag}, but did not say its digest.")
        return str(found[-1])


def _image_id(builder: str, tag: str) -> str:
    if Path(builder).name == "buildah":
        document = json.loads(_run([builder, "inspect", "--type", "image", tag]))
        return "sha256:" + str(document["FromImageID"]).removeprefix("sha256:")
    return _run([builder, "image", "inspect", "--format", "{{.Id}}", tag]).strip()


def _run(command: list[str]) -> str:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_LIMIT_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise ToolError(f"{command[0]} did not finish in {_LIMIT_SECONDS} seconds.") from None
    if done.returncode != 0:
        last = "\n".join(done.stderr.strip().splitlines()[-10:])
        raise ToolError(f"{' '.join(command[:2])} failed:\n{last}")
    return done.stdout
