"""One run, in a child of the referee: starts the tests, plays the doubles, judges.

This is where a lane's lines are parsed. The child holds the expectations of its own group and
knows the lane only through three descriptors; it reports to the referee in `report`'s grammar.
"""

import hashlib
import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from gradekeeper.referee import observations, report
from gradekeeper.referee.bundle import Test
from gradekeeper.referee.channel import Channel, Ended, Overflow
from gradekeeper.referee.heard import Heard
from gradekeeper.referee.judge import Transcript, canonical, compare
from gradekeeper.referee.observations import Event, LineError, parse_event
from gradekeeper.referee.report import Report, encode_report
from gradekeeper.referee.result import (
    ENDED_EARLY,
    FAILED,
    PASSED,
    TIMED_OUT,
    VIOLATED,
)
from gradekeeper.referee.schedule import Held, Schedule
from gradekeeper.referee.strictjson import encode_canonical
from gradekeeper.referee.texts import TOKEN_PREFIX

MAX_CALLS: Final = 128
"""Calls of doubles in one test."""
MAX_ENTRIES: Final = 4_000
MAX_TEST_ELEMENTS: Final = 50_000
"""Observed values in one test."""
MAX_SHOWN_BYTES: Final = 256 * 1024
"""Of what was observed in a test, for the detail of a local grading to show it."""

HOLD_FIRST: Final = 1.0
"""Seconds that a call is held where the lane cannot say that it is settled, at first,"""
HOLD_RUN: Final = 0.25
"""in later tests of a run in which that happened,"""
HOLD_TEST: Final = 0.05
"""and later in the same test."""
KEPT_SHARE: Final = 2.0
"""Of the case's time, for which held calls of a strict case may be kept beyond it, in all."""


class Violation(Exception):
    """The lane broke the run protocol; the text is ours."""


class Lied(Violation):
    """Something moved after the lane said that nothing could: it was tampered with."""


class _Late(Exception):
    """The test's time is used up."""


@dataclass(frozen=True, slots=True)
class Case:
    """One test with one draw of inputs.

    Attributes:
        number: names the case towards the referee.
        test: what to run.
        inputs: drawn when pinning.
        draw: position among the test's draws.
        expected: right transcripts; None when recording.
        keep: seconds for which every held call is kept at least, settled or not. A case that is
            played so is strict: code that lets time pass, instead of waiting for what it should
            wait for, moves meanwhile.
        lots: decide which of the held calls are released; what is played again has the same.
    """

    number: int
    test: Test
    inputs: dict[str, str]
    draw: int
    expected: Sequence[Transcript] | None
    keep: float = 0.0
    lots: bytes = field(default_factory=lambda: os.urandom(16))


@dataclass(frozen=True, slots=True)
class Plan:
    """What one child does.

    Attributes:
        cases: in order.
        start_seconds: for the process to say hello.
        test_seconds: for each case.
        repeat: for the detail of local gradings.
    """

    cases: Sequence[Case]
    start_seconds: float
    test_seconds: float
    repeat: int


def random_below(bound: int) -> int:
    """An unpredictable number from 0 to bound - 1."""
    return int.from_bytes(os.urandom(8), "big") % bound


