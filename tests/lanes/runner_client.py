"""A small client of the Java runner for tests: one JVM over pipes, its lines as dictionaries."""

from __future__ import annotations

import itertools
import json
import os
import select
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

TIMEOUT = 30.0
FLAGS_FILE = Path(__file__).parent.parent.parent / "lanes" / "java17" / "flags"


def flags(section: str, *, heap: int = 192) -> list[str]:
    """The fixed JVM options of one section of lanes/java17/flags."""
    sections: dict[str, list[str]] = {}
    for line in FLAGS_FILE.read_text().splitlines():
        if line.startswith("["):
            current = sections.setdefault(line.strip("[]"), [])
        elif not line.startswith("#"):
            current.append(line.format(heap=heap))
    return sections[section]


class Runner:
    """A running `gradekeeper.kit.Runner`; checks sequence numbers and nonces of all it says."""

    def __init__(
        self, folder: Path, driver: str, *, options: Sequence[str] = (), heap: int = 192
    ) -> None:
        """Starts the JVM and takes its hello. `folder` has kit.jar and drivers/ compiled."""
        command = [
            *("java", *flags("run", heap=heap), *options),
            *("-cp", f"{folder}/kit.jar:{folder}/drivers", "gradekeeper.kit.Runner", driver),
        ]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={},
        )
        self.buffer = b""
        self.nonce = "-"
        self.sequence = itertools.count()
        self.nonces = (f"nonce-{n}" for n in itertools.count())
        try:
            assert self.read() == {"type": "hello", "protocol": 1}
        except BaseException:
            self.__exit__(None, None, None)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.process.kill()
        self.process.wait(TIMEOUT)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert pipe
            try:
                pipe.close()
            except BrokenPipeError:
                pass

    def send_raw(self, data: bytes) -> None:
        """Writes bytes as they are."""
        assert self.process.stdin
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, kind: str, **fields: Any) -> None:
        """Writes one line."""
        self.send_raw(json.dumps({"type": kind, **fields}).encode() + b"\n")

    def line(self, timeout: float = TIMEOUT) -> bytes | None:
        """The next line as bytes, b"" at the end, None after `timeout` seconds."""
        assert self.process.stdout
        deadline = time.monotonic() + timeout
        while b"\n" not in self.buffer:
            left = max(0.0, deadline - time.monotonic())
            ready, _, _ = select.select([self.process.stdout], [], [], left)
            if not ready:
                return None
            chunk = os.read(self.process.stdout.fileno(), 65536)
            if not chunk:
                assert self.buffer == b"", self.buffer
                return b""
            self.buffer += chunk
        line, self.buffer = self.buffer.split(b"\n", 1)
        return line

    def read(self, timeout: float = TIMEOUT) -> dict[str, Any]:
        """The next line without its sequence number and nonce, which are checked."""
        line = self.line(timeout)
        assert line, f"nothing came: {line!r}"
        event: dict[str, Any] = json.loads(line)
        assert event.pop("seq") == next(self.sequence)
        assert event.pop("nonce") == self.nonce
        return event

    def start(self, method: str, **inputs: str) -> None:
        """Starts a case under a fresh nonce."""
        self.nonce = next(self.nonces)
        self.send("case", nonce=self.nonce, method=method, inputs=inputs)

    def run(
        self, method: str, answers: Mapping[str, Any] | None = None, **inputs: str
    ) -> list[dict[str, Any]]:
        """Runs a case to its `done`; calls are answered at once: None refuses, "" is null."""
        self.start(method, **inputs)
        events = []
        while (event := self.read())["type"] != "done":
            events.append(event)
            if event["type"] == "call":
                self.answer(event["call"], (answers or {}).get(event["method"], "ok"))
        return events

    def answer(self, call: int, value: str | None) -> None:
        """Answers a call: None refuses it, "" returns null."""
        if value is None:
            self.send("reply", call=call, throw="no")
        else:
            self.send("reply", call=call, value=value or None)

    def values(self, method: str, **inputs: str) -> dict[str, Any]:
        """Runs a case and returns its observed values by key."""
        events = self.run(method, None, **inputs)
        assert all(event["type"] == "obs" for event in events)
        return {event["key"]: event["value"] for event in events}

    def end(self) -> tuple[int, bytes]:
        """Says bye; returns the exit status and what came on standard error."""
        self.send("bye")
        return self.ended()

    def ended(self) -> tuple[int, bytes]:
        """Waits for the end; nothing more may come on descriptor 1."""
        assert self.process.stderr
        assert self.line() == b""
        errors = self.process.stderr.read()
        return self.process.wait(TIMEOUT), errors
