"""The write path up to the point where a text is safe and findable by words.

    text -> clean -> redact -> known? forgotten? -> parse -> carry ids -> terms -> one transaction

Vectors, links and the mirror follow without the caller: `write/worker.py`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal

from ringwood.engine.base import Engine, NodeWrite, Reader, Writer
from ringwood.parse.tree import (
    ParsedDocument,
    ParsedNode,
    ParseOptions,
    parse_document,
    parse_exchange,
)
from ringwood.text.clean import clean
from ringwood.text.redact import redact
from ringwood.text.terms import dominant_script, index_terms
from ringwood.types import Actor, Document, Node, Span, State
from ringwood.write.identity import carry_ids
from ringwood.write.paths import assign_paths
from ringwood.write.template import indexed_text
from ringwood.write.tombstones import source_hash, text_hash


@dataclass(frozen=True, slots=True)
class Draft:
    """A text on its way in, with what its bringer knows of it."""

    text: str
    """As it came."""
    space: str
    """Where it belongs."""
    actor: Actor
    """Who wrote it: set by the way in."""
    title: str | None = None
    """Overrides what the text says of its title."""
    stem: str | None = None
    """A file's name without ending: the title when the text has none."""
    folder: str = ""
    """Path above the document, for example `/implemented/feature`."""
    path: str | None = None
    """The whole path of the document, instead of folder and title."""
    source: str | None = None
    """The source key; None: the text is its own key."""
    replaces: int | None = None
    """Id of the document that this text is the new text of."""
    importance: float | None = None
    """0..1; None: 0.5, or what it was."""
    created_at: datetime | None = None
    """When it was said or written; None: what the text says, else `fallback_at`, else now."""
    fallback_at: datetime | None = None
    """When nothing better is known: a file's mtime."""
    repaired: int = 0
    """Characters that were replaced before it became text."""
    exchange: bool = False
    """Whether its turns say who wrote what: `parse/exchange.py`."""


Outcome = Literal["new", "changed", "existing", "forgotten"]
"""`existing`: the identical text was there already. `forgotten`: a tombstone keeps it out."""


@dataclass(frozen=True, slots=True)
class Ingested:
    """What became of a draft."""

    document: int | None
    """Its document; None when it is forgotten."""
    outcome: Outcome
    """How it ended."""
    redacted: int = 0
    """Secrets masked."""
    repaired: int = 0
    """Characters replaced."""
    sha256: str = ""
    """Of the text that was there already, when it was."""


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A draft that is to be written, and what was seen of the store when that was decided."""

    draft: Draft
    """As it came."""
    text: str
    """What is stored: repaired, masked, without what was forgotten of it."""
    sha256: str
    """Of that text."""
    parsed: ParsedDocument
    """Its tree."""
    old: Document | None
    """The document that it continues."""
    old_nodes: tuple[Node, ...]
    """That document's nodes, in reading order."""
    hashes: tuple[str, ...]
    """Of its nodes and its source key, as tombstones hold them."""
    forgotten: frozenset[str]
    """Those of them that have a tombstone."""
    redacted: int = 0
    """Secrets masked."""
    repaired: int = 0
    """Characters replaced."""

    def outcome(self, document: int | None) -> Ingested:
        """Say what becomes of it."""
        return Ingested(document, "changed" if self.old else "new", self.redacted, self.repaired)


@dataclass(frozen=True, slots=True)
class Intake:
    """How texts are taken in."""

    now: datetime
    """The time of storing. UTC."""
    state: State = "pending"
    """Of new documents: `pending` when vectors are to come, `ready` where words are all."""
    parse: ParseOptions = field(default_factory=ParseOptions)
    """Limits of the parser."""
    again: bool = False
    """Let forgotten texts back in, and lift their tombstones."""
    dry_run: bool = False
    """Write nothing; only say what would come of it."""


