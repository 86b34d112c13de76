"""Forget: remove a text with all that was derived from it, and see that it does not come back.

    mirror file -> tombstones and recall log -> every tier's copy -> traces in the files

A tombstone comes before the copies go: should we die in between, the command can be given again.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence, Set
from dataclasses import dataclass

from ringwood.engine.base import Engine, Writer
from ringwood.names import LAST_FORGET
from ringwood.types import TIERS, Document, Node, address_of
from ringwood.write import mirror
from ringwood.write.draft import Intake
from ringwood.write.ingest import rewrite
from ringwood.write.prepare import without
from ringwood.write.tombstones import source_hash, text_hash


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What was removed, or would be."""

    documents: int = 0
    """Whole documents."""
    nodes: int = 0
    """Nodes, those of whole documents included."""
    vectors: int = 0
    """Their vectors."""
    edges: int = 0
    """Edges that touched them."""
    files: int = 0
    """Files of the mirror."""
    addresses: tuple[str, ...] = ()
    """The first twenty addresses."""
    notes: tuple[str, ...] = ()
    """What may still hold some of it, in sentences."""

    def __add__(self, other: Forgotten) -> Forgotten:
        return Forgotten(
            self.documents + other.documents,
            self.nodes + other.nodes,
            self.vectors + other.vectors,
            self.edges + other.edges,
            self.files + other.files,
            (*self.addresses, *other.addresses)[:20],
            (*self.notes, *other.notes),
        )


@dataclass(frozen=True, slots=True)
class Erasure:
    """Where to forget, and how."""

    engine: Engine
    """The home's database."""
    mirror_root: str
    """Folder of the mirror."""
    embedder: str
    """Vector identity, to count what goes."""
    intake: Intake
    """The time, and how a document that stays, cut, is stored again."""
    dry_run: bool = False
    """Only say what would go."""


def forget_documents(erasure: Erasure, documents: Sequence[Document]) -> Forgotten:
    """Remove whole documents and leave tombstones for their source keys and texts."""
    total = Forgotten()
    for document in documents:
        with erasure.engine.reading() as reader:
            if reader.document(document.id) is None:
                continue  # somebody else was quicker
            nodes, vectors, edges = reader.counts(reader.node_ids([document.id]), erasure.embedder)
            text = reader.text_of(document.id)
            file = reader.mirrored_path(document.id)
        total += Forgotten(
            documents=1,
            nodes=nodes,
            vectors=vectors,
            edges=edges,
            files=int(file is not None),
            addresses=(address_of(document.space, document.path),),
        )
        if erasure.dry_run:
            continue
        hashes = [text_hash(text, document.source)]
        if document.source is not None:
            hashes.append(source_hash(document.source))
        _remove(erasure, document, file, hashes)
    if documents and not erasure.dry_run:
        _drop_means(erasure.engine, {document.space for document in documents})
        erasure.engine.erase_traces()
    return total


def _drop_means(engine: Engine, spaces: Set[str]) -> None:
    """Drop the means of spaces that hold nothing any more: they were those of forgotten texts."""
    with engine.writing() as writer, engine.reading() as reader:
        for space in spaces - reader.documents_per_space().keys():
            writer.drop_means(space=space)


def remove_document(erasure: Erasure, document: Document) -> None:
    """Remove a whole document without a tombstone: it may come back."""
    with erasure.engine.reading() as reader:
        file = reader.mirrored_path(document.id)
    _remove(erasure, document, file, ())


def forget_node(erasure: Erasure, identity: int) -> Forgotten:
    """Remove a node with its subtree: its span is cut out of the document's text.

    The root, and a node that is all the document holds, mean the whole document.
    """
    with erasure.engine.reading() as reader:
        node = reader.nodes([identity]).get(identity)
        if node is None:
            return Forgotten()  # somebody else was quicker
        document = reader.documents([node.document])[node.document]
        text = reader.text_of(document.id)
        nodes = reader.nodes_of(document.id)
        subtree = [each for each in nodes if _within(each, node)]
        counts = reader.counts([each.id for each in subtree], erasure.embedder)
        file = reader.mirrored_path(document.id)
    remaining = without(text, [node.span], exchange=any(each.actor for each in nodes))
    if node.parent is None or not remaining.strip():
        return forget_documents(erasure, [document])
    report = Forgotten(
        nodes=counts[0],
        vectors=counts[1],
        edges=counts[2],
        files=int(file is not None),
        addresses=(address_of(document.space, node.path),),
    )
    if erasure.dry_run:
        return report
    hashes = [text_hash(text[each.span[0] : each.span[1]], document.source) for each in subtree]
    _remove_file(erasure, document, file)
    with erasure.engine.writing() as writer:
        writer.add_tombstones(document.space, hashes, erasure.intake.now)
        writer.purge_log([document.id])
    _drop_colder(erasure.engine, document.id)
    rewrite(erasure.engine, document.id, erasure.intake)
    with erasure.engine.writing() as writer:
        _purge_late(writer, document.id)
    if file is not None:
        mirror.refresh_document(erasure.engine, erasure.mirror_root, document.id)
    erasure.engine.erase_traces()
    return report


def _within(node: Node, above: Node) -> bool:
    return (
        above.span[0] <= node.span[0]
        and node.span[1] <= above.span[1]
        and (node.order >= above.order)
    )


def _remove(erasure: Erasure, document: Document, file: str | None, hashes: Sequence[str]) -> None:
    _remove_file(erasure, document, file)
    with erasure.engine.writing() as writer:
        if hashes:
            writer.add_tombstones(document.space, hashes, erasure.intake.now)
        writer.purge_log([document.id])
    _delete_copies(erasure.engine, document.id)
    # Once more: a file may have been written between its removal and the document's.
    mirror.remove_file(erasure.mirror_root, mirror.mirror_path(document))


def _remove_file(erasure: Erasure, document: Document, file: str | None) -> None:
    """Remove a document's file. The database knows first: should we die, it is written again."""
    if file is not None:
        with erasure.engine.writing(document.tier) as writer:
            writer.set_mirrored(document.id, "", file)
        mirror.remove_file(erasure.mirror_root, file)


def _purge_late(writer: Writer, document: int) -> None:
    """Purge what another process logged meanwhile, and let it log nothing that it has read before.

    Belongs into the transaction after which nobody can read the text any more.
    """
    writer.purge_log([document])
    writer.set_meta(LAST_FORGET, secrets.token_hex(8))


def _drop_colder(engine: Engine, document: int) -> None:
    """Delete copies that a move left in colder tiers: they still say what is to be forgotten."""
    with engine.reading() as reader:
        missing = reader.missing_tiers
    for tier in TIERS[1:]:
        if tier not in missing:
            engine.drop_copies(tier, [document])


def _delete_copies(engine: Engine, document: int) -> None:
    """Delete a document in every tier, again where a rotation carried it past us."""
    there = True
    while there:
        with engine.reading() as reader:
            missing = reader.missing_tiers
        for tier in reversed(TIERS):
            if tier not in missing:
                with engine.writing(tier) as writer:
                    writer.delete_document(document)
                    if tier == "hot":
                        _purge_late(writer, document)
        with engine.reading() as reader:
            there = reader.document(document) is not None
