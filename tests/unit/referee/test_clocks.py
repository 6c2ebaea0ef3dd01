"""Whose fault a used-up time is: decided from recorded ticks, read from recorded cgroup files.

`recorded.json` holds what tickers measured in Pods of a real node of two processors (referee 200m,
lane 1500m; beside neighbours a tenth of that requested) and on the machine itself, with the
processors that the lane got meanwhile.
"""

import json
import os
import signal
import time
from pathlib import Path

import pytest

from gradekeeper.referee.clocks import (
    PAUSE_SECONDS,
    Finding,
    Sizes,
    Tick,
    Ticker,
    Window,
    cgroup_files,
    parse_cpu,
    parse_limit,
    read_files,
    read_share,
    read_window,
)
from gradekeeper.referee.judgement import judge_time

START, END = 100.0, 110.0
POD = Sizes(referee=0.2, lane=1.5, node=2.0)
LARGE = Sizes(referee=0.2, lane=1.5, node=64.0)
LOCAL = Sizes(node=2.0)


def steady(rate, start=START, end=END, every=0.5):
    """Ticks that all got the same share of a processor."""
    waited = 0.008 / rate - 0.008
    times = [start + every * index for index in range(int((end - start) / every))]
    return [Tick(begin, begin + every, 0.008, waited) for begin in times]


@pytest.mark.parametrize(
    ("ticks", "sizes", "finding"),
    [
        ([], POD, Finding.CALM),
        (steady(1.0), POD, Finding.CALM),
        (steady(0.85), POD, Finding.CALM),
        (steady(0.5), POD, Finding.UNCLEAR),
        (steady(0.21), POD, Finding.UNCLEAR),
        (steady(0.117), POD, Finding.UNCLEAR),
        (steady(0.04), POD, Finding.UNCLEAR),
        (steady(0.02), POD, Finding.NODE),
        (steady(0.21), LARGE, Finding.UNCLEAR),
        (steady(0.15), LARGE, Finding.NODE),
        (steady(0.02), LOCAL, Finding.UNCLEAR),
        (steady(0.02, 80, 100), POD, Finding.CALM),
        (steady(0.02, 110, 120), POD, Finding.CALM),
        ([*steady(1.0, 100, 107), Tick(107, 110, 0.008, 2.5)], POD, Finding.FROZEN),
        ([*steady(1.0, 100, 107), Tick(107, 110, 0.008, 2.5)], LOCAL, Finding.UNCLEAR),
        ([*steady(1.0, 100, 103), Tick(103, 110, 0.008, 6.5)], LOCAL, Finding.FROZEN),
        ([*steady(1.0, 100, 108.5), Tick(108.5, 110, 0.008, 1.3)], POD, Finding.CALM),
        ([Tick(90, 103.0, 0.008, 10)], POD, Finding.FROZEN),
        ([Tick(90, 100.4, 0.008, 10)], POD, Finding.CALM),
    ],
    ids=[
        "nothing seen",
        "calm",
        "a little late",
        "half",
        "the lane on both processors",
        "the lane on the ticker's processor",
        "more than the lane may have taken",
        "more than the lane can have taken",
        "large node, as promised",
        "large node, less than promised",
        "no limits",
        "before",
        "after",
        "frozen",
        "without limits long",
        "without limits too long",
        "frozen too short",
        "frozen into the window",
        "mostly before",
    ],
)
def test_a_window_is_read(ticks, sizes, finding):
    assert read_window(ticks, START, END, sizes).finding is finding


def test_a_window_tells_what_there_was_on_average():
    ticks = [*steady(0.2, 90, 100), *steady(0.2, 100, 105), *steady(1.0, 105, 110)]
    assert read_window(ticks, START, END, POD).rate == pytest.approx(0.6)
    assert read_window([], START, END, POD).rate == 1.0


def test_a_hiccup_does_not_excuse_a_short_timeout():
    assert read_window([Tick(99.9, 100.4, 0.008, 5.0)], 100, 101, POD).finding is Finding.CALM
    assert read_window([Tick(99.9, 100.5, 0.008, 5.0)], 100, 101, POD).finding is Finding.FROZEN


@pytest.mark.parametrize(
    ("ticks", "share"),
    [
        (steady(0.9), 0.9),
        (steady(0.1, 90, 100) + steady(0.9), 0.9),
        (steady(0.9, 90, 100) + steady(0.1), 0.1),
        (steady(0.4, 100, 105) + steady(0.8, 105, 110), 0.6),
        (steady(0.9, 90, 100), 0.0),
    ],
    ids=["free", "short before", "short now", "now and then", "none came"],
)
def test_a_share_is_read(ticks, share):
    assert read_share(ticks, START) == pytest.approx(share)


