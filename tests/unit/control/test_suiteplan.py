"""Verification and admission of suites."""

from __future__ import annotations

import base64
import copy
import gzip
import hashlib
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from contract.world import NS, SUITE, TESTS, suite_objects
from gradekeeper.api.compressed import MAX_INDEX_BYTES
from gradekeeper.api.reasons import ConditionType, SuiteReason
from gradekeeper.api.schema import dump
from gradekeeper.api.spec import GradingJobSpec
from gradekeeper.api.status import find_condition, is_true
from gradekeeper.control.errors import IndexInvalid
from gradekeeper.control.store import Job, SettledJob, Suite, parse_job, parse_suite
from gradekeeper.control.suiteplan import (
    ObservedSuite,
    SuitePlan,
    admission_checks,
    build_admission_job,
    plan_suite,
    usable,
)
from gradekeeper.control.trust import Refused, parse_index, read_author_keys, verify
from gradekeeper.pods.build import FrozenSuite
from gradekeeper.verdicts.signing import SigningKey, generate_key
from unit.control.scenes import T0, stamp

PRIVATE, PUBLIC = generate_key()
AUTHOR = SigningKey.from_pem(PRIVATE)
MANIFEST, INDEX = suite_objects(AUTHOR)


def a_suite(generation: int = 1, **spec: Any) -> Suite:
    manifest = copy.deepcopy(MANIFEST)
    manifest["metadata"] |= {
        "namespace": NS,
        "uid": "suite-uid",
        "resourceVersion": "5",
        "generation": generation,
        "creationTimestamp": stamp(T0),
    }
    manifest["spec"] |= spec
    return parse_suite(manifest)


def trusted(suite: Suite | None = None) -> FrozenSuite:
    found = verify(SUITE, (suite or a_suite()).spec, parse_index(INDEX), [PUBLIC])
    assert isinstance(found, FrozenSuite)
    return found


def a_job(suite: Suite, name: str, outcomes: str | None, reason: str = "Completed") -> Any:
    (check,) = [one for one in admission_checks(suite, trusted()) if one.name == name]
    manifest = build_admission_job(suite, check)
    manifest["metadata"] |= {
        "uid": f"uid-of-{name}",
        "resourceVersion": "7",
        "generation": 1,
        "creationTimestamp": stamp(T0),
    }
    if reason:
        verdict: dict[str, Any] = {"decision": "Unjudged", "reason": reason}
        if outcomes is not None:
            passed = outcomes.count("P")
            counts = {"total": len(outcomes), "passed": passed, "failed": len(outcomes) - passed}
            verdict |= {"decision": "Graded", "tests": counts, "outcomes": outcomes}
        manifest["status"] = {"verdict": verdict, "completionTime": stamp(T0)}
    return parse_job(manifest, seen=0)


def planned(
    suite: Suite,
    jobs: dict[str, Job | SettledJob | None] | None = None,
    *,
    after: float = 0,
    retries: int = 0,
) -> SuitePlan:
    observed = ObservedSuite(suite, trusted(suite), jobs or {}, retries)
    return plan_suite(observed, now=T0 + timedelta(seconds=after), retry_seconds=30)


def written(suite: Suite, plan: SuitePlan) -> Suite:
    assert plan.status is not None
    return Suite(suite.meta, suite.spec, plan.status)


def names(suite: Suite) -> tuple[str, str]:
    gold, null = admission_checks(suite, trusted(suite))
    return gold.name, null.name


def reason_of(suite: Suite, kind: ConditionType) -> tuple[str, str]:
    found = find_condition(suite.status.conditions, kind)
    assert found is not None
    return found.status, found.reason


def test_a_signed_suite_is_verified_and_its_two_jobs_are_made() -> None:
    suite = a_suite()
    plan = planned(suite)
    after = written(suite, plan)
    assert is_true(after.status.conditions, ConditionType.VERIFIED)
    assert reason_of(after, ConditionType.ADMITTED) == ("Unknown", "SelfCheckRunning")
    assert reason_of(after, ConditionType.READY) == ("False", "NotAdmitted")
    builtins = [one["spec"]["submission"]["builtin"] for one in plan.create]
    assert builtins == ["gold", "null"]
    for manifest in plan.create:
        GradingJobSpec.model_validate(manifest["spec"])
        assert len(manifest["metadata"]["name"]) <= 52
        assert manifest["metadata"]["ownerReferences"][0]["uid"] == "suite-uid"
    gold, null = names(suite)
    running = {gold: a_job(suite, gold, None, ""), null: a_job(suite, null, None, "")}
    again = planned(after, running)
    assert (again.status, again.create) == (None, ())


