"""A copy in memory of a tier's vectors, for scanning.

It follows the tables by their ever-growing ids and keeps, for each row, when it was deleted; so it
serves readers of different snapshots at once. What a snapshot sees is said by a `Horizon`.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass

import apsw
import numpy as np
import numpy.typing as npt

from ringwood.engine.sqlite.rows import IntVector, among

ByteRows = npt.NDArray[np.int8]
"""int8[n, d]"""

_NEVER = np.iinfo(np.int64).max
_MAX_DEAD = 0.25
"""Share of deleted rows from which on the copy is made anew."""
_MAX_GONE = 20_000
"""Deletions that a file remembers for copies; beyond, these are made anew."""

_HORIZON = (
    """SELECT (SELECT value FROM main.meta WHERE key = 'generation'),
       (SELECT max(id) FROM main.vectors), (SELECT max(id) FROM main.vectors_gone)""",
    """SELECT (SELECT value FROM warm.meta WHERE key = 'generation'),
       (SELECT max(id) FROM warm.vectors), (SELECT max(id) FROM warm.vectors_gone)""",
    """SELECT (SELECT value FROM cold.meta WHERE key = 'generation'),
       (SELECT max(id) FROM cold.vectors), (SELECT max(id) FROM cold.vectors_gone)""",
)
_EMBEDDER = (
    "SELECT number, dim FROM main.embedders WHERE identity = ?",
    "SELECT number, dim FROM warm.embedders WHERE identity = ?",
    "SELECT number, dim FROM cold.embedders WHERE identity = ?",
)
_SINCE = (
    """SELECT id, node, space, script, row FROM main.vectors NOT INDEXED
       WHERE id > ? AND embedder = ? ORDER BY id""",
    """SELECT id, node, space, script, row FROM warm.vectors NOT INDEXED
       WHERE id > ? AND embedder = ? ORDER BY id""",
    """SELECT id, node, space, script, row FROM cold.vectors NOT INDEXED
       WHERE id > ? AND embedder = ? ORDER BY id""",
)
_GONE_SINCE = (
    "SELECT id, vector FROM main.vectors_gone WHERE id > ? ORDER BY id",
    "SELECT id, vector FROM warm.vectors_gone WHERE id > ? ORDER BY id",
    "SELECT id, vector FROM cold.vectors_gone WHERE id > ? ORDER BY id",
)
_GONE_RANGE = "SELECT coalesce(max(id) - min(id), 0) FROM vectors_gone"
_FORGET_GONE = "DELETE FROM vectors_gone"
_NEXT_GENERATION = "UPDATE meta SET value = value + 1 WHERE key = 'generation'"


def bound_deletions(connection: apsw.Connection) -> None:
    """Strike a file's deletions from its record when these have become many.

    Whoever deletes vectors calls this in the same transaction, with a connection on that one file.
    """
    if connection.execute(_GONE_RANGE).get > _MAX_GONE:
        connection.execute(_FORGET_GONE)
        connection.execute(_NEXT_GENERATION)


@dataclass(frozen=True, slots=True)
class Horizon:
    """What one snapshot of one tier file sees of its vectors."""

    generation: int
    """Of the file: grows when the deletions so far have been struck from its record."""
    last: int
    """The newest vector."""
    gone: int
    """The newest deletion."""


def horizon_of(connection: apsw.Connection, tier: int) -> Horizon:
    """Read where a snapshot stands. Being a read of the file, it also pins the snapshot."""
    generation, last, gone = connection.execute(_HORIZON[tier]).get
    return Horizon(int(generation), last or 0, gone or 0)


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of one embedder in one tier file, ascending by vector id. Arrays may be views."""

    ids: IntVector
    """Vector ids."""
    nodes: IntVector
    """Whose they are."""
    spaces: npt.NDArray[np.int32]
    """Where these lie."""
    scripts: npt.NDArray[np.int16]
    """Dominant script of the text: a place in the copy's `script_names`."""
    died: IntVector
    """Id of the deletion; the largest integer while the row lives."""
    norms: npt.NDArray[np.float32]
    """Lengths of the rows as integers."""
    rows: ByteRows
    """The rows themselves."""

    def alive(self, horizon: Horizon, spaces: Sequence[int]) -> IntVector:
        """List the places of rows that a snapshot sees in these spaces."""
        return np.flatnonzero((self.died > horizon.gone) & among(self.spaces, np.sort(spaces)))

    def head(self, count: int) -> Rows:
        """Take the first rows without copying."""
        return Rows(*(getattr(self, name)[:count] for name in self.__slots__))

    def put(self, start: int, other: Rows) -> None:
        """Copy other rows into the places from `start` on."""
        for name in self.__slots__:
            source = getattr(other, name)
            getattr(self, name)[start : start + len(source)] = source


