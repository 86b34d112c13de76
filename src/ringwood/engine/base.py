"""All that writing and recalling need of a database.

An engine keeps documents, nodes, words, vectors and edges in three tiers, and ranks. Reading goes
through one consistent snapshot over all tiers (`reading`), writing through one transaction on one
tier (`writing`). Nothing above this line knows SQL; nothing below it knows a query's meaning.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

import numpy as np
import numpy.typing as npt

from ringwood.engine.attempts import AttemptReader, AttemptWriter
from ringwood.engine.compaction import Compaction
from ringwood.engine.coverage import CoverageReader, CoverageWriter
from ringwood.engine.history import HistoryReader
from ringwood.engine.merging import MergeReader, MergeWriter
from ringwood.engine.placement import Placement, PlacementWriter
from ringwood.engine.totals import TotalsReader
from ringwood.engine.transfer import Transfer
from ringwood.types import SIMILAR, Document, Edge, Node, State, Tier

FloatVector = npt.NDArray[np.float32]
"""float32[d]"""
FloatRows = npt.NDArray[np.float32]
"""float32[n, d], row = item."""


@dataclass(frozen=True, slots=True)
class TierOptions:
    """How old a document of each tier is, and where the older tiers lie."""

    hot_days: float = 30.0
    """Age in days from which a document is warm: what is under discussion is seldom older."""
    warm_days: float = 180.0
    """Age in days from which it is cold: half a year on, a project has moved on."""
    drop_cold_vectors: bool = False
    """Leave vectors behind on the way to the cold tier: smaller, and found by words alone."""
    warm_path: str | None = None
    """File of the warm tier; None: beside the hot one. A relative one begins in
    the home; it may lie on slower storage."""
    cold_path: str | None = None
    """File of the cold tier; None: beside the hot one."""
    vacuum_after_rotate: bool = False
    """Compact what a rotation moved from: writers wait meanwhile, seconds per 100 MB."""


@dataclass(frozen=True, slots=True)
class WordQuery:
    """A question in words."""

    terms: Sequence[str]
    """In any order, repeated or not. Data, never query syntax."""
    max_postings: int = 60_000
    """Terms are read rarest first until so many postings; the rarest is always read."""
    deadline_s: float | None = None
    """When to stop reading, seconds from now; None: never."""
    absent_weight: Callable[[str], float] = lambda term: 1.0
    """How much of its idf, 0..1, a term that no node holds counts in what a node could match."""


@dataclass(frozen=True, slots=True)
class WordScore:
    """What the words of a query say of one node."""

    bm25: float
    """BM25 over the searched spaces, all tiers at once; 0 when no term matches."""
    share: float
    """Share of the query's idf mass that the node matches, 0..1."""


@dataclass(frozen=True, slots=True)
class WordRanking:
    """Nodes by words."""

    order: tuple[int, ...]
    """Node ids, best first; ties by the newer id."""
    scores: Mapping[int, WordScore]
    """For every id of `order` and every one that was asked for besides."""
    complete: bool
    """False when a budget or deadline left terms of the query unread."""
    measure: Callable[[Collection[str]], WordScore] = field(
        default=lambda terms: WordScore(0.0, 0.0), compare=False, repr=False
    )
    """Scores distinct index terms as if a node of the store held them."""


@dataclass(frozen=True, slots=True)
class Cosine:
    """What the meaning of a query says of one node."""

    raw: float
    """The model's own cosine, -1..1."""
    centred: float
    """Cosine after both sides lost the mean of their script, -1..1."""


@dataclass(frozen=True, slots=True)
class VectorQuery:
    """A question in the space of one embedder."""

    embedder: str
    """Vector identity: only rows of this one are compared."""
    raw: FloatVector
    """Unit length."""
    centred: FloatVector
    """The question minus its own script's mean, unit length."""
    means: Mapping[str, FloatVector]
    """Mean per script of the nodes; `""` serves scripts without their own."""
    means_version: str
    """Changes with `means`: what an engine may key a cache by."""


@dataclass(frozen=True, slots=True)
class NodeVector:
    """A node's row, with what comparing it needs."""

    row: FloatVector
    """Unit length."""
    script: str
    """Of the node's text: decides which mean is subtracted."""
    document: int
    """Id of its document."""


@dataclass(frozen=True, slots=True)
class VectorRanking:
    """Nodes by meaning."""

    order: tuple[int, ...]
    """Node ids by centred cosine, best first; ties by the newer id."""
    cosines: Mapping[int, Cosine]
    """For every id of `order`."""


@dataclass(frozen=True, slots=True)
class ScriptMean:
    """What the vectors of one script in a space have in common."""

    nodes: int
    """How many they are."""
    mean: FloatVector
    """Their mean; shorter than unit length."""
    background: tuple[float, float] | None = None
    """Centred cosine of unrelated pairs of them: median and 99.9th percentile. None: not known."""


