"""The operator as a whole: its real process with real kopf watches and real HTTP."""

from __future__ import annotations

from pathlib import Path

import pytest

from contract.world import a_world, submit
from gradekeeper.verdicts.signing import envelope_from_attestation
from gradekeeper.verdicts.verify import verify_verdict

pytestmark = pytest.mark.timeout(120)


async def test_a_submission_becomes_a_signed_verdict(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        await world.operator.start()
        await world.ready()
        submit(world.api, "one")
        (job,) = await world.settle("one")
        status = job["status"]
        assert status["verdict"]["decision"] == "Graded"
        assert status["verdict"]["tests"] == {"total": 4, "passed": 4, "failed": 0}
        found = verify_verdict(
            envelope_from_attestation(status["attestation"]),
            [world.public_pem],
            nonce="nonce-one",
            digest=job["spec"]["submission"]["digest"],
            job_uid=job["metadata"]["uid"],
        )
        assert found.statement["predicate"]["isolation"]["qosClass"] == "Guaranteed"
