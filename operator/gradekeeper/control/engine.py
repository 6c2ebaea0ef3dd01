"""The engine: events in, one plan at a time a key, actions out; the only place that retries.

kopf's watches and a periodic list feed the store; the store feeds the queue; each key is planned by
a pure function and the plan is applied here. Everything is level-triggered: a key that is processed
too often costs time, never correctness. What this process remembers between runs of a job (`Memo`)
is a cache: losing it with the process costs reads, at most one repeated look.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, cast

import gradekeeper
from gradekeeper.api.names import (
    API_VERSION,
    JOBS_PLURAL,
    LABEL_ATTEMPT,
    LABEL_JOB,
    LABEL_MANAGED_BY,
    MANAGED_BY,
    SUITES_PLURAL,
)
from gradekeeper.api.reasons import ConditionType, Decision, SuiteReason
from gradekeeper.api.schema import dump
from gradekeeper.api.status import (
    GradingJobStatus,
    GradingSuiteStatus,
    SuiteJobs,
    find_condition,
)
from gradekeeper.control.admission import Place, Slots
from gradekeeper.control.cluster import LOGS_IN_FLIGHT, Cluster, Manifest
from gradekeeper.control.detaillog import Finished, LogKeeper
from gradekeeper.control.errors import (
    ClusterError,
    Conflict,
    Forbidden,
    IndexInvalid,
    Invalid,
    NotFound,
    QuotaExceeded,
    Retryable,
)
from gradekeeper.control.health import Vitals
from gradekeeper.control.logs import Log, log
from gradekeeper.control.metrics import Metrics
from gradekeeper.control.plan import (
    Building,
    ConfirmPod,
    CreateFailure,
    CreatePod,
    DeleteJob,
    DeletePod,
    Observed,
    Parts,
    Plan,
    ReadParts,
    Serving,
    Settlement,
    Slot,
    plan_job,
)
from gradekeeper.control.probe import ServingRecord
from gradekeeper.control.queue import KeyedQueue, Urgency
from gradekeeper.control.recorder import Note, Recorder
from gradekeeper.control.settings import Settings, plan_policy, pod_settings
from gradekeeper.control.store import (
    KINDS,
    Job,
    Kind,
    Pod,
    Record,
    SettledJob,
    Store,
    Suite,
    Unreadable,
    parse_pod,
)
from gradekeeper.control.suiteplan import (
    ObservedSuite,
    admission_checks,
    plan_suite,
    usable,
)
from gradekeeper.control.trust import Refused, SuiteIndex, parse_index, read_author_keys, verify
from gradekeeper.pods.build import FrozenSuite, ProbeTarget
from gradekeeper.verdicts.model import Graded, Unjudged
from gradekeeper.verdicts.signing import SigningKey, attestation_from_envelope
from gradekeeper.verdicts.statement import (
    Issuer,
    JobIdentity,
    build_verdict_statement,
    encode_statement,
)

MAX_STEPS = 8
"""Plans of one run of a key; more are left to the next run, so that no key starves the others."""
BACKOFF_SECONDS = 0.5
MAX_BACKOFF_SECONDS = 60.0
PARTS_FIRST_SECONDS = 0.05
PARTS_MAX_SECONDS = 5.0
PARTS_LATE_SECONDS = 30.0
PARTS_LATE_AFTER_SECONDS = 600.0
SUITE_RECHECK_SECONDS = 5.0


class Key(NamedTuple):
    """What is reconciled: a job or a suite, by UID."""

    kind: Kind
    uid: str


@dataclass(slots=True)
class Memo:
    """What this process remembers about an unsettled job between its runs.

    Attributes:
        parts: what is known of its parts.
        parts_due: loop time at which missing parts are looked for again.
        failure: why its last Pod was not created.
        denials: how often a quota refused the present attempt.
        known: attempts whose Pod was seen existing.
        gone: attempts whose Pod was looked for and does not exist.
        foreign: Pods under names of ours that the watch does not show, by name.
    """

    parts: Parts = Parts.UNKNOWN
    parts_due: float = 0.0
    failure: CreateFailure | None = None
    denials: int = 0
    known: set[int] = field(default_factory=set)
    gone: set[int] = field(default_factory=set)
    foreign: dict[str, Pod] = field(default_factory=dict)


@dataclass(slots=True)
class SuiteMemo:
    """What this process remembers about a suite.

    Attributes:
        generation: the generation that `index` was read for.
        index: its parsed index, or why there is none.
        trusted: the outcome of its last verification.
        retries: how often its admission was repeated.
        ready: what jobs may use, as last announced to them: (suite, for others than built-in).
    """

    generation: int = -1
    index: SuiteIndex | Refused | None = None
    trusted: FrozenSuite | Refused | None = None
    retries: int = 0
    ready: tuple[FrozenSuite | None, FrozenSuite | None] = (None, None)


class Engine:
    """The operator's state and its loop.

    Args:
        settings: the installation's.
        cluster: adapter to the API server.
        key: signs verdicts.
        serving: when the probe port was open.
        recorder: posts Events.
        metrics: counts.
        clock: wall clock, aware; injectable for tests.
    """

    def __init__(
        self,
        settings: Settings,
        cluster: Cluster,
        key: SigningKey,
        serving: ServingRecord,
        recorder: Recorder,
        metrics: Metrics,
        *,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.settings = settings
        self.store = Store()
        self.queue: KeyedQueue[Key] = KeyedQueue()
        self.slots = Slots(settings.max_pods_in_flight)
        self.synced = asyncio.Event()
        self._cluster = cluster
        self._key = key
        self._recorder = recorder
        self._metrics = metrics
        self._clock = clock
        self._policy = plan_policy(settings)
        self._building = Building(
            settings=pod_settings(settings),
            probe=ProbeTarget(
                address=settings.probe_address,
                port=settings.probe_port,
                deadline_seconds=settings.probe_deadline_seconds,
            ),
        )
        self._serving = Serving(vouches=serving.vouches, may_vouch=serving.may_vouch)
        self._issuer = Issuer(gradekeeper.__version__, settings.installation)
        self._memos: dict[str, Memo] = {}
        self._suites: dict[str, SuiteMemo] = {}
        self._counts: dict[str, SuiteJobs] = {}
        self._deleting: set[str] = set()
        self._failures: Counter[Key] = Counter()
        self._logs = LogKeeper(
            cluster,
            metrics,
            max_bytes=settings.detail_log_max_bytes,
            has_job=lambda uid: self.store.get("job", uid) is not None,
            done=lambda uid: self.queue.add(Key("job", uid)),
        )
        self._last_watch = self._last_list = time.monotonic()

    # -- intake -----------------------------------------------------------------------------------

    def observe(self, kind: Kind, change: str | None, manifest: Manifest) -> None:
        """Take in a watch event; called by kopf's handlers, so it only stores and enqueues.

        Args:
            kind: which kind.
            change: `ADDED`, `MODIFIED`, `DELETED`, or None for an object of an initial list.
            manifest: the object.
        """
        self._last_watch = time.monotonic()
        self._metrics.watch_events.labels(kind).inc()
        if change == "DELETED":
            self._forget(kind, str(manifest.get("metadata", {}).get("uid", "")))
        else:
            self._take(kind, manifest)

    def vitals(self, loop_lag: float) -> Vitals:
        """Return what liveness is judged by."""
        now = time.monotonic()
        return Vitals(
            synced=self.synced.is_set(),
            relist_age=now - self._last_list,
            watch_age=now - self._last_watch,
            oldest_key_age=self.queue.oldest_age(),
            loop_lag=loop_lag,
        )

    def refresh_gauges(self) -> None:
        """Bring the gauges of `/metrics` up to date."""
        self._metrics.pods_in_flight.set(self.slots.in_flight)
        self._metrics.jobs_waiting.set(self.slots.waiting)
        self._metrics.queue_depth.set(len(self.queue))
        for kind in KINDS:
            self._metrics.stored_objects.labels(kind).set(len(self.store.records(kind)))

    def _take(self, kind: Kind, manifest: Manifest) -> bool:
        """Store an object; returns whether anything changed."""
        try:
            record = self.store.upsert(kind, manifest)
        except Unreadable as error:
            log(
                Log.OBJECT_UNREADABLE,
                level=logging.ERROR,
                kind=kind,
                name=manifest.get("metadata", {}).get("name"),
                why=str(error),
            )
            return False
        if record is None:
            return False
        self._enqueue(kind, record)
        return True

    def _forget(self, kind: Kind, uid: str) -> bool:
        """Drop an object that is gone; returns whether it was known."""
        record = self.store.delete(kind, uid)
        self._deleting.discard(uid)
        self._logs.forget(uid)
        if record is None:
            return False
        self._enqueue(kind, record)
        return True

    def _enqueue(self, kind: Kind, record: Record) -> None:
        match record:
            case Pod():
                if record.job_uid:
                    self.queue.add(Key("job", record.job_uid))
            case Suite():
                self.queue.add(Key("suite", record.meta.uid))
            case Job():
                begun = record.status.attempts or self.slots.holds(record.meta.uid)
                urgency = Urgency.PROGRESS if begun else Urgency.ADMISSION
                self.queue.add(Key("job", record.meta.uid), urgency)
                self._enqueue_owners(record)
            case SettledJob():
                self.queue.add(Key("job", record.meta.uid), Urgency.ADMISSION)
                self._enqueue_owners(record)

    def _enqueue_owners(self, record: Job | SettledJob) -> None:
        for owner in record.meta.owners:
            if owner in self.store.suites:
                self.queue.add(Key("suite", owner))

    # -- life -------------------------------------------------------------------------------------

    async def run(self) -> None:
        """List everything, then reconcile and relist until cancelled."""
        await self._first_list()
        for job in self.store.jobs.values():
            if any(_is_in_flight(pod) for pod in self.store.pods_of(job.meta.uid)):
                self.slots.hold(job.meta.uid)
        self.synced.set()
        log(
            Log.OPERATOR_SYNCED,
            jobs=len(self.store.jobs),
            settled=len(self.store.settled),
            suites=len(self.store.suites),
            pods=len(self.store.pods),
        )
        async with asyncio.TaskGroup() as group:
            for _ in range(self.settings.workers):
                group.create_task(self._work())
            group.create_task(self._relist_forever())
            # Here and not in a task of theirs: what begins after kopf counts as hung at its end.
            for _ in range(LOGS_IN_FLIGHT):
                group.create_task(self._logs.work())

    async def _first_list(self) -> None:
        failures = 0
        while True:
            try:
                await self.relist(complete=True)
                return
            except ClusterError as error:
                failures += 1
                log(Log.RELIST_FAILED, level=logging.WARNING, why=str(error))
                await asyncio.sleep(_backoff(failures, 10.0))

    async def _relist_forever(self) -> None:
        while True:
            await asyncio.sleep(self.settings.relist_seconds)
            try:
                await self.relist()
            except ClusterError as error:
                log(Log.RELIST_FAILED, level=logging.WARNING, why=str(error))

    async def relist(self, *, complete: bool = False) -> int:
        """List all namespaces and heal what the watches missed.

        Args:
            complete: list whole objects (the first time); else metadata, and read what differs.

        Returns:
            How many objects differed.

        Raises:
            ClusterError: a list failed; nothing was forgotten because of it.
        """
        healed: Counter[Kind] = Counter()
        for kind in KINDS:
            for namespace in self.settings.namespaces:
                healed[kind] += await self._relist(kind, namespace, complete=complete)
        self._last_list = time.monotonic()
        if not complete:
            for kind, count in healed.items():
                self._metrics.relist_healed.labels(kind).inc(count)
            self._count_jobs()
            # Keys of trusted authors may have changed, and counts of jobs have.
            for uid in self.store.suites:
                self.queue.add(Key("suite", uid))
        log(Log.RELISTED, level=logging.DEBUG, healed=healed.total())
        return healed.total()

    async def _relist(self, kind: Kind, namespace: str, *, complete: bool) -> int:
        listed: list[str] = []
        version = ""
        differs = 0
        pages = self._cluster.list_pages(
            _collection(kind, namespace),
            label_selector=f"{LABEL_MANAGED_BY}={MANAGED_BY}" if kind == "pod" else "",
            metadata_only=not complete,
        )
        async for items, list_version in pages:
            version = list_version
            for item in items:
                meta = item.get("metadata") or {}
                uid = str(meta.get("uid", ""))
                listed.append(uid)
                if complete:
                    differs += self._take(kind, item)
                    continue
                known = self.store.get(kind, uid)
                if known is None or known.meta.version != str(meta.get("resourceVersion", "")):
                    differs += await self._refresh(kind, namespace, str(meta.get("name", "")))
        for uid in self.store.missing(kind, namespace, listed, version):
            differs += self._forget(kind, uid)
        return differs

    async def _refresh(self, kind: Kind, namespace: str, name: str) -> bool:
        """Read one object into the store; returns whether anything changed."""
        try:
            return self._take(kind, await self._cluster.get(_path(kind, namespace, name)))
        except NotFound:
            return False  # The list that follows, or the watch, says which UID is gone.

    async def _work(self) -> None:
        while (key := await self.queue.get()) is not None:
            try:
                await self._process(key)
            finally:
                self.queue.done(key)

    async def _process(self, key: Key) -> None:
        """Run one key; whatever happens, the worker goes on."""
        try:
            if key.kind == "job":
                await self._reconcile_job(key.uid)
            else:
                await self._reconcile_suite(key.uid)
        except (Conflict, NotFound) as error:
            log(Log.RECONCILE_CONFLICT, key=key.kind, uid=key.uid, why=str(error))
            self._metrics.reconcile_errors.labels("conflict").inc()
            await self._reread(key)
        except Retryable as error:
            self._retry(key, Log.RECONCILE_RETRY, "unavailable", error, error.retry_after)
        except ClusterError as error:
            self._retry(key, Log.RECONCILE_ERROR, "refused", error)
        except Exception as error:
            # A defect must not end the worker: other jobs still need it.
            self._retry(key, Log.RECONCILE_ERROR, "defect", error)
        else:
            self._failures.pop(key, None)

    async def _reread(self, key: Key) -> None:
        record = self.store.get(key.kind, key.uid)
        if record is None:
            return
        meta = record.meta
        try:
            manifest = await self._cluster.get(_path(key.kind, meta.namespace, meta.name))
        except NotFound:
            self._forget(key.kind, key.uid)
            return
        except ClusterError as error:
            self._retry(key, Log.RECONCILE_RETRY, "unavailable", error)
            return
        if str(manifest.get("metadata", {}).get("uid", "")) != key.uid:
            self._forget(key.kind, key.uid)
        if not self._take(key.kind, manifest):
            # Nothing new explains the refusal: do not spin.
            self._retry(key, Log.RECONCILE_RETRY, "conflict", None)

    def _retry(
        self,
        key: Key,
        event: Log,
        kind: str,
        error: Exception | None,
        at_least: float = 0.0,
    ) -> None:
        self._failures[key] += 1
        self._metrics.reconcile_errors.labels(kind).inc()
        delay = max(at_least, _backoff(self._failures[key], MAX_BACKOFF_SECONDS))
        level = logging.ERROR if event is Log.RECONCILE_ERROR else logging.WARNING
        log(
            event,
            level=level,
            error=kind == "defect",
            key=key.kind,
            uid=key.uid,
            why=str(error) if error is not None else "",
            retry_seconds=round(delay, 2),
        )
        self.queue.add_after(key, delay)

    # -- jobs -------------------------------------------------------------------------------------

    async def _reconcile_job(self, uid: str) -> None:
        key = Key("job", uid)
        for _ in range(MAX_STEPS):
            record = self.store.get("job", uid)
            if not isinstance(record, Job | SettledJob):
                self._drop_memo(uid)
                return
            if isinstance(record, SettledJob):
                self._drop_memo(uid)
            plan = plan_job(
                self._observe(record),
                now=self._clock(),
                policy=self._policy,
                building=self._building,
                serving=self._serving,
            )
            if not await self._apply(record, plan):
                delays = [plan.requeue_after, self._parts_in(uid)]
                if soonest := [delay for delay in delays if delay is not None]:
                    self.queue.add_after(key, min(soonest))
                return
        self.queue.add_after(key, BACKOFF_SECONDS)

    def _drop_memo(self, uid: str) -> None:
        self._memos.pop(uid, None)
        self._granted(self.slots.release(uid))

    def _granted(self, uids: list[str]) -> None:
        for uid in uids:
            self.queue.add(Key("job", uid), Urgency.ADMISSION)

    def _observe(self, record: Job | SettledJob) -> Observed:
        uid = record.meta.uid
        pods = self.store.pods_of(uid)
        if isinstance(record, SettledJob):
            return Observed(job=record, pods=tuple(pods))
        memo = self._memos.setdefault(uid, Memo())
        for pod in pods:
            number = (pod.manifest["metadata"].get("labels") or {}).get(LABEL_ATTEMPT, "")
            if number.isdecimal():
                memo.known.add(int(number))
                memo.gone.discard(int(number))
        if memo.parts is Parts.MISSING and self._time() >= memo.parts_due:
            memo.parts = Parts.UNKNOWN
        return Observed(
            job=record,
            pods=(*pods, *memo.foreign.values()),
            suite=self._usable(record),
            parts=memo.parts,
            failure=memo.failure,
            known=frozenset(memo.known),
            gone=frozenset(memo.gone),
            holds_slot=self.slots.holds(uid),
        )

    def _usable(self, job: Job) -> FrozenSuite | None:
        suite = self.store.suite_named(job.meta.namespace, job.spec.suite_ref.name)
        memo = self._suites.get(suite.meta.uid) if suite is not None else None
        if suite is None or memo is None or memo.trusted is None:
            return None
        builtin = job.spec.submission.builtin is not None
        return usable(suite, memo.trusted, builtin=builtin)

    async def _apply(self, record: Job | SettledJob, plan: Plan) -> bool:
        """Apply a plan; returns whether the job has to be planned anew at once."""
        if self._apply_slot(record, plan.slot):
            return True
        for action in plan.before:
            match action, record:
                case CreatePod(), Job():
                    await self._create_pod(record, action)
                case ConfirmPod(), Job():
                    await self._confirm_pod(record, action)
                case ReadParts(), Job():
                    await self._read_parts(record)
        if plan.status is not None and isinstance(record, Job):
            await self._write_status(record, plan.status, plan.settlement)
            self._announce(record, plan)
        for action in plan.after:
            match action:
                case DeletePod():
                    await self._delete_pod(record, action)
                case DeleteJob():
                    path = _path("job", record.meta.namespace, record.meta.name)
                    await self._cluster.delete(path, uid=record.meta.uid)
                    log(Log.JOB_EXPIRED, namespace=record.meta.namespace, job=record.meta.name)
        return bool(plan.before) or plan.requeue_after == 0.0

    def _apply_slot(self, record: Job | SettledJob, slot: Slot) -> bool:
        uid = record.meta.uid
        match slot:
            case Slot.KEEP:
                self.slots.hold(uid)
            case Slot.RELEASE:
                self._granted(self.slots.release(uid))
            case Slot.WANT:
                place = Place(record.meta.created.timestamp(), record.meta.name, uid)
                granted = self.slots.request(place)
                self._granted([other for other in granted if other != uid])
                return uid in granted
        return False

    async def _create_pod(self, job: Job, action: CreatePod) -> None:
        namespace, memo = job.meta.namespace, self._memos.setdefault(job.meta.uid, Memo())
        name = str(action.manifest["metadata"]["name"])
        now = self._clock()
        try:
            created = await self._cluster.create(_collection("pod", namespace), action.manifest)
        except Conflict as conflict:
            if conflict.reason not in ("", "AlreadyExists"):
                raise
            await self._look_at_pod(job, action.attempt, name)
            return
        except QuotaExceeded:
            memo.denials += 1
            failure = memo.failure
            since = failure.since if failure and failure.attempt == action.attempt else now
            retry_at = now + timedelta(seconds=_backoff(memo.denials + 1, 30.0))
            memo.failure = CreateFailure(action.attempt, "quota", since, retry_at)
            return
        except (Invalid, Forbidden, NotFound) as error:
            log(
                Log.POD_REFUSED,
                level=logging.WARNING,
                namespace=namespace,
                job=job.meta.name,
                pod=name,
                why=str(error),
            )
            memo.failure = CreateFailure(action.attempt, "rejected", now, now)
            return
        memo.known.add(action.attempt)
        memo.failure, memo.denials = None, 0
        self._take("pod", created)
        log(
            Log.POD_CREATED,
            namespace=namespace,
            job=job.meta.name,
            pod=name,
            attempt=action.attempt,
        )

    async def _look_at_pod(self, job: Job, attempt: int, name: str) -> None:
        """Read a Pod under a name of ours that the watch does not show, or not yet."""
        memo = self._memos.setdefault(job.meta.uid, Memo())
        try:
            manifest = await self._cluster.get(_path("pod", job.meta.namespace, name))
        except NotFound:
            memo.gone.add(attempt)
            return
        pod = parse_pod(manifest)
        owned = job.meta.uid in pod.meta.owners
        event = Log.POD_ADOPTED if owned else Log.POD_REFUSED
        log(event, namespace=job.meta.namespace, job=job.meta.name, pod=name, attempt=attempt)
        memo.known.add(attempt)
        self._take("pod", manifest)
        if all(one.meta.uid != pod.meta.uid for one in self.store.pods_of(job.meta.uid)):
            memo.foreign[name] = pod

    async def _confirm_pod(self, job: Job, action: ConfirmPod) -> None:
        await self._look_at_pod(job, action.attempt, action.name)

    async def _read_parts(self, job: Job) -> None:
        memo = self._memos.setdefault(job.meta.uid, Memo())
        names = job.spec.submission.config_maps or ()
        found = await asyncio.gather(*(self._has_part(job, name) for name in names))
        if all(found):
            memo.parts = Parts.COMPLETE
            return
        # Most parts follow their job within milliseconds; a client that died never sends them.
        age = time.time() - job.seen
        delay = min(PARTS_MAX_SECONDS, max(PARTS_FIRST_SECONDS, age / 4))
        if age > PARTS_LATE_AFTER_SECONDS:
            delay = PARTS_LATE_SECONDS
        memo.parts, memo.parts_due = Parts.MISSING, self._time() + delay

    def _parts_in(self, uid: str) -> float | None:
        """Seconds until missing parts are looked for again; None if none are missing.

        Asked at the end of each run, for the queue keeps only the earliest time of a key.
        """
        memo = self._memos.get(uid)
        if memo is None or memo.parts is not Parts.MISSING:
            return None
        return max(0.001, memo.parts_due - self._time() + 0.001)

    async def _has_part(self, job: Job, name: str) -> bool:
        """Whether a part exists and belongs to the job; its payload is never read."""
        path = f"/api/v1/namespaces/{job.meta.namespace}/configmaps/{name}"
        try:
            meta = (await self._cluster.get_metadata(path)).get("metadata") or {}
        except NotFound:
            return False
        owners = [str(owner.get("uid", "")) for owner in meta.get("ownerReferences") or ()]
        labelled = (meta.get("labels") or {}).get(LABEL_JOB) == job.meta.name
        return labelled and job.meta.uid in owners

    async def _delete_pod(self, record: Job | SettledJob, action: DeletePod) -> None:
        # It may have gone while this plan's status was being written.
        if action.uid in self._deleting or action.uid not in self.store.pods:
            return
        if action.keep_log is not None and not self._logs.is_done(
            Finished(
                namespace=record.meta.namespace,
                job=record.meta.name,
                job_uid=record.meta.uid,
                attempt=action.keep_log,
                pod=action.name,
                pod_uid=action.uid,
            )
        ):
            return  # The job is planned again when its log is put away, or lost.
        try:
            await self._cluster.delete(
                _path("pod", record.meta.namespace, action.name), uid=action.uid
            )
        except Conflict:
            return  # Another Pod has that name by now; ours is gone.
        self._deleting.add(action.uid)
        log(
            Log.POD_DELETED,
            namespace=record.meta.namespace,
            job=record.meta.name,
            pod=action.name,
        )

    async def _write_status(
        self, job: Job, status: GradingJobStatus, settlement: Settlement | None
    ) -> None:
        patch = status_patch(job.status, status)
        if settlement is not None:
            patch["attestation"] = self._attest(job, status, settlement)
        written = await self._cluster.patch_status(
            _path("job", job.meta.namespace, job.meta.name), job.meta.version, patch
        )
        self._take("job", written)

    def _attest(self, job: Job, status: GradingJobStatus, settlement: Settlement) -> str:
        suite, verdict = settlement.suite, settlement.verdict
        statement = build_verdict_statement(
            verdict=verdict,
            job=JobIdentity(job.meta.namespace, job.meta.name, job.meta.uid, job.spec),
            suite=suite.identity() if suite is not None else None,
            submission_digest=settlement.submission_digest,
            attempts=status.attempts,
            isolation=settlement.isolation,
            log=settlement.log,
            test_ids=(
                suite.tests[job.spec.task]
                if suite is not None and not isinstance(verdict, Unjudged)
                else None
            ),
            issued_at=cast(datetime, status.completion_time),
            issuer=self._issuer,
        )
        return attestation_from_envelope(self._key.sign(encode_statement(statement)))

    def _announce(self, job: Job, plan: Plan) -> None:
        """Log, count and post what a plan that was just written means."""
        namespace, name, status = job.meta.namespace, job.meta.name, plan.status
        assert status is not None
        if plan.failed is not None:
            self._metrics.attempts_failed.labels(plan.failed.reason).inc()
            log(
                Log.ATTEMPT_FAILED,
                level=logging.WARNING,
                namespace=namespace,
                job=name,
                attempt=plan.failed.number,
                reason=plan.failed.reason,
                node=plan.failed.node_name,
                why=plan.why,
            )
            self._note(job, "Warning", plan.failed.reason, plan.failed.message, plan.failed.number)
        if plan.settlement is not None:
            verdict = plan.settlement.verdict
            self._metrics.verdicts.labels(verdict.decision.value, verdict.reason.value).inc()
            taken = (self._clock() - job.meta.created).total_seconds()
            self._metrics.verdict_seconds.observe(max(0.0, taken))
            log(
                Log.VERDICT_WRITTEN,
                namespace=namespace,
                job=name,
                decision=verdict.decision.value,
                reason=verdict.reason.value,
                attempts=len(status.attempts),
                seconds=round(taken, 2),
            )
            kind = "Normal" if isinstance(verdict, Graded) else "Warning"
            self._note(job, kind, verdict.decision.value, verdict.message)
            return
        started = find_condition(status.conditions, ConditionType.STARTED)
        admitted = find_condition(status.conditions, ConditionType.ADMITTED)
        if started is not None and started.status == "True":
            log(Log.JOB_STARTED, namespace=namespace, job=name, attempt=len(status.attempts))
            self._note(job, "Normal", started.reason, started.message, len(status.attempts))
        elif admitted is not None and admitted.status == "False":
            log(Log.JOB_WAITING, namespace=namespace, job=name, reason=admitted.reason)
            self._note(job, "Normal", admitted.reason, admitted.message)

    def _note(self, job: Job, kind: str, reason: str, message: str, dedup: object = "") -> None:
        self._recorder.post(
            Note(
                kind="GradingJob",
                namespace=job.meta.namespace,
                name=job.meta.name,
                uid=job.meta.uid,
                type="Warning" if kind == "Warning" else "Normal",
                reason=reason,
                message=message,
                dedup=str(dedup),
            )
        )

    # -- suites -----------------------------------------------------------------------------------

    async def _reconcile_suite(self, uid: str) -> None:
        suite = self.store.suites.get(uid)
        if suite is None:
            self._suites.pop(uid, None)
            return
        memo = self._suites.setdefault(uid, SuiteMemo())
        trusted = memo.trusted = await self._verify(suite, memo)
        checks = admission_checks(suite, trusted) if isinstance(trusted, FrozenSuite) else []
        plan = plan_suite(
            ObservedSuite(
                suite=suite,
                trusted=trusted,
                jobs={
                    check.name: self.store.job_named(suite.meta.namespace, check.name)
                    for check in checks
                },
                retries=memo.retries,
                counts=self._counts.get(uid),
            ),
            now=self._clock(),
            retry_seconds=self.settings.admission_retry_seconds,
        )
        if plan.status is not None:
            await self._write_suite_status(suite, plan.status)
        self._wake_jobs(uid, memo)
        for manifest in plan.create:
            await self._create_admission_job(suite, manifest)
        for name, job_uid in plan.delete:
            memo.retries += 1
            await self._cluster.delete(_path("job", suite.meta.namespace, name), uid=job_uid)
        requeue = plan.requeue_after
        if isinstance(trusted, Refused):
            requeue = min(requeue or SUITE_RECHECK_SECONDS, SUITE_RECHECK_SECONDS)
        if requeue is not None:
            self.queue.add_after(Key("suite", uid), requeue)

    async def _verify(self, suite: Suite, memo: SuiteMemo) -> FrozenSuite | Refused:
        if memo.generation != suite.meta.generation or not isinstance(memo.trusted, FrozenSuite):
            memo.index = await self._read_index(suite)
            if memo.generation != suite.meta.generation:
                memo.retries = 0
            memo.generation = suite.meta.generation
        keys = await asyncio.to_thread(read_author_keys, self.settings.author_keys)
        assert memo.index is not None
        return verify(suite.meta.name, suite.spec, memo.index, keys)

    async def _read_index(self, suite: Suite) -> SuiteIndex | Refused:
        namespace, name = suite.meta.namespace, suite.spec.index_ref.name
        try:
            config_map = await self._cluster.get(
                f"/api/v1/namespaces/{namespace}/configmaps/{name}"
            )
            return parse_index(config_map)
        except NotFound:
            return Refused(SuiteReason.INDEX_MISSING)
        except IndexInvalid as error:
            return Refused(SuiteReason.INDEX_INVALID, str(error))

    def _count_jobs(self) -> None:
        """Count every suite's jobs by state, once a relist; more often would be a write a job."""
        found: dict[tuple[str, str], Counter[str]] = {}
        for settled in self.store.settled.values():
            name = (settled.meta.namespace, settled.suite)
            found.setdefault(name, Counter())[settled.decision] += 1
        for job in self.store.jobs.values():
            name = (job.meta.namespace, job.spec.suite_ref.name)
            state = "running" if self.slots.holds(job.meta.uid) else "waiting"
            found.setdefault(name, Counter())[state] += 1
        self._counts = {}
        for suite in self.store.suites.values():
            counts = found.get((suite.meta.namespace, suite.meta.name), Counter())
            self._counts[suite.meta.uid] = SuiteJobs(
                waiting=counts["waiting"],
                running=counts["running"],
                graded=counts[Decision.GRADED.value],
                rejected=counts[Decision.REJECTED.value],
                unjudged=counts[Decision.UNJUDGED.value],
            )

    async def _write_suite_status(self, suite: Suite, status: GradingSuiteStatus) -> None:
        written = await self._cluster.patch_status(
            _path("suite", suite.meta.namespace, suite.meta.name),
            suite.meta.version,
            status_patch(suite.status, status),
        )
        self._take("suite", written)
        if status.conditions == suite.status.conditions:
            return
        ready = find_condition(status.conditions, ConditionType.READY)
        changed = [one for one in status.conditions if one not in suite.status.conditions]
        for condition in changed:
            log(
                Log.SUITE_CHANGED,
                namespace=suite.meta.namespace,
                suite=suite.meta.name,
                condition=condition.type,
                status=condition.status,
                reason=condition.reason,
            )
        worst = next((one for one in changed if one.status == "False"), None) or ready
        if worst is not None:
            self._recorder.post(
                Note(
                    kind="GradingSuite",
                    namespace=suite.meta.namespace,
                    name=suite.meta.name,
                    uid=suite.meta.uid,
                    type="Warning" if worst.status == "False" else "Normal",
                    reason=worst.reason,
                    message=worst.message,
                    dedup=str(suite.meta.generation),
                )
            )

    def _wake_jobs(self, uid: str, memo: SuiteMemo) -> None:
        """Enqueue jobs for which the suite became usable, or ceased to be."""
        suite = self.store.suites.get(uid)
        if suite is None or memo.trusted is None:
            return
        ready = (
            usable(suite, memo.trusted, builtin=True),
            usable(suite, memo.trusted, builtin=False),
        )
        if ready == memo.ready:
            return
        memo.ready = ready
        for job in self.store.waiting_for_suite(suite.meta.namespace, suite.meta.name):
            self.queue.add(Key("job", job.meta.uid), Urgency.ADMISSION)

    async def _create_admission_job(self, suite: Suite, manifest: Manifest) -> None:
        namespace, name = suite.meta.namespace, str(manifest["metadata"]["name"])
        try:
            created = await self._cluster.create(_collection("job", namespace), manifest)
        except Conflict:
            await self._refresh("job", namespace, name)
            return
        self._take("job", created)
        log(Log.ADMISSION_JOB_CREATED, namespace=namespace, suite=suite.meta.name, job=name)

    def _time(self) -> float:
        return asyncio.get_running_loop().time()