@dataclass(frozen=True, slots=True)
class NodeWrite:
    """A node on its way in."""

    node: Node
    terms: tuple[str, ...]
    """Its distinct index terms."""


class NodeReader(Protocol):
    """What there is to a node: itself, its document, its links and what stands beside it."""

    def documents(self, ids: Iterable[int]) -> dict[int, Document]:
        """Fetch cards; unknown ids are left out."""

    def nodes(self, ids: Iterable[int]) -> dict[int, Node]:
        """Fetch nodes; unknown ids are left out."""

    def beside(self, node: int, limit: int) -> tuple[Node, ...]:
        """List up to `limit` nodes under the same parent, nearest in reading order first."""

    def edges(self, ids: Iterable[int], kind: str = SIMILAR) -> tuple[Edge, ...]:
        """List the edges of a kind that touch any of the nodes, both ends present."""


class Reader(
    NodeReader,
    HistoryReader,
    CoverageReader,
    AttemptReader,
    MergeReader,
    TotalsReader,
    Protocol,
):
    """One consistent view of every tier. Of a document in two tiers the hottest copy is seen."""

    missing_tiers: tuple[Tier, ...]
    """Tiers that exist in this home and cannot be opened now."""

    def document(self, document: int) -> Document | None:
        """Fetch one document's card."""

    def document_by_source(self, space: str, source: str) -> Document | None:
        """Find what was stored under a source key."""

    def document_by_hash(self, space: str, sha256: str) -> Document | None:
        """Find an identical text; the oldest when there are several."""

    def text_of(self, document: int) -> str:
        """Fetch the stored text. Raises KeyError when there is no such document."""

    def nodes_of(self, document: int) -> tuple[Node, ...]:
        """Fetch all nodes of a document in reading order."""

    def children(self, node: int) -> tuple[Node, ...]:
        """List the nodes right below a node in reading order."""

    def resolve(self, space: str, path: str) -> int | None:
        """Find the node at a path, exactly."""

    def recent_nodes(self, space: str, limit: int) -> tuple[int, ...]:
        """List the ids of the newest nodes that can carry an edge, newest first."""

    def recent_documents(
        self, spaces: Sequence[str], *, since: datetime | None = None, limit: int = 20
    ) -> tuple[Document, ...]:
        """List documents by `created_at`, newest first."""

    def sources(self, space: str, prefix: str) -> dict[str, int]:
        """Map every source key that starts with `prefix`, literally, to its document id."""

    def roots(self, space: str) -> tuple[Document, ...]:
        """List a space's documents by path."""

    def pending(self, limit: int) -> tuple[Document, ...]:
        """List documents whose vectors are to come, oldest first, failed ones last."""

    def mirrored_path(self, document: int) -> str | None:
        """Return the mirror file of a document, relative to the mirror; None before the first."""

    def unmirrored(self, limit: int) -> tuple[Document, ...]:
        """List documents whose Markdown mirror is not up to date, oldest first."""

    def rank_words(
        self, query: WordQuery, spaces: Sequence[str], *, limit: int, also: Iterable[int] = ()
    ) -> WordRanking:
        """Rank nodes by BM25 over every tier at once.

        `also` names nodes whose score is wanted even when they do not rank.
        """

    def rank_vectors(
        self, query: VectorQuery, spaces: Sequence[str], *, limit: int
    ) -> VectorRanking:
        """Rank nodes by centred cosine over every tier at once."""

    def cosines(
        self, query: VectorQuery, ids: Iterable[int], space: str | None = None
    ) -> dict[int, Cosine]:
        """Measure given nodes, of one space or of any; those without a vector are left out."""

    def means(self, embedder: str, space: str) -> dict[str, ScriptMean]:
        """Read the means that a space keeps of its own, by script."""

    def vectors_per_script(self, embedder: str, space: str) -> dict[str, int]:
        """Count the vectors of a space by script, all tiers at once."""

    def mean_vector(self, embedder: str, space: str, script: str) -> FloatVector:
        """Take the mean over all vectors of one script in a space; empty for none."""

    def vectors(self, embedder: str, ids: Iterable[int]) -> dict[int, NodeVector]:
        """Fetch stored rows; nodes without one are left out."""

    def vectors_by_digest(self, embedder: str, digests: Iterable[str]) -> dict[str, FloatVector]:
        """Fetch rows of equal embedded text, any space: the vectors are their own cache."""

    def node_ids(self, documents: Iterable[int]) -> tuple[int, ...]:
        """List the ids of all nodes of documents."""

    def counts(self, nodes: Iterable[int], embedder: str) -> tuple[int, int, int]:
        """Read back how many nodes these are, their vectors, and the edges at them, each once."""

    def tombstoned(self, space: str, hashes: Iterable[str]) -> set[str]:
        """Say which of these hashes were forgotten in this space."""

    def space_of_key(self, key: str) -> str | None:
        """Find the name of the space with this key."""

    def spaces(self) -> dict[str, str]:
        """Map every registered space name to its key."""

    def meta(self, key: str) -> str | None:
        """Read one small setting of the home."""

    def recall_log(self, recall_id: str) -> bytes | None:
        """Read what was logged for a recall."""

    def recent_logs(self, limit: int) -> tuple[bytes, ...]:
        """Read what was logged for the newest recalls, newest first."""


