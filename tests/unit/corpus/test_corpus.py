"""The corpus is what it says it is, and its tally counts what fooled the grading."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from corpus.entries import Entry, entry_tree, gold_tree, groups_of, load_corpus, touched
from corpus.tally import Graded, Rates, Row, headline, page, problems, rates
from gradekeeper.suites.definition import load_suite
from gradekeeper.suites.errors import DefinitionError

ROOT = Path(__file__).resolve().parents[3]
BILLING = ROOT / "assets" / "suites" / "billing-payment-debug"
REFUNDS = "src/main/java/com/acme/billing/service/RefundService.java"


@pytest.fixture(scope="module")
def gold() -> dict[str, tuple[bytes, bool]]:
    return gold_tree(BILLING)


def test_the_corpus_is_large_and_every_entry_tells_why() -> None:
    entries = load_corpus(BILLING)
    assert len([one for one in entries if one.side == "wrong"]) >= 60
    assert len([one for one in entries if one.side == "right"]) >= 40
    assert len({one.name for one in entries}) == len(entries)
    assert all(one.kind and one.why.endswith((".", "?", "”")) for one in entries)


def test_every_entry_applies_to_gold_and_changes_what_is_submitted(
    gold: dict[str, tuple[bytes, bool]],
) -> None:
    submission = load_suite(BILLING).submission
    seen: dict[tuple[tuple[str, bytes], ...], str] = {}
    for entry in load_corpus(BILLING):
        tree = entry_tree(entry, gold)
        changed = {path: tree[path][0] for path in tree if tree[path] != gold.get(path)}
        assert changed, entry.name
        assert all(path.startswith("src/main/java/") for path in changed), entry.name
        assert len(tree) <= submission.max_files, entry.name
        assert touched(tree, gold), entry.name
        twin = seen.setdefault(tuple(sorted(changed.items())), entry.name)
        assert twin == entry.name, f"{entry.name} is {twin} once more"


def test_no_entry_tells_what_the_hidden_tests_are_called() -> None:
    tests = [test.id for group in load_suite(BILLING).groups for test in group.tests]
    for path in (BILLING / "corpus").rglob("*"):
        if path.is_file():
            text = path.read_text(encoding="utf-8")
            assert [test for test in tests if test in text] == [], path


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A corpus of one wrong and one right entry."""
    for side, name in (("wrong", "refunds-lock-of-one-call"), ("right", "refunds-one-lock")):
        target = tmp_path / "corpus" / side
        target.mkdir(parents=True)
        shutil.copy(BILLING / "corpus" / side / f"{name}.patch", target)
    (tmp_path / "corpus" / "locks.yaml").write_text(_list("refunds-lock-of-one-call"))
    return tmp_path


def _list(wrong: str, right: str = "refunds-one-lock") -> str:
    why = "because a rule of README says so, in so many words as a sentence needs."
    return "".join(
        f"{side}:\n  - {{name: {name}, kind: a lock, why: '{why}'}}\n"
        for side, name in (("wrong", wrong), ("right", right))
    )


def test_a_small_corpus_is_read(copy: Path) -> None:
    assert [(one.side, one.name) for one in load_corpus(copy)] == [
        ("wrong", "refunds-lock-of-one-call"),
        ("right", "refunds-one-lock"),
    ]


@pytest.mark.parametrize(
    ("wrong", "right", "told"),
    [
        ("refunds-one-lock", "refunds-one-lock", "used twice"),
        ("refunds-lost", "refunds-one-lock", "needs one patch or folder"),
        ("refunds-lock-of-one-call", "other", "needs one patch or folder"),
        ("Refunds_", "refunds-one-lock", "name"),
    ],
)
def test_lists_that_do_not_fit_are_refused(copy: Path, wrong: str, right: str, told: str) -> None:
    (copy / "corpus" / "locks.yaml").write_text(_list(wrong, right))
    with pytest.raises(DefinitionError, match=told):
        load_corpus(copy)


def test_a_patch_beside_a_folder_of_its_name_is_refused(copy: Path) -> None:
    (copy / "corpus" / "right" / "refunds-one-lock").mkdir()
    with pytest.raises(DefinitionError, match="needs one patch or folder"):
        load_corpus(copy)


