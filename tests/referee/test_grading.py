"""The real referee against the real laned and JVM: right answers pass, nothing else gains.

Outcomes are in the order of `suite_fixture.ORDER`: three tests of `till` (run twice), then three
of `abacus`.
"""

import hashlib
import io
import json
import os
import shutil
import signal
import socket
import subprocess
import tarfile
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from gradekeeper.referee import local
from gradekeeper.referee.local import LocalLane, grade_local, record
from gradekeeper.referee.result import GRADED, REJECTED, UNJUDGED
from matrix.submissions import meddle
from referee.suite_fixture import (
    ABACUS_INPUTS,
    ORDER,
    archive,
    gold_files,
    submission,
    write_manifest,
)

GOLD = Path(__file__).parent / "fixtures/gold/src/main/java/bank"
ACCOUNT = (GOLD / "Account.java").read_text()
COUNTER = (GOLD / "Counter.java").read_text()

SIGN = "step < 0 && value == 0"
"""True in the first step of abacus/signs only."""


def counter(code, where=SIGN, imports=""):
    """Gold's counter that does something else in one place."""
    return (
        f"package bank; {imports} public class Counter {{ private int value;"
        f" public synchronized int add(int step) {{ if ({where}) {{ {code} }}"
        " value += step; return value; } }"
    )


def grade(bundle, lane, data, *, task="", **parameters):
    parameters = {"testTimeoutSeconds": "4", **parameters}
    return grade_local(bundle, data, lane=lane, task=task, parameters=parameters)


def outcomes(grading):
    print(grading.log.decode())  # shown where a test fails
    assert grading.result.decision == GRADED, grading.result
    return grading.result.outcomes


def events(grading, name):
    found = [json.loads(line) for line in grading.log.splitlines()]
    return [event for event in found if event["event"] == name]


# -- right answers ------------------------------------------------------------------------------


def test_gold_passes_and_its_result_says_how_it_was_judged(bundle, lane):
    grading = grade_local(bundle, "gold", lane=lane, nonce="n-1")
    result = grading.result
    assert outcomes(grading) == "PPPPPP"
    assert (result.reason, result.nonce, result.attempt) == ("Completed", "n-1", 1)
    manifest = (bundle / "manifest.json").read_bytes()
    gold = (bundle / "submissions/gold.tar.gz").read_bytes()
    assert result.suite == "sha256:" + hashlib.sha256(manifest).hexdigest()
    assert result.submission == "sha256:" + hashlib.sha256(gold).hexdigest()
    assert result.log == "sha256:" + hashlib.sha256(grading.log).hexdigest()
    assert result.isolation["profile"] == "local" and result.isolation["uid"] == 10003
    assert {"intake", "probe", "compile", "runs", "total"} == set(result.times)
    assert [test.id for test in grading.tests] == ORDER
    # The second repeat knows how long the first one's calls were held: its play is the strict one.
    assert [len(test.draws) for test in grading.tests] == [2, 2, 2, 1, 1, 1]


def test_the_referee_stays_small(bundle, lane):
    (end,) = events(grade_local(bundle, "gold", lane=lane), "result")
    # Peaks of the referee and of its largest child; two children run at a time.
    assert end["peak_kib"] + 2 * end["peak_child_kib"] < 64 * 1024


LOCKED = """
    private final java.util.concurrent.locks.ReentrantLock lock =
            new java.util.concurrent.locks.ReentrantLock();
"""


def test_another_correct_lock_passes(bundle, lane):
    source = ACCOUNT.replace("public class Account {", "public class Account {" + LOCKED)
    source = source.replace("public synchronized", "public")
    start = source.index("        if (amount.signum()")
    end = source.index("        return receipt;\n    }") + len("        return receipt;\n")
    body = source[start:end]
    source = source.replace(body, "lock.lock(); try {\n" + body + "} finally { lock.unlock(); }\n")
    assert outcomes(grade(bundle, lane, submission(Account=source))) == "PPPPPP"


