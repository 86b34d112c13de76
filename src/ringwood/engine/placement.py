"""Where documents lie, and moving them between tiers.

A document lies whole in one tier. While it moves there are two copies for a moment, and after a
crash for longer; of these the hottest wins, whoever reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from ringwood.types import Tier

MOVING = "moving"
"""Meta key: moves were begun that may have left copies. Its value is another each time; "": none.

Moving to the hot tier sets it by itself, in the transaction that makes the copy.
"""
MOVED_UP_AT = "moved_up_at"
"""Meta key: when documents were last moved to a hotter tier and left an older copy. ISO 8601."""


@dataclass(frozen=True, slots=True)
class TierDates:
    """Where one age class ends and the next begins."""

    hot_since: datetime
    """The oldest `created_at` of the hot tier. UTC."""
    warm_since: datetime
    """The oldest `created_at` of the warm tier. UTC."""


@dataclass(frozen=True, slots=True)
class Misplaced:
    """A document whose tier is not the one of its age."""

    document: int
    """Its id."""
    tier: Tier
    """Where it lies: its hottest copy."""
    due: Tier
    """Where it belongs."""


@dataclass(frozen=True, slots=True)
class Move:
    """A document that is to be moved as it was read."""

    document: int
    """Its id."""
    sha256: str
    """Digest of its text: a document that was changed since stays where it is."""
    terms: Mapping[int, Sequence[str]]
    """Distinct index terms of every node: the index gives none back without being read whole."""


class Placement(Protocol):
    """The part of an engine that knows tiers as places."""

    def misplaced(self, dates: TierDates) -> tuple[Misplaced, ...]:
        """List documents that lie in another tier than that of their `created_at`, by id.

        Of a tier that is missing nothing is listed.
        """

    def copies(self) -> dict[Tier, tuple[int, ...]]:
        """List documents per tier that have a hotter copy: what a move that was cut short left."""

    def last_stored(self) -> datetime | None:
        """Say when the newest document was taken in; None when there is none."""

    def move(
        self, batch: Sequence[Move], source: Tier, target: Tier, *, vectors: bool = True
    ) -> tuple[int, ...]:
        """Move documents with all that belongs to them, durable when this returns.

        Committed in the target first, then deleted in the source: whenever this is cut short, each
        document has a copy. On the way to a hotter tier the older copy stays, for `drop_copies`:
        a reader that began before the move looks for the document there.

        Args:
            batch: as they were read; few enough for one transaction.
            source: where they lie.
            target: where to.
            vectors: False leaves their vectors behind.

        Returns:
            The ids of those that were moved. Not among them are documents that were changed or
            removed since, and those whose path or source key another one has in the target.

        Raises:
            BusyError: when the write lock was not had in time.
            StorageError: when a tier is missing or the disk refuses; nothing was moved.
        """

    def drop_copies(self, tier: Tier, documents: Iterable[int]) -> int:
        """Delete copies in a tier of documents that have a hotter one; return how many.

        Raises:
            BusyError, StorageError: as `move`.
        """


class PlacementWriter(Protocol):
    """What a transaction on the hot tier does about tiers that are missing."""

    def remove_later(self, document: int, tiers: Iterable[Tier]) -> None:
        """Note that a document has no copy any more in tiers that are missing. Hot only.

        A copy that lies there all the same is removed before anybody reads the tier again: until
        then it counts as missing.
        """
