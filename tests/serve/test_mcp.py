"""The MCP server, spoken to by a real client in memory, over stdio and over HTTP."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from random import Random
from threading import Timer
from typing import Any

import anyio
import apsw
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import PromptReference, ResourceTemplateReference, TextContent
from tests.processes import eventually, is_alive
from tests.serve.mcp_clients import Lines, command, connected

from ringwood.capture import spool
from ringwood.capture.exchange import Event
from ringwood.memory import Memory
from ringwood.names import POLICY
from ringwood.serve.mcp.life import alive
from ringwood.serve.mcp.readable import readable
from ringwood.serve.mcp.server import INSTRUCTIONS, address_in, build, uri_of
from ringwood.serve.tools import TOOLS

QUEUE = (
    "# Queue\n\nWe chose SQLite over Redis for durability.\n\n## Limits\n\nOne writer at a time."
)
CHARS_PER_TOKEN = 3.5
"""Of JSON in English: tokenizers make fewer tokens of it than this says."""


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Memory]:
    """A memory by words in the space `app`, which holds one note."""
    with Memory.open(tmp_path / "home", space="app", embedder="words", wait_s=10.0) as opened:
        opened.store(QUEUE)
        yield opened


async def answered(client: Client, tool: str, **arguments: object) -> dict[str, Any]:
    """Call a tool; return its structured answer after a look at the copy in text."""
    result = await client.call_tool(tool, arguments)
    (text,) = result.content
    assert isinstance(text, TextContent)
    assert not result.is_error, text.text
    content: dict[str, Any] = result.structured_content
    assert content.get("frame", "") in text.text
    return content


@pytest.mark.parametrize("way", ["memory", "stdio", pytest.param("http", marks=pytest.mark.slow)])
def test_a_client_uses_every_tool(way: str, tmp_path: Path) -> None:
    used = set()

    async def talk() -> None:
        async with connected(way, tmp_path / "home") as client:

            async def use(tool: str, **arguments: object) -> dict[str, Any]:
                used.add(tool)
                return await answered(client, tool, **arguments)

            stored = await use("mem_store", text=QUEUE)
            recalled = await use("mem_recall", query="why not Redis", max_nodes="3")
            explained = await use("mem_explain", recall_id=recalled["recall_id"])
            read = await use("mem_read", address=stored["address"])
            assert (await use("mem_stats"))["documents"] == 1
            assert (await use("mem_dream", dry_run=True))["dry_run"]
            assert (await use("mem_rotate", dry_run=True))["dry_run"]
            forgotten = await use("mem_forget", address=stored["address"])
            assert (await use("mem_stats"))["documents"] == 0

            assert "durability" in recalled["frame"]
            assert "durability" in read["frame"]
            assert explained["hits"][0]["score"] == recalled["hits"][0]["score"]
            assert forgotten["documents"] == 1
            refused = await client.call_tool("mem_read", {"address": "/queue"})
            assert refused.is_error
            assert refused.structured_content["error"]["code"] == "no_such_address"

    anyio.run(talk)

    assert used == {tool.name for tool in TOOLS}


def test_the_list_of_tools_is_small_and_whole(app: Memory) -> None:
    async def listed() -> str:
        async with Client(build(app)) as client:
            tools = (await client.list_tools()).tools
            return json.dumps([tool.model_dump(by_alias=True, exclude_none=True) for tool in tools])

    text = anyio.run(listed)

    described = json.loads(text)
    assert [each["name"] for each in described] == [tool.name for tool in TOOLS]
    for each, tool in zip(described, TOOLS, strict=True):
        assert each["inputSchema"] == tool.parameters
        assert each["outputSchema"] == tool.returns
        assert each["annotations"] == {
            "readOnlyHint": tool.read_only,
            "destructiveHint": tool.destructive,
            "idempotentHint": True,
            "openWorldHint": False,
        }
    assert len(text) / CHARS_PER_TOKEN < 2000


def test_a_client_is_told_the_policy_and_when_to_use_what(app: Memory) -> None:
    async def greeting() -> str | None:
        async with Client(build(app)) as client:
            return client.instructions

    told = anyio.run(greeting)

    assert told == INSTRUCTIONS
    assert POLICY in INSTRUCTIONS
    assert "mem_recall" in INSTRUCTIONS
    assert "mem_store" in INSTRUCTIONS


def test_documents_are_resources_that_read_as_data(app: Memory) -> None:
    async def talk() -> None:
        async with Client(build(app)) as client:
            (resource,) = (await client.list_resources()).resources
            assert (resource.uri, resource.title) == ("ringwood://app/queue", "Queue")
            (template,) = (await client.list_resource_templates()).resource_templates
            assert template.uri_template == "ringwood://{space}/{+path}"
            for uri in (resource.uri, "ringwood://app/queue/limits"):
                (content,) = (await client.read_resource(uri)).contents
                text: str = content.text  # type: ignore[union-attr]
                assert content.mime_type == "text/markdown"
                assert text.startswith("<memory-recall ")
                assert "One writer at a time." in text

    anyio.run(talk)


@pytest.mark.parametrize("uri", ["ringwood://app/gone", "ringwood://other/heron", "file:///x", "x"])
def test_a_resource_that_is_not_there_is_an_error_with_a_reason(app: Memory, uri: str) -> None:
    app.within(space="other").store("# Heron\n\nzanzibar")

    async def talk() -> None:
        async with Client(build(app)) as client:
            with pytest.raises(MCPError, match="Nothing has the address"):
                await client.read_resource(uri)

    anyio.run(talk)


def test_an_address_survives_being_a_uri(app: Memory) -> None:
    receipt = app.store("# 量子 100% a#b?\n\nx", path="/读书/量子 notes")
    document = next(each for each in app.recent() if str(each.id) == receipt.document)

    assert uri_of(document).isascii()
    assert address_in(uri_of(document)) == receipt.address


def test_prompts_are_described_and_carry_a_frame(app: Memory) -> None:
    async def talk() -> None:
        async with Client(build(app)) as client:
            prompts = (await client.list_prompts()).prompts
            assert [each.name for each in prompts] == ["recall", "remember"]
            assert all(each.description for each in prompts)
            recall = await client.get_prompt("recall", {"question": "why not Redis"})
            text: str = recall.messages[0].content.text  # type: ignore[union-attr]
            assert text.startswith("<memory-recall ")
            assert text.endswith("</memory-recall>\n\nwhy not Redis")
            remember = await client.get_prompt("remember", {"what": "the queue"})
            assert "mem_store: the queue" in str(remember.messages[0].content)
            for name, arguments in (("recall", {}), ("recall", {"question": " "}), ("sing", {})):
                with pytest.raises(MCPError, match="prompt"):
                    await client.get_prompt(name, arguments)

    anyio.run(talk)


def test_paths_complete_and_nothing_of_another_space_does(app: Memory) -> None:
    app.within(space="other").store("# Quokka\n\nzanzibar")
    template = ResourceTemplateReference(uri="ringwood://{space}/{+path}")

    async def completed(ref: Any, name: str, begun: str) -> list[str]:  # noqa: ANN401 - two kinds
        async with Client(build(app)) as client:
            answer = await client.complete(ref, {"name": name, "value": begun})
            return list(answer.completion.values)

    assert anyio.run(completed, template, "path", "qu") == ["queue"]
    assert anyio.run(completed, template, "path", "x") == []
    assert anyio.run(completed, template, "space", "") == ["app"]
    assert anyio.run(completed, PromptReference(name="recall"), "question", "w") == []


# -- what clients send that is not quite the protocol --------------------------------------------


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lines]:
    """A server over stdio that has shaken hands."""
    with Lines(tmp_path_factory.mktemp("stdio") / "home") as opened:
        opened.open()
        yield opened


def test_arguments_may_come_as_the_json_of_an_object(server: Lines) -> None:
    stored = server.call("mem_store", json.dumps({"text": QUEUE}))
    refused = server.call("mem_store", "just words")

    assert stored["result"]["structuredContent"]["stored"]
    assert refused["error"]["code"] == -32602


def test_half_a_character_is_answered_and_not_waited_for(server: Lines) -> None:
    answer = server.call("mem_store", {"text": "cut \ud83d off, and \0 nothing"})
    read = server.call("mem_read", {"address": "/cut-off-and-nothing"})

    assert answer["id"] == "mem_store"
    assert answer["result"]["structuredContent"]["stored"]
    assert "cut \ufffd off, and \ufffd nothing" in read["result"]["structuredContent"]["frame"]


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (rb'{"a": "\ud83d\ude00"}', '{"a": "\N{GRINNING FACE}"}\n'),
        (rb'{"a": "\ud83d"}', '{"a": "\ufffd"}\n'),
        (rb'{"a": "\\ud83d"}', '{"a": "\\\\ud83d"}\n'),
        (b'{"a": "\xff"}', '{"a": "\ufffd"}'),
        (rb'{"a": "\ud83d"', r'{"a": "\ud83d"'),
        (b"", ""),
    ],
)
def test_a_message_keeps_all_that_is_a_character(message: bytes, expected: str) -> None:
    assert readable(message) == expected


@pytest.mark.slow
def test_nothing_but_the_protocol_goes_to_standard_output(tmp_path: Path) -> None:
    with Lines(tmp_path / "home", "--debug") as server:
        heard = [server.open(), server.call("mem_store", {"text": QUEUE})]
        server.say("this is no message")
        server.say('{"jsonrpc": "2.0", "id": 5, "method": "tools/sing"}')
        heard.append(server.hear())
        assert server.process.stdin is not None
        server.process.stdin.close()
        assert server.process.stdout is not None
        rest = server.process.stdout.read()

    assert heard[-1]["id"] == 5
    assert all(each["jsonrpc"] == "2.0" for each in heard)
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in rest.splitlines())


# -- the life of the process ---------------------------------------------------------------------


def test_what_a_hook_left_is_taken_in_while_the_server_lives(app: Memory) -> None:
    for kind, text in (("person", "Which broker?"), ("assistant", "Redpanda."), ("end", "")):
        minute_ago = time.time() - 60
        spool.append(
            app.home,
            Event(host="x", session="1", sequence="1", kind=kind, text=text, at=minute_ago),
        )

    async def live() -> None:
        with anyio.fail_after(30):
            async with alive(app):
                while spool.waiting(app.home):
                    await anyio.sleep(0.01)

    anyio.run(live)

    assert app.recall("Redpanda").hits[0].text == "Redpanda."


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_server_while_its_client_is_there(
    tmp_path: Path, number: signal.Signals
) -> None:
    with Lines(tmp_path / "home") as server:
        server.open()
        assert server.process.poll() is None

        server.process.send_signal(number)

        assert server.process.wait(20) == 0


@pytest.mark.slow
def test_a_server_that_nobody_calls_makes_no_home(tmp_path: Path) -> None:
    with Lines(tmp_path / "home") as server:
        server.open()
        assert server.end() == 0
        assert not (tmp_path / "home").exists()
    with Lines(tmp_path / "home") as server:
        server.open()
        server.call("mem_stats", {})
        assert (tmp_path / "home").exists()


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="needs /proc")
def test_no_child_outlives_a_server_whose_client_went_away(tmp_path: Path) -> None:
    with Lines(tmp_path / "home", "--embedder", "bundled") as server:
        server.open()
        server.call("mem_store", {"text": QUEUE})
        pid = server.process.pid
        children: list[int] = []
        deadline = time.monotonic() + 60
        while not children and time.monotonic() < deadline:
            time.sleep(0.05)
            tasks = Path(f"/proc/{pid}/task").glob("*/children")
            children = [int(each) for task in tasks for each in task.read_text().split()]
        assert children, "the embedder is a process of its own"

        assert server.end() == 0

    eventually(lambda: not any(map(is_alive, children)))


@pytest.mark.slow
def test_a_client_that_reads_no_more_ends_the_server(tmp_path: Path) -> None:
    with Lines(tmp_path / "home") as server:
        server.open()
        assert server.process.stdout is not None
        server.process.stdout.close()

        server.say({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})

        assert server.process.wait(20) == 0


@pytest.mark.slow
def test_a_server_ends_when_its_client_is_killed(tmp_path: Path) -> None:
    client = """
