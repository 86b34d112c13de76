"""Making a tier's file anew from whatever of the old one can still be read.

Rows are copied table by table, inside SQLite, so that no value has to make sense on the way. Where
a page is broken, ranges of ids are halved until what lies before and behind it is read. The old
file is opened so that no byte of it changes, and kept beside the new one under another name.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import apsw

from ringwood import home as homes
from ringwood.engine.sqlite.checking import TierInspector, TierMender
from ringwood.engine.sqlite.connection import (
    BUSY_TIMEOUT_S,
    connect,
    create_database,
    transaction,
    translated,
)
from ringwood.engine.sqlite.gate import gate_for
from ringwood.engine.sqlite.rows import Row
from ringwood.engine.sqlite.tier import TierWriter
from ringwood.errors import StorageError
from ringwood.types import Tier

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

_DROP_DOCUMENT = "DELETE FROM documents WHERE id = ?"
_DROP_NODES = "DELETE FROM nodes WHERE document = ?"
_TRACES = "SELECT document FROM nodes UNION SELECT document FROM versions"
_SEEN = "SELECT id FROM damaged.documents INDEXED BY documents_by_hash"
_TEXT = "SELECT CAST(text AS BLOB) FROM documents WHERE id = ?"
_HAS_PATH = """
SELECT EXISTS (SELECT 1 FROM nodes WHERE space = (SELECT number FROM spaces WHERE name = ?)
    AND path = ? AND document <> ?)"""
_HAS_SOURCE = """
SELECT EXISTS (SELECT 1 FROM documents
    WHERE space = (SELECT number FROM spaces WHERE name = ?) AND source = ?)"""
_EXPECT_VECTORS = """
UPDATE documents SET state = 'pending' WHERE state = 'ready' AND ?1 <> '' AND EXISTS (
    SELECT 1 FROM nodes n WHERE n.document = documents.id AND (n.script <> '' OR n.length > 0)
    AND NOT EXISTS (SELECT 1 FROM vectors v WHERE v.node = n.id AND v.embedder = (
        SELECT number FROM embedders WHERE identity = ?1)))"""
_SPACES = "SELECT number, name, key FROM spaces"
_ADD_SPACE = "INSERT OR IGNORE INTO spaces (number, name, key) VALUES (?, ?, ?)"
_SET_KEY = "UPDATE OR IGNORE spaces SET key = ? WHERE name = ? AND key IS NULL"
_IDS = "SELECT id FROM documents"
_LARGEST = """
SELECT max(
    coalesce((SELECT max(id) FROM documents), 0), coalesce((SELECT max(document) FROM nodes), 0),
    coalesce((SELECT next - 1 FROM counters WHERE name = 'document'), 0)),
max(
    coalesce((SELECT max(id) FROM nodes), 0), coalesce((SELECT max(target) FROM edges), 0),
    coalesce((SELECT max(node) FROM vectors), 0), coalesce((SELECT max(node) FROM aliases), 0),
    coalesce((SELECT next - 1 FROM counters WHERE name = 'node'), 0)),
max(
    coalesce((SELECT max(number) FROM spaces), 0),
    coalesce((SELECT next - 1 FROM counters WHERE name = 'space'), 0))"""
_ADVANCE = "UPDATE counters SET next = max(next, ?) WHERE name = ?"
_TOMBSTONES = "SELECT space, hash FROM tombstones"
_SETTINGS = "SELECT substr(key, 6), value FROM meta WHERE key LIKE 'home.embedder%'"
_QUICK = ("PRAGMA foreign_keys = OFF", "PRAGMA synchronous = OFF")
_DURABLE = ("PRAGMA synchronous = FULL", "PRAGMA wal_checkpoint(TRUNCATE)")
_SOUND = "PRAGMA integrity_check(1)"


@dataclass(frozen=True, slots=True)
class Known:
    """What a tier that can be read says of the home."""

    documents: frozenset[int]
    """Ids of its documents."""
    spaces: Mapping[str, tuple[int, str | None]]
    """Number and key by name."""
    largest: tuple[int, int, int]
    """The largest ids of a document, a node and a space that were given, as far as it tells."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Which embedder the home is filled with. Of hot only."""
    forgotten: frozenset[tuple[str, str]] = frozenset()
    """Spaces and hashes of what was forgotten. Of hot only."""


