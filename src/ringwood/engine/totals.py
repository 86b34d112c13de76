"""How much a home holds. Of a document in two tiers the hottest copy is counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from ringwood.types import State, Tier


@dataclass(frozen=True, slots=True)
class TierTotals:
    """What one tier holds."""

    documents: int
    nodes: int
    vectors: int
    edges: int
    bytes: int
    """Size of its files on disk, write-ahead log included."""
    wal_bytes: int
    """Of which write-ahead log."""


@dataclass(frozen=True, slots=True)
class Totals:
    """What the home holds, read back."""

    tiers: Mapping[Tier, TierTotals]
    """Present tiers only."""
    states: Mapping[State, int]
    """Documents per state."""
    errors: tuple[str, ...]
    """The last errors of failed documents, newest first."""
    spaces: Mapping[str, int] = field(default_factory=dict)
    """Documents per space."""


class TotalsReader(Protocol):
    """What a snapshot counts."""

    def documents_per_space(self) -> dict[str, int]:
        """Count the documents of every space that holds some. Reads no text and no node."""

    def totals(self, embedder: str | None = None) -> Totals:
        """Count everything, per tier; of vectors only those of one identity where it is given."""
