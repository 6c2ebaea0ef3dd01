"""Keys and signatures: ed25519, PEM, DSSE envelopes by securesystemslib.

Used by the operator (verdicts), by authors (suites) and by whoever verifies. An envelope may come
from anywhere: `verify_envelope` answers any bytes with a payload or with `SignatureInvalid`.
"""

import base64
import binascii
import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import VerificationError

# securesystemslib has no __all__, so mypy takes its public names for private ones.
from securesystemslib.signer import CryptoSigner, Key, SSlibKey  # type: ignore[attr-defined]

from gradekeeper.referee.strictjson import StrictJsonError, encode_canonical, parse_strict

PAYLOAD_TYPE: Final = "application/vnd.in-toto+json"
MAX_ENVELOPE_BYTES: Final = 192 * 1024
"""Largest envelope that is signed or looked at; in base64 it fits `status.attestation`."""
MAX_SIGNATURES: Final = 8
MAX_KEY_BYTES: Final = 16 * 1024

_ENVELOPE_FIELDS = {"payload", "payloadType", "signatures"}
_SIGNATURE_FIELDS = {"keyid", "sig"}
_KEYID = re.compile(r"[0-9a-f]{64}")


class SignatureInvalid(ValueError):
    """The envelope proves nothing; the text is one sentence that says why."""


class KeyInvalid(ValueError):
    """The bytes are not an ed25519 key in PEM; the text is one sentence."""


@dataclass(frozen=True, slots=True)
class VerifiedPayload:
    """What a trusted key signed.

    Attributes:
        payload: the signed JSON object.
        keyid: id of the key whose signature was checked.
    """

    payload: dict[str, Any]
    keyid: str


class SigningKey:
    """A private key that signs payloads."""

    def __init__(self, private_key: Ed25519PrivateKey) -> None:
        public_key = private_key.public_key()
        self.keyid = _keyid(public_key)
        """SHA-256 of the DER form of the public key, in hex."""
        self.public_pem = _public_pem(public_key)
        """The public key as PEM, to hand to whoever verifies."""
        self._signer = CryptoSigner(private_key, SSlibKey.from_crypto(public_key, keyid=self.keyid))

    @classmethod
    def from_pem(cls, private_pem: bytes) -> "SigningKey":
        """Read an unencrypted PKCS8 key.

        Raises:
            KeyInvalid: not such a key.
        """
        if len(private_pem) > MAX_KEY_BYTES:
            raise KeyInvalid("The private key is too large to be one.")
        try:
            key = load_pem_private_key(private_pem, password=None)
        except (ValueError, TypeError, UnsupportedAlgorithm):
            raise KeyInvalid("The private key is not an unencrypted key in PEM.") from None
        if not isinstance(key, Ed25519PrivateKey):
            raise KeyInvalid("The private key is not an ed25519 key.")
        return cls(key)

    def sign(self, payload: bytes) -> bytes:
        """Sign bytes.

        Returns:
            The DSSE envelope as canonical JSON.

        Raises:
            ValueError: the envelope would be larger than `MAX_ENVELOPE_BYTES`.
        """
        envelope = Envelope(payload, PAYLOAD_TYPE, {})
        envelope.sign(self._signer)
        data = encode_canonical(envelope.to_dict())
        if len(data) > MAX_ENVELOPE_BYTES:
            raise ValueError(f"an envelope of {len(data)} bytes is too large to be accepted")
        return data


def generate_key() -> tuple[bytes, bytes]:
    """A new key pair as (private PEM in PKCS8, public PEM in SubjectPublicKeyInfo)."""
    private_key = Ed25519PrivateKey.generate()
    private_pem = private_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return private_pem, _public_pem(private_key.public_key())


def load_public_key(public_pem: bytes) -> tuple[str, Ed25519PublicKey]:
    """Read a public key.

    Returns:
        Its key id and the key.

    Raises:
        KeyInvalid: not an ed25519 public key in PEM.
    """
    if len(public_pem) > MAX_KEY_BYTES:
        raise KeyInvalid("The public key is too large to be one.")
    try:
        key = load_pem_public_key(public_pem)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise KeyInvalid("The public key is not a key in PEM.") from None
    if not isinstance(key, Ed25519PublicKey):
        raise KeyInvalid("The public key is not an ed25519 key.")
    return _keyid(key), key


def public_keyid(public_pem: bytes) -> str:
    """The key id of a public key in PEM.

    Raises:
        KeyInvalid: not an ed25519 public key in PEM.
    """
    return load_public_key(public_pem)[0]


