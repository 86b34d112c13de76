"""The write path up to the point where a text is safe and findable by words.

    text -> prepare: clean, redact, known? forgotten? parse -> into the hot tier
         -> put: carry ids, give paths, terms -> one transaction

Vectors, links and the mirror follow without the caller: `write/worker.py`.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from ringwood.engine.base import Engine
from ringwood.errors import BusyError, StorageError
from ringwood.types import Document, Node
from ringwood.write import hot
from ringwood.write.draft import Draft, Ingested, Intake, Prepared
from ringwood.write.prepare import as_it_was, holds, parse, prepare, untitled
from ringwood.write.put import RotatedError, put
from ringwood.write.remembered import state_of

_log = logging.getLogger(__name__)

Concern = int | tuple[str, str]
"""A document by its id, or a source key or the digest of a text with their space."""

_TRIES = 3
"""How often an edit is begun anew because a rotation took its document out of the hot tier."""


def ingest(engine: Engine, drafts: Sequence[Draft], intake: Intake) -> tuple[Ingested, ...]:
    """Make texts durable and findable by words, in one transaction.

    Drafts that concern one document, by its source key or by its text, are done one after the
    other, each in a transaction that sees what became of the one before.

    Args:
        engine: where to.
        drafts: texts.
        intake: how.

    Returns:
        One outcome per draft, in order. Of an `existing` one only a counter is written, of a
        `forgotten` one nothing.

    Raises:
        StorageError: when the disk refuses; then none of the texts of that transaction was stored.
    """
    outcomes: dict[int, Ingested] = {}
    waiting = dict(enumerate(drafts))
    while waiting:
        done = _ingest_apart(engine, list(waiting.values()), intake)
        outcomes |= {
            number: each for number, each in zip(waiting, done, strict=True) if each is not None
        }
        waiting = {number: each for number, each in waiting.items() if number not in outcomes}
    return tuple(outcomes[number] for number in range(len(drafts)))


def _ingest_apart(
    engine: Engine, drafts: Sequence[Draft], intake: Intake
) -> tuple[Ingested | None, ...]:
    """Ingest the first of these drafts, and with it all that concern other documents.

    Returns:
        One outcome per draft; None for those that are to be done after this.
    """
    for _ in range(_TRIES):
        with engine.reading() as reader:
            prepared = [prepare(reader, draft, intake) for draft in drafts]
        if intake.dry_run:
            return tuple(
                each
                if isinstance(each, Ingested)
                else each.outcome(None if each.old is None else each.old.id)
                for each in prepared
            )
        edited = [
            each.old for each in prepared if isinstance(each, Prepared) and each.old is not None
        ]
        there = hot.bring_in(engine, edited, now=intake.now)
        with suppress(RotatedError):
            outcomes = _ingest(engine, drafts, [_in_hot(each, there) for each in prepared], intake)
            hot.drop_stale_edges(engine, _nodes_before(prepared))
            return outcomes
    raise BusyError("A rotation keeps moving what is edited here.", mend="try again in a minute")


def _nodes_before(prepared: Sequence[Ingested | Prepared]) -> list[Node]:
    return [node for each in prepared if isinstance(each, Prepared) for node in each.old_nodes]


def _in_hot(prepared: Ingested | Prepared, there: frozenset[int]) -> Ingested | Prepared:
    """Note that the document lies in the hot tier now."""
    if isinstance(prepared, Ingested) or prepared.old is None or prepared.old.id not in there:
        return prepared
    return replace(prepared, old=replace(prepared.old, tier="hot"))


def _ingest(
    engine: Engine,
    drafts: Sequence[Draft],
    prepared: Sequence[Ingested | Prepared],
    intake: Intake,
) -> tuple[Ingested | None, ...]:
    """Write what was prepared, prepared anew where the store has changed since."""
    outcomes: list[Ingested | None] = []
    seen_elsewhere: list[Document] = []
    concerned: set[Concern] = set()
    taken: set[tuple[str, str]] = set()  # paths given in this transaction, which no reader sees
    with engine.writing() as writer, engine.reading() as reader:
        # The home may have gone over to another embedder, or to words, since this began.
        intake = replace(intake, state=state_of(reader, intake.state))
        for draft, each in zip(drafts, prepared, strict=True):
            current = each if holds(reader, each) else prepare(reader, draft, intake)
            concerns = _concerns(draft, current)
            if not concerned.isdisjoint(concerns):
                outcomes.append(None)
                continue
            concerned |= concerns | {(draft.space, current.sha256)}
            if isinstance(current, Prepared):
                outcomes.append(put(writer, reader, current, taken, intake))
                continue
            outcomes.append(current)
            known = None if current.document is None else reader.document(current.document)
            if known is not None and known.tier == "hot":
                writer.count_again(known.id)
            elif known is not None:
                seen_elsewhere.append(known)
    for known in seen_elsewhere:
        try:
            with engine.writing(known.tier) as writer:
                writer.count_again(known.id)
        except StorageError as error:  # the text is there: a tier that takes no count is no failure
            _log.info("not counted as stored again: %s", error.message)
    return tuple(outcomes)


def _concerns(draft: Draft, current: Ingested | Prepared) -> set[Concern]:
    """Name what was asked to find the document of a draft, and the document.

    No reader sees what this transaction wrote, so none may concern what one before it wrote.
    """
    asked: set[Concern] = {(draft.space, draft.source or current.sha256)}
    if isinstance(current, Ingested):
        return asked if current.document is None else {*asked, current.document}
    return asked if current.old is None else {*asked, current.old.id}


def rewrite(engine: Engine, document: int, intake: Intake) -> None:
    """Store a document's own text again without what was forgotten of it, and without versions."""
    for _ in range(_TRIES):
        with engine.reading() as reader:
            old = reader.document(document)
        if old is None:
            return
        hot.bring_in(engine, [old])
        with suppress(RotatedError), engine.writing() as writer, engine.reading() as reader:
            current = reader.document(document)
            if current is None:
                return
            text = reader.text_of(document)
            draft = untitled(as_it_was(reader, current, text, intake), current, intake)
            prepared = parse(reader, draft, text, current, intake, stands=True)
            if prepared is not None:
                put(writer, reader, replace(prepared, is_edit=False), set(), intake)
                # Old addresses below a title that is forgotten hold its words.
                has_other_title = prepared.parsed.title != current.title
                writer.drop_history(document, addresses=has_other_title)
                writer.purge_log([document])
            break
    else:
        raise BusyError("A rotation keeps moving what is to be forgotten.", mend="try again")
    hot.drop_older(engine, [old])
