"""Builds the small suite that the referee is tested with: compiled, pinned and hashed for real."""

import gzip
import hashlib
import io
import json
import subprocess
import tarfile
from pathlib import Path

from gradekeeper.referee.local import LocalLane, record

HERE = Path(__file__).parent / "fixtures"
GOLD = HERE / "gold"
ACCOUNT = "src/main/java/bank/Account.java"
COUNTER = "src/main/java/bank/Counter.java"

SUITE = {
    "schema": "gradekeeper.suite/v1",
    "name": "bank",
    "version": "1.0.0",
    "lane": "java17",
    "submission": {
        "include": ["src/main/java/**/*.java"],
        "exclude": ["**/testkit/**"],
        "maxFiles": 500,
        "maxBytes": 8 * 1024 * 1024,
    },
    "build": {
        "kind": "java17",
        "sourceRoot": "src/main/java",
        "timeoutSeconds": 60,
        "heapMiB": 256,
    },
    "limits": {
        "suiteTimeoutSeconds": 300,
        "runTimeoutSeconds": 120,
        "testTimeoutSeconds": 10,
        "restartsPerGroup": 3,
        "parallel": 2,
        "heapMiB": 96,
        "scratchMiB": 16,
        "processes": 128,
        "fileMiB": 8,
    },
    "parameters": {
        "testTimeoutSeconds": {"default": "10", "pattern": "^[0-9]{1,2}$"},
        "suiteTimeoutSeconds": {"default": "300", "pattern": "^[0-9]{1,3}$"},
    },
    "tasks": {"counting": {"groups": ["abacus"]}},
    "groups": [
        {
            "name": "till",
            "driver": "drivers.Till",
            "repeats": 2,
            "tests": [
                {
                    "id": "fix_no_overdraft",
                    "method": "m01",
                    "discriminates": True,
                    "doubles": {"pay": ["hold"]},
                    "compare": "multiset",
                },
                {"id": "guard_receipts", "method": "m02", "discriminates": True},
                {
                    "id": "guard_refused",
                    "method": "m03",
                    "discriminates": True,
                    "doubles": {"pay": ["refuse"]},
                },
            ],
        },
        {
            "name": "abacus",
            "driver": "drivers.Abacus",
            "repeats": 1,
            "tests": [
                {"id": "sums", "method": "m01", "discriminates": True},
                {"id": "signs", "method": "m02", "discriminates": True},
                {"id": "both", "method": "m03", "discriminates": True},
            ],
        },
    ],
}
ORDER = [f"{group['name']}/{test['id']}" for group in SUITE["groups"] for test in group["tests"]]

TILL_INPUTS = [
    {"name": "amber", "total": "100.00", "part": "60.50"},
    {"name": "birch", "total": "0.30", "part": "0.20"},
]
ABACUS_INPUTS = [{"one": "3", "two": "9"}, {"one": "20", "two": "11"}]


def archive(files: dict[str, bytes | str]) -> bytes:
    """A tar.gz of regular files."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz", compresslevel=1) as tar:
        for name, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


def gold_files() -> dict[str, bytes | str]:
    """The right answer."""
    return {str(path.relative_to(GOLD)): path.read_bytes() for path in sorted(GOLD.rglob("*.java"))}


def submission(**changes: str) -> bytes:
    """Gold with `Account` or `Counter` replaced, or other classes of package bank added."""
    files = gold_files()
    for name, source in changes.items():
        files[f"src/main/java/bank/{name}.java"] = source
    return archive(files)


def build_bundle(target: Path, lane: LocalLane) -> Path:
    """Compile, record gold, pin, hash."""
    (target / "lane" / "files").mkdir(parents=True)
    (target / "lane" / "files" / "note.txt").write_text("seen by the lane\n")
    classes = target.parent / "classes"
    classes.mkdir()
    sources = [str(path) for path in (*GOLD.rglob("*.java"), *HERE.glob("lane/**/*.java"))]
    subprocess.run(
        [
            str(lane.java_home / "bin" / "javac"),
            *("--release", "17", "-proc:none", "-cp", str(lane.kit), "-d", str(classes)),
            *sources,
        ],
        check=True,
        timeout=120,
    )
    subprocess.run(
        [
            str(lane.java_home / "bin" / "jar"),
            *("--create", "--file", str(target / "lane" / "drivers.jar"), "--no-manifest"),
            *("-C", str(classes), "drivers"),
        ],
        check=True,
        timeout=60,
    )
    (target / "submissions").mkdir()
    (target / "submissions" / "gold.tar.gz").write_bytes(archive(gold_files()))
    null = dict.fromkeys(gold_files(), b"")
    (target / "submissions" / "null.tar.gz").write_bytes(archive(null))
    (target / "suite.json").write_text(json.dumps(SUITE))
    write_manifest(target)

    inputs = {test: TILL_INPUTS if test.startswith("till/") else ABACUS_INPUTS for test in ORDER}
    recording = record(target, "gold", inputs, lane=lane, repeats=2)
    assert recording.compiled, recording.log.decode()
    pins = {}
    for test in ORDER:
        pins[test] = []
        for draw, runs in enumerate(recording.transcripts[test]):
            assert [run.outcome for run in runs] == ["P", "P"], (test, runs, recording.log)
            assert runs[0].transcript == runs[1].transcript, test
            pins[test].append({"inputs": inputs[test][draw], "transcripts": [runs[0].transcript]})
    (target / "referee").mkdir()
    (target / "referee" / "pins.json").write_text(json.dumps(pins))
    tasks = {"": ORDER, "counting": [test for test in ORDER if test.startswith("abacus/")]}
    index = {"schema": "gradekeeper.index/v1", "suite": "bank", "tasks": tasks}
    (target / "index.json").write_text(json.dumps(index))
    write_manifest(target)
    return target


def write_manifest(target: Path) -> None:
    """List every file with its digest."""
    files = {
        str(path.relative_to(target)): "sha256:" + hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(target.rglob("*"))
        if path.is_file() and path.name != "manifest.json"
    }
    manifest = {
        "schema": "gradekeeper.bundle/v1",
        "name": "bank",
        "version": "1.0.0",
        "files": files,
    }
    (target / "manifest.json").write_text(json.dumps(manifest, sort_keys=True))


def gunzip(data: bytes) -> bytes:
    """For tests that change bytes of a tar."""
    return gzip.decompress(data)
