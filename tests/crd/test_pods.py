"""Grading Pods on the real API server and kubelet: admitted, recognised, and read."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from kubernetes import client
from kubernetes.client.exceptions import ApiException

from crd.conftest import Corpus
from gradekeeper.api.reasons import Reason
from gradekeeper.api.spec import SuiteResources, Toleration
from gradekeeper.pods.build import PodSettings, pod_mismatch
from gradekeeper.pods.classify import (
    Observation,
    PodFailed,
    PodPending,
    classify_pod,
    expected_attempt,
)
from unit.pods.samples import SUITE, pod, spec

pytestmark = pytest.mark.cluster

SMALL = dataclasses.replace(
    SUITE,
    resources=SuiteResources.model_validate(
        {
            "referee": {"cpu": "10m", "memory": "128Mi"},
            "lane": {"cpu": "10m", "memory": "1024Mi"},
        }
    ),
)
BUILTIN = spec(submission={"builtin": "gold"})


@pytest.fixture(scope="module")
def namespace(corpus: Corpus) -> Iterator[str]:
    """A namespace that enforces the restricted Pod Security Standard."""
    name = f"{corpus.namespace}-pods"
    corpus.core.create_namespace(
        {
            "metadata": {
                "name": name,
                "labels": {"pod-security.kubernetes.io/enforce": "restricted"},
            }
        },
        _request_timeout=20,
    )
    until(lambda: has_account(corpus, name), "the service account")
    yield name
    corpus.core.delete_namespace(name, _request_timeout=20)


def has_account(corpus: Corpus, namespace: str) -> bool:
    try:
        corpus.core.read_namespaced_service_account("default", namespace, _request_timeout=20)
    except ApiException as error:
        if error.status == 404:
            return False
        raise
    return True


def until(holds: Callable[[], bool], what: str, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            pytest.fail(f"{what}: not within {seconds:.0f} s")
        time.sleep(0.2)


def plain(corpus: Corpus, found: client.V1Pod) -> dict[str, Any]:
    """What the API server answered, as the JSON that it sent."""
    answer: dict[str, Any] = corpus.core.api_client.sanitize_for_serialization(found)
    return answer


def create(corpus: Corpus, manifest: dict[str, Any], **options: Any) -> dict[str, Any]:
    return plain(
        corpus,
        corpus.core.create_namespaced_pod(
            manifest["metadata"]["namespace"],
            manifest,
            field_validation="Strict",
            _request_timeout=20,
            **options,
        ),
    )


SETTINGS = {
    "default": PodSettings(),
    "fallback": PodSettings(user_namespaces="preferred", user_namespaces_available=False),
    "everything": PodSettings(
        user_namespaces="preferred",
        image_pull_policy="Always",
        image_pull_secrets=("pull",),
        cpu_request_percent=50,
        node_selector={"disk": "ssd"},
        tolerations=(Toleration(key="x", operator="Exists", effect="NoExecute"),),
    ),
}


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize("job", [spec(), BUILTIN], ids=["parts", "builtin"])
def test_the_api_server_takes_the_pod_as_it_is(
    corpus: Corpus, namespace: str, settings: PodSettings, job: Any
) -> None:
    expected = pod(namespace=namespace, spec=job, settings=settings)
    actual = create(corpus, expected, dry_run="All")
    assert pod_mismatch(expected, actual) is None
    full = settings.cpu_request_percent == 100
    assert actual["status"]["qosClass"] == ("Guaranteed" if full else "Burstable")
    assert len(actual["spec"]) > len(expected["spec"]), "nothing was defaulted: a weak test"


def test_the_standard_is_enforced_here(corpus: Corpus, namespace: str) -> None:
    manifest = pod(namespace=namespace)
    manifest["spec"]["containers"][1]["securityContext"]["allowPrivilegeEscalation"] = True
    with pytest.raises(ApiException) as caught:
        create(corpus, manifest, dry_run="All")
    assert caught.value.status == 403
    assert "restricted" in caught.value.body


def observe(corpus: Corpus, name: str, namespace: str) -> Observation:
    found = corpus.core.read_namespaced_pod(name, namespace, _request_timeout=20)
    settings = PodSettings(image_pull_policy="Never")
    return classify_pod(
        plain(corpus, found),
        expected=expected_attempt(BUILTIN, 1, SMALL, settings),
        now=datetime.now(UTC),
    )


@pytest.mark.parametrize(
    ("job_name", "settings", "wanted"),
    [
        ("no-image", PodSettings(image_pull_policy="Never"), (PodFailed, Reason.IMAGE_PULL_FAILED)),
        (
            "no-node",
            PodSettings(node_selector={"gradekeeper.dev/nowhere": "yes"}),
            (PodPending, Reason.UNSCHEDULABLE),
        ),
    ],
)
def test_what_a_kubelet_and_a_scheduler_say(
    corpus: Corpus,
    namespace: str,
    job_name: str,
    settings: PodSettings,
    wanted: tuple[type[Observation], Reason],
) -> None:
    expected = pod(
        job_name=job_name, namespace=namespace, spec=BUILTIN, suite=SMALL, settings=settings
    )
    # An owner that does not exist would have the garbage collector take the Pod away.
    owners = expected["metadata"].pop("ownerReferences")
    create(corpus, expected)
    expected["metadata"]["ownerReferences"] = owners
    name = expected["metadata"]["name"]

    def said() -> bool:
        found = observe(corpus, name, namespace)
        return isinstance(found, wanted[0]) and found.reason is wanted[1]

    until(said, f"{wanted[1]} of {name}")
    live = plain(corpus, corpus.core.read_namespaced_pod(name, namespace, _request_timeout=20))
    live["metadata"]["ownerReferences"] = owners
    assert pod_mismatch(expected, live) is None
    corpus.core.delete_namespaced_pod(name, namespace, _request_timeout=20)
