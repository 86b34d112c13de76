"""What failed and when it is tried again: the queries behind `engine/attempts.py`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

import apsw

from ringwood.engine.attempts import Attempt, Waiting
from ringwood.engine.sqlite.rows import Row, document_of, moment_of, stamp_of
from ringwood.types import Document

_ATTEMPT = "SELECT work, item, at, next_at, failures, under_way, error FROM main.attempts"
_ATTEMPTS = _ATTEMPT + " WHERE ?1 IS NULL OR work = ?1 ORDER BY at DESC, work, item LIMIT ?2"
_ATTEMPT_AT = _ATTEMPT + " WHERE work = ? AND item = ?"
_UNDER_WAY = _ATTEMPT + " WHERE work = ? AND under_way ORDER BY item"
_NEXT = """
SELECT min(CASE WHEN at > ?2 THEN at ELSE next_at END) FROM main.attempts
WHERE work = ?1 AND failures > 0"""

_DUE: Mapping[tuple[Waiting, bool], str] = {
    ("embed", False): """
        SELECT id, space_name, source, path, title, sha256, actor, importance, created_at,
            stored_at, changed_at, state, error, seen, tier
        FROM all_documents WHERE state <> 'ready' AND state = 'pending'
        ORDER BY state DESC, stored_at, id LIMIT ?2""",
    # A document that was edited since it failed is pending: what failed was another text.
    ("embed", True): """
        SELECT id, space_name, source, path, title, sha256, actor, importance, created_at,
            stored_at, changed_at, state, error, seen, tier
        FROM all_documents d WHERE state <> 'ready' AND (state = 'pending' OR NOT EXISTS (
            SELECT 1 FROM main.attempts a
            WHERE a.work = 'embed' AND a.item = CAST(d.id AS TEXT)
            AND a.at <= ?1 AND a.next_at > ?1))
        ORDER BY state DESC, stored_at, id LIMIT ?2""",
    ("mirror", False): """
        SELECT id, space_name, source, path, title, sha256, actor, importance, created_at,
            stored_at, changed_at, state, error, seen, tier
        FROM all_documents d WHERE mirrored_sha256 IS NOT sha256 AND NOT EXISTS (
            SELECT 1 FROM main.attempts a
            WHERE a.work = 'mirror' AND a.item = CAST(d.id AS TEXT))
        ORDER BY id LIMIT ?2""",
    ("mirror", True): """
        SELECT id, space_name, source, path, title, sha256, actor, importance, created_at,
            stored_at, changed_at, state, error, seen, tier
        FROM all_documents d WHERE mirrored_sha256 IS NOT sha256 AND NOT EXISTS (
            SELECT 1 FROM main.attempts a
            WHERE a.work = 'mirror' AND a.item = CAST(d.id AS TEXT)
            AND a.at <= ?1 AND a.next_at > ?1)
        ORDER BY id LIMIT ?2""",
}

_PUT = "INSERT OR REPLACE INTO attempts VALUES (?, ?, ?, ?, ?, ?, ?)"
_DROP = "DELETE FROM attempts WHERE work = ? AND item = ?"
_FORGET = "DELETE FROM attempts WHERE work IN ('embed', 'mirror') AND item = ?"


class Attempting:
    """The queries, for a reader whose connection has every tier attached."""

    _connection: apsw.Connection

    def attempts(self, work: str | None = None, *, limit: int = 1000) -> tuple[Attempt, ...]:
        """List attempts at one kind of work, or at all, the latest first."""
        return tuple(map(_attempt_of, self._connection.execute(_ATTEMPTS, (work, limit))))

    def attempt(self, work: str, item: str = "") -> Attempt | None:
        """Fetch the last attempt at something; None where it never failed."""
        row = self._connection.execute(_ATTEMPT_AT, (work, item)).fetchone()
        return None if row is None else _attempt_of(row)

    def under_way(self, work: str) -> tuple[Attempt, ...]:
        """List attempts that were begun and have no end."""
        return tuple(map(_attempt_of, self._connection.execute(_UNDER_WAY, (work,))))

    def next_attempt(self, works: Sequence[str], now: datetime) -> datetime | None:
        """Say when the first of what failed is due; see `AttemptReader`."""
        stamps = [self._connection.execute(_NEXT, (work, stamp_of(now))).get for work in works]
        known = [stamp for stamp in stamps if stamp is not None]
        return moment_of(min(known)) if known else None

    def due_documents(
        self, waiting: Waiting, now: datetime, *, limit: int, again: bool = True
    ) -> tuple[Document, ...]:
        """List documents that wait for something and may be tried now; see `AttemptReader`."""
        rows = self._connection.execute(_DUE[waiting, again], (stamp_of(now), limit))
        return tuple(map(document_of, rows))


def put_attempts(connection: apsw.Connection, attempts: Iterable[Attempt]) -> None:
    """Write attempts down, each over the last one at the same."""
    connection.executemany(_PUT, map(_row_of, attempts))


def drop_attempts(connection: apsw.Connection, work: str, items: Iterable[str]) -> None:
    """Forget attempts."""
    connection.executemany(_DROP, ((work, item) for item in items))


def drop_attempts_at(connection: apsw.Connection, document: int) -> None:
    """Forget all attempts at a document that goes."""
    connection.execute(_FORGET, (str(document),))


def _row_of(attempt: Attempt) -> Row:
    return (
        attempt.work,
        attempt.item,
        stamp_of(attempt.at),
        stamp_of(attempt.next_at),
        attempt.failures,
        attempt.under_way,
        attempt.error,
    )


def _attempt_of(row: Row) -> Attempt:
    work, item, at, next_at, failures, under_way, error = row
    return Attempt(work, item, moment_of(at), moment_of(next_at), failures, bool(under_way), error)
