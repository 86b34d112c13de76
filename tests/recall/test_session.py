"""What a conversation holds already is not handed to it again."""

from __future__ import annotations

import gc
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ringwood import home as homes
from ringwood.errors import UsageError
from ringwood.memory import Memory
from ringwood.recall.session import HELD, KEEP_DAYS, Sessions
from ringwood.types import Recall

PORT = "The staging database listens on port 8091 behind the bastion host."
QUESTION = "Which port does the staging database listen on?"


def texts(answer: Recall) -> list[str]:
    return [hit.text for hit in answer.hits]


def reasons(answer: Recall) -> set[str]:
    return {each.reason for each in answer.dropped if each.stage == "session"}


def test_a_node_is_injected_once_into_a_conversation(words: Memory) -> None:
    words.store(PORT)
    assert texts(words.inject(QUESTION, session="codex:one")) == [PORT]
    again = words.inject(QUESTION, session="codex:one")
    assert texts(again) == []
    assert "injected into this conversation before" in reasons(again)
    assert texts(words.inject(QUESTION, session="codex:two")) == [PORT]


def test_a_section_is_not_injected_after_its_paragraph(words: Memory) -> None:
    words.store(f"# Staging\n\n## Database\n\n{PORT}\n\n## Web\n\nNothing here.")
    first = words.inject(QUESTION, session="codex:one")
    assert any(PORT in text for text in texts(first))
    assert not any(PORT in text for text in texts(words.inject(QUESTION, session="codex:one")))


def test_what_was_said_in_a_conversation_is_not_recalled_to_it(words: Memory) -> None:
    words.store(PORT, source="codex:one:1")
    here = words.inject(QUESTION, session="codex:one")
    assert texts(here) == []
    assert "said in this conversation" in reasons(here)
    assert texts(words.inject(QUESTION, session="codex:on")) == [PORT]


def test_what_came_too_late_may_be_injected_another_time(words: Memory) -> None:
    words.store(PORT)
    words.store("The bastion host is reached by the jump box of the harbour office.")
    early = words.inject("How is the bastion host of the harbour reached?", session="codex:one")
    late = words.inject(QUESTION, session="codex:one")
    words.withdraw(late, session="codex:one")
    assert texts(words.inject(QUESTION, session="codex:one")) == texts(late)
    assert early.hits
    again = words.inject("How is the bastion host of the harbour reached?", session="codex:one")
    assert not set(texts(early)) & set(texts(again))


def test_after_a_compaction_both_come_back(words: Memory) -> None:
    words.store(PORT, source="codex:one:1")
    words.store("The staging database is dumped at night.")
    words.inject(QUESTION, session="codex:one")
    words.compacted("codex:one")
    assert PORT in texts(words.inject(QUESTION, session="codex:one"))


def test_what_is_private_or_said_while_capture_is_paused_is_not_logged(words: Memory) -> None:
    words.store(PORT)
    private = f"{QUESTION} <private>Zephyrine asks</private>"
    open_one = words.inject(private, session="codex:one")
    paused = words.inject(QUESTION, session="codex:two", keep_query=False)
    assert texts(open_one) == texts(paused) == [PORT]
    assert paused.query == QUESTION
    logged = words.explain(open_one.recall_id), words.explain(paused.recall_id)
    assert [each["query"].strip() for each in logged] == [QUESTION, ""]
    assert [hit["text"] for hit in logged[1]["hits"]] == [PORT]


def test_two_threads_of_one_conversation_lose_nothing(tmp_path: Path) -> None:
    sessions = Sessions(str(tmp_path))

    def note(first: int) -> None:
        for number in range(first, 200, 4):
            sessions.add("codex:one", [number])

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(note, range(4)))
    assert sessions.known("codex:one").nodes == frozenset(range(200))
    assert Sessions(str(tmp_path)).known("codex:one").nodes == frozenset(range(200))


def test_a_conversation_of_long_ago_is_not_kept_in_mind(tmp_path: Path) -> None:
    Sessions(str(tmp_path)).add("codex:old", [1])
    Sessions(str(tmp_path)).add("codex:new", [2])
    old = Path(homes.session_path(str(tmp_path), "codex:old"))
    long_ago = time.time() - (KEEP_DAYS + 1) * 86_400
    os.utime(old, (long_ago, long_ago))
    sessions = Sessions(str(tmp_path))
    assert sessions.known("codex:new").nodes == {2}
    assert sessions.known("codex:old").nodes == frozenset()
    assert not old.exists()


def test_a_restart_repeats_nothing(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "home", embedder="words") as memory:
        memory.store(PORT)
        assert texts(memory.inject(QUESTION, session="codex:one")) == [PORT]
    with Memory.open(tmp_path / "home", embedder="words") as memory:
        assert texts(memory.inject(QUESTION, session="codex:one")) == []
        assert texts(memory.inject(QUESTION, session="codex:two")) == [PORT]


def test_a_damaged_note_of_a_conversation_is_as_none(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with Memory.open(home, embedder="words") as memory:
        memory.store(PORT)
        memory.inject(QUESTION, session="codex:one")
    [note] = (home / "sessions").iterdir()
    note.write_text('{"nodes": [')
    with Memory.open(home, embedder="words") as memory:
        assert texts(memory.inject(QUESTION, session="codex:one")) == [PORT]


def test_a_view_on_another_space_shares_what_is_open(words: Memory) -> None:
    app = words.within(space="app")
    app.store(PORT)
    app.close()
    assert texts(words.within(space="app").recall(QUESTION)) == [PORT]
    assert texts(words.recall(QUESTION)) == []


def test_a_view_needs_the_name_of_a_space(words: Memory) -> None:
    with pytest.raises(UsageError, match="no name for a space"):
        words.within(space="app:/x")


def test_a_disk_that_takes_no_note_withholds_nothing(words: Memory) -> None:
    words.store(PORT)
    (Path(words.home) / "sessions").write_text("in the way")
    assert texts(words.inject(QUESTION, session="codex:one")) == [PORT]
    assert texts(words.inject(QUESTION, session="codex:one")) == []


def test_a_long_life_holds_few_conversations_and_forgets_none(tmp_path: Path) -> None:
    sessions, many = Sessions(str(tmp_path)), 5 * HELD

    def blocks() -> int:
        gc.collect()
        return sys.getallocatedblocks()

    before = blocks()
    for number in range(many):
        sessions.add(f"codex:{number}", range(1000, 2000))
    assert blocks() - before < 2000 * HELD
    assert all(len(sessions.known(f"codex:{number}").nodes) == 1000 for number in range(many))
