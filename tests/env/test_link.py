"""Many connections over one stream: the box's end as a process of its own, and hostile ends."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradekeeper_verifiers import link
from gradekeeper_verifiers.link import (
    CLOSED,
    COUNT,
    CREDIT,
    DATA,
    END,
    HEADER,
    MAX_CONNECTIONS,
    MAX_PAYLOAD,
    OPEN,
    READ_AHEAD,
    READY,
    WINDOW,
    Link,
    LinkError,
)

SOURCE = Path(link.__file__).read_text()
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@dataclass
class Both:
    """The host's end in this process, and the box's in another."""

    link: Link
    port: int
    process: asyncio.subprocess.Process
    moved: asyncio.Event

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self.port)

    async def until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            self.moved.clear()
            await self.moved.wait()


@contextlib.asynccontextmanager
async def both_ends(serve: Serve | None) -> AsyncIterator[Both]:
    """Connect both; `serve` is the host's server, None: nothing listens there."""
    outer, inner = free_port(), free_port()
    server = await asyncio.start_server(serve, "127.0.0.1", outer) if serve is not None else None
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-c", SOURCE, str(inner)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None and process.stdout is not None
    stdin, stdout = process.stdin, process.stdout

    async def send(data: bytes) -> None:
        stdin.write(data)
        await stdin.drain()
        moved.set()

    moved = asyncio.Event()
    end = Link(send, lambda: asyncio.open_connection("127.0.0.1", outer, limit=READ_AHEAD))

    async def receive() -> None:
        # In pieces that cut frames anywhere.
        while data := await stdout.read(5000):
            end.receive(data)
            moved.set()
            most = MAX_CONNECTIONS * WINDOW + HEADER.size + MAX_PAYLOAD
            assert end.held <= most and end.connections <= MAX_CONNECTIONS

    receiving = asyncio.create_task(receive())
    both = Both(end, inner, process, moved)
    try:
        async with asyncio.timeout(60):
            await both.until(lambda: end.ready)
            yield both
            assert not receiving.done()
    finally:
        await end.close()
        stdin.close()
        assert await process.wait() == 0
        await receiving
        if server is not None:
            server.close()
            await server.wait_closed()


async def _echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    writer.close()


async def test_what_goes_in_comes_out_for_more_connections_than_there_are_slots() -> None:
    async def ask(both: Both, number: int) -> None:
        sent = bytes((number + i) % 251 for i in range(1 + number * 9973))
        reader, writer = await both.connect()

        async def write() -> None:
            writer.write(sent)
            await writer.drain()
            writer.write_eof()

        _, received = await asyncio.gather(write(), reader.read(-1))
        assert received == sent
        writer.close()

    async with both_ends(_echo) as both:
        await asyncio.gather(*(ask(both, number) for number in range(MAX_CONNECTIONS + 8)))
        await both.until(lambda: both.link.connections == 0)
        # Every slot can be used again.
        await asyncio.gather(*(ask(both, 1) for _ in range(MAX_CONNECTIONS)))


async def test_an_answer_may_follow_the_end_of_the_question_and_the_other_way_round() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if await reader.readexactly(1) == b"q":
            writer.write(b"asked " + await reader.read(-1))
        else:
            writer.write_eof()
            assert await reader.read(-1) == b"after the answer"
            told.set()
        writer.close()

    told = asyncio.Event()
    async with both_ends(serve) as both:
        reader, writer = await both.connect()
        writer.write(b"question")
        writer.write_eof()
        assert await reader.read(-1) == b"asked uestion"
        writer.close()

        reader, writer = await both.connect()
        writer.write(b"a")
        assert await reader.read(-1) == b""
        writer.write(b"after the answer")
        writer.write_eof()
        await told.wait()
        writer.close()
        await both.until(lambda: both.link.connections == 0)


async def test_nobody_who_listens_out_here_is_an_end_in_there() -> None:
    async with both_ends(None) as both:
        reader, writer = await both.connect()
        with contextlib.suppress(ConnectionError):
            writer.write(b"x" * 3 * WINDOW)
            await writer.drain()
        assert await reader.read(-1) == b""
        writer.close()
        await both.until(lambda: both.link.connections == 0)


async def test_who_does_not_read_is_waited_for_and_holds_up_nobody_else() -> None:
    silent: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if await reader.readexactly(1) == b"s":
            reader._transport.pause_reading()  # type: ignore[attr-defined]
            silent.append((reader, writer))
        else:
            await _echo(reader, writer)

    async with both_ends(serve) as both:
        _, stuck = await both.connect()
        stuck.write(b"s" + b"x" * 32 * 1024 * 1024)
        reader, writer = await both.connect()
        writer.write(b"e")
        waits = -1
        while waits != stuck.transport.get_write_buffer_size():
            waits = stuck.transport.get_write_buffer_size()
            writer.write(b"y" * 300_000)
            assert await reader.readexactly(300_000) == b"y" * 300_000
        # What the sockets and the window between them took is gone, and nothing more.
        assert waits > 16 * 1024 * 1024
        assert both.link.held <= WINDOW
        writer.close()
        stuck.close()
        silent[0][1].transport.abort()
        await both.until(lambda: both.link.connections == 0)


