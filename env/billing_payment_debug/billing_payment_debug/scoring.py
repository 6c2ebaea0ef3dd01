"""From a verdict to a reward: pure functions, exact arithmetic, no number without a verdict.

    reward = 0.90 * defects + 0.05 * regression + 0.05 * process

Everything is computed in fractions and turned into floats at the very end, so that equal behaviour
gives equal rewards.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Final

from billing_payment_debug.defects import Defect
from gradekeeper.api.reasons import Reason
from gradekeeper.referee.result import NOT_RUN, PASSED
from gradekeeper.verdicts.model import Graded, Rejected

DEFECTS_WEIGHT: Final = Fraction(90, 100)
REGRESSION_WEIGHT: Final = Fraction(5, 100)
PROCESS_WEIGHT: Final = Fraction(5, 100)
REGRESSION: Final = "regression"
"""The group of hidden tests that belong to no defect."""

_FIX, _GUARD = "fix_", "guard_"


class ScoringError(ValueError):
    """Verdict, tests and task do not belong together; nothing was scored."""


@dataclass(frozen=True, slots=True)
class Group:
    """The hidden tests of one defect in one verdict.

    Attributes:
        name: The defect's group.
        fixes: Of each fix test, whether it passed.
        guards: Of each guard test, whether it passed.
    """

    name: str
    fixes: tuple[bool, ...]
    guards: tuple[bool, ...]

    @property
    def credit(self) -> Fraction:
        """Share of the fix tests that passed; 0 if a guard test did not."""
        return Fraction(sum(self.fixes), len(self.fixes)) if all(self.guards) else Fraction(0)

    @property
    def intact(self) -> bool:
        """Whether all tests passed."""
        return all(self.fixes) and all(self.guards)


@dataclass(frozen=True, slots=True)
class Score:
    """What a rollout is worth; every number is between 0 and 1 but for counts among the metrics.

    Attributes:
        defects: Of weight 0.90.
        regression: Of weight 0.05.
        process: Of weight 0.05.
        reward: The weighted sum.
        metrics: `defect_<group>` of each active defect, `compiled`, `public_tests_intact`,
            `main_files_changed` (a count), `active_defects` (a count), `inactive_defects_intact`
            (a share; 1 without any), `defects_fully_fixed` (a count), `defect_files_touched` (how
            many active defects have a changed file; a count).
    """

    defects: float
    regression: float
    process: float
    reward: float
    metrics: Mapping[str, float]


def score(
    verdict: Graded | Rejected,
    tests: Sequence[str],
    *,
    active: Iterable[Defect],
    public_tests_intact: bool,
    main_files_changed: Collection[str],
) -> Score:
    """Score one verdict.

    Args:
        verdict: Of the whole suite. `Unjudged` has no score: it is an error to ask for one.
        tests: Full ids, in the order of the verdict's outcomes.
        active: The defects of the task.
        public_tests_intact: Whether all public tests are as they were given.
        main_files_changed: Paths below `src/main/java` that differ from those given, or are new
            or gone; from the root of the repository.

    Raises:
        TypeError: the verdict is neither `Graded` nor `Rejected`.
        ScoringError: outcomes, tests and active defects do not belong together.
    """
    if not isinstance(verdict, Graded | Rejected):
        raise TypeError(
            f"there is no score without a verdict, and {type(verdict).__name__} is none"
        )
    chosen = {defect.group: defect for defect in active}
    groups, regression_tests = _group(tests, verdict.outcomes)
    missing = sorted(chosen.keys() - groups.keys())
    if not chosen or missing:
        raise ScoringError(f"no hidden tests of {missing}" if missing else "no defect is active")

    credit_of = {name: groups[name].credit for name in chosen}
    inactive = [group for name, group in groups.items() if name not in chosen]
    intact = _share([group.intact for group in inactive]) if inactive else Fraction(1)
    defects = sum(credit_of.values(), Fraction(0)) / len(credit_of) * intact
    regression = _share(
        [*regression_tests, *(one for group in inactive for one in (*group.fixes, *group.guards))]
    )
    compiled = _compiled(verdict)
    process = Fraction(
        compiled and public_tests_intact and bool(main_files_changed) and any(credit_of.values())
    )
    reward = DEFECTS_WEIGHT * defects + REGRESSION_WEIGHT * regression + PROCESS_WEIGHT * process
    changed = frozenset(main_files_changed)
    metrics = {
        **{f"defect_{name}": float(credit) for name, credit in credit_of.items()},
        "compiled": float(compiled),
        "public_tests_intact": float(public_tests_intact),
        "main_files_changed": float(len(changed)),
        "active_defects": float(len(credit_of)),
        "inactive_defects_intact": float(intact),
        "defects_fully_fixed": float(sum(credit == 1 for credit in credit_of.values())),
        "defect_files_touched": float(
            sum(not changed.isdisjoint(defect.files) for defect in chosen.values())
        ),
    }
    return Score(
        defects=float(defects),
        regression=float(regression),
        process=float(process),
        reward=float(reward),
        metrics=MappingProxyType(metrics),
    )


def _group(tests: Sequence[str], outcomes: str) -> tuple[dict[str, Group], list[bool]]:
    """Outcomes by group: those of defects, and those of the regression tests."""
    if len(tests) != len(outcomes):
        raise ScoringError(f"{len(outcomes)} outcomes for {len(tests)} tests")
    if len(set(tests)) != len(tests):
        raise ScoringError("a test is listed twice")
    found: dict[str, tuple[list[bool], list[bool]]] = {}
    regression = []
    for test_id, outcome in zip(tests, outcomes, strict=True):
        name, _, test = test_id.partition("/")
        passed = outcome == PASSED
        if name == REGRESSION:
            regression.append(passed)
            continue
        fixes, guards = found.setdefault(name, ([], []))
        if test.startswith(_FIX):
            fixes.append(passed)
        elif test.startswith(_GUARD):
            guards.append(passed)
        else:
            raise ScoringError(f"{test_id} neither proves a repair nor guards against one")
    if not regression:
        raise ScoringError("no regression tests")
    for name, (fixes, guards) in found.items():
        if not fixes or not guards:
            raise ScoringError(f"{name} needs tests that prove a repair and tests that guard")
    return {
        name: Group(name, tuple(fixes), tuple(guards)) for name, (fixes, guards) in found.items()
    }, regression


def _compiled(verdict: Graded | Rejected) -> bool:
    """Whether the submission came to its runs. Of a lane that was lost, only what ran tells."""
    return verdict.reason == Reason.COMPLETED or bool(verdict.outcomes.strip(NOT_RUN))


def _share(passed: Sequence[bool]) -> Fraction:
    return Fraction(sum(passed), len(passed))