def status_patch(
    old: GradingJobStatus | GradingSuiteStatus, new: GradingJobStatus | GradingSuiteStatus
) -> dict[str, Any]:
    """Return the merge patch from one status to another: whole top-level fields that differ."""
    before, after = dump(old), dump(new)
    patch: dict[str, Any] = {
        name: value for name, value in after.items() if before.get(name) != value
    }
    patch.update(dict.fromkeys(before.keys() - after.keys()))
    return patch


def _collection(kind: Kind, namespace: str) -> str:
    match kind:
        case "job":
            return f"/apis/{API_VERSION}/namespaces/{namespace}/{JOBS_PLURAL}"
        case "suite":
            return f"/apis/{API_VERSION}/namespaces/{namespace}/{SUITES_PLURAL}"
        case "pod":
            return f"/api/v1/namespaces/{namespace}/pods"


def _path(kind: Kind, namespace: str, name: str) -> str:
    return f"{_collection(kind, namespace)}/{name}"


def _backoff(failures: int, cap: float) -> float:
    """Seconds to wait after so many failures in a row: doubling, capped, with jitter."""
    delay = min(cap, BACKOFF_SECONDS * 2.0 ** min(failures - 1, 16))
    return delay * random.uniform(0.75, 1.25)  # noqa: S311


def _is_in_flight(pod: Pod) -> bool:
    phase = (pod.manifest.get("status") or {}).get("phase")
    return not pod.meta.deleting and phase not in {"Succeeded", "Failed"}
