"""Copying what can still be read of a broken tier file into a new one.

Rows are copied table by table, inside SQLite, so that no value has to make sense on the way. Where
a page is broken, ranges of ids are halved until what lies before and behind it is read.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import apsw

from ringwood.engine.sqlite.rows import Row

_BROKEN = (apsw.CorruptError, apsw.NotADBError, apsw.TooBigError)
"""What reading a broken page comes to."""
_MAX_REFUSALS = 20_000
"""Reads that fail before the rest of a table is given up: about a second of them."""
_LARGEST_ID = 1 << 40
"""Where the search for ids ends when the table does not say; halving takes forty steps to it."""

_TABLES = """
SELECT name, sql LIKE '%WITHOUT ROWID%' FROM main.sqlite_schema
WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'
AND name NOT LIKE 'sqlite%' AND name NOT LIKE 'words%' AND name <> 'identity'"""
_ATTACH = "ATTACH ? AS damaged"
_COLUMNS = "SELECT name FROM pragma_table_info(?, ?)"
_COPY = "INSERT OR IGNORE INTO main.@ (#) SELECT # FROM damaged.@ NOT INDEXED"
_COPY_RANGE = f"{_COPY} WHERE rowid BETWEEN ? AND ?"
_COPY_KEYED = "INSERT OR IGNORE INTO main.@ (#) SELECT # FROM damaged.@"
_LAST_ID = "SELECT max(rowid) FROM damaged.@ NOT INDEXED"
_READ_FORWARD = "SELECT # FROM damaged.@"
_KEEP_ONE = "INSERT OR IGNORE INTO main.@ (#) VALUES (?)"
_DROP_SEEDS = {
    "meta": "DELETE FROM main.meta",
    "counters": "DELETE FROM main.counters WHERE name <> 'file'",  # which file it is: another one
}
_SEEN = "SELECT id FROM damaged.documents INDEXED BY documents_by_hash"


@dataclass(slots=True)
class Copied:
    """How much of a file could be read. Grows while it is."""

    lost: list[str] = field(default_factory=list)
    """Tables of which something could not be read."""
    refusals: int = 0
    """Reads that failed."""
    seen: set[int] = field(default_factory=set)
    """Ids of documents that an index names."""


def copy_readable(connection: apsw.Connection, damaged: Path, copied: Copied) -> None:
    """Copy every row of a broken file that can be read.

    Args:
        connection: of the new file, empty but for its schema.
        damaged: the broken one. Of a log beside it, SQLite reads what is whole.
        copied: told how much could be read.
    """
    try:
        connection.execute(_ATTACH, (str(damaged),))
        connection.execute("SELECT count(*) FROM damaged.sqlite_schema").fetchall()
    except _BROKEN:
        copied.lost.append("everything")
        return
    tables: list[Row] = connection.execute(_TABLES).fetchall()
    for table, keyed in tables:
        columns = _columns_of(connection, table)
        if columns is None:
            copied.lost.append(table)
            continue
        # Each statement by itself: a transaction that met a broken page cannot be ended.
        _copy_table(connection, _Table(table, columns, bool(keyed)), copied)
    with suppress(*_BROKEN, apsw.SQLError):  # the latter where it has no such table
        for row in connection.execute(_SEEN):
            copied.seen.add(row[0])
    connection.execute("DETACH damaged")


@dataclass(frozen=True, slots=True)
class _Table:
    """A table of ours, with the columns that both files have."""

    name: str
    columns: tuple[str, ...]
    keyed: bool
    """Whether it has a key of its own in place of a rowid."""

    def query(self, query: str) -> str:
        """Put names into a query; they are those of our own schema."""
        values = ", ".join("?" * len(self.columns)) if "VALUES (?)" in query else "?"
        listed = ", ".join(f'"{column}"' for column in self.columns)
        filled = query.replace("VALUES (?)", f"VALUES ({values})")
        return filled.replace("@", f'"{self.name}"').replace("#", listed)


def _columns_of(connection: apsw.Connection, table: str) -> tuple[str, ...] | None:
    """List the columns that both files have; None where the old one has no such table."""
    try:
        ours = [row[0] for row in connection.execute(_COLUMNS, (table, "main"))]
        theirs = {row[0] for row in connection.execute(_COLUMNS, (table, "damaged"))}
    except _BROKEN:
        return None
    both = tuple(column for column in ours if column in theirs)
    return both or None


def _copy_table(connection: apsw.Connection, table: _Table, copied: Copied) -> None:
    if table.name in _DROP_SEEDS:  # a new file holds some already
        connection.execute(_DROP_SEEDS[table.name])
    before = copied.refusals
    if table.keyed:
        _copy_keyed(connection, table, copied)
    elif not _tried(connection, table.query(_COPY), (), copied):
        _copy_ranges(connection, table, copied)
    if copied.refusals > before:
        copied.lost.append(table.name)
    if table.name == "counters":
        seeds = [("document", 1), ("node", 1), ("space", 1)]
        connection.executemany("INSERT OR IGNORE INTO counters VALUES (?, ?)", seeds)
    if table.name == "meta":
        connection.execute("INSERT OR IGNORE INTO meta VALUES ('generation', '0')")


def _copy_ranges(connection: apsw.Connection, table: _Table, copied: Copied) -> None:
    """Copy what lies around broken pages, smallest ids first."""
    last = _LARGEST_ID
    with suppress(*_BROKEN):
        last = max(1, connection.execute(table.query(_LAST_ID)).get or 1)
    until = copied.refusals + _MAX_REFUSALS
    waiting = [(1, last)]
    query = table.query(_COPY_RANGE)
    while waiting and copied.refusals < until:
        start, end = waiting.pop()
        if not _tried(connection, query, (start, end), copied) and start < end:
            middle = (start + end) // 2
            waiting += [(middle + 1, end), (start, middle)]


def _copy_keyed(connection: apsw.Connection, table: _Table, copied: Copied) -> None:
    """Copy what lies before a broken page."""
    if _tried(connection, table.query(_COPY_KEYED), (), copied):
        return
    keep = table.query(_KEEP_ONE)
    try:
        for row in connection.execute(table.query(_READ_FORWARD)):
            connection.execute(keep, row)
    except (*_BROKEN, UnicodeDecodeError):
        copied.refusals += 1


def _tried(
    connection: apsw.Connection, query: str, values: tuple[int, ...], copied: Copied
) -> bool:
    """Run a statement; False, and nothing done, where it met what is broken."""
    try:
        connection.execute(query, values)
    except _BROKEN:
        copied.refusals += 1
        return False
    return True
