"""The detail log: lines that no lane can forge, and no more of them than allowed."""

import hashlib
import json
import os

from gradekeeper.referee.log import MAX_FIELD, DetailLog


def collect(write, **options):
    reading, writing = os.pipe()
    log = DetailLog(writing, **options)
    write(log)
    os.close(writing)
    with open(reading, "rb") as pipe:
        return pipe.read(), log.digest


def test_text_of_a_lane_stays_inside_its_line():
    text = '\x1b[31m\r\n{"event":"result"}\u2028\udcff'
    data, digest = collect(lambda log: log.event("stderr", text=text))
    assert data.count(b"\n") == 1 and data.isascii() and b"\x1b" not in data
    assert json.loads(data)["text"] == text
    assert digest == "sha256:" + hashlib.sha256(data).hexdigest()


def test_the_log_is_capped_and_the_digest_is_of_what_was_written():
    def write(log):
        for number in range(100):
            log.event("e", text="x" * 5_000, number=number)

    data, digest = collect(write, max_bytes=10_000)
    lines = data.splitlines()
    assert 3 <= len(lines) <= 5 and len(data) <= 10_000
    assert len(json.loads(lines[0])["text"]) == MAX_FIELD
    assert digest == "sha256:" + hashlib.sha256(data).hexdigest()


def test_what_a_lane_prints_does_not_push_out_how_it_ended():
    def write(log):
        for number in range(100):
            log.event("stderr", text="x" * 5_000, number=number)
        log.event("referee_error", error="x" * 300)
        log.event("stderr", text="")
        log.event("result", outcomes="N" * 200)

    data, digest = collect(write, max_bytes=16_000)
    ends = [json.loads(line)["event"] for line in data.splitlines()]
    assert ends[-2:] == ["referee_error", "result"] and set(ends[:-2]) == {"stderr"}
    assert len(data) <= 16_000
    assert digest == "sha256:" + hashlib.sha256(data).hexdigest()


def test_a_reader_that_is_gone_ends_nothing():
    reading, writing = os.pipe()
    os.close(reading)
    log = DetailLog(writing)
    log.event("a")
    log.event("b")
    os.close(writing)
    assert log.digest.startswith("sha256:")