async def test_a_client_that_is_gone_ends_its_connection_out_here() -> None:
    gone = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            await reader.readexactly(1)
            writer.write(b"z" * 1_000_000)
            await writer.drain()
            assert await reader.read(1) == b""
        gone.set()
        writer.close()

    async with both_ends(serve) as both:
        reader, writer = await both.connect()
        writer.write(b"?")
        await reader.readexactly(1)
        writer.transport.abort()
        await gone.wait()
        await both.until(lambda: both.link.connections == 0)


async def test_a_port_that_is_taken_is_said() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-c", SOURCE, str(port)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == 1 and out == b""
    assert err.startswith(b"nothing can listen on port %d of the box: " % port)


def test_old_interpreters_can_read_it() -> None:
    tree = ast.parse(SOURCE, feature_version=(3, 8))

    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    imported |= {
        n.name for node in ast.walk(tree) if isinstance(node, ast.Import) for n in node.names
    }
    assert imported <= {*sys.stdlib_module_names, "collections.abc", "__future__"}


# --- hostile boxes --------------------------------------------------------------------------------


def _frame(kind: int, slot: int = 0, payload: bytes = b"") -> bytes:
    return HEADER.pack(kind, slot, len(payload)) + payload


class Peer:
    """The host's end alone, with connections that answer `hello` and end, or take everything."""

    def __init__(self, ends: bool) -> None:
        self.sent = bytearray()
        self.sink = _Sink()
        self.link = Link(self._send, self._connect)
        self._ends = ends

    async def _send(self, data: bytes) -> None:
        self.sent += data

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader = asyncio.StreamReader()
        if self._ends:
            reader.feed_data(b"hello")
            reader.feed_eof()
        return reader, self.sink  # type: ignore[return-value]


class _Sink:
    def __init__(self) -> None:
        self.taken = 0
        self.takes = asyncio.Event()
        self.takes.set()

    def write(self, data: bytes) -> None:
        self.taken += len(data)

    async def drain(self) -> None:
        await self.takes.wait()

    def write_eof(self) -> None:
        return

    def close(self) -> None:
        return


def _against(chunks: list[bytes], ends: bool) -> bool:
    """Let a box send these; returns whether it was found to break a rule."""

    async def run() -> bool:
        strayed: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, what: strayed.append(what))
        peer = Peer(ends)
        try:
            for chunk in chunks:
                peer.link.receive(chunk)
                assert peer.link.connections <= MAX_CONNECTIONS
                assert peer.link.held <= MAX_CONNECTIONS * WINDOW + HEADER.size + MAX_PAYLOAD
                await asyncio.sleep(0)
                assert len(peer.link._tasks) <= 2 * MAX_CONNECTIONS + 2
            for _ in range(20):
                await asyncio.sleep(0)
        except LinkError:
            return True
        finally:
            await peer.link.close()
            await asyncio.sleep(0)
            assert strayed == [] and not peer.link._tasks
        return False

    return asyncio.run(run())


@settings(deadline=None, max_examples=60)
@given(st.lists(st.binary(max_size=200), max_size=20), st.booleans(), st.booleans())
def test_nonsense_is_an_error_or_means_nothing_yet(
    chunks: list[bytes], greeted: bool, ends: bool
) -> None:
    broken = _against([_frame(READY), *chunks] if greeted else chunks, ends)

    said = b"".join(chunks)
    if not greeted and len(said) >= HEADER.size:
        kind, _, size = HEADER.unpack_from(said)
        if size > MAX_PAYLOAD or (len(said) >= HEADER.size + size and (kind != READY or size)):
            assert broken


_SIZES = st.sampled_from([0, 1, 5, COUNT.size, MAX_PAYLOAD])
_FRAMES = st.builds(
    _frame,
    st.integers(0, 6),
    st.one_of(st.integers(0, 2), st.sampled_from([MAX_CONNECTIONS - 1, MAX_CONNECTIONS, 255])),
    st.one_of(
        _SIZES.map(bytes), st.sampled_from([5, 6, WINDOW, WINDOW + 1, 2**32 - 1]).map(COUNT.pack)
    ),
)


