"""The trainer's rules that `test_billing_eval` feeds real traces to, on traces made by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from env.trainer_rules import advantages, is_trained_on, survivors


def trace(name: str, reward: float, **fields: Any) -> Any:
    standard = {"ok": True, "num_turns": 1, "agent": SimpleNamespace(trainable=True)}
    return SimpleNamespace(**{**standard, "id": name, "reward": reward, **fields})


def episode(*traces: Any, ok: bool = True) -> Any:
    return SimpleNamespace(ok=ok, traces=list(traces))


def test_what_failed_takes_no_part_and_raises_the_mean_of_nobody() -> None:
    group = [
        episode(trace("right", 1.0)),
        episode(trace("wrong", 0.0)),
        episode(trace("lost", 0.0, ok=False), ok=False),
        episode(trace("no turn", 0.0, num_turns=0)),
        episode(trace("a sibling failed", 1.0), ok=False),
        episode(trace("a judge", 1.0, agent=SimpleNamespace(trainable=False))),
        episode(),
    ]
    assert [one.id for one in survivors(group)] == ["right", "wrong"]
    assert advantages(group) == {"right": 0.5, "wrong": -0.5}
    assert is_trained_on(group)


@pytest.mark.parametrize("rewards", [[], [0.0, 0.0], [1.0]])
def test_a_group_of_equals_teaches_nothing(rewards: list[float]) -> None:
    group = [episode(trace(str(number), reward)) for number, reward in enumerate(rewards)]
    assert not is_trained_on(group)
