"""A small client of laned for tests: starts the real program as PID 1 and speaks its protocol.

The production client is `gradekeeper.referee`; this one is independent of it, so that the two
cannot share a misunderstanding of docs/protocols.md.
"""

from __future__ import annotations

import array
import os
import select
import socket
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

LANE_UID = 10003
TIMEOUT = 30.0


class LaneEnded(Exception):
    """laned closed its socket."""


class LaneNotStarted(Exception):
    """It ended, or was silent for too long, before it introduced itself.

    The text has its exit status or where each process waits, and what it wrote to stderr.
    """


@dataclass(frozen=True)
class Message:
    """One datagram of laned: a verb and its fields."""

    verb: str
    fields: Mapping[str, str]

    @classmethod
    def parse(cls, data: bytes) -> Message:
        """Splits NUL-terminated strings; asserts that the last one is terminated too."""
        assert data.endswith(b"\0"), data
        verb, *rest = data[:-1].decode().split("\0")
        pairs = [item.split("=", 1) for item in rest]
        fields = dict(pairs)
        assert len(fields) == len(pairs), f"a field twice: {data!r}"
        return cls(verb, fields)


@dataclass
class Run:
    """What one order did: how it ended and what it wrote."""

    end: Message
    stdout: bytes
    stderr: bytes

    @property
    def status(self) -> int | None:
        """Exit code, None if a signal ended it."""
        return int(self.end.fields["status"]) if "status" in self.end.fields else None

    @property
    def signal(self) -> int | None:
        """Signal number, None if it exited."""
        return int(self.end.fields["signal"]) if "signal" in self.end.fields else None