@dataclass(slots=True)
class Copied:
    """How much of a file could be read. Grows while it is."""

    lost: list[str] = field(default_factory=list)
    """Tables of which something could not be read."""
    refusals: int = 0
    """Reads that failed."""
    seen: set[int] = field(default_factory=set)
    """Ids of documents that an index names."""


class Draft:
    """A new tier file in the making. Used by one thread; nobody else knows the file."""

    def __init__(
        self,
        connection: apsw.Connection,
        inspector: TierInspector,
        tier: Tier,
        copied: Copied,
    ) -> None:
        self._connection = connection
        self._tier = tier
        self.inspector = inspector
        """Looks at what it holds."""
        self.copied = copied
        """How much of the old file it holds."""
        self._numbers: dict[str, int] = {}

    @contextmanager
    def writing(self) -> Iterator[tuple[TierWriter, TierMender]]:
        """Begin a transaction: what writes documents, and what writes parts of them."""
        with transaction(self._connection, timeout_s=BUSY_TIMEOUT_S):
            writer = TierWriter(self._connection, self._tier, self._number)
            yield writer, TierMender(self._connection)

    def known(self) -> Known:
        """Say what it holds."""
        return _known(self._connection)

    def adopt_spaces(self, spaces: Mapping[str, tuple[int, str | None]]) -> None:
        """Number spaces as the rest of the home does; keys that it has already stay."""
        self._numbers = {name: number for name, (number, _) in spaces.items()}
        if self._tier == "hot":
            rows = [(number, name, None) for name, (number, _) in spaces.items()]
            self._connection.executemany(_ADD_SPACE, rows)
            keys = [(key, name) for name, (_, key) in spaces.items() if key]
            self._connection.executemany(_SET_KEY, keys)

    def advance(self, largest: tuple[int, int, int]) -> None:
        """Let no id be given that was given before. Hot only."""
        names = ("document", "node", "space")
        rows = [(last + 1, name) for last, name in zip(largest, names, strict=True)]
        self._connection.executemany(_ADVANCE, rows)

    def traces(self) -> frozenset[int]:
        """List ids of documents that left something behind, though not themselves."""
        left = {row[0] for row in self._connection.execute(_TRACES)}
        return frozenset(left | self.copied.seen) - self.known().documents

    def text_as_it_is(self, document: int) -> str:
        """Read a text whatever became of it; what is no character is replaced."""
        data: bytes = self._connection.execute(_TEXT, (document,)).get or b""
        return data.decode(errors="replace")

    def drop(self, document: int, *, nodes: bool = False) -> None:
        """Leave out a document's own row; its earlier texts wait for it to come back.

        Args:
            document: its id.
            nodes: its nodes too, which otherwise wait with them.
        """
        self._connection.execute(_DROP_DOCUMENT, (document,))
        if nodes:
            self._connection.execute(_DROP_NODES, (document,))

    def has_path(self, space: str, path: str, *, but: int) -> bool:
        """Say whether a node has a path, but for those of one document."""
        return bool(self._connection.execute(_HAS_PATH, (space, path, but)).get)

    def has_source(self, space: str, source: str) -> bool:
        """Say whether a document has a source key."""
        return bool(self._connection.execute(_HAS_SOURCE, (space, source)).get)

    def expect_vectors(self, identity: str | None) -> None:
        """Let documents wait for the vectors that could not be read."""
        self._connection.execute(_EXPECT_VECTORS, (identity,))

    def _number(self, space: str) -> int:
        return self._numbers[space]


