"""`gradekeeper logs JOB`: a referee's detail log, with what proves that it is the right one."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from gradekeeper.cli import _options
from gradekeeper.cli._cluster import run_with_client, verify_shown
from gradekeeper.cli._errors import CliError, ExitCode, escaped, plain, unfolded
from gradekeeper.cli._verify import read_keys

if TYPE_CHECKING:
    from gradekeeper.api.status import Attempt, GradingJobStatus
    from gradekeeper.client import GradingClient

_MOST_BYTES: Final = 1024 * 1024
"""Of an unpacked log; four times what a referee writes."""


@dataclass(frozen=True)
class DetailLog:
    """A log as its Secret keeps it.

    Attributes:
        text: what is kept of it.
        whole: length of the whole log in bytes.
        stated: digest of the whole log as the Secret states it.
    """

    text: bytes
    whole: int
    stated: str

    @property
    def complete(self) -> bool:
        """Whether nothing was cut off."""
        return len(self.text) == self.whole

    @property
    def digest(self) -> str:
        """The digest of what is kept."""
        return "sha256:" + hashlib.sha256(self.text).hexdigest()


@dataclass(frozen=True)
class Check:
    """How a log compares with what was signed.

    Attributes:
        word: `matches`, `differs`, `cut` or `unsigned`.
        sentence: the same for people.
    """

    word: str
    sentence: str


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("logs")(logs)


def logs(
    job: Annotated[str, typer.Argument(metavar="JOB", help="Name of a job.")],
    attempt: Annotated[
        int | None, typer.Option(min=1, help="Number of the attempt; default the last.")
    ] = None,
    key: _options.Keys = [],  # noqa: B006 - typer copies it
    namespace: _options.Namespace = None,
    context: _options.Context = None,
    kubeconfig: _options.Kubeconfig = None,
    as_json: _options.AsJson = False,
) -> None:
    """Show the referee's detail log of an attempt: for maintainers, never for a policy.

    It says what each test expected and observed, and what the submission printed. The log goes to
    standard output, what is known of its digest to standard error. Exit code: 1 if there is no log,
    or if it is not the one that was signed.
    """
    keys = read_keys(key)

    async def main(client: GradingClient) -> tuple[Attempt, DetailLog, Check]:
        from gradekeeper.client import ForbiddenError, NotFoundError, job_status

        found = await client.read(job)
        status = job_status(found)
        chosen = choose_attempt(job, status, attempt)
        verified = bool(keys) and status.attestation is not None
        if verified:
            verify_shown(await client.find(job), found, keys)
        try:
            secret = await client.read_log(chosen.pod_name)
        except NotFoundError as error:
            raise CliError(why_none(chosen, client.namespace), ExitCode.FAILED) from error
        except ForbiddenError as error:
            raise CliError(
                f"You may not read detail logs: that takes `get` on Secrets in {client.namespace},"
                " which the chart's ClusterRole …-maintainer has. They say what hidden tests"
                " expect.",
                ExitCode.FAILED,
            ) from error
        log = unpack_log(secret)
        signed = None
        if chosen.number == status.attempts[-1].number:
            signed = signed_digest(status)
        return chosen, log, check_log(log, signed, verified=verified)

    chosen, log, check = run_with_client(main, keys, namespace, context, kubeconfig)
    events = [read_event(line) for line in log.text.decode("utf-8", "replace").splitlines()]
    if as_json:
        document = {
            "job": job,
            "attempt": chosen.number,
            "pod": chosen.pod_name,
            "digest": {"state": check.word, "sentence": check.sentence},
            "bytes": log.whole,
            "complete": log.complete,
            "events": events,
        }
        print(json.dumps(document, indent=2, sort_keys=True))
    else:
        print(
            f"{plain(job)}, attempt {chosen.number}, Pod {plain(chosen.pod_name)}:"
            f" {len(events)} events. {check.sentence}",
            file=sys.stderr,
            flush=True,
        )
        for event in events:
            print("\n".join(lines_of(event)))
    if check.word == "differs":
        raise typer.Exit(ExitCode.FAILED)


def choose_attempt(job: str, status: GradingJobStatus, number: int | None) -> Attempt:
    """Return the attempt of that number, or the last one.

    Raises:
        CliError: there is none; the text says which there are, or why there are none.
    """
    if not status.attempts:
        why = (
            "It was answered without a Pod, so no referee wrote anything"
            if status.verdict is not None
            else "No attempt of it is on record yet"
        )
        raise CliError(f"{plain(job)} has no detail log. {why}.", ExitCode.FAILED)
    if number is None:
        return status.attempts[-1]
    for attempt in status.attempts:
        if attempt.number == number:
            return attempt
    known = ", ".join(str(attempt.number) for attempt in status.attempts)
    raise CliError(f"{plain(job)} has no attempt {number}; it has: {known}.")


def why_none(attempt: Attempt, namespace: str) -> str:
    """Say why no log of an attempt is kept, and what to do."""
    pod = plain(attempt.pod_name)
    if not attempt.reason:
        return (
            f"Attempt {attempt.number} still runs; its log is put away when its Pod goes."
            f" Until then: kubectl logs -n {namespace} {pod} -c referee."
        )
    return (
        f"No log of attempt {attempt.number} ({attempt.reason}) is kept. Either the installation"
        " does not keep logs of attempts that ended so (`grading.detailLogs.keep` in the chart:"
        " none, failed, which is the default, or all; it holds for later gradings), or no referee"
        " ran in this one, or the log could not be read in time (the operator's log then says"
        " detail_log_lost). Within the first seconds it may still be with its Pod: kubectl logs"
        f" -n {namespace} {pod} -c referee. Whoever has the suite's folder and the submission sees"
        " what was observed and what was expected by `gradekeeper grade --local --json`."
    )


def unpack_log(secret: Mapping[str, Any]) -> DetailLog:
    """Return the log that a Secret keeps.

    Raises:
        CliError: the Secret has another form than the operator gives it.
    """
    from gradekeeper.api.compressed import MAX_LOG_BYTES, decompress
    from gradekeeper.api.names import ANNOTATION_LOG_BYTES, ANNOTATION_LOG_DIGEST, LOG_KEY

    name = plain((secret.get("metadata") or {}).get("name", ""))
    try:
        notes = secret["metadata"]["annotations"]
        text = decompress(secret["data"][LOG_KEY], most=MAX_LOG_BYTES)
        return DetailLog(text, int(notes[ANNOTATION_LOG_BYTES]), str(notes[ANNOTATION_LOG_DIGEST]))
    except (ValueError, KeyError, TypeError) as error:
        raise CliError(
            f"The Secret {name} does not hold a detail log; somebody else than the operator wrote"
            " it.",
            ExitCode.FAILED,
        ) from error


def signed_digest(status: GradingJobStatus) -> str | None:
    """Return the digest of the last attempt's log in the signed statement; None without one."""
    from gradekeeper.verdicts.signing import SignatureInvalid, read_unverified

    try:
        log = read_unverified(status.attestation or "")["predicate"]["log"]
    except (SignatureInvalid, KeyError, TypeError):
        return None
    return None if log is None else str(log)


