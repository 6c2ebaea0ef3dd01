"""A harness whose loop is a program in the box: it needs python3 there and the host's model."""

from __future__ import annotations

import verifiers.v1 as vf
from verifiers.v1.clients import ModelContext
from verifiers.v1.configs.harness import HarnessConfig
from verifiers.v1.harness import Harness
from verifiers.v1.runtimes import ProgramResult

PROGRAM = """
import json, subprocess, sys, urllib.error, urllib.request

url, key, model, prompt = sys.argv[1:]
tool = {"type": "function", "function": {"name": "bash", "parameters": {
    "type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}}}
messages = [{"role": "user", "content": prompt}]
http = urllib.request.build_opener(urllib.request.ProxyHandler({}))
while True:
    body = json.dumps({"model": model, "messages": messages, "tools": [tool]}).encode()
    headers = {"authorization": "Bearer " + key, "content-type": "application/json"}
    try:
        with http.open(urllib.request.Request(url + "/chat/completions", body, headers)) as answer:
            message = json.load(answer)["choices"][0]["message"]
    except urllib.error.HTTPError:
        raise
    except OSError as error:
        print(error, file=sys.stderr)
        sys.exit(97)
    messages.append({k: v for k, v in message.items() if v is not None})
    if not message.get("tool_calls"):
        break
    for call in message["tool_calls"]:
        command = json.loads(call["function"]["arguments"])["command"]
        done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
        result = done.stdout + done.stderr
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
"""


class BoxLoopConfig(HarnessConfig):
    id: str = "box_loop"


class BoxLoopHarness(Harness[BoxLoopConfig]):
    async def setup(self, runtime: vf.Runtime) -> None:
        await runtime.write("/tmp/box_loop.py", PROGRAM.encode())

    async def launch(
        self,
        ctx: ModelContext,
        trace: vf.Trace,
        runtime: vf.Runtime,
        endpoint: str,
        secret: str,
        mcp_urls: dict[str, str],
        data: vf.TaskData,
    ) -> ProgramResult:
        _, prompt = self.resolve_text_prompt(data)
        assert prompt is not None
        argv = ["python3", "/tmp/box_loop.py", endpoint, secret, ctx.model, prompt]
        return await runtime.run_program(argv, self.config.resolved_env)


__all__ = ["BoxLoopConfig", "BoxLoopHarness"]
