"""Checking: whether the home still holds what it was given, and making again what is broken."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from ringwood import home as homes
from ringwood.embed.choose import WORDS
from ringwood.engine.base import Engine
from ringwood.engine.sqlite.checking import SqliteInspection
from ringwood.errors import DamagedError, NoHomeError, StorageError
from ringwood.memory.base import Opened
from ringwood.types import TIERS, Tier
from ringwood.upkeep.checking.findings import Progress, Verified
from ringwood.upkeep.checking.look import Look
from ringwood.upkeep.checking.mend import verify_and_mend
from ringwood.upkeep.checking.salvage import Salvaged, SalvageTask, salvage
from ringwood.upkeep.checking.verify import verify
from ringwood.upkeep.slack import giving_back


class Checking(Opened):
    """Looks at everything, and mends."""

    @giving_back()
    def verify(
        self,
        *,
        quick: bool = False,
        mend: bool = False,
        dry_run: bool = False,
        on_progress: Progress = lambda what, done, total: None,
    ) -> Verified:
        """Look at everything the home holds, and say what is wrong and which command mends it.

        Stores and recalls go on meanwhile. A home that cannot be opened is looked at all the same.

        Args:
            quick: digests, trees and SQLite's quick check alone.
            mend: make again what can be made again from the texts, and look again. Deletes no text.
            dry_run: write nothing; where it is to be mended, only say how much would be.
            on_progress: told what is looked at, how many, and of how many. May raise to stop.

        Raises:
            NoHomeError: when there is no home yet.
            SchemaError: when a newer Ringwood wrote it.
            DamagedError: when it is to be mended, and hot cannot be opened.
            BusyError, StorageError: when something cannot be read for the moment.
        """
        engine: Engine | None
        try:
            engine = self._opened.engine()
        except DamagedError:
            if mend and not dry_run:
                raise
            engine = None
        except NoHomeError:
            if not self._has_remains():
                raise
            engine = None
        look = self._look(engine, quick=quick)
        if engine is None or not mend or dry_run:
            return verify(look, on_progress, dry_run=mend and dry_run)
        done = verify_and_mend(look, engine, on_progress)
        self._opened.wake()  # what lacks vectors is pending now
        return done

    @giving_back()
    def salvage(
        self,
        tier: Tier | None = None,
        *,
        dry_run: bool = False,
        force: bool = False,
        on_progress: Progress = lambda what, done, total: None,
    ) -> Salvaged:
        """Make broken tiers anew from what is readable of them, and from the mirror.

        The broken files are kept. The home need not open; stores wait meanwhile.

        Args:
            tier: which; None: every one that is broken, and all of a home of which only the mirror
                is left.
            dry_run: put nothing in place, only say what would come of it.
            force: a tier that is sound, too.
            on_progress: told what is done, how many, and of how many. May raise to stop.

        Raises:
            NoHomeError: when there is nothing here at all.
            UsageError: when there is nothing to salvage.
            SchemaError: when a newer Ringwood wrote the home.
            BusyError, StorageError: when something cannot be read for the moment: that is no
                damage, and nothing was changed.
        """
        if not self._has_remains():
            homes.require(self.home)
        homes.create_home(self.home)
        task = SalvageTask(
            look=self._look(None, quick=False),
            paths=self._tier_paths(),
            now=datetime.now(UTC),
            words_only=self._opened.asked == WORDS,
            on_progress=on_progress,
        )
        done = salvage(task, tier, dry_run=dry_run, force=force)
        if not dry_run:
            self._opened.wake()  # opens it, and sees to vectors and mirror
        return done

    def _look(self, engine: Engine | None, *, quick: bool) -> Look:
        return Look(
            home=self.home,
            inspection=SqliteInspection(self._tier_paths()),
            engine=engine,
            mirror_root=self._mirror_root if self.config.mirror.enabled else None,
            parse=self.config.parse,
            embedded=self._embedded_tiers,
            quick=quick,
        )

    @property
    def _mirror_root(self) -> str:
        return str(Path(self.home) / homes.MIRROR_FOLDER)

    def _has_remains(self) -> bool:
        """Say whether a home was here: another tier, or a mirror with something in it."""
        paths = self._tier_paths()
        if any(paths[tier].exists() for tier in TIERS):
            return True
        mirror = Path(self._mirror_root)
        try:
            return mirror.is_dir() and any(mirror.iterdir())
        except OSError as error:
            raise StorageError(
                f"The mirror {mirror} cannot be looked into: {error.strerror}.",
                mend="check the disk and its permissions, then call again",
            ) from error
