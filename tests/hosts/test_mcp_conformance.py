"""MCP clients that are not ours and not in Python: the Inspector and the conformance suite."""

from __future__ import annotations

import json
import os
import re
import socket
import socketserver
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from tests.serve.mcp_clients import Serving, command, serving

from ringwood.memory import Memory
from ringwood.serve.tools import TOOLS

pytestmark = [pytest.mark.host, pytest.mark.slow]

HOST = Path(__file__).resolve().parents[2] / ".hosts" / "node"
NODE = HOST / ("Scripts/node.exe" if os.name == "nt" else "bin/node")
PROGRAMS = HOST / "node_modules" / ".bin"
QUEUE = "# Queue\n\nWe chose SQLite over Redis for durability."

SCENARIOS = {
    "2025-11-25": (
        "server-initialize",
        "server-session-lifecycle",
        "ping",
        "completion-complete",
        "tools-list",
        "resources-list",
        "prompts-list",
        "dns-rebinding-protection",
        "server-sse-multiple-streams",
    ),
    "2026-07-28": (
        "completion-complete",
        "tools-list",
        "resources-list",
        "prompts-list",
        "caching",
        "http-header-validation",
        "sep-2164-resource-not-found",
        "dns-rebinding-protection",
        "server-sse-multiple-streams",
    ),
}
"""Those that hold for any server; the others call tools and prompts of a server made for them."""


def run(program: str, *arguments: str, home: Path) -> subprocess.CompletedProcess[str]:
    """Run a program of the host, which is to write nowhere but into the test's folder."""
    if not (PROGRAMS / program).exists():
        pytest.skip("needs the host programs: scripts/hosts.py node")
    return subprocess.run(
        [str(NODE), str(PROGRAMS / program), *arguments],
        cwd=home,
        env={**os.environ, "HOME": str(home), "NO_COLOR": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


# -- the Inspector -------------------------------------------------------------------------------


def inspected(folder: Path, *arguments: str) -> dict[str, Any]:
    """Call a method of a server over stdio with the Inspector; return the result."""
    done = run("mcp-inspector", "--cli", *command(folder / "home"), *arguments, home=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    """A folder whose home holds a note in the space `app`."""
    with Memory.open(tmp_path / "home", space="app", embedder="words") as opened:
        opened.store(QUEUE)
    return tmp_path


def test_the_inspector_lists_the_tools_and_has_nothing_against_their_schemas(filled: Path) -> None:
    whole = ["--cli", *command(filled / "home"), "--method", "tools/list", "--strict"]

    done = run("mcp-inspector", *whole, home=filled)

    assert done.returncode == 0, done.stderr
    assert [each["name"] for each in json.loads(done.stdout)["tools"]] == [t.name for t in TOOLS]
    assert "warning" not in done.stderr, done.stderr


def test_the_inspector_calls_a_tool_and_checks_its_answer(filled: Path) -> None:
    call = ["--method", "tools/call", "--tool-name", "mem_recall", "--tool-arg", "query=Redis"]

    result = inspected(filled, *call)

    assert not result.get("isError", False)
    assert "durability" in result["structuredContent"]["frame"]
    assert result["structuredContent"]["frame"] in result["content"][0]["text"]


def test_the_inspector_reads_a_resource(filled: Path) -> None:
    result = inspected(filled, "--method", "resources/read", "--uri", "ringwood://app/queue")

    assert "durability" in result["contents"][0]["text"]


# -- the conformance suite -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a server for a client that knows no token: it is added on the way."""
    with serving(tmp_path_factory.mktemp("conformance") / "home") as served, _Proxy(served) as way:
        thread = Thread(target=way.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield f"http://127.0.0.1:{way.server_address[1]}/mcp"
        way.shutdown()
        thread.join()


class _Proxy(socketserver.ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, served: Serving) -> None:
        super().__init__(("127.0.0.1", 0), _AddToken)
        self.target = ("127.0.0.1", int(served.url.split(":")[2].split("/")[0]))
        self.header = f"\r\nAuthorization: Bearer {served.token}\r\nConnection: close".encode()


class _AddToken(socketserver.BaseRequestHandler):
    """One request per connection; Host and Origin go on as the client wrote them."""

    server: _Proxy

    def handle(self) -> None:
        head = b""
        while b"\r\n\r\n" not in head:
            piece = self.request.recv(65536)
            if not piece:
                return
            head += piece
        first, _, rest = head.partition(b"\r\n")
        rest = re.sub(rb"(?i)\r\nconnection:[^\r]*", b"", b"\r\n" + rest, count=1)
        with socket.create_connection(self.server.target) as behind:
            behind.sendall(first + self.server.header + rest)
            upward = Thread(target=_pump, args=(self.request, behind))
            upward.start()
            _pump(behind, self.request)
            with suppress(OSError):
                self.request.shutdown(socket.SHUT_RDWR)
            upward.join()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    """Carry bytes until one end closes."""
    with suppress(OSError):
        while piece := source.recv(65536):
            sink.sendall(piece)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


@pytest.mark.parametrize(
    ("version", "scenario"),
    [(version, name) for version, names in SCENARIOS.items() for name in names],
)
def test_the_server_conforms(proxy: str, tmp_path: Path, version: str, scenario: str) -> None:
    options = ["--scenario", scenario, "--spec-version", version, "-o", str(tmp_path / "checks")]

    done = run("conformance", "server", "--url", proxy, *options, home=tmp_path)

    told = re.search(r"Passed: (\d+)/(\d+), 0 failed", done.stdout + done.stderr)
    assert done.returncode == 0, done.stdout + done.stderr
    assert told is not None
    assert int(told[1]) == int(told[2]) > 0


def test_the_suite_notices_a_server_that_does_not_conform(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "http.server", "0", "--bind", "127.0.0.1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        cwd=tmp_path,
        text=True,
    ) as server:
        try:
            assert server.stdout is not None
            port = re.search(r"port (\d+)", server.stdout.readline())
            assert port is not None
            url = f"http://127.0.0.1:{port[1]}/mcp"
            done = run("conformance", "server", "--url", url, "--scenario", "ping", home=tmp_path)
        finally:
            server.terminate()

    assert done.returncode != 0
