"""Property tests that are the same in every run, and judge no machine by its speed."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile(
    "gradekeeper", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("gradekeeper")
