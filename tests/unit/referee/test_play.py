"""One run over real pipes, against a lane that follows a script."""

import json
import os
import threading
import time
from contextlib import contextmanager
from dataclasses import replace

import pytest

from gradekeeper.referee import play as p
from gradekeeper.referee import report
from gradekeeper.referee.bundle import Test as Hidden
from gradekeeper.referee.channel import EXITED, MAX_STDERR_HEAD, Channel, Overflow
from gradekeeper.referee.judge import Rules
from gradekeeper.referee.play import Case, Plan, Player

ONE = [["obs", "k", "v"]]


def hidden(name="g/a", *, multiset=False, **policies):
    return Hidden(name, "m01", policies, Rules(multiset=multiset))


def case(number=0, test=None, expected=(ONE,)):
    return Case(number, test or hidden(), {"x": "1"}, 0, list(expected))


class ScriptedLane:
    """The runner's side of the pipes; `say` numbers its lines as the kit does."""

    def __init__(self, feed, output):
        self.feed = open(feed, "rb", buffering=0)
        self.output = output
        self.seq = 0
        self.nonce = "-"

    def say(self, **fields):
        line = {"seq": self.seq, "nonce": self.nonce, **fields}
        self.raw(json.dumps(line).encode() + b"\n")

    def raw(self, data):
        self.seq += 1
        os.write(self.output, data)

    def hear(self, kind):
        line = b""
        while not line.endswith(b"\n"):
            line += self.feed.read(1)
        document = json.loads(line)
        assert document["type"] == kind, document
        if kind == "case":
            self.nonce = document["nonce"]
        return document

    def start(self):
        self.hear("case")

    def ask(self, call, method="pay", args=()):
        self.say(type="call", call=call, method=method, args=list(args))

    def obs(self, key="k", value="v"):
        self.say(type="obs", key=key, value=value)

    def done(self):
        self.say(type="done")


@contextmanager
def pipes():
    opened = [os.pipe() for _ in range(4)]
    try:
        yield opened
    finally:
        for descriptor in {end for pair in opened for end in pair}:
            try:
                os.close(descriptor)
            except OSError:
                pass


def run(script, cases, *, seconds=5.0, hello=True, exits=True):
    """Play; returns (outcome by case number, all reports, details)."""
    with pipes() as ((feed_r, feed_w), (out_r, out_w), (err_r, _), (control_r, control_w)):
        channel = Channel(
            output=out_r, errors=err_r, control=control_r, feed=feed_w, max_bytes=4 << 20
        )
        lane = ScriptedLane(os.dup(feed_r), out_w)
        failures = []

        def body():
            try:
                if hello:
                    lane.say(type="hello", protocol=1)
                script(lane)
                if exits:
                    os.write(control_w, EXITED)
            except BaseException as error:
                failures.append(error)

        thread = threading.Thread(target=body)
        thread.start()
        reports, details = [], []
        plan = Plan(cases, start_seconds=seconds, test_seconds=seconds, repeat=0)
        Player(plan, channel, reports.append, details.append).play()
        thread.join(10)
        lane.feed.close()
        if failures:
            raise failures[0]
    ended = {line.number: line.outcome for line in reports if line.kind == report.OUTCOME}
    return ended, reports, details


def test_cases_are_played_in_order_and_judged():
    def script(lane):
        for value in ("v", "w"):
            lane.start()
            lane.obs(value=value)
            lane.done()
        lane.hear("bye")

    ended, reports, details = run(script, [case(0), case(1)])
    assert ended == {0: "P", 1: "F"}
    assert [line.kind for line in reports] == ["S", "E", "S", "E", "Z"]
    assert details[1]["observed"] == [["obs", "k", "w"]] and details[1]["expected"] == [ONE]
    assert details[0]["expected"] is None