class Stream:
    """The events of a run: whole lines, in sequence, of the running case."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._rest = b""
        self._lines: list[bytes] = []
        self._seq = 0
        self.nonce = observations.NO_NONCE

    def next(self, deadline: float) -> Event | None:
        """The next event; None at the deadline.

        Raises:
            Violation: a line that is not of the grammar, out of sequence or of another case.
            Ended: the run ended.
        """
        while not self._lines:
            try:
                data = self._channel.read(deadline)
            except Overflow as error:
                raise Violation(str(error)) from None
            if data is None:
                return None
            *lines, self._rest = (self._rest + data).split(b"\n")
            self._lines = lines[::-1]
            if len(self._rest) > observations.MAX_LINE_BYTES:
                raise Violation("a line is too long")
        try:
            event = parse_event(self._lines.pop())
        except LineError as error:
            raise Violation(str(error)) from None
        if event.seq != self._seq:
            raise Violation("out of sequence")
        self._seq += 1
        if event.nonce != self.nonce:
            raise Violation("of another case")
        return event

    def is_quiet(self, until: float) -> bool:
        """Whether nothing at all is heard until then.

        Raises:
            Ended: the run ended meanwhile.
        """
        if self._lines or self._rest:
            return False
        try:
            return self._channel.read(until) is None
        except Overflow:
            return False


class _CasePlay:
    """One case from `case` to `done`.

    Attributes:
        tokens: every answer given -> the method that it answered.
        heard: the observations and calls.
        span: longest time in seconds from the start of one hold to that of the next, or to the
            end; 0 where nothing was held.
    """

    def __init__(self, player: "Player", case: Case) -> None:
        self._player = player
        self._case = case
        self._nonce = os.urandom(8).hex()
        self._counts: dict[str, int] = {}
        self._released = 0
        self._last_call = -1
        self._held: list[Held] = []
        self._schedule: Schedule | None = None
        self._expects = False
        self._query: int | None = None
        self._asked: set[int] = set()
        self._hold_until = 0.0
        self._asked_at: float | None = None
        self._kept = 0.0
        self._fell_back = False
        self._elements = 0
        self.span = 0.0
        self.tokens: dict[str, str] = {}
        self.heard = Heard()

    def play(self) -> None:
        """Play the case to its end.

        Raises:
            Violation: the lane broke the protocol.
            Ended: the run ended before the case did.
            _Late: the time was used up.
        """
        self._deadline = time.monotonic() + self._player.plan.test_seconds
        test = self._case.test
        if test.schedule is not None:
            rounds = self._case.inputs.get(test.schedule.input, "")
            self._schedule = Schedule(rounds, test.schedule.writes)
        self._player.stream.nonce = self._nonce
        self._player.send(
            observations.case_line(self._nonce, self._case.test.method, self._case.inputs)
        )
        while True:
            held = bool(self._held)
            until = min(self._deadline, self._hold_until) if held else self._deadline
            event = self._player.stream.next(until)
            if event is not None and event.kind == observations.DONE:
                if self._held:
                    raise Violation("done while a call is open")
                self._end_span()
                return
            # Also while the lane keeps talking: the deadline is not its to move.
            if time.monotonic() >= self._deadline:
                raise _Late
            if event is not None:
                self._hear(event)
            elif held:
                self._fall_back()

    def _hear(self, event: Event) -> None:
        if event.kind != observations.SETTLED:
            self._expects = False
        if event.kind == observations.CALL:
            self._note(["call", event.name, event.value], event.elements)
            self._call(event)
        elif event.kind == observations.SETTLED:
            self._settled(event.number)
        elif event.kind in (observations.OBS, observations.THREW):
            self._note([event.kind, event.name, event.value], event.elements)
        else:
            raise Violation("hello again")

    def _end_span(self) -> float:
        """Returns the time."""
        now = time.monotonic()
        if self._asked_at is not None:
            self.span = max(self.span, now - self._asked_at)
        return now

    def _note(self, entry: list[Any], elements: int) -> None:
        self._elements += elements
        self.heard.add(entry)
        if len(self.heard) > MAX_ENTRIES or self._elements > MAX_TEST_ELEMENTS:
            raise Violation("too many observations")

    def _call(self, event: Event) -> None:
        if event.number <= self._last_call:
            raise Violation("a call id does not grow")
        self._last_call = event.number
        nth = self._counts.get(event.name, 0)
        self._counts[event.name] = nth + 1
        if sum(self._counts.values()) > MAX_CALLS:
            raise Violation("too many calls")
        policy = policy_of(self._case.test, event.name, nth)
        if policy.startswith("hold"):
            self._held.append(Held(event.number, event.name, policy, event.value))
            clear = self._schedule is not None and self._schedule.is_clear(self._held)
            if clear and not self._case.keep:
                self._release()
            elif self._query is None:
                self._ask()
        else:
            self._answer(event.number, event.name, policy)
            if self._query is not None:
                # "Settled" may be on its way from before the lane reads this answer, which sets
                # its caller going. Only what is asked after the answer counts.
                self._ask()

    def _ask(self) -> None:
        self._query = random_below(1 << 40)
        self._asked.add(self._query)
        seconds = HOLD_FIRST
        if self._fell_back:
            seconds = HOLD_TEST
        elif self._player.fell_back:
            seconds = HOLD_RUN
        self._asked_at = self._end_span()
        self._hold_until = self._asked_at + max(seconds, self._case.keep)
        self._player.send(observations.settle_line(self._query))

    def _settled(self, query: int) -> None:
        if query not in self._asked:
            raise Violation("settled without a query")
        if query != self._query or not self._held:
            return  # withdrawn while the answer was on its way
        if self._case.keep and self._asked_at is not None:
            self._listen(self._asked_at + self._case.keep)
        self._release()

    def _listen(self, until: float) -> None:
        if not self._player.stream.is_quiet(until):
            raise Lied("something moved after it was settled")

    def _fall_back(self) -> None:
        latest = (self._asked_at or 0.0) + HOLD_FIRST
        if self._expects and time.monotonic() < latest:
            self._hold_until = latest
            return
        self._fell_back = self._player.fell_back = True
        self._player.send(observations.unsettle_line())
        self._release()

    def _release(self) -> None:
        if self._case.keep and self._asked_at is not None:
            kept = time.monotonic() - self._asked_at
            self._kept += kept
            self._deadline += kept
            if self._kept > KEPT_SHARE * self._player.plan.test_seconds:
                raise _Late
        self._query = None
        release = self._schedule.next(self._held) if self._schedule is not None else None
        if release is None:
            call = self._held.pop(self._draw_lot(len(self._held)))
            policy = call.policy
        else:
            call = self._held.pop(release.place)
            policy = call.policy if release.refuse is None else "refuse" if release.refuse else "ok"
            self._expects = release.expects
        self._answer(call.number, call.method, policy)
        if self._held:
            self._ask()

    def _draw_lot(self, bound: int) -> int:
        self._released += 1
        data = self._case.lots + self._released.to_bytes(4, "big")
        return int.from_bytes(hashlib.sha256(data).digest()[:8], "big") % bound

    def _answer(self, call: int, method: str, policy: str) -> None:
        token = TOKEN_PREFIX + os.urandom(8).hex()
        self.tokens[token] = method
        if policy in ("refuse", "hold-refuse"):
            self._player.send(observations.throw_line(call, token))
        else:
            self._player.send(observations.value_line(call, token))


def policy_of(test: Test, method: str, nth: int) -> str:
    """The policy of the nth call (from 0) of a double's method: "ok" unless the test says."""
    policies = test.policies.get(method)
    if policies is None:
        return "ok"
    return policies[min(nth, len(policies) - 1)]


