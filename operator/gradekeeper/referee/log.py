"""The detail log: JSON lines on standard error, for maintainers, capped, with a digest.

Text of a lane appears only inside JSON strings, in ASCII with everything else escaped, so that it
can neither start a line nor colour a terminal.
"""

import hashlib
import json
import os
import time
from typing import Any, Final

MAX_LOG_BYTES: Final = 256 * 1024
MAX_FIELD: Final = 2_000
RESERVED_SHARE: Final = 16
"""So many parts has the cap, one of them for `LAST`: what a lane prints must not push out how the
grading ended."""
LAST: Final = frozenset({"platform_error", "referee_error", "lane_lost", "result"})
"""Events that end a grading."""


class DetailLog:
    """Writes events to a descriptor until the cap, and digests what was written."""

    def __init__(self, descriptor: int, max_bytes: int = MAX_LOG_BYTES) -> None:
        self._descriptor = descriptor
        self._left = max_bytes
        self._reserved = max_bytes // RESERVED_SHARE
        self._hash = hashlib.sha256()
        self._started = time.monotonic()

    def event(self, name: str, **fields: Any) -> None:
        """Write one event; silently nothing once the cap is reached.

        What is reserved of it is for the events of `LAST`.

        Args:
            name: of the event, snake_case.
            fields: JSON values; a text longer than `MAX_FIELD` characters is cut.
        """
        document = {"event": name, "at": round(time.monotonic() - self._started, 3)}
        for key, value in fields.items():
            document[key] = value[:MAX_FIELD] if isinstance(value, str) else value
        line = json.dumps(document, ensure_ascii=True).encode("ascii") + b"\n"
        if len(line) > self._left - (0 if name in LAST else self._reserved):
            self._left = min(self._left, self._reserved)
            return
        self._left -= len(line)
        self._hash.update(line)
        try:
            # The container runtime reads this pipe; a reader that is gone must not end a grading.
            os.write(self._descriptor, line)
        except OSError:
            self._left = 0

    @property
    def digest(self) -> str:
        """The digest, "sha256:…", of every byte written so far."""
        return "sha256:" + self._hash.hexdigest()
