"""Submissions that keep their race and let time pass instead of waiting for each other."""

import pytest

from redteam.attacks import ACCOUNT, grade, outcomes
from referee.suite_fixture import submission

RACING = (
    ACCOUNT.replace("public synchronized String", "public String")
    .replace("private BigDecimal balance", "private volatile BigDecimal balance")
    .replace(
        "public Account(",
        "private final java.util.concurrent.atomic.AtomicInteger entered ="
        " new java.util.concurrent.atomic.AtomicInteger(); public Account(",
    )
)


def delayed(code):
    """The racing account; each call does `code` with `turn` first: 0, 1, …"""
    place = "        if (amount.signum()"
    assert RACING.count(place) == 1
    return RACING.replace(place, f"int turn = entered.getAndIncrement(); {code}\n{place}")


SLEEP = "try { Thread.sleep(%d * turn); } catch (InterruptedException e) { }"
SPIN = "long end = System.nanoTime() + %d * 1_000_000L * turn; while (System.nanoTime() < end) { }"
UNEVEN = "try { Thread.sleep(turn == 0 ? 0 : 1100 + (System.nanoTime() >> 8) % 400); }"


@pytest.mark.parametrize(
    "code",
    [
        SLEEP % 1300,
        SLEEP % 2600,
        SPIN % 1300,
        UNEVEN + " catch (InterruptedException e) { }",
    ],
    ids=["sleep", "long sleep", "spin", "uneven sleep"],
)
def test_taking_turns_by_the_clock_is_no_lock(bundle, lane, code):
    # Longer than any hold of a lane that cannot say that it is settled.
    found = outcomes(grade(bundle, lane, submission(Account=delayed(code)), testTimeoutSeconds="9"))
    assert found[0] in "FT" and found[1:] == "PPPPP"


def test_a_right_lock_may_be_slow(bundle, lane):
    slow = ACCOUNT.replace(
        "String receipt = gateway",
        "try { Thread.sleep(300); } catch (InterruptedException e) { } String receipt = gateway",
    )
    assert slow != ACCOUNT
    assert outcomes(grade(bundle, lane, submission(Account=slow))) == "PPPPPP"


def test_a_wait_for_a_lock_that_has_an_end_costs_only_its_own_tests(bundle, lane):
    lock = "new java.util.concurrent.locks.ReentrantLock()"
    code = (
        "try { if (!L.tryLock(100, java.util.concurrent.TimeUnit.MILLISECONDS))"
        ' throw new IllegalStateException("busy"); }'
        " catch (InterruptedException e) { throw new IllegalStateException(e); } try {"
    )
    source = ACCOUNT.replace("public synchronized", "public").replace(
        "        if (amount.signum()", code + "        if (amount.signum()"
    )
    source = source.replace("        return receipt;", "return receipt; } finally { L.unlock(); }")
    source = source.replace(
        "public Account(",
        f"private final java.util.concurrent.locks.ReentrantLock L = {lock}; public Account(",
    )
    assert outcomes(grade(bundle, lane, submission(Account=source)))[1:] == "PPPPP"


def test_endless_errors_cost_nothing(bundle, lane):
    flood = """static { Thread t = new Thread(() -> { byte[] b = new byte[1 << 16];
        while (true) System.err.write(b, 0, b.length); }); t.setDaemon(true); t.start(); }"""
    source = ACCOUNT.replace("public class Account {", "public class Account { " + flood)
    assert outcomes(grade(bundle, lane, submission(Account=source))) == "PPPPPP"
