"""Undoing a dream gives every row back as it was; what happened since is not undone with it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.upkeep.merging import NEAR, OTHER, PORT, found, paths, raw_bytes, rows_of

from ringwood.errors import AddressError, BusyError, UsageError
from ringwood.memory import Memory
from ringwood.upkeep.lease import holding

NOW = datetime.now(UTC)
DAY = timedelta(days=1)
FILLED = 12


def fill(memory: Memory, *, tiers: bool = False) -> None:
    """Store pairs that say the same, near and exactly, and as many texts that do not."""
    for number in range(FILLED):
        age = timedelta(days=(0, 60, 300)[number % 3]) if tiers else timedelta(0)
        text = f"Pump {number} in hall {number % 7} leaks oil, see [the plan](plan.md)."
        memory.store(text, source=f"a{number}", at=NOW - age)
        memory.store(f"The {text[0].lower()}{text[1:]}", source=f"b{number}", at=NOW - 2 * age)
        memory.store(f"Valve {number} is {number * 3} years old.", source=f"c{number}")
    memory.wait()
    if tiers:
        memory.rotate()


def opened(home: Path) -> Memory:
    return Memory.open(home, embedder="hashing")


@pytest.mark.parametrize("tiers", [False, True], ids=["hot", "all tiers"])
def test_an_undo_gives_every_row_back(home: Path, *, tiers: bool) -> None:
    with opened(home) as memory:
        fill(memory, tiers=tiers)
    before = rows_of(home)
    with opened(home) as memory:
        assert memory.dream().merged == FILLED
    assert rows_of(home) != before

    with opened(home) as memory:
        done = memory.undo()

    assert (done.restored, done.kept, done.notes) == (FILLED, 0, ())
    assert rows_of(home) == before
    with opened(home) as memory:
        assert memory.dreams() == ()


def test_the_export_before_and_after_is_the_same(home: Path, tmp_path: Path) -> None:
    with opened(home) as memory:
        fill(memory)
        memory.export(tmp_path / "before.jsonl")
        memory.dream()
        memory.export(tmp_path / "between.jsonl")
        memory.undo()
        memory.wait()
        memory.export(tmp_path / "after.jsonl")

    before, between, after = (
        (tmp_path / f"{name}.jsonl").read_bytes() for name in ("before", "between", "after")
    )
    assert before == after
    assert before != between


def test_a_run_is_undone_after_those_that_went_on_from_it(home: Path) -> None:
    with opened(home) as memory:
        fill(memory)
        first = memory.dream().run
        memory.store(OTHER, source="x")
        memory.store(f"{OTHER}!", source="y")
        memory.wait()
        middle = rows_of(home)
        second = memory.dream().run

        with pytest.raises(UsageError, match=f"before {second}"):
            memory.undo(first)

        assert memory.undo(second).restored == 1
        assert rows_of(home) == middle
        assert memory.undo(first).restored == FILLED


def test_a_run_in_another_space_does_not_stand_in_the_way(home: Path) -> None:
    with Memory.open(home, embedder="words") as memory:
        memory.store(PORT, source="a")
        memory.store(NEAR, source="b")
        first = memory.dream().run
        other = memory.within(space="other")
        other.store(PORT, source="a")
        other.store(NEAR, source="b")
        memory.dream()

        assert memory.undo(first).restored == 1
        assert (len(paths(memory)), len(paths(other))) == (2, 1)


def test_a_chain_of_merges_is_taken_apart_link_by_link(words: Memory) -> None:
    words.store(NEAR, source="a")
    words.store(PORT, source="b")
    before = rows_of(Path(words.home))
    first = words.dream().run
    words.store(PORT, source="c", importance=1.0)
    assert words.dream().merges[0].into.endswith("~2")
    assert words.store(PORT, source="b").document == "3"

    words.undo()
    words.undo(first)

    words.forget(source="c")
    after = rows_of(Path(words.home))
    assert after["memory.documents"] == before["memory.documents"]
    assert after["memory.merged"] == []


def test_what_was_taken_apart_is_merged_again_when_a_text_changes(words: Memory) -> None:
    words.store(PORT, source="a")
    words.store(NEAR, source="b")
    words.dream()
    words.undo()

    assert words.dream().merged == 0
    words.store(f"{PORT} Ask Kim.", source="a")
    words.store(f"{NEAR} Ask Kim", source="b")
    assert words.dream().merged == 1


def test_what_was_edited_meanwhile_keeps_the_edit(memory: Memory) -> None:
    memory.store(PORT, source="a")
    memory.store(NEAR, source="b")
    memory.dream()
    memory.store(f"{PORT} Ask Kim.", source="a")
    memory.store(f"{NEAR} Or Lee.", source="b")  # apart again by itself

    done = memory.undo()

    assert (done.restored, done.kept) == (0, 1)
    assert "stay merged" in done.notes[0]
    assert "Kim" in memory.read("/the-port-of-the-staging-server").source
    assert len(paths(memory)) == 2


@pytest.mark.parametrize("ways", [("words", "hashing"), ("hashing", "words", "hashing")])
def test_what_was_merged_under_another_embedder_gets_the_vectors_of_now(
    tmp_path: Path, ways: tuple[str, ...]
) -> None:
    first, *others = ways
    with Memory.open(tmp_path, embedder=first) as memory:
        memory.store("The pump in hall 7 leaks oil.", path="/stays")
        memory.store("The pump  in hall 7 leaks oil.", path="/goes")
        memory.wait()
        assert memory.dream().merged == 1
    for each in others:
        with Memory.open(tmp_path) as memory:
            memory.reindex(each)
    with Memory.open(tmp_path, wait_s=10.0) as memory:
        while memory.dreams():
            memory.undo()
        assert memory.wait()

        assert memory.missing_vectors() == 0
        assert [each.state for each in memory.recent()] == ["ready", "ready"]
        assert memory.verify().findings == ()


def test_counts_and_importance_of_since_are_kept(words: Memory) -> None:
    words.store(PORT, source="a")
    words.store(NEAR, source="b", importance=0.7)
    words.dream()
    words.store(PORT, source="a", importance=0.7)
    words.store(PORT, source="a")
    seen = words.recent()[0].seen

    words.undo()

    card = next(each for each in words.recent() if each.source == "a")
    assert card.seen == seen - 1


def test_what_is_forgotten_stays_so_and_leaves_no_byte(home: Path, tmp_path: Path) -> None:
    canary = "zanzibar-heron"
    with Memory.open(home, embedder="words") as memory:
        memory.store(f"The word for the gate is {canary}, and it is old.", source="a")
        gone = memory.store(f"Word for the gate is {canary} and it is old!", source="b")
        assert memory.dream().merged == 1
        memory.forget(gone.address)

        assert memory.dreams() == ()
        for source, text in (("a", "The word for the gate is {}, and it is old."), ("b", NEAR)):
            again = memory.store(text.format(canary), source=source)
            assert again.state == "forgotten"
        memory.store("Nothing else.")
        with pytest.raises(UsageError):
            memory.undo()
        memory.compact()
    assert canary.encode() not in raw_bytes(home)
    assert b"heron" not in raw_bytes(home)


def test_a_part_that_is_forgotten_does_not_come_back_by_the_merged_copy(
    tmp_path: Path, words: Memory
) -> None:
    secret = "The word for the winter gate is zanzibar, and it is old."
    text = f"# Gate\n\n{PORT * 4}\n\n{secret}\n"
    notes = tmp_path / "notes"
    (notes / "copy").mkdir(parents=True)
    for path in (notes / "gate.md", notes / "copy" / "gate.md"):
        path.write_text(text, "utf-8")
    words.import_notes([notes])
    assert words.dream().merged == 1
    [part] = [each for each in words.read("/gate").children if "zanzibar" in each.text]

    words.forget(part.path)

    assert words.dreams() == ()
    assert words.import_notes([notes]).imported.changed == 0
    (notes / "copy" / "gate.md").write_text(f"{text}\nMore.\n", "utf-8")
    words.import_notes([notes])
    assert all("zanzibar" not in hit.text for hit in words.recall("zanzibar winter gate").hits)


def test_the_source_key_of_a_merged_document_forgets_the_survivor(words: Memory) -> None:
    words.store(PORT, source="a")
    words.store(NEAR, source="b")
    words.dream()

    words.forget(source="b")

    assert found(words, "staging port") == []
    with pytest.raises(AddressError):
        words.forget(source="a")


def test_the_journal_keeps_the_newest_runs(home: Path) -> None:
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text("[dream]\nkeep_runs = 2\n")
    with Memory.open(home, embedder="words") as memory:
        for number in range(4):
            memory.store(f"Pump {number} leaks.", source=f"a{number}")
            memory.store(f"The pump {number} leaks!", source=f"b{number}")
            memory.dream()

        assert [run.id for run in memory.dreams()] == [4, 3]
        assert memory.store("The pump 0 leaks!", source="b0").state == "existing"


def test_one_process_dreams_at_a_time(words: Memory) -> None:
    words.store(PORT, source="a")
    words.store(NEAR, source="b")
    with holding(words.home, "dream") as held:
        assert held
        refused = words.dream()
        with pytest.raises(BusyError):
            words.undo()

    assert (refused.merged, refused.compared) == (0, ())
    assert "Another process" in refused.notes[0]
    assert words.dream().merged == 1


def test_a_run_that_was_cut_short_is_finished_by_the_next_and_both_are_undone(home: Path) -> None:
    with opened(home) as memory:
        fill(memory)
    before = rows_of(home)
    with opened(home) as memory, pytest.raises(KeyboardInterrupt):
        memory.dream(on_nodes=interrupt)

    with opened(home) as memory:
        memory.dream()
        runs = memory.dreams()
        assert len(paths(memory)) == 2 * FILLED
        for run in runs:
            memory.undo(run.id)

    assert len(runs) == 2
    assert rows_of(home) == before


def interrupt(space: str, done: int, total: int) -> None:
    raise KeyboardInterrupt


_KILLED = """
import os, signal, sys
from ringwood.memory import Memory
from ringwood.engine.sqlite.engine import SqliteEngine
left = int(sys.argv[2])
plain = SqliteEngine.writing
def writing(self, *given, **named):
    global left
    left -= 1
    if left <= 0:  # two threads may count at once
        os.kill(os.getpid(), signal.SIGKILL)
    return plain(self, *given, **named)
