"""`suite pin`: run gold and write down what it does, as the suite's expectations.

Each draw runs several times and must agree with itself; a draw that the null submission answers
like gold proves nothing and is drawn again. The result is reviewed in git like any snapshot.
"""

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from gradekeeper.referee.judge import Rules, matches
from gradekeeper.referee.local import LocalLane, Recording, record
from gradekeeper.referee.result import PASSED
from gradekeeper.suites.bundle import Pins, build_bundle
from gradekeeper.suites.definition import SuiteDefinition, TestDefinition, load_suite
from gradekeeper.suites.draws import Generators, draw_inputs, load_generators, repeat_of
from gradekeeper.suites.errors import PinError
from gradekeeper.suites.trees import GOLD, NULL

MAX_ATTEMPTS: Final = 12
"""How often a draw that proves nothing is drawn again."""

Progress = Callable[[str], None]
Transcript = list[Any]


@dataclass(frozen=True, slots=True)
class PinReport:
    """What was written.

    Attributes:
        files: The pin files.
        tests: How many tests were pinned.
        draws: How many draws in all.
        redrawn: Test id -> draws that the null submission had answered like gold.
    """

    files: tuple[Path, ...]
    tests: int
    draws: int
    redrawn: Mapping[str, int]


def rules_of(test: TestDefinition) -> Rules:
    """How a test's transcripts compare, for the referee's judge."""
    return Rules(
        multiset=test.compare == "multiset",
        ignore=frozenset(test.ignore),
        tolerance=dict(test.tolerance),
    )


def pin(
    folder: Path | str,
    *,
    lane: LocalLane,
    draws: int = 8,
    rounds: int = 3,
    progress: Progress = lambda _: None,
) -> PinReport:
    """Run gold and write `referee/pins/*.json`.

    Args:
        folder: The suite folder.
        lane: Where the parts of a lane are on this machine.
        draws: Inputs to pin a test.
        rounds: Runs of gold with the same inputs, which must agree.
        progress: Told what happens, one line at a time.

    Raises:
        DefinitionError: the folder does not say what it must.
        ToolError: no JDK, or something does not compile.
        PinError: gold fails, disagrees with itself, or null cannot be told from it.
    """
    root = Path(folder)
    definition = load_suite(root)
    generators = load_generators(root, definition)
    tests = {test_id: (group, test) for test_id, group, test in definition.every_test()}
    with tempfile.TemporaryDirectory(prefix="gradekeeper-pin-") as temporary:
        bundle = build_bundle(root, Path(temporary) / "bundle", kit=lane.kit, pins={})
        pins: Pins = {test_id: [] for test_id in tests}
        redrawn: dict[str, int] = {}
        wanted = {test_id: list(range(draws)) for test_id in tests}
        found: dict[tuple[str, int], dict[str, Any]] = {}
        for attempt in range(MAX_ATTEMPTS):
            inputs = _draw_all(definition, wanted, attempt, generators)
            total = sum(map(len, inputs.values()))
            progress(f"gold: {total} draws of {len(inputs)} tests, {rounds} times each")
            gold = record(bundle.path, GOLD, inputs, lane=lane, repeats=rounds)
            pinned = {
                test_id: agreed_transcripts(test_id, tests[test_id][1], gold, len(inputs[test_id]))
                for test_id in inputs
            }
            asked = {
                test_id: each for test_id, each in inputs.items() if tests[test_id][1].discriminates
            }
            progress(f"null: {sum(map(len, asked.values()))} draws that must differ")
            null = record(bundle.path, NULL, asked, lane=lane) if asked else None
            again: dict[str, list[int]] = {}
            for test_id, numbers in wanted.items():
                for place, number in enumerate(numbers):
                    right = pinned[test_id][place]
                    if null is not None and test_id in asked:
                        test = tests[test_id][1]
                        if any_matches(null.transcripts[test_id][place], right, rules_of(test)):
                            again.setdefault(test_id, []).append(number)
                            redrawn[test_id] = redrawn.get(test_id, 0) + 1
                            continue
                    found[test_id, number] = {
                        "inputs": dict(inputs[test_id][place]),
                        "transcripts": right,
                    }
                    group, test = tests[test_id]
                    if group.rounds_of(test) is not None:
                        found[test_id, number]["repeat"] = repeat_of(group, number)
            wanted = again
            if not wanted:
                break
        if wanted:
            raise PinError(
                f"The null submission does what gold does in {', '.join(sorted(wanted))}, whatever"
                " is drawn: make the tests stricter, or do not mark them as discriminating."
            )
    for test_id in tests:
        for number in range(draws):
            draw = found[test_id, number]
            if draw not in pins[test_id]:
                pins[test_id].append(draw)
    return PinReport(
        tuple(_write(root, definition, pins)),
        len(pins),
        sum(map(len, pins.values())),
        redrawn,
    )


