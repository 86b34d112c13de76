"""The child of the DSH plugin, as the plugin speaks to it: lines over pipes, a real process."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from tests.hosts.test_dsh_sessions import assistant, numbered, person, turn, written
from tests.processes import eventually

from ringwood.capture.consent import pause, resume
from ringwood.capture.spool import waiting
from ringwood.engine.sqlite import open_engine
from ringwood.memory import Memory
from ringwood.recall.usage import unpack

HEADER = {"type": "session", "version": 4, "id": "old", "createdAt": 1796072062000, "cwd": "/"}
LIMIT_S = 30.0


class Child:
    """A child process and what it was asked."""

    def __init__(self, home: Path, dsh_home: Path, **environment: str) -> None:
        """Start it."""
        own = {name: value for name, value in os.environ.items() if "RINGWOOD" not in name}
        settings = {"RINGWOOD_EMBEDDER": "words", "DSH_HOME": str(dsh_home), **environment}
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "ringwood", "dsh", "child", "--home", str(home)],
            env={**own, **settings},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._number = 0

    def send(self, method: str, **params: object) -> int:
        """Ask something without waiting for the answer."""
        self._number += 1
        self.write(json.dumps({"id": self._number, "method": method, "params": params}))
        return self._number

    def write(self, line: str) -> None:
        """Send a line, whatever it is."""
        assert self.process.stdin is not None
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def read(self) -> dict[str, Any]:
        """Return the next answer."""
        assert self.process.stdout is not None
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer

    def ask(self, method: str, **params: object) -> dict[str, Any]:
        """Ask something and return its answer, which must be the next."""
        number = self.send(method, **params)
        answer = self.read()
        assert answer["id"] == number
        return answer

    def hear(self, session: str, sequence: int, *said: str) -> None:
        """Tell it a whole turn: what person and assistant said by turns."""
        kinds = ("person", "assistant")
        for number, text in enumerate(said):
            self.tell(session, sequence, kinds[number % 2], text)
        self.tell(session, sequence, "end", "")

    def tell(self, session: str, sequence: int, kind: str, text: str, directory: str = "/") -> bool:
        """Tell it one event; True when it says that it is kept."""
        place = {"session": session, "sequence": str(sequence), "directory": directory}
        answer = self.ask("event", kind=kind, text=text, at=time.time(), **place)
        return bool(answer["result"]["kept"])

    def recall(self, session: str, query: str, directory: str = "/", ms: int = 10_000) -> str:
        """Return the block for a query."""
        place = {"session": session, "directory": directory}
        answer = self.ask("recall", query=query, deadline_ms=ms, **place)
        return str(answer["result"]["block"])

    def close(self) -> bytes:
        """End its input; return what it wrote to standard error."""
        _, told = self.process.communicate(timeout=LIMIT_S)
        return told


Start = Callable[..., Child]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Where the child's memory is."""
    return tmp_path / "home"


@pytest.fixture
def start(home: Path, tmp_path: Path) -> Iterator[Start]:
    """Start children; those that still run afterwards are ended."""
    started: list[Child] = []

    def begin(**environment: str) -> Child:
        started.append(Child(home, tmp_path / "dsh", **environment))
        return started[-1]

    yield begin
    for child in started:
        child.process.kill()
        with suppress(ValueError):  # its pipes are closed already
            child.process.communicate()


def documents(home: Path) -> dict[str, str]:
    """Return every document's text by source key; the spool is taken in."""
    with Memory.open(home, embedder="words", wait_s=0.0) as memory:
        memory.create()
        eventually(lambda: not memory.take_in(everything=True).elsewhere)
        assert waiting(str(home)) == []
        found = memory.recent(limit=100_000)
        return {str(each.source): memory.read(each.path).source for each in found}


def test_what_was_said_is_recalled_in_another_session_and_ends_as_one_document(
    start: Start, home: Path
) -> None:
    child = start()
    assert child.ask("hello")["result"]["protocol"] == 1
    child.hear("one", 8, "The ferry to Vesterholm leaves at nine.", "Noted: nine.")
    latest = time.monotonic() + LIMIT_S
    while not (block := child.recall("two", "When does the ferry to Vesterholm leave?")):
        assert time.monotonic() < latest

    assert "leaves at nine" in block
    assert child.recall("two", "And again: when does the ferry to Vesterholm leave?") == ""
    assert child.recall("three", "ok, go on") == ""
    child.ask("compacted", session="two")
    assert "leaves at nine" in child.recall("two", "When does the ferry to Vesterholm leave?")
    assert child.close() == b""
    assert child.process.returncode == 0
    assert list(documents(home)) == ["dsh:one:8"]


def test_a_message_is_in_the_spool_when_it_is_acknowledged(start: Start, home: Path) -> None:
    child = start()

    kept = [child.tell("one", 8, "person", f"Sentence {number} of it.") for number in range(5)]
    child.process.kill()

    assert kept == [True] * 5
    assert len(waiting(str(home))) == 5
    assert documents(home)["dsh:one:8"].count("Sentence") == 5


@pytest.mark.parametrize("directory", ["/", "", "/nowhere/at/all", "C:\\x", "\udcff", "a\0b"])
def test_a_directory_that_is_none_means_the_space_that_all_share(
    directory: str, start: Start, home: Path
) -> None:
    child = start()

    child.tell("one", 8, "person", "The ferry to Vesterholm leaves at nine.", directory)
    child.tell("one", 8, "end", "", directory)

    assert child.recall("two", "ferry Vesterholm", directory) is not None
    child.close()
    with Memory.open(home, embedder="words", wait_s=0.0) as memory:
        memory.take_in(everything=True)
        assert [(each.space, each.source) for each in memory.recent()] == [("global", "dsh:one:8")]


