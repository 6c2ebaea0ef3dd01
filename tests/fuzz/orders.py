"""Orders to laned: seeds for both fuzzers, and the one that talks to a real laned.

    python -m fuzz.orders --seconds 60

`orders.c` runs laned's parser in its own process, with sanitizers, thousands of times a second.
Here a whole laned under bubblewrap gets mutated datagrams and descriptors: it must go on, or end
with status 2; a signal, another status or silence is a finding.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from lanes.lane_client import Lane, LaneNotStarted, start_lane

ROOT = Path(__file__).resolve().parents[2]
ENDS = (0, 2)
"""Statuses of laned: it was told to end, or something was not of the grammar."""
PATIENCE = 60.0
"""Seconds: a campaign beside other work has to wait for a processor."""
PROGRESS_SECONDS = 60.0


def message(verb: str, *fields: str) -> bytes:
    return b"".join(text.encode("utf-8", "surrogateescape") + b"\0" for text in (verb, *fields))


def order(number: int, *fields: str, program: Sequence[str] = ("/bin/true",)) -> bytes:
    needed = (f"id={number}", "cwd=/", f"scratch=r{number}")
    return message("order", *needed, *fields, *(f"arg={word}" for word in program))


LIMITS = ("cpu=1", "as=1000000000", "fsize=1000", "nofile=64", "nproc=20", "stack=65536")
ORDERS: dict[str, tuple[int, bytes]] = {
    "true": (3, order(1)),
    "limits": (3, order(2, *LIMITS, "env=A=b", "wipe=0")),
    "sleeps": (3, order(3, program=("/bin/sleep", "60"))),
    "missing": (3, order(4, program=("/nowhere", ""))),
    "no-cwd": (3, message("order", "id=5", "cwd=/none", "scratch=x", "arg=/bin/true")),
    "forks": (3, order(6, program=("/bin/sh", "-c", "sleep 60 & sleep 60 & wait"))),
    "many": (3, order(7, *(f"env=N{n}=" for n in range(256)), program=("/bin/true",) * 512)),
    "kill": (0, message("kill", "id=3")),
    "kill-none": (0, message("kill", "id=999999")),
    "sweep": (0, message("sweep")),
    "quit": (0, message("quit")),
    "unknown": (0, message("hello", "protocol=1")),
}
WORDS = [
    *(b"order\0", b"kill\0", b"sweep\0", b"quit\0", b"id=", b"cwd=/", b"scratch=", b"wipe=0\0"),
    *(b"arg=/bin/true\0", b"env=A=b\0", b"cpu=", b"as=", b"fsize=", b"nofile=", b"nproc="),
    *(b"stack=", b"\0", b"=", b"18446744073709551616", b"9223372036854775807"),
    *(b"0", b"-1", b"../", b"id=1\0", b"\xfe\xfe"),
]


def seeds() -> dict[str, bytes]:
    """Seeds of `orders.c`: the datagrams alone and in a row, each behind its descriptors' byte."""
    lines = {name: bytes([count]) + data for name, (count, data) in ORDERS.items()}
    batch = [lines[name] for name in ("true", "sleeps", "kill", "limits", "sweep", "missing")]
    ends = [bytes([0x80 | 9 << 2]), bytes([0x80 | 0x3F << 2 & 0x7C])]
    return {**lines, "batch": b"\xff".join([*batch, *ends]), "full": b"\xff".join(batch[:1] * 20)}


class Finding(Exception):
    """laned did what it must never do."""