def test_a_chatty_submission_passes(bundle, lane):
    code = 'for (int i = 0; i < 20000; i++) System.out.println("a line of some length " + i);'
    assert (
        outcomes(grade(bundle, lane, submission(Counter=counter(code)), task="counting")) == "PPP"
    )


def test_a_task_is_graded_alone(bundle, lane):
    grading = grade_local(bundle, "gold", lane=lane, task="counting")
    assert outcomes(grading) == "PPP"
    assert [test.id for test in grading.tests] == ORDER[3:]


def test_only_sources_that_the_rules_take_are_compiled(bundle, lane):
    files = {
        **gold_files(),
        "src/main/java/testkit/Broken.java": "not java",
        "src/test/java/Broken.java": "not java",
        "pom.xml": "<project/>",
    }
    assert outcomes(grade(bundle, lane, archive(files))) == "PPPPPP"


# -- wrong answers ------------------------------------------------------------------------------


def test_a_half_fix_that_still_races_fails_that_test(bundle, lane):
    racing = ACCOUNT.replace("public synchronized String", "public String").replace(
        "private BigDecimal balance", "private volatile BigDecimal balance"
    )
    for draw in (0, 1):
        grading = grade_local(bundle, submission(Account=racing), lane=lane, draw=draw)
        assert outcomes(grading) == "FPPPPP"
    failed = grading.tests[0]
    assert failed.draws == (1,) or failed.draws == (1, 1)
    assert failed.observed != failed.expected[0] and "differs" in failed.cause


def test_nothing_and_constants_fail_everything_that_discriminates(bundle, lane):
    assert "P" not in outcomes(grade_local(bundle, "null", lane=lane))


def test_the_right_value_with_an_invented_receipt_fails(bundle, lane):
    source = ACCOUNT.replace("receipts.add(receipt);", 'receipt = "$pay#1"; receipts.add(receipt);')
    assert outcomes(grade(bundle, lane, submission(Account=source))) == "FFPPPP"


@pytest.mark.parametrize(
    "source",
    [
        "package bank; public class Counter {",
        "package bank; public class Counter { int add(String step) { return step; } }",
        "package drivers; public class Evil {}",
        "package gradekeeper.kit; public class Evil {}",
        "package bank; public class Counter { int x = " + "(" * 20_000 + "1" + ")" * 20_000 + "; }",
    ],
    ids=["syntax", "types", "drivers' package", "kit's package", "deep"],
)
def test_what_does_not_compile_runs_nothing(bundle, lane, source):
    grading = grade(bundle, lane, submission(Counter=source))
    assert (outcomes(grading), grading.result.reason) == ("NNNNNN", "DoesNotCompile")


def test_no_sources_do_not_compile(bundle, lane):
    grading = grade(bundle, lane, archive({"README.md": "nothing here"}))
    assert (outcomes(grading), grading.result.reason) == ("NNNNNN", "DoesNotCompile")


