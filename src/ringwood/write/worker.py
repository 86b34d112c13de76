"""What follows a store without the caller: vectors and links, then the Markdown mirror.

One thread per process; at most one process per home embeds at a time, by a lease. What is left when
a process ends is taken up by whoever opens the home next.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from threading import Condition, Thread
from time import monotonic

from ringwood.embed.meaning import Meaning
from ringwood.engine.base import Engine
from ringwood.errors import EmbedderError, RingwoodError
from ringwood.lease import Lease
from ringwood.types import Document
from ringwood.write import mirror
from ringwood.write.embedding import embed_document
from ringwood.write.link import LinkOptions
from ringwood.write.means import refresh_means
from ringwood.write.mirror import MirrorOptions

_log = logging.getLogger(__name__)

_TICK_S = 0.1
"""How often who waits is told, and the shortest pause between two rounds, seconds."""
_LOOK_AHEAD = 64
"""Waiting documents that are listed at once."""


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
    meaning: Callable[[], Meaning | None]
    """How meanings are compared, asked for in every round; None: words are all, only the mirror
    follows. It may raise `EmbedderError`, and is then asked again after the pause."""
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
            except _StoppedError:
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
            if not self._woken and not self._stopping:
                self._idle = last.tried
                self._changed.notify_all()
                again_s = None if last.again_s is None else max(_TICK_S, last.again_s)
                self._changed.wait(again_s)
            self._woken = False
            return not self._stopping

    def _catch_up(self) -> _Round:
        """Do all that is waiting."""
        self._task.before()
        if not self._lease.try_acquire():
            return _Round(tried=False, again_s=self._task.worker.lease_s)
        try:
            self._mirror_all()
            well = self._embed_all()
        finally:
            self._lease.release()
        if not well:
            return _Round(again_s=self._task.worker.retry_s)
        self._errors.clear()
        return _Round()

    def _mirror_all(self) -> None:
        """Write the files that are to come: before the embedding, which may take hours."""
        while self._task.mirror.enabled and mirror.refresh(
            self._task.engine, self._task.mirror_root, limit=100
        ):
            self._check_stop()

    def _embed_all(self) -> bool:
        """Embed what is pending, then what failed before; False when something failed again."""
        try:
            if self._task.meaning() is None:
                return True
        except EmbedderError as error:
            self._put_off(error)
            return False
        failed: set[int] = set()
        in_a_row = 0
        for document in self._pending(failed):
            self._check_stop()
            meaning = self._task.meaning()  # the home may have gone over to another embedder
            if meaning is None:
                break
            if self._embed(meaning, document):
                in_a_row = 0
                continue
            failed.add(document.id)
            in_a_row += 1
            if in_a_row >= self._task.worker.give_up_after:
                break
        return not failed

    def _pending(self, but: set[int]) -> Iterator[Document]:
        """Yield documents that wait for vectors, but those named, until there are none."""
        while True:
            with self._task.engine.reading() as reader:
                waiting = reader.pending(_LOOK_AHEAD + len(but))
            waiting = tuple(each for each in waiting if each.id not in but)
            if not waiting:
                return
            yield from waiting
            self._mirror_all()  # of what was stored meanwhile

    def _embed(self, meaning: Meaning, document: Document) -> bool:
        """Embed one document; False, and marked as failed, when the embedder could not."""
        try:
            embed_document(self._task.engine, meaning, document, self._task.link, self._count)
        except EmbedderError as error:
            self._fail([document], error)
            return False
        refresh_means(self._task.engine, meaning, document.space)
        return True

    def _put_off(self, error: EmbedderError) -> None:
        """Say of what is waiting why there is no embedder: as much as would have been tried."""
        with self._task.engine.reading() as reader:
            waiting = reader.pending(self._task.worker.give_up_after)
        self._fail(waiting, error)

    def _fail(self, documents: Sequence[Document], error: EmbedderError) -> None:
        """Mark documents as failed, with the reason; they are tried again after the pause."""
        self._check_stop()
        self._note(error.message)
        for document in documents:
            with self._task.engine.writing(document.tier) as writer:
                writer.set_state(document.id, "failed", error.message)

    def _count(self, done: int) -> None:
        self._done += done
        self._check_stop()

    def _check_stop(self) -> None:
        if self._stopping:
            raise _StoppedError

    def _failed(self, message: str) -> _Round:
        self._note(message)
        return _Round(again_s=self._task.worker.retry_s)

    def _note(self, message: str) -> None:
        _log.warning("after a store: %s", message)
        if message not in self._errors:
            self._errors.append(message)
