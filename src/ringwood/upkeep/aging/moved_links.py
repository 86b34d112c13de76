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

from ringwood.embed.calibration import calibrate
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
    nodes = {node.id: node for each in documents for node in reader.nodes_of(each)}
    own = reader.vectors(meaning.identity, nodes)
    known = {(edge.source, edge.target) for edge in reader.edges(own)}
    degrees = Counter(end for ends in known for end in ends)
    lacking = [node for node in sorted(own) if degrees[node] < link.max_edges]
    if not lacking:
        return []
    others = reader.vectors(meaning.identity, _neighbours(reader, space, nodes, lacking))
    # Of its own batch a node meets a part only: pairs grow with the square.
    step = max(1, len(own) // SAMPLE)
    met = [*sorted(own)[::step], *sorted(others)]
    compared = _Compared(meaning_of(reader, meaning, space), own | others, met)
    chosen: list[Edge] = []
    for node in lacking:
        for other, weight in compared.nearest(node, link):
            ends = (min(node, other), max(node, other))
            if degrees[node] < link.max_edges and ends not in known:
                known.add(ends)
                degrees.update(ends)
                chosen.append(Edge(*ends, SIMILAR, weight))
    return chosen


def _neighbours(
    reader: Reader, space: str, nodes: Mapping[int, Node], lacking: Sequence[int]
) -> list[int]:
    """Look for nodes that share words with any of those that lack edges, in one query."""
    of_each = terms_of(list(nodes.values()))
    terms = {term for node in lacking for term in of_each[node]}
    query = WordQuery(sorted(terms), max_postings=POSTINGS)
    ranked = reader.rank_words(query, [space], limit=LEXICAL + len(nodes)).order
    return [node for node in ranked if node not in nodes][:LEXICAL]


class _Compared:
    """Nodes, and those that they are compared with: centred once for all of them."""

    def __init__(
        self, meaning: Meaning, nodes: Mapping[int, NodeVector], met: Sequence[int]
    ) -> None:
        self._meaning = meaning
        self._nodes = nodes
        self._met = met
        self._places = {node: place for place, node in enumerate(nodes)}
        scripts = [each.script for each in nodes.values()]
        self._rows = meaning.centre(np.stack([each.row for each in nodes.values()]), scripts)
        places = [self._places[node] for node in met]
        self._others = self._rows[places]
        self._documents = np.array([nodes[node].document for node in met])
        theirs = np.array([nodes[node].script for node in met])
        self._of_script = {script: np.flatnonzero(theirs == script) for script in set(scripts)}

    def nearest(self, node: int, link: LinkOptions) -> list[tuple[int, float]]:
        """List the best nodes of other documents over the threshold, strongest first."""
        one = self._nodes[node]
        # Row by row: a product of all would wake the threads of OpenBLAS, as in `Meaning.among`.
        similar = self._others @ self._rows[self._places[node]]
        for script, places in self._of_script.items():
            anchors = self._meaning.anchors_between(one.script, script)
            similar[places] = calibrate(similar[places], anchors)
        similar[self._documents == one.document] = -1.0
        best = np.argsort(-similar, kind="stable")[: link.max_edges]
        return [
            (self._met[place], round(float(similar[place]), 5))
            for place in best
            if similar[place] >= link.threshold
        ]


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