FORGED = """
    try {
        java.io.FileOutputStream out = new java.io.FileOutputStream(java.io.FileDescriptor.out);
        for (int n = 0; n < 8; n++) {
            String line = "{'seq':" + n + ",'nonce':'-','type':'done'}\\n";
            out.write(line.replace('\\'', '"').getBytes());
        }
    } catch (java.io.IOException e) { }
"""
FLOOD = """
    byte[] junk = new byte[1 << 16];
    java.util.Arrays.fill(junk, (byte) %s);
    try {
        java.io.FileOutputStream out = new java.io.FileOutputStream(java.io.FileDescriptor.%s);
        for (int n = 0; n < %s; n++) out.write(junk);
    } catch (java.io.IOException e) { }
"""
PARK = """
    try {
        new ProcessBuilder("/usr/bin/sleep", "600").inheritIO().start();
        Runtime.getRuntime().halt(0);
    } catch (java.io.IOException e) { }
"""
CLOSE = """
    try { new java.io.FileOutputStream(java.io.FileDescriptor.out).close(); }
    catch (java.io.IOException e) { }
"""
MEMORY = """
    java.util.List<byte[]> all = new java.util.ArrayList<>();
    while (true) all.add(new byte[1 << 20]);
"""
STEAL_INPUT = """
    try {
        java.io.FileInputStream in = new java.io.FileInputStream(java.io.FileDescriptor.in);
        while (in.read() >= 0) { }
    } catch (java.io.IOException e) { }
"""


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("while (true) { }", "T"),
        ("Runtime.getRuntime().halt(0);", "X"),
        ("System.exit(0);", "X"),
        (FORGED, "V"),
        (FLOOD % ("'x'", "out", "3"), "V"),
        (FLOOD % ("'\\n'", "out", "100"), "V"),
        (PARK, "X"),
        (CLOSE, "X"),
        (MEMORY, "X"),
        ("throw new StackOverflowError();", "F"),
        ("value = 7;", "F"),
    ],
    ids=[
        "endless loop",
        "halt",
        "exit",
        "forged lines",
        "giant line",
        "output flood",
        "parked output",
        "closed output",
        "memory",
        "error",
        "wrong value",
    ],
)
def test_what_goes_wrong_in_a_test_costs_that_test(bundle, lane, code, expected):
    started = time.monotonic()
    grading = grade(bundle, lane, submission(Counter=counter(code)), task="counting")
    assert outcomes(grading) == f"P{expected}P", grading.log.decode()
    assert grading.result.reason == "Completed"
    assert time.monotonic() - started < 40


def test_a_flood_of_errors_costs_nothing(bundle, lane):
    grading = grade(
        bundle, lane, submission(Counter=counter(FLOOD % ("'x'", "err", "500"))), task="counting"
    )
    assert outcomes(grading) == "PPP"
    assert len(grading.log) < 64 * 1024


def test_a_background_process_does_not_outlive_its_batch(bundle, lane):
    code = """
        try { new ProcessBuilder("/bin/sh", "-c",
            "setsid sh -c 'while :; do :; done' & exit 0").start().waitFor(); }
        catch (Exception e) { }
    """
    started = time.monotonic()
    grading = grade(bundle, lane, submission(Counter=counter(code)), task="counting")
    assert outcomes(grading) == "PPP"
    assert time.monotonic() - started < 40


def test_what_a_run_leaves_behind_is_swept_before_another_begins(bundle, lane):
    code = """
        try { new ProcessBuilder("/bin/sh", "-c",
            "setsid sleep 600 & exit 0").start().waitFor(); }
        catch (Exception e) { }
    """
    grading = grade(bundle, lane, submission(Account=_in_static(code)))
    assert outcomes(grading) == "PPPPPP"
    ends = [event for event in events(grading, "run_ended") if event["group"] == "till"]
    assert [end["left"] for end in ends] == ["1", "1"]


@pytest.mark.parametrize("signal", ["KILL", "TERM"])
def test_who_ends_everything_costs_those_beside_it_nothing(bundle, lane, signal):
    code = f"""
        try {{ Thread.sleep(300);
            new ProcessBuilder("/bin/sh", "-c", "kill -{signal} -1").start().waitFor();
            Thread.sleep(60000);
        }} catch (Exception e) {{ }}
    """
    slow = ACCOUNT.replace(
        "String receipt = gateway",
        "try { Thread.sleep(400); } catch (InterruptedException e) { } String receipt = gateway",
    )
    grading = grade(bundle, lane, submission(Account=slow, Counter=counter(code)))
    assert outcomes(grading) == "PPPPXP"
    assert "X" in [e["outcome"] for e in events(grading, "test") if e["test"][:5] == "till/"]


def test_scratch_that_is_gone_costs_nothing(bundle, lane):
    code = """
        try {
            new ProcessBuilder("/bin/sh", "-c", "rm -rf /scratch/*; kill -9 -1").start().waitFor();
        } catch (Exception e) { }
    """
    grading = grade(bundle, lane, submission(Account=_in_static(code)))
    # kill -1 ends its own JVM: no test gets to an end, and laned, as PID 1, stays.
    assert set(outcomes(grading)) <= set("XNPF")
    assert outcomes(grading)[3:] == "PPP"


