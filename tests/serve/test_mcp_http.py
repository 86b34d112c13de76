"""MCP over HTTP: who is let in, what is too much, and that the token stays private."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from starlette.types import Message, Receive, Scope, Send
from tests.serve.mcp_clients import OPENING, Serving, client_of, serving

from ringwood.errors import HomeError, UsageError
from ringwood.serve.cli.app import run
from ringwood.serve.mcp.guard import MAX_BODY_BYTES, Guard
from ringwood.serve.mcp.http import TOKEN_FILE, listen, token_of

TOKEN = "t" * 43
LET_IN = {"host": "127.0.0.1:8000", "authorization": f"Bearer {TOKEN}"}


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with the body that came."""
    message = await receive()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": message["body"]})


def asked(
    headers: dict[str, str],
    chunks: list[bytes],
    *,
    query: str = "",
    pause_s: float = 0.0,
    body_s: float = 5.0,
) -> tuple[int, bytes]:
    """Send a request through the guard; return status and body. The last chunk ends it."""
    left = list(chunks)
    answer: list[Message] = []

    async def receive() -> Message:
        await asyncio.sleep(pause_s)
        if not left:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": left.pop(0), "more_body": bool(left)}

    async def send(message: Message) -> None:
        answer.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/mcp",
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in headers.items()],
    }
    asyncio.run(Guard(echo, TOKEN, body_s=body_s)(scope, receive, send))
    return answer[0]["status"], answer[1]["body"]


def test_a_proper_request_passes_with_its_body() -> None:
    assert asked(LET_IN, [b'{"a": ', b"1}"]) == (200, b'{"a": 1}')


def test_half_a_character_in_a_body_is_replaced() -> None:
    assert asked(LET_IN, [rb'{"a": "\ud83d"}']) == (200, '{"a": "\ufffd"}\n'.encode())


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.0.0.1:1", "localhost:65535", "LOCALHOST", "[::1]:80", "127.0.0.2"]
)
def test_this_machine_is_let_in_under_all_its_names(host: str) -> None:
    origin = f"http://{host}"

    assert asked(LET_IN | {"host": host, "origin": origin}, [b"{}"])[0] == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "evil.example"},
        {"host": "evil.example:8000"},
        {"host": "127.0.0.1.evil.example"},
        {"host": "localhost.evil.example:80"},
        {"host": "127.0.0.1:8000@evil.example"},
        {"host": "10.0.0.1"},
        {"host": ""},
        {"origin": "http://evil.example"},
        {"origin": "http://localhost.evil.example"},
        {"origin": "null"},
        {"origin": ""},
        {"origin": "file://localhost"},
    ],
)
def test_a_page_of_elsewhere_is_turned_away_even_with_the_token(headers: dict[str, str]) -> None:
    status, body = asked(LET_IN | headers, [b"{}"])

    assert status == 403
    assert json.loads(body)["error"]["code"] == "http_403"


@pytest.mark.parametrize(
    "given",
    ["", TOKEN, f"Bearer {TOKEN[:-1]}", f"Bearer {TOKEN}x", "Bearer ", "Bearer \xe9", "Basic eDp4"],
)
def test_without_the_token_nothing_is_read(given: str) -> None:
    status, _ = asked(LET_IN | {"authorization": given}, [], query=f"token={TOKEN}")

    assert status == 401


@pytest.mark.parametrize(
    ("headers", "chunks"),
    [
        ({"content-length": str(MAX_BODY_BYTES + 1)}, []),
        ({"content-length": "9" * 20}, []),
        ({}, [b"x" * 2**20] * 5),
        ({}, [b"x" * 2**20] * 9),
    ],
)
def test_too_long_a_body_is_refused(headers: dict[str, str], chunks: list[bytes]) -> None:
    assert asked(LET_IN | headers, chunks)[0] == 413


def test_the_longest_body_passes() -> None:
    longest = b"x" * MAX_BODY_BYTES

    assert asked(LET_IN | {"content-length": str(len(longest))}, [longest]) == (200, longest)


@pytest.mark.parametrize("length", ["-1", "1e3", "", "9" * 5000, "\xb2"])
def test_a_length_that_is_none_is_refused(length: str) -> None:
    assert asked(LET_IN | {"content-length": length}, [b"{}"])[0] == 400


def test_a_body_that_never_comes_is_given_up() -> None:
    drops = [b"x"] * 100

    assert asked(LET_IN, drops, pause_s=0.01, body_s=0.1)[0] == 408
    assert asked(LET_IN, drops, pause_s=0.0, body_s=60.0)[0] == 200


