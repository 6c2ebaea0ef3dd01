"""A suite, a job and settings that the tests of Pods share."""

from __future__ import annotations

from typing import Any

from gradekeeper.api.spec import GradingJobSpec, SuiteLimits, SuiteResources
from gradekeeper.pods.build import FrozenSuite, PodSettings, ProbeTarget, build_pod


def digest(character: str) -> str:
    return f"sha256:{character * 64}"


SUITE = FrozenSuite(
    name="billing",
    version="1.0.0",
    suite_digest=digest("a"),
    image=f"docker.io/gradekeeper/billing@{digest('b')}",
    image_digest=digest("b"),
    lane_image=f"docker.io/gradekeeper/java17@{digest('c')}",
    lane_image_digest=digest("c"),
    index_digest=digest("d"),
    author_keyid="e" * 64,
    resources=SuiteResources.model_validate(
        {
            "referee": {"cpu": "200m", "memory": "192Mi"},
            "lane": {"cpu": "1500m", "memory": "1024Mi"},
        }
    ),
    limits=SuiteLimits(),
    tests={"": ("refunds/one", "refunds/two", "refunds/three"), "one": ("refunds/one",)},
    discriminating={"": (0,), "one": (0,)},
)
PROBE = ProbeTarget(address="10.0.0.5", port=8444, deadline_seconds=20)
SETTINGS = PodSettings()
PARTS: dict[str, Any] = {"configMaps": ["job-part-00", "job-part-01"], "digest": digest("1")}


def spec(**change: Any) -> GradingJobSpec:
    return GradingJobSpec.model_validate(
        {"suiteRef": {"name": "billing"}, "submission": PARTS, "nonce": "nonce-1", **change}
    )


def pod(**change: Any) -> dict[str, Any]:
    arguments: dict[str, Any] = {
        "job_name": "job",
        "namespace": "grading",
        "job_uid": "uid-1",
        "spec": spec(),
        "attempt": 1,
        "suite": SUITE,
        "settings": SETTINGS,
        "probe": PROBE,
        **change,
    }
    return build_pod(**arguments)
