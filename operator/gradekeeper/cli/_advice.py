"""What happened to a job, at length, and what to do about it: the texts of `gradekeeper explain`.

A reason says what ended a job; who needs what next depends on what happened: which Pods there
were, what they left, what was submitted, what the build said. So advice is a pure function of
both, `advise`. The one-sentence meanings belong to `gradekeeper.api.reasons`.

Every sentence of `ADVICE` is true wherever its reason can appear; what holds only sometimes is
added by `advise`, where the circumstances show it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from gradekeeper.api.reasons import Decision, Reason, SuiteReason
from gradekeeper.referee import build_ends


class Advice(NamedTuple):
    """Sentences about one job's end.

    Attributes:
        explanation: who caused it, and how that is known.
        todo: what to do now.
    """

    explanation: str
    todo: str


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What a job's status shows of how it went.

    Attributes:
        reasons: how each attempt ended, in order; empty words are of attempts that go on.
        placed: whether the last attempt's Pod was seen on a node; None without an attempt.
        said: whether the last attempt's referee left a result that was read, whatever it says;
            None where that is not known.
        message: of the verdict.
        builtin: which of the suite's own submissions it is about; "" for any other.
        claimed: whether its client said that the submission cannot be sent.
        passed: tests that passed.
        total: tests with an outcome.
    """

    reasons: tuple[str, ...] = ()
    placed: bool | None = None
    said: bool | None = None
    message: str = ""
    builtin: str = ""
    claimed: bool = False
    passed: int = 0
    total: int = 0


_SCORE: Final = "Use the verdict as it is."
_AGAIN: Final = "Nothing is said about the submission: leave it out, or submit it again, but do"
_DROP: Final = f"{_AGAIN} not score it."
_COMPILER: Final = (
    "To see what the compiler says, grade the submission with `gradekeeper grade --local`."
)