def _in_static(code):
    return ACCOUNT.replace(
        "private final String name;", f"static {{ {code} }} private final String name;"
    )


def test_a_process_bomb_is_the_submissions(bundle, lane):
    code = """
        for (int n = 0; n < 10000; n++) {
            try { new ProcessBuilder("/usr/bin/sleep", "600").start(); }
            catch (java.io.IOException e) { break; }
        }
    """
    grading = grade(bundle, lane, submission(Counter=counter(code)), task="counting")
    assert outcomes(grading)[0] == "P"


def test_what_a_hang_leaves_behind_costs_no_other_test(bundle, lane):
    # In sessions of its own, so that only a sweep ends it; nothing can be started beside it.
    code = 'try { Meddle.start("bomb"); } catch (Exception e) { } while (true) { }'
    program = meddle().replace("package steps;", "package bank;")
    grading = grade(
        bundle, lane, submission(Counter=counter(code), Meddle=program), task="counting"
    )
    assert outcomes(grading) == "PTP"


def test_restarts_are_bounded(bundle, lane):
    source = _in_static("Runtime.getRuntime().halt(0);")
    grading = grade(bundle, lane, submission(Account=source))
    assert outcomes(grading) == "XXXPPP"
    # Three restarts, and one for each test that ended both repeats at the same time.
    assert len([e for e in events(grading, "run_ended") if e["group"] == "till"]) <= 2 + 3 + 3


def test_a_hang_in_two_repeats_costs_one_restart(bundle, lane):
    # In the first two tests of three; of three restarts each repeat needs two.
    hang = "if (amount.compareTo(balance) > 0) { while (true) { } }"
    source = ACCOUNT.replace("        if (amount.signum()", hang + "        if (amount.signum()")
    grading = grade(bundle, lane, submission(Account=source), testTimeoutSeconds="2")
    assert outcomes(grading) == "TTPPPP"


LYING = """
package bank;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/** Races, and says "settled" itself: the first call is answered before the second is made. */
public class Account {
    private final String name;
    private final Gateway gateway;
    private final List<String> receipts = new ArrayList<>();
    private final AtomicInteger entered = new AtomicInteger();
    private volatile BigDecimal balance;

    public Account(String name, BigDecimal balance, Gateway gateway) {
        this.name = name; this.balance = balance; this.gateway = gateway;
        try {
            Field captured = gateway.getClass().getDeclaredFields()[0];
            captured.setAccessible(true);
            Object desk = captured.get(gateway);
            Field field = desk.getClass().getDeclaredField("wire");
            field.setAccessible(true);
            Object wire = field.get(desk);
            Method query = wire.getClass().getDeclaredMethod("query");
            Method settled = wire.getClass().getDeclaredMethod("settled", long.class);
            query.setAccessible(true);
            settled.setAccessible(true);
            Thread liar = new Thread(() -> {
                try {
                    while (true) {
                        long number = (Long) query.invoke(wire);
                        if (number >= 0) settled.invoke(wire, number);
                        Thread.sleep(1);
                    }
                } catch (Exception e) { }
            });
            liar.setDaemon(true);
            liar.start();
        } catch (Exception e) { }
    }

    public String withdraw(BigDecimal amount) {
        if (amount.signum() <= 0) throw new IllegalArgumentException("amount");
        if (entered.incrementAndGet() == 2) {
            long end = System.nanoTime() + 100_000_000L;
            while (System.nanoTime() < end) { }
        }
        if (amount.compareTo(balance) > 0) throw new IllegalStateException("balance");
        String receipt = gateway.pay(name, amount);
        synchronized (this) { balance = balance.subtract(amount); receipts.add(receipt); }
        return receipt;
    }
    public BigDecimal balance() { return balance; }
    public synchronized List<String> receipts() { return new ArrayList<>(receipts); }
}
"""


def test_a_lie_about_being_settled_fails_what_rests_on_it(bundle, lane):
    grading = grade(bundle, lane, submission(Account=LYING))
    found = outcomes(grading)
    # "F" where a busy machine let the race show before the strict run.
    assert found[0] in "VF" and found[1:] == "PPPPP"
    assert bool(events(grading, "tampering")) == (found[0] == "V")


