"""Frames of the exec protocol `v5.channel.k8s.io`. Pure.

Each binary message of the websocket is one frame: a byte that names the channel, then the payload.
v5 differs from v4 in channel 255, which closes another: without it a process that reads its
standard input to the end would never see that end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from gradekeeper.referee.strictjson import StrictJsonError, parse_strict

PROTOCOL: Final = "v5.channel.k8s.io"
STDIN: Final = 0
STDOUT: Final = 1
STDERR: Final = 2
STATUS: Final = 3
CLOSE: Final = 255
STDIN_END: Final = bytes([CLOSE, STDIN])
# Larger frames are no faster, and the server buffers each of them whole.
STDIN_CHUNK: Final = 256 * 1024
# A refusal may repeat a command.
_MAX_STATUS: Final = 1 << 20
_MAX_DIGITS: Final = 10
# How kubelet, containerd and CRI-O begin when the container runtime fails to start a process.
_BY_CONTAINER: Final = ("error executing command in container", "failed to exec in container")


@dataclass(frozen=True, slots=True)
class Exited:
    """The process ended with `code`; a signal n counts as 128 + n."""

    code: int


@dataclass(frozen=True, slots=True)
class Refused:
    """There is no exit code.

    Attributes:
        message: The server's reason.
        by_container: The node tried to start the process in the container and could not. False: the
            request never came so far, or the process's end is unknown.
    """

    message: str
    by_container: bool


def stdin_frames(data: bytes) -> Iterator[bytes]:
    """Yield the frames that send `data` as standard input and then close it."""
    view = memoryview(data)
    for start in range(0, len(data), STDIN_CHUNK):
        yield bytes([STDIN]) + view[start : start + STDIN_CHUNK]
    yield STDIN_END


def split_frame(message: bytes) -> tuple[int, bytes]:
    """Return channel and payload of one message; an empty message is an empty CLOSE frame."""
    return (message[0], message[1:]) if message else (CLOSE, b"")


def parse_status(payload: bytes) -> Exited | Refused:
    """Read the last frame of a stream: how the process ended, or why there is none."""
    try:
        status: Any = parse_strict(payload, max_bytes=_MAX_STATUS)
    except StrictJsonError:
        status = None
    if not isinstance(status, dict):
        return Refused(payload[:500].decode(errors="replace") or "an empty status", False)
    if status.get("status") == "Success":
        return Exited(0)
    details = status.get("details")
    causes = details.get("causes") if isinstance(details, dict) else None
    for cause in causes if isinstance(causes, list) else []:
        if isinstance(cause, dict) and cause.get("reason") == "ExitCode":
            code = str(cause.get("message"))
            if code.isascii() and code.isdigit() and len(code) <= _MAX_DIGITS:
                return Exited(int(code))
    message = str(status.get("message") or status.get("reason") or "no reason given")
    return Refused(message, any(words in message.lower() for words in _BY_CONTAINER))
