"""On the real cluster: an agent that left processes has no box any more when its grading begins."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest
import verifiers.v1 as vf
from demo import stage
from demo.commands import Cluster
from verifiers.v1.runtimes import provision_runtime

from env import tiny
from env.boxes import Place, open_place

pytestmark = [pytest.mark.cluster, pytest.mark.slow, pytest.mark.timeout(900)]

# Processes that ignore a polite end and use what they can of the node, one of them watching for the
# submission, and a heap of files that take their node a while to remove.
LEAVES = """
cat >/tmp/stay <<'END'
trap "" TERM HUP INT
while :; do touch src/shop/Late.java; done
END
for n in 1 2; do setsid sh /tmp/stay </dev/null >/dev/null 2>&1 & done
mkdir /tmp/heap; cd /tmp/heap
python3 -c 'for n in range(5000): open(str(n), "w").close()'
"""


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    with open_place() as opened:
        yield opened


class Events:
    """Every change of a Pod, in the order in which the API server made them."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.seen: list[tuple[str, dict[str, Any]]] = []
        self.began = threading.Event()
        self._stream = stream

    def read(self) -> None:
        """Read until the stream ends."""
        for line in self._stream:
            event = json.loads(line)
            self.seen.append((event["type"], event["object"]))
            self.began.set()


@contextmanager
def pods_watched(cluster: Cluster) -> Iterator[Events]:
    chosen = ["--context", cluster.context] if cluster.context else []
    command = [cluster.program("kubectl"), *chosen, "get", "pods", "-A", "--watch"]
    with subprocess.Popen(
        [*command, "--output-watch-events", "-o", "json"],
        env=dict(cluster.environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        events = Events(process.stdout)
        reading = threading.Thread(target=events.read)
        reading.start()
        try:
            # The system's own Pods come first, so the watch is there before anything happens.
            assert events.began.wait(60)
            yield events
        finally:
            process.kill()
            reading.join()


async def test_the_box_is_gone_before_its_grading_begins(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VF_RUN_ID", "test-ending")
    monkeypatch.syspath_prepend(tiny.TASKSETS)
    from tiny_basket import TinyGrading, TinyTask, TinyTaskConfig

    with tiny.published(place.cluster) as key, pods_watched(place.cluster) as events:
        grading = TinyGrading(
            context=place.cluster.context,
            kubeconfig=place.cluster.environment.get("KUBECONFIG"),
            namespace=stage.NAMESPACE,
            public_keys=[Path(key)],
        )
        task = TinyTask(vf.TaskData(prompt=tiny.PROMPT), TinyTaskConfig(grading=grading))
        trace: Any = vf.Trace(
            task=vf.TraceTask(type="TinyTask", data=task.data, key=task.key, hash=task.hash),
            agent=vf.AgentInfo(config=vf.AgentConfig()),
        )
        async with provision_runtime(place.config(), "r-1") as box:
            await task.setup(box)
            done = await box.run(["sh", "-c", tiny.REPAIR + LEAVES], {})
            assert done.exit_code == 0, done.stderr
            await task.finalize(trace, box)
            assert not await box.alive()

    kept = trace.info["gradekeeper"]
    assert (kept["decision"], kept["reason"]) == ("Graded", "Completed")
    _, _, job = kept["job"].partition("/")
    boxes = [
        at
        for at, (kind, pod) in enumerate(events.seen)
        if kind == "DELETED" and pod["metadata"]["namespace"] == place.namespace
    ]
    gradings = [
        at
        for at, (kind, pod) in enumerate(events.seen)
        if kind == "ADDED"
        and [owner["name"] for owner in pod["metadata"].get("ownerReferences", [])] == [job]
    ]
    assert len(boxes) == 1 and gradings
    assert boxes[0] < gradings[0]