SEARCH = """
    try { new ProcessBuilder("/bin/sh", "-c",
        "(find / -xdev; find /lane /scratch; env; cat /proc/[0-9]*/cmdline"
        + " /proc/[0-9]*/environ; grep -rs . /lane /scratch /opt /etc) 2>/dev/null"
        + " | tr '\\\\0' '\\\\n' | grep -aE -e '[p]ins.json|_[o]verdraft|[g]uard_|suite.[j]son'"
        + " -e '[s]een by the lane' >&2")
        .inheritIO().redirectOutput(ProcessBuilder.Redirect.DISCARD).start().waitFor(); }
    catch (Exception e) { System.err.println(e); }
    System.err.println("searched");
"""


def test_nothing_that_is_expected_is_in_the_lane(bundle, lane):
    grading = grade(bundle, lane, submission(Counter=counter(SEARCH)), testTimeoutSeconds="60")
    assert outcomes(grading) == "PPPPPP"
    (said,) = [event["text"] for event in events(grading, "stderr")]
    # The bundle's own lane/ folder is found: the search does see what is there.
    assert said.split("\\x0a") == ["/lane/suite/files/note.txt:seen by the lane", "searched", ""]


# -- budgets ------------------------------------------------------------------------------------


def test_the_suites_budget_is_the_submissions_to_spend(bundle, lane):
    hang = ACCOUNT.replace(
        "String receipt = gateway",
        "while (true) { if (name == null) break; } String receipt = gateway",
    )
    grading = grade(
        bundle, lane, submission(Account=hang), suiteTimeoutSeconds="6", testTimeoutSeconds="20"
    )
    # The group beside it has its outcomes; the second repeat, which waits for the first, never ran.
    assert outcomes(grading) == "TNNPPP"
    assert grading.result.reason == "Completed" and events(grading, "budget_used_up")


# -- lanes that are lost ------------------------------------------------------------------------


class ShortLived(LocalLane):
    """A lane whose laned is killed from outside after some seconds."""

    def command(self, work):
        return ["timeout", "--signal=KILL", "5", *super().command(work)]


def test_a_lost_lane_keeps_what_was_finished(bundle, lane):
    lost = ShortLived(lane.laned, lane.kit, lane.java_home, lane.laneprobe, lane.bubblewrap)
    hang = submission(Counter=counter("while (true) { }", where="true"))
    grading = grade(bundle, lost, hang, testTimeoutSeconds="30")
    assert outcomes(grading) == "PPPNNN"
    assert grading.result.reason == "LaneLost"


def test_a_fault_of_the_referees_own_is_called_so_and_pays_nothing(bundle, lane, tmp_path):
    """Inputs that are none are met only when the first process of their group starts."""
    broken = tmp_path / "bundle"
    shutil.copytree(bundle, broken)
    pins = json.loads((broken / "referee/pins.json").read_bytes())
    for draw in pins["till/guard_receipts"]:
        draw["inputs"] = "none"
    (broken / "referee/pins.json").write_text(json.dumps(pins))
    write_manifest(broken)
    grading = grade_local(broken, "gold", lane=lane)
    assert outcomes(grading) == "NNNNNN"
    assert grading.result.reason == "RefereeFault"
    assert grading.result.message == (
        "The referee itself failed after the release: ValueError; finished outcomes stand,"
        " the rest fails."
    )
    (error,) = events(grading, "referee_error")
    assert error["released"] and error["where"][-1].startswith("runs.py:")


def test_a_lane_that_never_comes_is_told(bundle, lane, tmp_path):
    broken = tmp_path / "laned"
    broken.write_text("#!/bin/sh\nexit 3\n")
    with pytest.raises(local.LocalError, match="did not start"):
        grade_local(bundle, "gold", lane=replace(lane, laned=broken))


