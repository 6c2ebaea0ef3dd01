"""Tool calls of a model, the odd ones too."""

import pytest

from gradekeeper_bash.tools import Bash, Edit, parse_call, replace_once, sent_back, shorten


def test_calls_that_are_right() -> None:
    assert parse_call("bash", '{"command": "ls"}') == Bash("ls")
    assert parse_call("edit", '{"path": "a", "old": "b", "new": "", "x": 1}') == Edit("a", "b", "")
    assert parse_call("bash", '{"command": "ls", "x": "y", "z": null, "t": 1.5}') == Bash("ls")


@pytest.mark.parametrize(
    ("name", "arguments", "why"),
    [
        ("python", "{}", "no tool 'python'"),
        ("bash", "", "needs the text 'command'"),
        ("bash", "{", "not JSON"),
        ("bash", "[" * 100_000, "not JSON"),
        ("edit", '{"path":' * 100_000, "not JSON"),
        ("bash", "9" * 5_000, "not JSON"),
        ("bash", "[]", "not an object"),
        ("bash", '{"command": ["ls"]}', "needs the text 'command'"),
        ("bash", '{"command": "a\\u0000b"}', "characters"),
        ("bash", '{"command": "a\\ud800b"}', "characters"),
        ("bash", '{"command": "a", "x": 1e999}', "no such field: 'x'"),
        ("bash", '{"command": "a", "x": NaN}', "no such field: 'x'"),
        ("bash", f'{{"command": "a", "x": 1{"0" * 400}}}', "no such field: 'x'"),
        ("bash", f'{{"command": "a", "x": {"[" * 200}{"]" * 200}}}', "no such field: 'x'"),
        ("bash", '{"command": "a", "\\ud800": 1}', "no such field"),
        ("edit", '{"path": "a", "old": "b"}', "needs the text 'new'"),
    ],
)
def test_calls_that_are_wrong_are_explained(name: str, arguments: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        parse_call(name, arguments)


def test_a_call_of_the_right_shape_goes_back_as_it_came() -> None:
    for call in (
        {"id": "a", "type": "function", "function": {"name": "bash", "arguments": "{"}, "x": 1},
        {"id": "a", "function": {"name": "no such", "arguments": "[1]"}},
        {"id": "a", "type": "custom", "custom": {"name": "bash", "input": "ls"}},
    ):
        assert sent_back(call, 1) is call


def test_an_edit_replaces_its_one_place_and_no_other_byte() -> None:
    assert replace_once(b"\xff a = 1;\r\n", "a = 1", "ä = 2") == b"\xff \xc3\xa4 = 2;\r\n"


@pytest.mark.parametrize(
    ("text", "old", "why"), [(b"a", "b", "0 times"), (b"a a", "a", "2 times"), (b"a", "", "empty")]
)
def test_an_edit_that_is_unclear_changes_nothing(text: bytes, old: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        replace_once(text, old, "x")


def test_long_results_keep_their_ends() -> None:
    assert shorten("abcdef", 6) == "abcdef"
    assert shorten("abcdefg", 5) == "ab\n[2 characters left out]\nefg"
