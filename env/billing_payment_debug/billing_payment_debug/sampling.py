"""Which tasks there are: variants of the prompt and subsets of the defects. Pure."""

import hashlib
import itertools
import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import comb
from typing import Final

_PREFIX: Final = "billing-debug"


@dataclass(frozen=True, slots=True)
class TaskPlan:
    """One task, before its texts and files.

    Attributes:
        name: Tells the variant and a number, never the defects.
        key: What the task is, whatever its number: the same variant with the same defects has the
            same key in every task list. Neutral too.
        variant: Of the prompt, see `prompts.VARIANTS`.
        active: The groups of the defects that are left in, in the order of the catalog.
    """

    name: str
    key: str
    variant: str
    active: tuple[str, ...]


def benchmark(groups: Sequence[str], variants: Sequence[str]) -> list[TaskPlan]:
    """The tasks with all defects, one for each variant."""
    names = [f"{_PREFIX}-{variant}" for variant in variants]
    return [
        TaskPlan(name, name, variant, tuple(groups))
        for name, variant in zip(names, variants, strict=True)
    ]


def count_distinct(groups: int, variants: int, sizes: Collection[int]) -> int:
    """How many different tasks can be sampled."""
    return variants * sum(comb(groups, size) for size in sizes)


def sample(
    groups: Sequence[str],
    variants: Sequence[str],
    *,
    count: int,
    sizes: Sequence[int],
    seed: int,
) -> list[TaskPlan]:
    """Draw tasks, none twice.

    Each task's size is drawn first, all sizes alike as long as they have tasks left, and then one
    of the tasks of this size. More tasks begin with the same tasks as fewer.

    Args:
        groups: All defects, in the order of the catalog.
        variants: Prompt variants, each once.
        count: How many.
        sizes: How many defects a task may have, each number once.
        seed: The same seed draws the same tasks.

    Raises:
        ValueError: there are not so many different tasks.
    """
    most = count_distinct(len(groups), len(variants), sizes)
    if count > most:
        raise ValueError(f"{count} sampled tasks were asked for, and only {most} are different")
    # Of this generator's methods only `random` draws the same in every release of Python.
    draw = random.Random(seed).random  # noqa: S311 - a task list is no secret
    left = {}
    for size in sizes:
        pairs = itertools.product(variants, itertools.combinations(groups, size))
        left[size] = [pair for _, pair in sorted((draw(), pair) for pair in pairs)]
    plans = []
    for number in range(count):
        open_sizes = [size for size in sizes if left[size]]
        variant, active = left[open_sizes[int(draw() * len(open_sizes))]].pop()
        plans.append(
            TaskPlan(f"{_PREFIX}-{variant}-s{number}", _key(variant, active), variant, active)
        )
    return plans


def _key(variant: str, active: Sequence[str]) -> str:
    digest = hashlib.sha256("/".join((variant, *active)).encode()).hexdigest()
    return f"{_PREFIX}-{variant}-{digest[:16]}"
