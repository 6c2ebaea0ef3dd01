"""A harness whose loop stays outside the box: only commands and files of tool calls enter it.

A loop inside the box is a process of the agent's user. The agent can kill it (`kill -9 -1`), and
the framework then records an error and drops the rollout; out here it can only kill its own
commands. Nothing is installed in the box, which needs neither Python nor a network.

In the same way an agent could print more than its context holds: the model's refusal is an error,
and the rollout would be dropped. Here it ends the rollout, which is scored (`context_overflow`).

Or it could call a tool with arguments that are not JSON. The call stands in every later request,
and some providers refuse to read it. That as well ends the rollout, which is scored
(`malformed_call`), under conditions that keep the provider's own trouble an error:

- `read_call` has refused a call that the conversation holds;
- the same request is refused three times in a row, so that nothing that passes counts;
- the refusal is 400 or 422; or it is 500 or 502, and either the request was never sent, as its
  rendering failed (verifiers records the exception), or the provider's text speaks of the call.
  Any other refusal is an error, as an outage is.

What remains is a choice between two mistakes. A provider that refuses for another reason, and goes
on to, after such a call and with such an answer, has a rollout scored as it stands that might have
gone on: rare, and nothing that an agent can bring about. One that answers a bare 500 to such a call
has the rollout dropped: that cannot be told from an outage.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator
from typing import Any, Final
from urllib.parse import quote

import httpx
from pydantic import Field as field
from pydantic import FiniteFloat, PositiveInt
from verifiers.v1.clients import ModelContext
from verifiers.v1.configs.harness import HarnessConfig
from verifiers.v1.dialects.chat import message_to_wire
from verifiers.v1.errors import MODEL_TRANSPORT_ERROR_EXIT_CODE, ProviderError, SandboxError
from verifiers.v1.harness import Harness
from verifiers.v1.harnesses.utils.compaction import CONTEXT_OVERFLOW_MARKERS
from verifiers.v1.runtimes import ProgramResult, Runtime
from verifiers.v1.task import TaskData
from verifiers.v1.trace import Trace

from gradekeeper_bash.tools import (
    BASH,
    EDIT,
    Edit,
    is_malformed,
    read_call,
    replace_once,
    sent_back,
    shorten,
    tool_calls,
)
from gradekeeper_verifiers.errors import BoxEndedError

_INTRODUCTION: Final = "You are a coding agent. Run shell commands with the bash tool."
_INTRODUCTION_EDIT: Final = (
    "The edit tool replaces a piece of text that occurs exactly once in a file."
)
# Bytes of a URL, where a command otherwise goes: a proxy may take no more than 8 KiB of one, and
# refuse it with an error. What is longer is put into a file first.
_MAX_INLINE: Final = 4 * 1024
_MAX_EDIT_BYTES: Final = 8 * 1024 * 1024
_TRANSPORT_ATTEMPTS: Final = 3
_REFUSALS: Final = 3
_REFUSAL_PAUSE: Final = 1.0  # seconds, and twice that before the last one
# Beside those of verifiers: SGLang ("longer than the model's context length"), llama.cpp.
_OVERFLOW_MARKERS: Final = (*CONTEXT_OVERFLOW_MARKERS, "context length", "context size")
# Of servers that answer 5xx as their template or their parser fails on a call.
_CALL_MARKERS: Final = (
    "tool_call",
    "tool call",
    "arguments",
    "a mapping",
    "attribute 'items'",
)
_RENDERING: Final = re.compile(r", in (?:render|render_ids|bridge_to_next_turn)\b")


class GradekeeperBashConfig(HarnessConfig):
    """Settings: `--env.agent.harness.<field>`."""

    id: str = "gradekeeper_bash"
    edit: bool = True
    """Whether the model has the `edit` tool beside `bash`."""
    shell: str = "sh"
    """Program that runs commands with `-c`; `bash` where the image has it."""
    command_timeout: FiniteFloat = field(300.0, gt=0)
    """Seconds after which a command is killed; the model is told so and goes on."""
    max_result: PositiveInt = 20_000
    """Characters of a result that the model is shown."""


class GradekeeperBashHarness(Harness[GradekeeperBashConfig]):
    """Chat loop with `bash` and `edit`. An agent that ends its box ends its rollout, no error."""

    APPENDS_SYSTEM_PROMPT = True
    SUPPORTS_RESUME = True

    async def launch(
        self,
        ctx: ModelContext,
        trace: Trace,
        runtime: Runtime,
        endpoint: str,
        secret: str,
        mcp_urls: dict[str, str],
        data: TaskData,
    ) -> ProgramResult:
        """Talk to the model until it calls no more tools; see the base class."""
        system, prompt = self.resolve_prompt(data)
        introduction = (_INTRODUCTION, _INTRODUCTION_EDIT if self.config.edit else "", system or "")
        messages: list[dict[str, Any]] = [
            {"role": "system", "content": "\n\n".join(part for part in introduction if part)}
        ]
        if isinstance(prompt, str):
            messages.append({"role": "user", "content": prompt})
        else:
            messages += [dict(message_to_wire(message)) for message in prompt or []]
        tools = [BASH, EDIT] if self.config.edit else [BASH]
        async with httpx.AsyncClient(
            timeout=httpx.Timeout(None, connect=15.0),
            headers={"authorization": f"Bearer {secret}"},
            trust_env=False,
        ) as http:
            while True:
                body = {"model": ctx.model, "messages": messages, "tools": tools}
                try:
                    answer = await _ask(http, f"{endpoint}/chat/completions", body, trace)
                except httpx.TransportError as error:
                    return ProgramResult(MODEL_TRANSPORT_ERROR_EXIT_CODE, "", repr(error))
                if answer.status_code >= 400:
                    if ending := _ending(answer, messages, trace):
                        trace.stop(ending)
                        return ProgramResult(0, "", answer.text[:1000])
                    said = f"the model answered HTTP {answer.status_code}: {answer.text[:1000]}"
                    return ProgramResult(1, "", said)
                message = answer.json()["choices"][0]["message"]
                messages.append({key: value for key, value in message.items() if value is not None})
                calls = tool_calls(message)
                if not calls:
                    return ProgramResult(0, "", "")
                sent = [sent_back(call, len(messages) + n) for n, call in enumerate(calls)]
                messages[-1]["tool_calls"] = sent
                try:
                    results = [await self._call(runtime, call) for call in calls]
                except BoxEndedError as error:
                    # What it leaves behind is scored, as with any other agent that is finished.
                    return ProgramResult(0, "", str(error))
                messages += [
                    {"role": "tool", "tool_call_id": call["id"], "content": result}
                    for call, result in zip(sent, results, strict=True)
                ]

    async def _call(self, runtime: Runtime, call: object) -> str:
        """Carry out one tool call; what goes wrong by the model's doing is told to the model."""
        try:
            wanted = read_call(call)
            async with asyncio.timeout(self.config.command_timeout):
                if isinstance(wanted, Edit):
                    return await _edit(runtime, wanted)
                done = await self._run(runtime, wanted.command)
        except ValueError as error:
            return shorten(f"error: {error}", self.config.max_result)
        except TimeoutError:
            return f"error: killed after {self.config.command_timeout:g} seconds"
        output = shorten(done.stdout + done.stderr, self.config.max_result)
        return f"{output}\n[exit code {done.exit_code}]"

    async def _run(self, runtime: Runtime, command: str) -> ProgramResult:
        argv = [self.config.shell, "-c", command]
        if len(quote(command)) > _MAX_INLINE:
            path = "/tmp/.gradekeeper-command"  # noqa: S108 - in the box
            async with _tells_the_model(runtime):
                await runtime.write(path, command.encode())
            argv = [self.config.shell, path]
        return await runtime.run(argv, self.config.resolved_env)


