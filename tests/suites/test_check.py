"""`suite check` by the real engine: what is taken out of a good suite turns it red."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from gradekeeper.referee.local import LocalLane
from gradekeeper.suites.check import Checked, check
from gradekeeper.suites.errors import DefinitionError
from gradekeeper.suites.pin import pin

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

SUITE = """\
schema: gradekeeper.suite/v1
name: small
version: "1"
lane: java17
base: ../repo
submission: {include: ["src/**/*.java"]}
build: {kind: java17, sourceRoot: src}
resources: {lane: {cpu: "1", memory: 1Gi}, referee: {cpu: 200m, memory: 192Mi}}
groups:
  - name: sums
    driver: drivers.Desk1
    inputs: {a: {integer: [2, 900]}, b: {integer: [3, 900]}}
    tests:
      - {id: fix_adds, method: m01, discriminates: true}
      - {id: guard_first, method: m02}
  - name: products
    driver: drivers.Desk1
    inputs: {a: {integer: [5, 900]}, b: {integer: [3, 900]}}
    tests:
      - {id: fix_multiplies, method: m03, discriminates: true}
      - {id: fix_nothing, method: m04, discriminates: true}
"""
DRIVER = """\
package drivers;
import app.Sum;
import gradekeeper.kit.Desk;
public final class Desk1 {
    public static void m01(Desk desk) {
        desk.observe("x", () -> Sum.of(desk.number("a"), desk.number("b")));
    }
    public static void m02(Desk desk) {
        desk.observe("x", () -> Sum.of(desk.number("a"), 0));
    }
    public static void m03(Desk desk) {
        desk.observe("x", () -> Sum.product(desk.number("a"), desk.number("b")));
    }
    public static void m04(Desk desk) {
        desk.observe("x", () -> Sum.product(desk.number("a"), 0));
        desk.observe("y", () -> Sum.product(desk.number("a"), 1));
    }
}
"""
SUM = """\
package app;
public class Sum {
    public static int of(int a, int b) {
        return a + %s;
    }

    public static int product(int a, int b) {
        return a * b%s;
    }
}
"""
PATCH = """\
--- a/src/app/Sum.java
+++ b/src/app/Sum.java
@@ -%d +%d @@
-        return a %s;
+        return a %s;
"""
SCENARIOS = """\
scenarios:
  - name: sums-only
    simulates: Somebody who repairs the sum and spoils the product.
    expect: {fails: [products/fix_multiplies, products/fix_nothing]}
"""
DEFECTS = """\
defects:
  - {name: sums, fails: [sums/fix_adds]}
  - {name: products, fails: [products/fix_multiplies, products/fix_nothing]}
