"""The one exception of this package, drawn here once.

SuiteError (ValueError)         a sentence for the suite's author: what is wrong, where, what to do
├── DefinitionError             suite.yaml, scenarios.yaml, generators.py or a pin file
├── ToolError                   a compiler or image builder is missing or failed
└── PinError                    gold does not behave, or no drawn input discriminates
"""


class SuiteError(ValueError):
    """Something about a suite is wrong; the text is for its author."""


class DefinitionError(SuiteError):
    """A file of the suite folder does not say what it must."""


class ToolError(SuiteError):
    """A program that the suite needs is missing or failed."""


class PinError(SuiteError):
    """Expectations cannot be written from what was observed."""
