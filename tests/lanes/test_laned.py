"""laned, the real program, as PID 1 of a real namespace, against docs/protocols.md."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from lanes.lane_client import (
    LANE,
    LANE_UID,
    SCRATCH,
    Lane,
    LaneEnded,
    Message,
    bubblewrap,
    drain,
    start_lane,
)

HOSTILE = f"{LANE}/hostile"
# "as" is a word of Python's own.
AS_32_MIB: Any = {"as": 32 << 20}
AS_128_MIB: Any = {"as": 128 << 20}
AS_1_GIB: Any = {"as": 1 << 30}
GRAMMAR = 2
UNABLE = 3


def read_until(descriptor: int, text: bytes, timeout: float = 10.0) -> bytes:
    """Reads from a pipe until `text` has come."""
    data = b""
    deadline = time.monotonic() + timeout
    while text not in data:
        ready, _, _ = select.select([descriptor], [], [], max(0, deadline - time.monotonic()))
        assert ready, data
        chunk = os.read(descriptor, 65536)
        assert chunk, data
        data += chunk
    return data


def at_end(descriptor: int, timeout: float = 5.0) -> bool:
    """Whether a pipe's other side is closed, after what is in it."""
    deadline = time.monotonic() + timeout
    while True:
        ready, _, _ = select.select([descriptor], [], [], max(0, deadline - time.monotonic()))
        if not ready:
            return False
        if not os.read(descriptor, 65536):
            return True


def close_all(*descriptors: int) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def null_order(lane: Lane, argv: list[str], **options: object) -> int:
    """An order with /dev/null as its three descriptors."""
    null = os.open(os.devnull, os.O_RDWR)
    try:
        return lane.order(argv, (null, null, null), **options)  # type: ignore[arg-type]
    finally:
        os.close(null)


# -- starting ---------------------------------------------------------------------------------


def test_it_introduces_itself(lane: Lane) -> None:
    assert lane.hello == Message("hello", {"protocol": "3", "pid": "1", "uid": str(LANE_UID)})


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ([], b"usage"),
        (["a", "b"], b"usage"),
        (["--scratch", SCRATCH], b"usage"),
        (["--scratch", "/mnt/nothing", "s"], b"no scratch folder"),
        (["--scratch", LANE, "s"], b"not empty"),
        (["--scratch", SCRATCH, "x" * 200], b"too long"),
    ],
    ids=["none", "two", "no-socket", "no-folder", "not-empty", "long-path"],
)
def test_it_refuses_to_start(lane_folder: Path, arguments: list[str], reason: bytes) -> None:
    command = [*bubblewrap(lane=lane_folder), f"{LANE}/laned", *arguments]
    done = subprocess.run(command, capture_output=True, timeout=20)
    assert (done.returncode, reason in done.stderr) == (UNABLE, True), done


@pytest.mark.parametrize("own_namespace", [False, True], ids=["no-namespace", "not-pid-1"])
def test_it_starts_only_as_pid_1(lane_folder: Path, tmp_path: Path, own_namespace: bool) -> None:
    """A sweep outside a namespace of its own would kill everything of its user."""
    command = [str(lane_folder / "laned"), "--scratch", str(tmp_path), "/nowhere"]
    if own_namespace:
        prefix = [part for part in bubblewrap(lane=lane_folder) if part != "--as-pid-1"]
        command = [*prefix, f"{LANE}/laned", "--scratch", SCRATCH, "/nowhere"]
    done = subprocess.run(command, capture_output=True, timeout=20)
    assert (done.returncode, done.stderr) == (UNABLE, b"laned: not PID 1 of a PID namespace\n")


def test_it_needs_the_proc_of_its_namespace(lane_folder: Path) -> None:
    """With another namespace's /proc it would look for a session among strangers."""
    prefix = bubblewrap(lane=lane_folder)
    at = prefix.index("--proc")
    prefix[at : at + 2] = []
    command = [*prefix, f"{LANE}/laned", "--scratch", SCRATCH, "/nowhere"]
    done = subprocess.run(command, capture_output=True, timeout=20)
    assert done.returncode == UNABLE
    assert b"/proc does not show" in done.stderr


