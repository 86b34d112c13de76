"""Storing from several threads at once: one transaction for all that wait, each told its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from tests.databases import database_of
from tests.processes import eventually

from ringwood.engine.base import Engine
from ringwood.errors import AddressError, BusyError, UsageError
from ringwood.memory import Memory
from ringwood.write.draft import Draft, Ingested, Intake
from ringwood.write.ingest import ingest
from ringwood.write.together import MOST_CHARS, MOST_DRAFTS, Together

Batches = list[list[str]]


def draft(text: str, source: str | None = None) -> Draft:
    return Draft(text=text, space="global", actor="person", source=source)


def all_at_once(
    texts: Sequence[str], fails: Callable[[list[str]], Exception | None] = lambda batch: None
) -> tuple[Batches, list[Future[Ingested]]]:
    """Let one thread be at it while as many as there are texts come; give batches and outcomes."""
    together, batches = Together(), Batches()
    is_at_it, go_on = threading.Event(), threading.Event()

    def write(drafts: Sequence[Draft]) -> list[Ingested]:
        batch = [each.text for each in drafts]
        batches.append(batch)
        if batch == ["first"]:
            is_at_it.set()
            assert go_on.wait(30)
        error = fails(batch)
        if error is not None:
            raise error
        return [Ingested(len(text), "new") for text in batch]

    with ThreadPoolExecutor(len(texts) + 1) as pool:
        pool.submit(together.ingest, draft("first"), write)
        assert is_at_it.wait(30)
        done = [pool.submit(together.ingest, draft(text), write) for text in texts]
        eventually(lambda: len(together._waiting) == len(texts) + 1)
        go_on.set()
    return batches[1:], done


def test_what_waits_meanwhile_goes_in_one_batch_and_each_thread_gets_its_own_outcome() -> None:
    batches, done = all_at_once(["a", "bb", "ccc"])

    assert sorted(map(sorted, batches)) == [["a", "bb", "ccc"]]
    assert [each.result().document for each in done] == [1, 2, 3]


def test_a_mistake_is_told_to_the_thread_that_made_it_and_to_no_other() -> None:
    def fails(batch: list[str]) -> Exception | None:
        return AddressError("What was to be replaced is gone.") if "bad" in batch else None

    batches, done = all_at_once(["a", "bad", "ccc"], fails)

    assert [each.exception() is None for each in done] == [True, False, True]
    assert isinstance(done[1].exception(), AddressError)
    assert sorted(batches[1:]) == [["a"], ["bad"], ["ccc"]]


def test_a_refusal_of_the_disk_is_told_to_all_at_once_and_not_waited_for_by_each() -> None:
    def fails(batch: list[str]) -> Exception | None:
        return None if batch == ["first"] else BusyError("another writer", mend="call again")

    batches, done = all_at_once(["a", "bb", "ccc"], fails)

    assert len(batches) == 1
    errors = [each.exception() for each in done]
    assert [(type(error), getattr(error, "mend", "")) for error in errors] == [
        (BusyError, "call again")
    ] * 3


def test_an_error_that_nobody_expects_leaves_the_others_their_turn() -> None:
    failed: list[list[str]] = []

    def fails(batch: list[str]) -> Exception | None:
        if batch == ["first"] or failed:
            return None
        failed.append(batch)
        return KeyError("once")

    batches, done = all_at_once(["a", "bb", "ccc"], fails)

    assert sorted(each.exception() is None for each in done) == [False, True, True]
    assert sorted(map(len, batches)) == [2, 3]


def test_a_batch_has_bounds() -> None:
    many, _ = all_at_once([f"{number}" for number in range(MOST_DRAFTS + 3)])
    assert sorted(map(len, many)) == [3, MOST_DRAFTS]

    long, _ = all_at_once(["a" * (MOST_CHARS - 1), "b" * (MOST_CHARS - 1)])
    assert list(map(len, long)) == [1, 1]


def test_sixteen_threads_that_store_one_text_make_one_document(memory: Memory) -> None:
    ready = threading.Barrier(16)

    def store(number: int) -> tuple[str, str]:
        ready.wait(30)
        mine = memory.store(f"Only thread {number} of all says so.")
        same = memory.store("The bridge over the Tay opens on Mondays.")
        assert mine.state == "pending"
        return same.document, same.state

    with ThreadPoolExecutor(16) as pool:
        told = list(pool.map(store, range(16)))

    assert len({document for document, _ in told}) == 1
    assert sorted(state for _, state in told) == ["existing"] * 15 + ["pending"]
    assert memory.spaces() == {"global": 17}
    [hit] = [hit for hit in memory.recall("bridge Tay Mondays").hits if "bridge" in hit.text]
    assert memory.read(hit.address).document.seen == 16


def test_threads_that_store_under_one_key_make_one_document_and_the_last_text_stays(
    memory: Memory,
) -> None:
    with ThreadPoolExecutor(8) as pool:
        told = list(pool.map(lambda n: memory.store(f"Version {n}.", source="key"), range(24)))

    assert len({receipt.document for receipt in told}) == 1
    assert memory.spaces() == {"global": 1}


@pytest.fixture
def engine(words: Memory) -> Iterator[Engine]:
    """The database of an empty home."""
    with database_of(words) as opened:
        yield opened


def outcomes(engine: Engine, *drafts: Draft) -> list[str]:
    intake = Intake(datetime.now(UTC), "ready")
    return [each.outcome for each in ingest(engine, drafts, intake)]


def test_drafts_of_one_text_in_one_batch_are_one_document(engine: Engine) -> None:
    assert outcomes(engine, draft("Twice."), draft("Other."), draft("Twice.")) == [
        "new",
        "new",
        "existing",
    ]
    with engine.reading() as reader:
        assert len(reader.roots("global")) == 2


def test_drafts_under_one_key_in_one_batch_are_edits_in_their_order(engine: Engine) -> None:
    assert outcomes(engine, draft("One.", "key"), draft("Two.", "key"), draft("Two.", "key")) == [
        "new",
        "changed",
        "existing",
    ]
    with engine.reading() as reader:
        [document] = reader.roots("global")
        assert reader.text_of(document.id) == "Two."


def test_a_text_that_an_edit_takes_away_in_the_same_batch_is_kept(engine: Engine) -> None:
    """Seen before the edit it is there already; counted as such it would be lost."""
    outcomes(engine, draft("Old words.", "key"))
    assert outcomes(engine, draft("New words.", "key"), draft("Old words.")) == ["changed", "new"]
    with engine.reading() as reader:
        texts = sorted(reader.text_of(document.id) for document in reader.roots("global"))
    assert texts == ["New words.", "Old words."]


def test_files_of_one_text_are_documents_of_their_own_in_one_transaction(engine: Engine) -> None:
    copies = [draft("Template.", f"file{number}") for number in range(5)]
    assert outcomes(engine, *copies) == ["new"] * 5
    assert outcomes(engine, *(replace(each, text="Filled.") for each in copies)) == ["changed"] * 5


def test_a_draft_that_is_wrong_leaves_nothing_of_its_batch(engine: Engine) -> None:
    outcomes(engine, draft("There.", "key"))
    gone = replace(draft("New.", "key"), replaces=999)
    with pytest.raises(UsageError):
        outcomes(engine, draft("Beside it."), gone)
    with engine.reading() as reader:
        assert len(reader.roots("global")) == 1
