"""`python3 -I -S -m gradekeeper.referee`: the entry point of the referee's container.

Without arguments the folders are those of a grading Pod. The local engine gives one argument: a
JSON file of the folders to use instead (`job.Layout`).
"""

import os
import sys
from pathlib import Path

from gradekeeper.referee.child import limit_cores
from gradekeeper.referee.grading import grade
from gradekeeper.referee.job import VARIABLE, Layout, View
from gradekeeper.referee.log import DetailLog
from gradekeeper.referee.result import ResultError, encode_result


def main(arguments: list[str]) -> int:
    """Grade and write the result message.

    Returns:
        Exit status: 0 if a message was written, whatever it says; 1 if not.
    """
    # A group-writable umask of the runtime must not decide what the lane can change.
    os.umask(0o022)
    limit_cores()
    log = DetailLog(2)
    try:
        layout = read_layout(Path(arguments[0])) if arguments else Layout()
        result = grade(os.environ.get(VARIABLE, ""), layout, log)
        layout.termination.write_bytes(encode_result(result))
    except (ResultError, OSError, ValueError) as error:
        log.event("no_result", error=repr(error))
        return 1
    return 0


def read_layout(path: Path) -> Layout:
    """Read a layout file.

    Raises:
        OSError: it cannot be read.
        ValueError: it is not a layout.
    """
    import json

    document = json.loads(path.read_bytes())
    if not isinstance(document, dict):
        raise ValueError("the layout is not an object")
    draw = document.pop("draw", None)
    unisolated = document.pop("unisolated", None)
    return Layout(
        local=True,
        draw=draw,
        unisolated=None if unisolated is None else View(**unisolated),
        **{name: Path(value) for name, value in document.items() if value is not None},
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
