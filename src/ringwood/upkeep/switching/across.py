"""Measure similar edges between two scripts anew, when a home went over to another embedder.

A dream compares nodes of one script only and leaves these as storing made them: under the embedder
of then. Here none is found, but each gets its similarity of now, or goes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ringwood.batches import in_batches
from ringwood.embed.meaning import Meaning
from ringwood.engine.base import Engine, NodeVector, Reader
from ringwood.types import TIERS, Document, Edge
from ringwood.write.link import LinkOptions
from ringwood.write.means import meaning_of

TOLERANCE = 1e-4
"""Difference of similarity that is not worth a write."""
_BATCH = 1000
"""Nodes whose edges are read, and edges that are written, at a time."""


@dataclass(frozen=True, slots=True)
class Measured:
    """An edge between two scripts."""

    edge: Edge
    """As it is to be."""
    owner: Document
    """The newer of its two documents: the edge lies with it."""
    stays: bool
    """Whether it is still similar enough."""


def measure_across(engine: Engine, meaning: Meaning, link: LinkOptions) -> int:
    """Measure the edges between two scripts anew, in every space; return how many changed.

    Raises:
        BusyError: when the write lock was not had in time.
        StorageError: when the disk refuses; given again, it goes on where it was.
    """
    with engine.reading() as reader:
        spaces = tuple(reader.documents_per_space())
    changed = 0
    for space in spaces:
        with engine.reading() as reader:
            here = meaning_of(reader, meaning, space)
            found = list(_changed(reader, here, space, link))
        for some in in_batches(found, _BATCH):
            _write(engine, some, meaning.identity)
        changed += len(found)
    return changed


def _changed(reader: Reader, meaning: Meaning, space: str, link: LinkOptions) -> Iterator[Measured]:
    """Yield the edges of a space between two scripts whose similarity is no longer what it was."""
    cards = {card.id: card for card in reader.roots(space)}
    nodes = reader.node_ids(cards)
    seen: set[tuple[int, int]] = set()
    for some in in_batches(nodes, _BATCH):
        edges = reader.edges(some)
        ends = {end for edge in edges for end in (edge.source, edge.target)}
        rows = reader.vectors(meaning.identity, ends)
        for edge in edges:
            one, other = rows.get(edge.source), rows.get(edge.target)
            if (edge.source, edge.target) in seen or one is None or other is None:
                continue
            seen.add((edge.source, edge.target))
            owner = cards.get(max(one.document, other.document))
            if one.script != other.script and owner is not None:
                yield from _measured(edge, (one, other), owner, meaning, link)


def _measured(
    edge: Edge,
    ends: tuple[NodeVector, NodeVector],
    owner: Document,
    meaning: Meaning,
    link: LinkOptions,
) -> Iterator[Measured]:
    one, other = ends
    [weight] = meaning.to_others(one.row, one.script, [other.row], [other.script])
    stays = weight >= link.threshold
    if not stays or abs(weight - edge.weight) > TOLERANCE:
        yield Measured(replace(edge, weight=round(weight, 5)), owner, stays)


def _write(engine: Engine, measured: Sequence[Measured], identity: str) -> None:
    """Put what stays with its owner, then delete the others, and what lay elsewhere."""
    with engine.reading() as reader:
        tiers = [tier for tier in TIERS if tier not in reader.missing_tiers]
    for tier in tiers:
        with engine.writing(tier) as writer, engine.reading() as reader:
            for each in measured:
                if each.stays and each.owner.tier == tier and _stands(reader, each, identity):
                    writer.put_edges(each.owner.id, [each.edge])
    for tier in tiers:
        gone = [each.edge for each in measured if not (each.stays and each.owner.tier == tier)]
        with engine.writing(tier) as writer:
            writer.drop_edges(gone)


def _stands(reader: Reader, each: Measured, identity: str) -> bool:
    """Say whether both ends still are what was measured."""
    rows: Mapping[int, NodeVector] = reader.vectors(identity, [each.edge.source, each.edge.target])
    card = reader.document(each.owner.id)
    return len(rows) == 2 and card is not None and card.tier == each.owner.tier
