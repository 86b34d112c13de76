"""Storing: identity, paths, edits, stamps."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import pytest

from ringwood.engine.sqlite import open_engine
from ringwood.errors import AddressError, UsageError
from ringwood.memory import Memory
from ringwood.write.prepare import cut

NOTE = "# Plan\n\n## Goal\n\nShip the gateway in May.\n\n## Risk\n\nThe certificate is late."


def test_a_store_is_findable_by_words_before_any_vector(memory: Memory) -> None:
    receipt = memory.store(NOTE)

    assert receipt.state == "pending"
    assert receipt.nodes == 5
    assert memory.recall("certificate").hits[0].path.startswith("/plan/risk")


def test_vectors_and_links_follow_by_themselves(memory: Memory) -> None:
    receipt = memory.store(NOTE)
    memory.store("The certificate of the gateway is late, and the gateway ships in May.")
    assert memory.wait()

    again = memory.receipt(receipt)
    assert (again.state, again.vectors) == ("ready", again.nodes)


def test_the_identical_text_is_existing_and_counted(memory: Memory) -> None:  # 99
    first = memory.store("Some fact.")
    second, third = memory.store("Some fact."), memory.store("Some fact.")

    assert (second.state, second.document) == ("existing", first.document)
    assert third.document == first.document
    assert memory.read(first.address).document.seen == 3
    assert memory.stats().totals.tiers["hot"].documents == 1


def test_a_changed_text_under_the_same_source_is_an_edit(memory: Memory) -> None:
    first = memory.store(NOTE, source="plan")
    risk = memory.read("/plan/risk").node.id
    edited = memory.store(NOTE.replace("May", "June") + "\n\n## Cost\n\nTwo days.", source="plan")

    assert edited.document == first.document
    assert memory.read("/plan/risk").node.id == risk
    assert "June" in memory.read("/plan/goal").source
    assert memory.read("/plan/cost").source.endswith("Two days.")
    assert not memory.recall("ship in May").hits or all(
        "May" not in hit.text for hit in memory.recall("ship in May").hits
    )


def test_an_edit_keeps_access_counts_of_what_stayed(memory: Memory) -> None:
    memory.store(NOTE, source="plan")
    [hit, *_] = memory.recall("certificate").hits
    memory.wait()
    assert memory.read(hit.path).node.access == 1

    memory.store(NOTE.replace("May", "June"), source="plan")

    assert memory.read(hit.path).node.access == 1


def test_a_taken_path_gets_a_number_unless_it_is_the_same_source(memory: Memory) -> None:
    paths = [memory.store(f"# Plan\n\n{word}").path for word in ("one", "two", "three")]

    assert paths == ["/plan", "/plan~2", "/plan~3"]


def test_a_document_never_takes_the_path_of_another_ones_section(memory: Memory) -> None:
    memory.store("# Docs\n\n## Intro\n\nFirst.")
    second = memory.store("# Intro\n\nSecond.", path="/docs/intro")
    third = memory.store("# Docs\n\n## Other\n\nThird.", source="x")

    assert second.path == "/docs/intro~2"
    assert third.path == "/docs~2"
    assert memory.read("/docs/intro").source.endswith("First.")


def test_a_text_whose_twin_is_edited_at_the_same_moment_is_not_lost(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder="words") as memory:
        first = memory.store("The port is 8090.", source="port")
        document = memory.read(first.address).document
        engine = open_engine(tmp_path, create=False)
        with ThreadPoolExecutor(1) as pool, engine.writing() as writer:
            second = pool.submit(memory.store, "The port is 8090.")
            time.sleep(0.3)  # it has found its twin by now, and waits for the lock
            edited = replace(document, sha256=sha256(b"It is 8091.").hexdigest())
            writer.put_document(edited, "It is 8091.", ())
        engine.close()

        assert second.result().document != first.document
        assert memory.read(second.result().address).source == "The port is 8090."


def test_ranges_are_cut_once_even_where_they_overlap() -> None:
    assert cut("0123456789", [(2, 5), (3, 4), (8, 10)]) == "01567"
    assert cut("abc", []) == "abc"


def test_replace_names_the_document_by_any_address_in_it(memory: Memory) -> None:
    first = memory.store(NOTE)

    second = memory.store("# Plan\n\nAll new.", replace="/plan/risk")

    assert second.document == first.document
    with pytest.raises(AddressError):
        memory.read("/plan/risk")


def test_when_it_was_written_is_taken_from_the_best_that_is_known(memory: Memory) -> None:
    at = datetime(2024, 5, 1, tzinfo=UTC)
    dated = "---\ndate: 2023-02-03\n---\n\nDated."

    said = memory.read(memory.store("Said.", at=at).address).document.created_at
    front = memory.read(memory.store(dated).address).document.created_at
    both = memory.read(memory.store(dated + " Both.", at=at).address).document.created_at
    none = memory.read(memory.store("Now.").address).document

    assert (said, both) == (at, at)
    assert front == datetime(2023, 2, 3, tzinfo=UTC)
    assert abs((none.created_at - datetime.now(UTC)).total_seconds()) < 60


@pytest.mark.parametrize("text", ["", "  \n\t", "\r\n"])
def test_nothing_is_refused_as_a_text(memory: Memory, text: str) -> None:
    with pytest.raises(UsageError, match="no text"):
        memory.store(text)


@pytest.mark.parametrize("importance", [-0.1, 1.1, float("nan")])
def test_importance_outside_its_range_is_refused(memory: Memory, importance: float) -> None:
    with pytest.raises(UsageError, match="importance"):
        memory.store("A fact.", importance=importance)


def test_characters_that_cannot_be_stored_are_replaced_counted_and_said(memory: Memory) -> None:
    receipt = memory.store("one\x00 two\ud800 three\ud83d\ude00")

    assert receipt.repaired == 2
    assert memory.read(receipt.address).source == "one\ufffd two\ufffd three😀"


def test_a_secret_is_masked_before_it_reaches_the_disk(memory: Memory, tmp_path: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    receipt = memory.store(f"The token is {secret} and works.")
    memory.recall(f"token {secret}")
    memory.wait()
    memory.close()

    assert receipt.redacted == 1
    for file in (tmp_path / "home").rglob("*"):
        assert not file.is_file() or secret.encode() not in file.read_bytes(), file


def test_code_comes_out_as_it_went_in(memory: Memory) -> None:
    code = "Use `List<T>` and `a < b && c > d` here; x -> y. <b>bold</b> &amp; done."

    memory.store(code)

    assert memory.recall("List<T>").hits[0].text == code
