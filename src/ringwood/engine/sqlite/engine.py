"""The engine: what is done to three tier files as a whole, over what `connected` has open."""

from __future__ import annotations

import logging
import os
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import apsw

from ringwood.engine.compaction import Footprint, LargeLog
from ringwood.engine.placement import Misplaced, Move, TierDates
from ringwood.engine.sqlite import compaction, moves
from ringwood.engine.sqlite.connection import (
    BUSY_TIMEOUT_S,
    Identity,
    full_disk_told,
    identity_of,
    remaining,
    transaction,
)
from ringwood.engine.sqlite.rows import moment_of
from ringwood.engine.sqlite.transferring import Transferring
from ringwood.errors import ConfigError
from ringwood.types import TIERS, Tier

_log = logging.getLogger(__name__)

_HOT = "memory.db"
"""Name of the hot tier's file, by which a folder is known for a home."""


def tier_paths(
    home_dir: Path, *, warm_path: Path | None = None, cold_path: Path | None = None
) -> dict[Tier, Path]:
    """Say where the files of a home lie; colder ones beside the hot one unless said otherwise.

    A relative place begins in the home: the working directory is another in every session.

    Raises:
        ConfigError: when two tiers would share a file, or one would take that of another home.
    """
    paths: dict[Tier, Path] = {
        "hot": home_dir / _HOT,
        "warm": home_dir / (warm_path or "memory-warm.db"),
        "cold": home_dir / (cold_path or "memory-cold.db"),
    }
    if warm_path is not None or cold_path is not None:
        _require_own_files(paths)
    return paths


def _require_own_files(paths: Mapping[Tier, Path]) -> None:
    """Refuse places that are taken: what lies twice in one file is deleted as a copy of itself."""
    taken: dict[str | Identity, Tier] = {}
    hot = identity_of(paths["hot"])
    for tier, path in paths.items():
        place = identity_of(path) or os.path.realpath(path)
        if place in taken:
            raise _taken(tier, path, f"the file of the {taken[place]} tier")
        taken[place] = tier
        beside = identity_of(Path(os.path.realpath(path)).parent / _HOT)
        if tier != "hot" and beside not in (None, hot):
            raise _taken(tier, path, "a file of another home")


def _taken(tier: Tier, path: Path, whose: str) -> ConfigError:
    return ConfigError(
        f"The {tier} tier would lie in {path}, {whose}.",
        mend="ringwood config tiers.warm_path FILE and tiers.cold_path FILE give each its own file",
    )


class SqliteEngine(Transferring):
    """An `Engine` over SQLite files. Safe from several threads, and in a forked child."""

    def erase_traces(self) -> None:
        """Make deleted text unreadable in the files; see `Engine`.

        Where readers hold the write-ahead log, it is left for a later checkpoint, and that is
        logged. A missing tier keeps what it has.
        """
        with self.reading() as reader:
            missing = reader.missing_tiers
        for tier in TIERS:
            if tier in missing:
                _log.warning("the %s tier is missing: nothing was erased there", tier)
                continue
            with self._holding(tier) as connection:
                compaction.optimise_words(connection, timeout_s=BUSY_TIMEOUT_S)
                emptied = compaction.empty_log(connection)
            if not emptied:
                _log.info("readers hold the log of the %s tier: it is emptied later", tier)

    @contextmanager
    def _holding(self, tier: Tier) -> Iterator[apsw.Connection]:
        """Hold the gate, and the write connection of a tier."""
        with self._gated(time.monotonic() + BUSY_TIMEOUT_S), self._translated(tier):
            yield self._writer(tier)

    # -- giving back space ---------------------------------------------------------------------

    def footprint(self, tier: Tier) -> Footprint:
        """Measure a tier, without reading its rows; see `Compaction`."""
        with self._holding(tier) as connection:
            size, _ = self._sizes(tier)
            return Footprint(size, min(size, compaction.content_bytes(connection)))

    def vacuum(self, tier: Tier) -> None:
        """Optimise the words of a tier and write its file anew; see `Compaction`."""
        with self._holding(tier) as connection:
            compaction.require_room(self._paths[tier], compaction.content_bytes(connection))
            compaction.optimise_words(connection, timeout_s=BUSY_TIMEOUT_S)
            with full_disk_told(connection):
                connection.execute("VACUUM")

    def empty_log(self, tier: Tier) -> bool:
        """Bring the write-ahead log into the file and cut it to nothing; see `Compaction`."""
        with self._holding(tier) as connection:
            return compaction.empty_log(connection)

    def large_logs(self) -> Mapping[Tier, LargeLog]:
        """List the logs that are larger than they should be, and say why; see `Compaction`."""
        sizes = {tier: self._sizes(tier)[1] for tier in TIERS}
        large = {tier: size for tier, size in sizes.items() if size > compaction.LOG_LIMIT}
        if not large:
            return {}
        with self._translated():
            attached = self._take()
            try:
                return {
                    tier: LargeLog(size, compaction.is_held(attached.connection, TIERS.index(tier)))
                    for tier, size in large.items()
                    if tier not in attached.missing
                }
            finally:
                self._give_back(attached)

    # -- moving between tiers ------------------------------------------------------------------

    def misplaced(self, dates: TierDates) -> tuple[Misplaced, ...]:
        """List documents that lie in another tier than that of their age; see `Placement`."""
        with self._connected() as connection:
            return moves.misplaced(connection, dates)

    def copies(self) -> dict[Tier, tuple[int, ...]]:
        """List documents per tier that have a hotter copy; see `Placement`."""
        with self._connected() as connection:
            return moves.copies(connection)

    def last_stored(self) -> datetime | None:
        """Say when the newest document was taken in; None when there is none."""
        with self._connected() as connection:
            stamp = moves.last_stored(connection)
        return None if stamp is None else moment_of(stamp)

    def move(
        self, batch: Sequence[Move], source: Tier, target: Tier, *, vectors: bool = True
    ) -> tuple[int, ...]:
        """Move documents with all that belongs to them; see `Placement`."""
        deadline = time.monotonic() + BUSY_TIMEOUT_S
        with self._gated(deadline), self._translated(source):
            origin = self._writer(source)
            # The source first: nobody edits a document while it is copied.
            with transaction(origin, timeout_s=remaining(deadline)):
                with self._translated(target):
                    destination = self._writer(target)
                    with transaction(destination, timeout_s=remaining(deadline)):
                        moved = [
                            each.document
                            for each in batch
                            if moves.copy_document(origin, destination, each, vectors=vectors)
                        ]
                        if moved and target == "hot":
                            moves.mark_begun(destination, secrets.token_hex(8))
                if moves.is_colder(target, source):
                    for document in moved:
                        moves.remove_document(origin, document)
            compaction.bound_log(origin, self._paths[source])
            compaction.bound_log(destination, self._paths[target])
        return tuple(moved)

    def drop_copies(self, tier: Tier, documents: Iterable[int]) -> int:
        """Delete copies in a tier of documents that have a hotter one; see `Placement`."""
        deadline = time.monotonic() + BUSY_TIMEOUT_S
        with self._gated(deadline), self._translated(tier):
            with self._connected() as connection:
                doubled = moves.with_hotter_copy(connection, tier, tuple(documents))
            if not doubled:
                return 0
            colder = self._writer(tier)
            with transaction(colder, timeout_s=remaining(deadline)):
                return sum(moves.remove_document(colder, document) for document in doubled)
