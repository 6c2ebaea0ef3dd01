"""An OpenAI-compatible server on loopback that plays agents: it calls the tools its prompt lists.

A prompt is text, then `SCRIPT: ` and a JSON list of [tool, arguments] pairs, one for each turn.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


def script(*calls: tuple[str, dict[str, Any] | str]) -> str:
    """The prompt that makes the model do this."""
    return "Do what the script says.\nSCRIPT: " + json.dumps(calls)


def _next_message(request: dict[str, Any]) -> dict[str, Any]:
    messages = request["messages"]
    first = next(m["content"] for m in messages if m["role"] == "user")
    text = first if isinstance(first, str) else "".join(part["text"] for part in first)
    calls = json.loads(text.rpartition("SCRIPT: ")[2])
    done = sum(message["role"] == "tool" for message in messages)
    if done >= len(calls):
        return {"role": "assistant", "content": "done"}
    name, arguments = calls[done]
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments)
    function = {"name": name, "arguments": arguments}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": f"call-{done}", "type": "function", "function": function}],
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
        message = _next_message(request)
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

    def _send(self, value: dict[str, Any]) -> None:
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def serve() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Serve on a free port; yields the base URL and the list that requests are kept in."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    server.requests = []  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1", server.requests  # type: ignore[attr-defined]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
