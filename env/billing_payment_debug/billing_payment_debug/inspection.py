"""What of a submission the hidden tests do not tell: which files an agent changed.

The archive is a stranger's, and is read by the referee's own reader, with an end to everything.
"""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gradekeeper.referee.bundle import SubmissionRules
from gradekeeper.referee.errors import Refused
from gradekeeper.referee.intake import unpack

FOLDER: Final = "src"
"""What of the repository is submitted."""
MAX_FILES: Final = 1_000
"""Regular files of a submission. The suite itself counts the sources: 500 of them."""
MAX_BYTES: Final = 8 << 20
"""Of all regular files."""

# Deeper files are no sources that anybody writes, and a folder is removed with a file descriptor
# held for each of its levels: an agent could use up those of the whole process.
_TOO_DEEP: Final = f"{FOLDER}/{'*/' * 32}**"
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


UNREADABLE: Final = Inspection(False, ())
"""Of what could not be sent or is no archive: nothing is known, so nothing is credited."""


def inspect(archive: bytes, given: Mapping[str, bytes]) -> Inspection:
    """Compare a submission with what the agent was given.

    Args:
        archive: tar.gz of the folder `src`.
        given: The task's repository: path -> content.
    """
    rules = SubmissionRules([f"{FOLDER}/**"], [_TOO_DEEP], MAX_FILES, MAX_BYTES)
    with tempfile.TemporaryDirectory(prefix="billing-") as temporary:
        packed, folder = Path(temporary) / "submission", Path(temporary) / "files"
        packed.write_bytes(archive)
        folder.mkdir()
        try:
            unpack([packed], folder, rules)
        except Refused:
            return UNREADABLE
        submitted = {
            path.relative_to(folder).as_posix(): path.read_bytes()
            for path in folder.rglob("*")
            if path.is_file()
        }
    return compare(submitted, given)


def compare(submitted: Mapping[str, bytes], given: Mapping[str, bytes]) -> Inspection:
    """Compare files with those that the agent was given; pure.

    Args:
        submitted: Path -> content, at least of all sources and tests.
        given: The task's repository.
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
