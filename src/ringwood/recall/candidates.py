"""Find the nodes that may answer: the best by words and the best by meaning."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
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
    measure: Callable[[Collection[str]], WordScore]
    """Scores distinct index terms as if a node of the store held them."""


def gather(
    reader: Reader,
    terms: Sequence[str],
    queries: Mapping[str, VectorQuery],
    spaces: Sequence[str],
    options: CandidateOptions,
) -> Gathered:
    """Rank by words and, where there are query vectors, by meaning; measure the union by both.

    Args:
        reader: a snapshot.
        terms: the words of the query.
        queries: its vector for every space, centred there; empty for words alone.
        spaces: where to look.
        options: how widely.
    """
    cosines: dict[int, Cosine] = {}
    for space, query in queries.items():
        cosines |= reader.rank_vectors(query, [space], limit=options.top_k).cosines
    ranked = sorted(cosines, key=lambda node: (-cosines[node].centred, -node))
    order = tuple(ranked[: options.top_k])
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
    unmeasured = [node for node in words.order if node not in cosines]
    for space, query in queries.items():
        cosines |= reader.cosines(query, unmeasured, space)
    return Gathered(words.order, order, words.scores, cosines, words.complete, words.measure)
