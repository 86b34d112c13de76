"""What an edit keeps: history, use, links, old addresses, whatever tier the document lies in."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.databases import database_of

from ringwood.engine.base import Engine, Reader
from ringwood.engine.sqlite import open_engine
from ringwood.errors import AddressError, StorageError, UsageError
from ringwood.memory import Memory
from ringwood.types import Edge, Tier
from ringwood.upkeep.aging.rotate import READERS_LEAVE, finish

OLD = datetime(2026, 1, 5, tzinfo=UTC)
TEXT = "# Pump\n\nIt is painted green.\n\n## Repair\n\nReplace the gasket of cork each spring.\n"
MENDED = TEXT.replace("green", "red").replace("## Repair", "## Care")
OTHER = "# Workshop\n\nReplace the gasket of cork each spring, or call Ida.\n"


@pytest.fixture
def engine(memory: Memory) -> Iterator[Engine]:
    """The database of the fixture `memory`."""
    with database_of(memory) as opened:
        yield opened


def age(memory: Memory, engine: Engine, tier: Tier) -> None:
    """Move the pump's document to a tier by making it so old."""
    days = {"hot": 1, "warm": 60, "cold": 400}[tier]
    memory.store(TEXT, source="pump", at=datetime.now(UTC) - timedelta(days=days))
    memory.store(OTHER, at=datetime.now(UTC))
    memory.store(TEXT.replace("green", "blue"), source="pump")  # a version, before it moves
    assert memory.wait(60)
    memory.recall("gasket of cork")
    memory.store("# Else\n\nNothing.")
    assert memory.wait(60)
    memory.rotate()


def edges_at(reader: Reader, path: str) -> tuple[Edge, ...]:
    identity = reader.resolve("global", path)
    return () if identity is None else reader.edges([identity])


@pytest.mark.parametrize("tier", ["hot", "warm", "cold"])
def test_an_edit_keeps_everything_of_a_document_of_any_tier(
    memory: Memory, engine: Engine, tier: Tier
) -> None:
    age(memory, engine, tier)
    leaf = "/pump/repair/replace-the-gasket-of-cork-each"
    before = memory.read(leaf)
    with engine.reading() as reader:
        edges = edges_at(reader, leaf)
        embedder = memory.stats().identity or ""
        row = reader.vectors(embedder, [before.node.id])[before.node.id].row
    assert before.document.tier == tier
    assert before.node.access > 0
    assert edges

    memory.store(MENDED, source="pump")

    after = memory.read(leaf)  # its old address: the section above it was renamed
    assert (after.node.id, after.node.access) == (before.node.id, before.node.access)
    assert after.document.id == before.document.id
    assert after.document.tier == "hot"
    assert after.node.path == "/pump/care/replace-the-gasket-of-cork-each"
    with engine.reading() as reader:
        assert edges_at(reader, after.node.path) == edges
        assert (reader.vectors(embedder, [after.node.id])[after.node.id].row == row).all()
        moments = [before.document.created_at, datetime.now(UTC) - timedelta(milliseconds=1)]
        assert "green" in reader.text_at(after.document.id, moments[0])
    finish(engine, datetime.now(UTC) + READERS_LEAVE)
    assert engine.copies() == {"warm": (), "cold": ()}
    with engine.reading() as reader:
        assert "green" in reader.text_at(after.document.id, moments[0])
    memory.wait(60)
    assert [file.name for file in Path(memory.home, "mirror").rglob("pump*")] == ["pump.md"]


@pytest.mark.parametrize("tier", ["hot", "warm"])
def test_the_count_of_the_same_text_outlives_an_edit_and_goes_on_in_any_tier(
    memory: Memory, engine: Engine, tier: Tier
) -> None:
    age(memory, engine, tier)
    for _ in range(2):
        memory.store(TEXT.replace("green", "blue"), source="pump")
    assert memory.read("/pump").document.seen == 3

    memory.store(MENDED, source="pump")

    assert memory.read("/pump").document.seen == 3


