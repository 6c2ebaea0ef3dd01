"""The job as the referee gets it: GRADEKEEPER_JOB and the folders of its container."""

import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from gradekeeper.referee.errors import Unjudgeable
from gradekeeper.referee.result import INVALID_JOB, is_digest
from gradekeeper.referee.strictjson import StrictJsonError, parse_strict

VARIABLE: Final = "GRADEKEEPER_JOB"
SCHEMA: Final = "gradekeeper.job/v1"
MAX_JOB_BYTES: Final = 64 * 1024
MAX_PARTS: Final = 24
BUILTINS: Final = ("gold", "null")


@dataclass(frozen=True, slots=True)
class Probe:
    """The operator's port that must be out of reach.

    Attributes:
        address: an IP address.
        port: of the operator.
        deadline_seconds: how long a policy may take to come into force.
    """

    address: str
    port: int
    deadline_seconds: float


@dataclass(frozen=True, slots=True)
class Job:
    """One attempt's orders.

    Attributes:
        nonce: echoed in the result.
        attempt: from 1.
        suite_digest: "sha256:…" that the bundle must have.
        task: "" is the whole suite.
        parameters: as the job gives them, unchecked.
        builtin: "gold", "null" or None.
        digest: "sha256:…" of the concatenated parts; None for a built-in submission.
        parts: file names in order.
        user_namespaces: whether a user namespace is required (else preferred).
        probe: None in the local engine.
        lane_uid: the uid that a lane child must have.
    """

    nonce: str
    attempt: int
    suite_digest: str
    task: str
    parameters: Mapping[str, str]
    builtin: str | None
    digest: str | None
    parts: Sequence[str]
    user_namespaces: bool
    probe: Probe | None
    lane_uid: int


@dataclass(frozen=True, slots=True)
class View:
    """Where a lane finds things, as its orders name them; the defaults are those of a Pod.

    Attributes:
        lane: the shared folder.
        scratch: laned's scratch folder.
        java: the java program.
        kit: the language kit.
    """

    lane: str = "/lane"
    scratch: str = "/scratch"
    java: str = "/opt/gradekeeper/java/bin/java"
    kit: str = "/opt/gradekeeper/kit.jar"


@dataclass(frozen=True, slots=True)
class Layout:
    """The folders and files around the referee; the defaults are those of a grading Pod.

    Attributes:
        suite: the bundle.
        lane: shared with the lane, which reads it only.
        submission: holds the parts.
        termination: where the result message goes.
        local: whether this is the local engine, without a Pod around.
        detail: local engine only: a file that gets one JSON line a test run.
        draw: local engine only: the pinned draw to use.
        record: local engine only: a JSON file of inputs to record instead of judging.
        unisolated: local engine only: grade in a lane that nothing isolates and that finds its
            things here. Isolation is then not probed, and the result says so.
    """

    suite: Path = Path("/suite")
    lane: Path = Path("/lane")
    submission: Path = Path("/submission")
    termination: Path = Path("/dev/termination-log")
    local: bool = False
    detail: Path | None = None
    draw: int | None = None
    record: Path | None = None
    unisolated: View | None = None

    @property
    def view(self) -> View:
        """How the lane sees the folders."""
        return self.unisolated or View()


@dataclass(frozen=True, slots=True)
class Identity:
    """What a result says about its job even when the job cannot be read."""

    nonce: str = ""
    attempt: int = 0
    task: str = ""


@dataclass(slots=True)
class _Reader:
    document: dict[str, Any]
    used: set[str] = field(default_factory=set)

    def take(self, name: str, kind: type, default: Any = None) -> Any:
        self.used.add(name)
        value = self.document.get(name, default)
        if type(value) is not kind:
            raise _invalid(name)
        return value


def parse_job(text: str) -> Job:
    """Parse GRADEKEEPER_JOB.

    Raises:
        Unjudgeable: `InvalidJob` if it is missing or not of the schema.
    """
    try:
        document = parse_strict(text.encode("utf-8", "replace"), max_bytes=MAX_JOB_BYTES)
    except StrictJsonError as error:
        raise Unjudgeable(INVALID_JOB, f"The job given to the referee is {error}.") from None
    if type(document) is not dict or document.get("schema") != SCHEMA:
        raise Unjudgeable(INVALID_JOB, f"The job given to the referee is not {SCHEMA}.")
    reader = _Reader(document)
    submission = reader.take("submission", dict)
    parameters = reader.take("parameters", dict, {})
    if not all(type(value) is str for value in parameters.values()):
        raise _invalid("parameters")
    builtin, digest, parts = _submission(submission)
    job = Job(
        nonce=reader.take("nonce", str),
        attempt=reader.take("attempt", int),
        suite_digest=reader.take("suite", str),
        task=reader.take("task", str, ""),
        parameters=parameters,
        builtin=builtin,
        digest=digest,
        parts=parts,
        user_namespaces=reader.take("userNamespaces", str) == "required",
        probe=_probe(document.get("probe")),
        lane_uid=reader.take("laneUid", int),
    )
    if document["userNamespaces"] not in ("required", "preferred"):
        raise _invalid("userNamespaces")
    if job.attempt < 1 or not is_digest(job.suite_digest) or len(job.nonce) > 256:
        raise _invalid("attempt, suite or nonce")
    return job


def identify(text: str) -> Identity:
    """What can be echoed of a job that may be invalid; never raises."""
    try:
        document = parse_strict(text.encode("utf-8", "replace"), max_bytes=MAX_JOB_BYTES)
    except StrictJsonError:
        return Identity()
    if type(document) is not dict:
        return Identity()
    nonce, attempt, task = (document.get(name) for name in ("nonce", "attempt", "task"))
    return Identity(
        nonce=nonce if type(nonce) is str and _is_short(nonce) else "",
        attempt=attempt if type(attempt) is int and 0 <= attempt <= 1_000_000 else 0,
        task=task if type(task) is str and _is_short(task) else "",
    )


def _is_short(text: str) -> bool:
    return len(text) <= 256 and text.isprintable()


def _submission(document: dict[str, Any]) -> tuple[str | None, str | None, tuple[str, ...]]:
    builtin = document.get("builtin")
    if builtin is not None:
        if builtin not in BUILTINS or len(document) != 1:
            raise _invalid("submission")
        return builtin, None, ()
    digest, parts = document.get("digest"), document.get("parts")
    if type(digest) is not str or not is_digest(digest):
        raise _invalid("submission.digest")
    if type(parts) is not list or not 1 <= len(parts) <= MAX_PARTS:
        raise _invalid("submission.parts")
    if not all(type(part) is str and part.replace("-", "").isalnum() for part in parts):
        raise _invalid("submission.parts")
    return None, digest, tuple(parts)


def _probe(document: Any) -> Probe | None:
    if document is None:
        return None
    if type(document) is not dict or document.keys() != {"address", "port", "deadlineSeconds"}:
        raise _invalid("probe")
    address, port = document["address"], document["port"]
    deadline = document["deadlineSeconds"]
    if type(address) is not str or type(port) is not int or not 0 < port < 65536:
        raise _invalid("probe")
    try:
        # A name would have to be resolved, and there is nobody in the Pod to ask.
        socket.inet_pton(socket.AF_INET6 if ":" in address else socket.AF_INET, address)
    except (OSError, ValueError):
        raise _invalid("probe") from None
    if type(deadline) not in (int, float) or not 0 < deadline <= 600:
        raise _invalid("probe")
    return Probe(address, port, float(deadline))


def _invalid(name: str) -> Unjudgeable:
    return Unjudgeable(INVALID_JOB, f"The job given to the referee has no valid {name}.")
