"""The part of the engine that takes a home as a whole: behind `engine/transfer.py`."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import apsw

from ringwood import home as homes
from ringwood.engine.sqlite import dump, files
from ringwood.engine.sqlite.connected import Connected
from ringwood.engine.sqlite.connection import (
    BUSY_TIMEOUT_S,
    full_disk_told,
    transaction,
    translated,
)
from ringwood.engine.sqlite.files import Attached
from ringwood.engine.sqlite.load import FILES
from ringwood.engine.sqlite.schema import MIGRATIONS, set_mark
from ringwood.engine.transfer import Dump, FileCopy
from ringwood.errors import UsageError, refusal
from ringwood.types import TIERS, Tier

_SCHEMA: Mapping[Tier, str] = {"hot": "main", "warm": "warm", "cold": "cold"}
_PAGES = 256
"""Pages copied between two words to whoever watches: a megabyte."""
_ELSEWHERE = "check that disk, or choose another place, then call again"

_BEGIN_FILLING = "INSERT OR IGNORE INTO meta VALUES ('filling', 'begun')"
_GENERATION = "SELECT value FROM meta WHERE key = 'generation'"
_NEXT_GENERATION = "UPDATE meta SET value = ? + 1 WHERE key = 'generation'"
_MIRRORED = "SELECT id, mirrored_sha256, mirrored_path FROM all_documents"
_MIRRORED_HERE = "SELECT id, mirrored_sha256, mirrored_path FROM documents"
_UNMIRROR = "UPDATE documents SET mirrored_sha256 = NULL WHERE id = ?"
_QUICK = ("PRAGMA journal_mode = OFF", "PRAGMA synchronous = OFF")


class Transferring(Connected):
    """Dumps, fills and copies."""

    writable = True

    @contextmanager
    def _snapshot(self) -> Iterator[Attached]:
        """Hold a snapshot over all tiers, and say which of them are missing."""
        with self._translated():
            attached, _ = self._begin()
            try:
                yield attached
            finally:
                self._give_back(attached)

    @contextmanager
    def dumping(self, *, settings: Sequence[str], vectors: bool) -> Iterator[Dump]:
        """Read a home out in one snapshot; see `Transfer`."""
        with self._snapshot() as attached:
            rows = dump.rows_of(attached.connection, settings=settings, vectors=vectors)
            yield Dump(len(MIGRATIONS), attached.missing, rows)

    def is_empty(self) -> bool:
        """Say whether no document lies here and none was ever forgotten here; see `Transfer`."""
        with self._snapshot() as attached:
            for tier in attached.missing:
                raise files.missing(tier, self._paths[tier])
            return dump.is_empty(attached.connection)

    def fill(self, folder: Path) -> None:
        """Take over what a loader wrote into a folder; see `Transfer`.

        Contents are replaced through SQLite, and no file by another: whoever has one open keeps
        its locks, and sees all of the new content or nothing. The hot tier comes last, and with it
        the mark goes that says that this was begun.
        """
        with self._gated(time.monotonic() + BUSY_TIMEOUT_S), translated(self._paths["hot"].parent):
            if not self.is_empty():
                raise UsageError(
                    f"{self._paths['hot'].parent} holds something already.",
                    mend="choose another place with --home DIR",
                )
            hot = self._writer("hot")
            with transaction(hot, timeout_s=BUSY_TIMEOUT_S):
                hot.execute(_BEGIN_FILLING)
            for tier in reversed(TIERS):
                self._take_over(self._writer(tier), folder / FILES[tier])

    def _take_over(self, target: apsw.Connection, path: Path) -> None:
        """Replace the content of a tier by that of another file."""
        with closing(apsw.Connection(str(path))) as source:
            # Copies of vectors in memory, in any process, are of the content that goes.
            source.execute(_NEXT_GENERATION, (target.execute(_GENERATION).get,))
            target.set_busy_timeout(round(BUSY_TIMEOUT_S * 1000))
            with target.backup("main", source, "main") as copying:
                copying.step(-1)

    def tier_bytes(self) -> dict[Tier, int]:
        """Weigh the content of every tier that can be read; see `Transfer`."""
        with self._snapshot() as attached:
            size = attached.connection.pragma("page_size")
            return {
                tier: size * self._pages(attached, tier)
                for tier in TIERS
                if tier not in attached.missing
            }

    def copy_to(
        self, folder: Path, on_page: Callable[[int, int], None] = lambda done, total: None
    ) -> tuple[FileCopy, ...]:
        """Copy every tier into a folder as of one moment; see `Transfer`.

        All are copied out of one snapshot over the three files: a document that is moved between
        them meanwhile lies in the tier that it had when the copying began.
        """
        copies = []
        with self._snapshot() as attached:
            sizes = {tier: self._pages(attached, tier) for tier in TIERS}
            total, before = sum(sizes.values()), 0
            for tier in TIERS:
                if tier in attached.missing:
                    continue
                path = folder / FILES[tier]
                done = before

                def tell(pages: int, done: int = done) -> None:
                    on_page(done + pages, total)

                with translated(path):
                    _copy(attached.connection, _SCHEMA[tier], path, tell)
                before += sizes[tier]
                copies.append(FileCopy(tier, FILES[tier], files.size_of(path)))
        return tuple(copies)

    def match_mirror(self, folder: Path) -> None:
        """Make copied tiers and a mirror that was copied after them agree; see `Transfer`."""
        with self._connected() as connection:
            now = {row[0]: row for row in connection.execute(_MIRRORED)}
        known: set[object] = set()
        for tier in reversed(TIERS):
            path = folder / FILES[tier]
            if not files.exists(path):
                continue
            with (
                translated(path),
                closing(apsw.Connection(str(path))) as copy,
                full_disk_told(copy),
                copy,
            ):
                held = copy.execute(_MIRRORED_HERE).fetchall()
                known.update(row[2] for row in held)
                changed = [(row[0],) for row in held if now.get(row[0]) != row]
                copy.executemany(_UNMIRROR, changed)
        for _, _, page in now.values():
            if page is not None and page not in known:
                (folder / homes.MIRROR_FOLDER / page).unlink(missing_ok=True)

    def _pages(self, attached: Attached, tier: Tier) -> int:
        if tier in attached.missing:
            return 0
        return int(attached.connection.pragma("page_count", schema=_SCHEMA[tier]))


def _copy(source: apsw.Connection, schema: str, path: Path, tell: Callable[[int], None]) -> None:
    """Copy one tier of a snapshot into a new file, synced."""
    _make_private(path)
    with closing(apsw.Connection(str(path))) as target, full_disk_told(target):
        for pragma in _QUICK:
            target.execute(pragma).fetchall()
        with target.backup("main", source, schema) as copying:
            while not copying.done:
                copying.step(_PAGES)
                tell(copying.page_count - copying.remaining)
        # A copy is a file of its own: the log of the original is not read into it where one takes
        # the other's place.
        set_mark(target)
    _sync(path)


def _make_private(path: Path) -> None:
    """Make an empty file that only its owner can read."""
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY
    try:
        os.close(os.open(path, flags, 0o600))
    except OSError as error:
        raise refusal(error, f"{path} cannot be written", mend=_ELSEWHERE) from error


def _sync(path: Path) -> None:
    """Make a copy that nobody has open durable."""
    try:
        descriptor = os.open(path, os.O_RDWR)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise refusal(error, f"{path} cannot be written", mend=_ELSEWHERE) from error
