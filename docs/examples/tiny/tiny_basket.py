"""An agent repairs a basket; the suite `tiny-basket` says whether it did."""

from pathlib import Path

import verifiers.v1 as vf

from gradekeeper_verifiers.grading import GradedTask, GradedTaskConfig, GradingConfig
from gradekeeper_verifiers.snapshot import SnapshotRules

__all__ = ["TinyTaskset"]
REPOSITORY, BASKET = Path(__file__).parent / "repository", "src/shop/Basket.java"


class TinyGrading(GradingConfig):
    suite: str = "tiny-basket"


class TinyTaskConfig(GradedTaskConfig):
    grading: TinyGrading = TinyGrading()


class TinyTask(GradedTask, vf.Task[vf.TaskData, vf.State, TinyTaskConfig]):
    async def setup(self, runtime: vf.Runtime) -> None:
        await runtime.write(BASKET, (REPOSITORY / BASKET).read_bytes())

    def snapshot_rules(self) -> SnapshotRules:
        return SnapshotRules("src", max_files=20, max_bytes=100_000)

    @vf.reward(weight=1.0)
    async def repaired(self, trace: vf.Trace) -> float:
        return float(set(self.verdict(trace).verdict.outcomes) == {"P"})


class TinyConfig(vf.TasksetConfig):
    task: TinyTaskConfig = TinyTaskConfig()


class TinyTaskset(vf.Taskset[TinyTask, TinyConfig]):
    def load(self) -> list[TinyTask]:
        return [TinyTask(vf.TaskData(prompt=f"{BASKET} ignores pieces. Fix it."), self.config.task)]
