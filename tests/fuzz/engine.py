"""One target under atheris, which looks for inputs that reach new code: `python -m fuzz.engine`.

    python -m fuzz.engine TARGET [libFuzzer options and folders]

The campaign (`fuzz.campaign`) starts this once a target.
"""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports(include=["gradekeeper"], enable_loader_override=False):
    from fuzz import targets


def main() -> None:
    """Fuzz until libFuzzer ends, which ends the process."""
    program, name, *options = sys.argv
    with atheris.instrument_imports(include=["gradekeeper"], enable_loader_override=False):
        target = targets.load(name)
    atheris.Setup([program, *options], target.run)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
