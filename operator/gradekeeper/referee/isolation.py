"""Isolation: what must hold before a submission is released, as data, and how it is observed.

Two witnesses: laneprobe, an order in the lane, describes the box from inside; the referee, which
shares the Pod's network, tries a port that the operator serves. Any difference from the expected
facts is `IsolationNotEnforced`. The facts go into the result as they were observed.
"""

import errno
import os
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from gradekeeper.referee.strictjson import StrictJsonError, parse_strict

MAX_PROBE_BYTES: Final = 32 * 1024
CONNECT_SECONDS: Final = 0.25
"""How long one connection may stay unanswered before it counts as dropped."""
DENIALS_NEEDED: Final = 2
"""A kernel answers within a millisecond or not at all: two silent attempts in a row are a policy."""

IDENTITY_MAP: Final = "0 0 4294967295"


@dataclass(frozen=True, slots=True)
class Expected:
    """What the lane must look like.

    Attributes:
        uid: of a lane child; None: any (local engine).
        user_namespace: whether one is required.
        writable: exactly the places that a lane child can write.
        denied: exactly the calls that must fail, with the errno each must give.
    """

    uid: int | None
    user_namespace: bool
    writable: Sequence[str]
    denied: Mapping[str, str]


DENIED: Final[Mapping[str, str]] = {}


def read_probe(output: bytes) -> dict[str, Any] | None:
    """Parse what laneprobe printed; None if it is not one JSON object."""
    try:
        facts = parse_strict(output, max_bytes=MAX_PROBE_BYTES)
    except StrictJsonError:
        return None
    return facts if type(facts) is dict else None


class NetworkProbe:
    """Tries to reach the operator's port without blocking, until it is denied.

    `step` is called whenever the descriptor is ready or time has passed.
    """

    def __init__(self, address: str, port: int, deadline: float) -> None:
        self._target = (address, port)
        self._deadline = deadline
        self._family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self._socket: socket.socket | None = None
        self._until = 0.0
        self._denials = 0
        self.facts: dict[str, Any] = {}
        self.denied: bool | None = None
        """None while undecided; False only once the deadline has passed."""

    def step(self, now: float) -> float:
        """Advance as far as possible.

        Returns:
            Seconds after which to call again at the latest.
        """
        if self.denied is not None:
            return 3600.0
        if self._socket is None:
            self._open(now)
        else:
            self._look(now)
        if self.denied is None and now >= self._deadline:
            self._end(False, "connected" if self._denials == 0 else "undecided")
        return 0.02

    def _open(self, now: float) -> None:
        if now < self._until:
            return
        self._socket = socket.socket(self._family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        self._until = now + CONNECT_SECONDS
        code = self._socket.connect_ex(self._target)
        if code != errno.EINPROGRESS:
            self._answered(code, now)

    def _look(self, now: float) -> None:
        assert self._socket is not None
        code = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            self._answered(code, now)
            return
        try:
            self._socket.getpeername()
        except OSError:
            if now >= self._until:
                self._answered(errno.ETIMEDOUT, now)
            return
        self._answered(0, now)

    def _answered(self, code: int, now: float) -> None:
        assert self._socket is not None
        self._socket.close()
        self._socket = None
        if code == 0:
            # No policy is in force, or not yet: a Pod can run before its rules are written.
            self._denials = 0
            self._until = now + 0.1
            return
        self._denials += 1
        self._until = now
        if self._denials >= DENIALS_NEEDED:
            self._end(True, errno.errorcode.get(code, str(code)))

    def _end(self, denied: bool, how: str) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        self.denied = denied
        self.facts = {
            "network": "denied" if denied else "reachable",
            "networkAnswer": how,
            "probedAt": round(time.time(), 1),
        }


def referee_facts() -> dict[str, Any]:
    """What the referee sees of its own user namespace."""
    with open("/proc/self/uid_map", encoding="ascii") as file:
        mapping = " ".join(file.read().split())
    return {"refereeUid": os.getuid(), "refereeUidMap": mapping}
