"""The adapter: errors translated, preconditions sent, payloads left where they are."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import yaml

from gradekeeper.control.cluster import Cluster, resource_of, translate
from gradekeeper.control.connection import Connection, from_kubeconfig, load_connection
from gradekeeper.control.errors import (
    ClusterError,
    Conflict,
    Forbidden,
    Gone,
    Invalid,
    NotFound,
    QuotaExceeded,
    SettingsError,
    Throttled,
    Unavailable,
)
from gradekeeper.control.metrics import Metrics
from unit.control.answering import Answer, Asked, answering


@contextlib.asynccontextmanager
async def a_cluster(answer: Answer) -> AsyncIterator[tuple[Cluster, list[Asked]]]:
    async with answering(answer) as (url, asked):
        cluster = Cluster(Connection(server=url), Metrics())
        try:
            yield cluster, asked
        finally:
            await cluster.close()


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (400, {}, Invalid),
        (403, {"message": "pods is forbidden"}, Forbidden),
        (403, {"message": 'pods "x" is forbidden: exceeded quota: q'}, QuotaExceeded),
        (403, {"message": 'pods "x" is forbidden: status unknown for quota: q'}, QuotaExceeded),
        (403, {"message": 'pods "x" is forbidden: failed quota: q: must specify'}, Forbidden),
        (404, {}, NotFound),
        (409, {"reason": "AlreadyExists"}, Conflict),
        (410, {}, Gone),
        (422, {}, Invalid),
        (429, {}, Throttled),
        (500, {}, Unavailable),
        (503, {}, Unavailable),
        (418, {}, Unavailable),
    ],
)
def test_answers_are_translated(
    status: int, body: dict[str, str], kind: type[ClusterError]
) -> None:
    error = translate("POST", "/x", status, json.dumps(body).encode())
    assert type(error) is kind
    assert error.status == status and error.reason == body.get("reason", "")


@pytest.mark.parametrize("content", [b"", b"<html>", b"[]", b'"text"'])
def test_an_answer_that_is_no_status_is_translated_all_the_same(content: bytes) -> None:
    assert type(translate("GET", "/x", 502, content)) is Unavailable


async def test_a_status_is_patched_under_its_version() -> None:
    async with a_cluster(lambda _: (200, {"metadata": {}}, {})) as (cluster, asked):
        await cluster.patch_status("/apis/g/v1/namespaces/n/jobs/a", "77", {"x": 1})
    (request,) = asked
    assert request.method == "PATCH"
    assert request.path == "/apis/g/v1/namespaces/n/jobs/a/status"
    assert request.headers["content-type"] == "application/merge-patch+json"
    assert request.body == {"metadata": {"resourceVersion": "77"}, "status": {"x": 1}}


async def test_a_deletion_names_the_uid_and_a_missing_object_is_a_success() -> None:
    async with a_cluster(lambda _: (404, {"reason": "NotFound"}, {})) as (cluster, asked):
        await cluster.delete("/api/v1/namespaces/n/pods/a", uid="u-1")
    assert asked[0].body["preconditions"] == {"uid": "u-1"}


async def test_metadata_is_asked_for_alone_and_from_the_cache() -> None:
    async with a_cluster(lambda _: (200, {"metadata": {}}, {})) as (cluster, asked):
        await cluster.get_metadata("/api/v1/namespaces/n/configmaps/a")
    assert "as=PartialObjectMetadata;" in asked[0].headers["accept"]
    assert asked[0].query["resourceVersion"] == "0"


async def test_lists_are_read_page_by_page() -> None:
    def answer(request: Asked) -> tuple[int, dict[str, object], dict[str, str]]:
        token = request.query.get("continue", "")
        assert request.query["labelSelector"] == "a=b"
        meta = {"resourceVersion": "9"} | ({} if token else {"continue": "more"})
        return 200, {"metadata": meta, "items": [{"page": token}]}, {}

    async with a_cluster(answer) as (cluster, _):
        pages = [page async for page in cluster.list_pages("/api/v1/pods", label_selector="a=b")]
    assert pages == [([{"page": ""}], "9"), ([{"page": "more"}], "9")]


async def test_a_throttled_answer_carries_the_servers_wish() -> None:
    async with a_cluster(lambda _: (429, {}, {"Retry-After": "7"})) as (cluster, _):
        with pytest.raises(Throttled) as caught:
            await cluster.get("/api/v1/namespaces/n/pods/a")
    assert caught.value.retry_after == 7.0


async def test_a_broken_connection_is_unavailable() -> None:
    async with a_cluster(lambda _: None) as (cluster, _):
        with pytest.raises(Unavailable):
            await cluster.get("/api/v1/namespaces/n/pods/a")


@pytest.mark.parametrize(
    ("path", "resource"),
    [
        ("/api/v1/namespaces/n/pods/a", "pods"),
        ("/apis/g/v1/namespaces/n/jobs/a/status", "jobs"),
        ("/apis/g/v1/jobs", "jobs"),
        ("/api/v1/namespaces/n", "namespaces"),
        ("/", "root"),
    ],
)
def test_metrics_name_the_resource(path: str, resource: str) -> None:
    assert resource_of(path) == resource


def test_a_kubeconfig_is_read_with_its_files_beside_it(tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_text("CA")
    document = {
        "current-context": "b",
        "contexts": [
            {"name": "a", "context": {"cluster": "x", "user": "u"}},
            {"name": "b", "context": {"cluster": "y", "user": "u"}},
        ],
        "clusters": [
            {"name": "x", "cluster": {"server": "https://x"}},
            {
                "name": "y",
                "cluster": {"server": "https://y/", "certificate-authority": "ca.crt"},
            },
        ],
        "users": [{"name": "u", "user": {"token": "t"}}],
    }
    path = tmp_path / "config"
    path.write_text(yaml.safe_dump(document))
    connection = from_kubeconfig(path)
    assert (connection.server, connection.ca_data, connection.bearer()) == ("https://y", "CA", "t")
    path.write_text("{}")
    with pytest.raises(SettingsError):
        from_kubeconfig(path)
    with pytest.raises(SettingsError):
        load_connection(None, {})


def test_a_rotated_token_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("one\n")
    connection = Connection(server="https://x", token_path=path)
    assert connection.bearer() == "one"
    path.write_text("two\n")
    assert connection.bearer() == "two"
