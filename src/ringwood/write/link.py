"""Soft links: up to three similar neighbours for each new node.

Candidates are bounded, so that a write costs the same at a thousand nodes and at a million: the
most recent nodes of the space and the best by words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ringwood.embed.meaning import Meaning
from ringwood.engine.base import FloatVector, NodeVector, Reader, WordQuery
from ringwood.text.terms import query_terms
from ringwood.types import SIMILAR, Edge, Node

POSTINGS = 20_000
"""Postings read for the lexical neighbours of one node: about 5 ms."""


@dataclass(frozen=True, slots=True)
class LinkOptions:
    """How many links, and how strong."""

    max_edges: int = 3
    """Edges that a new node gets at most."""
    threshold: float = 0.72
    """Calibrated similarity of linked nodes, 0..1: one random pair in a thousand reaches it."""
    recent: int = 120
    """How many of the newest nodes are compared."""
    lexical: int = 20
    """How many of the best nodes by words are compared."""


def link(
    reader: Reader,
    space: str,
    nodes: Sequence[Node],
    vectors: Mapping[int, FloatVector],
    meaning: Meaning,
    options: LinkOptions,
) -> tuple[Edge, ...]:
    """Choose the similar edges of new nodes.

    Args:
        reader: a snapshot that holds the nodes' words.
        space: their space; edges never leave it.
        nodes: the nodes of one document.
        vectors: their rows by node id.
        meaning: how similarity is measured.
        options: bounds.

    A node is not linked to its own document's nodes: structure joins those already.
    """
    recent = reader.vectors(meaning.identity, reader.recent_nodes(space, options.recent))
    edges: dict[tuple[int, int], Edge] = {}
    for node in nodes:
        if node.id not in vectors:
            continue
        terms = query_terms(node.text)
        words = reader.rank_words(
            WordQuery(terms, max_postings=POSTINGS), [space], limit=options.lexical
        )
        others = recent | reader.vectors(
            meaning.identity, [each for each in words.order if each not in recent]
        )
        for other, weight in _nearest(node, vectors[node.id], others, meaning, options):
            pair = (min(node.id, other), max(node.id, other))
            edges[pair] = Edge(*pair, SIMILAR, weight)
    return tuple(edges.values())


def _nearest(
    node: Node,
    row: FloatVector,
    others: Mapping[int, NodeVector],
    meaning: Meaning,
    options: LinkOptions,
) -> list[tuple[int, float]]:
    """Return the best neighbours over the threshold, strongest first; ties by the newer node."""
    apart = {identity: each for identity, each in others.items() if each.document != node.document}
    if not apart:
        return []
    weights = meaning.to_others(
        row,
        node.script,
        [each.row for each in apart.values()],
        [each.script for each in apart.values()],
    )
    ranked = sorted(zip(apart, weights, strict=True), key=lambda pair: (-pair[1], -pair[0]))
    return [pair for pair in ranked[: options.max_edges] if pair[1] >= options.threshold]
