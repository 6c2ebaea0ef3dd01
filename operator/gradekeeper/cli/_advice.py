"""What every reason means at length, and what to do about it: the texts of `gradekeeper explain`.

The one-sentence meanings belong to `gradekeeper.api.reasons`; here is what a person needs next.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from gradekeeper.api.reasons import Reason, SuiteReason


class Advice(NamedTuple):
    """Sentences about one reason.

    Attributes:
        explanation: who caused it, and how that is known.
        todo: what to do now.
    """

    explanation: str
    todo: str


_SCORE: Final = "Use the verdict as it is; grading the same submission again would not change it."
_AGAIN: Final = "Nothing is said about the submission: leave it out, or submit it again, but do"
_DROP: Final = f"{_AGAIN} not score it."

ADVICE: Final[Mapping[Reason, Advice]] = {
    Reason.WAITING_FOR_SUBMISSION: Advice(
        "The job names ConfigMaps that do not all exist, or that lack the job's label or its"
        " ownerReference. The operator takes no part that does not say whose it is.",
        "Let the client that made the job finish, or run it again: it finds its own job and sends"
        " what is missing. With kubectl, apply the parts with --server-side after the job.",
    ),
    Reason.WAITING_FOR_CAPACITY: Advice(
        "The installation runs a bounded number of grading Pods at a time, and all its places are"
        " taken. Waiting is charged to no deadline.",
        "Wait. If the nodes have room for more, raise `grading.maxPodsInFlight` of the chart.",
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
        "The referee has an outcome for every expected test. Each that did not pass was caused by"
        " the submission: what the platform causes is never scored.",
        _SCORE,
    ),
    Reason.DOES_NOT_COMPILE: Advice(
        "The compiler ran to its end and refused the sources, found none, or was still busy when"
        " its time was used up. No test could run, so all of them failed.",
        f"{_SCORE} To see what the compiler says, grade the submission with `gradekeeper grade"
        " --local`.",
    ),
    Reason.LANE_LOST: Advice(
        "The submission ended or silenced the container that it runs in, by using up its memory or"
        " by attacking the process that starts its runs. The node and the trusted container were"
        " well, so it counts as the submission's doing: what had finished stands, the rest failed.",
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
        "The submission has more bytes than the suite's `submission.maxBytes`, or more than can be"
        " sent at all. It was never compiled; every test counts as failed.",
        "Send only the files that the suite takes, or ask its author for a higher limit.",
    ),
    Reason.SUBMISSION_TOO_MANY_FILES: Advice(
        "More files match the suite's patterns than its `submission.maxFiles` allows. Nothing was"
        " compiled; every test counts as failed.",
        "Remove what is not part of the solution, or ask the suite's author for a higher limit.",
    ),
    Reason.SUBMISSION_MALFORMED: Advice(
        "The bytes arrived as they were sent, but they are not a tar.gz that can be unpacked within"
        " bounds. Every test counts as failed.",
        "Pack it as a plain tar.gz; `gradekeeper submit DIRECTORY` does so.",
    ),
    Reason.IMAGE_PULL_FAILED: Advice(
        "The kubelet could not pull the suite's or the lane's image by its digest: the registry"
        " does not answer, does not have it, or wants credentials.",
        f"Check the image names of the GradingSuite and `grading.imagePullSecrets`. {_DROP}",
    ),
    Reason.POD_ADMISSION_FAILED: Advice(
        "The scheduler chose a node whose kubelet then refused the Pod: its resources were gone, or"
        " it cannot do what the Pod asks for, such as user namespaces.",
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
        "The cluster removed the Pod: a drain, a taint, or a node short of resources. A Pod that is"
        " evicted for its own storage is scored instead.",
        f"Drain nodes when no gradings run, and give nodes room. {_DROP}",
    ),
    Reason.POD_PREEMPTED: Advice(
        "The scheduler removed the running Pod, since one of a higher priority needed its place.",
        f"Give grading Pods a node pool or a priority of their own. {_DROP}",
    ),
    Reason.POD_LOST: Advice(
        "Somebody or something deleted the Pod while it ran. A submission has no credentials and no"
        " network, so it cannot have been the submission.",
        f"Find out who deletes Pods in the grading namespace (audit log). {_DROP}",
    ),
    Reason.NODE_LOST: Advice(
        "The node disappeared, was shut down, or its kubelet stopped answering.",
        f"Look at the node's health. {_DROP}",
    ),
    Reason.NODE_OVERLOADED: Advice(
        "A time ran out while the node gave too little of a processor, and again when there was"
        " more of it; or laned was silent while the node was frozen. That proves nothing.",
        "Reserve CPU: keep `grading.cpuRequestPercent` at 100, and leave room for the system."
        f" {_DROP}",
    ),
    Reason.REFEREE_FAILED: Advice(
        "The trusted container ended with an error or out of memory, or could not reach its lane,"
        " before the submission was released.",
        "A maintainer reads what it wrote, by `gradekeeper logs JOB --attempt N`;"
        f" give the referee more memory if it ran out. {_DROP}",
    ),
    Reason.RESULT_MISSING: Advice(
        "The trusted container ended, but no result came with its end: it was killed from outside,"
        " or the node lost what it wrote.",
        f"Look for node restarts and for tools that kill containers. {_DROP}",
    ),
    Reason.RESULT_INVALID: Advice(
        "A result is there, but it is about another attempt, submission or suite, is incomplete, or"
        " came from images other than the signed ones. It is not believed.",
        "Check who can create or change Pods in the grading namespace, and that the registry serves"
        f" what its digests say. {_DROP}",
    ),
    Reason.ISOLATION_NOT_ENFORCED: Advice(
        "Before the submission was released the referee looked at the Pod from inside and found"
        " less isolation than required: a reachable network, no user namespace, a writable place, a"
        " permitted system call. Nothing submitted has run.",
        "Run `gradekeeper doctor --probe`; usually the network plugin enforces no NetworkPolicies,"
        f" or the nodes cannot make user namespaces. {_DROP}",
    ),
    Reason.DEADLINE_EXCEEDED: Advice(
        "From the Pod's start to its end more time passed than `attemptDeadlineSeconds`. A"
        " submission's own time ends earlier, inside the Pod, and is scored; so the platform was"
        " slow, or the deadline is shorter than the suite's limits.",
        "Set attemptDeadlineSeconds above 1.75 times the suite's suiteTimeoutSeconds, to which it"
        f" may be extended on a slow node, with time for images to be pulled. {_DROP}",
    ),
    Reason.QUOTA_EXCEEDED: Advice(
        "The ResourceQuota of the grading namespace has no room for one more Pod.",
        f"Raise the quota, or lower `grading.maxPodsInFlight` below it. {_DROP}",
    ),
    Reason.SUBMISSION_CORRUPT: Advice(
        "The parts that arrived do not add up to the digest that the job states. The job's maker"
        " wrote both, and no submission can change either.",
        f"Submit again with a new nonce; suspect the client if it happens twice. {_DROP}",
    ),
    Reason.INVALID_JOB: Advice(
        "The job names a task or a parameter that this suite does not have, or a value that it does"
        " not allow. That is neither the submission's fault nor the platform's.",
        f"Correct the task and the parameters, and submit with a new nonce. {_DROP}",
    ),
    Reason.CANCELLED: Advice(
        "Somebody set `spec.cancel`; the operator stopped and signed that there is no verdict.",
        f"Submit again with a new nonce if it was a mistake. {_DROP}",
    ),
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
