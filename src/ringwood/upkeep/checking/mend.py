"""Mend: make again what can be made again from the texts. No text is written or deleted here."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ringwood.engine.base import Engine, NodeWrite
from ringwood.engine.checking import Inspector, Mender, Record
from ringwood.errors import BusyError, FullError, StorageError
from ringwood.types import TIERS, Document, Tier
from ringwood.upkeep.checking.findings import FindingKind, Progress, Verified
from ringwood.upkeep.checking.look import Look
from ringwood.upkeep.checking.modes import close_to_others
from ringwood.upkeep.checking.verify import Verification, verify
from ringwood.write import mirroring
from ringwood.write.again import nodes_again, parse_again
from ringwood.write.nodes import terms_of

_log = logging.getLogger(__name__)

_BATCH = 50
"""Documents whose words are written in one transaction: writers wait for a fraction of a second."""


def verify_and_mend(
    look: Look, engine: Engine, on_progress: Progress = lambda what, done, total: None
) -> Verified:
    """Look at everything, mend what can be mended from the texts, and look again.

    Args:
        look: what to look at.
        engine: its memory.
        on_progress: told what is done. May raise to stop; what was mended stays so.

    Returns:
        What is wrong still, with how much was mended.

    Raises:
        ReadOnlyError: when this user may only read the home.
        BusyError, StorageError: as `verify`, or when the disk refuses.
    """
    with engine.writing():
        pass  # who may not write is told so before all is looked at
    seen = Verification(look, on_progress)
    before = seen.run()
    if not before.findings:
        return before
    mending = _Mending(look, engine, seen, on_progress)
    mending.run()
    after = verify(look, on_progress)
    mended = sum(before.counts.values()) - sum(after.counts.values())
    return replace(after, mended=max(0, mended), notes=(*after.notes, *mending.notes))


class _Mending:
    """One pass over what was found."""

    def __init__(
        self, look: Look, engine: Engine, seen: Verification, on_progress: Progress
    ) -> None:
        self._look = look
        self._engine = engine
        self._seen = seen
        self._on_progress = on_progress
        self.notes: list[str] = []

    def run(self) -> None:
        """Mend everything that was found."""
        for tier in TIERS:
            if self._look.inspection.standing(tier) == "present":
                try:
                    self._tier(tier)
                except (BusyError, FullError):
                    raise
                except StorageError as error:
                    self.notes.append(f"The {tier} tier was not mended: {error.message}")
        self._edges()
        close_to_others(self._look.home)
        if self._look.mirror_root is not None:
            while mirroring.refresh(self._engine, self._look.mirror_root, limit=100):
                pass

    def _tier(self, tier: Tier) -> None:
        inspection = self._look.inspection
        with inspection.inspecting(tier) as inspector:
            waiting = self._seen.findings.documents[tier]
            for done, (identity, wrong) in enumerate(waiting.items()):
                self._on_progress(f"mending, {tier}", done, len(waiting))
                record = inspector.record(identity)
                if record is not None and _is_whole(record):
                    self._document(tier, inspector, record, wrong)
            with inspection.mending(tier) as mender:
                mender.drop_orphans()
                mender.recount()
            if tier in self._seen.findings.indexes:
                self._words(tier, inspector)

    def _document(
        self, tier: Tier, inspector: Inspector, record: Record, wrong: set[FindingKind]
    ) -> None:
        """Mend one document whose text is whole."""
        writes = self._nodes(inspector, record) if "nodes" in wrong else []
        try:
            with self._look.inspection.mending(tier) as mender:
                if writes:
                    mender.put_nodes(record.id, record.space, record.text or "", writes)
                elif "words" in wrong:
                    mender.put_words(record.space, terms_of(record.nodes or ()))
                if "vectors" in wrong:
                    mender.drop_vectors_of(each.node for each in record.vectors if not each.fits)
                if "mirror" in wrong:
                    mender.unmirror(record.id)
        except (BusyError, FullError):
            raise
        except StorageError as error:
            self.notes.append(f"Document {record.id} was not mended: {error.message}")
            return
        lacks = bool(wrong & {"nodes", "vectors", "lacking"}) and self._seen.identity is not None
        if lacks and _card(record).state == "ready":
            with self._engine.writing(tier) as writer:
                writer.set_state(record.id, "pending", None)

    def _nodes(self, inspector: Inspector, record: Record) -> list[NodeWrite]:
        """Make a document's nodes from its text; they keep ids and counts if they are as many."""
        document, text = _card(record), record.text or ""
        held = inspector.outline(record.id)
        exchange = any(node.actor for node in record.nodes or ())
        parsed = parse_again(document, text, exchange=exchange, options=self._look.parse)
        if len(held) == len(parsed.nodes):
            ids, had = [each[0] for each in held], [each[1] for each in held]
            access = {each[0]: each[2] for each in held}
            return nodes_again(document, parsed, ids, access=access, had=had)
        with self._engine.writing() as writer:
            _, first = writer.reserve_ids(0, len(parsed.nodes))
        ids = list(range(first, first + len(parsed.nodes)))
        with self._engine.reading() as reader:
            return nodes_again(
                document,
                parsed,
                ids,
                access={},
                is_free=lambda path: reader.resolve(document.space, path) is None,
            )

    def _words(self, tier: Tier, inspector: Inspector) -> None:
        """Write the word index of a tier anew, some documents at a time.

        Recall by words finds only what is written already. Cut short, verify finds what lacks.
        """
        with self._look.inspection.mending(tier) as mender:
            mender.clear_words()
        waiting = inspector.documents()
        for start in range(0, len(waiting), _BATCH):
            self._on_progress(f"words, {tier}", start, len(waiting))
            batch = waiting[start : start + _BATCH]
            with self._look.inspection.mending(tier) as mender:
                for record in _records(inspector, batch):
                    _put_words(mender, record)

    def _edges(self) -> None:
        """Delete edges that lead nowhere, or from one space into another."""
        found = self._look.inspection.across()
        for edges in (found.loose, found.crossing):
            for tier, these in edges.items():
                if these:
                    with self._engine.writing(tier) as writer:
                        writer.drop_edges(these)


def _records(inspector: Inspector, documents: Sequence[int]) -> Iterator[Record]:
    for identity in documents:
        record = inspector.record(identity)
        if record is not None:
            yield record


def _put_words(mender: Mender, record: Record) -> None:
    try:
        terms = terms_of(record.nodes or ())
    except KeyError:
        _log.warning("the nodes of document %s are no tree: its words are left out", record.id)
        return
    mender.put_words(record.space, terms)


def _is_whole(record: Record) -> bool:
    return record.document is not None and record.document.sha256 == record.sha256


def _card(record: Record) -> Document:
    if record.document is None:
        raise ValueError("only documents that are whole are mended")
    return record.document
