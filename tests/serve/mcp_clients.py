"""Real MCP clients and real servers, for the tests that let them talk to each other."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from ringwood.memory import Memory
from ringwood.serve.mcp.server import build

OPENING = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
"""What a client of the handshake era says first."""


def command(home: Path, *options: str) -> list[str]:
    """Say how a server of a home is started, in the space `app`."""
    everywhere = ["--home", str(home), "--space", "app", "--embedder", "words"]
    return [sys.executable, "-m", "ringwood", "mcp", *everywhere, *options]


@dataclass(frozen=True, slots=True)
class Serving:
    """A server process that takes HTTP."""

    url: str
    """Where it answers."""
    token: str
    """What a client has to send."""
    process: subprocess.Popen[str]
    """It."""

    @property
    def headers(self) -> dict[str, str]:
        """The headers of a proper request."""
        return {
            "Authorization": f"Bearer {self.token}",
            "Accept": "application/json, text/event-stream",
            "Content-Type": "application/json",
        }


@contextmanager
def serving(home: Path) -> Iterator[Serving]:
    """Serve a home over HTTP until the end of the block."""
    with subprocess.Popen(
        command(home, "--http", "--json"), stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            written = ""
            while "}" not in written:
                line = process.stdout.readline()
                assert line, "the server ended before it served"
                written += line
            told = json.loads(written)
            yield Serving(told["url"], Path(told["token_file"]).read_text(), process)
        finally:
            process.terminate()
            process.wait(20)


@asynccontextmanager
async def client_of(serving: Serving) -> AsyncIterator[Client]:
    """Connect to a server over HTTP."""
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {serving.token}"}) as http,
        Client(streamable_http_client(serving.url, http_client=http)) as client,
    ):
        yield client


@asynccontextmanager
async def connected(way: str, home: Path) -> AsyncIterator[Client]:
    """Connect a client to a server of a home: in `memory`, over `stdio` or over `http`."""
    if way == "memory":
        with Memory.open(home, space="app", embedder="words") as opened:
            async with Client(build(opened)) as client:
                yield client
    elif way == "stdio":
        whole = command(home)
        async with Client(StdioServerParameters(command=whole[0], args=whole[1:])) as client:
            yield client
    else:
        with serving(home) as served:
            async with client_of(served) as client:
                yield client


class Lines:
    """A server process over stdio, spoken to line by line: a client that keeps no rules."""

    def __init__(self, home: Path, *options: str, cwd: Path | None = None) -> None:
        """Start the server."""
        self.process = subprocess.Popen(
            command(home, *options),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=cwd,
            env={**os.environ, "PYTHONFAULTHANDLER": "1"},
        )

    def say(self, message: dict[str, Any] | str) -> None:
        """Send one line."""
        assert self.process.stdin is not None
        line = message if isinstance(message, str) else json.dumps(message)
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def hear(self) -> dict[str, Any]:
        """Receive one line."""
        assert self.process.stdout is not None
        heard: dict[str, Any] = json.loads(self.process.stdout.readline())
        return heard

    def open(self) -> dict[str, Any]:
        """Shake hands; return the server's half."""
        self.say(OPENING)
        answer = self.hear()
        self.say({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer

    def call(self, tool: str, arguments: object, *, wait: bool = True) -> dict[str, Any]:
        """Call a tool; return what came back, or nothing without waiting for it."""
        params = {"name": tool, "arguments": arguments}
        self.say({"jsonrpc": "2.0", "id": tool, "method": "tools/call", "params": params})
        return self.hear() if wait else {}

    def end(self) -> int:
        """Close the server's standard input; return what it ended with."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(20)

    def __enter__(self) -> Lines:
        """Use it within a block."""
        return self

    def __exit__(self, *error: object) -> None:
        """End the process, whatever became of it."""
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()
