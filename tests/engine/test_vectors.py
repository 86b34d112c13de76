"""Ranking by meaning, against the definition computed row by row."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tests.databases import connection_to
from tests.engine.making import EMBEDDER, document, embed, nodes_of, question, store, unit

from ringwood.engine.base import Engine, FloatVector, VectorQuery
from ringwood.engine.sqlite import vector_copy
from ringwood.engine.sqlite.vectors import quantise, unit_row

DIM = 24


def rows_of(seed: int, count: int, dim: int = DIM) -> list[FloatVector]:
    """Draw rows that lean to one side, as those of real models do."""
    drawn = np.random.default_rng(seed).normal(size=(count, dim)) + 1.5
    return [unit(*row) for row in drawn]


def asked(seed: int) -> VectorQuery:
    [row, latin, han, other] = rows_of(seed, 4)
    means = {"Latin": latin * np.float32(0.8), "Han": han * np.float32(0.8), "": other}
    return question(row, means)


def by_definition(row: FloatVector, mean: FloatVector, query: VectorQuery) -> tuple[float, float]:
    """Raw and centred cosine in float64, as one would write them down."""
    v, m = row.astype(np.float64), mean.astype(np.float64)
    apart = v - m
    raw = float(v @ query.raw.astype(np.float64))
    return raw, float(apart @ query.centred.astype(np.float64) / np.linalg.norm(apart))


def test_the_ranking_is_the_definitions(engine: Engine) -> None:
    kept: dict[int, tuple[FloatVector, str]] = {}
    for number in range(6):
        lines = [f"line {i}" if i % 3 else f"光 {i}" for i in range(20)]
        card, nodes = store(engine, "\n".join(lines))
        rows = dict(zip([n.id for n in nodes[1:]], rows_of(number, 20), strict=True))
        embed(engine, card, rows)
        kept |= {node.id: (rows[node.id], node.script) for node in nodes[1:]}
    query = asked(99)
    with engine.reading() as reader:
        stored = reader.vectors(EMBEDDER, kept)
        ranking = reader.rank_vectors(query, ["global"], limit=30)
        measured = reader.cosines(query, kept)
    expected = {
        node: by_definition(stored[node].row, query.means[script], query)
        for node, (_, script) in kept.items()
    }
    best = sorted(expected, key=lambda i: (-expected[i][1], -i))
    assert ranking.order == tuple(best[:30])
    for node, (raw, centred) in expected.items():
        assert measured[node].raw == pytest.approx(raw, abs=1e-6)
        assert measured[node].centred == pytest.approx(centred, abs=1e-6)
    assert {i: ranking.cosines[i] for i in ranking.order} == {i: measured[i] for i in best[:30]}


@given(
    hnp.arrays(np.float32, st.integers(1, 40), elements=st.floats(-1, 1, width=32)).filter(
        lambda row: np.abs(row).max() > 1e-3
    )
)
@settings(deadline=None)
def test_a_row_read_and_written_again_is_the_same_row(row: FloatVector) -> None:
    kept = quantise(row)
    back = unit_row(kept)
    assert quantise(back) == kept
    assert np.linalg.norm(back) == pytest.approx(1.0, abs=1e-6)
    assert np.abs(back / np.abs(back).max() - row / np.abs(row).max()).max() < 1 / 127


def test_a_row_of_zeros_is_like_nothing(engine: Engine) -> None:
    card, nodes = store(engine, "a\nb")
    zeros = np.zeros(4, np.float32)
    embed(engine, card, {nodes[1].id: zeros, nodes[2].id: unit(1, 0, 0, 0)})
    with engine.reading() as reader:
        query = question(unit(1, 0, 0, 0))
        assert reader.cosines(query, [nodes[1].id])[nodes[1].id].centred == 0.0
        assert reader.rank_vectors(query, ["global"], limit=5).order == (nodes[2].id, nodes[1].id)


def test_rows_next_to_the_mean_are_ranked_exactly(engine: Engine) -> None:
    """What is left of them is so short that float32 would lose the order."""
    draw = np.random.default_rng(5)
    middle = draw.integers(60, 127, DIM)
    middle[0] = 127
    card, nodes = store(engine, "\n".join(f"line {i}" for i in range(300)))
    steps = draw.integers(-1, 2, (300, DIM)) * (draw.random((300, DIM)) < 0.2)
    steps[:, 0] = 0
    embed(engine, card, {n.id: unit(*(middle + s)) for n, s in zip(nodes[1:], steps, strict=True)})
    query = question(unit(*draw.normal(size=DIM)), {"": unit(*middle)})
    with engine.reading() as reader:
        exact = reader.cosines(query, range(1, 999))
        best = sorted(exact, key=lambda i: (-exact[i].centred, -i))
        for limit in (1, 3, 10, 50):
            assert reader.rank_vectors(query, ["global"], limit=limit).order == tuple(best[:limit])
    assert all(abs(cosine.centred) <= 1 + 1e-9 for cosine in exact.values())


def test_equal_rows_rank_newest_first(engine: Engine) -> None:
    card, nodes = store(engine, "\n".join("abcdefghij"))
    embed(engine, card, {node.id: unit(1, 2, 3, 4) for node in nodes[1:]})
    with engine.reading() as reader:
        order = reader.rank_vectors(question(unit(1, 0, 0, 0)), ["global"], limit=3).order
    assert order == (nodes[10].id, nodes[9].id, nodes[8].id)


def test_scripts_without_a_mean_share_the_nameless_one(engine: Engine) -> None:
    card, nodes = store(engine, "latin\n汉字")
    row = unit(1, 1, 0, 0)
    embed(engine, card, {node.id: row for node in nodes[1:]})
    query = question(unit(1, 0, 0, 0), {"Latin": unit(0, 1, 0, 0), "": np.zeros(4, np.float32)})
    with engine.reading() as reader:
        measured = reader.cosines(query, [nodes[1].id, nodes[2].id])
        ranking = reader.rank_vectors(query, ["global"], limit=2)
    assert measured[nodes[1].id].centred != measured[nodes[2].id].centred
    assert ranking.cosines == measured


def test_rows_of_another_embedder_are_never_compared(engine: Engine) -> None:
    card, nodes = store(engine, "a")
    embed(engine, card, {nodes[1].id: unit(1, 0, 0, 0)})
    embed(engine, card, {nodes[1].id: unit(1, 0, 0)}, embedder="other/3")
    with engine.reading() as reader:
        for embedder, dim in ((EMBEDDER, 4), ("other/3", 3), ("none", 4)):
            row = np.eye(dim, dtype=np.float32)[0]
            query = question(row, embedder=embedder)
            there = () if embedder == "none" else (nodes[1].id,)
            assert reader.rank_vectors(query, ["global"], limit=5).order == there
            assert tuple(reader.cosines(query, [nodes[1].id])) == there
            assert tuple(reader.vectors(embedder, [nodes[1].id])) == there
        assert reader.counts(reader.node_ids([card.id]), EMBEDDER)[1] == 1


def test_rows_of_a_wrong_length_are_refused(engine: Engine) -> None:
    card, nodes = store(engine, "a\nb")
    with pytest.raises(ValueError, match="columns"):
        embed(engine, card, {nodes[1].id: unit(1, 0), nodes[2].id: unit(1, 0, 0)})
    embed(engine, card, {nodes[1].id: unit(1, 0)})
    with pytest.raises(ValueError, match="columns"):
        embed(engine, card, {nodes[2].id: unit(1, 0, 0)})


def test_a_row_written_again_takes_the_place_of_the_first(engine: Engine) -> None:
    card, nodes = store(engine, "a")
    query = question(unit(1, 0, 0, 0))
    for row, cosine in ((unit(0, 1, 0, 0), 0.0), (unit(1, 0, 0, 0), 1.0)):
        embed(engine, card, {nodes[1].id: row})
        with engine.reading() as reader:
            assert reader.rank_vectors(query, ["global"], limit=5).cosines[
                nodes[1].id
            ].raw == pytest.approx(cosine)


def test_equal_texts_share_their_row_across_spaces(engine: Engine) -> None:
    card, nodes = store(engine, "a", space="elsewhere")
    embed(engine, card, {nodes[1].id: unit(0, 0, 1, 0)})
    with engine.reading() as reader:
        known = reader.vectors_by_digest(EMBEDDER, [f"text of {nodes[1].id}", "unknown"])
        assert list(known) == [f"text of {nodes[1].id}"]
        assert known[f"text of {nodes[1].id}"] == pytest.approx(unit(0, 0, 1, 0))
        assert reader.vectors_by_digest("none", [f"text of {nodes[1].id}"]) == {}


def test_the_copy_in_memory_follows_every_change(engine: Engine) -> None:
    """Grown, rewritten and thinned out at random, it ranks as a fresh one does."""
    random = np.random.default_rng(3)
    query = question(unit(*random.normal(size=DIM)))
    cards: dict[int, tuple[object, int]] = {}
    for step in range(60):
        if cards and random.random() < 0.45:
            number = int(random.choice(list(cards)))
            with engine.writing() as writer:
                if random.random() < 0.5:
                    writer.delete_document(number)
                    del cards[number]
                else:  # some lines stay, some change
                    text = f"a\nb {step}\nc"
                    card = document(number, text)
                    writer.put_document(card, text, nodes_of(card, text, cards[number][1]))
        else:
            card, nodes = store(engine, "a\nb\nc")
            rows = zip(nodes[1:], rows_of(step, 3), strict=True)
            embed(engine, card, {node.id: row for node, row in rows})
            cards[card.id] = (card, nodes[0].id)
        with engine.reading() as reader:
            ranking = reader.rank_vectors(query, ["global"], limit=200)
            assert ranking.cosines == reader.cosines(query, range(1, 2000))
            assert len(ranking.order) == reader.totals().tiers["hot"].vectors


def test_readers_of_different_times_share_the_copy(engine: Engine) -> None:
    query = question(unit(1, 0, 0, 0))
    first, nodes = store(engine, "a")
    embed(engine, first, {nodes[1].id: unit(1, 1, 0, 0)})
    with engine.reading() as before:
        second, others = store(engine, "b")
        embed(engine, second, {others[1].id: unit(1, 2, 0, 0)})
        with engine.writing() as writer:
            writer.delete_document(first.id)
        with engine.reading() as after:
            assert after.rank_vectors(query, ["global"], limit=5).order == (others[1].id,)
        assert before.rank_vectors(query, ["global"], limit=5).order == (nodes[1].id,)
        with engine.reading() as after:
            assert after.rank_vectors(query, ["global"], limit=5).order == (others[1].id,)


def test_deletions_that_are_no_longer_recorded_make_the_copy_anew(
    engine: Engine, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ringwood.engine.sqlite.vector_copy._MAX_GONE", 2)
    query = question(unit(1, 0, 0, 0))
    kept, nodes = store(engine, "kept")
    embed(engine, kept, {nodes[1].id: unit(1, 0, 0, 0)})
    with engine.reading() as before:
        for _ in range(6):
            card, others = store(engine, "a\nb")
            embed(engine, card, {n.id: unit(1, 1, 0, 0) for n in others[1:]})
            with engine.reading() as reader:
                assert len(reader.rank_vectors(query, ["global"], limit=9).order) == 3
            with engine.writing() as writer:
                writer.delete_document(card.id)
        assert before.rank_vectors(query, ["global"], limit=9).order == (nodes[1].id,)
    with engine.reading() as reader:
        assert reader.rank_vectors(query, ["global"], limit=9).order == (nodes[1].id,)
    with connection_to(home) as connection:
        assert vector_copy.horizon_of(connection, 0).generation > 0
