"""Whose fault a used-up time is: decided from recorded cases, read from recorded cgroup files."""

import os
import signal
import time

import pytest

from gradekeeper.referee.clocks import Stall, Ticker, cgroup_files, is_excused, parse_cpu

START, END = 100.0, 110.0


@pytest.mark.parametrize(
    ("stalls", "excused"),
    [
        ([], False),
        ([Stall(101, 104, 0, 0)], True),
        ([Stall(101, 102, 0, 0), Stall(103, 104, 0, 0)], True),
        ([Stall(101, 101.9, 0, 0)], False),
        ([Stall(101, 104, 3.0, 0)], False),
        ([Stall(101, 104, 0, 2.9)], False),
        ([Stall(101, 103.8, 1.0, 1.0)], False),
        ([Stall(101, 104, 1.0, 0.9)], True),
        ([Stall(90, 99, 0, 0)], False),
        ([Stall(90, 100.5, 0, 0)], False),
        ([Stall(95, 103, 0, 0)], True),
        ([Stall(111, 120, 0, 0)], False),
    ],
    ids=[
        "none",
        "node late",
        "late twice",
        "late too little",
        "throttled",
        "own work",
        "throttled and own work",
        "late beyond both",
        "before",
        "mostly before",
        "into the window",
        "after",
    ],
)
def test_recorded_cases(stalls, excused):
    assert is_excused(stalls, START, END) is excused


def test_a_hiccup_does_not_excuse_a_short_timeout():
    assert not is_excused([Stall(100, 100.4, 0, 0)], 100.0, 101.0)
    assert is_excused([Stall(100, 100.5, 0, 0)], 100.0, 101.0)


V2 = "usage_usec 2500000\nuser_usec 1\nnr_periods 9\nnr_throttled 3\nthrottled_usec 125000\n"
V1 = {
    "cpu.stat": "nr_periods 4\nnr_throttled 2\nthrottled_time 125000000\n",
    "cpuacct.usage": "2500000000\n",
}


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"cpu.stat": V2}, (0.125, 2.5)),
        ({"cpu.stat": "usage_usec 2500000\n"}, (0.0, 2.5)),
        (V1, (0.125, 2.5)),
        ({"cpu.stat": V1["cpu.stat"]}, None),
        ({"cpuacct.usage": "1\n"}, None),
        ({"cpu.stat": "garbage"}, None),
        ({}, None),
    ],
    ids=["v2", "v2 without quota", "v1", "v1 without usage", "v1 only usage", "garbage", "nothing"],
)
def test_cgroup_files_are_read(files, found):
    assert parse_cpu(files) == found


def test_the_own_group_is_found_in_either_version(tmp_path):
    (tmp_path / "kube").mkdir()
    (tmp_path / "cpu.stat").write_text("usage_usec 1\n")
    assert cgroup_files("0::/\n", tmp_path) == {"cpu.stat": tmp_path / "cpu.stat"}
    assert cgroup_files("0::/elsewhere\n", tmp_path) == {"cpu.stat": tmp_path / "cpu.stat"}
    (tmp_path / "kube" / "cpu.stat").write_text("usage_usec 1\n")
    assert cgroup_files("0::/kube\n", tmp_path) == {"cpu.stat": tmp_path / "kube" / "cpu.stat"}

    v1 = tmp_path / "v1"
    (v1 / "cpu,cpuacct" / "pod").mkdir(parents=True)
    for name in ("cpu.stat", "cpuacct.usage"):
        (v1 / "cpu,cpuacct" / "pod" / name).write_text("1\n")
    membership = "4:memory:/pod\n3:cpu,cpuacct:/pod\n0::/\n"
    assert cgroup_files(membership, v1) == {
        name: v1 / "cpu,cpuacct" / "pod" / name for name in ("cpu.stat", "cpuacct.usage")
    }


def test_a_ticker_ticks_and_ends():
    ticker = Ticker()
    ticker.start()
    try:
        now = time.monotonic()
        ticker.catch_up(now, patience=10)
        assert not is_excused(ticker.stalls, now - 10, now)
    finally:
        ticker.stop()


def test_a_ticker_that_nobody_lets_run_is_a_stall():
    ticker = Ticker()
    ticker.start()
    try:
        os.kill(ticker.pid, signal.SIGSTOP)
        stopped = time.monotonic()
        time.sleep(0.6)
        ticker.catch_up(time.monotonic(), patience=0.05)
        assert is_excused(ticker.stalls, stopped, time.monotonic())
    finally:
        ticker.stop()


def test_a_ticker_that_has_ended_excuses_nothing():
    ticker = Ticker()
    ticker.start()
    try:
        os.kill(ticker.pid, signal.SIGKILL)
        ended = time.monotonic()
        os.waitid(os.P_PID, ticker.pid, os.WEXITED | os.WNOWAIT)
        ticker.catch_up(ended + 10, patience=0.05)
        assert ticker.stalls == []
    finally:
        ticker.stop()
