"""What the referee and its children may hold: rlimits and a suite's arithmetic from one definition.

A child is a fork. It may write to every private page that the referee had, and so copy it, and it
may grow. Both together are its bound: `child.confine` lets it grow by what is left when all that
could be copied is taken off. So no child holds more than its bound, whatever it reads, and the
referee's container needs

    BASE_MIB + parallel x CHILD_MIB

however many children judge at the same time. One more child reads the archive, and later the
compiler's output, while no other judges: it has the same bound. docs/bounds.md lists the rest.
"""

from collections.abc import Mapping
from typing import Final

LANE_VOLUME_MIB: Final = 64
"""Size of `/lane`: sources, drivers and classes. Charged to the referee, who writes it."""
INODES_MIB: Final = 12
"""The kernel's own memory, at a KiB each, for 4,000 class files and the folders of classes and of
sources, 4,000 each; `volume_needs` counts that of the sources' files."""
CLASSES_MIB: Final = 32
"""Of the volume: 16 MiB of class files, each rounded up to whole pages."""
DRIVERS_MIB: Final = 8
"""Of the volume: drivers, and gold's sources and classes while gold is tried."""
HEAP_MIB: Final = 24
"""What the referee itself holds: interpreter, suite with its expectations, what it hears. Checked
before the release."""
TICKER_MIB: Final = 14
"""The ticking child; forked while the referee is still small."""
BASE_MIB: Final = LANE_VOLUME_MIB + INODES_MIB + HEAP_MIB + TICKER_MIB
CHILD_PRIVATE_MIB: Final = 37
"""Private memory of a child: what it copies of the referee's and what it adds."""
CHILD_MIB: Final = CHILD_PRIVATE_MIB + 2
"""With what the kernel keeps of it: page tables, stack, pipes."""

LIMITS: Final[Mapping[str, tuple[int, int]]] = {
    "suiteTimeoutSeconds": (1, 86_400),
    "runTimeoutSeconds": (1, 86_400),
    "testTimeoutSeconds": (1, 3_600),
    "restartsPerGroup": (0, 16),
    "parallel": (1, 16),
    "heapMiB": (16, 65_536),
    "scratchMiB": (1, 16_384),
    "processes": (8, 32_768),
    "fileMiB": (1, 16_384),
}
"""A suite's limits -> least and most; those of the CRD. laned has 16 live orders."""
RESERVED: Final = frozenset({"parallel", "heapMiB", "scratchMiB", "processes", "fileMiB"})
"""Limits that the Pod's memory was reckoned with: a job's parameter may lower them only."""


def volume_needs(max_files: int, max_bytes: int) -> int:
    """MiB of `/lane` that a suite needs, whose submissions may have so many files and bytes."""
    sources = max_bytes + max_files * 5 * 1024  # the last page of each, and its inode
    return CLASSES_MIB + DRIVERS_MIB + -(-sources // (1024 * 1024))


def referee_needs(parallel: int) -> int:
    """MiB of memory that a referee needs, if so many runs go side by side."""
    return BASE_MIB + parallel * CHILD_MIB
