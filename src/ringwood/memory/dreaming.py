"""Dreaming: merge what says the same, compare all with all, and take a run of that back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ringwood import home as homes
from ringwood.engine.merging import Run
from ringwood.errors import BusyError
from ringwood.memory.base import Opened
from ringwood.upkeep.dreaming.dream import Dreamed, Plan, Progress, dream
from ringwood.upkeep.dreaming.merge import DREAM
from ringwood.upkeep.dreaming.undo import Meant, Undone, undo
from ringwood.upkeep.lease import holding
from ringwood.upkeep.slack import giving_back


class Dreaming(Opened):
    """Goes over the whole store when nobody waits."""

    @giving_back()
    def dream(
        self,
        *,
        dry_run: bool = False,
        everything: bool = False,
        wait_s: float | None = None,
        on_nodes: Progress = lambda space, done, total: None,
    ) -> Dreamed:
        """Merge duplicates and rebuild similar edges in every space. Safe to cut short.

        Args:
            dry_run: write nothing, only say what would change.
            everything: compare spaces too that are too large to do so unasked.
            wait_s: how long to wait first for vectors that are to come; None: `wait_s`.
            on_nodes: told the space, and how many of how many nodes are compared.

        Returns:
            What it came to; where another process is at it, only a note that says so.

        Raises:
            NoHomeError: when there is no home yet.
            StorageError: when the disk refuses; what was done before is done.
        """
        engine, choice = self._opened.engine(), self._opened.choice()
        if not dry_run:
            self._opened.wake()
            self.wait(wait_s)
        plan = Plan(
            choice.meaning,
            self.config.link,
            self.config.dream,
            everything,
            dry_run,
            mirror_root=self._mirror_root,
        )
        if dry_run:
            done = dream(engine, plan, on_nodes)
        else:
            with holding(self.home, DREAM) as held:
                if not held:
                    return Dreamed.elsewhere()
                done = dream(engine, plan, on_nodes)
            self._opened.wake()  # pages of the mirror are to be written anew
        return replace(done, notes=(*choice.notes, *done.notes))

    @giving_back()
    def undo(self, run: int | None = None) -> Undone:
        """Take back what a run of a dream did: merges, links and means. Safe to cut short.

        What was changed since stays changed, and what was forgotten stays forgotten. What is apart
        again is not merged by a later run, until one of the texts changes.

        Args:
            run: its number; None: the newest.

        Raises:
            NoHomeError: when there is no home yet.
            UsageError: when there is no such run, or later ones are to be undone first.
            BusyError: when another process is dreaming.
            StorageError: when the disk refuses; given again, it goes on.
        """
        engine, choice = self._opened.engine(), self._opened.choice()
        meant = Meant(choice.remembered.identity if choice.embeds else "", self._embedded_tiers)
        with holding(self.home, DREAM) as held:
            if not held:
                raise BusyError(
                    "Another process is dreaming in this home.", mend="try again when it is done"
                )
            done = undo(engine, run, self._mirror_root, meant)
        self._opened.wake()
        return done

    def dreams(self) -> tuple[Run, ...]:
        """List the runs that can be undone, the newest first.

        Raises:
            NoHomeError: when there is no home yet.
        """
        with self._opened.engine().reading() as reader:
            return reader.runs()

    @property
    def _mirror_root(self) -> str:
        return str(Path(self.home) / homes.MIRROR_FOLDER)