import subprocess, sys, time
server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
server.stdin.write(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\\n')
server.stdin.flush()
server.stdout.readline()
print(server.pid, flush=True)
time.sleep(60)
"""
    whole = [sys.executable, "-c", client, *command(tmp_path / "home")]
    with subprocess.Popen(whole, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        server = int(process.stdout.readline())
        time.sleep(0.2)
        assert is_alive(server)

        process.kill()

    eventually(lambda: not is_alive(server))


@pytest.mark.slow
def test_what_a_killed_server_acknowledged_is_there_once(tmp_path: Path) -> None:
    random, acknowledged = Random(20261130), []
    for life in range(4):
        with Lines(tmp_path / "home") as server:
            server.open()
            Timer(random.uniform(0.1, 1.0), server.process.kill).start()
            with suppress(BrokenPipeError, ValueError):  # it was killed, and says no more
                for number in range(1000):
                    text = f"Note {number} of life {life}."
                    stored = server.call("mem_store", {"text": text})
                    assert stored["result"]["structuredContent"]["stored"]
                    acknowledged.append(text)
            assert server.process.wait(20) == -signal.SIGKILL

    with Memory.open(tmp_path / "home", space="app", embedder="words") as opened:
        kept = [opened.read(each.path).source for each in opened.recent(limit=10_000)]

    assert len(acknowledged) > 4
    assert len(kept) == len(set(kept)) <= len(acknowledged) + 4  # the one under way, at most
    assert set(acknowledged) <= set(kept)


@pytest.mark.slow
def test_a_locked_database_neither_kills_the_server_nor_keeps_it(tmp_path: Path) -> None:
    with Lines(tmp_path / "home") as server:
        server.open()
        server.call("mem_store", {"text": QUEUE})
        locked = apsw.Connection(str(tmp_path / "home" / "memory.db"))
        locked.set_busy_timeout(20_000)  # the server may be about to write its mirror
        try:
            locked.execute("BEGIN IMMEDIATE")
            busy = server.call("mem_store", {"text": "Kafka was never considered."})
            read = server.call("mem_recall", {"query": "Redis"})
            locked.execute("ROLLBACK")
            stored = server.call("mem_store", {"text": "Kafka was never considered."})

            locked.execute("BEGIN IMMEDIATE")
            server.call("mem_store", {"text": "RabbitMQ neither."}, wait=False)
            time.sleep(0.5)
            begun = time.monotonic()
            assert server.end() == 0
            took_s = time.monotonic() - begun
            assert locked.in_transaction
        finally:
            locked.close()

    assert busy["result"]["isError"]
    assert busy["result"]["structuredContent"]["error"]["code"] == "busy"
    assert "durability" in read["result"]["structuredContent"]["frame"]
    assert stored["result"]["structuredContent"]["stored"]
    assert took_s < 10  # the lock would have held it for half a minute
