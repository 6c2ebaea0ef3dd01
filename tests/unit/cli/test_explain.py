"""Sentences about jobs: every reason has its own, and the evidence is all there."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from typer.testing import Result

from contract.stand_in import StandIn, condition, graded, lost
from gradekeeper.api.reasons import Decision, Reason, SuiteReason, reasons_for
from gradekeeper.cli._advice import ADVICE, SUITE_ADVICE
from gradekeeper.cli._explain import Explanation, explain_job

from .conftest import Cluster
from .test_cluster import job as make_job

Run = Callable[..., Result]


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_has_an_explanation_and_an_advice(reason: Reason) -> None:
    advice = ADVICE[reason]
    for text in advice:
        assert text[0].isupper() and text.endswith(".") and "  " not in text
    assert len(advice.explanation) > 60
    assert reason.sentence not in advice.explanation
    if reason.decision is Decision.UNJUDGED:
        assert advice.todo.endswith("but do not score it.")
    else:
        assert "not score it" not in advice.todo


def test_no_two_reasons_share_a_text() -> None:
    assert len({advice.explanation for advice in ADVICE.values()}) == len(Reason)


@pytest.mark.parametrize("reason", SuiteReason)
def test_every_reason_of_a_suite_says_what_to_do(reason: SuiteReason) -> None:
    assert SUITE_ADVICE[reason].endswith((".", ")."))


def build(status: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {
            "namespace": "grading",
            "name": "j",
            "uid": "u",
            "creationTimestamp": "2026-01-01T00:00:00Z",
        },
        "spec": {
            "suiteRef": {"name": "billing"},
            "submission": {"configMaps": ["j-part-00"], "digest": "sha256:" + "1" * 64},
            "nonce": "n",
            **spec,
        },
        "status": status,
    }


def told(
    job: dict[str, Any],
    *,
    ids: list[str] | None = None,
    suite: dict[str, Any] | None = None,
    events: list[dict[str, Any]] | str = "not readable",
) -> Explanation:
    return explain_job(job, ids=ids, suite=suite, events=events, verified=False)


def attempt(number: int, reason: str, message: str = "", **more: Any) -> dict[str, Any]:
    return {
        "number": number,
        "podName": f"j-abc-{number}",
        "nodeName": "node-1",
        "reason": reason,
        "message": message,
        "startedAt": "2026-01-01T00:00:05Z",
        **({"finishedAt": "2026-01-01T00:00:12Z"} if reason else {}),
        **more,
    }


def test_each_attempt_is_told_with_whose_fault_it_was() -> None:
    verdict = {
        "decision": "Graded",
        "reason": "Completed",
        "message": "Fine.",
        "tests": {"total": 3, "passed": 1, "failed": 2},
        "outcomes": "PFT",
    }
    status = {
        "startTime": "2026-01-01T00:00:02Z",
        "completionTime": "2026-01-01T00:00:30Z",
        "duration": "28.0s",
        "attempts": [attempt(1, "NodeLost", "It went away."), attempt(2, "Completed", "Fine.")],
        "verdict": verdict,
        "attestation": "bm90IGpzb24=",
    }
    found = told(build(status, task="t", parameters={"a": "1"}), ids=["g/a", "g/b", "g/c"])
    assert found.headline == "grading/j is Graded: 1 of 3 tests passed (Completed)."
    text = "\n".join(found.happened)
    assert "asks for billing (task t, with a=1) on an archive in 1 part, sha256:1" in text
    assert "signed at 2026-01-01 00:00:30Z, 28.0s after its admission" in text
    assert (
        "Attempt 1: the Pod j-abc-1 on the node node-1 ended after 7 s with NodeLost (the"
        " platform's fault, not scored). It went away." in text
    )
    assert (
        "Attempt 2: the Pod j-abc-2 on the node node-1 ended after 7 s with Completed (scored)."
        in text
    )
    assert "Of its tests, 1 passed, 1 observed something else, 1 timed out." in text
    assert "  g/b: observed something else\n  g/c: timed out" in text and "g/a" not in text
    assert "The verdict says" not in text, "the attempt has said it"
    assert ADVICE[Reason.COMPLETED].explanation in found.happened
    assert found.todo == [ADVICE[Reason.COMPLETED].todo]
    assert found.evidence[-1] == "the verdict is signed (not verified here; give --key)"


def test_an_invalid_job_is_not_the_platforms_fault() -> None:
    status = {"attempts": [attempt(1, "InvalidJob", "No parameter a.")]}
    text = "\n".join(told(build(status)).happened)
    assert "with InvalidJob (the client's doing, not scored). No parameter a." in text


def test_unjudged_shows_no_number_and_says_to_drop_it() -> None:
    verdict = {"decision": "Unjudged", "reason": "InvalidJob", "message": "No task x."}
    found = told(build({"verdict": verdict, "attestation": "eA=="}))
    assert (
        found.headline == "grading/j is Unjudged: no statement about the submission (InvalidJob)."
    )
    assert "The verdict says: No task x." in found.happened
    assert not any("Of its tests" in line for line in found.happened)
    assert found.todo == [ADVICE[Reason.INVALID_JOB].todo]


@pytest.mark.parametrize("reason", reasons_for(None))
def test_a_waiting_job_says_what_for(reason: Reason) -> None:
    conditions = [condition("Admitted", "False", reason.value)]
    found = told(build({"conditions": conditions}), suite={})
    assert found.headline == f"grading/j waits ({reason.value})."
    assert ADVICE[reason].explanation in found.happened
    assert found.todo


def test_a_running_job_needs_nothing_but_time() -> None:
    status = {
        "conditions": [condition("Admitted", "True", "Admitted")],
        "attempts": [attempt(1, "")],
    }
    found = told(build(status))
    assert found.headline == "grading/j is being graded."
    assert any("has run since 2026-01-01 00:00:05Z" in line for line in found.happened)
    assert found.todo == ["Wait: the job goes on by itself. `gradekeeper watch` follows it."]


def test_a_suite_that_is_not_ready_is_explained_too() -> None:
    job = build({"conditions": [condition("Admitted", "False", "SuiteNotReady")]})
    message = {"message": "Nobody we trust."}
    suite = {
        "status": {
            "conditions": [
                {**condition("Verified", "False", "SignatureInvalid"), **message},
                condition("Ready", "False", "NotVerified"),
            ]
        }
    }
    found = told(job, suite=suite)
    assert "The suite's Verified is False (SignatureInvalid): Nobody we trust." in found.happened
    assert found.todo == [SUITE_ADVICE[SuiteReason.SIGNATURE_INVALID]]
    absent = told(job)
    assert "The suite billing does not exist here, or you may not read it." in absent.happened
    assert absent.todo == [ADVICE[Reason.SUITE_NOT_READY].todo]


def test_every_time_has_one_form() -> None:
    status = {"startTime": "2026-01-01T00:00:03Z", "attempts": [attempt(1, "PodLost")]}
    events = [{"lastTimestamp": "2026-01-01T00:00:02Z", "reason": "Graded", "message": "b"}]
    found = told(build(status), events=events)
    said = "\n".join([*found.happened, *found.evidence])
    assert "created at 2026-01-01 00:00:00Z and admitted at 2026-01-01 00:00:03Z" in said
    assert "T00:" not in said


def test_events_are_in_order_and_their_absence_is_said() -> None:
    events = [
        {"lastTimestamp": "2026-01-01T00:00:02Z", "reason": "Graded", "message": "b"},
        {"lastTimestamp": "2026-01-01T00:00:01Z", "reason": "PodRunning", "message": "a"},
    ]
    found = told(build({}), events=events)
    assert [line for line in found.evidence if line.startswith("event ")] == [
        "event at 2026-01-01 00:00:01Z PodRunning: a",
        "event at 2026-01-01 00:00:02Z Graded: b",
    ]
    assert "events: not readable" in told(build({})).evidence
    assert any("none is left" in line for line in told(build({}), events=[]).evidence)


def test_the_command_tells_of_a_real_job(
    run: Run, cluster: Cluster, stand_in: StandIn, key: str
) -> None:
    cluster.answer = lambda job: stand_in.status(job, graded("PPF"))
    made = make_job(cluster, "one")
    about = {"uid": made["metadata"]["uid"], "kind": "GradingJob", "name": "one"}
    for name, uid in (("e1", about), ("e2", {**about, "uid": "another"})):
        event = {"metadata": {"name": name}, "reason": name.upper(), "involvedObject": uid}
        cluster.create("events", "grading", event)
    result = run("explain", "one", "--key", key)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("grading/one is Graded: 2 of 3 tests passed (Completed).\n")
    assert "the verdict is signed (verified with your key)" in result.stdout
    assert 'isolation as observed before the release: network "denied"' in result.stdout
    assert "E1" in result.stdout and "E2" not in result.stdout
    document = json.loads(run("explain", "one", "--json").stdout)
    assert "This is the suite's own right answer" in document["todo"][0]


def test_a_submitter_without_a_right_on_events_is_told_so(
    run: Run, cluster: Cluster, stand_in: StandIn
) -> None:
    cluster.answer = lambda job: stand_in.status(job, lost())
    make_job(cluster, "one")
    cluster.fail("GET", "/events", 403)
    result = run("explain", "one")
    assert result.exit_code == 0
    assert "events: not readable (GET /api/v1/namespaces/grading/events" in result.stdout


def test_another_verdict_in_the_status_than_was_signed_is_an_error(
    run: Run, cluster: Cluster, stand_in: StandIn, key: str
) -> None:
    def answer(job: dict[str, Any]) -> dict[str, Any]:
        status = stand_in.status(job, graded("PPF"))
        status["verdict"] = stand_in.status(job, graded("PPP"))["verdict"]
        return status

    cluster.answer = answer
    make_job(cluster, "one")
    result = run("explain", "one", "--key", key)
    assert result.exit_code == 1
    assert "shows another verdict than was signed" in result.stderr