@dataclass
class Lane:
    """A running laned and the referee's end of its socket."""

    process: subprocess.Popen[bytes]
    socket: socket.socket
    hello: Message
    backlog: list[Message] = field(default_factory=list)
    next_id: int = 1

    # -- the wire ---------------------------------------------------------------------------

    def send_raw(self, data: bytes, descriptors: Sequence[int] = ()) -> None:
        """Sends one datagram as it is."""
        ancillary = (
            [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))]
            if descriptors
            else []
        )
        self.socket.sendmsg([data], ancillary)

    def send(self, *strings: str, descriptors: Sequence[int] = ()) -> None:
        """Sends one message of NUL-terminated strings."""
        self.send_raw(b"".join(s.encode() + b"\0" for s in strings), descriptors)

    def receive(self, timeout: float = TIMEOUT) -> Message:
        """The next message; raises LaneEnded at the end and TimeoutError after `timeout` s."""
        if self.backlog:
            return self.backlog.pop(0)
        self.socket.settimeout(timeout)
        try:
            data = self.socket.recv(65536)
        except ConnectionResetError:
            data = b""
        if not data:
            raise LaneEnded
        return Message.parse(data)

    def wait_for(self, verb: str, timeout: float = TIMEOUT, **fields: str) -> Message:
        """The next message of that verb with those fields; others are kept for later."""
        skipped: list[Message] = []
        deadline = time.monotonic() + timeout
        try:
            while True:
                message = self.receive(max(0.01, deadline - time.monotonic()))
                if message.verb == verb and fields.items() <= message.fields.items():
                    return message
                skipped.append(message)
        finally:
            self.backlog = skipped + self.backlog

    # -- orders -----------------------------------------------------------------------------

    def order(
        self,
        argv: Iterable[str],
        descriptors: Sequence[int],
        *,
        scratch: str = "s",
        cwd: str = "/",
        env: Mapping[str, str] | None = None,
        wipe: int | None = None,
        **limits: int,
    ) -> int:
        """Gives an order with three descriptors and returns its id."""
        number = self.next_id
        self.next_id += 1
        self.send(
            "order",
            f"id={number}",
            f"cwd={cwd}",
            f"scratch={scratch}",
            *([] if wipe is None else [f"wipe={wipe}"]),
            *(f"{name}={value}" for name, value in limits.items()),
            *(f"arg={item}" for item in argv),
            *(f"env={name}={value}" for name, value in (env or {}).items()),
            descriptors=descriptors,
        )
        return number

    def spawn(self, argv: Iterable[str], **options: object) -> tuple[int, int, int, int]:
        """Gives an order over fresh pipes; returns id, stdin, stdout and stderr of our side."""
        pairs = [os.pipe(), os.pipe(), os.pipe()]
        (in_r, in_w), (out_r, out_w), (err_r, err_w) = pairs
        number = self.order(argv, (in_r, out_w, err_w), **options)  # type: ignore[arg-type]
        for descriptor in (in_r, out_w, err_w):
            os.close(descriptor)
        return number, in_w, out_r, err_r

    def run(
        self,
        argv: Iterable[str],
        *,
        stdin: bytes = b"",
        timeout: float = TIMEOUT,
        **options: object,
    ) -> Run:
        """Runs one order to its end: its exit status, then what the pipes still hold."""
        number, in_w, out_r, err_r = self.spawn(argv, **options)
        try:
            with open(in_w, "wb") as pipe:
                pipe.write(stdin)
        except BrokenPipeError:
            pass  # it ended without reading
        written = {out_r: b"", err_r: b""}
        deadline = time.monotonic() + timeout
        end: Message | None = None
        try:
            for descriptor in written:
                os.set_blocking(descriptor, False)
            open_pipes = set(written)
            while end is None:
                assert time.monotonic() < deadline, f"order {number} did not end"
                wire = self.socket.fileno()
                ready, _, _ = select.select([*open_pipes, wire], [], [], 1)
                for source in ready:
                    if source == wire:
                        message = self.receive()
                        if message.fields.get("id") == str(number):
                            end = message
                        else:
                            self.backlog.append(message)
                    elif chunk := os.read(source, 1 << 20):
                        written[source] += chunk
                    else:
                        open_pipes.discard(source)
            for descriptor in open_pipes:
                written[descriptor] += drain(descriptor)
        finally:
            os.close(out_r)
            os.close(err_r)
        return Run(end, written[out_r], written[err_r])

    def sweep(self, timeout: float = TIMEOUT) -> int:
        """Sweeps and returns how many processes were killed."""
        self.send("sweep")
        return int(self.wait_for("swept", timeout).fields["killed"])

    # -- the end ----------------------------------------------------------------------------

    def ended(self, timeout: float = TIMEOUT) -> int:
        """Waits until laned is gone and returns its exit status as the launcher reports it."""
        return self.process.wait(timeout)

    def close(self) -> None:
        """Hangs up and waits; laned has to end by itself."""
        self.socket.close()
        self.process.wait(TIMEOUT)
        if self.process.stderr:
            self.process.stderr.close()


def drain(descriptor: int) -> bytes:
    """What a non-blocking descriptor holds right now."""
    data = b""
    while True:
        try:
            chunk = os.read(descriptor, 1 << 20)
        except BlockingIOError:
            return data
        if not chunk:
            return data
        data += chunk


