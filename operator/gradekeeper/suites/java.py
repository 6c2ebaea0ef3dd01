"""Compiling drivers: the JDK's javac in, one jar out that is the same bytes every time."""

import os
import re
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from gradekeeper.suites.errors import ToolError

REQUIRED = 17
_LIMIT_SECONDS = 180


def find_javac() -> Path:
    """The javac of JAVA_HOME, else of the PATH.

    Raises:
        ToolError: there is none, or it is not of JDK 17: another one would give other bytes, and
            so another suite digest.
    """
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("javac", path=f"{home}/bin" if home else None)
    if found is None:
        where = f"JAVA_HOME ({home})" if home else "the PATH"
        raise ToolError(f"There is no javac in {where}; install a JDK {REQUIRED} or set JAVA_HOME.")
    answer = subprocess.run(
        [found, "-version"], capture_output=True, text=True, timeout=_LIMIT_SECONDS, check=False
    )
    version = re.search(r"javac (\d+)", answer.stdout + answer.stderr)
    if version is None or int(version.group(1)) != REQUIRED:
        said = (answer.stdout + answer.stderr).strip() or "nothing"
        raise ToolError(
            f"{found} is not of a JDK {REQUIRED} (it says: {said}); set JAVA_HOME to one, since"
            " another compiler gives the suite another digest."
        )
    return Path(found)


def compile_drivers(
    *,
    gold: Mapping[str, tuple[bytes, bool]],
    source_root: str,
    drivers: Path,
    kit: Path,
    javac: Path,
) -> dict[str, bytes]:
    """Compile driver sources against the gold submission and the kit.

    Args:
        gold: The gold submission; only `*.java` below `source_root` is compiled, and none of its
            classes comes out.
        source_root: Of the submission.
        drivers: Folder with driver sources.
        kit: The kit's jar.
        javac: Of a JDK 17.

    Returns:
        Class file by path, such as `drivers/DeskA.class`.

    Raises:
        ToolError: something does not compile; the text has the compiler's own words.
    """
    with tempfile.TemporaryDirectory(prefix="gradekeeper-suite-") as temporary:
        work = Path(temporary)
        prefix = source_root.rstrip("/") + "/"
        sources = []
        for name, (content, _) in sorted(gold.items()):
            if name.startswith(prefix) and name.endswith(".java"):
                target = work / "gold" / name.removeprefix(prefix)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
                sources.append(target)
        _javac(javac, sources, work / "app", [], f"gold below {source_root}")
        own = sorted(path for path in drivers.rglob("*.java") if "files" not in path.parts[:1])
        _javac(javac, own, work / "drivers", [work / "app", kit], str(drivers))
        return {
            path.relative_to(work / "drivers").as_posix(): path.read_bytes()
            for path in sorted((work / "drivers").rglob("*.class"))
        }


def build_jar(classes: Mapping[str, bytes]) -> "bytes":
    """A jar without manifest, compression or times."""
    with tempfile.SpooledTemporaryFile() as out:
        with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as jar:
            for name in sorted(classes):
                entry = zipfile.ZipInfo(str(PurePosixPath(name)), (1980, 1, 1, 0, 0, 0))
                entry.external_attr = 0o644 << 16
                entry.create_system = 3
                jar.writestr(entry, classes[name])
        out.seek(0)
        return out.read()


def _javac(javac: Path, sources: list[Path], out: Path, class_path: list[Path], what: str) -> None:
    if not sources:
        raise ToolError(f"There is no Java source in {what}.")
    command = [
        str(javac),
        "-J-XX:TieredStopAtLevel=1",
        "-J-XX:+UseSerialGC",
        *("-encoding", "UTF-8", "--release", str(REQUIRED), "-proc:none", "-implicit:none"),
        # Plain code: linking each concatenation when it is first reached is a sixth of a run.
        "-XDstringConcat=inline",
        # Without debug information the classes tell nothing that the sources' names would.
        *("-g:none", "-Xlint:all,-processing", "-Werror", "-d", str(out)),
        *("-cp", os.pathsep.join(map(str, class_path)) or str(out)),
        *map(str, sources),
    ]
    out.mkdir(parents=True)
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_LIMIT_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise ToolError(f"javac did not finish {what} in {_LIMIT_SECONDS} seconds.") from None
    if done.returncode != 0:
        raise ToolError(f"{what} does not compile:\n{done.stderr.strip()}")
