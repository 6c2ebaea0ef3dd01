"""`gradekeeper verify`: check a signed verdict without a cluster."""

from __future__ import annotations

import binascii
import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from gradekeeper.cli._errors import CliError, ExitCode, plain, read_file
from gradekeeper.cli._options import AsJson, Keys

if TYPE_CHECKING:
    from gradekeeper.verdicts.verify import Verification

_MOST_ENVELOPE: Final = 1024 * 1024
"""No envelope of ours is longer, not even in base64."""


def verify(
    envelope: Annotated[
        str,
        typer.Argument(
            metavar="ENVELOPE",
            help="File with the DSSE envelope, as JSON or in base64 as in a job's"
            " status.attestation; - for standard input.",
        ),
    ],
    key: Keys,
    digest: Annotated[
        str | None, typer.Option(help="Digest that the submission must have, sha256:….")
    ] = None,
    nonce: Annotated[str | None, typer.Option(help="Nonce that the job must have.")] = None,
    task: Annotated[
        str | None, typer.Option(help="Task that was graded; empty for the whole suite.")
    ] = None,
    job_uid: Annotated[str | None, typer.Option(help="UID that the job must have.")] = None,
    suite_digest: Annotated[
        str | None, typer.Option(help="Digest that the suite must have, sha256:….")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Verify a signed verdict offline.

    Says what was checked and what was not. Exit code 0: the verdict is what a trusted key signed,
    and it is the expected one; 1: it is not; 2: the input is wrong.
    """
    from gradekeeper.verdicts.verify import VerificationFailed, verify_verdict

    keys = read_keys(key)
    for option, value in (("--digest", digest), ("--suite-digest", suite_digest)):
        if value is not None and not re.fullmatch(r"(sha256:)?[0-9a-f]{64}", value):
            raise CliError(f"{option} takes sha256: and 64 hex digits, not {plain(value)!r}.")
    data = read_envelope(envelope)
    try:
        verification = verify_verdict(
            data,
            keys,
            digest=digest,
            nonce=nonce,
            task=task,
            job_uid=job_uid,
            suite_digest=suite_digest,
        )
    except VerificationFailed as error:
        if as_json:
            print(json.dumps({"verified": False, "error": str(error)}))
        raise CliError(f"Not verified: {plain(error)}", ExitCode.FAILED) from error
    if as_json:
        print(json.dumps(_document(verification), indent=2, sort_keys=True))
    else:
        _print(verification)


def read_keys(paths: list[Path]) -> list[bytes]:
    """Return the PEM public keys of the files.

    Raises:
        CliError: One of them is none.
    """
    from gradekeeper.verdicts.signing import KeyInvalid, public_keyid

    keys = []
    for path in paths:
        pem = read_file(path)
        if b"PRIVATE KEY" in pem:
            raise CliError(f"{path} is a private key; give the public one, and keep this secret.")
        try:
            public_keyid(pem)
        except KeyInvalid as error:
            raise CliError(f"{path}: {error}") from error
        keys.append(pem)
    return keys


def read_envelope(source: str) -> bytes:
    """Return the JSON of an envelope from a file or standard input, decoding base64 if need be.

    Raises:
        CliError: It is neither; exit code 1 like any envelope that proves nothing.
    """
    from gradekeeper.verdicts.signing import SignatureInvalid, envelope_from_attestation

    if source == "-":
        data = sys.stdin.buffer.read(_MOST_ENVELOPE + 1)
    else:
        data = read_file(Path(source))
    if len(data) > _MOST_ENVELOPE:
        raise CliError(
            f"Not verified: the envelope is larger than {_MOST_ENVELOPE} bytes, and no verdict is.",
            ExitCode.FAILED,
        )
    stripped = data.strip()
    if stripped.startswith(b"{"):
        if b'"GradingJob"' in stripped and b'"payloadType"' not in stripped:
            raise CliError(
                "This is a GradingJob; give its attestation: kubectl get gj NAME -o"
                " jsonpath='{.status.attestation}' | gradekeeper verify - --key …"
            )
        return stripped
    try:
        return envelope_from_attestation("".join(stripped.decode("ascii").split()))
    except (SignatureInvalid, UnicodeDecodeError, binascii.Error) as error:
        raise CliError(
            "Not verified: this is neither an envelope in JSON nor one in base64.", ExitCode.FAILED
        ) from error


def headline(verdict: Any) -> str:
    """Return one line about a verdict; an `Unjudged` has no numbers to show."""
    counts = (
        f"{verdict.passed} of {verdict.total} tests passed"
        if hasattr(verdict, "outcomes")
        else "no statement about the submission"
    )
    return f"{verdict.decision}: {counts} ({verdict.reason})"


def _document(verification: Verification) -> dict[str, Any]:
    from gradekeeper.verdicts.model import verdict_document

    return {
        "verified": True,
        "verdict": verdict_document(verification.verdict),
        "keyid": verification.keyid,
        "checked": verification.checked,
        "unchecked": verification.unchecked,
        "statement": verification.statement,
    }


def _print(verification: Verification) -> None:
    predicate = verification.statement["predicate"]
    job, suite = predicate["job"], predicate["suite"]
    print(plain(headline(verification.verdict)))
    if verification.verdict.message:
        print(plain(verification.verdict.message))
    print()
    rows = [("job", f"{job['namespace']}/{job['name']}")]
    if suite is not None:
        rows.append(("suite", f"{suite['name']} {suite['version']} {suite['digest']}"))
    subject = verification.statement["subject"][0]
    rows += [
        (subject["name"], f"sha256:{subject['digest']['sha256']}"),
        ("issued", f"{predicate['issuedAt']} by {predicate['issuer']['installation']}"),
    ]
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        print(f"{plain(name):{width}}  {plain(value)}")
    for title, mark, sentences in (
        ("checked", "+", verification.checked),
        ("not checked", "-", verification.unchecked),
    ):
        print(f"\n{title}")
        for sentence in sentences:
            print(f"  {mark} {plain(sentence)}")
