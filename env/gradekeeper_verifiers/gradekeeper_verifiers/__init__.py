"""verifiers on Kubernetes: the runtime `kubernetes` for `vf-eval`, `vf-validate` and trainers.

Python imports this package at its start, for `registration`: nothing heavy belongs here.
"""
