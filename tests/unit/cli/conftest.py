"""A cluster for the command line: the fake API in a thread, with a stand-in that answers jobs."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner, Result

from contract.fake_api import FakeApi, Manifest
from contract.stand_in import StandIn
from gradekeeper.cli.main import app


@dataclass
class Cluster(FakeApi):
    """Answers every new job at once with the status that `answer` gives, if it gives one."""

    answer: Callable[[Manifest], dict[str, Any] | None] = field(default=lambda job: None)

    def __post_init__(self) -> None:
        FakeApi.__init__(self)
        super().create("namespaces", "", {"metadata": {"name": "grading"}})
        self.loop = asyncio.new_event_loop()

    def during(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine beside the command, on the server's loop."""
        self.running_beside = asyncio.run_coroutine_threadsafe(work, self.loop)

    def create(self, plural: str, namespace: str, obj: Manifest) -> Manifest:
        job = super().create(plural, namespace, obj)
        if plural == "gradingjobs" and (status := self.answer(job)) is not None:
            job = self.set_status(plural, namespace, job["metadata"]["name"], status)
        return job


@pytest.fixture(scope="session")
def stand_in() -> StandIn:
    return StandIn()


@pytest.fixture
def key(stand_in: StandIn, tmp_path: Path) -> str:
    path = tmp_path / "verdict.pub"
    path.write_bytes(stand_in.public_pem)
    return str(path)


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    ready = threading.Event()
    served = Cluster()
    loop = served.loop

    async def serve(stop: asyncio.Event) -> None:
        async with served.running():
            ready.set()
            await stop.wait()

    stop = asyncio.Event()
    thread = threading.Thread(target=loop.run_until_complete, args=(serve(stop),))
    thread.start()
    try:
        assert ready.wait(10)
        config = tmp_path / "kubeconfig"
        config.write_text(
            yaml.safe_dump(
                {
                    "current-context": "main",
                    "contexts": [
                        {
                            "name": "main",
                            "context": {"cluster": "c", "user": "u", "namespace": "grading"},
                        }
                    ],
                    "clusters": [{"name": "c", "cluster": {"server": served.url}}],
                    "users": [{"name": "u", "user": {"token": "t"}}],
                }
            )
        )
        monkeypatch.setenv("KUBECONFIG", str(config))
        yield served
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)
        loop.close()


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    monkeypatch.delenv("GRADEKEEPER_KEY", raising=False)
    monkeypatch.setenv("COLUMNS", "200")

    def call(*args: str, stdin: bytes | None = None) -> Result:
        result = CliRunner().invoke(app, list(args), input=stdin)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return call