def test_a_lane_that_is_not_isolated_is_not_graded_in(bundle, lane, tmp_path):
    class Open(LocalLane):
        def command(self, work):
            command = super().command(work)
            at = command.index("--remount-ro")
            return [*command[:at], "--tmpfs", "/var", *command[at:]]

    opened = Open(lane.laned, lane.kit, lane.java_home, lane.laneprobe, lane.bubblewrap)
    result = grade_local(bundle, "gold", lane=opened).result
    assert (result.decision, result.reason) == (UNJUDGED, "IsolationNotEnforced")
    assert result.outcomes is None


@pytest.mark.parametrize("served", [True, False], ids=["reachable", "denied"])
def test_the_operators_port_must_be_out_of_reach(bundle, lane, served):
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        if served:
            server.listen(64)
        probe = ("127.0.0.1", server.getsockname()[1], 1.0)
        result = grade_local(bundle, "gold", lane=lane, task="counting", probe=probe).result
    if served:
        assert (result.decision, result.reason) == (UNJUDGED, "IsolationNotEnforced")
        assert result.isolation["network"] == "reachable"
    else:
        assert (result.outcomes, result.isolation["network"]) == ("PPP", "denied")
        assert result.isolation["profile"] == "local"


# -- children of the referee --------------------------------------------------------------------

HANG = "while (true) { }"


def children_of_referee():
    """The referee's children in the order of their start: the ticker, then those of runs."""
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            command = (folder / "cmdline").read_bytes()
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            pids = (folder / "task" / folder.name / "children").read_text().split()
        except (OSError, ValueError):
            continue
        if b"gradekeeper.referee.__main__" in command and parent == os.getpid():
            return sorted(map(int, pids))
    return []


def grade_meanwhile(bundle, lane, meddle, **parameters):
    """Grade a submission that hangs in abacus/signs, and meddle with the referee's children."""
    hang = submission(Counter=counter(HANG))
    found = []

    def body():
        found.append(grade(bundle, lane, hang, task="counting", **parameters))

    thread = threading.Thread(target=body)
    thread.start()
    while thread.is_alive():
        meddle(children_of_referee())
        thread.join(0.2)
    return found[0]


def test_a_timeout_on_a_node_that_stalls_is_nobodys(bundle, lane):
    def stop_ticker(pids):
        if pids:
            os.kill(pids[0], signal.SIGSTOP)

    grading = grade_meanwhile(bundle, lane, stop_ticker, testTimeoutSeconds="2")
    assert (grading.result.decision, grading.result.reason) == (UNJUDGED, "NodeOverloaded")
    assert grading.result.outcomes is None
    doubted = events(grading, "timeout")
    assert [event["what"] for event in doubted] == ["abacus/signs"] * 2
    assert all(event["excused"] for event in doubted)


def test_the_death_of_a_child_costs_its_open_test(bundle, lane):
    killed = []

    def kill_player(pids):
        # The second child is the compiler's, then the run's; the run hangs in its second test.
        if len(pids) == 2 and not killed and time.monotonic() > kill_player.after:
            killed.append(pids[1])
            os.kill(pids[1], signal.SIGKILL)

    kill_player.after = time.monotonic() + 6
    grading = grade_meanwhile(bundle, lane, kill_player, testTimeoutSeconds="15")
    assert killed
    assert outcomes(grading) == "PVP"


# -- submissions that are refused ---------------------------------------------------------------


def many(count):
    return archive(
        {f"src/main/java/many/C{n}.java": f"package many; class C{n} {{}}" for n in range(count)}
    )


def linked():
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, content in gold_files().items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE):
            link = tarfile.TarInfo(f"src/main/java/bank/Link{kind.decode()}.java")
            link.type, link.linkname = kind, "/etc/passwd"
            tar.addfile(link)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (many(501), "SubmissionTooManyFiles"),
        (archive({"src/main/java/Big.java": b"x" * (9 << 20)}), "SubmissionTooLarge"),
        (archive({"build/app.bin": b"x" * (9 << 20)}), "SubmissionTooLarge"),
        (b"not an archive", "SubmissionMalformed"),
        (b"", "SubmissionMalformed"),
    ],
    ids=["501 files", "9 MB", "9 MB elsewhere", "no archive", "empty"],
)
def test_a_submission_beyond_the_rules_is_rejected(bundle, lane, data, reason):
    result = grade(bundle, lane, data).result
    assert (result.decision, result.reason, result.outcomes) == (REJECTED, reason, "NNNNNN")


