"""The Java kit's Runner and Desk in a real JVM, against docs/protocols.md."""

from __future__ import annotations

import itertools
import json
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from lanes.runner_client import Runner, flags

ONE_AT_A_TIME = [
    "monitor", "reentrant", "fair", "write", "stamped", "semaphore", "compute", "notified",
    "condition", "worker", "queue", "pool", "idle", "interrupted", "crowd", "pools",
]  # fmt: skip
ALL_AT_ONCE = ["none", "slow", "hops"]
NEVER = [
    "spinning", "napping", "waiting", "sleeping", "timed", "permits", "scheduled", "disguised",
    "joined", "delayed", "ending",
]  # fmt: skip


@pytest.fixture
def locks(kit: Path) -> Iterator[Runner]:
    with Runner(kit, "drivers.Locks") as runner:
        yield runner


@pytest.fixture
def cases(kit: Path) -> Iterator[Runner]:
    with Runner(kit, "drivers.Cases") as runner:
        yield runner


QUERIES = itertools.count(1)


@dataclass
class Lull:
    """What came before `settled`, or before the time was up without it."""

    settled: bool = False
    calls: list[int] = field(default_factory=list)
    values: list[str] = field(default_factory=list)


def until_settled(runner: Runner, timeout: float = 20) -> Lull:
    """Asks, and reads until the answer."""
    query = next(QUERIES)
    runner.send("settle", query=query)
    lull = Lull()
    deadline = time.monotonic() + timeout
    while (left := deadline - time.monotonic()) > 0:
        line = runner.line(left)
        if line is None:
            break
        event = json.loads(line)
        assert event["seq"] == next(runner.sequence)
        if event["type"] == "settled":
            assert event["query"] == query
            lull.settled = True
            break
        if event["type"] == "call":
            lull.calls.append(event["call"])
        else:
            lull.values.append(event["value"])
    return lull


def finish(runner: Runner, open_calls: list[int]) -> list[dict[str, Any]]:
    """Answers what is open and everything after it."""
    for call in open_calls:
        runner.answer(call, "ok")
    events = []
    while (event := runner.read())["type"] != "done":
        events.append(event)
        if event["type"] == "call":
            runner.answer(event["call"], "ok")
    return events


def run_one_at_a_time(runner: Runner, method: str) -> None:
    """Three settled moments with exactly one call open in each."""
    runner.start(method)
    seen = []
    for number in range(3):
        lull = until_settled(runner)
        assert (lull.settled, len(lull.calls)) == (True, 1), (method, number)
        seen += lull.values
        runner.answer(lull.calls[0], f"token-{number}")
    seen += [event["value"] for event in finish(runner, [])]
    assert sorted(seen) == ["token-0", "token-1", "token-2"]


# -- settled ----------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ONE_AT_A_TIME)
def test_a_lock_settles_with_one_call_open(locks: Runner, method: str) -> None:
    run_one_at_a_time(locks, method)


def test_threads_that_earlier_cases_left_do_not_matter(locks: Runner) -> None:
    for method in ONE_AT_A_TIME:
        run_one_at_a_time(locks, method)


@pytest.mark.parametrize("method", ALL_AT_ONCE)
def test_nothing_is_settled_before_every_call_has_come(locks: Runner, method: str) -> None:
    for _ in range(10):
        locks.start(method)
        lull = until_settled(locks)
        assert (lull.settled, len(lull.calls)) == (True, 3)
        finish(locks, lull.calls)


@pytest.mark.parametrize("method", NEVER)
def test_what_moves_by_itself_never_settles(locks: Runner, method: str) -> None:
    locks.start(method)
    lull = until_settled(locks, 0.8)
    assert (lull.settled, len(lull.calls)) == (False, 1)
    locks.send("unsettle")
    finish(locks, lull.calls)


def test_settling_is_quick(locks: Runner) -> None:
    """A held call costs the referee no fixed wait."""
    times = []
    for _ in range(10):
        locks.start("monitor")
        started = time.monotonic()
        lull = until_settled(locks)
        times.append(time.monotonic() - started)
        finish(locks, lull.calls)
    assert sorted(times)[5] < 0.1


def test_the_same_moment_may_be_asked_about_twice(locks: Runner) -> None:
    locks.start("monitor")
    first = until_settled(locks)
    second = until_settled(locks)
    assert (first.settled, second) == (True, Lull(settled=True))
    assert locks.line(0.1) is None, "each query is answered once"
    finish(locks, first.calls)


