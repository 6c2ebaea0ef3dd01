"""A termination message, or a whole Pod status, as the operator reads them.

The first byte says what the rest is: 0 a termination message, 1 the JSON of `status`, 2 the JSON of
a Pod.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from fuzz.targets import require
from gradekeeper.api.reasons import Decision, Reason
from gradekeeper.pods.classify import (
    ExpectedAttempt,
    PodFailed,
    PodFinished,
    PodPending,
    PodRunning,
    classify_pod,
    finished_at,
    started_at,
)
from gradekeeper.referee.result import (
    GRADED,
    LANE_LOST,
    ResultError,
    encode_result,
    parse_result,
)

MAX_LEN = 8192
SUITE, IMAGE, LANE, SUBMISSION = (f"sha256:{digit * 64}" for digit in "abcd")
NOW = datetime(2026, 1, 1, 0, 5, tzinfo=UTC)
EXPECTED = ExpectedAttempt(
    nonce="n1",
    attempt=1,
    suite_digest=SUITE,
    submission_digest=SUBMISSION,
    task="",
    tests=2,
    image_digest=IMAGE,
    lane_image_digest=LANE,
    deadline_seconds=600,
    user_namespaces="required",
)
MESSAGE: dict[str, Any] = {
    "schema": "gradekeeper.result/v1",
    "nonce": "n1",
    "attempt": 1,
    "suite": SUITE,
    "submission": SUBMISSION,
    "task": "",
    "decision": "Graded",
    "reason": "Completed",
    "message": "Every test has an outcome.",
    "outcomes": "PF",
    "isolation": {"network": "denied", "userNamespace": True, "uid": 10003},
    "log": f"sha256:{'e' * 64}",
    "times": {"total": 1.5},
}


def text(**changes: Any) -> bytes:
    document = {**MESSAGE, **changes}
    return json.dumps({key: value for key, value in document.items() if value is not ...}).encode()


def status(said: str, **changes: Any) -> dict[str, Any]:
    return {
        "phase": "Succeeded",
        "startTime": "2026-01-01T00:00:00Z",
        "conditions": [{"type": "PodScheduled", "status": "True"}],
        "containerStatuses": [
            {
                "name": "referee",
                "imageID": f"docker.io/x@{IMAGE}",
                "state": {
                    "terminated": {
                        "exitCode": 0,
                        "reason": "Completed",
                        "message": said,
                        "startedAt": "2026-01-01T00:00:01Z",
                        "finishedAt": "2026-01-01T00:00:05Z",
                    }
                },
            },
            {"name": "lane", "imageID": f"docker.io/y@{LANE}", "state": {"running": {}}},
        ],
        **changes,
    }


SPEC = {"containers": [{"name": "referee"}, {"name": "lane"}]}
GOOD = text().decode()
TAKEN = [{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}]
SEEDS = {
    "graded": b"\x00" + text(),
    "lost": b"\x00" + text(reason=LANE_LOST, outcomes="PN"),
    "rejected": b"\x00"
    + text(decision="Rejected", reason="SubmissionTooLarge", outcomes="NN", isolation=None),
    "unjudged": b"\x00"
    + text(decision="Unjudged", reason="RefereeFailed", outcomes=..., suite="", submission=""),
    **{
        f"another-{name}": b"\x00" + text(**{name: value})
        for name, value in {
            "nonce": "n2",
            "attempt": 2,
            "suite": SUBMISSION,
            "submission": SUITE,
            "task": "one",
            "outcomes": "PPP",
            "isolation": {"network": "reachable", "userNamespace": True},
        }.items()
    },
    "shared-users": b"\x00" + text(isolation={"network": "denied", "userNamespace": False}),
    "truncated": b"\x00" + text()[:200],
    "status": b"\x01" + json.dumps(status(GOOD)).encode(),
    "evicted": b"\x01"
    + json.dumps(
        status("", phase="Failed", reason="Evicted", message="Usage of EmptyDir exceeds")
    ).encode(),
    "disrupted": b"\x01" + json.dumps(status(GOOD, conditions=TAKEN)).encode(),
    "waiting": b"\x01"
    + json.dumps(
        status("", containerStatuses=[{"name": "lane", "state": {"waiting": {"reason": "x"}}}])
    ).encode(),
    "pod": b"\x02" + json.dumps({"metadata": {}, "spec": SPEC, "status": status(GOOD)}).encode(),
}
WORDS = [
    *(f'"{name}":'.encode() for name in MESSAGE),
    *(b'"Graded"', b'"Rejected"', b'"Unjudged"', b'"LaneLost"', b'"Completed"', b'"denied"'),
    *(b'"terminated":', b'"waiting":', b'"running":', b'"reason":', b'"DisruptionTarget"'),
    *(b'"deletionTimestamp":', b'"Evicted"', b'"9999-12-31T23:59:59Z"', b"[]", b"{}", b"null"),
]


def run(data: bytes) -> None:
    """Parse a message, or classify a Pod."""
    kind, body = data[:1], data[1:]
    if kind == b"\x00":
        check_message(body)
        # The API server carries text: what is not UTF-8 was replaced by the kubelet.
        classify({"metadata": {}, "spec": SPEC, "status": status(body.decode("utf-8", "replace"))})
        return
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return
    if isinstance(document, dict):
        classify(
            document if kind == b"\x02" else {"metadata": {}, "spec": SPEC, "status": document}
        )


def check_message(body: bytes) -> None:
    """A message that parses says the same once written again."""
    try:
        result = parse_result(body)
    except ResultError as error:
        require(str(error), "no reason")
        return
    try:
        again = parse_result(encode_result(result))
    except ResultError:
        # Spelled more densely than canonical JSON does, a message may be a little too long.
        require(len(body) > 3_000, "what was read cannot be written")
        return
    require((again.decision, again.outcomes) == (result.decision, result.outcomes), "it changed")


def classify(pod: dict[str, Any]) -> None:
    """Whatever a Pod looks like, a score is about this attempt and was isolated."""
    found = classify_pod(pod, expected=EXPECTED, now=NOW)
    pod_status = pod.get("status")
    if isinstance(pod_status, dict):
        started_at(pod_status)
        finished_at(pod_status)
    match found:
        case PodFinished(result=result):
            require(result.nonce == "n1" and result.attempt == 1, "of another job")
            require(result.suite == SUITE, "of another suite")
            require(result.outcomes is not None and len(result.outcomes) == 2, "other tests")
            if result.decision == GRADED and "P" in (result.outcomes or ""):
                facts = result.isolation or {}
                require(facts.get("network") == "denied", "a pass without isolation")
                require(facts.get("userNamespace") is True, "a pass without a user namespace")
        case PodFailed(reason=reason, message=message):
            require(reason.decision is Decision.UNJUDGED, f"{reason} fails an attempt")
            require(message.isprintable() and len(message) <= 512, "a strange message")
        case PodPending(reason=reason):
            require(not isinstance(reason, Reason) or reason.decision is None, "waits for an end")
        case _:
            require(isinstance(found, PodRunning), "something else")
