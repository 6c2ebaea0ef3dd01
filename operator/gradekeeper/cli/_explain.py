"""`gradekeeper explain JOB`: what happened, how that is known, and what to do next."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from gradekeeper.cli import _options
from gradekeeper.cli._cluster import run_with_client, test_ids, verify_shown
from gradekeeper.cli._errors import plain
from gradekeeper.cli._verify import headline, read_keys

if TYPE_CHECKING:
    from gradekeeper.api.status import Attempt, Condition, GradingJobStatus
    from gradekeeper.cli._advice import Advice
    from gradekeeper.client import GradingClient

_MOST_TESTS: Final = 20
_MOST_EVENTS: Final = 15


@dataclass(frozen=True)
class Explanation:
    """Sentences about one job.

    Attributes:
        headline: the state in one line.
        happened: what happened, in order.
        evidence: how that is known.
        todo: what to do.
    """

    headline: str
    happened: Sequence[str]
    evidence: Sequence[str]
    todo: Sequence[str]

    def document(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "headline": self.headline,
            "happened": list(self.happened),
            "evidence": list(self.evidence),
            "todo": list(self.todo),
        }


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("explain")(explain)


def explain(
    job: Annotated[str, typer.Argument(metavar="JOB", help="Name of a job.")],
    key: _options.Keys = [],  # noqa: B006 - typer copies it
    namespace: _options.Namespace = None,
    context: _options.Context = None,
    kubeconfig: _options.Kubeconfig = None,
    as_json: _options.AsJson = False,
) -> None:
    """Say what happened in each attempt of a job, with the evidence, and what to do next.

    With --key the signature of its verdict is verified. Exit code 0 whatever became of the job.
    """
    keys = read_keys(key)

    async def main(client: GradingClient) -> Explanation:
        found = await client.read(job)
        verified = bool(keys) and bool((found.get("status") or {}).get("attestation"))
        if verified:
            verify_shown(await client.find(job), found, keys)
        suite, events = await _surroundings(client, found)
        ids = await test_ids(client, found)
        return explain_job(found, ids=ids, suite=suite, events=events, verified=verified)

    explanation = run_with_client(main, keys, namespace, context, kubeconfig)
    if as_json:
        print(json.dumps(explanation.document(), indent=2, sort_keys=True))
        return
    print(plain(explanation.headline))
    for title, sentences in (
        ("What happened", explanation.happened),
        ("Evidence", explanation.evidence),
        ("What to do", explanation.todo),
    ):
        print(f"\n{title}")
        for sentence in sentences:
            print(f"  {plain(sentence)}")


async def _surroundings(
    client: GradingClient, job: Mapping[str, Any]
) -> tuple[dict[str, Any] | None, list[dict[str, Any]] | str]:
    """The job's suite and its events; None, or why they cannot be read."""
    from gradekeeper.client import ApiError

    suite = None
    with contextlib.suppress(ApiError):
        suite = await client.read_suite(str(job["spec"]["suiteRef"]["name"]))
    try:
        return suite, await client.read_events(str(job["metadata"]["uid"]))
    except ApiError as error:
        return suite, f"not readable ({error})"


def explain_job(
    job: Mapping[str, Any],
    *,
    ids: Sequence[str] | None,
    suite: Mapping[str, Any] | None,
    events: Sequence[Mapping[str, Any]] | str,
    verified: bool,
) -> Explanation:
    """Explain one job. Pure.

    Args:
        job: the GradingJob.
        ids: of its tests, in the order of the outcomes; None if not known.
        suite: its GradingSuite; None if it does not exist or cannot be read.
        events: those about the job, or why they cannot be read.
        verified: whether its signature was checked.

    Raises:
        GradekeeperError: the job's status says what this version does not know.
    """
    from gradekeeper.client import job_status

    status = job_status(job)
    waiting = _waiting_reason(status)
    happened = [
        _asked(job["spec"]),
        *_times(job, status),
        *(_attempt(attempt) for attempt in status.attempts),
        *_message(status),
        *_ending(status, ids),
    ]
    todo = []
    if status.verdict is not None or waiting:
        advice = _advice(job, status, waiting)
        if advice is not None:
            happened.append(advice.explanation)
            todo.append(advice.todo)
    if waiting == "SuiteNotReady":
        said, must = _suite(str(job["spec"]["suiteRef"]["name"]), suite)
        happened += said
        todo = must or todo
    if not todo:
        todo = ["Wait: the job goes on by itself. `gradekeeper watch` follows it."]
    return Explanation(
        headline=_headline(job, status, waiting),
        happened=happened,
        evidence=[*_conditions(status), *_events(events), *_signature(status, verified)],
        todo=todo,
    )


