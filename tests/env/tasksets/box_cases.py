"""Tasks that show what a box's fate does to a rollout; agents are played by `scripted_model`."""

from __future__ import annotations

import asyncio
import json
import os

import verifiers.v1 as vf

from env.scripted_model import script


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
        trace.info["answer"] = (await runtime.read("answer.txt", max_bytes=100)).decode()

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
                    timeout=vf.TaskTimeout(setup=5, agent=10, finalize=5, scoring=5),
                ),
                self.config.task,
            )
            for case, calls in cases.items()
        ]


__all__ = ["BoxCasesTaskset"]
