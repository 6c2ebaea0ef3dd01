"""What the operator remembers of the cluster: stripped records, keyed by UID.

Unsettled jobs are kept with their spec, settled ones as a few words, Pods without managed fields.
No payload of a ConfigMap and no attestation is ever held. Watches and lists may arrive in any
order: an older resourceVersion never replaces a newer one, and a deleted UID never comes back.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from pydantic import ValidationError

from gradekeeper.api.names import LABEL_JOB_UID
from gradekeeper.api.spec import GradingJobSpec, GradingSuiteSpec
from gradekeeper.api.status import GradingJobStatus, GradingSuiteStatus

Kind = Literal["job", "suite", "pod"]
KINDS: tuple[Kind, ...] = ("suite", "pod", "job")
"""In the order in which they are listed: a job is never seen before its suite and Pods."""

REMEMBER_DELETED = 20_000


class Unreadable(Exception):
    """An object does not have the shape that its CRD guarantees."""


@dataclass(frozen=True, slots=True)
class ObjectMeta:
    """What is kept of every object's metadata.

    Attributes:
        namespace: its namespace.
        name: its name.
        uid: its UID.
        version: its resourceVersion.
        generation: its generation.
        created: creation time.
        deleting: whether deletion was asked for.
        owners: UIDs of its owners.
    """

    namespace: str
    name: str
    uid: str
    version: str
    generation: int
    created: datetime
    deleting: bool
    owners: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Job:
    """A GradingJob without a verdict.

    Attributes:
        meta: its metadata.
        spec: its spec.
        status: its status (never with an attestation).
        seen: unix seconds when this process saw it first.
    """

    meta: ObjectMeta
    spec: GradingJobSpec
    status: GradingJobStatus
    seen: float


@dataclass(frozen=True, slots=True)
class SettledJob:
    """A GradingJob with a verdict: only what its cleanup and its suite need.

    Attributes:
        meta: its metadata.
        suite: name of its suite.
        decision: decision of the verdict, as text.
        reason: reason of the verdict, as text.
        completed: when the verdict was written.
        ttl: seconds after `completed` at which it is deleted.
        outcomes: of built-in jobs owned by a suite, the outcome characters; else None.
    """

    meta: ObjectMeta
    suite: str
    decision: str
    reason: str
    completed: datetime
    ttl: int
    outcomes: str | None


@dataclass(frozen=True, slots=True)
class Suite:
    """A GradingSuite.

    Attributes:
        meta: its metadata.
        spec: its spec.
        status: its status.
    """

    meta: ObjectMeta
    spec: GradingSuiteSpec
    status: GradingSuiteStatus


@dataclass(frozen=True, slots=True)
class Pod:
    """A grading Pod.

    Attributes:
        meta: its metadata.
        job_uid: the job that it says it belongs to.
        manifest: the whole object but for managed fields.
    """

    meta: ObjectMeta
    job_uid: str
    manifest: dict[str, Any]


Record = Job | SettledJob | Suite | Pod


def parse_time(text: str) -> datetime:
    """Parse an API time; raises ValueError."""
    return datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone(UTC)


def parse_meta(manifest: Mapping[str, Any]) -> ObjectMeta:
    """Strip an object's metadata.

    Raises:
        Unreadable: a field is missing that the API server always sets.
    """
    try:
        meta = manifest["metadata"]
        return ObjectMeta(
            namespace=str(meta.get("namespace", "")),
            name=str(meta["name"]),
            uid=str(meta["uid"]),
            version=str(meta.get("resourceVersion", "")),
            generation=int(meta.get("generation", 0)),
            created=parse_time(meta["creationTimestamp"]),
            deleting=bool(meta.get("deletionTimestamp")),
            owners=tuple(str(one["uid"]) for one in meta.get("ownerReferences") or ()),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise Unreadable(f"metadata: {error!r}") from None


def parse_job(manifest: Mapping[str, Any], *, seen: float) -> Job | SettledJob:
    """Strip a GradingJob.

    Raises:
        Unreadable: its spec or status breaks its own schema.
    """
    meta = parse_meta(manifest)
    try:
        spec = GradingJobSpec.model_validate(manifest.get("spec") or {})
        raw = dict(manifest.get("status") or {})
        raw.pop("attestation", None)
        status = GradingJobStatus.model_validate(raw)
    except ValidationError as error:
        raise Unreadable(f"job: {error.error_count()} fields") from None
    if status.verdict is None:
        return Job(meta, spec, status, seen)
    admission = spec.submission.builtin is not None and bool(meta.owners)
    return SettledJob(
        meta=meta,
        suite=spec.suite_ref.name,
        decision=status.verdict.decision.value,
        reason=status.verdict.reason.value,
        completed=status.completion_time or meta.created,
        ttl=spec.ttl_seconds_after_finished,
        outcomes=status.verdict.outcomes if admission else None,
    )


def parse_suite(manifest: Mapping[str, Any]) -> Suite:
    """Strip a GradingSuite.

    Raises:
        Unreadable: its spec or status breaks its own schema.
    """
    meta = parse_meta(manifest)
    try:
        return Suite(
            meta,
            GradingSuiteSpec.model_validate(manifest.get("spec") or {}),
            GradingSuiteStatus.model_validate(manifest.get("status") or {}),
        )
    except ValidationError as error:
        raise Unreadable(f"suite: {error.error_count()} fields") from None


def parse_pod(manifest: Mapping[str, Any]) -> Pod:
    """Strip a Pod; raises Unreadable."""
    meta = parse_meta(manifest)
    raw = dict(manifest["metadata"])
    raw.pop("managedFields", None)
    labels = raw.get("labels") or {}
    return Pod(meta, str(labels.get(LABEL_JOB_UID, "")), {**manifest, "metadata": raw})


def is_older(version: str, known: str) -> bool:
    """Whether a resourceVersion is before another of the same object.

    They are numbers in every API server that exists; what is no number is never older.
    """
    return version.isdecimal() and known.isdecimal() and int(version) < int(known)


@dataclass(slots=True)
class Store:
    """All records, by kind and UID."""

    jobs: dict[str, Job] = field(default_factory=dict)
    settled: dict[str, SettledJob] = field(default_factory=dict)
    suites: dict[str, Suite] = field(default_factory=dict)
    pods: dict[str, Pod] = field(default_factory=dict)
    _pods_of: dict[str, set[str]] = field(default_factory=dict)
    _suite_by_name: dict[tuple[str, str], str] = field(default_factory=dict)
    _job_by_name: dict[tuple[str, str], str] = field(default_factory=dict)
    _deleted: OrderedDict[str, None] = field(default_factory=OrderedDict)

    def get(self, kind: Kind, uid: str) -> Record | None:
        """The record of that UID, if any."""
        match kind:
            case "job":
                return self.jobs.get(uid) or self.settled.get(uid)
            case "suite":
                return self.suites.get(uid)
            case "pod":
                return self.pods.get(uid)

    def pods_of(self, job_uid: str) -> list[Pod]:
        """The Pods that carry the job's UID as a label, by name."""
        found = [self.pods[uid] for uid in self._pods_of.get(job_uid, ())]
        return sorted(found, key=lambda pod: pod.meta.name)

    def suite_named(self, namespace: str, name: str) -> Suite | None:
        """The suite of that name, if any."""
        return self.suites.get(self._suite_by_name.get((namespace, name), ""))

    def job_named(self, namespace: str, name: str) -> Job | SettledJob | None:
        """The job of that name, if any."""
        uid = self._job_by_name.get((namespace, name), "")
        return self.jobs.get(uid) or self.settled.get(uid)

    def waiting_for_suite(self, namespace: str, name: str) -> Iterator[Job]:
        """Unsettled jobs that name the suite."""
        for job in self.jobs.values():
            if job.meta.namespace == namespace and job.spec.suite_ref.name == name:
                yield job

    def upsert(self, kind: Kind, manifest: Mapping[str, Any]) -> Record | None:
        """Take in an object as listed, watched or returned by a write.

        Returns:
            The new record, or None where nothing changed: it is older than what is known, equal
            to it, or was deleted since.

        Raises:
            Unreadable: it does not have its kind's shape.
        """
        meta = parse_meta(manifest)
        known = self.get(kind, meta.uid)
        if meta.uid in self._deleted:
            return None
        if known is not None and (
            meta.version == known.meta.version or is_older(meta.version, known.meta.version)
        ):
            return None
        record: Record
        match kind:
            case "job":
                seen = known.seen if isinstance(known, Job) else time.time()
                record = parse_job(manifest, seen=seen)
                self._forget_job(meta.uid)
                if isinstance(record, Job):
                    self.jobs[meta.uid] = record
                else:
                    self.settled[meta.uid] = record
                self._job_by_name[meta.namespace, meta.name] = meta.uid
            case "suite":
                record = self.suites[meta.uid] = parse_suite(manifest)
                self._suite_by_name[meta.namespace, meta.name] = meta.uid
            case "pod":
                record = parse_pod(manifest)
                self._forget_pod(meta.uid)
                self.pods[meta.uid] = record
                self._pods_of.setdefault(record.job_uid, set()).add(meta.uid)
        return record

    def delete(self, kind: Kind, uid: str) -> Record | None:
        """Forget an object that is gone; returns what was known of it."""
        known = self.get(kind, uid)
        self._deleted[uid] = None
        if len(self._deleted) > REMEMBER_DELETED:
            self._deleted.popitem(last=False)
        match kind:
            case "job":
                self._forget_job(uid)
            case "suite":
                suite = self.suites.pop(uid, None)
                if suite is not None:
                    _unname(self._suite_by_name, suite.meta)
            case "pod":
                self._forget_pod(uid)
        return known

    def missing(
        self, kind: Kind, namespace: str, listed: Iterable[str], list_version: str
    ) -> list[str]:
        """UIDs of a namespace that a complete list does not have, though it is not older.

        Args:
            kind: which kind was listed.
            namespace: which namespace was listed.
            listed: UIDs in the list.
            list_version: the list's resourceVersion.
        """
        present = set(listed)
        return [
            record.meta.uid
            for record in self.records(kind)
            if record.meta.namespace == namespace
            and record.meta.uid not in present
            and not is_older(list_version, record.meta.version)
        ]

    def records(self, kind: Kind) -> list[Record]:
        """All records of a kind."""
        match kind:
            case "job":
                return [*self.jobs.values(), *self.settled.values()]
            case "suite":
                return list(self.suites.values())
            case "pod":
                return list(self.pods.values())

    def _forget_job(self, uid: str) -> None:
        job = self.jobs.pop(uid, None) or self.settled.pop(uid, None)
        if job is not None:
            _unname(self._job_by_name, job.meta)

    def _forget_pod(self, uid: str) -> None:
        pod = self.pods.pop(uid, None)
        if pod is None:
            return
        of_job = self._pods_of.get(pod.job_uid, set())
        of_job.discard(uid)
        if not of_job:
            self._pods_of.pop(pod.job_uid, None)


def _unname(names: dict[tuple[str, str], str], meta: ObjectMeta) -> None:
    if names.get((meta.namespace, meta.name)) == meta.uid:
        del names[meta.namespace, meta.name]
