"""Build images and bring them into the cluster in use.

As a program: ``python3 tests/cluster/images.py build NAME --file … --context …`` prints
``name@sha256:…``. As a module: :func:`build_and_load`. See README.md beside this file.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from testcluster import bases
from testcluster.building import build_and_load, find_engine, is_buildah
from testcluster.errors import ClusterError
from testcluster.layout import Layout
from testcluster.oci import find_in_image
from testcluster.progress import Progress

__all__ = ["ClusterError", "build_and_load"]


def _argument(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form NAME=VALUE")
    return name, value


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    commands = parser.add_subparsers(dest="command", required=True)
    build = commands.add_parser("build", help="build and load; prints name@sha256:…")
    build.add_argument("name")
    build.add_argument("--file", required=True, type=Path)
    build.add_argument("--context", required=True, type=Path)
    build.add_argument("--target")
    build.add_argument("--arg", action="append", type=_argument, default=[], metavar="NAME=VALUE")
    base = commands.add_parser("base", help="build base images of Debian packages")
    base.add_argument("names", nargs="*", choices=[*bases.BASES, []], metavar="NAME")
    find = commands.add_parser("find", help="list where an image archive holds one of the texts")
    find.add_argument("archive", type=Path)
    find.add_argument("texts", nargs="+")
    return parser


def main(argv: list[str]) -> int:
    """Run one command; return the exit status."""
    arguments = _parser().parse_args(argv)
    match arguments.command:
        case "build":
            print(
                build_and_load(
                    arguments.name,
                    arguments.file,
                    arguments.context,
                    target=arguments.target,
                    build_args=dict(arguments.arg),
                )
            )
        case "base":
            layout, progress = Layout.from_environment(), Progress()
            engine = find_engine(layout, progress)
            if not is_buildah(engine):
                raise ClusterError("base images of Debian packages need buildah")
            for name in arguments.names or bases.BASES:
                print(bases.ensure_base(layout, engine, bases.BASES[name], progress))
        case "find":
            found = find_in_image(arguments.archive, [t.encode() for t in arguments.texts])
            print("\n".join(found))
            return 1 if found else 0
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except ClusterError as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