def format_pins(pins: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """JSON with one line for each input and each entry, so that a difference reads well."""

    def text(value: Any) -> str:
        return json.dumps(value, ensure_ascii=False, sort_keys=True)

    tests = []
    for test_id, draws in pins.items():
        blocks = []
        for draw in draws:
            inputs = ",\n".join(
                f"   {text(k)}: {text(v)}" for k, v in sorted(draw["inputs"].items())
            )
            transcripts = ",\n".join(
                "  [\n" + ",\n".join(f"   {text(entry)}" for entry in transcript) + "\n  ]"
                for transcript in draw["transcripts"]
            )
            repeat = f', "repeat": {draw["repeat"]}' if "repeat" in draw else ""
            blocks.append(
                f' {{"inputs": {{\n{inputs}\n  }}{repeat}, "transcripts": [\n{transcripts}\n ]}}'
            )
        tests.append(f"{text(test_id)}: [\n" + ",\n".join(blocks) + "\n]")
    return "{\n" + ",\n".join(tests) + "\n}\n"


def _draw_all(
    definition: SuiteDefinition,
    wanted: Mapping[str, Sequence[int]],
    attempt: int,
    generators: Generators,
) -> dict[str, list[dict[str, str]]]:
    return {
        test_id: [
            draw_inputs(
                definition.name, group, test, draw=number, attempt=attempt, generators=generators
            )
            for number in wanted[test_id]
        ]
        for test_id, group, test in definition.every_test()
        if wanted.get(test_id)
    }


def agreed_transcripts(
    test_id: str, test: TestDefinition, recording: Recording, draws: int
) -> list[list[Transcript]]:
    """Gold's transcripts, by draw: as many different ones as the test allows."""
    if not recording.compiled:
        raise PinError("The gold submission does not compile in the lane.")
    result = []
    for place in range(draws):
        different: list[Transcript] = []
        for run in recording.transcripts[test_id][place]:
            if run.outcome != PASSED or run.transcript is None:
                raise PinError(
                    f"{test_id}: gold does not reach the end of draw {place}:"
                    f" {run.outcome} {run.cause}".rstrip()
                )
            for kind, key, what, *_ in run.transcript:
                if (kind, key) == ("threw", "driver"):
                    raise PinError(
                        f"{test_id}: the driver itself failed with {what}. Every submission would"
                        " do the same and pass: check the test's `method`, that it is `public"
                        " static void NAME(Desk desk)`, and the inputs that it reads."
                    )
            if run.transcript not in different:
                different.append(run.transcript)
        if not different or not different[0]:
            raise PinError(f"{test_id}: gold shows nothing at all; observe something")
        if len(different) > test.alternatives:
            first, other = json.dumps(different[0]), json.dumps(different[1])
            raise PinError(
                f"{test_id}: gold does not agree with itself ({len(different)} transcripts,"
                f" {test.alternatives} allowed):\n  {first}\n  {other}"
            )
        result.append(sorted(different, key=json.dumps))
    return result


def any_matches(runs: Sequence[Any], right: Sequence[Transcript], rules: Rules) -> bool:
    """Whether a run reached its end and did what one of the right transcripts says."""
    return any(
        run.outcome == PASSED
        and run.transcript is not None
        and any(matches(run.transcript, one, rules) for one in right)
        for run in runs
    )


def _write(root: Path, definition: SuiteDefinition, pins: Pins) -> list[Path]:
    folder = root / "referee" / "pins"
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for group in definition.groups:
        path = folder / f"{group.name}.json"
        ids = [f"{group.name}/{test.id}" for test in group.tests]
        path.write_text(format_pins({test_id: pins[test_id] for test_id in ids}), encoding="utf-8")
        written.append(path)
    for stale in folder.glob("*.json"):
        if stale not in written:
            stale.unlink()
    return written
