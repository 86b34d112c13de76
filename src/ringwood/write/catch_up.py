"""One round of catching up: what is stored gets its mirror file, its vectors and its links.

    what the last one died of -> mirror -> batches: write down what is tried -> embed -> settle

Whatever fails is noted in the home with the time of its next attempt and stands in nobody's way. So
is what ended the process that was at it, for the attempt was written down before.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final

from ringwood.embed.meaning import Meaning
from ringwood.engine.attempts import Attempt
from ringwood.engine.base import Engine
from ringwood.errors import BusyError, EmbedderError, RingwoodError, StorageError
from ringwood.types import Document
from ringwood.write import mirror, strays
from ringwood.write.embedding import embed_document
from ringwood.write.link import LinkOptions
from ringwood.write.means import refresh_means
from ringwood.write.mirror import MirrorOptions
from ringwood.write.mirroring import MOST_PAGES, is_hopeless, write_pages
from ringwood.write.retry import RETRY_S, Piece, begun, died, failed

_log = logging.getLogger(__name__)

EMBED: Final = "embed"
"""Attempts at the vectors of a document; without a document, at the embedder."""
MIRROR: Final = "mirror"
"""Attempts at the mirror file of a document; without a document, at the mirror's folder."""

_TOGETHER = 16
"""Documents that are begun by one note: what it costs is a sixteenth of a transaction each."""
_FIRST = 3
"""Documents that say why they wait, when it is the embedder that is down."""
_MANY = 10_000
"""Mirror files that are to come, from which on nobody looks which of them are."""
_PROBE = "A short plain sentence."
"""What an embedder is asked when it failed at a document: which of the two is at fault?"""


class Stopped(Exception):
    """Raised between two batches when the round is to end."""


