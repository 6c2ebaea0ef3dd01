"""The harness `gradekeeper_bash`: `--env.agent.harness.id gradekeeper_bash`."""

from gradekeeper_bash.harness import GradekeeperBashConfig, GradekeeperBashHarness

__all__ = ["GradekeeperBashConfig", "GradekeeperBashHarness"]
