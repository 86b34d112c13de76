"""Tending: what runs when nobody waits."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from time import sleep

from ringwood.errors import StorageError
from ringwood.memory.base import Opened
from ringwood.types import TIERS, Tier
from ringwood.upkeep.aging.compact import Compacted, compact
from ringwood.upkeep.aging.moved_links import link_moved
from ringwood.upkeep.aging.rotate import ROTATION, Rotated, Work, rotate
from ringwood.upkeep.lease import holding
from ringwood.upkeep.slack import giving_back

_FINISHING_S = (0.1, 0.3, 1.0)
"""Pauses between tries for the lease, seconds: a worker holds it to clear what a crash left."""


class Tending(Opened):
    """Keeps the home in order."""

    @giving_back()
    def rotate(
        self,
        *,
        dry_run: bool = False,
        on_document: Callable[[int, int], None] = lambda done, total: None,
    ) -> Rotated:
        """Move documents of every space to the tier of their age. Safe to cut short.

        Args:
            dry_run: move nothing, only say what is due.
            on_document: told how many of how many documents are done.

        Raises:
            NoHomeError: when there is no home yet.
            StorageError: when the disk refuses; what was moved before stays moved.
        """
        engine, now = self._opened.engine(), datetime.now(UTC)
        meaning = self._opened.choice().meaning
        work = Work(on_document)
        if meaning is not None:
            work = replace(work, relink=partial(link_moved, engine, meaning, self.config.link))
        run = partial(rotate, engine, self.config.tiers, now, work=work)
        if dry_run:
            return run(dry_run=True)
        for pause_s in (*_FINISHING_S, None):
            with holding(self.home, ROTATION) as held:
                if held:
                    return self._compacted(run())
            if pause_s is not None:
                sleep(pause_s)
        return Rotated.elsewhere()

    def _compacted(self, done: Rotated) -> Rotated:
        """Compact what was moved from where that is set; it fails without failing the moves."""
        if not (done.moved_from and self.config.tiers.vacuum_after_rotate):
            return done
        try:
            compacted = self.compact(tiers=done.moved_from)
        except StorageError as error:
            return replace(done, notes=(*done.notes, f"Not compacted: {error.message}"))
        return replace(
            done,
            given_back=compacted.before - compacted.after,
            notes=(*done.notes, *compacted.notes),
        )

    @giving_back()
    def compact(
        self,
        *,
        tiers: Iterable[Tier] = TIERS,
        dry_run: bool = False,
        on_tier: Callable[[Tier], None] = lambda tier: None,
    ) -> Compacted:
        """Make the files of the home as small as what they hold. Safe to cut short.

        Recalls go on; stores wait while the file of a tier is written anew.

        Args:
            tiers: which.
            dry_run: write nothing, only say about how much would be given back.
            on_tier: told each tier before it is begun.

        Raises:
            NoHomeError: when there is no home yet.
            FullError: when the disk has too little room for it; the tiers before are done.
            StorageError: when the disk refuses; every file is whole.
        """
        engine = self._opened.engine()
        return compact(engine, tiers=tiers, dry_run=dry_run, on_tier=on_tier)