def test_a_lane_of_a_test_has_no_mount_that_another_may_take_away(lane: Lane) -> None:
    """bubblewrap gives up when one that it is about to change is unmounted: Pods here come and go.

    Such a start looks like a laned that does not connect.
    """
    run = lane.run(["/bin/cat", "/proc/self/mountinfo"])
    places = {line.split()[4].decode() for line in run.stdout.splitlines()}
    ours = {"/", "/dev", "/proc", "/mnt", "/usr", "/etc", "/opt"}
    ours |= {"/bin", "/lib", "/lib32", "/lib64"}
    below = ("/dev/", "/proc/", "/etc/", LANE, SCRATCH)  # a container has mounts in /etc
    assert {place for place in places if not place.startswith(below)} <= ours


def test_it_waits_for_the_socket(lane_folder: Path) -> None:
    """The containers of a Pod start in any order."""
    path = lane_folder / "late.sock"
    command = [*bubblewrap(lane=lane_folder), f"{LANE}/laned", "--scratch", SCRATCH]
    with subprocess.Popen([*command, f"{LANE}/late.sock"]) as process:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            listener.settimeout(20)
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(0.2)
            listener.bind(str(path))
            path.chmod(0o666)
            listener.listen(1)
            connection, _ = listener.accept()
            with connection:
                assert connection.recv(1000).startswith(b"hello\0")
        assert process.wait(20) == 0
    path.unlink()


# -- the grammar ------------------------------------------------------------------------------

FIELDS = {"id": "id=1", "cwd": "cwd=/", "scratch": "scratch=s", "arg": "arg=/bin/true"}


def order_with(*extra: str, without: str = "") -> bytes:
    fields = [value for key, value in FIELDS.items() if key != without]
    return b"".join(part.encode() + b"\0" for part in ("order", *fields, *extra))


BAD_MESSAGES = {
    "not terminated": (b"sweep", 0),
    "no verb": (b"\0", 0),
    "unknown verb": (b"jump\0", 0),
    "verb of another case": (b"SWEEP\0", 0),
    "once": (b"--once\0", 0),
    "sweep with a field": (b"sweep\0id=1\0", 0),
    "sweep with a descriptor": (b"sweep\0", 1),
    "quit with a field": (b"quit\0now=1\0", 0),
    "kill without id": (b"kill\0", 0),
    "kill without equals": (b"kill\0id\0", 0),
    "kill with another field": (b"kill\0pid=1\0", 0),
    "kill with two": (b"kill\0id=1\0id=2\0", 0),
    "kill 0": (b"kill\0id=0\0", 0),
    "no descriptors": (order_with(), 0),
    "two descriptors": (order_with(), 2),
    "four descriptors": (order_with(), 4),
    "many descriptors": (order_with(), 20),
    "no id": (order_with(without="id"), 3),
    "no cwd": (order_with(without="cwd"), 3),
    "no scratch": (order_with(without="scratch"), 3),
    "no arg": (order_with(without="arg"), 3),
    "id 0": (order_with("id=0", without="id"), 3),
    "id too large": (order_with("id=1000000", without="id"), 3),
    "id twice": (order_with("id=1"), 3),
    "id negative": (order_with("id=-1", without="id"), 3),
    "id with plus": (order_with("id=+1", without="id"), 3),
    "id with zero": (order_with("id=01", without="id"), 3),
    "id with blank": (order_with("id= 1", without="id"), 3),
    "id hexadecimal": (order_with("id=0x1", without="id"), 3),
    "id empty": (order_with("id=", without="id"), 3),
    "cwd relative": (order_with("cwd=tmp", without="cwd"), 3),
    "cwd twice": (order_with("cwd=/tmp"), 3),
    "scratch with slash": (order_with("scratch=a/b", without="scratch"), 3),
    "scratch with dots": (order_with("scratch=..", without="scratch"), 3),
    "scratch with underscore": (order_with("scratch=a_b", without="scratch"), 3),
    "scratch empty": (order_with("scratch=", without="scratch"), 3),
    "scratch too long": (order_with("scratch=" + "a" * 65, without="scratch"), 3),
    "scratch twice": (order_with("scratch=t"), 3),
    "program relative": (order_with("arg=true", without="arg"), 3),
    "program empty": (order_with("arg=", without="arg"), 3),
    "513 arguments": (order_with(*["arg=x"] * 512), 3),
    "env without equals": (order_with("env=PATH"), 3),
    "env without name": (order_with("env==x"), 3),
    "257 variables": (order_with(*[f"env=A{i}=" for i in range(257)]), 3),
    "field without equals": (order_with("wipe"), 3),
    "empty field": (order_with(""), 3),
    "unknown field": (order_with("nice=1"), 3),
    "wipe 2": (order_with("wipe=2"), 3),
    "wipe twice": (order_with("wipe=1", "wipe=1"), 3),
    "limit twice": (order_with("cpu=1", "cpu=1"), 3),
    "limit not a number": (order_with("fsize=1k"), 3),
    "limit too large": (order_with("fsize=9223372036854775808"), 3),
    "core": (order_with("core=0"), 3),
    "too long": (order_with(*["env=A=" + "x" * 1000] * 61), 3),
}