"""


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.fixture(scope="module")
def pins(tmp_path_factory: pytest.TempPathFactory, lane: LocalLane) -> dict[str, str]:
    folder = write_suite(tmp_path_factory.mktemp("pinned"))
    pin(folder, lane=lane, draws=2, rounds=1)
    return {path.name: path.read_text() for path in (folder / "referee/pins").iterdir()}


def write_suite(root: Path) -> Path:
    folder = root / "small"
    write(root / "repo/src/app/Sum.java", SUM % ("Math.min(b, 2)", " + 1"))
    write(folder / "suite.yaml", SUITE)
    write(folder / "lane/drivers/Desk1.java", DRIVER)
    write(folder / "submissions/gold/src/app/Sum.java", SUM % ("b", ""))
    write(folder / "submissions/scenarios/sums-only/src/app/Sum.java", SUM % ("b", " - 1"))
    write(folder / "submissions/scenarios.yaml", SCENARIOS)
    write(folder / "submissions/defects.yaml", DEFECTS)
    write(folder / "submissions/defects/sums.patch", PATCH % (4, 4, "+ Math.min(b, 2)", "+ b"))
    write(folder / "submissions/defects/products.patch", PATCH % (8, 8, "* b + 1", "* b"))
    (folder / "submissions/null").mkdir()
    return folder


@pytest.fixture
def folder(tmp_path: Path, pins: dict[str, str]) -> Path:
    made = write_suite(tmp_path)
    for name, text in pins.items():
        write(made / "referee/pins" / name, text)
    return made


def told(line: Checked) -> tuple[str, bool]:
    return line.name, line.loaded


def test_a_good_suite_is_green_under_load_too(folder: Path, lane: LocalLane) -> None:
    report = check(folder, lane=lane, gold=3, loaded=1)
    lines = [told(line) for line in report.lines]
    assert lines == [
        *((name, False) for name in ("lane", "defects", "scenarios", "gold", "gold", "gold")),
        ("gold", True),
        *((name, False) for name in ("null", "null", "only-sums", "only-products")),
        *((name, False) for name in ("peer-defaults", "peer-throws", "sums-only")),
    ]
    assert [line.draw for line in report.lines if line.name == "gold"] == [0, 1, None, None]
    assert [line.problems for line in report.lines] == [()] * len(lines)
    assert report.ok


def edit(name: str, old: str, new: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        text = (folder / name).read_text()
        assert text.count(old) == 1
        write(folder / name, text.replace(old, new))

    return change


def forget_an_entry(folder: Path) -> None:
    path = folder / "referee/pins/products.json"
    document = json.loads(path.read_text())
    document["products/fix_nothing"][0]["transcripts"][0].pop()
    write(path, json.dumps(document))


def accept_a_default(folder: Path) -> None:
    """Pins as if nothing had been asked but what a program without behaviour answers too."""
    path = folder / "referee/pins/products.json"
    document = json.loads(path.read_text())
    for draw in document["products/fix_nothing"]:
        draw["transcripts"] = [
            [["obs", key, {"t": "int", "v": "0"}] for key in ("x", "y")],
        ]
    write(path, json.dumps(document))


def confuse_defects(folder: Path) -> None:
    text = DEFECTS.replace("sums,", "S,").replace("products,", "sums,").replace("S,", "products,")
    write(folder / "submissions/defects.yaml", text)


def forget_a_defect(folder: Path) -> None:
    edit("submissions/defects.yaml", "  - {name: sums, fails: [sums/fix_adds]}\n", "")(folder)
    (folder / "submissions/defects/sums.patch").unlink()


@pytest.mark.parametrize(
    ("change", "only", "problem"),
    [
        (edit("submissions/defects/sums.patch", "+        return a + b;", "+        return b + a;"),
         "defects", "all repairs together do not give gold: src/app/Sum.java, line 4, differs"),
        (edit("submissions/gold/src/app/Sum.java", "* b;", "* b ;"), "defects",
         "all repairs together do not give gold: src/app/Sum.java, line 8, differs"),
        (forget_a_defect, "defects", "all repairs together do not give gold: "),
        (forget_a_defect, "defects", "no defect claims sums/fix_adds, which discriminates"),
        (edit("submissions/defects.yaml", "products/fix_multiplies, ", ""), "defects",
         "no defect claims products/fix_multiplies"),
        (edit("submissions/defects.yaml", "[sums/fix_adds]", "[sums/*]"), "defects",
         "sums claims sums/guard_first, which does not discriminate"),
        (edit("suite.yaml", "m03, discriminates: true", "m03"), "defects",
         "products claims products/fix_multiplies, which does not discriminate"),
        (edit("suite.yaml", "m03, discriminates: true", "m03"), "null",
         "products/fix_multiplies fails (F), but must pass"),
        (edit("submissions/scenarios.yaml", "products/fix_multiplies, ", ""), "sums-only",
         "products/fix_multiplies fails (F), but must pass"),
        (edit("submissions/scenarios.yaml", "fix_nothing]}", 'fix_nothing, "*/fix_nothing"]}'),
         "scenarios", "without fails '*/fix_nothing' the same would be expected"),
        (confuse_defects, "only-sums", "sums/fix_adds fails (F), but must pass"),
        (confuse_defects, "only-sums", "products/fix_nothing passes, but must fail"),
        (forget_an_entry, "gold", "products/fix_nothing fails (F), but must pass"),
        (accept_a_default, "peer-defaults", "products/fix_nothing passes, but must fail"),
    ],
)  # fmt: skip
def test_what_is_taken_out_is_missed(
    folder: Path, lane: LocalLane, change: Callable[[Path], None], only: str, problem: str
) -> None:
    change(folder)
    report = check(folder, lane=lane, gold=1, loaded=0, only=[only])
    assert not report.ok
    found = [text for line in report.lines if line.name == only for text in line.problems]
    assert any(problem in text for text in found), found


def test_what_does_not_exist_cannot_be_chosen(folder: Path, lane: LocalLane) -> None:
    with pytest.raises(DefinitionError, match="nothing is called 'only-x'; there is lane, defects"):
        check(folder, lane=lane, only=["only-x"])
