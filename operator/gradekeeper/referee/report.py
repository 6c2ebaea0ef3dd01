"""The fixed, tiny grammar in which a child tells the referee how a run goes.

A child parsed hostile bytes, so its report is parsed like a stranger's: lines of printable ASCII,
a letter and fields. Anything else is a dead child.

    S <case>                    the case starts
    E <case> <outcome> <ms> <cause>
                                the case ended; so many milliseconds are the longest from one
                                hold to the next, or to the end; cause is a short text of ours
    L <case> <cause>            the lane lied about being settled: tampering is proven
    D <text>                    the head of its error output, escaped
    Z                           every case was played
    B <files>                   the build succeeded
    C <count>                   the build has errors
    V <cause>                   the build broke its protocol
"""

from dataclasses import dataclass
from typing import Final

from gradekeeper.referee.result import OUTCOMES

MAX_REPORT_LINE: Final = 8_192

STARTED: Final = "S"
OUTCOME: Final = "E"
LIED: Final = "L"
ERRORS: Final = "D"
PLAYED: Final = "Z"
BUILT: Final = "B"
BUILD_ERRORS: Final = "C"
BUILD_VIOLATION: Final = "V"


class ReportError(ValueError):
    """Not a line of the grammar."""


@dataclass(frozen=True, slots=True)
class Report:
    """One line."""

    kind: str
    number: int = 0
    outcome: str = ""
    text: str = ""
    span_ms: int = 0


def encode_report(report: Report) -> bytes:
    """Write one line, newline included."""
    text = report.text.encode("ascii", "backslashreplace").decode("ascii")
    text = "".join(
        character if character.isprintable() else f"\\x{ord(character):02x}" for character in text
    )
    kind = report.kind
    if kind == STARTED or kind in (BUILT, BUILD_ERRORS):
        line = f"{kind} {report.number}"
    elif kind == OUTCOME:
        line = f"{kind} {report.number} {report.outcome} {report.span_ms} {text}"
    elif kind == LIED:
        line = f"{kind} {report.number} {text}"
    elif kind == PLAYED:
        line = kind
    else:
        line = f"{kind} {text}"
    return line.encode("ascii")[: MAX_REPORT_LINE - 1] + b"\n"


def parse_report(line: bytes) -> Report:
    """Parse one line, without its newline.

    Raises:
        ReportError: it is not of the grammar.
    """
    if len(line) >= MAX_REPORT_LINE or not line.isascii():
        raise ReportError("not a line of ASCII")
    text = line.decode("ascii")
    if not text.isprintable():
        raise ReportError("not printable")
    kind, _, rest = text.partition(" ")
    if kind == PLAYED and not rest:
        return Report(PLAYED)
    if kind in (ERRORS, BUILD_VIOLATION):
        return Report(kind, text=rest)
    digits, _, rest = rest.partition(" ")
    if not digits.isdigit() or len(digits) > 6:
        raise ReportError("no number")
    number = int(digits)
    if kind in (STARTED, BUILT, BUILD_ERRORS) and not rest:
        return Report(kind, number)
    if kind == LIED:
        return Report(kind, number, text=rest)
    outcome, _, rest = rest.partition(" ")
    span, _, cause = rest.partition(" ")
    if kind == OUTCOME and outcome in OUTCOMES and span.isdigit() and len(span) < 10:
        return Report(kind, number, outcome, cause, int(span))
    raise ReportError("an unknown line")
