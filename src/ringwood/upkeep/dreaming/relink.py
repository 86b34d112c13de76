"""Rebuild the similar edges of one space: read it, compare all with all, note and write changes.

Storing links a new node to the best of a bounded number of others; this finds the best of all. Only
nodes of one script are compared; edges between two scripts stay as storing made them.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ringwood.batches import in_batches
from ringwood.embed.base import FloatRows
from ringwood.embed.meaning import Meaning
from ringwood.engine.base import Engine, Reader
from ringwood.engine.merging import Links
from ringwood.types import SIMILAR, TIERS, Document, Edge, Tier
from ringwood.upkeep.dreaming.merge import pass_on
from ringwood.upkeep.dreaming.pairs import IntVector, nearest_pairs
from ringwood.write.link import LinkOptions

TOLERANCE = 1e-4
"""Difference of similarity that is not worth a write."""
_READ = 4096
"""Rows read at a time."""
_RULES = 2
"""Version of the rules by which documents are merged: under other ones all are looked at again."""
_WRITTEN = 2000
"""Edges written or deleted in one transaction."""

Ends = tuple[int, int]
"""Ids of two nodes, the smaller first."""


@dataclass(frozen=True, slots=True)
class Outline:
    """What decides whether a space is compared at all: cheap to read, whatever its size."""

    name: str
    """The space's name."""
    cards: Mapping[int, Document]
    """Its documents by id."""
    nodes: tuple[int, ...]
    """Ids of all its nodes, ascending."""
    mark: str
    """Digest of all that the edges follow from: equal marks mean equal edges."""
    done: bool
    """Whether the space bears this mark already."""


@dataclass(frozen=True, slots=True)
class Space:
    """What is compared of a space: arrays side by side, ascending by node."""

    outline: Outline
    """Which space it is."""
    nodes: IntVector
    """Ids of the nodes that have a vector."""
    documents: IntVector
    """Ids of their documents."""
    scripts: npt.NDArray[np.str_]
    """Of their texts."""
    rows: FloatRows
    """Unit length."""
    edges: Mapping[Ends, Edge]
    """Similar edges between nodes of one script."""
    others: Mapping[Ends, Edge]
    """Similar edges that are none of those: they stay."""

    @property
    def count(self) -> int:
        """Count its similar edges."""
        return len(self.edges) + len(self.others)


@dataclass(frozen=True, slots=True)
class Relinking:
    """What is to change in a space."""

    new: tuple[Edge, ...]
    """Edges that were found or measured anew."""
    old: tuple[Edge, ...]
    """Edges that are no longer among the nearest."""
    count: int
    """Similar edges afterwards."""


def read_outline(
    reader: Reader,
    name: str,
    meaning: Meaning | None,
    link: LinkOptions,
    without: Set[int] = frozenset(),
    *,
    merging: bool = True,
) -> Outline:
    """Read which documents a space holds, and whether they were compared as they are.

    Args:
        reader: a snapshot.
        name: the space's.
        meaning: how similarity is measured; None: by words alone.
        link: how many edges, and how strong.
        without: documents that are taken for gone.
        merging: whether duplicates are merged on the way.
    """
    cards = {card.id: card for card in reader.roots(name) if card.id not in without}
    mark = mark_of(cards.values(), meaning, link, merging=merging)
    return Outline(
        name=name,
        cards=cards,
        nodes=tuple(sorted(reader.node_ids(cards))),
        mark=mark,
        done=reader.meta(mark_key(name)) == mark,
    )


def read_space(reader: Reader, outline: Outline, meaning: Meaning) -> Space:
    """Read the vectors of a space and the edges between them, in the snapshot of its outline."""
    nodes: list[int] = []
    documents: list[int] = []
    scripts: list[str] = []
    rows: list[FloatRows] = [np.empty((0, meaning.embedder.dim), np.float32)]
    for some in in_batches(outline.nodes, _READ):
        found = sorted(reader.vectors(meaning.identity, some).items())
        nodes += [node for node, _ in found]
        documents += [each.document for _, each in found]
        scripts += [each.script for _, each in found]
        rows += [each.row[None, :] for _, each in found]
    ours, others = _parted(_similar(reader, outline.nodes), dict(zip(nodes, scripts, strict=True)))
    return Space(
        outline=outline,
        nodes=np.array(nodes, np.int64),
        documents=np.array(documents, np.int64),
        scripts=np.array(scripts, np.str_),
        rows=np.concatenate(rows),
        edges=ours,
        others=others,
    )


