"""Let one document go into another: in one transaction, whichever tiers they lie in.

    both into the hot tier -> one transaction: rows, journal, addresses -> back to its tier
    afterwards: the file of the mirror, and links that lay in colder tiers

Killed before the transaction, nothing was merged; after it, whoever opens the home next finishes
what is left.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from datetime import datetime

from ringwood.engine.base import Engine, Reader
from ringwood.engine.merging import Gone, Merge, OwnedEdge
from ringwood.engine.placement import Move
from ringwood.types import SIMILAR, TIERS, Document, Edge, Tier
from ringwood.upkeep.dreaming.duplicates import Twin, node_map
from ringwood.write import hot, mirror, strays
from ringwood.write.nodes import terms_of
from ringwood.write.tombstones import text_hash

Place = tuple[int, int, str]
"""Both ends of an edge, and its kind."""
DREAM = "dream"
"""Name of the lease that whoever merges, and takes merges back, holds; see `upkeep.lease`."""


def merge(engine: Engine, run: int, twin: Twin, now: datetime) -> bool:
    """Let a document go into its twin; False when one of the two was changed meanwhile.

    Raises:
        BusyError: when the write lock was not had in time.
        StorageError: when the disk refuses; then nothing was merged.
    """
    both = (twin.document, twin.survivor)
    tiers = {each.id: each.tier for each in both}
    with engine.reading() as reader:
        tiers |= {i: card.tier for i, card in reader.documents(tiers).items()}
    there = [replace(each, tier=tiers[each.id]) for each in both]
    hot.bring_in(engine, there)
    hot.drop_older(engine, there)
    with engine.writing() as writer, engine.reading() as reader:
        found = reader.documents(tiers)
        stands = all(_is_as_read(found.get(each.id), each) for each in both)
        if stands:
            writer.merge(run, _prepared(reader, twin, tiers, now))
    send_back(engine, tiers)
    return stands


def send_back(engine: Engine, tiers: Mapping[int, Tier]) -> None:
    """Move documents that were brought in to the tiers where they lay; those that are gone are not.

    What is not moved now, because it was changed or its tier is missing, rotation moves in time.
    """
    for document, tier in tiers.items():
        if tier == "hot":
            continue
        with engine.reading() as reader:
            card = reader.document(document)
            if card is None or card.tier != "hot" or tier in reader.missing_tiers:
                continue
            move = Move(document, card.sha256, terms_of(reader.nodes_of(document)))
        engine.move([move], "hot", tier)


def is_unfinished(engine: Engine) -> bool:
    """Say whether a dream or an undo was cut short whose merges can be finished now."""
    with engine.reading() as reader:
        return not reader.missing_tiers and bool(reader.steps(is_open=True))


def finish(engine: Engine, mirror_root: str | None) -> None:
    """Finish the merges whose mirror files or links in colder tiers are still there.

    Raises:
        BusyError, StorageError: as `merge`; what is left is for the next time.
    """
    with engine.reading() as reader:
        steps = reader.steps(is_open=True)
        missing = reader.missing_tiers
    done: list[int] = []
    edges: list[Edge] = []
    for step in steps:
        with engine.reading() as reader:
            try:
                gone = reader.gone(step.id)
            except KeyError:  # forgotten meanwhile
                continue
        if mirror_root is not None and gone.mirrored is not None:
            _remove_page(engine, mirror_root, gone)
        edges += [each.edge for each in gone.edges if each.document != step.document]
        done.append(step.id)
    _drop_elsewhere(engine, edges, missing)
    if done and not missing:
        with engine.writing() as writer:
            writer.close_steps(done)


def _remove_page(engine: Engine, mirror_root: str, gone: Gone) -> None:
    """Remove the page of a document that went, unless another one has its path since."""
    with engine.writing(), engine.reading() as reader:
        if not strays.is_taken(reader, gone.space, gone.path):
            mirror.remove_file(mirror_root, str(gone.mirrored))


def _drop_elsewhere(engine: Engine, edges: Sequence[Edge], missing: Iterable[Tier]) -> None:
    """Delete edges to what is gone where colder tiers hold them."""
    if not edges:
        return
    for tier in TIERS[1:]:
        if tier not in missing:
            with engine.writing(tier) as writer:
                writer.drop_edges(edges)


def _is_as_read(card: Document | None, read: Document) -> bool:
    return (
        card is not None
        and card.tier == "hot"
        and (card.sha256, card.path, card.title, card.source, card.actor, card.state)
        == (read.sha256, read.path, read.title, read.source, read.actor, read.state)
    )


def _prepared(reader: Reader, twin: Twin, tiers: Mapping[int, Tier], now: datetime) -> Merge:
    """Read all that a merge needs, in a snapshot under the write lock."""
    going, staying = twin.document, twin.survivor
    nodes = reader.nodes_of(staying.id)
    leads_to = node_map(reader.nodes_of(going.id), nodes)
    held = reader.owned_edges(leads_to)
    ours = {node.id for node in nodes}
    taken = {_place(each.edge) for each in reader.owned_edges(ours)}
    ends = {end for each in held for end in (each.edge.source, each.edge.target)}
    found = reader.nodes(ends - leads_to.keys())
    passed = pass_on((e.edge for e in held), leads_to, ours, taken)
    owners = {node.document for node in found.values()}
    text = reader.text_of(going.id)
    return Merge(
        document=going,
        survivor=staying,
        nodes=leads_to,
        touching=[each for each in held if each.document != going.id],
        passed_on=[
            OwnedEdge(edge, staying.id)
            for edge in passed
            if {edge.source, edge.target} <= ours | found.keys()
        ],
        texts={i: card.sha256 for i, card in reader.documents(owners).items()},
        key=twin.key,
        hash=text_hash(text, going.source),
        tiers=(tiers[going.id], tiers[staying.id]),
        at=now,
    )


def pass_on(
    edges: Iterable[Edge], leads_to: Mapping[int, int], ours: Set[int], taken: Set[Place]
) -> Iterator[Edge]:
    """Yield the edges that take the place of those of a document that goes.

    Args:
        edges: those that touch it.
        leads_to: the survivor's node for each of its nodes.
        ours: the survivor's nodes: it is not linked with itself.
        taken: edges that the survivor has already.
    """
    given = set(taken)
    for edge in edges:
        source, target = (leads_to.get(end, end) for end in (edge.source, edge.target))
        if edge.kind == SIMILAR and source > target:
            source, target = target, source
        passed = replace(edge, source=source, target=target)
        if not {source, target} <= ours and _place(passed) not in given:
            given.add(_place(passed))
            yield passed


def _place(edge: Edge) -> Place:
    return edge.source, edge.target, edge.kind
