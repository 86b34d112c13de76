"""Writing: one transaction on one tier file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import apsw

from ringwood.engine.base import FloatVector, NodeWrite
from ringwood.engine.sqlite import attempts as attempting
from ringwood.engine.sqlite import coverage
from ringwood.engine.sqlite.home_writing import number_of_space
from ringwood.engine.sqlite.merge_writing import MergeWriting
from ringwood.engine.sqlite.rows import (
    Row,
    digest_key,
    id_array,
    row_of_node,
    stamp_of,
)
from ringwood.engine.sqlite.vector_copy import bound_deletions
from ringwood.engine.sqlite.vectors import quantise
from ringwood.engine.sqlite.versions import pack
from ringwood.engine.sqlite.words import content_of
from ringwood.types import Document, Edge, Node, State, Tier

_SPACE_NUMBER = "SELECT number FROM spaces WHERE name = ?"
_ADD_SPACE = "INSERT INTO spaces (number, name) VALUES (?, ?)"
_COUNT_NODES = "UPDATE spaces SET nodes = nodes + ?, length = length + ? WHERE number = ?"

_STORED = "SELECT space, sha256, text FROM documents WHERE id = ?"
_SHA256 = "SELECT sha256 FROM documents WHERE id = ?"
_PUT_DOCUMENT = """
INSERT INTO documents (id, space, source, path, title, sha256, actor, importance, created_at,
    stored_at, changed_at, state, error, seen, text)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET space = excluded.space, source = excluded.source,
    path = excluded.path, title = excluded.title, sha256 = excluded.sha256,
    actor = excluded.actor, importance = excluded.importance, created_at = excluded.created_at,
    stored_at = excluded.stored_at, changed_at = excluded.changed_at, state = excluded.state,
    error = excluded.error, seen = excluded.seen, text = excluded.text"""
_KEEP_VERSION = """
INSERT INTO versions (document, until, sha256, text, nodes) VALUES (?, ?, ?, ?, ?)"""
_NODES_KEPT = """
SELECT id, parent, position, kind, title, path, span_start, span_end, own_start, own_end, script,
    length, access, actor, text
FROM nodes WHERE document = ? ORDER BY position"""
_DROP_VERSIONS = "DELETE FROM versions WHERE document = ?"
_DROP_GONE = """
DELETE FROM aliases WHERE document = ? AND node NOT IN (SELECT id FROM nodes WHERE document = ?)
"""
_DELETE_DOCUMENT = "DELETE FROM documents WHERE id = ?"
_SET_STATE = "UPDATE documents SET state = ?, error = ? WHERE id = ?"
_SET_MIRRORED = "UPDATE documents SET mirrored_sha256 = ?, mirrored_path = ? WHERE id = ?"
_COUNT_AGAIN = "UPDATE documents SET seen = seen + 1 WHERE id = ?"

_STORED_NODES = """
SELECT id, title, kind, path, length, access, own_start, own_end, text
FROM nodes WHERE document = ?"""
_DELETE_NODES = "DELETE FROM nodes WHERE document = ?"
ADD_NODE = """
INSERT INTO nodes (id, document, space, parent, position, kind, title, path, span_start, span_end,
    own_start, own_end, script, length, access, actor, text)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
"""Writes one node; columns as `row_of_node` gives them."""
_COUNT_ACCESS = """
UPDATE nodes SET access = access + 1 WHERE id IN carray(?)"""
_NODES_PRESENT = """
SELECT count(*) FROM nodes WHERE document = ? AND id IN carray(?)"""

_ADD_WORDS = "INSERT INTO words (rowid, terms) VALUES (?, ?)"
_DELETE_WORDS = "DELETE FROM words WHERE rowid = ?"

_EMBEDDER = "SELECT number, dim FROM embedders WHERE identity = ?"
_ADD_EMBEDDER = "INSERT INTO embedders (identity, dim) VALUES (?, ?) RETURNING number, dim"
_DELETE_VECTOR = "DELETE FROM vectors WHERE node = ? AND embedder = ?"
_ADD_VECTOR = """
INSERT INTO vectors (node, embedder, space, script, digest, row)
SELECT id, ?, space, script, ?, ? FROM nodes WHERE id = ?"""
_DELETE_VECTORS = "DELETE FROM vectors WHERE node = ?"

_PUT_EDGE = """
INSERT INTO edges (source, target, kind, weight, document) VALUES (?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET weight = excluded.weight, document = excluded.document"""
_DELETE_EDGES = "DELETE FROM edges WHERE source = ?1 OR target = ?1"
_DELETE_SAID = """
DELETE FROM edges WHERE source = ?1 OR (target = ?1 AND kind = 'similar')"""
_DELETE_EDGE = "DELETE FROM edges WHERE source = ? AND target = ? AND kind = ?"
_DELETE_EDGES_OF = "DELETE FROM edges WHERE document = ?"

