"""What was forgotten is found nowhere: not by asking, and not in the bytes of any file.

A text lies in more places than one: in its tier and, while it moves, in two; in earlier versions;
in the words, the mirror, the log of recalls, the journal of dreams, and the pages that SQLite has
freed. Each test writes a word that exists nowhere else and looks for it in all of them.
"""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import apsw
import pytest
from tests.cases.commands import Command

from ringwood.errors import AddressError
from ringwood.memory import Memory
from ringwood.recall.usage import unpack
from ringwood.types import Document

CANARY = "quzzlewick"
AGES = {"hot": 1, "warm": 60, "cold": 400}
"""Days after which a document lies in each tier."""


def bytes_of(home: Path) -> bytes:
    """Read all files of a home that is closed, the names of the files included."""
    files = sorted(file for file in home.rglob("*") if file.is_file())
    return b"\n".join(str(file.relative_to(home)).encode() + file.read_bytes() for file in files)


def logs_of(home: Path) -> str:
    """Unpack every recall that is logged."""
    with closing(apsw.Connection(str(home / "memory.db"))) as connection:
        payloads = connection.execute("SELECT payload FROM recalls").fetchall()
    return "".join(str(unpack(row[0])) for row in payloads if isinstance(row[0], bytes))


def fill(home: Path) -> None:
    """Fill a home: in each tier the word in a text that was edited, recalled and dreamt of."""
    now = datetime.now(UTC)
    with Memory.open(home, embedder="hashing") as memory:
        for tier, days in AGES.items():
            at = now - timedelta(days=days)
            for edit in ("reads nine", "reads ten"):
                text = f"# Gauge {tier}\n\nThe {CANARY}{tier} gauge {edit} at the weir.\n"
                memory.store(text, source=f"gauge:{tier}", at=at)
            memory.store(f"The weir gauge of the {tier} river is painted red.", at=at)
            # The same twice, so that a dream has something to do with it.
            memory.store(f"Note: the {CANARY}{tier} gauge was mended.", source=f"a:{tier}", at=at)
            memory.store(f"note: the {CANARY}{tier} gauge was mended", source=f"b:{tier}", at=at)
        memory.wait()
        memory.rotate()
        memory.dream()
        for tier in AGES:
            assert any(CANARY in hit.text for hit in memory.recall(f"{CANARY}{tier} gauge").hits)


def holding(memory: Memory) -> list[Document]:
    """List the documents that hold the word."""
    return [each for each in memory.recent(limit=100) if CANARY in memory.read(each.path).source]


def forget_all(home: Path) -> None:
    """Forget every document that holds the word."""
    with Memory.open(home, embedder="hashing") as memory:
        found = holding(memory)
        assert {each.tier for each in found} == set(AGES)
        for each in found:
            memory.forget(each.path)


def test_a_forgotten_text_is_found_by_nothing(tmp_path: Path) -> None:
    home = tmp_path / "home"
    fill(home)
    with Memory.open(home, embedder="hashing") as memory:
        cards = holding(memory)
    forget_all(home)

    with Memory.open(home, embedder="hashing") as memory:
        for tier in AGES:
            for query in (f"{CANARY}{tier}", f"the {CANARY}{tier} gauge at the weir reads nine"):
                assert not any(CANARY in hit.text for hit in memory.recall(query, floor=0.0).hits)
            then = datetime.now(UTC) - timedelta(hours=1)
            old = memory.recall(f"{CANARY}{tier} gauge", as_of=then, floor=0.0)
            assert not any(CANARY in hit.text for hit in old.hits)
        for each in cards:
            with pytest.raises(AddressError):
                memory.read(each.path)
        assert holding(memory) == []
        assert len(memory.recent(limit=100)) == len(AGES)  # the red ones stay


def test_a_forgotten_text_is_in_no_byte_of_any_file(tmp_path: Path) -> None:
    home = tmp_path / "home"
    fill(home)
    assert CANARY.encode() in bytes_of(home)  # the control: it was there to be found
    assert CANARY in logs_of(home)

    forget_all(home)
    with Memory.open(home, embedder="hashing") as memory:
        memory.compact()

    assert CANARY.encode() not in bytes_of(home)
    assert CANARY not in logs_of(home)
    assert b"is painted red" in bytes_of(home)


def test_deleting_rows_alone_would_leave_the_text_in_the_bytes(tmp_path: Path) -> None:
    home = tmp_path / "home"
    fill(home)

    with closing(
        apsw.Connection(str(home / "memory.db"))
    ) as connection:  # with none of our settings
        connection.execute("PRAGMA secure_delete = OFF").fetchall()
        connection.execute("DELETE FROM documents")

    assert CANARY.encode() in (home / "memory.db").read_bytes()


def test_what_is_forgotten_comes_back_by_no_way_in(tmp_path: Path, command: Command) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "gauge.md").write_text(f"# Gauge\n\nThe {CANARY} gauge reads nine.\n", "utf-8")
    assert command("import", str(notes), "--json").json["documents"] == 1
    assert command("forget", "global:/gauge", "--yes").code == 0

    again = command("import", str(notes), "--json").json
    for upkeep in ("dream", "rotate", "compact"):
        assert command(upkeep).code == 0

    assert (again["documents"], again["forgotten"]) == (0, 1)
    assert command("recall", CANARY).code == 1
    assert command("import", str(notes), "--again", "--json").json["documents"] == 1


def test_a_path_that_is_used_again_inherits_no_meaning(tmp_path: Path) -> None:  # DEL 71
    home = tmp_path / "home"
    with Memory.open(home, embedder="hashing") as memory:
        memory.store("The grey heron nests beside the weir.", path="birds/note")
        memory.wait()
        assert memory.recall("where does the heron nest").hits
        memory.forget("/birds/note")
    with Memory.open(home, embedder="words", wait_s=0.0) as memory:
        memory.store("The invoice of the mill is due on Friday.", path="birds/note")
        assert memory.stats().totals.tiers["hot"].vectors == 0  # and its own are to come

    with Memory.open(home, embedder="hashing", wait_s=0.0) as memory:
        before = memory.recall("where does the heron nest").hits
        memory.wait(10.0)
        after = memory.recall("where does the heron nest").hits
        assert memory.recall("when is the invoice due").hits

    assert [*before, *after] == []
