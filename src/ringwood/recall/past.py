"""Memory as of a moment: what was written by then, in the words of then.

Nodes are found by today's words and vectors; what is shown of them is their text, title, place and
neighbours as they were. A node of then that is gone today is not found, and none that was forgotten
is shown.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from ringwood.engine.base import NodeReader, Reader
from ringwood.types import SIMILAR, Document, Edge, Node

NOTE = (
    "Texts are those of then. What finds and ranks them is today's: words, vectors, edges and"
    " access counts."
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
        for nodes in self._then.values():  # a parent of then may be gone today
            found |= {i: nodes[i] for i in (wanted - found.keys()) & nodes.keys()}
        return found

    def beside(self, node: int, limit: int) -> tuple[Node, ...]:
        """List up to `limit` nodes under the same parent, nearest in reading order first."""
        for nodes in self._then.values():
            own = nodes.get(node)
            if own is not None and own.parent is not None:
                beside = [
                    each for each in nodes.values() if each.parent == own.parent and each.id != node
                ]
                beside.sort(key=lambda each: (abs(each.order - own.order), each.order))
                return tuple(beside[: max(0, limit)])
        return self._reader.beside(node, limit)

    def edges(self, ids: Iterable[int], kind: str = SIMILAR) -> tuple[Edge, ...]:
        """List today's edges."""
        return self._reader.edges(ids, kind)
