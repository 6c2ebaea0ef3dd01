"""One line of a run, from a lane; and one line of a child's report."""

from __future__ import annotations

import json

from fuzz.targets import require
from gradekeeper.referee import observations
from gradekeeper.referee.judge import Rules, canonical, difference
from gradekeeper.referee.observations import LineError, parse_event
from gradekeeper.referee.report import ReportError, encode_report, parse_report
from gradekeeper.referee.strictjson import encode_canonical

MAX_LEN = 32 * 1024
TOKENS = {f"tk_{digit * 16}": method for digit, method in zip("0123", "aabb", strict=True)}
RULES = (
    Rules(),
    Rules(multiset=True, tolerance={"k": "0.5"}),
    Rules(ignore=frozenset({"k", "call:pay"})),
)


def line(kind: str, **fields: object) -> bytes:
    return json.dumps({"seq": 0, "nonce": "-", "type": kind, **fields}).encode()


VALUES: dict[str, object] = {
    "int": {"t": "int", "v": "12"},
    "dec": {"t": "dec", "v": "-1.20E+3"},
    "time": {"t": "time", "c": "LocalDate", "v": "2026-01-01"},
    "enum": {"t": "enum", "c": "Status", "v": "PAID"},
    "list": [None, True, "a$b", "tk_" + "0" * 16, ["x", {"t": "int", "v": "0"}]],
    "map": {"t": "map", "v": [["a", "tk_" + "1" * 16], [{"t": "int", "v": "1"}, []]]},
    "record": {"t": "Money", "f": {"cents": {"t": "dec", "v": "1.0"}, "t": "x"}},
    "opaque": {"t": "opaque", "c": "java.lang.Object"},
}
WRONG: dict[str, object] = {
    "many": [None] * 4_001,
    "deep": json.loads("[" * 20 + "]" * 20),
    "map-of-nothing": {"t": "map", "v": 1},
    "map-of-one": {"t": "map", "v": [["a"]]},
    "int-of-nothing": {"t": "int", "v": "01"},
    "dec-of-nothing": {"t": "dec", "v": "1.E"},
    "number": 12,
    "record-of-list": {"t": "Money", "f": []},
    "no-tag": {"v": "1"},
}
SEEDS = {
    "hello": line("hello", protocol=1),
    "threw": line("obs", key="k", threw="java.lang.IllegalStateException"),
    "call": line("call", call=1, method="pay", args=["a", {"t": "int", "v": "5"}]),
    "settled": line("settled", query=123456789),
    "done": line("done"),
    **{f"obs-{name}": line("obs", key="k", value=value) for name, value in VALUES.items()},
    **{f"wrong-{name}": line("obs", key="k", value=value) for name, value in WRONG.items()},
    "report-case": b"E 3 P ",
    "report-text": b"D it failed",
    "report-end": b"Z",
}
WORDS = [
    *(b'"seq":', b'"nonce":', b'"type":', b'"key":', b'"value":', b'"threw":', b'"call":'),
    *(b'"method":', b'"args":', b'"query":', b'"protocol":', b'"t":', b'"v":', b'"c":', b'"f":'),
    *(b'"map"', b'"dec"', b'"int"', b'"time"', b'"opaque"', b"tk_0000000000000000", b"\\ud800"),
    *(b"1e999", b"-0", b"E-9999999999", b"NaN", b"[[[[[[[["),
]


def run(data: bytes) -> None:
    """Parse a line, and judge a transcript of what it says."""
    try:
        report = parse_report(data)
        require(parse_report(encode_report(report)[:-1]) == report, "a report changes on its way")
    except ReportError:
        pass
    try:
        event = parse_event(data)
    except LineError as error:
        require(encode_report_text(str(error)), "the cause cannot be reported")
        return
    require(0 <= event.seq < 2**53, "seq is not a small number")
    require(event.elements <= observations.MAX_ELEMENTS, "too many elements")
    if event.kind not in (observations.OBS, observations.THREW, observations.CALL):
        return
    entry = [event.kind, event.name, event.value]
    for rules in RULES:
        once = canonical([entry, entry], TOKENS, rules)
        require(once == canonical([entry, entry], TOKENS, rules), "judging is not deterministic")
        require(difference(once, once, rules) is None, "a transcript differs from itself")
        require(json.loads(encode_canonical(once)) == once, "it does not survive pinning")


def encode_report_text(text: str) -> bool:
    """Whether a text of ours is printable as it is."""
    return text.isascii() and text.isprintable()
