"""Connections to tier files: how they are created, opened and attached, and what their errors mean.

A live database file is never opened with `open()` in this process: closing it would drop the
POSIX locks that SQLite holds on it. Looking at one is done with `stat`.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import apsw

from ringwood.durable import replacing
from ringwood.engine.sqlite.rows import RowError
from ringwood.engine.sqlite.schema import APPLICATION_ID, MARKED, migrate, version_of
from ringwood.errors import (
    DISK_FULL,
    BusyError,
    DamagedError,
    FullError,
    HomeError,
    NoHomeError,
    ReadOnlyError,
    StorageError,
    refusal,
)
from ringwood.types import Tier

BUSY_TIMEOUT_S = 30.0
"""How long anybody waits for the database by default: longer than any honest transaction."""

# Once a checkpoint has caught up, a log that grew in a burst is cut back to this.
_LOG_LIMIT = "PRAGMA journal_size_limit = 16777216"
_DURABLE = "PRAGMA synchronous = FULL"  # an acknowledged text survives a power cut
_SECURE = "PRAGMA secure_delete = ON"  # deleted text is overwritten, not just unlinked
_UNTRUSTING = "PRAGMA trusted_schema = OFF"  # a crafted file calls no function through a view
_CASCADE = "PRAGMA foreign_keys = ON"
_LOG_AHEAD = "PRAGMA journal_mode = WAL"

# Sets what stands there already, and so writes the first page: by the mark on it, a log is told
# from that of another file.
_SIGN_LOG = f"PRAGMA application_id = {APPLICATION_ID}"
_SCHEMA_CHANGES = 1000
"""More than one log can hold of what moves a mark on: each adds one to it."""

ATTACH: Mapping[Tier, str] = {"warm": "ATTACH ? AS warm", "cold": "ATTACH ? AS cold"}
"""How the colder tiers join a connection to the hot one."""

Identity = tuple[int, int] | None
"""Device and inode of a file: whether a path still means what was opened. None: it is not there."""

_OPEN = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_URI
_stand_ins = itertools.count()


def identity_of(path: Path) -> Identity:
    """Say which file a path means now, without opening it; one that cannot be seen is not there."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def is_writable(path: Path) -> bool:
    """Say whether this process may write a file, and make others beside it, as SQLite must."""
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK | os.X_OK)


def log_bytes(path: Path) -> int:
    """Count what stands in the write-ahead log of a file; 0 when there is none."""
    try:
        return path.with_name(f"{path.name}-wal").stat().st_size
    except OSError:
        return 0


def name_for_reading(path: Path) -> str:
    """Name a file to SQLite in the way in which it can be read.

    Beside a file that logs ahead, SQLite makes two others to read it at all. Where it may not, an
    empty log means that the file holds everything, and it can be read as one that never changes.
    With something in the log, the two have to be there and readable.
    """
    if is_writable(path):
        return str(path)
    return f"{path.absolute().as_uri()}?mode=ro" if log_bytes(path) else _name_without_log(path)


def _name_without_log(path: Path) -> str:
    """Name a file to SQLite as one that never changes: whatever lies beside it is left alone."""
    return f"{path.absolute().as_uri()}?immutable=1"


def create_database(path: Path) -> None:
    """Create an empty file of the current schema that only its owner can read. The gate is held.

    It is made in memory and put in place in one piece: no crash leaves half a schema, and no
    moment has the wrong mode. Its name is durable on return: hot, which is made last, says that
    the others have been. SQLite gives the log and the index beside a file the file's mode.

    Raises:
        StorageError: when the directory takes no file.
    """
    with closing(apsw.Connection(":memory:")) as connection:
        migrate(connection, 0)
        image = bytearray(connection.serialize("main"))
    image[18:20] = b"\2\2"  # "write-ahead log", which a database in memory cannot be told
    try:
        with replacing(str(path)) as file:
            file.write(image)
    except OSError as error:
        raise refusal(error, f"The database {path} cannot be made") from error


