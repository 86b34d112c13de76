"""The part of an engine that remembers what went wrong, and when it is to be tried again.

It is kept in the home, not in a process: a restart neither forgets that something failed nor tries
it again at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

from ringwood.types import Document

Waiting = Literal["embed", "mirror"]
"""What a document may wait for: its vectors, or its file in the mirror."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """The last attempt at a piece of work."""

    work: str
    """What: `embed`, `mirror`, `page`, `exchange`, or the name of a job or a worker."""
    item: str
    """At which one: a document's id, with a digest of its page's path for `page`, the digest of an
    exchange's key; empty where there is one."""
    at: datetime
    """When. UTC."""
    next_at: datetime
    """When it may be tried again. UTC."""
    failures: int = 0
    """How often in a row it failed."""
    under_way: bool = False
    """Whether it was begun and nothing is known of its end: whoever was at it may be dead."""
    error: str | None = None
    """Why it failed last, in a sentence that holds no memory."""

    def is_due(self, now: datetime) -> bool:
        """Say whether it may be tried; always so where the clock went back behind the last time."""
        return not self.at <= now < self.next_at


class AttemptReader(Protocol):
    """What a snapshot says of attempts."""

    def attempts(self, work: str | None = None, *, limit: int = 1000) -> tuple[Attempt, ...]:
        """List attempts at one kind of work, or at all, the latest first."""

    def attempt(self, work: str, item: str = "") -> Attempt | None:
        """Fetch the last attempt at something; None where it never failed."""

    def under_way(self, work: str) -> tuple[Attempt, ...]:
        """List attempts that were begun and have no end."""

    def next_attempt(self, works: Sequence[str], now: datetime) -> datetime | None:
        """Say when the first of what failed is due; None where nothing is to come."""

    def due_documents(
        self, waiting: Waiting, now: datetime, *, limit: int, again: bool = True
    ) -> tuple[Document, ...]:
        """List documents that wait for something and may be tried now, oldest first.

        Args:
            waiting: for what.
            now: the time, UTC.
            limit: how many.
            again: also what failed before; it comes last.
        """


class AttemptWriter(Protocol):
    """What a transaction on the hot tier does about them."""

    def put_attempts(self, attempts: Iterable[Attempt]) -> None:
        """Write attempts down, each over the last one at the same. Hot only."""

    def drop_attempts(self, work: str, items: Iterable[str] = ("",)) -> None:
        """Forget attempts: what went well needs none. Hot only."""
