"""The tiny taskset, with tasks that fail in one way each: what the failure table is about."""

from __future__ import annotations

import asyncio
import json
import os

import verifiers.v1 as vf
from tiny_basket import TinyTask, TinyTaskConfig

from gradekeeper.client import Untransportable

__all__ = ["FailingBasketsTaskset"]
MEMORY, TOO_MUCH = 0.125, 1.0


class FailingTask(TinyTask):
    async def setup(self, runtime: vf.Runtime) -> None:
        await super().setup(runtime)
        if self.data.name.startswith("setup"):
            await asyncio.sleep(60)

    async def finalize(self, trace: vf.Trace, runtime: vf.Runtime) -> None:
        # An author who does without what the mixin does.
        if self.data.name != "setup, finalize looks away":
            await super().finalize(trace, runtime)

    async def inspect(self, trace: vf.Trace, submission: bytes | Untransportable) -> None:
        if self.data.name == "finalize raises":
            raise RuntimeError("the submission cannot be looked at")
        if self.data.name == "finalize":
            await asyncio.sleep(60)


class FailingBasketsConfig(vf.TasksetConfig):
    task: TinyTaskConfig = TinyTaskConfig()


class FailingBasketsTaskset(vf.Taskset[FailingTask, FailingBasketsConfig]):
    def load(self) -> list[FailingTask]:
        return [FailingTask(self._data(name), self.config.task) for name in _names()]

    @staticmethod
    def _data(name: str) -> vf.TaskData:
        return vf.TaskData(
            name=name,
            prompt=name,
            timeout=vf.TaskTimeout(
                setup=5 if name.startswith("setup") else None,
                agent=20 if name == "agent" else None,
                finalize=5 if name == "finalize" else None,
            ),
            resources=vf.TaskResources(memory=TOO_MUCH if name == "refused" else MEMORY),
        )


def _names() -> list[str]:
    names = json.loads(os.environ["FAILING_BASKETS"])
    assert isinstance(names, list)
    return names