def verify_envelope(envelope: bytes, public_keys: Sequence[bytes]) -> VerifiedPayload:
    """Check that one of the keys signed the envelope's payload.

    Args:
        envelope: A DSSE envelope as JSON; any bytes.
        public_keys: Trusted keys in PEM, at least one.

    Raises:
        SignatureInvalid: too large, not an envelope, base64 that is not canonical, no signature
            by a trusted key, or a payload that is not a JSON object.
        KeyInvalid: one of the trusted keys is none.
    """
    keys: list[Key] = [
        SSlibKey.from_crypto(key, keyid=keyid)
        for keyid, key in (load_public_key(pem) for pem in public_keys)
    ]
    if not keys:
        raise SignatureInvalid("There is no trusted key to check the signature with.")
    document = _parse(envelope, "The envelope")
    _check_shape(document)
    try:
        parsed = Envelope.from_dict(document)
        accepted = parsed.verify(keys, threshold=1)
    except VerificationError:
        known = {key.keyid for key in keys}
        if known.isdisjoint(parsed.signatures):
            raise SignatureInvalid(
                "The envelope is not signed by a trusted key: it names"
                f" {_short(parsed.signatures)}, and trusted are {_short(known)}"
                " (`gradekeeper keys show FILE` tells a key's id)."
            ) from None
        raise SignatureInvalid(
            "The signature does not fit: the envelope was changed after it was signed."
        ) from None
    except (ValueError, KeyError, TypeError):
        raise SignatureInvalid("The envelope is not a DSSE envelope.") from None
    return VerifiedPayload(_parse(parsed.payload, "The signed payload"), next(iter(accepted)))


def attestation_from_envelope(envelope: bytes) -> str:
    """An envelope as `status.attestation` or `spec.signature` carries it."""
    return base64.standard_b64encode(envelope).decode("ascii")


def envelope_from_attestation(attestation: str) -> bytes:
    """The envelope in a `status.attestation` or `spec.signature`.

    Raises:
        SignatureInvalid: not base64.
    """
    if len(attestation) > MAX_ENVELOPE_BYTES // 3 * 4:
        raise SignatureInvalid("The attestation is larger than any that we sign.")
    try:
        return base64.b64decode(attestation.encode("ascii"), validate=True)
    except (binascii.Error, ValueError):
        raise SignatureInvalid("The attestation is not base64.") from None


def read_unverified(attestation: str) -> dict[str, Any]:
    """The statement in an attestation, whoever signed it: to be shown as unverified, at most.

    Raises:
        SignatureInvalid: too large, or not an envelope with a JSON object.
    """
    document = _parse(envelope_from_attestation(attestation), "The envelope")
    payload = document.get("payload")
    if not isinstance(payload, str):
        raise SignatureInvalid("The envelope is not a DSSE envelope.")
    return _parse(envelope_from_attestation(payload), "The payload")


def _short(keyids: Iterable[str]) -> str:
    """The first key ids, abbreviated; whatever else an envelope calls one is not repeated."""
    found = sorted(f"{keyid[:16]}…" for keyid in keyids if _KEYID.fullmatch(keyid))
    return ", ".join(found[:3]) + (", …" if found[3:] else "") if found else "none"


def _keyid(key: Ed25519PublicKey) -> str:
    der = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return hashlib.sha256(der).hexdigest()


def _public_pem(key: Ed25519PublicKey) -> bytes:
    return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def _parse(data: bytes, what: str) -> dict[str, Any]:
    try:
        document = parse_strict(data, max_bytes=MAX_ENVELOPE_BYTES)
    except StrictJsonError as error:
        raise SignatureInvalid(f"{what} cannot be read: {error}.") from None
    if not isinstance(document, dict):
        raise SignatureInvalid(f"{what} is not a JSON object.")
    return document


def _check_shape(document: dict[str, Any]) -> None:
    if document.keys() != _ENVELOPE_FIELDS:
        raise SignatureInvalid("The envelope is not a DSSE envelope.")
    if document["payloadType"] != PAYLOAD_TYPE:
        raise SignatureInvalid(f"The envelope's payload is not of the type {PAYLOAD_TYPE}.")
    signatures = document["signatures"]
    if not isinstance(signatures, list) or not 1 <= len(signatures) <= MAX_SIGNATURES:
        raise SignatureInvalid(f"The envelope does not have 1 to {MAX_SIGNATURES} signatures.")
    encoded = [document["payload"]]
    for signature in signatures:
        if not isinstance(signature, dict) or signature.keys() != _SIGNATURE_FIELDS:
            raise SignatureInvalid("A signature of the envelope is not of the expected form.")
        if not isinstance(signature["keyid"], str):
            raise SignatureInvalid("A signature of the envelope is not of the expected form.")
        encoded.append(signature["sig"])
    for text in encoded:
        # Base64 has spellings that decode alike; a changed byte must never go unnoticed.
        if not isinstance(text, str) or not _is_canonical_base64(text):
            raise SignatureInvalid("The envelope contains base64 that is not canonical.")


def _is_canonical_base64(text: str) -> bool:
    try:
        decoded = base64.b64decode(text.encode("ascii"), validate=True)
    except (binascii.Error, ValueError):
        return False
    return base64.standard_b64encode(decoded).decode("ascii") == text
