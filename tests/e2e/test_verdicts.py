"""The ten jobs of the demo, and what their signed verdicts are worth."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
from demo import jobs
from demo.cases import build_cases

from gradekeeper.verdicts.signing import generate_key

from .conftest import Graded

pytestmark = [pytest.mark.cluster, pytest.mark.slow, pytest.mark.timeout(1500)]

CASES = [case.name for case in build_cases()]


@pytest.mark.parametrize("name", CASES)
def test_job_ends_as_expected(graded: Graded, name: str) -> None:
    outcome = graded.outcomes[name]
    assert outcome.complaints() == [], outcome.job["status"]


@pytest.mark.parametrize("name", CASES)
def test_statement_is_about_this_job(graded: Graded, name: str) -> None:
    outcome = graded.outcomes[name]
    document = json.loads(
        jobs.verify(graded.cluster, outcome.envelope, graded.key, "--json").stdout
    )
    statement = document["statement"]
    predicate = statement["predicate"]
    assert predicate["job"]["nonce"] == outcome.applied.nonce
    assert predicate["job"]["uid"] == outcome.job["metadata"]["uid"]
    subject = statement["subject"][0]["digest"]["sha256"]
    assert f"sha256:{subject}" == outcome.applied.digest
    assert len(predicate["attempts"]) == outcome.applied.case.attempts
    assert bool(predicate.get("clientClaim")) is (outcome.applied.case.scenario is None)


def test_isolation_was_observed(graded: Graded) -> None:
    document = json.loads(
        jobs.verify(graded.cluster, graded.outcomes["gold"].envelope, graded.key, "--json").stdout
    )
    facts = document["statement"]["predicate"]["isolation"]
    assert facts["network"] == "denied"
    assert facts["userNamespace"] is True
    assert facts["seccomp"] is True
    assert facts["qosClass"] == "Guaranteed"


def test_the_lost_pod_is_on_record(graded: Graded) -> None:
    first, second = graded.outcomes["gold-pod-lost"].attempts
    assert (first["number"], second["number"]) == (1, 2)
    assert first["podName"] != second["podName"]
    assert first["reason"] in {"PodLost", "PodEvicted"}
    assert second["reason"] in {"", "Completed"}


def test_one_changed_byte_is_noticed(graded: Graded, tmp_path: Path) -> None:
    envelope = json.loads(graded.outcomes["untouched"].envelope.read_text())
    payload = bytearray(base64.b64decode(envelope["payload"]))
    at = payload.index(b'"outcomes":"') + len(b'"outcomes":"')
    payload[at] = ord("P") if payload[at] != ord("P") else ord("F")
    envelope["payload"] = base64.b64encode(bytes(payload)).decode()
    forged = tmp_path / "forged.json"
    forged.write_text(json.dumps(envelope))
    refuse(graded, forged, graded.key)


def test_another_key_is_noticed(graded: Graded, tmp_path: Path) -> None:
    _, public = generate_key()
    other = tmp_path / "other.pub"
    other.write_bytes(public)
    refuse(graded, graded.outcomes["gold"].envelope, other)


@pytest.mark.parametrize(
    "option",
    [
        ("--digest", "sha256:" + "0" * 64),
        ("--nonce", "another"),
        ("--task", "another"),
        ("--job-uid", "another"),
        ("--suite-digest", "sha256:" + "0" * 64),
    ],
    ids=lambda option: option[0],
)
def test_another_expectation_is_noticed(graded: Graded, option: tuple[str, str]) -> None:
    refuse(graded, graded.outcomes["gold"].envelope, graded.key, *option)


def refuse(graded: Graded, envelope: Path, key: Path, *options: str) -> None:
    done = jobs.verify(graded.cluster, envelope, key, *options)
    assert done.returncode == 1, done.stdout
    sentence = done.stderr.strip()
    assert sentence.startswith("error: Not verified:")
    assert len(sentence.splitlines()) == 1
    assert "Traceback" not in sentence


def test_kubectl_tells_the_story(graded: Graded) -> None:
    table = graded.cluster.kubectl("-n", "grading", "get", "gj")
    header, *rows = table.splitlines()
    assert header.split()[:5] == ["NAME", "SUITE", "DECISION", "PASSED", "REASON"]
    by_name = {row.split()[0]: row.split() for row in rows}
    total = len(graded.outcomes["gold"].tests)
    assert by_name["gold"][1:5] == ["billing-payment-debug", "Graded", str(total), "Completed"]
    assert by_name["too-large"][2:5] == ["Rejected", "0", "SubmissionTooLarge"]
    explained = graded.cluster.kubectl("explain", "gradingjob.spec")
    for field in ("suiteRef", "submission", "nonce", "retryLimit", "suspend", "cancel"):
        assert f"  {field}\t" in explained
