"""Agents with parts to play in one group: same task, same prompt, and yet each does another thing.

The model server learns from the header `X-Session-ID` which rollout asks (verifiers sends the
trace's id). A rollout that it has not seen yet gets the next part of the list, so a rollout that is
tried again, which verifiers does under a new id, gets one too.
"""

from __future__ import annotations

import base64
import json
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from billing_payment_debug import defects
from env.scripted_model import Message, Refused, call_tools, say
from gradekeeper.suites.trees import archive_tree


@dataclass(frozen=True)
class Part:
    """What an agent does.

    Attributes:
        name: The same for all rollouts that play it.
        turns: Commands of each turn; afterwards it says that it is done.
        held: Whether it says nothing until the test releases the part.
    """

    name: str
    turns: tuple[tuple[str, ...], ...] = ()
    held: bool = False


def part(name: str, *commands: str, held: bool = False) -> Part:
    """A part with one command a turn."""
    return Part(name, tuple((command,) for command in commands), held)


def repair(groups: Iterable[str]) -> str:
    """A command that repairs these defects and changes nothing else."""
    seeded = defects.task_repo()
    files = {
        path: (content, False)
        for path, content in defects.apply(seeded, groups).items()
        if seeded[path] != content
    }
    text = base64.encodebytes(archive_tree(files)).decode()
    return f"base64 -d <<'END' | tar -xzf -\n{text}END"


@dataclass
class _Playing:
    part: Part
    turns: int = 0


@dataclass
class Cast:
    """The model: gives out parts and plays them.

    Attributes:
        waiting: Parts that nobody plays yet, in order.
        window: Characters of a conversation that the model takes; more is refused as vLLM does.
    """

    waiting: deque[Part]
    window: int
    _playing: dict[str, _Playing] = field(default_factory=dict)
    _released: set[str] = field(default_factory=set)
    _changed: threading.Condition = field(default_factory=threading.Condition)

    def play(self, request: dict[str, Any], rollout: str) -> Message:
        """Answer one request of a rollout."""
        messages = request["messages"]
        turn = sum(message["role"] == "assistant" for message in messages)
        with self._changed:
            if rollout not in self._playing:
                if not self.waiting:
                    raise Refused(500, "the test has no part for another rollout")
                self._playing[rollout] = _Playing(self.waiting.popleft())
            playing = self._playing[rollout]
            playing.turns = turn + 1
            self._changed.notify_all()
            name = playing.part.name
            if playing.part.held:
                self._changed.wait_for(lambda: name in self._released, 120)
        if len(json.dumps(messages)) > self.window:
            raise Refused(400, f"This model's maximum context length is {self.window} characters.")
        if turn >= len(playing.part.turns):
            return say("done")
        calls = [("bash", {"command": command}) for command in playing.part.turns[turn]]
        done = sum(message["role"] == "tool" for message in messages)
        return call_tools(done, *calls)

    def name_of(self, rollout: str) -> str:
        """The part that a rollout played."""
        return self._playing[rollout].part.name

    @property
    def rollouts(self) -> list[str]:
        """All that have begun a part, those of earlier tries too."""
        return list(self._playing)

    def add(self, *parts: Part) -> None:
        """Have these played by the rollouts that come next."""
        with self._changed:
            self.waiting.extend(parts)

    def release(self, name: str) -> None:
        """Let the rollouts that play a held part go on, now and later."""
        with self._changed:
            self._released.add(name)
            self._changed.notify_all()

    def wait_until_all_play(self, seconds: float) -> None:
        """Wait until no part is left over."""
        self._wait(lambda: not self.waiting, seconds)

    def wait_for(self, name: str, *, number: int = 1, seconds: float) -> str:
        """Wait until `number` rollouts have begun a part; returns the id of the last."""
        self._wait(lambda: len(self._rollouts(name)) >= number, seconds)
        return self._rollouts(name)[number - 1]

    def _rollouts(self, name: str) -> list[str]:
        return [rollout for rollout, one in self._playing.items() if one.part.name == name]

    def _wait(self, condition: Callable[[], bool], seconds: float) -> None:
        started = time.monotonic()
        with self._changed:
            if not self._changed.wait_for(condition, seconds):
                waited = time.monotonic() - started
                begun = [one.part.name for one in self._playing.values()]
                left = [one.name for one in self.waiting]
                raise AssertionError(f"after {waited:.0f} s: begun {begun}, left {left}")
