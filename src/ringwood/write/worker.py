"""What follows a store without the caller: vectors and links, then the Markdown mirror.

One thread per process; at most one process per home embeds at a time, by a lease. What is left when
a process ends is taken up by whoever opens the home next.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Condition, Thread
from time import monotonic

from ringwood.embed.lease import EmbeddingLease
from ringwood.embed.meaning import Meaning
from ringwood.engine.base import Engine
from ringwood.errors import EmbedderError, RingwoodError
from ringwood.write import mirror
from ringwood.write.embedding import embed_document
from ringwood.write.link import LinkOptions
from ringwood.write.mirror import MirrorOptions

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """How the worker goes about it."""

    retry_s: float = 120.0
    """Pause before failed documents are tried again, seconds."""
    lease_s: float = 0.5
    """Pause before asking again for a lease that another process holds, seconds."""
    give_up_after: int = 3
    """Documents that fail in a row before the embedder is taken to be down."""


@dataclass(frozen=True, slots=True)
class Task:
    """What a worker works on."""

    engine: Engine
    """The home's database."""
    meaning: Meaning | None
    """None: words are all, only the mirror follows."""
    mirror_root: str
    """Folder of the mirror."""
    link: LinkOptions = field(default_factory=LinkOptions)
    """Bounds of linking."""
    mirror: MirrorOptions = field(default_factory=MirrorOptions)
    """Whether there is a mirror."""
    worker: WorkerOptions = field(default_factory=WorkerOptions)
    """Pauses."""
    before: Callable[[], None] = lambda: None
    """What else is waiting to be written: done first, and without the lease."""


class _StoppedError(Exception):
    """Raised between two batches when the worker is to end."""


class Worker:
    """A daemon thread that catches up and then sleeps until woken."""

    def __init__(self, task: Task, lease: EmbeddingLease) -> None:
        """Prepare; the thread starts with the first `wake`."""
        self._task = task
        self._lease = lease
        self._changed = Condition()
        self._thread: Thread | None = None
        self._woken = False
        self._stopping = False
        self._idle = True
        self._done = 0
        self._errors: list[str] = []

    @property
    def done(self) -> int:
        """Nodes that were given a vector by this worker."""
        return self._done

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
                self._thread = Thread(target=self._run, name="ringwood-worker", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def wait(self, timeout_s: float, on_tick: Callable[[int], None] = lambda done: None) -> bool:
        """Wait until all that was asked for is done; False when time ran out first.

        Args:
            timeout_s: how long at most.
            on_tick: told the number of nodes done, about ten times a second.
        """
        end = monotonic() + timeout_s
        while True:
            with self._changed:
                if self._idle or self._thread is None:
                    break
                left = end - monotonic()
                if left <= 0:
                    return False
                self._changed.wait(min(0.1, left))
            on_tick(self._done)
        on_tick(self._done)
        return True

    def stop(self) -> None:
        """Ask the thread to end after the batch under way; does not wait for it."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()

    def join(self, timeout_s: float) -> None:
        """Wait for the thread to end, and let go of the lease."""
        if self._thread is not None:
            self._thread.join(timeout_s)
        self._lease.release()

    def _run(self) -> None:
        pause_s = 0.0
        while True:
            with self._changed:
                if not self._woken and not self._stopping:
                    self._idle = pause_s == 0.0 or pause_s >= self._task.worker.retry_s
                    self._changed.notify_all()
                    self._changed.wait(pause_s or None)
                if self._stopping:
                    return
                self._woken = False
            try:
                pause_s = self._catch_up()
            except _StoppedError:
                return
            except RingwoodError as error:
                self._note(error)
                pause_s = self._task.worker.retry_s

    def _catch_up(self) -> float:
        """Do all that is waiting; return the seconds after which to look again, 0 for never."""
        self._task.before()
        if not self._lease.try_acquire():
            return self._task.worker.lease_s
        try:
            well = self._task.meaning is None or self._embed_all(self._task.meaning)
            if self._task.mirror.enabled:
                while mirror.refresh(self._task.engine, self._task.mirror_root, limit=100):
                    self._check_stop()
        finally:
            self._lease.release()
        if well:
            self._errors.clear()
        return 0.0 if well else self._task.worker.retry_s

    def _embed_all(self, meaning: Meaning) -> bool:
        """Embed what is pending, then what failed before; False when something failed again."""
        failed: set[int] = set()
        in_a_row = 0
        while in_a_row < self._task.worker.give_up_after:
            with self._task.engine.reading() as reader:
                waiting = reader.pending(64 + len(failed))
            waiting = tuple(each for each in waiting if each.id not in failed)
            if not waiting:
                break
            for document in waiting:
                self._check_stop()
                try:
                    embed_document(
                        self._task.engine, meaning, document, self._task.link, self._count
                    )
                    in_a_row = 0
                except EmbedderError as error:
                    self._check_stop()
                    self._note(error)
                    failed.add(document.id)
                    in_a_row += 1
                    with self._task.engine.writing(document.tier) as writer:
                        writer.set_state(document.id, "failed", error.message)
                    if in_a_row >= self._task.worker.give_up_after:
                        break
        return not failed

    def _count(self, done: int) -> None:
        self._done += done
        self._check_stop()

    def _check_stop(self) -> None:
        if self._stopping:
            raise _StoppedError

    def _note(self, error: RingwoodError) -> None:
        _log.warning("after a store: %s", error.message)
        if error.message not in self._errors:
            self._errors.append(error.message)
