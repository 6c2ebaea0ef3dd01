"""An OpenAI-compatible server on loopback that plays agents.

By default it calls the tools that its prompt lists: text, then `SCRIPT: ` and a JSON list of [tool,
arguments] pairs, one for each turn. `env.cast` plays agents whose prompts say nothing of the kind.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Message = dict[str, Any]
Play = Callable[[dict[str, Any], str], Message]
"""The next message of the agent, from a request and the id of the rollout that it belongs to."""


class Refused(Exception):
    """The model answers with an error: HTTP status and text."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


def script(*calls: tuple[str, dict[str, Any] | str]) -> str:
    """The prompt that makes the model do this."""
    return "Do what the script says.\nSCRIPT: " + json.dumps(calls)


def play_script(request: dict[str, Any], rollout: str) -> Message:
    """Do what the prompt says."""
    messages = request["messages"]
    first = next(m["content"] for m in messages if m["role"] == "user")
    text = first if isinstance(first, str) else "".join(part["text"] for part in first)
    calls = json.loads(text.rpartition("SCRIPT: ")[2])
    done = sum(message["role"] == "tool" for message in messages)
    return call_tools(done, calls[done]) if done < len(calls) else say("done")


def say(text: str) -> Message:
    """The last message of an agent."""
    return {"role": "assistant", "content": text}


def call_tools(first: int, *calls: tuple[str, dict[str, Any] | str]) -> Message:
    """A message that calls tools; `first` numbers the first call."""
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": f"call-{number}",
                "type": "function",
                "function": {
                    "name": name,
                    "arguments": arguments if isinstance(arguments, str) else json.dumps(arguments),
                },
            }
            for number, (name, arguments) in enumerate(calls, first)
        ],
    }


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        return

    def do_GET(self) -> None:
        self._send({"object": "list", "data": [{"id": "scripted", "object": "model"}]})

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.requests.append(request)  # type: ignore[attr-defined]
        try:
            message = self.server.play(request, self.headers.get("x-session-id", ""))  # type: ignore[attr-defined]
        except Refused as refusal:
            self._send({"error": {"message": str(refusal)}}, refusal.status)
            return
        reason = "tool_calls" if message.get("tool_calls") else "stop"
        self._send(
            {
                "id": "x",
                "object": "chat.completion",
                "created": 1,
                "model": request["model"],
                "choices": [{"index": 0, "message": message, "finish_reason": reason}],
                "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
            }
        )

    def _send(self, value: dict[str, Any], status: int = 200) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def serve(play: Play = play_script) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Serve on a free port; yields the base URL and the list that requests are kept in."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    server.requests = []  # type: ignore[attr-defined]
    server.play = play  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1", server.requests  # type: ignore[attr-defined]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
