"""The command line: `gradekeeper …`, also installed as `kubectl-grade`.

Command modules import only typer and the standard library at their top; everything else is imported
by the command that needs it, so that `gradekeeper verify` starts fast and works without a cluster.
"""
