"""What storing decides without the write lock: is a text known, or forgotten? What is its tree?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ringwood.engine.base import Reader
from ringwood.errors import AddressError, UsageError
from ringwood.parse.blocks import parse_blocks
from ringwood.parse.exchange import changed, turn_spans
from ringwood.parse.tree import ParsedDocument, parse_document, parse_exchange
from ringwood.text.clean import clean
from ringwood.text.redact import redact
from ringwood.types import Document, Node, Span, address_of
from ringwood.write.draft import Draft, Ingested, Intake, Prepared, sha256_of
from ringwood.write.tombstones import source_hash, text_hash


def prepare(reader: Reader, draft: Draft, intake: Intake) -> Ingested | Prepared:
    """Do all that can be done before the write lock is taken."""
    draft = _whole(reader, draft, intake)
    cleaned, repaired = clean(draft.text)
    text, redacted = _masked(cleaned, draft)
    repaired += draft.repaired
    digest = sha256_of(text)
    old = _stored_before(reader, draft, digest)
    if old is not None and _is_there(draft, old, digest):
        return Ingested(old.id, "existing", redacted, repaired, digest)
    twin = _merged_into(reader, draft, digest) if old is None else None
    if twin is not None:
        return Ingested(twin.id, "existing", redacted, repaired, twin.sha256)
    prepared = parse(reader, draft, text, old, intake)
    if prepared is None:
        return Ingested(None, "forgotten", redacted, repaired)
    if prepared.sha256 != digest:  # something was cut out of it: what is left may be there already
        old = _stored_before(reader, draft, prepared.sha256)
        if old is not None and _is_there(draft, old, prepared.sha256):
            return Ingested(old.id, "existing", redacted, repaired, prepared.sha256)
    return replace(
        prepared,
        redacted=redacted,
        repaired=repaired,
        is_edit=old is None or old.sha256 != prepared.sha256,
    )


def _whole(reader: Reader, draft: Draft, intake: Intake) -> Draft:
    """Turn a text that takes the place of a node into the new text of its document.

    Raises:
        AddressError: when the node is gone.
    """
    if draft.part is None:
        return draft
    node = reader.nodes([draft.part]).get(draft.part)
    old = None if node is None else reader.document(node.document)
    if node is None or old is None:
        raise AddressError("What was to be replaced is gone.", mend="ringwood tree")
    if node.parent is None:
        return replace(draft, part=None, replaces=old.id)
    text = spliced(reader.text_of(old.id), node, draft.text)
    return replace(
        as_it_was(reader, old, text, intake),
        actor=draft.actor,
        source=draft.source,
        importance=draft.importance,
        created_at=draft.created_at,
        repaired=draft.repaired,
    )


def spliced(text: str, node: Node, new: str) -> str:
    """Put a new text in the place of a node and all below it.

    A section keeps its heading where the new text does not begin with one, and a turn of an
    exchange stays the turn of the one who said it.
    """
    new = new.strip("\r\n")
    first = next(iter(parse_blocks(new)), None)
    turns = turn_spans(text) if node.actor else []
    is_turn = any(turn.fence[0] == node.span[0] for turn in turns)
    if node.kind == "section" and not is_turn and (first is None or not first.level):
        new = f"{text[slice(*node.own)].rstrip()}\n\n{new}"

    def put(said: str, at: int) -> str:
        start, end = (min(max(0, bound - at), len(said)) for bound in node.span)
        return said[:start] + new + said[end:] if start < end else said

    return changed(text, put) if turns else put(text, 0)


def _masked(text: str, draft: Draft) -> tuple[str, int]:
    """Mask the secrets of a text, of an exchange turn by turn: no secret is told by two."""
    if not draft.exchange:
        return redact(text)
    masked = 0

    def mask(said: str, at: int) -> str:
        nonlocal masked
        said, found = redact(said)
        masked += found
        return said

    return changed(text, mask), masked


def _is_there(draft: Draft, old: Document, digest: str) -> bool:
    """Say whether a document holds this very text, and is to stay under its key."""
    return old.sha256 == digest and draft.source in (None, old.source)


def parse(
    reader: Reader,
    draft: Draft,
    text: str,
    old: Document | None,
    intake: Intake,
    *,
    stands: bool = False,
) -> Prepared | None:
    """Parse a text without what was forgotten of it; None when that is all of it.

    Args:
        reader: of the tombstones.
        draft: what is stored.
        text: of the draft, or of the document.
        old: the document that it continues.
        intake: how texts are taken in.
        stands: the text is a document's own, which stays where another one of the same text was
            forgotten.
    """
    parsed = _tree(draft, text, intake)
    spans = [node.span for node in parsed.nodes]
    source = draft.source if draft.source is not None or old is None else old.source
    hashes = [text_hash(text[start:end], source) for start, end in spans]
    sources = [] if source is None else [source_hash(source)]
    forgotten = frozenset(reader.tombstoned(draft.space, [*hashes, *sources]))
    if not intake.again:
        if not stands and forgotten & {hashes[0], *sources}:
            return None
        parts = zip(spans[1:], hashes[1:], strict=True)
        gone = [span for span, each in parts if each in forgotten]
        if gone:
            text = without(text, gone, exchange=draft.exchange)
            if not text.strip():
                return None
            parsed = _tree(draft, text, intake)
    return Prepared(
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
    """Find the document that a draft continues: named, or under its source, or with its text.

    Raises:
        UsageError: when it is named, and another one has its source key.
    """
    under_key = None
    if draft.source is not None:
        under_key = reader.document_by_source(draft.space, draft.source)
    if draft.replaces is not None:
        if under_key is not None and under_key.id != draft.replaces:
            raise UsageError(
                f"Another document, {address_of(draft.space, under_key.path)}, has the source key"
                f" {draft.source}.",
                mend="leave --source out: what is replaced keeps its own",
            )
        return reader.document(draft.replaces)
    if draft.source is not None:
        return under_key
    return reader.document_by_hash(draft.space, digest)


def _merged_into(reader: Reader, draft: Draft, digest: str) -> Document | None:
    """Find the document that stands for one of this very text.

    Not where its own text is another one since: then what was merged is there no more.
    """
    if draft.replaces is not None:
        return None
    merged = reader.merged(draft.space, source=draft.source, sha256=digest)
    if merged is None or merged.sha256 != digest:
        return None
    survivor = reader.document(merged.survivor)
    if survivor is None or survivor.sha256 != merged.survivor_sha256:
        return None
    return survivor


def holds(reader: Reader, prepared: Ingested | Prepared) -> bool:
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


def without(text: str, spans: Iterable[Span], *, exchange: bool) -> str:
    """Take ranges out of a text, of an exchange turn by turn; ranges may nest and overlap."""
    gone = list(spans)

    def part(said: str, at: int) -> str:
        bounds = [[min(max(0, bound - at), len(said)) for bound in span] for span in gone]
        return cut(said, [(start, end) for start, end in bounds if start < end])

    return changed(text, part) if exchange else cut(text, gone)


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


def as_it_was(reader: Reader, old: Document, text: str, intake: Intake) -> Draft:
    """Draft a text in the place of a document, with all else as it is."""
    draft = Draft(
        text=text,
        space=old.space,
        actor=old.actor,
        stem=old.title,
        path=old.path,
        replaces=old.id,
        exchange=any(node.actor for node in reader.nodes_of(old.id)),
    )
    return (
        draft if _tree(draft, text, intake).title == old.title else replace(draft, title=old.title)
    )


def untitled(draft: Draft, old: Document, intake: Intake) -> Draft:
    """Let a text that has its title from its own words take it from what is left of them.

    The first words of a note without a heading are its title and the head of its path: when they
    are forgotten, they are to be found there no more.
    """
    plain = replace(draft, title=None, stem=None, path=None)
    return plain if _tree(plain, draft.text, intake).title == old.title else draft
