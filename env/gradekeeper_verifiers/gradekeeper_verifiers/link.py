"""Many connections over one byte stream: the rules of the relay, for both of its ends.

The box's end is this very file, handed to the python3 of the image: it imports the standard
library alone and keeps to Python 3.8. The host's end takes frames from a box that may send
anything, so each end holds at most `MAX_CONNECTIONS` connections with `WINDOW` bytes each way, and
a frame that breaks a rule is a `LinkError`.

A frame is its kind, a slot, the payload's size, the payload:

READY    box    the first frame, once: it listens
OPEN     box    somebody connected; the slot was free
DATA     both   1 to `MAX_PAYLOAD` bytes, never more than there is credit for
CREDIT   both   as many bytes of DATA were passed on, and may follow again
END      both   no more DATA in this direction
CLOSED   both   both directions are through: nothing of the slot follows before the next OPEN

Who opened a slot uses it again once both ends have said CLOSED.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import struct
import sys
from collections.abc import Awaitable, Callable
from typing import Any, Final

READY: Final = 0
OPEN: Final = 1
DATA: Final = 2
CREDIT: Final = 3
END: Final = 4
CLOSED: Final = 5

HEADER: Final = struct.Struct(">BBH")
COUNT: Final = struct.Struct(">I")
MAX_PAYLOAD: Final = 16 * 1024
WINDOW: Final = 128 * 1024
MAX_CONNECTIONS: Final = 32
# A StreamReader stops reading its socket at twice its limit.
READ_AHEAD: Final = 32 * 1024


class LinkError(Exception):
    """The other end broke a rule, so nothing that it sends means anything any more."""


class _Connection:
    """One slot in use.

    Attributes:
        credit: Bytes that may be sent.
        room: Bytes that may arrive.
        inbox: Bytes that arrived and were not passed on.
    """

    def __init__(self) -> None:
        self.credit = WINDOW
        self.room = WINDOW
        self.inbox = bytearray()
        self.end_sent = self.end_seen = False
        self.closed_sent = self.closed_seen = False
        self.credited = asyncio.Event()
        self.arrived = asyncio.Event()

    async def take_credit(self) -> int:
        """Wait until something may be sent, and return how much."""
        while not self.credit:
            self.credited.clear()
            await self.credited.wait()
        return min(self.credit, MAX_PAYLOAD)

    async def take_inbox(self) -> bytes:
        """Wait for bytes and return them; none after the end."""
        while not self.inbox and not self.end_seen:
            self.arrived.clear()
            await self.arrived.wait()
        data = bytes(self.inbox)
        self.inbox.clear()
        return data


class Link:
    """One end.

    Args:
        send: Sends bytes to the other end, and waits while it does not take them.
        connect: Makes the connection for each slot that the other end opens; it may raise OSError.
            None: this end opens, by `offer`.
    """

    def __init__(
        self,
        send: Callable[[bytes], Awaitable[None]],
        connect: Callable[[], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]
        | None = None,
    ) -> None:
        self._send_bytes = send
        self._connect = connect
        self._sending = asyncio.Lock()
        self._buffer = bytearray()
        self._live: dict[int, _Connection] = {}
        self._free: asyncio.Queue[int] = asyncio.Queue()
        for slot in range(MAX_CONNECTIONS):
            self._free.put_nowait(slot)
        self._tasks: set[asyncio.Future[None]] = set()
        self.ready = False
        """Whether the other end has said that it listens."""

    @property
    def held(self) -> int:
        """Bytes that arrived and were not passed on."""
        return len(self._buffer) + sum(len(each.inbox) for each in self._live.values())

    @property
    def connections(self) -> int:
        """Slots in use."""
        return len(self._live)

    # --- what arrives -----------------------------------------------------------------------------

    def receive(self, data: bytes) -> None:
        """Take bytes of the other end, cut anywhere. Never waits.

        Raises:
            LinkError: They break a rule.
        """
        self._buffer += data
        while len(self._buffer) >= HEADER.size:
            kind, slot, size = HEADER.unpack_from(self._buffer)
            if size > MAX_PAYLOAD:
                raise LinkError(f"a frame of {size} bytes, and {MAX_PAYLOAD} are the most")
            end = HEADER.size + size
            if len(self._buffer) < end:
                return
            payload = bytes(self._buffer[HEADER.size : end])
            del self._buffer[:end]
            self._take_frame(kind, slot, payload)

    def _take_frame(self, kind: int, slot: int, payload: bytes) -> None:
        if self._connect is not None and (kind == READY) == self.ready:
            raise LinkError("READY is the first frame, and there is one")
        if payload and kind not in (DATA, CREDIT):
            raise LinkError(f"frames of kind {kind} have no payload")
        if kind == READY and self._connect is not None:
            self.ready = True
            return
        if kind == OPEN and self._connect is not None:
            if slot >= MAX_CONNECTIONS or slot in self._live:
                raise LinkError(f"slot {slot} cannot be opened")
            self._live[slot] = connection = _Connection()
            self._spawn(self._answer, slot, connection)
            return
        found = self._live.get(slot)
        if found is None or found.closed_seen:
            raise LinkError(f"a frame of kind {kind} for slot {slot}, which is not open")
        if kind == DATA:
            if not payload or found.end_seen or len(payload) > found.room:
                raise LinkError(f"{len(payload)} bytes for slot {slot}, against the rules")
            found.room -= len(payload)
            found.inbox += payload
            found.arrived.set()
        elif kind == CREDIT:
            more = COUNT.unpack(payload)[0] if len(payload) == COUNT.size else 0
            if not 0 < more <= WINDOW - found.credit:
                raise LinkError(f"slot {slot} gives credit for what was not sent")
            found.credit += more
            found.credited.set()
        elif kind == END and not found.end_seen:
            found.end_seen = True
            found.arrived.set()
        elif kind == CLOSED and found.end_seen and found.end_sent:
            found.closed_seen = True
            self._let_go(slot, found)
        else:
            raise LinkError(f"a frame of kind {kind} for slot {slot}, out of order")

    def _let_go(self, slot: int, connection: _Connection) -> None:
        if connection.closed_sent and connection.closed_seen:
            del self._live[slot]
            self._free.put_nowait(slot)

    # --- what is carried --------------------------------------------------------------------------

    async def announce(self) -> None:
        """Say that this end listens."""
        await self._send(READY, 0)

    async def offer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry a connection that was made to this end; waits while no slot is free."""
        slot = await self._free.get()
        self._live[slot] = connection = _Connection()
        await self._send(OPEN, slot)
        await self._carry(slot, connection, reader, writer)

    async def close(self) -> None:
        """Drop all connections at once."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _answer(self, slot: int, connection: _Connection) -> None:
        assert self._connect is not None
        try:
            reader, writer = await self._connect()
        except OSError:
            await self._carry(slot, connection, None, None)
        else:
            await self._carry(slot, connection, reader, writer)

    async def _carry(
        self,
        slot: int,
        connection: _Connection,
        reader: asyncio.StreamReader | None,
        writer: asyncio.StreamWriter | None,
    ) -> None:
        try:
            outward = self._spawn(self._send_all, slot, connection, reader)
            await self._pass_on(slot, connection, writer)
            await outward
        finally:
            if writer is not None:
                writer.close()
        connection.closed_sent = True
        self._let_go(slot, connection)
        await self._send(CLOSED, slot)

    async def _send_all(
        self, slot: int, connection: _Connection, reader: asyncio.StreamReader | None
    ) -> None:
        while reader is not None:
            most = await connection.take_credit()
            try:
                data = await reader.read(most)
            except OSError:
                break
            if not data:
                break
            connection.credit -= len(data)
            await self._send(DATA, slot, data)
        connection.end_sent = True
        await self._send(END, slot)

    async def _pass_on(
        self, slot: int, connection: _Connection, writer: asyncio.StreamWriter | None
    ) -> None:
        """Write what arrives; once nobody reads it any more it is dropped."""
        while True:
            data = await connection.take_inbox()
            if not data:
                break
            if writer is not None:
                try:
                    writer.write(data)
                    await writer.drain()
                except OSError:
                    writer = None
            # Before the frame: what it allows may arrive while it is still being sent.
            connection.room += len(data)
            await self._send(CREDIT, slot, COUNT.pack(len(data)))
        if writer is not None:
            with contextlib.suppress(OSError):
                writer.write_eof()

    async def _send(self, kind: int, slot: int, payload: bytes = b"") -> None:
        async with self._sending:
            await self._send_bytes(HEADER.pack(kind, slot, len(payload)) + payload)

    def _spawn(self, work: Callable[..., Awaitable[None]], *arguments: Any) -> asyncio.Future[None]:
        async def until_the_other_end_is_gone() -> None:
            with contextlib.suppress(OSError):
                await work(*arguments)

        task = asyncio.ensure_future(until_the_other_end_is_gone())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


# --- the box's end --------------------------------------------------------------------------------


async def _listen(port: int) -> None:
    loop = asyncio.get_running_loop()
    output = sys.stdout.fileno()

    def write(data: bytes) -> None:
        while data:
            data = data[os.write(output, data) :]

    async def send(data: bytes) -> None:
        await loop.run_in_executor(None, write, data)

    frames = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(frames), sys.stdin.buffer)
    link = Link(send)
    try:
        await asyncio.start_server(link.offer, "127.0.0.1", port, limit=READ_AHEAD)
    except OSError as error:
        sys.exit(f"nothing can listen on port {port} of the box: {error}")
    await link.announce()
    while True:
        data = await frames.read(MAX_PAYLOAD)
        if not data:
            # Whoever started it has closed its input. Nothing that is under way matters any more.
            os._exit(0)
        link.receive(data)


if __name__ == "__main__":
    asyncio.run(_listen(int(sys.argv[-1])))
