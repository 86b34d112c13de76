"""Earlier states of documents, old paths, and edges by kind, at rest."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.engine.making import NOON, document, nodes_of, store, terms_of

from ringwood.engine.base import Engine
from ringwood.engine.placement import Move
from ringwood.types import LINK, Edge, Tier

DAY = timedelta(days=1)


def change(engine: Engine, number: int, text: str, day: int, first: int = 1) -> None:
    """Give a document another text on a day."""
    card = document(number, text, changed_at=NOON + day * DAY, created_at=NOON)
    with engine.writing() as writer:
        writer.put_document(card, text, nodes_of(card, text, first))


@pytest.mark.parametrize("tier", ["hot", "warm", "cold"])
def test_an_earlier_state_is_read_back_with_its_nodes_from_any_tier(
    engine: Engine, tier: Tier
) -> None:
    card, nodes = store(engine, "alpha beta\ngamma", created_at=NOON)
    change(engine, card.id, "delta", 1)
    with engine.reading() as reader:
        today = {node.id: terms_of(node.text) for node in reader.nodes_of(card.id)}
        sha256 = reader.documents([card.id])[card.id].sha256
    if tier != "hot":
        assert engine.move([Move(card.id, sha256, today)], "hot", tier) == (card.id,)

    with engine.reading() as reader:
        version = reader.version_at(card.id, NOON)
        assert version is not None
        assert version.text == "alpha beta\ngamma"
        assert version.nodes == nodes
        assert reader.version_at(card.id, NOON + DAY) is None


def test_when_a_text_had_last_changed_is_known_for_every_moment(engine: Engine) -> None:
    card, _ = store(engine, "one", created_at=NOON)
    change(engine, card.id, "two", 1)
    change(engine, card.id, "three", 2)

    with engine.reading() as reader:
        changed = [reader.changed_before(card.id, NOON + d * DAY) for d in (0.5, 1, 1.5, 2, 9)]

    assert changed == [None, NOON + DAY, NOON + DAY, NOON + 2 * DAY, NOON + 2 * DAY]


def test_what_has_changed_since_is_listed_per_space_and_not_before_it_was_written(
    engine: Engine,
) -> None:
    one, _ = store(engine, "one", created_at=NOON, changed_at=NOON)
    store(engine, "never changed", created_at=NOON, changed_at=NOON)
    late, _ = store(engine, "late", created_at=NOON + DAY, changed_at=NOON + DAY)
    change(engine, one.id, "one more", 3)
    with engine.writing() as writer:
        card = document(late.id, "later", created_at=late.created_at, changed_at=NOON + 4 * DAY)
        writer.put_document(card, "later", nodes_of(card, "later", 100))

    with engine.reading() as reader:
        listed = [
            reader.changed_since(["global"], NOON + days * DAY, 9) for days in (-1, 0, 2, 3, 5)
        ]
        assert listed == [(), (one.id,), (late.id, one.id), (late.id,), ()]
        assert reader.changed_since(["global"], NOON + 2 * DAY, 1) == (late.id,)
        assert reader.changed_since(["other"], NOON, 9) == ()


def test_every_old_path_of_a_document_is_listed_with_what_was_there(engine: Engine) -> None:
    card, nodes = store(engine, "one\ntwo", created_at=NOON)
    moved = document(card.id, "one", path="/new", changed_at=NOON + DAY)
    with engine.writing() as writer:
        writer.put_document(moved, "one", nodes_of(moved, "one", nodes[0].id))

    with engine.reading() as reader:
        formers = reader.formers_of(card.id)

    assert {path: former.node for path, former in formers.items()} == {
        node.path: node.id for node in nodes
    }
    assert {former.until for former in formers.values()} == {NOON + DAY}


def test_edges_of_one_kind_are_not_seen_as_another_and_a_link_outlives_a_change_of_its_target(
    engine: Engine,
) -> None:
    one, (_, source) = store(engine, "one")
    two, (root, target) = store(engine, "two")
    link = Edge(source.id, target.id, LINK, 1.0)
    back = Edge(target.id, source.id, LINK, 1.0)
    with engine.writing() as writer:
        writer.put_edges(one.id, [link, Edge(source.id, target.id, "similar", 0.9)])
        writer.put_edges(two.id, [back])
    with engine.reading() as reader:
        assert [edge.kind for edge in reader.edges([source.id])] == ["similar"]
        assert set(reader.edges([source.id], LINK)) == {link, back}

    change(engine, two.id, "changed", 1, root.id)

    with engine.reading() as reader:
        assert reader.edges([source.id]) == ()
        assert reader.edges([source.id], LINK) == (link,)  # what it said itself went with its words
