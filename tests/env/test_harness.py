"""The harness whose loop stays outside, with a scripted model and boxes of two kinds."""

from __future__ import annotations

import contextlib
import json
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from aiohttp import web
from renderers.gemma4 import Gemma4Renderer
from verifiers.v1.dialects.chat import parse_message
from verifiers.v1.errors import SandboxError
from verifiers.v1.runtimes import ProgramResult, Runtime, SubprocessConfig, provision_runtime
from verifiers.v1.task import TaskData
from verifiers.v1.trace import Error, ModelCall
from verifiers.v1.utils.loaders import harness_class

from env.fake_api import FakeApi, exit_status
from env.scripted_model import Refused, call_tools, say, script, serve
from gradekeeper_bash import GradekeeperBashConfig, GradekeeperBashHarness, harness
from gradekeeper_verifiers.config import KubernetesConfig
from gradekeeper_verifiers.runtime import KubernetesRuntime


@pytest.fixture
def model() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    with serve() as served:
        yield served


async def _launch(
    url: str, box: Runtime, *calls: tuple[str, dict[str, Any] | str], **settings: Any
) -> ProgramResult:
    harness = GradekeeperBashHarness(GradekeeperBashConfig(**settings))
    context = SimpleNamespace(model="scripted")
    data = TaskData(prompt=script(*calls), system_prompt="Be brief.")
    return await harness.launch(context, trace_of(turns=0), box, url, "secret", {}, data)


def trace_of(turns: int) -> Any:
    trace = SimpleNamespace(num_turns=turns, calls=[], stopped=[], stop_condition=None)
    trace.stop = trace.stopped.append
    return trace


def _results(requests: list[dict[str, Any]]) -> list[str]:
    return [m["content"] for m in requests[-1]["messages"] if m["role"] == "tool"]


def test_verifiers_finds_it_by_its_id() -> None:
    assert harness_class("gradekeeper_bash") is GradekeeperBashHarness
    assert harness_class("gradekeeper-bash") is GradekeeperBashHarness


async def test_the_tools_do_what_they_say(
    model: tuple[str, list[dict[str, Any]]], tmp_path: Path
) -> None:
    url, requests = model
    async with provision_runtime(SubprocessConfig()) as box:
        result = await _launch(
            url,
            box,
            ("bash", {"command": "printf 'a = 1' > f; echo out; echo err >&2; exit 3"}),
            ("edit", {"path": "f", "old": "1", "new": "2"}),
            ("edit", {"path": "f", "old": "1", "new": "3"}),
            ("edit", {"path": "none", "old": "1", "new": "3"}),
            ("bash", {"command": "cat f"}),
            ("bash", "{"),
            ("bash", "[" * 100_000),
            ("submit", {}),
            ("bash", {"command": "sleep 60"}),
            ("bash", {"command": f"echo {'x' * 70_000} | wc -c"}),
            command_timeout=2.0,
        )
        left = await box.read("f")

    assert result.exit_code == 0
    assert left == b"a = 2"
    shown = _results(requests)
    assert shown[0] == "out\nerr\n\n[exit code 3]"
    assert shown[1] == "done"
    assert shown[2] == "error: the text to replace occurs 0 times and must occur once"
    assert shown[3].startswith("error: ") and "none" in shown[3]
    assert shown[4] == "a = 2\n[exit code 0]"
    assert shown[5].startswith("error: the arguments of bash are not JSON")
    assert shown[6].startswith("error: the arguments of bash are not JSON")
    assert shown[7] == "error: there is no tool 'submit'; there are: bash, edit"
    assert shown[8] == "error: killed after 2 seconds"
    assert shown[9] == "70001\n\n[exit code 0]"
    first = requests[0]
    assert [tool["function"]["name"] for tool in first["tools"]] == ["bash", "edit"]
    assert first["messages"][0]["content"].endswith("once in a file.\n\nBe brief.")


async def test_without_edit_there_is_no_edit(model: tuple[str, list[dict[str, Any]]]) -> None:
    url, requests = model
    async with provision_runtime(SubprocessConfig()) as box:
        await _launch(url, box, edit=False)

    assert [tool["function"]["name"] for tool in requests[0]["tools"]] == ["bash"]
    assert "edit" not in requests[0]["messages"][0]["content"]


