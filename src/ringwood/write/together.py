"""Store together what several threads store at once: one transaction, one wait for the disk.

    thread: its draft joins those that wait -> whoever has the turn ingests all that wait
            -> the others find theirs done when they get the turn

A commit waits for the disk, and while one thread waits the next ones come. What each is told, it is
told after the commit that made its text durable; nobody is told of another one's mistake.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from threading import Lock

from ringwood.errors import StorageError, UsageError
from ringwood.write.draft import Draft, Ingested

MOST_DRAFTS = 32
"""Texts in one transaction at most: other processes wait for it."""
MOST_CHARS = 200_000
"""Characters in it at most, unless one text alone has more."""

Ingest = Callable[[Sequence[Draft]], Sequence[Ingested]]


class Together:
    """Where the threads of one process meet that store into one home."""

    def __init__(self) -> None:
        """Begin with nobody waiting."""
        self._turn = Lock()  # held by whoever ingests
        self._lock = Lock()  # of what waits
        self._waiting: list[_Waiting] = []

    def ingest(self, draft: Draft, ingest: Ingest) -> Ingested:
        """Ingest a draft, with those of other threads that wait by then.

        Args:
            draft: the text.
            ingest: does it, for one draft and for several.

        Raises:
            UsageError: when this draft cannot be stored.
            StorageError: when the disk refuses, this draft or one beside it.
        """
        mine = _Waiting(draft)
        with self._lock:
            self._waiting.append(mine)
        try:
            with self._turn:
                if not mine.done.done():
                    self._ingest_with(mine, ingest)
        finally:
            with self._lock:
                self._waiting.remove(mine)
        return mine.done.result()

    def _ingest_with(self, mine: _Waiting, ingest: Ingest) -> None:
        """Ingest mine and what waits beside it; where one of them is wrong, mine alone."""
        batch = self._batch(mine)
        try:
            outcomes = ingest([each.draft for each in batch])
        except UsageError:
            if len(batch) == 1:
                raise
            for each in batch:
                each.is_alone = True  # the thread that brought it hears what is wrong with it
            batch = [mine]
            outcomes = ingest([mine.draft])
        except StorageError as error:
            for each in batch:  # the disk refuses all of them: none waits for it once more
                each.done.set_exception(type(error)(error.message, mend=error.mend))
            return
        for each, outcome in zip(batch, outcomes, strict=True):
            each.done.set_result(outcome)

    def _batch(self, mine: _Waiting) -> list[_Waiting]:
        batch, chars = [mine], len(mine.draft.text)
        if mine.is_alone:
            return batch
        with self._lock:
            others = [each for each in self._waiting if each is not mine]
        for other in others:
            chars += len(other.draft.text)
            if chars > MOST_CHARS or len(batch) == MOST_DRAFTS:
                break
            if not other.done.done() and not other.is_alone:
                batch.append(other)
        return batch


class _Waiting:
    """A draft that a thread waits for."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.is_alone = draft.replaces is not None  # its address may be gone by now
        self.done = Future[Ingested]()
