"""Memory as of a moment: what was written by then, in the words of then.

What has not changed since is found as always. Documents that have changed since are looked at one
by one, in their words of then: a vector of another text says nothing of it. Of what was forgotten
no version is left, and so it is found as of no day.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from ringwood.engine.base import NodeReader, Reader
from ringwood.recall.candidates import Gathered
from ringwood.text.terms import index_terms
from ringwood.types import SIMILAR, Document, Edge, Node

NOTE = (
    "Texts are those of then, and what has changed since is found by its words of then. Vectors,"
    " edges and access counts are today's."
)
MAX_CHANGED = 500
"""Documents that are looked at in their words of then, the newest first: about half a second."""
CUT_NOTE = (
    f"More than {MAX_CHANGED} documents have changed since: the oldest were looked at as of today."
)


class Past(NodeReader):
    """A snapshot as it would have been read at a moment."""

    def __init__(self, reader: Reader, at: datetime) -> None:
        """Look back from a snapshot of today."""
        self._reader = reader
        self._at = at
        self._documents: dict[int, Document | None] = {}
        self._then: dict[int, dict[int, Node]] = {}
        """Nodes of then by id, for each document that has changed since."""
        self._by_id: dict[int, Node] = {}
        """The same in one."""

    def documents(self, ids: Iterable[int]) -> dict[int, Document]:
        """Fetch the cards of documents that were written by then, last changed as it was then."""
        wanted = list(ids)
        for card in self._reader.documents(set(wanted) - self._documents.keys()).values():
            self._documents[card.id] = self._as_of(card)
        found = ((identity, self._documents.get(identity)) for identity in wanted)
        return {identity: card for identity, card in found if card is not None}

    def _as_of(self, card: Document) -> Document | None:
        """Return a card as it was, having looked up the nodes of then; None before its time."""
        if card.created_at > self._at:
            return None
        version = self._reader.version_at(card.id, self._at)
        if version is None:
            return card
        if version.nodes:
            self._then[card.id] = {node.id: node for node in version.nodes}
            self._by_id |= self._then[card.id]
            card = replace(card, path=version.nodes[0].path, title=version.nodes[0].title)
        changed = self._reader.changed_before(card.id, self._at)
        return replace(card, changed_at=changed or card.created_at)

    def nodes(self, ids: Iterable[int]) -> dict[int, Node]:
        """Fetch nodes as they were; what was not there then is left out.

        Access counts are today's.
        """
        wanted = set(ids)
        today = self._reader.nodes(wanted)
        there = self.documents({node.document for node in today.values()})
        found: dict[int, Node] = {}
        for identity, node in today.items():
            if node.document in there:
                then = self._then.get(node.document, {identity: node}).get(identity)
                if then is not None:
                    found[identity] = replace(then, access=node.access)
        gone = wanted & self._by_id.keys() - today.keys()
        return found | {identity: self._by_id[identity] for identity in gone}

    def beside(self, node: int, limit: int) -> tuple[Node, ...]:
        """List up to `limit` nodes under the same parent, nearest in reading order first."""
        own = self._by_id.get(node)
        if own is None:
            return self._reader.beside(node, limit)
        nodes = self._then[own.document].values()
        beside = [each for each in nodes if each.parent == own.parent and each.id != node]
        beside.sort(key=lambda each: (abs(each.order - own.order), each.order))
        return tuple(beside[: max(0, limit)]) if own.parent is not None else ()

    def edges(self, ids: Iterable[int], kind: str = SIMILAR) -> tuple[Edge, ...]:
        """List today's edges."""
        return self._reader.edges(ids, kind)

    def gathered(
        self, gathered: Gathered, spaces: Sequence[str], top_k: int
    ) -> tuple[Gathered, bool]:
        """Rank anew with the words of then.

        Args:
            gathered: what was found today.
            spaces: where.
            top_k: how many of the best by words are kept.

        Returns:
            What is found as of then, and whether all that has changed since was looked at.
        """
        changed = self._reader.changed_since(spaces, self._at, MAX_CHANGED + 1)
        self.documents(changed[:MAX_CHANGED])
        scores = {i: score for i, score in gathered.word_scores.items() if i not in self._by_id}
        today = self._reader.nodes(self._by_id)
        stale = {i for i, node in today.items() if not _says_the_same(node, self._by_id.get(i))}
        for identity, node in self._by_id.items():
            scores[identity] = gathered.measure(index_terms(node.text))
        order = sorted(
            (i for i, score in scores.items() if score.bm25 > 0),
            key=lambda i: (-scores[i].bm25, -i),
        )
        vectors = tuple(i for i in gathered.vectors if i not in stale)
        kept = {*order[:top_k], *vectors}
        return (
            replace(
                gathered,
                words=tuple(order[:top_k]),
                vectors=vectors,
                word_scores={i: score for i, score in scores.items() if i in kept},
                cosines={i: c for i, c in gathered.cosines.items() if i not in stale},
            ),
            len(changed) <= MAX_CHANGED,
        )


def _says_the_same(node: Node, then: Node | None) -> bool:
    return then is None or (node.title, node.text) == (then.title, then.text)
