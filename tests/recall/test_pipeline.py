"""Recall as a whole: what is found, what adds up, what is said."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from math import fsum
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.engine.moving import move_by_hand

from ringwood.embed.base import Anchors, FloatRows, FloatVector, Means
from ringwood.embed.hashing import HashingEmbedder
from ringwood.errors import AddressError, EmbedderError
from ringwood.memory import Memory
from ringwood.recall.budget import Budget
from ringwood.recall.frame import render
from ringwood.types import Recall

# IMP

NOTES = [
    "# Gateway\n\nThe gateway listens on port 8090 behind a balancer.\n\nIt reloads config.js.",
    "# Database\n\nWe chose SQLite because it needs no service and no administrator.",
    "# Kitchen\n\nSoak the beans overnight and cook them with a bay leaf.",
    "# 会议\n\n周三的会议改到周四下午三点，地点不变。",
    "# Deploys\n\n- build the image\n- push it to the registry\n- roll it out one host at a time",
]


@pytest.fixture
def filled(memory: Memory) -> Memory:
    for note in NOTES:
        memory.store(note)
    assert memory.wait()
    return memory


def paths(answer: Recall) -> list[str]:
    return [hit.path for hit in answer.hits]


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("which port does the gateway use", "/gateway"),
        ("why SQLite", "/database"),
        ("会议改到什么时候", "/会议"),
        ("roll out hosts", "/deploys"),
    ],
)
def test_a_question_finds_its_note(filled: Memory, query: str, path: str) -> None:
    assert paths(filled.recall(query))[0].startswith(path)


def test_every_score_is_the_sum_of_its_terms_and_every_candidate_has_an_outcome(
    filled: Memory,
) -> None:
    answer = filled.recall("gateway port", floor=0.0)

    assert answer.hits
    assert answer.dropped
    scored = [(each.score, each.terms) for each in answer.hits]
    scored += [(each.score, each.terms) for each in answer.dropped]
    for score, terms in scored:
        assert abs(score - fsum(term.value for term in terms)) <= 1e-9
    assert all(each.stage and each.reason for each in answer.dropped)
    seen = [*paths(answer), *(each.path for each in answer.dropped)]
    assert len(seen) == len(set(seen))


def test_a_query_about_nothing_in_the_store_returns_nothing_by_words(words: Memory) -> None:
    for note in NOTES:
        words.store(note)

    assert not words.recall("marathon training schedule").hits
    assert words.recall("gateway port").hits


def test_at_most_k_hits_and_the_budget_of_the_framed_block_hold(filled: Memory) -> None:
    for number in range(30):
        filled.store(f"# Note {number}\n\nThe gateway has quirk {number}. " + "Long story. " * 60)
    filled.wait()
    for budget in (
        Budget(3, 4000, 900),
        Budget(6, 700, 200),
        Budget(50, 1000, 900),
        Budget(6, 90, 90),
    ):
        answer = filled.recall("gateway quirk", budget=budget, floor=0.0)

        block = render(answer.hits, "0123456789abcdef")
        assert len(answer.hits) <= budget.max_nodes
        assert len(block) <= budget.max_chars
        assert all(len(hit.text) <= budget.max_node_chars for hit in answer.hits)
    assert filled.recall("gateway quirk", budget=Budget(3)).hits


def test_a_document_in_another_tier_scores_by_its_tier_weight_and_nothing_else(
    filled: Memory,
) -> None:
    query = "which port does the gateway use"
    before = direct_terms(filled.recall(query, floor=0.0, counted=False))
    found = filled.read("/gateway").document
    filled.wait()

    move_by_hand(Path(filled.home), found.id, "cold")
    answer = filled.recall(query, floor=0.0, counted=False)
    after = direct_terms(answer)

    assert filled.read("/gateway").document.tier == "cold"
    assert {hit.tier for hit in answer.hits if hit.path.startswith("/gateway")} == {"cold"}
    assert before.keys() == after.keys()
    assert len(before) > 5
    for path, terms in before.items():
        weight = 0.78 if path.startswith("/gateway") else 1.0
        for name in ("cosine", "lexical", "rrf"):
            assert after[path][name] == pytest.approx(terms[name] * weight, abs=1e-9)
        assert after[path]["access"] == terms["access"]


def direct_terms(answer: Recall) -> dict[str, dict[str, float]]:
    """Return the terms of every candidate that was found itself, by path."""
    terms = {each.path: each.terms for each in answer.hits}
    terms |= {each.path: each.terms for each in answer.dropped}
    named = {path: {term.name: term.value for term in each} for path, each in terms.items()}
    return {path: each for path, each in named.items() if "cosine" in each}


def test_a_hit_names_its_section_its_titles_and_its_siblings(filled: Memory) -> None:
    [hit] = filled.recall("push image registry", budget=Budget(1), floor=0.0).hits

    assert hit.address.startswith("global:/deploys")
    if hit.path != "/deploys":
        assert hit.section is not None
        assert hit.section.address == "global:/deploys"
        assert {each.text for each in hit.siblings} <= {
            "build the image",
            "push it to the registry",
            "roll it out one host at a time",
        }


class DownEmbedder(HashingEmbedder):
    """An embedder that can be switched off."""

    down = False

    def embed_passages(self, texts: Sequence[str]) -> FloatRows:
        """Embed, unless switched off."""
        if self.down:
            raise EmbedderError("the embedder is down", mend="start it")
        return super().embed_passages(texts)

    def embed_query(self, text: str, *, timeout_s: float | None = None) -> FloatVector:
        """Embed, unless switched off."""
        if self.down:
            raise EmbedderError("the embedder is down", mend="start it")
        return super().embed_query(text, timeout_s=timeout_s)


def test_with_the_embedder_down_recall_goes_on_by_words_and_says_so(tmp_path: Path) -> None:
    embedder = DownEmbedder()
    with Memory.open(tmp_path, embedder=embedder) as memory:
        memory.store(NOTES[0])
        memory.wait()
        embedder.down = True
        receipt = memory.store(NOTES[1])
        answer = memory.recall("why SQLite")
        assert not memory.wait(5.0)

        assert receipt.state == "pending"
        assert paths(answer)[0].startswith("/database")
        assert any("words only" in note for note in answer.notes)
        assert memory.stats().totals.states["failed"] == 1
    embedder.down = False
    with Memory.open(tmp_path, embedder=embedder) as memory:
        memory.recall("why SQLite")
        assert memory.wait(5.0)

        assert memory.stats().totals.states["ready"] == 2
        assert not memory.recall("why SQLite").notes


def test_as_of_leaves_out_what_came_later_and_says_what_is_of_today(memory: Memory) -> None:
    day = datetime(2026, 3, 1, tzinfo=UTC)
    memory.store("The gateway port was 8090.", at=day)
    memory.store("The gateway port is 8091 now.", at=day + timedelta(days=60))

    answer = memory.recall("gateway port", as_of=day + timedelta(days=1))

    assert [hit.text for hit in answer.hits] == ["The gateway port was 8090."]
    assert any(each.stage == "as_of" for each in answer.dropped)
    assert any("today" in note for note in answer.notes)


def test_returned_nodes_count_one_access_and_explained_ones_none(filled: Memory) -> None:
    path = paths(filled.recall("gateway port"))[0]
    filled.recall("gateway port", counted=False)
    filled.wait()
    filled.explain(filled.recall("why SQLite").recall_id)

    assert filled.read(path).node.access == 1


def test_explain_returns_what_was_answered_and_forgets_with_the_text(filled: Memory) -> None:
    answer = filled.recall("gateway port")

    logged = filled.explain(answer.recall_id)
    assert [hit["path"] for hit in logged["hits"]] == paths(answer)
    assert len(logged["dropped"]) == len(answer.dropped)

    filled.forget("/gateway")
    with pytest.raises(AddressError, match="holds no recall"):
        filled.explain(answer.recall_id)


@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    st.text(max_size=80), st.text(alphabet='"*()-:^+{}[]\\AND OR NEAR\x00\ud800é中', max_size=40)
)
def test_any_text_may_be_stored_and_asked(words: Memory, text: str, query: str) -> None:
    words.create()
    if text.strip():
        words.store(text)
    answer = words.recall(query + text)

    assert isinstance(answer.hits, tuple)
    assert all(np.isfinite(hit.score) for hit in answer.hits)


@pytest.mark.parametrize("embedder", ["words", "hashing"])
def test_the_best_word_hit_of_a_real_query_never_scores_nothing(
    tmp_path: Path, embedder: str
) -> None:
    with Memory.open(tmp_path, embedder=embedder) as memory:
        memory.store(NOTES[0])
        best = memory.recall("gateway port").hits[0]

    assert best.signals.lexical == 1.0
    assert best.score > 0.2


def test_means_and_anchors_of_an_embedder_are_what_recall_compares_with() -> None:
    embedder = HashingEmbedder()

    assert isinstance(embedder.means, Means)
    assert isinstance(embedder.anchors, Anchors)
