"""Decisions, reasons and condition types, each with the one sentence that documents it.

Pure. The README's table of reasons is `reasons_table()`; the CRD takes its enums from here.
"""

from enum import StrEnum
from typing import Final


class Decision(StrEnum):
    """What a verdict says about a submission."""

    GRADED = "Graded"
    """Every expected test has an outcome."""
    REJECTED = "Rejected"
    """The submission broke a stated rule; every test counts as failed."""
    UNJUDGED = "Unjudged"
    """The platform failed; nothing is said about the submission."""


class Reason(StrEnum):
    """Why a job waits, or why its verdict is what it is. One word a cause, never reused."""

    decision: Decision | None
    """The decision that this reason belongs to; None while the job waits."""
    sentence: str
    """What happened, for people: one sentence without any text from a submission."""

    def __new__(cls, value: str, decision: Decision | None = None, sentence: str = "") -> "Reason":
        """Make a member that equals its word; the defaults let type checkers accept a look-up."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.decision = decision
        member.sentence = sentence
        return member

    WAITING_FOR_SUBMISSION = (
        "WaitingForSubmission",
        None,
        "Not every part of the submission has arrived yet.",
    )
    WAITING_FOR_CAPACITY = (
        "WaitingForCapacity",
        None,
        "As many gradings run as the installation or the namespace's quota allows; the job starts "
        "when there is room.",
    )
    SUITE_NOT_READY = (
        "SuiteNotReady",
        None,
        "The suite does not exist yet, or is not yet verified and admitted.",
    )
    UNSCHEDULABLE = (
        "Unschedulable",
        None,
        "No node has room for the Pod, or none matches its constraints.",
    )
    SUSPENDED = (
        "Suspended",
        None,
        "The job says `suspend: true`; no attempt starts.",
    )

    COMPLETED = ("Completed", Decision.GRADED, "The referee graded every test.")
    DOES_NOT_COMPILE = (
        "DoesNotCompile",
        Decision.GRADED,
        "The submission does not compile, or not within the limits of a grading, so no "
        "test could run.",
    )
    LANE_LOST = (
        "LaneLost",
        Decision.GRADED,
        "The place where the submission runs went down or fell silent, and no cause was found on "
        "the platform's side; what had not finished failed.",
    )
    REFEREE_FAULT = (
        "RefereeFault",
        Decision.GRADED,
        "The referee itself failed after the submission's release, a defect that is to be "
        "reported; finished outcomes stand, and what had not finished failed.",
    )

    SUBMISSION_TOO_LARGE = (
        "SubmissionTooLarge",
        Decision.REJECTED,
        "The submission has more bytes than the suite allows, or than can be sent.",
    )
    SUBMISSION_TOO_MANY_FILES = (
        "SubmissionTooManyFiles",
        Decision.REJECTED,
        "The submission has more files than the suite allows, or is in too many folders.",
    )
    SUBMISSION_MALFORMED = (
        "SubmissionMalformed",
        Decision.REJECTED,
        "The submission is not an archive that can be unpacked within bounds.",
    )

    IMAGE_PULL_FAILED = (
        "ImagePullFailed",
        Decision.UNJUDGED,
        "The node could not get the suite's or the lane's image.",
    )
    POD_ADMISSION_FAILED = (
        "PodAdmissionFailed",
        Decision.UNJUDGED,
        "The node refused the Pod, or gave it up before a container of it ran.",
    )
    POD_CREATION_REJECTED = (
        "PodCreationRejected",
        Decision.UNJUDGED,
        "The API server refused the Pod or changed it, or another Pod occupies its name.",
    )
    CONTAINER_CREATE_FAILED = (
        "ContainerCreateFailed",
        Decision.UNJUDGED,
        "The node could not create or start one of the Pod's containers.",
    )
    POD_EVICTED = (
        "PodEvicted",
        Decision.UNJUDGED,
        "The cluster evicted the Pod, or disrupted it in another way.",
    )
    POD_PREEMPTED = (
        "PodPreempted",
        Decision.UNJUDGED,
        "The Pod was removed in favour of one with a higher priority.",
    )
    POD_LOST = (
        "PodLost",
        Decision.UNJUDGED,
        "The Pod was deleted before the operator had a whole result of it.",
    )
    NODE_LOST = (
        "NodeLost",
        Decision.UNJUDGED,
        "The Pod's node disappeared, shut down, stopped answering or lost the Pod's containers.",
    )
    NODE_OVERLOADED = (
        "NodeOverloaded",
        Decision.UNJUDGED,
        "The node was too slow while a test, a start, the build, a budget or the lane's keeper "
        "used up its time, so that this cannot be held against the submission.",
    )
    REFEREE_FAILED = (
        "RefereeFailed",
        Decision.UNJUDGED,
        "The trusted container failed: by an error, by its memory or storage, by a signal, or "
        "because it could not reach the lane.",
    )
    RESULT_MISSING = (
        "ResultMissing",
        Decision.UNJUDGED,
        "The trusted container, or its Pod, ended without leaving a result.",
    )
    RESULT_INVALID = (
        "ResultInvalid",
        Decision.UNJUDGED,
        "The result is incomplete, of another attempt, or of a Pod with other images "
        "or containers.",
    )
    ISOLATION_NOT_ENFORCED = (
        "IsolationNotEnforced",
        Decision.UNJUDGED,
        "It was not shown that the Pod was as isolated as required before the "
        "submission's release.",
    )
    DEADLINE_EXCEEDED = (
        "DeadlineExceeded",
        Decision.UNJUDGED,
        "The attempt did not finish before its deadline.",
    )
    QUOTA_EXCEEDED = (
        "QuotaExceeded",
        Decision.UNJUDGED,
        "The namespace's quota has no room for the Pod.",
    )
    SUBMISSION_CORRUPT = (
        "SubmissionCorrupt",
        Decision.UNJUDGED,
        "The delivered parts are not whole, or do not add up to the digest that the job states.",
    )
    INVALID_JOB = (
        "InvalidJob",
        Decision.UNJUDGED,
        "The job asks for a task, a parameter or a value that the suite or its referee does not "
        "know; it is not retried.",
    )
    CANCELLED = ("Cancelled", Decision.UNJUDGED, "The job was cancelled; it is not retried.")


FINAL_AT_ONCE: Final = frozenset({Reason.INVALID_JOB, Reason.CANCELLED})
"""Unjudged reasons that another attempt could not change."""


class ProgressReason(StrEnum):
    """Reasons of a job's conditions that are neither a cause of waiting nor of a verdict."""

    sentence: str
    """What the condition then means, for people."""

    def __new__(cls, value: str, sentence: str = "") -> "ProgressReason":
        """Make a member that equals its word and knows its sentence."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.sentence = sentence
        return member

    ADMITTED = ("Admitted", "The job has its suite, its submission and a place.")
    POD_PENDING = ("PodPending", "The Pod exists; its referee does not run yet.")
    POD_RUNNING = ("PodRunning", "The referee runs.")
    RETRYING = ("Retrying", "The platform failed the last attempt; another one follows.")
    FINISHED = ("Finished", "The job has its verdict.")


class SuiteReason(StrEnum):
    """Reasons of a suite's conditions."""

    sentence: str
    """What the condition then means, for people."""

    def __new__(cls, value: str, sentence: str = "") -> "SuiteReason":
        """Make a member that equals its word and knows its sentence."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.sentence = sentence
        return member

    PENDING = ("Pending", "Not looked at yet.")
    SIGNATURE_VERIFIED = ("SignatureVerified", "A trusted author signed exactly this suite.")
    SIGNATURE_INVALID = ("SignatureInvalid", "The signature is not one by a trusted author.")
    SIGNATURE_MISMATCH = (
        "SignatureMismatch",
        "The author signed other images, limits, resources or another index.",
    )
    INDEX_MISSING = ("IndexMissing", "The ConfigMap that carries the index does not exist.")
    INDEX_INVALID = ("IndexInvalid", "The index is not the signed one, or cannot be read.")
    LIMITS_INVALID = ("LimitsInvalid", "Limits and resources contradict each other.")
    SELF_CHECK_RUNNING = (
        "SelfCheckRunning",
        "The built-in submissions gold and null are being graded.",
    )
    SELF_CHECK_PASSED = (
        "SelfCheckPassed",
        "Gold passed every test and null failed every discriminating one.",
    )
    GOLD_FAILED = ("GoldFailed", "The built-in submission gold does not pass every test.")
    NULL_PASSED = ("NullPassed", "The built-in submission null passes a discriminating test.")
    SELF_CHECK_UNJUDGED = (
        "SelfCheckUnjudged",
        "The platform failed while gold or null was being graded.",
    )
    READY = ("Ready", "Jobs that name this suite are graded.")
    NOT_VERIFIED = ("NotVerified", "The suite waits for a valid signature.")
    NOT_ADMITTED = ("NotAdmitted", "The suite waits for its self-check.")


class ConditionType(StrEnum):
    """Types of conditions; the first three are a job's, the others a suite's."""

    ADMITTED = "Admitted"
    """Job: it may start. Suite: the built-in submissions graded as they must."""
    STARTED = "Started"
    """Job: the Pod of the current attempt runs."""
    SUCCEEDED = "Succeeded"
    """Job: True when a trustworthy verdict exists, a 0 included; False when Unjudged; Unknown until
    then, with what the job waits for or how far it is."""
    VERIFIED = "Verified"
    """Suite: signed by a trusted author."""
    READY = "Ready"
    """Suite: verified and admitted."""


def reasons_for(decision: Decision | None) -> tuple[Reason, ...]:
    """All reasons of a decision, in the order of the enum; None gives those of waiting."""
    return tuple(reason for reason in Reason if reason.decision is decision)


def reasons_table() -> str:
    """The table reason → decision → meaning as Markdown, ending in a newline."""
    lines = ["| reason | decision | meaning |", "| --- | --- | --- |"]
    lines += [
        f"| `{reason.value}` | {reason.decision or 'none yet'} | {reason.sentence} |"
        for reason in Reason
    ]
    return "\n".join(lines) + "\n"
