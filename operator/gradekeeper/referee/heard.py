"""What was heard in one test, kept as bytes.

As Python's values, texts of characters beyond the 16-bit range take four bytes a character, and
every small value a few hundred bytes. Kept as bytes, whatever a lane may say takes no more than it
took in the pipe; who needs an entry has it made again, one at a time. The bytes are in blocks of
their own: between what is made and dropped all the time they would tear the heap to pieces.
"""

import json
import mmap
from collections.abc import Iterator
from typing import Any, Final

from gradekeeper.referee.strictjson import encode_canonical

_BLOCK: Final = 512 * 1024


class Heard:
    """Entries in the order in which they came.

    Attributes:
        size: bytes of all of them.
    """

    def __init__(self) -> None:
        self._blocks: list[mmap.mmap] = []
        self._used = 0
        self._places: list[tuple[mmap.mmap, int, int]] = []
        self.size = 0

    def __len__(self) -> int:
        """How many entries there are."""
        return len(self._places)

    def add(self, entry: list[Any]) -> None:
        """Keep an entry, whose value follows the grammar of observations."""
        line = encode_canonical(entry)
        if not self._blocks or self._used + len(line) > len(self._blocks[-1]):
            self._blocks.append(mmap.mmap(-1, max(_BLOCK, len(line))))
            self._used = 0
        block, start = self._blocks[-1], self._used
        self._used += len(line)
        block[start : self._used] = line
        self._places.append((block, start, self._used))
        self.size += len(line)

    def entries(self) -> Iterator[list[Any]]:
        """Every entry, made anew each time."""
        for block, start, end in self._places:
            yield json.loads(block[start:end].decode("utf-8"))
