"""What went wrong while nobody looked, noted in the home until it goes well: `stats` tells it."""

from __future__ import annotations

from datetime import UTC, datetime

from ringwood.engine.attempts import Attempt
from ringwood.engine.base import Engine
from ringwood.write.retry import Piece, failed

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