def test_gold_and_null_as_they_must_be_make_it_ready_for_good() -> None:
    suite = a_suite()
    gold, null = names(suite)
    jobs = {gold: a_job(suite, gold, "PPPP"), null: a_job(suite, null, "FPPF")}
    after = written(suite, planned(suite, jobs))
    assert reason_of(after, ConditionType.ADMITTED) == ("True", "SelfCheckPassed")
    assert is_true(after.status.conditions, ConditionType.READY)
    gone = planned(after, {})
    assert gone == SuitePlan(), "the status is the record when the jobs have expired"


@pytest.mark.parametrize(
    ("gold", "null", "reason", "message"),
    [
        ("PPFP", "FPPF", "GoldFailed", "The built-in submission gold fails 1 of 4 tests."),
        ("PPPP", "PPPF", "NullPassed", "null passes 1 of 2 discriminating tests."),
        ("PPPF", "PPPP", "GoldFailed", "gold fails 1 of 4"),
    ],
)
def test_a_suite_that_does_not_tell_right_from_wrong_is_not_admitted(
    gold: str, null: str, reason: str, message: str
) -> None:
    suite = a_suite()
    names_ = names(suite)
    jobs = {
        names_[0]: a_job(suite, names_[0], gold),
        names_[1]: a_job(suite, names_[1], null),
    }
    after = written(suite, planned(suite, jobs))
    assert reason_of(after, ConditionType.ADMITTED) == ("False", reason)
    assert reason_of(after, ConditionType.READY) == ("False", "NotAdmitted")
    found = find_condition(after.status.conditions, ConditionType.ADMITTED)
    assert found is not None and message in found.message
    assert planned(after, {}) == SuitePlan(), "it is not tried again until it changes"


def test_an_admission_that_the_platform_failed_is_tried_again_after_a_pause() -> None:
    suite = a_suite()
    gold, null = names(suite)
    jobs = {
        gold: a_job(suite, gold, None, "NodeLost"),
        null: a_job(suite, null, "FPPF"),
    }
    first = planned(suite, jobs, after=10)
    assert first.delete == () and first.requeue_after == pytest.approx(20)
    assert reason_of(written(suite, first), ConditionType.ADMITTED)[1] == "SelfCheckUnjudged"
    assert planned(suite, jobs, after=30).delete == ((gold, f"uid-of-{gold}"),)
    assert planned(suite, jobs, after=30, retries=1).requeue_after == pytest.approx(30)
    assert planned(suite, jobs, after=600, retries=9).delete != ()


def test_a_changed_spec_is_admitted_anew_by_other_jobs() -> None:
    suite = a_suite()
    gold, null = names(suite)
    jobs = {gold: a_job(suite, gold, "PPPP"), null: a_job(suite, null, "FPPF")}
    ready = written(suite, planned(suite, jobs))
    changed = a_suite(2, nodeSelector={"disk": "fast"})
    changed = Suite(changed.meta, changed.spec, ready.status)
    assert usable(changed, trusted(changed), builtin=False) is None
    plan = planned(changed, jobs)
    assert [one["metadata"]["name"] for one in plan.create] == list(names(changed))
    assert set(names(changed)).isdisjoint(names(suite))
    assert reason_of(written(changed, plan), ConditionType.READY)[0] == "False"


def test_builtin_jobs_need_a_verified_suite_and_others_a_ready_one() -> None:
    suite = a_suite()
    assert usable(suite, trusted(), builtin=True) is not None
    assert usable(suite, trusted(), builtin=False) is None
    refused = Refused(SuiteReason.SIGNATURE_INVALID)
    assert usable(suite, refused, builtin=True) is None
    gold, null = names(suite)
    jobs = {gold: a_job(suite, gold, "PPPP"), null: a_job(suite, null, "FPPF")}
    ready = written(suite, planned(suite, jobs))
    assert usable(ready, trusted(), builtin=False) is not None
    assert usable(ready, refused, builtin=False) is None, "an author who is no longer trusted"


