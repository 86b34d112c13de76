"""The default embedder: a model that came in a wheel, in processes of its own.

The model never loads here. A child forked from a process that has used it would hang for ever, and
a process can be killed, run at low priority, and die alone.

There are two: one for passages, which steps back for everything else, and one for queries, which
does not wait for it. In a single one a query waited for the batch under way, 0.6 s in the median
and 1.2 s at worst on a busy machine. The weights are mapped memory that both share.
"""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Sequence

import numpy as np

from ringwood.embed import pieces, providers, shipped
from ringwood.embed.base import Anchors, FloatRows, FloatVector, Means
from ringwood.embed.lane import Lane
from ringwood.embed.process import worker_command


class BundledEmbedder:
    """Embeds with the model package of this platform. Safe from several threads, and over a fork.

    A worker starts with the first text of its kind and ends with `close`, or with this process.
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
        self._queries, self._passages = (
            Lane(worker_command(self._provider.name, background=background), self.dim, threads)
            for background in (False, True)
        )
        _live.add(self)

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
    def worker_pids(self) -> tuple[int | None, int | None]:
        """The process ids of the workers for queries and for passages; None for one not running."""
        return self._queries.pid, self._passages.pid

    def embed_passages(self, texts: Sequence[str]) -> FloatRows:
        """Embed texts to be found. Rows unit length, in the order given; `[]` gives `[0, d]`."""
        parts = [pieces.split(pieces.readable(text)) for text in texts]
        flat = [piece for part in parts for piece in part]
        rows = np.empty((len(flat), self.dim), dtype=np.float32)
        for batch in pieces.batches(flat):
            chosen = flat[batch.start : batch.stop]
            rows[batch.start : batch.stop] = self._passages.ask(chosen, query=False, deadline=None)
        return _merge(rows, [len(part) for part in parts])

    def embed_query(self, text: str, *, timeout_s: float | None = None) -> FloatVector:
        """Embed a question, whatever passages are waiting. float32[d], unit length.

        Raises:
            EmbedderError: also when no answer came within `timeout_s`. A worker that is only late
                goes on loading or working, and the next call finds it there.
        """
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        parts = pieces.split(pieces.readable(text))
        rows = self._queries.ask(parts, query=True, deadline=deadline)
        vector: FloatVector = _merge(rows, [len(parts)])[0]
        return vector

    def close(self) -> None:
        """End the workers. Idempotent; a call under way raises `EmbedderError`."""
        self._passages.close()
        self._queries.close()

    def _after_fork_in_child(self) -> None:
        self._passages.after_fork_in_child()
        self._queries.after_fork_in_child()


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
    """Let every embedder of a forked child start workers of its own."""
    for embedder in list(_live):
        embedder._after_fork_in_child()


os.register_at_fork(after_in_child=_forget_workers)
