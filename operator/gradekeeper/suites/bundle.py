"""From a suite folder to the bundle that is mounted at /suite: deterministic, listed, digested.

docs/protocols.md "Bundle" fixes the layout. The digest of the manifest is the suite's digest, so
two machines that build the same folder must write the same bytes.
"""

import hashlib
import itertools
import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from gradekeeper.referee.bundle import SubmissionRules
from gradekeeper.referee.intake import compile_rules
from gradekeeper.referee.strictjson import StrictJsonError, encode_canonical, parse_strict
from gradekeeper.suites.definition import SuiteDefinition, load_suite
from gradekeeper.suites.errors import DefinitionError
from gradekeeper.suites.java import build_jar, compile_drivers, find_javac
from gradekeeper.suites.trees import GOLD, NULL, Tree, archive_tree, builtin_tree, read_tree

BUNDLE_SCHEMA: Final = "gradekeeper.bundle/v1"
INDEX_SCHEMA: Final = "gradekeeper.index/v1"
MANIFEST: Final = "manifest.json"
INDEX: Final = "index.json"
_MAX_MANIFEST_BYTES = 4 * 1024 * 1024
_MAX_PINS_BYTES = 64 * 1024 * 1024
_MAX_FILE_BYTES = 256 * 1024 * 1024
_MAX_FILES = 10_000

Pins = dict[str, list[dict[str, Any]]]
"""Full test id -> one element a draw: {"inputs": {name: text}, "transcripts": [[entry, …], …]}."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """A built bundle.

    Attributes:
        path: Its folder.
        digest: The suite digest, `sha256:<hex>` of manifest.json.
        name: Of the suite.
        version: Of the suite.
        index: The bytes of index.json.
        definition: The suite as the referee sees it (`suite.json`).
    """

    path: Path
    digest: str
    name: str
    version: str
    index: bytes
    definition: Mapping[str, Any]

    @property
    def index_digest(self) -> str:
        """`sha256:<hex>` of index.json."""
        return digest_of(self.index)


def digest_of(data: bytes) -> str:
    """`sha256:<hex>` of the data."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def build_index(definition: SuiteDefinition) -> bytes:
    """Ordered ids of each task's tests and the places of those that null must fail."""
    tasks = definition.tests()
    return encode_canonical(
        {
            "schema": INDEX_SCHEMA,
            "suite": definition.name,
            "tasks": {task: [test_id for test_id, _ in tests] for task, tests in tasks.items()},
            "discriminating": {
                task: [place for place, (_, test) in enumerate(tests) if test.discriminates]
                for task, tests in tasks.items()
            },
        }
    )


def read_pins(folder: Path, definition: SuiteDefinition) -> Pins:
    """Read `referee/pins/*.json` and check that they fit the definition.

    Raises:
        DefinitionError: a pin file is missing, damaged or stale; the text says what to run.
    """
    pins: Pins = {}
    hint = f"run `gradekeeper suite pin {folder}` and review the difference"
    for group in definition.groups:
        path = folder / "referee" / "pins" / f"{group.name}.json"
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
        except OSError:
            raise DefinitionError(f"{path} cannot be read: {hint}") from None
        except ValueError:
            raise DefinitionError(f"{path} is not JSON: {hint}") from None
        expected = [f"{group.name}/{test.id}" for test in group.tests]
        if not isinstance(document, dict) or sorted(document) != sorted(expected):
            raise DefinitionError(f"{path} does not list exactly the group's tests: {hint}")
        for test in group.tests:
            test_id = f"{group.name}/{test.id}"
            names = set(group.inputs_of(test))
            keys = {"inputs", "transcripts"}
            if group.rounds_of(test) is not None:
                keys.add("repeat")
            draws = document[test_id]
            if not isinstance(draws, list) or not draws:
                raise DefinitionError(f"{path}: {test_id} has no draw: {hint}")
            for draw in draws:
                if (
                    not isinstance(draw, dict)
                    or draw.keys() != keys
                    or set(draw["inputs"]) != names
                    or not draw["transcripts"]
                ):
                    raise DefinitionError(f"{path}: {test_id} is not as suite.yaml says: {hint}")
            pins[test_id] = draws
    return pins


