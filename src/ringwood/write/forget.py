"""Forget: remove a text with all that was derived from it, and see that it does not come back.

    mirror file -> tombstones and recall log -> every tier's copy -> traces in the files

A tombstone comes before the copies go: should we die in between, the command can be given again.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass

from ringwood.engine.base import Engine, Reader, Writer
from ringwood.names import LAST_FORGET
from ringwood.types import TIERS, Document, Node, address_of
from ringwood.write import mirror, strays
from ringwood.write.draft import Intake
from ringwood.write.ingest import rewrite
from ringwood.write.mirroring import write_pages
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
    waiting = list(documents)
    while waiting:
        document = waiting.pop(0)
        with erasure.engine.reading() as reader:
            if reader.document(document.id) is None:
                waiting[:0] = _survivor_of(reader, document)
                continue  # somebody else was quicker
            nodes, vectors, edges = reader.counts(reader.node_ids([document.id]), erasure.embedder)
            text = reader.text_of(document.id)
            file = reader.mirrored_path(document.id)
            merged = reader.merged_into(document.id)
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
        sources = [document.source, *(each.source for each in merged)]
        hashes += [each.hash for each in merged]
        hashes += [source_hash(source) for source in sources if source is not None]
        waiting[:0] = _remove(erasure, document, file, hashes)
    if documents and not erasure.dry_run:
        _drop_means(erasure.engine, {document.space for document in documents})
        erasure.engine.erase_traces()
    return total


def _survivor_of(reader: Reader, document: Document) -> list[Document]:
    """Give the document that one went into meanwhile: what is forgotten is to be forgotten there.

    Its text is the same, so that forgetting the one means the other.
    """
    survivor = reader.survivor_of(document.id)
    found = None if survivor is None else reader.document(survivor)
    return [] if found is None else [found]


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

    What was forgotten elsewhere and stands in this document, too, goes with it: a text that is
    written anew is never given what was forgotten. The root, and nodes that are all the document
    holds, mean the whole document.
    """
    with erasure.engine.reading() as reader:
        node = reader.nodes([identity]).get(identity)
        if node is None:
            return Forgotten()  # somebody else was quicker
        document = reader.documents([node.document])[node.document]
        text = reader.text_of(document.id)
        nodes = reader.nodes_of(document.id)
        hashes = {
            each.id: text_hash(text[each.span[0] : each.span[1]], document.source) for each in nodes
        }
        before = reader.tombstoned(document.space, hashes.values())
        subtree = [
            each
            for each in nodes
            if _within(each, node) or (each.parent is not None and hashes[each.id] in before)
        ]
        counts = reader.counts([each.id for each in subtree], erasure.embedder)
        file = reader.mirrored_path(document.id)
    spans = [each.span for each in subtree]
    remaining = without(text, spans, exchange=any(each.actor for each in nodes))
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
    ours = [hashes[each.id] for each in subtree]
    notes = _remove_file(erasure, document, file)
    with erasure.engine.writing() as writer, erasure.engine.reading() as reader:
        merged = [each.document for each in reader.merged_into(document.id)]
        steps, theirs = _merged_parts(reader, [document.id, *merged], {e.id for e in subtree})
        writer.add_tombstones(document.space, [*ours, *theirs], erasure.intake.now)
        writer.purge_log([document.id, *merged])
        # What went into this document holds the words, too: its merge cannot be undone any more.
        writer.drop_steps(steps)
    _drop_colder(erasure.engine, document.id)
    _drop_edges(erasure.engine, {each.id for each in subtree})
    rewrite(erasure.engine, document.id, erasure.intake)
    with erasure.engine.writing() as writer, erasure.engine.reading() as reader:
        cut = reader.document(document.id)
        if cut is not None:
            writer.follow(document.id, cut.sha256)
        _purge_late(writer, document.id)
        mirror.drop_notes(writer, notes)
    if file is not None and cut is not None:
        for error in filter(None, write_pages(erasure.engine, erasure.mirror_root, [cut]).values()):
            raise error
    erasure.engine.erase_traces()
    return report