def with_merged(space: Space, merges: Sequence[tuple[Mapping[int, int], Set[int]]]) -> Space:
    """Return a space as it would be read after merges, whose documents are not in its outline.

    Args:
        space: as it was read before them.
        merges: for each the survivor's node for every node that goes, and the survivor's nodes.
    """
    edges = {**space.edges, **space.others}
    at: dict[int, set[Ends]] = defaultdict(set)
    for ends in edges:
        at[ends[0]].add(ends)
        at[ends[1]].add(ends)
    gone: set[int] = set()
    for leads_to, ours in merges:
        gone |= leads_to.keys()
        touching = [edges[ends] for ends in sorted({e for node in leads_to for e in at[node]})]
        taken = {(*ends, SIMILAR) for node in ours for ends in at[node]}
        for edge in pass_on(touching, leads_to, ours, taken):
            ends = edge.source, edge.target
            edges[ends] = edge
            at[ends[0]].add(ends)
            at[ends[1]].add(ends)
        for edge in touching:
            ends = edge.source, edge.target
            del edges[ends]
            at[ends[0]].discard(ends)
            at[ends[1]].discard(ends)
    stays = ~np.isin(space.nodes, sorted(gone))
    nodes, scripts = space.nodes[stays], space.scripts[stays]
    ours_now, others = _parted(edges, dict(zip(nodes.tolist(), scripts.tolist(), strict=True)))
    return replace(
        space,
        nodes=nodes,
        documents=space.documents[stays],
        scripts=scripts,
        rows=space.rows[stays],
        edges=ours_now,
        others=others,
    )


def _parted(
    edges: Mapping[Ends, Edge], script_of: Mapping[int, str]
) -> tuple[dict[Ends, Edge], dict[Ends, Edge]]:
    """Part edges between nodes of one script from the others."""
    ours = {
        (one, other): edge
        for (one, other), edge in edges.items()
        if one in script_of and script_of[one] == script_of.get(other)
    }
    return ours, {ends: edge for ends, edge in edges.items() if ends not in ours}


def count_edges(reader: Reader, outline: Outline) -> int:
    """Count the similar edges of a space."""
    return len(_similar(reader, reader.node_ids(outline.cards)))


def compare(
    space: Space,
    meaning: Meaning,
    link: LinkOptions,
    on_nodes: Callable[[int], None] = lambda done: None,
) -> Relinking:
    """Find the edges that a space should have.

    Args:
        space: as it was read.
        meaning: how similarity is measured.
        link: how many edges, and how strong.
        on_nodes: told how many nodes are compared; may raise to stop.
    """
    wanted: dict[Ends, Edge] = {}
    done = 0

    def on_rows(count: int) -> None:
        on_nodes(done + count)

    for script in sorted(set(space.scripts.tolist())):
        places = np.flatnonzero(space.scripts == script)
        rows = meaning.centre(space.rows[places], [script] * len(places))
        pairs = nearest_pairs(
            rows, space.documents[places], meaning.anchors_between(script, script), link, on_rows
        )
        nodes = space.nodes[places].tolist()
        for (one, other), weight in pairs.items():
            wanted[nodes[one], nodes[other]] = Edge(nodes[one], nodes[other], SIMILAR, weight)
        done += len(places)
    return Relinking(
        new=tuple(e for ends, e in wanted.items() if _is_news(e, space.edges.get(ends))),
        old=tuple(e for ends, e in space.edges.items() if ends not in wanted),
        count=len(wanted) + len(space.others),
    )


