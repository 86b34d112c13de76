"""How much a home holds, per tier: of a document in two tiers the hottest copy is counted.

Reads every table: for people, not for a hot path.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import apsw

from ringwood.engine.sqlite import moves
from ringwood.engine.sqlite.rows import Row, id_array
from ringwood.engine.totals import TierTotals, Totals
from ringwood.types import TIERS, Tier

_HELD: Mapping[Tier, str] = {
    "hot": """SELECT (SELECT count(*) FROM main.documents), (SELECT count(*) FROM main.nodes),
        (SELECT count(*) FROM main.vectors WHERE ?1 IS NULL
            OR embedder = (SELECT number FROM main.embedders WHERE identity = ?1)),
        (SELECT count(*) FROM main.edges)""",
    "warm": """SELECT (SELECT count(*) FROM warm.documents), (SELECT count(*) FROM warm.nodes),
        (SELECT count(*) FROM warm.vectors WHERE ?1 IS NULL
            OR embedder = (SELECT number FROM warm.embedders WHERE identity = ?1)),
        (SELECT count(*) FROM warm.edges)""",
    "cold": """SELECT (SELECT count(*) FROM cold.documents), (SELECT count(*) FROM cold.nodes),
        (SELECT count(*) FROM cold.vectors WHERE ?1 IS NULL
            OR embedder = (SELECT number FROM cold.embedders WHERE identity = ?1)),
        (SELECT count(*) FROM cold.edges)""",
}
# Subtracted, since to look for a hotter copy of every node takes a hundred times as long.
_HIDDEN: Mapping[Tier, str] = {
    "warm": """SELECT (SELECT count(*) FROM warm.nodes WHERE document IN carray(?2)),
        (SELECT count(*) FROM warm.nodes n JOIN warm.vectors v ON v.node = n.id
            WHERE n.document IN carray(?2) AND (?1 IS NULL
            OR v.embedder = (SELECT number FROM warm.embedders WHERE identity = ?1))),
        (SELECT count(*) FROM warm.edges WHERE document IN carray(?2))""",
    "cold": """SELECT (SELECT count(*) FROM cold.nodes WHERE document IN carray(?2)),
        (SELECT count(*) FROM cold.nodes n JOIN cold.vectors v ON v.node = n.id
            WHERE n.document IN carray(?2) AND (?1 IS NULL
            OR v.embedder = (SELECT number FROM cold.embedders WHERE identity = ?1))),
        (SELECT count(*) FROM cold.edges WHERE document IN carray(?2))""",
}
_STATES = "SELECT state, count(*) FROM all_documents GROUP BY state"
_ERRORS = """
SELECT error FROM all_documents WHERE state <> 'ready' AND error IS NOT NULL
ORDER BY stored_at DESC, id DESC LIMIT 5"""
_PER_SPACE = "SELECT space_name, count(*) FROM all_documents GROUP BY space_name"

Sizes = Callable[[Tier], tuple[int, int]]
"""Bytes of a tier's files, and of its write-ahead log among them."""


class Counting:
    """The queries, for a reader whose connection has every tier attached."""

    _connection: apsw.Connection
    _sizes: Sizes
    missing_tiers: tuple[Tier, ...]

    def documents_per_space(self) -> dict[str, int]:
        """Count the documents of every space that holds some. Reads no text and no node."""
        rows: list[Row] = self._connection.execute(_PER_SPACE).fetchall()
        return dict(rows)

    def totals(self, embedder: str | None = None) -> Totals:
        """Count everything, per tier; of vectors only those of one identity where it is given."""
        hidden = moves.copies(self._connection)
        states: list[Row] = self._connection.execute(_STATES).fetchall()
        return Totals(
            tiers={
                tier: self._totals_of(tier, embedder, hidden.get(tier, ()))
                for tier in TIERS
                if tier not in self.missing_tiers
            },
            states=dict(states),
            errors=tuple(row[0] for row in self._connection.execute(_ERRORS)),
            spaces=self.documents_per_space(),
        )

    def _totals_of(self, tier: Tier, embedder: str | None, hidden: tuple[int, ...]) -> TierTotals:
        documents, nodes, vectors, edges = self._connection.execute(_HELD[tier], (embedder,)).get
        if hidden:
            copies = (embedder, apsw.carray(id_array(hidden)))
            less_nodes, less_vectors, less_edges = self._connection.execute(
                _HIDDEN[tier], copies
            ).get
            documents, nodes = documents - len(hidden), nodes - less_nodes
            vectors, edges = vectors - less_vectors, edges - less_edges
        size, log = self._sizes(tier)
        return TierTotals(documents, nodes, vectors, edges, bytes=size, wal_bytes=log)
