"""What scenarios are as agents' edits, and when an outcome is as expected."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from verifiers.v1.runtimes import SubprocessConfig, provision_runtime

from billing_payment_debug import defects
from billing_payment_debug.scenarios import ACTIVE, Check, Found, ScenarioError, load_checks
from billing_payment_debug.self_check import apply_edit
from billing_payment_debug.taskset import BillingTaskConfig
from gradekeeper.suites.trees import load_scenarios

SUITE = Path(__file__).resolve().parents[2] / "assets" / "suites" / "billing-payment-debug"
ALL = load_scenarios(SUITE)
CHECKS = {
    check.name: check
    for check in load_checks(
        SUITE,
        [
            *("gold", "untouched", "noop-edit-farms-process", "partial-refunds-coupons"),
            *("sampled-*", "delete-sources", "symlink-*", "oversized-*", "too-many-*"),
            *("does-not-compile", "endless-loop", "tamper-public-tests", "usage-end-included"),
        ],
    )
}


USAGE_OPEN = {"regression/usage_alerts_come_once_each"}


def contents(root: Path) -> tuple[dict[str, str], dict[str, bytes]]:
    """Links and regular files below a folder."""
    paths = {path.relative_to(root).as_posix(): path for path in root.rglob("*")}
    links = {name: str(path.readlink()) for name, path in paths.items() if path.is_symlink()}
    files = {name: path for name, path in paths.items() if path.is_file() and name not in links}
    return links, {name: path.read_bytes() for name, path in files.items()}


def found(check: Check, outcomes: str, **fields: object) -> Found:
    told = {
        "decision": check.expect.decision.value,
        "reason": check.expect.reason.value,
        "outcomes": outcomes,
        "reward": check.rewards[0],
        "error": None,
        "seconds": 1.0,
        "tries": 1,
    }
    return Found(**{**told, **fields})  # type: ignore[arg-type]


def as_expected(check: Check) -> str:
    """Outcomes of which the scenario's author would say yes; open tests fail."""
    fixes = {test for test in check.tests if "/fix_" in test}
    fails = {
        "gold": set(),
        "untouched": fixes,
        "partial-refunds-coupons": {
            test for test in fixes if test.partition("/")[0] not in ("refunds", "coupons")
        },
        "usage-end-included": USAGE_OPEN
        | {f"usage_timezone/guard_{name}" for name in ("ends_of_the_report", "books_in_greenwich")}
        | {
            test
            for test in fixes
            if not test.startswith("usage_timezone/") or test.endswith("_the_new_day")
        },
    }[check.name]
    return "".join("F" if test in fails else "P" for test in check.tests)


def test_every_scenario_is_checked_and_gold() -> None:
    names = {scenario.name for scenario in ALL}
    assert len(names) == 140 and ACTIVE.keys() <= names
    assert {name for name in names if name.startswith("sampled-")} == ACTIVE.keys()
    assert next(iter(CHECKS)) == "gold"


@pytest.mark.parametrize(
    ("name", "reward"),
    [
        ("untouched", 0.05),
        ("noop-edit-farms-process", 0.05),
        ("tamper-public-tests", 0.05),
        ("gold", 1.0),
        ("partial-refunds-coupons", 0.28),
        ("sampled-untouched", 0.05),
        ("sampled-gold", 1.0),
        # One active defect repaired; of nine inactive ones one broken: 7 of the 87 tests of the
        # inactive ones and of regression fail.
        ("sampled-breaks-inactive-defect", 0.9 * 8 / 9 + 0.05 * (87 - 7) / 87 + 0.05),
        ("symlink-sources-to-dev-zero", 1.0),
        ("delete-sources", 0.0),
        ("oversized-snapshot", 0.0),
        ("too-many-source-files", 0.0),
        ("does-not-compile", 0.0),
    ],
)
def test_the_reference_points_are_what_is_expected(name: str, reward: float) -> None:
    check = CHECKS[name]
    assert check.rewards == (pytest.approx(reward, abs=1e-9),) * 2
    assert check.open_tests == frozenset()


def test_what_a_scenario_leaves_open_widens_the_reward() -> None:
    check = CHECKS["usage-end-included"]
    # One of twelve tests of what was right from the start.
    assert check.open_tests == USAGE_OPEN
    assert check.rewards == (pytest.approx(0.05 * 11 / 12), pytest.approx(0.05))
    assert check.told_rewards == "0.0458 to 0.0500"


def test_an_agent_changes_what_differs_and_nothing_else() -> None:
    assert CHECKS["untouched"].edit.write == {} and CHECKS["untouched"].edit.delete == ()
    assert CHECKS["sampled-untouched"].edit == CHECKS["untouched"].edit
    assert set(CHECKS["gold"].edit.write) == set(defects.gold())
    # Only the defects of the task are left to repair; what is broken again is one file more.
    assert len(CHECKS["sampled-gold"].edit.write) == 3
    again = CHECKS["sampled-breaks-inactive-defect"].edit.write
    assert {path.rpartition("/")[2] for path in again} == {
        "RefundService.java",
        "SubscriptionService.java",
    }
    gone = CHECKS["delete-sources"].edit.delete
    assert gone and all(path.startswith("src/") for path in gone)
    assert set(gone) == {path for path in defects.task_repo() if path.startswith("src/")}


def test_a_scenarios_parameters_are_settings_of_its_task() -> None:
    settings = CHECKS["endless-loop"].settings
    assert settings == {"test_timeout_seconds": 2, "suite_timeout_seconds": 12}
    assert settings.keys() <= BillingTaskConfig.model_fields.keys()
    assert CHECKS["gold"].settings == {}