ADVICE: Final[Mapping[Reason, Advice]] = {
    Reason.WAITING_FOR_SUBMISSION: Advice(
        "The job names ConfigMaps that do not all exist, or that lack the job's label or its"
        " ownerReference. The operator takes no part that does not say whose it is.",
        "Let the client that made the job finish, or run it again: it finds its own job and sends"
        " what is missing. With kubectl, apply the parts with --server-side after the job.",
    ),
    Reason.WAITING_FOR_CAPACITY: Advice(
        "The installation runs a bounded number of grading Pods at a time, and all its places are"
        " taken, or the namespace's quota is. Waiting is charged to no deadline.",
        "Wait. If the nodes have room for more, raise `grading.maxPodsInFlight` of the chart, and"
        " the quota with it.",
    ),
    Reason.SUITE_NOT_READY: Advice(
        "Jobs start only once their suite is signed by a trusted author and its own gold and null"
        " submissions were graded as they must be.",
        "Look at the suite: `kubectl describe gradingsuite NAME`. If it does not exist, apply it.",
    ),
    Reason.UNSCHEDULABLE: Advice(
        "The Pod exists, but the scheduler finds no node for it: too little CPU or memory is"
        " unreserved, or a selector, a taint or a runtime class rules every node out.",
        "Read the Pod's events for what is missing; add nodes, or lower `grading.maxPodsInFlight`"
        " so that jobs wait before a Pod is made.",
    ),
    Reason.SUSPENDED: Advice(
        "Whoever made the job set `spec.suspend`; it stays as it is until that is taken back.",
        "Set `spec.suspend` to false to start it, or delete the job.",
    ),
    Reason.COMPLETED: Advice(
        "The referee has an outcome for every expected test. What did not pass is charged to the"
        " submission: a time that ran out while the node was found too slow is not scored.",
        _SCORE,
    ),
    Reason.DOES_NOT_COMPILE: Advice(
        "The build gave no classes that could be run: the compiler refused the sources, or a bound"
        " of the build was used up. So no test ran, and all of them count as failed.",
        f"{_SCORE} {_COMPILER}",
    ),
    Reason.LANE_LOST: Advice(
        "The container that the submission runs in was lost: its memory or its storage was used"
        " up, or the process that starts its runs was ended or silenced. Neither the cluster nor"
        " the node reported a cause of its own, so it counts as the submission's doing: what had"
        " finished stands, the rest failed.",
        f"{_SCORE} If even gold ends so, the lane's memory is too small for the suite.",
    ),
    Reason.REFEREE_FAULT: Advice(
        "The referee met an error of its own after the submission was released. A submission that"
        " found a way to cause it must not gain by it, so it is scored: what had finished stands,"
        " the rest failed. The detail log of the attempt is always kept.",
        "Report it: a maintainer finds the error in `gradekeeper logs JOB`, event `referee_error`."
        " Whether the submission caused it shows there; the score is a lower bound.",
    ),
    Reason.SUBMISSION_TOO_LARGE: Advice(
        "All files of the submission together have more bytes than the suite's"
        " `submission.maxBytes`, or its archive is larger than any may be. It was never compiled;"
        " every test counts as failed.",
        "Send only the files that the suite takes, or ask its author for a higher limit.",
    ),
    Reason.SUBMISSION_TOO_MANY_FILES: Advice(
        "More files than the suite's `submission.maxFiles` allows, or files in more than"
        f" {build_ends.MAX_FOLDERS:,} folders. Nothing was compiled; every test counts as failed.",
        "Remove what is not part of the solution, or ask the suite's author for a higher limit.",
    ),
    Reason.SUBMISSION_MALFORMED: Advice(
        "What was submitted is no tar.gz that can be unpacked within bounds of time, memory and"
        " entries. Nothing was compiled; every test counts as failed.",
        "Pack it as a plain tar.gz; `gradekeeper submit DIRECTORY` does so.",
    ),
    Reason.IMAGE_PULL_FAILED: Advice(
        "The kubelet could not get the suite's or the lane's image by its digest: perhaps the"
        " registry does not answer, does not have it, or wants credentials.",
        f"Check the image names of the GradingSuite and `grading.imagePullSecrets`. {_DROP}",
    ),
    Reason.POD_ADMISSION_FAILED: Advice(
        "The Pod failed as a whole, and its node reports no container of it that ran: resources"
        " were gone, the node was shutting down, or it cannot do what the Pod asks for, such as"
        " user namespaces.",
        f"See `gradekeeper doctor` for what the nodes support. {_DROP}",
    ),
    Reason.POD_CREATION_REJECTED: Advice(
        "The API server refused the Pod (a policy, a webhook, Pod Security), or somebody else's Pod"
        " has its name or was changed on the way in. A Pod that is not exactly as built is not"
        " used.",
        "Read the message; exempt the grading namespace from webhooks that change Pods, and let"
        f" nobody but the operator create Pods there. {_DROP}",
    ),
    Reason.CONTAINER_CREATE_FAILED: Advice(
        "The node took the Pod but could not create or start a container: the runtime failed, or"
        " a volume or the user namespace could not be made. Nothing submitted had run.",
        f"Look at the node's container runtime; `gradekeeper doctor` may know. {_DROP}",
    ),
    Reason.POD_EVICTED: Advice(
        "The control plane or the kubelet marked the Pod as disrupted: a drain, a taint, or a node"
        " short of resources. No submission can set that mark; what a lane stores by itself is"
        " scored instead.",
        f"Drain nodes when no gradings run, and give nodes room. {_DROP}",
    ),
    Reason.POD_PREEMPTED: Advice(
        "The scheduler, or the kubelet for a critical Pod, gave the Pod's place to one of a higher"
        " priority.",
        f"Give grading Pods a node pool or a priority of their own. {_DROP}",
    ),
    Reason.POD_LOST: Advice(
        "Somebody or something deleted the Pod. A submission has no credentials and no network, so"
        " it cannot have been the submission.",
        f"Find out who deletes Pods in the grading namespace (audit log). {_DROP}",
    ),
    Reason.NODE_LOST: Advice(
        "The node went away under the Pod, was being shut down, did not report for too long, or"
        " forgot the Pod's containers, as after a reboot.",
        f"Look at the node's health. {_DROP}",
    ),
    Reason.NODE_OVERLOADED: Advice(
        "A time ran out while the node gave too little of a processor, and again when there was"
        " more of it; or laned was silent while the node was frozen. That proves nothing.",
        "Reserve CPU: keep `grading.cpuRequestPercent` at 100, and leave room for the system."
        f" {_DROP}",
    ),
    Reason.REFEREE_FAILED: Advice(
        "The trusted container broke: it ended by an error or a signal, had its memory or storage"
        " used up, or never reached its lane. The status does not say at which moment, so the"
        " submission may have run by then; no outcome of it is used.",
        "A maintainer reads what it wrote by `gradekeeper logs JOB --attempt N`, if that was kept,"
        f" and what the node's log says of its end. {_DROP}",
    ),
    Reason.RESULT_MISSING: Advice(
        "The Pod is over, and no result came with its end: the trusted container was ended from"
        " outside, or the node lost what it wrote.",
        f"Look for node restarts and for tools that end containers. {_DROP}",
    ),
    Reason.RESULT_INVALID: Advice(
        "A result is there, but it is about another attempt, submission or suite, is incomplete,"
        " or its Pod had other containers, or images other than the signed ones. It is not"
        " believed.",
        "Check who can create or change Pods in the grading namespace, and that the registry serves"
        f" what its digests say. {_DROP}",
    ),
    Reason.ISOLATION_NOT_ENFORCED: Advice(
        "Either the referee, which looks at the Pod from inside before it releases a submission,"
        " found a reachable network, no user namespace, a writable place or a permitted system"
        " call; or the operator cannot vouch that it served the port that was probed. No outcome"
        " is used either way.",
        "Run `gradekeeper doctor --probe`: perhaps the network plugin enforces no NetworkPolicies,"
        f" or the nodes cannot make user namespaces. {_DROP}",
    ),
    Reason.DEADLINE_EXCEEDED: Advice(
        "From the Pod's start on its node more time passed than `attemptDeadlineSeconds` gives, or"
        " than somebody else's deadline on the Pod. A submission's own time ends earlier, inside"
        " the Pod, and is scored, unless the deadline is shorter than the suite's limits.",
        "Set attemptDeadlineSeconds above 1.75 times the suite's suiteTimeoutSeconds, to which it"
        f" may be extended on a slow node, with time for images to be pulled. {_DROP}",
    ),
    Reason.QUOTA_EXCEEDED: Advice(
        "The ResourceQuota of the grading namespace has no room for one more Pod.",
        f"Raise the quota, or lower `grading.maxPodsInFlight` below it. {_DROP}",
    ),
    Reason.SUBMISSION_CORRUPT: Advice(
        "The parts that arrived do not have the digest that the job states, or one could not be"
        " read. The job's maker wrote both, and no submission can change either.",
        f"Submit again with a new nonce; suspect the client if it happens twice. {_DROP}",
    ),
    Reason.INVALID_JOB: Advice(
        "The job asks for a task or a parameter that this suite does not have, or for a value that"
        " it does not allow. That is neither the submission's fault nor the platform's.",
        f"Correct the task and the parameters, and submit with a new nonce. {_DROP}",
    ),
    Reason.CANCELLED: Advice(
        "Somebody set `spec.cancel`; the operator stopped and signed that there is no verdict.",
        f"Submit again with a new nonce if it was a mistake. {_DROP}",
    ),
}

