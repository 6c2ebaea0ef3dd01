"""Where the code is broken on purpose, and which test has to notice.

Each flip undoes one promise of SECURITY.md or of the README's table "What ends as what". The text
to replace must occur exactly once, so a flip cannot go stale silently.
"""

from __future__ import annotations

from dataclasses import dataclass

REFEREE = "operator/gradekeeper/referee"


@dataclass(frozen=True, slots=True)
class Flip:
    """One place.

    Attributes:
        name: what is broken, in words.
        file: relative to the repository.
        before: text that occurs once in the file.
        after: what to put there instead.
        test: pytest ids, relative to the repository; each of them must fail.
    """

    name: str
    file: str
    before: str
    after: str
    test: tuple[str, ...]


FLIPS = (
    Flip(
        "a test that did not run counts as passed",
        f"{REFEREE}/runs.py",
        "return PASSED if self._passed.get(test, 0) >= self.needed[test] else NOT_RUN",
        "return PASSED",
        ("tests/referee/test_grading.py::test_the_suites_budget_is_the_submissions_to_spend",),
    ),
    Flip(
        "one passed repeat is enough",
        f"{REFEREE}/runs.py",
        "self._failed.setdefault(test, outcome)",
        "pass",
        ("tests/referee/test_grading.py::test_a_half_fix_that_still_races_fails_that_test",),
    ),
    Flip(
        "a lost lane is an error of the platform",
        f"{REFEREE}/grading.py",
        'return GRADED, LANE_LOST, "The submission\'s lane was lost; finished outcomes stand."',
        "raise Unjudgeable(REFEREE_FAILED, str(gone)) from gone",
        ("tests/referee/test_grading.py::test_a_lost_lane_keeps_what_was_finished",),
    ),
    Flip(
        "DisruptionTarget is ignored",
        "operator/gradekeeper/pods/classify.py",
        'if disruption.get("status") == "True":',
        'if disruption.get("status") == "Never":',
        ("tests/unit/pods/test_classify.py::test_what_the_platform_took_is_its_own",),
    ),
    Flip(
        "a Pod's own storage is the platform's fault",
        "operator/gradekeeper/pods/classify.py",
        "        return PodFinished(\n            RefereeResult(",
        "        return _failed(Reason.POD_EVICTED) or PodFinished(\n            RefereeResult(",
        ("tests/unit/pods/test_classify.py::test_a_plain_eviction_is_the_pod_s_own_doing",),
    ),
    Flip(
        "the listener stays open after laned has connected",
        f"{REFEREE}/lanes.py",
        "        finally:\n            self.close()\n        return Lane(connection)",
        "        finally:\n            pass\n        return Lane(connection)",
        ("tests/unit/referee/test_lanes.py::test_one_connection_and_then_no_socket",),
    ),
    Flip(
        "a run ends at the end of its output",
        f"{REFEREE}/channel.py",
        "                self._exited = True",
        "                self._exited = False",
        ("tests/unit/referee/test_play.py::test_an_end_before_the_end_of_a_case",),
    ),
    Flip(
        "the end of a run is told to whoever has its pipe by now",
        f"{REFEREE}/runs.py",
        "        if run.child_over:\n            return  # its pipes",
        "        if not run.ended:\n            return  # its pipes",
        ("tests/unit/referee/test_runs.py::test_the_end_of_a_run_is_told_to_no_other_run",),
    ),
    Flip(
        "lane children get no system call filter",
        "lanes/laned.c",
        "    if (!load_filter())",
        "    if (0 && !load_filter())",
        ("tests/lanes/test_laneprobe.py::test_the_filter_is_what_denies",),
    ),
    Flip(
        "a crash in a lane starts the node's core handler",
        "lanes/laned.c",
        "    limit_cores();\n",
        "    if (0)\n        limit_cores();\n",
        ("tests/lanes/test_filter.py::test_no_crash_starts_a_core_handler",),
    ),
    Flip(
        "a lane sets its limit of cores itself",
        "lanes/filter.c",
        "        emit_condition(&new_limit);\n",
        "",
        ("tests/lanes/test_filter.py::test_no_crash_starts_a_core_handler",),
    ),
    Flip(
        "lane children write where mounts let them",
        "lanes/laned.c",
        " || !limit_writes()",
        "",
        ("tests/lanes/test_filter.py::test_none_of_a_kind_is_had",),
    ),
    Flip(
        "a lane uses up the node's budget of filters",
        "lanes/filter.c",
        "SO_RCVTIMEO, SO_SNDTIMEO)}",
        "SO_RCVTIMEO, SO_SNDTIMEO, SO_ATTACH_FILTER)}",
        ("tests/lanes/test_filter.py::test_none_of_a_kind_is_had",),
    ),
    Flip(
        "lane children can read laned",
        "lanes/laned.c",
        "    prctl(PR_SET_DUMPABLE, 0);",
        "    prctl(PR_SET_DUMPABLE, 1);",
        ("tests/lanes/test_laneprobe.py::test_a_lane_looks_as_documented",),
    ),
    Flip(
        "a sweep leaves processes alive",
        "lanes/laned.c",
        "        kill(-1, SIGKILL);\n        sweep_killed += reap();",
        "        sweep_killed += reap();\n        break;",
        ("tests/lanes/test_laned.py::test_escapees_outlive_kill_and_die_in_the_sweep",),
    ),
    Flip(
        "a lane that is not isolated is graded in",
        f"{REFEREE}/grading.py",
        "        if wrong:\n"
        "            raise Unjudgeable(ISOLATION_NOT_ENFORCED, isolation.sentence(wrong))\n"
        "        if network is not None",
        "        if network is not None",
        ("tests/referee/test_grading.py::test_a_lane_that_is_not_isolated_is_not_graded_in",),
    ),
    Flip(
        "a port that answers counts as denied",
        f"{REFEREE}/isolation.py",
        "        self.denied = denied\n",
        "        self.denied = True\n",
        ("tests/referee/test_grading.py::test_the_operators_port_must_be_out_of_reach",),
    ),
    Flip(
        "parts are not checked against the digest",
        f"{REFEREE}/intake.py",
        "    if computed != digest:",
        "    if not computed:",
        ("tests/referee/test_grading.py::test_parts_that_do_not_match_the_digest_are_corrupt",),
    ),
    Flip(
        "lines of another test are taken",
        f"{REFEREE}/play.py",
        "        if event.nonce != self.nonce:",
        "        if not event.nonce:",
        ("tests/unit/referee/test_play.py::test_a_broken_protocol_ends_the_run",),
    ),
    Flip(
        "runs begin beside what an earlier one left",
        f"{REFEREE}/runs.py",
        'event.fields.get("left", "0") != "0"',
        '"left" not in event.fields',
        (
            "tests/referee/test_grading.py::"
            "test_what_a_run_leaves_behind_is_swept_before_another_begins",
        ),
    ),
    Flip(
        "a strict run does not know for how long calls are held",
        f"{REFEREE}/runs.py",
        "(strict and group in unfinished)",
        "(strict and not group)",
        (
            "tests/unit/referee/test_runs.py::"
            "test_the_next_unit_begins_when_one_ends_but_a_strict_one_knows_the_spans_of_all",
        ),
    ),
    Flip(
        "laned does not look into the scratch folder",
        "lanes/laned.c",
        "count_strays() + look_for_litter(ended);",
        "count_strays() + 0 * look_for_litter(ended);",
        ("tests/lanes/test_laned.py::test_an_end_tells_what_is_in_the_scratch_folder",),
    ),
    Flip(
        "whoever moves after settled has not lied",
        f"{REFEREE}/runs.py",
        "                self._ledger.overrule(test.id, VIOLATED)",
        "                self._ledger.has_failed(test.id)",
        ("tests/referee/test_grading.py::test_a_lie_about_being_settled_fails_what_rests_on_it",),
    ),
    Flip(
        "a Pod with a foreign container is adopted",
        "operator/gradekeeper/pods/build.py",
        '    return _difference("spec", expected["spec"], spec)',
        "    return None",
        ("tests/unit/control/test_plan.py::test_a_pod_with_one_more_container_is_refused",),
    ),
    Flip(
        "an Unjudged can carry outcomes",
        "operator/gradekeeper/verdicts/model.py",
        "reason: Literal[\n        Reason.IMAGE_PULL_FAILED,",
        'outcomes: Outcomes = ""\n    reason: Literal[\n        Reason.IMAGE_PULL_FAILED,',
        ("tests/unit/verdicts/test_model.py::test_unjudged_has_nothing_to_score",),
    ),
    Flip(
        "any signature will do",
        "operator/gradekeeper/verdicts/signing.py",
        "        accepted = parsed.verify(keys, threshold=1)\n",
        "        accepted = {key.keyid: key for key in keys}\n",
        ("tests/unit/verdicts/test_signing.py::test_another_key",),
    ),
    Flip(
        "no attempt follows a fault of the platform",
        "operator/gradekeeper/control/plan.py",
        "if reason in FINAL_AT_ONCE or number > self.job.spec.retry_limit:",
        "if reason:",
        (
            "tests/contract/test_operator.py::"
            "test_a_pod_that_is_deleted_while_it_runs_costs_an_attempt",
        ),
    ),
    Flip(
        "a probe that nobody vouches for is believed",
        "operator/gradekeeper/control/plan.py",
        "if isinstance(verdict, Graded) and not hollow and not self._is_vouched(probe, result):",
        "if False:",
        ("tests/unit/control/test_plan.py::test_a_probe_that_nobody_vouches_for_grades_nothing",),
    ),
)