async def test_a_model_that_refuses_is_no_success() -> None:
    async def refuse(request: web.Request) -> web.Response:
        return web.json_response({"error": "too long"}, status=400)

    app = web.Application()
    app.router.add_post("/v1/chat/completions", refuse)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    port = runner.addresses[0][1]
    async with provision_runtime(SubprocessConfig()) as box:
        refused = await _launch(f"http://127.0.0.1:{port}/v1", box)
        await runner.cleanup()
        gone = await _launch(f"http://127.0.0.1:{port}/v1", box)

    assert refused.exit_code == 1 and "HTTP 400" in refused.stderr
    # verifiers reads 97 as trouble of its own server, not of the harness.
    assert gone.exit_code == 97


@pytest.mark.parametrize(
    ("status", "said", "turns", "ends"),
    [
        pytest.param(400, "This model's maximum context length is 9 tokens.", 1, True, id="vllm"),
        pytest.param(
            400,
            "The input (10 tokens) is longer than the model's context length (9 tokens).",
            1,
            True,
            id="sglang",
        ),
        pytest.param(
            400, "the request exceeds the available context size", 1, True, id="llama.cpp"
        ),
        pytest.param(413, "Request Entity Too Large", 1, True, id="proxy"),
        # The task's own prompt is nothing that an agent did.
        pytest.param(400, "This model's maximum context length is 9 tokens.", 0, False, id="task"),
        pytest.param(400, "no such model", 1, False, id="another refusal"),
        pytest.param(500, "maximum context length", 1, False, id="another status"),
    ],
)
async def test_an_agent_that_fills_its_context_is_finished(
    status: int, said: str, turns: int, ends: bool
) -> None:
    def refuse(request: dict[str, Any], rollout: str) -> dict[str, Any]:
        raise Refused(status, said)

    trace = trace_of(turns)
    with serve(refuse) as (url, _):
        result = await _talk(url, trace)

    assert (result.exit_code == 0) is ends
    assert trace.stopped == (["context_overflow"] if ends else [])


async def _talk(url: str, trace: Any, box: Runtime | None = None) -> ProgramResult:
    harness = GradekeeperBashHarness(GradekeeperBashConfig())
    context, data = SimpleNamespace(model="scripted"), TaskData(prompt="x")
    async with contextlib.AsyncExitStack() as stack:
        box = box or await stack.enter_async_context(provision_runtime(SubprocessConfig()))
        return await harness.launch(context, trace, box, url, "secret", {}, data)


def provider_error(status: int, said: str) -> Error:
    return Error(type="ProviderError", message=said, status_code=status)


def error_of(function: Callable[[], object]) -> Error:
    """What the framework records of an exception that is no provider's."""
    try:
        function()
    except Exception as error:
        shown = "".join(traceback.format_exception(error))
        return Error(type=type(error).__name__, message=str(error), traceback=shown)
    raise AssertionError("it did not fail")


def render() -> None:
    json.loads("{")


def generate() -> None:
    json.loads("<html>502 Bad Gateway</html>")


@pytest.fixture
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(harness, "_REFUSAL_PAUSE", 0.0)


MALFORMED = call_tools(0, ("bash", "{"))
NO_SUCH_TOOL = call_tools(0, ("no such/tool", {}))
RIGHT = call_tools(0, ("bash", {"command": "true"}))


@pytest.mark.usefixtures("no_pause")
@pytest.mark.parametrize(
    ("first", "status", "said", "failed", "ends"),
    [
        pytest.param(MALFORMED, 400, "Expecting property name", None, True, id="vllm"),
        pytest.param(MALFORMED, 422, "unprocessable", None, True, id="a schema"),
        pytest.param(NO_SUCH_TOOL, 400, "'name' does not match '^[a-z]+$'", None, True, id="name"),
        pytest.param(MALFORMED, 502, "Expecting property", error_of(render), True, id="renderer"),
        pytest.param(MALFORMED, 500, "can only get item pairs from a mapping", ..., True, id="500"),
        # Nothing that the agent did.
        pytest.param(RIGHT, 400, "Expecting property name", None, False, id="a right call"),
        pytest.param(RIGHT, 502, "Expecting property", error_of(render), False, id="right, 502"),
        # Outages.
        pytest.param(MALFORMED, 500, "Internal Server Error", ..., False, id="bare 500"),
        pytest.param(MALFORMED, 502, "502 Bad Gateway", ..., False, id="bad gateway"),
        pytest.param(MALFORMED, 502, "Expecting value", error_of(generate), False, id="html"),
        pytest.param(MALFORMED, 502, "hook failed: 3 arguments", None, False, id="a task's hook"),
        pytest.param(MALFORMED, 503, "no healthy tool_call server", ..., False, id="503"),
        pytest.param(MALFORMED, 429, "too many tool_calls", ..., False, id="429"),
        pytest.param(MALFORMED, 401, "unauthorized", ..., False, id="401"),
    ],
)
async def test_an_agent_whose_malformed_call_the_provider_refuses_is_finished(
    first: dict[str, Any], status: int, said: str, failed: Any, ends: bool
) -> None:
    trace = trace_of(turns=0)

    def play(request: dict[str, Any], rollout: str) -> dict[str, Any]:
        if not trace.num_turns:
            trace.num_turns = 1
            trace.calls.append(ModelCall())
            return first
        if failed is not None:
            error = provider_error(status, said) if failed is ... else failed
            trace.calls.append(ModelCall(error=error))
        raise Refused(status, said)

    with serve(play) as (url, requests):
        result = await _talk(url, trace)

    assert (result.exit_code == 0) is ends
    assert trace.stopped == (["malformed_call"] if ends else [])
    # Only what would end the rollout is asked again, to see whether it passes.
    assert len(requests) == (4 if ends else 2)


