"""The commands that talk to a cluster."""

from __future__ import annotations

import base64
import gzip
import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from contract.stand_in import StandIn, condition, graded, lost

from .conftest import Cluster

Run = Callable[..., Result]
NS = "grading"


@pytest.fixture
def tree(tmp_path: Path) -> str:
    (tmp_path / "tree" / "src").mkdir(parents=True)
    (tmp_path / "tree" / "src" / "A.java").write_text("class A {}")
    (tmp_path / "tree" / "notes.txt").write_text("notes")
    return str(tmp_path / "tree")


def only_job(cluster: Cluster) -> dict[str, Any]:
    [job] = [obj for (plural, _, _), obj in cluster.objects.items() if plural == "gradingjobs"]
    return job


def sent_files(cluster: Cluster) -> list[str]:
    [part] = [obj for (plural, _, _), obj in cluster.objects.items() if plural == "configmaps"]
    archive = base64.b64decode(part["binaryData"]["part"])
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        return tar.getnames()


def job(cluster: Cluster, name: str, **spec: Any) -> dict[str, Any]:
    return cluster.create(
        "gradingjobs",
        NS,
        {
            "metadata": {"name": name},
            "spec": {
                "suiteRef": {"name": "billing"},
                "submission": {"builtin": "gold"},
                "nonce": f"nonce of {name}",
                **spec,
            },
        },
    )


def suite(cluster: Cluster, name: str) -> None:
    cluster.create("gradingsuites", NS, {"metadata": {"name": name}, "spec": {}})


# submit


def test_submit_prints_what_one_needs_later(run: Run, cluster: Cluster, tree: str) -> None:
    result = run("submit", tree, "--suite", "billing", "--nonce", "n", "--group", "g")
    assert (result.exit_code, result.stderr) == (0, "")
    made = only_job(cluster)
    assert made["spec"]["group"] == "g"
    assert result.stdout.splitlines() == [
        f"job     grading/{made['metadata']['name']}",
        "nonce   n",
        f"digest  {made['spec']['submission']['digest']}",
    ]
    assert sent_files(cluster) == ["notes.txt", "src/A.java"]
    again = run("submit", tree, "--suite", "billing", "--nonce", "n", "--group", "g")
    assert "(existed already)" in again.stdout


def test_submit_passes_its_options_on(run: Run, cluster: Cluster, tree: str) -> None:
    result = run(
        *("submit", tree, "--suite", "s", "--task", "t", "-p", "a=1", "--parameter", "b=x=y"),
        *("--attempt-deadline", "60", "--retry-limit", "0", "--ttl", "7", "--json"),
        *("--include", "src/**", "-n", "elsewhere"),
    )
    made = only_job(cluster)
    assert made["metadata"]["namespace"] == "elsewhere"
    spec = made["spec"]
    assert spec["parameters"] == {"a": "1", "b": "x=y"}
    assert (spec["task"], spec["attemptDeadlineSeconds"], spec["retryLimit"]) == ("t", 60, 0)
    assert spec["ttlSecondsAfterFinished"] == 7
    assert sent_files(cluster) == ["src/A.java"]
    assert json.loads(result.stdout)["nonce"] == spec["nonce"]
    assert len(spec["nonce"]) == 64


def test_an_archive_is_sent_as_it_is(run: Run, cluster: Cluster, tmp_path: Path) -> None:
    (tmp_path / "x.tar.gz").write_bytes(gzip.compress(b"whatever"))
    assert run("submit", str(tmp_path / "x.tar.gz"), "--suite", "s").exit_code == 0
    [part] = [obj for (plural, _, _), obj in cluster.objects.items() if plural == "configmaps"]
    assert base64.b64decode(part["binaryData"]["part"]) == (tmp_path / "x.tar.gz").read_bytes()