def ingest(engine: Engine, drafts: Sequence[Draft], intake: Intake) -> tuple[Ingested, ...]:
    """Make texts durable and findable by words, in one transaction.

    Args:
        engine: where to.
        drafts: texts; no two with the same source key or, without one, the same text.
        intake: how.

    Returns:
        One outcome per draft, in order. Of an `existing` one only a counter is written, of a
        `forgotten` one nothing.

    Raises:
        StorageError: when the disk refuses; then none of the texts was stored.
    """
    with engine.reading() as reader:
        prepared = [_prepare(reader, draft, intake) for draft in drafts]
    if intake.dry_run:
        return tuple(
            each
            if isinstance(each, Ingested)
            else each.outcome(None if each.old is None else each.old.id)
            for each in prepared
        )
    outcomes: list[Ingested] = []
    moved_up: list[Document] = []
    taken: set[tuple[str, str]] = set()  # paths given in this transaction, which no reader sees
    with engine.writing() as writer, engine.reading() as reader:
        for draft, each in zip(drafts, prepared, strict=True):
            current = each if _holds(reader, each) else _prepare(reader, draft, intake)
            if isinstance(current, _Prepared):
                outcomes.append(_write(writer, reader, current, taken, intake))
                if current.old is not None and current.old.tier != "hot":
                    moved_up.append(current.old)
            else:
                if current.document is not None:
                    writer.count_again(current.document)
                outcomes.append(current)
    _leave_older_tiers(engine, moved_up)
    return tuple(outcomes)


def rewrite(engine: Engine, document: int, intake: Intake) -> None:
    """Store a document's own text again without what was forgotten of it, and without versions."""
    with engine.writing() as writer, engine.reading() as reader:
        old = reader.document(document)
        if old is None:
            return
        text = reader.text_of(document)
        draft = Draft(
            text=text,
            space=old.space,
            actor=old.actor,
            stem=old.title,
            path=old.path,
            source=old.source,
            replaces=old.id,
            created_at=old.created_at,
            fallback_at=old.changed_at,
            exchange=any(node.actor for node in reader.nodes_of(document)),
        )
        if _tree(draft, text, intake).title != old.title:
            draft = replace(draft, title=old.title)
        prepared = _parse(reader, draft, text, old, intake)
        if prepared is not None:
            _write(writer, reader, prepared, set(), intake)
            writer.drop_history(document)
            writer.purge_log([document])
    _leave_older_tiers(engine, [old])


def _leave_older_tiers(engine: Engine, documents: Iterable[Document]) -> None:
    """Delete the older tiers' copies of documents that are hot again since they were written.

    After the new copy is durable; should we die in between, the hottest copy wins. It may have been
    moved back to that tier meanwhile: then it is the only one.
    """
    for document in documents:
        if document.tier != "hot":
            with engine.writing(document.tier) as older, engine.reading() as reader:
                there = reader.document(document.id)
                if there is not None and there.tier != document.tier:
                    older.delete_document(document.id)


def _prepare(reader: Reader, draft: Draft, intake: Intake) -> Ingested | _Prepared:
    """Do all that can be done before the write lock is taken."""
    cleaned, repaired = clean(draft.text)
    text, redacted = redact(cleaned)
    repaired += draft.repaired
    digest = sha256_of(text)
    old = _stored_before(reader, draft, digest)
    if old is not None and old.sha256 == digest:
        return Ingested(old.id, "existing", redacted, repaired, digest)
    prepared = _parse(reader, draft, text, old, intake)
    if prepared is None:
        return Ingested(None, "forgotten", redacted, repaired)
    if prepared.sha256 != digest:  # something was cut out of it: what is left may be there already
        old = _stored_before(reader, draft, prepared.sha256)
        if old is not None and old.sha256 == prepared.sha256:
            return Ingested(old.id, "existing", redacted, repaired, old.sha256)
    return replace(prepared, redacted=redacted, repaired=repaired)


def _parse(
    reader: Reader, draft: Draft, text: str, old: Document | None, intake: Intake
) -> _Prepared | None:
    """Parse a text without what was forgotten of it; None when that is all of it."""
    parsed = _tree(draft, text, intake)
    spans = [node.span for node in parsed.nodes]
    hashes = [text_hash(text[start:end], draft.source) for start, end in spans]
    sources = [] if draft.source is None else [source_hash(draft.source)]
    forgotten = frozenset(reader.tombstoned(draft.space, [*hashes, *sources]))
    if not intake.again:
        if forgotten & {hashes[0], *sources}:
            return None
        gone = [span for span, each in zip(spans, hashes, strict=True) if each in forgotten]
        if gone:
            text = cut(text, gone)
            parsed = _tree(draft, text, intake)
    return _Prepared(
        draft=draft,
        text=text,
        sha256=sha256_of(text),
        parsed=parsed,
        old=old,
        old_nodes=() if old is None else reader.nodes_of(old.id),
        hashes=(*hashes, *sources),
        forgotten=forgotten,
    )


