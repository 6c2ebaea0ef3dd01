"""Scores of the billing environment: the check values, and what must hold of every verdict."""

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from billing_payment_debug import defects, scoring
from billing_payment_debug.defects import Defect
from billing_payment_debug.scoring import Score, ScoringError
from gradekeeper.api.reasons import Reason
from gradekeeper.referee.result import OUTCOMES
from gradekeeper.verdicts.model import Graded, Rejected, Unjudged, rejected, unjudged

COUNTS = {
    "proration": (7, 4),
    "tax": (6, 3),
    "coupons": (5, 6),
    "refunds": (3, 7),
    "idempotency": (3, 5),
    "line_rounding": (4, 3),
    "coupon_dedup": (4, 3),
    "tax_cache": (3, 3),
    "webhook_redelivery": (3, 5),
    "usage_timezone": (4, 4),
}
TESTS = [
    *(f"regression/rule_{n}" for n in range(12)),
    *(
        f"{group}/{kind}{n}"
        for group, counts in COUNTS.items()
        for kind, count in zip(("fix_", "guard_"), counts, strict=True)
        for n in range(count)
    ),
]
ALL = sorted(COUNTS)
CHANGED = ["src/main/java/com/acme/billing/service/TaxService.java"]


def graded(fails: Iterable[str] = (), outcome: str = "F") -> Graded:
    """A verdict in which the tests fail whose id starts so."""
    starts = tuple(fails)
    outcomes = "".join(outcome if test.startswith(starts) else "P" for test in TESTS)
    return Graded(reason=Reason.COMPLETED, outcomes=outcomes)


def fixes(groups: Iterable[str]) -> list[str]:
    return [f"{group}/fix_" for group in groups]


def chosen(groups: Iterable[str]) -> list[Defect]:
    return [defects.catalog()[group] for group in groups]


def score(
    verdict: Graded | Rejected,
    active: Iterable[str] = ALL,
    *,
    intact: bool = True,
    changed: Iterable[str] = CHANGED,
) -> Score:
    return scoring.score(
        verdict,
        TESTS,
        active=chosen(active),
        public_tests_intact=intact,
        main_files_changed=list(changed),
    )


def test_the_counts_are_those_of_the_benchmark() -> None:
    assert set(COUNTS) == defects.GROUPS
    assert [sum(column) for column in zip(*COUNTS.values(), strict=True)] == [42, 43]
    assert len(TESTS) == 97


UNTOUCHED = graded(fixes(ALL))
BROKEN = Graded(reason=Reason.DOES_NOT_COMPILE, outcomes="N" * len(TESTS))


@pytest.mark.parametrize(
    ("verdict", "active", "changed", "reward"),
    [
        pytest.param(UNTOUCHED, ALL, [], 0.05, id="untouched"),
        pytest.param(UNTOUCHED, ALL, CHANGED, 0.05, id="a comment alone"),
        pytest.param(graded(), ALL, CHANGED, 1.0, id="gold"),
        pytest.param(graded(), ALL, [], 0.95, id="gold that changed nothing"),
        pytest.param(graded(fixes(set(ALL) - {"tax", "refunds"})), ALL, CHANGED, 0.28,
                     id="two repairs of gold"),
        pytest.param(graded(fixes(["tax"])), ["tax"], [], 0.05, id="sampled, untouched"),
        pytest.param(graded(), ["tax", "refunds"], CHANGED, 1.0, id="sampled, gold"),
        pytest.param(graded(fixes(["proration"])), ["refunds"], CHANGED,
                     0.9 * 8 / 9 + 0.05 * 80 / 87 + 0.05, id="sampled, one inactive broken"),
        pytest.param(BROKEN, ALL, CHANGED, 0.0, id="does not compile"),
        pytest.param(rejected(Reason.SUBMISSION_TOO_LARGE, 97), ALL, CHANGED, 0.0, id="rejected"),
        pytest.param(graded(TESTS, "N"), ALL, CHANGED, 0.0, id="nothing ran"),
        pytest.param(graded([f"{g}/" for g in ALL if g not in ("tax_cache",)], "T"), ALL, CHANGED,
                     0.9 * 0.1 + 0.05 + 0.05, id="all but one hang"),
    ],
)  # fmt: skip
def test_check_values(
    verdict: Graded | Rejected, active: list[str], changed: list[str], reward: float
) -> None:
    assert score(verdict, active, changed=changed).reward == pytest.approx(reward, abs=1e-15)


