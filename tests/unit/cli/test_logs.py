"""`gradekeeper logs`: the right log, what proves it, and why there is none."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest
from typer.testing import Result

from contract.fake_api import Manifest
from contract.stand_in import StandIn, graded, lost
from gradekeeper.control.detaillog import Finished, build_log_secret
from gradekeeper.verdicts.model import Graded, Unjudged

from .conftest import Cluster
from .test_cluster import job

Run = Callable[..., Result]
NS = "grading"
EVENTS = [
    {"event": "intake", "at": 0.01, "files": 3},
    {"event": "compiler", "at": 1.5, "text": "A.java:1: error\\x0a  class \u202eA {\\x0a\\x09^"},
    {"event": "stderr", "at": 2.25, "group": "sums", "text": "\x1b[31mboo\nmore"},
]
TEXT = b"".join(json.dumps(event).encode() + b"\n" for event in EVENTS)


def secret(made: Manifest, number: int = 1, text: bytes = TEXT, most: int = 65536) -> Manifest:
    """The Secret that the operator makes of a log."""
    meta = made["metadata"]
    finished = Finished(NS, meta["name"], meta["uid"], number, f"{meta['name']}-abc-{number}", "u")
    return build_log_secret(finished, text, most)


def attempts(name: str, *reasons: str) -> list[dict[str, Any]]:
    return [
        {"number": number, "podName": f"{name}-abc-{number}", "reason": reason}
        for number, reason in enumerate(reasons, 1)
    ]


def finish(
    cluster: Cluster,
    stand_in: StandIn,
    *reasons: str,
    verdict: Graded | Unjudged | None = None,
    log: Manifest | None = None,
) -> Manifest:
    """A job with a signed verdict whose statement names the digest of `log`."""
    made = job(cluster, "one")
    judged = verdict or graded("PF")
    statement = stand_in.statement(made, judged)
    if log is not None:
        statement["predicate"]["log"] = log["metadata"]["annotations"]["gradekeeper.dev/log-digest"]
    status = stand_in.status(made, judged)
    status["attestation"] = base64.b64encode(stand_in.sign(statement)).decode()
    status["attempts"] = attempts("one", *reasons)
    return cluster.set_status("gradingjobs", NS, "one", status)


def test_the_log_is_shown_with_what_proves_it(
    run: Run, cluster: Cluster, stand_in: StandIn, key: str
) -> None:
    log = secret({"metadata": {"name": "one", "uid": "u"}})
    finish(cluster, stand_in, "Completed", log=log)
    cluster.create("secrets", NS, log)
    result = run("logs", "one", "--key", key)
    assert result.exit_code == 0
    assert result.stderr == (
        "one, attempt 1, Pod one-abc-1: 3 events. It is complete, and its digest is the one in the"
        " verified statement.\n"
    )
    assert result.stdout.splitlines() == [
        "    0.010  intake  files=3",
        "    1.500  compiler",
        "           text:",
        "             A.java:1: error",
        "               class \\u202eA {",
        "                     ^",
        "    2.250  stderr  group=sums",
        "           text:",
        "             \\x1b[31mboo",
        "             more",
    ]
    document = json.loads(run("logs", "one", "--json").stdout)
    assert document["events"] == EVENTS
    assert (document["digest"]["state"], document["complete"]) == ("matches", True)
    assert "not verified" in document["digest"]["sentence"]


def test_another_log_than_the_signed_one_is_not_believed(
    run: Run, cluster: Cluster, stand_in: StandIn
) -> None:
    made = finish(
        cluster, stand_in, "Completed", log=secret({"metadata": {"name": "x", "uid": ""}})
    )
    cluster.create("secrets", NS, secret(made, text=TEXT.replace(b"boo", b"all is well")))
    result = run("logs", "one")
    assert (result.exit_code, "NOT the one" in result.stderr) == (1, True)


def test_a_log_that_was_changed_afterwards_is_not_believed(
    run: Run, cluster: Cluster, stand_in: StandIn
) -> None:
    log = secret({"metadata": {"name": "one", "uid": "u"}})
    finish(cluster, stand_in, "Completed", log=log)
    forged = secret({"metadata": {"name": "one", "uid": "u"}}, text=TEXT.replace(b"boo", b"foo"))
    forged["metadata"]["annotations"] = log["metadata"]["annotations"]
    cluster.create("secrets", NS, forged)
    result = run("logs", "one")
    assert (result.exit_code, "CHANGED" in result.stderr) == (1, True)


def test_a_cut_log_says_so(run: Run, cluster: Cluster, stand_in: StandIn) -> None:
    lines = [
        json.dumps({"event": "run", "at": n, "text": f"{n * 7919 % 10007:x}" * 9}).encode() + b"\n"
        for n in range(400)
    ]
    log = secret({"metadata": {"name": "one", "uid": "u"}}, text=b"".join(lines), most=1024)
    finish(cluster, stand_in, "Completed", log=log)
    cluster.create("secrets", NS, log)
    result = run("logs", "one")
    assert result.exit_code == 0
    assert "Its first " in result.stderr and f" of {len(b''.join(lines))} bytes" in result.stderr
    assert 0 < len(result.stdout.splitlines()) < 400


def test_an_earlier_attempt_is_shown_but_not_signed(
    run: Run, cluster: Cluster, stand_in: StandIn
) -> None:
    last = secret({"metadata": {"name": "one", "uid": "u"}}, 2, text=b'{"event": "last"}\n')
    made = finish(cluster, stand_in, "RefereeFailed", "Completed", log=last)
    cluster.create("secrets", NS, secret(made, 1))
    result = run("logs", "one", "--attempt", "1")
    assert result.exit_code == 0
    assert "rests on who may write Secrets here" in result.stderr
    missing = run("logs", "one")
    assert (missing.exit_code, missing.stdout) == (1, "")
    assert "No log of attempt 2 (Completed) is kept" in missing.stderr
    assert "grading.detailLogs.keep" in missing.stderr
    assert "it has: 1, 2" in run("logs", "one", "--attempt", "3").stderr


def test_why_there_is_none(run: Run, cluster: Cluster, stand_in: StandIn) -> None:
    made = job(cluster, "one")
    assert "No attempt of it is on record yet" in run("logs", "one").stderr
    cluster.set_status("gradingjobs", NS, "one", {"attempts": attempts("one", "")})
    said = run("logs", "one").stderr
    assert "still runs" in said and "kubectl logs -n grading one-abc-1 -c referee" in said
    cluster.set_status(
        "gradingjobs", NS, "one", {"attempts": None, **stand_in.status(made, lost())}
    )
    assert "answered without a Pod" in run("logs", "one").stderr


def test_who_may_not_read_it_is_told_what_it_takes(
    run: Run, cluster: Cluster, stand_in: StandIn
) -> None:
    made = finish(cluster, stand_in, "Completed")
    cluster.create("secrets", NS, secret(made))
    cluster.fail("GET", "/secrets/", 403)
    result = run("logs", "one")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "`get` on Secrets in grading" in result.stderr and "maintainer" in result.stderr


@pytest.mark.parametrize(
    "data", [{}, {"log.jsonl.gz": "bm90IGd6aXA="}, {"log.jsonl.gz": "%"}], ids=["", "gzip", "b64"]
)
def test_a_secret_of_another_form_is_refused(
    run: Run, cluster: Cluster, stand_in: StandIn, data: dict[str, str]
) -> None:
    made = finish(cluster, stand_in, "Completed")
    cluster.create("secrets", NS, {**secret(made), "data": data})
    result = run("logs", "one")
    assert (result.exit_code, "does not hold a detail log" in result.stderr) == (1, True)
