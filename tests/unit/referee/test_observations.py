"""A lane's lines: everything of the grammar parses, nothing else does, nothing raises otherwise."""

import json
from decimal import Context, Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradekeeper.referee import observations as o
from gradekeeper.referee.observations import Event, LineError, parse_event, split_decimal
from gradekeeper.referee.strictjson import StrictJsonError, parse_strict


def line(**fields):
    return json.dumps({"seq": 3, "nonce": "n", **fields}).encode()


def test_events_parse():
    assert parse_event(line(type="hello", protocol=1)) == Event(3, "n", o.HELLO)
    assert parse_event(line(type="done")) == Event(3, "n", o.DONE)
    assert parse_event(line(type="settled", query=7)) == Event(3, "n", o.SETTLED, number=7)
    assert parse_event(line(type="obs", key="k", threw="E")) == Event(
        3, "n", o.THREW, "k", "E", elements=1
    )
    assert parse_event(line(type="call", call=1, method="m", args=["a", None])) == Event(
        3, "n", o.CALL, "m", ["a", None], 1, elements=3
    )


VALUES = [
    None,
    True,
    "text",
    [],
    ["a", [False]],
    {"t": "int", "v": "-12"},
    {"t": "dec", "v": "1.20"},
    {"t": "dec", "v": "1E+3"},
    {"t": "time", "c": "java.time.LocalDate", "v": "2024-02-29"},
    {"t": "enum", "c": "State", "v": "OPEN"},
    {"t": "map", "v": [["k", {"t": "int", "v": "0"}]]},
    {"t": "Receipt", "f": {"id": "x"}},
    {"t": "int", "f": {}},
    {"t": "opaque", "c": "java.lang.Object"},
]


@pytest.mark.parametrize("value", VALUES, ids=str)
def test_values_of_the_grammar_parse(value):
    assert parse_event(line(type="obs", key="k", value=value)).value == value


@pytest.mark.parametrize(
    "value",
    [
        1,
        1.5,
        {},
        {"t": "int"},
        {"t": "int", "v": 1},
        {"t": "int", "v": "01"},
        {"t": "int", "v": "-0"},
        {"t": "int", "v": "1" * 65},
        {"t": "int", "v": "٣"},
        {"t": "int", "v": "1", "w": "2"},
        {"t": "dec", "v": "1."},
        {"t": "dec", "v": ".5"},
        {"t": "dec", "v": "NaN"},
        {"t": "dec", "v": "1E"},
        {"t": "dec", "v": "1" * 65},
        {"t": "dec", "v": "1E99999999999"},
        {"t": "map", "v": [["k"]]},
        {"t": "map", "v": {"k": "v"}},
        {"t": "enum", "v": "OPEN"},
        {"t": "opaque"},
        {"t": "other", "v": "x"},
        {"t": "R", "f": {"x": 1}},
        {"t": "", "f": {}},
        {"t": 1, "f": {}},
        ["x"] * 5_000,
    ],
    ids=lambda value: str(value)[:40],
)
def test_other_values_do_not(value):
    with pytest.raises(LineError):
        parse_event(line(type="obs", key="k", value=value))


def test_deep_values_do_not():
    value = "x"
    for _ in range(o.MAX_VALUE_DEPTH):
        value = [value]
    with pytest.raises(LineError, match="deep"):
        parse_event(line(type="obs", key="k", value=value))


@pytest.mark.parametrize(
    "bad",
    [
        b"",
        b"null",
        b"[]",
        b'{"seq":0}',
        b'{"seq":0,"nonce":"n","type":"done","x":1}',
        b'{"seq":0,"seq":0,"nonce":"n","type":"done"}',
        b'{"seq":true,"nonce":"n","type":"done"}',
        b'{"seq":-1,"nonce":"n","type":"done"}',
        b'{"seq":1.0,"nonce":"n","type":"done"}',
        b'{"seq":0,"nonce":1,"type":"done"}',
        b'{"seq":0,"nonce":"n","type":"pass"}',
        b'{"seq":0,"nonce":"n","type":"hello","protocol":2}',
        b'{"seq":0,"nonce":"n","type":"obs","key":"k"}',
        b'{"seq":0,"nonce":"n","type":"obs","key":"k","value":null,"threw":"E"}',
        b'{"seq":0,"nonce":"n","type":"obs","key":"k","threw":1}',
        b'{"seq":0,"nonce":"n","type":"call","call":1,"method":"m","args":{}}',
        b'{"seq":0,"nonce":"n","type":"done"} {}',
        b'{"seq":0,"nonce":"n","type":"done"',
        b'{"seq":0,"nonce":"\xff","type":"done"}',
        b'{"seq":0,"nonce":"\\ud800","type":"done"}',
        b'{"seq":NaN,"nonce":"n","type":"done"}',
        b'{"seq":' + b"9" * 65 + b',"nonce":"n","type":"done"}',
        b'{"seq":0,"nonce":"' + b"n" * 70_000 + b'","type":"done"}',
        b'{"seq":0,"nonce":"n","type":"done","x":' + b"[" * 40 + b"]" * 40 + b"}",
    ],
    ids=lambda data: data[:60].decode("latin-1"),
)
def test_other_lines_do_not_parse(bad):
    with pytest.raises(LineError):
        parse_event(bad)


@given(st.binary(max_size=300))
def test_any_bytes_give_an_event_or_a_line_error(data):
    try:
        parse_event(data)
    except LineError:
        pass


@given(st.data())
def test_any_change_of_a_line_gives_an_event_or_a_line_error(data):
    changed = bytearray(line(type="call", call=1, method="m", args=VALUES))
    for _ in range(data.draw(st.integers(1, 6))):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(
            st.sampled_from(b'{}[]",:\\0e-\x00\xffdu')
        )
    try:
        parse_event(bytes(changed))
    except LineError:
        pass


@pytest.mark.parametrize("opening", [b"[", b'{"a":', b'["\\"[', b"[{"])
def test_nesting_is_refused_before_the_parser_recurses(opening):
    with pytest.raises(StrictJsonError):
        parse_strict(opening * 20_000, max_bytes=1 << 20)


def test_brackets_in_strings_are_not_nesting():
    text = "[" * 50 + '"\\'
    assert parse_strict(json.dumps([text]).encode(), max_bytes=1_000) == [text]


@given(st.integers(-(10**30), 10**30), st.integers(-20, 20), st.integers(0, 5))
def test_equal_decimals_split_equally(coefficient, exponent, zeros):
    plain = f"{Decimal(coefficient).scaleb(exponent, Context(prec=80)):f}"
    parts = split_decimal(plain)
    assert parts is not None
    assert parts == split_decimal(f"{coefficient}{'0' * zeros}E{exponent - zeros}")
    assert Fraction(parts[0]) * Fraction(10) ** parts[1] == Fraction(plain)
