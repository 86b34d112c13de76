"""One worker and those who wait for it: one request at a time, a new worker after a lost one."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ringwood.embed.base import FloatRows
from ringwood.embed.process import ModelProcess
from ringwood.errors import EmbedderError

_FIRST_PAUSE_S = 0.5  # after the second failure in a row; doubled with each further one
_LONGEST_PAUSE_S = 60.0


class Lane:
    """Hands requests to a worker, which starts with the first. Safe from several threads."""

    def __init__(self, command: Sequence[str], dim: int, threads: int | None) -> None:
        """Say how the worker is started; nothing is."""
        self._command = command
        self._dim = dim
        self._threads = threads
        self._closed = False
        self._begin()

    def _begin(self) -> None:
        """Have no worker, no failures, and nobody's turn."""
        self._turn = threading.Lock()
        self._process: ModelProcess | None = None
        self._failures = 0
        self._not_before = 0.0

    @property
    def pid(self) -> int | None:
        """The process id of the worker; None while there is none."""
        process = self._process
        return None if process is None else process.pid

    def ask(self, texts: Sequence[str], *, query: bool, deadline: float | None) -> FloatRows:
        """Embed texts in their turn. Rows unit length.

        Raises:
            EmbedderError: as `ModelProcess.ask`; also when the turn did not come in time, and when
                the last workers failed so quickly that it is too soon for another.
        """
        with self._my_turn(deadline):
            process = self._running()
            try:
                rows = process.ask(texts, query=query, deadline=deadline)
            except EmbedderError:
                if process.gone:
                    self._process = None
                    self._failed()
                raise
            self._failures = 0
            return rows

    def close(self) -> None:
        """End the worker. Idempotent; a request under way raises `EmbedderError`."""
        self._closed = True
        process = self._process
        if process is not None:
            process.kill()  # whoever has the turn is told at once, and gives it back
        with self._turn:
            if self._process is not None:
                self._process.close()
                self._process = None

    def after_fork_in_child(self) -> None:
        """Leave worker and lock to the parent; a thread that is not here may hold them."""
        if self._process is not None:
            self._process.disown()
        self._begin()

    @contextmanager
    def _my_turn(self, deadline: float | None) -> Iterator[None]:
        """Wait for the turn, but not beyond the deadline."""
        timeout_s = -1.0 if deadline is None else max(0.0, deadline - time.monotonic())
        turn = self._turn
        if not turn.acquire(timeout=timeout_s):
            raise EmbedderError("the embedder was busy for longer than the time given")
        try:
            yield
        finally:
            turn.release()

    def _running(self) -> ModelProcess:
        """Return the worker; start one when none is there and it is not too soon."""
        if self._closed:
            raise EmbedderError("this embedder is closed")
        if self._process is not None and self._process.ended:
            self._process.close()
            self._process = None
            self._failed()  # while it was idle: no fault of what is asked now
        if self._process is None:
            left_s = self._not_before - time.monotonic()
            if left_s > 0:
                raise EmbedderError(
                    f"the embedding process failed {self._failures} times in a row",
                    mend=f"it is tried again in {left_s:.0f} s; words go on",
                )
            try:
                self._process = ModelProcess(self._command, self._dim, threads=self._threads)
            except EmbedderError:
                self._failed()
                raise
        return self._process

    def _failed(self) -> None:
        """Count a failure. The first is followed by a new start at once, the others by a pause."""
        self._failures += 1
        if self._failures > 1:
            pause_s = min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2.0 ** (self._failures - 2))
            self._not_before = time.monotonic() + pause_s
