"""What storing came to, as read back from the store and not as it was sent."""

from __future__ import annotations

from dataclasses import dataclass

from ringwood.engine.base import Reader
from ringwood.types import Receipt, address_of
from ringwood.write.draft import Ingested
from ringwood.write.importer import Imported


@dataclass(frozen=True, slots=True)
class ImportReport:
    """An import, as read back from the store."""

    imported: Imported
    """What was done."""
    nodes: int
    """Nodes of the new and changed documents."""
    vectors: int
    """Of those, nodes with a vector."""
    edges: int
    """Edges that touch them."""
    pruned: int
    """Documents that were removed because their file is gone."""
    gone: tuple[str, ...]
    """Source keys of files that are gone and were kept."""
    waiting: bool
    """Whether vectors are still to come."""


def read_receipt(reader: Reader, outcome: Ingested, embedder: str) -> Receipt:
    """Read back what a store came to.

    Args:
        reader: a snapshot later than the store.
        outcome: what became of the draft.
        embedder: vector identity, whose vectors are counted.

    A document that was forgotten meanwhile is `forgotten`, as one that a tombstone kept out.
    """
    document = None if outcome.document is None else reader.document(outcome.document)
    if document is None:
        return Receipt("", "", "", "forgotten", 0, 0, 0, outcome.redacted, outcome.repaired)
    nodes, vectors, edges = reader.counts(reader.node_ids([document.id]), embedder)
    return Receipt(
        document=str(document.id),
        path=document.path,
        address=address_of(document.space, document.path),
        state="existing" if outcome.outcome == "existing" else document.state,
        nodes=nodes,
        vectors=vectors,
        edges=edges,
        redacted=outcome.redacted,
        repaired=outcome.repaired,
    )


def read_again(reader: Reader, receipt: Receipt, embedder: str) -> Receipt:
    """Read a receipt's figures back once more, after vectors have followed."""
    if not receipt.document:
        return receipt
    done = Ingested(
        int(receipt.document),
        "existing" if receipt.state == "existing" else "new",
        receipt.redacted,
        receipt.repaired,
    )
    return read_receipt(reader, done, embedder)
