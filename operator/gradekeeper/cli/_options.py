"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Namespace = Annotated[
    str | None,
    typer.Option("--namespace", "-n", metavar="NAME", help="Default: that of the context."),
]
Context = Annotated[
    str | None,
    typer.Option(
        "--context", metavar="NAME", help="Context of the kubeconfig; default the current."
    ),
]
Kubeconfig = Annotated[
    str | None,
    typer.Option("--kubeconfig", metavar="FILE", help="Kubeconfig file; default as for kubectl."),
]
Keys = Annotated[
    list[Path],
    typer.Option(
        "--key",
        metavar="FILE",
        envvar="GRADEKEEPER_KEY",
        help="Public key (PEM) of the installation whose verdicts you trust; may be repeated.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Patience = Annotated[
    float,
    typer.Option(
        "--patience", min=1.0, help="Seconds to wait for a verdict; then the job is deleted."
    ),
]
Delete = Annotated[
    bool, typer.Option("--delete", help="Delete the job once its verdict is verified.")
]