class Player:
    """Plays a plan over a channel.

    Attributes:
        plan: what is played.
        stream: the lane's events.
        fell_back: whether a hold of this run ended without the lane's word.
    """

    def __init__(
        self,
        plan: Plan,
        channel: Channel,
        tell: Callable[[Report], None],
        detail: Callable[[dict[str, Any]], None] | None,
    ) -> None:
        self.plan = plan
        self.stream = Stream(channel)
        self.fell_back = False
        self._began = time.monotonic()
        self._channel = channel
        self._tell = tell
        self._detail = detail

    def send(self, line: bytes) -> None:
        """Send a line to the lane.

        Raises:
            Violation: it does not read.
        """
        try:
            self._channel.write(line)
        except Overflow as error:
            raise Violation(str(error)) from None

    def play(self) -> None:
        """Play all cases, or up to the first that ends the run; reports as it goes."""
        if not self._greet():
            return
        for case in self.plan.cases:
            self._began = time.monotonic()
            self._tell(Report(report.STARTED, case.number))
            play = _CasePlay(self, case)
            outcome, cause, over = self._outcome(case, play)
            span_ms = math.ceil(play.span * 1000)
            self._tell(Report(report.OUTCOME, case.number, outcome, cause, span_ms))
            if over:
                return
        try:
            self.send(observations.bye_line())
        except Violation:
            pass  # every case is decided
        self._tell(Report(report.PLAYED))

    def _greet(self) -> bool:
        try:
            event = self.stream.next(time.monotonic() + self.plan.start_seconds)
        except (Violation, Ended) as error:
            self._tell(Report(report.ERRORS, text=f"no hello: {str(error) or 'it ended'}"))
            return False
        if event is None or event.kind != observations.HELLO:
            self._tell(Report(report.ERRORS, text="no hello in time"))
            return False
        return True

    def _outcome(self, case: Case, play: _CasePlay) -> tuple[str, str, bool]:
        """Play and judge one case: outcome, cause, whether the run is over."""
        try:
            play.play()
        except Lied as lie:
            self._tell(Report(report.LIED, case.number, text=str(lie)))
            return VIOLATED, str(lie), True
        except Violation as violation:
            self._write_detail(case, VIOLATED, str(violation), None)
            return VIOLATED, str(violation), True
        except Ended:
            self._write_detail(case, ENDED_EARLY, "it ended", None)
            return ENDED_EARLY, "it ended", True
        except _Late:
            self._write_detail(case, TIMED_OUT, "its time was used up", None)
            return TIMED_OUT, "its time was used up", True
        outcome, cause = judge_case(case, play.heard, play.tokens)
        if self._detail is not None:
            self._write_detail(case, outcome, cause, shown(case, play.heard, play.tokens))
        return outcome, cause, False

    def _write_detail(
        self, case: Case, outcome: str, cause: str, observed: Transcript | None
    ) -> None:
        if self._detail is not None:
            self._detail(
                {
                    "test": case.test.id,
                    "repeat": self.plan.repeat,
                    "draw": case.draw,
                    "outcome": outcome,
                    "cause": cause,
                    "seconds": round(time.monotonic() - self._began, 3),
                    "observed": observed,
                    "expected": case.expected if outcome == FAILED else None,
                }
            )


