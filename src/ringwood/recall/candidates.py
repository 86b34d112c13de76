"""Find the nodes that may answer: the best by words and the best by meaning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ringwood.engine.base import Cosine, Reader, VectorQuery, WordQuery, WordScore
from ringwood.text.terms import absent_weight


@dataclass(frozen=True, slots=True)
class CandidateOptions:
    """How widely to look."""

    top_k: int = 50
    """Nodes taken from each ranking: eight times what a recall returns."""
    max_postings: int = 60_000
    """Postings read for the words of a query. 60,000 cost about 17 ms at 150,000 nodes."""
    words_deadline_s: float = 1.0
    """When to stop reading postings, seconds."""


@dataclass(frozen=True, slots=True)
class Gathered:
    """Both rankings, and both measurements for every node of either."""

    words: tuple[int, ...]
    """Node ids by BM25, best first."""
    vectors: tuple[int, ...]
    """Node ids by centred cosine, best first."""
    word_scores: Mapping[int, WordScore]
    """BM25 and idf share of every node of either ranking."""
    cosines: Mapping[int, Cosine]
    """Cosines of every node of either ranking that has a vector."""
    complete: bool
    """False when terms of the query were left unread."""


def gather(
    reader: Reader,
    terms: Sequence[str],
    query: VectorQuery | None,
    spaces: Sequence[str],
    options: CandidateOptions,
) -> Gathered:
    """Rank by words and, where there is a query vector, by meaning; measure the union by both."""
    order: tuple[int, ...] = ()
    cosines: dict[int, Cosine] = {}
    if query is not None:
        ranking = reader.rank_vectors(query, spaces, limit=options.top_k)
        order, cosines = ranking.order, dict(ranking.cosines)
    words = reader.rank_words(
        WordQuery(
            terms,
            max_postings=options.max_postings,
            deadline_s=options.words_deadline_s,
            absent_weight=absent_weight,
        ),
        spaces,
        limit=options.top_k,
        also=order,
    )
    if query is not None:
        cosines |= reader.cosines(query, [node for node in words.order if node not in cosines])
    return Gathered(words.order, order, words.scores, cosines, words.complete)