class Writer(CoverageWriter, AttemptWriter, MergeWriter, PlacementWriter, Protocol):
    """One transaction on one tier. Leaving its context commits; an exception rolls back."""

    def reserve_ids(self, documents: int, nodes: int) -> tuple[int, int]:
        """Reserve runs of ids, unique over all tiers: the first of each. Hot only."""

    def put_document(self, document: Document, text: str, nodes: Sequence[NodeWrite]) -> None:
        """Insert a document, or replace the one with its id.

        Nodes that are gone lose words, vectors and edges; nodes that stay keep access counts and
        links, and keep vectors and similar edges when their text and title are unchanged. A
        replaced text goes to `versions`, with its nodes.
        """

    def put_vectors(  # noqa: PLR0913 - all of it is written or none
        self,
        document: int,
        sha256: str,
        embedder: str,
        rows: Mapping[int, FloatVector],
        digests: Mapping[int, str],
        edges: Sequence[Edge],
        *,
        ready: bool = True,
    ) -> bool:
        """Write vectors and edges and mark the document ready; `ready=False`: a part of them.

        Returns False, and writes nothing, when the document is gone or its text is no longer the
        one with this digest.
        """

    def put_edges(self, document: int, edges: Iterable[Edge]) -> None:
        """Write edges that lie with a document of this tier."""

    def drop_edges(self, edges: Iterable[Edge]) -> None:
        """Delete edges by their ends and kind; those that lie in another tier are ignored."""

    def put_means(self, embedder: str, space: str, means: Mapping[str, ScriptMean]) -> None:
        """Keep means of a space's own; those of scripts that are not named stay. Hot only."""

    def drop_means(self, *, space: str | None = None, embedder: str | None = None) -> None:
        """Delete the means of a space, of an embedder, or of the two together. Hot only."""

    def set_state(self, document: int, state: State, error: str | None) -> None:
        """Record how far a document got."""

    def set_mirrored(self, document: int, sha256: str, file: str) -> None:
        """Record which text the mirror holds, and in which file, relative to the mirror."""

    def count_again(self, document: int) -> None:
        """Count that the identical text was stored once more."""

    def count_access(self, nodes: Iterable[int]) -> None:
        """Count that nodes were returned or injected; ids not in this tier are ignored."""

    def delete_document(self, document: int) -> bool:
        """Remove a document with all that was derived from it, versions included."""

    def drop_history(self, document: int, *, addresses: bool = False) -> None:
        """Remove a document's earlier texts and the old paths of nodes that are gone.

        Args:
            document: its id.
            addresses: the old paths of nodes that are still there, too.
        """

    def purge_log(self, documents: Iterable[int]) -> None:
        """Remove logged recalls that mention any of these documents. Hot only."""

    def add_tombstones(self, space: str, hashes: Iterable[str], at: datetime) -> None:
        """Remember hashes of what was forgotten. Hot only."""

    def lift_tombstones(self, space: str, hashes: Iterable[str]) -> None:
        """Let forgotten hashes back in. Hot only."""

    def log_recall(
        self, recall_id: str, at: datetime, documents: Iterable[int], payload: bytes, *, keep: int
    ) -> None:
        """Log a recall and prune the log to the newest `keep`. Hot only."""

    def register_space(self, key: str, slug: str) -> str:
        """Name a space: `slug`, or `slug~2` where another key has it. Idempotent. Hot only."""

    def set_meta(self, key: str, value: str) -> None:
        """Write one small setting of the home. Hot only."""


class Engine(Placement, Compaction, Transfer, Protocol):
    """Documents, nodes, words, vectors and edges at rest. Safe from several threads."""

    def reading(self) -> AbstractContextManager[Reader]:
        """Open a snapshot over all tiers. Never takes the write lock; keep it short."""

    def writing(
        self, tier: Tier = "hot", *, timeout_s: float | None = None
    ) -> AbstractContextManager[Writer]:
        """Begin a transaction on one tier.

        Raises:
            BusyError: when the write lock was not had within `timeout_s` (default 30).
            StorageError: when the disk refuses; nothing was written.
        """

    def erase_traces(self) -> None:
        """Make deleted text unreadable in the files: optimise the words, truncate the log."""

    def close(self) -> None:
        """Close every connection. Idempotent."""