_ENDS: Final[Mapping[str, Advice]] = {
    build_ends.ERRORS: Advice(
        "The compiler ran to its end and refused the sources; no test could run.",
        f"{_SCORE} {_COMPILER}",
    ),
    build_ends.NO_SOURCES: Advice(
        "The archive has no file that the suite's patterns take and a file system can have, so"
        " there was nothing to compile.",
        f"{_SCORE} If there should be some, compare their paths in the archive with the suite's"
        " `submission.include`.",
    ),
    build_ends.TIME: Advice(
        "The compiler was still busy when its time was used up, and the node was not found"
        " too slow for it; no test could run.",
        f"{_SCORE} {_COMPILER}",
    ),
    build_ends.MEMORY: Advice(
        "The compiler ended because its memory was full: the suite's `build.heapMiB` is a limit of"
        " the suite, not of the language. No test could run.",
        f"{_SCORE} Larger or more deeply nested sources need a suite with a higher limit.",
    ),
    build_ends.RESERVED_PACKAGE: Advice(
        "A class of the submission is in a package that the suite's own classes are in, where it"
        " might take their place; no test could run.",
        f"{_SCORE} The classes need a package of another name.",
    ),
    build_ends.KILLED: Advice(
        "The compiler's process was ended by a signal, as a limit of the lane on memory or"
        " processor time does it; no test could run.",
        f"{_SCORE} {_COMPILER}",
    ),
    build_ends.NO_RESULT: Advice(
        "The compiler's process ended, or was ended, and what it wrote was no whole result; no"
        " test could run.",
        f"{_SCORE} {_COMPILER}",
    ),
}
_LIMIT: Final = Advice(
    "The sources may be right: what they compile to is beyond a limit of a grading, which the"
    " verdict names. No test could run.",
    f"{_SCORE} Stay below that limit: it is the same for every submission.",
)
"""For every other end of a build: a number or a name beyond what is taken."""


_CLAIM: Final = (
    "The client that made the job says that the submission cannot be sent: too many bytes or files,"
    " or nothing that can be packed. Nothing of it arrived; the operator signs this as that"
    " client's claim, and every test counts as failed."
)


