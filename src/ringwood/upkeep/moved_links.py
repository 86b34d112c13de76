"""Find similar edges for documents as rotation moves them, a batch at a time.

A new node is compared with the newest nodes and with those that share its words. What was written
about the same thing later, in other words, is not among them; by the time that a document ages, it
is there. Candidates stay bounded: one query by words over all of the batch, and a sample of the
batch itself. So a batch costs the same at a thousand nodes and at a million.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from ringwood.embed.meaning import Meaning
from ringwood.engine.base import Engine, NodeVector, Reader, WordQuery
from ringwood.types import SIMILAR, TIERS, Edge, Node
from ringwood.write.link import POSTINGS, LinkOptions
from ringwood.write.means import meaning_of
from ringwood.write.nodes import terms_of

LEXICAL = 240
"""Nodes that the query by words brings in, besides those of the batch itself."""
SAMPLE = 120
"""Nodes of the batch that its others are compared with."""

Ends = tuple[int, int]


def link_moved(
    engine: Engine, meaning: Meaning, link: LinkOptions, documents: Sequence[int]
) -> int:
    """Give nodes of moved documents the edges that they lack; return how many were found.

    A node that has `max_edges` already gets none. Edges never leave a space.

    Args:
        engine: where the documents lie by now.
        meaning: how similarity is measured.
        link: how many edges, and how strong.
        documents: one batch.

    Raises:
        BusyError: when the write lock was not had in time.
        StorageError: when the disk refuses.
    """
    with engine.reading() as reader:
        spaces: dict[str, list[int]] = defaultdict(list)
        for card in reader.documents(documents).values():
            spaces[card.space].append(card.id)
        found = [
            edge
            for space, theirs in sorted(spaces.items())
            for edge in _find(reader, space, theirs, meaning, link)
        ]
    return _write(engine, found, meaning.identity)


def _find(
    reader: Reader, space: str, documents: Sequence[int], meaning: Meaning, link: LinkOptions
) -> list[Edge]:
    """Choose the edges that the nodes of documents of one space are to get."""
    nodes = [node for document in documents for node in reader.nodes_of(document)]
    own = reader.vectors(meaning.identity, [node.id for node in nodes])
    others = own | reader.vectors(meaning.identity, _neighbours(reader, space, nodes))
    # Of its own batch a node meets a part only: pairs grow with the square.
    step = max(1, len(own) // SAMPLE)
    met = [each for i, each in enumerate(sorted(others)) if each not in own or i % step == 0]
    if not own or not met:
        return []
    here = meaning_of(reader, meaning, space)
    known = {(edge.source, edge.target) for edge in reader.edges(own)}
    degrees = Counter(end for ends in known for end in ends)
    chosen: dict[Ends, Edge] = {}
    for node in sorted(own):
        for other, weight in _nearest(own[node], {i: others[i] for i in met}, here, link):
            ends = (min(node, other), max(node, other))
            if degrees[node] >= link.max_edges:
                break
            if ends not in known:
                known.add(ends)
                degrees.update(ends)
                chosen[ends] = Edge(*ends, SIMILAR, weight)
    return list(chosen.values())


def _neighbours(reader: Reader, space: str, nodes: Sequence[Node]) -> list[int]:
    """Look for nodes that share words with any of these, in one query."""
    terms = {term for each in terms_of(nodes).values() for term in each}
    own = {node.id for node in nodes}
    query = WordQuery(sorted(terms), max_postings=POSTINGS)
    ranked = reader.rank_words(query, [space], limit=LEXICAL + len(own)).order
    return [node for node in ranked if node not in own][:LEXICAL]


def _nearest(
    one: NodeVector, others: Mapping[int, NodeVector], meaning: Meaning, link: LinkOptions
) -> list[tuple[int, float]]:
    """List the best of other documents over the threshold, strongest first."""
    apart = [(i, each) for i, each in others.items() if each.document != one.document]
    if not apart:
        return []
    weights = np.asarray(
        meaning.to_others(
            one.row,
            one.script,
            [each.row for _, each in apart],
            [each.script for _, each in apart],
        )
    )
    best = np.argsort(-weights, kind="stable")[: link.max_edges]
    return [(apart[i][0], float(weights[i])) for i in best if weights[i] >= link.threshold]


def _write(engine: Engine, edges: Sequence[Edge], identity: str) -> int:
    """Put edges where the newer of their two documents lies; return how many still stood."""
    if not edges:
        return 0
    with engine.reading() as reader:
        tiers = [tier for tier in TIERS if tier not in reader.missing_tiers]
        owners = _owners(reader, edges, identity)
        cards = reader.documents(owners.values())
    written = 0
    for tier in tiers:
        theirs = [e for e in edges if e in owners and cards[owners[e]].tier == tier]
        if not theirs:
            continue
        with engine.writing(tier) as writer, engine.reading() as reader:
            standing = _owners(reader, theirs, identity)
            there = reader.documents(standing.values())
            for edge, owner in standing.items():
                if there[owner].tier == tier:
                    writer.put_edges(owner, [edge])
                    written += 1
    return written


def _owners(reader: Reader, edges: Iterable[Edge], identity: str) -> dict[Edge, int]:
    """Map edges whose ends both are there to the newer of their documents."""
    wanted = list(edges)
    rows = reader.vectors(identity, {end for e in wanted for end in (e.source, e.target)})
    return {
        edge: max(rows[edge.source].document, rows[edge.target].document)
        for edge in wanted
        if edge.source in rows and edge.target in rows
    }