def connect(path: Path, *, timeout_s: float = BUSY_TIMEOUT_S) -> apsw.Connection:
    """Open an existing file with every setting that this engine needs."""
    connection = apsw.Connection(str(path), flags=_OPEN)
    try:
        if connection.readonly("main") and is_writable(path):
            # SQLite falls back to reading where the open fails for a moment, and would keep to it.
            raise apsw.CantOpenError("it could be opened for reading only")
        connection.set_busy_timeout(round(timeout_s * 1000))
        with full_disk_told(connection):
            for pragma in (_LOG_AHEAD, _UNTRUSTING, _DURABLE, _SECURE, _CASCADE, _LOG_LIMIT):
                connection.execute(pragma).fetchall()
    except BaseException:
        connection.close()
        raise
    return connection


def connect_to_write(path: Path) -> apsw.Connection:
    """Open an existing file, and make sure that SQLite would write to it. The gate is held.

    Raises:
        apsw.ReadOnlyError: when it would not, also where the file itself can be written: SQLite
            shares the index of a log among the connections of a process, and where it once could
            open that one for reading only, it keeps to it as long as one of them is open.
    """
    connection = connect(path)
    try:
        connection.set_busy_timeout(0)
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("ROLLBACK")
    except apsw.BusyError:
        pass  # whoever is at it can write, and so can this one in its turn
    except BaseException:
        connection.close()
        raise
    connection.set_busy_timeout(round(BUSY_TIMEOUT_S * 1000))
    return connection


def connect_for_reading(path: Path) -> apsw.Connection:
    """Open an existing file to read only, whether or not it may be written."""
    if is_writable(path):
        return connect(path)
    connection = apsw.Connection(name_for_reading(path), flags=_OPEN)
    try:
        connection.set_busy_timeout(round(BUSY_TIMEOUT_S * 1000))
        connection.execute(_UNTRUSTING).fetchall()
    except BaseException:
        connection.close()
        raise
    return connection


def inspect(path: Path) -> int:
    """Read the schema version of a file, 0 for an empty one, and leave every byte as it is.

    Raises:
        SchemaError: when a newer Ringwood wrote it.
        DamagedError: when the log beside it belongs to another file.
        StorageError: when another program wrote it.
    """
    require_own_log(path)
    with (
        closing(_connect_to_look(name_for_reading(path))) as connection,
        full_disk_told(connection),  # the index of the log is made by the first to open the file
    ):
        return version_of(connection, path)


def require_own_log(path: Path) -> None:
    """Refuse what a file and the log of another one make together: SQLite reads any whole log.

    Every log of ours holds the first page, and so what is read through it has its mark. A file that
    has none yet, or whose first page is torn, is taken for the one that the log belongs to.

    Raises:
        DamagedError: when the log beside it belongs to another file. Neither was changed.
    """
    if not log_bytes(path):
        return
    try:
        with closing(_connect_to_look(_name_without_log(path))) as file:
            version, mark = file.pragma("user_version"), file.pragma("schema_version")
    except apsw.Error as error:
        if is_damage(error):
            return
        raise
    with closing(_connect_to_look(name_for_reading(path))) as both, full_disk_told(both):
        moved_on = abs(both.pragma("schema_version") - mark)
    if version >= MARKED and moved_on > _SCHEMA_CHANGES:
        raise DamagedError(
            f"the log beside {path} is not its own: one of the two was put there later; nothing was"
            " changed",
            mend=f"move {path.name}-wal and {path.name}-shm away, if the file is the right one",
        )


def _connect_to_look(name: str) -> apsw.Connection:
    connection = apsw.Connection(name, flags=_OPEN)
    # Closing would otherwise move what is in a log into its file, whoever wrote it.
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    connection.set_busy_timeout(round(BUSY_TIMEOUT_S * 1000))
    return connection


def upgrade(path: Path, version: int) -> None:
    """Bring an older file to the current schema. The caller holds the gate."""
    with closing(connect(path)) as connection:
        migrate(connection, version)


def attach(connection: apsw.Connection, tier: Tier, path: Path | None) -> None:
    """Attach a colder tier; None attaches an empty stand-in, so that every query stays as it is."""
    if path is not None:
        connection.execute(ATTACH[tier], (name_for_reading(path),))
        return
    name = f"file:/ringwood-{next(_stand_ins)}?vfs=memdb"
    with closing(apsw.Connection(name, flags=_OPEN | apsw.SQLITE_OPEN_CREATE)) as stand_in:
        migrate(stand_in, 0)
        connection.execute(ATTACH[tier], (name,))


