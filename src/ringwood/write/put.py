"""Write one prepared text: give its nodes ids and paths, and it a card. Under the write lock."""

from __future__ import annotations

from datetime import datetime

from ringwood.engine.base import Reader, Writer
from ringwood.parse.paths import slug
from ringwood.parse.tree import ParsedDocument
from ringwood.types import Document
from ringwood.write.draft import Draft, Ingested, Intake, Prepared
from ringwood.write.identity import carry_ids
from ringwood.write.nodes import node_writes
from ringwood.write.paths import assign_paths, unnumbered


class RotatedError(Exception):
    """A document that is to be edited does not lie in the hot tier any more."""


def put(
    writer: Writer,
    reader: Reader,
    prepared: Prepared,
    taken: set[tuple[str, str]],
    intake: Intake,
) -> Ingested:
    """Give ids and paths, and write the document with its nodes and words."""
    draft, old, parsed = prepared.draft, prepared.old, prepared.parsed
    if old is not None and old.tier != "hot":
        raise RotatedError
    formers = {} if old is None else reader.formers_of(old.id)
    carried = carry_ids(
        prepared.old_nodes,
        old.path if old else "",
        parsed.nodes,
        {path: former.node for path, former in formers.items()},
    )
    first_document, first_node = writer.reserve_ids(
        0 if old else 1, sum(identity is None for identity in carried)
    )
    fresh = iter(range(first_node, first_node + len(carried)))
    ids = [next(fresh) if identity is None else identity for identity in carried]
    owners = {path: former.node for path, former in formers.items()}
    owners |= {node.path: node.id for node in prepared.old_nodes}

    def is_free(path: str, position: int) -> bool:
        """A path that led to another node once is never given away: it leads there still."""
        if (draft.space, path) in taken:
            return False
        if path in owners:
            return owners[path] == ids[position]
        return (
            reader.resolve(draft.space, path) is None and reader.former(draft.space, path) is None
        )

    had = {node.id: node.path for node in prepared.old_nodes}
    paths = assign_paths(
        _wanted_path(draft, parsed, old),
        [node.path for node in parsed.nodes],
        is_free,
        [had.get(identity) for identity in ids],
    )
    taken.update((draft.space, path) for path in paths)
    document = _document(prepared, old.id if old else first_document, paths[0], intake)
    access = {node.id: node.access for node in prepared.old_nodes}
    writes = node_writes(parsed.nodes, ids, paths, document.id, access)
    writer.put_document(document, prepared.text, writes)
    if document.source is not None:
        writer.release(document.space, document.source)
    if intake.again:
        writer.lift_tombstones(draft.space, prepared.forgotten)
    return prepared.outcome(document.id)


def _wanted_path(draft: Draft, parsed: ParsedDocument, old: Document | None) -> str:
    """Say where a document is to lie: where it did, unless its title or its folder changed."""
    if draft.path is not None:
        return draft.path
    if old is None or draft.folder is not None:
        return f"{draft.folder or ''}/{parsed.slug}"
    folder, _, name = unnumbered(old.path).rpartition("/")
    was_chosen = name != slug(old.title)  # by `--path`, and not made from the title
    return old.path if was_chosen or name == parsed.slug else f"{folder}/{parsed.slug}"


def _document(prepared: Prepared, identity: int, path: str, intake: Intake) -> Document:
    """Make the card of a document as it is to be from now on."""
    draft, old = prepared.draft, prepared.old
    created_at, changed_at = _stamps(prepared, intake.now)
    importance = old.importance if old else 0.5
    if draft.importance is not None:
        importance = min(1.0, max(0.0, draft.importance))
    return Document(
        id=identity,
        space=draft.space,
        source=draft.source if draft.source is not None or old is None else old.source,
        path=path,
        title=prepared.parsed.title,
        sha256=prepared.sha256,
        actor=draft.actor,
        importance=importance,
        created_at=created_at,
        stored_at=old.stored_at if old else intake.now,
        changed_at=changed_at,
        state=intake.state,
        seen=old.seen if old else 1,
    )


def _stamps(prepared: Prepared, now: datetime) -> tuple[datetime, datetime]:
    """Say when a text was written, and when it last changed.

    Of an edit, the time that is given says when it was made. Each change is later than the one
    before and not in the future, whatever a file's time says: between two of them a version was
    the text.
    """
    draft, old, dated = prepared.draft, prepared.old, prepared.parsed.created
    if old is None:
        created = draft.created_at or dated or draft.fallback_at or now
        return created, created
    if not prepared.is_edit:
        return old.created_at, old.changed_at
    created = dated or old.created_at
    if draft.created_at is not None:
        created = min(draft.created_at, old.created_at)
    changed = draft.created_at or draft.fallback_at or now
    return created, changed if old.changed_at < changed <= now else now