def _tree(draft: Draft, text: str, intake: Intake) -> ParsedDocument:
    if draft.exchange:
        return parse_exchange(text, title=draft.title, options=intake.parse)
    return parse_document(text, title=draft.title, stem=draft.stem, options=intake.parse)


def _stored_before(reader: Reader, draft: Draft, digest: str) -> Document | None:
    """Find the document that a draft continues: named, or under its source, or with its text."""
    if draft.replaces is not None:
        return reader.document(draft.replaces)
    if draft.source is not None:
        return reader.document_by_source(draft.space, draft.source)
    return reader.document_by_hash(draft.space, digest)


def _holds(reader: Reader, prepared: Ingested | _Prepared) -> bool:
    """Say whether what was decided without the write lock is still true under it."""
    if isinstance(prepared, Ingested):
        there = None if prepared.document is None else reader.document(prepared.document)
        return prepared.outcome == "forgotten" or (
            there is not None and there.sha256 == prepared.sha256
        )
    draft = prepared.draft
    return (
        _stored_before(reader, draft, prepared.sha256) == prepared.old
        and reader.tombstoned(draft.space, prepared.hashes) == prepared.forgotten
    )


def sha256_of(text: str) -> str:
    """Return the hex digest that a text is known by."""
    return hashlib.sha256(text.encode()).hexdigest()


def cut(text: str, spans: Iterable[Span]) -> str:
    """Take ranges out of a text; ranges may nest and overlap."""
    kept: list[str] = []
    end = 0
    for start, stop in sorted(spans):
        if start > end:
            kept.append(text[end:start])
        end = max(end, stop)
    kept.append(text[end:])
    return "".join(kept)


def _write(
    writer: Writer,
    reader: Reader,
    prepared: _Prepared,
    taken: set[tuple[str, str]],
    intake: Intake,
) -> Ingested:
    """Give ids and paths, and write the document with its nodes and words."""
    draft, old, parsed = prepared.draft, prepared.old, prepared.parsed
    carried = carry_ids(prepared.old_nodes, old.path if old else "", parsed.nodes)
    first_document, first_node = writer.reserve_ids(
        0 if old else 1, sum(identity is None for identity in carried)
    )
    fresh = iter(range(first_node, first_node + len(carried)))
    ids = [next(fresh) if identity is None else identity for identity in carried]
    document_id = old.id if old else first_document

    own = {node.path for node in prepared.old_nodes}

    def is_free(path: str) -> bool:
        if (draft.space, path) in taken:
            return False
        return path in own or reader.resolve(draft.space, path) is None

    wanted = draft.path or f"{draft.folder}/{parsed.slug}"
    paths = assign_paths(wanted, [node.path for node in parsed.nodes], is_free)
    taken.update((draft.space, path) for path in paths)
    known_since = old.created_at if old else draft.fallback_at
    created_at = draft.created_at or parsed.created or known_since or intake.now
    document = Document(
        id=document_id,
        space=draft.space,
        source=draft.source if old is None else old.source,
        path=paths[0],
        title=parsed.title,
        sha256=prepared.sha256,
        actor=draft.actor,
        importance=_importance(draft, old),
        created_at=created_at,
        stored_at=old.stored_at if old else intake.now,
        changed_at=(draft.fallback_at or intake.now) if old else created_at,
        state=intake.state,
    )
    access = {node.id: node.access for node in prepared.old_nodes}
    writes = _node_writes(parsed.nodes, ids, paths, document_id, access)
    writer.put_document(document, prepared.text, writes)
    if intake.again:
        writer.lift_tombstones(draft.space, prepared.forgotten)
    return prepared.outcome(document_id)


def _importance(draft: Draft, old: Document | None) -> float:
    if draft.importance is not None:
        return min(1.0, max(0.0, draft.importance))
    return old.importance if old else 0.5


def _node_writes(
    parsed: Sequence[ParsedNode],
    ids: Sequence[int],
    paths: Sequence[str],
    document: int,
    access: Mapping[int, int],
) -> list[NodeWrite]:
    """Turn parsed nodes into stored ones, each with its index terms."""
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