@pytest.mark.parametrize("name", BAD_MESSAGES)
def test_a_message_outside_the_grammar_ends_it(lane: Lane, name: str) -> None:
    data, count = BAD_MESSAGES[name]
    null = os.open(os.devnull, os.O_RDWR)
    lane.send_raw(data, [null] * count)
    os.close(null)
    with pytest.raises(LaneEnded):
        lane.receive()
    assert lane.ended() == GRAMMAR


def test_an_id_in_use_ends_it(lane: Lane) -> None:
    number = null_order(lane, [HOSTILE, "sleep"])
    lane.next_id = number
    null_order(lane, ["/bin/true"])
    assert lane.ended() == GRAMMAR


def test_the_limits_of_the_grammar_are_accepted(lane: Lane) -> None:
    arguments = [HOSTILE, "arguments", *["x"] * 509, "last"]
    run = lane.run(arguments, env={f"A{i}": "" for i in range(256)})
    assert run.stdout == b"510 last|"
    long = "y" * (60 * 1024 - 200)
    run = lane.run([HOSTILE, "arguments", long], scratch="a" * 64)
    assert run.stdout == f"1 {long}|".encode()
    lane.next_id = 999999
    assert lane.run([HOSTILE, "arguments", "", ""]).stdout == b"2 |"


# -- what a process starts with ---------------------------------------------------------------


def test_a_process_starts_clean(lane: Lane) -> None:
    run = lane.run(
        [HOSTILE, "facts"], cwd=f"{SCRATCH}/work", scratch="work", env={"A": "b=c", "EMPTY": ""}
    )
    lines = run.stdout.decode().splitlines()
    assert run.stderr == b""
    assert [line for line in lines if not line.startswith("limit")] == [
        f"cwd {SCRATCH}/work",
        "leader 1",
        "umask 022",
        "descriptor 0",
        "descriptor 1",
        "descriptor 2",
        "env A=b=c",
        "env EMPTY=",
        "new privileges 0",
        "filters 2",
    ]


def test_limits_are_set(lane: Lane) -> None:
    run = lane.run(
        [HOSTILE, "facts"],
        cpu=7,
        fsize=12345,
        nofile=33,
        nproc=77,
        stack=1 << 20,
        **AS_1_GIB,
    )
    limits = {
        name: (int(soft), int(hard))
        for _, name, soft, hard in (
            line.split() for line in run.stdout.decode().splitlines() if line.startswith("limit")
        )
    }
    assert limits == {
        "cpu": (7, 8),
        "as": (1 << 30, 1 << 30),
        "fsize": (12345, 12345),
        "nofile": (33, 33),
        "nproc": (77, 77),
        "core": (1, 1),
        "stack": (1 << 20, 1 << 20),
    }


