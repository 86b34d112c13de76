"""Merges and the journal of dreams: the queries behind `engine/merging.py`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import apsw

from ringwood.engine.merging import Gone, Links, Merged, OwnedEdge, Run, Step
from ringwood.engine.sqlite import journal
from ringwood.engine.sqlite.rows import Row, id_array, moment_of
from ringwood.types import Edge

_BY_SOURCE = """
SELECT document, source, sha256, hash, survivor, survivor_sha256 FROM main.merged
WHERE space = (SELECT number FROM main.spaces WHERE name = ?) AND source = ?"""
_BY_HASH = """
SELECT document, source, sha256, hash, survivor, survivor_sha256 FROM main.merged
WHERE space = (SELECT number FROM main.spaces WHERE name = ?) AND sha256 = ?
ORDER BY document LIMIT 1"""
_INTO = """
SELECT document, source, sha256, hash, survivor, survivor_sha256 FROM main.merged
WHERE survivor = ? ORDER BY document"""
_SOURCES = """
SELECT source, survivor FROM main.merged
WHERE space = (SELECT number FROM main.spaces WHERE name = ?) AND source IS NOT NULL"""
_SURVIVOR = "SELECT survivor FROM main.merged WHERE document = ?"
_APART = """
SELECT key FROM main.apart WHERE space = (SELECT number FROM main.spaces WHERE name = ?)"""
_OWNED = """
SELECT source, target, kind, weight, document FROM all_edges WHERE source IN carray(?1)
UNION
SELECT source, target, kind, weight, document FROM all_edges WHERE target IN carray(?1)
ORDER BY source, target, kind, document"""
_RUNS = """
SELECT d.id, d.begun_at, d.finished_at, count(s.id) FILTER (WHERE s.kind = 'merge'),
    coalesce(group_concat(DISTINCT p.name), ''), coalesce(sum(length(s.payload)), 0)
FROM main.dreams d LEFT JOIN main.dream_steps s ON s.dream = d.id
LEFT JOIN main.spaces p ON p.number = s.space
GROUP BY d.id ORDER BY d.id DESC"""
_STEP = """
SELECT s.id, s.dream, s.kind, p.name, s.document, s.survivor
FROM main.dream_steps s JOIN main.spaces p ON p.number = s.space"""
_STEPS = _STEP + " WHERE (?1 IS NULL OR s.dream = ?1) AND s.open >= ?2 ORDER BY s.id"
_STEPS_OF = _STEP + " WHERE s.document IN carray(?1) OR s.survivor IN carray(?1) ORDER BY s.id"
_PAYLOAD = "SELECT payload FROM main.dream_steps WHERE id = ? AND kind = ?"
_SPACE_NAME = "SELECT name FROM main.spaces WHERE number = ?"


class Merging:
    """The queries, for a reader whose connection has every tier attached."""

    _connection: apsw.Connection

    def merged(
        self, space: str, *, source: str | None = None, sha256: str | None = None
    ) -> Merged | None:
        """Find a merged document by its source key, else by the digest of its text."""
        try:
            if source is not None:
                row = self._connection.execute(_BY_SOURCE, (space, source)).fetchone()
            else:
                row = self._connection.execute(_BY_HASH, (space, sha256)).fetchone()
        except UnicodeEncodeError:  # what UTF-8 cannot hold was never stored
            return None
        return None if row is None else Merged(*row)

    def merged_into(self, document: int) -> tuple[Merged, ...]:
        """List the documents that a document stands for."""
        return tuple(Merged(*row) for row in self._connection.execute(_INTO, (document,)))

    def merged_sources(self, space: str) -> Mapping[str, int]:
        """Map every source key that was merged away to the document that stands for it."""
        rows = self._connection.execute(_SOURCES, (space,))
        return {str(source): int(survivor) for source, survivor in rows}

    def survivor_of(self, document: int) -> int | None:
        """Say which document stands for one that was merged away."""
        found = self._connection.execute(_SURVIVOR, (document,)).get
        return None if found is None else int(found)

    def apart(self, space: str) -> frozenset[str]:
        """Give the keys of merges in a space that were undone."""
        return frozenset(row[0] for row in self._connection.execute(_APART, (space,)))

    def owned_edges(self, nodes: Iterable[int]) -> tuple[OwnedEdge, ...]:
        """List every edge of any kind and tier that touches a node, wherever it leads."""
        ids = id_array(nodes)
        if not len(ids):
            return ()
        rows = self._connection.execute(_OWNED, (apsw.carray(ids),))
        return tuple(OwnedEdge(Edge(*row[:4]), row[4]) for row in rows)

    def runs(self) -> tuple[Run, ...]:
        """List the runs that the journal holds, the newest first."""
        return tuple(
            Run(
                id=number,
                begun_at=moment_of(begun),
                finished_at=None if finished is None else moment_of(finished),
                merges=merges,
                spaces=tuple(sorted(spaces.split(","))) if spaces else (),
                bytes=size,
            )
            for number, begun, finished, merges, spaces, size in self._connection.execute(_RUNS)
        )

    def steps(self, *, dream: int | None = None, is_open: bool = False) -> tuple[Step, ...]:
        """List entries of a run or of all, the oldest first; `is_open`: only unfinished ones."""
        rows = self._connection.execute(_STEPS, (dream, int(is_open)))
        return tuple(Step(*row) for row in rows)

    def steps_of(self, documents: Iterable[int]) -> tuple[Step, ...]:
        """List the merges that any of these documents went into, or went away by."""
        ids = id_array(documents)
        if not len(ids):
            return ()
        return tuple(Step(*row) for row in self._connection.execute(_STEPS_OF, (apsw.carray(ids),)))

    def gone(self, step: int) -> Gone:
        """Read what a merge took away. Raises KeyError when the journal holds it no more."""
        payload = self._payload(step, "merge")
        held = journal.unpack_merge(payload)
        name: Row | None = self._connection.execute(_SPACE_NAME, (held.space,)).fetchone()
        return journal.gone_of(held, "" if name is None else name[0])

    def links(self, step: int) -> Links:
        """Read what a relinking changed. Raises KeyError when the journal holds it no more."""
        return journal.unpack_links(self._payload(step, "relink")).links

    def _payload(self, step: int, kind: str) -> bytes:
        payload = self._connection.execute(_PAYLOAD, (step, kind)).get
        if payload is None:
            raise KeyError(step)
        return bytes(payload)
