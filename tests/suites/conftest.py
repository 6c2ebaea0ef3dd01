"""The real local engine and the real first suite, built once."""

from pathlib import Path

import pytest

from gradekeeper.referee.local import LocalLane
from gradekeeper.suites.bundle import Bundle, build_bundle

ROOT = Path(__file__).parents[2]
BILLING = ROOT / "assets" / "suites" / "billing-payment-debug"


@pytest.fixture(scope="session")
def lane() -> LocalLane:
    """`make -C lanes OUT=../build/lanes` builds it; without it these tests fail, not pass."""
    return LocalLane.from_environment()


@pytest.fixture(scope="session")
def bundle(tmp_path_factory: pytest.TempPathFactory, lane: LocalLane) -> Bundle:
    return build_bundle(BILLING, tmp_path_factory.mktemp("billing") / "bundle", kit=lane.kit)