def test_a_limit_above_the_containers_own_is_cut_to_it(lane: Lane) -> None:
    run = lane.run([HOSTILE, "facts"], nofile=1 << 40)
    assert run.status == 0
    assert b"limit nofile" in run.stdout


def test_limits_hold(lane: Lane) -> None:
    folder = f"{SCRATCH}/s"
    assert lane.run([HOSTILE, "write", "8192"], cwd=folder, fsize=8192).status == 0
    assert lane.run([HOSTILE, "write", "16384"], cwd=folder, fsize=8192).signal == signal.SIGXFSZ
    assert lane.run([HOSTILE, "open"], nofile=20).stdout == b"17 EMFILE"
    assert lane.run([HOSTILE, "map", "64"], **AS_32_MIB).stdout == b"ENOMEM"
    assert lane.run([HOSTILE, "map", "64"], **AS_128_MIB).stdout == b"mapped"
    children, error = lane.run([HOSTILE, "fork"], nproc=20).stdout.split()
    # laned itself and the order count too; the machine may give this uid nothing else.
    assert (int(children), error) == (18, b"EAGAIN")


def test_processor_time_is_limited(lane: Lane) -> None:
    started = time.monotonic()
    number = null_order(lane, [HOSTILE, "burn-stubbornly"], cpu=1)
    assert lane.run([HOSTILE, "burn", "60"], cpu=1).signal == signal.SIGXCPU
    ended = lane.wait_for("exit", id=str(number))
    assert ended.fields["signal"] == str(int(signal.SIGKILL))
    assert 1_300_000 < int(ended.fields["cpu_us"]) < 2_600_000
    assert time.monotonic() - started < 20


def test_scratch_is_as_large_as_its_mount(lane_folder: Path) -> None:
    lane = start_lane(lane_folder, scratch_bytes=1 << 20)
    try:
        run = lane.run([HOSTILE, "write", str(4 << 20)], cwd=f"{SCRATCH}/s")
        assert run.status == 28
        lane.sweep()
        assert lane.run([HOSTILE, "write", str(512 << 10)], cwd=f"{SCRATCH}/s").status == 0
    finally:
        lane.close()


# -- how it ends ------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [0, 1, 126, 127, 255])
def test_an_exit_status_is_reported(lane: Lane, status: int) -> None:
    end = lane.run([HOSTILE, "exit", str(status)]).end
    assert end.verb == "exit"
    assert end.fields.keys() == {"id", "status", "cpu_us", "maxrss_kib", "left"}
    assert end.fields["status"] == str(status)


def test_a_signal_is_reported(lane: Lane) -> None:
    end = lane.run([HOSTILE, "raise", str(int(signal.SIGSEGV))]).end
    assert end.fields.keys() == {"id", "signal", "cpu_us", "maxrss_kib", "left"}
    assert end.fields["signal"] == str(int(signal.SIGSEGV))


def test_a_program_that_is_not_there_exits_with_127(lane: Lane) -> None:
    assert lane.run(["/nowhere/program"]).status == 127
    assert lane.run(["/etc/passwd"]).status == 127


def test_a_missing_folder_is_refused(lane: Lane) -> None:
    assert lane.run(["/bin/true"], cwd="/nowhere").end == Message(
        "refused", {"id": "1", "error": "ENOENT"}
    )


def test_usage_is_reported(lane: Lane) -> None:
    end = lane.run([HOSTILE, "burn", "0.3"]).end
    assert 290_000 < int(end.fields["cpu_us"]) < 800_000
    end = lane.run([HOSTILE, "touch", "60"]).end
    assert 60 << 10 < int(end.fields["maxrss_kib"]) < 70 << 10


