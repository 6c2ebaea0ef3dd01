"""The result message: what the operator believes, so nothing half-right may parse."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradekeeper.referee import result as r
from gradekeeper.referee.result import RefereeResult, ResultError, encode_result, parse_result

DIGEST = "sha256:" + "ab" * 32


def graded(**changes):
    values = {
        "nonce": "n",
        "attempt": 1,
        "suite": DIGEST,
        "submission": DIGEST,
        "task": "",
        "decision": r.GRADED,
        "reason": r.COMPLETED,
        "message": "Every test has an outcome.",
        "outcomes": "PFTXVN",
        "isolation": {"network": "denied", "uid": 10003},
        "log": DIGEST,
        "times": {"total": 1.5},
    }
    return RefereeResult(**{**values, **changes})


UNJUDGED = {
    "decision": r.UNJUDGED,
    "reason": r.REFEREE_FAILED,
    "outcomes": None,
    "isolation": None,
    "suite": "",
    "submission": "",
    "attempt": 0,
}
REJECTED = {
    "decision": r.REJECTED,
    "reason": r.SUBMISSION_MALFORMED,
    "outcomes": "NNN",
    "isolation": None,
}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"reason": r.LANE_LOST},
        {"reason": r.REFEREE_FAULT},
        {"reason": r.DOES_NOT_COMPILE, "outcomes": "NN"},
        REJECTED,
        UNJUDGED,
        {"outcomes": "P" * 2_000},
    ],
    ids=["graded", "lost", "own fault", "uncompiled", "rejected", "unjudged", "many tests"],
)
def test_what_is_encoded_parses_to_the_same(changes):
    result = graded(**changes)
    data = encode_result(result)
    assert len(data) <= r.MAX_MESSAGE_BYTES
    assert parse_result(data) == result


def test_isolation_facts_give_way_before_outcomes_do():
    wide = graded(outcomes="P" * 3_000, isolation={"fact": "x" * 1_500})
    parsed = parse_result(encode_result(wide))
    assert parsed.outcomes == wide.outcomes
    assert parsed.isolation == {"trimmed": True}


def test_outcomes_that_cannot_fit_are_an_error_not_a_cut():
    with pytest.raises(ResultError, match="does not fit"):
        encode_result(graded(outcomes="P" * 4_000))


@pytest.mark.parametrize(
    "changes",
    [
        {"outcomes": None},
        {"outcomes": ""},
        {"outcomes": "PQ"},
        {"outcomes": "p"},
        {"isolation": None},
        {"decision": "graded"},
        {"reason": r.REFEREE_FAILED},
        {"reason": r.SUBMISSION_TOO_LARGE},
        {"attempt": 0},
        {"attempt": True},
        {"suite": ""},
        {"suite": "sha256:" + "AB" * 32},
        {"submission": "md5:" + "ab" * 32},
        {"log": ""},
        {"message": "two\nlines"},
        {"message": "x" * 513},
        {"times": {"total": -1.0}},
        {"reason": r.DOES_NOT_COMPILE},
        {**REJECTED, "outcomes": "NPN"},
        {**REJECTED, "outcomes": None},
        {**UNJUDGED, "outcomes": "N"},
    ],
    ids=str,
)
def test_a_contradiction_is_neither_written_nor_read(changes):
    with pytest.raises(ResultError):
        encode_result(graded(**changes))


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.pop("nonce"),
        lambda d: d.update(extra=1),
        lambda d: d.update(schema="gradekeeper.result/v2"),
        lambda d: d.update(times=[]),
        lambda d: d.update(times={"a": "1"}),
        lambda d: d.update(isolation=[]),
        lambda d: d.update(outcomes=["P"]),
    ],
)
def test_another_schema_does_not_parse(change):
    document = json.loads(encode_result(graded()))
    change(document)
    with pytest.raises(ResultError):
        parse_result(json.dumps(document).encode())


def test_a_key_twice_does_not_parse():
    data = encode_result(graded())
    twice = data[:-1] + b',"outcomes":"PPPPPP"}'
    with pytest.raises(ResultError):
        parse_result(twice)


@given(st.binary(max_size=5_000))
def test_any_bytes_give_a_result_or_a_result_error(data):
    try:
        parse_result(data)
    except ResultError:
        pass


@given(st.data())
def test_any_change_of_a_message_gives_a_result_or_a_result_error(data):
    message = bytearray(encode_result(graded()))
    for _ in range(data.draw(st.integers(1, 4))):
        message[data.draw(st.integers(0, len(message) - 1))] = data.draw(st.integers(0, 255))
    try:
        parsed = parse_result(bytes(message))
    except ResultError:
        return
    assert parsed.decision in r.REASONS and parsed.reason in r.REASONS[parsed.decision]
    assert (parsed.outcomes is None) == (parsed.decision == r.UNJUDGED)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from([*json.loads(encode_result(graded()))]), JSON))
def test_any_values_give_a_result_or_a_result_error(changes):
    document = {**json.loads(encode_result(graded())), **changes}
    try:
        parse_result(json.dumps(document).encode())
    except ResultError:
        pass
