"""The grader `local`: one after the other."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from billing_payment_debug import local
from billing_payment_debug.local import LocalVerdict, grade_in_turn
from gradekeeper.api.reasons import Reason
from gradekeeper.verdicts.model import rejected

SUITE = Path("suite")


class Engine:
    """Stands in for the local engine: says who is graded, and lets a test say when it ends."""

    def __init__(self) -> None:
        self.graded: list[bytes] = []
        self.begun, self.end = threading.Event(), threading.Event()

    def grade(self, suite: Path, submission: bytes, **settings: Any) -> LocalVerdict:
        assert (suite, settings) == (SUITE, {"parameters": {}, "seconds": 1})
        self.graded.append(submission)
        self.begun.set()
        assert self.end.wait(20)
        return LocalVerdict(rejected(Reason.SUBMISSION_TOO_LARGE, 1), (submission.decode(),))


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Engine:
    engine = Engine()
    monkeypatch.setattr(local, "grade", engine.grade)
    return engine


async def test_one_submission_is_graded_at_a_time_and_whoever_gave_up_is_not(
    engine: Engine,
) -> None:
    tasks = [
        asyncio.create_task(grade_in_turn(SUITE, name, parameters={}, seconds=1))
        for name in (b"first", b"given-up", b"last")
    ]
    assert await asyncio.to_thread(engine.begun.wait, 20)
    assert engine.graded == [b"first"]
    tasks[1].cancel()
    await asyncio.wait([tasks[1]])

    engine.end.set()
    first, given_up, last = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(first, LocalVerdict) and first.tests == ("first",)
    assert isinstance(last, LocalVerdict) and last.tests == ("last",)
    assert isinstance(given_up, asyncio.CancelledError)
    assert engine.graded == [b"first", b"last"]