def test_sixteen_run_side_by_side_and_no_more(lane: Lane) -> None:
    orders = [lane.spawn([HOSTILE, "sleep"], scratch=f"s{i}") for i in range(16)]
    for _, _, out, _ in orders:
        read_until(out, b"sleeping\n")
    extra = null_order(lane, ["/bin/true"])
    assert lane.receive() == Message("refused", {"id": str(extra), "error": "EAGAIN"})
    lane.send("kill", f"id={orders[3][0]}")
    assert lane.receive().fields["id"] == str(orders[3][0])
    assert lane.run(["/bin/true"]).status == 0
    assert lane.sweep() == 15
    ended = [lane.receive() for _ in range(15)]
    assert {end.fields["signal"] for end in ended} == {"9"}
    assert {end.fields["id"] for end in ended} == {str(o[0]) for o in orders} - {"4"}
    for _, *descriptors in orders:
        close_all(*descriptors)


def test_a_run_ends_at_its_exit_status_though_its_output_is_parked(lane: Lane) -> None:
    number, stdin, out, err = lane.spawn([HOSTILE, "escape", "60"])
    read_until(out, b"escaped\n")
    assert lane.wait_for("exit", id=str(number)).fields["status"] == "0"
    os.set_blocking(out, False)
    assert drain(out) == b""
    assert not at_end(out, 0.05)
    assert lane.sweep() >= 1
    assert at_end(out)
    close_all(stdin, out, err)


# -- kill, sweep, wipe ------------------------------------------------------------------------


def test_kill_takes_the_whole_session_and_nothing_else(lane: Lane) -> None:
    other, *other_pipes = lane.spawn([HOSTILE, "sleep"])
    read_until(other_pipes[1], b"sleeping\n")
    number, stdin, out, err = lane.spawn([HOSTILE, "background"])
    read_until(out, b"ready\n")
    lane.send("kill", f"id={number}")
    assert lane.wait_for("exit", id=str(number)).fields["signal"] == "9"
    assert at_end(out), "a process of the session lives"
    lane.send("kill", f"id={number}")
    lane.send("kill", "id=999")
    assert not at_end(other_pipes[1], 0.05)
    assert lane.run(["/bin/true"]).status == 0
    lane.send("kill", f"id={other}")
    assert lane.wait_for("exit", id=str(other)).fields["signal"] == "9"
    close_all(stdin, out, err, *other_pipes)


def test_kill_stops_what_forks_all_the_time(lane: Lane) -> None:
    number, stdin, out, err = lane.spawn([HOSTILE, "bomb"], nproc=60)
    read_until(out, b"EAGAIN\n")
    lane.send("kill", f"id={number}")
    assert lane.wait_for("exit", id=str(number)).fields["signal"] == "9"
    lane.sweep()
    assert at_end(out)
    assert lane.run([HOSTILE, "fork"], nproc=20).stdout == b"18 EAGAIN"
    close_all(stdin, out, err)


def test_escapees_outlive_kill_and_die_in_the_sweep(lane: Lane) -> None:
    number, stdin, out, err = lane.spawn([HOSTILE, "escape", "60"])
    read_until(out, b"escaped\n")
    lane.wait_for("exit", id=str(number))
    lane.send("kill", f"id={number}")
    assert not at_end(out, 0.1)
    lane.sweep()
    assert at_end(out)
    close_all(stdin, out, err)


def test_an_end_tells_what_belongs_to_nobody(lane: Lane) -> None:
    living, *living_pipes = lane.spawn([HOSTILE, "background"])
    read_until(living_pipes[1], b"ready\n")
    assert lane.run(["/bin/true"]).end.fields["left"] == "0"
    number, *pipes = lane.spawn([HOSTILE, "escape", "60"])
    read_until(pipes[1], b"escaped\n")
    assert lane.wait_for("exit", id=str(number)).fields["left"] == "1"
    lane.send("kill", f"id={living}")
    assert lane.wait_for("exit", id=str(living)).fields["left"] == "1"
    lane.sweep()
    assert lane.run(["/bin/true"]).end.fields["left"] == "0"
    close_all(*living_pipes, *pipes)


