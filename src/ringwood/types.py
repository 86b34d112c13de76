"""The vocabulary: the values that pass between the rooms of the house.

Read this file first, then `recall/pipeline.py`, then `write/ingest.py`: that is the program.
Every value is frozen; functions elsewhere turn one into another.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

Kind = Literal["document", "section", "paragraph", "item", "table", "code", "quote"]
"""What a node is in its document."""

Actor = Literal["person", "assistant", "tool", "web", "import"]
"""Who wrote a text. Set by the way in, never by the caller."""

Tier = Literal["hot", "warm", "cold"]
"""The age class of a document, and the file it lies in."""

TIERS: tuple[Tier, ...] = ("hot", "warm", "cold")
"""Every tier, hottest first: the order in which copies win."""

State = Literal["pending", "ready", "failed"]
"""`pending`: durable and findable by words, vectors to come. `failed`: embedding is retried."""

Hop = Literal["direct", "parent", "similar"]
"""How a node came to be a hit: found itself, or as the parent or neighbour of one that was."""

SIMILAR = "similar"
"""Kind of an edge between texts that are alike: recall hops along it."""
LINK = "link"
"""Kind of an edge that a person wrote, as `[[Note]]`."""

Span = tuple[int, int]
"""Half-open range `[start, end)` of code points of a document's stored text."""


def address_of(space: str, path: str) -> str:
    """Write the address of a path in a space: `space:/path`."""
    return f"{space}:{path}"


@dataclass(frozen=True, slots=True)
class Document:
    """One text that was stored: a note, an exchange, a file."""

    id: int
    """Unique in the home, in every tier."""
    space: str
    """The name of the space it belongs to."""
    source: str | None
    """The source key: a file's real path, or host, session, sequence. None: keyed by its text."""
    path: str
    """The path of the root node, for example `/implemented/feature/title`."""
    title: str
    """One line; see CONTRACT, "What a document is"."""
    sha256: str
    """Hex digest of the stored text in UTF-8. The text itself is fetched apart: it may be large."""
    actor: Actor
    """Who wrote it."""
    importance: float
    """0..1, 0.5 unless set."""
    created_at: datetime
    """When it was said or written. UTC."""
    stored_at: datetime
    """When it was first taken in. UTC."""
    changed_at: datetime
    """When its text last changed: recency counts from here. UTC."""
    state: State = "pending"
    """How far it got."""
    error: str | None = None
    """Why embedding failed, when it did."""
    seen: int = 1
    """How often the identical text was stored."""
    tier: Tier = "hot"
    """Which file it lies in."""


@dataclass(frozen=True, slots=True)
class Node:
    """One addressable piece of a document, as it lies in the store."""

    id: int
    """Unique in the home, in every tier; survives edits and moves."""
    document: int
    """Id of its document."""
    parent: int | None
    """Id of the node above it; None for the root."""
    order: int
    """Position in reading order within the document, from 0 (the root)."""
    kind: Kind
    """What it is."""
    title: str
    """Heading text, or the first words of a leaf. One line."""
    path: str
    """Its path, unique in the space: `/document/section/leaf`."""
    span: Span
    """Its exact source, everything below it included."""
    own: Span
    """Its own words in the source, without what lies below: a heading, or a leaf whole."""
    text: str
    """What is indexed and shown: markers stripped; for a section heading and direct paragraphs."""
    script: str
    """Dominant script of `text`, for example `Latin`, `Han`; `""` when it holds no letter."""
    length: int
    """Number of distinct index terms: the length in BM25."""
    access: int = 0
    """How often it was returned or injected."""
    actor: Actor | None = None
    """Who said it, in an exchange; None: its document's."""


@dataclass(frozen=True, slots=True)
class Turn:
    """What one of the two in an exchange said before the other did."""

    actor: Actor
    """Who."""
    text: str
    """What."""


@dataclass(frozen=True, slots=True)
class Edge:
    """A soft link between two nodes.

    `similar` has no direction and is stored once, with `source < target`; `link` leads from the
    node whose text holds it to the node that it names.
    """

    source: int
    """Node id."""
    target: int
    """Node id."""
    kind: str
    """`similar` or `link`."""
    weight: float
    """Calibrated similarity, 0..1; of a link 1."""


@dataclass(frozen=True, slots=True)
class Term:
    """One addend of a score, already weighted."""

    name: str
    """For example `cosine`, `lexical`, `rrf`, `parent`, `similar`, `recency`."""
    value: float
    """What it adds to the score."""