def _waiting_reason(status: GradingJobStatus) -> str:
    """Why an unfinished job does not go on; "" if it does, or has finished."""
    from gradekeeper.api.reasons import Reason, reasons_for

    if status.verdict is not None:
        return ""
    words = {reason.value for reason in reasons_for(None)}
    unmet = [str(one.reason) for one in status.conditions if one.status != "True"]
    return next((word for word in unmet if word in words and word in set(Reason)), "")


def _headline(job: Mapping[str, Any], status: GradingJobStatus, waiting: str) -> str:
    name = f"{job['metadata'].get('namespace', '')}/{job['metadata']['name']}"
    if status.verdict is not None:
        from gradekeeper.verdicts.model import VerdictInvalid, parse_verdict

        try:
            return f"{name} is {headline(parse_verdict(job['status']['verdict']))}."
        except VerdictInvalid as error:
            return f"{name} has a verdict that contradicts itself: {error}."
    if waiting:
        return f"{name} waits ({waiting})."
    if any(not attempt.reason for attempt in status.attempts):
        return f"{name} is being graded."
    return f"{name} has no verdict yet."


def _asked(spec: Mapping[str, Any]) -> str:
    submission = spec["submission"]
    if submission.get("builtin"):
        what = f"the suite's own submission {submission['builtin']}"
    elif submission.get("untransportable"):
        claim = submission["untransportable"]
        what = (
            f"a claim by its client of {claim.get('files', '?')} files and"
            f" {claim.get('bytes', '?')} bytes that could not be sent"
        )
    else:
        parts = len(submission.get("configMaps") or ())
        what = f"an archive in {parts} part{'s' * (parts != 1)}, {submission.get('digest', '')}"
    task = f"task {spec['task']}" if spec.get("task") else "the whole suite"
    parameters = ", ".join(f"{k}={v}" for k, v in sorted((spec.get("parameters") or {}).items()))
    with_them = f", with {parameters}" if parameters else ""
    return f"The job asks for {spec['suiteRef']['name']} ({task}{with_them}) on {what}."


def _times(job: Mapping[str, Any], status: GradingJobStatus) -> list[str]:
    created = _time(job["metadata"].get("creationTimestamp"))
    if status.start_time is None:
        return [f"It was created at {created} and has not been admitted."]
    line = f"It was created at {created} and admitted at {_time(status.start_time)}"
    if status.completion_time is None:
        return [line + "."]
    took = f", {status.duration} after its admission" if status.duration else ""
    return [f"{line}; its verdict was signed at {_time(status.completion_time)}{took}."]


def _attempt(attempt: Attempt) -> str:
    """One sentence about a Pod."""
    place = f" on the node {attempt.node_name}" if attempt.node_name else ", on no node,"
    line = f"Attempt {attempt.number}: the Pod {attempt.pod_name}{place}"
    if not attempt.reason:
        return f"{line} has run since {_time(attempt.started_at)}."
    lasted = ""
    if attempt.started_at is not None and attempt.finished_at is not None:
        seconds = (attempt.finished_at - attempt.started_at).total_seconds()
        lasted = f" after {seconds:.0f} s"
    verdict = _fault(attempt.reason)
    said = f" {attempt.message}" if attempt.message else ""
    return f"{line} ended{lasted} with {attempt.reason} ({verdict}).{said}"


def _fault(reason: str) -> str:
    """Who an attempt's end is charged to."""
    from gradekeeper.api.reasons import Decision, Reason

    try:
        known = Reason(reason)
    except ValueError:
        return "a reason that this version does not know"
    if known in (Reason.INVALID_JOB, Reason.CANCELLED):
        return "the client's doing, not scored"
    decision = known.decision
    return "the platform's fault, not scored" if decision is Decision.UNJUDGED else "scored"


def _message(status: GradingJobStatus) -> list[str]:
    """The verdict's own sentence, where no attempt has told it yet."""
    said = status.verdict.message if status.verdict is not None else ""
    told = {attempt.message for attempt in status.attempts}
    return [f"The verdict says: {said}"] if said and said not in told else []


def _ending(status: GradingJobStatus, ids: Sequence[str] | None) -> list[str]:
    """The outcomes in words, and which tests did not pass."""
    from gradekeeper.cli._tables import outcome_word

    outcomes = status.verdict.outcomes if status.verdict is not None else None
    if outcomes is None:
        return []
    counts = {one: outcomes.count(one) for one in "PFTXVN" if one in outcomes}
    words = ", ".join(f"{count} {outcome_word(one)}" for one, count in counts.items())
    lines = [f"Of its tests, {words}."]
    failed = [
        f"{ids[place] if ids is not None else f'#{place}'}: {outcome_word(one)}"
        for place, one in enumerate(outcomes)
        if one != "P"
    ]
    if 0 < counts.get("P", 0) < len(outcomes):
        lines += [f"  {line}" for line in failed[:_MOST_TESTS]]
        if len(failed) > _MOST_TESTS:
            lines.append(f"  and {len(failed) - _MOST_TESTS} more; see `gradekeeper get`.")
    return lines