def test_who_ends_his_first_thread_is_counted_among_the_living(lane: Lane) -> None:
    number, *pipes = lane.spawn([HOSTILE, "escape-headless"])
    read_until(pipes[1], b"escaped\n")
    lane.wait_for("exit", id=str(number))
    assert lane.run(["/bin/true"]).end.fields["left"] == "1"
    lane.sweep()
    assert lane.run(["/bin/true"]).end.fields["left"] == "0"
    close_all(*pipes)


def test_an_end_tells_what_is_in_the_scratch_folder(lane: Lane) -> None:
    def left(*command: str, scratch: str = "one", **fields: object) -> str:
        cwd = f"{SCRATCH}/{scratch}"
        return lane.run([*command], scratch=scratch, cwd=cwd, **fields).end.fields["left"]

    assert left("/bin/true") == "0"
    assert left("/bin/mkdir", "inside") == "1"
    assert left("/bin/true", scratch="two") == "1"
    lane.sweep()
    assert left("/bin/true", scratch="two") == "0"
    assert left("/bin/mkdir", f"{SCRATCH}/beside") == "1"
    lane.sweep()
    assert left(HOSTILE, "write", "1", wipe=0) == "0"
    number, *pipes = lane.spawn([HOSTILE, "background"], scratch="live")
    read_until(pipes[1], b"ready\n")
    assert left("/bin/true", scratch="two") == "0"
    assert left("/bin/mkdir", f"{SCRATCH}/live/trace", scratch="two") == "1"
    lane.send("kill", f"id={number}")
    assert lane.wait_for("exit", id=str(number)).fields["left"] == "1"
    lane.sweep()
    close_all(*pipes)


def test_a_sweep_is_reported_after_what_it_ended(lane: Lane) -> None:
    first = null_order(lane, [HOSTILE, "sleep"])
    second = null_order(lane, [HOSTILE, "sleep"])
    lane.send("sweep")
    verbs = [lane.receive() for _ in range(3)]
    assert [message.verb for message in verbs] == ["exit", "exit", "swept"]
    assert {message.fields.get("id") for message in verbs[:2]} == {str(first), str(second)}
    assert verbs[2].fields == {"killed": "2"}
    assert lane.sweep() == 0


def test_a_frozen_lane_is_swept(lane: Lane) -> None:
    number, stdin, out, err = lane.spawn([HOSTILE, "sleep"])
    read_until(out, b"sleeping\n")
    frozen, *pipes = lane.spawn([HOSTILE, "freeze"])
    read_until(pipes[1], b"froze")
    assert lane.sweep() == 2
    assert {lane.receive().fields["id"] for _ in range(2)} == {str(number), str(frozen)}
    close_all(stdin, out, err, *pipes)


def listing(lane: Lane, folder: str) -> list[str]:
    run = lane.run([HOSTILE, "list", folder], scratch="look")
    return sorted(set(run.stdout.decode().splitlines()) - {"look"})


def test_a_sweep_wipes_what_is_not_kept(lane: Lane) -> None:
    lane.run([HOSTILE, "write", "1"], scratch="kept", cwd=f"{SCRATCH}/kept", wipe=0)
    lane.run([HOSTILE, "write", "1"], scratch="gone", cwd=f"{SCRATCH}/gone")
    lane.run(["/bin/mkdir", "made-up"], cwd=SCRATCH, scratch="gone")
    assert listing(lane, SCRATCH) == ["gone", "kept", "made-up"]
    lane.sweep()
    assert listing(lane, SCRATCH) == ["kept"]
    assert listing(lane, f"{SCRATCH}/kept") == ["big"]
    lane.sweep()
    assert listing(lane, f"{SCRATCH}/kept") == ["big"], "kept until an order says otherwise"
    lane.run(["/bin/true"], scratch="kept", wipe=1)
    lane.sweep()
    assert listing(lane, SCRATCH) == []


