"""Advice comes from what happened: each reason in each of the circumstances that it can have."""

from __future__ import annotations

import base64
import itertools
import json
from typing import Any

import pytest

from gradekeeper.api.reasons import Decision, Reason, reasons_for
from gradekeeper.cli._advice import ADVICE, Circumstances, advise
from gradekeeper.cli._explain import explain_job
from gradekeeper.referee.build_ends import (
    BUILD_ENDS,
    ERRORS,
    MEMORY,
    NAME_TOO_LONG,
    NO_SOURCES,
    RESERVED_PACKAGE,
    TIME,
    TOO_MANY,
)

NEVER = (
    "before the submission was released",
    "Nothing submitted has run",
    "give the referee more memory",
    "would not change it",
)
"""Were said of ends that they were not true of."""
UNJUDGED = reasons_for(Decision.UNJUDGED)
EVERY = [
    Circumstances(reasons, placed, said, message, builtin, claimed, passed, 3)
    for reasons, placed, said, message, builtin, claimed, passed in itertools.product(
        [(), ("PodLost",), ("RefereeFailed",) * 3, ("NodeLost", "RefereeFailed", "")],
        [None, False, True],
        [None, False, True],
        ["", ERRORS, TOO_MANY],
        ["", "gold", "null"],
        [False, True],
        [0, 3],
    )
]


def text(reason: Reason, **seen: Any) -> str:
    return " ".join(advise(reason, Circumstances(**seen)))


@pytest.mark.parametrize("reason", Reason)
def test_nothing_is_ever_said_that_is_not_always_true(reason: Reason) -> None:
    for seen in EVERY:
        explanation, todo = advise(reason, seen)
        for said in (explanation, todo):
            assert said[0].isupper() and said.endswith(".") and "  " not in said
            assert not any(sentence in said for sentence in NEVER), said
        scored = reason.decision is not Decision.UNJUDGED
        assert scored == ("do not score it" not in todo)


CASES: list[tuple[Reason, dict[str, Any], list[str], list[str]]] = [
    # reason, circumstances, what has to be said, what must not be said
    (
        Reason.REFEREE_FAILED,
        {"reasons": ("RefereeFailed",) * 3, "said": False},
        ["left no result", "All 3 attempts ended so", "this one may be causing it"],
        ["in different ways", "lived to say so"],
    ),
    (
        Reason.REFEREE_FAILED,
        {"reasons": ("RefereeFailed",), "said": True},
        ["lived to say so itself"],
        ["left no result", "attempts ended"],
    ),
    (Reason.REFEREE_FAILED, {}, ["does not say at which moment"], ["left no result"]),
    (
        Reason.REFEREE_FAILED,
        {"reasons": ("NodeLost", "RefereeFailed")},
        ["in different ways (NodeLost, RefereeFailed)"],
        ["may be causing it"],
    ),
    (
        Reason.IMAGE_PULL_FAILED,
        {"reasons": ("ImagePullFailed",) * 2},
        ["no passing trouble"],
        ["may be causing it"],
    ),
    (
        Reason.POD_LOST,
        {"reasons": ("PodLost",), "placed": False},
        ["never saw the Pod on a node"],
        [],
    ),
    (
        Reason.POD_LOST,
        {"reasons": ("PodLost",), "placed": True},
        [],
        ["never saw the Pod on a node"],
    ),
    (Reason.LANE_LOST, {"said": False, "total": 3}, ["kubelet's record"], []),
    (Reason.LANE_LOST, {"said": True, "total": 3}, [], ["kubelet's record"]),
    (Reason.SUBMISSION_TOO_LARGE, {"claimed": True}, ["client's claim"], ["maxBytes`, or"]),
    (Reason.SUBMISSION_MALFORMED, {"claimed": True}, ["Nothing of it arrived"], ["no tar.gz"]),
    (Reason.SUBMISSION_MALFORMED, {}, ["no tar.gz"], ["claim"]),
    (Reason.DOES_NOT_COMPILE, {"message": ERRORS}, ["refused the sources"], ["limit"]),
    (Reason.DOES_NOT_COMPILE, {"message": NO_SOURCES}, ["nothing to compile"], ["refused"]),
    (Reason.DOES_NOT_COMPILE, {"message": TIME}, ["still busy"], ["refused"]),
    (Reason.DOES_NOT_COMPILE, {"message": MEMORY}, ["heapMiB"], ["refused"]),
    (Reason.DOES_NOT_COMPILE, {"message": TOO_MANY}, ["may be right", "limit"], ["refused"]),
    (Reason.DOES_NOT_COMPILE, {"message": NAME_TOO_LONG}, ["may be right"], ["refused"]),
    (Reason.DOES_NOT_COMPILE, {"message": RESERVED_PACKAGE}, ["another name"], ["refused"]),
    (Reason.DOES_NOT_COMPILE, {"message": "text"}, ["refused the sources, or a bound"], []),
    (
        Reason.COMPLETED,
        {"builtin": "gold", "passed": 2, "total": 3},
        ["own right answer", "suite check"],
        ["Use the verdict"],
    ),
    (Reason.COMPLETED, {"builtin": "gold", "passed": 3, "total": 3}, ["Use the verdict"], []),
    (Reason.COMPLETED, {"builtin": "null", "total": 3}, ["Use the verdict"], ["own right"]),
    (Reason.COMPLETED, {"passed": 2, "total": 3}, ["Use the verdict"], ["own right"]),
]


