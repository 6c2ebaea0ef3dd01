"""Suites: what an author writes, the bundle that is graded with, and its signature.

The bundle's format is docs/protocols.md "Suite folder" and "Bundle". May import `gradekeeper.api`,
`gradekeeper.verdicts` and `gradekeeper.referee`; never anything of the operator or of Kubernetes.
"""

from gradekeeper.suites.bundle import Bundle, build_bundle, load_bundle
from gradekeeper.suites.check import CheckReport, check
from gradekeeper.suites.definition import SuiteDefinition, load_suite
from gradekeeper.suites.errors import DefinitionError, PinError, SuiteError, ToolError
from gradekeeper.suites.pin import PinReport, pin
from gradekeeper.suites.trees import build_submission

__all__ = [
    "Bundle",
    "CheckReport",
    "DefinitionError",
    "PinError",
    "PinReport",
    "SuiteDefinition",
    "SuiteError",
    "ToolError",
    "build_bundle",
    "build_submission",
    "check",
    "load_bundle",
    "load_suite",
    "pin",
]