def test_a_folder_is_laid_over_gold_and_must_differ(
    tmp_path: Path, gold: dict[str, tuple[bytes, bool]]
) -> None:
    entry = Entry("right", "a-folder", "rewrite", "because", tmp_path)
    (tmp_path / REFUNDS).parent.mkdir(parents=True)
    (tmp_path / REFUNDS).write_bytes(gold[REFUNDS][0])
    with pytest.raises(DefinitionError, match="does not differ"):
        entry_tree(entry, gold)
    (tmp_path / REFUNDS).write_bytes(gold[REFUNDS][0] + b"// more\n")
    (tmp_path / "src/main/java/More.java").write_text("class More {}\n")
    tree = entry_tree(entry, gold)
    assert touched(tree, gold) == ("RefundService", "1 new file")
    assert groups_of(tree, gold, {REFUNDS: {"refunds"}}) is None
    (tmp_path / "src/main/java/More.java").unlink()
    assert groups_of(entry_tree(entry, gold), gold, {REFUNDS: {"refunds"}}) == {"refunds"}
    bills = {"coupons", "coupon_dedup", "line_rounding"}
    assert groups_of(entry_tree(entry, gold), gold, {REFUNDS: {"line_rounding"}}) == bills
    assert groups_of(entry_tree(entry, gold), gold, {REFUNDS: {"tax"}}) == bills | {"tax"}


def row(side: str, *outcomes: str, reason: str = "Completed") -> Row:
    made = tuple(Graded(reason, one, 1.0) for one in outcomes)
    entry = Entry("wrong" if side == "wrong" else "right", f"{side}-one", "a|kind", "why", ROOT)
    return Row(entry, ("RefundService",), made)


@pytest.mark.parametrize(
    ("graded", "finding", "changed"),
    [
        (row("wrong", "PFP", "PFP"), "", False),
        (row("wrong", "PFP", "PPF"), "", True),
        (row("wrong", "PFP", "PPP"), "false pass", True),
        (row("wrong", "PPP"), "false pass", False),
        (row("right", "PPP", "PPP"), "", False),
        (row("right", "PPP", "PTP"), "false fail", True),
        (row("right", "NNN", reason="LaneLost"), "false fail", False),
        (row("wrong", "NNN", reason="DoesNotCompile"), "corpus mistake", False),
        (row("wrong", "", reason="SubmissionTooLarge"), "corpus mistake", False),
        (row("right", "", reason="SubmissionTooLarge"), "false fail", False),
        (row("right", "NNN", reason="DoesNotCompile"), "false fail", False),
        (row("right"), "not graded", False),
    ],
)
def test_what_gradings_say_of_an_entry(graded: Row, finding: str, changed: bool) -> None:
    assert (graded.finding, graded.changed) == (finding, changed)
    assert bool(problems([graded])) == bool(finding)


def test_rates_count_entries_and_gradings() -> None:
    rows = [
        row("wrong", "PPP", "PFP", "PPP"),
        row("wrong", "FPP", "FPP", "FPP"),
        row("right", "PPP", "PPP", "PFP"),
        row("right"),
    ]
    wrong, right = rates(rows, "wrong"), rates(rows, "right")
    assert wrong == Rates(entries=2, fooled=1, gradings=6, wrongly=2, changed=1)
    assert right == Rates(entries=1, fooled=1, gradings=3, wrongly=1, changed=1)
    told = "\n".join(headline(rows))
    assert "1 of 2 passed every test at least once (50.0 % false passes; 2 of 6 gradings)" in told
    assert "1 of 1 lost a test at least once (100.0 % false fails; 1 of 3 gradings)" in told


def test_the_page_tells_every_entry_and_no_test() -> None:
    text = page(
        [row("wrong", "PPF", "PPP"), row("right")], {"date": "today", "commit": "abc"}, "By all."
    )
    assert "Last run: today, commit `abc`; 1 of 2 entries. By all." in text
    assert "| wrong `wrong-one` | false pass | 1, 0 |" in text
    assert "| `right-one` | RefundService | why | not graded |" in text
    tests = [test.id for group in load_suite(BILLING).groups for test in group.tests]
    assert [test for test in tests if test in text] == []