_PUT_ALIAS = """
INSERT INTO aliases (space, path, node, document, until) VALUES (?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET node = excluded.node, document = excluded.document,
    until = excluded.until"""
_DELETE_ALIAS = "DELETE FROM aliases WHERE space = ? AND path = ?"
_DELETE_ALIASES = "DELETE FROM aliases WHERE document = ?"


class TierWriter(MergeWriting):
    """A `Writer` inside an open transaction. Used by one thread, for that transaction only."""

    def __init__(
        self, connection: apsw.Connection, tier: Tier, number_in_hot: Callable[[str], int]
    ) -> None:
        self._connection = connection
        self._tier = tier
        self._number_in_hot = number_in_hot

    def put_document(self, document: Document, text: str, nodes: Sequence[NodeWrite]) -> None:
        """Insert or replace a document; see `Writer`."""
        space = self._number_of(document.space)
        stored = self._connection.execute(_STORED, (document.id,)).fetchone()
        old: dict[int, _StoredNode] = {}
        if stored is not None:
            old_space, old_sha256, old_text = stored
            old = self._stored_nodes(document.id, old_text)
            if old_sha256 != document.sha256:
                self._keep_version(document, old_sha256, old_text)
            self._let_go(old, {w.node.id: w.node for w in nodes} if old_space == space else {})
            self._remove_nodes(document.id, old_space, old)
            self._leave_aliases(document, old_space, old, {w.node.id: w.node for w in nodes})
        self._connection.execute(_PUT_DOCUMENT, _row_of_document(document, space, text))
        self._add_nodes(space, text, nodes, old)

    def _keep_version(self, document: Document, sha256: str, text: str) -> None:
        nodes = pack(self._connection.execute(_NODES_KEPT, (document.id,)).fetchall())
        version = (document.id, stamp_of(document.changed_at), sha256, text, nodes)
        self._connection.execute(_KEEP_VERSION, version)

    def delete_document(self, document: int) -> bool:
        """Remove a document with all that was derived from it; see `Writer`."""
        stored = self._connection.execute(_STORED, (document,)).fetchone()
        if stored is None:
            return False
        space, _, text = stored
        old = self._stored_nodes(document, text)
        self._let_go(old, {})
        self._remove_nodes(document, space, old)
        self._connection.execute(_DELETE_EDGES_OF, (document,))
        self._connection.execute(_DELETE_ALIASES, (document,))
        self._connection.execute(_DELETE_DOCUMENT, (document,))  # its versions go with it
        attempting.drop_attempts_at(self._connection, document)
        return True

    def drop_history(self, document: int, *, addresses: bool = False) -> None:
        """Remove a document's earlier texts and the old paths of nodes that are gone."""
        self._connection.execute(_DROP_VERSIONS, (document,))
        if addresses:
            self._connection.execute(_DELETE_ALIASES, (document,))
        else:
            self._connection.execute(_DROP_GONE, (document, document))

    def set_state(self, document: int, state: State, error: str | None) -> None:
        """Record how far a document got."""
        self._connection.execute(_SET_STATE, (state, error, document))

    def set_mirrored(self, document: int, sha256: str, file: str) -> None:
        """Record which text the Markdown mirror holds, and in which file."""
        self._connection.execute(_SET_MIRRORED, (sha256, file, document))

    def count_again(self, document: int) -> None:
        """Count that the identical text was stored once more."""
        self._connection.execute(_COUNT_AGAIN, (document,))

    def count_access(self, nodes: Iterable[int]) -> None:
        """Count that nodes were returned or injected; ids not in this tier are ignored."""
        ids = id_array(nodes)
        if len(ids):
            self._connection.execute(_COUNT_ACCESS, (apsw.carray(ids),))

    def _stored_nodes(self, document: int, text: str) -> dict[int, _StoredNode]:
        found: list[Row] = self._connection.execute(_STORED_NODES, (document,)).fetchall()
        return {row[0]: _stored_node(row[1:], text) for row in found}

    def _let_go(self, old: Mapping[int, _StoredNode], kept: Mapping[int, Node]) -> None:
        """Delete vectors and edges of nodes that are gone or say something else now.

        A link to a node that says something else still leads there.
        """
        gone = [(i,) for i in old if i not in kept]
        changed = [(i,) for i, node in old.items() if i in kept and not node.says(kept[i])]
        self._connection.executemany(_DELETE_VECTORS, [*gone, *changed])
        self._connection.executemany(_DELETE_EDGES, gone)
        self._connection.executemany(_DELETE_SAID, changed)
        bound_deletions(self._connection)

    def _remove_nodes(self, document: int, space: int, old: Mapping[int, _StoredNode]) -> None:
        """Delete a document's nodes with their words."""
        # FTS5 keeps both texts' terms when a rowid is written over: delete first, always.
        self._connection.executemany(_DELETE_WORDS, [(i,) for i in old])
        self._connection.execute(_DELETE_NODES, (document,))
        self._count(space, -len(old), -sum(node.length for node in old.values()))

    def _add_nodes(
        self,
        space: int,
        text: str,
        writes: Sequence[NodeWrite],
        old: Mapping[int, _StoredNode],
    ) -> None:
        rows = []
        for write in writes:
            node = write.node
            if node.id in old:
                node = replace(node, access=max(node.access, old[node.id].access))
            rows.append(row_of_node(node, space, text))
        self._connection.executemany(ADD_NODE, rows)
        self._connection.executemany(
            _ADD_WORDS, [(w.node.id, content_of(space, w.terms)) for w in writes]
        )
        self._connection.executemany(_DELETE_ALIAS, [(space, w.node.path) for w in writes])
        self._count(space, len(writes), sum(w.node.length for w in writes))

    def _leave_aliases(
        self,
        document: Document,
        space: int,
        old: Mapping[int, _StoredNode],
        new: Mapping[int, Node],
    ) -> None:
        """Remember where nodes were addressed that moved or are gone."""
        until = stamp_of(document.changed_at)
        self._connection.executemany(
            _PUT_ALIAS,
            [
                (space, node.path, i, document.id, until)
                for i, node in old.items()
                if i not in new or new[i].path != node.path
            ],
        )

    def _count(self, space: int, nodes: int, length: int) -> None:
        self._connection.execute(_COUNT_NODES, (nodes, length, space))

    # -- vectors and edges ---------------------------------------------------------------------

    def put_vectors(  # noqa: PLR0913 - the protocol's
        self,
        document: int,
        sha256: str,
        embedder: str,
        rows: Mapping[int, FloatVector],
        digests: Mapping[int, str],
        edges: Sequence[Edge],
        *,
        ready: bool = True,
    ) -> bool:
        """Write vectors and edges and mark the document ready; see `Writer`."""
        if self._connection.execute(_SHA256, (document,)).get != sha256:
            return False
        ids = id_array(rows)
        if len(ids):
            present = self._connection.execute(_NODES_PRESENT, (document, apsw.carray(ids))).get
            if present != len(rows):
                return False
            number = self._number_of_embedder(embedder, rows)
            kept = [(number, digest_key(digests[i]), quantise(row), i) for i, row in rows.items()]
            self._connection.executemany(_DELETE_VECTOR, [(i, number) for i in rows])
            self._connection.executemany(_ADD_VECTOR, kept)
        self.put_edges(document, edges)
        if ready:
            self.set_state(document, "ready", None)
        return True

    def put_edges(self, document: int, edges: Iterable[Edge]) -> None:
        """Write edges that lie with a document of this tier."""
        self._connection.executemany(
            _PUT_EDGE, [(e.source, e.target, e.kind, e.weight, document) for e in edges]
        )

    def drop_edges(self, edges: Iterable[Edge]) -> None:
        """Delete edges by their ends and kind; those that lie in another tier are ignored."""
        self._connection.executemany(_DELETE_EDGE, [(e.source, e.target, e.kind) for e in edges])

    def drop_vectors(self, embedder: str, limit: int) -> int:
        """Delete up to `limit` vectors of one identity; return how many there were."""
        return coverage.drop_vectors(self._connection, embedder, limit)

    def _number_of_embedder(self, identity: str, rows: Mapping[int, FloatVector]) -> int:
        dims = {len(row) for row in rows.values()}
        found = self._connection.execute(_EMBEDDER, (identity,)).get
        number, dim = found or self._connection.execute(_ADD_EMBEDDER, (identity, min(dims))).get
        if dims != {dim}:
            raise ValueError(f"rows of {identity} have {dim} columns, not {sorted(dims)}")
        return int(number)

    def _number_of(self, space: str) -> int:
        """Find or make a space's number; a colder file is told the number that hot gave it."""
        if self._tier == "hot":
            return number_of_space(self._connection, space)
        number = self._connection.execute(_SPACE_NUMBER, (space,)).get
        if number is None:
            number = self._number_in_hot(space)
            self._connection.execute(_ADD_SPACE, (number, space))
        return int(number)


@dataclass(frozen=True, slots=True)
class _StoredNode:
    """What replacing a document needs to know of a node that was there before."""

    title: str
    kind: str
    path: str
    length: int
    access: int
    text: str

    def says(self, node: Node) -> bool:
        """Say whether what was embedded is unchanged."""
        return (self.title, self.kind, self.text) == (node.title, node.kind, node.text)


def _stored_node(row: Row, document_text: str) -> _StoredNode:
    title, kind, path, length, access, own_start, own_end, text = row
    own = document_text[own_start:own_end] if text is None else text
    return _StoredNode(title, kind, path, length, access, own)


def _row_of_document(document: Document, space: int, text: str) -> Row:
    return (
        document.id,
        space,
        document.source,
        document.path,
        document.title,
        document.sha256,
        document.actor,
        document.importance,
        stamp_of(document.created_at),
        stamp_of(document.stored_at),
        stamp_of(document.changed_at),
        document.state,
        document.error,
        document.seen,
        text,
    )
