"""laned's protocol from the referee's side, over real sockets."""

import os
import socket
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradekeeper.referee.errors import LaneGone
from gradekeeper.referee.lanes import Lane, LaneEvent, Listener, Order, encode_order, parse_message


@pytest.fixture
def pair():
    mine, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with mine, other:
        yield Lane(mine), other


def test_an_order_is_nul_terminated_strings():
    order = Order(7, ["/bin/x", "a b", ""], {"A": "1"}, "/scratch/r7", "r7", {"cpu": 5, "core": 0})
    assert encode_order(order).split(b"\0") == [
        b"order",
        b"id=7",
        b"cwd=/scratch/r7",
        b"scratch=r7",
        b"wipe=1",
        b"cpu=5",
        b"core=0",
        b"arg=/bin/x",
        b"arg=a b",
        b"arg=",
        b"env=A=1",
        b"",
    ]


def test_an_order_carries_its_three_descriptors(pair):
    lane, other = pair
    reading, writing = os.pipe()
    lane.order(Order(1, ["/x"], {}, "/", "s"), (reading, writing, writing))
    data, descriptors, _, _ = socket.recv_fds(other, 65536, 8)
    assert data.startswith(b"order\0id=1\0") and len(descriptors) == 3
    os.write(descriptors[1], b"seen")
    assert os.read(reading, 10) == b"seen"
    for descriptor in (*descriptors, reading, writing):
        os.close(descriptor)


def test_events_arrive_in_order(pair):
    lane, other = pair
    other.send(b"exit\0id=3\0status=0\0cpu_us=10\0maxrss_kib=20\0")
    other.send(b"refused\0id=4\0error=EAGAIN\0")
    first, second = lane.events()
    assert (first.verb, first.id, first.fields["status"]) == ("exit", 3, "0")
    assert second == LaneEvent("refused", {"id": "4", "error": "EAGAIN"})
    assert lane.events() == []


@pytest.mark.parametrize(
    "data",
    [
        b"exit",
        b"exit\0",
        b"hello\0protocol=3",
        b"pass\0",
        b"exit\0id=1\0id=2\0",
        b"exit\0id=x\0",
        b"exit\0id=1\0other=1\0",
        b"exit\0status=0\0",
        b"refused\0id=1\0error=A B\0",
        b"\xff\0",
    ],
)
def test_another_message_is_a_lost_lane(pair, data):
    lane, other = pair
    other.send(data)
    with pytest.raises(LaneGone):
        lane.events()


@given(st.binary(max_size=60))
def test_any_bytes_are_a_message_or_a_lost_lane(data):
    try:
        parse_message(data)
    except LaneGone:
        pass


def test_a_hang_up_is_a_lost_lane_after_what_it_said(pair):
    lane, other = pair
    other.send(b"exit\0id=3\0signal=9\0")
    other.close()
    assert [event.id for event in lane.events()] == [3]
    with pytest.raises(LaneGone):
        lane.events()
    with pytest.raises(LaneGone):
        lane.kill(1)


def test_nothing_is_heard_behind_an_empty_datagram(pair):
    """It looks like the end, so it is: whether or not something came before it."""
    lane, other = pair
    for datagram in (b"exit\0id=3\0status=0\0", b"", b"swept\0killed=1\0"):
        other.send(datagram)
    assert [event.verb for event in lane.events()] == ["exit"]
    for _ in range(2):
        with pytest.raises(LaneGone):
            lane.events()


def test_silence_is_a_lost_lane(pair):
    lane, _ = pair
    with pytest.raises(LaneGone, match="did not say hello"):
        lane.hello(0.01)


def test_another_protocol_is_a_lost_lane(pair):
    lane, other = pair
    other.send(b"hello\0protocol=1\0pid=1\0uid=1\0")
    with pytest.raises(LaneGone, match="protocol"):
        lane.hello(1)


def test_waiting_skips_other_events(pair):
    lane, other = pair
    other.send(b"exit\0id=3\0status=0\0")
    other.send(b"swept\0killed=2\0")
    assert lane.wait("swept", 1).fields == {"killed": "2"}


def test_one_connection_and_then_no_socket(tmp_path):
    path = tmp_path / "laned.sock"
    listener = Listener(path)
    assert path.stat().st_mode & 0o777 == 0o666

    def connect():
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
            client.connect(str(path))
            client.send(b"hello\0protocol=3\0pid=1\0uid=10003\0")

    thread = threading.Thread(target=connect)
    thread.start()
    lane = listener.accept(5)
    thread.join()
    assert not path.exists()
    assert lane.hello(5).fields["uid"] == "10003"
    lane.close()


def test_nobody_connects(tmp_path):
    listener = Listener(tmp_path / "laned.sock")
    with pytest.raises(LaneGone, match="did not connect"):
        listener.accept(0.01)
    assert not (tmp_path / "laned.sock").exists()
