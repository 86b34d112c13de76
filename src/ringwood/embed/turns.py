"""Whose turn it is: one at a time, and a query before every waiting passage."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from ringwood.errors import EmbedderError


class Turns:
    """A lock with two classes of waiters. Queries that never end keep passages waiting."""

    def __init__(self) -> None:
        """Start with nobody's turn."""
        self._changed = threading.Condition()
        self._taken = False
        self._queries_waiting = 0

    @contextmanager
    def passage(self) -> Iterator[None]:
        """Hold the turn for one batch of passages, after every waiting query."""
        with self._changed:
            self._changed.wait_for(lambda: not self._taken and not self._queries_waiting)
            self._taken = True
        try:
            yield
        finally:
            self._give_back()

    @contextmanager
    def query(self, timeout_s: float | None) -> Iterator[None]:
        """Hold the turn for one query. Raises EmbedderError when it does not come in time."""
        with self._changed:
            self._queries_waiting += 1
            try:
                if not self._changed.wait_for(lambda: not self._taken, timeout_s):
                    raise EmbedderError("the embedder was busy for longer than the time given")
                self._taken = True
            finally:
                self._queries_waiting -= 1
                self._changed.notify_all()
        try:
            yield
        finally:
            self._give_back()

    def _give_back(self) -> None:
        with self._changed:
            self._taken = False
            self._changed.notify_all()
