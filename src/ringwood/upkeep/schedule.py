"""What is done by the clock, on one thread of a long-lived process.

    due? -> the lease of the schedule -> written down as begun -> job -> written down as done

When a job is due stands in the home, so many restarts neither put it off nor repeat it. Due dates
are the wall clock's; waiting is done by the monotonic one, which nobody sets.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from time import monotonic

from ringwood.engine.attempts import Attempt
from ringwood.engine.base import Engine
from ringwood.errors import NoHomeError, RingwoodError, StorageError
from ringwood.upkeep.lease import holding
from ringwood.upkeep.slack import giving_back
from ringwood.write.retry import RETRY_S, Piece, begun, died, failed

_log = logging.getLogger(__name__)

SCHEDULE = "schedule"
"""Name of the lease that whoever does jobs holds; see `upkeep.lease`."""
LOOK_S = 60.0
"""Longest time between two looks at what is due, seconds: another process may have died at it."""
LEAST_S = 0.5
"""Shortest time between two looks, seconds, while another process does what is due."""
_NICENESS = 10
"""How far the thread steps back for others, where a system can do that for one thread."""


@dataclass(frozen=True, slots=True)
class UpkeepOptions:
    """What is done by the clock in long-lived processes. Each can be off, as 0."""

    retry_s: float = 120.0
    """First pause before what failed is tried again, seconds; it doubles with each failure, up to
    an hour. 0: what failed waits until it is edited or asked for."""
    rotate_every_s: float = 21600.0
    """Time between two rotations, seconds: a document that comes of age waits a quarter day."""
    start_delay_s: float = 30.0
    """How long after its start a process begins with what is due, seconds: a session that has just
    begun has better to do. 0: what is left over waits for its own time."""


class StoppedError(Exception):
    """Raised by a job that was told to stop before it was done: it is begun again when due."""


Stopping = Callable[[], bool]
"""Says whether a job is to stop at its next safe point."""


@dataclass(frozen=True, slots=True)
class Job:
    """A piece of upkeep that comes round."""

    name: str
    """As in `Attempt.work`."""
    every_s: float
    """Time between two runs, seconds; 0: never."""
    work: Callable[[Stopping], None]
    """Does it. May raise what it likes: that is noted, and it is tried again."""
    shared: bool = True
    """Whether one process does it for the home, and the home keeps when; False: each does it for
    itself, by a clock of its own, and keeps nothing."""


class Schedule:
    """Does jobs when they are due; what is shared, one process of a home at a time.

    `run_due` does what is shared and due now. `start` begins a thread that goes on doing so until
    `stop`.
    """

    def __init__(
        self,
        home: str,
        engine: Callable[[], Engine],
        jobs: Sequence[Job],
        options: UpkeepOptions,
    ) -> None:
        """Hold what is to be done; nothing is opened.

        Args:
            home: the home's folder.
            engine: opens the database; raises `NoHomeError` while there is none.
            jobs: what comes round. Those that are off are left out.
            options: pauses.
        """
        self._home = home
        self._engine = engine
        self._jobs = [job for job in jobs if job.every_s]
        self._options = options
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._own: dict[str, float] = {}  # by the monotonic clock: jobs that are nobody else's

    # -- the thread --------------------------------------------------------------------------

    def start(self) -> None:
        """Begin the thread, unless all is off. Once."""
        if self._jobs and self._thread is None:
            self._thread = threading.Thread(target=self._run, name="ringwood-schedule", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Ask the thread to end, and the job under way to stop; does not wait. Idempotent."""
        self._stop.set()

    def join(self, timeout_s: float) -> bool:
        """Wait for the thread; False when it is still at work."""
        if self._thread is None:
            return True
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _run(self) -> None:
        _step_back()
        pause_s = self._options.start_delay_s or min(job.every_s for job in self._jobs)
        while not self._stop.wait(pause_s):
            try:
                self._do_own()
                self.run_due()
                pause_s = self._pause_s()
            except NoHomeError:
                pause_s = LOOK_S  # the first store makes it
            except RingwoodError as error:
                _log.warning("nothing is done by the clock for now: %s", error.code)
                pause_s = LOOK_S
            except Exception as error:  # noqa: BLE001 - the outermost loop of this thread
                _log.warning("nothing is done by the clock: %s", type(error).__name__)
                pause_s = LOOK_S

    def _pause_s(self) -> float:
        """Return how long nothing is due, at most `LOOK_S`; what others are at counts as due."""
        now = datetime.now(UTC)
        waits = [(self._due_at(job, now) - now).total_seconds() for job in self._shared]
        waits += [due - monotonic() for due in self._own.values()]
        return min([LOOK_S, *(max(each, LEAST_S) for each in waits)])

    def _do_own(self) -> None:
        for job in self._jobs:
            if not job.shared and monotonic() >= self._own.get(job.name, 0.0):
                job.work(self._stop.is_set)
                self._own[job.name] = monotonic() + job.every_s

    # -- jobs --------------------------------------------------------------------------------

    def run_due(self, *, within_s: float | None = None) -> tuple[str, ...]:
        """Do what is shared and due, unless another process of the home is at it; return the names.

        Args:
            within_s: stop after so many seconds, and begin nothing where the write lock is not had
                within them; None: only when told.

        Raises:
            NoHomeError: when there is none.
            BusyError: when the write lock was not had in time.
            StorageError: when the home cannot be written.
        """
        if not self._engine().writable or not self._due(datetime.now(UTC)):
            return ()  # one look and no lock: the common case
        with holding(self._home, SCHEDULE) as held:
            if not held:
                return ()
            self._take_note(within_s)
            end = None if within_s is None else monotonic() + within_s

            def stopping() -> bool:
                return self._stop.is_set() or (end is not None and monotonic() >= end)

            done = []
            for job in self._due(datetime.now(UTC)):  # again: another may have just done it
                if stopping():
                    break
                self._do(job, stopping, within_s)
                done.append(job.name)
        return tuple(done)

    def _due(self, now: datetime) -> list[Job]:
        return [job for job in self._shared if self._due_at(job, now) <= now]

    @property
    def _shared(self) -> list[Job]:
        return [job for job in self._jobs if job.shared]

    def _due_at(self, job: Job, now: datetime) -> datetime:
        """Say when a job is due: what ran at a time yet to come, or was never noted, is due now."""
        with self._engine().reading() as reader:
            last = reader.attempt(job.name)
        if last is None or last.is_due(now):
            return now
        return due_at(last, job.every_s, self._options)

    def _take_note(self, within_s: float | None) -> None:
        """Note what is new: jobs that never ran here, and jobs whose process died.

        A new home is left alone for a whole interval: what was just stored in it stays where it is.
        What is under way while nobody holds the lease is nobody's any more.
        """
        now = datetime.now(UTC)
        with self._engine().reading() as reader:
            last = {job: reader.attempt(job.name) for job in self._shared}
        news = [died(each, self._retry_s) for each in last.values() if each and each.under_way]
        news += [_done(job, now) for job, each in last.items() if each is None]
        if news:
            with self._engine().writing(timeout_s=within_s) as writer:
                writer.put_attempts(news)

    def _do(self, job: Job, stopping: Stopping, within_s: float | None) -> None:
        piece = Piece(job.name)
        with self._engine().reading() as reader:
            before = reader.attempt(job.name)
        mark = begun(piece, before, datetime.now(UTC))
        self._note(mark, within_s)
        try:
            with giving_back():
                job.work(stopping)
        except StoppedError:
            after = replace(mark, under_way=False)  # due as it was
        except Exception as error:  # noqa: BLE001 - what one job raises is not the others' trouble
            reason = error.message if isinstance(error, RingwoodError) else type(error).__name__
            _log.warning("%s is tried again later: %s", job.name, reason)
            after = failed(piece, before, reason, datetime.now(UTC), self._retry_s)
        else:
            after = _done(job, datetime.now(UTC))
        with suppress(StorageError):  # then it looks as if it had died, and comes again
            self._note(after, within_s)

    def _note(self, attempt: Attempt, within_s: float | None) -> None:
        with self._engine().writing(timeout_s=within_s) as writer:
            writer.put_attempts([attempt])

    @property
    def _retry_s(self) -> float:
        return _first_pause_s(self._options)


def due_at(last: Attempt, every_s: float, options: UpkeepOptions) -> datetime:
    """Say when what ran last is due: who shortened the interval since waits for the new one."""
    pause_s = max(every_s, _first_pause_s(options))
    return min(last.next_at, last.at + timedelta(seconds=pause_s))


def _first_pause_s(options: UpkeepOptions) -> float:
    return options.retry_s or RETRY_S


def _done(job: Job, now: datetime) -> Attempt:
    return Attempt(job.name, "", now, now + timedelta(seconds=job.every_s))


def _step_back() -> None:
    """Let others go first. Linux knows priorities of single threads; elsewhere all stays as is."""
    if sys.platform == "linux":
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)
