"""Giving back what a tier file no longer needs: `VACUUM`, and then the write-ahead log.

In WAL mode `VACUUM` writes the new file into the log; the checkpoint after it makes the file as
small as it is now. At no moment is the file in another journal mode, so a kill leaves it whole.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path

import apsw

from ringwood.engine.sqlite import files
from ringwood.engine.sqlite.connection import full_disk_told, transaction
from ringwood.errors import FullError

_log = logging.getLogger(__name__)

LOG_LIMIT = 16 * 1024 * 1024
"""Bytes of a write-ahead log from which on it is emptied; as `journal_size_limit` in `connect`."""
_READERS_S = 0.2
"""How long emptying a log waits for readers before it is left for later."""
_SPARE = 1.02
"""A page in the log takes 24 bytes more than in the file; the rest is for small changes."""
_SMALL = 1_000_000
"""Bytes that are always kept free."""

_OPTIMISE_WORDS = "INSERT INTO words (words) VALUES ('optimize')"
_EMPTY_LOG = "PRAGMA wal_checkpoint(TRUNCATE)"
# On a reader's connection: writes what can be written, waits for nobody, takes no write lock.
_HOW_FAR = (
    "PRAGMA main.wal_checkpoint(PASSIVE)",
    "PRAGMA warm.wal_checkpoint(PASSIVE)",
    "PRAGMA cold.wal_checkpoint(PASSIVE)",
)


def log_of(path: Path) -> Path:
    """Name the write-ahead log beside a file."""
    return path.with_name(f"{path.name}-wal")


def content_bytes(connection: apsw.Connection) -> int:
    """Count the bytes of the pages in use; the words may take less of them once optimised."""
    pages = int(connection.pragma("page_count")) - int(connection.pragma("freelist_count"))
    return pages * int(connection.pragma("page_size"))


def optimise_words(connection: apsw.Connection, *, timeout_s: float) -> None:
    """Merge the words into one segment: without this, deleted terms stay in the bytes."""
    with transaction(connection, timeout_s=timeout_s):
        connection.execute(_OPTIMISE_WORDS)


def empty_log(connection: apsw.Connection, *, wait_s: float = _READERS_S) -> bool:
    """Bring the log into the file and cut it to nothing; False when a reader is in the way."""
    connection.set_busy_timeout(round(wait_s * 1000))
    with full_disk_told(connection):
        return not connection.execute(_EMPTY_LOG).fetchall()[0][0]


def bound_log(connection: apsw.Connection, path: Path) -> None:
    """Empty a log that has grown beyond its limit, unless a reader is in the way.

    Call it after a commit, with the gate held. What was committed stands whatever comes of it.
    """
    if files.size_of(log_of(path)) <= LOG_LIMIT:
        return
    try:
        empty_log(connection, wait_s=0.0)
    except apsw.Error as error:
        _log.info("the log of %s was not emptied yet: %s", path.name, error)


def is_held(connection: apsw.Connection, tier: int) -> bool:
    """Say whether somebody still reads from the log of a tier. Not within a transaction."""
    busy, frames, written = map(int, connection.execute(_HOW_FAR[tier]).get)
    return bool(busy) or written < frames


def require_room(path: Path, size: int) -> None:
    """See that a file of `size` bytes can be written anew beside itself.

    `VACUUM` builds it in a temporary file, and copies that into the log.

    Raises:
        FullError: when there is too little room; it says how much is missing.
    """
    each = round(size * _SPARE)
    wanted: dict[int, int] = {}
    folders = (temporary_folder(), path.parent)
    for folder in folders:
        device = folder.stat().st_dev
        wanted[device] = wanted.get(device, 0) + each
    for folder in folders:
        needed = wanted[folder.stat().st_dev] + _SMALL
        free = _free_bytes(folder)
        if free < needed:
            raise FullError(
                f"Writing {path.name} anew needs {_megabytes(needed)} on the disk of {folder}, and"
                f" {_megabytes(free)} are free: {_megabytes(needed - free)} are missing.",
                mend="free that much and give the command again; nothing was begun",
            )


def temporary_folder() -> Path:
    """Say where SQLite puts its temporary files."""
    asked = (os.environ.get("SQLITE_TMPDIR"), os.environ.get("TMPDIR"))
    for folder in (*asked, "/var/tmp", "/usr/tmp", "/tmp"):
        if folder and Path(folder).is_dir() and os.access(folder, os.W_OK | os.X_OK):
            return Path(folder)
    return Path()


def _free_bytes(folder: Path) -> int:
    status = os.statvfs(folder)
    return status.f_bavail * status.f_frsize


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"
