"""What `kubectl apply` takes to install a suite: its index, then the GradingSuite. Pure."""

import base64
import gzip
from typing import Any, Final

from gradekeeper.api.names import (
    API_VERSION,
    INDEX_KEY,
    index_config_map_name,
)
from gradekeeper.api.schema import dump
from gradekeeper.api.spec import GradingSuiteSpec
from gradekeeper.suites.bundle import Bundle
from gradekeeper.suites.errors import DefinitionError
from gradekeeper.verdicts.signing import attestation_from_envelope

MAX_INDEX_BYTES: Final = 1024 * 1024 - 4096
"""Bytes of a compressed index: a ConfigMap holds 1 MiB with its metadata."""

Manifest = dict[str, Any]


def build_index_config_map(bundle: Bundle, *, namespace: str) -> Manifest:
    """The immutable ConfigMap that carries the suite's index.

    Raises:
        DefinitionError: the index does not fit into a ConfigMap.
    """
    packed = gzip.compress(bundle.index, compresslevel=9, mtime=0)
    if len(packed) > MAX_INDEX_BYTES:
        raise DefinitionError(
            f"the index of {bundle.name} has {len(packed)} bytes compressed; a ConfigMap holds"
            f" {MAX_INDEX_BYTES}: split the suite"
        )
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": index_config_map_name(bundle.name),
            "namespace": namespace,
            "labels": {"app.kubernetes.io/part-of": "gradekeeper"},
        },
        "immutable": True,
        "binaryData": {INDEX_KEY: base64.standard_b64encode(packed).decode("ascii")},
    }


def build_suite_manifest(
    bundle: Bundle,
    *,
    image: str,
    lane_image: str,
    envelope: bytes,
    namespace: str,
    runtime_class_name: str | None = None,
) -> Manifest:
    """The GradingSuite.

    Args:
        bundle: The built bundle.
        image: The suite image by digest, `registry/name@sha256:<hex>`.
        lane_image: The lane image by digest.
        envelope: The author's signature, as `sign_suite` gives it.
        namespace: Where jobs of this suite run.
        runtime_class_name: Of grading Pods, if not the installation's.

    Raises:
        pydantic.ValidationError: an image is not named by digest.
    """
    spec = GradingSuiteSpec.model_validate(
        {
            "image": image,
            "laneImage": lane_image,
            "signature": attestation_from_envelope(envelope),
            "indexRef": {"name": index_config_map_name(bundle.name)},
            "resources": bundle.definition["resources"],
            "limits": bundle.definition["limits"],
            "runtimeClassName": runtime_class_name,
        }
    )
    document = dump(spec)
    for empty in ("nodeSelector", "tolerations"):
        if not document.get(empty):
            document.pop(empty, None)
    return {
        "apiVersion": API_VERSION,
        "kind": "GradingSuite",
        "metadata": {
            "name": bundle.name,
            "namespace": namespace,
            "labels": {"app.kubernetes.io/part-of": "gradekeeper"},
        },
        "spec": document,
    }
