"""What went wrong while nobody looked, noted in the home until it goes well: `stats` tells it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from ringwood.engine.attempts import Attempt
from ringwood.engine.base import Engine
from ringwood.write.retry import Piece, failed


@dataclass(frozen=True, slots=True)
class Trouble:
    """Work that failed for one reason."""

    work: str
    """As in `Attempt.work`: `embed`, `mirror`, `exchange`, or the name of a job or a worker."""
    error: str
    """The reason, in a sentence."""
    items: int
    """How many documents or exchanges it keeps waiting; 1 where there is only one."""
    failures: int
    """How often in a row it failed, at most."""
    at: datetime
    """When it failed last. UTC."""
    next_at: datetime
    """When the first of it is tried again. UTC."""


def troubles_of(attempts: Iterable[Attempt]) -> tuple[Trouble, ...]:
    """Sum up what failed by its reason, the latest first; what never failed is left out."""
    found: dict[tuple[str, str], Trouble] = {}
    for each in attempts:
        if not each.failures:
            continue
        key = (each.work, each.error or "")
        one = Trouble(*key, 1, each.failures, each.at, each.next_at)
        other = found.get(key)
        if other is not None:
            one = Trouble(
                *key,
                other.items + 1,
                max(other.failures, each.failures),
                max(other.at, each.at),
                min(other.next_at, each.next_at),
            )
        found[key] = one
    return tuple(sorted(found.values(), key=lambda trouble: trouble.at, reverse=True))


NOTE_S = 2.0
"""How long a note waits for the write lock, seconds: trouble may be that somebody keeps it."""


def note_trouble(engine: Engine, piece: Piece, error: str, retry_s: float) -> Attempt:
    """Note that a piece of work failed now, once more or for the first time.

    Args:
        engine: the home's database.
        piece: what failed.
        error: why, in a sentence that holds no memory.
        retry_s: the first pause before it is tried again, seconds.

    Raises:
        StorageError: when the disk refuses.
    """
    with engine.reading() as reader:
        before = reader.attempt(piece.work, piece.item)
    attempt = failed(piece, before, error, datetime.now(UTC), retry_s)
    with engine.writing(timeout_s=NOTE_S) as writer:
        writer.put_attempts([attempt])
    return attempt


def settle(engine: Engine, piece: Piece) -> None:
    """Note that a piece of work went well: nothing is left to tell. Idempotent.

    Raises:
        StorageError: when the disk refuses.
    """
    with engine.reading() as reader:
        known = reader.attempt(piece.work, piece.item)
    if known is not None:
        with engine.writing(timeout_s=NOTE_S) as writer:
            writer.drop_attempts(piece.work, [piece.item])
