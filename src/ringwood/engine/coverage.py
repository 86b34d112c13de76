"""The part of an engine that knows which nodes have a vector of which embedder.

Vectors of several embedders stand side by side while a home goes over from one to another, and
afterwards until the old ones are dropped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from ringwood.types import TIERS, Tier


@dataclass(frozen=True, slots=True)
class Coverage:
    """How far the vectors of one embedder reach."""

    nodes: int
    """Nodes that hold a word: each can have a vector."""
    vectors: int
    """Those of them that have one."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What lies there of one embedder."""

    vectors: int
    """Vectors in the files of all tiers, copies included."""
    bytes: int
    """What their rows take, without the index over them."""


class CoverageReader(Protocol):
    """What a snapshot says of it. Of a document in two tiers the hottest copy counts."""

    def lacking(
        self, embedder: str, *, after: int = 0, limit: int = 1, tiers: Sequence[Tier] = TIERS
    ) -> tuple[int, ...]:
        """List documents with a node that could have a vector of this embedder and has none.

        Args:
            embedder: vector identity.
            after: only documents with a larger id.
            limit: how many, the smallest ids first.
            tiers: where to look.
        """

    def coverage(self, embedder: str, *, tiers: Sequence[Tier] = TIERS) -> Coverage:
        """Count nodes that could have a vector of this embedder, and those that have one."""

    def kept_vectors(self) -> Mapping[str, Kept]:
        """Count and weigh the vectors per identity. Reads every row: for people."""


class CoverageWriter(Protocol):
    """What a transaction on one tier does about it."""

    def drop_vectors(self, embedder: str, limit: int) -> int:
        """Delete up to `limit` vectors of one identity; return how many there were."""
