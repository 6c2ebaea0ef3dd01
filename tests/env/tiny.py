"""The suite of two tests that docs/write-a-suite.md makes, on the real cluster, and its agents."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from demo import images, stage
from demo.commands import ROOT, Cluster

from env.scripted_model import Message, call_tools, say

TASKSETS = ROOT / "docs" / "examples" / "tiny"
SUITE = TASKSETS / "suite"
NAME = "tiny-basket"
REPAIR = "sed -i 's/+= centsEach/+= pieces * centsEach/' src/shop/Basket.java"
SPOIL = "rm src/shop/Basket.java"
PROMPT = "src/shop/Basket.java ignores pieces. Fix it."


class Agents:
    """Plays the rollouts of a run: every other one, the first too, repairs the basket."""

    def __init__(self) -> None:
        self._commands: dict[str, str] = {}
        self._lock = threading.Lock()

    def play(self, request: dict[str, Any], rollout: str) -> Message:
        with self._lock:
            repairs = len(self._commands) % 2 == 0
            command = self._commands.setdefault(rollout, REPAIR if repairs else SPOIL)
        asked = next(m["content"] for m in request["messages"] if m["role"] == "user")
        assert asked == PROMPT
        if any(message["role"] == "tool" for message in request["messages"]):
            return say("done")
        return call_tools(0, ("bash", {"command": command}))

    @property
    def earned(self) -> dict[str, tuple[float, str]]:
        """Rollout → the reward that it has earned, and the reason of its verdict."""
        return {
            rollout: (1.0, "Completed") if command == REPAIR else (0.0, "DoesNotCompile")
            for rollout, command in self._commands.items()
        }


@contextmanager
def published(cluster: Cluster) -> Iterator[Path]:
    """The suite on the cluster, admitted; yields the file with the installation's key."""
    stage.OUT.mkdir(parents=True, exist_ok=True)
    found = stage.Images.load()
    stage.install(cluster, found)
    made = images.build_bundle(cluster, SUITE, NAME)
    image = images.build_suite_image(cluster, made, NAME)
    try:
        stage.publish_suite(cluster, NAME, image, found.lane)
        yield stage.verdict_key(cluster)
    finally:
        gone = ("-n", stage.NAMESPACE, "delete", "--ignore-not-found", "--timeout=60s")
        cluster.kubectl(*gone, "gradingsuite", NAME)
        cluster.kubectl(*gone, "configmap", f"{NAME}-index")
