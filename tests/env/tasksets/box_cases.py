"""Tasks that show what a box's fate does to a rollout; agents are played by `scripted_model`."""

from __future__ import annotations

import asyncio
import json
import os

import verifiers.v1 as vf

from env.scripted_model import script
from gradekeeper_verifiers.errors import BoxEndedError


class BoxCaseData(vf.TaskData):
    case: str


class BoxCaseTask(vf.Task[BoxCaseData]):
    async def setup(self, runtime: vf.Runtime) -> None:
        await runtime.write("start.txt", b"start\n")
        if self.data.case == "slow-setup":
            await asyncio.sleep(60)

    async def finalize(self, trace: vf.Trace, runtime: vf.Runtime) -> None:
        if trace.stop_condition == "setup_timeout":
            raise RuntimeError("the setup was not finished")
        if self.data.case == "slow-finalize":
            await asyncio.sleep(60)
        try:
            answer = await runtime.read("answer.txt", max_bytes=100)
        except BoxEndedError:
            # Depending on its cgroups a node ends the box of an agent that uses up its memory.
            answer = b""
        trace.info["answer"] = answer.decode()

    @vf.reward(weight=1.0)
    async def answered(self, trace: vf.Trace) -> float:
        if "answer" not in trace.info:
            raise RuntimeError("there is no answer to score")
        return float(trace.info["answer"] == "42\n")


class BoxCasesConfig(vf.TasksetConfig):
    pass


class BoxCasesTaskset(vf.Taskset[BoxCaseTask, BoxCasesConfig]):
    def load(self) -> list[BoxCaseTask]:
        cases = json.loads(os.environ["BOX_CASES"])
        return [
            BoxCaseTask(
                BoxCaseData(
                    id=case,
                    case=case,
                    prompt=script(*calls),
                    # Whoever waits for a deadline does so for its own; none is for a busy node.
                    timeout=vf.TaskTimeout(
                        setup=1 if case == "slow-setup" else 120,
                        agent=20 if case == "loops" else 240,
                        finalize=1 if case == "slow-finalize" else 120,
                        scoring=120,
                    ),
                ),
                self.config.task,
            )
            for case, calls in cases.items()
        ]


__all__ = ["BoxCasesTaskset"]
