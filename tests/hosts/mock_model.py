"""A model on loopback that says what it is told, over both wires that DSH speaks.

Old releases post to `/chat/completions` in the form of OpenAI, new ones to `/messages` in that of
Anthropic. Requests without tools are for a session's title: they get one and use up no line.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from types import TracebackType
from typing import Any, Self

Event = tuple[str, dict[str, Any]]
"""Name and payload of one server-sent event."""


@dataclass(frozen=True, slots=True)
class Say:
    """The model answers with a text, which ends the turn."""

    text: str
    """What it says."""


@dataclass(frozen=True, slots=True)
class Call:
    """The model calls a tool, and is asked again with the result."""

    tool: str
    """The tool's name."""
    arguments: dict[str, Any]
    """What it is called with."""


class MockModel:
    """A server that plays lines, and keeps every request it had. A context manager."""

    def __init__(self) -> None:
        """Listen on a free port of loopback."""
        self.requests: list[dict[str, Any]] = []
        self._lines: list[Say | Call] = []
        self._lock = Lock()
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                line = model._next(body)
                anthropic = self.path.endswith("/messages")
                events = _messages(line) if anthropic else _completions(line)
                self._stream(events, named=anthropic)

            def _stream(self, events: Iterator[Event], *, named: bool) -> None:
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Connection", "close")
                self.end_headers()
                for name, payload in events:
                    head = f"event: {name}\n" if named else ""
                    self.wfile.write(f"{head}data: {json.dumps(payload)}\n\n".encode())
                if not named:
                    self.wfile.write(b"data: [DONE]\n\n")
                self.close_connection = True

            def log_message(self, format: str, *args: object) -> None:
                """Keep the test's output clean."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = Thread(target=self._server.serve_forever, args=(0.05,))

    @property
    def url(self) -> str:
        """What the host is told as the address of its model."""
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def play(self, *lines: Say | Call) -> None:
        """Say these lines next; when they are used up, the model says `Done.`."""
        with self._lock:
            self._lines = list(lines)
            self.requests = []

    def _next(self, body: dict[str, Any]) -> Say | Call:
        with self._lock:
            if not body.get("tools"):
                return Say("A title")
            self.requests.append(body)
            return self._lines.pop(0) if self._lines else Say("Done.")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def _messages(line: Say | Call) -> Iterator[Event]:
    """Write a line as the events of Anthropic's Messages."""
    usage = {"input_tokens": 10, "output_tokens": 5}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "mock"}
    start: dict[str, Any] = {
        **message,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
    yield "message_start", {"type": "message_start", "message": start}
    if isinstance(line, Say):
        block: dict[str, Any] = {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": line.text}
    else:
        block = {"type": "tool_use", "id": "call_1", "name": line.tool, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(line.arguments)}
    reason = "end_turn" if isinstance(line, Say) else "tool_use"
    for name, more in (
        ("content_block_start", {"index": 0, "content_block": block}),
        ("content_block_delta", {"index": 0, "delta": delta}),
        ("content_block_stop", {"index": 0}),
        (
            "message_delta",
            {"delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage},
        ),
        ("message_stop", {}),
    ):
        yield name, {"type": name, **more}


def _completions(line: Say | Call) -> Iterator[Event]:
    """Write a line as the chunks of OpenAI's chat completions."""
    if isinstance(line, Say):
        delta: dict[str, Any] = {"role": "assistant", "content": line.text}
    else:
        function = {"name": line.tool, "arguments": json.dumps(line.arguments)}
        call = {"index": 0, "id": "call_1", "type": "function", "function": function}
        delta = {"role": "assistant", "tool_calls": [call]}
    reason = "stop" if isinstance(line, Say) else "tool_calls"
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    head = {"id": "chat_1", "object": "chat.completion.chunk", "created": 0, "model": "mock"}
    for choices, more in (
        ([{"index": 0, "delta": delta, "finish_reason": None}], {}),
        ([{"index": 0, "delta": {}, "finish_reason": reason}], {}),
        ([], {"usage": usage}),
    ):
        yield "", {**head, "choices": choices, **more}
