"""`make fuzz SECONDS=60`: every target one after another, and a table.

    python tests/fuzz/campaign.py --seconds 60 [TARGET …]

Corpora grow in `--work`; what is found there is kept from one campaign to the next. A target ends
at its first finding, whose input is left in `--work`. A campaign also fails where the memory of a
target's process grows by more than `MAX_GROWTH_MIB` after its corpus was read.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "operator"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rich.console import Console
from rich.table import Table

from fuzz import corpus, orders, targets

ROOT = Path(__file__).resolve().parents[2]
MAX_GROWTH_MIB = 256
"""The engine's own corpus and coverage tables grow as well; a leak of a KiB an execution is far
more within a minute."""
INPUT_SECONDS = 10
"""What takes longer for one input is a finding: it hangs."""
PARSER, REAL = "orders", "laned"
NAMES = (*targets.NAMES, PARSER, REAL)


@dataclass(frozen=True)
class Done:
    """One target's campaign.

    Attributes:
        name: of the target.
        executions: inputs that were run; of `laned`, datagrams that were sent.
        seconds: wall time.
        inputs: in the corpus at the end.
        growth_mib: peak resident memory beyond what it was when the corpus was read.
        peak_mib: peak resident memory.
        finding: the last lines of a run that ended with one, else "".
    """

    name: str
    executions: int
    seconds: float
    inputs: int
    growth_mib: float
    peak_mib: float
    finding: str


class Memory:
    """Follows the resident memory of a process tree's biggest member, in MiB."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._started = False
        self.base = 0.0
        self.peak = 0.0

    def loaded(self) -> None:
        """The corpus was read: growth counts from here."""
        self.base = self._now()
        self._started = True

    def look(self) -> None:
        """Take one sample."""
        now = self._now()
        self.peak = max(self.peak, now)
        if not self._started:
            self.base = now

    def _now(self) -> float:
        try:
            status = Path(f"/proc/{self._pid}/status").read_text()
        except OSError:
            return 0.0
        found = re.search(r"VmRSS:\s+(\d+)", status)
        return int(found[1]) / 1024 if found else 0.0


def prepare(work: Path, name: str) -> tuple[Path, list[str]]:
    """Write seeds and dictionary; returns the growing corpus and what libFuzzer needs to know."""
    if name == PARSER:
        seeds: Mapping[str, bytes] = {**orders.seeds(), **corpus.kept(name)}
        words: Sequence[bytes] = orders.WORDS
        longest = 4096
    else:
        target = targets.load(name)
        seeds, words, longest = corpus.seeds(name, target), target.WORDS, target.MAX_LEN
    growing, start = work / "corpus" / name, work / "seeds" / name
    findings = work / "findings"
    shutil.rmtree(start, ignore_errors=True)
    for folder in (growing, start, findings):
        folder.mkdir(parents=True, exist_ok=True)
    for label, data in seeds.items():
        (start / label).write_bytes(data)
    dictionary = work / f"{name}.dict"
    lines = ['"' + "".join(f"\\x{byte:02x}" for byte in word) + '"' for word in words]
    dictionary.write_text("\n".join(lines) + "\n")
    return growing, [
        f"-max_len={longest}",
        f"-dict={dictionary}",
        f"-timeout={INPUT_SECONDS}",
        f"-artifact_prefix={findings}/{name}-",
        "-rss_limit_mb=1024",
        "-print_final_stats=1",
        str(growing),
        str(start),
    ]


def build_parser(work: Path) -> Path:
    """Compile `orders.c` with clang's fuzzer and sanitizers."""
    program = work / PARSER
    work.mkdir(parents=True, exist_ok=True)
    command = ["clang", "-std=gnu11", "-g", "-O1", "-fsanitize=fuzzer,address,undefined"]
    command += ["-fno-sanitize-recover=undefined", "-o", str(program)]
    source = Path(__file__).with_name("orders.c")
    parts = [str(source.parents[2] / "lanes" / name) for name in ("filter.c", "writes.c")]
    subprocess.run([*command, str(source), *parts], check=True, timeout=300)
    return program