@pytest.mark.parametrize(
    ("finding", "share", "stretched", "excused", "stretch", "doubtful"),
    [
        (Finding.CALM, 0.1, None, False, 1.0, False),
        (Finding.UNCLEAR, 0.95, None, False, 1.0, False),
        (Finding.UNCLEAR, 0.65, None, False, 1.0, False),
        (Finding.UNCLEAR, 0.5, None, True, 3.0, False),
        (Finding.UNCLEAR, 0.25, None, True, 6.0, False),
        (Finding.UNCLEAR, 0.2, None, True, 1.5, False),
        (Finding.UNCLEAR, 0.0, None, True, 1.5, False),
        (Finding.NODE, 1.0, None, True, 1.5, False),
        (Finding.UNCLEAR, 0.5, 3.0, False, 1.0, False),
        (Finding.UNCLEAR, 0.3, 3.0, True, 1.0, True),
        (Finding.UNCLEAR, 0.9, 1.5, False, 1.0, False),
        (Window(Finding.NODE, 0.4), 0.9, 3.0, False, 1.0, False),
        (Window(Finding.NODE, 0.3), 0.9, 3.0, True, 1.0, True),
        (Window(Finding.NODE, 0.9), 0.3, 3.0, True, 1.0, True),
        (Window(Finding.UNCLEAR, 0.3), 0.4, 3.0, False, 1.0, False),
        (Finding.FROZEN, 1.0, None, True, 1.5, False),
        (Finding.FROZEN, 0.9, 3.0, True, 1.0, True),
    ],
    ids=[
        "calm",
        "its own doing",
        "enough for who needs 60 %",
        "short: thrice the time",
        "very short",
        "too short: not for ever",
        "nothing at all",
        "the node was, and is not any more",
        "again, with time enough",
        "again, with less than enough",
        "again, on a free node",
        "again the node, with time enough",
        "again the node, with less than enough then",
        "again the node, with less than enough now",
        "again, while the lane itself took much",
        "frozen",
        "frozen again",
    ],
)
def test_a_used_up_time_is_judged(finding, share, stretched, excused, stretch, doubtful):
    window = finding if isinstance(finding, Window) else Window(finding)
    judgement = judge_time(window, share, stretched)
    assert (judgement.excused, judgement.doubtful) == (excused, doubtful)
    assert judgement.stretch == pytest.approx(stretch)


@pytest.mark.parametrize(
    ("finding", "share", "stretched", "late", "excused"),
    [
        (Finding.UNCLEAR, 0.9, None, 4.0, False),
        (Finding.UNCLEAR, 0.9, None, 6.0, True),
        (Finding.UNCLEAR, 0.9, 1.7, 6.0, False),
        (Finding.CALM, 0.9, None, 6.0, False),
    ],
    ids=["at once", "late", "late but run again", "late but calm"],
)
def test_what_is_measured_late_says_nothing(finding, share, stretched, late, excused):
    assert judge_time(Window(finding), share, stretched, late).excused is excused


RECORDED = {
    case["name"]: case for case in json.loads((Path(__file__).parent / "recorded.json").read_text())
}


def recorded(name):
    """What was seen of a recorded case, and its share."""
    case = RECORDED[name]
    ticks = [Tick(*numbers) for numbers in case["ticks"]]
    window = read_window(ticks, ticks[0].start, ticks[-1].end, Sizes(**case["sizes"]))
    return window, read_share(ticks, ticks[0].start)


@pytest.mark.parametrize(
    ("window", "afterwards", "finding", "excused"),
    [
        (
            "free node, lane takes all it may",
            "free node, lane at rest, watched",
            Finding.UNCLEAR,
            False,
        ),
        (
            "free node, lane takes one processor",
            "free node, lane at rest, watched",
            Finding.UNCLEAR,
            False,
        ),
        (
            "neighbours, lane wants one processor",
            "neighbours, lane at rest, watched",
            Finding.NODE,
            True,
        ),
        (
            "neighbours, lane wants all it may",
            "neighbours, lane at rest, watched",
            Finding.NODE,
            True,
        ),
        ("machine: 50 runnable", "machine: 24 busy sessions more", Finding.UNCLEAR, True),
    ],
    ids=["burns", "works", "honest beside neighbours", "burns beside neighbours", "no limits"],
)
def test_recorded_cases(window, afterwards, finding, excused):
    found, _ = recorded(window)
    _, share = recorded(afterwards)
    assert found.finding is finding
    assert judge_time(found, share, None).excused is excused


def test_the_share_of_an_idle_lane_is_what_a_busy_one_gets():
    _, share = recorded("neighbours, lane at rest, watched")
    assert share == pytest.approx(
        RECORDED["neighbours, lane wants one processor"]["lane"], abs=0.05
    )


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


@pytest.mark.parametrize(
    ("files", "limit"),
    [
        ({"cpu.max": "20000 100000\n"}, 0.2),
        ({"cpu.max": "max 100000\n"}, None),
        ({"cpu.cfs_quota_us": "150000\n", "cpu.cfs_period_us": "100000\n"}, 1.5),
        ({"cpu.cfs_quota_us": "-1\n", "cpu.cfs_period_us": "100000\n"}, None),
        ({"cpu.cfs_quota_us": "150000\n"}, None),
        ({"cpu.max": "1 0\n"}, None),
        ({}, None),
    ],
    ids=["v2", "v2 without", "v1", "v1 without", "v1 half", "no period", "nothing"],
)
def test_a_limit_is_read(files, limit):
    assert parse_limit(files) == limit


