"""What of a submission the hidden tests do not tell: which files an agent changed.

The archive is a stranger's, and is read by the referee's own reader, in a process of its own that
ends where its bounds do.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from gradekeeper.referee.bundle import SubmissionRules
from gradekeeper.referee.errors import Refused
from gradekeeper.referee.listing import list_archive

FOLDER: Final = "src"
"""What of the repository is submitted."""
MAX_FILES: Final = 1_000
"""Regular files of a submission. The suite itself counts the sources: 500 of them."""
MAX_BYTES: Final = 8 << 20
"""Of all regular files."""

_RULES: Final = SubmissionRules([f"{FOLDER}/**"], [], MAX_FILES, MAX_BYTES)
_SOURCES: Final = f"{FOLDER}/main/java/"
_TESTS: Final = f"{FOLDER}/test/java/"


@dataclass(frozen=True, slots=True)
class Inspection:
    """How a submission differs from the repository that the agent was given.

    Attributes:
        public_tests_intact: Whether every file that the public tests consist of is still there,
            byte for byte; files may have been added.
        main_files_changed: Paths below `src/main/java` that differ, are new or are gone, sorted.
    """

    public_tests_intact: bool
    main_files_changed: tuple[str, ...]


_MAX_SHOWN: Final = 200


def shown(path: str) -> str:
    """A path as a trace keeps it: a long one is cut, and stays another than all others; pure.

    A thousand paths of thousands of bytes would be an agent's to write into every trace.
    """
    if len(path) <= _MAX_SHOWN:
        return path
    return f"{path[: _MAX_SHOWN - 40]}…{hashlib.sha256(path.encode()).hexdigest()[:32]}"


UNREADABLE: Final = Inspection(False, ())
"""Of what could not be sent or is no archive: nothing is known, so nothing is credited."""


def inspect(archive: bytes, given: Mapping[str, bytes]) -> Inspection:
    """Compare a submission with what the agent was given; blocks.

    Args:
        archive: tar.gz of the folder `src`.
        given: The task's repository: path -> content.

    Raises:
        ListingError: This machine could not read it.
    """
    try:
        submitted = list_archive(archive, _RULES)
    except Refused:
        return UNREADABLE
    return compare(submitted, digests(given))


def digests(files: Mapping[str, bytes]) -> dict[str, str]:
    """SHA-256 in hex of each file; pure."""
    return {path: hashlib.sha256(content).hexdigest() for path, content in files.items()}


def compare(submitted: Mapping[str, str], given: Mapping[str, str]) -> Inspection:
    """Compare files with those that the agent was given; pure.

    Args:
        submitted: Path -> digest, at least of all sources and tests.
        given: That of the task's repository.
    """
    return Inspection(
        all(submitted.get(path) == given[path] for path in given if path.startswith(_TESTS)),
        tuple(
            sorted(
                path
                for path in submitted.keys() | given.keys()
                if path.startswith(_SOURCES) and submitted.get(path) != given.get(path)
            )
        ),
    )
