"""Scheduling: upkeep by the clock, and what is noted of work that failed while nobody looked."""

from __future__ import annotations

import logging

from ringwood.errors import RingwoodError
from ringwood.memory.tending import Tending
from ringwood.upkeep.rotate import ROTATION
from ringwood.upkeep.schedule import Job, Schedule, StoppedError, Stopping
from ringwood.write.retry import RETRY_S, Piece
from ringwood.write.troubles import note_trouble, settle

_log = logging.getLogger(__name__)

RETRY = "retry"
"""Name of the job that looks again at what waits and at what failed."""


class Scheduling(Tending):
    """Does by the clock what runs when nobody waits."""

    def schedule(self) -> Schedule:
        """Make the schedule of this home, for a process that stays.

        Whoever starts it stops it before this memory is closed.
        """
        options = self.config.upkeep
        jobs = (
            Job(RETRY, options.retry_s, self._retry, shared=False),
            Job(ROTATION, options.rotate_every_s, self._rotate),
        )
        return Schedule(self.home, self._opened.engine, jobs, options)

    def do_due(self, *, within_s: float) -> tuple[str, ...]:
        """Do the upkeep that is due, unless another process is at it; return what was begun.

        Args:
            within_s: how long at most, seconds; the rest stays due.

        Raises:
            NoHomeError: when there is no home.
            StorageError: when the home cannot be written.
        """
        return self.schedule().run_due(within_s=within_s)

    def note_trouble(self, work: str, error: Exception) -> None:
        """Note that something failed behind everybody's back: `stats` tells it until it goes well.

        Args:
            work: what, in a word.
            error: why. Of what is no `RingwoodError`, only its kind is kept: it may quote a memory.
        """
        message = error.message if isinstance(error, RingwoodError) else type(error).__name__
        retry_s = self.config.upkeep.retry_s or RETRY_S
        try:
            note_trouble(self._opened.engine(), Piece(work), message, retry_s)
        except RingwoodError as refused:  # a home that takes no note: the log is all there is
            _log.warning("%s failed (%s), and that is not noted: %s", work, message, refused.code)

    def settle(self, work: str) -> None:
        """Note that something goes well again. Idempotent; costs one look where it always did."""
        try:
            settle(self._opened.engine(), Piece(work))
        except RingwoodError as refused:
            _log.info("that %s goes well is not noted: %s", work, refused.code)

    def _retry(self, stopping: Stopping) -> None:
        """Let the worker look at what waits: another process may have left it."""
        self._opened.wake()

    def _rotate(self, stopping: Stopping) -> None:
        def check(done: int, total: int) -> None:
            if stopping():
                raise StoppedError

        self.rotate(on_document=check)