def test_a_line_that_is_no_request_costs_nothing_and_an_unknown_one_is_refused(
    start: Start,
) -> None:
    child = start()
    for line in ("", "{", "[]", "null", '{"id": 1}', "[" * 5000, "\ufffd"):
        child.write(line)

    answer = child.ask("no such method")

    assert answer["error"]["code"] == "usage"
    assert child.ask("event", kind="person")["error"]["code"] == "internal"
    assert child.ask("hello")["result"]["protocol"] == 1
    assert child.tell("one", 8, "person", "half a character \ud83d here")


def test_a_tool_answers_and_what_went_wrong_is_said(start: Start) -> None:
    child = start()
    place = {"session": "one", "directory": "/"}

    stored = child.ask("tool", name="mem_store", arguments={"text": "It leaves at nine."}, **place)
    refused = child.ask("tool", name="mem_read", arguments='{"address": "/nowhere"}', **place)

    assert stored["result"]["content"]["stored"] is True
    assert "Stored as" in stored["result"]["text"]
    assert refused["result"]["failed"] is True
    assert "no_such_address" in refused["result"]["text"]


def test_a_setting_that_does_not_fit_keeps_recall_away_and_capture_going(
    start: Start, home: Path
) -> None:
    child = start(RINGWOOD_BUDGET_MAX_NODES="many")

    kept = child.tell("one", 8, "person", "The ferry leaves at nine.")
    place = {"session": "two", "directory": "/"}
    refused = child.ask("recall", query="When does the ferry leave?", deadline_ms=9000, **place)

    assert kept
    assert refused["error"]["code"] == "bad_config"
    assert b"budget.max_nodes" in child.close()
    assert list(documents(home)) == ["dsh:one:8"]


def test_the_child_leaves_with_its_input_also_before_it_is_warm(start: Start, home: Path) -> None:
    child = start()
    child.send("event", session="s", sequence="1", kind="person", text="Nine.", at=1.0)
    began = time.monotonic()

    child.close()

    assert time.monotonic() - began < LIMIT_S / 2  # it has 3.5 s; the rest is a slow machine's
    assert child.process.returncode == 0
    assert list(documents(home)) == ["dsh:s:1"]


def test_turns_that_no_child_heard_are_taken_in_at_the_next_start(
    start: Start, home: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "dsh" / "sessions" / "--srv--" / "old"
    folder.mkdir(parents=True)
    over = turn(person("The ferry leaves at nine."), assistant("Noted."))
    written(folder, numbered(HEADER, [*over, *turn(person("Is it on time?"))[:-1]]))
    child = start()

    wait_for(home, "dsh:old:1")
    child.close()

    assert list(documents(home)) == ["dsh:old:1"]  # not the turn that may still be under way
    remembered = json.loads((home / "dsh-sessions.json").read_text("utf-8"))
    assert list(remembered["files"].values()) == [(folder / "session.v4.jsonl.zstd").stat().st_size]


def test_where_capture_is_paused_memory_answers_and_keeps_no_question(
    start: Start, home: Path
) -> None:
    with Memory.open(home, embedder="words", wait_s=0.0) as memory:
        memory.store("The island ferry leaves at nine.")
    pause(str(home), None)
    child = start()

    assert "at nine" in child.recall("one", "the island ferry leaves at nine")

    child.close()
    with closing(open_engine(home, create=False)) as engine, engine.reading() as reader:
        [log] = map(unpack, reader.recent_logs(9))
    assert "at nine" in log["hits"][0]["text"]
    assert log["query"] == ""


def test_what_was_said_while_capture_was_paused_is_not_taken_in_later(
    start: Start, home: Path, tmp_path: Path
) -> None:
    pause(str(home), None)
    child = start()
    assert not child.tell("old", 1, "person", "The ferry leaves at nine.")
    child.close()
    resume(str(home), None)
    for session in ("old", "other"):
        folder = tmp_path / "dsh" / "sessions" / "--srv--" / session
        folder.mkdir(parents=True)
        said = turn(person(f"The ferry leaves at nine, {session}."), assistant("Noted."))
        written(folder, numbered({**HEADER, "id": session}, said))

    child = start()
    wait_for(home, "dsh:other:1")
    child.close()

    assert list(documents(home)) == ["dsh:other:1"]


def wait_for(home: Path, source: str) -> None:
    latest = time.monotonic() + LIMIT_S
    while source not in documents(home):
        assert time.monotonic() < latest, f"{source} was never stored"
        time.sleep(0.1)


@pytest.mark.slow
def test_children_killed_at_random_lose_nothing_that_they_acknowledged(
    start: Start, home: Path
) -> None:
    chance = random.Random(20260803)
    acknowledged: set[str] = set()
    for life in range(20):
        child = start()
        latest = time.monotonic() + chance.uniform(0.1, 1.2)
        for number in range(1000):
            try:
                child.hear(f"life{life}", number, f"Question {life} {number}?", "Yes.")
            except (OSError, ValueError):
                break
            acknowledged.add(f"dsh:life{life}:{number}")
            if time.monotonic() > latest:
                break
        child.process.kill()
        child.process.wait()  # one that is about to end may still hold the spool

    kept = documents(home)

    assert len(acknowledged) > 20
    assert acknowledged <= set(kept)
    questions = [line for text in kept.values() for line in text.splitlines() if "Question" in line]
    assert len(questions) == len(set(questions))  # each is there once