def write(engine: Engine, space: Space, identity: str, change: Relinking) -> None:
    """Put the new edges, delete the old ones, and mark the space as done.

    An edge lies with the newer of its two documents. One whose documents were changed or moved
    since the space was read is left out, and the space then stays unmarked for the next time.
    """
    document_of = dict(zip(space.nodes.tolist(), space.documents.tolist(), strict=True))
    owned: dict[Tier, list[tuple[int, Edge]]] = defaultdict(list)
    for edge in change.new:
        owner = max(document_of[edge.source], document_of[edge.target])
        owned[space.outline.cards[owner].tier].append((owner, edge))
    whole = True
    for tier, edges in owned.items():
        for some in in_batches(edges, _WRITTEN):
            whole = _put(engine, tier, space, identity, some, document_of) and whole
    with engine.reading() as reader:
        missing = reader.missing_tiers
    for tier in TIERS:
        # One that was measured anew may have lain with its other document.
        elsewhere = [e for other, edges in owned.items() if other != tier for _, e in edges]
        known = [e for e in elsewhere if (e.source, e.target) in space.edges]
        for gone in in_batches([*change.old, *known] if tier not in missing else [], _WRITTEN):
            with engine.writing(tier) as writer:
                writer.drop_edges(gone)
    if whole:
        with engine.writing() as writer:
            writer.set_meta(mark_key(space.outline.name), space.outline.mark)


def links_of(reader: Reader, space: Space, identity: str, change: Relinking) -> Links:
    """Say for the journal what a change of edges takes away and adds."""
    changed = [e for e in change.new if (e.source, e.target) in space.edges]
    touched = {(e.source, e.target) for e in (*changed, *change.old)}
    ends = sorted({end for each in touched for end in each})
    before = [
        each
        for some in in_batches(ends, _READ)
        for each in reader.owned_edges(some)
        if (each.edge.source, each.edge.target) in touched and each.edge.kind == SIMILAR
    ]
    document_of = dict(zip(space.nodes.tolist(), space.documents.tolist(), strict=True))
    return Links(
        embedder=identity,
        mark=reader.meta(mark_key(space.outline.name)) or "",
        before=tuple(dict.fromkeys(before)),
        added=tuple(e for e in change.new if (e.source, e.target) not in touched),
        texts={i: space.outline.cards[i].sha256 for i in {document_of[end] for end in ends}},
    )


def _put(
    engine: Engine,
    tier: Tier,
    space: Space,
    identity: str,
    edges: Sequence[tuple[int, Edge]],
    document_of: Mapping[int, int],
) -> bool:
    """Write edges of documents that are still as they were read; False when some are not."""
    ends = {document_of[end] for _, edge in edges for end in (edge.source, edge.target)}
    standing: dict[int, list[Edge]] = defaultdict(list)
    with engine.writing(tier) as writer, engine.reading() as reader:
        now = reader.documents(ends)
        same = {i for i, card in now.items() if card.sha256 == space.outline.cards[i].sha256}
        for owner, edge in edges:
            if {document_of[edge.source], document_of[edge.target]} <= same:
                standing[owner].append(edge)
        written = [
            writer.put_vectors(
                owner, space.outline.cards[owner].sha256, identity, {}, {}, theirs, ready=False
            )
            for owner, theirs in standing.items()
        ]
    return all(written) and same == ends


def _similar(reader: Reader, nodes: Sequence[int]) -> dict[Ends, Edge]:
    return {
        (edge.source, edge.target): edge
        for some in in_batches(nodes, _READ)
        for edge in reader.edges(some)
        if edge.kind == SIMILAR
    }


def mark_of(
    cards: Iterable[Document],
    meaning: Meaning | None,
    link: LinkOptions,
    *,
    merging: bool = True,
) -> str:
    """Name all that merges and edges of a space follow from: equal marks mean equal outcomes."""
    measure = meaning and (
        meaning.identity,
        meaning.means.version,
        meaning.anchors,
        sorted(meaning.own_anchors.items()),
    )
    rules = (_RULES, measure, link.max_edges, link.threshold, merging)
    digest = hashlib.sha256(repr(rules).encode())
    for card in sorted(cards, key=lambda each: each.id):
        told = (card.id, card.sha256, card.state, card.path, card.title, card.actor)
        digest.update(f"\0{told}".encode())
    return digest.hexdigest()


def mark_key(space: str) -> str:
    """Name the setting under which a space bears its mark."""
    return f"dreamed.{space}"


def _is_news(edge: Edge, known: Edge | None) -> bool:
    return known is None or abs(known.weight - edge.weight) > TOLERANCE
