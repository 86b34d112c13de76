"""The part of an engine that gives back what its files no longer need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from ringwood.types import Tier


@dataclass(frozen=True, slots=True)
class Footprint:
    """What a tier takes on disk."""

    bytes: int
    """Its files, write-ahead log included."""
    content_bytes: int
    """What its rows fill of that: about what compacting would leave."""


@dataclass(frozen=True, slots=True)
class LargeLog:
    """A write-ahead log that has outgrown its bound."""

    bytes: int
    """Its size on disk."""
    held: bool
    """Whether somebody still reads from it. False: the next write empties it."""


class Compaction(Protocol):
    """Making files as small as what they hold. One tier at a time: others go on meanwhile."""

    def footprint(self, tier: Tier) -> Footprint:
        """Measure a tier, without reading its rows.

        Raises:
            StorageError: when the tier is missing.
        """

    def vacuum(self, tier: Tier) -> None:
        """Optimise the words of a tier and write its file anew, as small as it can be.

        Readers go on; writers of this tier and of the others wait. The file shrinks with the next
        `empty_log`. Cut short anywhere, it is as it was.

        Raises:
            FullError: when the disk has too little room for it; nothing was begun.
            BusyError: when the write lock was not had in time.
            StorageError: when the tier is missing or the disk refuses.
        """

    def empty_log(self, tier: Tier) -> bool:
        """Bring the write-ahead log into the file and cut it to nothing.

        Returns:
            False when a reader is in the way; try again when it is gone.

        Raises:
            BusyError, StorageError: as `vacuum`.
        """

    def large_logs(self) -> Mapping[Tier, LargeLog]:
        """List the logs that are larger than they should be, and say why. For people."""
