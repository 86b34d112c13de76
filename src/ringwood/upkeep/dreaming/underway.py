"""A run of a dream while it is under way: its entry in the journal, and how long its parts take."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from time import perf_counter

from ringwood.engine.base import Engine


class Underway:
    """One run; its entry in the journal is made when there is something to write into it."""

    def __init__(self, engine: Engine, begun_at: datetime) -> None:
        self._engine = engine
        self._begun_at = begun_at
        self._number: int | None = None
        self.seconds: dict[str, float] = {}
        """Of every part that was timed, by its name."""

    @property
    def number(self) -> int:
        """Number of the run, under which its changes are noted."""
        if self._number is None:
            with self._engine.writing() as writer:
                self._number = writer.begin_dream(self._begun_at)
        return self._number

    @contextmanager
    def timing(self, part: str) -> Iterator[None]:
        """Add the seconds that the body takes to those of a part."""
        begun = perf_counter()
        try:
            yield
        finally:
            self.seconds[part] = self.seconds.get(part, 0.0) + perf_counter() - begun

    def end(self, *, keep: int) -> int | None:
        """Close the entry; return its number, or None where nothing was changed.

        Args:
            keep: how many of the newest runs the journal holds from now on.
        """
        if self._number is None:
            return None
        with self._engine.writing() as writer:
            writer.finish_dream(self._number, datetime.now(UTC), keep=keep)
        with self._engine.reading() as reader:
            return self._number if any(run.id == self._number for run in reader.runs()) else None