def test_the_own_group_is_found_in_either_version(tmp_path):
    (tmp_path / "kube").mkdir()
    (tmp_path / "cpu.stat").write_text("usage_usec 1\n")
    assert cgroup_files("0::/\n", tmp_path) == {"cpu.stat": tmp_path / "cpu.stat"}
    assert cgroup_files("0::/elsewhere\n", tmp_path) == {"cpu.stat": tmp_path / "cpu.stat"}
    (tmp_path / "kube" / "cpu.stat").write_text("usage_usec 1\n")
    (tmp_path / "kube" / "cpu.max").write_text("20000 100000\n")
    found = cgroup_files("0::/kube\n", tmp_path)
    assert found == {name: tmp_path / "kube" / name for name in ("cpu.stat", "cpu.max")}
    assert parse_limit(read_files(found)) == 0.2

    v1 = tmp_path / "v1"
    (v1 / "cpu,cpuacct" / "pod").mkdir(parents=True)
    names = ("cpu.stat", "cpu.cfs_quota_us", "cpu.cfs_period_us", "cpuacct.usage")
    for name in names:
        (v1 / "cpu,cpuacct" / "pod" / name).write_text("1\n")
    membership = "4:memory:/pod\n3:cpu,cpuacct:/pod\n0::/\n"
    assert cgroup_files(membership, v1) == {
        name: v1 / "cpu,cpuacct" / "pod" / name for name in names
    }


def test_a_file_that_is_gone_is_left_out(tmp_path):
    (tmp_path / "there").write_text("1\n")
    paths = {name: tmp_path / name for name in ("there", "gone")}
    assert read_files(paths) == {"there": "1\n"}


@pytest.fixture
def ticker():
    made = Ticker()
    made.start()
    yield made
    made.stop()


def test_a_ticker_ticks_and_watches_more_often(ticker):
    ticker.watch(1.5)
    assert ticker.ticks
    for tick in ticker.ticks:
        assert tick.start < tick.end and tick.worked > 0 and tick.waited >= 0
    assert any(tick.worked >= 0.014 for tick in ticker.ticks)
    assert [tick.start for tick in ticker.ticks[1:]] == [tick.end for tick in ticker.ticks[:-1]]


def test_a_ticker_that_nobody_lets_run_waits(ticker):
    ticker.know(POD)
    os.kill(ticker.pid, signal.SIGSTOP)
    stopped = time.monotonic()
    time.sleep(2.0)
    assert ticker.find(stopped, time.monotonic(), patience=0.05).finding is Finding.FROZEN


def test_one_wait_counts_once(ticker):
    """Whoever asks meanwhile is told what the ticker has waited so far."""
    ticker.know(POD)
    os.kill(ticker.pid, signal.SIGSTOP)
    stopped = time.monotonic()
    time.sleep(1.0)
    for _ in range(2):
        ticker.find(stopped, time.monotonic(), patience=0.05)
        time.sleep(0.2)
    os.kill(ticker.pid, signal.SIGCONT)
    now = time.monotonic()
    ticker.find(now, now + PAUSE_SECONDS[1], patience=10.0)
    waits = [tick for tick in ticker.ticks if tick.start <= stopped < tick.end]
    assert len(waits) == 1 and waits[0].worked > 0
    assert [tick.start for tick in ticker.ticks[1:]] == [tick.end for tick in ticker.ticks[:-1]]


class BusyPauses(Ticker):
    """A ticker in whose cgroup others work a lot, but only while it sleeps."""

    used = 0.0
    asked = 0.0

    def _own(self):
        now = time.monotonic()
        if now - self.asked > PAUSE_SECONDS[0] / 2:
            self.used += 10.0
        self.asked = now
        return 0.0, self.used


def test_work_of_others_during_a_pause_explains_no_wait():
    ticker = BusyPauses()
    ticker.start()
    try:
        until = time.monotonic() + 20
        while not ticker.ticks and time.monotonic() < until:
            time.sleep(0.005)
            ticker.read()
        os.kill(ticker.pid, signal.SIGSTOP)  # early in its pause
        time.sleep(PAUSE_SECONDS[1] + 0.5)
        os.kill(ticker.pid, signal.SIGCONT)
        while len(ticker.ticks) < 2 and time.monotonic() < until:
            time.sleep(0.005)
            ticker.read()
        assert ticker.ticks[1].waited > 0.4
    finally:
        ticker.stop()


def test_processors_are_short_where_no_tick_comes(ticker):
    os.kill(ticker.pid, signal.SIGSTOP)
    assert ticker.watch(0.1) == 0.0


def test_a_ticker_that_has_ended_excuses_nothing(ticker):
    ticker.know(POD)
    os.kill(ticker.pid, signal.SIGKILL)
    ended = time.monotonic()
    os.waitid(os.P_PID, ticker.pid, os.WEXITED | os.WNOWAIT)
    assert ticker.find(ended, ended + 10, patience=0.05).finding is Finding.CALM
    assert ticker.watch(0.05) == 1.0
