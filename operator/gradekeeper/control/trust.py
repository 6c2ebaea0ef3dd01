"""Whether a suite is what a trusted author signed, and what it then is, frozen.

Pure but for `read_author_keys`. A suite is trusted only as a whole: bundle, both images, index,
limits and resources. The result is what every Pod of the suite is built from.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gradekeeper.api.compressed import MAX_INDEX_BYTES, CompressedInvalid, decompress
from gradekeeper.api.names import INDEX_KEY
from gradekeeper.api.reasons import SuiteReason
from gradekeeper.api.schema import MAX_TESTS
from gradekeeper.api.spec import GradingSuiteSpec
from gradekeeper.control.errors import IndexInvalid
from gradekeeper.pods.build import FrozenSuite, resource_problems
from gradekeeper.referee.strictjson import StrictJsonError, parse_strict
from gradekeeper.verdicts.signing import (
    KeyInvalid,
    SignatureInvalid,
    envelope_from_attestation,
    public_keyid,
)
from gradekeeper.verdicts.verify import SignatureUntrusted, VerificationFailed, verify_suite

INDEX_SCHEMA = "gradekeeper.index/v1"
MAX_TASKS = 10_000
MAX_TEST_ID = 512


@dataclass(frozen=True, slots=True)
class SuiteIndex:
    """A suite's index: which tests each task has, in order.

    Attributes:
        digest: `sha256:` of the uncompressed bytes.
        suite: name of the suite in it.
        tests: task -> ordered test ids.
        discriminating: task -> places (from 0) of the tests that null must fail.
    """

    digest: str
    suite: str
    tests: Mapping[str, tuple[str, ...]]
    discriminating: Mapping[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a suite is not trusted.

    Attributes:
        reason: for the condition Verified.
        message: one sentence.
    """

    reason: SuiteReason
    message: str = ""


def read_author_keys(directory: Path) -> list[bytes]:
    """Read every usable key among `*.pem` and `*.pub`; one damaged file distrusts only itself."""
    keys = []
    try:
        for path in sorted(directory.iterdir()):
            if path.suffix in {".pem", ".pub"} and path.is_file():
                data = path.read_bytes()
                with contextlib.suppress(KeyInvalid):
                    public_keyid(data)
                    keys.append(data)
    except OSError:
        return []
    return keys


def parse_index(config_map: Mapping[str, Any]) -> SuiteIndex:
    """Decode a suite's index from its ConfigMap; bounded however hostile it is.

    Raises:
        IndexInvalid: absent, damaged, too large, or not an index.
    """
    encoded = (config_map.get("binaryData") or {}).get(INDEX_KEY)
    if not isinstance(encoded, str):
        raise IndexInvalid(f"The ConfigMap has no {INDEX_KEY}.")
    try:
        data = decompress(encoded, most=MAX_INDEX_BYTES)
    except CompressedInvalid as error:
        raise IndexInvalid(f"The index is {error}.") from None
    try:
        document = parse_strict(data, max_bytes=MAX_INDEX_BYTES, max_depth=4)
    except StrictJsonError:
        raise IndexInvalid("The index is not JSON of the expected form.") from None
    return _index(document, f"sha256:{hashlib.sha256(data).hexdigest()}")


def _index(document: object, digest: str) -> SuiteIndex:
    if not isinstance(document, dict) or document.get("schema") != INDEX_SCHEMA:
        raise IndexInvalid(f"The schema of the index is not {INDEX_SCHEMA}.")
    tasks, marked = document.get("tasks"), document.get("discriminating")
    suite = document.get("suite")
    if not isinstance(tasks, dict) or not isinstance(marked, dict) or not isinstance(suite, str):
        raise IndexInvalid("The index has no tasks.")
    if not tasks or len(tasks) > MAX_TASKS or not marked.keys() <= tasks.keys():
        raise IndexInvalid("The index names no task, too many, or one that it does not have.")
    tests: dict[str, tuple[str, ...]] = {}
    discriminating: dict[str, tuple[int, ...]] = {}
    for task, ids in tasks.items():
        if (
            not isinstance(ids, list)
            or not 1 <= len(ids) <= MAX_TESTS
            or not all(isinstance(one, str) and 0 < len(one) <= MAX_TEST_ID for one in ids)
            or len(set(ids)) != len(ids)
        ):
            raise IndexInvalid(f"A task of the index does not have 1 to {MAX_TESTS} tests.")
        places = marked.get(task, [])
        if not isinstance(places, list) or not all(
            type(place) is int and 0 <= place < len(ids) for place in places
        ):
            raise IndexInvalid("The index marks a test that it does not have.")
        tests[task] = tuple(ids)
        discriminating[task] = tuple(sorted(set(places)))
    return SuiteIndex(digest, suite, tests, discriminating)


def verify(
    name: str, spec: GradingSuiteSpec, index: SuiteIndex | Refused, author_keys: Sequence[bytes]
) -> FrozenSuite | Refused:
    """Check a suite against its signature.

    Args:
        name: of the GradingSuite; may differ from the one that its author signed.
        spec: of the GradingSuite.
        index: its parsed index, or why there is none.
        author_keys: trusted authors' public keys as PEM.
    """
    if isinstance(index, Refused):
        return index
    try:
        signed = verify_suite(
            envelope_from_attestation(spec.signature),
            author_keys,
            spec=spec,
            index_digest=index.digest,
        )
    except (SignatureUntrusted, SignatureInvalid) as error:
        return Refused(SuiteReason.SIGNATURE_INVALID, str(error))
    except VerificationFailed as error:
        return Refused(SuiteReason.SIGNATURE_MISMATCH, str(error))
    if index.suite != signed.name:
        return Refused(SuiteReason.INDEX_INVALID, "The index belongs to another suite.")
    if problems := resource_problems(spec.limits, spec.resources):
        return Refused(SuiteReason.LIMITS_INVALID, problems[0])
    return FrozenSuite(
        name=name,
        version=signed.version,
        suite_digest=signed.digest,
        image=spec.image,
        image_digest=signed.image_digest,
        lane_image=spec.lane_image,
        lane_image_digest=signed.lane_image_digest,
        index_digest=signed.index_digest,
        author_keyid=signed.author,
        resources=spec.resources,
        limits=spec.limits,
        runtime_class_name=spec.runtime_class_name,
        node_selector=spec.node_selector,
        tolerations=spec.tolerations,
        tests=index.tests,
        discriminating=index.discriminating,
    )
