"""Datagrams that claim to be laned's; 0xff ends one."""

from __future__ import annotations

import socket

from fuzz.targets import require
from gradekeeper.referee.errors import LaneGone
from gradekeeper.referee.lanes import Lane, LaneEvent, encode_message, parse_message

MAX_LEN = 4096


def strings(verb: str, **fields: object) -> bytes:
    return encode_message(verb, [(key, str(value)) for key, value in fields.items()])


HELLO = strings("hello", protocol=2, pid=1, uid=10003)
EXIT = strings("exit", id=7, status=0, cpu_us=1234, maxrss_kib=5678, left=0)
SEEDS = {
    "batch": b"\xff".join(
        [HELLO, EXIT, strings("refused", id=8, error="EAGAIN"), strings("swept", killed=3)]
    ),
    "signal": HELLO + b"\xff" + strings("exit", id=999999, signal=9),
    "end": HELLO + b"\xff\xff" + EXIT,
    "end-between": b"\xff".join([HELLO, b"", strings("swept", killed=3)]),
    "twice": EXIT + EXIT,
}
WORDS = [
    *(b"hello\0", b"exit\0", b"refused\0", b"swept\0", b"protocol=2\0", b"id=", b"error="),
    *(b"status=", b"signal=", b"killed=", b"=-", b"\0", b"\xff", b"99999999999999999999"),
]


def run(data: bytes) -> None:
    """Hear datagrams over a real socket."""
    datagrams = data.split(b"\xff")[:16]
    heard = []
    for datagram in datagrams:
        try:
            heard.append(check(parse_message(datagram)))
        except LaneGone:
            break
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    lane = Lane(ours)
    try:
        for datagram in datagrams:
            theirs.send(datagram)
        theirs.close()
        try:
            lane.hello(0.0)
            lane.wait("swept", 0.0)
        except LaneGone:
            pass
        else:
            require({"hello", "swept"} <= {event.verb for event in heard}, "heard out of nothing")
    finally:
        theirs.close()
        lane.close()


def check(event: LaneEvent) -> LaneEvent:
    """What the referee reads of an event."""
    require(type(event.id) is int, "an id that is no number")
    require(event.verb in ("hello", "exit", "refused", "swept"), "another verb")
    for value in event.fields.values():
        require(value.isascii() and value.isprintable(), "text that no log holds")
    return event