def test_an_edit_that_is_killed_before_it_is_written_leaves_the_document_as_it_was(
    memory: Memory, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    age(memory, engine, "warm")
    with monkeypatch.context() as patch:

        def refuse(*given: object) -> None:
            raise StorageError("the disk is full")

        patch.setattr("ringwood.write.ingest.put", refuse)
        with pytest.raises(StorageError):
            memory.store(MENDED, source="pump")

    assert "blue" in memory.read("/pump").source
    memory.store(MENDED, source="pump")
    assert "red" in memory.read("/pump").source
    memory.rotate()  # which clears what the first try left
    assert engine.copies() == {"warm": (), "cold": ()}
    assert "red" in memory.read("/pump").source


def test_each_version_was_the_text_until_the_next_whatever_the_files_time_says(
    words: Memory, tmp_path: Path
) -> None:
    note = tmp_path / "note.md"
    for number in range(4):
        note.write_text(f"# Note\n\nState {number} of the note.", "utf-8")
        stamp = (OLD - timedelta(days=number)).timestamp()  # each older than the one before
        os.utime(note, (stamp, stamp))
        words.import_notes([note])
        time.sleep(0.01)

    document = words.read("/note").document
    with open_engine(Path(words.home), create=False).reading() as reader:
        texts = [
            reader.text_at(document.id, document.changed_at + timedelta(seconds=s))
            for s in (-60, 1)
        ]
    assert document.created_at == OLD
    assert "State 0" in texts[0]
    assert "State 3" in texts[1]


def test_a_later_store_says_when_the_edit_was_made_and_not_when_the_note_was(words: Memory) -> None:
    march, may = datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 5, 1, tzinfo=UTC)
    words.store("# Port\n\nIt is 8090.", source="port", at=march)
    words.store("# Port\n\nIt is 8091.", source="port", at=may)

    card = words.read("/port").document
    assert (card.created_at, card.changed_at) == (march, may)


# -- replacing by address --------------------------------------------------------------------------


def test_what_replaces_a_section_leaves_the_rest_of_the_document(words: Memory) -> None:
    first = words.store(TEXT + "\n## Price\n\nForty.\n", path="/machines/pump")
    section = words.read("/machines/pump/repair").node.id

    second = words.store("## Repair\n\nAsk Ida.", replace="/machines/pump/repair")

    assert (second.document, second.path) == (first.document, "/machines/pump")
    view = words.read("/machines/pump")
    assert view.source == (
        "# Pump\n\nIt is painted green.\n\n## Repair\n\nAsk Ida.\n\n## Price\n\nForty.\n"
    )
    assert words.read("/machines/pump/repair").node.id == section


def test_a_section_keeps_its_heading_where_what_replaces_it_has_none(words: Memory) -> None:
    words.store(TEXT, source="pump")

    words.store("Ask Ida.", replace="/pump/repair")

    assert words.read("/pump/repair").source == "## Repair\n\nAsk Ida."


def test_what_replaces_a_document_keeps_its_place_and_key(words: Memory) -> None:
    words.store("# Pump\n\nGreen.", source="pump", path="/machines/seven")

    edited = words.store("# Pump\n\nRed.", replace="/machines/seven")
    renamed = words.store("# Engine\n\nRed.", source="note")
    retitled = words.store("# Motor\n\nRed and loud.", replace=renamed.address)

    assert edited.path == "/machines/seven"
    assert words.read("/machines/seven").document.source == "pump"
    assert retitled.path == "/motor"
    assert words.read("/engine").node.path == "/motor"


def test_what_replaces_the_root_by_the_address_of_its_document_is_all_of_it(words: Memory) -> None:
    words.store(TEXT)

    words.store("# Pump\n\nSold.", replace="/pump")

    assert words.read("/pump").source == "# Pump\n\nSold."
    with pytest.raises(AddressError, match="gone since"):
        words.read("/pump/repair")


def test_a_key_that_another_document_has_cannot_be_taken_by_replacing(words: Memory) -> None:
    words.store("# One\n\nFirst.", source="one")
    words.store("# Two\n\nSecond.", source="two")

    with pytest.raises(UsageError, match="two"):
        words.store("# One\n\nThird.", replace="/one", source="two")

    assert words.read("/two").source == "# Two\n\nSecond."


def test_an_edge_of_a_text_that_changed_goes_also_where_an_older_tier_holds_it(
    memory: Memory, engine: Engine
) -> None:
    memory.store(TEXT, source="pump")
    assert memory.wait(60)
    memory.store(OTHER, source="workshop", at=datetime.now(UTC) - timedelta(days=60))
    assert memory.wait(60)  # linked later: the edges lie with this one
    memory.rotate()
    leaf = "/pump/repair/replace-the-gasket-of-cork-each"
    with engine.reading() as reader:
        assert edges_at(reader, leaf)
        held = reader.totals().tiers["warm"].edges
    node = memory.read(leaf).node.id

    memory.store(
        TEXT.replace("gasket of cork each spring", "belt and the two screws"), source="pump"
    )

    with engine.reading() as reader:
        assert reader.edges([node]) == ()
        assert reader.totals().tiers["warm"].edges < held
