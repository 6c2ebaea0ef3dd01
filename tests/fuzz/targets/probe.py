"""What laneprobe prints, as the referee compares it."""

from __future__ import annotations

import json
import os
from typing import Any

from fuzz.targets import require
from gradekeeper.referee.isolation import (
    CLOSED,
    CORE_LIMIT,
    DENIED,
    DEVICES,
    FOREIGN,
    NO_TERMINALS,
    X86_CALLS,
    differences,
    profile,
    read_probe,
    sentence,
    summary,
)
from gradekeeper.referee.result import _MAX_TEXT
from gradekeeper.referee.strictjson import encode_canonical

MAX_LEN = 16_384
RIGHT: dict[str, Any] = {
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
    **dict.fromkeys(CLOSED, "EACCES"),
    "proc1_no_new_privs": 1,
    "proc1_seccomp": 2,
    "devices": list(DEVICES),
    **NO_TERMINALS,
    "pressure": "EACCES",
    "core_limit": list(CORE_LIMIT),
    "core_handler": "file",
    "denied": {
        **DENIED,
        **dict.fromkeys(X86_CALLS, "EPERM"),
        **dict.fromkeys(FOREIGN, "KILLED"),
    },
}
FREE = {"groups", "uid_map", "gid_map", "shm_bytes", "pid", "pids_visible", "denied", *CLOSED}
WRONG: dict[type, object] = {int: 3, str: "1", list: ["/scratch", "/tmp"], dict: {}}
SEEDS = {
    "right": json.dumps(RIGHT).encode(),
    "root": json.dumps({**RIGHT, "uid": 0, "writable": ["/", "/a\\u00e4"]}).encode(),
    "types": json.dumps({**RIGHT, "groups": None, "denied": [], "pids_visible": {}}).encode(),
    "nothing": b"{}",
    **{
        f"wrong-{name}": json.dumps({**RIGHT, name: WRONG.get(type(value), not value)}).encode()
        for name, value in RIGHT.items()
    },
    **{
        f"open-{call}": json.dumps({**RIGHT, "denied": {**DENIED, call: "EINVAL"}}).encode()
        for call in ("socket_inet", "clone3")
    },
}
WORDS = [
    *(f'"{name}":'.encode() for name in RIGHT),
    *(b'"EPERM"', b'"ALLOWED"', b'"KILLED"', b"true", b"null", b"[]", b"{}", b"1.0", b'"/scratch"'),
]
POD = profile(local=False, uid=10003, user_namespace=True)
MACHINE = os.uname().machine


def run(data: bytes) -> None:
    """Compare, and write what would be written."""
    facts = read_probe(data)
    if facts is None:
        return
    wrong = differences(facts, POD)
    text = sentence(wrong) if wrong else ""
    require(text.isascii() and text.isprintable(), "text of the lane in a message")
    require(len(text) <= _MAX_TEXT["message"], "a message that no result holds")
    require(len(encode_canonical(summary(facts, POD, None))) < 700, "facts that are not bounded")
    if wrong:
        return
    for name, value in RIGHT.items():
        found = facts.get(name)
        require(name in FREE or (type(found), found) == (type(value), value), f"{name} is accepted")
    for call, code in DENIED.items():
        require(facts["denied"].get(call) == code, f"{call} is accepted")
    require(all(facts[name] in ("EACCES", "EPERM") for name in CLOSED), "an open file of laned")