def test_a_scratch_folder_is_private_and_made_usable_again(lane: Lane) -> None:
    run = lane.run(["/bin/stat", "-c", "%a %n", "."], cwd=f"{SCRATCH}/mine", scratch="mine")
    assert run.stdout == b"700 .\n"
    assert lane.run(["/bin/chmod", "0", "."], cwd=f"{SCRATCH}/mine", scratch="mine").status == 0
    assert lane.run(["/bin/true"], cwd=f"{SCRATCH}/mine", scratch="mine").status == 0


def test_a_link_in_place_of_a_scratch_folder_is_refused(lane: Lane) -> None:
    assert lane.run([HOSTILE, "replace", "s"], cwd=SCRATCH).status == 0
    assert lane.run(["/bin/true"]).end.fields["error"] == "ENOTDIR"
    lane.sweep()
    assert lane.run(["/bin/true"]).status == 0


def test_only_so_many_folders_can_be_kept(lane: Lane) -> None:
    for i in range(64):
        assert lane.run(["/bin/true"], scratch=f"k{i}", wipe=0).status == 0
    assert lane.run(["/bin/true"], scratch="k64", wipe=0).end.fields["error"] == "ENOSPC"
    assert lane.run(["/bin/true"], scratch="k0", wipe=1).status == 0
    assert lane.run(["/bin/true"], scratch="k64", wipe=0).status == 0


def test_hostile_trees_are_wiped_and_links_not_followed(lane: Lane) -> None:
    lane.run([HOSTILE, "write", "1"], scratch="kept", cwd=f"{SCRATCH}/kept", wipe=0)
    run = lane.run([HOSTILE, "zoo", f"{SCRATCH}/kept"], cwd=f"{SCRATCH}/s")
    assert run.status == 0
    lane.sweep()
    assert listing(lane, SCRATCH) == ["kept"]
    assert listing(lane, f"{SCRATCH}/kept") == ["big"]


@pytest.mark.parametrize(("kind", "count"), [("deep", 20_000), ("many", 40_000)])
def test_large_trees_are_wiped(lane: Lane, kind: str, count: int) -> None:
    run = lane.run([HOSTILE, kind, str(count)], cwd=f"{SCRATCH}/s", timeout=60)
    assert run.status == 0
    started = time.monotonic()
    lane.sweep()
    assert time.monotonic() - started < 8
    assert listing(lane, SCRATCH) == []


def impatient_lane(lane_folder: Path, tmp_path: Path, bound: str) -> Lane:
    """A laned that is built with one of its bounds at 0."""
    sources = Path(__file__).parent.parent.parent / "lanes"
    build = ["make", "-C", str(sources), f"OUT={tmp_path}", f"CFLAGS=-O1 -D{bound}=0"]
    subprocess.run([*build, f"{tmp_path}/laned"], check=True, timeout=60, stdout=subprocess.DEVNULL)
    shutil.copy(tmp_path / "laned", lane_folder / "laned-impatient")
    return start_lane(lane_folder, program="laned-impatient")


def test_a_tree_that_takes_too_long_ends_the_lane(lane_folder: Path, tmp_path: Path) -> None:
    """Rather than hand what is left to the next run. Built with no time at all to wipe."""
    lane = impatient_lane(lane_folder, tmp_path, "WIPE_CPU_SECONDS")
    try:
        lane.run(["/bin/true"])
        assert lane.sweep() == 0
        assert lane.run([HOSTILE, "many", "1000"], cwd=f"{SCRATCH}/s").status == 0
        lane.send("sweep")
        with pytest.raises(LaneEnded):
            lane.wait_for("swept")
        assert lane.ended() == UNABLE
    finally:
        lane.close()


