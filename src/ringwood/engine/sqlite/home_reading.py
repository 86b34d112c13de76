"""What the hot tier keeps of the home as a whole: spaces, tombstones, log of recalls, settings."""

from __future__ import annotations

from collections.abc import Iterable

import apsw

from ringwood.engine.sqlite.querying import Querying
from ringwood.engine.sqlite.rows import row_limit

_TOMBSTONED = """
SELECT hash FROM main.tombstones
WHERE space = ? AND hash IN carray(?)"""
_SPACE_OF_KEY = "SELECT name FROM main.spaces WHERE key = ?"
_SPACES = "SELECT name, key FROM main.spaces WHERE key IS NOT NULL ORDER BY name"
_META = "SELECT value FROM main.meta WHERE key = ?"
_RECALL_LOG = "SELECT payload FROM main.recalls WHERE recall_id = ?"
_RECENT_LOGS = """
SELECT payload FROM main.recalls
WHERE number > (SELECT max(number) FROM main.recalls) - ? ORDER BY number DESC"""


class HomeReading(Querying):
    """Reads what no document has to itself."""

    def tombstoned(self, space: str, hashes: Iterable[str]) -> set[str]:
        """Say which of these hashes were forgotten in this space."""
        asked = tuple(value for value in hashes if value.isascii())  # as all digests are
        if not asked:
            return set()
        return {row[0] for row in self._rows(_TOMBSTONED, (space, apsw.carray(asked)))}

    def space_of_key(self, key: str) -> str | None:
        """Find the name of the space with this key."""
        return self._text(_SPACE_OF_KEY, (key,))

    def spaces(self) -> dict[str, str]:
        """Map every registered space name to its key."""
        return dict(self._rows(_SPACES))

    def meta(self, key: str) -> str | None:
        """Read one small setting of the home."""
        return self._text(_META, (f"home.{key}",))

    def recall_log(self, recall_id: str) -> bytes | None:
        """Read what was logged for a recall."""
        row = self._row(_RECALL_LOG, (recall_id,))
        return bytes(row[0]) if row else None

    def recent_logs(self, limit: int) -> tuple[bytes, ...]:
        """Read what was logged for the newest recalls, newest first."""
        return tuple(bytes(row[0]) for row in self._rows(_RECENT_LOGS, (row_limit(limit),)))