def test_a_query_after_its_case_is_not_answered_in_the_next(locks: Runner) -> None:
    """The referee may ask while `done` is under way."""
    locks.run("monitor")
    locks.send("settle", query=next(QUERIES))
    locks.start("monitor")
    event = locks.read()
    assert event["type"] == "call"
    assert locks.line(0.2) is None
    finish(locks, [event["call"]])


def test_a_withdrawn_query_is_not_answered(locks: Runner) -> None:
    locks.start("sleeping")
    event = locks.read()
    locks.send("settle", query=next(QUERIES))
    locks.send("unsettle")
    kinds = [event["type"] for event in finish(locks, [event["call"]])]
    assert sorted(kinds) == ["call", "call", "obs", "obs", "obs"]


# -- values -----------------------------------------------------------------------------------


def integer(text: str) -> dict[str, str]:
    return {"t": "int", "v": text}


def decimal(text: str) -> dict[str, str]:
    return {"t": "dec", "v": text}


def opaque(name: str) -> dict[str, str]:
    return {"t": "opaque", "c": name}


SCALARS = {
    "null": None,
    "true": True,
    "text": 'a"b\\c\n\0\x7f\u00e9\U0001f600/',
    "byte": integer("-1"),
    "short": integer("2"),
    "int": integer("-2147483648"),
    "long": integer("9223372036854775807"),
    "big": integer("-123456789012345678901234567890"),
    "digits64": integer("9" * 64),
    "digits65": opaque("java.math.BigInteger"),
    "decimal": decimal("1.20"),
    "exponent": decimal("12000"),
    "small": decimal("-0.00000000012"),
    "bomb": opaque("java.math.BigDecimal"),
    "long decimal": opaque("java.math.BigDecimal"),
}

POINT = {"t": "Point", "f": {"x": integer("1"), "y": decimal("2.50")}}
OBJECTS = {
    "date": {"t": "time", "c": "java.time.LocalDate", "v": "2024-02-29"},
    "instant": {"t": "time", "c": "java.time.Instant", "v": "1970-01-01T00:00:01Z"},
    "duration": {"t": "time", "c": "java.time.Duration", "v": "PT1H30M"},
    "day": {"t": "enum", "c": "DayOfWeek", "v": "MONDAY"},
    "colour": {"t": "enum", "c": "Colour", "v": "RED"},
    "body": {"t": "enum", "c": "Colour", "v": "GREEN"},
    "point": POINT,
    "nested": {
        "t": "Nested",
        "f": {
            "name": "n",
            "point": {"t": "Point", "f": {"x": integer("1"), "y": None}},
            "more": [{"t": "Point", "f": {"x": integer("2"), "y": decimal("1")}}],
        },
    },
    "failing": opaque("drivers.Cases$Failing"),
    "wordy": opaque("drivers.Cases$Wordy"),
    "liar": opaque("drivers.Cases$Liar"),
    "double": opaque("java.lang.Double"),
    "char": opaque("java.lang.Character"),
    "optional": opaque("java.util.Optional"),
    "array": opaque("[I"),
    "set": opaque("java.util.HashSet"),
    "driver": opaque("drivers.Cases"),
}

EMPTY = opaque("java.util.ArrayList")
COLLECTIONS = {
    "list": ["a", None, integer("1")],
    "immutable": [[], [True]],
    "view": ["x"],
    "own": opaque("drivers.Cases$OwnList"),
    "map": {
        "t": "map",
        "v": [["alpha", integer("5")], ["mid", integer("3")], ["zeta", integer("4")]],
    },
    "linked": {"t": "map", "v": [[integer("2"), "b"]]},
    "concurrent": {"t": "map", "v": [["k", ["v"]]]},
    "deep": [[[[[[EMPTY]]]]]],
    "endless": [[[[[[EMPTY]]]]]],
    "thousand": ["x"] * 999,
    "many": opaque("java.util.Collections$CopiesList"),
    "long": opaque("java.lang.String"),
    "escaped": opaque("java.lang.String"),
    "wide": opaque("java.util.Collections$CopiesList"),
}


@pytest.mark.parametrize(
    ("method", "expected"),
    [("scalars", SCALARS), ("objects", OBJECTS), ("collections", COLLECTIONS)],
)
def test_values(cases: Runner, method: str, expected: dict[str, Any]) -> None:
    assert cases.values(method) == expected


HOSTILE_SETTINGS = [
    *("-Duser.language=ar", "-Duser.country=EG", "-Duser.extensions=u-nu-arab"),
    *("-Duser.timezone=Asia/Kathmandu", "-Dfile.encoding=UTF-16", "-Dline.separator=\r"),
]