def test_every_case_has_a_nonce_of_its_own():
    seen = []

    def script(lane):
        for _ in range(2):
            lane.start()
            seen.append(lane.nonce)
            lane.obs()
            lane.done()
        lane.hear("bye")

    run(script, [case(0), case(1)])
    assert len(set(seen)) == 2 and all(len(nonce) == 16 for nonce in seen)


def test_any_of_several_transcripts_passes():
    def script(lane):
        lane.start()
        lane.obs(value="b")
        lane.done()
        lane.hear("bye")

    ended, _, _ = run(script, [case(expected=([["obs", "k", "a"]], [["obs", "k", "b"]]))])
    assert ended == {0: "P"}


def test_answers_are_fresh_tokens_and_refusals_are_thrown():
    test = hidden(pay=["ok", "refuse", "ok"])
    expected = [["call", "pay", []]] * 3 + [["obs", "k", ["$pay#1", "$pay#2"]]]

    def script(lane):
        lane.start()
        values = []
        for call in range(3):
            lane.ask(call)
            reply = lane.hear("reply")
            assert reply["call"] == call and ("throw" in reply) is (call == 1)
            values.append(reply.get("value"))
        lane.obs(value=[values[0], values[2]])
        lane.done()
        lane.hear("bye")

    ended, _, _ = run(script, [case(test=test, expected=(expected,))])
    assert ended == {0: "P"}


HOLD = hidden(multiset=True, pay=["hold"])
HELD = [["obs", "k", "$pay#1"], ["obs", "k", "$pay#2"], ["call", "pay", []], ["call", "pay", []]]


def holding(lane, *, settle=True):
    lane.start()
    lane.ask(1)
    query = lane.hear("settle")["query"]
    lane.ask(2)
    for _ in range(2):
        if settle:
            lane.say(type="settled", query=query)
        else:
            lane.hear("unsettle")
        reply = lane.hear("reply")
        lane.obs(value=reply["value"])
        if _ == 0:
            query = lane.hear("settle")["query"]
    lane.done()
    lane.hear("bye")


def test_held_calls_are_released_one_by_one_once_settled():
    started = time.monotonic()
    ended, _, _ = run(holding, [case(test=HOLD, expected=(HELD,))])
    assert ended == {0: "P"}
    assert time.monotonic() - started < p.HOLD_FIRST


def test_the_order_of_release_is_not_predictable():
    first = set()

    def script(lane):
        lane.start()
        lane.ask(1)
        query = lane.hear("settle")["query"]
        lane.ask(2)
        lane.say(type="settled", query=query)
        first.add(lane.hear("reply")["call"])

    for _ in range(40):
        run(script, [case(test=HOLD)])
        if first == {1, 2}:
            return
    pytest.fail(f"always {first}")


def test_what_is_played_again_is_released_in_the_same_order():
    orders = {}

    def script(lane):
        lane.start()
        for call in range(1, 6):
            lane.ask(call)
        order = orders.setdefault(lots, [])
        for _ in range(5):
            lane.say(type="settled", query=lane.hear("settle")["query"])
            order.append(lane.hear("reply")["call"])
        lane.done()
        lane.hear("bye")

    for lots in (b"one", b"two", b"one"):
        run(script, [replace(case(test=HOLD), lots=lots)])
    again = orders[b"one"]
    assert again[:5] == again[5:] != orders[b"two"]


def test_without_settled_a_call_is_released_after_a_while(monkeypatch):
    monkeypatch.setattr(p, "HOLD_FIRST", 0.05)
    monkeypatch.setattr(p, "HOLD_TEST", 0.02)
    ended, _, _ = run(lambda lane: holding(lane, settle=False), [case(test=HOLD, expected=(HELD,))])
    assert ended == {0: "P"}


@pytest.mark.parametrize("settle", [True, False], ids=["settled", "by the clock"])
def test_a_strict_case_keeps_every_held_call(monkeypatch, settle):
    monkeypatch.setattr(p, "HOLD_FIRST", 0.0)
    monkeypatch.setattr(p, "HOLD_TEST", 0.0)
    started = time.monotonic()
    strict = replace(case(test=HOLD, expected=(HELD,)), keep=0.06)
    ended, reports, _ = run(lambda lane: holding(lane, settle=settle), [strict])
    assert ended == {0: "P"} and not [line for line in reports if line.kind == report.LIED]
    assert time.monotonic() - started >= 2 * 0.06