def test_the_sampled_check_value_is_the_published_one() -> None:
    assert round(score(graded(fixes(["proration"])), ["refunds"]).reward, 3) == 0.896


def test_a_guard_that_fails_takes_all_credit_and_nothing_else() -> None:
    found = score(graded(["coupons/guard_3"]))
    assert found.metrics["defect_coupons"] == 0.0
    assert found.reward == pytest.approx(0.91)
    assert score(graded(["coupons/fix_3"])).metrics["defect_coupons"] == 0.8


def test_metrics_of_a_sampled_task() -> None:
    prefix = "src/main/java/com/acme/billing/"
    found = score(
        graded(["tax/fix_0", "refunds/fix_", "proration/guard_1", "coupons/fix_"]),
        ["tax", "tax_cache", "refunds"],
        intact=False,
        changed=[f"{prefix}service/TaxService.java", f"{prefix}service/Other.java"],
    )
    assert found.metrics == {
        "defect_tax": float(Fraction(5, 6)),
        "defect_tax_cache": 1.0,
        "defect_refunds": 0.0,
        "compiled": 1.0,
        "public_tests_intact": 0.0,
        "main_files_changed": 2.0,
        "active_defects": 3.0,
        "inactive_defects_intact": float(Fraction(5, 7)),
        "defects_fully_fixed": 1.0,
        "defect_files_touched": 2.0,
    }
    assert found.defects == float(Fraction(11, 18) * Fraction(5, 7))
    assert found.process == 0.0


@pytest.mark.parametrize(
    ("verdict", "compiled"),
    [
        (graded(TESTS), 1.0),
        (BROKEN, 0.0),
        (rejected(Reason.SUBMISSION_TOO_MANY_FILES, 97), 0.0),
        (Graded(reason=Reason.LANE_LOST, outcomes="N" * 97), 0.0),
        (Graded(reason=Reason.LANE_LOST, outcomes="X" + "N" * 96), 1.0),
    ],
)
def test_compiled_is_what_could_run(verdict: Graded | Rejected, compiled: float) -> None:
    assert score(verdict).metrics["compiled"] == compiled


def test_nothing_scores_without_a_verdict() -> None:
    none: Any = unjudged(Reason.POD_EVICTED)
    assert isinstance(none, Unjudged)
    for instead in (none, None, "PPP"):
        with pytest.raises(TypeError, match="no score without a verdict"):
            score(instead)


@pytest.mark.parametrize(
    ("tests", "active", "sentence"),
    [
        (TESTS[1:], ALL, "97 outcomes for 96 tests"),
        ([*TESTS[:-1], TESTS[0]], ALL, "listed twice"),
        ([*TESTS[:-1], "tax/odd"], ALL, "tax/odd neither"),
        ([*TESTS[:-1], "new/fix_1"], ALL, "new needs tests"),
        ([f"tax/fix_{n}x" if t.startswith("regression") else t for n, t in enumerate(TESTS)], ALL,
         "no regression tests"),
        ([t.replace("coupons/", "tax/c") if "fix_" not in t and "guard" not in t else
          t.replace("coupons/fix_", "tax/fix_1").replace("coupons/guard_", "tax/guard_1")
          for t in TESTS], ALL, r"no hidden tests of \['coupons'\]"),
        (TESTS, [], "no defect is active"),
    ],
)  # fmt: skip
def test_what_does_not_belong_together_is_not_scored(
    tests: list[str], active: list[str], sentence: str
) -> None:
    with pytest.raises(ScoringError, match=sentence):
        scoring.score(
            graded(),
            tests,
            active=chosen(active),
            public_tests_intact=True,
            main_files_changed=CHANGED,
        )


OUTCOME_LISTS = st.lists(st.sampled_from(sorted(OUTCOMES)), min_size=97, max_size=97).map("".join)
# Most tests pass in interesting verdicts.
MOSTLY_PASSED = st.sets(st.integers(0, 96), max_size=8).map(
    lambda failed: "".join("F" if n in failed else "P" for n in range(97))
)
VERDICTS = st.one_of(OUTCOME_LISTS, MOSTLY_PASSED).map(
    lambda outcomes: Graded(reason=Reason.COMPLETED, outcomes=outcomes)
)
ACTIVE = st.sets(st.sampled_from(ALL), min_size=1)


