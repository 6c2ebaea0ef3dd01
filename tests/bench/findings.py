"""What `make bench` concludes from its numbers: pure functions of what was measured.

Seconds decide nothing, for nobody knows how busy a machine was: they are printed beside their
targets. A ratio of two things that were measured in turn, in one run, decides; so does a grading
that says something else than it must.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from gradekeeper.referee.result import PASSED

SCRIPT_RATIO: Final = 3.0
"""So many times as long as gold through the cluster a sequential script must take, at least."""
REMAINDER: Final = "the rest: the referee's own start and end, the kubelet's reports"


def missed(report: Mapping[str, Any]) -> list[str]:
    """Which of the targets that decide this run missed, one sentence each.

    Args:
        report: part → what was measured in this run; a part that did not run misses nothing.
    """
    sentences = []
    failures = report.get("gold", {}).get("failures", [])
    if failures:
        count, first = len(failures), failures[0]
        sentences.append(
            f"gold failed {count} times through the cluster (target 0), first: {first}"
        )
    compared = report.get("sequential", {}).get("throughCluster")
    if compared is not None and not compared["ratio"] >= SCRIPT_RATIO:
        sentences.append(
            f"the sequential script took {compared['ratio']:g} times as long as gold through the"
            f" cluster (target ≥ {SCRIPT_RATIO:g})"
        )
    repeats = report.get("repeats", {})
    if repeats.get("goldFailed"):
        failing = ", ".join(repeats["goldFailedTests"])
        sentences.append(
            f"gold failed {repeats['goldFailed']} times among its repeats (target 0): {failing}"
        )
    if repeats.get("disagreements"):
        whose = "; ".join(
            f"{name}: {', '.join(found['disagreedOn'])}"
            for name, found in repeats["submissions"].items()
            if found["disagreedOn"]
        )
        sentences.append(
            f"{repeats['disagreements']} gradings disagree with the others of their submission"
            f" (target 0): {whose}"
        )
    return sentences


def compare(script: float, cluster: float) -> dict[str, float]:
    """The comparison that counts, as JSON.

    Args:
        script: median seconds of the sequential script.
        cluster: median seconds of gold through the cluster, measured in turn with the script.
    """
    return {"seconds": round(cluster, 3), "ratio": round(script / cluster, 3)}


def merge(
    previous: Mapping[str, Any],
    measured: Mapping[str, Mapping[str, Any]],
    parts: Sequence[str],
    stamp: Mapping[str, str],
) -> dict[str, Any]:
    """The newest measurement of every part.

    Args:
        previous: what the file says so far.
        measured: part → what this run measured.
        parts: every part there is, in the order of the file; whatever else is in it goes.
        stamp: when this run was, and of which commit.
    """
    fresh = {name: {**stamp, **found} for name, found in measured.items()}
    together = {**previous, **fresh}
    return {name: together[name] for name in parts if name in together}


def break_down(
    started: float,
    submitted: float,
    ended: float,
    seen: Mapping[str, float],
    times: Mapping[str, float],
) -> dict[str, float]:
    """Where the seconds of one grading went; the parts add up to `ended` - `started`.

    Args:
        started: the submission began, seconds of a clock, as all that follow but `times`.
        submitted: the job was written.
        ended: the verdict was verified.
        seen: state of the Pod → when it was first seen in it. A watch sees late, or misses, what
            happened: a state counts as no later than what must come after it.
        times: the referee's own seconds, by phase, and their "total".
    """
    phases = {f"referee: {name}": value for name, value in times.items() if name != "total"}
    judged = _clip(seen.get("judged", ended), submitted, ended)
    running = _clip(seen.get("running", math.inf), submitted, judged - sum(phases.values()))
    scheduled = _clip(seen.get("scheduled", math.inf), submitted, running)
    created = _clip(seen.get("created", math.inf), submitted, scheduled)
    parts = {
        "submit (two writes)": submitted - started,
        "operator creates the Pod": created - submitted,
        "scheduling": scheduled - created,
        "Pod start": running - scheduled,
        **phases,
        "signed, written, verified": ended - judged,
    }
    rounded = {name: round(value, 3) for name, value in parts.items()}
    return {**rounded, REMAINDER: round(round(ended - started, 3) - sum(rounded.values()), 3)}


def _clip(value: float, low: float, high: float) -> float:
    return max(low, min(value, high))


def differing(usual: str, other: str, tests: Sequence[str]) -> list[str]:
    """The tests of which two answers say different things.

    Args:
        usual: outcomes, one character a test, or a decision and a reason.
        other: likewise.
        tests: ids, in the order of the outcomes.

    Returns:
        Ids; the other answer itself where one of both is no outcomes.
    """
    if usual == other:
        return []
    if not len(usual) == len(other) == len(tests):
        return [other]
    return [name for name, a, b in zip(tests, usual, other, strict=True) if a != b]


def tally(found: Mapping[str, Counter[str]], gold: str, tests: Sequence[str]) -> dict[str, Any]:
    """What repeats of some submissions say of each other, as JSON.

    Args:
        found: submission → answer → how many gradings gave it.
        gold: the submission that must pass everything.
        tests: ids, in the order of the outcomes.

    Returns:
        By submission, its gradings, its different answers, and on which tests how many gradings
        disagreed with the most frequent answer; the number of all of these gradings; how often
        gold failed, and which tests.
    """
    submissions: dict[str, Any] = {}
    disagreements = 0
    for name, answers in found.items():
        if not answers:
            continue
        usual, agreed = answers.most_common(1)[0]
        disagreements += answers.total() - agreed
        submissions[name] = {
            "gradings": answers.total(),
            "answers": len(answers),
            "disagreedOn": _count(usual, answers, tests),
        }
    failed = Counter({one: n for one, n in found.get(gold, {}).items() if one.strip(PASSED)})
    return {
        "submissions": submissions,
        "disagreements": disagreements,
        "goldFailed": failed.total(),
        "goldFailedTests": _count(PASSED * len(tests), failed, tests),
    }


def _count(usual: str, answers: Counter[str], tests: Sequence[str]) -> dict[str, int]:
    """Test → in how many gradings it differs from the usual answer."""
    counted: Counter[str] = Counter()
    for answer, n in answers.items():
        for test in differing(usual, answer, tests):
            counted[test] += n
    return dict(counted)
