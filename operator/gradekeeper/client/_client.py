"""The client: submit, wait, verify, clean up."""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import functools
import itertools
import logging
import time
import weakref
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final

from pydantic import ValidationError

from gradekeeper.api import names
from gradekeeper.api.spec import GradingJobSpec, Untransportable
from gradekeeper.api.status import GradingJobStatus
from gradekeeper.client._connection import Connection, Manifest, load_settings
from gradekeeper.client._hub import JobHub, Subscription, jobs_path
from gradekeeper.client._pack import pack_directory, split_parts
from gradekeeper.client._request import (
    JobHandle,
    JobRequest,
    build_job,
    build_part,
    build_spec,
    differences,
    expected_digest,
    statement_mismatches,
)
from gradekeeper.client.errors import (
    ApiError,
    AttestationError,
    ConfigurationError,
    ConflictError,
    ForbiddenError,
    GradekeeperError,
    InvalidError,
    JobConflictError,
    JobLostError,
    NotFoundError,
    PatienceOverError,
    SubmissionError,
    TooLargeToSendError,
    UnjudgedError,
)
from gradekeeper.verdicts.model import Graded, Rejected, Unjudged
from gradekeeper.verdicts.signing import SignatureInvalid, envelope_from_attestation
from gradekeeper.verdicts.verify import VerificationFailed, verify_verdict

log = logging.getLogger(__name__)