def _merged_parts(
    reader: Reader, documents: Sequence[int], subtree: Set[int]
) -> tuple[list[int], list[str]]:
    """Find what the journal holds of documents that went into one, and of a part of it.

    Returns:
        The entries, and hashes of the nodes whose addresses lead into the part, as tombstones hold
        them: these may be worded a little differently.
    """
    steps = [step.id for step in reader.steps_of(documents)]
    gone = [reader.gone(step) for step in steps]
    leads_to = {node: to for each in gone for node, to in each.leads_to.items()}
    hashes = []
    for each in gone:
        for node in each.nodes:
            end = node.id
            while end in leads_to:  # through documents that went into another one in their turn
                end = leads_to[end]
            if end in subtree:
                hashes.append(text_hash(each.text[slice(*node.span)], each.source))
    return steps, hashes


def _within(node: Node, above: Node) -> bool:
    return (
        above.span[0] <= node.span[0]
        and node.span[1] <= above.span[1]
        and (node.order >= above.order)
    )


def _remove(
    erasure: Erasure, document: Document, file: str | None, hashes: Sequence[str]
) -> list[Document]:
    """Remove a document from every place; return the one that it went into meanwhile, if it did."""
    notes = _remove_file(erasure, document, file)
    with erasure.engine.writing() as writer:
        if hashes:
            writer.add_tombstones(document.space, hashes, erasure.intake.now)
        writer.purge_log([document.id])
    _delete_copies(erasure, document.id)
    with erasure.engine.writing() as writer, erasure.engine.reading() as reader:
        survivor = _survivor_of(reader, document)
        merged = [each.document for each in reader.merged_into(document.id)]
        writer.purge_log(merged)
        writer.forget_merged([document.id, *merged])
        for each in merged:
            writer.remove_later(each, reader.missing_tiers)
        # Once more: a file may have been written that the database was not told of.
        if not strays.is_taken(reader, document.space, document.path):
            mirror.remove_file(erasure.mirror_root, mirror.mirror_path(document))
        mirror.drop_notes(writer, notes)
    return survivor


def _remove_file(erasure: Erasure, document: Document, file: str | None) -> tuple[str, ...]:
    """Note that a document's page goes, and remove it: should we die, it is written again.

    Returns:
        The notes, to be dropped when the database knows that it is gone.
    """
    with erasure.engine.writing() as writer:
        notes = mirror.note_pages(writer, [document])
    if file is not None:
        with erasure.engine.writing(document.tier) as writer:
            writer.set_mirrored(document.id, "", file)
            # Inside: nobody may say meanwhile that a file written just before is there.
            mirror.remove_file(erasure.mirror_root, file)
    return notes


def _purge_late(writer: Writer, document: int) -> None:
    """Purge what another process logged meanwhile, and let it log nothing that it has read before.

    Belongs into the transaction after which nobody can read the text any more.
    """
    writer.purge_log([document])
    writer.set_meta(LAST_FORGET, secrets.token_hex(8))


def _drop_colder(engine: Engine, document: int) -> None:
    """Delete copies that a move left in colder tiers: they still say what is to be forgotten.

    What a tier that is missing may hold is removed when it is back.
    """
    with engine.reading() as reader:
        missing = reader.missing_tiers
    if missing:
        with engine.writing() as writer:
            writer.remove_later(document, missing)
    for tier in TIERS[1:]:
        if tier not in missing:
            engine.drop_copies(tier, [document])


def _delete_copies(erasure: Erasure, document: int) -> None:
    """Delete a document in every tier, again where a rotation carried it past us.

    From a tier that is missing it is removed when that is back: a crash may have left a copy there.
    """
    engine = erasure.engine
    there = True
    while there:
        with engine.reading() as reader:
            missing = reader.missing_tiers
            nodes = reader.node_ids([document])
        _drop_edges(engine, nodes)
        for tier in reversed(TIERS):
            if tier not in missing:
                with engine.writing(tier) as writer, engine.reading() as reader:
                    file = reader.mirrored_path(document)
                    if file is not None:  # written since it was removed; nobody knows of it then
                        mirror.remove_file(erasure.mirror_root, file)
                    writer.delete_document(document)
                    if tier == "hot":
                        writer.remove_later(document, missing)
                        _purge_late(writer, document)
        with engine.reading() as reader:
            there = reader.document(document) is not None


def _drop_edges(engine: Engine, nodes: Iterable[int]) -> None:
    """Delete the edges that touch nodes, also those of documents in other tiers.

    Of a tier that is missing they stay: recall leaves them out, and `verify --mend` deletes them.
    """
    with engine.reading() as reader:
        edges = [each.edge for each in reader.owned_edges(nodes)]
        missing = reader.missing_tiers
    for tier in TIERS if edges else ():
        if tier not in missing:
            with engine.writing(tier) as writer:
                writer.drop_edges(edges)