@contextmanager
def transaction(connection: apsw.Connection, *, timeout_s: float) -> Iterator[None]:
    """Hold SQLite's write lock; commit at the end, roll back on any exception."""
    connection.set_busy_timeout(max(0, round(timeout_s * 1000)))
    with full_disk_told(connection):
        connection.execute("BEGIN IMMEDIATE")
        before = connection.total_changes()
        try:
            yield
            if connection.total_changes() != before:
                connection.execute(_SIGN_LOG)
            connection.execute("COMMIT")
        except BaseException:
            # SQLite has already rolled back after some errors; a second ROLLBACK would raise.
            if connection.in_transaction:
                with suppress(apsw.Error):
                    connection.execute("ROLLBACK")
            raise


@contextmanager
def full_disk_told(connection: apsw.Connection) -> Iterator[None]:
    """Say of every call that finds no room that the disk is full.

    SQLite says so of a write that meets ENOSPC. Of a quota that is used up, of a sync that finds no
    room, and of the index of a log, which reading needs too, it says no more than that the disk
    failed.
    """
    try:
        yield
    except apsw.IOError as error:
        if connection.system_errno in DISK_FULL:
            raise apsw.FullError(str(error)) from error
        raise


@contextmanager
def translated(what: Path) -> Iterator[None]:
    """Turn what SQLite raises inside into what a caller can act on."""
    try:
        yield
    except apsw.Error as error:
        raise meaning_of(error, what) from error


def meaning_of(error: apsw.Error, what: Path) -> HomeError:
    """Say what an error of SQLite means for the file or home `what`."""
    if isinstance(error, apsw.ReadOnlyError):
        return read_only(what)
    for kind, message, mend in _MEANINGS:
        if isinstance(error, kind):
            return StorageError(f"{message}: {what} ({error})", mend=mend)
    if isinstance(error, apsw.FullError):
        return FullError(
            f"the disk is full: {what} ({error})",
            mend="free some space, then call again: nothing was lost; `ringwood compact` gives back"
            " what the home needs no more",
        )
    if isinstance(error, (apsw.BusyError, apsw.LockedError)):
        return BusyError(
            f"another process is writing to {what}",
            mend="call again: it waits for its turn; reading goes on meanwhile",
        )
    if is_damage(error):
        foreign = isinstance(error, apsw.NotADBError)
        told = "this is no database" if foreign else "the database is damaged"
        return DamagedError(f"{told}: {what} ({error})", mend=SALVAGE)
    return StorageError(f"the database refused: {what} ({error})", mend="call again with --debug")


SALVAGE = "`ringwood salvage` makes it again from what is readable and from the mirror"
"""What mends a damaged file."""
_MEANINGS: tuple[tuple[type[apsw.Error], str, str], ...] = (
    (
        apsw.CantOpenError,
        "the database cannot be opened",
        "check that it exists and is yours, and that the disk has room",
    ),
    (apsw.IOError, "the disk failed", "check the disk, then call again: nothing was changed"),
    (apsw.ConstraintError, "two things claim one place", "call again with --debug, and report it"),
)


def not_text(what: Path) -> DamagedError:
    """Say that a file holds bytes where it was given text: a bit of it changed."""
    return DamagedError(
        f"{what} holds what is no text", mend=f"`ringwood verify` says where; {SALVAGE}"
    )


def not_ours(what: Path, error: RowError) -> DamagedError:
    """Say that a row of a file holds what nobody writes."""
    return DamagedError(
        f"{what} is damaged: {error}", mend=f"`ringwood verify` says where; {SALVAGE}"
    )


def is_damage(error: apsw.Error) -> bool:
    """Say whether a file is broken, as against busy, full or unreadable for the moment."""
    return isinstance(error, (apsw.CorruptError, apsw.NotADBError))


def remaining(deadline: float) -> float:
    """Seconds until a monotonic deadline, never negative."""
    return max(0.0, deadline - time.monotonic())


def read_only(what: Path) -> ReadOnlyError:
    """Say that whoever asks may read, and not write."""
    return ReadOnlyError(
        f"{what} can only be read by this user: nothing was written",
        mend="make it writable for its owner, or choose another with --home",
    )


def no_home(directory: Path) -> NoHomeError:
    """Say that nothing has been stored at this place yet."""
    return NoHomeError(f"there is no memory at {directory} yet", mend="run `ringwood init`")
