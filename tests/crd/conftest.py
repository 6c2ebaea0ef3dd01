"""The CRDs under a group of their own on the real API server, and a namespace to throw away.

Their own group keeps a running operator away from the corpus, and the corpus away from whichever
version of the CRDs is installed.
"""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client, config
from kubernetes.client.exceptions import ApiException

from gradekeeper.api.crds import build_job_crd, build_suite_crd
from gradekeeper.api.names import GROUP, JOBS_PLURAL, SUITES_PLURAL, VERSION

ROOT = Path(__file__).resolve().parents[2]
OWN_CONTEXT = "gradekeeper-test"
CORPUS_GROUP = f"crd-corpus.{GROUP}"
PLURALS = {"GradingJob": JOBS_PLURAL, "GradingSuite": SUITES_PLURAL}


@dataclass(frozen=True)
class Corpus:
    """The API server as the tests use it; every call has a time limit."""

    api: client.CustomObjectsApi
    core: client.CoreV1Api
    namespace: str

    def create(self, kind: str, body: dict[str, Any], *, dry_run: bool = False) -> dict[str, Any]:
        found: dict[str, Any] = self.api.create_namespaced_custom_object(
            CORPUS_GROUP,
            VERSION,
            self.namespace,
            PLURALS[kind],
            {"apiVersion": f"{CORPUS_GROUP}/{VERSION}", "kind": kind, **body},
            field_validation="Strict",
            _request_timeout=20,
            **({"dry_run": "All"} if dry_run else {}),
        )
        return found

    def replace(self, kind: str, body: dict[str, Any], *, status: bool) -> dict[str, Any]:
        call = (
            self.api.replace_namespaced_custom_object_status
            if status
            else self.api.replace_namespaced_custom_object
        )
        found: dict[str, Any] = call(
            CORPUS_GROUP,
            VERSION,
            self.namespace,
            PLURALS[kind],
            body["metadata"]["name"],
            body,
            field_validation="Strict",
            _request_timeout=20,
        )
        return found

    def list(self, kind: str, field_selector: str) -> list[dict[str, Any]]:
        found: dict[str, Any] = self.api.list_namespaced_custom_object(
            CORPUS_GROUP,
            VERSION,
            self.namespace,
            PLURALS[kind],
            field_selector=field_selector,
            _request_timeout=20,
        )
        return list(found["items"])


def _connect() -> client.ApiClient:
    """The named context, or the own cluster; never whatever happens to be current."""
    context = os.environ.get("GRADEKEEPER_CONTEXT") or OWN_CONTEXT
    kubeconfig = os.environ.get("KUBECONFIG")
    if context == OWN_CONTEXT:
        done = subprocess.run(
            [sys.executable, str(ROOT / "tests" / "cluster" / "cluster.py"), "env"],
            capture_output=True,
            text=True,
            timeout=30,
            check=True,
        )
        lines = (line.removeprefix("export ").partition("=") for line in done.stdout.splitlines())
        kubeconfig = {name: value for name, _, value in lines}["KUBECONFIG"].strip("'\"")
    return config.new_client_from_config(config_file=kubeconfig, context=context)


def _wait(holds: Any, what: str) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        if time.monotonic() > deadline:
            pytest.fail(f"{what} took more than a minute")
        time.sleep(0.1)


def _ignore_missing(call: Any, *arguments: Any) -> None:
    try:
        call(*arguments, _request_timeout=20)
    except ApiException as error:
        if error.status != 404:
            raise


@pytest.fixture(scope="session")
def corpus() -> Iterator[Corpus]:
    connection = _connect()
    extensions = client.ApiextensionsV1Api(connection)
    custom = client.CustomObjectsApi(connection)
    core = client.CoreV1Api(connection)
    namespace = f"crd-corpus-{secrets.token_hex(4)}"
    core.create_namespace({"metadata": {"name": namespace}}, _request_timeout=20)
    names = []
    for crd in (build_job_crd(), build_suite_crd()):
        crd["metadata"]["name"] = f"{crd['spec']['names']['plural']}.{CORPUS_GROUP}"
        crd["spec"]["group"] = CORPUS_GROUP
        crd["spec"]["names"].pop("shortNames")
        crd["spec"]["names"].pop("categories")
        names.append(crd["metadata"]["name"])
        _ignore_missing(extensions.delete_custom_resource_definition, names[-1])
        _wait(lambda name=names[-1]: not _exists(extensions, name), f"the old {names[-1]}")
        extensions.create_custom_resource_definition(crd, _request_timeout=20)
    for plural in PLURALS.values():
        _wait(lambda plural=plural: _served(custom, namespace, plural), f"serving {plural}")
    try:
        yield Corpus(custom, core, namespace)
    finally:
        for name in names:
            _ignore_missing(extensions.delete_custom_resource_definition, name)
        _ignore_missing(core.delete_namespace, namespace)
        connection.close()


def _exists(extensions: client.ApiextensionsV1Api, name: str) -> bool:
    try:
        extensions.read_custom_resource_definition(name, _request_timeout=20)
    except ApiException as error:
        if error.status == 404:
            return False
        raise
    return True


def _served(custom: client.CustomObjectsApi, namespace: str, plural: str) -> bool:
    try:
        custom.list_namespaced_custom_object(
            CORPUS_GROUP, VERSION, namespace, plural, _request_timeout=20
        )
    except ApiException as error:
        if error.status == 404:
            return False
        raise
    return True