def test_keeping_calls_costs_the_case_no_time_but_has_an_end():
    strict = replace(case(test=HOLD, expected=(HELD,)), keep=0.15)
    assert run(holding, [strict], seconds=0.2)[0] == {0: "P"}

    def script(lane):
        lane.start()
        lane.ask(1)
        lane.say(type="settled", query=lane.hear("settle")["query"])

    ended, _, _ = run(script, [replace(strict, keep=0.5)], seconds=0.2, exits=False)
    assert ended == {0: "T"}


def test_the_longest_span_from_hold_to_hold_is_told():
    def script(lane):
        lane.start()
        lane.ask(1)
        lane.say(type="settled", query=lane.hear("settle")["query"])
        lane.hear("reply")
        time.sleep(0.12)
        lane.ask(2)
        lane.say(type="settled", query=lane.hear("settle")["query"])
        lane.hear("reply")
        lane.done()
        lane.start()
        lane.obs()
        lane.done()
        lane.hear("bye")

    started = time.monotonic()
    _, reports, _ = run(script, [case(0, test=HOLD), case(1)])
    spans = [line.span_ms for line in reports if line.kind == report.OUTCOME]
    assert 120 <= spans[0] <= (time.monotonic() - started) * 1000 + 1 and spans[1] == 0


def test_whoever_speaks_after_settled_has_lied():
    def script(lane):
        lane.start()
        lane.ask(1)
        query = lane.hear("settle")["query"]
        lane.say(type="settled", query=query)
        lane.ask(2)

    strict = replace(case(test=HOLD, expected=([["call", "pay", []]],)), keep=0.5)
    ended, reports, _ = run(script, [strict])
    assert ended == {0: "V"}
    assert [line.kind for line in reports] == ["S", "L", "E"]


def test_a_withdrawn_answer_is_not_a_lie(monkeypatch):
    monkeypatch.setattr(p, "HOLD_FIRST", 0.05)

    def script(lane):
        lane.start()
        lane.ask(1)
        query = lane.hear("settle")["query"]
        lane.hear("unsettle")
        reply = lane.hear("reply")
        lane.say(type="settled", query=query)
        lane.obs(value=reply["value"])
        lane.done()
        lane.hear("bye")

    expected = [["obs", "k", "$pay#1"], ["call", "pay", []]]
    ended, _, _ = run(script, [case(test=HOLD, expected=(expected,))])
    assert ended == {0: "P"}


def test_settled_from_before_an_answer_is_read_does_not_count():
    def script(lane):
        lane.start()
        lane.ask(1)
        query = lane.hear("settle")["query"]
        lane.ask(2, "log")
        lane.say(type="settled", query=query)
        answer = lane.hear("reply")
        assert answer["call"] == 2
        again = lane.hear("settle")["query"]
        lane.obs(value=answer["value"])
        lane.say(type="settled", query=again)
        assert lane.hear("reply")["call"] == 1
        lane.done()
        lane.hear("bye")

    expected = [["obs", "k", "$log#1"], ["call", "log", []], ["call", "pay", []]]
    ended, reports, _ = run(script, [replace(case(test=HOLD, expected=(expected,)), keep=0.05)])
    assert ended == {0: "P"}
    assert report.LIED not in {line.kind for line in reports}


def scripted(*steps):
    def script(lane):
        lane.start()
        for step in steps:
            step(lane)

    return script


