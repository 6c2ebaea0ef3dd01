"""Plain tables: readable in a terminal of ordinary width and in a log alike."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence
from typing import Any


def print_table(rows: Sequence[Sequence[str]], *, numbers: Collection[int] = ()) -> None:
    """Print rows in columns.

    Args:
        rows: the titles first; all of one length.
        numbers: columns that are set to the right.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    sys.stdout.write("\n")
    for row in rows:
        cells = [
            cell.rjust(width) if column in numbers else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        sys.stdout.write("  ".join(cells).rstrip() + "\n")
    sys.stdout.write("\n")


def passed_of(verdict: Mapping[str, Any]) -> str:
    """`passed/total` of a verdict; dashes where it has no numbers."""
    tests = verdict.get("tests") or {}
    return f"{tests.get('passed', '-')}/{tests.get('total', '-')}"
