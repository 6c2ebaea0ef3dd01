"""Peers: submissions that have the right shape and no behaviour.

Each is gold, but in the files that gold repairs every method answers with an empty value of its
type (`peer-defaults`) or refuses (`peer-throws`). A discriminating test that such a program passes
observes something that needs no right solution.
"""

import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from gradekeeper.suites.errors import DefinitionError, ToolError
from gradekeeper.suites.java import find_javac

PEERS: Final = {"peer-defaults": "defaults", "peer-throws": "throws"}
"""Name of the submission -> what its methods do."""

_PROGRAM: Final = Path(__file__).with_name("Peers.java")
_LIMIT_SECONDS: Final = 60

_Tree = Mapping[str, tuple[bytes, bool]]


def build_peer(name: str, gold: _Tree, overlay: _Tree) -> dict[str, tuple[bytes, bool]]:
    """Make a peer.

    Args:
        name: Of `PEERS`.
        gold: The complete gold submission, in which records and enums are looked up.
        overlay: Gold's own files; the Java sources among them lose their behaviour.

    Returns:
        The complete submission.

    Raises:
        DefinitionError: gold repairs no Java source.
        ToolError: no JDK 17, or a source that its compiler cannot read.
    """
    emptied = sorted(path for path in overlay if path.endswith(".java"))
    if not emptied:
        raise DefinitionError("gold repairs no Java source: there is nothing to make a peer of")
    java = find_javac().with_name("java")
    with tempfile.TemporaryDirectory(prefix="gradekeeper-peer-") as temporary:
        root = Path(temporary).resolve()
        for path, (content, _) in gold.items():
            if path.endswith(".java"):
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_bytes(content)
        flags = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
        command = [str(java), *flags, str(_PROGRAM), PEERS[name], str(root), *emptied]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=_LIMIT_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            raise ToolError(f"{name} was not made in {_LIMIT_SECONDS} seconds.") from None
        if done.returncode != 0:
            raise ToolError(f"{name} cannot be made of gold:\n{done.stderr.strip()}")
        made = {path: ((root / path).read_bytes(), gold[path][1]) for path in emptied}
    return {**gold, **made}
