"""Render `manifests/` from the chart's default values, or check that it is up to date.

    python charts/manifests.py --helm HELM manifests          # write
    python charts/manifests.py --helm HELM --check manifests  # exit 1 on any difference

The files are numbered by apply order: `kubectl apply --server-side -f manifests/` works as it is.
One file has no counterpart in the chart: the operator's own namespace, which helm makes by
`--create-namespace`. Everything below `manifests/examples/` is left alone.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

CHART = Path(__file__).parent / "gradekeeper"
RELEASE = "gradekeeper"
NAMESPACE = "gradekeeper-system"

#: Template → file, in apply order. A template that is missing here is an error, not a silent gap.
ORDER = {
    "namespaces.yaml": "20-grading-namespaces.yaml",
    "serviceaccount.yaml": "30-serviceaccount.yaml",
    "keys.yaml": "31-keys.yaml",
    "rbac.yaml": "40-rbac.yaml",
    "networkpolicies.yaml": "50-networkpolicies.yaml",
    "admissionpolicy.yaml": "60-admissionpolicy.yaml",
    "deployment.yaml": "70-deployment.yaml",
}
HEADER = "# Rendered from charts/gradekeeper with its default values by `make manifests`.\n"
OWN_NAMESPACE = f"""\
# The operator's namespace: in a chart installation, helm's --create-namespace.
apiVersion: v1
kind: Namespace
metadata:
  name: {NAMESPACE}
  labels:
    pod-security.kubernetes.io/enforce: restricted
    pod-security.kubernetes.io/enforce-version: latest
"""


def render(helm: str) -> dict[str, str]:
    """Render all files; returns file name → text.

    Raises:
        subprocess.CalledProcessError: helm refused the chart.
        SystemExit: a template has no place in ORDER.
    """
    command = [helm, "template", RELEASE, str(CHART), "--namespace", NAMESPACE]
    out = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout
    files = {"00-namespace.yaml": HEADER + OWN_NAMESPACE}
    crds = sorted((CHART / "crds").glob("*.yaml"))
    for crd in crds:
        files[f"10-crd-{crd.name}"] = crd.read_text()
    source = ""
    for document in out.split("\n---\n"):
        text = document.removeprefix("---\n").strip("\n")
        if not text:
            continue
        first, _, body = text.partition("\n")
        if not first.startswith("# Source: "):
            sys.exit(f"helm printed a document without its source: {first}")
        source = first.rsplit("/", 1)[1]
        if source not in ORDER:
            sys.exit(f"{source}: give it a place in {Path(__file__).name}")
        name = ORDER[source]
        files[name] = files.get(name, HEADER) + "---\n" + body.rstrip("\n") + "\n"
    # helm sorts by kind; the files are in the order of their names.
    return dict(sorted(files.items()))


def differences(files: dict[str, str], folder: Path) -> list[str]:
    """What in `folder` differs from `files`, one sentence each."""
    found = {path.name for path in folder.glob("*.yaml")}
    wrong = [f"{name}: not rendered from the chart" for name in sorted(found - set(files))]
    for name, text in files.items():
        if name not in found:
            wrong.append(f"{name}: missing")
        elif (folder / name).read_text() != text:
            wrong.append(f"{name}: differs from the chart's rendering")
    return wrong


def main() -> int:
    """Entry point; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--helm", default="helm", help="the helm binary")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if out of date")
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    files = render(options.helm)
    if options.check:
        wrong = differences(files, options.folder)
        sys.stderr.writelines(f"{line}\n" for line in wrong)
        return 1 if wrong else 0
    options.folder.mkdir(parents=True, exist_ok=True)
    for stale in options.folder.glob("*.yaml"):
        if stale.name not in files:
            stale.unlink()
    for name, text in files.items():
        (options.folder / name).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
