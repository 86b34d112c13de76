"""Taking a stored text apart once more: to see whether its nodes are still what it says.

Only the text and the card of a document are needed, not its nodes: where these are damaged, or
there are none yet, they are made again from here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ringwood.engine.base import NodeWrite
from ringwood.parse.tree import ParsedDocument, ParseOptions, parse_document, parse_exchange
from ringwood.types import Document, Node
from ringwood.write.nodes import node_writes
from ringwood.write.paths import assign_paths


def parse_again(
    document: Document, text: str, *, exchange: bool, options: ParseOptions
) -> ParsedDocument:
    """Parse a stored text so that it has the title it has."""

    def parse(title: str | None) -> ParsedDocument:
        if exchange:
            return parse_exchange(text, title=title, options=options)
        stem = document.title or None
        return parse_document(text, title=title, stem=stem, options=options)

    parsed = parse(None)
    return parsed if parsed.title == document.title or not document.title else parse(document.title)


def is_said_by(parsed: ParsedDocument, nodes: Sequence[Node]) -> bool:
    """Say whether nodes say what their text says.

    A text that was cut by other rules than today's is no fault: where the pieces are others, or a
    piece has another length, nothing can be told. What a broken disk changes keeps its length.
    """
    if [(n.kind, n.span, n.own) for n in parsed.nodes] != [(n.kind, n.span, n.own) for n in nodes]:
        return True
    return not any(
        _is_altered(new.text, old.text) or _is_altered(new.title, old.title)
        for new, old in zip(parsed.nodes, nodes, strict=True)
    )


def _is_altered(said: str, held: str) -> bool:
    return said != held and len(said.encode()) == len(held.encode())


def nodes_again(
    document: Document,
    parsed: ParsedDocument,
    ids: Sequence[int],
    *,
    access: Mapping[int, int],
    had: Sequence[str] = (),
    is_free: Callable[[str], bool] = lambda path: True,
) -> list[NodeWrite]:
    """Make a document's nodes from its parsed text.

    Args:
        document: their document, whose path they lie below.
        parsed: its text.
        ids: an id for each, in reading order.
        access: access counts that are known, by id.
        had: the path that each had; empty where that is not known.
        is_free: whether nothing else in the space has a path.
    """
    relative = [node.path for node in parsed.nodes]
    kept = [document.path, *had[1:]] if had else [document.path, *[None] * (len(relative) - 1)]
    paths = assign_paths(document.path, relative, lambda path, at: not at or is_free(path), kept)
    return node_writes(parsed.nodes, ids, paths, document.id, access)
