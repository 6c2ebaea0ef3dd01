"""A suite small enough to build in a unit test: one driver that needs no kit."""

from pathlib import Path
from typing import Any

import yaml

from gradekeeper.suites.pin import format_pins

DOCUMENT: dict[str, Any] = {
    "schema": "gradekeeper.suite/v1",
    "name": "tiny",
    "version": "1.0.0",
    "lane": "java17",
    "base": "../repo",
    "submission": {"include": ["src/**/*.java"], "exclude": ["**/hidden/**"]},
    "build": {"kind": "java17", "sourceRoot": "src"},
    "resources": {
        "lane": {"cpu": "1", "memory": "1Gi"},
        "referee": {"cpu": "200m", "memory": "192Mi"},
    },
    "parameters": {
        "testTimeoutSeconds": {"default": "20", "pattern": "^[0-9]+$", "description": "One test."}
    },
    "groups": [
        {
            "name": "sums",
            "driver": "drivers.Desk1",
            "inputs": {"a": {"cents": [100, 999]}},
            "tests": [
                {"id": "fix_adds", "method": "m01", "discriminates": True},
                {"id": "guard_names", "method": "m02", "inputs": {"w": "word"}},
            ],
        },
        {
            "name": "waits",
            "driver": "drivers.Desk1",
            "repeats": 2,
            "tests": [
                {
                    "id": "fix_waits",
                    "method": "m03",
                    "discriminates": True,
                    "doubles": {"give": ["hold", "ok"]},
                },
            ],
        },
    ],
}

PINS: dict[str, dict[str, Any]] = {
    "sums": {
        "sums/fix_adds": [
            {"inputs": {"a": "1.25"}, "transcripts": [[["obs", "x", {"t": "dec", "v": "17.375"}]]]}
        ],
        "sums/guard_names": [
            {"inputs": {"a": "1.00", "w": "abc"}, "transcripts": [[["obs", "x", "secretword"]]]}
        ],
    },
    "waits": {
        "waits/fix_waits": [{"inputs": {}, "transcripts": [[["call", "give", ["parcel"]]]]}],
    },
}

DRIVER = """\
package drivers;
import app.Sum;
public final class Desk1 {
    public static void m01(Object desk) { Sum.of(1, 2); }
    public static void m02(Object desk) { }
    public static void m03(Object desk) { }
}
"""


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def write_suite(root: Path, document: dict[str, Any] = DOCUMENT) -> Path:
    """Write the starting repository and the suite folder; return the latter."""
    write(root / "repo/src/app/Sum.java", "package app;\npublic class Sum {\n}\n")
    write(root / "repo/README.md", "sums\n")
    folder = root / "tiny"
    write(folder / "suite.yaml", yaml.safe_dump(document, sort_keys=False))
    write(folder / "lane/drivers/Desk1.java", DRIVER)
    write(
        folder / "submissions/gold/src/app/Sum.java",
        "package app;\npublic class Sum {\n"
        "    public static int of(int a, int b) { return a + b; }\n}\n",
    )
    (folder / "submissions/null").mkdir(parents=True)
    for group, pins in PINS.items():
        write(folder / f"referee/pins/{group}.json", format_pins(pins))
    return folder
