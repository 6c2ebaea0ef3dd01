"""A harness whose loop stays outside the box: only commands and files of tool calls enter it.

A loop inside the box is a process of the agent's user. The agent can kill it (`kill -9 -1`), and
the framework then records an error and drops the rollout; out here it can only kill its own
commands. Nothing is installed in the box, which needs neither Python nor a network.

In the same way an agent could print more than its context holds: the model's refusal is an error,
and the rollout would be dropped. Here it ends the rollout, which is scored (`context_overflow`).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any, Final

import httpx
from pydantic import Field as field
from pydantic import FiniteFloat, PositiveInt
from verifiers.v1.clients import ModelContext
from verifiers.v1.configs.harness import HarnessConfig
from verifiers.v1.dialects.chat import message_to_wire
from verifiers.v1.errors import MODEL_TRANSPORT_ERROR_EXIT_CODE, SandboxError
from verifiers.v1.harness import Harness
from verifiers.v1.harnesses.utils.compaction import CONTEXT_OVERFLOW_MARKERS
from verifiers.v1.runtimes import ProgramResult, Runtime
from verifiers.v1.task import TaskData
from verifiers.v1.trace import Trace

from gradekeeper_bash.tools import BASH, EDIT, Edit, parse_call, replace_once, shorten
from gradekeeper_verifiers.errors import BoxEndedError

_INTRODUCTION: Final = "You are a coding agent. Run shell commands with the bash tool."
_INTRODUCTION_EDIT: Final = (
    "The edit tool replaces a piece of text that occurs exactly once in a file."
)
# Longer commands than one argument may be are put into a file first.
_MAX_INLINE: Final = 64 * 1024
_MAX_EDIT_BYTES: Final = 8 * 1024 * 1024
_TRANSPORT_ATTEMPTS: Final = 3


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
                    answer = await _post(http, f"{endpoint}/chat/completions", body)
                except httpx.TransportError as error:
                    return ProgramResult(MODEL_TRANSPORT_ERROR_EXIT_CODE, "", repr(error))
                if answer.status_code >= 400:
                    if trace.num_turns and _overflows(answer):
                        trace.stop("context_overflow")
                        return ProgramResult(0, "", answer.text[:1000])
                    said = f"the model answered HTTP {answer.status_code}: {answer.text[:1000]}"
                    return ProgramResult(1, "", said)
                message = answer.json()["choices"][0]["message"]
                messages.append({key: value for key, value in message.items() if value is not None})
                calls = message.get("tool_calls") or []
                if not calls:
                    return ProgramResult(0, "", "")
                try:
                    results = [await self._call(runtime, call["function"]) for call in calls]
                except BoxEndedError as error:
                    # What it leaves behind is scored, as with any other agent that is finished.
                    return ProgramResult(0, "", str(error))
                messages += [
                    {"role": "tool", "tool_call_id": call["id"], "content": result}
                    for call, result in zip(calls, results, strict=True)
                ]

    async def _call(self, runtime: Runtime, function: dict[str, Any]) -> str:
        """Carry out one tool call; what goes wrong by the model's doing is told to the model."""
        try:
            call = parse_call(str(function.get("name")), str(function.get("arguments") or ""))
            async with asyncio.timeout(self.config.command_timeout):
                if isinstance(call, Edit):
                    return await _edit(runtime, call)
                done = await self._run(runtime, call.command)
        except ValueError as error:
            return f"error: {error}"
        except TimeoutError:
            return f"error: killed after {self.config.command_timeout:g} seconds"
        output = shorten(done.stdout + done.stderr, self.config.max_result)
        return f"{output}\n[exit code {done.exit_code}]"

    async def _run(self, runtime: Runtime, command: str) -> ProgramResult:
        argv = [self.config.shell, "-c", command]
        if len(command.encode()) > _MAX_INLINE:
            path = "/tmp/.gradekeeper-command"  # noqa: S108 - in the box
            async with _tells_the_model(runtime):
                await runtime.write(path, command.encode())
            argv = [self.config.shell, path]
        return await runtime.run(argv, self.config.resolved_env)


def _overflows(answer: httpx.Response) -> bool:
    """Whether the model refuses because the conversation is too long for it."""
    said = answer.text.casefold()
    return answer.status_code in (400, 413) and any(
        marker in said for marker in CONTEXT_OVERFLOW_MARKERS
    )


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
