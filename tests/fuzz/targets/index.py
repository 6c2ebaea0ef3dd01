"""A suite's index from a ConfigMap, and the signature that trusts it. The first byte says what the
rest is: 0 base64 text, 1 the JSON that is compressed here, 2 the compressed bytes, 3 the payload
that an author signed for the suite."""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from fuzz.targets import require
from gradekeeper.api.names import INDEX_KEY
from gradekeeper.api.schema import MAX_TESTS
from gradekeeper.api.spec import GradingSuiteSpec
from gradekeeper.control.errors import IndexInvalid
from gradekeeper.control.trust import Refused, SuiteIndex, parse_index, verify
from gradekeeper.verdicts.signing import SigningKey, attestation_from_envelope
from gradekeeper.verdicts.statement import build_suite_statement

MAX_LEN = 8192
AUTHOR = SigningKey(Ed25519PrivateKey.from_private_bytes(bytes([2] * 32)))
INDEX = {
    "schema": "gradekeeper.index/v1",
    "suite": "billing",
    "tasks": {"": ["refunds/one", "refunds/two"], "one": ["refunds/one"]},
    "discriminating": {"": [0], "one": [0]},
}
JSON = json.dumps(INDEX).encode()
PACKED = gzip.compress(JSON, mtime=0)
IMAGE, LANE = (f"sha256:{digit * 64}" for digit in "bc")
SPEC: dict[str, Any] = {
    "image": f"docker.io/x/billing@{IMAGE}",
    "laneImage": f"docker.io/x/java17@{LANE}",
    "indexRef": {"name": "billing-index"},
    "resources": {
        "referee": {"cpu": "200m", "memory": "192Mi"},
        "lane": {"cpu": "1500m", "memory": "1024Mi"},
    },
    "limits": {},
}


def config_map(text: str) -> dict[str, Any]:
    return {"binaryData": {INDEX_KEY: text}}


def packed(data: bytes) -> dict[str, Any]:
    return config_map(base64.b64encode(data).decode())


GOOD = parse_index(packed(PACKED))
UNSIGNED = GradingSuiteSpec.model_validate({**SPEC, "signature": "AAAA"})
STATEMENT = json.dumps(
    build_suite_statement(
        name="billing",
        version="1.0.0",
        suite_digest=f"sha256:{'a' * 64}",
        image_digest=IMAGE,
        lane_image_digest=LANE,
        index_digest=GOOD.digest,
        limits=UNSIGNED.limits,
        resources=UNSIGNED.resources,
    )
).encode()
SEEDS = {
    "text": b"\x00" + base64.b64encode(PACKED),
    "json": b"\x01" + JSON,
    "packed": b"\x02" + PACKED,
    "two-members": b"\x02" + PACKED + PACKED,
    "bomb": b"\x02" + gzip.compress(bytes(4 << 20), mtime=0),
    "test-twice": b"\x01"
    + json.dumps({**INDEX, "tasks": {"": ["a", "a"]}, "discriminating": {"": []}}).encode(),
    "no-such-task": b"\x01" + json.dumps({**INDEX, "discriminating": {"b": [0]}}).encode(),
    "no-such-test": b"\x01" + json.dumps({**INDEX, "discriminating": {"": [2]}}).encode(),
    "no-tests": b"\x01" + json.dumps({**INDEX, "tasks": {"": []}}).encode(),
    "signed": b"\x03" + STATEMENT,
}
WORDS = [
    *(b'"schema":', b'"suite":', b'"tasks":', b'"discriminating":', b"gradekeeper.index/v1"),
    *(b'"image":', b'"laneImage":', b'"index":', b'"limits":', b'"resources":', b'"sha256":'),
    *(b'"version":', b'"subject":', b"1.0", b"true", b"null", b"[]", b"{}", b"-1", b"[[[[["),
]


def run(data: bytes) -> None:
    """Parse an index and check a suite with it."""
    kind, body = data[:1], data[1:]
    if kind == b"\x03":
        trust(body)
        return
    found = (
        config_map(body.decode("latin-1"))
        if kind == b"\x00"
        else packed(body if kind == b"\x02" else gzip.compress(body, compresslevel=1, mtime=0))
    )
    try:
        index = parse_index(found)
    except IndexInvalid as error:
        require(str(error).isprintable(), "a strange sentence")
        return
    check(index)


def check(index: SuiteIndex) -> None:
    """What everyone relies on in an index."""
    require(index.tests and index.tests.keys() == index.discriminating.keys(), "other tasks")
    for task, ids in index.tests.items():
        require(1 <= len(ids) == len(set(ids)) <= MAX_TESTS, "tests that are not listed once each")
        require(all(type(one) is str for one in ids), "an id that is no text")
        require(all(0 <= place < len(ids) for place in index.discriminating[task]), "no such test")


def trust(payload: bytes) -> None:
    """A suite whose author signed these bytes."""
    try:
        envelope = AUTHOR.sign(payload)
    except ValueError:
        return
    attestation = attestation_from_envelope(envelope)
    try:
        spec = GradingSuiteSpec.model_validate({**SPEC, "signature": attestation})
    except ValueError:
        return  # longer than the API server would take it
    frozen = verify("billing", spec, GOOD, [AUTHOR.public_pem])
    if isinstance(frozen, Refused):
        require(frozen.message, "refused without a word")
        return
    require(frozen.image_digest == IMAGE and frozen.lane_image_digest == LANE, "other images")
    require(frozen.index_digest == GOOD.digest, "another index")
    require(dict(frozen.tests) == dict(GOOD.tests), "other tests")
