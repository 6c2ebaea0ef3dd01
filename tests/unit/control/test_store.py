"""The store: order of arrival must not matter, and nothing heavy is kept."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from gradekeeper.control.store import Job, SettledJob, Store, Unreadable, is_older
from unit.control.scenes import NAME, NS, UID, Scene, a_result, finished, job_manifest, with_pod


def versioned(manifest: dict[str, Any], version: int) -> dict[str, Any]:
    made = copy.deepcopy(manifest)
    made["metadata"]["resourceVersion"] = str(version)
    return made


def settled_manifest(**spec: Any) -> dict[str, Any]:
    scene = with_pod(finished(a_result()), **spec)
    scene.write(scene.plan())
    scene.manifest["status"]["attestation"] = "QUJD" * 1000
    return scene.manifest


def test_an_older_version_never_replaces_a_newer_one() -> None:
    store = Store()
    assert store.upsert("job", versioned(job_manifest(suspend=True), 12)) is not None
    assert store.upsert("job", versioned(job_manifest(), 11)) is None
    assert store.upsert("job", versioned(job_manifest(), 12)) is None
    assert store.jobs[UID].spec.suspend is True


def test_what_was_deleted_does_not_come_back() -> None:
    store = Store()
    store.upsert("job", job_manifest())
    assert store.delete("job", UID) is not None
    assert store.upsert("job", versioned(job_manifest(), 99)) is None
    assert store.delete("job", UID) is None
    assert store.job_named(NS, NAME) is None


def test_a_successor_under_the_same_name_survives_its_predecessors_deletion() -> None:
    store = Store()
    store.upsert("job", job_manifest())
    successor = versioned(job_manifest(), 30)
    successor["metadata"]["uid"] = "another"
    store.upsert("job", successor)
    store.delete("job", UID)
    found = store.job_named(NS, NAME)
    assert found is not None and found.meta.uid == "another"


def test_a_settled_job_is_kept_as_a_few_words() -> None:
    store = Store()
    store.upsert("job", job_manifest())
    record = store.upsert("job", versioned(settled_manifest(), 11))
    assert isinstance(record, SettledJob)
    assert store.jobs == {} and list(store.settled) == [UID]
    assert (record.decision, record.ttl, record.outcomes) == ("Graded", 3600, None)
    assert "QUJD" not in repr(record)


def test_an_admission_job_keeps_its_outcomes() -> None:
    manifest = settled_manifest(submission={"builtin": "gold"})
    manifest["metadata"]["ownerReferences"] = [{"uid": "suite-1"}]
    record = Store().upsert("job", manifest)
    assert isinstance(record, SettledJob) and record.outcomes == "PPF"


def test_no_attestation_and_no_managed_fields_are_held() -> None:
    store = Store()
    manifest = job_manifest()
    manifest["status"] = {"attestation": "QUJD" * 1000}
    store.upsert("job", manifest)
    assert "QUJD" not in repr(store.jobs)
    scene = with_pod({"phase": "Pending"})
    (pod,) = scene.pods.values()
    pod["metadata"]["managedFields"] = [{"manager": "somebody"}]
    store.upsert("pod", pod)
    assert "somebody" not in repr(store.pods)
    assert "managedFields" in pod["metadata"], "the caller's object is left as it was"
    assert [one.meta.uid for one in store.pods_of(UID)] == ["pod-1"]
    store.delete("pod", "pod-1")
    assert store.pods_of(UID) == []


def test_a_job_that_breaks_its_schema_is_unreadable_not_fatal() -> None:
    with pytest.raises(Unreadable):
        Store().upsert("job", job_manifest(retryLimit="many"))
    with pytest.raises(Unreadable):
        Store().upsert("job", {"metadata": {"name": "x"}})


def test_a_list_forgets_only_what_is_not_newer_than_itself() -> None:
    store = Store()
    store.upsert("job", versioned(job_manifest(), 10))
    newer = versioned(job_manifest(), 50)
    newer["metadata"] |= {"uid": "newer", "name": "newer"}
    store.upsert("job", newer)
    elsewhere = versioned(job_manifest(), 5)
    elsewhere["metadata"] |= {"uid": "elsewhere", "namespace": "other"}
    store.upsert("job", elsewhere)
    assert store.missing("job", NS, [], "40") == [UID]
    assert store.missing("job", NS, [UID], "60") == ["newer"]


def test_the_time_of_first_sight_survives_updates() -> None:
    store = Store()
    first = store.upsert("job", job_manifest())
    second = store.upsert("job", versioned(job_manifest(suspend=True), 11))
    assert isinstance(first, Job) and isinstance(second, Job)
    assert first.seen == second.seen


def test_versions_are_numbers() -> None:
    assert is_older("9", "10")
    assert not is_older("10", "10")
    assert not is_older("x", "10")


def test_scenes_are_jobs() -> None:
    assert isinstance(Scene().job, Job)
