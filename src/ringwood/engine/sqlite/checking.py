"""Looking at the files of a home to see whether they hold together, and mending them.

One at a time by `inspector` and `mender`; what is seen only in all of them together, here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

import apsw

from ringwood.engine.checking import Across, Standing
from ringwood.engine.sqlite import files, moves
from ringwood.engine.sqlite.connection import (
    BUSY_TIMEOUT_S,
    connect,
    connect_for_reading,
    is_damage,
    meaning_of,
    transaction,
    translated,
)
from ringwood.engine.sqlite.gate import gate_for
from ringwood.engine.sqlite.inspector import TierInspector
from ringwood.engine.sqlite.mender import TierMender
from ringwood.engine.sqlite.rows import Row
from ringwood.types import TIERS, Edge, Tier

_EDGES = """
WITH held AS (
    SELECT 'hot' AS tier, * FROM main.edges
    UNION ALL SELECT 'warm', * FROM warm.edges
    UNION ALL SELECT 'cold', * FROM cold.edges),
ends AS (
    SELECT id, space FROM main.nodes
    UNION ALL SELECT id, space FROM warm.nodes
    UNION ALL SELECT id, space FROM cold.nodes)
SELECT source, target, kind, weight, (SELECT space FROM ends WHERE id = source) AS here,
    (SELECT space FROM ends WHERE id = target) AS there
FROM held WHERE tier = ? AND (here IS NULL OR there IS NULL OR here <> there) LIMIT 1000"""
_BEHIND = """
SELECT c.name FROM main.counters c JOIN (
    SELECT 'document' AS name, max(id) AS largest FROM (SELECT id FROM main.documents
        UNION ALL SELECT id FROM warm.documents UNION ALL SELECT id FROM cold.documents)
    UNION ALL SELECT 'node', max(id) FROM (SELECT id FROM main.nodes
        UNION ALL SELECT id FROM warm.nodes UNION ALL SELECT id FROM cold.nodes)
    UNION ALL SELECT 'space', max(number) FROM (SELECT number FROM main.spaces
        UNION ALL SELECT number FROM warm.spaces UNION ALL SELECT number FROM cold.spaces)
) l ON l.name = c.name WHERE c.next <= l.largest"""


class SqliteInspection:
    """An `Inspection` of the files of a home."""

    def __init__(self, paths: Mapping[Tier, Path]) -> None:
        self._paths = paths

    def standing(self, tier: Tier) -> Standing:
        """Say whether a tier can be looked at; see `Inspection`."""
        path = self._paths[tier]
        if not files.exists(path):
            return "missing"
        try:  # an empty file is not as we left it
            return "present" if files.inspect_tier(tier, path) else "damaged"
        except apsw.Error as error:
            if is_damage(error):
                return "damaged"
            raise meaning_of(error, path) from error

    @contextmanager
    def inspecting(self, tier: Tier) -> Iterator[TierInspector]:
        """Open one tier; see `Inspection`."""
        path = self._paths[tier]
        with translated(path):
            connection = connect_for_reading(path)
        with closing(connection):
            yield TierInspector(connection, tier, path)

    @contextmanager
    def mending(self, tier: Tier) -> Iterator[TierMender]:
        """Begin a transaction on one tier; see `Inspection`."""
        path = self._paths[tier]
        gate = gate_for(self._paths["hot"].parent / "write.lock")
        gate.acquire(BUSY_TIMEOUT_S)
        try:
            with (
                translated(path),
                closing(connect(path)) as connection,
                transaction(connection, timeout_s=BUSY_TIMEOUT_S),
            ):
                yield TierMender(connection)
        finally:
            gate.release()

    def across(self) -> Across:
        """Look at all tiers together; see `Inspection`."""
        with translated(self._paths["hot"].parent):
            attached = files.attach_all(self._paths, files.identities_of(self._paths))
            with closing(attached.connection) as connection:
                connection.execute("BEGIN")
                present = [tier for tier in TIERS if tier not in attached.missing]
                found = {tier: connection.execute(_EDGES, (tier,)).fetchall() for tier in present}
                behind = tuple(row[0] for row in connection.execute(_BEHIND))
                copies = moves.copies(connection)
        loose = {tier: _edges(rows, crossing=False) for tier, rows in found.items()}
        return Across(
            loose={} if attached.missing else loose,
            crossing={tier: _edges(rows, crossing=True) for tier, rows in found.items()},
            copies={tier: ids for tier, ids in copies.items() if ids},
            behind=behind,
        )


def _edges(rows: Iterable[Row], *, crossing: bool) -> tuple[Edge, ...]:
    """Pick the edges between two spaces, or else those with an end that is nowhere."""
    return tuple(Edge(*row[:4]) for row in rows if crossing is (None not in row[4:]))