def test_somebody_elses_job_under_the_name_admits_nothing() -> None:
    suite = a_suite()
    gold, null = names(suite)
    forged = a_job(suite, gold, "PPPP")
    meta = type(forged.meta)(
        **{
            **{name: getattr(forged.meta, name) for name in forged.meta.__dataclass_fields__},
            "owners": ("somebody",),
        }
    )
    values = {name: getattr(forged, name) for name in forged.__dataclass_fields__}
    jobs = {gold: SettledJob(**{**values, "meta": meta}), null: a_job(suite, null, "FPPF")}
    plan = planned(suite, jobs)
    assert reason_of(written(suite, plan), ConditionType.ADMITTED)[0] == "Unknown"
    assert plan.create == ()


def test_what_is_not_the_signed_suite_says_so() -> None:
    index = parse_index(INDEX)
    assert isinstance(verify(SUITE, a_suite().spec, index, [PUBLIC]), FrozenSuite)
    other_limits = {"suiteTimeoutSeconds": 1000}
    for spec, reason in (
        (a_suite(limits=other_limits).spec, SuiteReason.SIGNATURE_MISMATCH),
        (a_suite(image="suites/x@sha256:" + "9" * 64).spec, SuiteReason.SIGNATURE_MISMATCH),
        (a_suite(signature="AAAA").spec, SuiteReason.SIGNATURE_INVALID),
    ):
        found = verify(SUITE, spec, index, [PUBLIC])
        assert isinstance(found, Refused) and found.reason is reason
    stranger = generate_key()[1]
    for keys in ([stranger], []):
        found = verify(SUITE, a_suite().spec, index, keys)
        assert isinstance(found, Refused) and found.reason is SuiteReason.SIGNATURE_INVALID


def packed(document: Any) -> dict[str, Any]:
    data = json.dumps(document).encode()
    encoded = base64.b64encode(gzip.compress(data)).decode()
    return {"binaryData": {"index.json.gz": encoded}}


def index_document(**update: Any) -> dict[str, Any]:
    return {
        "schema": "gradekeeper.index/v1",
        "suite": SUITE,
        "tasks": {"": TESTS},
        "discriminating": {"": [0]},
        **update,
    }


def test_an_index_is_read_with_the_digest_of_its_plain_bytes() -> None:
    document = index_document()
    index = parse_index(packed(document))
    assert index.tests == {"": tuple(TESTS)} and index.discriminating == {"": (0,)}
    assert index.digest == "sha256:" + hashlib.sha256(json.dumps(document).encode()).hexdigest()


BOMB = base64.b64encode(gzip.compress(b" " * (MAX_INDEX_BYTES + 1))).decode()


@pytest.mark.parametrize(
    "config_map",
    [
        {},
        {"binaryData": {"index.json.gz": "not base64!"}},
        {"binaryData": {"index.json.gz": base64.b64encode(b"plain").decode()}},
        {"binaryData": {"index.json.gz": BOMB}},
        packed([]),
        packed(index_document(schema="other")),
        packed(index_document(tasks={})),
        packed(index_document(tasks={"": []})),
        packed(index_document(tasks={"": ["a", "a"]})),
        packed(index_document(tasks={"": [1]})),
        packed(index_document(discriminating={"": [9]})),
        packed(index_document(discriminating={"": [True]})),
        packed(index_document(discriminating={"other": [0]})),
    ],
    ids=str,
)
def test_a_damaged_index_is_refused(config_map: dict[str, Any]) -> None:
    with pytest.raises(IndexInvalid):
        parse_index(config_map)


def test_one_damaged_key_file_distrusts_only_itself(tmp_path: Path) -> None:
    (tmp_path / "good.pub").write_bytes(PUBLIC)
    (tmp_path / "bad.pem").write_text("nonsense")
    (tmp_path / "README").write_bytes(PUBLIC)
    assert read_author_keys(tmp_path) == [PUBLIC]
    assert read_author_keys(tmp_path / "absent") == []


def test_specs_of_admission_jobs_are_what_the_schema_says() -> None:
    suite = a_suite()
    for check in admission_checks(suite, trusted()):
        spec = build_admission_job(suite, check)["spec"]
        assert dump(GradingJobSpec.model_validate(spec)) == spec
