"""Ranking by words, against the formula written down plainly."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engine.making import document, found, nodes_of, store, terms_of
from tests.engine.moving import move_by_hand

from ringwood.engine.base import Engine, NodeWrite, WordQuery
from ringwood.engine.sqlite import open_engine
from ringwood.engine.sqlite.words import MAX_TERMS
from ringwood.types import Node, Tier

ODD_TERMS = [
    "c++", "c#", "node-js", "what's", 'foo"bar', '"', '""', "and", "not", "near(a", "title:x",
    "-w1", "(", ")", "*", "w*", "^x", "{body}:secret", ";--", "20.04", "gb/s", "config.js", "a_b",
    "\\", "`", "हिन्दी", "日本", "😀", "👩‍👩‍👧",
    "ﬁ", "é", "e\u0301", "\u00a0", "\u200b", "0:x", "1:x", ":",
]  # fmt: skip


def bm25(
    nodes: Iterable[Node], terms: Sequence[str], k1: float = 1.2, b: float = 0.4
) -> Mapping[int, tuple[float, float]]:
    """Score and share of every node that matches, term by term over the whole store."""
    bags = {node.id: set(terms_of(node.text)) for node in nodes}
    lengths = {node.id: node.length for node in nodes}
    average = max(1.0, sum(lengths.values()) / len(bags))
    df = {term: sum(term in bag for bag in bags.values()) for term in terms}
    idf = {t: math.log(1 + (len(bags) - n + 0.5) / (n + 0.5)) for t, n in df.items()}
    scores = {}
    for node, bag in bags.items():
        mass = sum(idf[term] for term in idf if term in bag)
        if mass:
            factor = (k1 + 1) / (1 + k1 * (1 - b + b * lengths[node] / average))
            scores[node] = (mass * factor, mass / sum(idf.values()))
    return scores


WORDS = ["a", "b", "c", "d", "e", "f"]
LINES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=12).map(" ".join)


@settings(max_examples=25, deadline=None)
@given(
    documents=st.lists(
        st.tuples(
            st.lists(LINES, min_size=1, max_size=4).map("\n".join),
            st.sampled_from(["hot", "warm", "cold"]),
        ),
        min_size=1,
        max_size=5,
    ),
    terms=st.lists(st.sampled_from([*WORDS, "unknown"]), min_size=1, max_size=6, unique=True),
    limit=st.integers(1, 6),
)
def test_the_ranking_is_the_formulas(
    documents: list[tuple[str, Tier]], terms: list[str], limit: int
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory)
        engine = open_engine(home, create=True)
        nodes: list[Node] = []
        for text, tier in documents:
            card, made = store(engine, text)
            nodes += made
            if tier != "hot":
                move_by_hand(home, card.id, tier)
        expected = bm25(nodes, terms)
        with engine.reading() as reader:
            ranking = reader.rank_words(
                WordQuery(terms), ["global"], limit=limit, also=[n.id for n in nodes]
            )
        engine.close()
    for node in nodes:
        score, share = expected.get(node.id, (0.0, 0.0))
        assert ranking.scores[node.id].bm25 == pytest.approx(score, abs=1e-9)
        assert ranking.scores[node.id].share == pytest.approx(share, abs=1e-9)
    exact = {i: ranking.scores[i].bm25 for i in expected}  # ties as they came out, to the last bit
    best = sorted(exact, key=lambda i: (-exact[i], -i))
    assert ranking.order == tuple(best[:limit])
    assert ranking.complete


@pytest.mark.parametrize("length", [6, 300])
def test_a_short_node_may_beat_those_of_more_mass(engine: Engine, length: int) -> None:
    """Lengths are fetched for the nodes of most mass, and then for this one too."""
    long = [" ".join(["a", "b", "c", *(f"f{i}" for i in range(length - 3))])] * 2
    _, nodes = store(engine, "\n".join([*long, "a b", *["c 1 2 3 4 5"] * 40]))
    with engine.reading() as reader:
        everything = reader.rank_words(WordQuery(["a", "b", "c"]), ["global"], limit=99)
        one = reader.rank_words(WordQuery(["a", "b", "c"]), ["global"], limit=1)
    assert one.order == everything.order[:1] == (nodes[3].id,)
    assert everything.scores[nodes[3].id].share < everything.scores[nodes[1].id].share


def test_a_term_finds_itself_and_nothing_else(engine: Engine) -> None:
    leaves: dict[str, int] = {}
    with engine.writing() as writer:
        for number, term in enumerate(ODD_TERMS, 1):
            card = document(number, "x")
            [root, leaf] = nodes_of(card, "x", 2 * number)
            writer.put_document(card, "x", [root, NodeWrite(leaf.node, (term,))])
            leaves[term] = leaf.node.id
    for term, leaf_id in leaves.items():
        assert found(engine, term) == (leaf_id,), term


@pytest.mark.parametrize(
    "query",
    ["", " ", "a b", "\0", "a\0", "\ud800", "\t", "x" * 100_000, "a OR b", "global", "1:a", "2:a"],
)
def test_what_is_no_term_finds_nothing(engine: Engine, query: str) -> None:
    store(engine, "a\nb")
    store(engine, "a", space="other")
    assert found(engine, query) == ()


def test_ascii_case_is_folded_on_both_sides(engine: Engine) -> None:
    card = document(1, "x")
    [root, leaf] = nodes_of(card, "x", 1)
    with engine.writing() as writer:
        writer.put_document(card, "x", [root, NodeWrite(leaf.node, ("MiXed",))])
    assert found(engine, "mIxED") == (leaf.node.id,)


def test_ties_go_to_the_newer_node(engine: Engine) -> None:
    _, nodes = store(engine, "same\nsame\nsame")
    assert found(engine, "same") == (nodes[3].id, nodes[2].id, nodes[1].id)


def test_a_repeated_term_counts_once(engine: Engine) -> None:
    store(engine, "a b\nc")
    with engine.reading() as reader:
        once = reader.rank_words(WordQuery(["a", "c"]), ["global"], limit=5)
        assert reader.rank_words(WordQuery(["a", "c", "a", "a"]), ["global"], limit=5) == once


def test_a_query_about_nothing_here_has_a_small_share(engine: Engine) -> None:
    store(engine, "\n".join(f"filler{i} the" for i in range(50)))
    with engine.reading() as reader:
        ranking = reader.rank_words(WordQuery(["the", "quasar", "nebula"]), ["global"], limit=1)
    assert ranking.scores[ranking.order[0]].share < 0.01


def test_the_rarest_term_is_read_whatever_the_budget(engine: Engine) -> None:
    _, nodes = store(engine, "rare common\ncommon\ncommon")
    with engine.reading() as reader:
        ranking = reader.rank_words(
            WordQuery(["common", "rare"], max_postings=0), ["global"], limit=5
        )
        assert ranking.order == (nodes[1].id,)
        assert not ranking.complete
        assert ranking.scores[nodes[1].id].share == 1.0  # of what was read
        whole = reader.rank_words(
            WordQuery(["common", "rare"], max_postings=4), ["global"], limit=5
        )
        assert whole.complete
        assert len(whole.order) == 3


def test_a_deadline_that_has_passed_leaves_the_first_term(engine: Engine) -> None:
    store(engine, "a b c")
    with engine.reading() as reader:
        ranking = reader.rank_words(
            WordQuery(["a", "b", "c"], deadline_s=-1.0), ["global"], limit=5
        )
    assert len(ranking.order) == 1
    assert not ranking.complete


def test_a_thousand_terms_are_cut_to_the_rarest(engine: Engine) -> None:
    lines = [f"t{i}" for i in range(MAX_TERMS)] + [f"u{i}" for i in range(200)] * 2
    store(engine, "\n".join(lines))
    query = [f"u{i}" for i in range(200)] + [f"t{i}" for i in range(MAX_TERMS)]
    with engine.reading() as reader:
        ranking = reader.rank_words(WordQuery(query), ["global"], limit=1000)
        assert len(ranking.order) == MAX_TERMS
        assert not ranking.complete
        assert not reader.rank_words(
            WordQuery([f"q{i}" for i in range(9999)]), ["global"], limit=5
        ).complete


def test_an_empty_question_or_store_is_answered(engine: Engine) -> None:
    with engine.reading() as reader:
        empty = reader.rank_words(WordQuery(["a"]), ["global"], limit=5, also=[7])
    assert (empty.order, empty.complete, empty.scores[7].bm25) == ((), True, 0.0)
    store(engine, "a")
    with engine.reading() as reader:
        for terms, spaces, limit in (([], ["global"], 5), (["a"], [], 5), (["a"], ["global"], 0)):
            assert reader.rank_words(WordQuery(terms), spaces, limit=limit).order == ()


def test_two_spaces_are_ranked_as_one_store(engine: Engine) -> None:
    _, first = store(engine, "a b\nc", space="one")
    _, second = store(engine, "a\nd d2 d3", space="two")
    store(engine, "a\na\na", space="three")
    expected = bm25([*first, *second], ["a", "d"])
    with engine.reading() as reader:
        ranking = reader.rank_words(WordQuery(["a", "d"]), ["one", "two", "one", "nobody"], limit=9)
    assert set(ranking.order) == set(expected)
    for node, (score, share) in expected.items():
        assert ranking.scores[node].bm25 == pytest.approx(score)
        assert ranking.scores[node].share == pytest.approx(share)
