"""Isolation facts: each that is off is seen, and a reachable operator is never called denied."""

import dataclasses
import json
import os
import socket
import time

import pytest

from gradekeeper.referee import isolation
from gradekeeper.referee.isolation import (
    NetworkProbe,
    Own,
    differences,
    look_around,
    own_differences,
    profile,
    read_probe,
    sentence,
    summary,
)

POD = profile(local=False, uid=10003, user_namespace=True)
FALLBACK = profile(local=False, uid=10003, user_namespace=False)


def facts(**changes):
    found = {
        "uid": 10003,
        "gid": 10003,
        "groups": [],
        "uid_map": "0 431554560 65536",
        "gid_map": "0 431554560 65536",
        "cap_eff": "0",
        "cap_prm": "0",
        "cap_bnd": "0",
        "cap_amb": "0",
        "no_new_privs": 1,
        "seccomp": 2,
        "writable": ["/scratch"],
        "root_readonly": True,
        "shm_bytes": 1048576,
        "token": False,
        "pid": 7,
        "pids_visible": [1, 7],
        **dict.fromkeys(isolation.CLOSED, "EACCES"),
        "proc1_no_new_privs": 1,
        "proc1_seccomp": 2,
        "devices": [*isolation.DEVICES],
        **isolation.NO_TERMINALS,
        "pressure": "EACCES",
        "core_limit": [1, 1],
        "core_handler": "program",
        "denied": {
            **isolation.DENIED,
            **dict.fromkeys(isolation.X86_CALLS, "EPERM"),
            **dict.fromkeys(isolation.FOREIGN, "KILLED"),
        },
    }
    found.update(changes)
    return found


def test_an_isolated_lane_has_no_differences():
    assert differences(facts(), POD) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"uid": 0},
        {"uid": "10003"},
        {"gid": 0},
        {"groups": [0]},
        {"groups": None},
        {"cap_eff": "1"},
        {"cap_prm": "1"},
        {"cap_bnd": "1ffffffffff"},
        {"cap_amb": "1"},
        {"no_new_privs": 0},
        {"no_new_privs": True},
        {"seccomp": 0},
        {"writable": []},
        {"writable": ["/scratch", "/tmp"]},
        {"writable": ["/scratch"], "writable_incomplete": True},
        {"writable": None},
        {"root_readonly": False},
        {"token": True},
        {"pids_visible": [1, 2, 7]},
        {"uid_map": isolation.IDENTITY_MAP},
        {"proc1_mem": "ALLOWED"},
        {"proc1_environ": None},
        {"denied": None},
        {"proc1_no_new_privs": 0},
        {"proc1_seccomp": 0},
        {"writable": ["/scratch", 7]},
        {"devices": [*isolation.DEVICES, "/dev/fuse"]},
        {"devices": [*isolation.DEVICES][1:]},
        {"devices": None},
        {"ptmx": "ALLOWED"},
        {"pts_ptmx": "EACCES"},
        {"tty": "ALLOWED"},
        {"pressure": "ALLOWED"},
        {"core_limit": [0, 0]},
        {"core_limit": [1, -1]},
        {"core_limit": [True, True]},
        {"core_handler": "socket"},
        {"core_handler": "unknown"},
    ],
    ids=str,
)
def test_each_difference_is_seen(changes):
    assert differences(facts(**changes), POD)


def test_only_a_pod_has_a_filter_of_its_runtime():
    local = profile(local=True, uid=10003, user_namespace=True)
    assert differences(facts(proc1_seccomp=0), local) == []
    assert differences(facts(proc1_seccomp=0), POD) == ["the runtime has no seccomp filter"]


def test_known_places_are_named_and_others_are_not():
    places = ["/scratch", "/lane", "/dev/shm", "/home/of/a/lane"]
    wrong = differences(facts(writable=places), POD)
    assert wrong == ["/lane is writable", "/dev/shm is writable", "another place is writable"]


def test_a_sentence_names_the_first_differences():
    assert sentence(["uid"]) == "The lane is not isolated: uid."
    assert sentence([*"abcde"]) == "The lane is not isolated: a, b, c and 2 more."


OWN = Own(pid=1, uid=10002, ipc="ipc:[4026533001]")


def test_a_container_of_its_own_is_as_it_must_be():
    assert own_differences(OWN, 10003) == []


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"pid": 7}, "its process namespace is shared"),
        ({"uid": 10003}, "it has the referee's uid"),
        ({"ipc": isolation.MACHINE_IPC}, "the IPC namespace is the machine's"),
    ],
    ids=str,
)
def test_what_a_pod_must_not_share_is_seen(change, text):
    assert own_differences(dataclasses.replace(OWN, **change), 10003) == [text]


def test_the_referee_observes_itself():
    own = look_around()
    assert (own.pid, own.uid) == (os.getpid(), os.getuid())
    assert own.ipc.startswith("ipc:[") and own.ipc[5:-1].isdigit()


@pytest.mark.parametrize("name", [*facts()])
def test_a_missing_fact_is_a_difference(name):
    found = facts()
    del found[name]
    unused = name in ("gid_map", "shm_bytes")
    assert bool(differences(found, POD)) is not unused


def test_a_core_handler_of_a_file_or_a_program_is_out_of_reach_at_the_limit_of_1():
    for handler in ("file", "program"):
        found = facts(core_handler=handler)
        assert differences(found, POD) == []
        assert summary(found, POD, None)["coreHandler"] is False
    assert summary(facts(core_limit=[0, 0]), POD, None)["coreHandler"] is True
    assert summary(facts(core_handler="socket"), POD, None)["coreHandler"] is True


