"""Running kubectl, helm and gradekeeper against the one cluster that is meant.

The cluster is the context that GRADEKEEPER_CONTEXT names; else the test cluster, as
`tests/cluster/cluster.py env` describes it. Never the current context of somebody's kubeconfig.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build"

Manifest = dict[str, Any]
Command = list[str | Path]


class DemoError(Exception):
    """Something that a person has to look at; one sentence, perhaps with a program's output."""


def run(
    command: Sequence[str | Path],
    *,
    limit: float = 300.0,
    stdin: str | None = None,
    env: Mapping[str, str] | None = None,
    check: bool = True,
) -> subprocess.CompletedProcess[str]:
    """Run a program without a terminal.

    Args:
        command: program and arguments.
        limit: seconds after which it is killed.
        stdin: text for its standard input; nothing by default.
        env: its whole environment; default this process's.
        check: raise if it fails.

    Raises:
        DemoError: it failed or took too long; the message has the end of its output.
    """
    words = [str(word) for word in command]
    try:
        done = subprocess.run(
            words,
            input=stdin if stdin is not None else "",
            capture_output=True,
            text=True,
            timeout=limit,
            env=env,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise DemoError(f"not finished within {limit:.0f} s: {shlex.join(words)}") from None
    if check and done.returncode != 0:
        tail = "\n".join((done.stdout + done.stderr).strip().splitlines()[-25:])
        raise DemoError(f"status {done.returncode}: {shlex.join(words)}\n{tail}")
    return done


@dataclass(frozen=True)
class Cluster:
    """How to reach the cluster.

    Attributes:
        context: name of the kubectl context, or None for the kubeconfig's only one.
        environment: environment of every program that is run.
    """

    context: str | None
    environment: Mapping[str, str]

    @classmethod
    def find(cls) -> Cluster:
        """The cluster of this environment.

        Raises:
            DemoError: there is none, and nothing is started here: see `make cluster-up`.
        """
        lines = run([sys.executable, ROOT / "tests" / "cluster" / "cluster.py", "env"]).stdout
        environment = dict(os.environ)
        for line in lines.splitlines():
            words = shlex.split(line)
            if len(words) == 2 and words[0] == "export":
                name, _, value = words[1].partition("=")
                environment[name] = value
        # The gradekeeper command of this very environment.
        environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
        return cls(environment.get("GRADEKEEPER_CONTEXT") or None, environment)

    def program(self, name: str) -> str:
        """Path of a program; raises DemoError if it is not installed."""
        found = shutil.which(name, path=self.environment["PATH"])
        if found is None:
            raise DemoError(f"{name} is not installed")
        return found

    def kubectl(self, *arguments: str | Path, **options: Any) -> str:
        """Run kubectl and return its standard output; options as for `run`."""
        chosen = ["--context", self.context] if self.context else []
        command = [self.program("kubectl"), *chosen, *arguments]
        return run(command, env=self.environment, **options).stdout

    def helm(self, *arguments: str | Path, **options: Any) -> str:
        """Run helm and return its standard output."""
        chosen = ["--kube-context", self.context] if self.context else []
        command = [self.program("helm"), *arguments, *chosen]
        return run(command, env=self.environment, **options).stdout

    def gradekeeper_command(self, *arguments: str | Path) -> list[str]:
        """The command line of a `gradekeeper` command that talks to the cluster."""
        chosen = ["--context", self.context] if self.context else []
        return [self.program("gradekeeper"), *map(str, arguments), *chosen]

    def read(self, *arguments: str) -> Manifest:
        """`kubectl get … -o json`; raises DemoError if it is not there."""
        document = json.loads(self.kubectl("get", *arguments, "-o", "json"))
        assert isinstance(document, dict)
        return document

    def apply(self, *objects: Manifest) -> list[Manifest]:
        """`kubectl apply --server-side` of these objects; returns them as stored."""
        text = yaml.safe_dump_all(objects, sort_keys=False)
        out = self.kubectl(
            "apply", "--server-side", "--force-conflicts", "-f", "-", "-o", "json", stdin=text
        )
        document = json.loads(out)
        found = document["items"] if document["kind"] == "List" else [document]
        assert isinstance(found, list)
        return found
