"""Which node of an edited document is which: ids survive edits, so that links and counts do.

First the nodes with the same text, then those with the same path. What is left over is new.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from ringwood.parse.tree import ParsedNode
from ringwood.types import Node


def carry_ids(old: Sequence[Node], old_root: str, new: Sequence[ParsedNode]) -> list[int | None]:
    """Give each parsed node the id of the stored node that it continues, or None.

    Args:
        old: the stored nodes, in reading order.
        old_root: path of the stored root, so that paths compare below it.
        new: the parsed nodes, root first. The root always continues the root.
    """
    by_text: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    by_path: dict[tuple[str, str], int] = {}
    for node in reversed(old):
        by_text[node.kind, node.title, node.text].append(node.id)
        by_path[node.kind, node.path.removeprefix(old_root)] = node.id
    carried: list[int | None] = [None] * len(new)
    used: set[int] = set()

    def take(position: int, identity: int | None) -> None:
        if identity is not None and identity not in used and carried[position] is None:
            carried[position] = identity
            used.add(identity)

    if old and new:
        take(0, old[0].id)
    for position, each in enumerate(new):
        same = by_text[each.kind, each.title, each.text]
        while same and same[-1] in used:
            same.pop()
        take(position, same[-1] if same else None)
    for position, each in enumerate(new):
        take(position, by_path.get((each.kind, each.path)))
    return carried
