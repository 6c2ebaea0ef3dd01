"""Submitting and waiting, against an API server that answers, refuses and forgets."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import dataclasses
import hashlib
import os
from pathlib import Path
from typing import Any

import pytest

from contract.fake_api import FakeApi
from contract.stand_in import GOLD_DIGEST, StandIn, condition, graded, lost
from gradekeeper.api import names
from gradekeeper.api.reasons import Reason
from gradekeeper.api.spec import Builtin, Untransportable
from gradekeeper.client import (
    AttestationError,
    ConfigurationError,
    Connection,
    ForbiddenError,
    GradekeeperError,
    GradingClient,
    InvalidError,
    JobConflictError,
    JobHandle,
    JobLostError,
    JobRequest,
    PatienceOverError,
    TooLargeToSendError,
    UnavailableError,
    UnjudgedError,
    _client,
    _pack,
)
from gradekeeper.verdicts.model import Graded, Unjudged, rejected

NS = "grading"
JOBS = "gradingjobs"
LONG = 20.0
"""Patience that no test needs."""


def parts_of(api: FakeApi) -> list[dict[str, Any]]:
    return [obj for (plural, _, _), obj in sorted(api.objects.items()) if plural == "configmaps"]


def joined(api: FakeApi) -> bytes:
    return b"".join(base64.b64decode(p["binaryData"]["part"]) for p in parts_of(api))


def finish(api: FakeApi, stand_in: StandIn, handle: JobHandle, verdict: Any, **how: Any) -> None:
    job = api.get(JOBS, NS, handle.name)
    assert job is not None
    api.set_status(JOBS, NS, handle.name, stand_in.status(job, verdict, **how))


# Submitting.


async def test_submit_creates_the_job_and_then_its_parts(
    client: GradingClient, api: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_pack, "PART_BYTES", 1000)
    archive = os.urandom(2500)
    handle = await client.submit(JobRequest(suite="billing", submission=archive, nonce="n1"))
    posts = [line for line in api.log if line.startswith("POST")]
    assert posts[0].endswith("/gradingjobs")
    assert len(posts) == 4
    job = api.get(JOBS, NS, handle.name)
    assert job is not None
    assert handle.name == names.job_name("billing", "n1")
    assert (handle.uid, handle.namespace, handle.adopted) == (job["metadata"]["uid"], NS, False)
    assert handle.digest == "sha256:" + hashlib.sha256(archive).hexdigest()
    assert job["spec"]["submission"]["digest"] == handle.digest
    assert job["spec"]["submission"]["configMaps"] == [p["metadata"]["name"] for p in parts_of(api)]
    assert joined(api) == archive
    assert all(p["metadata"]["ownerReferences"][0]["uid"] == handle.uid for p in parts_of(api))


async def test_a_directory_is_packed(client: GradingClient, api: FakeApi, tmp_path: Path) -> None:
    (tmp_path / "A.java").write_bytes(b"class A {}")
    handle = await client.submit(JobRequest(suite="s", submission=tmp_path, nonce="n"))
    packed = _pack.pack_directory(tmp_path)
    assert handle.digest == packed.digest
    assert joined(api) == packed.archive


async def test_a_directory_too_large_to_send_becomes_a_claim(
    client: GradingClient, api: FakeApi, tmp_path: Path
) -> None:
    with (tmp_path / "big").open("wb") as file:
        file.truncate(2**40)
    handle = await client.submit(JobRequest(suite="s", submission=tmp_path, nonce="n"))
    job = api.get(JOBS, NS, handle.name)
    assert job is not None
    assert job["spec"]["submission"] == {
        "untransportable": {"bytes": 2**40, "files": 1, "reason": "SubmissionTooLarge"}
    }
    assert parts_of(api) == []


async def test_bytes_too_large_to_send_are_the_callers_to_decide(
    client: GradingClient, api: FakeApi
) -> None:
    request = JobRequest(suite="s", submission=bytes(_pack.MAX_ARCHIVE_BYTES + 1), nonce="n")
    with pytest.raises(TooLargeToSendError):
        await client.submit(request)
    assert api.log == []


async def test_builtin_needs_no_parts(client: GradingClient, api: FakeApi) -> None:
    handle = await client.submit(JobRequest(suite="s", submission=Builtin.NULL, nonce="n"))
    job = api.get(JOBS, NS, handle.name)
    assert job is not None
    assert job["spec"]["submission"] == {"builtin": "null"}
    assert handle.digest is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"nonce": ""}, "needs a nonce"),
        ({"nonce": "n\u00fc"}, "nonce"),
        ({"task": "no spaces"}, "task"),
        ({"suite": "Not A Name"}, "suiteRef.name"),
        ({"retry_limit": 11}, "retryLimit"),
        ({"attempt_deadline": 1}, "attemptDeadlineSeconds"),
    ],
)
async def test_what_the_schema_forbids_is_never_sent(
    client: GradingClient, api: FakeApi, request_: JobRequest, change: Any, message: str
) -> None:
    with pytest.raises(InvalidError, match=message):
        await client.submit(dataclasses.replace(request_, **change))
    assert api.log == []


async def test_submitting_again_adopts_the_job_and_sends_nothing_new(
    client: GradingClient, api: FakeApi, request_: JobRequest
) -> None:
    first = await client.submit(request_)
    again = await client.submit(request_)
    assert again == dataclasses.replace(first, adopted=True)
    assert len(parts_of(api)) == 1


async def test_an_interrupted_submit_resumes(
    client: GradingClient, api: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_pack, "PART_BYTES", 10)
    request = JobRequest(suite="s", submission=b"a" * 10 + b"b" * 10 + b"c" * 5, nonce="n")
    handle = await client.submit(request)
    api.delete("configmaps", NS, names.part_name(handle.name, 1))
    again = await client.submit(request)
    assert (again.uid, again.adopted) == (handle.uid, True)
    assert joined(api) == request.submission


async def test_a_create_whose_answer_was_lost_is_ours(
    client: GradingClient, api: FakeApi, request_: JobRequest
) -> None:
    api.fail("POST", "/gradingjobs", 0, after=True)
    api.fail("POST", "/configmaps", 504, after=True)
    handle = await client.submit(request_)
    job = api.get(JOBS, NS, handle.name)
    assert job is not None
    assert handle.uid == job["metadata"]["uid"]
    assert joined(api) == b"archive"


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"submission": b"other"}, "submission"),
        ({"task": "t"}, "task"),
        ({"parameters": {"a": "b"}}, "parameters"),
        ({"group": "g"}, "group"),
    ],
)
async def test_another_job_of_our_name_is_an_error(
    client: GradingClient, api: FakeApi, request_: JobRequest, change: Any, field: str
) -> None:
    await client.submit(request_)
    with pytest.raises(JobConflictError, match=f"exists with another {field}; delete it"):
        await client.submit(dataclasses.replace(request_, **change))
    assert joined(api) == b"archive"


async def test_a_job_prepared_under_our_name_by_somebody_else_is_refused(
    client: GradingClient, api: FakeApi, request_: JobRequest
) -> None:
    name = names.job_name("billing", "nonce-1")
    api.create(JOBS, NS, {"metadata": {"name": name}, "spec": {"surprise": 1}})
    with pytest.raises(JobConflictError, match="another spec"):
        await client.submit(request_)


async def test_a_job_under_deletion_is_not_adopted(
    client: GradingClient, api: FakeApi, request_: JobRequest
) -> None:
    handle = await client.submit(request_)
    api.patch(JOBS, NS, handle.name, {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}})
    with pytest.raises(JobConflictError, match="is being deleted"):
        await client.submit(request_)


def leave_a_part(api: FakeApi) -> str:
    name = names.part_name(names.job_name("billing", "nonce-1"), 0)
    stale = {"metadata": {"name": name, "ownerReferences": [{"uid": "gone"}]}, "binaryData": {}}
    api.create("configmaps", NS, stale)
    return name


async def test_a_part_of_an_earlier_job_is_left_to_the_garbage_collector(
    client: GradingClient, api: FakeApi, request_: JobRequest
) -> None:
    name = leave_a_part(api)
    submitting = asyncio.create_task(client.submit(request_))
    await api.wait_for_request(f"GET /api/v1/namespaces/{NS}/configmaps/{name}", count=2)
    api.delete("configmaps", NS, name)
    handle = await submitting
    [part] = parts_of(api)
    assert part["metadata"]["ownerReferences"][0]["uid"] == handle.uid
    assert joined(api) == b"archive"
    assert api.requests["DELETE"] == 0


async def test_an_old_part_may_vanish_while_it_is_looked_at(
    client: GradingClient, api: FakeApi, request_: JobRequest
) -> None:
    api.fail("POST", "/configmaps", 409)
    await client.submit(request_)
    assert f"GET /api/v1/namespaces/{NS}/configmaps/" in api.log[-2]
    assert joined(api) == b"archive"


async def test_a_config_map_that_stays_in_the_way_is_an_error_and_the_job_goes(
    client: GradingClient, api: FakeApi, request_: JobRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_client, "_COLLECTED_SECONDS", 0.05)
    leave_a_part(api)
    with pytest.raises(JobConflictError, match="belongs to something else"):
        await client.submit(request_)
    assert [plural for plural, _, _ in api.objects] == ["configmaps"]


async def test_a_part_of_our_job_with_other_bytes_is_an_error_and_the_job_goes(
    client: GradingClient, api: FakeApi, request_: JobRequest
) -> None:
    handle = await client.submit(request_)
    api.patch("configmaps", NS, names.part_name(handle.name, 0), {"binaryData": {"part": "AAAA"}})
    with pytest.raises(JobConflictError, match="carries other bytes"):
        await client.submit(request_)
    assert api.get(JOBS, NS, handle.name) is None


async def test_a_quota_on_parts_leaves_no_job_behind(
    client: GradingClient, api: FakeApi, request_: JobRequest
) -> None:
    api.fail("POST", "/configmaps", 403, times=99)
    with pytest.raises(ForbiddenError):
        await client.submit(request_)
    assert api.objects == {}


async def test_temporary_failures_are_retried_and_lasting_ones_end(
    api: FakeApi, connection: Connection, request_: JobRequest
) -> None:
    async with GradingClient(connection=connection) as client:
        for status in (429, 500, 503, 0):
            api.fail("POST", "/gradingjobs", status)
        await client.submit(request_)
        assert api.requests["POST"] == 6
    connection._retry_for = 0.0
    async with GradingClient(connection=connection) as client:
        api.fail("GET", "/gradingjobs", 503, times=99)
        with pytest.raises(UnavailableError, match="told to fail"):
            await client.read("x")


async def test_no_more_submissions_at_once_than_allowed(
    api: FakeApi, connection: Connection
) -> None:
    most = now = 0

    async def slow(*_: object, **__: object) -> dict[str, Any]:
        nonlocal most, now
        now += 1
        most = max(most, now)
        for _ in range(5):
            await asyncio.sleep(0)
        now -= 1
        return {"metadata": {"uid": "u"}}

    connection.request = slow  # type: ignore[method-assign]
    async with GradingClient(connection=connection, max_submissions=3) as client:
        await asyncio.gather(
            *(
                client.submit(JobRequest(suite="s", submission=Builtin.GOLD, nonce=str(n)))
                for n in range(20)
            )
        )
    assert most == 3


# Waiting.


async def test_the_verdict_comes_verified_and_the_job_is_deleted(
    client: GradingClient, api: FakeApi, stand_in: StandIn, request_: JobRequest
) -> None:
    handle = await client.submit(request_)
    waiting = asyncio.create_task(client.wait(handle, patience=LONG))
    await api.wait_for_request("watch=1")
    finish(api, stand_in, handle, graded("PPF"))
    judgement = await waiting
    assert isinstance(judgement.verdict, Graded)
    assert (judgement.verdict.passed, judgement.verdict.total) == (2, 3)
    assert judgement.statement["predicate"]["job"]["uid"] == handle.uid
    assert any("digest is the expected" in sentence for sentence in judgement.checked)
    assert any("suite's digest was not compared" in s for s in judgement.unchecked)
    assert api.objects == {}


async def test_a_verdict_that_is_there_already_needs_no_event(
    client: GradingClient, api: FakeApi, stand_in: StandIn, request_: JobRequest
) -> None:
    handle = await client.submit(request_)
    finish(api, stand_in, handle, graded("P"))
    judgement = await client.wait(handle, patience=LONG, keep=True)
    assert isinstance(judgement.verdict, Graded)
    assert api.get(JOBS, NS, handle.name) is not None


async def test_a_finished_job_is_adopted_without_sending_its_parts_again(
    client: GradingClient, api: FakeApi, stand_in: StandIn, request_: JobRequest
) -> None:
    handle = await client.submit(request_)
    finish(api, stand_in, handle, graded("P"))
    api.delete("configmaps", NS, names.part_name(handle.name, 0))
    assert (await client.submit(request_)).adopted
    assert parts_of(api) == []


async def test_rejected_is_a_verdict(
    client: GradingClient, api: FakeApi, stand_in: StandIn
) -> None:
    claim = Untransportable(bytes=9, files=1, reason=Reason.SUBMISSION_TOO_LARGE)
    handle = await client.submit(JobRequest(suite="s", submission=claim, nonce="n"))
    finish(api, stand_in, handle, rejected(Reason.SUBMISSION_TOO_LARGE, 3))
    judgement = await client.wait(handle, patience=LONG)
    assert (judgement.verdict.passed, judgement.verdict.total) == (0, 3)
    assert any("size is what the client said" in sentence for sentence in judgement.unchecked)


@pytest.mark.parametrize("suite", ["with", "without"])
async def test_unjudged_raises_and_has_no_number(
    client: GradingClient, api: FakeApi, stand_in: StandIn, request_: JobRequest, suite: str
) -> None:
    wanted = dataclasses.replace(request_, suite_digest="sha256:" + "a" * 64)
    handle = await client.submit(wanted)
    finish(api, stand_in, handle, lost(), **({} if suite == "with" else {"suite": None}))
    with pytest.raises(UnjudgedError, match=r"Unjudged \(PodLost\)") as caught:
        await client.wait(handle, patience=LONG)
    assert (caught.value.reason, caught.value.attested) == ("PodLost", True)
    assert not any(
        isinstance(value, int) for value in vars(caught.value).values() if value is not True
    )
    assert api.get(JOBS, NS, handle.name) is None, "a retry with the same nonce must start anew"


async def test_unjudged_without_a_signature_says_so(
    client: GradingClient, api: FakeApi, stand_in: StandIn, request_: JobRequest
) -> None:
    handle = await client.submit(request_)
    job = api.get(JOBS, NS, handle.name)
    assert job is not None
    status = stand_in.status(job, lost())
    del status["attestation"]
    api.set_status(JOBS, NS, handle.name, status)
    with pytest.raises(UnjudgedError) as caught:
        await client.wait(handle, patience=LONG)
    assert caught.value.attested is False


async def test_a_score_without_a_signature_is_not_believed(
    client: GradingClient, api: FakeApi, stand_in: StandIn, request_: JobRequest
) -> None:
    handle = await client.submit(request_)
    job = api.get(JOBS, NS, handle.name)
    assert job is not None
    status = stand_in.status(job, graded("PPP"))
    del status["attestation"]
    api.set_status(JOBS, NS, handle.name, status)
    with pytest.raises(AttestationError, match="not signed"):
        await client.wait(handle, patience=LONG)
    assert api.get(JOBS, NS, handle.name) is not None


async def test_the_status_does_not_decide_only_the_signed_statement_does(
    client: GradingClient, api: FakeApi, stand_in: StandIn, request_: JobRequest
) -> None:
    handle = await client.submit(request_)
    job = api.get(JOBS, NS, handle.name)
    assert job is not None
    status = stand_in.status(job, graded("FFF"))
    status["verdict"] = stand_in.status(job, graded("PPP"))["verdict"]
    api.set_status(JOBS, NS, handle.name, status)
    judgement = await client.wait(handle, patience=LONG)
    assert judgement.verdict.passed == 0


def other_key(stand_in: StandIn, job: dict[str, Any]) -> dict[str, Any]:
    return StandIn().status(job, graded())


def other_uid(stand_in: StandIn, job: dict[str, Any]) -> dict[str, Any]:
    return stand_in.status({**job, "metadata": {**job["metadata"], "uid": "x"}}, graded())


def other_name(stand_in: StandIn, job: dict[str, Any]) -> dict[str, Any]:
    return stand_in.status({**job, "metadata": {**job["metadata"], "name": "x"}}, graded())


def other_spec(**change: Any) -> Any:
    def build(stand_in: StandIn, job: dict[str, Any]) -> dict[str, Any]:
        return stand_in.status({**job, "spec": {**job["spec"], **change}}, graded())

    return build


def no_base64(stand_in: StandIn, job: dict[str, Any]) -> dict[str, Any]:
    status = stand_in.status(job, graded())
    return {**status, "attestation": status["attestation"][:-3] + "A"}


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (other_key, "not signed by a trusted key"),
        (other_uid, "another job uid"),
        (other_name, "another name"),
        (other_spec(nonce="x"), "another nonce"),
        (other_spec(task="x"), "another task"),
        (other_spec(group="x"), "another group"),
        (other_spec(parameters={"testTimeoutSeconds": "999"}), "another parameters"),
        (other_spec(submission={"builtin": "gold"}), "another digest"),
        (no_base64, "cannot be trusted"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_a_verdict_about_anything_else_is_not_believed_and_kept(
    client: GradingClient,
    api: FakeApi,
    stand_in: StandIn,
    request_: JobRequest,
    build: Any,
    message: str,
) -> None:
    handle = await client.submit(request_)
    job = api.get(JOBS, NS, handle.name)
    assert job is not None
    api.set_status(JOBS, NS, handle.name, build(stand_in, job))
    with pytest.raises(AttestationError, match=message):
        await client.wait(handle, patience=LONG)
    assert api.get(JOBS, NS, handle.name) is not None


async def test_gold_may_not_stand_in_for_null(
    client: GradingClient, api: FakeApi, stand_in: StandIn
) -> None:
    handle = await client.submit(JobRequest(suite="s", submission=Builtin.NULL, nonce="n"))
    job = api.get(JOBS, NS, handle.name)
    assert job is not None
    api.set_status(JOBS, NS, handle.name, other_spec(submission={"builtin": "gold"})(stand_in, job))
    with pytest.raises(AttestationError, match="another submission"):
        await client.wait(handle, patience=LONG)
    assert GOLD_DIGEST  # the digest alone cannot tell: a client does not know the archive


async def test_another_suite_is_not_believed(
    client: GradingClient, api: FakeApi, stand_in: StandIn, request_: JobRequest
) -> None:
    wanted = dataclasses.replace(request_, suite_digest="sha256:" + "9" * 64)
    handle = await client.submit(wanted)
    finish(api, stand_in, handle, graded())
    with pytest.raises(AttestationError, match="another suite digest"):
        await client.wait(handle, patience=LONG)


async def test_when_patience_ends_the_job_is_deleted(
    client: GradingClient, api: FakeApi, request_: JobRequest
) -> None:
    handle = await client.submit(request_)
    waiting = {"conditions": [condition("Admitted", "False", "WaitingForCapacity")]}
    api.set_status(JOBS, NS, handle.name, waiting)
    with pytest.raises(PatienceOverError, match=r"WaitingForCapacity\); it is deleted") as caught:
        await client.wait(handle, patience=0.05)
    assert caught.value.waiting_for == "WaitingForCapacity"
    assert api.objects == {}


async def test_patience_where_no_operator_is_ends_with_that_question(
    client: GradingClient, request_: JobRequest
) -> None:
    handle = await client.submit(request_)
    with pytest.raises(PatienceOverError, match=rf"does one serve {NS}\?\); it is deleted"):
        await client.wait(handle, patience=0.05)


async def test_a_verdict_at_the_last_moment_still_counts(
    client: GradingClient, api: FakeApi, stand_in: StandIn, request_: JobRequest
) -> None:
    handle = await client.submit(request_)
    api.fail("GET", "watch", 500, times=999)  # never matches a path: the watch stays up
    # The watch is silent: this client never hears of the verdict by itself.
    api.fail("GET", "/gradingjobs", 503, times=999, watch=True)
    waiting = asyncio.create_task(client.wait(handle, patience=0.2))
    await api.wait_for_request("watch=1")
    finish(api, stand_in, handle, graded("P"))
    assert isinstance((await waiting).verdict, Graded)


async def test_cancelling_the_wait_leaves_the_job_for_later(
    client: GradingClient, api: FakeApi, stand_in: StandIn, request_: JobRequest
) -> None:
    handle = await client.submit(request_)
    waiting = asyncio.create_task(client.wait(handle, patience=LONG))
    await api.wait_for_request("watch=1")
    waiting.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await waiting
    assert api.get(JOBS, NS, handle.name) is not None
    finish(api, stand_in, handle, graded("P"))
    assert isinstance((await client.grade(request_, patience=LONG)).verdict, Graded)


@pytest.mark.parametrize("again", [False, True], ids=["deleted", "deleted and made anew"])
async def test_a_job_that_somebody_deletes_is_lost(
    client: GradingClient, api: FakeApi, stand_in: StandIn, request_: JobRequest, again: bool
) -> None:
    handle = await client.submit(request_)
    waiting = asyncio.create_task(client.wait(handle, patience=LONG))
    await api.wait_for_request("watch=1")
    job = api.delete(JOBS, NS, handle.name)
    if again:
        api.create(JOBS, NS, {"metadata": {"name": handle.name}, "spec": job["spec"]})
        api.set_status(JOBS, NS, handle.name, stand_in.status(job, graded("P")))
    with pytest.raises(JobLostError, match="submit it again"):
        await waiting


async def test_an_api_that_is_down_when_tidying_up_does_not_cost_the_verdict(
    api: FakeApi, connection: Connection, stand_in: StandIn, request_: JobRequest
) -> None:
    connection._retry_for = 0.0
    async with GradingClient(public_keys=[stand_in.public_pem], connection=connection) as client:
        handle = await client.submit(request_)
        finish(api, stand_in, handle, graded("P"))
        api.fail("DELETE", "/gradingjobs", 503, times=9)
        assert isinstance((await client.wait(handle, patience=LONG)).verdict, Graded)


async def test_without_a_key_nothing_is_waited_for(
    connection: Connection, request_: JobRequest
) -> None:
    async with GradingClient(connection=connection) as client:
        handle = await client.submit(request_)
        with pytest.raises(ConfigurationError, match="No public key"):
            await client.wait(handle, patience=LONG)


async def test_cancel_asks_the_operator_and_never_a_later_job_of_the_name(
    client: GradingClient, api: FakeApi, request_: JobRequest
) -> None:
    handle = await client.submit(request_)
    await client.cancel(handle)
    job = api.get(JOBS, NS, handle.name)
    assert job is not None
    assert job["spec"]["cancel"] is True
    with pytest.raises(InvalidError, match=r"metadata\.uid"):
        await client.cancel(dataclasses.replace(handle, uid="earlier"))


async def test_delete_spares_a_later_job_of_the_name(
    client: GradingClient, api: FakeApi, request_: JobRequest
) -> None:
    handle = await client.submit(request_)
    await client.delete(dataclasses.replace(handle, uid="earlier"))
    assert api.get(JOBS, NS, handle.name) is not None
    await client.delete(handle)
    await client.delete(handle)
    assert api.get(JOBS, NS, handle.name) is None


async def test_find_takes_a_jobs_own_word(
    client: GradingClient, api: FakeApi, stand_in: StandIn, request_: JobRequest
) -> None:
    handle = await client.submit(request_)
    assert await client.find(handle.name) == dataclasses.replace(handle, adopted=True)


@pytest.mark.parametrize(
    "status",
    [
        {"verdict": {"decision": "Unjudged", "reason": "OfANewerOperator", "message": ""}},
        {"conditions": [{"type": "Succeeded"}]},
        {"attempts": "three"},
        "no object",
    ],
)
async def test_a_status_of_another_version_is_one_sentence(
    client: GradingClient, api: FakeApi, request_: JobRequest, status: Any
) -> None:
    handle = await client.submit(request_)
    api.set_status(JOBS, NS, handle.name, status)
    with pytest.raises(GradekeeperError, match=r"status of the job .* cannot be read: "):
        await client.wait(handle, patience=LONG)


def test_an_unjudged_has_nothing_to_read_a_score_from() -> None:
    assert not {"outcomes", "passed", "total", "failed"} & set(dir(Unjudged))
