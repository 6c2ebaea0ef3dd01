"""Every constraint of the CRDs on a real API server: an accepted and a refused example of each."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes.client.exceptions import ApiException

from crd.conftest import Corpus
from gradekeeper.api.crds import build_job_crd, build_suite_crd
from gradekeeper.api.schema import RULES

pytestmark = pytest.mark.cluster

FOLDER = Path(__file__).parent / "corpus"


def read(name: str) -> dict[str, Any]:
    return yaml.safe_load((FOLDER / name).read_text(encoding="utf-8"))


def merged(base: Any, patch: Any) -> Any:
    """JSON merge patch."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    found = copy.deepcopy(base) if isinstance(base, dict) else {}
    for key, value in patch.items():
        if value is None:
            found.pop(key, None)
        else:
            found[key] = merged(found.get(key), value)
    return found


def repeated(repeat: dict[str, Any]) -> dict[str, Any]:
    """The merge patch that a case's `repeat` stands for: a long text or many keys."""
    if "keys" in repeat:
        value: Any = {f"key-{number}": "v" for number in range(repeat["keys"])}
    else:
        value = repeat["text"] * repeat["times"]
    for part in reversed(repeat["path"].split(".")):
        value = {part: value}
    return value


def cases(*files: str) -> list[Any]:
    found = []
    for file in files:
        corpus = read(file)
        for case in corpus["cases"]:
            label = f"{corpus['kind']}-{case['name'].replace(' ', '-')}"
            found.append(pytest.param(corpus["kind"], corpus["base"], case, id=label))
    return found


def message_of(error: ApiException) -> str:
    return str(json.loads(error.body)["message"])


@pytest.mark.parametrize(("kind", "base", "case"), cases("gradingjobs.yaml", "gradingsuites.yaml"))
def test_creation(corpus: Corpus, kind: str, base: dict[str, Any], case: dict[str, Any]) -> None:
    body = merged(base, case.get("set", {}))
    if "repeat" in case:
        body = merged(body, repeated(case["repeat"]))
    if "refused" not in case:
        corpus.create(kind, body, dry_run=True)
        return
    with pytest.raises(ApiException) as caught:
        corpus.create(kind, body, dry_run=True)
    assert caught.value.status in (400, 422)
    assert case["refused"] in message_of(caught.value)


@pytest.mark.parametrize(("kind", "base", "case"), cases("transitions.yaml"))
def test_transition(
    corpus: Corpus,
    request: pytest.FixtureRequest,
    kind: str,
    base: dict[str, Any],
    case: dict[str, Any],
) -> None:
    start = merged(base, case.get("from", {}))
    start["metadata"]["name"] = request.node.callspec.id.lower()[:52].strip("-")
    current = corpus.create(kind, start)
    if "status" in start:
        current = corpus.replace(kind, {**current, "status": start["status"]}, status=True)
        assert current["status"] == start["status"]
    change = case["to"] if "to" in case else repeated(case["repeat"])
    wanted = merged(current, change)
    status = "status" in change
    if "refused" not in case:
        found = corpus.replace(kind, wanted, status=status)
        part = "status" if status else "spec"
        assert found[part] == wanted[part]
        return
    with pytest.raises(ApiException) as caught:
        corpus.replace(kind, wanted, status=status)
    assert caught.value.status == 422
    assert case["refused"] in message_of(caught.value)


def test_defaults_are_the_api_servers(corpus: Corpus) -> None:
    job = corpus.create("GradingJob", read("gradingjobs.yaml")["base"], dry_run=True)
    assert job["spec"] == {
        "suiteRef": {"name": "billing"},
        "submission": {"builtin": "gold"},
        "task": "",
        "nonce": "",
        "group": "",
        "parameters": {},
        "suspend": False,
        "cancel": False,
        "attemptDeadlineSeconds": 1800,
        "retryLimit": 2,
        "ttlSecondsAfterFinished": 3600,
    }
    suite = corpus.create("GradingSuite", read("gradingsuites.yaml")["base"], dry_run=True)
    assert suite["spec"]["limits"] == {
        "suiteTimeoutSeconds": 900,
        "runTimeoutSeconds": 600,
        "testTimeoutSeconds": 20,
        "restartsPerGroup": 4,
        "parallel": 2,
        "heapMiB": 192,
        "scratchMiB": 16,
        "processes": 256,
        "fileMiB": 8,
    }


def test_jobs_are_selected_by_decision_on_the_server(corpus: Corpus) -> None:
    base = read("transitions.yaml")["base"]
    for name, decided in (("selected-open", False), ("selected-done", True)):
        body = merged(base, {"metadata": {"name": name}, "spec": {"group": "selection"}})
        job = corpus.create("GradingJob", body)
        if decided:
            job["status"] = {
                "verdict": {"decision": "Unjudged", "reason": "PodLost"},
                "attestation": "e30=",
            }
            corpus.replace("GradingJob", job, status=True)

    def names(selector: str) -> set[str]:
        return {one["metadata"]["name"] for one in corpus.list("GradingJob", selector)}

    assert names("spec.group=selection") == {"selected-open", "selected-done"}
    assert names("spec.group=selection,status.verdict.decision=Unjudged") == {"selected-done"}
    assert names("spec.group=selection,status.verdict.decision=") == {"selected-open"}


def test_every_rule_has_a_refused_example() -> None:
    refused = [
        case["refused"]
        for file in FOLDER.glob("*.yaml")
        for case in read(file.name)["cases"]
        if "refused" in case
    ]

    def messages(node: Any) -> Iterator[str]:
        if isinstance(node, dict):
            yield from (one["message"] for one in node.get(RULES, []))
            for child in node.values():
                yield from messages(child)
        elif isinstance(node, list):
            for child in node:
                yield from messages(child)

    untested = {
        message
        for crd in (build_job_crd(), build_suite_crd())
        for message in messages(crd)
        if not any(message.startswith(text) for text in refused)
    }
    assert not untested
