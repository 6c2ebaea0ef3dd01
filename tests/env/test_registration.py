"""verifiers knows the runtime in every process, and an unknown verifiers is refused."""

import subprocess
import sys
import textwrap

import pytest

from gradekeeper_verifiers.registration import UnknownReleaseError, check_release


def _python(code: str, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *options, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_fresh_process_reads_and_writes_the_type_everywhere() -> None:
    done = _python(
        """
        from verifiers.v1.configs.agent import AgentConfig
        from verifiers.v1.configs.cli.validate import ValidateConfig
        from verifiers.v1.trace import AgentInfo
        import sys
        config = AgentConfig.model_validate({"runtime": {"type": "kubernetes", "cpu": 2}})
        assert config.runtime.type == "kubernetes" and config.runtime.cpu == 2
        assert AgentConfig.model_validate(config.model_dump()).runtime == config.runtime
        docker = AgentConfig.model_validate({"runtime": {"type": "docker"}}).runtime
        assert type(docker).__name__ == "DockerConfig"
        assert "kubernetes" in str(ValidateConfig.model_json_schema())
        info = {"config": config.model_dump(), "runtime": {"type": "kubernetes", "id": "box-1"}}
        read = AgentInfo.model_validate(info)
        assert type(read.runtime).__name__ == "KubernetesRuntimeInfo" and read.runtime.id == "box-1"
        assert AgentInfo.model_validate_json(read.model_dump_json()) == read
        # What needs the clients of the API server is loaded with the first box, not before.
        assert "gradekeeper_verifiers.runtime" not in sys.modules
        from verifiers.v1.runtimes import make_runtime, runtime_is_local
        assert runtime_is_local(config.runtime)
        assert type(make_runtime(config.runtime)).__name__ == "KubernetesRuntime"
        assert type(make_runtime(docker)).__name__ == "DockerRuntime"
        """,
        "-I",
    )

    assert done.returncode == 0, done.stderr


def test_python_starts_without_loading_verifiers() -> None:
    done = _python(
        """
        import sys
        print(*sorted(m for m in sys.modules if m.split(".")[0] in
                      {"verifiers", "pydantic", "gradekeeper", "gradekeeper_verifiers"}))
        """
    )

    assert done.stdout.split() == ["gradekeeper_verifiers", "gradekeeper_verifiers.registration"]


def test_an_unknown_release_says_so_instead_of_half_working() -> None:
    done = _python(
        """
        import importlib.metadata
        real = importlib.metadata.version
        importlib.metadata.version = lambda name: "0.5.0" if name == "verifiers" else real(name)
        import verifiers.v1.runtimes
        """
    )

    assert done.returncode == 1
    assert "knows verifiers 0.4, and 0.5.0 is installed: install verifiers==0.4.*" in done.stderr


def test_runtimes_that_were_loaded_first_are_not_patched_behind_their_back() -> None:
    done = _python(
        """
        import sys
        from gradekeeper_verifiers import registration
        sys.meta_path[:] = [f for f in sys.meta_path if type(f).__name__ != "_Finder"]
        import verifiers.v1.runtimes
        registration.install()
        """
    )

    assert done.returncode == 1
    assert "was imported before the runtime `kubernetes` could be registered" in done.stderr


@pytest.mark.parametrize("version", ["0.4", "0.4.0", "0.4.17", "0.4.1.post1"])
def test_known_releases(version: str) -> None:
    check_release(version)


@pytest.mark.parametrize("version", ["0.3.1", "0.5.0", "0.40.0", "1.0.4"])
def test_unknown_releases(version: str) -> None:
    with pytest.raises(UnknownReleaseError, match="and " + version + " is installed"):
        check_release(version)
