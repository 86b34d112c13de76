"""Give a stored document vectors and links: embed outside any transaction, then write at once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence

from ringwood.batches import in_batches
from ringwood.embed.meaning import Meaning
from ringwood.engine.base import Engine, FloatVector, Reader
from ringwood.types import Document, Edge, Node
from ringwood.write.link import LinkOptions, link
from ringwood.write.means import meaning_of
from ringwood.write.remembered import is_current
from ringwood.write.template import embedded_text

BATCH = 16
"""Texts per call of the embedder: between two calls a stop gets its turn."""
SAVE_EVERY = 64
"""Rows after which a long document's vectors are saved: a kill loses a few seconds of work."""


def embed_document(
    engine: Engine,
    meaning: Meaning,
    document: Document,
    options: LinkOptions,
    on_batch: Callable[[int], None] = lambda done: None,
) -> bool:
    """Embed a document's nodes, link them and mark it ready.

    Args:
        engine: where it lies.
        meaning: how this home compares meanings.
        document: its card.
        options: bounds of linking.
        on_batch: told the number of nodes done after each batch; may raise to stop.

    Returns:
        False when the document was changed or forgotten meanwhile, or the home went over to
        another embedder.

    Raises:
        EmbedderError: the document is not ready; rows of a long one that were saved until then
            are not embedded again.
    """
    with engine.reading() as reader:
        nodes = reader.nodes_of(document.id)
        texts = embedded_texts(nodes)
        digests = {node: text_digest(text) for node, text in texts.items()}
        known = reader.vectors_by_digest(meaning.identity, digests.values())
    rows: dict[int, FloatVector] = {
        node: known[digest] for node, digest in digests.items() if digest in known
    }
    on_batch(len(rows))
    missing = [node for node in texts if node not in rows]
    unsaved = dict(rows)

    def save(found: Sequence[Edge], *, ready: bool) -> bool:
        with engine.writing(document.tier) as writer, engine.reading() as reader:
            if not is_current(reader, meaning.identity):
                return False
            edges = _standing(reader, found, rows, meaning.identity)
            return writer.put_vectors(
                document.id,
                document.sha256,
                meaning.identity,
                unsaved,
                digests,
                edges,
                ready=ready,
            )

    for batch in in_batches(missing, BATCH):
        embedded = meaning.embedder.embed_passages([texts[node] for node in batch])
        unsaved.update(zip(batch, embedded, strict=True))
        rows.update(unsaved)
        if len(unsaved) >= SAVE_EVERY:
            if not save((), ready=False):
                return False
            unsaved.clear()
        on_batch(len(batch))
    with engine.reading() as reader:
        here = meaning_of(reader, meaning, document.space)
        edges = link(reader, document.space, nodes, rows, here, options)
    return save(edges, ready=True)


def _standing(
    reader: Reader, edges: Sequence[Edge], rows: Mapping[int, FloatVector], embedder: str
) -> list[Edge]:
    """Leave out edges to nodes that were forgotten or changed while these were embedded."""
    ends = {end for edge in edges for end in (edge.source, edge.target)}
    there = rows.keys() | reader.vectors(embedder, ends - rows.keys()).keys()
    return [edge for edge in edges if {edge.source, edge.target} <= there]


def embedded_texts(nodes: Sequence[Node]) -> dict[int, str]:
    """Return the text to embed for each node that holds a word: heading path and text."""
    titles: dict[int, tuple[str, ...]] = {}
    texts: dict[int, str] = {}
    for node in nodes:
        above = titles.get(node.parent, ()) if node.parent is not None else ()
        titles[node.id] = (*above, node.title)
        if node.script or node.length:
            texts[node.id] = embedded_text(above, node.text)
    return texts


def text_digest(text: str) -> str:
    """Name an embedded text: equal texts have equal vectors."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]
