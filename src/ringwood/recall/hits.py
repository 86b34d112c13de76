"""Turn candidates into what is handed over: hits with their surroundings, and the dropped."""

from __future__ import annotations

from dataclasses import dataclass

from ringwood.engine.base import NodeReader
from ringwood.recall.ledger import Candidate
from ringwood.text.sentences import clip
from ringwood.types import Dropped, Hit, Node, NodeRef, address_of

SIBLINGS = 3
"""Siblings shown beside a hit."""
SIBLING_CHARS = 80
"""Characters shown of each."""
TITLE_CHARS = 120
"""Characters shown of each title on the way down to a hit."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What stands around a hit."""

    above: tuple[Node, ...]
    """From the root down to its parent."""
    beside: tuple[Node, ...]
    """Siblings, nearest in reading order first."""
    via: Node | None
    """The hit that a hop came from."""


def surround(reader: NodeReader, candidate: Candidate) -> Surroundings:
    """Fetch what stands around a candidate."""
    above: list[Node] = []
    parent = candidate.node.parent
    while parent is not None and (found := reader.nodes([parent])):
        above.append(found[parent])
        parent = found[parent].parent
    via = candidate.signals.via
    return Surroundings(
        above=tuple(reversed(above)),
        beside=reader.beside(candidate.node.id, SIBLINGS),
        via=None if via is None else reader.nodes([via]).get(via),
    )


def to_hit(candidate: Candidate, place: Surroundings, max_node_chars: int) -> Hit:
    """Describe a candidate as a hit, its text within `max_node_chars`."""
    node, document = candidate.node, candidate.document
    return Hit(
        address=address_of(document.space, node.path),
        path=node.path,
        space=document.space,
        document=str(document.id),
        node=str(node.id),
        title=node.title,
        title_path=" › ".join(clip(each.title, TITLE_CHARS) for each in place.above),
        text=clip(node.text, max_node_chars),
        kind=node.kind,
        actor=node.actor or document.actor,
        tier=document.tier,
        created_at=document.created_at,
        score=candidate.score,
        terms=candidate.terms,
        signals=candidate.signals,
        via_address=None if place.via is None else address_of(document.space, place.via.path),
        section=_section(document.space, place.above),
        siblings=tuple(
            NodeRef(address_of(document.space, each.path), clip(each.text, SIBLING_CHARS))
            for each in place.beside
        ),
    )


def to_dropped(candidate: Candidate) -> Dropped:
    """Describe a candidate that was dropped."""
    return Dropped(
        address=address_of(candidate.document.space, candidate.node.path),
        path=candidate.node.path,
        document=str(candidate.document.id),
        score=candidate.score,
        terms=candidate.terms,
        stage=candidate.stage or "",
        reason=candidate.reason,
    )


def _section(space: str, above: tuple[Node, ...]) -> NodeRef | None:
    for node in reversed(above):
        if node.kind in ("section", "document"):
            return NodeRef(address_of(space, node.path), node.title)
    return None
