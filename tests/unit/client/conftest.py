"""A fake API server, a connection to it that retries at once, and a signing stand-in."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest
import pytest_asyncio

from contract.fake_api import FakeApi
from contract.stand_in import StandIn
from gradekeeper.client import Backoff, Connection, GradingClient, JobRequest, ServerSettings

NAMESPACE = "grading"


def settings_for(api: FakeApi, authorization: Callable[[], str | None]) -> ServerSettings:
    return ServerSettings(
        url=api.url,
        namespace=NAMESPACE,
        verify=None,
        server_name=None,
        authorization=authorization,
    )


@pytest.fixture(scope="session")
def stand_in() -> StandIn:
    return StandIn()


@pytest_asyncio.fixture
async def api() -> AsyncIterator[FakeApi]:
    async with FakeApi().running() as running:
        yield running


@pytest_asyncio.fixture
async def connection(api: FakeApi) -> AsyncIterator[Connection]:
    async with Connection(
        lambda: settings_for(api, lambda: None),
        retry_for=5.0,
        backoff=Backoff(first=0.001, most=0.01),
    ) as opened:
        yield opened


@pytest_asyncio.fixture
async def client(connection: Connection, stand_in: StandIn) -> AsyncIterator[GradingClient]:
    async with GradingClient(public_keys=[stand_in.public_pem], connection=connection) as opened:
        yield opened


@pytest.fixture
def request_() -> JobRequest:
    return JobRequest(suite="billing", submission=b"archive", nonce="nonce-1")


@pytest_asyncio.fixture(autouse=True)
async def nothing_left_behind() -> AsyncIterator[None]:
    """Every task that a test's client started is gone when the test is over."""
    before = asyncio.all_tasks()
    yield
    left = [t for t in asyncio.all_tasks() - before if t.get_name().startswith("watch ")]
    assert not left
