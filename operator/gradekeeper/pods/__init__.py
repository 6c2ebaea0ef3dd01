"""Grading Pods: a pure builder from job to Pod, and a pure reading of what became of it."""
