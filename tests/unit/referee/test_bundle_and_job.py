"""What the author signed and what the job asks for: whole and valid, or nothing is graded."""

import hashlib
import json

import pytest

from gradekeeper.referee.bundle import check_manifest, load_suite, suite_digest
from gradekeeper.referee.errors import Unjudgeable
from gradekeeper.referee.job import identify, parse_job
from gradekeeper.referee.result import INVALID_JOB, REFEREE_FAILED

DIGEST = "sha256:" + "0" * 64
JOB = {
    "schema": "gradekeeper.job/v1",
    "nonce": "n1",
    "attempt": 2,
    "suite": DIGEST,
    "task": "",
    "parameters": {"testTimeoutSeconds": "5"},
    "submission": {"digest": DIGEST, "parts": ["part-00", "part-01"]},
    "userNamespaces": "required",
    "probe": {"address": "10.0.0.5", "port": 8444, "deadlineSeconds": 20},
    "laneUid": 10003,
}


def test_a_job_parses():
    job = parse_job(json.dumps(JOB))
    assert (job.nonce, job.attempt, job.digest, job.parts) == (
        "n1",
        2,
        DIGEST,
        ("part-00", "part-01"),
    )
    assert job.user_namespaces and job.probe and job.probe.deadline_seconds == 20
    assert parse_job(json.dumps({**JOB, "probe": None})).probe is None
    builtin = parse_job(json.dumps({**JOB, "submission": {"builtin": "gold"}}))
    assert (builtin.builtin, builtin.digest) == ("gold", None)


@pytest.mark.parametrize(
    "change",
    [
        {"schema": "x"},
        {"nonce": 1},
        {"attempt": 0},
        {"attempt": "1"},
        {"suite": "sha256:x"},
        {"task": None},
        {"parameters": {"a": 1}},
        {"submission": {}},
        {"submission": {"builtin": "silver"}},
        {"submission": {"builtin": "gold", "digest": DIGEST}},
        {"submission": {"digest": DIGEST, "parts": []}},
        {"submission": {"digest": DIGEST, "parts": ["../x"]}},
        {"submission": {"digest": DIGEST, "parts": ["p"] * 25}},
        {"submission": {"digest": "x", "parts": ["p"]}},
        {"userNamespaces": "off"},
        {"userNamespaces": None},
        {"probe": {"address": "x"}},
        {"probe": {"address": "operator", "port": 1, "deadlineSeconds": 1}},
        {"probe": {"address": "10.0.0.1", "port": 0, "deadlineSeconds": 1}},
        {"probe": {"address": "10.0.0.1", "port": 1, "deadlineSeconds": 0}},
        {"laneUid": None},
    ],
    ids=str,
)
def test_another_job_is_invalid(change):
    with pytest.raises(Unjudgeable) as caught:
        parse_job(json.dumps({**JOB, **change}))
    assert caught.value.reason == INVALID_JOB


@pytest.mark.parametrize("text", ["", "null", "[]", "{", '{"a":1,"a":1}', "\udcff"])
def test_no_job_is_invalid_and_still_has_an_identity(text):
    with pytest.raises(Unjudgeable):
        parse_job(text)
    assert identify(text).attempt == 0


def test_an_invalid_job_keeps_what_can_be_echoed():
    found = identify(json.dumps({**JOB, "laneUid": None, "task": "t\n"}))
    assert (found.nonce, found.attempt, found.task) == ("n1", 2, "")


SUITE = {
    "schema": "gradekeeper.suite/v1",
    "name": "s",
    "lane": "java17",
    "submission": {"include": ["**"], "maxFiles": 5, "maxBytes": 100},
    "build": {"kind": "java17", "sourceRoot": "src"},
    "limits": {"testTimeoutSeconds": 7},
    "parameters": {
        "testTimeoutSeconds": {"default": "9", "pattern": "^[0-9]{1,3}$"},
        "colour": {"pattern": "^(red|blue)$"},
    },
    "groups": [
        {
            "name": "g",
            "driver": "drivers.D",
            "repeats": 2,
            "tests": [
                {"id": "a", "method": "m1", "doubles": {"pay": ["hold", "ok"]}},
                {"id": "b", "method": "m2"},
            ],
        },
        {"name": "h", "driver": "drivers.E", "tests": [{"id": "a", "method": "m1"}]},
    ],
}
PINS = {test: [{"inputs": {}, "transcripts": [[]]}] for test in ("g/a", "g/b", "h/a")}


def write(root, *, suite=SUITE, pins=PINS, tasks=None):
    (root / "referee").mkdir()
    (root / "suite.json").write_text(json.dumps(suite))
    (root / "referee" / "pins.json").write_text(json.dumps(pins))
    tasks = {"": ["g/a", "g/b", "h/a"], "one": ["h/a", "g/b"]} if tasks is None else tasks
    (root / "index.json").write_text(json.dumps({"tasks": tasks}))
    files = {
        str(path.relative_to(root)): "sha256:" + hashlib.sha256(path.read_bytes()).hexdigest()
        for path in root.rglob("*")
        if path.is_file()
    }
    (root / "manifest.json").write_text(
        json.dumps({"schema": "gradekeeper.bundle/v1", "files": files})
    )
    return root


def load(root, task="", **parameters):
    return load_suite(root, task=task, parameters=parameters)