def test_too_large_a_directory_is_submitted_as_a_claim_with_a_note(
    run: Run, cluster: Cluster, tmp_path: Path
) -> None:
    (tmp_path / "d").mkdir()
    with (tmp_path / "d" / "sparse").open("wb") as file:
        file.truncate(2**40)
    result = run("submit", str(tmp_path / "d"), "--suite", "s")
    assert result.exit_code == 0
    assert "Only the claim can be submitted: 1 files, 1099511627776 bytes" in result.stderr
    assert "untransportable" in only_job(cluster)["spec"]["submission"]


def test_submit_and_wait_verifies_and_writes_the_envelope(
    run: Run, cluster: Cluster, stand_in: StandIn, key: str, tmp_path: Path
) -> None:
    suite(cluster, "s")
    cluster.answer = lambda job: stand_in.status(job, graded("PPF"))
    out = tmp_path / "v.json"
    result = run(
        *("submit", "builtin:gold", "--suite", "s", "--nonce", "n", "--wait", "--key", key),
        *("--out", str(out)),
    )
    assert (result.exit_code, result.stderr) == (0, "")
    assert "Graded: 2 of 3 tests passed (Completed), signature verified" in result.stdout
    assert only_job(cluster), "the job is kept for `get` unless --delete is given"
    assert run("verify", str(out), "--key", key, "--nonce", "n").exit_code == 0


def test_who_waits_is_told_that_there_is_no_such_suite(
    run: Run, cluster: Cluster, stand_in: StandIn, key: str
) -> None:
    suite(cluster, "s")
    cluster.answer = lambda job: stand_in.status(job, graded("P"))
    result = run("submit", "builtin:gold", "--suite", "z", "--wait", "--key", key)
    assert result.exit_code == 0
    assert "There is no suite z in grading; the job waits with SuiteNotReady" in result.stderr
    job = result.stdout.split()[1].removeprefix("grading/")
    assert f"take it back: gradekeeper cancel {job} -n grading\n" in result.stderr


def test_delete_removes_the_verified_job(
    run: Run, cluster: Cluster, stand_in: StandIn, key: str
) -> None:
    cluster.answer = lambda job: stand_in.status(job, graded("P"))
    run("submit", "builtin:gold", "--suite", "s", "--wait", "--key", key, "--delete")
    assert {plural for plural, _, _ in cluster.objects} == {"namespaces"}


def test_unjudged_exits_3_and_writes_nothing(
    run: Run, cluster: Cluster, stand_in: StandIn, key: str, tmp_path: Path
) -> None:
    suite(cluster, "s")
    cluster.answer = lambda job: stand_in.status(job, lost())
    out = tmp_path / "v.json"
    result = run(
        "submit", "builtin:gold", "--suite", "s", "--wait", "--key", key, "--out", str(out)
    )
    assert result.exit_code == 3
    assert "is Unjudged (PodLost)" in result.stderr
    assert result.stderr.count("\n") == 1
    assert not out.exists()