@dataclass(frozen=True, slots=True)
class Signals:
    """The raw measurements behind a score."""

    cosine: float | None = None
    """Calibrated similarity to the query, 0..1; None without a vector."""
    cosine_raw: float | None = None
    """The model's own cosine, -1..1; None without a vector."""
    lexical: float = 0.0
    """BM25 over the best BM25 of the query, 0..1."""
    rrf: float = 0.0
    """Reciprocal rank fusion over both rankings, 0..1."""
    across: float = 0.0
    """What a node of another script than the question's is given in place of words, 0..0.45."""
    share: float = 0.0
    """Share of the query's idf mass that the node matches, 0..1."""
    base: float = 0.0
    """Weighted sum of these, times the tier weight. Of a hop: its hit's base."""
    tier_weight: float = 1.0
    """1.00 hot, 0.90 warm, 0.78 cold."""
    evidence: float = 0.0
    """Absolute evidence, 0..1, that the floor judges."""
    hop: Hop = "direct"
    """How it came to be here."""
    via: int | None = None
    """Node id of the hit a hop came from."""
    similarity: float | None = None
    """Edge weight of a `similar` hop."""
    importance: float = 0.5
    """0..1."""
    recency: float = 0.0
    """exp(-age / 45 d), 0..1."""
    access: float = 0.0
    """min(1, log1p(access) / log(8)), 0..1."""


@dataclass(frozen=True, slots=True)
class NodeRef:
    """A pointer to a node that is shown beside a hit."""

    address: str
    """`space:/path`."""
    text: str
    """Title of a section, or the first 80 characters of a sibling."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One node worth the budget, with the reasons."""

    address: str
    """`space:/path`."""
    path: str
    """`/document/section/leaf`."""
    space: str
    """The space it lies in."""
    document: str
    """Its document's id, opaque."""
    node: str
    """Its node id, opaque."""
    title: str
    """The node's title or first words."""
    title_path: str
    """Titles from the document down, joined by ` › `."""
    text: str
    """Its text within `max_node_chars`, cut at a grapheme and marked with `…`."""
    kind: Kind
    """What it is."""
    actor: Actor
    """Who wrote it."""
    tier: Tier
    """Where it lies."""
    created_at: datetime
    """When it was said or written. UTC."""
    score: float
    """Sum of `terms`."""
    terms: tuple[Term, ...]
    """Every addend of the score."""
    signals: Signals
    """What was measured. `via` is resolved in `via_address`."""
    via_address: str | None
    """Address of the hit a hop came from."""
    section: NodeRef | None
    """The section around it; None for a root."""
    siblings: tuple[NodeRef, ...]
    """Up to three, nearest in reading order."""


@dataclass(frozen=True, slots=True)
class Dropped:
    """A candidate that was not returned, and why."""

    address: str
    """`space:/path`."""
    path: str
    """`/document/section/leaf`."""
    document: str
    """Its document's id, opaque."""
    score: float
    """What it had scored."""
    terms: tuple[Term, ...]
    """Every addend of that score."""
    stage: str
    """`as_of`, `floor`, `diversity` or `budget`."""
    reason: str
    """One sentence with the figures that decided."""


@dataclass(frozen=True, slots=True)
class Recall:
    """The answer to a query: hits, and an outcome for every other candidate."""

    recall_id: str
    """Opaque; `explain` takes it."""
    query: str
    """As asked, repaired."""
    space: str
    """The space it was asked in."""
    hits: tuple[Hit, ...]
    """Best first."""
    dropped: tuple[Dropped, ...]
    """Every other candidate, best first."""
    notes: tuple[str, ...] = ()
    """What was degraded, in sentences: no embedder, a tier gone, a deadline passed."""
    timings_ms: dict[str, float] = field(default_factory=dict)
    """Milliseconds per stage."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """What storing a text came to, as read back."""

    document: str
    """The document's id, opaque."""
    path: str
    """Path of its root."""
    address: str
    """Address of its root."""
    state: Literal["pending", "ready", "failed", "existing", "forgotten"]
    """`existing`: this text was there already. `forgotten`: a tombstone keeps it out."""
    nodes: int
    """Nodes it has."""
    vectors: int
    """Nodes of it that have a vector."""
    edges: int
    """Similar edges that touch it."""
    redacted: int
    """Secrets masked in it."""
    repaired: int = 0
    """Characters that could not be stored and were replaced."""
