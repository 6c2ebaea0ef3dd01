"""A few seconds of each fuzzer: the same inputs in every run, without an engine.

`make fuzz` runs the real campaigns. What those find becomes a test of its own beside the unit tests
of the code that was wrong.
"""

from __future__ import annotations

import gzip
import json
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from fuzz import corpus, orders, targets
from fuzz.targets import archive, conversation, envelope, frames, index, probe, termination
from gradekeeper.api.spec import GradingSuiteSpec
from gradekeeper.control.trust import parse_index, verify
from gradekeeper.pods.build import FrozenSuite
from gradekeeper.pods.classify import PodFinished, classify_pod
from gradekeeper.referee.intake import unpack
from gradekeeper.referee.isolation import differences, read_probe
from gradekeeper.referee.report import LIED, OUTCOME, PLAYED
from gradekeeper.verdicts.signing import attestation_from_envelope
from gradekeeper.verdicts.verify import verify_verdict
from lanes.lane_client import LaneNotStarted, start_lane

EXECUTIONS = 600


@pytest.mark.parametrize("name", targets.NAMES)
def test_any_bytes_are_answered_as_documented(name: str) -> None:
    target = targets.load(name)
    for data in corpus.seeds(name, target).values():
        target.run(data)
    for data in corpus.mutated(name, target, EXECUTIONS):
        target.run(data)


@pytest.mark.parametrize("name", targets.NAMES)
def test_seeds_are_small_and_mutation_is_the_same_each_time(name: str) -> None:
    target = targets.load(name)
    for label, data in corpus.seeds(name, target).items():
        assert 0 < len(data) <= target.MAX_LEN, label
    assert sum(map(len, corpus.kept(name).values())) <= 64 * 1024
    first, second = corpus.mutated(name, target, 2), corpus.mutated(name, target, 2)
    assert list(first) == list(second)


def test_the_seeds_reach_the_end_of_what_is_fuzzed(tmp_path: Path) -> None:
    """Mutation that starts from what is refused at once would search nothing."""
    for name in ("right", "right-multiset", "strict", "falls-back"):
        _, told = conversation.play(conversation.SEEDS[name])
        assert [one.outcome for one in told if one.kind == OUTCOME] == ["P"] * 3, name
        assert told[-1].kind == PLAYED
    assert any(one.kind == LIED for one in conversation.play(conversation.SEEDS["strict-lied"])[1])
    assert frames.read([frames.SEEDS["two"]])[0] == ("OK", 2)
    facts = read_probe(probe.SEEDS["right"])
    assert facts is not None and differences(facts, probe.POD) == []
    for name, taken in (("tar-gnu-long", 1), ("tar-plain", 2), ("tar-links", 1)):
        part = tmp_path / name
        part.write_bytes(gzip.compress(archive.with_checksums(archive.SEEDS[name][1:])))
        (tmp_path / f"{name}.out").mkdir()
        assert unpack([part], tmp_path / f"{name}.out", archive.RULES).files == taken
    pod = {"spec": termination.SPEC, "status": json.loads(termination.SEEDS["status"][1:])}
    assert isinstance(
        classify_pod(pod, expected=termination.EXPECTED, now=termination.NOW), PodFinished
    )
    for name in ("envelope", "signed", "unjudged", "rejected"):
        data = envelope.SEEDS[name]
        signed = data[1:] if name == "envelope" else envelope.KEY.sign(data[1:])
        assert verify_verdict(signed, [envelope.KEY.public_pem]).checked, name
    assert parse_index(index.packed(index.SEEDS["packed"][1:])) == index.GOOD
    attestation = attestation_from_envelope(index.AUTHOR.sign(index.STATEMENT))
    spec = GradingSuiteSpec.model_validate({**index.SPEC, "signature": attestation})
    trusted = verify("billing", spec, index.GOOD, [index.AUTHOR.public_pem])
    assert isinstance(trusted, FrozenSuite), trusted


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """Not below pytest's own folder, which is closed to the uid of a lane."""
    with tempfile.TemporaryDirectory(prefix="gradekeeper-orders-") as path:
        orders.build(Path(path))
        yield Path(path)


def test_laned_goes_on_or_ends_with_its_status(folder: Path) -> None:
    driver = orders.Driver(folder, random.Random(1))
    for _ in range(40):
        driver.one_lane()
    assert driver.ends.keys() == set(orders.ENDS), "every order was taken, or none"


def test_whether_a_laned_that_crashes_is_found(folder: Path) -> None:
    """The driver itself: a program that dies by a signal, or ends with a status of its own."""
    # A real fault: the kernel does not deliver to a process 1 a signal that it sends to itself.
    for name, end in (("status", "sys.exit(3)"), ("signal", "import ctypes; ctypes.string_at(0)")):
        other = folder / name
        other.mkdir(mode=0o755)
        (other / "laned").write_text(
            "#!/usr/bin/python3\n"
            "import socket, sys\n"
            "ours = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
            "ours.connect(sys.argv[-1])\n"
            "ours.send(b'hello\\0protocol=3\\0pid=1\\0uid=10003\\0')\n"
            "ours.recv(65536)\n"
            f"{end}\n"
        )
        (other / "laned").chmod(0o755)
        driver = orders.Driver(other, random.Random(1))
        with pytest.raises(orders.Finding, match="ended with"):
            driver.one_lane()


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("sys.exit('no memory')", r"ended with 1; it wrote 'no memory\\n'"),
        ("connect(); sys.exit('no memory')", r"ended with 1; it wrote 'no memory\\n'"),
        ("signal.pause()", r"silent: \d+ \w+ \w .*; it wrote ''"),
        ("connect(); signal.pause()", r"silent: \d+ bwrap \w .*; \d+ laned \w .*; it wrote ''"),
    ],
    ids=["ends", "ends-connected", "silent", "silent-connected"],
)
def test_a_lane_that_does_not_start_says_why(folder: Path, body: str, told: str) -> None:
    """At once if it ended: waiting for its connection would lose its status and its words."""
    other = folder / "not-started"
    other.mkdir(mode=0o755, exist_ok=True)
    (other / "laned").write_text(
        "#!/usr/bin/python3\n"
        "import signal, socket, sys\n"
        "ours = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
        "def connect(): ours.connect(sys.argv[-1])\n"
        f"{body}\n"
    )
    (other / "laned").chmod(0o755)
    patience = 1.0 if "pause" in body else 60.0
    with pytest.raises(LaneNotStarted, match=told):
        start_lane(other, timeout=patience)