def judge_case(case: Case, heard: Heard, tokens: dict[str, str]) -> tuple[str, str]:
    """Compare what was observed with what is right.

    Returns:
        Outcome and cause ("" where it passed).
    """
    if case.expected is None:
        return PASSED, ""
    cause = compare(heard.entries, tokens, case.test.rules, case.expected)
    return (PASSED, "") if cause is None else (FAILED, cause)


def shown(case: Case, heard: Heard, tokens: dict[str, str]) -> Transcript | None:
    """The canonical transcript: always when recording, else unless it is too large to be read."""
    if case.expected is not None and heard.size > MAX_SHOWN_BYTES:
        return None
    return canonical(heard.entries(), tokens, case.test.rules)


def play_in_child(plan: Plan, channel: Channel, report_to: int, detail_to: int | None) -> None:
    """Play a plan in a child process; returns when the child should exit."""

    def tell(line: Report) -> None:
        os.write(report_to, encode_report(line))

    def detail(document: dict[str, Any]) -> None:
        assert detail_to is not None
        os.write(detail_to, encode_canonical(document) + b"\n")

    player = Player(plan, channel, tell, None if detail_to is None else detail)
    player.play()
    head = channel.finish_errors()
    if head:
        tell(Report(report.ERRORS, text=head.decode("utf-8", "replace")[:2_000]))