def test_a_body_that_breaks_off_is_refused() -> None:
    assert asked(LET_IN, [])[0] == 400


# -- the token and the address -------------------------------------------------------------------


def test_the_token_is_made_once_and_for_its_owner_only(tmp_path: Path) -> None:
    home = tmp_path / "home"

    token = token_of(str(home))

    assert len(token) >= 43
    assert token_of(str(home)) == token
    assert stat.S_IMODE((home / TOKEN_FILE).stat().st_mode) == 0o600
    assert [each.name for each in home.iterdir()] == [TOKEN_FILE]
    assert token_of(str(tmp_path / "another")) != token


def test_a_token_that_others_can_read_protects_nothing(tmp_path: Path) -> None:
    token_of(str(tmp_path))
    (tmp_path / TOKEN_FILE).chmod(0o644)

    with pytest.raises(HomeError, match="Others may read"):
        token_of(str(tmp_path))


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.2", "example.org", "", "127.0.0.1.x"])
def test_an_address_of_the_network_is_refused(host: str) -> None:
    with pytest.raises(UsageError, match="no loopback address"):
        listen(host, 0)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_port_zero_takes_a_free_port_of_this_machine(host: str) -> None:
    with listen(host, 0) as listening:
        address, port = listening.getsockname()

        assert address == "127.0.0.1"
        assert port > 0
        with pytest.raises(UsageError, match="cannot be had"):
            listen(host, port)


def test_host_and_port_belong_to_http(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(["mcp", "--port", "1", "--json", "--home", str(tmp_path)]) == 2
    assert "--http" in capsys.readouterr().out
    assert run(["mcp", "--http", "--host", "0.0.0.0", "--json", "--home", str(tmp_path)]) == 2
    assert "loopback" in capsys.readouterr().out


# -- a server as it is started -------------------------------------------------------------------


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """A server process."""
    with serving(tmp_path_factory.mktemp("http") / "home") as started:
        yield started


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "body", "status"),
    [
        ({}, json.dumps(OPENING), 200),
        ({"Origin": "http://localhost:3000"}, json.dumps(OPENING), 200),
        ({"Host": "evil.example"}, json.dumps(OPENING), 403),
        ({"Origin": "http://evil.example"}, json.dumps(OPENING), 403),
        ({"Origin": "null"}, json.dumps(OPENING), 403),
        ({"Authorization": "Bearer wrong"}, json.dumps(OPENING), 401),
        ({}, "x" * (MAX_BODY_BYTES + 1), 413),
        ({}, "[" * 100_000 + "]" * 100_000, 400),
        ({}, '{"jsonrpc": "2.0", "id": 1, "method": ' + '{"a":' * 100_000, 400),
        ({}, "no json", 400),
        ({}, "", 400),
    ],
)
def test_a_request_is_answered_with_the_status_it_deserves(
    served: Serving, change: dict[str, str], body: str, status: int
) -> None:
    answer = httpx2.post(served.url, headers=served.headers | change, content=body, timeout=30)

    assert answer.status_code == status
    assert "Traceback" not in answer.text
    assert served.process.poll() is None


@pytest.mark.slow
def test_a_token_in_the_address_counts_for_nothing(served: Serving) -> None:
    headers = {name: value for name, value in served.headers.items() if name != "Authorization"}
    for query in (f"?token={served.token}", f"?access_token={served.token}"):
        answer = httpx2.post(served.url + query, headers=headers, json=OPENING, timeout=30)

        assert answer.status_code == 401
        assert served.token not in answer.text


@pytest.mark.slow
def test_two_clients_at_once_share_one_memory(served: Serving) -> None:
    async def talk() -> Any:  # noqa: ANN401 - JSON
        async with client_of(served) as one, client_of(served) as two:
            await one.call_tool("mem_store", {"text": "Herons wade."})
            return (await two.call_tool("mem_recall", {"query": "herons"})).structured_content

    assert "Herons" in anyio.run(talk)["frame"]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_server_while_a_client_listens(
    tmp_path: Path, number: signal.Signals
) -> None:
    with serving(tmp_path / "home") as started:
        host, port = started.url.split("/")[2].split(":")
        with socket.create_connection((host, int(port))) as idle:
            idle.sendall(b"POST /mcp HTTP/1.1\r\n")

            async def end() -> int:
                async with client_of(started):
                    started.process.send_signal(number)
                    return await anyio.to_thread.run_sync(started.process.wait, 20)

            assert anyio.run(end) == 0
