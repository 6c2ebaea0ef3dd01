"""What a trainer makes of a group of rollouts: the rules of prime-rl, written down once more. Pure.

Read in github.com/PrimeIntellect-ai/prime-rl at 559b447 (2026-08-21), below
`src/prime_rl/orchestrator`; the names are those of its functions:

- `Env.run` (envs.py): in an episode that failed, all traces count as failed.
- `handle_completed_episode` (dispatcher.py): an episode without traces has failed; so has a trace
  without a turn, even if it says that it is fine.
- `iter_trainable_traces` (algo/base.py): what failed, is of an agent that is not trained, or has no
  sampled tokens takes no part. Nothing replaces it: groups just become smaller.
- `GRPOAlgorithm.score_group` (algo/grpo.py), without a length penalty: what remains is credited
  with its reward less the mean of those that remain. (No division by the deviation.)
- `AdvRangeGate.admit` (curriculum/gates/adv.py), as configured by default: a group in which nobody
  is better than another is not trained on.

Tokens are only in traces of a trainer's own client, so here every sampled message counts as some.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def survivors(episodes: Sequence[Any]) -> list[Any]:
    """Return the traces of a group (`vf.WireEpisode`s) that are trained on."""
    return [
        trace
        for episode in episodes
        if episode.ok
        for trace in episode.traces
        if trace.ok and trace.agent.trainable and trace.num_turns > 0
    ]


def advantages(episodes: Sequence[Any]) -> dict[str, float]:
    """Return trace id → advantage of those that are trained on."""
    traces = survivors(episodes)
    if not traces:
        return {}
    mean = sum(trace.reward for trace in traces) / len(traces)
    return {trace.id: trace.reward - mean for trace in traces}


def is_trained_on(episodes: Sequence[Any]) -> bool:
    """Whether the group tells the trainer anything."""
    return any(advantage != 0 for advantage in advantages(episodes).values())
