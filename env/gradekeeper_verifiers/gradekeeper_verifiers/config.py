"""The settings of the runtime `kubernetes`, to import from anywhere."""

# verifiers first: while it loads it calls for the models, through `registration`, and a module that
# is half loaded itself could not answer.
import verifiers.v1  # noqa: F401

from gradekeeper_verifiers._config import KubernetesConfig, KubernetesRuntimeInfo

__all__ = ["KubernetesConfig", "KubernetesRuntimeInfo"]
