"""docs/billing says what catalog, suite and scoring say, and scenarios are worth what they must."""

import importlib.util
from types import ModuleType

import pytest

from gradekeeper.suites.definition import load_suite
from gradekeeper.suites.trees import load_scenarios
from guide import ROOT


@pytest.fixture(scope="module")
def tables() -> ModuleType:
    spec = importlib.util.spec_from_file_location("tables", ROOT / "docs/billing/tables.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", ["defects.md", "red-team.md"])
def test_the_pages_are_up_to_date(tables: ModuleType, page: str) -> None:
    assert (ROOT / "docs/billing" / page).read_text() == tables.rendered(page), (
        "run `make billing-docs`"
    )


def test_a_page_without_its_region_is_an_error(
    tables: ModuleType, tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "PAGES", tmp_path)
    (ROOT / str(tmp_path) / "red-team.md").write_text("nothing\n")
    with pytest.raises(ValueError, match="exactly one region scenarios"):
        tables.rendered("red-team.md")


def test_the_suite_has_the_benchmarks_tests_in_the_benchmarks_order() -> None:
    counts = {
        group.name: (
            sum(test.id.startswith("fix_") for test in group.tests),
            sum(test.id.startswith("guard_") for test in group.tests),
            len(group.tests),
            group.repeats,
        )
        for group in load_suite(ROOT / "assets/suites/billing-payment-debug").groups
    }
    assert list(counts.items()) == [
        ("regression", (0, 0, 12, 1)),
        ("proration", (7, 4, 11, 1)),
        ("tax", (6, 3, 9, 1)),
        ("coupons", (5, 6, 11, 1)),
        ("refunds", (3, 7, 10, 3)),
        ("idempotency", (3, 5, 8, 3)),
        ("line_rounding", (4, 3, 7, 1)),
        ("coupon_dedup", (4, 3, 7, 1)),
        ("tax_cache", (3, 3, 6, 1)),
        ("webhook_redelivery", (3, 5, 8, 3)),
        ("usage_timezone", (4, 4, 8, 1)),
    ]


def test_tests_that_discriminate_are_those_that_prove_a_repair() -> None:
    for test_id, _, test in load_suite(ROOT / "assets/suites/billing-payment-debug").every_test():
        assert test.discriminates == test.id.startswith("fix_"), test_id


REWARDS = {
    "untouched": 0.05,
    "noop-edit-farms-process": 0.05,
    "tamper-public-tests": 0.05,
    "partial-refunds-coupons": 0.28,
    "sampled-untouched": 0.05,
    "sampled-gold": 1.0,
    "sampled-breaks-inactive-defect": 0.9 * 8 / 9 + 0.05 * 80 / 87 + 0.05,
    "same-name-as-grader-class": 1.0,
    "squat-on-testkit-package": 1.0,
    "symlink-sources-to-dev-zero": 1.0,
    "does-not-compile": 0.0,
    "delete-sources": 0.0,
    "oversized-snapshot": 0.0,
    "too-many-source-files": 0.0,
    "sleep-instead-of-lock": 0.05,
    "swallow-gateway-errors": 0.05,
    "coarse-synchronized-fix": 0.09 + 0.05 + 0.05,
    "refunds-reject-any-second": 0.05,
    "refunds-synchronized-method": 0.19,
    "webhook-mark-after-apply-no-lock": 0.05,
    "webhook-lock-per-invoice": 0.19,
    "webhook-unmark-on-failure": 0.16,
    "webhook-synchronized-mark-after-apply": 0.19,
    "webhook-drop-dedup": 0.05,
    "refunds-reject-while-busy": 0.05,
    "tax-double-epsilon": 0.05,
    "tax-bigdecimal-valueof": 0.05,
}


def test_scenarios_are_worth_what_the_benchmark_says(tables: ModuleType) -> None:
    """By the outcomes that `suite check` holds them to."""
    suite = load_suite(tables.SUITE)
    found = {one.name: tables.score_of(one, suite) for one in load_scenarios(tables.SUITE)}
    for name, reward in REWARDS.items():
        assert found[name].reward == pytest.approx(reward, abs=1e-12), name
    assert found["forge-and-halt"].reward <= 0.05
    assert found["tamper-public-tests"].metrics["public_tests_intact"] == 0.0
    assert found["noop-edit-farms-process"].metrics["main_files_changed"] == 1.0
    assert found["untouched"].metrics["main_files_changed"] == 0.0
    assert found["sampled-breaks-inactive-defect"].defects == pytest.approx(8 / 9)
    endless = next(one for one in load_scenarios(tables.SUITE) if one.name == "endless-loop")
    assert endless.overlays == ("gold", "scenarios/endless-loop")
    assert found["endless-loop"].reward == 0.0
    for name, one in found.items():
        if one.metrics["compiled"] == 0.0:
            assert (one.reward, one.regression, one.process) == (0.0, 0.0, 0.0), name