def test_no_setting_of_the_machine_changes_what_is_written(kit: Path) -> None:
    with Runner(kit, "drivers.Cases", options=HOSTILE_SETTINGS) as runner:
        assert runner.values("scalars") == SCALARS
        assert runner.values("objects") == OBJECTS
        assert runner.values("collections") == COLLECTIONS


# -- the desk ---------------------------------------------------------------------------------


def test_inputs(cases: Runner) -> None:
    assert cases.run("inputs", a="t\u00e9xt", d="1.50", n="-7") == [
        {"type": "obs", "key": "text", "value": "t\u00e9xt"},
        {"type": "obs", "key": "decimal", "value": decimal("1.50")},
        {"type": "obs", "key": "number", "value": integer("-7")},
        {"type": "obs", "key": "driver", "threw": "gradekeeper.kit.Desk$NoInput"},
        {"type": "obs", "key": "no number", "threw": "java.lang.NumberFormatException"},
    ]


def test_exceptions_are_observed_by_their_class(cases: Runner) -> None:
    events = [event for event in cases.run("thrown", {"go": None}) if event["type"] == "obs"]
    assert events == [
        {"type": "obs", "key": "value", "value": "v"},
        {"type": "obs", "key": "exception", "threw": "drivers.Cases$Secret"},
        {"type": "obs", "key": "error", "threw": "java.lang.AssertionError"},
        {"type": "obs", "key": "deep", "threw": "java.lang.StackOverflowError"},
        {"type": "obs", "key": "refused", "threw": "gradekeeper.kit.Desk$Refused"},
        {"type": "obs", "key": "message", "value": "no"},
        {"type": "obs", "key": "driver", "threw": "drivers.Cases$Secret"},
    ]


def test_an_instance_of_an_observed_kind_is_observed_as_one(cases: Runner) -> None:
    assert cases.run("kinds") == [
        {"type": "obs", "key": "own", "threw": "drivers.Cases$OfThisCase"},
        {"type": "obs", "key": "kind", "threw": "drivers.Cases$Rule"},
        {"type": "obs", "key": "itself", "threw": "drivers.Cases$Rule"},
        {"type": "obs", "key": "other", "threw": "java.lang.IllegalStateException"},
        {"type": "obs", "key": "driver", "threw": "drivers.Cases$OfThisCase"},
    ]


def test_a_double_is_asked_with_values_and_answers(cases: Runner) -> None:
    first, seen, second, nothing = cases.run("asked", {"go": "token", "stop": ""})
    arguments = ["x", integer("1"), decimal("1.0"), None, [integer("1")]]
    assert first == {"type": "call", "call": 1, "method": "go", "args": arguments}
    assert seen == {"type": "obs", "key": "answer", "value": "token"}
    assert second == {"type": "call", "call": 2, "method": "stop", "args": []}
    assert nothing == {"type": "obs", "key": "nothing", "value": None}


def test_actors_run_side_by_side_and_are_joined(cases: Runner) -> None:
    cases.start("join")
    events = [cases.read() for _ in range(3)]
    calls = [event["call"] for event in events if event["type"] == "call"]
    assert len(calls) == 2, "both hold a call at once"
    assert {"type": "obs", "key": "b", "value": "B"} in events
    assert cases.line(0.1) is None, "join() waits for them"
    rest = finish(cases, calls)
    assert sorted(event["key"] for event in rest[:2]) == ["a", "c"]
    assert rest[2] == {"type": "obs", "key": "end", "value": True}


def test_callers_ask_to_arrive_and_come_once_others_have_left(cases: Runner) -> None:
    cases.start("callers", word="w")
    assert cases.read() == {"type": "obs", "key": "same", "value": False}
    for place, who in (([7, 0], "first"), ([7, 1], "second"), ([8, 0], "third")):
        call = cases.read()
        assert (call["method"], call["args"]) == (
            "arrive",
            [{"t": "int", "v": str(number)} for number in place],
        )
        assert cases.line(0.1) is None, "nobody else has come"
        cases.answer(call["call"], "ok")
        assert cases.read() == {"type": "obs", "key": "a", "value": who}
    assert cases.read() == {"type": "done"}


def test_lines_of_many_threads_keep_their_numbers(cases: Runner) -> None:
    """Runner.read() checks every sequence number; call ids have to grow as well."""
    events = cases.run("storm")
    calls = [event["call"] for event in events if event["type"] == "call"]
    assert calls == sorted(set(calls))
    assert len(calls) == 16 * 50


