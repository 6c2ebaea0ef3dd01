"""Teach verifiers the runtime type `kubernetes`, before any of its models is built.

verifiers keeps its runtimes in a closed union that 159 models embed, and has no plug-in for them.
A line in a `.pth` file calls `install` when Python starts; the import hook then waits for the one
module that defines the union and widens it right after that module's code has run. So `vf-eval`,
`vf-validate`, environment workers and everybody who reads traces know the type, unmodified.

This module runs in every Python process of an environment: standard library only, and no work.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.metadata
import re
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from verifiers.v1.runtimes import Runtime

TARGET: Final = "verifiers.v1.runtimes"
KNOWN_RELEASES: Final = "0.4"


class UnknownReleaseError(ImportError):
    """The installed verifiers is not one whose insides this package knows."""


def install() -> None:
    """Install the import hook, once. Raises RuntimeError if verifiers' runtimes are loaded."""
    if any(isinstance(finder, _Finder) for finder in sys.meta_path):
        return
    if TARGET in sys.modules:
        raise RuntimeError(
            f"{TARGET} was imported before the runtime `kubernetes` could be registered; install"
            " gradekeeper-verifiers with its .pth file instead of importing it."
        )
    sys.meta_path.insert(0, _Finder())


def check_release(version: str) -> None:
    """Raise UnknownReleaseError unless the version of verifiers is a known one. Pure."""
    if not re.match(rf"{re.escape(KNOWN_RELEASES)}(\.|$)", version):
        raise UnknownReleaseError(
            f"gradekeeper-verifiers knows verifiers {KNOWN_RELEASES}, and {version} is installed:"
            f" install verifiers=={KNOWN_RELEASES}.* or a newer gradekeeper-verifiers."
        )


def widen(module: ModuleType) -> None:
    """Add the runtime to the module `verifiers.v1.runtimes`, whose code has just run.

    Raises:
        UnknownReleaseError: The release is unknown, or the module does not look as it should.
    """
    version = importlib.metadata.version("verifiers")
    check_release(version)
    from typing import Annotated, Union, get_args

    from pydantic import Field

    from gradekeeper_verifiers._config import KubernetesConfig, KubernetesRuntimeInfo

    def widened(name: str, extra: type) -> Any:
        parts = get_args(getattr(module, name, None))
        members = get_args(parts[0]) if len(parts) == 2 else ()
        if len(members) < 2 or not all("type" in m.model_fields for m in members):
            raise UnknownReleaseError(
                f"{TARGET}.{name} of verifiers {version} is not the union of runtimes that"
                " gradekeeper-verifiers knows how to widen; please report this release."
            )
        return Annotated[Union[(*members, extra)], Field(discriminator="type")]

    choose = getattr(module, "_runtime_cls", None)
    if not callable(choose):
        raise UnknownReleaseError(
            f"{TARGET} of verifiers {version} chooses runtimes in a way that gradekeeper-verifiers"
            " does not know; please report this release."
        )

    def runtime_class(config: Any) -> type[Runtime]:
        if config.type != "kubernetes":
            chosen: type[Runtime] = choose(config)
            return chosen
        # Only now: it loads the clients of the API server, which most processes never need.
        from gradekeeper_verifiers.runtime import KubernetesRuntime

        return KubernetesRuntime

    config, info = (
        widened("RuntimeConfig", KubernetesConfig),
        widened("RuntimeInfo", KubernetesRuntimeInfo),
    )
    for name, value in (
        ("RuntimeConfig", config),
        ("RuntimeInfo", info),
        ("_runtime_cls", runtime_class),
    ):
        setattr(module, name, value)


class _Loader(importlib.abc.Loader):
    def __init__(self, inner: importlib.abc.Loader) -> None:
        self._inner = inner

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._inner.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._inner.exec_module(module)
        widen(module)

    def __getattr__(self, name: str) -> Any:
        # get_source and the like, which inspect and tracebacks ask for.
        return getattr(self._inner, name)


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != TARGET:
            return None
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(fullname, path, target)
            if spec is not None and spec.loader is not None:
                spec.loader = _Loader(spec.loader)
                return spec
        return None