def fuzz(work: Path, name: str, seconds: int) -> Done:
    """Run one target for some time."""
    growing = None
    if name == REAL:
        command = [sys.executable, "-m", "fuzz.orders", "--seconds", str(seconds)]
    else:
        growing, options = prepare(work, name)
        options.insert(0, f"-max_total_time={seconds}")
        command = [sys.executable, "-m", "fuzz.engine", name, *options]
        if name == PARSER:
            command = [str(build_parser(work)), *options]
    path = os.pathsep.join([str(ROOT / "operator"), str(ROOT / "tests"), str(ROOT)])
    began = time.monotonic()
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path, "ASAN_OPTIONS": "quarantine_size_mb=8"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        memory = Memory(process.pid)
        over = threading.Event()
        watcher = threading.Thread(target=_watch, args=(process, memory, over, seconds))
        watcher.start()
        lines = _read(process, memory)
        status = process.wait()
        over.set()
        watcher.join()
    spent = time.monotonic() - began
    (work / f"{name}.log").write_text("\n".join(lines) + "\n")
    text = "\n".join(lines)
    executions = re.search(r"stat::number_of_executed_units:\s+(\d+)", text)
    growth = max(0.0, memory.peak - memory.base)
    finding = ""
    if status != 0 or executions is None:
        finding = "\n".join(line for line in lines if not line.startswith("#"))[-3000:]
    elif growth > MAX_GROWTH_MIB:
        finding = f"its memory grew by {growth:.0f} MiB"
    return Done(
        name,
        int(executions[1]) if executions else 0,
        spent,
        len(list(growing.iterdir())) if growing is not None else 0,
        growth,
        memory.peak,
        finding,
    )


def _read(process: subprocess.Popen[str], memory: Memory) -> list[str]:
    """The last lines of a target's output; notes when its corpus was read."""
    assert process.stdout is not None
    lines: list[str] = []
    for line in process.stdout:
        lines = [*lines[-400:], line.rstrip("\n")]
        if "INITED" in line:
            memory.loaded()
    return lines


def _watch(
    process: subprocess.Popen[str], memory: Memory, over: threading.Event, seconds: int
) -> None:
    """Sample memory; end a target that does not end by itself."""
    deadline = time.monotonic() + seconds + 120
    while not over.wait(0.2):
        memory.look()
        if time.monotonic() > deadline:
            process.kill()


def show(results: Sequence[Done]) -> None:
    """The table, and what was found."""
    table = Table(title="fuzzing", title_justify="left")
    for title in ("target", "executions", "per second", "corpus", "peak MiB", "grown MiB", ""):
        table.add_column(title, justify="left" if title in ("target", "") else "right")
    for one in results:
        table.add_row(
            one.name,
            f"{one.executions:,}",
            f"{one.executions / max(one.seconds, 0.001):,.0f}",
            str(one.inputs or ""),
            f"{one.peak_mib:.0f}",
            f"{one.growth_mib:.0f}",
            "FINDING" if one.finding else "ok",
        )
    console = Console(width=100)
    console.print(table)
    for one in results:
        if one.finding:
            console.print(f"\n{one.name}:\n{one.finding}", markup=False, highlight=False)


def keep(work: Path, name: str, bound: int) -> int:
    """Copy into the repository the smallest inputs that reach everything the corpus reaches.

    Returns:
        How many there are; of a target with more bytes than `bound`, only the smallest.
    """
    growing, options = prepare(work, name)
    merged = work / "merged" / name
    shutil.rmtree(merged, ignore_errors=True)
    merged.mkdir(parents=True)
    itself = work / f"engine-{name}"
    itself.write_text(f'#!/bin/sh\nexec {sys.executable} -m fuzz.engine {name} "$@"\n')
    itself.chmod(0o755)
    command = [str(build_parser(work) if name == PARSER else itself)]
    path = os.pathsep.join([str(ROOT / "operator"), str(ROOT / "tests"), str(ROOT)])
    subprocess.run(
        [*command, "-merge=1", *options[:-2], str(merged), str(growing), options[-1]],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path, "GRADEKEEPER_FUZZ_ENGINE": str(itself)},
        check=True,
        timeout=600,
        capture_output=True,
    )
    target = corpus.KEPT / name
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    known = set() if name == PARSER else set(targets.load(name).SEEDS.values())
    used = 0
    for source in sorted(merged.iterdir(), key=lambda path: path.stat().st_size):
        data = source.read_bytes()
        used += len(data)
        if used > bound:
            break
        if data not in known:
            (target / source.name[:16]).write_bytes(data)
    return len(list(target.iterdir()))


def main(arguments: Sequence[str]) -> int:
    """Run a campaign; the exit status is 1 if anything was found."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("targets", nargs="*", choices=[*NAMES, []], metavar="TARGET")
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "fuzz")
    parser.add_argument(
        "--keep", type=int, metavar="BYTES", help="instead of fuzzing, renew the kept corpora"
    )
    options = parser.parse_args(arguments)
    chosen = options.targets or list(NAMES)
    work = options.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    if options.keep is not None:
        for name in chosen:
            if name != REAL:
                print(name, keep(work, name, options.keep))
        return 0
    results = []
    for name in chosen:
        print(f"{name}: {options.seconds} s", flush=True)
        results.append(fuzz(work, name, options.seconds))
    show(results)
    return 1 if any(one.finding for one in results) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
