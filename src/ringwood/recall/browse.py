"""Look at memory by address: a node with its surroundings, or a tree of what there is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from ringwood.engine.base import Reader
from ringwood.errors import AddressError
from ringwood.names import GLOBAL
from ringwood.types import LINK, Document, Edge, Node, address_of

_ID = re.compile(r"[0-9]{1,18}")

Reach = Literal["home", "recall", "space"]
"""How far an address may lead: into any space of the home, into those that recall looks in, or
into the memory's own only. What lies beyond answers as if nothing were there."""


@dataclass(frozen=True, slots=True)
class NodeView:
    """A node as `show` prints it."""

    node: Node
    """The node."""
    document: Document
    """Its document's card."""
    source: str
    """Its exact source: the span of the stored text, everything below it included."""
    parent: Node | None
    """The node above it."""
    children: tuple[Node, ...]
    """The nodes right below it."""
    neighbours: tuple[tuple[Node, Edge], ...]
    """Nodes joined by a similar edge, strongest first."""
    links_out: tuple[Node, ...] = ()
    """Nodes that a link in it or below it leads to, by path."""
    links_in: tuple[Node, ...] = ()
    """Nodes with a link to it or to one below it, by path."""


@dataclass(frozen=True, slots=True)
class TreeLine:
    """One line of a tree."""

    depth: int
    """0 for where the tree starts."""
    node: Node
    """The node."""
    space: str
    """Its space."""


def split_address(wanted: str, space: str) -> tuple[tuple[str, ...], str]:
    """Split an address into the spaces to look in and the path.

    `space:/path` names its space; a bare path is looked up in the given space, then in `global`.
    """
    path = wanted.strip()
    if not path.startswith("/") and ":/" in path:
        named, _, below = path.partition(":/")
        return (named,), "/" + below.rstrip("/")
    return tuple(dict.fromkeys((space, GLOBAL))), "/" + path.strip("/")


def is_space_name(name: str) -> bool:
    """Say whether a space may be called so: its addresses lead back to it, and can be shown."""
    return name.isprintable() and split_address(address_of(name, "/x"), GLOBAL) == ((name,), "/x")


def resolve(reader: Reader, wanted: str, space: str, reach: Reach = "home") -> Node:
    """Find the node at an address; an old address leads to where its node went.

    Raises:
        AddressError: when there is none within reach, or none any more.
    """
    named, path = split_address(wanted, space)
    open_to = {"home": named, "recall": (space, GLOBAL), "space": (space,)}[reach]
    spaces = [each for each in named if each in open_to]
    for each in spaces:
        identity = reader.resolve(each, path)
        if identity is not None:
            return reader.nodes([identity])[identity]
    for each in spaces:
        former = reader.former(each, path)
        if former is None:
            continue
        moved = reader.nodes([former.node])
        if moved:
            return moved[former.node]
        raise AddressError(
            f"{address_of(each, path)} is gone since {former.until:%Y-%m-%d}.",
            mend="ringwood tree shows what there is",
        )
    raise AddressError(
        f"Nothing has the address {path} in {' or '.join(spaces or named)}.",
        mend="ringwood tree shows what there is",
    )


def find_document(
    reader: Reader, space: str, *, identity: str | None = None, source: str | None = None
) -> Document:
    """Find a document by its id, or by its source key in a space.

    One that a dream merged leads to the document that stands for it.

    Raises:
        AddressError: when there is none.
    """
    found = None
    if source is not None:
        merged = reader.merged(space, source=source)
        found = reader.document_by_source(space, source)
        found = found or (None if merged is None else reader.document(merged.survivor))
    elif identity is not None and _ID.fullmatch(identity):
        survivor = reader.survivor_of(int(identity))
        found = reader.document(int(identity) if survivor is None else survivor)
    if found is None:
        wanted = f"id {identity}" if source is None else f"source {source}"
        raise AddressError(f"No document has the {wanted}.", mend="ringwood recent")
    return found


def view(reader: Reader, wanted: str, space: str, reach: Reach = "home") -> NodeView:
    """Fetch a node with its surroundings.

    Raises:
        AddressError: when nothing within reach has this address.
    """
    node = resolve(reader, wanted, space, reach)
    document = reader.documents([node.document])[node.document]
    start, end = node.span
    edges = sorted(reader.edges([node.id]), key=lambda edge: (-edge.weight, edge.target))
    ends = {edge: edge.target if edge.source == node.id else edge.source for edge in edges}
    others = reader.nodes(ends.values())
    parent = None if node.parent is None else reader.nodes([node.parent]).get(node.parent)
    links_out, links_in = _links(reader, node)
    return NodeView(
        node=node,
        document=document,
        source=reader.text_of(document.id)[start:end],
        parent=parent,
        children=reader.children(node.id),
        neighbours=tuple((others[end], edge) for edge, end in ends.items() if end in others),
        links_out=links_out,
        links_in=links_in,
    )


def _links(reader: Reader, node: Node) -> tuple[tuple[Node, ...], tuple[Node, ...]]:
    """Return where the links of a subtree lead, and whose links lead into it."""
    start, end = node.span
    below = {
        each.id
        for each in reader.nodes_of(node.document)
        if each.order >= node.order and start <= each.span[0] and each.span[1] <= end
    }
    edges = reader.edges(below, LINK)
    ends = (
        {edge.target for edge in edges if edge.source in below} - below,
        {edge.source for edge in edges if edge.target in below} - below,
    )
    out, into = (
        tuple(sorted(reader.nodes(ids).values(), key=lambda each: each.path)) for ids in ends
    )
    return out, into


def tree(reader: Reader, wanted: str | None, space: str, depth: int) -> Iterator[TreeLine]:
    """Walk a subtree, a folder, or all documents of a space, `depth` levels deep.

    Nodes come in reading order, documents by path.

    Raises:
        AddressError: when nothing has this address and no document lies below it.
    """
    starts = _documents_below(reader, space, "/") if wanted is None else []
    if wanted is not None:
        try:
            starts = [resolve(reader, wanted, space).id]
        except AddressError:
            spaces, path = split_address(wanted, space)
            starts = [each for name in spaces for each in _documents_below(reader, name, path)]
            if not starts:
                raise
    for start in starts:
        top = reader.nodes([start])[start]
        document = reader.documents([top.document])[top.document]
        levels = {top.id: 0}
        for node in reader.nodes_of(top.document):
            if node.parent in levels and node.id != top.id:
                levels[node.id] = levels[node.parent] + 1
            if levels.get(node.id, depth) < depth:
                yield TreeLine(levels[node.id], node, document.space)


def _documents_below(reader: Reader, space: str, folder: str) -> list[int]:
    """List the root nodes of the documents in a folder, by path."""
    below = folder.rstrip("/") + "/"
    paths = [each.path for each in reader.roots(space) if each.path.startswith(below)]
    return [root for path in paths if (root := reader.resolve(space, path)) is not None]