def build_bundle(
    folder: Path | str, out: Path | str, *, kit: Path, pins: Pins | None = None
) -> Bundle:
    """Build a bundle.

    Args:
        folder: The suite folder.
        out: Where to; an earlier bundle there is replaced, anything else refused.
        kit: The lane kit's jar, which drivers compile against.
        pins: Expectations to put in instead of those of the folder; `suite pin` passes none.

    Returns:
        The bundle.

    Raises:
        DefinitionError: the folder does not say what it must, or `out` is something else.
        ToolError: no JDK 17, or drivers or gold do not compile.
    """
    root, target = Path(folder), Path(out)
    definition = load_suite(root)
    _require_replaceable(target)
    expectations = read_pins(root, definition) if pins is None else pins
    trees = {name: builtin_tree(root, definition, name) for name in (GOLD, NULL)}
    _require_files(root, definition, trees)
    classes = compile_drivers(
        gold=trees[GOLD],
        source_root=definition.build.source_root,
        drivers=root / "lane",
        kit=kit,
        javac=find_javac(),
    )
    for group in definition.groups:
        if group.driver.replace(".", "/") + ".class" not in classes:
            raise DefinitionError(f"{root}: group {group.name}: no class {group.driver} came out")
    index = build_index(definition)
    files = {
        "suite.json": encode_canonical(definition.for_referee()),
        INDEX: index,
        "lane/drivers.jar": build_jar(classes),
        "referee/pins.json": encode_canonical(expectations),
        **{f"submissions/{name}.tar.gz": archive_tree(tree) for name, tree in trees.items()},
    }
    if (root / "lane" / "files").is_dir():
        extra = read_tree(root / "lane" / "files")
        files |= {f"lane/files/{name}": content for name, (content, _) in extra.items()}
    manifest = encode_canonical(
        {
            "schema": BUNDLE_SCHEMA,
            "name": definition.name,
            "version": definition.version,
            "files": {name: digest_of(content) for name, content in files.items()},
        }
    )
    shutil.rmtree(target, ignore_errors=True)
    _write(target, {**files, MANIFEST: manifest})
    return Bundle(
        target,
        digest_of(manifest),
        definition.name,
        definition.version,
        index,
        definition.for_referee(),
    )


def load_bundle(path: Path | str) -> Bundle:
    """Read a bundle and check every file against its manifest.

    Raises:
        DefinitionError: not a bundle, or a file that is missing, changed or not listed.
    """
    root = Path(path)
    try:
        manifest = _read(root / MANIFEST, _MAX_MANIFEST_BYTES)
        document = parse_strict(manifest, max_bytes=_MAX_MANIFEST_BYTES)
        listed = document["files"]
        present = {
            file.relative_to(root).as_posix()
            for file in itertools.islice(root.rglob("*"), _MAX_FILES)
            if file.is_file() and file != root / MANIFEST
        }
        if document["schema"] != BUNDLE_SCHEMA or present != set(listed):
            raise DefinitionError(f"{root} has other files than its manifest lists; build it anew")
        for name, digest in listed.items():
            if digest_of(_read(root / name, _MAX_FILE_BYTES)) != digest:
                raise DefinitionError(f"{root}/{name} was changed after the bundle was built")
        index = _read(root / INDEX, _MAX_FILE_BYTES)
        definition = parse_strict(
            _read(root / "suite.json", _MAX_PINS_BYTES), max_bytes=_MAX_PINS_BYTES
        )
        return Bundle(
            root, digest_of(manifest), document["name"], document["version"], index, definition
        )
    except OSError as error:
        raise DefinitionError(f"{root} is not a bundle: {error.strerror or error}") from None
    except (StrictJsonError, KeyError, TypeError, AttributeError):
        raise DefinitionError(f"{root} is not a bundle: its manifest cannot be read") from None


def _read(path: Path, most: int) -> bytes:
    """Read a file of a bundle that anybody may have made.

    Raises:
        DefinitionError: it is larger than `most` bytes.
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise DefinitionError(f"{path} is larger than {most} bytes")
    return data


def _require_files(root: Path, definition: SuiteDefinition, trees: Mapping[str, Tree]) -> None:
    """Refuse patterns that leave nothing to compile of gold or null, or nothing that differs."""
    rules = definition.submission
    takes = compile_rules(
        SubmissionRules(
            include=rules.include,
            exclude=rules.exclude,
            max_files=rules.max_files,
            max_bytes=rules.max_bytes,
        )
    )
    for name, tree in trees.items():
        if not any(takes(path) for path in tree):
            raise DefinitionError(
                f"{root}/suite.yaml: submission: none of the {len(tree)} files of {name} matches"
                f" include {list(rules.include)}"
                + (f" and not exclude {list(rules.exclude)}" if rules.exclude else "")
            )
    gold, null = (
        {path: content for path, (content, _) in trees[name].items() if takes(path)}
        for name in (GOLD, NULL)
    )
    if gold == null and any(test.discriminates for _, _, test in definition.every_test()):
        raise DefinitionError(
            f"{root}: gold and null are the same submission, and no test can tell them apart: put"
            f" the repaired files into submissions/{GOLD}/, under the paths that they have in the"
            f" repository ({definition.base}), where include {list(rules.include)} takes them"
        )


def _require_replaceable(target: Path) -> None:
    if target.exists() and any(target.iterdir()) and not (target / MANIFEST).is_file():
        raise DefinitionError(f"{target} exists and is not a bundle; it is left alone")


def _write(target: Path, files: Mapping[str, bytes]) -> None:
    for name, content in sorted(files.items()):
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        path.chmod(0o644)
    for directory in [target, *(path for path in target.rglob("*") if path.is_dir())]:
        directory.chmod(0o755)
