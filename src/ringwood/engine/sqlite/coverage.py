"""Which nodes have a vector of which embedder: the queries behind `engine/coverage.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import apsw

from ringwood.engine.coverage import Coverage, Kept
from ringwood.engine.sqlite.vector_copy import bound_deletions
from ringwood.types import TIERS, Tier

_LACKING: Mapping[Tier, str] = {
    "hot": """SELECT DISTINCT n.document FROM main.nodes n
        WHERE n.document > ?2 AND (n.script <> '' OR n.length > 0)
        AND NOT EXISTS (SELECT 1 FROM main.vectors v WHERE v.node = n.id
            AND v.embedder = (SELECT number FROM main.embedders WHERE identity = ?1))
        ORDER BY n.document LIMIT ?3""",
    "warm": """SELECT DISTINCT n.document FROM warm.nodes n
        WHERE n.document > ?2 AND (n.script <> '' OR n.length > 0)
        AND NOT EXISTS (SELECT 1 FROM main.documents h WHERE h.id = n.document)
        AND NOT EXISTS (SELECT 1 FROM warm.vectors v WHERE v.node = n.id
            AND v.embedder = (SELECT number FROM warm.embedders WHERE identity = ?1))
        ORDER BY n.document LIMIT ?3""",
    "cold": """SELECT DISTINCT n.document FROM cold.nodes n
        WHERE n.document > ?2 AND (n.script <> '' OR n.length > 0)
        AND NOT EXISTS (SELECT 1 FROM main.documents h WHERE h.id = n.document)
        AND NOT EXISTS (SELECT 1 FROM warm.documents w WHERE w.id = n.document)
        AND NOT EXISTS (SELECT 1 FROM cold.vectors v WHERE v.node = n.id
            AND v.embedder = (SELECT number FROM cold.embedders WHERE identity = ?1))
        ORDER BY n.document LIMIT ?3""",
}
_COVERAGE: Mapping[Tier, str] = {
    "hot": """SELECT count(*), count(v.id) FROM main.nodes n
        LEFT JOIN main.vectors v ON v.node = n.id
            AND v.embedder = (SELECT number FROM main.embedders WHERE identity = ?1)
        WHERE (n.script <> '' OR n.length > 0)""",
    "warm": """SELECT count(*), count(v.id) FROM warm.nodes n
        LEFT JOIN warm.vectors v ON v.node = n.id
            AND v.embedder = (SELECT number FROM warm.embedders WHERE identity = ?1)
        WHERE (n.script <> '' OR n.length > 0)
        AND NOT EXISTS (SELECT 1 FROM main.documents h WHERE h.id = n.document)""",
    "cold": """SELECT count(*), count(v.id) FROM cold.nodes n
        LEFT JOIN cold.vectors v ON v.node = n.id
            AND v.embedder = (SELECT number FROM cold.embedders WHERE identity = ?1)
        WHERE (n.script <> '' OR n.length > 0)
        AND NOT EXISTS (SELECT 1 FROM main.documents h WHERE h.id = n.document)
        AND NOT EXISTS (SELECT 1 FROM warm.documents w WHERE w.id = n.document)""",
}
_KEPT = """
SELECT identity, sum(vectors), sum(bytes) FROM (
    SELECT e.identity, count(*) AS vectors, sum(length(v.row)) AS bytes
    FROM main.vectors v JOIN main.embedders e ON e.number = v.embedder GROUP BY e.identity
    UNION ALL
    SELECT e.identity, count(*), sum(length(v.row))
    FROM warm.vectors v JOIN warm.embedders e ON e.number = v.embedder GROUP BY e.identity
    UNION ALL
    SELECT e.identity, count(*), sum(length(v.row))
    FROM cold.vectors v JOIN cold.embedders e ON e.number = v.embedder GROUP BY e.identity
) GROUP BY identity"""

_DROP_VECTORS = """
DELETE FROM vectors WHERE id IN (
    SELECT id FROM vectors
    WHERE embedder = (SELECT number FROM embedders WHERE identity = ?) LIMIT ?)"""


class Covering:
    """The queries, for a reader whose connection has every tier attached."""

    _connection: apsw.Connection

    def lacking(
        self, embedder: str, *, after: int = 0, limit: int = 1, tiers: Sequence[Tier] = TIERS
    ) -> tuple[int, ...]:
        """List documents with a node that could have a vector and has none; see the protocol."""
        found: set[int] = set()
        for tier in tiers:
            rows = self._connection.execute(_LACKING[tier], (embedder, after, limit))
            found.update(row[0] for row in rows)
        return tuple(sorted(found)[:limit])

    def coverage(self, embedder: str, *, tiers: Sequence[Tier] = TIERS) -> Coverage:
        """Count nodes that could have a vector of this embedder, and those that have one."""
        counts = [self._connection.execute(_COVERAGE[tier], (embedder,)).get for tier in tiers]
        return Coverage(sum(nodes for nodes, _ in counts), sum(held for _, held in counts))

    def kept_vectors(self) -> dict[str, Kept]:
        """Count and weigh the vectors per identity. Reads every row: for people."""
        rows = self._connection.execute(_KEPT)
        return {identity: Kept(vectors, weight) for identity, vectors, weight in rows}


def drop_vectors(connection: apsw.Connection, embedder: str, limit: int) -> int:
    """Delete up to `limit` vectors of one identity in one file; return how many there were."""
    connection.execute(_DROP_VECTORS, (embedder, limit))
    dropped = connection.changes()
    bound_deletions(connection)
    return dropped