class Driver:
    """Sends datagrams to one laned after another."""

    def __init__(self, folder: Path, chance: random.Random) -> None:
        self._folder = folder
        self._chance = chance
        self.sent = 0
        self.starts = 0
        self.ends: dict[int, int] = {}
        self.last: list[tuple[int, bytes]] = []

    def one_lane(self) -> None:
        """Start a laned, send it things until it ends or enough were sent, then ask it to end."""
        self.last = []
        lane = start_lane(self._folder, timeout=PATIENCE)
        self.starts += 1
        told = b""
        try:
            alive = self._talk(lane)
            status = self._end(lane, alive)
        finally:
            lane.socket.close()
            try:
                _, told = lane.process.communicate(timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                lane.process.kill()
                lane.process.communicate(timeout=PATIENCE)
                raise Finding("laned goes on without a referee") from None
        if status not in ENDS:
            raise Finding(f"laned ended with {status}; it wrote {told!r}")
        self.ends[status] = self.ends.get(status, 0) + 1

    def _talk(self, lane: Lane) -> bool:
        """Send; whether it still listens."""
        lane.socket.settimeout(PATIENCE)
        for _ in range(self._chance.randint(1, 24)):
            count, data = self._next()
            self.last.append((count, data))
            try:
                with open(os.devnull, "r+b") as null:
                    descriptors = [null.fileno()] * count
                    socket.send_fds(lane.socket, [data], descriptors)
            except (BrokenPipeError, ConnectionResetError):
                return False
            except TimeoutError:
                raise Finding("laned does not read") from None
            self.sent += 1
        return True

    def _next(self) -> tuple[int, bytes]:
        chance = self._chance
        names = [name for name in ORDERS if name not in ("quit", "unknown")]
        count, data = ORDERS[chance.choice(names if chance.random() < 0.95 else list(ORDERS))]
        if chance.random() < 0.6:
            return count, renumbered(data, chance)
        mutable = bytearray(data)
        for _ in range(chance.randint(1, 3)):
            at = chance.randint(0, len(mutable))
            match chance.randrange(4):
                case 0 if mutable:
                    mutable[at % len(mutable)] = chance.randrange(256)
                case 1:
                    del mutable[at : at + chance.randint(1, 16)]
                case 2:
                    mutable[at:at] = chance.choice(WORDS)
                case _:
                    mutable[at:at] = mutable[at : at + 64] * chance.randint(1, 900)
        if chance.random() < 0.1:
            count = chance.randint(0, 5)
        return count, bytes(mutable[: 60 * 1024 + chance.randint(0, 1)])

    def _end(self, lane: Lane, alive: bool) -> int:
        """A laned that still listens sweeps and quits; returns its exit status."""
        try:
            if alive:
                lane.send("sweep")
                lane.send("quit")
        except (BrokenPipeError, ConnectionResetError):
            pass
        deadline = time.monotonic() + PATIENCE
        try:
            while lane.socket.recv(65536) and time.monotonic() < deadline:
                pass
        except (ConnectionResetError, TimeoutError):
            pass
        try:
            return lane.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            raise Finding("laned neither sweeps nor ends") from None


def renumbered(data: bytes, chance: random.Random) -> bytes:
    """The same order under another id: one that is in use would end laned."""
    head, mark, rest = data.partition(b"id=")
    digits = len(rest) - len(rest.lstrip(b"0123456789"))
    if not mark or not data.startswith(b"order"):
        return data
    return head + mark + str(chance.randint(1, 999999)).encode() + rest[digits:]


def build(folder: Path) -> None:
    """laned, where the uid of a lane may read it."""
    folder.chmod(0o755)
    command = ["make", "-C", str(ROOT / "lanes"), f"OUT={folder}", f"{folder}/laned"]
    subprocess.run(command, check=True, timeout=300, stdout=subprocess.DEVNULL)


def main(arguments: list[str]) -> int:
    """Send for some time; prints the same lines as libFuzzer at the end."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=None)
    options = parser.parse_args(arguments)
    seed = options.seed if options.seed is not None else int.from_bytes(os.urandom(4), "big")
    folder = Path(tempfile.mkdtemp(prefix="gradekeeper-orders-"))
    try:
        build(folder)
        driver = Driver(folder, random.Random(seed))
        print(f"INITED seed {seed}", flush=True)
        started = told = time.monotonic()
        while time.monotonic() - started < options.seconds:
            if time.monotonic() - told > PROGRESS_SECONDS:
                told = time.monotonic()
                print(f"#{driver.sent} starts: {driver.starts} ends: {driver.ends}", flush=True)
            try:
                driver.one_lane()
            except (Finding, LaneNotStarted, AssertionError, OSError) as error:
                print(f"finding: {error!r} (--seed {seed}) after {driver.last!r}"[:4000])
                return 1
        print(f"stat::number_of_executed_units: {driver.sent}")
        print(f"laned started {driver.starts} times, ended with {driver.ends}")
    finally:
        shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