class _Tokenizer:
    """What a renderer asks before it reads a call: every text is one token."""

    chat_template = ""

    def __getattr__(self, name: str) -> int:
        return 1

    def convert_tokens_to_ids(self, token: str) -> int:
        return 5

    def encode(self, text: str, **_: object) -> list[int]:
        return [1]


@pytest.mark.parametrize("arguments", ["{", "[1]"])
def test_a_renderer_that_cannot_read_a_call_is_told_from_an_outage(arguments: str) -> None:
    call = {"id": "a", "function": {"name": "bash", "arguments": arguments}}
    messages = [{"role": "user", "content": "x"}, {"role": "assistant", "tool_calls": [call]}]
    renderer = Gemma4Renderer(_Tokenizer())
    failed = error_of(lambda: renderer.render(messages, add_generation_prompt=True))
    trace = trace_of(turns=1)
    trace.calls.append(ModelCall(error=failed))

    assert "must be a JSON object" in failed.message
    assert harness._ending(httpx.Response(502, text="x"), messages, trace) == "malformed_call"


@pytest.mark.usefixtures("no_pause")
async def test_a_refusal_that_passes_ends_nothing() -> None:
    trace = trace_of(turns=1)
    answers = iter([MALFORMED, Refused(400, "x"), Refused(422, "x"), RIGHT, say("done")])

    def play(request: dict[str, Any], rollout: str) -> dict[str, Any]:
        answer = next(answers)
        if isinstance(answer, Refused):
            raise answer
        return answer

    with serve(play) as (url, requests):
        result = await _talk(url, trace)

    assert result.exit_code == 0 and trace.stopped == []
    assert _results(requests)[1] == "\n[exit code 0]"


async def test_a_rollout_that_is_stopped_is_not_asked_for_again() -> None:
    trace = trace_of(turns=1)

    def play(request: dict[str, Any], rollout: str) -> dict[str, Any]:
        if trace.stop_condition is None:
            trace.stop_condition = "max_turns"
            return MALFORMED
        raise Refused(400, "rollout stopped: max_turns")

    with serve(play) as (url, requests):
        await _talk(url, trace)

    assert len(requests) == 2 and trace.stopped == []


CUSTOM = {"id": "a", "type": "custom", "custom": {"name": "bash", "input": "ls"}}
BASH = {"name": "bash", "arguments": '{"command": "echo it ran"}'}


@pytest.mark.parametrize(
    ("call", "told"),
    [
        pytest.param(CUSTOM, "error: this is no call of a function", id="custom"),
        pytest.param({"id": "a"}, "error: this is no call of a function", id="no function"),
        pytest.param({"id": "a", "function": None}, "error: this is no call", id="null"),
        pytest.param("bash", "error: this is no call of a function", id="text"),
        pytest.param({"id": "a", "function": {"arguments": "{}"}}, "error: the name", id="no name"),
        pytest.param(
            {"id": "a", "type": "function", "function": {"name": "bash", "arguments": {"a": 1}}},
            "error: the arguments of bash are not text",
            id="an object",
        ),
        pytest.param(
            {"id": "a", "type": "function", "function": {"name": "bash", "arguments": None}},
            "error: bash needs the text 'command'",
            id="no arguments",
        ),
        pytest.param({"type": "function", "function": BASH}, "it ran\n", id="no id"),
        pytest.param({"id": None, "function": BASH}, "it ran\n", id="no id and no type"),
        pytest.param(
            {"id": "a", "type": "function", "function": {"name": "x" * 90_000, "arguments": "{}"}},
            f"error: there is no tool '{'x' * 9_000}",
            id="a long name",
        ),
    ],
)
async def test_a_call_of_any_shape_is_answered(call: Any, told: str) -> None:
    answers = iter([{"role": "assistant", "tool_calls": [call]}, say("done")])
    with serve(lambda request, rollout: next(answers)) as (url, requests):
        result = await _talk(url, trace_of(turns=1))

    assert result.exit_code == 0
    [shown] = _results(requests)
    assert shown.startswith(told)
    assert len(shown) < 20_100
    # The server that verifiers puts in between reads it, and can name the call that was answered.
    *_, assistant, answered = [parse_message(message) for message in requests[-1]["messages"]]
    assert [each.id for each in assistant.tool_calls] == [answered.tool_call_id]


