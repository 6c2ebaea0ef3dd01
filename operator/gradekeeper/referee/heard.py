"""What was heard in one test, kept as bytes.

As Python's values, texts of characters beyond the 16-bit range take four bytes a character, and
every small value a few hundred bytes. Kept as bytes, whatever a lane may say takes no more than it
took in the pipe; who needs an entry has it made again, one at a time.
"""

import json
from collections.abc import Iterator
from typing import Any

from gradekeeper.referee.strictjson import encode_canonical


class Heard:
    """Entries in the order in which they came.

    Attributes:
        size: bytes of all of them.
    """

    def __init__(self) -> None:
        self._lines: list[bytes] = []
        self.size = 0

    def __len__(self) -> int:
        """How many entries there are."""
        return len(self._lines)

    def add(self, entry: list[Any]) -> None:
        """Keep an entry, whose value follows the grammar of observations."""
        line = encode_canonical(entry)
        self._lines.append(line)
        self.size += len(line)

    def entries(self) -> Iterator[list[Any]]:
        """Every entry, made anew each time."""
        for line in self._lines:
            yield json.loads(line.decode("utf-8"))
