"""Rotate: move documents to the tier of their age, whole and straight to their final one.

    clock -> what is due -> batches: read, prepare words -> copy, commit, delete, commit

Everything can be cut short anywhere and given again: a document has a copy at any moment, the
hottest one counts, and what a crash left of a move is cleared before the next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby

from ringwood.engine.base import Engine, Reader, TierOptions
from ringwood.engine.placement import Misplaced, Move, TierDates
from ringwood.types import TIERS, Tier
from ringwood.upkeep.clock import Leaving, Marks, doubt
from ringwood.write.nodes import terms_of

BATCH_DOCUMENTS = 50
"""Documents moved in one transaction: what a writer waits for at most, about a quarter second."""
BATCH_CHARS = 1_000_000
"""Characters of text after which a batch ends sooner."""
READERS_LEAVE = timedelta(seconds=60)
"""How long an older copy is left after a move to a hotter tier: no reader is that old."""

_ROTATED_AT = "rotated_at"
_DOUBTED_AT = "clock_doubted_at"
_MOVED_UP_AT = "moved_up_at"


@dataclass(frozen=True, slots=True)
class Rotated:
    """What a rotation came to, read back."""

    moved: Mapping[Tier, int]
    """Documents that were moved to each tier; in a dry run, that would be."""
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


def rotate(
    engine: Engine,
    options: TierOptions,
    now: datetime,
    *,
    dry_run: bool = False,
    on_document: Callable[[int, int], None] = lambda done, total: None,
) -> Rotated:
    """Move every document to the tier of its age.

    Args:
        engine: the home's database.
        options: the ages.
        now: the time, UTC. A clock that may have jumped moves nothing; see `clock`.
        dry_run: move nothing, only say what is due.
        on_document: told how many of how many documents are done; may raise to stop.

    Raises:
        BusyError: when the write lock was not had in time.
        StorageError: when the disk refuses. Either way the batches before are moved.
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
            _mark(engine, _DOUBTED_AT, now)
        return Rotated(_per_tier(()), len(due), 0, missing, (reason,), dry_run)
    ready = [each for each in due if each.due not in missing]
    if dry_run:
        copies = sum(map(len, engine.copies().values()))
        return _report(due, ready, copies, missing, dry_run=True)
    copies = _clear_copies(engine, now)
    _move_all(engine, ready, now, options, on_document)
    _mark(engine, _ROTATED_AT, now)
    with engine.reading() as reader:
        cards = reader.documents([each.document for each in ready])
    moved = [e for e in ready if e.document in cards and cards[e.document].tier == e.due]
    return _report(due, moved, copies, missing, dry_run=False)


def _report(
    due: Sequence[Misplaced],
    moved: Sequence[Misplaced],
    copies: int,
    missing: tuple[Tier, ...],
    *,
    dry_run: bool,
) -> Rotated:
    """Say what was moved, and what stays and why."""
    done = set(moved)
    stay = [each for each in due if each not in done and each.due not in missing]
    notes = [f"The {tier} tier is missing: what is due there waits." for tier in missing]
    if stay:
        notes.append(
            f"Not moved for now: {len(stay)}. They were changed meanwhile, or another document has"
            " their path or source key in the other tier."
        )
    return Rotated(_per_tier(moved), len(due) - len(moved), copies, missing, tuple(notes), dry_run)


def _dates(options: TierOptions, now: datetime) -> TierDates:
    return TierDates(
        hot_since=now - timedelta(days=options.hot_days),
        warm_since=now - timedelta(days=options.warm_days),
    )


def _per_tier(documents: Sequence[Misplaced]) -> dict[Tier, int]:
    return {tier: sum(each.due == tier for each in documents) for tier in TIERS}


def _move_all(
    engine: Engine,
    ready: Sequence[Misplaced],
    now: datetime,
    options: TierOptions,
    on_document: Callable[[int, int], None],
) -> None:
    """Move documents in batches, those of one way after those of another."""

    def way(each: Misplaced) -> tuple[int, int]:
        return TIERS.index(each.tier), TIERS.index(each.due)

    done = 0
    for (source, target), each in groupby(sorted(ready, key=way), key=way):
        if target < source:
            _mark(engine, _MOVED_UP_AT, now)
        vectors = not (options.drop_cold_vectors and TIERS[target] == "cold")
        for batch in _batches(engine, [misplaced.document for misplaced in each]):
            engine.move(batch, TIERS[source], TIERS[target], vectors=vectors)
            done += len(batch)
            on_document(done, len(ready))


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
        moved_up_at = _moment(reader.meta(_MOVED_UP_AT))
    if moved_up_at is not None and timedelta(0) <= now - moved_up_at < READERS_LEAVE:
        return 0
    cleared = 0
    for tier, documents in engine.copies().items():
        for start in range(0, len(documents), BATCH_DOCUMENTS):
            cleared += engine.drop_copies(tier, documents[start : start + BATCH_DOCUMENTS])
    return cleared


def _marks(reader: Reader, engine: Engine) -> Marks:
    return Marks(
        rotated_at=_moment(reader.meta(_ROTATED_AT)),
        stored_at=engine.last_stored(),
        doubted_at=_moment(reader.meta(_DOUBTED_AT)),
    )


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _mark(engine: Engine, key: str, now: datetime) -> None:
    with engine.writing() as writer:
        writer.set_meta(key, now.isoformat())