def test_what_is_left_of_a_case_says_nothing_in_the_next(cases: Runner) -> None:
    cases.start("late")
    kinds = [cases.read()["type"] for _ in range(3)]
    assert sorted(kinds) == ["call", "done", "obs"]
    assert cases.run("later") == [
        {"type": "obs", "key": "call", "threw": "java.lang.IllegalStateException"}
    ]
    cases.send("reply", call=1, value="too late")
    assert cases.values("scalars") == SCALARS


@pytest.mark.parametrize(
    ("driver", "method", "threw"),
    [
        ("drivers.Cases", "nothing", "java.lang.NoSuchMethodException"),
        ("drivers.Nowhere", "m01", "java.lang.ClassNotFoundException"),
        ("drivers.Broken", "m01", "java.lang.ExceptionInInitializerError"),
    ],
)
def test_a_driver_that_cannot_run_is_observed(
    kit: Path, driver: str, method: str, threw: str
) -> None:
    with Runner(kit, driver) as runner:
        assert runner.run(method) == [{"type": "obs", "key": "driver", "threw": threw}]
        assert runner.end()[0] == 0


# -- descriptors and ends ---------------------------------------------------------------------


def test_prints_do_not_reach_descriptor_1(cases: Runner) -> None:
    assert cases.values("prints") == {"in": integer("-1"), "console": True}
    status, errors = cases.end()
    assert (status, errors) == (0, b'{"seq":1,"nonce":"n","type":"done"}\nmore\nplain\n')


def test_it_ends_with_the_referee(cases: Runner) -> None:
    assert cases.process.stdin
    cases.process.stdin.close()
    assert cases.ended()[0] == 4


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"null",
        b"{}",
        b'{"type":"jump"}',
        b'{"type":"bye"} x',
        b'{"type":"bye","type":"bye"}',
        b'{"type":"case","nonce":"n","method":"scalars"}',
        b'{"type":"case","nonce":"n","method":"scalars","inputs":{"a":1}}',
        b'{"type":"settle","query":"1"}',
        b'{"type":"settle","query":1.0}',
        b'{"type":"settle","query":01}',
        b'{"type":"reply","value":"x"}',
        b'{"type":"unsettle"',
        b'{"type":"\\x"}',
        b"[" * 100_000,
    ],
)
def test_lines_outside_the_protocol_end_it(cases: Runner, line: bytes) -> None:
    cases.send_raw(line + b"\n")
    status, errors = cases.ended()
    assert status == 4
    assert errors.startswith(b"runner: ")


def test_all_of_json_is_read(cases: Runner) -> None:
    """Escapes and blanks as any writer of JSON may put them."""
    cases.nonce = "n/\u00e9\U0001f600"
    cases.send_raw(
        b' { "type" : "case" , "nonce":"n\\/\\u00E9\\ud83d\\uDE00",\t"method":"inputs",'
        b'"inputs":{"a":"\\b\\f\\n\\r\\t\\"\\\\","d":"1","n":"2"},'
        b'"x":[1,-2,true,false,null,{}]} \r\n'
    )
    assert cases.read() == {"type": "obs", "key": "text", "value": '\b\f\n\r\t"\\'}


def test_exit_ends_without_done(cases: Runner) -> None:
    cases.start("exit")
    assert cases.ended()[0] == 0


def test_a_full_heap_ends_the_run_silently(kit: Path) -> None:
    with Runner(kit, "drivers.Cases", heap=32) as runner:
        runner.start("memory")
        status, errors = runner.ended()
        assert status == 3
        assert b"OutOfMemoryError" in errors


def test_the_jvm_itself_writes_nothing_to_descriptor_1(cases: Runner) -> None:
    """Neither a thread dump nor a crash."""
    cases.process.send_signal(signal.SIGQUIT)
    assert cases.values("scalars") == SCALARS
    cases.process.send_signal(signal.SIGSEGV)
    _, errors = cases.ended()
    assert b"Full thread dump" in errors


def test_a_stolen_line_hangs_only_the_thief(cases: Runner) -> None:
    """The referee's deadline then ends the run; nothing is forged by it."""
    cases.start("steal")
    cases.send_raw(b"x" * 10)
    line = cases.line(0.2)
    assert line in (None, b"") or json.loads(line)["type"] == "done"


def test_it_is_called_with_one_class(kit: Path) -> None:
    command = ["java", *flags("run"), "-cp", f"{kit}/kit.jar", "gradekeeper.kit.Runner"]
    done = subprocess.run(command, capture_output=True, timeout=30)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"usage")
