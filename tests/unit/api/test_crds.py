"""The CRDs: structural, bounded, described, and equal to the files of the chart."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from gradekeeper.api.crds import build_job_crd, build_suite_crd, crd_files, main
from gradekeeper.api.schema import RULES

CHART = Path(__file__).resolve().parents[3] / "charts" / "gradekeeper" / "crds"
CRDS = {"jobs": build_job_crd(), "suites": build_suite_crd()}


def nodes(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every node of a schema but the root, with its path."""
    for name, child in schema.get("properties", {}).items():
        yield f"{path}.{name}", child
        yield from nodes(child, f"{path}.{name}")
    for inner in ("items", "additionalProperties"):
        if inner in schema:
            yield f"{path}[]", schema[inner]
            yield from nodes(schema[inner], f"{path}[]")


def schema_of(crd: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return found


def our_nodes() -> list[Any]:
    return [
        pytest.param(node, id=f"{kind}{path}")
        for kind, crd in CRDS.items()
        for path, node in nodes(schema_of(crd))
        if path.startswith((".spec", ".status"))
    ]


def test_the_chart_s_files_are_these(tmp_path: Path) -> None:
    assert main([str(tmp_path)]) == 0
    written = {file.name: file.read_text(encoding="utf-8") for file in tmp_path.iterdir()}
    assert written == crd_files()
    assert {file.name: file.read_text(encoding="utf-8") for file in CHART.iterdir()} == written


def test_files_say_the_same_as_the_objects() -> None:
    files = crd_files()
    assert yaml.safe_load(files["gradingjobs.yaml"]) == CRDS["jobs"]
    assert yaml.safe_load(files["gradingsuites.yaml"]) == CRDS["suites"]
    assert "&id" not in "".join(files.values())


@pytest.mark.parametrize("node", our_nodes())
def test_every_leaf_is_bounded(node: dict[str, Any]) -> None:
    match node["type"]:
        case "string":
            assert "maxLength" in node or "enum" in node or node.get("format") == "date-time"
        case "integer":
            assert "minimum" in node
            assert "maximum" in node or node.get("format") == "int64"
        case "array":
            assert "maxItems" in node
            assert node["x-kubernetes-list-type"] in ("atomic", "map")
        case "object":
            assert ("properties" in node) != ("maxProperties" in node)
        case "boolean":
            pass
        case other:
            pytest.fail(f"unexpected type {other}")


@pytest.mark.parametrize("node", our_nodes())
def test_nothing_of_python_is_left(node: dict[str, Any]) -> None:
    assert node.keys().isdisjoint({"$ref", "anyOf", "allOf", "title", "$defs", "const"})
    assert node.get("additionalProperties") is not False
    assert "default" not in node or node["default"] is not None


@pytest.mark.parametrize(
    ("path", "node"),
    [
        pytest.param(path, node, id=f"{kind}{path}")
        for kind, crd in CRDS.items()
        for path, node in nodes(schema_of(crd))
        if path.startswith((".spec", ".status")) and not path.endswith("[]")
    ],
)
def test_every_field_is_described(path: str, node: dict[str, Any]) -> None:
    description = node["description"]
    assert description.endswith((".", "`."))
    assert len(description) > 8
    assert "\n" not in description
    assert "_" not in description, "a Python name slipped into the API"


@pytest.mark.parametrize(
    ("kind", "short_name", "columns", "wide"),
    [
        (
            "jobs",
            "gj",
            ["Suite", "Decision", "Passed", "Reason", "Age"],
            ["Tests", "Task", "Pod", "Node", "Duration"],
        ),
        (
            "suites",
            "gs",
            ["Version", "Tests", "Verified", "Admitted", "Ready", "Reason", "Age"],
            ["Author", "Digest", "Image"],
        ),
    ],
)
def test_what_kubectl_shows(
    kind: str, short_name: str, columns: list[str], wide: list[str]
) -> None:
    spec = CRDS[kind]["spec"]
    version = spec["versions"][0]
    shown = version["additionalPrinterColumns"]
    assert spec["names"]["shortNames"] == [short_name]
    assert spec["names"]["categories"] == ["gradekeeper"]
    assert spec["scope"] == "Namespaced"
    assert version["subresources"] == {"status": {}}
    assert [one["name"] for one in shown if "priority" not in one] == columns
    assert [one["name"] for one in shown if one.get("priority") == 1] == wide


def test_conditions_are_a_map_by_type() -> None:
    for crd in CRDS.values():
        conditions = schema_of(crd)["properties"]["status"]["properties"]["conditions"]
        assert conditions["x-kubernetes-list-type"] == "map"
        assert conditions["x-kubernetes-list-map-keys"] == ["type"]
        assert "observedGeneration" in conditions["items"]["properties"]


def test_everything_of_a_job_is_immutable_but_three_fields() -> None:
    fields = schema_of(CRDS["jobs"])["properties"]["spec"]["properties"]
    mutable = {
        name
        for name, field in fields.items()
        if not any(one["rule"] == "self == oldSelf" for one in field.get(RULES, []))
    }
    assert mutable == {"suspend", "cancel", "ttlSecondsAfterFinished"}
    # A transition rule is not asked about a field that appears or disappears: none may.
    required = set(schema_of(CRDS["jobs"])["properties"]["spec"]["required"])
    assert {name for name in fields if name not in required and "default" not in fields[name]} == (
        set()
    )


def test_rules_of_a_model_and_of_its_field_add_up() -> None:
    submission = schema_of(CRDS["jobs"])["properties"]["spec"]["properties"]["submission"]
    messages = [one["message"] for one in submission[RULES]]
    assert len(messages) == 3
    assert messages[0].startswith("exactly one of")
    assert messages[2] == "submission is immutable: create another job instead"


def test_the_api_server_fills_in_no_status() -> None:
    for crd in CRDS.values():
        assert all(
            "default" not in node
            for path, node in nodes(schema_of(crd))
            if path.startswith(".status")
        )