with Memory.open(sys.argv[1], embedder="words") as memory:
    memory.stats()
    SqliteEngine.writing = writing
    (memory.dream if sys.argv[3] == "dream" else memory.undo)()
"""
"""A dream or an undo that is killed before its n-th transaction."""


@pytest.mark.slow
@pytest.mark.parametrize("what", ["dream", "undo"])
def test_killed_between_any_two_transactions_the_next_run_finishes(home: Path, what: str) -> None:
    if os.name != "posix":
        pytest.skip("kills with SIGKILL")
    with Memory.open(home, embedder="words") as memory:
        for number in range(3):
            age = timedelta(days=100 * number)
            memory.store(f"Pump {number} leaks.", source=f"a{number}", at=NOW - age)
            memory.store(f"The pump {number} leaks!", source=f"b{number}", at=NOW - age)
        memory.wait()
        memory.rotate()
    before = rows_of(home)
    if what == "undo":
        with Memory.open(home, embedder="words") as memory:
            memory.dream()
    killed = 0
    for point in (1, 2, 3, 5, 8):
        command = [sys.executable, "-c", _KILLED, str(home), str(point), what]
        ended = subprocess.run(command, check=False, capture_output=True, timeout=60)
        if ended.returncode == 0 or b"There is no run to undo" in ended.stderr:
            break  # that one is done, or the last one was when it was killed at the mirror
        assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()
        killed += 1
    assert killed > 1

    with Memory.open(home, embedder="words") as memory:
        if what == "dream":
            memory.dream()
            assert len(paths(memory)) == 3
        for run in memory.dreams():
            memory.undo(run.id)
        while any("Another process" in note for note in memory.rotate().notes):
            memory.wait()  # its worker clears what the killed ones left

    assert rows_of(home) == before
