"""laned as the referee sees it: one connection, orders out, events in.

laned is a tool, not a witness: submitted code shares its uid and may starve it. Every wait here
has a bound, and whatever breaks it is `LaneGone`; the caller knows whether a submission was
already released, and so whose fault that is.
"""

import os
import select
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from gradekeeper.referee.errors import LaneGone

MAX_MESSAGE: Final = 60 * 1024
PROTOCOL: Final = "3"
SEND_SECONDS: Final = 10.0
"""How long laned may leave its socket full."""
KILL_SECONDS: Final = 20.0
"""From `kill` to `exit`."""
SWEEP_SECONDS: Final = 60.0
"""From `sweep` to `swept`; laned itself may take most of it to reap and to wipe."""


@dataclass(frozen=True, slots=True)
class Order:
    """What laned starts.

    Attributes:
        id: from 1.
        argv: absolute program first.
        env: the whole environment.
        cwd: absolute.
        scratch: name of the folder under /scratch.
        limits: rlimits by laned's field names; absent means unlimited by us.
    """

    id: int
    argv: Sequence[str]
    env: Mapping[str, str]
    cwd: str
    scratch: str
    limits: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LaneEvent:
    """What laned reports: verb and fields."""

    verb: str
    fields: Mapping[str, str]

    @property
    def id(self) -> int:
        """The order that it is about; 0 if none."""
        return int(self.fields.get("id", "0"))


def encode_message(verb: str, fields: Sequence[tuple[str, str]]) -> bytes:
    """One datagram: NUL-terminated strings, the verb first."""
    strings = [verb, *(f"{key}={value}" for key, value in fields)]
    return b"".join(string.encode("utf-8") + b"\0" for string in strings)


def encode_order(order: Order) -> bytes:
    """The `order` message."""
    fields = [
        ("id", str(order.id)),
        ("cwd", order.cwd),
        ("scratch", order.scratch),
        ("wipe", "1"),
        *((name, str(value)) for name, value in order.limits.items()),
        *(("arg", argument) for argument in order.argv),
        *(("env", f"{name}={value}") for name, value in order.env.items()),
    ]
    return encode_message("order", fields)


_VERBS: Final = {
    "hello": {"protocol", "pid", "uid"},
    "exit": {"id", "status", "signal", "cpu_us", "maxrss_kib", "left"},
    "refused": {"id", "error"},
    "swept": {"killed"},
}


def parse_message(data: bytes) -> LaneEvent:
    """Parse one datagram of laned.

    Raises:
        LaneGone: it is not of the grammar: laned is not itself any more.
    """
    try:
        strings = data.decode("ascii").split("\0")
    except UnicodeDecodeError:
        raise LaneGone("a message is not ASCII") from None
    verb, fields = strings[0], {}
    if strings[-1] or verb not in _VERBS:
        raise LaneGone("an unknown message")
    for string in strings[1:-1]:
        key, equals, value = string.partition("=")
        if not equals or key in fields or key not in _VERBS[verb]:
            raise LaneGone("an unknown field")
        numeric = value.removeprefix("-").isdigit() and len(value) < 20
        if not numeric and not (key == "error" and value.isalnum()):
            raise LaneGone("a field is not a number")
        fields[key] = value
    if "id" in _VERBS[verb] and "id" not in fields:
        raise LaneGone("a message without an order")
    return LaneEvent(verb, fields)


class Listener:
    """The socket that laned connects to, once."""

    def __init__(self, path: Path) -> None:
        """Listen.

        Raises:
            OSError: the socket cannot be made.
        """
        self._path = path
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_CLOEXEC)
        self._socket.bind(str(path))
        os.chmod(path, 0o666)  # noqa: S103 - laned has another uid, and no group in common
        self._socket.listen(1)

    def accept(self, seconds: float) -> "Lane":
        """Take the one connection, then close the socket and remove its name.

        Raises:
            LaneGone: nobody connected, or what connected is not laned.
        """
        self._socket.settimeout(seconds)
        try:
            connection, _ = self._socket.accept()
        except TimeoutError:
            raise LaneGone("the lane did not connect") from None
        finally:
            self.close()
        return Lane(connection)

    def close(self) -> None:
        """Close and remove the socket."""
        self._socket.close()
        self._path.unlink(missing_ok=True)


