"""A whole run: whatever a lane says, in whatever pieces, against the play and the judge.

The input is what the lane writes, with a few bytes that stand for what an attacker knows: 0x01 ends
a piece, 0x02 a pause in which nothing is heard, 0x03 the lane stops reading. `@S` is the next
sequence number, `@N` the running case's nonce, `@W` its input word, `@T` the last token that a
double answered, `@Q` the last settle query, `@C` a call id that grows. The first byte chooses the
plan. The word is a secret of each execution: no test may pass for a lane that never used it.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from fuzz.targets import require
from gradekeeper.referee.bundle import Test
from gradekeeper.referee.channel import Ended, Overflow
from gradekeeper.referee.judge import Rules, canonical
from gradekeeper.referee.play import Case, Plan, Player
from gradekeeper.referee.report import (
    ERRORS,
    LIED,
    OUTCOME,
    PLAYED,
    STARTED,
    Report,
    encode_report,
    parse_report,
)
from gradekeeper.referee.result import PASSED
from gradekeeper.referee.strictjson import encode_canonical

MAX_LEN = 8192
MAX_SAID = 256 * 1024


def said(kind: str, **fields: Any) -> bytes:
    """A line of a lane, with the sequence number and nonce that are due."""
    rest = "".join(f",{json.dumps(key)}:{json.dumps(value)}" for key, value in fields.items())
    return f'{{"seq":@S,"nonce":"@N","type":"{kind}"{rest}}}\n'.encode()


# What depends on the referee's answer begins a new piece: it is not known before.
HELLO = b'{"seq":@S,"nonce":"-","type":"hello","protocol":1}\n\x01'
OBS = said("obs", key="word", value="@W")
DONE = said("done")
PAY = said("call", call=0, method="pay", args=["@W"]).replace(b'"call":0', b'"call":@C')
GOT = b"\x01" + said("obs", key="got", value="@T")
SETTLED = said("settled", query=0).replace(b'"query":0', b'"query":@Q')
RIGHT = [
    HELLO + OBS + DONE,
    PAY + GOT + DONE,
    PAY + PAY + b"\x01" + SETTLED + b"\x01" + SETTLED + GOT + DONE,
]
SEEDS = {
    "right": b"\x00" + b"\x01".join(RIGHT),
    "right-multiset": b"\x04" + b"\x01".join(RIGHT),
    "strict": b"\x02" + b"\x01".join(RIGHT).replace(SETTLED, SETTLED + b"\x02"),
    "strict-lied": b"\x02" + b"\x01".join(RIGHT),
    "falls-back": b"\x00" + b"\x01".join([*RIGHT[:2], PAY + PAY + b"\x02\x02" + GOT + DONE]),
    "threw": b"\x00" + HELLO + said("obs", key="driver", threw="java.lang.Error") + DONE,
    "no-time": b"\x01" + HELLO + OBS + DONE,
    "does-not-read": b"\x00" + HELLO + b"\x03" + OBS + DONE,
    "done-while-held": b"\x00" + b"\x01".join([*RIGHT[:2], PAY + DONE]),
    "garbage": b"\x00" + b"A" * 300,
    "all-kinds": b"\x00" + HELLO + OBS + OBS + PAY + SETTLED + HELLO + DONE,
}
WORDS = [
    *(b"@S", b"@N", b"@W", b"@T", b"@Q", b"@C", b"\x01", b"\x02", b"\x03"),
    *(HELLO, OBS, DONE, PAY, GOT, SETTLED),
    *(b'{"t":"map","v":[]}', b'{"t":"dec","v":"1.0"}', b'"threw":', b"tk_"),
]


class Lane:
    """Plays the lane: says what the input says, and hears what the referee sends."""

    def __init__(self, data: bytes, word: str) -> None:
        self._pieces = data.replace(b"\x02", b"\x01\x02\x01").split(b"\x01")[::-1]
        self._word = word
        self._seq = 0
        self._calls = 0
        self._known = {b"@N": b"-", b"@T": b"", b"@Q": b"0"}
        self._reads = True
        self._said = 0
        self.used_word = False

    def write(self, data: bytes) -> None:
        """What the referee sends."""
        if not self._reads:
            raise Overflow("does not read")
        require(data.endswith(b"\n") and data.count(b"\n") == 1, "not one line was sent")
        document = json.loads(data)
        match document["type"]:
            case "case":
                self._known[b"@N"] = document["nonce"].encode()
            case "reply":
                self._known[b"@T"] = document.get("value", document.get("throw")).encode()
            case "settle":
                self._known[b"@Q"] = str(document["query"]).encode()
            case kind:
                require(kind in ("unsettle", "bye"), f"{kind} was sent")

    def read(self, deadline: float | None) -> bytes | None:
        """The next piece; None where there is silence until the deadline."""
        require(deadline is not None, "waits without a deadline")
        while self._pieces:
            piece = self._pieces.pop()
            if piece == b"\x02":
                return None
            if b"\x03" in piece:
                self._reads = False
                piece = piece.replace(b"\x03", b"")
            if piece:
                filled = self._fill(piece)
                self._said += len(filled)
                if self._said > MAX_SAID:
                    raise Overflow("says too much")
                return filled
        raise Ended

    def _fill(self, piece: bytes) -> bytes:
        if b"@W" in piece:
            self.used_word = True
            piece = piece.replace(b"@W", self._word.encode())
        for mark, value in self._known.items():
            piece = piece.replace(mark, value)
        while b"@S" in piece:
            piece = piece.replace(b"@S", str(self._seq).encode(), 1)
            self._seq += 1
        while b"@C" in piece:
            piece = piece.replace(b"@C", str(self._calls).encode(), 1)
            self._calls += 1
        return piece


def plan(choice: int, word: str) -> Plan:
    """Three tests: a value, a double that answers, a double that holds two calls."""
    rules = Rules(multiset=bool(choice & 4), tolerance={"word": "0.1"})
    token = f"tk_{0:016x}"
    paid: list[Any] = ["call", "pay", [word]]
    got: list[Any] = ["obs", "got", token]
    expected = [
        canonical(entries, {token: "pay"}, rules)
        for entries in ([["obs", "word", word]], [paid, got], [paid, paid, got])
    ]
    policies: list[dict[str, list[str]]] = [{}, {"pay": ["ok"]}, {"pay": ["hold", "hold-refuse"]}]
    cases = [
        Case(
            number,
            Test(
                id=f"group/{number}",
                method=f"m{number}",
                policies={name: tuple(each) for name, each in policies[number].items()},
                rules=rules,
            ),
            {"word": word},
            0,
            [expected[number]],
            keep=0.5 if choice & 2 else 0.0,
        )
        for number in range(3)
    ]
    return Plan(
        cases=cases,
        start_seconds=30.0,
        test_seconds=0.0 if choice & 1 else 60.0,
        repeat=0,
    )


def play(data: bytes) -> tuple[Lane, list[Report]]:
    """Play a run; returns the lane and what was reported."""
    choice = data[0] if data else 0
    word = hashlib.sha256(b"word" + data).hexdigest()[:16]
    lane = Lane(data[1:], word)
    told: list[Report] = []

    def tell(report: Report) -> None:
        parsed = parse_report(encode_report(report)[:-1])
        require(parsed.kind == report.kind and parsed.number == report.number, "another report")
        told.append(parsed)

    def detail(document: dict[str, Any]) -> None:
        encode_canonical(document)

    Player(plan(choice, word), lane, tell, detail).play()  # type: ignore[arg-type]
    return lane, told


def run(data: bytes) -> None:
    """Play a run and look at the reports."""
    lane, told = play(data)
    started = [one.number for one in told if one.kind == STARTED]
    ended = [one.number for one in told if one.kind == OUTCOME]
    require(started == ended == list(range(len(started))), "a case has no outcome of its own")
    require({one.kind for one in told} <= {STARTED, OUTCOME, LIED, ERRORS, PLAYED}, "a strange end")
    passed = [one for one in told if one.kind == OUTCOME and one.outcome == PASSED]
    require(not passed or lane.used_word, "a test passed without its input")
