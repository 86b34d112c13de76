"""The plugin's file under Node alone: who is recalled for, and what it does with an odd child."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.hosts.conftest import ROOT

from ringwood.hosts.dsh.install import plugin_file

pytestmark = [pytest.mark.host, pytest.mark.slow]

NODE = ROOT / ".hosts" / "node" / "bin" / "node"
DRIVER = Path(__file__).with_name("dsh_driver.mjs")
LIMIT_S = 60

ECHO = """
import json, pathlib, sys
seen, died = open(sys.argv[1], 'a'), pathlib.Path(sys.argv[1] + '.died')
for line in sys.stdin:
    seen.write(line)
    seen.flush()
    asked = json.loads(line)
    results = {'hello': {'protocol': 1, 'version': '0'}, 'recall': {'block': 'A block.'},
               'tool': {'text': 'Stored.', 'content': {}, 'failed': 'bad' in line}}
    if 'die' in line and not died.exists():
        died.touch()
        break
    print(json.dumps({'id': asked['id'], 'result': results.get(asked['method'], {})}), flush=True)
"""
"""A child that writes down what it is asked and answers; the first one ends at the word `die`."""
SLOW = ECHO.replace("asked = json", "import time; time.sleep(5); asked = json")


class Plugin:
    """The plugin with a child made of a few lines of Python."""

    def __init__(self, folder: Path) -> None:
        """Name the folder where its home is and what the child was asked."""
        self._folder = folder
        self._seen = folder / "seen"

    def drive(self, child: str, *steps: dict[str, Any], **config: object) -> list[dict[str, Any]]:
        """Take these steps; return what came of each, with its milliseconds."""
        command = [sys.executable, "-c", child, str(self._seen)]
        row = {"command": command, "dataDir": str(self._folder / "home"), **config}
        done = subprocess.run(
            [NODE, DRIVER, plugin_file(), json.dumps(row), json.dumps(steps)],
            env=os.environ,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=True,
        )
        assert done.stderr == ""
        return [json.loads(line) for line in done.stdout.splitlines()]

    def asked(self, method: str) -> list[dict[str, Any]]:
        """Return what the child was asked by one method."""
        lines = map(json.loads, self._seen.read_text("utf-8").splitlines())
        return [line["params"] for line in lines if line["method"] == method]

    def log(self) -> str:
        """Return what the plugin logged."""
        return (self._folder / "home" / "logs" / "dsh.log").read_text("utf-8")


@pytest.fixture
def plugin(tmp_path: Path) -> Plugin:
    """The plugin; the test is skipped where Node is not installed."""
    if not NODE.is_file():
        pytest.skip("needs .hosts/node: scripts/hosts.py installs it")
    return Plugin(tmp_path)


@pytest.mark.parametrize(
    ("version", "source"),
    [
        (0, {"kind": "plugin", "plugin": "ringwood", "form": "recall"}),
        (3, {"kind": "plugin", "plugin": "ringwood", "form": "recall"}),
        (4, {"kind": "plugin:ringwood", "form": "recall"}),
        (5, {"kind": "plugin:ringwood", "form": "recall"}),
    ],
)
def test_a_block_has_the_source_that_the_sessions_format_takes(
    version: int, source: dict[str, str], plugin: Plugin
) -> None:
    begun, _ = plugin.drive(
        ECHO, {"act": "begin", "text": "Where?", "header": {"version": version}}, {"act": "close"}
    )

    assert begun["value"] == [{"source": source, "text": "A block."}]


@pytest.mark.parametrize(
    ("header", "heard"),
    [
        ({}, True),
        ({"delegationDepth": 0}, True),
        ({"parentSession": "p", "isSeeded": True}, True),
        ({"parentSession": "p", "isSeeded": True, "origin": "subagent"}, False),
        ({"parentSession": "p"}, False),
        ({"delegationDepth": 1}, False),
    ],
)
def test_only_a_persons_session_is_heard_and_recalled_for(
    header: dict[str, object], heard: bool, plugin: Plugin
) -> None:
    begun, *_ = plugin.drive(
        ECHO,
        {"act": "begin", "text": "Where?", "header": header},
        {"act": "say", "text": "Here.", "header": header},
        {"act": "close"},
    )

    assert len(begun["value"]) == len(plugin.asked("event")) == int(heard)


def test_only_the_first_step_of_a_turn_is_recalled_for(plugin: Plugin) -> None:
    steps = [{"act": "begin", "text": "Where?", "step": number} for number in (1, 2, 3)]

    *begun, _ = plugin.drive(ECHO, *steps, {"act": "close"})

    assert [len(each["value"]) for each in begun] == [1, 0, 0]


def test_a_turn_that_is_given_up_does_not_wait_for_its_memory(plugin: Plugin) -> None:
    begun, _ = plugin.drive(
        SLOW, {"act": "begin", "text": "Where?", "abortMs": 200}, {"act": "close"}
    )

    assert begun["value"] == []
    assert begun["ms"] < 1200  # not the deadline of 1500
    assert "given up" in plugin.log()


def test_a_deadline_of_the_row_holds(plugin: Plugin) -> None:
    begun, again, _ = plugin.drive(
        SLOW,
        {"act": "begin", "text": "Where?"},
        {"act": "begin", "text": "Where?"},
        {"act": "close"},
        deadlineMs=300,
    )

    assert (begun["value"], again["value"]) == ([], [])
    assert 250 <= begun["ms"] < 1200
    assert again["ms"] < 250  # a child that kept somebody waiting is not waited for again


def test_what_a_dying_child_did_not_acknowledge_is_told_to_the_next_in_order(
    plugin: Plugin,
) -> None:
    steps = [{"act": "say", "text": text} for text in ("one", "die", "three")]

    plugin.drive(ECHO, *steps, {"act": "pause", "ms": 3000}, {"act": "close"})

    told = [event["text"] for event in plugin.asked("event")]
    assert told == ["one", "die", "die", "three"]


def test_what_waits_for_a_child_that_does_not_read_is_bounded_and_said(plugin: Plugin) -> None:
    *_, closed = plugin.drive(
        "import time; time.sleep(60)",
        {"act": "say", "text": "long " * 20_000, "times": 300},
        {"act": "flush"},
        {"act": "close"},
    )

    assert plugin.log().count("too much waits for the child") == 1
    assert closed["ms"] < 4000


def test_a_tool_gives_the_childs_answer_and_throws_what_it_says_went_wrong(plugin: Plugin) -> None:
    kept, refused, _ = plugin.drive(
        ECHO,
        {"act": "call", "name": "mem_store", "arguments": {"text": "good"}},
        {"act": "call", "name": "mem_store", "arguments": {"text": "bad"}},
        {"act": "close"},
    )

    assert kept["value"]["text"] == "Stored."
    assert refused["error"] == "Stored."


def test_a_child_of_another_protocol_is_sent_away_and_no_other_is_started(plugin: Plugin) -> None:
    plugin.drive(
        ECHO.replace("'protocol': 1", "'protocol': 2"),
        {"act": "pause", "ms": 1500},
        {"act": "begin", "text": "Where?"},
        {"act": "close"},
    )

    assert "another protocol" in plugin.log()
    assert len(plugin.asked("hello")) == 1
