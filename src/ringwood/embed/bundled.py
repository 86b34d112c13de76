"""The default embedder: a model that came in a wheel, in a process of its own.

The model never loads here. A child forked from a process that has used it would hang for ever, and
a process can be killed, run at low priority, and die alone.
"""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Sequence

import numpy as np

from ringwood.embed import pieces, providers, shipped
from ringwood.embed.base import Anchors, FloatRows, FloatVector, Means
from ringwood.embed.process import ModelProcess, worker_command
from ringwood.embed.turns import Turns
from ringwood.errors import EmbedderError

_FIRST_PAUSE_S = 0.5  # after the second failure in a row; doubled with each further one
_LONGEST_PAUSE_S = 60.0


class BundledEmbedder:
    """Embeds with the model package of this platform. Safe from several threads, and over a fork.

    The worker starts with the first text and ends with `close`, or with this process. Requests go
    to it one at a time, queries first.
    """

    name = "bundled"

    def __init__(
        self, *, provider: providers.Provider | None = None, threads: int | None = None
    ) -> None:
        """Choose a provider; nothing is loaded or started.

        Args:
            provider: None takes the best one installed.
            threads: Of the model; None leaves it to the environment, that is all cores. One of
                the processes that share a home may have them all, the others take 1.

        Raises:
            EmbedderError: when no model package is installed.
        """
        self._provider = providers.installed() if provider is None else provider
        self._threads = threads
        self._closed = False
        self._begin()
        _live.add(self)

    def _begin(self) -> None:
        """Have no worker, no failures, and nobody's turn."""
        self._turns = Turns()
        self._process: ModelProcess | None = None
        self._failures = 0
        self._not_before = 0.0

    @property
    def identity(self) -> str:
        """Provider, model, weight digest, dimension, prefix rule, pooling."""
        return providers.identity(self._provider)

    @property
    def dim(self) -> int:
        """Columns of a row."""
        return self._provider.dim

    @property
    def means(self) -> Means:
        """The means that ship for this model."""
        return shipped.calibration_of(self._provider.name)[0]

    @property
    def anchors(self) -> Anchors:
        """The anchors that ship for this model."""
        return shipped.calibration_of(self._provider.name)[1]

    @property
    def worker_pid(self) -> int | None:
        """The process id of the worker; None while there is none."""
        process = self._process
        return None if process is None else process.pid

    def embed_passages(self, texts: Sequence[str]) -> FloatRows:
        """Embed texts to be found. Rows unit length, in the order given; `[]` gives `[0, d]`."""
        parts = [pieces.split(pieces.readable(text)) for text in texts]
        flat = [piece for part in parts for piece in part]
        rows = np.empty((len(flat), self.dim), dtype=np.float32)
        for batch in pieces.batches(flat):
            with self._turns.passage():
                chosen = flat[batch.start : batch.stop]
                rows[batch.start : batch.stop] = self._ask(chosen, query=False, deadline=None)
        return _merge(rows, [len(part) for part in parts])

    def embed_query(self, text: str, *, timeout_s: float | None = None) -> FloatVector:
        """Embed a question, before any waiting passages. float32[d], unit length.

        Raises:
            EmbedderError: also when no answer came within `timeout_s`. A worker that is only late
                goes on loading or working, and the next call finds it there.
        """
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        parts = pieces.split(pieces.readable(text))
        with self._turns.query(timeout_s):
            rows = self._ask(parts, query=True, deadline=deadline)
        vector: FloatVector = _merge(rows, [len(parts)])[0]
        return vector

    def close(self) -> None:
        """End the worker. Idempotent; a call under way raises `EmbedderError`."""
        self._closed = True
        process = self._process
        if process is not None:
            process.kill()  # whoever has the turn is told at once, and gives it back
        with self._turns.query(None):
            if self._process is not None:
                self._process.close()
                self._process = None

    def _ask(self, texts: Sequence[str], *, query: bool, deadline: float | None) -> FloatRows:
        """Ask the worker, which is started when there is none. Needs the turn."""
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

    def _running(self) -> ModelProcess:
        """Return the worker; start one when none is there and it is not too soon."""
        if self._closed:
            raise EmbedderError("this embedder is closed")
        if self._process is None:
            left_s = self._not_before - time.monotonic()
            if left_s > 0:
                raise EmbedderError(
                    f"the embedding process failed {self._failures} times in a row",
                    mend=f"it is tried again in {left_s:.0f} s; `ringwood doctor` checks it",
                )
            try:
                self._process = ModelProcess(
                    worker_command(self._provider.name), self.dim, threads=self._threads
                )
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

    def _after_fork_in_child(self) -> None:
        """Leave worker and locks to the parent; a thread that is not here may hold them."""
        if self._process is not None:
            self._process.disown()
        self._begin()


def _merge(rows: FloatRows, counts: Sequence[int]) -> FloatRows:
    """Average the pieces of each text, as the model itself does with its windows. Unit rows."""
    if all(count == 1 for count in counts):
        return rows
    starts = np.cumsum([0, *counts[:-1]])
    sums = np.add.reduceat(rows, starts, axis=0)
    unit: FloatRows = sums / np.linalg.norm(sums, axis=1, keepdims=True)
    return unit


_live: weakref.WeakSet[BundledEmbedder] = weakref.WeakSet()


def _forget_workers() -> None:
    """Let every embedder of a forked child start a worker of its own."""
    for embedder in list(_live):
        embedder._after_fork_in_child()


os.register_at_fork(after_in_child=_forget_workers)
