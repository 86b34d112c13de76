"""Nodes as they are stored: each with the terms that find it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ringwood.engine.base import NodeWrite
from ringwood.parse.tree import ParsedNode
from ringwood.text.terms import dominant_script, index_terms
from ringwood.types import Node
from ringwood.write.template import indexed_text


def node_writes(
    parsed: Sequence[ParsedNode],
    ids: Sequence[int],
    paths: Sequence[str],
    document: int,
    access: Mapping[int, int],
) -> list[NodeWrite]:
    """Turn parsed nodes into stored ones.

    Args:
        parsed: all nodes of a document, in reading order.
        ids: the id of each.
        paths: the path of each, as it is unique in the space.
        document: id of the document.
        access: access counts of nodes that were there before, by id.
    """
    titles: list[tuple[str, ...]] = []
    writes: list[NodeWrite] = []
    for order, (each, identity, path) in enumerate(zip(parsed, ids, paths, strict=True)):
        above = () if each.parent is None else (*titles[each.parent], parsed[each.parent].title)
        titles.append(above)
        terms = index_terms(indexed_text(each.kind, above, each.text))
        node = Node(
            id=identity,
            document=document,
            parent=None if each.parent is None else ids[each.parent],
            order=order,
            kind=each.kind,
            title=each.title,
            path=path,
            span=each.span,
            own=each.own,
            text=each.text,
            script=dominant_script(each.text),
            length=len(terms),
            access=access.get(identity, 0),
            actor=each.actor,
        )
        writes.append(NodeWrite(node, terms))
    return writes


def terms_of(nodes: Sequence[Node]) -> dict[int, tuple[str, ...]]:
    """Prepare the index terms of a stored document's nodes, as storing does.

    Args:
        nodes: all of them, in reading order.
    """
    titles: dict[int, tuple[str, ...]] = {}
    terms: dict[int, tuple[str, ...]] = {}
    for node in nodes:
        above = () if node.parent is None else titles[node.parent]
        titles[node.id] = (*above, node.title)
        terms[node.id] = index_terms(indexed_text(node.kind, above, node.text))
    return terms
