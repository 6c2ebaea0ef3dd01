"""A verdict from anywhere, verified offline. The first byte says what the rest is: 0 an envelope,
1 a payload that a trusted key signed, 2 an attestation in base64."""

from __future__ import annotations

import base64
import json
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from fuzz.targets import require
from gradekeeper.verdicts.model import Graded, Unjudged, parse_verdict
from gradekeeper.verdicts.signing import (
    PAYLOAD_TYPE,
    SignatureInvalid,
    SigningKey,
    attestation_from_envelope,
    envelope_from_attestation,
)
from gradekeeper.verdicts.statement import STATEMENT_TYPE, SUITE_TYPE, VERDICT_TYPE
from gradekeeper.verdicts.verify import Verification, VerificationFailed, verify_verdict
from unit.verdicts.samples import digest, statement

MAX_LEN = 16 * 1024
KEY = SigningKey(Ed25519PrivateKey.from_private_bytes(bytes(32)))
STRANGER = SigningKey(Ed25519PrivateKey.from_private_bytes(bytes([1] * 32)))


def payload(verdict: dict[str, Any] | None = None, **change: Any) -> bytes:
    parsed = None if verdict is None else parse_verdict(verdict)
    return json.dumps(statement(parsed, **change)).encode()


SIGNED = payload()
ENVELOPE = KEY.sign(SIGNED)
UNJUDGED = {"decision": "Unjudged", "reason": "NodeLost", "message": "gone"}
REJECTED = {
    "decision": "Rejected",
    "reason": "SubmissionTooLarge",
    "message": "large",
    "tests": {"total": 2, "passed": 0, "failed": 2},
    "outcomes": "NN",
}
OTHER = payload(UNJUDGED, test_ids=None)
UNSIGNED = {"payload": "", "payloadType": PAYLOAD_TYPE, "signatures": []}
SEEDS = {
    "envelope": b"\x00" + ENVELOPE,
    "stranger": b"\x00" + STRANGER.sign(SIGNED),
    "stranger-else": b"\x00" + STRANGER.sign(payload(UNJUDGED, test_ids=None)),
    "changed": b"\x00"
    + json.dumps(
        {**json.loads(ENVELOPE), "payload": json.loads(STRANGER.sign(OTHER))["payload"]}
    ).encode(),
    "another-statement": b"\x01"
    + json.dumps({**statement(), "predicateType": SUITE_TYPE}).encode(),
    "no-signature": b"\x00" + json.dumps(UNSIGNED).encode(),
    "signed": b"\x01" + SIGNED,
    "unjudged": b"\x01" + payload(UNJUDGED, test_ids=None),
    "rejected": b"\x01" + payload(REJECTED),
    "attestation": b"\x02" + attestation_from_envelope(ENVELOPE).encode(),
}
WORDS = [
    *(b'"payload":', b'"payloadType":', b'"signatures":', b'"keyid":', b'"sig":', b'"predicate":'),
    *(b'"verdict":', b'"outcomes":', b'"tests":', b'"attempts":', b'"isolation":', b'"subject":'),
    *(b'"Graded"', b'"Unjudged"', b'"clientClaim":true', b"null", b"[]", b"{}", b"==", b"1e3"),
]


def run(data: bytes) -> None:
    """Verify; a verdict that holds has to be the one that was signed."""
    kind, body = data[:1], data[1:]
    envelope = body
    if kind == b"\x01":
        try:
            envelope = KEY.sign(body)
        except ValueError:
            return
    elif kind == b"\x02":
        try:
            envelope = envelope_from_attestation(body.decode("latin-1"))
        except SignatureInvalid:
            return
    for expected in ({}, {"digest": digest("1"), "nonce": "nonce-1", "task": ""}):
        try:
            check(verify_verdict(envelope, [KEY.public_pem], **expected))
        except VerificationFailed as error:
            require(0 < len(str(error)) < 1_000, "an unreadable sentence")
            return
        if kind != b"\x01":
            signed = base64.b64decode(json.loads(envelope)["payload"])
            require(signed in (SIGNED,), "a forged verdict")


def check(verified: Verification) -> None:
    """What any verdict that holds must say."""
    verdict = verified.verdict
    require(verified.statement["predicateType"] == VERDICT_TYPE, "another kind of statement")
    require(verified.statement["_type"] == STATEMENT_TYPE, "no statement")
    if isinstance(verdict, Unjudged):
        require(not hasattr(verdict, "outcomes"), "an unjudged verdict has outcomes")
        return
    require(len(verdict.outcomes) == verdict.total, "outcomes and counts differ")
    require(verdict.outcomes.count("P") == verdict.passed, "another number passed")
    if isinstance(verdict, Graded) and verdict.passed:
        require(verified.statement["predicate"]["isolation"] is not None, "not isolated")
    require(verified.checked and verified.unchecked, "says nothing")
