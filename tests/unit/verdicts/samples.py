"""Keys, jobs and statements that the tests of verdicts share."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from gradekeeper.api.spec import GradingJobSpec, SuiteLimits, SuiteResources
from gradekeeper.api.status import Attempt
from gradekeeper.verdicts.model import Graded, Rejected, Unjudged, parse_verdict
from gradekeeper.verdicts.signing import SigningKey, generate_key
from gradekeeper.verdicts.statement import (
    Issuer,
    JobIdentity,
    SuiteIdentity,
    build_verdict_statement,
)

PRIVATE, PUBLIC = generate_key()
KEY = SigningKey.from_pem(PRIVATE)


def digest(character: str) -> str:
    return f"sha256:{character * 64}"


SUITE = SuiteIdentity(
    name="billing",
    version="1.0.0",
    digest=digest("a"),
    image=digest("b"),
    lane_image=digest("c"),
    index=digest("d"),
    author="e" * 64,
)
ATTEMPT = Attempt(
    number=1,
    pod_name="job-12345678-1",
    pod_uid="pod-uid",
    node_name="node-1",
    reason="Completed",
    message="fine",
    started_at=datetime(2026, 1, 1, tzinfo=UTC),
    finished_at=datetime(2026, 1, 1, 0, 0, 5, tzinfo=UTC),
)
LIMITS = SuiteLimits()
RESOURCES = SuiteResources.model_validate(
    {"referee": {"cpu": "200m", "memory": "192Mi"}, "lane": {"cpu": "1", "memory": "1Gi"}}
)
ISOLATION = {"network": "denied", "userNamespace": True, "qosClass": "Guaranteed"}
PARTS = {"configMaps": ["job-part-00"], "digest": digest("1")}
GRADED: dict[str, Any] = {
    "decision": "Graded",
    "reason": "Completed",
    "message": "fine",
    "tests": {"total": 2, "passed": 1, "failed": 1},
    "outcomes": "PF",
}


def job(**spec: Any) -> JobIdentity:
    return JobIdentity(
        namespace="grading",
        name="job",
        uid="job-uid",
        spec=GradingJobSpec.model_validate(
            {
                "suiteRef": {"name": "billing"},
                "submission": PARTS,
                "nonce": "nonce-1",
                "group": "step 7",
                "task": "",
                "parameters": {"testTimeoutSeconds": "30"},
                **spec,
            }
        ),
    )


def statement(verdict: Graded | Rejected | Unjudged | None = None, **change: Any) -> dict[str, Any]:
    arguments: dict[str, Any] = {
        "verdict": verdict or parse_verdict(GRADED),
        "job": job(),
        "suite": SUITE,
        "submission_digest": digest("1"),
        "attempts": [ATTEMPT],
        "isolation": ISOLATION,
        "log": digest("f"),
        "test_ids": ["refunds/one", "refunds/two"],
        "issued_at": datetime(2026, 1, 1, 0, 0, 6, tzinfo=UTC),
        "issuer": Issuer(version="0.1.0", installation="gradekeeper-system/gradekeeper"),
        **change,
    }
    return build_verdict_statement(**arguments)