VIOLATIONS = {
    "not JSON": lambda lane: lane.raw(b"PASS\n"),
    "empty line": lambda lane: lane.raw(b"\n"),
    "long line": lambda lane: lane.raw(b"x" * 70_000),
    "gap": lambda lane: (setattr(lane, "seq", lane.seq + 1), lane.done()),
    "again": lambda lane: (setattr(lane, "seq", lane.seq - 1), lane.done()),
    "nonce": lambda lane: (setattr(lane, "nonce", "-"), lane.done()),
    "hello": lambda lane: lane.say(type="hello", protocol=1),
    "settled": lambda lane: lane.say(type="settled", query=1),
    "call id twice": lambda lane: (lane.ask(1, "x"), lane.ask(1, "x")),
    "call id falls": lambda lane: (lane.ask(2, "x"), lane.ask(1, "x")),
    "open call": lambda lane: (lane.ask(1), lane.done()),
    "too many calls": lambda lane: [lane.ask(n, "x") for n in range(p.MAX_CALLS + 1)],
    "too many values": lambda lane: [lane.obs(value=[None] * 3_000) for _ in range(18)],
}


@pytest.mark.parametrize("name", [*VIOLATIONS])
def test_a_broken_protocol_ends_the_run(name):
    ended, reports, _ = run(scripted(VIOLATIONS[name]), [case(test=HOLD), case(1)])
    assert ended == {0: "V"}
    assert [line.kind for line in reports] == ["S", "E"]


def test_what_a_run_says_is_bounded():
    with pipes() as ((_, _), (out_r, out_w), (err_r, _), (control_r, _)):
        channel = Channel(output=out_r, errors=err_r, control=control_r, feed=None, max_bytes=100)
        os.write(out_w, b"x" * 100)
        assert channel.read(None) == b"x" * 100
        os.write(out_w, b"x")
        with pytest.raises(Overflow):
            channel.read(None)


def test_a_lane_that_does_not_read_does_not_block():
    with pipes() as ((_, feed_w), (out_r, _), (err_r, _), (control_r, _)):
        channel = Channel(output=out_r, errors=err_r, control=control_r, feed=feed_w, max_bytes=100)
        with pytest.raises(Overflow):
            for _ in range(100):
                channel.write(b"x" * 10_000)


def test_error_output_is_drained_and_its_head_kept():
    with pipes() as ((_, _), (out_r, _), (err_r, err_w), (control_r, _)):
        channel = Channel(output=out_r, errors=err_r, control=control_r, feed=None, max_bytes=100)
        written = 0
        os.set_blocking(err_w, False)
        for _ in range(8):
            written += os.write(err_w, b"e" * 60_000)
            assert channel.read(time.monotonic() + 0.01) is None
        assert written == 480_000
        assert channel.finish_errors() == b"e" * MAX_STDERR_HEAD


def test_an_end_before_the_end_of_a_case():
    """The pipe's other end stays open in this process, as in one that a run left behind."""
    ended, _, _ = run(scripted(lambda lane: lane.obs()), [case(), case(1)])
    assert ended == {0: "X"}


def test_what_was_said_before_an_exit_is_read_first():
    ended, _, _ = run(scripted(ScriptedLane.obs, ScriptedLane.done), [case()])
    assert ended == {0: "P"}


def test_time_is_used_up_by_silence():
    started = time.monotonic()
    ended, _, _ = run(scripted(), [case(), case(1)], seconds=0.1, exits=False)
    assert ended == {0: "T"}
    assert time.monotonic() - started < 3


def test_time_is_used_up_by_talk():
    def talk(lane):
        until = time.monotonic() + 0.3
        while time.monotonic() < until:
            lane.obs()
            time.sleep(0.001)

    ended, _, _ = run(scripted(talk), [case()], seconds=0.1, exits=False)
    assert ended == {0: "T"}


@pytest.mark.parametrize("first", [b"", b"x\n", b'{"seq":0,"nonce":"-","type":"done"}\n'])
def test_without_hello_nothing_starts(first):
    def script(lane):
        if first:
            lane.raw(first)

    ended, reports, _ = run(script, [case()], hello=False)
    assert ended == {} and [line.kind for line in reports] == ["D"]
