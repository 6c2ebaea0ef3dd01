"""The judge must see behaviour and nothing else: not token texts, not harmless order."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradekeeper.referee import judge
from gradekeeper.referee.judge import Rules, canonical, compare, difference, matches
from gradekeeper.referee.roles import Roles

A, B, C = ("tk_" + digit * 16 for digit in "abc")
MULTI = Rules(multiset=True)


def dec(text):
    return {"t": "dec", "v": text}


def test_tokens_are_named_by_first_appearance():
    transcript = [["call", "refund", [dec("1.50")]], ["obs", "ref", A], ["obs", "again", [B, A]]]
    assert canonical(transcript, {A: "refund", B: "charge"}, Rules()) == [
        ["call", "refund", [dec("1.5")]],
        ["obs", "ref", "$refund#1"],
        ["obs", "again", ["$charge#1", "$refund#1"]],
    ]


def test_a_lane_cannot_spell_a_token_name_itself():
    honest = canonical([["obs", "ref", A]], {A: "refund"}, Rules())
    forged = canonical([["obs", "ref", "$refund#1"]], {A: "refund"}, Rules())
    assert honest == [["obs", "ref", "$refund#1"]]
    assert not matches(forged, honest, Rules())


def test_tokens_inside_longer_texts_are_named_too():
    got = canonical([["obs", "note", f"paid {A}, ${B}{A}."]], {A: "pay", B: "pay"}, Rules())
    assert got == [["obs", "note", "paid $pay#1, $$$pay#2$pay#1."]]


def test_a_token_of_another_run_is_only_text():
    assert canonical([["obs", "ref", A]], {B: "refund"}, Rules()) == [["obs", "ref", A]]


@pytest.mark.parametrize(
    ("left", "right"),
    [("1.20", "1.2"), ("1E+2", "100"), ("0.00", "-0"), ("12e-1", "1.2"), ("-0.50", "-0.5")],
)
def test_equal_decimals_compare_equal(left, right):
    one, other = (canonical([["obs", "k", dec(v)]], {}, Rules()) for v in (left, right))
    assert matches(one, other, Rules())


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (dec("1.2"), dec("1.21")),
        (dec("1"), {"t": "int", "v": "1"}),
        (dec("1"), "1"),
        (True, {"t": "int", "v": "1"}),
        (None, "null"),
        ([], {"t": "map", "v": []}),
    ],
)
def test_different_values_differ(left, right):
    one, other = (canonical([["obs", "k", v]], {}, Rules()) for v in (left, right))
    assert difference(one, other, Rules()) == 0


def test_map_entries_have_no_order():
    pairs = [["b", dec("2.0")], ["a", A]]
    one = canonical([["obs", "m", {"t": "map", "v": pairs}]], {A: "x"}, Rules())
    other = canonical([["obs", "m", {"t": "map", "v": pairs[::-1]}]], {A: "x"}, Rules())
    assert one == other


def test_order_counts_unless_the_test_says_multiset():
    transcript = [["obs", "a", None], ["obs", "b", None]]
    swapped = transcript[::-1]
    assert canonical(transcript, {}, Rules()) != canonical(swapped, {}, Rules())
    assert canonical(transcript, {}, MULTI) == canonical(swapped, {}, MULTI)


def test_a_multiset_keeps_counts():
    one, two = [["obs", "a", None]], [["obs", "a", None]] * 2
    assert difference(canonical(two, {}, MULTI), canonical(one, {}, MULTI), MULTI) == 1
    assert difference(canonical(one, {}, MULTI), canonical(two, {}, MULTI), MULTI) == 1


def test_which_call_a_token_came_from_is_seen():
    """One receipt shown twice is not two receipts, whatever the order."""
    tokens = {A: "pay", B: "pay"}
    right = [["obs", "r", A], ["obs", "r", B], ["obs", "all", [A, B]]]
    wrong = [["obs", "r", A], ["obs", "r", A], ["obs", "all", [A, B]]]
    assert canonical(right, tokens, MULTI) != canonical(wrong, tokens, MULTI)


def test_ties_between_masked_entries_are_broken_by_what_else_uses_the_token():
    tokens = {A: "pay", B: "pay"}
    one = [["obs", "all", A], ["obs", "all", B], ["obs", "first", A]]
    other = [["obs", "all", A], ["obs", "all", B], ["obs", "first", B]]
    assert canonical(one, tokens, MULTI) == canonical(other, tokens, MULTI)


def test_ignored_entries_do_not_count_but_their_tokens_do():
    rules = Rules(ignore=frozenset({"log", "call:notify"}))
    transcript = [["call", "notify", ["x"]], ["threw", "log", "E"], ["obs", "r", A]]
    assert canonical(transcript, {A: "notify"}, rules) == [["obs", "r", "$notify#1"]]


def test_tolerance_is_absolute_and_per_key():
    rules = Rules(multiset=True, tolerance={"sum": "0.01"})
    expected = canonical([["obs", "sum", dec("10.00")], ["obs", "x", dec("10.00")]], {}, rules)

    def judged(total, other):
        got = canonical([["obs", "x", dec(other)], ["obs", "sum", dec(total)]], {}, rules)
        return matches(got, expected, rules)

    assert judged("10.01", "10")
    assert judged("9.99", "10")
    assert not judged("10.011", "10")
    assert not judged("10", "10.001")


def test_tolerant_values_pair_up_by_size():
    rules = Rules(multiset=True, tolerance={"s": "0.1"})
    expected = canonical([["obs", "s", dec("1")], ["obs", "s", dec("2")]], {}, rules)
    got = canonical([["obs", "s", dec("1.95")], ["obs", "s", dec("1.05")]], {}, rules)
    assert matches(got, expected, rules)


def test_tolerance_needs_the_same_form():
    rules = Rules(tolerance={"s": "1"})
    expected = canonical([["obs", "s", [dec("1")]]], {}, rules)
    for value in ([dec("1"), dec("1")], dec("1"), "1", [{"t": "int", "v": "1"}]):
        assert not matches(canonical([["obs", "s", value]], {}, rules), expected, rules)


def test_huge_exponents_cost_nothing():
    rules = Rules(multiset=True, tolerance={"s": "1"})
    expected = canonical([["obs", "s", dec("1")]], {}, rules)
    got = canonical([["obs", "s", dec("1E+9999999999")]], {}, rules)
    assert difference(got, expected, rules) == 0


TOKENS = {f"tk_{n:016x}": ("pay", "void")[n % 2] for n in range(4)}
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.sampled_from([*TOKENS, "word", "$pay#1", "tk_"])
    | st.sampled_from(["0", "1.10", "12E3"]).map(dec),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(st.tuples(st.sampled_from("ab"), inner).map(list), max_size=2).map(
            lambda pairs: {"t": "map", "v": pairs}
        )
        | st.dictionaries(st.sampled_from("xy"), inner, max_size=2).map(
            lambda fields: {"t": "Receipt", "f": fields}
        )
    ),
    max_leaves=6,
)
ENTRIES = st.one_of(
    st.tuples(st.just("obs"), st.sampled_from(["k", "l"]), VALUES).map(list),
    st.tuples(st.just("call"), st.sampled_from(["pay", "void"]), st.lists(VALUES, max_size=2)).map(
        list
    ),
)


@settings(deadline=None, max_examples=150)
@given(st.lists(ENTRIES, max_size=6), st.randoms(use_true_random=False), st.booleans())
def test_renaming_tokens_changes_nothing(transcript, random, multiset):
    rules = Rules(multiset=multiset)
    texts = random.sample(range(2**32), len(TOKENS))
    fresh = {token: f"tk_{text:016x}" for token, text in zip(TOKENS, texts, strict=True)}

    def renamed(value):
        if isinstance(value, str):
            return fresh.get(value, value)
        if isinstance(value, list):
            return [renamed(item) for item in value]
        if isinstance(value, dict):
            return {key: renamed(item) for key, item in value.items()}
        return value

    other = {fresh[token]: method for token, method in TOKENS.items()}
    assert canonical(transcript, TOKENS, rules) == canonical(renamed(transcript), other, rules)


@settings(deadline=None, max_examples=150)
@given(st.lists(ENTRIES, max_size=6), st.randoms(use_true_random=False))
def test_permuting_a_multiset_changes_nothing(transcript, random):
    shuffled = transcript[:]
    random.shuffle(shuffled)
    assert canonical(transcript, TOKENS, MULTI) == canonical(shuffled, TOKENS, MULTI)


@given(st.lists(ENTRIES, max_size=6), st.lists(ENTRIES, max_size=6))
def test_matching_is_equality_of_canonical_transcripts(one, other):
    left, right = (canonical(t, TOKENS, Rules()) for t in (one, other))
    same = judge.encode_canonical(left) == judge.encode_canonical(right)
    assert matches(left, right, Rules()) is same


def test_many_interchangeable_tokens_are_cheap():
    """Twenty identical concurrent calls whose answers pair up must not explode."""
    tokens = {f"tk_{n:016x}": "hold" if n < 20 else "take" for n in range(40)}
    names = list(tokens)
    transcript = [["call", "take", [names[n]]] for n in range(20)]
    transcript += [["obs", "r", [names[n], names[20 + n]]] for n in range(20)]
    assert canonical(transcript, tokens, MULTI) == canonical(transcript[::-1], tokens, MULTI)


def ring(tokens):
    return [
        ["obs", "r", [one, other]]
        for one, other in zip(tokens, tokens[1:] + tokens[:1], strict=True)
    ]


def chain(tokens):
    return ring(tokens)[:-1]


def twins(tokens):
    return [["obs", "t", token] for token in tokens]


@pytest.mark.parametrize("shape", [chain, ring, twins])
def test_twice_as_many_tokens_are_looked_at_twice_as_often(shape):
    """Counted, not measured: a chain must not be gone through once a link."""
    looks = []
    for count in (30, 60, 120):
        tokens = {f"tk_{number * 7919:016x}": "pay" for number in range(count)}
        looks.append(Roles(shape(list(tokens)), list(tokens), tokens).looks)
    assert looks[1] < 2.5 * looks[0] and looks[2] < 2.5 * looks[1]


@settings(deadline=None, max_examples=150)
@given(st.lists(ENTRIES, max_size=6), st.lists(ENTRIES, max_size=6), st.booleans())
def test_comparing_is_equality_of_canonical_transcripts(one, other, multiset):
    rules = Rules(multiset=multiset, tolerance={"l": "0.5"})
    right = [canonical(each, TOKENS, rules) for each in (other, one[:-1], one + one)]
    observed = canonical(one, TOKENS, rules)
    equal = any(matches(observed, each, rules) for each in right)
    assert (compare(lambda: one, TOKENS, rules, right) is None) is equal
    assert compare(lambda: one, TOKENS, rules, [*right, observed]) is None


def test_what_differs_is_counted_or_placed():
    one, two = [["obs", "a", None]], [["obs", "a", None], ["obs", "b", None]]
    assert compare(lambda: two, {}, MULTI, [one]) == (
        "what was seen differs: 1 entries are not right, 0 are missing"
    )
    assert compare(lambda: two, {}, Rules(), [one, []]) == "entry 1 differs"
    assert compare(lambda: one, {}, Rules(), [two]) == "entry 1 differs"


def test_deep_maps_cost_their_depth_and_no_more():
    """Each level was once gone through twice: a thousand times what was inside of ten levels."""
    inner = A + "x" * 20_000
    for _ in range(10):
        inner = {"t": "map", "v": [["k", inner]]}
    tokens = {A: "pay"}
    entries = [["obs", "m", inner]] * 40
    assert canonical(entries, tokens, MULTI) == canonical(entries, tokens, Rules())


def record_of(**components):
    return [["obs", "k", {"t": "Foo", "f": components}]]


@pytest.mark.parametrize("tag", ["map", "dec", "int", "time", "enum", "opaque", "Bar"])
@pytest.mark.parametrize("more", [{}, {"v": None}, {"v": "1.0"}, {"f": {"t": "map", "v": []}}])
@pytest.mark.parametrize("multiset", [True, False])
@pytest.mark.parametrize("tolerance", [{}, {"k": "0.01"}])
def test_components_of_a_record_are_no_tags(tag, more, multiset, tolerance):
    rules = Rules(multiset=multiset, tolerance=tolerance)
    said = record_of(t=tag, **more)
    right = canonical(said, {}, rules)
    assert compare(lambda: said, {}, rules, [right]) is None
    assert compare(lambda: record_of(t=tag, x="another", **more), {}, rules, [right]) is not None


@pytest.mark.parametrize("name", ["t", "c", "v", "f", "receipt"])
@pytest.mark.parametrize("multiset", [True, False])
def test_a_token_is_named_in_every_component_of_a_record(name, multiset):
    rules = Rules(multiset=multiset)
    one, two = "tk_" + "1" * 16, "tk_" + "2" * 16
    right = canonical(record_of(**{name: one}), {one: "refund"}, rules)
    said = record_of(**{name: two})
    assert compare(lambda: said, {two: "refund"}, rules, [right]) is None
