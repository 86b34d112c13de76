"""Three files read as one: what moves, what lies in two of them, and what is missing."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import apsw
import pytest
from tests.engine.making import (
    EMBEDDER,
    NOON,
    document,
    embed,
    found,
    nodes_of,
    question,
    store,
    unit,
)
from tests.engine.moving import FILES, move_by_hand

from ringwood.engine.base import Engine, Reader, WordQuery
from ringwood.engine.sqlite import open_engine
from ringwood.errors import StorageError
from ringwood.types import Document, Edge, Node, Tier

ALL = ["global", "other"]


def fill(engine: Engine) -> list[tuple[Document, tuple[Node, ...]]]:
    """Store a few documents that share words, with vectors and an edge between the first two."""
    texts = ["alpha beta\ngamma", "alpha\nbeta beta delta", "alpha gamma epsilon", "zeta\neta"]
    stored = [
        store(engine, text, source=f"key {i}", space=ALL[i % 2]) for i, text in enumerate(texts)
    ]
    for card, nodes in stored:
        embed(engine, card, {n.id: unit(1, n.id, n.id % 3, 1) for n in nodes[1:]})
    (first, one), (_, two) = stored[:2]
    with engine.writing() as writer:
        edge = Edge(one[1].id, two[1].id, "similar", 0.8)
        writer.put_vectors(first.id, first.sha256, EMBEDDER, {}, {}, [edge])
    return stored


def rankings(reader: Reader) -> list[object]:
    """Everything that must not depend on where a document lies."""
    words = [
        reader.rank_words(WordQuery(terms), spaces, limit=9, also=range(1, 20))
        for terms in (["alpha"], ["beta", "gamma", "zeta"], ["delta", "nothing"])
        for spaces in (["global"], ALL)
    ]
    query = question(unit(1, 2, 3, 4), {"": unit(1, 0, 0, 0)})
    meanings = [reader.rank_vectors(query, spaces, limit=9) for spaces in (["global"], ALL)]
    return [*words, *meanings, reader.cosines(query, range(1, 20)), reader.edges(range(1, 20))]


@pytest.mark.parametrize("tiers", [("warm", "cold"), ("cold", "cold"), ("warm", "warm")])
def test_moving_a_document_changes_no_score(
    engine: Engine, home: Path, tiers: tuple[Tier, Tier]
) -> None:
    stored = fill(engine)
    with engine.reading() as reader:
        before = rankings(reader)
    for (card, _), tier in zip(stored, tiers, strict=False):
        move_by_hand(home, card.id, tier)
        with engine.reading() as reader:
            assert rankings(reader) == before  # to the last bit
            moved = reader.document(card.id)
            assert moved is not None
            assert moved.tier == tier


def test_a_moved_document_is_found_by_every_way_in(engine: Engine, home: Path) -> None:
    (card, nodes), *_ = fill(engine)
    with engine.writing() as writer:
        changed = document(card.id, "alpha beta", source="key 0", changed_at=NOON)
        writer.put_document(changed, "alpha beta", nodes_of(changed, "alpha beta", nodes[0].id))
        writer.set_mirrored(card.id, changed.sha256, "note.md")
    move_by_hand(home, card.id, "cold")
    with engine.reading() as reader:
        assert reader.resolve("global", nodes[1].path) == nodes[1].id
        assert [n.id for n in reader.nodes_of(card.id)] == [n.id for n in nodes[:2]]
        assert reader.text_of(card.id) == "alpha beta"
        assert reader.text_at(card.id, NOON - timedelta(days=1)) == "alpha beta\ngamma"
        assert card.id in [d.id for d in reader.roots("global")]
        assert reader.sources("global", "key 0") == {"key 0": card.id}
        by_source = reader.document_by_source("global", "key 0")
        by_hash = reader.document_by_hash("global", changed.sha256)
        assert by_source == by_hash == reader.document(card.id)
        former = reader.former("global", nodes[2].path)
        assert former is not None
        assert former.node == nodes[2].id
        assert reader.counts(reader.node_ids([card.id]), EMBEDDER) == (2, 1, 1)
        assert set(reader.vectors(EMBEDDER, [nodes[1].id])) == {nodes[1].id}
        assert nodes[1].id in reader.recent_nodes("global", 99)
        assert card.id in [d.id for d in reader.recent_documents(["global"])]
        assert reader.mirrored_path(card.id) == "note.md"
        assert reader.totals().tiers["cold"].documents == 1


def test_a_document_in_two_files_is_seen_once_and_hottest(engine: Engine, home: Path) -> None:
    stored = fill(engine)
    for card, _ in stored[:3]:
        move_by_hand(home, card.id, "warm", keep=True)
    move_by_hand(home, stored[0][0].id, "cold", keep=True)
    with engine.reading() as reader:
        assert len(reader.roots("global")) + len(reader.roots("other")) == len(stored)
        for card, nodes in stored:
            seen = reader.document(card.id)
            assert seen is not None
            assert seen.tier == "hot"
            assert reader.nodes_of(card.id) == nodes
            assert reader.counts(reader.node_ids([card.id]), EMBEDDER)[0] == len(nodes)
        for limit in (1, 2, 3, 99):
            words = reader.rank_words(WordQuery(["alpha"]), ALL, limit=limit).order
            assert len(set(words)) == len(words) == min(limit, 3)
            meaning = reader.rank_vectors(question(unit(1, 2, 3, 4)), ALL, limit=limit).order
            assert len(set(meaning)) == len(meaning) == min(limit, 7)
        assert len(reader.edges(range(1, 20))) == 1
        assert sum(reader.totals().states.values()) == len(stored)


def test_the_warm_copy_hides_the_cold_one(engine: Engine, home: Path) -> None:
    card, nodes = store(engine, "alpha")
    embed(engine, card, {nodes[1].id: unit(1, 0, 0, 0)})
    move_by_hand(home, card.id, "cold", keep=True)
    move_by_hand(home, card.id, "warm")
    with engine.reading() as reader:
        assert [d.tier for d in reader.roots("global")] == ["warm"]
        assert len(reader.nodes_of(card.id)) == 2
        assert reader.counts(reader.node_ids([card.id]), EMBEDDER) == (2, 1, 0)
        assert reader.rank_words(WordQuery(["alpha"]), ["global"], limit=5).order == (nodes[1].id,)
        query = question(unit(1, 0, 0, 0))
        assert reader.rank_vectors(query, ["global"], limit=5).order == (nodes[1].id,)


def test_hidden_copies_take_no_place_from_others(engine: Engine, home: Path) -> None:
    """Warm holds better matches that count no more, and one that does."""
    better = [store(engine, f"word {i}") for i in range(6)]
    worse, nodes = store(engine, "word and much else besides that makes it long")
    for card, (_, leaf) in better:
        embed(engine, card, {leaf.id: unit(1, 0, 0, 0)})
        move_by_hand(home, card.id, "warm", keep=True)
        now = document(card.id, "gone")
        with engine.writing() as writer:
            writer.put_document(now, "gone", nodes_of(now, "gone", leaf.parent or 0))
    embed(engine, worse, {nodes[1].id: unit(1, 1, 0, 0)})
    move_by_hand(home, worse.id, "warm")
    with engine.reading() as reader:
        query = question(unit(1, 0, 0, 0))
        assert reader.rank_vectors(query, ["global"], limit=1).order == (nodes[1].id,)
        assert reader.rank_words(WordQuery(["word"]), ["global"], limit=1).order == (nodes[1].id,)


def test_an_edit_hides_the_older_copy_whole(engine: Engine, home: Path) -> None:
    """The colder copy still holds a node, a word and a vector that the hot one has no more."""
    card, nodes = store(engine, "kept\nsecret")
    embed(engine, card, {n.id: unit(1, 0, 0, n.id) for n in nodes[1:]})
    move_by_hand(home, card.id, "warm", keep=True)
    with engine.writing() as writer:
        now = document(card.id, "kept")
        writer.put_document(now, "kept", nodes_of(now, "kept", nodes[0].id))
    with engine.reading() as reader:
        assert found(engine, "secret") == ()
        assert reader.nodes([nodes[2].id]) == {}
        assert reader.resolve("global", nodes[2].path) is None
        query = question(unit(1, 0, 0, 3))
        assert reader.rank_vectors(query, ["global"], limit=9).order == (nodes[1].id,)
        assert set(reader.cosines(query, [nodes[1].id, nodes[2].id])) == {nodes[1].id}


@pytest.mark.parametrize("tier", ["warm", "cold"])
def test_an_edit_hides_the_links_of_the_older_copy(engine: Engine, home: Path, tier: Tier) -> None:
    (card, nodes), (_, others), *_ = fill(engine)
    with engine.reading() as reader:
        assert reader.edges([others[1].id])  # the control
    move_by_hand(home, card.id, tier, keep=True)
    with engine.writing() as writer:
        now = document(card.id, "something else", source=card.source)
        writer.put_document(now, "something else", nodes_of(now, "something else", nodes[0].id))

    with engine.reading() as reader:
        assert reader.edges([others[1].id]) == ()


@pytest.mark.parametrize("tier", ["warm", "cold"])
def test_a_document_in_two_files_is_counted_once(engine: Engine, home: Path, tier: Tier) -> None:
    stored = fill(engine)
    with engine.reading() as reader:
        before = [reader.totals(identity).tiers for identity in (None, EMBEDDER, "another/4")]
    move_by_hand(home, stored[0][0].id, tier, keep=True)

    for identity, was in zip((None, EMBEDDER, "another/4"), before, strict=True):
        with engine.reading() as reader:
            now = reader.totals(identity).tiers
        for each in ("documents", "nodes", "vectors", "edges"):
            assert [getattr(now[t], each) for t in FILES] == [getattr(was[t], each) for t in FILES]

    (card, _) = stored[1]
    move_by_hand(home, card.id, tier)
    with engine.reading() as reader:
        held = reader.totals().tiers
    assert (held["hot"].documents, held[tier].documents) == (3, 1)  # a document that is no copy


def test_a_colder_tier_can_be_written(engine: Engine) -> None:
    card, nodes = store(engine, "alpha")
    with engine.writing() as writer:
        writer.delete_document(card.id)
    fresh = document(card.id, "alpha", space="new space", tier="cold")
    with engine.writing("cold") as writer:
        writer.put_document(fresh, "alpha", nodes_of(fresh, "alpha", nodes[0].id))
    assert embed(engine, fresh, {nodes[1].id: unit(1, 0, 0, 0)})
    with engine.writing("cold") as writer:
        writer.count_access([nodes[1].id])
    with engine.reading() as reader:
        assert reader.document(card.id) == document(
            card.id, "alpha", space="new space", tier="cold", state="ready"
        )
        assert reader.rank_words(WordQuery(["alpha"]), ["new space"], limit=5).order == (
            nodes[1].id,
        )
        assert reader.nodes([nodes[1].id])[nodes[1].id].access == 1


def spoil(path: Path) -> None:
    path.write_bytes(b"this is no database, and a long way from one " * 100)


def empty(path: Path) -> None:
    path.write_bytes(b"")


def behead(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5000])


WAYS: dict[str, Callable[[Path], None]] = {
    "removed": Path.unlink,
    "spoiled": spoil,
    "emptied": empty,
    "beheaded": behead,
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())
@pytest.mark.parametrize("tier", ["warm", "cold"])
def test_a_lost_tier_is_reported_and_the_rest_answers(
    home: Path, tier: Tier, way: Callable[[Path], None]
) -> None:
    engine = open_engine(home, create=True)
    stored = fill(engine)
    move_by_hand(home, stored[0][0].id, tier)
    engine.close()
    lost = home / FILES[tier]
    way(lost)
    remains = lost.read_bytes() if lost.exists() else None
    for create in (False, True):
        engine = open_engine(home, create=create)
        with engine.reading() as reader:
            assert reader.missing_tiers == (tier,)
            assert reader.document(stored[0][0].id) is None
            assert reader.text_of(stored[1][0].id) == "alpha\nbeta beta delta"
            assert tier not in reader.totals().tiers
        assert found(engine, "alpha", spaces=ALL)
        with pytest.raises(StorageError), engine.writing(tier) as writer:
            writer.count_access([1])
        store(engine, "still taken in", path=f"/more-{create}")
        engine.erase_traces()
        engine.close()
        assert (lost.read_bytes() if lost.exists() else None) == remains


def test_a_tier_that_goes_and_comes_back_is_noticed(engine: Engine, home: Path) -> None:
    stored = fill(engine)
    move_by_hand(home, stored[0][0].id, "warm")
    away = home / "elsewhere"
    with engine.reading() as reader:
        assert reader.missing_tiers == ()
    (home / FILES["warm"]).rename(away)
    with engine.reading() as reader:
        assert reader.missing_tiers == ("warm",)
        assert reader.document(stored[0][0].id) is None
    away.rename(home / FILES["warm"])
    with engine.reading() as reader:
        assert reader.missing_tiers == ()
        assert reader.document(stored[0][0].id) is not None


def test_damage_within_a_tier_costs_one_answer(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    engine = open_engine(home, create=True)
    card, _ = store(engine, "\n".join(f"line {i} " + "x" * 200 for i in range(400)))
    kept, _ = store(engine, "kept")
    move_by_hand(home, card.id, "cold")
    engine.close()
    image = bytearray((home / FILES["cold"]).read_bytes())
    page = image.index(b"x" * 200, len(image) // 2) // 4096
    image[page * 4096 : page * 4096 + 4096] = b"\xff" * 4096
    (home / FILES["cold"]).write_bytes(image)
    engine = open_engine(home, create=False)
    with caplog.at_level(logging.ERROR), pytest.raises(StorageError), engine.reading() as reader:
        reader.nodes_of(card.id)
    with engine.reading() as reader:
        assert reader.missing_tiers == ("cold",)
        assert reader.nodes_of(card.id) == ()
        assert reader.text_of(kept.id) == "kept"
    engine.close()
    assert "damaged" in caplog.text


def test_ids_go_on_above_every_tier_when_hot_is_lost(home: Path) -> None:
    engine = open_engine(home, create=True)
    stored = fill(engine)
    card, nodes = stored[-1]
    move_by_hand(home, card.id, "cold")
    engine.close()
    (home / FILES["hot"]).unlink()
    engine = open_engine(home, create=True)
    with engine.reading() as reader:
        assert reader.missing_tiers == ()
        assert reader.text_of(card.id) == "zeta\neta"
    assert found(engine, "zeta", spaces=["other"]) == (nodes[1].id,)
    with engine.writing() as writer:
        assert writer.reserve_ids(1, 1) == (card.id + 1, nodes[-1].id + 1)
    fresh, _ = store(engine, "zeta", space="third")
    assert found(engine, "zeta", spaces=["other"]) == (nodes[1].id,)
    assert fresh.id > card.id
    engine.close()


def test_a_tier_that_numbers_spaces_otherwise_is_left_out(home: Path) -> None:
    """It would answer a question in one space with documents of another."""
    engine = open_engine(home, create=True)
    card, _ = store(engine, "zeta", space="mine")
    move_by_hand(home, card.id, "cold")
    store(engine, "eta", space="yours", path="/2")
    engine.close()
    other = apsw.Connection(str(home / FILES["cold"]))
    other.execute("UPDATE spaces SET name = 'yours'")
    other.close()
    engine = open_engine(home, create=False)
    with engine.reading() as reader:
        assert reader.missing_tiers == ("cold",)
        assert reader.rank_words(WordQuery(["zeta"]), ["yours"], limit=5).order == ()
    engine.close()


def test_tiers_may_lie_elsewhere(tmp_path: Path) -> None:
    home, shelf = tmp_path / "home", tmp_path / "shelf"
    shelf.mkdir()
    engine = open_engine(home, warm_path=shelf / "w.db", cold_path=shelf / "c.db", create=True)
    with engine.writing("warm") as writer:
        card = document(1, "alpha", tier="warm")
        writer.put_document(card, "alpha", nodes_of(card, "alpha", 1))
    with engine.reading() as reader:
        assert reader.document(1) == card
    engine.close()
    assert sorted(path.name for path in shelf.iterdir()) == ["c.db", "w.db"]
    with pytest.raises(StorageError, match="cannot be made"):
        open_engine(tmp_path / "other", warm_path=tmp_path / "no" / "w.db", create=True)
