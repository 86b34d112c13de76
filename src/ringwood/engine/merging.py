"""The part of an engine that lets a document go into another one, and takes that back.

Whatever a dream changes is noted in a journal with the rows as they were: a merge in the very
transaction that makes it, links of a space before the first of them is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

from ringwood.types import Document, Edge, Node, Tier


@dataclass(frozen=True, slots=True)
class OwnedEdge:
    """An edge, with the document that it lies with."""

    edge: Edge
    """The edge."""
    document: int
    """Id of the document: the edge is in its tier."""


@dataclass(frozen=True, slots=True)
class Merge:
    """A document that is to go into another one of its space. Both lie in the hot tier."""

    document: Document
    """The one that goes, as it was read."""
    survivor: Document
    """The one that stays, as it was read."""
    nodes: Mapping[int, int]
    """For every node of the one the node of the other that its addresses lead to from now on."""
    touching: Sequence[OwnedEdge]
    """Edges of other documents, in any tier, that touch the one that goes."""
    passed_on: Sequence[OwnedEdge]
    """What is put in the place of its edges; each lies with the survivor."""
    texts: Mapping[int, str]
    """Digests of the texts, by document, of all that an edge here leads to."""
    key: str
    """What the two have in common: under it they are kept apart once this was undone."""
    hash: str
    """Of the text that goes, as a tombstone would hold it."""
    tiers: tuple[Tier, Tier]
    """Where the two lay before they were brought in."""
    at: datetime
    """When. UTC."""


@dataclass(frozen=True, slots=True)
class Merged:
    """A document that went into another one."""

    document: int
    """The id that it had."""
    source: str | None
    """Its source key."""
    sha256: str
    """Of its text."""
    hash: str
    """Of the same, as a tombstone would hold it."""
    survivor: int
    """Id of the document that stands for it."""
    survivor_sha256: str
    """Of that one's text when it became so, later cuts of forgotten parts counted in."""


@dataclass(frozen=True, slots=True)
class Step:
    """One entry of the journal."""

    id: int
    """Ascending in the order in which they were made."""
    dream: int
    """Of which run."""
    kind: Literal["merge", "relink"]
    """What was done."""
    space: str
    """Where."""
    document: int | None
    """Of a merge: the document that went."""
    survivor: int | None
    """Of a merge: the one that stayed."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a dream that can be undone."""

    id: int
    """Ascending, never used twice."""
    begun_at: datetime
    """UTC."""
    finished_at: datetime | None
    """UTC; None: it was cut short, or is under way."""
    merges: int
    """Documents that it merged."""
    spaces: tuple[str, ...]
    """Where it changed anything."""
    bytes: int
    """What its entries take."""


@dataclass(frozen=True, slots=True)
class Gone:
    """A merged document as the journal holds it."""

    space: str
    """Its space."""
    source: str | None
    """Its source key."""
    path: str
    """The path that it had."""
    text: str
    """Its text."""
    nodes: tuple[Node, ...]
    """Its nodes in reading order."""
    leads_to: Mapping[int, int]
    """The survivor's node for each of them."""
    edges: tuple[OwnedEdge, ...]
    """Edges that touched it, its own and those of other documents."""
    texts: Mapping[int, str]
    """Digests of the texts of then, by document, of all that these led to."""
    tiers: tuple[Tier, Tier]
    """Where it and the survivor lay."""
    mirrored: str | None
    """Its file in the mirror."""
    embedded: frozenset[str]
    """Vector identities under which each of its nodes had a vector."""


@dataclass(frozen=True, slots=True)
class Links:
    """What a dream changes of the links of a space, as it was."""

    embedder: str
    """Vector identity that the means are of."""
    mark: str
    """What said that the space was compared; empty for none."""
    before: tuple[OwnedEdge, ...]
    """Edges that are removed or measured anew, as they were."""
    added: tuple[Edge, ...]
    """Edges that were not there. Of their weights none is kept."""
    texts: Mapping[int, str]
    """Digests of the texts of then, by document, of all that `before` joins."""


class MergeReader(Protocol):
    """What a snapshot says of merges."""

    def merged(
        self, space: str, *, source: str | None = None, sha256: str | None = None
    ) -> Merged | None:
        """Find a merged document by its source key, else by the digest of its text."""

    def merged_into(self, document: int) -> tuple[Merged, ...]:
        """List the documents that a document stands for."""

    def merged_sources(self, space: str) -> Mapping[str, int]:
        """Map every source key that was merged away to the document that stands for it."""

    def survivor_of(self, document: int) -> int | None:
        """Say which document stands for one that was merged away."""

    def apart(self, space: str) -> frozenset[str]:
        """Give the keys of merges in a space that were undone."""

    def owned_edges(self, nodes: Iterable[int]) -> tuple[OwnedEdge, ...]:
        """List every edge of any kind and tier that touches a node, wherever it leads."""

    def runs(self) -> tuple[Run, ...]:
        """List the runs that the journal holds, the newest first."""

    def steps(self, *, dream: int | None = None, is_open: bool = False) -> tuple[Step, ...]:
        """List entries of a run or of all, the oldest first; `is_open`: only unfinished ones."""

    def steps_of(self, documents: Iterable[int]) -> tuple[Step, ...]:
        """List the merges that any of these documents went into, or went away by."""

    def gone(self, step: int) -> Gone:
        """Read what a merge took away. Raises KeyError when the journal holds it no more."""

    def links(self, step: int) -> Links:
        """Read what a relinking changed. Raises KeyError when the journal holds it no more."""


class MergeWriter(Protocol):
    """What a transaction does about them. All of it in the hot tier only."""

    def begin_dream(self, at: datetime) -> int:
        """Begin a run and return its id."""

    def finish_dream(self, dream: int, at: datetime, *, keep: int) -> None:
        """End a run, leave out one that changed nothing, and keep the newest `keep` with it."""

    def merge(self, dream: int, merge: Merge) -> None:
        """Let a document go into another one, and note how both were.

        The survivor keeps the sum of both counts, the larger importance, the earliest creation and
        the latest change. Every address of the one leads to the other. The entry stays open until
        `close_steps`: links that lie in colder tiers and the mirror are not seen to here.
        """

    def unmerge(self, step: int, terms: Mapping[int, Sequence[str]]) -> bool:
        """Put a merged document back, and take from the survivor what it had of it.

        What changed since stays changed. Edges are not put back here.

        Args:
            step: the merge.
            terms: index terms of every node.

        Returns:
            False, and nothing is written, when the survivor is gone, or another document has the
            path or source key.
        """

    def close_steps(self, steps: Iterable[int]) -> None:
        """Note that there is nothing left to do for these."""

    def drop_steps(self, steps: Iterable[int]) -> None:
        """Delete entries of the journal, and runs that have none any more."""

    def note_links(self, dream: int, space: str, links: Links) -> None:
        """Note what of a space's links is to change, and its means as they are."""

    def restore_means(self, step: int) -> None:
        """Put the means of a space back as a relinking found them."""

    def release(self, space: str, source: str) -> None:
        """Let a source key lead to no survivor any more: it has a document of its own."""

    def follow(self, survivor: int, sha256: str) -> None:
        """Note that a survivor whose text was cut still stands for what went into it."""

    def forget_merged(self, documents: Iterable[int]) -> None:
        """Delete all that tells of merges into these documents or of them."""