def advise(reason: Reason, seen: Circumstances) -> Advice:
    """What a reason means, and what to do, as things went. Pure; every sentence is true of `seen`.

    Args:
        reason: of the verdict, or why the job waits.
        seen: what the status shows.
    """
    explanation, todo = ADVICE[reason]
    if reason is Reason.DOES_NOT_COMPILE and seen.message in build_ends.BUILD_ENDS:
        explanation, todo = _ENDS.get(seen.message, _LIMIT)
    if reason.decision is Decision.REJECTED and seen.claimed:
        explanation = _CLAIM
    more = _MORE.get(reason)
    if more is not None:
        explanation = " ".join([explanation, *more(seen)])
    if seen.builtin and reason.decision is Decision.GRADED:
        todo = _of_the_suite(seen, todo)
    if reason.decision is Decision.UNJUDGED:
        explanation = " ".join([explanation, *_attempts(reason, seen)])
    return Advice(explanation, todo)


def _of_the_suite(seen: Circumstances, todo: str) -> str:
    """What to do about the suite's own submissions, which are known in advance."""
    if seen.builtin == "gold" and seen.passed < seen.total:
        return (
            "This is the suite's own right answer, which has to pass every test: run"
            " `gradekeeper suite check`, and see whether the suite's limits are too tight for"
            " these nodes."
        )
    return todo


def _attempts(reason: Reason, seen: Circumstances) -> list[str]:
    """What a row of attempts shows."""
    ended = [word for word in seen.reasons if word]
    if len(ended) < 2:
        return []
    if set(ended) == {reason.value}:
        text = f"All {len(ended)} attempts ended so"
        if reason in (Reason.REFEREE_FAILED, Reason.RESULT_MISSING, Reason.NODE_OVERLOADED):
            return [
                f"{text}. If other submissions to this suite are graded on the same nodes, this"
                " one may be causing it: that would be a defect of Gradekeeper, to be reported."
            ]
        return [f"{text}, so it is no passing trouble."]
    return [f"The attempts ended in different ways ({', '.join(ended)}); this is the last one's."]


def _nowhere(seen: Circumstances) -> list[str]:
    return ["The operator never saw the Pod on a node."] if seen.placed is False else []


def _referee_failed(seen: Circumstances) -> list[str]:
    if seen.said is None:
        return []
    if seen.said:
        return ["The last attempt's referee lived to say so itself."]
    return ["The last attempt's referee left no result: it did not live to write one."]


def _lane_lost(seen: Circumstances) -> list[str]:
    if seen.said is False:
        return ["The referee left no result; the kubelet's record of the Pod alone says why."]
    return []


_MORE: Final[Mapping[Reason, Callable[[Circumstances], list[str]]]] = {
    Reason.LANE_LOST: _lane_lost,
    Reason.POD_EVICTED: _nowhere,
    Reason.POD_PREEMPTED: _nowhere,
    Reason.POD_LOST: _nowhere,
    Reason.REFEREE_FAILED: _referee_failed,
}

SUITE_ADVICE: Final[Mapping[SuiteReason, str]] = {
    SuiteReason.PENDING: "Wait; if it stays so, the operator does not run (`gradekeeper doctor`).",
    SuiteReason.SIGNATURE_VERIFIED: "Nothing.",
    SuiteReason.SIGNATURE_INVALID: (
        "Sign it with a key whose public half is in the chart's `authorKeys`."
    ),
    SuiteReason.SIGNATURE_MISMATCH: (
        "Sign exactly what is applied: run `gradekeeper suite sign` and `suite manifest` again with"
        " the same bundle and images."
    ),
    SuiteReason.INDEX_MISSING: "Apply the index too: `gradekeeper suite manifest` writes both.",
    SuiteReason.INDEX_INVALID: (
        "Delete the index ConfigMap, which is immutable, and apply the one of this suite."
    ),
    SuiteReason.LIMITS_INVALID: "Correct limits or resources in suite.yaml, build and sign again.",
    SuiteReason.SELF_CHECK_RUNNING: "Wait: gold and null are being graded.",
    SuiteReason.SELF_CHECK_PASSED: "Nothing.",
    SuiteReason.GOLD_FAILED: (
        "Run `gradekeeper suite check`: gold must pass with every draw. Perhaps the limits are too"
        " tight for these nodes."
    ),
    SuiteReason.NULL_PASSED: (
        "Run `gradekeeper suite check`: a test marked as discriminating does not discriminate."
    ),
    SuiteReason.SELF_CHECK_UNJUDGED: (
        "Explain the suite's own jobs: `gradekeeper explain SUITE-admit-gold-…`; they say what the"
        " platform lacks."
    ),
    SuiteReason.READY: "Nothing.",
    SuiteReason.NOT_VERIFIED: "See the condition Verified.",
    SuiteReason.NOT_ADMITTED: "See the condition Admitted.",
}
