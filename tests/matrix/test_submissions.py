"""The submissions' half of the attribution matrix: no fault of a submission becomes an error.

Each case is graded by the local engine and on the cluster: one attempt, exactly the outcomes that
`submissions.py` expects, the same in both places.
"""

from __future__ import annotations

import pytest

from .local import LOCAL, LocalEngine
from .submissions import CASES, Case
from .world import ROWS, Job, World

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def test_every_job_has_a_name_of_its_own() -> None:
    assert len({case.slug for case in CASES}) == len(CASES)


@every_case
def test_by_the_local_engine(local: LocalEngine, case: Case) -> None:
    found = local.result(case)
    assert (found.decision, found.reason) == (case.decision, case.reason)
    assert found.outcomes in case.outcomes


@pytest.mark.cluster
@every_case
def test_on_the_cluster(world: World, submitted: dict[str, Job], case: Case) -> None:
    world.judge(
        case.name,
        submitted[case.name],
        attempts=[case.reason],
        decision=case.decision,
        reason=case.reason,
        outcomes=case.outcomes,
        limit=280,
    )


def test_both_gave_the_same(request: pytest.FixtureRequest) -> None:
    local = request.config.stash[LOCAL]
    both = [(row, local[row.case]) for row in request.config.stash[ROWS] if row.case in local]
    if not both:
        pytest.skip("no case was graded in both places")
    free = {case.name for case in CASES if len(case.outcomes) > 1}
    for there, here in both:
        assert (there.decision, there.reason) == (here.decision, here.reason), there.case
        assert there.outcomes == here.outcomes or there.case in free, there.case
