"""The part of a database that is looked at to see whether it still holds together.

Each tier is looked at by itself, without the others and without hot being whole. What is said of
one document is read in one snapshot, and no snapshot is held for long: writers go on, and their
log can be emptied.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Literal, Protocol

from ringwood.engine.base import NodeWrite
from ringwood.types import Document, Edge, Node, Tier

Standing = Literal["present", "missing", "damaged", "unreadable"]
"""Whether the file of a tier can be used. `missing`: it is not there. `unreadable`: not for now."""


@dataclass(frozen=True, slots=True)
class HeldVector:
    """A vector without its numbers."""

    node: int
    """Id of its node."""
    embedder: str
    """Vector identity."""
    fits: bool
    """Whether it has the embedder's dimension, and its node's space and script."""


@dataclass(frozen=True, slots=True)
class Record:
    """All that a tier holds of one document, as one snapshot sees it."""

    id: int
    """Its id."""
    sha256: str
    """Hex digest of the bytes that are stored as its text."""
    text: str | None
    """That text; None when it is no UTF-8."""
    document: Document | None
    """Its card; None when it cannot be read."""
    space: int
    """The number of its space."""
    nodes: tuple[Node, ...] | None
    """In reading order; None when they cannot be read."""
    strays: int
    """Nodes of it that lie in another space."""
    vectors: tuple[HeldVector, ...]
    """Of its nodes."""
    versions: int
    """Earlier texts."""
    bad_versions: int
    """Earlier texts that are not what their digests say."""
    mirrored: str | None
    """The file of the mirror that holds this text; None while none does."""


@dataclass(frozen=True, slots=True)
class Orphans:
    """What belongs to nothing in its tier."""

    vectors: tuple[int, ...] = ()
    """Ids of the nodes that vectors are of."""
    nodes: tuple[int, ...] = ()
    """Ids of nodes whose document is not there."""
    aliases: tuple[str, ...] = ()
    """Old paths of documents that are not there."""

    def __bool__(self) -> bool:
        return bool(self.vectors or self.nodes or self.aliases)


@dataclass(frozen=True, slots=True)
class Across:
    """What is seen only where every tier is looked at together."""

    loose: Mapping[Tier, tuple[Edge, ...]]
    """Edges with an end that is nowhere; none are listed while a tier is missing."""
    crossing: Mapping[Tier, tuple[Edge, ...]]
    """Edges between two spaces."""
    copies: Mapping[Tier, tuple[int, ...]]
    """Documents per tier that have a hotter copy."""
    behind: tuple[str, ...]
    """Counters that would give an id away twice."""


class Inspector(Protocol):
    """One tier's file. Every method reads in a snapshot of its own.

    Raises:
        DamagedError: from any of them, when the file cannot be read there.
        BusyError, StorageError: when it cannot be read for the moment; that is no damage.
    """

    def complaints(self, *, quick: bool) -> tuple[str, ...]:
        """Let the database check its own pages, rows, indexes and word index. Up to 100.

        Args:
            quick: do not compare indexes with their tables.
        """

    def documents(self) -> tuple[int, ...]:
        """List the ids of all documents that any way leads to."""

    def record(self, document: int) -> Record | None:
        """Read a document; None when it is not there any more."""

    def outline(self, document: int) -> tuple[tuple[int, str, int], ...]:
        """List id, path and access count of a document's nodes, even where all else is damaged."""

    def word_sum(self, space: int, terms: Iterable[str]) -> int:
        """Sum up distinct terms of one node as the word index would hold them."""

    def word_sums(self) -> Mapping[int, int]:
        """Sum up the word index, by node. Costs as much as reading it whole."""

    def with_words(
        self, documents: Sequence[int], others: Collection[int] = ()
    ) -> tuple[tuple[Record, ...], Mapping[int, int]]:
        """Read documents, and what the word index holds of their nodes, in one snapshot.

        Args:
            documents: ids; those that are gone are left out.
            others: ids that no node should have, whose words are wanted too. Those that have a
                node by now are left out.
        """

    def miscounted(self) -> tuple[str, ...]:
        """List spaces whose counts are not those of their nodes."""

    def orphans(self) -> Orphans:
        """Find what belongs to nothing, up to 1000 of each."""

    def logs(self) -> Iterable[tuple[int, bytes]]:
        """Read the log of recalls: number and content."""


class Mender(Protocol):
    """One transaction on one tier that makes again what can be made again. Deletes no text."""

    def put_words(self, space: int, terms: Mapping[int, Sequence[str]]) -> None:
        """Write the words of nodes anew."""

    def put_nodes(self, document: int, space: int, text: str, nodes: Sequence[NodeWrite]) -> None:
        """Write a document's nodes and words anew, whatever is there of them."""

    def clear_words(self) -> None:
        """Empty the word index of the tier, whatever is in it."""

    def drop_vectors_of(self, nodes: Iterable[int]) -> None:
        """Delete the vectors of nodes."""

    def drop_orphans(self) -> int:
        """Delete vectors, aliases and nodes that belong to nothing; return how many."""

    def recount(self) -> None:
        """Count the nodes of every space anew."""

    def unmirror(self, document: int) -> None:
        """Forget that the mirror holds a document, so that it is written again."""


class Inspection(Protocol):
    """A home that is looked at."""

    def standing(self, tier: Tier) -> Standing:
        """Say whether a tier can be looked at.

        Raises:
            SchemaError: when a newer Ringwood wrote it.
            BusyError, StorageError: when it cannot be read for the moment.
        """

    def inspecting(self, tier: Tier) -> AbstractContextManager[Inspector]:
        """Open one tier."""

    def mending(self, tier: Tier) -> AbstractContextManager[Mender]:
        """Begin a transaction on one tier, under the gate that every writer takes."""

    def across(self) -> Across:
        """Look at all tiers together; hot has to be readable."""
