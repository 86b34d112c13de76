"""Whether the nodes of a document are a tree over its text. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from ringwood.types import Document, Node


def shape_fault(document: Document, text: str, nodes: Sequence[Node]) -> str | None:
    """Say what is wrong with the nodes of a document; None for a tree.

    Args:
        document: its card.
        text: its stored text.
        nodes: all its nodes, in the order of their positions.
    """
    if not nodes:
        return "it has no nodes"
    if [node.order for node in nodes] != list(range(len(nodes))):
        return "its nodes are not numbered in reading order"
    root = nodes[0]
    if root.parent is not None or root.path != document.path or root.title != document.title:
        return "its first node is not the root of its path and title"
    above = {root.id: root}
    end = 0
    for node in nodes:
        parent = None if node is root else above.get(node.parent or 0)
        if node is not root and parent is None:
            return f"{node.path} hangs below no node before it"
        if not _lies_within(node, len(text), parent):
            return f"the span of {node.path} does not lie within what it is part of"
        if node.own[0] < node.own[1]:
            if node.own[0] < end:
                return f"{node.path} overlaps what stands before it"
            end = node.own[1]
        above[node.id] = node
    return None


def _lies_within(node: Node, length: int, parent: Node | None) -> bool:
    start, end = (0, length) if parent is None else parent.span
    ordered = start <= node.span[0] <= node.span[1] <= end
    is_empty = node.own[0] == node.own[1]
    return ordered and (is_empty or node.span[0] <= node.own[0] <= node.own[1] <= node.span[1])
