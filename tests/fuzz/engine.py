"""One target under atheris, which looks for inputs that reach new code: `python -m fuzz.engine`.

    python -m fuzz.engine TARGET [libFuzzer options and folders]

The campaign (`fuzz.campaign`) starts this once a target.
"""

from __future__ import annotations

import os
import sys

import atheris

with atheris.instrument_imports(include=["gradekeeper"], enable_loader_override=False):
    from fuzz import targets


ITSELF = "GRADEKEEPER_FUZZ_ENGINE"


def main() -> None:
    """Fuzz until libFuzzer ends, which ends the process."""
    program, name, *options = sys.argv
    # A merge starts itself again by this name, which has to be a program.
    program = os.environ.get(ITSELF, program)
    with atheris.instrument_imports(include=["gradekeeper"], enable_loader_override=False):
        target = targets.load(name)
    atheris.Setup([program, *options], target.run)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
