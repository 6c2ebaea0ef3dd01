"""Keys and envelopes: ours verify, everything else is refused with a sentence."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_public_key,
)
from hypothesis import example, given
from hypothesis import strategies as st

from gradekeeper.verdicts.signing import (
    MAX_ENVELOPE_BYTES,
    KeyInvalid,
    SignatureInvalid,
    SigningKey,
    attestation_from_envelope,
    envelope_from_attestation,
    generate_key,
    public_keyid,
    read_unverified,
    verify_envelope,
)

PRIVATE, PUBLIC = generate_key()
KEY = SigningKey.from_pem(PRIVATE)
OTHER_PRIVATE, OTHER_PUBLIC = generate_key()
PAYLOAD = b'{"a":1,"text":"caf\xc3\xa9"}'
ENVELOPE = KEY.sign(PAYLOAD)
RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)


def changed(**fields: Any) -> bytes:
    return json.dumps({**json.loads(ENVELOPE), **fields}).encode()


def test_round_trip() -> None:
    verified = verify_envelope(ENVELOPE, [OTHER_PUBLIC, PUBLIC])
    assert verified.payload == {"a": 1, "text": "café"}
    assert verified.keyid == KEY.keyid == public_keyid(PUBLIC)


def test_the_key_id_is_that_of_the_der_form() -> None:
    body = b"".join(PUBLIC.splitlines()[1:-1])
    assert KEY.keyid == hashlib.sha256(base64.b64decode(body)).hexdigest()
    assert KEY.public_pem == PUBLIC


def test_the_signature_is_dsse_s_own() -> None:
    """Checked without securesystemslib: the pre-authentication encoding is written out here."""
    document = json.loads(ENVELOPE)
    kind = b"application/vnd.in-toto+json"
    assert document["payloadType"].encode() == kind
    assert base64.b64decode(document["payload"]) == PAYLOAD
    encoded = b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(PAYLOAD), PAYLOAD)
    key = load_pem_public_key(PUBLIC)
    assert isinstance(key, Ed25519PublicKey)
    key.verify(base64.b64decode(document["signatures"][0]["sig"]), encoded)


def test_another_key() -> None:
    named, trusted = KEY.keyid[:16], public_keyid(OTHER_PUBLIC)[:16]
    told = f"not signed by a trusted key: it names {named}…, and trusted are {trusted}… "
    with pytest.raises(SignatureInvalid, match=told):
        verify_envelope(ENVELOPE, [OTHER_PUBLIC])


def test_what_is_no_key_id_is_not_repeated() -> None:
    document = json.loads(ENVELOPE)
    document["signatures"][0]["keyid"] = "0000 is trusted"
    with pytest.raises(SignatureInvalid, match="it names none, and"):
        verify_envelope(json.dumps(document).encode(), [OTHER_PUBLIC])


def test_no_key() -> None:
    with pytest.raises(SignatureInvalid, match="no trusted key"):
        verify_envelope(ENVELOPE, [])


def test_another_payload_under_the_same_signature() -> None:
    payload = base64.b64encode(b'{"a":2}').decode()
    with pytest.raises(SignatureInvalid, match="changed after it was signed"):
        verify_envelope(changed(payload=payload), [PUBLIC])


def test_a_signature_under_a_borrowed_key_id() -> None:
    document = json.loads(SigningKey.from_pem(OTHER_PRIVATE).sign(PAYLOAD))
    document["signatures"][0]["keyid"] = KEY.keyid
    with pytest.raises(SignatureInvalid, match="changed after it was signed"):
        verify_envelope(json.dumps(document).encode(), [PUBLIC])


def test_a_second_signature_does_no_harm() -> None:
    other = json.loads(SigningKey.from_pem(OTHER_PRIVATE).sign(PAYLOAD))["signatures"]
    ours = json.loads(ENVELOPE)["signatures"]
    both = changed(signatures=other + ours)
    assert verify_envelope(both, [PUBLIC]).keyid == KEY.keyid
    with pytest.raises(SignatureInvalid, match="not a DSSE envelope"):
        verify_envelope(changed(signatures=ours + ours), [PUBLIC])


@pytest.mark.parametrize(
    ("envelope", "why"),
    [
        (b"", "cannot be read"),
        (b"\xff", "not UTF-8"),
        (b"[]", "not a JSON object"),
        (b"{}", "not a DSSE envelope"),
        (b"[" * 100_000, "nested deeper"),
        (b" " * (MAX_ENVELOPE_BYTES + 1), "longer than allowed"),
        (b'{"payload":"","payload":""}', "a key occurs twice"),
        (changed(payloadType="text/plain"), "not of the type"),
        (changed(payloadType=7), "not of the type"),
        (changed(more=1), "not a DSSE envelope"),
        (changed(signatures=[]), "1 to 8 signatures"),
        (changed(signatures={}), "1 to 8 signatures"),
        (changed(signatures=[{}] * 9), "1 to 8 signatures"),
        (changed(signatures=[7]), "not of the expected form"),
        (changed(signatures=[{"keyid": 7, "sig": "AAAA"}]), "not of the expected form"),
        (changed(signatures=[{"keyid": "a", "sig": 7}]), "not canonical"),
        (changed(payload=7), "not canonical"),
        (changed(payload="e30"), "not canonical"),
        (changed(payload="e31="), "not canonical"),
        (changed(payload="_-=="), "not canonical"),
        (changed(payload="é"), "not canonical"),
    ],
)
def test_hostile_envelopes(envelope: bytes, why: str) -> None:
    with pytest.raises(SignatureInvalid, match=why):
        verify_envelope(envelope, [PUBLIC])


@pytest.mark.parametrize("payload", [b"", b"7", b"[1]", b'{"a":NaN}', b'{"a":1,"a":2}', b"\xff"])
def test_signed_payloads_that_are_no_objects(payload: bytes) -> None:
    with pytest.raises(SignatureInvalid, match="The signed payload"):
        verify_envelope(KEY.sign(payload), [PUBLIC])


@given(st.binary(max_size=500))
@example(ENVELOPE[:-1])
def test_any_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(SignatureInvalid):
        verify_envelope(data, [PUBLIC])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


@given(st.sampled_from(["payload", "payloadType", "signatures"]), JSON)
def test_any_value_in_any_field_is_refused(field: str, value: Any) -> None:
    with pytest.raises(SignatureInvalid):
        verify_envelope(changed(**{field: value}), [PUBLIC])


@given(JSON, JSON)
def test_any_signature_is_refused(keyid: Any, sig: Any) -> None:
    with pytest.raises(SignatureInvalid):
        verify_envelope(changed(signatures=[{"keyid": keyid, "sig": sig}]), [PUBLIC])


@given(st.integers(0, len(ENVELOPE) - 1), st.integers(0, 255))
def test_no_byte_can_change(position: int, value: int) -> None:
    data = bytearray(ENVELOPE)
    if data[position] == value:
        return
    data[position] = value
    with pytest.raises(SignatureInvalid):
        verify_envelope(bytes(data), [PUBLIC])


def test_every_single_bit_counts() -> None:
    for position in range(len(ENVELOPE)):
        for bit in range(8):
            data = bytearray(ENVELOPE)
            data[position] ^= 1 << bit
            with pytest.raises(SignatureInvalid):
                verify_envelope(bytes(data), [PUBLIC])


def test_too_large_to_sign() -> None:
    assert KEY.sign(b"x" * (MAX_ENVELOPE_BYTES // 4 * 3 - 300))
    with pytest.raises(ValueError, match="too large"):
        KEY.sign(b"x" * MAX_ENVELOPE_BYTES)


def test_attestations() -> None:
    text = attestation_from_envelope(ENVELOPE)
    assert envelope_from_attestation(text) == ENVELOPE
    largest = attestation_from_envelope(b"x" * MAX_ENVELOPE_BYTES)
    assert len(largest) == 262144, "the CRD's bound on status.attestation"


@pytest.mark.parametrize("text", ["é", "e3", "e30=\n", "A" * 300_000])
def test_attestations_that_are_none(text: str) -> None:
    with pytest.raises(SignatureInvalid, match="attestation"):
        envelope_from_attestation(text)


RSA_PRIVATE = RSA.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
RSA_PUBLIC = RSA.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


@pytest.mark.parametrize(
    ("pem", "why"),
    [
        (b"", "PEM"),
        (PUBLIC, "PEM"),
        (RSA_PRIVATE, "not an ed25519 key"),
        (b"x" * 20_000, "too large"),
    ],
)
def test_private_keys_that_are_none(pem: bytes, why: str) -> None:
    with pytest.raises(KeyInvalid, match=why):
        SigningKey.from_pem(pem)


@pytest.mark.parametrize(
    ("pem", "why"),
    [
        (b"", "PEM"),
        (PRIVATE, "PEM"),
        (RSA_PUBLIC, "not an ed25519 key"),
        (b"x" * 20_000, "too large"),
    ],
)
def test_public_keys_that_are_none(pem: bytes, why: str) -> None:
    with pytest.raises(KeyInvalid, match=why):
        verify_envelope(ENVELOPE, [pem])


@given(st.binary(max_size=300))
def test_any_bytes_as_keys_are_refused(data: bytes) -> None:
    with pytest.raises(KeyInvalid):
        SigningKey.from_pem(data)
    with pytest.raises(KeyInvalid):
        public_keyid(data)


@pytest.mark.parametrize(
    "envelope",
    [
        b"[" * 190_000,
        b'{"payload":' + b"[" * 100_000,
        b'{"payload":' + b"9" * 5_000 + b"}",
        b'{"payload":"","payload":""}',
        b'{"payload":"\\ud800"}',
        b'{"payload":NaN}',
        b"{}" + b" " * 500_000,
    ],
    ids=["deep", "deep payload", "digits", "twice", "half a pair", "no number", "long"],
)
def test_no_envelope_stops_its_reader(envelope):
    _, public = generate_key()
    with pytest.raises(SignatureInvalid):
        verify_envelope(envelope, [public])
    with pytest.raises(SignatureInvalid):
        read_unverified(base64.b64encode(envelope).decode())