def test_processes_that_do_not_die_end_the_lane(lane_folder: Path, tmp_path: Path) -> None:
    """Not by a clock, which a frozen node lets run. Built to look once: too seldom for so many."""
    lane = impatient_lane(lane_folder, tmp_path, "REAP_LOOKS")
    try:
        _, stdin, out, err = lane.spawn([HOSTILE, "bomb"], nproc=100)
        read_until(out, b"EAGAIN\n")
        lane.send("sweep")
        with pytest.raises(LaneEnded):
            lane.wait_for("swept")
        assert lane.ended() == UNABLE
        close_all(stdin, out, err)
    finally:
        lane.close()


# -- staying alive ----------------------------------------------------------------------------


def test_signals_from_the_lane_do_not_reach_it(lane: Lane) -> None:
    assert lane.run([HOSTILE, "signals"]).stdout == b"done"
    assert lane.run([HOSTILE, "exit", "3"]).status == 3


def test_orphans_are_reaped(lane: Lane) -> None:
    for _ in range(5):
        assert lane.run([HOSTILE, "orphans", "50"], nproc=300).status == 42
    deadline = time.monotonic() + 10
    while lane.run([HOSTILE, "fork"], nproc=20).stdout != b"18 EAGAIN":
        assert time.monotonic() < deadline, "zombies fill the process limit"


def test_a_child_that_no_order_started_is_not_taken_for_one(lane: Lane) -> None:
    assert lane.run([HOSTILE, "sibling"]).status == 5
    assert lane.run([HOSTILE, "exit", "9"]).status == 9
    assert lane.backlog == []


def test_a_fork_bomb_stays_within_its_limit(lane: Lane) -> None:
    number, stdin, out, err = lane.spawn([HOSTILE, "bomb"], nproc=100)
    read_until(out, b"EAGAIN\n")
    started = time.monotonic()
    assert 50 < lane.sweep(timeout=20)
    assert time.monotonic() - started < 10
    assert lane.receive().fields["id"] == str(number)
    assert lane.run([HOSTILE, "exit", "3"]).status == 3
    close_all(stdin, out, err)


def test_the_end_of_the_referee_is_the_end_of_the_lane(lane: Lane) -> None:
    _, stdin, out, err = lane.spawn([HOSTILE, "escape", "60"])
    read_until(out, b"escaped\n")
    lane.socket.close()
    assert lane.ended() == 0
    assert at_end(out)
    close_all(stdin, out, err)


def test_quit_ends_it(lane: Lane) -> None:
    _, stdin, out, err = lane.spawn([HOSTILE, "sleep"])
    read_until(out, b"sleeping\n")
    lane.send("quit")
    assert lane.ended() == 0
    assert at_end(out)
    close_all(stdin, out, err)


def test_a_referee_that_does_not_read_loses_nothing(lane: Lane) -> None:
    """Both socket buffers fill; laned takes no more orders and reports everything later."""
    lane.socket.settimeout(2)
    given = 0
    with contextlib.suppress(TimeoutError):
        for _ in range(20_000):
            null_order(lane, ["/bin/true"])
            given += 1
    assert 100 < given < 20_000, "the buffers never filled"
    answers = [lane.receive() for _ in range(given)]
    assert {int(answer.fields["id"]) for answer in answers} == set(range(1, given + 1))
    lane.next_id = given + 2
    assert lane.run([HOSTILE, "exit", "3"]).status == 3


def test_it_keeps_no_descriptors(lane_folder: Path) -> None:
    """With room for 40 descriptors it takes any number of orders, whatever becomes of them."""
    lane = start_lane(lane_folder, prefix=["prlimit", "--nofile=40"])
    try:
        for _ in range(60):
            assert lane.run(["/bin/true"]).status == 0
            assert lane.run(["/bin/true"], cwd="/nowhere").end.verb == "refused"
        for _ in range(4):
            for _ in range(17):
                null_order(lane, [HOSTILE, "sleep"])
            lane.sweep()
    finally:
        lane.close()