def test_a_terminal_is_a_signed_fact():
    assert summary(facts(), POD, None)["terminals"] is False
    assert summary(facts(pts_ptmx="ALLOWED"), POD, None)["terminals"] is True


@pytest.mark.parametrize("call", [*isolation.DENIED])
def test_each_call_that_is_open_is_seen(call):
    for answer in {"ALLOWED", "EINVAL", "EFAULT"} - {isolation.DENIED[call]}:
        denied = {**facts()["denied"], call: answer}
        assert differences(facts(denied=denied), POD) == [f"{call} is not denied"]


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="only x86-64 has foreign entries")
@pytest.mark.parametrize("entry", isolation.FOREIGN)
def test_each_foreign_entry_is_seen(entry):
    denied = {**facts()["denied"], entry: "ALLOWED"}
    assert differences(facts(denied=denied), POD)


def test_without_a_required_user_namespace_none_is_asked_for():
    identity = facts(uid_map=isolation.IDENTITY_MAP)
    assert differences(identity, FALLBACK) == []
    assert summary(identity, FALLBACK, None)["userNamespace"] is False
    assert summary(facts(), POD, None)["userNamespace"] is True


def test_the_summary_is_small_and_has_no_text_of_the_lane():
    long = facts(uid="x" * 10_000, writable=["/" + "y" * 10_000], denied={"z" * 9_000: "z"})
    text = json.dumps(summary(long, POD, None))
    assert len(text) < 600 and not {"xx", "yy", "zz"} & {text[n : n + 2] for n in range(len(text))}


@pytest.mark.parametrize("output", [b"", b"[]", b"{", b"x" * 50_000, b'{"a":1,"a":2}'])
def test_other_output_is_no_description(output):
    assert read_probe(output) is None


def settle(probe, seconds=5.0):
    end = time.monotonic() + seconds
    while probe.denied is None:
        assert time.monotonic() < end
        time.sleep(min(0.01, probe.step(time.monotonic())))


def test_a_refused_connection_is_denied():
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        probe = NetworkProbe("127.0.0.1", closed.getsockname()[1], time.monotonic() + 5)
        settle(probe)
    assert probe.denied is True
    assert probe.facts["network"] == "denied" and probe.facts["networkAnswer"] == "ECONNREFUSED"


def test_a_connection_that_is_never_answered_is_denied():
    # A full accept queue drops what comes after it, as a policy does.
    with socket.socket() as full, socket.socket() as one, socket.socket() as two:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for client in (one, two):
            client.setblocking(False)
            client.connect_ex(full.getsockname())
        probe = NetworkProbe("127.0.0.1", full.getsockname()[1], time.monotonic() + 5)
        settle(probe)
    assert probe.denied is True and probe.facts["networkAnswer"] == "ETIMEDOUT"


def test_a_served_port_is_reachable_once_the_deadline_has_passed():
    with socket.socket() as served:
        served.bind(("127.0.0.1", 0))
        served.listen(64)
        probe = NetworkProbe("127.0.0.1", served.getsockname()[1], time.monotonic() + 0.25)
        settle(probe)
    assert probe.denied is False
    assert probe.facts["network"] == "reachable"


def test_a_policy_may_come_into_force_late():
    with socket.socket() as served:
        served.bind(("127.0.0.1", 0))
        served.listen(64)
        probe = NetworkProbe("127.0.0.1", served.getsockname()[1], time.monotonic() + 10)
        for _ in range(3):
            probe.step(time.monotonic())
        assert probe.denied is None
    settle(probe)
    assert probe.denied is True


def test_who_is_stepped_late_has_not_been_connected():
    # An archive that takes long to unpack keeps the referee from stepping.
    with socket.socket() as full, socket.socket() as one, socket.socket() as two:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for client in (one, two):
            client.setblocking(False)
            client.connect_ex(full.getsockname())
        deadline = time.monotonic() + 20
        probe = NetworkProbe("127.0.0.1", full.getsockname()[1], deadline)
        probe.step(deadline - 20)
        for late in (20, 20.02, 20.04, 21):
            probe.step(deadline + late)
    assert probe.denied is True and probe.facts["networkAnswer"] == "ETIMEDOUT"


def test_a_connection_of_before_the_deadline_says_nothing_of_a_policy_after_it():
    with socket.socket() as served:
        served.bind(("127.0.0.1", 0))
        served.listen(64)
        deadline = time.monotonic() + 20
        probe = NetworkProbe("127.0.0.1", served.getsockname()[1], deadline)
        probe.step(deadline - 20)
        probe.step(deadline + 20)
        assert probe.denied is None
    for late in (21, 21.02, 21.04, 21.06):
        probe.step(deadline + late)
    assert probe.denied is True and probe.facts["networkAnswer"] == "ECONNREFUSED"


def test_a_connection_after_the_deadline_is_one_however_late_it_is_looked_at():
    with socket.socket() as served:
        served.bind(("127.0.0.1", 0))
        served.listen(64)
        deadline = time.monotonic() - 20
        probe = NetworkProbe("127.0.0.1", served.getsockname()[1], deadline)
        probe.step(deadline + 40)
        probe.step(deadline + 60)
    assert probe.denied is False and probe.facts["networkAnswer"] == "connected"
