"""The programs that the cluster runs: from Debian's packages, and built from Go modules.

Every Go program has a module of its own below ``go/`` with a committed go.mod and go.sum. Built
programs are kept in ``<cache>/bin/<name>-<version>/``; a program appears there by a rename, so
whatever exists is complete. To move to another version, change it here and in the module, and run
``go mod tidy`` there.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from .commands import SEARCH_PATH, run, succeeds
from .components import Programs
from .errors import ClusterError
from .layout import PAUSE_IMAGE, Layout
from .oci import write_single_layer
from .progress import Progress

_HERE = Path(__file__).resolve().parent.parent
_BUILD_LIMIT = 3600.0
_CNI_PLUGINS = Path("/usr/lib/cni")

# program that proves it is there → Debian package
DEBIAN: dict[str, str] = {
    "etcd": "etcd-server",
    str(_CNI_PLUGINS / "bridge"): "containernetworking-plugins",
    "buildah": "buildah",
    "mmdebstrap": "mmdebstrap",
    "ipset": "ipset",
    "iptables": "iptables",
    "ip": "iproute2",
    "openssl": "openssl",
    "gcc": "gcc libc6-dev",
    "pkg-config": "pkg-config",
    "/usr/include/seccomp.h": "libseccomp-dev",
    "bwrap": "bubblewrap",
}


@dataclass(frozen=True, slots=True)
class GoProgram:
    """A program built from a Go module.

    Attributes:
        name: Name of the built file.
        package: Import path of its main package; "." for the module's own.
    """

    name: str
    package: str


@dataclass(frozen=True, slots=True)
class GoModule:
    """A pinned Go module and the programs built from it.

    Attributes:
        name: Folder below ``go/`` and first half of the cache folder's name.
        version: Without the leading ``v``.
        programs: What is built.
        symbols: String variables set at link time (``-X``).
        tags: Build tags.
        cgo: Whether C code is part of it.
    """

    name: str
    version: str
    programs: tuple[GoProgram, ...]
    symbols: tuple[tuple[str, str], ...] = ()
    tags: tuple[str, ...] = ()
    cgo: bool = False


_KUBERNETES = "1.34.4"
_COMPONENT_BASE = "k8s.io/component-base/version"

# Without these, Kubernetes' programs call themselves v0.0.0-master and refuse each other's skew.
_KUBERNETES_SYMBOLS = (
    (f"{_COMPONENT_BASE}.gitVersion", f"v{_KUBERNETES}"),
    (f"{_COMPONENT_BASE}.gitMajor", "1"),
    (f"{_COMPONENT_BASE}.gitMinor", "34"),
)
KUBERNETES = GoModule(
    "kubernetes", _KUBERNETES, (GoProgram("hyperkube", "."),), symbols=_KUBERNETES_SYMBOLS
)
KUBECTL = GoModule(
    "kubernetes",
    _KUBERNETES,
    (GoProgram("kubectl", "k8s.io/kubernetes/cmd/kubectl"),),
    symbols=_KUBERNETES_SYMBOLS,
)
CONTAINERD = GoModule(
    "containerd",
    "2.2.9",
    tuple(
        GoProgram(name, f"github.com/containerd/containerd/v2/cmd/{name}")
        for name in ("containerd", "containerd-shim-runc-v2", "ctr")
    ),
    symbols=(("github.com/containerd/containerd/v2/version.Version", "v2.2.9"),),
    # Snapshotters that need C libraries or kernel parts which nothing here uses.
    tags=("no_btrfs", "no_devmapper", "no_zfs"),
)
RUNC = GoModule(
    "runc",
    "1.3.3",
    (GoProgram("runc", "github.com/opencontainers/runc"),),
    tags=("seccomp",),
    cgo=True,
)
KUBE_ROUTER = GoModule(
    "kube-router",
    "2.1.0",
    (GoProgram("kube-router", "github.com/cloudnativelabs/kube-router/v2/cmd/kube-router"),),
    symbols=(("github.com/cloudnativelabs/kube-router/v2/pkg/version.Version", "v2.1.0"),),
)
HELM = GoModule(
    "helm",
    "4.3.1",
    (GoProgram("helm", "helm.sh/helm/v4/cmd/helm"),),
    symbols=(("helm.sh/helm/v4/internal/version.version", "v4.3.1"),),
)
CLUSTER_MODULES = (KUBERNETES, CONTAINERD, RUNC, KUBE_ROUTER, HELM)


def find_program(name: str, *, beside: Path | None = None) -> Path | None:
    """Return a program's path on PATH or in the system folders; absolute names as they are.

    What is in the folder `beside` is not taken: a link there would be told to point to itself.
    """
    if name.startswith("/"):
        return Path(name) if os.path.exists(name) else None
    folders = [one for one in SEARCH_PATH.split(os.pathsep) if one and Path(one) != beside]
    found = shutil.which(name, path=os.pathsep.join(folders))
    return Path(found) if found else None


def missing_packages() -> list[str]:
    """Return the Debian packages whose program or file is not there."""
    return [p for name, p in DEBIAN.items() if find_program(name) is None]


def install_packages(progress: Progress) -> None:
    """Install the missing Debian packages with apt-get, saying which.

    Raises:
        ClusterError: There is no apt-get, or it failed.
    """
    packages = [name for entry in missing_packages() for name in entry.split()]
    if not packages:
        return
    if find_program("apt-get") is None:
        raise ClusterError(f"please install these (names of Debian packages): {packages}")
    environment = {"DEBIAN_FRONTEND": "noninteractive"}
    with progress.step(f"installing Debian packages: {' '.join(packages)}"):
        # A package may want to start its service; this cluster starts its own processes.
        install = ["apt-get", "install", "-y", "-q", "--no-install-recommends", *packages]
        run(["apt-get", "update", "-q"], limit=300, extra_env=environment)
        run(install, limit=900, extra_env=environment)
    if still := missing_packages():
        raise ClusterError(f"apt-get succeeded but these are still missing: {still}")


def linker_flags(module: GoModule) -> str:
    """Return the value of ``-ldflags``: no symbol table (half the size), and the versions."""
    return " ".join(["-s", "-w", *(f"-X {name}={value}" for name, value in module.symbols)])


def build_command(module: GoModule, program: GoProgram, output: Path) -> list[str]:
    """Return the ``go build`` command line for one program.

    ``-trimpath`` keeps this machine's folders out of the program; ``-mod=readonly`` fails rather
    than change the pinned versions.
    """
    command = ["go", "build", "-trimpath", "-mod=readonly", f"-ldflags={linker_flags(module)}"]
    if module.tags:
        command.append(f"-tags={','.join(module.tags)}")
    return [*command, "-o", str(output), program.package]


def binary_folder(layout: Layout, module: GoModule) -> Path:
    """Return where a module's programs are kept."""
    return layout.binaries / f"{module.name}-{module.version}"


