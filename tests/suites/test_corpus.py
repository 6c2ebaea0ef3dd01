"""A sample of the corpus by the real engine; `make corpus` grades all of it, three times."""

import pytest

from corpus.__main__ import Piece, grade, prepare
from corpus.tally import Graded, Row
from gradekeeper.referee.local import LocalLane
from gradekeeper.suites.bundle import Bundle

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

SAMPLE = {
    "refunds-lock-of-one-call": "wrong",
    "webhooks-failure-is-answered": "wrong",
    "dedup-in-the-default-locale": "wrong",
    "tax-rate-as-double": "wrong",
    "payments-invoice-before-key": "right",
    "refunds-reserved-under-a-monitor": "right",
    "coupons-refused-by-a-subclass": "right",
}


@pytest.fixture(scope="module")
def prepared(
    tmp_path_factory: pytest.TempPathFactory, lane: LocalLane
) -> tuple[Bundle, dict[str, Piece]]:
    bundle, pieces = prepare(tmp_path_factory.mktemp("corpus"), lane, whole=False)
    return bundle, {piece.entry.name: piece for piece in pieces}


@pytest.mark.parametrize("name", SAMPLE)
def test_a_sample_is_told_right_from_wrong(
    name: str, prepared: tuple[Bundle, dict[str, Piece]], lane: LocalLane
) -> None:
    bundle, pieces = prepared
    graded = grade(bundle, lane, pieces[name])
    assert isinstance(graded, Graded), graded
    row = Row(pieces[name].entry, pieces[name].services, (graded,))
    assert row.entry.side == SAMPLE[name]
    assert row.finding == "", graded
    assert (graded.failed > 0) == (row.entry.side == "wrong")