def _advice(job: Mapping[str, Any], status: GradingJobStatus, waiting: str) -> Advice | None:
    from gradekeeper.api.reasons import Reason
    from gradekeeper.cli._advice import Circumstances, advise

    verdict = status.verdict
    word = str(verdict.reason) if verdict is not None else waiting
    if word not in set(Reason):
        return None
    submission = job["spec"]["submission"]
    outcomes = (verdict.outcomes if verdict is not None else None) or ""
    last = status.attempts[-1] if status.attempts else None
    return advise(
        Reason(word),
        Circumstances(
            reasons=tuple(attempt.reason for attempt in status.attempts),
            placed=None if last is None else bool(last.node_name),
            said=_left_a_result(status) if last is not None else None,
            message=verdict.message if verdict is not None else "",
            builtin=str(submission.get("builtin") or ""),
            claimed=bool(submission.get("untransportable")),
            passed=outcomes.count("P"),
            total=len(outcomes),
        ),
    )


def _left_a_result(status: GradingJobStatus) -> bool | None:
    """Whether the last attempt's referee left a result, by the statement; None if not known."""
    predicate = _predicate(status)
    return None if predicate is None else predicate.get("log") is not None


def _suite(name: str, suite: Mapping[str, Any] | None) -> tuple[list[str], list[str]]:
    """What is known of a suite that is not Ready, and what to do about that."""
    from pydantic import ValidationError

    from gradekeeper.api.reasons import SuiteReason
    from gradekeeper.api.status import GradingSuiteStatus
    from gradekeeper.cli._advice import SUITE_ADVICE

    if suite is None:
        return [f"The suite {name} does not exist here, or you may not read it."], []
    try:
        status = GradingSuiteStatus.model_validate(suite.get("status") or {})
    except ValidationError:
        return [f"The status of the suite {name} says what this version does not know."], []
    unmet = [one for one in status.conditions if one.status != "True"]
    said = [
        f"The suite's {one.type} is {one.status} ({one.reason}): {one.message}" for one in unmet
    ]
    words = {reason.value: reason for reason in SuiteReason}
    todo = [SUITE_ADVICE[words[one.reason]] for one in unmet if one.reason in words]
    return said or [f"The suite {name} has not been looked at yet."], todo[:1]


def _conditions(status: GradingJobStatus) -> list[str]:
    return [_condition(one) for one in status.conditions] or ["The job has no conditions yet."]


def _condition(one: Condition) -> str:
    since = _time(one.last_transition_time)
    return f"condition {one.type} is {one.status} since {since} ({one.reason}): {one.message}"


def _events(events: Sequence[Mapping[str, Any]] | str) -> list[str]:
    if isinstance(events, str):
        return [f"events: {events}"]
    if not events:
        return ["events: none is left (the API server keeps them for about an hour)"]
    ordered = sorted(events, key=lambda event: str(event.get("lastTimestamp") or ""))
    return [
        f"event at {_time(event.get('lastTimestamp'))} {event.get('reason', '?')}:"
        f" {event.get('message', '')}"
        for event in ordered[-_MOST_EVENTS:]
    ]


def _signature(status: GradingJobStatus, verified: bool) -> list[str]:
    if status.attestation is None:
        return []
    state = "verified with your key" if verified else "not verified here; give --key"
    lines = [f"the verdict is signed ({state})"]
    facts = (_predicate(status) or {}).get("isolation")
    if isinstance(facts, dict) and facts:
        listed = ", ".join(f"{name} {json.dumps(facts[name])}" for name in sorted(facts))
        lines.append(f"isolation as observed before the release: {listed}")
    return lines


def _predicate(status: GradingJobStatus) -> dict[str, Any] | None:
    """What the attestation states, signed by whomever; None if there is none, or it is none."""
    from gradekeeper.verdicts.signing import SignatureInvalid, read_unverified

    with contextlib.suppress(SignatureInvalid, KeyError, TypeError):
        predicate = read_unverified(status.attestation or "")["predicate"]
        if isinstance(predicate, dict):
            return predicate
    return None


def _time(moment: datetime | str | None) -> str:
    """A time in the one form of all sentences; as it is where the API server's cannot be read."""
    if isinstance(moment, str):
        try:
            moment = datetime.fromisoformat(moment).astimezone(UTC)
        except ValueError:
            return str(moment)
    return moment.strftime("%Y-%m-%d %H:%M:%SZ") if moment is not None else "an unknown time"