_MERGE_PATCH: Final = "application/merge-patch+json"
_COLLECTED_SECONDS: Final = 60.0
"""For the garbage collector to remove the parts of a deleted job."""
_Key = tuple[str | None, str | None, float]
"""What two clients must have in common to share a connection: kubeconfig, context, patience."""
_LAST_WORD_SECONDS: Final = 10.0
"""For the last read and the delete once the patience is over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """A verdict whose signature and content were checked.

    Attributes:
        verdict: `Graded` or `Rejected`, from the signed statement and from nowhere else.
        envelope: The DSSE envelope (JSON): keep it, anybody can verify it offline.
        statement: The signed in-toto Statement.
        checked: What was checked, one phrase each.
        unchecked: What could not be checked, and so rests on the operator's word.
        handle: The job.
    """

    verdict: Graded | Rejected
    envelope: bytes
    statement: Mapping[str, Any]
    checked: tuple[str, ...]
    unchecked: tuple[str, ...]
    handle: JobHandle


class GradingClient:
    """Submits to, and waits for, gradings in one namespace.

    All clients of a process with the same settings share one connection, and so one watch a
    namespace. Use it as an asynchronous context manager:

        async with GradingClient(public_keys=[pem]) as client:
            judgement = await client.grade(request, patience=3600)

    Args:
        public_keys: PEM public keys of the installations whose verdicts are believed; without one
            jobs can be submitted, but waiting for them raises `ConfigurationError`.
        namespace: Namespace of suite and jobs; default that of the context or the Pod.
        kubeconfig: As `KUBECONFIG`; default that, `~/.kube/config`, or the Pod's service account.
        context: Context of the kubeconfig.
        max_submissions: Submissions that are packed and sent at the same time; the others queue.
        retry_for: Seconds for which temporary failures of one request are retried.
        connection: Use this open connection, and leave it open; the settings above are ignored.
    """

    def __init__(
        self,
        *,
        public_keys: Sequence[bytes] = (),
        namespace: str | None = None,
        kubeconfig: str | None = None,
        context: str | None = None,
        max_submissions: int = 8,
        retry_for: float = 60.0,
        connection: Connection | None = None,
    ) -> None:
        self._public_keys = tuple(public_keys)
        self._namespace = namespace
        self._key = (kubeconfig, context, retry_for)
        self._given = connection
        self._shared: _Shared | None = None
        self._sending = asyncio.Semaphore(max_submissions)

    async def __aenter__(self) -> GradingClient:
        self._shared = await _Shared.acquire(self._key, self._given)
        return self

    async def __aexit__(self, *_: object) -> None:
        shared, self._shared = self._shared, None
        if shared is not None:
            await shared.release()

    @property
    def namespace(self) -> str:
        """The namespace of all calls."""
        return self._namespace or self._connection.settings.namespace

    @property
    def _connection(self) -> Connection:
        return self._open().connection

    def _open(self) -> _Shared:
        if self._shared is None:
            raise RuntimeError("The client is not open: use `async with GradingClient(...)`.")
        return self._shared

    async def submit(self, request: JobRequest) -> JobHandle:
        """Create the job and deliver its parts; find and complete it if it exists already.

        An interrupted call may be repeated, also by another process: the job is found by its nonce
        and only what is missing is sent. If delivery fails for good the job is deleted again.

        Raises:
            SubmissionError: The directory cannot be packed.
            TooLargeToSendError: An archive given as bytes needs too many parts.
            JobConflictError: A job with this nonce exists for something else.
            ApiError: The API server refuses, or did not answer for long.
        """
        if not request.nonce:
            raise InvalidError("A job needs a nonce; derive one with derive_nonce.")
        async with self._sending:
            archive, claim = await _load(request)
            parts = split_parts(archive) if archive is not None else []
            name = names.job_name(request.suite, request.nonce)
            try:
                spec = build_spec(request, name, archive=archive, parts=len(parts), claim=claim)
            except ValidationError as error:
                raise InvalidError(_first_sentence(error)) from error
            handle, finished = await self._create(name, spec, request.suite_digest)
            if not finished:
                await self._deliver(handle, parts)
            return handle

    async def _create(
        self, name: str, spec: GradingJobSpec, suite_digest: str | None
    ) -> tuple[JobHandle, bool]:
        path = jobs_path(self.namespace)
        adopted = False
        try:
            job = await self._connection.request(
                "POST", path, body=build_job(name, self.namespace, spec)
            )
        except ConflictError:
            adopted = True
            try:
                job = await self._connection.request("GET", f"{path}/{name}")
            except NotFoundError as error:
                raise JobConflictError(
                    f"The job {self.namespace}/{name} was deleted just now; submit again."
                ) from error
            self._must_be_ours(job, spec)
        handle = JobHandle(
            namespace=self.namespace,
            name=name,
            uid=str(job["metadata"]["uid"]),
            spec=spec,
            digest=expected_digest(spec),
            suite_digest=suite_digest,
            adopted=adopted,
        )
        return handle, job_status(job).verdict is not None

    def _must_be_ours(self, job: Manifest, spec: GradingJobSpec) -> None:
        name = f"{self.namespace}/{job['metadata']['name']}"
        if job["metadata"].get("deletionTimestamp"):
            raise JobConflictError(f"The job {name} is being deleted; submit again shortly.")
        try:
            different = differences(spec, GradingJobSpec.model_validate(job.get("spec")))
        except ValidationError:
            different = ["spec"]
        if different:
            raise JobConflictError(
                f"The job {name} exists with another {', '.join(different)}; delete it, or use"
                " another nonce."
            )

    async def _deliver(self, handle: JobHandle, parts: Sequence[bytes]) -> None:
        try:
            for index, data in enumerate(parts):
                await self._deliver_part(handle, build_part(handle, index, data))
        except (ForbiddenError, InvalidError, NotFoundError, JobConflictError):
            # It could never be graded; nobody would wait for it.
            with contextlib.suppress(ApiError):
                await self.delete(handle)
            raise

    async def _deliver_part(self, handle: JobHandle, part: Manifest) -> None:
        path = f"/api/v1/namespaces/{handle.namespace}/configmaps"
        name = part["metadata"]["name"]
        deadline = time.monotonic() + _COLLECTED_SECONDS
        for failures in itertools.count(1):
            try:
                await self._connection.request("POST", path, body=part)
                return
            except ConflictError:
                pass
            existing: Manifest = {"metadata": {}}
            with contextlib.suppress(NotFoundError):
                existing = await self._connection.request("GET", f"{path}/{name}")
            owners = existing["metadata"].get("ownerReferences") or ()
            if [owner.get("uid") for owner in owners] == [handle.uid]:
                if existing.get("binaryData") == part["binaryData"]:
                    return  # immutable and complete: an earlier call sent it
                raise JobConflictError(
                    f"The part {name} of {handle} carries other bytes than this submission; delete"
                    " the job and submit again."
                )
            # Left by an earlier job of this name. The garbage collector takes it away: a client
            # needs no right to delete ConfigMaps.
            delay = self._connection.backoff.delay(failures)
            if time.monotonic() + delay > deadline:
                raise JobConflictError(
                    f"The ConfigMap {name} belongs to something else than {handle}; remove it, or"
                    " use another nonce."
                )
            await asyncio.sleep(delay)

    async def find(self, name: str) -> JobHandle:
        """Make a handle for a job that somebody created, taking its own word for what it is.

        Raises:
            NotFoundError: No such job.
            GradekeeperError: Its spec says what this version does not know.
        """
        job = await self.read(name)
        try:
            spec = GradingJobSpec.model_validate(job.get("spec"))
        except ValidationError as error:
            raise _strange("spec", job, error) from error
        return JobHandle(
            namespace=self.namespace,
            name=name,
            uid=str(job["metadata"]["uid"]),
            spec=spec,
            digest=expected_digest(spec),
            adopted=True,
        )

    async def wait(self, handle: JobHandle, *, patience: float, keep: bool = False) -> Judgement:
        """Wait for the verdict, verify it, and delete the job.

        A cancelled call leaves the job alone: a later call, also of another process, finds it by
        its nonce.

        Args:
            handle: From `submit` or `find`.
            patience: Seconds. Choose more than queue + attempts x deadline: when it is over, the
                job is deleted.
            keep: Leave the job in place afterwards, to be removed by its TTL.

        Raises:
            UnjudgedError: There is no verdict about the submission; the error says why.
            AttestationError: No trusted key signed this verdict, or it is about something else. The
                job is kept as evidence.
            PatienceOverError: The patience ended; the job was deleted.
            JobLostError: Somebody else deleted the job.
            ApiError: The watch cannot go on, such as for a missing right.
            ConfigurationError: No public key is configured.
        """
        if not self._public_keys:
            raise ConfigurationError(
                "No public key to verify verdicts with; give the installation's as public_keys."
            )
        latest: Manifest | None = None
        with self._open().hub(handle.namespace).subscribe(handle.name) as news:
            try:
                async with asyncio.timeout(patience) as limit:
                    job = await self._finished(handle, news)
            except TimeoutError:
                if not limit.expired():
                    raise
                latest = news.jobs.get(handle.name)
                job = await self._give_up(handle, latest, patience)
        return await self._judge(handle, job, keep=keep)

    async def grade(self, request: JobRequest, *, patience: float, keep: bool = False) -> Judgement:
        """`submit`, then `wait`."""
        return await self.wait(await self.submit(request), patience=patience, keep=keep)

    async def cancel(self, handle: JobHandle) -> None:
        """Ask the operator to stop; the job ends `Unjudged` with the reason `Cancelled`.

        Raises:
            NotFoundError: The job is gone.
            InvalidError: A later job has its name.
        """
        await self._connection.request(
            "PATCH",
            jobs_path(handle.namespace, handle.name),
            # The UID makes sure that no later job of the same name is stopped.
            body={"metadata": {"uid": handle.uid}, "spec": {"cancel": True}},
            content_type=_MERGE_PATCH,
        )

    async def delete(self, handle: JobHandle) -> None:
        """Delete the job with its Pods and parts; a job that is gone already is fine."""
        await self._delete(jobs_path(handle.namespace, handle.name), handle.uid)

    async def read(self, name: str) -> Manifest:
        """Return the GradingJob of that name.

        Raises:
            NotFoundError: There is none, or the kind is not installed; the text says which.
        """
        try:
            return await self._connection.request("GET", jobs_path(self.namespace, name))
        except NotFoundError as error:
            what = f"There is no job {name} in the namespace {self.namespace}."
            if f'"{name}" not found' not in str(error):
                what = "The cluster does not know GradingJobs; is gradekeeper installed there?"
            raise NotFoundError(what, status=error.status, reason=error.reason) from error

    async def has_namespace(self) -> bool | None:
        """Whether the namespace of all calls exists; None where one may not ask."""
        try:
            await self._connection.request("GET", f"/api/v1/namespaces/{self.namespace}")
        except NotFoundError:
            return False
        except ForbiddenError:
            return None
        return True

    async def read_all(self) -> list[Manifest]:
        """Return all GradingJobs of the namespace."""
        jobs: list[Manifest] = []
        params = {"limit": "500"}
        while True:
            page = await self._connection.request("GET", jobs_path(self.namespace), params=params)
            jobs += page.get("items") or []
            more = (page.get("metadata") or {}).get("continue")
            if not more:
                return jobs
            params = {"limit": "500", "continue": more}

    async def read_suite(self, name: str) -> Manifest:
        """Return the GradingSuite of that name; raises NotFoundError if there is none."""
        return await self._connection.request(
            "GET",
            f"/apis/{names.API_VERSION}/namespaces/{self.namespace}/{names.SUITES_PLURAL}/{name}",
        )

    async def read_events(self, uid: str) -> list[Manifest]:
        """Return the Events about the object with that UID, in no order.

        Raises:
            ForbiddenError: Submitters need no right on events, and may have none.
        """
        found = await self._connection.request(
            "GET",
            f"/api/v1/namespaces/{self.namespace}/events",
            params={"fieldSelector": f"involvedObject.uid={uid}"},
        )
        return [
            event
            for event in found.get("items") or []
            if (event.get("involvedObject") or {}).get("uid") == uid
        ]

    async def read_log(self, pod: str) -> Manifest:
        """Return the Secret that keeps the detail log of a Pod's referee.

        Raises:
            NotFoundError: None is kept.
            ForbiddenError: Only maintainers may read it.
        """
        return await self._connection.request(
            "GET", f"/api/v1/namespaces/{self.namespace}/secrets/{names.log_secret_name(pod)}"
        )

    async def read_index(self, suite: str) -> bytes:
        """Return the compressed index of a suite (`index.json.gz`).

        Raises:
            NotFoundError: The suite has no index of the usual name.
        """
        found = await self._connection.request(
            "GET",
            f"/api/v1/namespaces/{self.namespace}/configmaps/{names.index_config_map_name(suite)}",
        )
        try:
            return base64.b64decode(found["binaryData"][names.INDEX_KEY], validate=True)
        except (KeyError, TypeError, binascii.Error) as error:
            raise NotFoundError(f"The index of the suite {suite} is empty.", status=404) from error

    async def follow(self) -> AsyncIterator[Mapping[str, Manifest]]:
        """Yield all jobs of the namespace by name, at once and again after each change.

        The mapping is live: look at it, do not keep it.
        """
        with self._open().hub(self.namespace).subscribe() as news:
            for job in await self.read_all():
                news.offer(job)
            while True:
                yield news.jobs
                await news.changed()

    async def _finished(self, handle: JobHandle, news: Subscription) -> Manifest:
        """Return the job once it has a verdict."""
        try:
            news.offer(await self._connection.request("GET", _path(handle)))
        except NotFoundError as error:
            raise _lost(handle) from error
        while True:
            job = news.jobs.get(handle.name)
            if job is not None and job["metadata"].get("uid") != handle.uid:
                raise _lost(handle)
            if job is not None and job_status(job).verdict is not None:
                return job
            if handle.name in news.gone:
                # A watch may tell of an earlier job of the same name: ask.
                news.gone.discard(handle.name)
                try:
                    news.offer(await self._connection.request("GET", _path(handle)))
                except NotFoundError as error:
                    raise _lost(handle) from error
                continue
            await news.changed()

    async def _give_up(
        self, handle: JobHandle, latest: Manifest | None, patience: float
    ) -> Manifest:
        """Return the job if it has finished at the last moment; else delete it and raise."""
        note = "deleted"
        try:
            latest = await self._connection.request(
                "GET", _path(handle), retry_for=_LAST_WORD_SECONDS
            )
            if (
                latest["metadata"].get("uid") == handle.uid
                and job_status(latest).verdict is not None
            ):
                return latest
            await self._delete(_path(handle), handle.uid, retry_for=_LAST_WORD_SECONDS)
        except NotFoundError:
            note = "gone already"
        except ApiError as error:
            note = f"not deleted, since {error}"
        waiting_for = _waiting_for(latest)
        raise PatienceOverError(
            f"The job {handle} has no verdict after {patience:g} seconds"
            f" ({waiting_for or f'no operator saw it; does one serve {handle.namespace}?'});"
            f" it is {note}.",
            job=str(handle),
            waiting_for=waiting_for,
        )

    async def _judge(self, handle: JobHandle, job: Manifest, *, keep: bool) -> Judgement:
        status = job_status(job)
        shown = status.verdict
        if shown is None:
            raise AttestationError(f"The job {handle} has no verdict.", job=str(handle))
        if status.attestation is None:
            if shown.decision == "Unjudged":
                if not keep:
                    await self._tidy(handle)
                raise _unjudged(handle, shown.reason, shown.message, attested=False)
            raise AttestationError(
                f"The verdict of {handle} is not signed; the job is kept as evidence.",
                job=str(handle),
            )
        judgement = verify_job(handle, status.attestation, self._public_keys)
        if not keep:
            await self._tidy(handle)
        if isinstance(judgement, UnjudgedError):
            raise judgement
        return judgement

    async def _tidy(self, handle: JobHandle) -> None:
        try:
            await self.delete(handle)
        except ApiError as error:
            # The verdict is worth more than tidiness; the TTL removes the job.
            log.warning("The finished job %s was not deleted: %s", handle, error)

    async def _delete(self, path: str, uid: str, retry_for: float | None = None) -> None:
        body: Manifest = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "propagationPolicy": "Background",
        }
        if uid:
            body["preconditions"] = {"uid": uid}
        try:
            await self._connection.request("DELETE", path, body=body, retry_for=retry_for)
        except (NotFoundError, ConflictError):
            return  # gone, or gone and made anew by somebody else


def verify_job(
    handle: JobHandle, attestation: str, public_keys: Sequence[bytes]
) -> Judgement | UnjudgedError:
    """Check an attestation against what was asked for. Pure.

    Args:
        handle: The job.
        attestation: `status.attestation`: a DSSE envelope in base64.
        public_keys: PEM keys of which one must have signed.

    Returns:
        The judgement, or the error to raise if the signed verdict is `Unjudged`.

    Raises:
        AttestationError: The signature or the content is not what was asked for.
    """
    spec = handle.spec
    try:
        envelope = envelope_from_attestation(attestation)
        verify = functools.partial(
            verify_verdict,
            envelope,
            public_keys,
            digest=handle.digest,
            nonce=spec.nonce,
            task=spec.task,
            job_uid=handle.uid,
        )
        verification = verify()
        if not isinstance(verification.verdict, Unjudged):
            # An Unjudged may never have had a suite.
            verification = verify(suite_digest=handle.suite_digest)
    except (VerificationFailed, SignatureInvalid) as error:
        raise AttestationError(
            f"The verdict of {handle} cannot be trusted: {error} The job is kept as evidence.",
            job=str(handle),
        ) from error
    wrong = statement_mismatches(handle, verification.statement["predicate"]["job"])
    if wrong:
        raise AttestationError(
            f"The verdict of {handle} cannot be trusted: it is signed for another"
            f" {', '.join(wrong)}. The job is kept as evidence.",
            job=str(handle),
        )
    verdict = verification.verdict
    if isinstance(verdict, Unjudged):
        return _unjudged(handle, verdict.reason, verdict.message, attested=True)
    return Judgement(
        verdict=verdict,
        envelope=envelope,
        statement=verification.statement,
        checked=(
            *verification.checked,
            "The job's name, group, parameters and kind of submission are the expected ones.",
        ),
        unchecked=tuple(verification.unchecked),
        handle=handle,
    )


class _Shared:
    """A connection and its hubs, shared by the clients of an event loop with the same settings."""

    _all: ClassVar[weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, dict[_Key, _Shared]]] = (
        weakref.WeakKeyDictionary()
    )

    def __init__(self, connection: Connection, *, owned: bool) -> None:
        self.connection = connection
        self._owned = owned
        self._users = 0
        self._hubs: dict[str, JobHub] = {}
        self._ready = asyncio.Lock()

    @classmethod
    async def acquire(cls, key: _Key, given: Connection | None) -> _Shared:
        if given is not None:
            shared = cls(given, owned=False)
            shared._users = 1
            return shared
        registry = cls._all.setdefault(asyncio.get_running_loop(), {})
        shared = registry.get(key) or cls(
            Connection(
                functools.partial(load_settings, kubeconfig=key[0], context=key[1]),
                retry_for=key[2],
            ),
            owned=True,
        )
        registry[key] = shared
        shared._users += 1
        try:
            async with shared._ready:
                if not shared.connection.is_open:
                    await shared.connection.__aenter__()
        except BaseException:
            await shared.release()
            raise
        return shared

    def hub(self, namespace: str) -> JobHub:
        if namespace not in self._hubs:
            self._hubs[namespace] = JobHub(self.connection, namespace)
        return self._hubs[namespace]

    async def release(self) -> None:
        self._users -= 1
        if self._users:
            return
        if self._owned:
            registry = self._all.get(asyncio.get_running_loop(), {})
            for key in [key for key, shared in registry.items() if shared is self]:
                del registry[key]
        for hub in self._hubs.values():
            await hub.aclose()
        if self._owned:
            await self.connection.aclose()


async def _load(request: JobRequest) -> tuple[bytes | None, Untransportable | None]:
    """Return the archive to send, or the claim if it cannot be sent; neither for `builtin`."""
    source = request.submission
    if isinstance(source, Untransportable):
        return None, source
    if isinstance(source, bytes):
        if not source:
            raise SubmissionError("The archive is empty; pack a directory with pack_directory.")
        return source, None
    if isinstance(source, Path):
        try:
            packed = await asyncio.to_thread(pack_directory, source)
        except TooLargeToSendError as error:
            return None, error.claim
        return packed.archive, None
    return None, None


def _path(handle: JobHandle) -> str:
    return jobs_path(handle.namespace, handle.name)


def job_status(job: Mapping[str, Any]) -> GradingJobStatus:
    """What a job's status says.

    Raises:
        GradekeeperError: It says what this version does not know, such as a newer reason.
    """
    try:
        return GradingJobStatus.model_validate(job.get("status") or {})
    except ValidationError as error:
        raise _strange("status", job, error) from error


def _strange(what: str, job: Mapping[str, Any], error: ValidationError) -> GradekeeperError:
    return GradekeeperError(
        f"The {what} of the job {job['metadata']['name']} cannot be read: {_first_sentence(error)}"
        " Is the installation newer than this client?"
    )


def _waiting_for(job: Manifest | None) -> str:
    """The reason of the first condition that is not met, or of the last one that is."""
    conditions = job_status(job).conditions if job is not None else ()
    unmet = [condition.reason for condition in conditions if condition.status != "True"]
    met = [condition.reason for condition in conditions if condition.status == "True"]
    return next(iter(unmet or met[::-1]), "")


def _lost(handle: JobHandle) -> JobLostError:
    return JobLostError(
        f"The job {handle} was deleted before its verdict arrived; submit it again.",
        job=str(handle),
    )


def _unjudged(handle: JobHandle, reason: str, message: str, *, attested: bool) -> UnjudgedError:
    return UnjudgedError(
        f"The job {handle} is Unjudged ({reason}): {message}",
        job=str(handle),
        reason=str(reason),
        attested=attested,
    )


def _first_sentence(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"]) or "the job"
    return f"{where}: {first['msg']}."