def build_module(layout: Layout, module: GoModule, progress: Progress) -> dict[str, Path]:
    """Build the programs of a module that are not in the cache yet.

    Returns:
        Program name → path.

    Raises:
        ClusterError: There is no Go toolchain, or the build failed.
    """
    folder = binary_folder(layout, module)
    paths = {program.name: folder / program.name for program in module.programs}
    for program in module.programs:
        target = paths[program.name]
        if target.exists():
            continue
        if find_program("go") is None:
            raise ClusterError(
                f"{program.name} {module.version} has to be built and there is no `go` on PATH"
            )
        folder.mkdir(parents=True, exist_ok=True)
        temporary = folder / f".{program.name}.{os.getpid()}"
        with progress.step(f"building {program.name} {module.version} from its Go module"):
            try:
                run(
                    build_command(module, program, temporary),
                    limit=_BUILD_LIMIT,
                    cwd=_HERE / "go" / module.name,
                    extra_env={"CGO_ENABLED": "1" if module.cgo else "0", "GOFLAGS": ""},
                )
                temporary.replace(target)
            finally:
                temporary.unlink(missing_ok=True)
    return paths


def build_pause_archive(layout: Layout, progress: Progress) -> Path:
    """Return the OCI archive of the sandbox image, building it when its source changed."""
    source = _HERE / "probe" / "probe.c"
    key = hashlib.sha256(source.read_bytes() + PAUSE_IMAGE.encode()).hexdigest()[:16]
    folder = layout.binaries / f"pause-{key}"
    archive = folder / "pause.tar"
    if archive.exists():
        return archive
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / f".probe.{os.getpid()}"
    with progress.step("building the pause image"):
        try:
            run(
                ["gcc", "-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-static", "-s",
                 "-o", program, source]
            )  # fmt: skip
            content = program.read_bytes()
        finally:
            program.unlink(missing_ok=True)
        write_single_layer(
            archive,
            PAUSE_IMAGE,
            {"probe": (content, 0o755)},
            {"Entrypoint": ["/probe"], "User": "65535:65535"},
        )
    return archive


def prepare(layout: Layout, progress: Progress) -> Programs:
    """Install and build everything that the cluster needs; link the tools for PATH."""
    install_packages(progress)
    built: dict[str, Path] = {}
    for module in CLUSTER_MODULES:
        built |= build_module(layout, module, progress)
    kubectl = find_program("kubectl", beside=layout.tools)
    if kubectl is None:
        kubectl = build_module(layout, KUBECTL, progress)["kubectl"]
    pause = build_pause_archive(layout, progress)
    layout.tools.mkdir(parents=True, exist_ok=True)
    for name, path in (("kubectl", kubectl), ("helm", built["helm"]), ("ctr", built["ctr"])):
        link = layout.tools / name
        if not (link.is_symlink() and link.readlink() == path):
            link.unlink(missing_ok=True)
            link.symlink_to(path)
    return Programs(
        etcd=find_program("etcd") or Path("etcd"),
        containerd=built["containerd"],
        shim=built["containerd-shim-runc-v2"],
        ctr=built["ctr"],
        runc=built["runc"],
        hyperkube=built["hyperkube"],
        kube_router=built["kube-router"],
        cni_plugins=_CNI_PLUGINS,
        pause_archive=pause,
    )


def has_root_and_linux() -> bool:
    """Return whether the own cluster can run here at all."""
    return os.uname().sysname == "Linux" and os.geteuid() == 0 and succeeds(["true"])