class Lane:
    """The connection to laned."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._socket.setblocking(False)
        self._gone = False

    def fileno(self) -> int:
        """For poll."""
        return self._socket.fileno()

    def close(self) -> None:
        """Hang up: laned ends, and with it the lane."""
        self._socket.close()

    def hello(self, seconds: float) -> LaneEvent:
        """Wait for laned's first message.

        Raises:
            LaneGone: none came, or another protocol.
        """
        event = self.wait("hello", seconds)
        if event.fields.get("protocol") != PROTOCOL:
            raise LaneGone("laned speaks another protocol")
        return event

    def order(self, order: Order, descriptors: tuple[int, int, int]) -> None:
        """Start a process; its descriptors may be closed here afterwards.

        Raises:
            LaneGone: it could not be sent.
        """
        self._send(encode_order(order), descriptors)

    def kill(self, order_id: int) -> None:
        """Kill an order's session; `exit` follows.

        Raises:
            LaneGone: it could not be sent.
        """
        self._send(encode_message("kill", [("id", str(order_id))]))

    def sweep(self) -> LaneEvent:
        """Kill everything in the lane, wipe its scratch folders, and wait for that.

        Raises:
            LaneGone: laned did not confirm it.
        """
        self._send(encode_message("sweep", []))
        return self.wait("swept", SWEEP_SECONDS)

    def quit(self) -> None:
        """Tell laned to end; silently nothing if it is gone."""
        try:
            self._send(encode_message("quit", []))
        except LaneGone:
            pass

    def hang_up(self, seconds: float) -> bool:
        """Let laned end, and with it everything in the lane; whether that was seen to happen."""
        poll = select.poll()
        poll.register(self._socket, 0)  # nothing but its end
        try:
            self._socket.shutdown(socket.SHUT_WR)
        except OSError:
            return True
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            if any(found & select.POLLHUP for _, found in poll.poll(left * 1000)):
                return True
        return False

    def events(self) -> list[LaneEvent]:
        """What laned reported, without waiting.

        Raises:
            LaneGone: it hung up or broke the protocol.
        """
        events: list[LaneEvent] = []
        if self._gone:
            raise LaneGone("laned is gone")
        while True:
            try:
                data = self._socket.recv(MAX_MESSAGE)
            except BlockingIOError:
                return events
            except OSError:
                raise LaneGone("laned is gone") from None
            if not data:
                # For good: an empty datagram looks the same, and what is behind it is not heard.
                self._gone = True
                if events:
                    return events
                raise LaneGone("laned is gone")
            events.append(parse_message(data))

    def wait(self, verb: str, seconds: float) -> LaneEvent:
        """Wait for one kind of event; others on the way are dropped.

        Raises:
            LaneGone: it did not come.
        """
        deadline = time.monotonic() + seconds
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        while True:
            for event in self.events():
                if event.verb == verb:
                    return event
            left = deadline - time.monotonic()
            if left <= 0:
                raise LaneGone(f"laned did not say {verb}", seconds)
            poll.poll(left * 1000)

    def _send(self, data: bytes, descriptors: Sequence[int] = ()) -> None:
        if len(data) > MAX_MESSAGE:
            raise LaneGone("an order is too long")
        deadline = time.monotonic() + SEND_SECONDS
        while True:
            try:
                if descriptors:
                    socket.send_fds(self._socket, [data], list(descriptors))
                else:
                    self._socket.send(data)
                return
            except BlockingIOError:
                left = deadline - time.monotonic()
                if left <= 0:
                    raise LaneGone("laned does not read", SEND_SECONDS) from None
                poll = select.poll()
                poll.register(self._socket, select.POLLOUT)
                poll.poll(left * 1000)
            except OSError:
                raise LaneGone("laned is gone") from None