@contextmanager
def drafting(tier: Tier, damaged: Path | None, draft: Path) -> Iterator[Draft]:
    """Make a new file that holds all that can be read of a damaged one; finished on leaving.

    Args:
        tier: which it is.
        damaged: the old file; None where there is none.
        draft: where the new one is made.

    Raises:
        BusyError, StorageError: when the disk refuses: a damaged row is no reason.
    """
    create_database(draft)
    with translated(draft), closing(connect(draft)) as connection:
        for pragma in _QUICK:
            connection.execute(pragma).fetchall()
        # Closing would move what lies in the damaged file's log into it.
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        copied = Copied()
        if damaged is not None:
            _copy(connection, damaged, copied)
        with closing(connect(draft)) as second:
            yield Draft(connection, TierInspector(second, tier, draft), tier, copied)
        for pragma in _DURABLE:
            connection.execute(pragma).fetchall()
        if connection.execute(_SOUND).get != "ok":
            raise StorageError(
                f"The new file {draft} came out unsound.", mend="check the disk, then try again"
            )
    _drop_logs(draft)


def _copy(connection: apsw.Connection, damaged: Path, copied: Copied) -> None:
    """Copy every row that can be read."""
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


def known_of(path: Path) -> Known:
    """Read what a sound tier says of the home."""
    with translated(path), closing(connect(path)) as connection:
        return _known(connection)


def advance_counters(hot: Path, largest: tuple[int, int, int]) -> None:
    """Let hot give no id that another tier was given. The gate is held."""
    with translated(hot), closing(connect(hot)) as connection, connection:
        names = ("document", "node", "space")
        rows = [(last + 1, name) for last, name in zip(largest, names, strict=True)]
        connection.executemany(_ADVANCE, rows)


def _known(connection: apsw.Connection) -> Known:
    spaces = {name: (number, key) for number, name, key in connection.execute(_SPACES)}
    largest = connection.execute(_LARGEST).get
    documents = frozenset(row[0] for row in connection.execute(_IDS))
    settings = {str(key): str(value) for key, value in connection.execute(_SETTINGS)}
    forgotten = frozenset((str(of), str(value)) for of, value in connection.execute(_TOMBSTONES))
    return Known(documents, spaces, tuple(largest), settings, forgotten)


@contextmanager
def gate_held(home_dir: Path) -> Iterator[None]:
    """Keep every writer of the home out."""
    gate = gate_for(home_dir / "write.lock")
    gate.acquire(BUSY_TIMEOUT_S)
    try:
        yield
    finally:
        gate.release()


def put_in_place(draft: Path, path: Path, now: datetime) -> Path | None:
    """Let a finished draft be a tier's file, and keep the old one; the gate is held.

    The old file and its log have their second names before the first are taken away. The log goes
    first: beside the new file, SQLite would take it for that one's.

    Returns:
        What the old file is called now; None where there was none.

    Raises:
        StorageError: when the disk refuses; the old file is then where it was, or has both names.
    """
    try:
        kept = path.with_name(f"{path.name}.damaged-{now:%Y%m%dT%H%M%S%f}")
        there = path.exists()
        for ending in ("", "-wal", "-shm"):
            old = path.with_name(path.name + ending)
            if old.exists():
                _keep(old, kept.with_name(kept.name + ending))
        _drop_logs(path)
        draft.replace(path)
        homes.sync_folder(str(path.parent))
    except OSError as error:
        raise StorageError(
            f"The new file cannot take the place of {path}: {error.strerror}.",
            mend="make the folder writable for its owner, then run `ringwood salvage` again",
        ) from error
    return kept if there else None


def _keep(old: Path, kept: Path) -> None:
    """Give a file a second name; a copy where the file system knows no such thing."""
    if old.is_dir():
        old.rename(kept)
        return
    try:
        os.link(old, kept)
    except OSError:
        shutil.copy2(old, kept)


def draft_path(path: Path) -> Path:
    """Say where the new file of a tier is made; what a killed salvage left there is overwritten."""
    return path.with_name(f"{path.name}.salvaging")


def drop_draft(path: Path) -> None:
    """Remove a draft that is not wanted."""
    path.unlink(missing_ok=True)
    _drop_logs(path)


def _drop_logs(path: Path) -> None:
    for ending in ("-wal", "-shm"):
        path.with_name(path.name + ending).unlink(missing_ok=True)
