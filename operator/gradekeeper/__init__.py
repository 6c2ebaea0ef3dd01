"""Gradekeeper: grading of untrusted code on Kubernetes with signed verdicts.

This module stays free of imports: the referee starts with every Pod and pays for each of them.
"""

__version__ = "0.1.0"
