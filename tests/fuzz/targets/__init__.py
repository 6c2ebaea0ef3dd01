"""What is fuzzed: one module for each kind of bytes that a stranger can send.

Each module is a `Target`: `SEEDS`, named inputs from which mutation starts; `WORDS`, tokens of its
grammar; `MAX_LEN`; and `run(data)`, which returns normally for any bytes. Whatever else comes out
of it is a finding: an exception that the code under test does not document, or an `Oops` where it
answers something that cannot be right.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Protocol

NAMES = (
    "lines",
    "conversation",
    "frames",
    "probe",
    "replies",
    "archive",
    "termination",
    "envelope",
    "index",
)


class Oops(Exception):
    """The code under test answered what cannot be right."""


class Target(Protocol):
    """A module of this package."""

    SEEDS: Mapping[str, bytes]
    WORDS: Sequence[bytes]
    MAX_LEN: int

    @staticmethod
    def run(data: bytes) -> None:
        """Feed one input to the code under test."""


def load(name: str) -> Target:
    """The target of a name."""
    if name not in NAMES:
        raise ValueError(f"{name!r} is none of {', '.join(NAMES)}")
    return importlib.import_module(f"fuzz.targets.{name}")  # type: ignore[return-value]


def require(holds: object, what: str) -> None:
    """Raise `Oops` unless something holds."""
    if not holds:
        raise Oops(what)
