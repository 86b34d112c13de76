"""Scheduling: upkeep by the clock, and what is noted of work that failed while nobody looked."""

from __future__ import annotations

import logging

from ringwood import home as homes
from ringwood.errors import NoHomeError, RingwoodError, StorageError
from ringwood.memory.keeping import Keeping
from ringwood.memory.tending import Tending
from ringwood.upkeep.aging.rotate import ROTATION
from ringwood.upkeep.schedule import Job, Schedule, StoppedError, Stopping
from ringwood.write.exchanges import TakenIn, forget_attempts
from ringwood.write.retry import RETRY_S, Piece
from ringwood.write.troubles import note_trouble, settle

_log = logging.getLogger(__name__)

RETRY = "retry"
"""Name of the job that looks again at what waits and at what failed."""
SPOOL = "spool"
"""What is noted when captured exchanges cannot be stored."""
JOIN_S = 2.0
"""How long closing waits for a job to stop, seconds: longer than a batch of a rotation takes. One
that does not is cut short: all of it can be."""


class Scheduling(Keeping, Tending):
    """Does by the clock what runs when nobody waits."""

    _kept: Schedule | None = None

    def keep_schedule(self) -> None:
        """Begin to do upkeep by the clock, for a process that stays; it ends with `close`. Once."""
        if self._kept is None:
            self._kept = self.schedule()
            self._kept.start()

    def close(self) -> None:
        """Stop what is done by the clock, then close as any memory."""
        if self._kept is not None and not self._is_view:
            self._kept.stop()
            self._kept.join(JOIN_S)
        super().close()

    def schedule(self) -> Schedule:
        """Make the schedule of this home; it does nothing by itself before it is started."""
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

    def take_in_or_note(self, *, everything: bool = False) -> TakenIn | None:
        """Store captured exchanges as `take_in` does, for a loop that must go on.

        Raises nothing: what fails is logged and noted, and tried the next time.

        Returns:
            What became of them; None when none could be looked at.
        """
        try:
            taken = self.take_in(everything=everything)
            if not taken.waiting and not taken.elsewhere and homes.exists(self.home):
                forget_attempts(self._opened.engine())
        except RingwoodError as error:
            _log.warning("the spool has to wait: %s", error.message)
            self.note_trouble(SPOOL, error)
            return None
        except Exception as error:  # noqa: BLE001 - the outermost loops of front ends stand on this
            _log.warning("the spool has to wait: %s", type(error).__name__)
            self.note_trouble(SPOOL, error)
            return None
        if taken.failed:
            self.note_trouble(SPOOL, StorageError(taken.failed[0]))
        elif not taken.put_off:
            self.settle(SPOOL)
        return taken

    def note_trouble(self, work: str, error: Exception) -> None:
        """Note that something failed behind everybody's back: `stats` tells it until it goes well.

        Args:
            work: what, in a word.
            error: why. Of what is no `RingwoodError`, only its kind is kept: it may quote a memory.
        """
        if isinstance(error, NoHomeError):
            return
        message = error.message if isinstance(error, RingwoodError) else type(error).__name__
        retry_s = self.config.upkeep.retry_s or RETRY_S
        try:
            note_trouble(self._opened.engine(), Piece(work), message, retry_s)
        except RingwoodError as refused:  # a home that takes no note: the log is all there is
            _log.warning("%s failed (%s), and that is not noted: %s", work, message, refused.code)

    def settle(self, work: str) -> None:
        """Note that something goes well again. Idempotent; costs one look where it always did."""
        if not homes.exists(self.home):
            return
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