def test_a_forged_verdict_exits_1(run: Run, cluster: Cluster, key: str) -> None:
    cluster.answer = lambda job: StandIn().status(job, graded("PPP"))
    result = run("submit", "builtin:gold", "--suite", "s", "--wait", "--key", key)
    assert result.exit_code == 1
    assert "cannot be trusted" in result.stderr
    assert "PPP" not in result.output
    assert "3 of 3" not in result.output


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("/none", "--suite", "s"), "/none cannot be read: No such file or directory."),
        (("TREE",), "Missing option '--suite'"),
        (("TREE/notes.txt", "--suite", "s"), "neither a directory nor a tar.gz"),
        (("TREE/notes.txt", "--suite", "s", "--include", "x"), "are for directories"),
        (("TREE", "--suite", "s", "--include", "none/**"), "holds no file that matches"),
        (("builtin:silver", "--suite", "s"), "followed by gold or null"),
        (("TREE", "--suite", "s", "-p", "novalue"), "takes NAME=VALUE, not 'novalue'"),
        (("TREE", "--suite", "s", "-p", "a=1", "-p", "a=2"), "given twice"),
        (("TREE", "--suite", "s", "--wait"), "public key with --key"),
        (("TREE", "--suite", "s", "--out", "x"), "--out needs --wait"),
        (("TREE", "--suite", "s", "--wait", "--out", "/none/x"), "create it first"),
        (("TREE", "--suite", "Bad Name"), "suiteRef.name"),
        (("TREE", "--suite", "s", "--task", "a b"), "task"),
        (("TREE", "--suite", "s", "--nonce", ""), "needs a nonce"),
        (("TREE", "--suite", "s", "--retry-limit", "11"), "less than or equal to 10"),
        (("TREE", "--suite", "s", "--context", "x"), "no context 'x'; it has: main"),
        (("TREE", "--suite", "s", "--kubeconfig", "/none"), "No kubeconfig file at /none"),
    ],
)
def test_wrong_input_is_one_line_exit_2_and_nothing_is_sent(
    run: Run, cluster: Cluster, tree: str, args: tuple[str, ...], message: str
) -> None:
    result = run("submit", *(arg.replace("TREE", tree) for arg in args))
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    [line] = result.stderr.splitlines()
    assert message in line
    assert cluster.log == []


@pytest.mark.parametrize("status", [403, 404])
def test_a_refusal_of_the_api_server_is_one_line(run: Run, cluster: Cluster, status: int) -> None:
    cluster.fail("POST", "/gradingjobs", status)
    result = run("submit", "builtin:gold", "--suite", "s")
    assert result.exit_code == 1
    [line] = result.stderr.splitlines()
    assert f"HTTP {status}" in line


# wait, get, export, cancel


def test_wait_reports_each_job_and_exits_with_the_worst(
    run: Run, cluster: Cluster, stand_in: StandIn, key: str, tmp_path: Path
) -> None:
    cluster.answer = lambda job: stand_in.status(
        job, graded("PF") if job["metadata"]["name"] == "good" else lost()
    )
    job(cluster, "good")
    job(cluster, "lost")
    result = run("wait", "good", "--key", key, "--out", str(tmp_path))
    assert (result.exit_code, result.stderr) == (0, "")
    assert run("verify", str(tmp_path / "good.dsse.json"), "--key", key).exit_code == 0
    both = run("wait", "good", "lost", "--key", key)
    assert both.exit_code == 3
    assert "good: Graded: 1 of 2" in both.stdout
    assert "lost: The job grading/lost is Unjudged" in both.stderr
    assert run("wait", "good", "none", "--key", key).exit_code == 1


def test_get_lists_jobs(run: Run, cluster: Cluster, stand_in: StandIn) -> None:
    assert run("get").stdout == "No jobs.\n"
    nowhere = run("get", "-n", "nosuch")
    assert (nowhere.exit_code, nowhere.stdout) == (1, "")
    assert nowhere.stderr == "error: There is no namespace nosuch.\n"
    cluster.fail("GET", "/api/v1/namespaces/nosuch", 403)
    assert run("get", "-n", "nosuch").stdout == "No jobs.\n", "one may not have that right"
    for name, verdict in (("b-graded", graded("PPF")), ("c-lost", lost())):
        made = job(cluster, name)
        cluster.set_status("gradingjobs", NS, name, stand_in.status(made, verdict))
    job(cluster, "a-new")
    job(cluster, "d-waiting")
    waiting = {"conditions": [condition("Admitted", "False", "WaitingForCapacity")]}
    cluster.set_status("gradingjobs", NS, "d-waiting", waiting)
    rows = [line.split() for line in run("get").stdout.splitlines()]
    assert rows[0] == ["JOB", "SUITE", "DECISION", "PASSED", "REASON", "ATTEMPTS", "AGE"]
    assert [row[:-1] for row in rows[1:]] == [
        ["a-new", "billing", "Waiting", "New"],
        ["b-graded", "billing", "Graded", "2/3", "Completed"],
        ["c-lost", "billing", "Unjudged", "PodLost"],
        ["d-waiting", "billing", "Waiting", "WaitingForCapacity"],
    ]


