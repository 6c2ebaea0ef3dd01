"""Base images made from Debian's packages, for machines that can pull none.

A Dockerfile of the project names a public base image by default; its BASE argument takes one of
these instead. They are keyed by their package list alone: the same list is never built twice.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path

from .commands import run, succeeds
from .layout import Layout
from .progress import Progress

_SUITE = "bookworm"
_PREFIX = "local/"
_DEBIAN_SOURCES = (Path("/etc/apt/sources.list.d/debian.sources"), Path("/etc/apt/sources.list"))
# Raise it when the recipe below changes in a way that the package lists do not show.
_RECIPE = 1


@dataclass(frozen=True, slots=True)
class Base:
    """A base image.

    Attributes:
        name: Its tag, as given for a BASE argument.
        packages: What it holds beyond Debian's minimal base.
    """

    name: str
    packages: tuple[str, ...]

    @property
    def key(self) -> str:
        """Identifies the content's recipe: packages, suite, version of the recipe."""
        recipe = json.dumps([_RECIPE, _SUITE, sorted(self.packages)])
        return hashlib.sha256(recipe.encode()).hexdigest()[:16]

    @property
    def stored_name(self) -> str:
        """Its name in the builder's storage; ``localhost`` keeps registries out of it."""
        return f"localhost/{self.name}"


BASES = {
    base.name: base
    for base in (
        Base(f"{_PREFIX}base-python:{_SUITE}", ("python3", "python3-venv", "ca-certificates")),
        Base(f"{_PREFIX}base-jdk17:{_SUITE}", ("openjdk-17-jdk-headless",)),
        Base(
            f"{_PREFIX}base-build:{_SUITE}",
            ("gcc", "libc6-dev", "libseccomp-dev", "make", "openjdk-17-jdk-headless"),
        ),
    )
}


def render_bootstrap(base: Base, target: Path, sources: list[Path]) -> list[str]:
    """Return the mmdebstrap command that writes a base's root file system as a tar.

    Args:
        base: What to build.
        target: The tar.
        sources: This machine's apt sources when it runs the same Debian; else mmdebstrap's own.
    """
    return [
        "mmdebstrap",
        "--mode=root",
        "--variant=minbase",
        f"--include={','.join(base.packages)}",
        "--dpkgopt=path-exclude=/usr/share/doc/*",
        "--dpkgopt=path-exclude=/usr/share/locale/*",
        # Nothing of the machine that builds: neither its mirror nor its name or resolver.
        '--customize-hook=rm -rf "$1"/etc/apt/sources.list "$1"/etc/apt/sources.list.d/*',
        '--customize-hook=rm -f "$1"/etc/hostname "$1"/etc/resolv.conf "$1"/var/log/*.log '
        '"$1"/var/log/apt/*',
        _SUITE,
        str(target),
        *(str(path) for path in sources),
    ]


def own_sources(os_release: str) -> list[Path]:
    """Return this machine's apt sources if it runs the bases' Debian release."""
    if f"VERSION_CODENAME={_SUITE}" not in os_release.splitlines():
        return []
    if "ID=debian" not in os_release.splitlines():
        return []
    return [path for path in _DEBIAN_SOURCES if path.is_file()][:1]


def ensure_base(layout: Layout, engine: list[str], base: Base, progress: Progress) -> str:
    """Build a base image unless the builder has it; return its name for a FROM line.

    The root file system is kept as a tar in the cache, the image in the builder's storage under a
    tag with the key; only that tag is trusted, the plain one is moved to it.
    """
    keyed = f"{base.stored_name}-{base.key}"
    if not succeeds([*engine, "inspect", "--type", "image", keyed]):
        tar = layout.images / f"{base.name.removeprefix(_PREFIX).replace(':', '-')}-{base.key}.tar"
        if not tar.exists():
            layout.images.mkdir(parents=True, exist_ok=True)
            temporary = tar.with_name(f".{os.getpid()}.{tar.name}")
            release = Path("/etc/os-release")
            sources = own_sources(release.read_text()) if release.is_file() else []
            with progress.step(f"bootstrapping {base.name} from Debian packages"):
                try:
                    run(
                        render_bootstrap(base, temporary, sources),
                        limit=1200,
                        extra_env={"SOURCE_DATE_EPOCH": "0", "TMPDIR": str(layout.images)},
                    )
                    temporary.replace(tar)
                finally:
                    temporary.unlink(missing_ok=True)
        with progress.step(f"making the image {base.name}"):
            build = ["build", "--isolation", "chroot", "--timestamp", "0", "--tag", keyed]
            dockerfile = f"FROM scratch\nADD {tar.name} /\n"
            run([*engine, *build, "--file", "-", str(layout.images)], stdin=dockerfile, limit=900)
    run([*engine, "tag", keyed, base.stored_name])
    return base.stored_name
