"""What follows a store without the caller: vectors and links, then the Markdown mirror.

One thread per process; at most one process per home embeds at a time, by a lease. What is left when
a process ends is taken up by whoever opens the home next.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from threading import Condition, Thread
from time import monotonic

from ringwood.embed.meaning import Meaning
from ringwood.engine.base import Engine
from ringwood.errors import RingwoodError, StorageError
from ringwood.lease import Lease
from ringwood.write.catch_up import CatchUp, Stopped
from ringwood.write.link import LinkOptions
from ringwood.write.mirror import MirrorOptions
from ringwood.write.retry import RETRY_S, Piece
from ringwood.write.troubles import note_trouble, settle

_log = logging.getLogger(__name__)

WORKER = Piece("worker")
"""What is noted of the worker itself, beside what it does for single documents."""

_TICK_S = 0.1
"""How often who waits is told, and the shortest pause between two rounds, seconds."""


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """How the worker goes about it."""

    lease_s: float = 0.5
    """Pause before asking again for a lease that another process holds, seconds."""


@dataclass(frozen=True, slots=True)
class Task:
    """What a worker works on."""

    engine: Engine
    """The home's database."""
    meaning: Callable[[], Meaning | None]
    """How meanings are compared, asked for before every document; None: words are all, only the
    mirror follows. It may raise `EmbedderError`, and is then asked again after the pause."""
    mirror_root: str
    """Folder of the mirror."""
    link: LinkOptions = field(default_factory=LinkOptions)
    """Bounds of linking."""
    mirror: MirrorOptions = field(default_factory=MirrorOptions)
    """Whether there is a mirror."""
    worker: WorkerOptions = field(default_factory=WorkerOptions)
    """Pauses."""
    retry_s: float = RETRY_S
    """First pause before what failed is tried again, seconds; 0: it is not, unasked."""
    before: Callable[[], None] = lambda: None
    """What else is waiting to be written: done first, and without the lease."""


@dataclass(frozen=True, slots=True)
class _Round:
    """How one round of catching up ended."""

    tried: bool = True
    """Whether all that was waiting was tried; False: another process is at it."""
    again_s: float | None = None
    """Seconds after which to look again; None: when woken."""


class Worker:
    """A daemon thread that catches up and then sleeps until woken."""

    def __init__(self, task: Task, lease: Lease) -> None:
        """Prepare; the thread starts with the first `wake`."""
        self._task = task
        self._lease = lease
        self._changed = Condition()
        self._thread: Thread | None = None
        self._woken = False
        self._stopping = False
        self._idle = True
        self._first = True
        self._done = 0
        self._errors: list[str] = []

    @property
    def errors(self) -> tuple[str, ...]:
        """What went wrong since the last time that all was well; sentences for people."""
        return tuple(self._errors)

    def wake(self) -> None:
        """Say that there is something to do."""
        with self._changed:
            if self._stopping:
                return
            self._woken, self._idle = True, False
            if self._thread is None:
                thread = Thread(target=self._run, name="ringwood-worker", daemon=True)
                thread.start()
                self._thread = thread
            self._changed.notify_all()

    def wait(self, timeout_s: float, on_tick: Callable[[int], None] = lambda done: None) -> bool:
        """Wait until all that was asked for was tried; False when time ran out first.

        Args:
            timeout_s: how long at most; 0 only looks.
            on_tick: told the number of nodes done, about ten times a second.
        """
        end = monotonic() + timeout_s
        idle = False
        while not idle:
            with self._changed:
                left_s = end - monotonic()
                if not self._idle and left_s > 0:
                    self._changed.wait(min(_TICK_S, left_s))
                idle = self._idle
            on_tick(self._done)
            if left_s <= 0:
                break
        return idle

    def stop(self) -> None:
        """Ask the thread to end after the batch under way; does not wait for it."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()

    def join(self, timeout_s: float) -> None:
        """Wait for the thread to end; it lets go of the lease itself, whenever that is."""
        if self._thread is not None:
            self._thread.join(timeout_s)

    def _run(self) -> None:
        last = _Round()
        while self._sleep(last):
            try:
                last = self._catch_up()
            except Stopped:
                return
            except RingwoodError as error:
                if self._stopping:  # whatever it needs is being closed
                    return
                last = self._failed(error.message)
            except Exception as error:  # noqa: BLE001 - the outermost loop of this thread
                # A thread that died here would leave the home without vectors and say nothing.
                # The kind of error only: its message may quote a memory.
                last = self._failed(f"{type(error).__name__} while catching up with what is stored")

    def _sleep(self, last: _Round) -> bool:
        """Sleep until there is something to do; False: to end."""
        with self._changed:
            if not last.tried:  # who is at it sees to what is stored here, however often we ask
                self._idle = False
                self._changed.wait_for(lambda: self._stopping, last.again_s)
            elif not self._woken and not self._stopping:
                self._idle = True
                self._changed.notify_all()
                again_s = None if last.again_s is None else max(_TICK_S, last.again_s)
                self._changed.wait(again_s)
            self._woken = False
            return not self._stopping

    def _catch_up(self) -> _Round:
        """Do all that is waiting."""
        task = self._task
        task.before()
        if not self._lease.try_acquire():
            return _Round(tried=False, again_s=task.worker.lease_s)
        try:
            catch_up = CatchUp(
                engine=task.engine,
                meaning=task.meaning,
                mirror_root=task.mirror_root,
                link=task.link,
                mirror=task.mirror,
                retry_s=task.retry_s,
                first=self._first,
                on_batch=self._count,
            )
            troubles = catch_up.run()
            self._first = False
            now = datetime.now(UTC)
            due_at = catch_up.next_at(now)
        finally:
            self._lease.release()
        if troubles or due_at is None:  # else what failed before waits for its time
            self._errors = list(troubles)
        settle(task.engine, WORKER)
        if due_at is None:
            return _Round()
        # What is overdue waits for something else than time: a folder, a server.
        again_s = (due_at - now).total_seconds()
        return _Round(again_s=again_s if again_s > 0 else task.retry_s)

    def _count(self, done: int) -> None:
        self._done += done
        if self._stopping:
            raise Stopped

    def _failed(self, message: str) -> _Round:
        _log.warning("after a store: %s", message)
        if message not in self._errors:
            self._errors.append(message)
        pause_s = self._task.retry_s or RETRY_S
        with suppress(StorageError):  # then the log and this process are all that know
            note_trouble(self._task.engine, WORKER, message, pause_s)
        return _Round(again_s=pause_s)
