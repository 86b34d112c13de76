"""Captured exchanges become documents: one each, also when it comes in parts, late or twice.

exchange -> without what we recalled ourselves -> with what was stored of it before -> ingest
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime

from ringwood.capture.buffer import Exchange, merge
from ringwood.capture.space import space_slug
from ringwood.engine.attempts import Attempt
from ringwood.engine.base import Engine, Reader
from ringwood.errors import BusyError, StorageError
from ringwood.names import GLOBAL
from ringwood.parse.exchange import compose, turns_of
from ringwood.parse.paths import slug
from ringwood.text.clean import clean
from ringwood.text.quotes import drop_quotes
from ringwood.text.redact import redact
from ringwood.types import Turn
from ringwood.write.draft import Draft, Intake, sha256_of
from ringwood.write.ingest import ingest
from ringwood.write.retry import Piece
from ringwood.write.troubles import note_trouble, settle

_log = logging.getLogger(__name__)


EXCHANGE = "exchange"
"""Attempts at an exchange, by a digest of its key."""


@dataclass(frozen=True, slots=True)
class Retry:
    """When exchanges that could not be stored are tried again.

    A disk that refuses is no fault of an exchange: then all are tried whenever they are looked at.
    """

    retry_s: float
    """First pause, seconds; it doubles with each failure."""
    now: datetime
    """The time. UTC."""
    everything: bool = False
    """Whether to try also what is not due."""

    def allows(self, before: Attempt) -> bool:
        """Say whether to try again what failed before."""
        return self.everything or before.is_due(self.now)


@dataclass(frozen=True, slots=True)
class TakenIn:
    """What became of captured exchanges."""

    documents: tuple[int, ...] = ()
    """Documents that are new or changed, by id, as read back; 0 for one that a try would add."""
    existing: int = 0
    """Exchanges that were there already, word for word."""
    echoes: int = 0
    """Exchanges in which nothing was said but what had been recalled."""
    forgotten: int = 0
    """Exchanges that a tombstone keeps out."""
    redacted: int = 0
    """Secrets that were masked in what was stored."""
    left_out: int = 0
    """Parts that were taken out of what was stored: private ones, and blocks of recalled memory."""
    waiting: int = 0
    """Events that stay in the spool: their exchange is not over, or another process sees to it."""
    elsewhere: bool = False
    """Another process or thread is at the spool: nothing was looked at."""
    failed: tuple[str, ...] = ()
    """Why exchanges could not be stored; they stay in the spool."""
    put_off: int = 0
    """Exchanges that could not be stored before and are not due yet; they stay there, too."""
    done: tuple[Exchange, ...] = field(default=(), repr=False)
    """The exchanges that need not be stored again as they are."""

    def __add__(self, other: TakenIn) -> TakenIn:
        return TakenIn(
            (*self.documents, *other.documents),
            self.existing + other.existing,
            self.echoes + other.echoes,
            self.forgotten + other.forgotten,
            self.redacted + other.redacted,
            self.left_out + other.left_out,
            self.waiting + other.waiting,
            self.elsewhere or other.elsewhere,
            (*self.failed, *other.failed),
            self.put_off + other.put_off,
            (*self.done, *other.done),
        )


def store_exchanges(
    engine: Engine,
    exchanges: Iterable[Exchange],
    intake: Intake,
    recalled: Callable[[str], Sequence[str]],
    *,
    retry: Retry | None = None,
) -> TakenIn:
    """Store exchanges one by one: a bad one does not keep the others out.

    Args:
        engine: where to.
        exchanges: in the order in which they began.
        intake: how.
        recalled: the texts that were lately recalled in a space.
        retry: what to do about those that failed before; None: try all, and note nothing.
    """
    total = TakenIn()
    known = {} if retry is None else _known(engine)
    for exchange in exchanges:
        piece = Piece(EXCHANGE, _digest(exchange.source))
        before = known.get(piece.item)
        if before is not None and retry is not None and not retry.allows(before):
            total += TakenIn(put_off=1)
            continue
        try:
            total += _store(engine, exchange, intake, recalled)
            if before is not None:
                settle(engine, piece)
        except StorageError as error:
            _log.warning("an exchange was not stored yet: %s", error.message)
            total += TakenIn(failed=(error.message,))
            if isinstance(error, BusyError):  # each of the others would wait as long for its turn
                break
        except Exception as error:  # noqa: BLE001 - one that cannot be stored must not stop all later ones
            told = f"an exchange of {exchange.host} is beyond us: {type(error).__name__}"
            _log.error("%s", told)  # without its words
            _log.debug("where it failed", exc_info=error)
            total += TakenIn(failed=(told,))
            if retry is not None:
                with suppress(StorageError):  # then it is tried again sooner
                    note_trouble(engine, piece, told, retry.retry_s)
    return total


def forget_attempts(engine: Engine) -> None:
    """Forget what failed of exchanges: for where none waits any more. Idempotent.

    Raises:
        StorageError: when the disk refuses.
    """
    known = _known(engine)
    if known:
        with engine.writing() as writer:
            writer.drop_attempts(EXCHANGE, known)


def _digest(source: str) -> str:
    """Name a source key, which may hold what no database takes."""
    return hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _known(engine: Engine) -> dict[str, Attempt]:
    with engine.reading() as reader:
        return {each.item: each for each in reader.attempts(EXCHANGE)}


def _store(
    engine: Engine,
    exchange: Exchange,
    intake: Intake,
    recalled: Callable[[str], Sequence[str]],
) -> TakenIn:
    if not exchange.turns:  # only an end came: its exchange is stored
        return TakenIn(done=(exchange,))
    space = _space(engine, exchange.space, intake)
    cleaned, redacted = _cleaned(exchange.turns)
    turns, is_echo = _without_echo(cleaned, recalled(space))
    if is_echo:
        return TakenIn(echoes=1, done=(exchange,))
    draft = Draft(
        text=compose(turns),
        space=space,
        actor="person",
        folder=f"/{slug(exchange.host)}/{exchange.started_at:%Y-%m-%d}",
        source=exchange.source,
        created_at=exchange.started_at,
        exchange=True,
    )
    with engine.reading() as reader:
        known = _stored(reader, draft)
        if known is None:
            is_there = reader.document_by_hash(space, sha256_of(draft.text)) is not None
        else:
            merged = coalesce(merge(known, turns))
            is_there, draft = merged == known, replace(draft, text=compose(merged))
    if is_there:
        return TakenIn(existing=1, done=(exchange,))
    [outcome] = ingest(engine, [draft], intake)
    if outcome.outcome == "forgotten":
        return TakenIn(forgotten=1, done=(exchange,))
    if outcome.outcome == "existing":
        return TakenIn(existing=1, done=(exchange,))
    return TakenIn(
        documents=(outcome.document or 0,),
        redacted=redacted + exchange.masked,
        left_out=exchange.dropped,
        done=(exchange,),
    )


def _space(engine: Engine, key: str | None, intake: Intake) -> str:
    """Return the space with a key, registered unless this is only a try."""
    if key is None:
        return GLOBAL
    with engine.reading() as reader:
        known = reader.space_of_key(key)
    if known is not None or intake.dry_run:
        return known or space_slug(key)
    with engine.writing() as writer:
        return writer.register_space(key, space_slug(key))


def _cleaned(turns: Sequence[Turn]) -> tuple[tuple[Turn, ...], int]:
    """Repair and mask every turn by itself: afterwards no cleaning moves a word to another.

    Returns:
        The turns that hold a word, and how many secrets were masked.
    """
    masked = [redact(clean(turn.text)[0]) for turn in turns]
    said = (Turn(turn.actor, text.strip()) for turn, (text, _) in zip(turns, masked, strict=True))
    return tuple(turn for turn in said if turn.text), sum(count for _, count in masked)


def _without_echo(
    turns: tuple[Turn, ...], recalled: Sequence[str]
) -> tuple[tuple[Turn, ...], bool]:
    """Take what we recalled ourselves out of the answers; say whether nothing else was said.

    The person's own words stay, whatever they repeat, as long as anything new was said.
    """
    said = [Turn(turn.actor, drop_quotes(turn.text, recalled)[0].strip()) for turn in turns]
    if not any(turn.text for turn in said):
        return (), True
    kept = (
        whole if whole.actor == "person" else part for whole, part in zip(turns, said, strict=True)
    )
    return coalesce(turn for turn in kept if turn.text), False


def coalesce(turns: Iterable[Turn]) -> tuple[Turn, ...]:
    """Join what one of the two said in a row into one turn."""
    joined: list[Turn] = []
    for turn in turns:
        if joined and joined[-1].actor == turn.actor:
            joined[-1] = replace(joined[-1], text=f"{joined[-1].text}\n\n{turn.text}")
        else:
            joined.append(turn)
    return tuple(joined)


def _stored(reader: Reader, draft: Draft) -> tuple[Turn, ...] | None:
    """Read what is stored of an exchange; None when nothing is."""
    document = reader.document_by_source(draft.space, draft.source or "")
    return None if document is None else turns_of(reader.text_of(document.id))
