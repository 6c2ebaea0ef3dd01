"""Every shape of a Pod's status, held against an oracle that is stated in words.

The words, which do not look at how `classify` decides:

* A referee that ended by itself (exit status 0, no signal) and left a whole result of this attempt
  is believed, whatever else is noted about its container, the lane or the Pod.
* A message that is cut, doubled, foreign, or that a process left which did not end by itself, is
  never believed: it is worth as much as none.
* A result that is cut short (`LaneLost`, `RefereeFault`) counts only while nobody took the Pod
  away: no disruption, no deletion, no lost node.
* Without a result there is no score, but where the Pod was evicted for what its lane stored:
  then no test has a result.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from gradekeeper.api.reasons import Decision
from gradekeeper.pods.classify import CUT_SHORT, PodFailed, PodFinished
from gradekeeper.referee.result import RefereeResult, encode_result
from unit.pods.test_classify import (
    COMPLETED,
    LANE_LOST,
    NOT_COMPILING,
    OWN_FAULT,
    REJECTED,
    RUNNING,
    UNJUDGED,
    classify,
    seen,
    terminated,
)

TEXT = encode_result(COMPLETED).decode()
WHOLE = {result.reason: result for result in (COMPLETED, NOT_COMPILING, REJECTED)}
SHORT = {result.reason: result for result in (LANE_LOST, OWN_FAULT)}
UNBELIEVABLE = {
    "none": None,
    "empty": "",
    "cut": TEXT[:-1],
    "cut at 4096 bytes": TEXT[:-1] + " " * (4096 - len(TEXT)),
    "longer than 4096 bytes": TEXT + " " * 4096,
    "twice": TEXT + TEXT,
    "a field twice": TEXT[:-1] + ',"reason":"Completed"}',
    "of another nonce": encode_result(dataclasses.replace(COMPLETED, nonce="n-2")).decode(),
    "of another attempt": encode_result(dataclasses.replace(COMPLETED, attempt=2)).decode(),
    "a test short": encode_result(dataclasses.replace(COMPLETED, outcomes="PP")).decode(),
    "a test more": encode_result(dataclasses.replace(COMPLETED, outcomes="PPPP")).decode(),
    "without isolation": encode_result(
        dataclasses.replace(COMPLETED, isolation={"network": "open"})
    ).decode(),
    "unjudged": encode_result(UNJUDGED).decode(),
}
MESSAGES = {
    **UNBELIEVABLE,
    **{name: encode_result(result).decode() for name, result in (WHOLE | SHORT).items()},
}
KUBELET_WORDS = (
    "",
    "Completed",
    "Error",
    "OOMKilled",
    "ContainerCannotRun",
    "StartError",
    "ContainerStatusUnknown",
    "DeadlineExceeded",
    "Evicted",
    "SomethingNew",
)
ENDINGS = ((0, 0), (0, 9), (1, 0), (137, 9), (255, 0))
STORED = 'Usage of EmptyDir volume "scratch" exceeds the limit "16Mi".'
PODS: dict[str, dict[str, Any]] = {
    "running": {},
    "succeeded": {"phase": "Succeeded"},
    "failed": {"phase": "Failed"},
    "stored": {"phase": "Failed", "reason": "Evicted", "message": STORED},
    "deadline": {"phase": "Failed", "reason": "DeadlineExceeded"},
    "unknown": {"phase": "Unknown", "reason": "NodeLost"},
    "shutdown": {"phase": "Failed", "reason": "NodeShutdown"},
    "evicted": {"disruption": "EvictionByEvictionAPI"},
    "drained": {"disruption": "EvictionByEvictionAPI", "phase": "Failed", "deleted": True},
    "taint": {"disruption": "DeletionByTaintManager", "deleted": True},
    "deleted": {"deleted": True},
}
TAKEN = {"unknown", "shutdown", "evicted", "drained", "taint", "deleted"}
LANES = (RUNNING, terminated(137, "OOMKilled"), terminated(0))


def shapes() -> Iterator[tuple[str, tuple[int, int], str, str]]:
    return itertools.product(MESSAGES, ENDINGS, KUBELET_WORDS, PODS)


def ended(message: str, ending: tuple[int, int], word: str) -> dict[str, Any]:
    code, signal = ending
    state = terminated(code, word, MESSAGES[message])
    if signal:
        state["terminated"]["signal"] = signal
    return state


def believed(message: str, ending: tuple[int, int]) -> RefereeResult | None:
    return (WHOLE | SHORT).get(message) if ending == (0, 0) else None


@pytest.mark.parametrize("lane", LANES, ids=["running", "killed", "ended"])
def test_every_shape(lane: dict[str, Any]) -> None:
    count = 0
    for message, ending, word, fate in shapes():
        found = classify(seen(ended(message, ending, word), lane, **PODS[fate]))
        result = believed(message, ending)
        shape = (message, ending, word, fate, found)
        count += 1
        if result is not None and result.reason in WHOLE:
            assert found == PodFinished(result), shape
        elif fate in TAKEN or (word == "ContainerStatusUnknown" and fate != "stored"):
            assert isinstance(found, PodFailed), shape
            assert found.reason.decision is Decision.UNJUDGED, shape
        elif result is not None and fate != "deadline":
            assert found == PodFinished(result), shape
        elif fate == "stored":
            assert isinstance(found, PodFinished), shape
            assert (found.result.reason, found.result.outcomes) == ("LaneLost", "NNN"), shape
        else:
            assert isinstance(found, PodFailed), shape
            assert found.reason.decision is Decision.UNJUDGED, shape
    assert count == len(MESSAGES) * len(ENDINGS) * len(KUBELET_WORDS) * len(PODS) > 8_000


@pytest.mark.parametrize("fate", PODS)
@pytest.mark.parametrize("now", [RUNNING, {"waiting": {"reason": "CrashLoopBackOff"}}])
def test_a_whole_result_of_an_earlier_process_counts(now: dict[str, Any], fate: str) -> None:
    """A container that was started again, although nobody asks for that: restart counts too."""
    manifest = seen(now, **PODS[fate])
    referee = manifest["status"]["containerStatuses"][1]
    referee |= {"restartCount": 1, "lastState": ended("Completed", (0, 0), "OOMKilled")}
    assert classify(manifest) == PodFinished(COMPLETED)
    # And it does not change when the second process ends, however it does.
    for second in (ended("DoesNotCompile", (0, 0), "Completed"), terminated(1, "Error")):
        referee["state"] = second
        assert classify(manifest) == PodFinished(COMPLETED)


@pytest.mark.parametrize("message", [*UNBELIEVABLE, *SHORT])
def test_anything_less_of_an_earlier_process_does_not_count(message: str) -> None:
    manifest = seen(ended("DoesNotCompile", (0, 0), "Completed"))
    referee = manifest["status"]["containerStatuses"][1]
    referee |= {"restartCount": 1, "lastState": ended(message, (0, 0), "Completed")}
    assert classify(manifest) == PodFinished(NOT_COMPILING)
    referee["state"] = terminated(1, "Error")
    assert isinstance(classify(manifest), PodFailed)


def test_a_status_that_has_the_referee_twice_is_not_believed() -> None:
    manifest = seen(ended("Completed", (0, 0), "Completed"))
    statuses = manifest["status"]["containerStatuses"]
    statuses.append({**statuses[1]})
    assert isinstance(classify(manifest), PodFailed)


def test_statuses_of_containers_that_are_missing() -> None:
    """Which image a missing lane ran is not known, so nothing is believed; nor without referee."""
    for fate in PODS.values():
        for referee, lane in ((ended("Completed", (0, 0), "Completed"), None), (None, RUNNING)):
            found = classify(seen(referee, lane, **fate))
            assert not isinstance(found, PodFinished) or found.result.outcomes == "NNN"


@pytest.mark.parametrize("code", [False, 0.0, "0", None])
def test_an_exit_status_that_is_not_the_number_0(code: object) -> None:
    state = ended("Completed", (0, 0), "Completed")
    state["terminated"]["exitCode"] = code
    assert isinstance(classify(seen(state)), PodFailed)


def test_what_a_vanishing_platform_can_cause_is_named() -> None:
    assert CUT_SHORT == {"LaneLost", "RefereeFault"}
