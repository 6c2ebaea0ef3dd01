"""The java17 lane: command lines and limits of its orders."""

from collections.abc import Mapping, Sequence
from typing import Final

from gradekeeper.referee.bundle import BuildRules, Limits
from gradekeeper.referee.child import MIB
from gradekeeper.referee.job import View

ENVIRONMENT: Final[Mapping[str, str]] = {
    # For the names of files, which may have every letter of a Java identifier: no option of a JVM
    # says how they are written.
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    # glibc reserves 64 MiB of address space a thread otherwise, which RLIMIT_AS would count.
    "MALLOC_ARENA_MAX": "2",
}

_FLAGS: Final = (
    "-Xshare:auto",
    # The VM warns, reports exhausted memory and its own crash on descriptor 1 otherwise, which
    # belongs to the protocol.
    "-Xlog:disable",
    "-Xlog:all=error:stderr",
    "-XX:+DisplayVMOutputToStderr",
    "-XX:+SuppressFatalErrorMessage",
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-XX:-UsePerfData",
    "-XX:+DisableAttachMechanism",
    "-XX:+ExitOnOutOfMemoryError",
    "-XX:-CreateCoredumpOnCrash",
    "-XX:CompressedClassSpaceSize=64m",
    "-XX:MaxDirectMemorySize=16m",
    "-Dfile.encoding=UTF-8",
)
_COMPILER_FLAGS: Final = (
    # Classes of the compiler, mapped instead of loaded: a third less time. Made with the image;
    # a JVM that it does not fit goes on without a word.
    "-XX:SharedArchiveFile=/opt/gradekeeper/compiler.jsa",
    "-XX:ReservedCodeCacheSize=48m",
    "-XX:MaxMetaspaceSize=128m",
    # The compiler recurses as deep as expressions nest.
    "-Xss8m",
)
_RUNNER_FLAGS: Final = (
    # A compiler thread that comes late would look like one of the submission's.
    "-XX:-UseDynamicNumberOfCompilerThreads",
    "-XX:ReservedCodeCacheSize=32m",
    "-XX:MaxMetaspaceSize=96m",
    "-Xss1m",
)
OUT_OF_MEMORY: Final = "3"
"""Exit status of a JVM that ended because its heap, or another part of its memory, was full."""
ADDRESS_SPACE_MIB: Final = 1_536
"""What a JVM maps beside its heap: class space, code, the shared archive, thread stacks."""


def compiler(build: BuildRules, scratch: str, view: View) -> Sequence[str]:
    """The command that compiles the lane's `sources`."""
    return (
        view.java,
        *_FLAGS,
        *_COMPILER_FLAGS,
        f"-Xmx{build.heap_mib}m",
        f"-Djava.io.tmpdir={scratch}",
        "-cp",
        view.kit,
        "gradekeeper.kit.Compiler",
        "--release",
        "17",
        f"{view.lane}/sources/{build.source_root}".rstrip("/"),
    )


def runner(driver: str, limits: Limits, scratch: str, view: View) -> Sequence[str]:
    """The command of one run."""
    return (
        view.java,
        *_FLAGS,
        *_RUNNER_FLAGS,
        f"-Xmx{limits.heap_mib}m",
        f"-Djava.io.tmpdir={scratch}",
        "-cp",
        f"{view.kit}:{view.lane}/suite/drivers.jar:{view.lane}/app",
        "gradekeeper.kit.Runner",
        driver,
    )


def order_limits(limits: Limits, *, heap_mib: int, user_namespace: bool) -> dict[str, int]:
    """The rlimits of an order, by laned's names.

    Args:
        limits: the suite's.
        heap_mib: of the JVM.
        user_namespace: whether the lane has one: RLIMIT_NPROC would count every lane of a node
            together otherwise.
    """
    found = {
        "cpu": limits.suite_timeout_seconds,
        "as": (heap_mib + ADDRESS_SPACE_MIB) * MIB,
        "fsize": limits.file_mib * MIB,
        "nofile": 1_024,
    }
    if user_namespace:
        found["nproc"] = limits.processes
    return found


def reserved_folders(drivers: Sequence[str]) -> frozenset[str]:
    """The packages that submitted classes may not be in, as folders."""
    packages = {driver.rpartition(".")[0] for driver in drivers} - {""}
    return frozenset({"gradekeeper/"} | {package.replace(".", "/") + "/" for package in packages})
