"""Links found as documents move: for nodes that lack some, at one cost in a store of any size."""

from __future__ import annotations

import random
from functools import partial
from pathlib import Path

import pytest
from tests.scaling import grows_at_most
from tests.upkeep.aged import NOW, tiers_of
from tests.upkeep.test_dream import TEXTS, edges_of, keep, linked, put_edge

from ringwood.embed.hashing import HashingEmbedder
from ringwood.embed.meaning import Meaning
from ringwood.engine.base import Engine, TierOptions
from ringwood.engine.sqlite import open_engine
from ringwood.upkeep.aging.moved_links import link_moved
from ringwood.upkeep.aging.rotate import Work, rotate
from ringwood.write.link import LinkOptions

LINK = LinkOptions()


@pytest.fixture
def meaning() -> Meaning:
    return Meaning.of(HashingEmbedder())


def test_a_moved_document_gets_the_edges_that_storing_did_not_find(
    engine: Engine, meaning: Meaning
) -> None:
    one, other, tomatoes, *_ = keep(engine, meaning, *TEXTS)
    assert linked(engine) == set()

    found = link_moved(engine, meaning, LINK, [one])

    assert found == len(edges_of(engine)) > 0
    assert linked(engine) == {(one, other)}
    assert link_moved(engine, meaning, LINK, [one]) == 0  # again finds nothing new
    assert link_moved(engine, meaning, LINK, [tomatoes]) == 0


def test_documents_of_one_batch_are_compared_with_each_other(
    engine: Engine, meaning: Meaning
) -> None:
    documents = keep(engine, meaning, *TEXTS)

    link_moved(engine, meaning, LINK, documents)

    one, other, _, yi, er = documents
    assert linked(engine) == {(one, other), (yi, er)}


def test_a_node_that_has_its_edges_gets_no_more(engine: Engine, meaning: Meaning) -> None:
    one, other, tomatoes, yi, er = keep(engine, meaning, *TEXTS)
    for full in (tomatoes, yi, er):
        put_edge(engine, meaning, one, full, 0.9)  # at its last node
    with engine.reading() as reader:
        last = max(reader.node_ids([one]))
        before = len(reader.edges([last]))

    link_moved(engine, meaning, LINK, [one])

    with engine.reading() as reader:
        assert len(reader.edges([last])) == before == LINK.max_edges
    link_moved(engine, meaning, LinkOptions(max_edges=4), [one])  # the control
    with engine.reading() as reader:
        assert len(reader.edges([last])) == 4
    assert (one, other) in linked(engine)


def test_links_never_leave_a_space(engine: Engine, meaning: Meaning) -> None:
    [one] = keep(engine, meaning, TEXTS[0])
    keep(engine, meaning, TEXTS[1], space="elsewhere")

    assert link_moved(engine, meaning, LINK, [one]) == 0


def test_a_rotation_links_what_it_moves_and_edges_across_tiers_stay(
    engine: Engine, meaning: Meaning
) -> None:
    one, other = documents = keep(engine, meaning, *TEXTS[:2])
    put_edge(engine, meaning, one, other, 0.9)
    before = edges_of(engine)
    split = TierOptions(hot_days=-1, warm_days=180)  # all of today is warm
    work = Work(relink=partial(link_moved, engine, meaning, LINK))

    done = rotate(engine, split, NOW, work=work)

    assert tiers_of(engine, documents) == ["warm", "warm"]
    assert set(before) <= set(edges_of(engine))
    assert done.edges == len(edges_of(engine)) - len(before)
    [late] = keep(engine, meaning, "The pump in hall seven leaks oil near a valve.", first=9)
    assert link_moved(engine, meaning, LinkOptions(max_edges=9), [documents[0]]) > 0
    assert (documents[0], late) in linked(engine)  # from warm to hot


def test_a_batch_costs_the_same_in_a_small_store_and_in_one_eight_times_as_large(
    tmp_path: Path, meaning: Meaning
) -> None:
    engines: dict[int, tuple[Engine, list[int]]] = {}
    for size in (30, 240):
        engine: Engine = open_engine(tmp_path / str(size), create=True)
        engines[size] = (engine, _filled(engine, meaning, size))

    def batch(size: int) -> None:
        engine, documents = engines[size]
        link_moved(engine, meaning, LinkOptions(threshold=2.0), documents)

    assert grows_at_most(batch, 30, 240, 2.5)
    for engine, _ in engines.values():
        engine.close()


def _filled(engine: Engine, meaning: Meaning, size: int) -> list[int]:
    """Store notes whose words are everybody's, and give back the newest batch."""
    chance = random.Random(3)
    words = [f"{a}{b}" for a in ("pump", "valve", "oil", "hall", "gasket") for b in "abcdefgh"]
    texts = [f"# N{i}\n\n" + " ".join(chance.choices(words, k=20)) for i in range(size)]
    documents = keep(engine, meaning, *texts)
    return documents[-15:]
