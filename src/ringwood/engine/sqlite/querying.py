"""Asking one connection that has every tier attached: how the queries of a reader are run."""

from __future__ import annotations

from typing import Any

import apsw

from ringwood.engine.sqlite.rows import Row

_SPACE_NUMBER = "SELECT number FROM main.spaces WHERE name = ?"


class Querying:
    """What every part of a reader stands on."""

    _connection: apsw.Connection

    def _rows(self, sql: str, bindings: tuple[Any, ...] = ()) -> list[Row]:
        """Run a query. A text that UTF-8 cannot hold equals nothing that is stored: no rows."""
        try:
            return self._connection.execute(sql, bindings).fetchall()
        except (UnicodeEncodeError, OverflowError):
            return []

    def _row(self, sql: str, bindings: tuple[Any, ...] = ()) -> Row | None:
        rows = self._rows(sql, bindings)
        return rows[0] if rows else None

    def _text(self, sql: str, bindings: tuple[Any, ...] = ()) -> str | None:
        row = self._row(sql, bindings)
        return None if row is None or row[0] is None else str(row[0])

    def _integer(self, sql: str, bindings: tuple[Any, ...] = ()) -> int | None:
        row = self._row(sql, bindings)
        return None if row is None else int(row[0])

    def _number(self, space: str) -> int:
        """Find a space's number; one that no space has when there is none of that name."""
        return self._integer(_SPACE_NUMBER, (space,)) or 0