@dataclass(frozen=True, slots=True)
class CatchUp:
    """What a round works on."""

    engine: Engine
    """The home's database."""
    meaning: Callable[[], Meaning | None]
    """How meanings are compared, asked for before every document; None: words are all, only the
    mirror follows. It may raise `EmbedderError`."""
    mirror_root: str
    """Folder of the mirror."""
    link: LinkOptions = field(default_factory=LinkOptions)
    """Bounds of linking."""
    mirror: MirrorOptions = field(default_factory=MirrorOptions)
    """Whether there is a mirror."""
    retry_s: float = RETRY_S
    """First pause before what failed is tried again, seconds; 0: it is not, unasked."""
    first: bool = False
    """Whether it is the first round since the home was opened here: who had it may have died."""
    on_batch: Callable[[int], None] = lambda done: None
    """Told the number of nodes done after each batch, and 0 between documents; may raise to
    stop."""

    def run(self) -> tuple[str, ...]:
        """Do all that is waiting and due; return what failed, in sentences.

        Raises:
            Stopped: when `on_batch` does.
            StorageError: when the hot tier cannot be written.
        """
        self._learn_from_the_dead()
        troubles = [*self._settle_pages(), *self._mirror_all()]
        try:
            if self.meaning() is not None:
                troubles += self._embed_all()
                self._embedder_is_well()
        except EmbedderError as error:
            troubles.append(error.message)
            self._embedder_failed(error)
        finally:
            with suppress(StorageError):  # then it looks as if we had died: as bad, not worse
                self._end_batch()
        self._settle()
        return tuple(dict.fromkeys(troubles))

    def next_at(self, now: datetime) -> datetime | None:
        """Say when the first of what failed is due again; None: nothing is to come."""
        if not self.retry_s:
            return None
        with self.engine.reading() as reader:
            return reader.next_attempt((EMBED, MIRROR), now)

    def _settle(self) -> None:
        """Forget what failed and has gone well since, here or elsewhere, or is gone."""
        with self.engine.reading() as reader:
            embed = {each.item for each in reader.attempts(EMBED) if each.item}
            cards = reader.documents(map(int, embed))
            files = {each.item for each in reader.attempts(MIRROR)}
            unwritten = {str(each.id) for each in reader.unmirrored(_MANY)} if files else set()
        if unwritten:
            unwritten.add("")  # the folder is settled by the next file that is written in it
        embed -= {str(number) for number, card in cards.items() if card.state != "ready"}
        files = files - unwritten if len(unwritten) < _MANY else set()
        if embed or files:
            with self.engine.writing() as writer:
                writer.drop_attempts(EMBED, embed)
                writer.drop_attempts(MIRROR, files)

    # -- who died ----------------------------------------------------------------------------

    def _learn_from_the_dead(self) -> None:
        """Count a failure for the document that was embedded when a process ended.

        Those of one note are embedded by their ids: the first that is not done is the one. What is
        under way now is nobody's, for whoever embeds holds the lease.
        """
        with self.engine.reading() as reader:
            left = {int(each.item): each for each in reader.under_way(EMBED)}
            cards = reader.documents(left)
        if not left:
            return
        undone = sorted(number for number, card in cards.items() if card.state != "ready")
        if undone:
            document = cards[undone[0]]
            attempt = died(left.pop(document.id), self.retry_s)
            _log.warning("the process that embedded document %s ended", document.id)
            self._record(document, attempt)
        self._end_batch()

    def _end_batch(self) -> None:
        """Say that nothing is under way; what had failed before is as due as it was."""
        with self.engine.reading() as reader:
            left = reader.under_way(EMBED)
        if left:
            with self.engine.writing() as writer:
                writer.drop_attempts(EMBED, [each.item for each in left])
                writer.put_attempts(replace(e, under_way=False) for e in left if e.failures)

    # -- the mirror --------------------------------------------------------------------------

    def _settle_pages(self) -> list[str]:
        """See to the pages at which somebody died; what cannot be done now stays noted."""
        if self.first and self.mirror.enabled:
            try:
                strays.settle_pages(self.engine, self.mirror_root)
            except BusyError:
                raise
            except StorageError as error:
                return [error.message]
        return []

    def _mirror_all(self) -> list[str]:
        """Write the files that are to come: before the embedding, which may take hours."""
        if not self.mirror.enabled:
            return []
        mirror.remove_drafts(self.mirror_root)
        troubles = self._folder_troubles()
        if troubles:
            return troubles
        while waiting := self._due_files():
            outcomes = write_pages(
                self.engine, self.mirror_root, waiting, on_page=lambda: self.on_batch(0)
            )
            refused = {number: error for number, error in outcomes.items() if error is not None}
            troubles += [error.message for error in refused.values()]
            self._pages_failed(refused)
            if is_hopeless(outcomes):
                break
        return troubles

    def _due_files(self) -> tuple[Document, ...]:
        with self.engine.reading() as reader:
            return reader.due_documents(MIRROR, _now(), limit=MOST_PAGES, again=self.retry_s > 0)

    def _folder_troubles(self) -> list[str]:
        """Say why there can be no file at all: no fault of a document, none of them has to wait."""
        with self.engine.reading() as reader:
            if not reader.unmirrored(1):
                return []
            before = reader.attempt(MIRROR)
        try:
            mirror.make_root(self.mirror_root)
        except StorageError as error:
            # One round asks several times. It has failed once.
            if before is None or before.is_due(_now()):
                self._folder_failed(error)
            return [error.message]
        if before is not None:
            with self.engine.writing() as writer:
                writer.drop_attempts(MIRROR)
        return []

    def _pages_failed(self, refused: Mapping[int, StorageError]) -> None:
        """Note which documents have no page yet, and why."""
        if not refused:
            return
        _log.warning("%d documents have no mirror file yet", len(refused))
        pieces = {Piece(MIRROR, str(number)): error for number, error in refused.items()}
        with self.engine.reading() as reader:
            before = {piece: reader.attempt(piece.work, piece.item) for piece in pieces}
        now = _now()
        with self.engine.writing() as writer:
            writer.put_attempts(
                failed(piece, before[piece], error.message, now, self.retry_s)
                for piece, error in pieces.items()
            )

    def _folder_failed(self, error: StorageError) -> None:
        _log.warning("not mirrored yet: %s", error.message)
        piece = Piece(MIRROR)
        with self.engine.reading() as reader:
            before = reader.attempt(piece.work, piece.item)
        with self.engine.writing() as writer:
            writer.put_attempts([failed(piece, before, error.message, _now(), self.retry_s)])

    # -- vectors -----------------------------------------------------------------------------

    def _embed_all(self) -> list[str]:
        """Embed what is pending, then what failed before and is due; return what failed.

        Raises:
            EmbedderError: the embedder is down.
        """
        troubles: list[str] = []
        while batch := self._begin_batch():
            for document, before in batch:
                self.on_batch(0)
                meaning = self.meaning()  # the home may have gone over to another embedder
                if meaning is None:
                    return troubles
                reason = self._embed(meaning, document)
                if reason is not None:
                    self.on_batch(0)  # who is closing has closed the embedder: no document's fault
                    meaning.embedder.embed_passages([_PROBE])  # raises when it is the embedder's
                    troubles.append(reason)
                    piece = Piece(EMBED, str(document.id))
                    self._record(document, failed(piece, before, reason, _now(), self.retry_s))
            troubles += self._mirror_all()  # of what was stored meanwhile
        return troubles

    def _begin_batch(self) -> list[tuple[Document, Attempt | None]]:
        """Write down what is embedded next, and that the last ones are done with.

        What failed before goes by itself: should it end the process, no other is suspected.
        """
        with self.engine.reading() as reader:
            due = reader.due_documents(EMBED, _now(), limit=_TOGETHER, again=self.retry_s > 0)
            fresh = [each for each in due if each.state == "pending"]
            last = reader.under_way(EMBED)
            before = {each.id: reader.attempt(EMBED, str(each.id)) for each in due}
        # One that was edited since it failed begins anew: it was another text that failed.
        batch = [(each, None) for each in sorted(fresh, key=lambda each: each.id)]
        again = [(each, before[each.id]) for each in due[:1]]
        now = _now()
        marks = [
            begun(Piece(EMBED, str(document.id)), attempt, now)
            for document, attempt in batch or again
        ]
        if marks or last:
            with self.engine.writing() as writer:
                writer.drop_attempts(EMBED, [each.item for each in last])
                writer.put_attempts(marks)
        return [*batch] or [*again]

    def _embed(self, meaning: Meaning, document: Document) -> str | None:
        """Embed one document; return why it could not be done, in a sentence without its words."""
        try:
            embed_document(self.engine, meaning, document, self.link, self.on_batch)
            refresh_means(self.engine, meaning, document.space)
        except EmbedderError as error:
            return error.message
        except StorageError as error:
            if isinstance(error, BusyError) or document.tier == "hot":
                raise
            return error.message  # of a colder tier: the others are written on
        except (RingwoodError, Stopped):
            raise
        except Exception as error:  # noqa: BLE001 - one that cannot be embedded must not stop the others
            return f"{type(error).__name__} while its vectors were made."
        return None

    def _record(self, document: Document, attempt: Attempt) -> None:
        """Write down how an attempt ended, and with the document why it has no vectors."""
        _log.warning("document %s has no vectors yet: %s", document.id, attempt.error)
        with self.engine.writing() as writer:
            writer.put_attempts([attempt])
            if document.tier == "hot":
                writer.set_state(document.id, "failed", attempt.error)
        if document.tier != "hot":
            with suppress(StorageError), self.engine.writing(document.tier) as writer:
                writer.set_state(document.id, "failed", attempt.error)

    def _embedder_failed(self, error: EmbedderError) -> None:
        """Say why there is no embedder: of the home, and of the first documents that wait."""
        self.on_batch(0)  # as above
        _log.warning("no vectors for now: %s", error.message)
        with self.engine.reading() as reader:
            before = reader.attempt(EMBED)
            waiting = [e for e in reader.pending(_FIRST) if e.error is None and e.tier == "hot"]
        with self.engine.writing() as writer:
            down = failed(Piece(EMBED), before, error.message, _now(), self.retry_s)
            writer.put_attempts([down])
            for document in waiting:
                writer.set_state(document.id, "failed", error.message)

    def _embedder_is_well(self) -> None:
        with self.engine.reading() as reader:
            was_down = reader.attempt(EMBED) is not None
        if was_down:
            with self.engine.writing() as writer:
                writer.drop_attempts(EMBED)


def _now() -> datetime:
    return datetime.now(UTC)