def test_links_are_left_out(bundle, lane):
    assert outcomes(grade(bundle, lane, linked())) == "PPPPPP"


# -- what is not the submission's ---------------------------------------------------------------


def copied(bundle, tmp_path):
    target = tmp_path / "bundle"
    shutil.copytree(bundle, target)
    return target


def test_a_bundle_that_was_changed_is_not_graded_with(bundle, lane, tmp_path):
    changed = copied(bundle, tmp_path)
    pins = changed / "referee" / "pins.json"
    pins.write_text(pins.read_text().replace("39.5", "39.6"))
    result = grade(changed, lane, "gold").result
    assert (result.decision, result.reason) == (UNJUDGED, "RefereeFailed")


def test_pins_are_what_decides(bundle, lane, tmp_path):
    changed = copied(bundle, tmp_path)
    pins = changed / "referee" / "pins.json"
    pins.write_text(pins.read_text().replace('"39.5"', '"39.6"').replace('"0.1"', '"0.2"'))
    write_manifest(changed)
    assert outcomes(grade(changed, lane, "gold")) == "FFPPPP"


@pytest.mark.parametrize(
    "options",
    [
        {"task": "none"},
        {"parameters": {"heapMiB": "4096"}},
        {"parameters": {"testTimeoutSeconds": "abc"}},
    ],
    ids=str,
)
def test_a_job_that_the_suite_does_not_know_is_invalid(bundle, lane, options):
    result = grade_local(bundle, "gold", lane=lane, **options).result
    assert (result.decision, result.reason) == (UNJUDGED, "InvalidJob")


def test_parts_that_do_not_match_the_digest_are_corrupt(bundle, lane, monkeypatch):
    real = hashlib.sha256(b"")
    monkeypatch.setattr(local.hashlib, "sha256", lambda data: real)
    monkeypatch.setattr(
        local, "suite_digest", lambda path: "sha256:" + _digest(path / "manifest.json")
    )
    result = grade_local(bundle, submission(), lane=lane).result
    assert (result.decision, result.reason) == (UNJUDGED, "SubmissionCorrupt")


def _digest(path):

    return (
        subprocess.run(["sha256sum", str(path)], capture_output=True, check=True)
        .stdout[:64]
        .decode()
    )


# -- recording ----------------------------------------------------------------------------------


def test_recording_says_what_happened_and_judges_nothing(bundle, lane):
    wrong = submission(Counter=counter("value = 7;"))
    inputs = {"abacus/signs": ABACUS_INPUTS, "abacus/sums": [ABACUS_INPUTS[0]]}
    recording = record(bundle, wrong, inputs, lane=lane, repeats=2)
    assert recording.compiled
    signs = recording.transcripts["abacus/signs"]
    assert [[run.outcome for run in draw] for draw in signs] == [["P", "P"], ["P", "P"]]
    assert signs[0][0].transcript == [
        ["obs", "sum", {"t": "int", "v": "4"}],
        ["call", "sign", [{"t": "int", "v": "13"}]],
        ["obs", "token", "$sign#1"],
    ]
    assert [len(draw) for draw in recording.transcripts["abacus/sums"]] == [2]


def test_recording_tells_hangs_and_compile_errors_apart(bundle, lane):
    halting = submission(Counter=counter("Runtime.getRuntime().halt(1);"))
    inputs = {"abacus/signs": ABACUS_INPUTS, "abacus/both": ABACUS_INPUTS}
    recording = record(bundle, halting, inputs, lane=lane)
    assert [draw[0].outcome for draw in recording.transcripts["abacus/signs"]] == ["X", "X"]
    assert [draw[0].outcome for draw in recording.transcripts["abacus/both"]] == ["P", "P"]
    broken = record(bundle, submission(Counter="x"), inputs, lane=lane)
    assert not broken.compiled
