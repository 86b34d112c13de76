"""Making a tier's file anew from whatever of the old one can still be read (`readable`).

The old file is opened so that no byte of it changes, and kept beside the new one under another
name.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import apsw

from ringwood.durable import sync_folder
from ringwood.engine.sqlite.connection import (
    BUSY_TIMEOUT_S,
    connect,
    create_database,
    transaction,
    translated,
)
from ringwood.engine.sqlite.gate import gate_for
from ringwood.engine.sqlite.inspector import TierInspector
from ringwood.engine.sqlite.mender import TierMender
from ringwood.engine.sqlite.readable import Copied, copy_readable
from ringwood.engine.sqlite.tier import TierWriter
from ringwood.errors import StorageError
from ringwood.types import Tier

_DROP_DOCUMENT = "DELETE FROM documents WHERE id = ?"
_DROP_NODES = "DELETE FROM nodes WHERE document = ?"
_TRACES = "SELECT document FROM nodes UNION SELECT document FROM versions"
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
            copy_readable(connection, damaged, copied)
        with closing(connect(draft)) as second:
            yield Draft(connection, TierInspector(second, tier, draft), tier, copied)
        for pragma in _DURABLE:
            connection.execute(pragma).fetchall()
        if connection.execute(_SOUND).get != "ok":
            raise StorageError(
                f"The new file {draft} came out unsound.", mend="check the disk, then try again"
            )
    _drop_logs(draft)


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
        sync_folder(str(path.parent))
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