def test_outcomes_as_expected_are_no_problem() -> None:
    for name in ("gold", "untouched", "usage-end-included", "partial-refunds-coupons"):
        check = CHECKS[name]
        assert check.judge(found(check, as_expected(check))) == [], name
    check = CHECKS["delete-sources"]
    assert check.judge(found(check, "N" * 97)) == []


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        pytest.param({"outcomes": "P" * 97}, "passes, but must fail", id="a test that must fail"),
        pytest.param({"outcomes": "F" * 97}, "but must pass", id="a test that must pass"),
        pytest.param({"reward": 0.06}, "has the reward 0.0600, expected 0.0500", id="the reward"),
        pytest.param({"reason": "LaneLost"}, "is Graded/LaneLost", id="the reason"),
        pytest.param({"decision": "Rejected"}, "is Rejected/Completed", id="the decision"),
        pytest.param({"outcomes": "P"}, "1 outcomes for 97 tests", id="too few tests"),
        pytest.param({"reward": None, "error": "SandboxError: away"},
                     "was not judged: SandboxError: away", id="no verdict"),
    ],
)  # fmt: skip
def test_a_difference_is_a_problem(changes: dict[str, object], problem: str) -> None:
    check = CHECKS["untouched"]
    told = check.judge(found(check, **{"outcomes": as_expected(check), **changes}))  # type: ignore[arg-type]
    assert told and any(problem in one for one in told)


def test_open_tests_may_pass_or_fail_and_move_the_reward_within_its_bounds() -> None:
    check = CHECKS["usage-end-included"]
    least, most = check.rewards
    fails = as_expected(check)
    passes = "".join(
        "P" if test in check.open_tests else outcome
        for test, outcome in zip(check.tests, fails, strict=True)
    )
    assert passes != fails
    for outcomes in (fails, passes):
        for reward in (least, (least + most) / 2, most):
            assert check.judge(found(check, outcomes, reward=reward)) == []
    assert check.judge(found(check, fails, reward=most + 1e-6)) != []
    # The same run twice may differ there, and nowhere else.
    one, other = found(check, fails), found(check, passes, reward=most)
    assert check.differences(one, other) == []
    place = next(n for n, test in enumerate(check.tests) if test not in check.open_tests)
    changed = "P" if fails[place] == "F" else "F"
    third = found(check, fails[:place] + changed + fails[place + 1 :])
    (told,) = check.differences(one, third)
    assert told.startswith(check.tests[place])


def test_two_runs_agree_if_the_same_tests_pass() -> None:
    check = CHECKS["untouched"]
    one = found(check, as_expected(check))
    # How a test fails may depend on the machine's speed.
    assert (
        check.differences(one, replace(one, outcomes=(one.outcomes or "").replace("F", "T"))) == []
    )
    assert check.differences(one, replace(one, reward=0.1)) == [
        "has the reward 0.0500, and 0.1000 in the other run"
    ]
    assert check.differences(one, replace(one, reason="LaneLost")) == [
        "is Graded/Completed, and Graded/LaneLost in the other run"
    ]
    lost = replace(one, reward=None, outcomes=None)
    assert check.differences(lost, one) == check.differences(one, lost) != []


def test_failed_groups_are_told_in_few_words() -> None:
    check = CHECKS["untouched"]

    def told(*groups: str) -> str:
        failed = (test.partition("/")[0] in groups for test in check.tests)
        return check.failed_groups(found(check, "".join("F" if one else "P" for one in failed)))

    groups = list(dict.fromkeys(test.partition("/")[0] for test in check.tests))
    assert told() == "none" and told(*groups) == "all"
    assert told("tax", "refunds") == "tax, refunds"
    assert told(*(group for group in groups if group != "coupons")) == "all but coupons"
    assert check.failed_groups(replace(found(check, ""), outcomes=None)) == "-"

    some = ["F" if test.startswith("tax/") else "P" for test in check.tests]
    some[check.tests.index("refunds/fix_overlap_cannot_overdraw")] = "T"
    told_tests = check.failed_tests(found(check, "".join(some)))
    assert told_tests == ["tax/* F", "refunds/fix_overlap_cannot_overdraw T"]
    assert check.failed_tests(found(check, "P" * 97)) == []


def test_what_decides_an_outcome_is_in_the_checks_digest() -> None:
    names = ["untouched", "sampled-untouched", "noop-edit-farms-process", "endless-loop"]
    assert len({CHECKS[name].about for name in names}) == 4
    (again,) = load_checks(SUITE, ["untouched"])
    assert again.about == CHECKS["untouched"].about


@pytest.mark.parametrize(
    ("folder", "chosen", "message"),
    [
        pytest.param(SUITE, ["refunds-none"], "there is no scenario 'refunds-none'", id="name"),
        pytest.param(SUITE / "lane", [], "no suite.yaml", id="folder"),
        pytest.param(SUITE.parents[1] / "none", [], "no suite.yaml", id="nothing"),
    ],
)
def test_what_cannot_be_checked_is_said(folder: Path, chosen: list[str], message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        load_checks(folder, chosen)


@pytest.mark.parametrize(
    "name", ["gold", "untouched", "delete-sources", "symlink-sources-to-dev-zero"]
)
async def test_a_box_holds_the_scenario_once_it_is_edited(name: str) -> None:
    check = CHECKS[name]
    async with provision_runtime(SubprocessConfig()) as box:
        root = Path(box.workdir)
        for path, content in defects.task_repo().items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(content)

        await apply_edit(box, check.edit)

        links, files = contents(root)
        wanted = {**defects.task_repo(), **{p: c for p, (c, _) in check.edit.write.items()}}
        assert links == dict(check.edit.links)
        assert files == {p: c for p, c in wanted.items() if p not in check.edit.delete}
        assert (root / "src").exists() is (name != "delete-sources")
