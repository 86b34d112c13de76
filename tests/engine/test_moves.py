"""Moving documents between tier files: all of it goes, once, and nothing else does."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import apsw
import pytest
from tests.engine.making import EMBEDDER, NOON, document, embed, nodes_of, store, terms_of, unit
from tests.engine.moving import FILES, move_by_hand
from tests.engine.test_tiers import fill, rankings

from ringwood.engine.base import Engine
from ringwood.engine.placement import Misplaced, Move, TierDates
from ringwood.errors import StorageError
from ringwood.types import Document, Edge, Node, Tier

OF_A_DOCUMENT = {
    "documents": "id",
    "versions": "document",
    "nodes": "document",
    "edges": "document",
    "aliases": "document",
}


def moving(card: Document, nodes: Sequence[Node]) -> Move:
    return Move(card.id, card.sha256, {node.id: terms_of(node.text) for node in nodes})


def rows(home: Path, tier: Tier, number: int) -> dict[str, list[tuple[object, ...]]]:
    """Read all that a file holds of a document, as the bytes that it is."""
    connection = apsw.Connection(str(home / FILES[tier]))
    found = {
        table: sorted(connection.execute(f"SELECT * FROM {table} WHERE {column} = ?", (number,)))
        for table, column in OF_A_DOCUMENT.items()
    }
    nodes = [row[0] for row in found["nodes"]]
    connection.execute("CREATE VIRTUAL TABLE temp.places USING fts5vocab(main, words, instance)")
    places = connection.execute("SELECT doc, term FROM temp.places").fetchall()
    found["words"] = sorted(place for place in places if place[0] in nodes)
    vectors = connection.execute(
        "SELECT v.node, e.identity, e.dim, v.space, v.script, v.digest, v.row"
        " FROM vectors v JOIN embedders e ON e.number = v.embedder"
    ).fetchall()
    found["vectors"] = sorted(vector for vector in vectors if vector[0] in nodes)
    connection.close()
    return found


def counted(home: Path, tier: Tier) -> list[tuple[object, ...]]:
    """Read what a file says of its spaces, and what it really holds of each."""
    connection = apsw.Connection(str(home / FILES[tier]))
    found = connection.execute(
        "SELECT s.nodes, s.length, (SELECT count(*) FROM nodes n WHERE n.space = s.number),"
        " (SELECT coalesce(sum(length), 0) FROM nodes n WHERE n.space = s.number) FROM spaces s"
    ).fetchall()
    connection.close()
    return found


def rich_document(engine: Engine) -> tuple[Document, tuple[Node, ...]]:
    """Store a document that has all that a document can have."""
    (card, nodes), (_, others), *_ = fill(engine)
    text = "蓝色 alpha"  # shorter by a node, whose path becomes an alias
    changed = document(card.id, text, source="key 0", changed_at=NOON)
    with engine.writing() as writer:
        writer.put_document(changed, text, nodes_of(changed, text, nodes[0].id))
        writer.set_mirrored(card.id, changed.sha256, "note.md")
        writer.count_access([nodes[1].id])
        writer.count_again(card.id)
        edge = Edge(nodes[1].id, others[1].id, "similar", 0.75)
        writer.put_vectors(card.id, changed.sha256, EMBEDDER, {}, {}, [edge], ready=False)
    embed(engine, changed, {nodes[1].id: unit(1, 2, 3, 4)})
    embed(engine, changed, {nodes[1].id: unit(4, 3, 2, 1)}, "another/4")
    with engine.writing() as writer:
        writer.set_state(card.id, "failed", "the model was away")
    with engine.reading() as reader:
        return reader.documents([card.id])[card.id], reader.nodes_of(card.id)


@pytest.mark.parametrize("target", ["warm", "cold"])
def test_a_document_arrives_with_all_that_belongs_to_it(
    engine: Engine, home: Path, target: Tier
) -> None:
    card, nodes = rich_document(engine)
    before = rows(home, "hot", card.id)
    assert all(before.values())  # none of the tables is compared empty

    assert engine.move([moving(card, nodes)], "hot", target) == (card.id,)

    assert rows(home, target, card.id) == before
    assert not any(rows(home, "hot", card.id).values())
    for tier in FILES:
        for nodes_said, length_said, nodes_held, length_held in counted(home, tier):
            assert (nodes_said, length_said) == (nodes_held, length_held)


def test_moving_changes_no_score_and_no_edge(engine: Engine) -> None:
    stored = fill(engine)
    with engine.reading() as reader:
        before = rankings(reader)
        assert reader.edges(range(1, 20))

    for (card, nodes), target in zip(stored, ("warm", "cold", "warm", "cold"), strict=True):
        assert engine.move([moving(card, nodes)], "hot", target) == (card.id,)  # type: ignore[arg-type]
        with engine.reading() as reader:
            assert rankings(reader) == before  # to the last bit

    with engine.reading() as reader:
        assert reader.totals().tiers["hot"].nodes == 0


def test_an_edge_of_another_document_stays_where_it_lies(engine: Engine, home: Path) -> None:
    (_, one), (second, two), *_ = fill(engine)
    assert rows(home, "hot", one[0].document)["edges"]

    engine.move([moving(second, two)], "hot", "cold")

    with engine.reading() as reader:
        assert [edge.target for edge in reader.edges([one[1].id])] == [two[1].id]


def test_a_document_that_was_changed_since_it_was_read_stays(engine: Engine, home: Path) -> None:
    card, nodes = store(engine, "alpha\nbeta")
    move = moving(card, nodes)
    changed = document(card.id, "gamma\ndelta")
    with engine.writing() as writer:
        writer.put_document(changed, "gamma\ndelta", nodes_of(changed, "gamma\ndelta", nodes[0].id))

    assert engine.move([move], "hot", "warm") == ()

    assert not any(rows(home, "warm", card.id).values())
    with engine.reading() as reader:
        assert reader.text_of(card.id) == "gamma\ndelta"


def test_words_for_other_nodes_than_there_are_move_nothing(engine: Engine) -> None:
    card, nodes = store(engine, "alpha\nbeta")

    assert engine.move([moving(card, nodes[:-1])], "hot", "warm") == ()
    assert engine.move([moving(card, nodes)], "hot", "warm") == (card.id,)  # the control


def test_a_document_whose_place_is_taken_stays_and_holds_up_no_other(engine: Engine) -> None:
    # As when a text was stored again while the tier with the first one was unmounted.
    first, first_nodes = store(engine, "alpha", source="key")
    engine.move([moving(first, first_nodes)], "hot", "warm")
    second, second_nodes = store(engine, "beta", source="key")
    third, third_nodes = store(engine, "gamma")

    moved = engine.move([moving(second, second_nodes), moving(third, third_nodes)], "hot", "warm")

    assert moved == (third.id,)
    with engine.reading() as reader:
        assert reader.text_of(first.id) == "alpha"
        assert reader.text_of(second.id) == "beta"
        assert {c.id: c.tier for c in reader.roots("global")} == {
            first.id: "warm",
            second.id: "hot",
            third.id: "warm",
        }


def test_a_copy_that_a_crash_left_is_written_over(engine: Engine, home: Path) -> None:
    card, nodes = store(engine, "alpha\nbeta")
    move_by_hand(home, card.id, "warm", keep=True)
    changed = document(card.id, "alpha\ngamma delta")
    with engine.writing() as writer:
        writer.put_document(
            changed, "alpha\ngamma delta", nodes_of(changed, "alpha\ngamma delta", nodes[0].id)
        )
    with engine.reading() as reader:
        now = reader.nodes_of(card.id)
    assert engine.copies() == {"warm": (card.id,), "cold": ()}

    assert engine.move([moving(changed, now)], "hot", "warm") == (card.id,)

    assert engine.copies() == {"warm": (), "cold": ()}
    with engine.reading() as reader:
        assert reader.text_of(card.id) == "alpha\ngamma delta"
    assert {term for _, term in rows(home, "warm", card.id)["words"]} == {
        "1:alpha",
        "1:gamma",
        "1:delta",
    }


def test_on_the_way_up_the_older_copy_stays_until_it_is_dropped(engine: Engine) -> None:
    card, nodes = store(engine, "alpha\nbeta")
    engine.move([moving(card, nodes)], "hot", "cold")

    assert engine.move([moving(card, nodes)], "cold", "hot") == (card.id,)

    with engine.reading() as reader:
        there = reader.document(card.id)
        assert there is not None
        assert there.tier == "hot"
    assert engine.copies() == {"warm": (), "cold": (card.id,)}
    assert engine.drop_copies("cold", [card.id]) == 1
    assert engine.copies() == {"warm": (), "cold": ()}
    with engine.reading() as reader:
        assert reader.text_of(card.id) == "alpha\nbeta"


def test_the_only_copy_is_never_dropped(engine: Engine) -> None:
    card, nodes = store(engine, "alpha")
    engine.move([moving(card, nodes)], "hot", "warm")

    assert engine.drop_copies("warm", [card.id]) == 0

    with engine.reading() as reader:
        assert reader.text_of(card.id) == "alpha"


def test_vectors_are_left_behind_where_that_is_asked(engine: Engine) -> None:
    card, nodes = store(engine, "alpha\nbeta")
    embed(engine, card, {node.id: unit(1, 2, 3, 4) for node in nodes[1:]})

    engine.move([moving(card, nodes)], "hot", "cold", vectors=False)

    with engine.reading() as reader:
        ids = reader.node_ids([card.id])
        assert reader.counts(ids, EMBEDDER) == (3, 0, 0)


def test_a_missing_tier_takes_nothing_and_loses_nothing(engine: Engine, home: Path) -> None:
    card, nodes = store(engine, "alpha")
    (home / FILES["warm"]).rename(home / "unmounted")

    with pytest.raises(StorageError):
        engine.move([moving(card, nodes)], "hot", "warm")

    with engine.reading() as reader:
        assert reader.text_of(card.id) == "alpha"
    (home / "unmounted").rename(home / FILES["warm"])
    assert engine.move([moving(card, nodes)], "hot", "warm") == (card.id,)  # the control


def test_documents_out_of_place_are_listed_with_the_tier_of_their_age(engine: Engine) -> None:
    ages = [1, 40, 200, 41]
    cards = [store(engine, f"note {age}", created_at=NOON - timedelta(days=age)) for age in ages]
    (hot, _), (warm, _), (cold, _), (placed, nodes) = cards
    engine.move([moving(placed, nodes)], "hot", "warm")
    dates = TierDates(NOON - timedelta(days=30), NOON - timedelta(days=180))

    assert engine.misplaced(dates) == (
        Misplaced(warm.id, "hot", "warm"),
        Misplaced(cold.id, "hot", "cold"),
    )
    later = TierDates(NOON, NOON - timedelta(days=45))
    assert engine.misplaced(later) == (
        Misplaced(hot.id, "hot", "warm"),
        Misplaced(warm.id, "hot", "warm"),
        Misplaced(cold.id, "hot", "cold"),
    )


def test_the_newest_document_says_when_the_home_was_last_in_use(engine: Engine) -> None:
    assert engine.last_stored() is None
    store(engine, "alpha", stored_at=NOON)
    card, nodes = store(engine, "beta", stored_at=NOON + timedelta(hours=1))
    engine.move([moving(card, nodes)], "hot", "cold")

    assert engine.last_stored() == NOON + timedelta(hours=1)