def test_a_suite_loads(tmp_path):
    suite = load(write(tmp_path), testTimeoutSeconds="12")
    assert suite.order == ("g/a", "g/b", "h/a")
    assert [(group.name, group.repeats) for group in suite.groups] == [("g", 2), ("h", 1)]
    first, second = suite.groups[0].tests
    assert first.holds and first.rules.multiset and not second.holds and not second.rules.multiset
    assert suite.limits.test_timeout_seconds == 12
    assert check_manifest(tmp_path) == suite_digest(tmp_path) == suite.digest


def test_a_parameter_defaults_as_declared(tmp_path):
    assert load(write(tmp_path)).limits.test_timeout_seconds == 9


def test_a_task_selects_and_orders_tests(tmp_path):
    suite = load(write(tmp_path), task="one")
    assert suite.order == ("h/a", "g/b")
    assert [[test.id for test in group.tests] for group in suite.groups] == [["g/b"], ["h/a"]]


@pytest.mark.parametrize(
    ("task", "parameters"),
    [
        ("none", {}),
        ("", {"speed": "1"}),
        ("", {"testTimeoutSeconds": "1234"}),
        ("", {"testTimeoutSeconds": "0"}),
        ("", {"testTimeoutSeconds": "5\n"}),
        ("", {"colour": "green"}),
    ],
)
def test_what_the_suite_does_not_have_is_an_invalid_job(tmp_path, task, parameters):
    with pytest.raises(Unjudgeable) as caught:
        load(write(tmp_path), task, **parameters)
    assert caught.value.reason == INVALID_JOB


def with_limits(parameter=None, **limits):
    parameters = {parameter: {"default": None, "pattern": "^[0-9]+$"}} if parameter else {}
    return {**SUITE, "limits": {**SUITE.get("limits", {}), **limits}, "parameters": parameters}


@pytest.mark.parametrize("parallel", range(1, 17))
def test_a_limit_is_in_force_or_refused(tmp_path, parallel):
    assert load(write(tmp_path, suite=with_limits(parallel=parallel))).limits.parallel == parallel


@pytest.mark.parametrize(
    ("limit", "value"),
    [("parallel", 17), ("parallel", 0), ("restartsPerGroup", 17), ("fileMiB", 0)],
)
def test_a_limit_beyond_the_apis_range_is_refused(tmp_path, limit, value):
    with pytest.raises(Unjudgeable) as caught:
        load(write(tmp_path, suite=with_limits(**{limit: value})))
    assert caught.value.reason == REFEREE_FAILED


@pytest.mark.parametrize(
    ("limit", "most"),
    [
        ("parallel", 3),
        ("heapMiB", 64),
        ("processes", 99),
        ("testTimeoutSeconds", 3_600),
        ("restartsPerGroup", 16),
    ],
)
def test_a_parameter_never_asks_for_more_than_was_reckoned_with(tmp_path, limit, most):
    suite = with_limits(limit, parallel=3, heapMiB=64, processes=99)
    root = write(tmp_path, suite=suite)
    load(root, **{limit: str(most)})
    with pytest.raises(Unjudgeable) as caught:
        load(root, **{limit: str(most + 1)})
    assert (caught.value.reason, f"to {most}." in caught.value.message) == (INVALID_JOB, True)


def test_a_parameter_that_is_no_limit_changes_nothing(tmp_path):
    assert load(write(tmp_path), colour="red").limits.test_timeout_seconds == 9


@pytest.mark.parametrize(
    "broken",
    [
        {"pins": {}},
        {"pins": {**PINS, "g/a": []}},
        {"pins": {**PINS, "g/a": [{"inputs": {}, "transcripts": []}]}},
        {"tasks": {"": []}},
        {"tasks": {"": ["g/a", "g/a"]}},
        {"tasks": {"": ["g/x"]}},
        {"suite": {**SUITE, "groups": None}},
        {"suite": {**SUITE, "groups": [SUITE["groups"][0]] * 2}},
        {"suite": {key: value for key, value in SUITE.items() if key != "build"}},
        {
            "suite": {
                **SUITE,
                "groups": [
                    {
                        "name": "g",
                        "driver": "d",
                        "tests": [{"id": "a", "method": "m", "doubles": {"p": ["maybe"]}}],
                    }
                ],
            }
        },
    ],
    ids=lambda broken: str(broken)[:50],
)
def test_a_bundle_that_contradicts_itself_is_not_graded_with(tmp_path, broken):
    write(tmp_path, **broken)
    with pytest.raises(Unjudgeable) as caught:
        load(tmp_path)
    assert caught.value.reason == REFEREE_FAILED


@pytest.mark.parametrize("change", ["changed", "missing", "added", "manifest", "schema"])
def test_a_bundle_that_is_not_its_manifest_is_not_graded_with(tmp_path, change):
    write(tmp_path)
    pins = tmp_path / "referee" / "pins.json"
    manifest = tmp_path / "manifest.json"
    if change == "changed":
        pins.write_text(pins.read_text() + " ")
    elif change == "missing":
        pins.unlink()
    elif change == "added":
        (tmp_path / "referee" / "more").write_text("")
    elif change == "manifest":
        manifest.write_text("{}")
    else:
        manifest.write_text(manifest.read_text().replace("bundle/v1", "bundle/v2"))
    with pytest.raises(Unjudgeable) as caught:
        check_manifest(tmp_path)
    assert caught.value.reason == REFEREE_FAILED