@settings(deadline=None, max_examples=150)
@given(st.lists(_FRAMES, max_size=40), st.booleans())
def test_frames_out_of_order_never_make_it_hold_more_than_it_may(
    frames: list[bytes], ends: bool
) -> None:
    _against([_frame(READY), *frames], ends)


@pytest.mark.parametrize(
    ("frames", "ends"),
    [
        pytest.param([_frame(OPEN)], False, id="before READY"),
        pytest.param([_frame(READY), _frame(READY)], False, id="READY twice"),
        pytest.param([_frame(READY, 0, b"x")], False, id="READY with a payload"),
        pytest.param([_frame(READY), _frame(6)], False, id="no such kind"),
        pytest.param([_frame(READY), HEADER.pack(DATA, 0, MAX_PAYLOAD + 1)], False, id="too long"),
        pytest.param([_frame(READY), _frame(DATA, 0, b"x")], False, id="data for no connection"),
        pytest.param([_frame(READY), _frame(OPEN, MAX_CONNECTIONS)], False, id="no such slot"),
        pytest.param([_frame(READY), _frame(OPEN), _frame(OPEN)], False, id="opened twice"),
        pytest.param([_frame(READY), _frame(OPEN), _frame(DATA)], False, id="data of no bytes"),
        pytest.param(
            [_frame(READY), _frame(OPEN) + _frame(DATA, 0, bytes(MAX_PAYLOAD)) * 9],
            False,
            id="more than the window",
        ),
        pytest.param(
            [_frame(READY), _frame(OPEN), _frame(END), _frame(DATA, 0, b"x")],
            False,
            id="data after the end",
        ),
        pytest.param([_frame(READY), _frame(OPEN), _frame(END) * 2], False, id="two ends"),
        pytest.param(
            [_frame(READY), _frame(OPEN), _frame(CREDIT, 0, COUNT.pack(1))],
            False,
            id="credit for nothing",
        ),
        pytest.param(
            [_frame(READY), _frame(OPEN), b"", b"", _frame(CREDIT, 0, COUNT.pack(6))],
            True,
            id="credit for more than was sent",
        ),
        pytest.param([_frame(READY), _frame(OPEN), _frame(CREDIT)], False, id="credit of nothing"),
        pytest.param([_frame(READY), _frame(OPEN), _frame(CLOSED)], True, id="closed unended"),
        pytest.param(
            [_frame(READY), _frame(OPEN), _frame(END), _frame(CLOSED)],
            False,
            id="closed before the other's end",
        ),
        pytest.param(
            [_frame(READY), _frame(OPEN), _frame(END), *[b""] * 9, _frame(CLOSED) * 2],
            True,
            id="closed twice",
        ),
    ],
)
def test_each_rule_is_kept(frames: list[bytes], ends: bool) -> None:
    assert _against(frames, ends)
    assert not _against(frames[:-1], ends)


async def test_credit_is_given_back_for_what_was_taken_and_for_nothing_else() -> None:
    peer = Peer(ends=False)
    peer.sink.takes.clear()
    peer.link.receive(_frame(READY) + _frame(OPEN) + _frame(DATA, 0, b"first"))
    for _ in range(5):
        await asyncio.sleep(0)
    peer.link.receive(_frame(DATA, 0, b"second"))
    for _ in range(5):
        await asyncio.sleep(0)

    assert peer.sink.taken == len("first") and peer.link.held == len("second")
    assert bytes(peer.sent) == b""
    peer.sink.takes.set()
    for _ in range(5):
        await asyncio.sleep(0)
    assert peer.sink.taken == len("firstsecond") and peer.link.held == 0
    assert bytes(peer.sent) == _frame(CREDIT, 0, COUNT.pack(5)) + _frame(CREDIT, 0, COUNT.pack(6))
    await peer.link.close()


async def test_a_whole_connection_by_the_rules() -> None:
    peer = Peer(ends=True)
    for frame in (_frame(READY), _frame(OPEN, 3), _frame(DATA, 3, b"question")):
        peer.link.receive(frame)
    for _ in range(5):
        await asyncio.sleep(0)
    peer.link.receive(_frame(CREDIT, 3, COUNT.pack(5)) + _frame(END, 3))
    for _ in range(5):
        await asyncio.sleep(0)

    assert bytes(peer.sent) == b"".join(
        [
            _frame(DATA, 3, b"hello"),
            _frame(END, 3),
            _frame(CREDIT, 3, COUNT.pack(8)),
            _frame(CLOSED, 3),
        ]
    ) or bytes(peer.sent) == b"".join(
        [
            _frame(CREDIT, 3, COUNT.pack(8)),
            _frame(DATA, 3, b"hello"),
            _frame(END, 3),
            _frame(CLOSED, 3),
        ]
    )
    peer.link.receive(_frame(CLOSED, 3))
    assert peer.link.connections == 0
    await peer.link.close()
