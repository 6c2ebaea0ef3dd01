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


def timed(wait: str, giving_up: str) -> str:
    """Waits for a lock for `wait` milliseconds, then does what it does in `giving_up`."""
    lock = "new java.util.concurrent.locks.ReentrantLock()"
    code = (
        "boolean held = false; try { held ="
        f" L.tryLock({wait}, java.util.concurrent.TimeUnit.MILLISECONDS); }}"
        " catch (InterruptedException e) { throw new IllegalStateException(e); }"
        f" if (!held) {{ {giving_up} }} try {{"
    )
    source = ACCOUNT.replace("public synchronized", "public").replace(
        "        if (amount.signum()", code + "        if (amount.signum()"
    )
    source = source.replace(
        "        return receipt;", "return receipt; } finally { if (held) L.unlock(); }"
    )
    return source.replace(
        "public Account(",
        f"private final java.util.concurrent.locks.ReentrantLock L = {lock}; public Account(",
    )


@pytest.mark.parametrize("wait", ["20", "400", "1200"])
def test_who_does_not_wait_for_a_lock_to_the_end_has_none(bundle, lane, wait):
    code = timed(wait, "")
    found = outcomes(grade(bundle, lane, submission(Account=code), testTimeoutSeconds="9"))
    assert found == "FPPPPP"


def test_who_gives_up_instead_of_waiting_costs_its_own_tests(bundle, lane):
    code = timed("100", 'throw new IllegalStateException("busy");')
    assert outcomes(grade(bundle, lane, submission(Account=code)))[1:] == "PPPPP"


def test_a_right_lock_may_have_a_time_limit(bundle, lane):
    code = timed("30000", 'throw new IllegalStateException("busy");')
    assert outcomes(grade(bundle, lane, submission(Account=code))) == "PPPPPP"


def test_endless_errors_cost_nothing(bundle, lane):
    flood = """static { Thread t = new Thread(() -> { byte[] b = new byte[1 << 16];
        while (true) System.err.write(b, 0, b.length); }); t.setDaemon(true); t.start(); }"""
    source = ACCOUNT.replace("public class Account {", "public class Account { " + flood)
    assert outcomes(grade(bundle, lane, submission(Account=source))) == "PPPPPP"
