"""The plugin folders: what they tell a host to run runs, and they are the package's own version."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tests.processes import PATIENCE_S, eventually
from tests.serve.calling import Host
from tests.serve.schemas import output

from ringwood import home as homes
from ringwood.hosts import claude_code, codex
from ringwood.memory import Memory
from ringwood.version import __version__

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "src" / "ringwood" / "hosts" / "data"
HOOKS = {"claude-code": "hooks/hooks.json", "codex": "hooks/codex-hooks.json"}
MANIFESTS = {
    "claude-code": ".claude-plugin/plugin.json",
    "codex": ".codex-plugin/plugin.json",
}
EVENTS = {"claude-code": claude_code.EVENTS, "codex": codex.EVENTS}


def read(path: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return loaded


def registered(agent: str) -> dict[str, list[dict[str, Any]]]:
    """Return what a plugin registers: event -> hooks."""
    groups = read(DATA / agent / HOOKS[agent])["hooks"]
    return {event: [hook for each in of for hook in each["hooks"]] for event, of in groups.items()}


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    """A host on whose search path the command lies, as after an installation."""
    project = tmp_path / "project"
    project.mkdir()
    commands = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    with Host(tmp_path / "home", project, PATH=commands) as calling:
        yield calling


@pytest.mark.parametrize("agent", HOOKS)
def test_a_plugin_registers_exactly_the_events_that_are_acted_upon(agent: str) -> None:
    assert set(registered(agent)) == EVENTS[agent]
    assert all(len(hooks) == 1 for hooks in registered(agent).values())


@pytest.mark.parametrize("agent", HOOKS)
def test_every_hook_runs_as_its_plugin_writes_it(agent: str, host: Host) -> None:
    for event, (hook,) in registered(agent).items():
        payload = host.payload(
            event, source="startup", prompt="Which port?", last_assistant_message="5544."
        )
        done = subprocess.run(
            hook["command"],
            shell=True,
            input=json.dumps(payload).encode(),
            env=host.environ,
            cwd=host.directory,
            capture_output=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert (hook["type"], done.returncode, done.stderr) == ("command", 0, b"")
        assert (event == "SessionStart") == bool(done.stdout)
        if done.stdout:
            jsonschema.validate(json.loads(done.stdout), output(agent, event))
        assert hook["timeout"] >= 1
    # In the spool, or already taken in by the resident process that the first hook started.
    with Memory.open(host.home, directory=str(host.directory), wait_s=PATIENCE_S) as memory:
        eventually(lambda: is_taken_in(memory))
        [document] = memory.recent()
        said = memory.read(document.path).source
    assert "Which port?" in said
    assert "5544." in said


def is_taken_in(memory: Memory) -> bool:
    """Take in what waits, unless the resident process is at it; say whether there is anything."""
    memory.take_in(everything=True)
    return homes.exists(memory.home) and bool(memory.recent())


@pytest.mark.slow
@pytest.mark.parametrize("agent", HOOKS)
def test_the_server_runs_as_its_plugin_writes_it(agent: str, host: Host) -> None:
    (server,) = read(DATA / agent / ".mcp.json")["mcpServers"].values()
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    }
    with subprocess.Popen(
        [server["command"], *server["args"]],
        env=host.environ,
        cwd=host.directory,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(hello).encode() + b"\n")
        process.stdin.flush()
        answered = json.loads(process.stdout.readline())
        process.stdin.close()
        process.stdout.read()
        assert process.wait(PATIENCE_S) == 0

    assert answered["result"]["serverInfo"]["name"] == "ringwood"


def test_every_plugin_has_the_version_of_the_package() -> None:
    (offered,) = read(ROOT / ".claude-plugin" / "marketplace.json")["plugins"]
    manifests = [read(DATA / agent / name) for agent, name in MANIFESTS.items()]

    assert [each["version"] for each in (offered, *manifests)] == [__version__] * 3
    assert {each["name"] for each in (offered, *manifests)} == {"ringwood"}


def test_what_a_manifest_points_to_is_there() -> None:
    (offered,) = read(ROOT / ".claude-plugin" / "marketplace.json")["plugins"]
    manifest = read(DATA / "codex" / MANIFESTS["codex"])
    below = [manifest[key] for key in ("skills", "mcpServers", "hooks")]

    assert (ROOT / offered["source"] / MANIFESTS["claude-code"]).is_file()
    assert all((DATA / "codex" / each).exists() for each in below)


@pytest.mark.parametrize("agent", HOOKS)
def test_the_skill_says_when_to_use_it_and_names_only_tools_that_there_are(agent: str) -> None:
    text = (DATA / agent / "skills" / "memory" / "SKILL.md").read_text("utf-8")
    head, body = re.fullmatch(r"---\n(.*?)\n---\n(.*)", text, re.DOTALL).groups()  # type: ignore[union-attr]
    tools = {
        *("mem_recall", "mem_store", "mem_read", "mem_stats"),
        *("mem_dream", "mem_rotate", "mem_forget", "mem_explain"),
    }

    assert head.startswith("name: memory\ndescription: Use when ")
    assert len(head) < 1024
    assert {"mem_recall", "mem_store"} <= set(re.findall(r"mem_\w+", body)) <= tools


def test_nothing_of_a_plugin_is_left_out_of_the_package() -> None:
    files = [str(each) for each in DATA.rglob("*") if each.is_file()]
    done = subprocess.run(
        ["git", "check-ignore", *files], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode == 128:
        pytest.skip("needs a git checkout")

    assert len(files) >= 8
    assert done.stdout == ""  # the build takes all that git does not ignore
