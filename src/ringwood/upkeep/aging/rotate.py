"""Rotate: move documents to the tier of their age, whole and straight to their final one.

    clock -> what is due -> batches: read, prepare words -> copy, commit, delete, commit

Everything can be cut short anywhere and given again: a document has a copy at any moment, and the
hottest one counts. A mark in the home says that moves were begun; whoever opens the home and finds
it clears what a crash left of them. One process at a time rotates: the caller holds the lease.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby

from ringwood.batches import in_batches
from ringwood.engine.base import Engine, Reader, TierOptions
from ringwood.engine.placement import MOVED_UP_AT, MOVING, Misplaced, Move, TierDates
from ringwood.errors import BusyError, StorageError
from ringwood.types import TIERS, Tier
from ringwood.upkeep.aging.clock import BACKWARD, Leaving, Marks, after_doubt, doubt
from ringwood.write.nodes import terms_of

BATCH_DOCUMENTS = 50
"""Documents moved in one transaction: what a writer waits for at most, about a quarter second."""
BATCH_CHARS = 1_000_000
"""Characters of text after which a batch ends sooner."""
READERS_LEAVE = timedelta(seconds=60)
"""How long an older copy is left after a move to a hotter tier: no reader is that old."""

ROTATION = "rotate"
"""Name of the lease that whoever rotates holds; see `upkeep.lease`."""

_ROTATED_AT = "rotated_at"
_DOUBTED_AT = "clock_doubted_at"
_DOUBTS = "clock_doubts"


@dataclass(frozen=True, slots=True)
class Rotated:
    """What a rotation came to, read back."""

    moved: Mapping[Tier, int]
    """Documents that were moved to each tier; in a dry run, that would be."""
    moved_from: tuple[Tier, ...]
    """Tiers that they were moved from."""
    edges: int
    """Similar edges that were found for them on the way."""
    waiting: int
    """Documents that are due and were not moved."""
    copies: int
    """Left-over copies that were cleared; in a dry run, that are there."""
    missing_tiers: tuple[Tier, ...]
    """Tiers that cannot be opened: what is due there waits."""
    notes: tuple[str, ...]
    """What kept it from doing all, in sentences; first of them, why the clock was not believed."""
    dry_run: bool
    """Whether nothing was written."""
    given_back: int = 0
    """Bytes that compacting gave back afterwards, where that is set."""

    @classmethod
    def elsewhere(cls) -> Rotated:
        """Say that another process rotates this home now."""
        note = "Another process rotates this home now: what is due is moved there."
        return cls(_per_tier(()), (), 0, 0, 0, (), (note,), dry_run=False)


@dataclass(frozen=True, slots=True)
class Work:
    """What goes along with moving."""

    on_document: Callable[[int, int], None] = lambda done, total: None
    """Told how many of how many documents are done; may raise to stop."""
    relink: Callable[[Sequence[int]], int] = lambda documents: 0
    """Given each batch once it lies where it belongs; returns the edges that it found for it."""


def rotate(
    engine: Engine,
    options: TierOptions,
    now: datetime,
    *,
    dry_run: bool = False,
    work: Work = Work(),
) -> Rotated:
    """Move every document to the tier of its age.

    A tier that is missing or takes nothing waits, and a note says so; the others go on.

    Args:
        engine: the home's database.
        options: the ages.
        now: the time, UTC. A clock that may have jumped moves nothing; see `clock`.
        dry_run: move nothing, only say what is due.
        work: who is told, and what else is done for each batch.

    Raises:
        BusyError: when the write lock was not had in time; the batches before are moved.
        StorageError: when the hot tier cannot be written.
    """
    with engine.reading() as reader:
        missing = reader.missing_tiers
        marks = _marks(reader, engine)
        documents = {tier: each.documents for tier, each in reader.totals().tiers.items()}
    due = engine.misplaced(_dates(options, now))
    became_due = set(due)
    if marks.last is not None:
        became_due -= set(engine.misplaced(_dates(options, marks.last)))
    leaving = {
        tier: Leaving(count, sum(each.tier == tier for each in became_due))
        for tier, count in documents.items()
    }
    reason = doubt(now, marks, leaving)
    if reason is not None:
        if not dry_run:
            noted = after_doubt(now, marks)
            _set(engine, {_DOUBTED_AT: str(noted.doubted_at), _DOUBTS: str(noted.doubts)})
        return Rotated(_per_tier(()), (), 0, len(due), 0, missing, (reason,), dry_run)
    ready = [each for each in due if each.due not in missing]
    if dry_run:
        copies = sum(map(len, engine.copies().values()))
        return _report(due, ready, Moving(), copies, missing, dry_run=True)
    copies = _clear_copies(engine, now)
    moving = _move_all(engine, ready, now, options, work)
    with engine.reading() as reader:
        cards = reader.documents([each.document for each in ready])
    moved = [e for e in ready if e.document in cards and cards[e.document].tier == e.due]
    return _report(due, moved, moving, copies, missing, dry_run=False)


def is_unfinished(engine: Engine) -> bool:
    """Say whether moves were begun that may have left copies. Looks at one mark."""
    with engine.reading() as reader:
        return bool(reader.meta(MOVING))


def doubted_at(reader: Reader, now: datetime) -> datetime | None:
    """Return what the clock said when a rotation last doubted it; None where it is believed."""
    doubted, rotated = _moment(reader.meta(_DOUBTED_AT)), _moment(reader.meta(_ROTATED_AT))
    # By a clock that was set back, a rotation of before lies ahead, and says nothing of the doubt.
    latest = now + BACKWARD
    if doubted is None or (rotated is not None and doubted <= rotated <= latest):
        return None
    return doubted if doubted <= latest else None  # else it has gone back since


def finish(engine: Engine, now: datetime) -> int:
    """Clear what moves that were cut short left behind; return how many copies that were.

    Costs nothing where no move was begun since the last time. Not while a rotation is at work.

    Raises:
        BusyError: when the write lock was not had in time.
        StorageError: when the disk refuses; given again, it goes on.
    """
    return _clear_copies(engine, now) if is_unfinished(engine) else 0


@dataclass(frozen=True, slots=True)
class Moving:
    """How moving went."""

    edges: int = 0
    """Edges that were found."""
    refusals: tuple[str, ...] = ()
    """Why a tier took nothing, in sentences."""


def _report(
    due: Sequence[Misplaced],
    moved: Sequence[Misplaced],
    moving: Moving,
    copies: int,
    missing: tuple[Tier, ...],
    *,
    dry_run: bool,
) -> Rotated:
    """Say what was moved, and what stays and why."""
    done = set(moved)
    stay = [each for each in due if each not in done and each.due not in missing]
    notes = [f"The {tier} tier is missing: what is due there waits." for tier in missing]
    notes += [f"Not moved for now: {reason}" for reason in moving.refusals]
    if stay and not moving.refusals:
        notes.append(
            f"Not moved for now: {len(stay)}. They were changed meanwhile, or another document has"
            " their path or source key in the other tier."
        )
    sources = {each.tier for each in moved}
    return Rotated(
        moved=_per_tier(moved),
        moved_from=tuple(tier for tier in TIERS if tier in sources),
        edges=moving.edges,
        waiting=len(due) - len(moved),
        copies=copies,
        missing_tiers=missing,
        notes=tuple(notes),
        dry_run=dry_run,
    )


def _dates(options: TierOptions, now: datetime) -> TierDates:
    return TierDates(
        hot_since=now - timedelta(days=options.hot_days),
        warm_since=now - timedelta(days=options.warm_days),
    )


def _per_tier(documents: Sequence[Misplaced]) -> dict[Tier, int]:
    return {tier: sum(each.due == tier for each in documents) for tier in TIERS}


def _move_all(
    engine: Engine, ready: Sequence[Misplaced], now: datetime, options: TierOptions, work: Work
) -> Moving:
    """Move documents in batches, those of one way after those of another."""
    token = _begin(engine, ready, now)
    done = edges = 0
    refusals: dict[Tier, str] = {}
    for (source, target), each in groupby(sorted(ready, key=_way), key=_way):
        vectors = not (options.drop_cold_vectors and TIERS[target] == "cold")
        for batch in _batches(engine, [misplaced.document for misplaced in each]):
            try:
                moved = engine.move(batch, TIERS[source], TIERS[target], vectors=vectors)
            except BusyError:
                raise
            except StorageError as error:
                refusals[TIERS[target]] = f"{error.message}; what is due there waits."
                break
            edges += work.relink(moved)
            done += len(batch)
            work.on_document(done, len(ready))
    _end(engine, now, None if refusals else token)
    return Moving(edges, tuple(refusals.values()))


def _way(each: Misplaced) -> tuple[int, int]:
    return TIERS.index(each.tier), TIERS.index(each.due)


def _begin(engine: Engine, ready: Sequence[Misplaced], now: datetime) -> str:
    """Note that moves begin, before the first of them; return the note."""
    token = secrets.token_hex(8)
    if ready:
        moves_up = any(target < source for source, target in map(_way, ready))
        up = {MOVED_UP_AT: now.isoformat()} if moves_up else {}
        _set(engine, {MOVING: token, **up})
    return token


def _end(engine: Engine, now: datetime, token: str | None) -> None:
    """Note the rotation; and that nothing is left of its moves, unless copies stay for readers."""
    with engine.writing() as writer, engine.reading() as reader:
        writer.set_meta(_ROTATED_AT, now.isoformat())
        if reader.meta(_DOUBTED_AT):
            writer.set_meta(_DOUBTED_AT, "")
            writer.set_meta(_DOUBTS, "0")
        if reader.meta(MOVING) == token and not _is_early(reader, now):
            writer.set_meta(MOVING, "")


def _batches(engine: Engine, documents: Sequence[int]) -> Iterator[list[Move]]:
    """Read documents and prepare their words, as many at a time as one transaction takes."""
    batch: list[Move] = []
    chars = 0
    for document in documents:
        with engine.reading() as reader:
            card = reader.document(document)
            nodes = reader.nodes_of(document)
        if card is None:
            continue  # forgotten since
        batch.append(Move(document, card.sha256, terms_of(nodes)))
        chars += nodes[0].span[1] if nodes else 0
        if len(batch) == BATCH_DOCUMENTS or chars >= BATCH_CHARS:
            yield batch
            batch, chars = [], 0
    if batch:
        yield batch


def _clear_copies(engine: Engine, now: datetime) -> int:
    """Delete what moves left behind in colder tiers, once no reader looks for it there."""
    with engine.reading() as reader:
        token, early, missing = reader.meta(MOVING), _is_early(reader, now), reader.missing_tiers
    if early:
        return 0
    cleared = 0
    for tier, documents in engine.copies().items():
        for batch in in_batches(documents, BATCH_DOCUMENTS):
            cleared += engine.drop_copies(tier, batch)
    if token and not missing:
        with engine.writing() as writer, engine.reading() as reader:
            if reader.meta(MOVING) == token:  # else another move began meanwhile
                writer.set_meta(MOVING, "")
    return cleared


def _is_early(reader: Reader, now: datetime) -> bool:
    """Say whether a reader may still look for a document where it was before it moved up."""
    moved_up_at = _moment(reader.meta(MOVED_UP_AT))
    return moved_up_at is not None and timedelta(0) <= now - moved_up_at < READERS_LEAVE


def _marks(reader: Reader, engine: Engine) -> Marks:
    return Marks(
        rotated_at=_moment(reader.meta(_ROTATED_AT)),
        stored_at=engine.last_stored(),
        doubted_at=_moment(reader.meta(_DOUBTED_AT)),
        doubts=int(reader.meta(_DOUBTS) or 0),
    )


def _moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def _set(engine: Engine, settings: Mapping[str, str]) -> None:
    with engine.writing() as writer:
        for key, value in settings.items():
            writer.set_meta(key, value)
