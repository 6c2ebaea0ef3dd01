"""A node that lets nobody run fails no honest submission; none gets an excuse by itself."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from gradekeeper.api.reasons import Reason
from gradekeeper.pods.classify import PodFailed, PodFinished
from starved.stand import NEEDED_SECONDS, OVERBOOKED, PROMISED, Stand, first_choice, opened
from starved.submissions import PROVOCATIONS, honest

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def stand() -> Iterator[Stand]:
    if os.environ.get("GRADEKEEPER_CONTEXT"):
        pytest.skip("other people's nodes are not to be starved")
    with opened() as made:
        yield made


def test_on_a_free_node_the_honest_submission_passes_at_once(stand: Stand) -> None:
    with first_choice():
        graded = stand.grade(honest(NEEDED_SECONDS), PROMISED)
    assert isinstance(graded.observation, PodFinished)
    assert graded.observation.result.outcomes == "P"
    assert graded.timeouts() == []


def test_neighbours_that_burn_the_node_fail_no_honest_submission(stand: Stand) -> None:
    with first_choice(), stand.neighbours(pods=3, processes=2, cpu="200m"):
        graded = stand.grade(honest(NEEDED_SECONDS), OVERBOOKED)
    # Without the ticker's word it would have failed: its time was used up.
    timeouts = graded.timeouts()
    assert timeouts and all(event["excused"] for event in timeouts)
    observation = graded.observation
    if isinstance(observation, PodFailed):
        assert observation.reason is Reason.NODE_OVERLOADED
    else:
        assert isinstance(observation, PodFinished)
        assert observation.result.outcomes == "P"


@pytest.mark.parametrize("name", PROVOCATIONS)
def test_submissions_that_burn_the_node_get_no_excuse_by_themselves(
    stand: Stand, name: str
) -> None:
    with first_choice():
        graded = stand.grade(PROVOCATIONS[name], PROMISED)
    assert isinstance(graded.observation, PodFinished), graded.observation
    result = graded.observation.result
    assert (result.decision, result.outcomes) in {("Graded", "T"), ("Graded", "X")}
    assert not any(event["excused"] for event in graded.timeouts())
