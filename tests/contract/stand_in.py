"""A stand-in for the operator: verdicts about jobs on the fake API, really signed."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from gradekeeper.api.reasons import Decision, Reason
from gradekeeper.api.spec import GradingJobSpec
from gradekeeper.api.status import Attempt
from gradekeeper.verdicts.model import Graded, Rejected, Unjudged, unjudged, verdict_document
from gradekeeper.verdicts.signing import (
    SigningKey,
    attestation_from_envelope,
    generate_key,
)
from gradekeeper.verdicts.statement import (
    Issuer,
    JobIdentity,
    SuiteIdentity,
    build_verdict_statement,
    encode_statement,
)

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
SUITE = SuiteIdentity(
    name="billing",
    version="1.0.0",
    digest="sha256:" + "a" * 64,
    image="sha256:" + "b" * 64,
    lane_image="sha256:" + "c" * 64,
    index="sha256:" + "d" * 64,
    author="e" * 64,
)
GOLD_DIGEST = "sha256:" + "f" * 64


class StandIn:
    """Signs verdicts about jobs as the operator does, with a key of its own."""

    def __init__(self) -> None:
        private_pem, self.public_pem = generate_key()
        self.key = SigningKey.from_pem(private_pem)

    def statement(
        self,
        job: dict[str, Any],
        verdict: Graded | Rejected | Unjudged,
        *,
        ids: bool = True,
        suite: SuiteIdentity | None = SUITE,
    ) -> dict[str, Any]:
        """The statement about a job as the fake API holds it."""
        spec = GradingJobSpec.model_validate(job["spec"])
        metadata = job["metadata"]
        scored = not isinstance(verdict, Unjudged)
        graded = isinstance(verdict, Graded)
        return build_verdict_statement(
            verdict=verdict,
            job=JobIdentity(metadata["namespace"], metadata["name"], metadata["uid"], spec),
            suite=suite,
            submission_digest=GOLD_DIGEST if spec.submission.builtin else None,
            attempts=[Attempt(number=1, pod_name="p", node_name="n", reason="Completed")]
            if graded
            else [],
            isolation={"network": "denied"} if graded else None,
            log=None,
            test_ids=[f"group/test_{n}" for n in range(len(verdict.outcomes))]
            if scored and ids
            else None,
            issued_at=NOW,
            issuer=Issuer("0.1.0", "gradekeeper/main"),
        )

    def sign(self, statement: dict[str, Any]) -> bytes:
        """The envelope of a statement."""
        return self.key.sign(encode_statement(statement))

    def status(
        self, job: dict[str, Any], verdict: Graded | Rejected | Unjudged, **how: Any
    ) -> dict[str, Any]:
        """The status of a finished job."""
        envelope = self.sign(self.statement(job, verdict, **how))
        succeeded = "False" if isinstance(verdict, Unjudged) else "True"
        return {
            "verdict": verdict_document(verdict),
            "attestation": attestation_from_envelope(envelope),
            "conditions": [condition("Succeeded", succeeded, "Finished")],
        }


def graded(outcomes: str = "PPF") -> Graded:
    return Graded(decision=Decision.GRADED, reason=Reason.COMPLETED, outcomes=outcomes)


def lost() -> Unjudged:
    return unjudged(Reason.POD_LOST)


def condition(kind: str, status: str, reason: str) -> dict[str, Any]:
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