def index(cluster: Cluster, tasks: Any) -> None:
    packed = gzip.compress(json.dumps({"tasks": tasks}).encode())
    data = {"index.json.gz": base64.b64encode(packed).decode()}
    cluster.create("configmaps", NS, {"metadata": {"name": "billing-index"}, "binaryData": data})


def test_get_shows_each_test_by_the_index(
    run: Run, cluster: Cluster, stand_in: StandIn, key: str
) -> None:
    made = job(cluster, "one", task="t")
    cluster.set_status("gradingjobs", NS, "one", stand_in.status(made, graded("PTN")))
    index(cluster, {"": ["x"], "t": ["tax/a", "tax/b", "[bold]odd[/bold]"]})
    shown = run("get", "one").stdout
    assert "not verified here" in shown
    assert [line.rstrip().split(maxsplit=1) for line in shown.splitlines()[-3:]] == [
        ["tax/a", "passed"],
        ["tax/b", "timed out"],
        ["[bold]odd[/bold]", "did not run"],
    ]
    assert "signature  verified" in run("get", "one", "--key", key).stdout


@pytest.mark.parametrize("broken", ["none", "short", "not gzip"])
def test_without_a_fitting_index_tests_are_numbered(
    run: Run, cluster: Cluster, stand_in: StandIn, broken: str
) -> None:
    made = job(cluster, "one")
    cluster.set_status("gradingjobs", NS, "one", stand_in.status(made, graded("PF")))
    if broken == "short":
        index(cluster, {"": ["only one"]})
    elif broken == "not gzip":
        data = {"index.json.gz": base64.b64encode(b"x").decode()}
        cluster.create(
            "configmaps", NS, {"metadata": {"name": "billing-index"}, "binaryData": data}
        )
    lines = run("get", "one").stdout.splitlines()
    assert [line.split()[0] for line in lines[-2:]] == ["#0", "#1"]


def test_get_with_a_key_notices_a_status_that_tells_another_story(
    run: Run, cluster: Cluster, stand_in: StandIn, key: str
) -> None:
    made = job(cluster, "one")
    status = stand_in.status(made, graded("FF"))
    status["verdict"] = stand_in.status(made, graded("PP"))["verdict"]
    cluster.set_status("gradingjobs", NS, "one", status)
    result = run("get", "one", "--key", key)
    assert result.exit_code == 1
    assert "shows another verdict than was signed" in result.stderr


def test_export_writes_what_verify_reads(
    run: Run, cluster: Cluster, stand_in: StandIn, key: str, tmp_path: Path
) -> None:
    made = job(cluster, "one")
    cluster.set_status("gradingjobs", NS, "one", stand_in.status(made, graded("P")))
    job(cluster, "unfinished")
    assert run("export", "--out", str(tmp_path)).stdout == f"{tmp_path}/one.dsse.json\n"
    assert run("verify", str(tmp_path / "one.dsse.json"), "--key", key).exit_code == 0
    asked = run("export", "unfinished", "--out", str(tmp_path))
    assert (asked.exit_code, "no signed verdict yet" in asked.stderr) == (1, True)
    assert run("export", "--out", str(tmp_path / "none")).exit_code == 2


def test_cancel(run: Run, cluster: Cluster) -> None:
    job(cluster, "one")
    assert run("cancel", "one").exit_code == 0
    assert only_job(cluster)["spec"]["cancel"] is True


