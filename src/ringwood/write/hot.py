"""Documents are edited in the hot tier: one that lies elsewhere is moved there first, whole.

So its versions, old addresses, links, vectors and counts are there when the edit is written, in one
transaction. Rotation takes it back in time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import groupby

from ringwood.engine.base import Engine
from ringwood.engine.placement import MOVED_UP_AT, Move
from ringwood.types import TIERS, Document, Node
from ringwood.write.nodes import terms_of


def bring_in(
    engine: Engine, documents: Iterable[Document], *, now: datetime | None = None
) -> frozenset[int]:
    """Move documents to the hot tier and return the ids of those that lie there now.

    Left out are those that were changed or forgotten since they were read. Call it outside any
    transaction.

    Args:
        engine: where.
        documents: as they were read.
        now: the time, UTC. Older copies stay for whoever reads already, and `upkeep.rotate.finish`
            clears them once nobody does. None: the caller drops them, see `drop_older`.

    Raises:
        BusyError: when the write lock was not had in time.
        StorageError: when the disk refuses.
    """

    def coldness(each: Document) -> int:
        return TIERS.index(each.tier)

    there: set[int] = set()
    for tier, group in groupby(sorted(documents, key=coldness), key=coldness):
        cards = list(group)
        if TIERS[tier] == "hot":
            there.update(each.id for each in cards)
            continue
        if now is not None:
            with engine.writing() as writer:
                writer.set_meta(MOVED_UP_AT, now.isoformat())
        with engine.reading() as reader:
            moves = [
                Move(each.id, each.sha256, terms_of(reader.nodes_of(each.id))) for each in cards
            ]
        there.update(engine.move(moves, TIERS[tier], "hot"))
    return frozenset(there)


def drop_older(engine: Engine, documents: Iterable[Document]) -> None:
    """Delete the colder copies of documents that were brought in, at once.

    For what they must not say any more, or where nothing is to be left when the hot one goes. Who
    began to read in the moment before finds the document nowhere. Should we die before that, the
    hottest copy wins, and the next rotation clears the others.
    """
    for document in documents:
        if document.tier != "hot":
            engine.drop_copies(document.tier, [document.id])


def drop_stale_edges(engine: Engine, before: Sequence[Node]) -> None:
    """Delete the similar edges of nodes that say something else now, where older tiers hold them.

    The edit itself deletes those of the hot tier; an edge lies with the document that was linked.

    Args:
        engine: where.
        before: the nodes of documents that were edited, as they were.
    """
    with engine.reading() as reader:
        now = reader.nodes(node.id for node in before)
        changed = [
            node.id
            for node in before
            if node.id in now
            and (node.kind, node.title, node.text)
            != (now[node.id].kind, now[node.id].title, now[node.id].text)
        ]
        edges = reader.edges(changed)
        colder = [tier for tier in TIERS[1:] if tier not in reader.missing_tiers]
    for tier in colder if edges else ():
        with engine.writing(tier) as writer:
            writer.drop_edges(edges)
