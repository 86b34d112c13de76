"""Reading: one snapshot over three tier files, through views in which the hottest copy wins."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any

import apsw

from ringwood.engine.history import Former, Version
from ringwood.engine.sqlite.attempts import Attempting
from ringwood.engine.sqlite.coverage import Covering
from ringwood.engine.sqlite.home_reading import HomeReading
from ringwood.engine.sqlite.merging import Merging
from ringwood.engine.sqlite.ranking import Ranking
from ringwood.engine.sqlite.rows import (
    after,
    document_of,
    id_array,
    moment_of,
    node_of,
    row_limit,
    stamp_of,
)
from ringwood.engine.sqlite.totals import Counting, Sizes
from ringwood.engine.sqlite.vector_copy import Horizon, VectorCopy
from ringwood.engine.sqlite.versions import unpack
from ringwood.types import SIMILAR, Document, Edge, Node, Tier

_CARD = """
SELECT id, space_name, source, path, title, sha256, actor, importance, created_at, stored_at,
    changed_at, state, error, seen, tier
FROM all_documents"""
_DOCUMENTS = _CARD + " WHERE id IN carray(?)"
_DOCUMENT_BY_SOURCE = _CARD + " WHERE space = ? AND source = ?"
_DOCUMENT_BY_HASH = _CARD + " WHERE space = ? AND sha256 = ? ORDER BY id LIMIT 1"
_RECENT = _CARD + " WHERE space = ? AND created_at >= ? ORDER BY created_at DESC, id DESC LIMIT ?"
_ROOTS = _CARD + " WHERE space = ? ORDER BY path"
_PENDING = _CARD + " WHERE state <> 'ready' ORDER BY state DESC, stored_at, id LIMIT ?"
_UNMIRRORED = _CARD + " WHERE mirrored_sha256 IS NOT sha256 ORDER BY id LIMIT ?"
_SOURCES = "SELECT source, id FROM all_documents WHERE space = ? AND source >= ? AND source < ?"
_TEXT = "SELECT text FROM all_documents WHERE id = ?"
_TEXTS = "SELECT id, text FROM all_documents WHERE id IN carray(?)"
_MIRRORED_PATH = "SELECT mirrored_path FROM all_documents WHERE id = ?"
_TEXT_AT = """
SELECT text FROM all_versions WHERE document = ? AND until > ? ORDER BY until LIMIT 1"""
_VERSION_AT = """
SELECT text, nodes FROM all_versions WHERE document = ? AND until > ? ORDER BY until LIMIT 1"""
_CHANGED_SINCE = """
SELECT id FROM all_documents WHERE space = ?1 AND created_at <= ?2 AND changed_at > ?2
ORDER BY id DESC LIMIT ?3"""
_UNTIL = "SELECT max(until) FROM all_versions WHERE document = ? AND until <= ?"

_NODE = """
SELECT id, document, parent, position, kind, title, path, span_start, span_end, own_start,
    own_end, script, length, access, actor, text
