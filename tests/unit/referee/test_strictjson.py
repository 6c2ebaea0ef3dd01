"""A large object is read member by member, and is the same as read at once."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradekeeper.referee.strictjson import StrictJsonError, parse_strict, split_object

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(alphabet='a"\\{}[],: \n\U0001f600'),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=3), VALUES), st.sampled_from([None, 0, 2]))
def test_the_members_are_those_of_the_whole(document, indent):
    data = json.dumps(document, indent=indent).encode()
    found = {key: json.loads(value) for key, value in split_object(data, max_bytes=1 << 20)}
    assert found == document


WRONG = [
    b"",
    b"{",
    b"[]",
    b'"a"',
    b'{"a"}',
    b'{"a":}',
    b'{"a":1,}',
    b'{"a":1 "b":2}',
    b'{"a":1}x',
    b'{"a":1,"a":2}',
    b"{1:2}",
    b'{"a":"\xff"}',
    b"[" * 5_000,
    b'{"a":' + b"[" * 5_000,
    b'{"a":1}' + b" " * 100,
]


@pytest.mark.parametrize("data", WRONG, ids=lambda data: repr(data[:12]))
def test_what_is_no_object_is_refused(data):
    with pytest.raises(StrictJsonError):
        list(split_object(data, max_bytes=100))


@given(st.binary(max_size=30) | st.text(alphabet='{}[]":,1a ', max_size=12).map(str.encode))
def test_any_bytes_are_members_or_an_error(data):
    try:
        found = dict(split_object(data, max_bytes=100))
    except StrictJsonError:
        return
    assert {key: json.loads(value) for key, value in found.items()} == json.loads(data)
    assert parse_strict(b"{}", max_bytes=2) == {}