def check_log(log: DetailLog, signed: str | None, *, verified: bool) -> Check:
    """Compare a log with the signed statement.

    Args:
        log: the log.
        signed: its digest in the statement; None where the statement has none of this attempt.
        verified: whether the statement's signature was checked.
    """
    whose = "the verified statement" if verified else "the statement (not verified; give --key)"
    cut = f"Its first {len(log.text)} of {log.whole} bytes are kept"
    if log.complete and log.digest != log.stated:
        return Check("differs", "It was CHANGED after the operator put it away: do not trust it.")
    if signed is None:
        known = "It is complete" if log.complete else cut
        return Check(
            "unsigned",
            f"{known}; the statement signs the log of the last attempt with a result alone, so its"
            " origin rests on who may write Secrets here.",
        )
    if log.stated != signed:
        return Check("differs", f"Its digest is NOT the one in {whose}: do not trust it.")
    if not log.complete:
        return Check(
            "cut",
            f"{cut}; the operator states that the whole had the digest in {whose}.",
        )
    return Check("matches", f"It is complete, and its digest is the one in {whose}.")


def read_event(line: str) -> dict[str, Any]:
    """Return one line's event; what is not one becomes an event `unreadable` with its text."""
    from gradekeeper.referee.strictjson import StrictJsonError, parse_strict

    try:
        event = parse_strict(line.encode(), max_bytes=_MOST_BYTES)
    except (StrictJsonError, UnicodeEncodeError):
        event = None
    if isinstance(event, dict) and isinstance(event.get("event"), str):
        return event
    return {"event": "unreadable", "text": line}


def lines_of(event: Mapping[str, Any]) -> list[str]:
    """An event for people: its time in seconds, its name and fields; texts of lines as lines."""
    words, blocks = [], []
    for name, value in event.items():
        if name in ("event", "at"):
            continue
        said = unfolded(value) if isinstance(value, str) else [json.dumps(value)]
        if len(said) > 1:
            blocks += [f"{escaped(name)}:", *(f"  {escaped(one)}" for one in said)]
        else:
            words.append(f"{escaped(name)}={escaped(''.join(said))}")
    at = event.get("at")
    time = f"{at:9.3f}" if isinstance(at, int | float) else " " * 9
    head = f"{time}  {escaped(event['event'])}  {' '.join(words)}".rstrip()
    return [head, *(f"{' ' * 11}{block}".rstrip() for block in blocks)]
