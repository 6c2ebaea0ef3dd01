"""Grade the corpus of the billing suite: `make corpus`.

    python -m corpus [WORD …] [--times 3] [--at-once 2] [--whole] [--page docs/billing/corpus.md]

Goes on where it was interrupted: a grading counts as long as entry, suite, referee and lane are
the same; `make clean` forgets all. Ends with a table, build/corpus/corpus.json and the page, and
with status 1 if an entry is not as it must be.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from corpus.entries import SIDES, Entry, entry_tree, gold_tree, groups_of, load_corpus, touched
from corpus.tally import Graded, Row, by_kind, headline, page, problems, rates
from gradekeeper.referee.local import LocalError, LocalLane, grade_local
from gradekeeper.referee.result import PASSED, UNJUDGED
from gradekeeper.suites.bundle import Bundle, build_bundle
from gradekeeper.suites.definition import load_suite
from gradekeeper.suites.trees import archive_tree
from suites.parts import groups_by_file, task_of, write_parts

ROOT = Path(__file__).resolve().parents[2]
BILLING = ROOT / "assets" / "suites" / "billing-payment-debug"
STORE = ROOT / "build" / "corpus" / "corpus.json"
ALWAYS = "regression"
"""The group that is graded whatever an entry changes."""
WHOLE = "Each was graded by all tests."
PARTS = (
    "Each was graded by the groups that its files are about and the regression group, or by all"
    " where it changes other files; the other groups were not run."
)


@dataclass(frozen=True, slots=True)
class Piece:
    """What is graded of one entry.

    Attributes:
        entry: The entry.
        services: What it changes.
        archive: The submission.
        task: The task that it is graded by.
        mark: What must be the same for an earlier grading to count.
    """

    entry: Entry
    services: tuple[str, ...]
    archive: bytes
    task: str
    mark: str


def prepare(work: Path, lane: LocalLane, *, whole: bool) -> tuple[Bundle, list[Piece]]:
    """Build the suite with a task for each set of groups, and the entries' submissions."""
    definition = load_suite(BILLING)
    everything = frozenset(group.name for group in definition.groups)
    gold = gold_tree(BILLING)
    files = groups_by_file(BILLING)
    trees = [(entry, entry_tree(entry, gold)) for entry in load_corpus(BILLING)]
    groups: list[frozenset[str]] = []
    for _, tree in trees:
        about = None if whole else groups_of(tree, gold, files)
        groups.append(everything if about is None else (about | {ALWAYS}) & everything)
    wanted = {task_of(some, definition): some for some in (everything, *groups)}
    bundle = build_bundle(
        write_parts(BILLING, work / "suite", wanted), work / "bundle", kit=lane.kit
    )
    grader = _grader(build_bundle(BILLING, work / "whole", kit=lane.kit), lane)
    pieces = []
    for (entry, tree), some in zip(trees, groups, strict=True):
        archive, task = archive_tree(tree), task_of(some, definition)
        mark = hashlib.sha256(f"{grader} {task} ".encode() + archive).hexdigest()
        pieces.append(Piece(entry, touched(tree, gold), archive, task, mark))
    return bundle, pieces


def _grader(whole: Bundle, lane: LocalLane) -> str:
    """A digest of all that an outcome depends on beside the submission and its task."""
    referee = sorted((ROOT / "operator" / "gradekeeper" / "referee").glob("*.py"))
    digest = hashlib.sha256(whole.digest.encode())
    for path in (*referee, lane.laned, lane.kit):
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def grade(bundle: Bundle, lane: LocalLane, piece: Piece) -> Graded | str:
    """Grade one entry once; a text if it was not judged."""
    started = time.monotonic()
    try:
        graded = grade_local(bundle.path, piece.archive, lane=lane, task=piece.task)
    except LocalError as error:
        return str(error)
    result = graded.result
    if result.decision == UNJUDGED:
        return result.message
    seconds = round(time.monotonic() - started, 1)
    causes = tuple(f"{test.id}: {test.cause}" for test in graded.tests if test.outcome != PASSED)
    return Graded(result.reason, result.outcomes or "", seconds, causes)