def bubblewrap(*, scratch_bytes: int = 64 << 20, lane: Path) -> list[str]:
    """The command prefix that starts a program as PID 1 of a lane like that of a Pod.

    The machine's programs are there, read-only; `/mnt/lane` is the given folder, read-only;
    `/mnt/scratch` is an own tmpfs of the given size; `/srv` and `/media` are for a test's mounts.
    No capabilities; own user, PID, network and IPC namespaces. Root has no process limit even in a
    user namespace of its own, so root becomes somebody else.

    Not the whole machine from `/` down: bubblewrap then goes through all mounts that there are,
    and gives up if one of them (of a Pod that ends, say) is unmounted meanwhile.
    """
    become = ["setpriv", "--reuid=23003", "--regid=23003", "--clear-groups"]
    programs = ["--ro-bind", "/usr", "/usr", "--ro-bind", "/etc", "/etc"]
    for path in ("/bin", "/lib", "/lib32", "/lib64"):
        if os.path.islink(path):
            programs += ["--symlink", os.readlink(path), path]
        elif os.path.isdir(path):
            programs += ["--ro-bind", path, path]
    return [
        *(become if os.getuid() == 0 else []),
        *("bwrap", "--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc"),
        *("--as-pid-1", "--die-with-parent", "--cap-drop", "ALL"),
        *("--uid", str(LANE_UID), "--gid", str(LANE_UID)),
        *(*programs, "--ro-bind-try", "/opt", "/opt", "--dir", "/srv", "--dir", "/media"),
        *("--proc", "/proc", "--dev", "/dev"),
        *("--size", str(1 << 20), "--tmpfs", "/dev/shm"),
        *("--size", str(1 << 20), "--tmpfs", "/dev/pts"),
        *("--remount-ro", "/dev/shm", "--remount-ro", "/dev/pts", "--remount-ro", "/dev"),
        *("--size", "4096", "--tmpfs", "/mnt", "--ro-bind", str(lane), "/mnt/lane"),
        *("--size", str(scratch_bytes), "--perms", "1777", "--tmpfs", "/mnt/scratch"),
        *("--remount-ro", "/mnt", "--remount-ro", "/"),
    ]


LANE = "/mnt/lane"
SCRATCH = "/mnt/scratch"


def start_lane(
    lane: Path,
    *,
    scratch_bytes: int = 64 << 20,
    prefix: Sequence[str] = (),
    program: str = "laned",
    timeout: float = TIMEOUT,
) -> Lane:
    """Starts `program` of the folder `lane` under bubblewrap and takes its one connection.

    `prefix` is a command that runs another one, put before everything. Raises LaneNotStarted as
    soon as nothing can connect any more, or after `timeout` s.
    """
    path = lane / "laned.sock"
    path.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(str(path))
        path.chmod(0o666)
        listener.listen(1)
        process = subprocess.Popen(
            [
                *prefix,
                *bubblewrap(lane=lane, scratch_bytes=scratch_bytes),
                *(f"{LANE}/{program}", "--scratch", SCRATCH, f"{LANE}/laned.sock"),
            ],
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        gone = os.pidfd_open(process.pid)
        try:
            ready, _, _ = select.select([listener, gone], [], [], timeout)
        finally:
            os.close(gone)
        if listener not in ready:
            raise _not_started(process)
        connection, _ = listener.accept()
    path.unlink()
    lane_end = Lane(process, connection, Message("", {}))
    try:
        lane_end.hello = lane_end.receive(timeout)
    except (LaneEnded, TimeoutError):
        failure = _not_started(process)
        connection.close()
        raise failure from None
    return lane_end


def _not_started(process: subprocess.Popen[bytes]) -> LaneNotStarted:
    """Ends what is left of a lane and says what it was."""
    try:
        how = f"ended with {process.wait(1.0)}"
    except subprocess.TimeoutExpired:
        how = f"silent: {'; '.join(_tree(process.pid))}"
        process.kill()
    _, told = process.communicate(timeout=TIMEOUT)
    return LaneNotStarted(f"{how}; it wrote {told.decode(errors='replace')[-2000:]!r}")


def _tree(pid: int) -> Iterator[str]:
    """A process and all below it: name, state, and where in the kernel it waits."""
    place = Path("/proc") / str(pid)
    try:
        name, state = (place / "stat").read_text().partition("(")[2].rsplit(") ", 1)
        yield f"{pid} {name} {state[0]} {(place / 'wchan').read_text()}"
        children = (place / "task" / str(pid) / "children").read_text().split()
    except OSError as error:  # it has just ended, or is somebody else's
        yield f"{pid} {error.strerror}"
        return
    for child in children:
        yield from _tree(int(child))
