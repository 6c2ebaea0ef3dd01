"""`python -m demo`: see the package."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from demo import images, jobs, stage
from demo.cases import SUITE, build_cases
from demo.commands import ROOT, Cluster, DemoError
from demo.jobs import Outcome
from demo.tables import passed_of, print_table
from gradekeeper.api.status import GradingJobStatus
from gradekeeper.suites import SuiteError
from gradekeeper.suites.definition import load_suite

FOLLOW_SECONDS = 900.0


def run_demo(cluster: Cluster) -> list[Outcome]:
    """Install, grade the ten submissions, verify; returns what became of them."""
    stage.OUT.mkdir(parents=True, exist_ok=True)
    publish(cluster)
    return grade_all(cluster)


def publish(cluster: Cluster) -> None:
    """Install the chart and the suite."""
    say("installing the chart")
    found = stage.Images.load()
    stage.install(cluster, found)
    say("publishing the suite; gold and null are graded to admit it")
    stage.publish_suite(cluster, SUITE, found.suite, found.lane)


def publish_own(cluster: Cluster, folder: Path) -> str:
    """Build, sign and publish a suite that is not the demo's; returns its name.

    Args:
        cluster: where the chart is installed first, if it is not.
        folder: the suite's, recorded and checked.

    Raises:
        DemoError: what is wrong with the suite, or why the cluster does not admit it.
    """
    try:
        name = load_suite(folder).name
    except SuiteError as error:
        raise DemoError(str(error)) from None
    found = stage.Images.load()
    say("building the suite's image")
    bundle = images.build_bundle(cluster, folder, name)
    image = images.build_suite_image(cluster, bundle, name)
    say("installing the chart")
    stage.install(cluster, found)
    say("publishing the suite; gold and null are graded to admit it")
    stage.publish_suite(cluster, name, image, found.lane)
    return name


def grade_all(cluster: Cluster) -> list[Outcome]:
    """Apply the ten jobs, follow them, and verify their verdicts offline."""
    namespace = stage.NAMESPACE
    key = stage.verdict_key(cluster)
    jobs.clean(cluster, namespace)
    folder = jobs.fresh(stage.OUT / "jobs")
    cases = build_cases()
    loser = jobs.PodLoser(
        cluster, namespace, [case.name for case in cases if case.lose_pod], FOLLOW_SECONDS
    )
    loser.start()
    say(f"applying {len(cases)} jobs with kubectl")
    applied = [jobs.apply_case(cluster, namespace, case, folder) for case in cases]
    jobs.follow(cluster, namespace, [case.name for case in cases], FOLLOW_SECONDS)
    say("verifying every verdict offline")
    return [jobs.collect(cluster, namespace, one, key, stage.OUT) for one in applied]


def print_outcomes(outcomes: list[Outcome]) -> None:
    """The final table."""
    rows = [("JOB", "SUBMISSION", "DECISION", "REASON", "PASSED", "TRIES", "SECONDS", "VERIFIED")]
    for outcome in outcomes:
        case = outcome.applied.case
        verdict = outcome.verdict
        rows.append(
            (
                case.name,
                case.about,
                verdict["decision"],
                verdict["reason"],
                passed_of(verdict),
                str(len(outcome.attempts)),
                seconds_of(outcome),
                "yes" if outcome.verified == 0 else "NO",
            )
        )
    print_table(rows, numbers={4, 5, 6})


def print_next(suite: str, key: Path) -> None:
    """What to do with a suite that was published."""
    say(f"{suite} is Ready; try")
    sys.stdout.write(
        '  eval "$(python3 tests/cluster/cluster.py env)"\n'
        f"  .venv/bin/gradekeeper submit DIRECTORY --suite {suite} -n {stage.NAMESPACE}"
        f" --wait --key {key.relative_to(ROOT)}\n"
    )


def seconds_of(outcome: Outcome) -> str:
    """From admission to verdict."""
    status = GradingJobStatus.model_validate(outcome.job["status"])
    return (status.duration or "").removesuffix("s")


def say(text: str) -> None:
    """One line of progress with the time since the start."""
    sys.stdout.write(f"[{time.monotonic() - STARTED:6.1f} s] {text}\n")
    sys.stdout.flush()


def main() -> int:
    """Entry point; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m demo", description=__doc__)
    steps = parser.add_subparsers(dest="step", required=True)
    for name in ("images", "install", "run"):
        steps.add_parser(name)
    steps.add_parser("suite").add_argument("folder", type=Path)
    arguments = parser.parse_args()
    step = arguments.step
    try:
        cluster = Cluster.find()
        if step == "images":
            images.build_all(cluster, say).save()
            return 0
        if step == "install":
            stage.OUT.mkdir(parents=True, exist_ok=True)
            publish(cluster)
            return 0
        if step == "suite":
            stage.OUT.mkdir(parents=True, exist_ok=True)
            print_next(publish_own(cluster, arguments.folder), stage.verdict_key(cluster))
            return 0
        outcomes = run_demo(cluster)
    except DemoError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    print_outcomes(outcomes)
    wrong = [
        f"{outcome.applied.case.name}: {complaint}"
        for outcome in outcomes
        for complaint in outcome.complaints()
    ]
    sys.stderr.writelines(f"error: {line}\n" for line in wrong)
    if not wrong:
        folder = stage.OUT.relative_to(ROOT)
        say(f"verdicts and public key are in {folder}/; try")
        sys.stdout.write(
            f"  .venv/bin/gradekeeper verify {folder}/gold.dsse.json --key {folder}/verdict.pub\n"
        )
    return 1 if wrong else 0


STARTED = time.monotonic()

if __name__ == "__main__":
    sys.exit(main())