FROM all_nodes"""
_NODES = _NODE + " WHERE id IN carray(?)"
_NODES_OF = _NODE + " WHERE document = ? ORDER BY position"
_CHILDREN = _NODE + " WHERE parent = ? ORDER BY position"
_BEFORE = _NODE + " WHERE parent = ? AND position < ? ORDER BY position DESC LIMIT ?"
_AFTER = _NODE + " WHERE parent = ? AND position > ? ORDER BY position LIMIT ?"
_RESOLVE = "SELECT id FROM all_nodes WHERE space = ? AND path = ?"
_RECENT_NODES = """
SELECT id FROM all_nodes WHERE space = ? AND length > 0 ORDER BY id DESC LIMIT ?"""
_FORMER = """
SELECT node, document, until FROM all_aliases WHERE space = ? AND path = ?
ORDER BY until DESC LIMIT 1"""
_FORMERS_OF = """
SELECT path, node, document, until FROM all_aliases WHERE document = ? ORDER BY until"""

_EDGES = """
SELECT source, target, kind, weight FROM (
    SELECT source, target, kind, weight FROM all_edges
    WHERE source IN carray(?1) AND kind = ?2
    UNION
    SELECT source, target, kind, weight FROM all_edges
    WHERE target IN carray(?1) AND kind = ?2
) e
WHERE EXISTS (SELECT 1 FROM all_nodes n WHERE n.id = e.source)
AND EXISTS (SELECT 1 FROM all_nodes n WHERE n.id = e.target)
ORDER BY source, target, kind"""
_NODE_IDS_OF = "SELECT id FROM all_nodes WHERE document IN carray(?)"
_COUNT_NODES = "SELECT count(*) FROM all_nodes WHERE id IN carray(?)"
_COUNT_VECTORS = """
SELECT count(*) FROM all_vectors WHERE node IN carray(?) AND identity = ?"""


class TiersReader(Ranking, HomeReading, Counting, Covering, Attempting, Merging):
    """A `Reader` inside an open read transaction. Used by one thread at a time."""

    def __init__(
        self,
        connection: apsw.Connection,
        missing: tuple[Tier, ...],
        horizons: Sequence[Horizon],
        copy_of: Callable[[int, str], VectorCopy],
        sizes: Sizes,
    ) -> None:
        self._connection = connection
        self._horizons = horizons
        self._copy_of = copy_of
        self._sizes = sizes
        self.missing_tiers = missing

    # -- documents -----------------------------------------------------------------------------

    def document(self, document: int) -> Document | None:
        """Fetch one document's card."""
        return self.documents([document]).get(document)

    def documents(self, ids: Iterable[int]) -> dict[int, Document]:
        """Fetch cards; unknown ids are left out."""
        wanted = id_array(ids)
        if not len(wanted):
            return {}
        return {row[0]: document_of(row) for row in self._rows(_DOCUMENTS, (apsw.carray(wanted),))}

    def document_by_source(self, space: str, source: str) -> Document | None:
        """Find what was stored under a source key."""
        row = self._row(_DOCUMENT_BY_SOURCE, (self._number(space), source))
        return document_of(row) if row else None

    def document_by_hash(self, space: str, sha256: str) -> Document | None:
        """Find an identical text; the oldest when there are several."""
        row = self._row(_DOCUMENT_BY_HASH, (self._number(space), sha256))
        return document_of(row) if row else None

    def text_of(self, document: int) -> str:
        """Fetch the stored text. Raises KeyError when there is no such document."""
        text = self._text(_TEXT, (document,))
        if text is None:
            raise KeyError(document)
        return text

    def text_at(self, document: int, at: datetime) -> str:
        """Fetch the text as it was at a moment. Raises KeyError when there is no such document."""
        text = self._text(_TEXT_AT, (document, stamp_of(at)))
        return self.text_of(document) if text is None else text

    def version_at(self, document: int, at: datetime) -> Version | None:
        """Fetch a document's earlier state as of a moment; None where today's was the one."""
        row = self._row(_VERSION_AT, (document, stamp_of(at)))
        if row is None:
            return None
        text, packed = row
        return Version(text, () if packed is None else unpack(packed, document, text))

    def changed_before(self, document: int, at: datetime) -> datetime | None:
        """Say when a document's text had last changed as of a moment; None: never until then."""
        stamp = self._row(_UNTIL, (document, stamp_of(at)))
        return None if stamp is None or stamp[0] is None else moment_of(stamp[0])

    def changed_since(self, spaces: Sequence[str], at: datetime, limit: int) -> tuple[int, ...]:
        """List documents that were there at a moment and have changed since, the newest first."""
        found = [
            row[0]
            for space in dict.fromkeys(spaces)
            for row in self._rows(
                _CHANGED_SINCE, (self._number(space), stamp_of(at), row_limit(limit))
            )
        ]
        return tuple(sorted(set(found), reverse=True)[: row_limit(limit)])

    def recent_documents(
        self, spaces: Sequence[str], *, since: datetime | None = None, limit: int = 20
    ) -> tuple[Document, ...]:
        """List documents by `created_at`, newest first."""
        stamp = -(2**63) if since is None else stamp_of(since)
        found = [
            document_of(row)
            for space in dict.fromkeys(spaces)
            for row in self._rows(_RECENT, (self._number(space), stamp, row_limit(limit)))
        ]
        found.sort(key=lambda d: (d.created_at, d.id), reverse=True)
        return tuple(found[: row_limit(limit)])

    def sources(self, space: str, prefix: str) -> dict[str, int]:
        """Map every source key that starts with `prefix`, literally, to its document id."""
        return dict(self._rows(_SOURCES, (self._number(space), prefix, after(prefix))))

    def roots(self, space: str) -> tuple[Document, ...]:
        """List a space's documents by path."""
        return tuple(document_of(row) for row in self._rows(_ROOTS, (self._number(space),)))

    def pending(self, limit: int) -> tuple[Document, ...]:
        """List documents whose vectors are to come, oldest first, failed ones last."""
        return tuple(document_of(row) for row in self._rows(_PENDING, (row_limit(limit),)))

    def mirrored_path(self, document: int) -> str | None:
        """Return the mirror file of a document, relative to the mirror; None before the first."""
        return self._text(_MIRRORED_PATH, (document,))

    def unmirrored(self, limit: int) -> tuple[Document, ...]:
        """List documents whose text is not the one in the mirror, oldest first."""
        return tuple(document_of(row) for row in self._rows(_UNMIRRORED, (row_limit(limit),)))

    # -- nodes ---------------------------------------------------------------------------------

    def nodes(self, ids: Iterable[int]) -> dict[int, Node]:
        """Fetch nodes; unknown ids are left out."""
        wanted = id_array(ids)
        if not len(wanted):
            return {}
        found = self._nodes(_NODES, (apsw.carray(wanted),))
        return {node.id: node for node in found}

    def nodes_of(self, document: int) -> tuple[Node, ...]:
        """Fetch all nodes of a document in reading order."""
        return tuple(self._nodes(_NODES_OF, (document,)))

    def children(self, node: int) -> tuple[Node, ...]:
        """List the nodes right below a node in reading order."""
        return tuple(self._nodes(_CHILDREN, (node,)))

    def beside(self, node: int, limit: int) -> tuple[Node, ...]:
        """List up to `limit` nodes under the same parent, nearest in reading order first."""
        own = self.nodes([node]).get(node)
        if own is None or own.parent is None or limit <= 0:
            return ()
        place = (own.parent, own.order, limit)
        found = [*self._nodes(_BEFORE, place), *self._nodes(_AFTER, place)]
        found.sort(key=lambda other: (abs(other.order - own.order), other.order))
        return tuple(found[:limit])

    def _nodes(self, sql: str, bindings: tuple[Any, ...]) -> list[Node]:
        rows = self._rows(sql, bindings)
        sources = id_array(row[1] for row in rows if row[-1] is None)
        texts: dict[int, str] = {}
        if len(sources):
            texts = dict(self._rows(_TEXTS, (apsw.carray(sources),)))
        return [node_of(row, texts) for row in rows]

    def resolve(self, space: str, path: str) -> int | None:
        """Find the node at a path, exactly."""
        return self._integer(_RESOLVE, (self._number(space), path))

    def former(self, space: str, path: str) -> Former | None:
        """Say which node was at a path before it was renamed, moved or removed."""
        row = self._row(_FORMER, (self._number(space), path))
        return Former(node=row[0], document=row[1], until=moment_of(row[2])) if row else None

    def formers_of(self, document: int) -> dict[str, Former]:
        """Map every path that a node of a document had, and has no more, to what was there."""
        rows = self._rows(_FORMERS_OF, (document,))
        return {path: Former(node, owner, moment_of(until)) for path, node, owner, until in rows}

    def recent_nodes(self, space: str, limit: int) -> tuple[int, ...]:
        """List the ids of the newest nodes that can carry an edge, newest first."""
        rows = self._rows(_RECENT_NODES, (self._number(space), row_limit(limit)))
        return tuple(row[0] for row in rows)

    def edges(self, ids: Iterable[int], kind: str = SIMILAR) -> tuple[Edge, ...]:
        """List the edges of a kind that touch any of the nodes, both ends present."""
        wanted = id_array(ids)
        if not len(wanted):
            return ()
        return tuple(Edge(*row) for row in self._rows(_EDGES, (apsw.carray(wanted), kind)))

    def node_ids(self, documents: Iterable[int]) -> tuple[int, ...]:
        """List the ids of all nodes of documents."""
        asked = id_array(documents)
        if not asked.size:
            return ()
        return tuple(row[0] for row in self._rows(_NODE_IDS_OF, (apsw.carray(asked),)))

    def counts(self, nodes: Iterable[int], embedder: str) -> tuple[int, int, int]:
        """Read back nodes, their vectors under this embedder, and their edges, each once."""
        ids = id_array(nodes)
        if not ids.size:
            return 0, 0, 0
        there = self._integer(_COUNT_NODES, (apsw.carray(ids),)) or 0
        held = self._integer(_COUNT_VECTORS, (apsw.carray(ids), embedder)) or 0
        return there, held, len(self.edges(ids.tolist()))
