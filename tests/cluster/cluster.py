"""Start, stop and inspect the test cluster: ``python3 tests/cluster/cluster.py up``.

With GRADEKEEPER_CONTEXT set, the cluster is the one that this kubectl context names, and ``up``
only checks that it answers. Otherwise it is a one-node Kubernetes that this program builds and runs
itself (Linux, root). See README.md beside this file.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from testcluster import binaries, cleanup, contexts, lifecycle, loading
from testcluster.errors import ClusterError
from testcluster.layout import Layout
from testcluster.progress import Progress


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("up", help="start it, or check that it is healthy")
    down = commands.add_parser("down", help="stop it and leave nothing behind")
    down.add_argument("--purge", action="store_true", help="also delete loaded images and logs")
    commands.add_parser("status", help="components, node, problems; exit 1 when unhealthy")
    commands.add_parser("env", help="shell lines: KUBECONFIG and a PATH with helm, kubectl, ctr")
    commands.add_parser("check-clean", help="exit 1 and list what a cluster left on the machine")
    load = commands.add_parser("load", help="load OCI archives; prints name@digest for each")
    load.add_argument("archives", nargs="+", type=Path)
    helm = commands.add_parser("helm", help="build the pinned helm if need be and print its path")
    helm.add_argument("--path-only", action="store_true", help="print where it is or would be")
    supervise = commands.add_parser("supervise")
    supervise.add_argument("--cache", type=Path, required=True)
    return parser


def main(argv: list[str]) -> int:
    """Run one command; return the exit status."""
    arguments = _parser().parse_args(argv)
    if arguments.command == "supervise":
        return lifecycle.supervise(Layout(arguments.cache))
    layout, progress = Layout.from_environment(), Progress()
    named = contexts.named_context(os.environ)
    match arguments.command:
        case "up" if named is not None:
            contexts.check_answers(named, progress)
        case "up":
            lifecycle.up(layout, progress)
        case "down" if named is not None:
            progress.say(f"context {named} is not this program's cluster: left as it is")
        case "down":
            lifecycle.down(layout, progress, arguments.purge)
        case "status" if named is not None:
            contexts.check_answers(named, progress)
        case "status":
            return lifecycle.print_status(layout)
        case "env" if named is not None:
            print(f"export GRADEKEEPER_CONTEXT={named}")
            # Behind what the machine has: a cluster of one's own comes with tools of one's own.
            helm = binaries.binary_folder(layout, binaries.HELM)
            print(f"export PATH={os.environ.get('PATH', '')}:{helm}")
        case "env":
            if not lifecycle.supervisor_alive(layout):
                raise ClusterError("the test cluster is down: run `make cluster-up` first")
            print("\n".join(lifecycle.render_environment(layout, os.environ.get("PATH", ""))))
        case "check-clean":
            left = cleanup.leftovers(layout)
            print("\n".join(left) if left else "nothing is left on the machine")
            return 1 if left else 0
        case "helm":
            if not arguments.path_only:
                binaries.build_module(layout, binaries.HELM, progress)
            print(binaries.binary_folder(layout, binaries.HELM) / "helm")
        case "load":
            for archive in arguments.archives:
                print(loading.load_archive(layout, archive, os.environ))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except ClusterError as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