def _room(capacity: int, dim: int) -> Rows:
    return Rows(
        ids=np.empty(capacity, np.int64),
        nodes=np.empty(capacity, np.int64),
        spaces=np.empty(capacity, np.int32),
        scripts=np.empty(capacity, np.int16),
        died=np.empty(capacity, np.int64),
        norms=np.empty(capacity, np.float32),
        rows=np.empty((capacity, dim), np.int8),
    )


class VectorCopy:
    """The vectors of one embedder in one tier file. Shared by threads."""

    def __init__(self, tier: int, embedder: str) -> None:
        self._tier = tier
        self._embedder = embedder
        self._lock = threading.Lock()
        self._at: Horizon | None = None
        self._born = Horizon(0, 0, 0)
        self._rows = _room(0, 0)
        self._count = 0
        self._dead = 0
        self._places: dict[str, int] = {}

    @property
    def script_names(self) -> tuple[str, ...]:
        """Names of scripts by place. Only ever grows."""
        return tuple(self._places)

    def seen_by(self, connection: apsw.Connection, horizon: Horizon) -> Rows:
        """Get the rows up to a snapshot's newest, having caught up with it.

        Rows that were deleted before are still there: `Rows.alive` leaves them out. A snapshot
        from before this copy was made would miss rows in it, and gets a copy of its own.
        """
        with self._lock:
            at = self._at
            if at is None or horizon.generation > at.generation:
                self._load(connection, horizon)
            elif horizon.generation < at.generation or horizon.gone < self._born.gone:
                old = VectorCopy(self._tier, self._embedder)
                old._places = self._places  # the caller asks this copy for the names
                old._load(connection, horizon)
                return old._rows.head(old._count)
            elif horizon.last > at.last or horizon.gone > at.gone:
                self._follow(connection, horizon, at)
            rows = self._rows.head(self._count)
            return rows.head(int(np.searchsorted(rows.ids, horizon.last, side="right")))

    def _load(self, connection: apsw.Connection, horizon: Horizon) -> None:
        self._rows, self._count, self._dead = _room(0, 0), 0, 0
        self._append(connection, 0)
        self._at = self._born = horizon

    def _follow(self, connection: apsw.Connection, horizon: Horizon, at: Horizon) -> None:
        # A snapshot may be ahead in one respect and never behind in the other: both only grow.
        for number, vector in connection.execute(_GONE_SINCE[self._tier], (at.gone,)):
            place = int(np.searchsorted(self._rows.ids[: self._count], vector))
            if place < self._count and self._rows.ids[place] == vector:
                self._rows.died[place] = number
                self._dead += 1
        if self._dead > self._count * _MAX_DEAD:
            self._load(connection, horizon)
            return
        self._append(connection, at.last)
        self._at = horizon

    def _append(self, connection: apsw.Connection, last: int) -> None:
        embedder = connection.execute(_EMBEDDER[self._tier], (self._embedder,)).get
        if embedder is None:
            return
        number, dim = embedder
        found = connection.execute(_SINCE[self._tier], (last, number)).fetchall()
        if not found:
            return
        ids, nodes, spaces, scripts, blobs = zip(*found, strict=True)
        rows = np.frombuffer(b"".join(blobs), dtype=np.int8).reshape(len(ids), dim)
        wide = rows.astype(np.float32)
        self._make_room(len(ids), dim)
        self._rows.put(
            self._count,
            Rows(
                ids=np.array(ids, np.int64),
                nodes=np.array(nodes, np.int64),
                spaces=np.array(spaces, np.int32),
                scripts=np.array([self._place(s) for s in scripts], np.int16),
                died=np.full(len(ids), _NEVER),
                norms=np.sqrt(np.einsum("ij,ij->i", wide, wide)),
                rows=rows,
            ),
        )
        self._count += len(ids)

    def _make_room(self, more: int, dim: int) -> None:
        """Grow into new arrays: readers at work keep the old ones."""
        needed = self._count + more
        if needed > len(self._rows.ids):
            grown = _room(needed * 3 // 2 if self._count else needed, dim)
            if self._count:
                grown.put(0, self._rows.head(self._count))
            self._rows = grown

    def _place(self, script: str) -> int:
        return self._places.setdefault(script, len(self._places))