@pytest.mark.parametrize(("reason", "seen", "said", "unsaid"), CASES)
def test_advice_follows_what_happened(
    reason: Reason, seen: dict[str, Any], said: list[str], unsaid: list[str]
) -> None:
    found = text(reason, **seen)
    assert all(words in found for words in said), found
    assert not any(words in found for words in unsaid), found


@pytest.mark.parametrize("message", sorted(BUILD_ENDS))
def test_every_end_of_a_build_has_a_text_that_is_not_the_general_one(message: str) -> None:
    assert (
        advise(Reason.DOES_NOT_COMPILE, Circumstances(message=message))
        != (ADVICE[Reason.DOES_NOT_COMPILE])
    )


@pytest.mark.parametrize("reason", UNJUDGED)
def test_one_attempt_is_not_told_as_a_row(reason: Reason) -> None:
    assert "attempts ended" not in text(reason, reasons=(reason.value,))


def job(reasons: list[str], log: str | None, **submission: Any) -> dict[str, Any]:
    """A job whose last attempt left a result or none, by its statement."""
    statement = {"predicate": {"log": log, "isolation": None}}
    payload = base64.b64encode(json.dumps(statement).encode()).decode()
    envelope = base64.b64encode(json.dumps({"payload": payload}).encode()).decode()
    return {
        "metadata": {"namespace": "g", "name": "j", "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"suiteRef": {"name": "s"}, "submission": submission, "nonce": "n"},
        "status": {
            "attempts": [
                {"number": number, "podName": f"j-{number}", "reason": reason, "message": "M."}
                for number, reason in enumerate(reasons, 1)
            ],
            "verdict": {"decision": "Unjudged", "reason": reasons[-1], "message": "M."},
            "attestation": envelope,
        },
    }


def explained(document: dict[str, Any]) -> str:
    found = explain_job(document, ids=None, suite=None, events=[], verified=False)
    return " ".join([*found.happened, *found.todo])


def test_explain_reads_the_circumstances_from_the_job() -> None:
    killed = explained(job(["RefereeFailed"] * 3, None, configMaps=["p"]))
    assert "All 3 attempts ended so" in killed and "left no result" in killed
    told = explained(job(["PodLost", "RefereeFailed"], "sha256:1", configMaps=["p"]))
    assert "lived to say so itself" in told and "(PodLost, RefereeFailed)" in told
    lost = explained(job(["PodLost"], None, builtin="gold"))
    assert "The operator never saw the Pod on a node." in lost
    unsigned = job(["RefereeFailed"], None, configMaps=["p"])
    unsigned["status"]["attestation"] = "bm90IGpzb24="
    assert "left no result" not in explained(unsigned)
