"""Writing parts of one tier file anew: the statements of a `Mender`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import apsw

from ringwood.engine.base import NodeWrite
from ringwood.engine.sqlite.rows import id_array, row_of_node
from ringwood.engine.sqlite.tier import ADD_NODE
from ringwood.engine.sqlite.vector_copy import bound_deletions
from ringwood.engine.sqlite.words import content_of

_DROP_NODES = "DELETE FROM nodes WHERE document = ?"
_DROP_LONE = (
    "DELETE FROM nodes WHERE document NOT IN (SELECT id FROM documents)",
    """DELETE FROM vectors WHERE NOT EXISTS (SELECT 1 FROM nodes n
        WHERE n.id = vectors.node AND n.space = vectors.space AND n.script = vectors.script)""",
    "DELETE FROM aliases WHERE document NOT IN (SELECT id FROM documents)",
    "DELETE FROM recalled WHERE recall NOT IN (SELECT number FROM recalls)",
)
_DROP_VECTORS = "DELETE FROM vectors WHERE node IN carray(?)"
_RECOUNT = """
UPDATE spaces SET (nodes, length) = (
    SELECT count(*), coalesce(sum(length), 0) FROM nodes WHERE space = spaces.number)"""
_CLEAR_WORDS = "INSERT INTO words (words) VALUES ('delete-all')"
_DELETE_WORDS = "DELETE FROM words WHERE rowid = ?"
_ADD_WORDS = "INSERT INTO words (rowid, terms) VALUES (?, ?)"
_UNMIRROR = "UPDATE documents SET mirrored_sha256 = NULL WHERE id = ?"


class TierMender:
    """A `Mender` inside an open transaction."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def put_words(self, space: int, terms: Mapping[int, Sequence[str]]) -> None:
        """Write the words of nodes anew; see `Mender`."""
        # FTS5 keeps both texts' terms when a rowid is written over: delete first, always.
        self._connection.executemany(_DELETE_WORDS, [(node,) for node in terms])
        rows = [(node, content_of(space, each)) for node, each in terms.items()]
        self._connection.executemany(_ADD_WORDS, rows)

    def put_nodes(self, document: int, space: int, text: str, nodes: Sequence[NodeWrite]) -> None:
        """Write a document's nodes and words anew; see `Mender`."""
        self._connection.execute(_DROP_NODES, (document,))
        rows = [row_of_node(each.node, space, text) for each in nodes]
        self._connection.executemany(ADD_NODE, rows)
        self.put_words(space, {each.node.id: each.terms for each in nodes})

    def clear_words(self) -> None:
        """Empty the word index; see `Mender`."""
        self._connection.execute(_CLEAR_WORDS)

    def drop_vectors_of(self, nodes: Iterable[int]) -> None:
        """Delete the vectors of nodes; see `Mender`."""
        ids = id_array(nodes)
        if len(ids):
            self._connection.execute(_DROP_VECTORS, (apsw.carray(ids),))
            bound_deletions(self._connection)

    def drop_orphans(self) -> int:
        """Delete what belongs to nothing; see `Mender`."""
        dropped = 0
        for query in _DROP_LONE:
            self._connection.execute(query)
            dropped += self._connection.changes()
        bound_deletions(self._connection)
        return dropped

    def recount(self) -> None:
        """Count the nodes of every space anew; see `Mender`."""
        self._connection.execute(_RECOUNT)

    def unmirror(self, document: int) -> None:
        """Forget that the mirror holds a document; see `Mender`."""
        self._connection.execute(_UNMIRROR, (document,))