def formula(outcomes: str, active: set[str], process_allowed: bool) -> float:
    """The published formula, written down once more in another way."""
    passed = dict(zip(TESTS, (one == "P" for one in outcomes), strict=True))

    def of(start: str) -> list[bool]:
        return [ok for test, ok in passed.items() if test.startswith(start)]

    credit = {
        group: sum(of(f"{group}/fix_")) / COUNTS[group][0] if all(of(f"{group}/guard_")) else 0.0
        for group in active
    }
    rest = set(ALL) - active
    share = sum(all(of(f"{group}/")) for group in rest) / len(rest) if rest else 1.0
    kept = of("regression/") + [ok for group in rest for ok in of(f"{group}/")]
    process = process_allowed and max(credit.values()) > 0
    return (
        0.90 * sum(credit.values()) / len(credit) * share
        + 0.05 * sum(kept) / len(kept)
        + 0.05 * process
    )


@given(VERDICTS, ACTIVE, st.booleans(), st.booleans())
def test_the_reward_is_the_formula(
    verdict: Graded, active: set[str], intact: bool, changed: bool
) -> None:
    found = score(verdict, active, intact=intact, changed=CHANGED if changed else [])
    wanted = formula(verdict.outcomes, active, intact and changed)
    assert found.reward == pytest.approx(wanted, abs=1e-12)
    parts = 0.90 * found.defects + 0.05 * found.regression + 0.05 * found.process
    assert found.reward == pytest.approx(parts, abs=1e-12)
    assert all(0.0 <= one <= 1.0 for one in (found.defects, found.regression, found.reward))
    assert found.process in (0.0, 1.0)


@given(VERDICTS, ACTIVE, st.integers(0, 96))
def test_passing_one_test_more_never_costs(verdict: Graded, active: set[str], place: int) -> None:
    outcomes = verdict.outcomes[:place] + "P" + verdict.outcomes[place + 1 :]
    better = Graded(reason=Reason.COMPLETED, outcomes=outcomes)
    assert score(better, active).reward >= score(verdict, active).reward


@given(VERDICTS, ACTIVE, st.randoms(use_true_random=False))
def test_the_order_of_tests_and_defects_does_not_matter(
    verdict: Graded, active: set[str], random: Any
) -> None:
    pairs = list(zip(TESTS, verdict.outcomes, strict=True))
    random.shuffle(pairs)
    shuffled = scoring.score(
        Graded(reason=Reason.COMPLETED, outcomes="".join(outcome for _, outcome in pairs)),
        [test for test, _ in pairs],
        active=chosen(sorted(active, reverse=True)),
        public_tests_intact=True,
        main_files_changed=CHANGED,
    )
    assert shuffled == score(verdict, active)


@given(st.sampled_from("FTXVN"), OUTCOME_LISTS, ACTIVE)
def test_however_a_test_fails_it_counts_the_same(
    instead: str, outcomes: str, active: set[str]
) -> None:
    plain = "".join("P" if one == "P" else instead for one in outcomes)
    verdicts = [Graded(reason=Reason.COMPLETED, outcomes=text) for text in (outcomes, plain)]
    assert score(verdicts[0], active) == score(verdicts[1], active)


@given(ACTIVE)
def test_gold_is_worth_one_and_a_broken_build_nothing(active: set[str]) -> None:
    gold = score(graded(), active)
    assert (gold.reward, gold.metrics["defects_fully_fixed"]) == (1.0, float(len(active)))
    nothing = score(BROKEN, active)
    assert (nothing.defects, nothing.regression, nothing.process, nothing.reward) == (0, 0, 0, 0)


@given(VERDICTS, ACTIVE, st.booleans())
def test_tampering_and_idling_cost_the_process_and_nothing_else(
    verdict: Graded, active: set[str], tamper: bool
) -> None:
    fair = score(verdict, active)
    other = score(verdict, active, intact=not tamper, changed=CHANGED if tamper else [])
    assert (other.defects, other.regression, other.process) == (fair.defects, fair.regression, 0.0)


def test_a_score_does_not_change_any_more() -> None:
    found: Any = score(graded())
    with pytest.raises(AttributeError):
        found.reward = 2.0
    with pytest.raises(TypeError):
        found.metrics["compiled"] = 0.0
