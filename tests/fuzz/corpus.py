"""Where inputs come from: seeds in code, inputs worth keeping in the repository, and mutation.

`mutated` needs no fuzzing engine: it gives the same inputs in every run, for the short tests.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from fuzz.targets import Target

KEPT = Path(__file__).parent / "corpus"
"""<target>/<name>: inputs that a campaign found, small, each reaching code that no other does."""


def kept(name: str) -> dict[str, bytes]:
    """The inputs of a target that the repository keeps."""
    folder = KEPT / name
    files = sorted(folder.iterdir()) if folder.is_dir() else []
    return {path.name: path.read_bytes() for path in files}


def seeds(name: str, target: Target) -> dict[str, bytes]:
    """Everything that mutation starts from."""
    return {**target.SEEDS, **kept(name)}


def mutated(name: str, target: Target, count: int) -> Iterator[bytes]:
    """Inputs that differ from the seeds in up to four places; the same ones every time."""
    chance = random.Random(name)
    pool = list(seeds(name, target).values())
    for _ in range(count):
        data = bytearray(chance.choice(pool))
        for _ in range(chance.randint(1, 4)):
            _change(data, chance, target, pool)
        yield bytes(data[: target.MAX_LEN])


def _change(data: bytearray, chance: random.Random, target: Target, pool: list[bytes]) -> None:
    at = chance.randint(0, len(data))
    match chance.randrange(7):
        case 0 if data:
            data[at % len(data)] = chance.randrange(256)
        case 1 if data:
            data[at % len(data)] ^= 1 << chance.randrange(8)
        case 2:
            del data[at : at + chance.randint(1, 32)]
        case 3:
            data[at:at] = chance.choice(target.WORDS)
        case 4:
            other = chance.choice(pool)
            start = chance.randint(0, len(other))
            data[at:at] = other[start : start + chance.randint(1, 256)]
        case 5:
            word = chance.choice(target.WORDS)
            data[at : at + len(word)] = word
        case _:
            data[at:at] = data[at : at + chance.randint(1, 64)] * chance.randint(1, 20)
