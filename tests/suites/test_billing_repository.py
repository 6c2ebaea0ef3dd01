"""The starting repository as an agent finds it: it builds, and two public tests fail."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from gradekeeper.suites.definition import load_suite
from gradekeeper.suites.trees import GOLD, load_scenarios, read_tree, submission_tree

pytestmark = [pytest.mark.slow]

ROOT = Path(__file__).parents[2]
BILLING = ROOT / "assets" / "suites" / "billing-payment-debug"
REPOSITORY = ROOT / "assets" / "task_repos" / "billing-service"

FIX_AND_GUARD = {
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
THREE_TIMES = {"refunds", "idempotency", "webhook_redelivery"}


def run_tests(repository: Path) -> str:
    done = subprocess.run(
        ["sh", "run_tests.sh"],
        cwd=repository,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    return done.stdout + done.stderr


def test_two_of_ten_defects_show_in_public_tests(tmp_path: Path) -> None:
    shutil.copytree(REPOSITORY, tmp_path / "repo", ignore=shutil.ignore_patterns("build"))
    said = run_tests(tmp_path / "repo")
    assert said.rstrip().endswith("21 passed, 2 failed")
    assert re.findall(r"^FAIL (\w+)\.", said, re.MULTILINE) == [
        "DiscountServiceTest",
        "SubscriptionServiceTest",
    ]


def test_gold_passes_the_public_tests(tmp_path: Path) -> None:
    for name, (content, _) in submission_tree(BILLING, load_suite(BILLING), [GOLD]).items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    assert run_tests(tmp_path).rstrip().endswith("23 passed, 0 failed")


def test_the_service_has_42_files_and_gold_repairs_nine_of_them() -> None:
    base, gold = read_tree(REPOSITORY), read_tree(BILLING / "submissions" / GOLD)
    prefix = "src/main/java/com/acme/billing/"
    assert sum(name.startswith(prefix) for name in base) == 42
    services = "Discount Invoice Payment Refund Subscription Tax UsageReport Webhook".split()
    assert sorted(gold) == [
        f"{prefix}model/LineItem.java",
        *(f"{prefix}service/{name}Service.java" for name in services),
    ]
    assert all(base[name] != content for name, content in gold.items())


def test_the_suite_has_97_tests_in_eleven_groups_and_17_runs() -> None:
    regression, *groups = load_suite(BILLING).groups
    assert (regression.name, len(regression.tests)) == ("regression", 12)
    found = {
        group.name: tuple(
            sum(test.id.startswith(kind) for test in group.tests) for kind in ("fix_", "guard_")
        )
        for group in groups
    }
    assert list(found.items()) == list(FIX_AND_GUARD.items())
    assert 12 + sum(len(group.tests) for group in groups) == 97
    assert {group.name for group in groups if group.repeats == 3} == THREE_TIMES
    assert sum(group.repeats for group in (regression, *groups)) == 17
    assert all(
        test.discriminates == test.id.startswith("fix_") for group in groups for test in group.tests
    )


def test_no_scenario_carries_a_file_that_changes_nothing() -> None:
    base = read_tree(REPOSITORY)
    gold = read_tree(BILLING / "submissions" / GOLD)
    for scenario in load_scenarios(BILLING):
        for overlay in scenario.folders():
            if overlay == GOLD:
                continue
            below = gold if GOLD in scenario.folders() else {}
            for name, content in read_tree(BILLING / "submissions" / overlay).items():
                assert content != {**base, **below}.get(name), f"{overlay}/{name}"


def test_the_rules_are_stated_without_worked_numbers() -> None:
    text = (REPOSITORY / "README.md").read_text()
    rules = text.partition("## Business rules")[2]
    assert not re.findall(r"\d+[.,]\d+|[$€]\s*\d", rules)