@pytest.mark.parametrize("ended", [True, False])
async def test_an_agent_that_ends_its_box_is_finished_and_a_lost_box_is_an_error(
    model: tuple[str, list[dict[str, Any]]], tmp_path: Path, ended: bool
) -> None:
    url, requests = model
    async with FakeApi(tmp_path / "kubeconfig") as api:
        settings = {"kubeconfig": str(api.kubeconfig), "creates_per_sec": None}
        box = KubernetesRuntime(KubernetesConfig(**settings), "r-1")
        await box.start()

        async def die(api: FakeApi, argv: list[str], socket: web.WebSocketResponse) -> None:
            if ended:
                api.end({"terminated": {"reason": "OOMKilled", "exitCode": 137}})
            else:
                api.pods.clear()

        api.on_exec = die
        calls = [("bash", {"command": "x"}), ("bash", {"command": "y"})]
        if ended:
            result = await _launch(url, box, *calls)
            assert result.exit_code == 0 and "OOMKilled" in result.stderr
        else:
            with pytest.raises(SandboxError, match="PodDeleted"):
                await _launch(url, box, *calls)
        await box.stop()

    assert len(requests) == 1, json.dumps(requests)


def _nothing(api: FakeApi) -> None:
    return None


def _out_of_memory(api: FakeApi) -> None:
    api.end({"terminated": {"reason": "OOMKilled", "exitCode": 137}})


def _deleted(api: FakeApi) -> None:
    api.pods.clear()


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(("bash", {"command": f": {'x' * 5_000}"}), id="a command too long for a URL"),
        pytest.param(("bash", {"command": f": {'é' * 1_000}"}), id="and one that is as a URL"),
        pytest.param(("edit", {"path": "f", "old": "1", "new": "2"}), id="a file"),
    ],
)
@pytest.mark.parametrize("becomes_of_the_box", [_nothing, _out_of_memory, _deleted])
async def test_a_box_that_takes_no_file_is_the_agents_doing_unless_it_was_taken_away(
    model: tuple[str, list[dict[str, Any]]],
    tmp_path: Path,
    call: tuple[str, dict[str, Any]],
    becomes_of_the_box: Callable[[FakeApi], None],
) -> None:
    """Such as after `mkdir /tmp/.gradekeeper-command`, or on a disk that the agent has filled."""
    url, requests = model
    refused = False
    async with FakeApi(tmp_path / "kubeconfig") as api:
        settings = {"kubeconfig": str(api.kubeconfig), "creates_per_sec": None}
        box = KubernetesRuntime(KubernetesConfig(**settings), "r-1")
        await box.start()

        async def refuse(api: FakeApi, argv: list[str], socket: web.WebSocketResponse) -> None:
            nonlocal refused
            if "cat >" in argv[2]:
                refused = True
                becomes_of_the_box(api)
                await socket.send_bytes(b"\x02cannot create: Is a directory\n")
                await socket.send_bytes(exit_status(2))
            elif not refused or becomes_of_the_box is _nothing:
                if "head" in argv[2]:
                    await socket.send_bytes(b"\x011")
                    await socket.send_bytes(b"\x021")
                await socket.send_bytes(exit_status(0))

        api.on_exec = refuse
        launch = _launch(url, box, call, ("bash", {"command": "true"}))
        if becomes_of_the_box is _deleted:
            with pytest.raises(SandboxError, match="PodDeleted"):
                await launch
        else:
            result = await launch
            assert result.exit_code == 0
        await box.stop()

    if becomes_of_the_box is _nothing:
        told, then = _results(requests)
        assert told.startswith("error: ") and "Is a directory" in told
        assert then.endswith("[exit code 0]")
    else:
        assert len(requests) == 1
        if becomes_of_the_box is _out_of_memory:
            assert "OOMKilled" in result.stderr