def test_a_job_with_a_verdict_keeps_it(run: Run, cluster: Cluster, stand_in: StandIn) -> None:
    made = job(cluster, "one")
    cluster.set_status("gradingjobs", NS, "one", stand_in.status(made, graded("PF")))
    result = run("cancel", "one")
    assert result.stdout == "one: has its verdict already (Graded)\n"
    assert result.exit_code == 0
    assert not only_job(cluster)["spec"].get("cancel")


@pytest.mark.parametrize(
    "words",
    [
        ("get", "none"),
        ("cancel", "none"),
        ("explain", "none"),
        ("logs", "none"),
        ("export", "none", "--out", "."),
    ],
    ids=lambda words: str(words[0]),
)
def test_an_unknown_job_is_named_in_one_sentence(
    run: Run, cluster: Cluster, words: tuple[str, ...]
) -> None:
    result = run(*words)
    assert result.stderr == "error: There is no job none in the namespace grading.\n"
    assert (result.exit_code, result.stdout) == (1, "")


def test_a_cluster_without_our_kinds_is_told_from_one_without_the_job(
    run: Run, cluster: Cluster
) -> None:
    cluster.fail("GET", "gradingjobs", 404, message="404 page not found")
    said = run("get", "none").stderr
    assert said == "error: The cluster does not know GradingJobs; is gradekeeper installed there?\n"


# watch


def test_watch_tells_each_change_and_ends_when_all_have_finished(
    run: Run, cluster: Cluster, stand_in: StandIn
) -> None:
    made = job(cluster, "one", group="g")
    job(cluster, "other")
    loop_side = cluster.wait_for_request

    async def and_finish(text: str, count: int = 1) -> None:
        await loop_side(text, count)
        cluster.set_status("gradingjobs", NS, "one", stand_in.status(made, graded("PF")))

    cluster.during(and_finish("watch=1"))
    result = run("watch", "--group", "g", "--timeout", "20")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[:2] == ["one: Waiting (New)", "one: Graded (Completed)"]
    assert lines[-1].split()[:4] == ["one", "billing", "Graded", "1/2"]


def test_watch_gives_up_in_time(run: Run, cluster: Cluster) -> None:
    job(cluster, "one")
    result = run("watch", "--timeout", "0.1")
    assert (result.exit_code, "within 0.1 seconds" in result.stderr) == (1, True)
    assert "one: Waiting (New)" in result.stdout


def test_watch_waits_for_as_many_jobs_as_expected(
    run: Run, cluster: Cluster, stand_in: StandIn
) -> None:
    made = job(cluster, "one")
    cluster.set_status("gradingjobs", NS, "one", stand_in.status(made, graded("P")))
    assert run("watch", "--timeout", "20").exit_code == 0
    assert run("watch", "--expect", "2", "--timeout", "0.1").exit_code == 1
    assert run("watch", "one", "two", "--timeout", "0.1").exit_code == 1


# The whole


def test_unknown_commands_are_one_line(run: Run) -> None:
    result = run("sumbit")
    assert result.exit_code == 2
    [line] = result.stderr.splitlines()
    assert "No such command 'sumbit'" in line
    assert "submit" in line


def test_help_names_every_command(run: Run) -> None:
    shown = run("--help").stdout
    assert run().stdout.strip() == shown.strip(), "whoever says nothing gets the same"
    for command in (
        "submit",
        "wait",
        "get",
        "watch",
        "export",
        "cancel",
        "explain",
        "logs",
        "verify",
        "keys",
        "suite",
    ):
        assert f"\n  {command} " in shown


@pytest.mark.parametrize(
    "arguments",
    [
        ("explain", "job-\udcff"),
        ("logs", "job-\udcff"),
        ("explain", "one", "-n", "\udcff"),
        ("submit", "builtin:null", "--suite", "s", "--nonce", "\udcff"),
    ],
)
def test_an_argument_that_is_no_text_is_one_sentence(
    run: Run, cluster: Cluster, arguments: tuple[str, ...]
) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith("error: The argument ")
    assert result.stderr.endswith("is not UTF-8.\n")
