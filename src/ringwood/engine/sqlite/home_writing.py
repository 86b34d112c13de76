"""What a transaction on the hot tier writes of the home as a whole: ids, spaces, log, settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from itertools import chain, count

import apsw
import numpy as np

from ringwood.engine.attempts import Attempt
from ringwood.engine.base import ScriptMean
from ringwood.engine.sqlite import attempts as attempting
from ringwood.engine.sqlite.rows import id_array, stamp_of
from ringwood.types import Tier

_RESERVE = "UPDATE counters SET next = next + ? WHERE name = ? RETURNING next"

_SPACE_NUMBER = "SELECT number FROM spaces WHERE name = ?"
_ADD_SPACE = "INSERT INTO spaces (number, name) VALUES (?, ?)"
_SPACE_OF_KEY = "SELECT name FROM spaces WHERE key = ?"
_SPACE_KEYED = "SELECT key IS NOT NULL FROM spaces WHERE name = ?"
_SET_KEY = "UPDATE spaces SET key = ? WHERE name = ?"

_PUT_MEAN = "INSERT OR REPLACE INTO means VALUES (?, ?, ?, ?, ?, ?, ?)"
_DROP_MEANS = """
DELETE FROM means
WHERE (?1 IS NULL OR space = (SELECT number FROM spaces WHERE name = ?1))
AND (?2 IS NULL OR embedder = ?2)"""

_PUT_TOMBSTONE = """
INSERT INTO tombstones (space, hash, at) VALUES (?, ?, ?)
ON CONFLICT DO UPDATE SET at = excluded.at"""
_LIFT_TOMBSTONE = "DELETE FROM tombstones WHERE space = ? AND hash = ?"
_REMOVE_LATER = "INSERT OR IGNORE INTO removals (tier, document) VALUES (?, ?)"

_LOG_RECALL = "INSERT INTO recalls (recall_id, at, payload) VALUES (?, ?, ?) RETURNING number"
_LOG_RECALLED = "INSERT OR IGNORE INTO recalled (document, recall) VALUES (?, ?)"
_PRUNE_LOG = """
DELETE FROM recalls WHERE number <= (
    SELECT number FROM recalls ORDER BY number DESC LIMIT 1 OFFSET ?)"""
_PURGE_LOG = """
DELETE FROM recalls WHERE number IN (
    SELECT recall FROM recalled WHERE document IN carray(?))"""

_SET_META = """
INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value"""


def number_of_space(connection: apsw.Connection, name: str) -> int:
    """Find a space's number in the hot file, giving it the next one where it has none."""
    number = connection.execute(_SPACE_NUMBER, (name,)).get
    if number is None:
        number = connection.execute(_RESERVE, (1, "space")).get - 1
        connection.execute(_ADD_SPACE, (number, name))
    return int(number)


class HomeWriting:
    """The statements, for a writer inside an open transaction. Those of a colder tier refuse."""

    _connection: apsw.Connection
    _tier: Tier

    @property
    def _hot(self) -> apsw.Connection:
        if self._tier != "hot":
            raise ValueError("only the hot tier keeps what belongs to the whole home")
        return self._connection

    def reserve_ids(self, documents: int, nodes: int) -> tuple[int, int]:
        """Reserve runs of ids: the first document id and node id; see `Writer`."""
        after_documents = self._hot.execute(_RESERVE, (documents, "document")).get
        after_nodes = self._hot.execute(_RESERVE, (nodes, "node")).get
        return after_documents - documents, after_nodes - nodes

    def register_space(self, key: str, slug: str) -> str:
        """Name a space: `slug`, or `slug~2` where another key has it; see `Writer`."""
        known = self._hot.execute(_SPACE_OF_KEY, (key,)).get
        if known is not None:
            return str(known)
        for name in chain([slug], (f"{slug}~{i}" for i in count(2))):
            if not self._hot.execute(_SPACE_KEYED, (name,)).get:
                number_of_space(self._hot, name)
                self._hot.execute(_SET_KEY, (key, name))
                return name
        raise AssertionError("unreachable: names do not run out")

    def put_means(self, embedder: str, space: str, means: Mapping[str, ScriptMean]) -> None:
        """Keep means of a space's own; those of scripts that are not named stay."""
        number = number_of_space(self._hot, space)
        self._hot.executemany(
            _PUT_MEAN,
            [
                (
                    number,
                    embedder,
                    script,
                    each.nodes,
                    each.mean.astype(np.float32).tobytes(),
                    *(each.background or (None, None)),
                )
                for script, each in means.items()
            ],
        )

    def drop_means(self, *, space: str | None = None, embedder: str | None = None) -> None:
        """Delete the means of a space, of an embedder, or of the two together."""
        self._hot.execute(_DROP_MEANS, (space, embedder))

    def add_tombstones(self, space: str, hashes: Iterable[str], at: datetime) -> None:
        """Remember hashes of what was forgotten."""
        rows = [(space, value, stamp_of(at)) for value in hashes]
        self._hot.executemany(_PUT_TOMBSTONE, rows)

    def lift_tombstones(self, space: str, hashes: Iterable[str]) -> None:
        """Let forgotten hashes back in."""
        self._hot.executemany(_LIFT_TOMBSTONE, [(space, value) for value in hashes])

    def remove_later(self, document: int, tiers: Iterable[Tier]) -> None:
        """Note that a document is to be removed from tiers that are away; see `PlacementWriter`."""
        self._hot.executemany(_REMOVE_LATER, [(tier, document) for tier in tiers])

    def log_recall(
        self, recall_id: str, at: datetime, documents: Iterable[int], payload: bytes, *, keep: int
    ) -> None:
        """Log a recall and prune the log to the newest `keep`."""
        number = self._hot.execute(_LOG_RECALL, (recall_id, stamp_of(at), payload)).get
        self._hot.executemany(_LOG_RECALLED, [(i, number) for i in id_array(documents).tolist()])
        self._hot.execute(_PRUNE_LOG, (max(0, keep),))

    def purge_log(self, documents: Iterable[int]) -> None:
        """Remove logged recalls that mention any of these documents."""
        ids = id_array(documents)
        if len(ids):
            self._hot.execute(_PURGE_LOG, (apsw.carray(ids),))

    def put_attempts(self, attempts: Iterable[Attempt]) -> None:
        """Write attempts down, each over the last one at the same. Hot only."""
        attempting.put_attempts(self._hot, attempts)

    def drop_attempts(self, work: str, items: Iterable[str] = ("",)) -> None:
        """Forget attempts. Hot only."""
        attempting.drop_attempts(self._hot, work, items)

    def set_meta(self, key: str, value: str) -> None:
        """Write one small setting of the home."""
        self._hot.execute(_SET_META, (f"home.{key}", value))