async def _ask(
    http: httpx.AsyncClient, url: str, body: dict[str, Any], trace: Trace
) -> httpx.Response:
    """Send the request, and again while that decides whose doing a refusal is."""
    for attempt in range(1, _REFUSALS + 1):
        answer = await _post(http, url, body)
        refused = answer.status_code >= 400
        if not refused or _ending(answer, body["messages"], trace) != "malformed_call":
            break
        if attempt < _REFUSALS:
            await asyncio.sleep(_REFUSAL_PAUSE * attempt)
    return answer


def _ending(answer: httpx.Response, messages: list[dict[str, Any]], trace: Trace) -> str | None:
    """The stop condition, if the model refuses for what the agent did; otherwise None."""
    if not trace.num_turns or trace.stop_condition is not None:
        return None  # it is the task's own prompt, or verifiers that refuses
    if _overflows(answer):
        return "context_overflow"
    if not any(is_malformed(call) for message in messages for call in tool_calls(message)):
        return None
    return "malformed_call" if _refuses_a_call(answer, trace) else None


def _overflows(answer: httpx.Response) -> bool:
    """Whether the model refuses because the conversation is too long for it."""
    said = answer.text.casefold()
    return answer.status_code in (400, 413) and any(marker in said for marker in _OVERFLOW_MARKERS)


def _refuses_a_call(answer: httpx.Response, trace: Trace) -> bool:
    """Whether the refusal may be for a malformed call; see the top of this file."""
    if answer.status_code in (400, 422):
        return True
    failed = trace.calls[-1].error if trace.calls else None
    if answer.status_code not in (500, 502) or failed is None:
        return False
    if failed.type != ProviderError.__name__:
        return _RENDERING.search(failed.traceback or "") is not None
    said = answer.text.casefold()
    return any(marker in said for marker in _CALL_MARKERS)


async def _post(http: httpx.AsyncClient, url: str, body: dict[str, Any]) -> httpx.Response:
    for attempt in range(1, _TRANSPORT_ATTEMPTS + 1):
        try:
            return await http.post(url, json=body)
        except httpx.ConnectError:
            # Only what cannot have arrived: a turn that did would be recorded twice.
            if attempt == _TRANSPORT_ATTEMPTS:
                raise
            await asyncio.sleep(0.5 * attempt)
    raise AssertionError("unreachable")


async def _edit(runtime: Runtime, call: Edit) -> str:
    async with _tells_the_model(runtime):
        before = await runtime.read(call.path, max_bytes=_MAX_EDIT_BYTES)
        await runtime.write(call.path, replace_once(before, call.old, call.new))
    return "done"


@contextlib.asynccontextmanager
async def _tells_the_model(runtime: Runtime) -> AsyncIterator[None]:
    """Turn a file that cannot be read or written in a box that lives into a ValueError.

    It is missing, too large, a folder, on a full disk: the model's to know, and no error of the
    rollout, or an agent would have it dropped at will.
    """
    try:
        yield
    except BoxEndedError:
        raise
    except SandboxError as error:
        if not await runtime.alive():
            # It may have ended a moment later, and by whom is what the next command says.
            await runtime.run(["true"], {})
            raise
        raise ValueError(str(error)) from error