def read_store(path: Path) -> dict[str, list[Graded]]:
    """Earlier gradings by mark; none if there is no file or it is damaged."""
    try:
        document: Any = json.loads(path.read_bytes())
        return {
            mark: [Graded(**{**one, "causes": tuple(one["causes"])}) for one in gradings]
            for mark, gradings in document["gradings"].items()
        }
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def write_store(path: Path, store: dict[str, list[Graded]], report: dict[str, Any]) -> None:
    """Replace the file as a whole: an interruption leaves the old or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    gradings = {mark: [asdict(one) for one in some] for mark, some in store.items()}
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps({**report, "gradings": gradings}, indent=1) + "\n")
    os.replace(fresh, path)


def stamp() -> dict[str, str]:
    """Date and commit of this run."""
    described = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    today = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d")
    return {"date": today, "commit": described.stdout.strip() or "unknown"}


def report_of(rows: Sequence[Row], run: dict[str, str]) -> dict[str, Any]:
    """What corpus.json says beside the gradings."""
    return {
        **run,
        **{side: asdict(rates(rows, side)) for side in SIDES},
        "entries": [
            {
                "side": row.entry.side,
                "name": row.entry.name,
                "kind": row.entry.kind,
                "services": row.services,
                "finding": row.finding,
                "changed": row.changed,
                "failed": [one.failed for one in row.gradings],
            }
            for row in rows
        ],
    }


def table_of(rows: Sequence[Row]) -> Table:
    """Counts by side and kind."""
    table = Table(title="corpus", title_justify="left")
    for name in ("side", "kind", "entries", "graded", "fooled", "changed"):
        table.add_column(name, justify="left" if name in ("side", "kind") else "right")
    for side in SIDES:
        for kind, members in by_kind(rows, side).items():
            told = rates(members, side)
            if not told.entries:
                continue
            counts = (len(members), told.entries, told.fooled, told.changed)
            table.add_row(side, kind, *map(str, counts))
    return table


def main(arguments: Sequence[str]) -> int:
    """Grade what is still to be graded; print and write what came of all."""
    parser = argparse.ArgumentParser(prog="make corpus", description=__doc__.split("\n")[0])
    parser.add_argument("words", nargs="*", help="words in side/name; default: all")
    parser.add_argument("--times", type=int, default=3, help="gradings of each entry")
    parser.add_argument("--at-once", type=int, default=2, help="gradings at a time")
    parser.add_argument("--whole", action="store_true", help="all tests for every entry")
    parser.add_argument("--page", type=Path, help="write the Markdown page there")
    chosen = parser.parse_args(arguments)
    console = Console(highlight=False)
    lane = LocalLane.from_environment()
    store = read_store(STORE)
    with tempfile.TemporaryDirectory(prefix="gradekeeper-corpus-") as work:
        bundle, pieces = prepare(Path(work), lane, whole=chosen.whole)

        def rows() -> list[Row]:
            return [
                Row(one.entry, one.services, tuple(store.get(one.mark, ())[: chosen.times]))
                for one in pieces
            ]

        def save() -> None:
            known = {piece.mark for piece in pieces}
            kept = {mark: some for mark, some in store.items() if mark in known}
            write_store(STORE, kept, report_of(rows(), stamp()))

        wanted = [
            one
            for one in pieces
            if not chosen.words
            or any(word in f"{one.entry.side}/{one.entry.name}" for word in chosen.words)
        ]
        # In an order that mixes sides and kinds: what an interruption leaves is a fair sample.
        wanted.sort(key=lambda one: hashlib.sha256(one.entry.name.encode()).digest())
        todo = [
            piece
            for turn in range(chosen.times)
            for piece in wanted
            if len(store.get(piece.mark, ())) <= turn
        ]
        unjudged: list[str] = []
        console.print(f"{len(wanted)} entries, {len(todo)} gradings to make, {bundle.digest}")
        pool = ThreadPoolExecutor(chosen.at_once)
        running: dict[Future[Graded | str], Piece] = {}
        try:
            queue = list(reversed(todo))
            while queue or running:
                while queue and len(running) < chosen.at_once:
                    piece = queue.pop()
                    running[pool.submit(grade, bundle, lane, piece)] = piece
                for done in wait(running, return_when=FIRST_COMPLETED).done:
                    piece, outcome = running.pop(done), done.result()
                    name = f"{piece.entry.side}/{piece.entry.name}"
                    if isinstance(outcome, str):
                        unjudged.append(f"{name}: not judged: {outcome}")
                        console.print(unjudged[-1], soft_wrap=True)
                        continue
                    store.setdefault(piece.mark, []).append(outcome)
                    left = len(queue) + len(running)
                    row = Row(piece.entry, piece.services, tuple(store[piece.mark]))
                    console.print(
                        f"{left:4} left  {name}: {outcome.failed} of {len(outcome.outcomes)}"
                        f" failed, {outcome.seconds:.0f} s  {row.finding}",
                        soft_wrap=True,
                    )
                    save()
        finally:
            pool.shutdown(cancel_futures=True)
        found = rows()
        save()
    console.print(table_of(found))
    chosen_ones = [one.entry for one in wanted]
    wrongs = problems([row for row in found if row.entry in chosen_ones])
    for sentence in (*wrongs, *unjudged, *headline(found)):
        console.print(sentence, soft_wrap=True)
    if chosen.page is not None:
        chosen.page.write_text(page(found, stamp(), WHOLE if chosen.whole else PARTS))
    return 1 if wrongs or unjudged else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
